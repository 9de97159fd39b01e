"""Addresses, tokens, hosts: which requests are refused before they are read.

A server on this machine alone can still be reached by every web site that a browser here visits. So a server on loopback takes
requests for its own hosts only, and none that a browser says comes from another site. Other addresses need a token or TLS.
"""

from __future__ import annotations

import hmac
import ipaddress
import urllib.parse
from collections.abc import Iterable, Mapping

from actorflow.errors import InvalidArgumentError, OpError, PermissionDeniedError, UnauthenticatedError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str | None, has_tls: bool) -> None:
    """Raises InvalidArgumentError for an address that other machines reach, unless there is a token or TLS.

    Args:
        host: the address to listen on.
        token: what requests have to bring.
        has_tls: whether connections are encrypted.
    """
    if not is_loopback(host) and not token and not has_tls:
        raise InvalidArgumentError(
            f"Models are not served on {host}: anyone who reaches it could use them, and read what others send.",
            hint="Give a token (--token-file FILE) or a certificate (--tls-cert FILE --tls-key FILE), or stay on 127.0.0.1.",
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
        self.is_open = self._token is None and self._hosts is None
        """Whether it refuses nothing."""

    def refusal(self, headers: Mapping[bytes, bytes]) -> OpError | None:
        """Why a request is refused; None where it is not."""
        if self._hosts is not None:
            host = headers.get(b"host", b"").decode("latin-1").lower()
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name not in self._hosts:
                return PermissionDeniedError(f"This server is not {host[:100]!r}; it answers as {sorted(self._hosts)}.")
            origin = headers.get(b"origin")
            if origin is not None and urllib.parse.urlsplit(origin.decode("latin-1")).netloc.lower() != host:
                return PermissionDeniedError("Other sites may not use this server.")
            if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
                return PermissionDeniedError("Other sites may not use this server.")
        if self._token is not None:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            if kind.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
                return UnauthenticatedError("A token is needed: Authorization: Bearer TOKEN.")
        return None
