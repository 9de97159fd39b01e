"""`PageGuard`: hosts, origins, methods, tokens, and the headers of answers.

A page on this machine can be reached by every program and, through the browser, by every web site that somebody visits. So the
guard takes GET and HEAD only. It takes them for its own hosts only: a name that an attacker lets resolve to this machine is
none of these. It refuses what a browser says comes from another site, and it wants a token. None of that goes by the name of
the browser.
"""

from __future__ import annotations

import hmac
import urllib.parse
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie

from actorflow.base.origins import LOOPBACK, host_and_port, is_of_other_site
from actorflow.frontends.http.answers import TEXT, Answer, HttpRequest, Streamed

_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class PageGuard:
    """Says which requests are allowed.

    Args:
        token: what a request has to bring: once as `?token=`, which gives a cookie, or as `Authorization: Bearer`. None asks for
            none, for applications behind a login of their own.
        hosts: the names under which it is reached, without a port.
    """

    def __init__(self, token: str | None, hosts: Iterable[str] = LOOPBACK) -> None:
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts)

    def refusal(self, request: HttpRequest) -> Answer | None:
        """The answer to a request that is not allowed, or that brings the token in its address; None for others."""
        if request.method not in ("GET", "HEAD"):
            return _refused(405, "This page only shows: it takes GET and HEAD.", (b"allow", b"GET, HEAD"))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.items()}
        host = headers.get("host", "")
        name, port = host_and_port(host)
        if name not in self._hosts:
            text = f"This page is not {host[:100]!r}. It answers as {', '.join(sorted(self._hosts))}."
            return _refused(421, text)
        if is_of_other_site(host, headers.get("origin"), headers.get("sec-fetch-site")):
            return _refused(403, "Other sites may not read this page. Open its address yourself.")
        if self._token is None:
            return None
        return self._checked_token(request, headers, f"actorflow_{port or 'page'}")

    def _checked_token(self, request: HttpRequest, headers: dict[str, str], cookie: str) -> Answer | None:
        query = urllib.parse.parse_qsl(request.query.decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in query if name == "token"), None)
        if token is not None:
            if not self._is_token(token):
                return _refused(
                    401, "The token in the address is wrong. The command that serves this page prints the right one."
                )
            rest = urllib.parse.urlencode([(name, value) for name, value in query if name != "token"])
            place = f"{request.root}/{urllib.parse.quote(request.path.lstrip('/'))}" + (f"?{rest}" if rest else "")
            kept = f"{cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            return _refused(303, "", (b"location", place.encode()), (b"set-cookie", kept.encode()))
        bearer = headers.get("authorization", "")
        if bearer.startswith("Bearer ") and self._is_token(bearer.removeprefix("Bearer ")):
            return None
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(cookie)
        except CookieError:
            morsel = None
        if morsel is not None and self._is_token(morsel.value):
            return None
        return _refused(
            401, "This page wants its token. The command that serves it prints an address with the token in it."
        )

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), (self._token or "").encode())


def careful(answer: Answer | Streamed) -> Answer | Streamed:
    """An answer with the headers that tell browsers to be careful."""
    if isinstance(answer, Streamed):
        return answer._replace(more=(*answer.more, *_HEADERS))
    status, kind, body, more = answer
    return status, kind, body, (*more, *_HEADERS)


def _refused(status: int, text: str, *more: tuple[bytes, bytes]) -> Answer:
    return status, TEXT, text.encode(), more
