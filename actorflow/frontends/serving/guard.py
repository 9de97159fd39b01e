"""Addresses, tokens, hosts: which requests are refused before they are read.

A server on this machine alone can still be reached by every web site that a browser here visits. So a server on loopback takes
requests for its own hosts only, and none that a browser says comes from another site. Other addresses need a token: TLS keeps
others from reading, but admits everyone.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping

from actorflow.base.origins import host_and_port, is_loopback, is_of_other_site
from actorflow.errors import InvalidArgumentError, OpError, PermissionDeniedError, UnauthenticatedError


def check_address(host: str, token: str | None) -> None:
    """Raises InvalidArgumentError for an address that other machines reach, unless there is a token.

    Args:
        host: the address to listen on.
        token: what requests have to bring.
    """
    if not is_loopback(host) and not token:
        raise InvalidArgumentError(
            f"Models are not served on {host}: anyone who reaches it could use them.",
            hint="Give a token (--token-file FILE), with TLS to keep it secret (--tls-cert, --tls-key), or stay on 127.0.0.1.",
        )


class Guard:
    """Refuses requests by their headers.

    Args:
        token: what a request has to bring as `Authorization: Bearer`; None asks for none.
        hosts: the names under which the server is reached, without a port; None takes any.
    """

    def __init__(self, token: str | None = None, hosts: Iterable[str] | None = None) -> None:
        self._token = None if token is None else token.encode()
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    @property
    def wants_token(self) -> bool:
        """Whether requests have to bring a token."""
        return self._token is not None

    def refusal(self, headers: Mapping[bytes, bytes], method: str = "GET") -> OpError | None:
        """Why a request is refused; None if it is not. No other site may send a POST, under whatever name."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and b"host" in headers:  # browsers send it; probes of HTTP/1.0 do not
            if host_and_port(host)[0] not in self._hosts:
                return PermissionDeniedError(f"This server is not {host[:100]!r}; it answers as {sorted(self._hosts)}.")
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if (self._hosts is not None or method == "POST") and is_of_other_site(
            host,
            None if origin is None else origin.decode("latin-1"),
            None if site is None else site.decode("latin-1"),
        ):
            return PermissionDeniedError("Other sites may not use this server.")
        if self._token is not None:
            kind, _, credentials = headers.get(b"authorization", b"").partition(b" ")
            if kind.lower() != b"bearer" or not hmac.compare_digest(credentials.strip(), self._token):
                return UnauthenticatedError("A token is needed: Authorization: Bearer TOKEN.")
        return None
