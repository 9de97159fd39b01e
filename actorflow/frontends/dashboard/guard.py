"""`Guard`: hosts, origins, methods, tokens, and the headers of answers.

A page on this machine can be reached by every program and, through the browser, by every web site that somebody visits. So the
guard takes GET and HEAD only. It takes them for its own hosts only: a name that an attacker lets resolve to this machine is
none of these. It refuses what a browser says comes from another site, and it wants a token. None of that goes by the name of
the browser.
"""

from __future__ import annotations

import hmac
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias

from actorflow.base.origins import LOOPBACK, host_and_port, is_of_other_site

Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"
Application: TypeAlias = "Callable[[Message, Receive, Send], Awaitable[None]]"

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """An ASGI application before another application, which only sees requests that are allowed.

    Args:
        application: the application behind it.
        token: what a request has to bring: once as `?token=`, which gives a cookie, or as `Authorization: Bearer`. None asks for
            none, for applications behind a login of their own.
        hosts: the names under which it is reached, without a port.
    """

    def __init__(self, application: Application, token: str | None, hosts: Iterable[str] = LOOPBACK) -> None:
        self._application = application
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", ())}
                more = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in names]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        status, text, extra = self._verdict(scope, headers)
        if status:
            await answer(guarded, status, text.encode(), "text/plain; charset=utf-8", extra)
        else:
            await self._application(scope, receive, guarded)

    def _verdict(self, scope: Message, headers: dict[str, str]) -> tuple[int, str, list[tuple[str, str]]]:
        """The status, text and headers of a refusal; status 0 without a refusal."""
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This page only shows: it takes GET and HEAD.", [("allow", "GET, HEAD")]
        host = headers.get("host", "")
        name, port = host_and_port(host)
        if name not in self._hosts:
            return 421, f"This page is not {host[:100]!r}. It answers as {', '.join(sorted(self._hosts))}.", []
        if is_of_other_site(host, headers.get("origin"), headers.get("sec-fetch-site")):
            return 403, "Other sites may not read this page. Open its address yourself.", []
        if self._token is None:
            return 0, "", []
        return self._checked_token(scope, headers, f"actorflow_{port or 'page'}")

    def _checked_token(
        self, scope: Message, headers: dict[str, str], cookie: str
    ) -> tuple[int, str, list[tuple[str, str]]]:
        query = urllib.parse.parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in query if name == "token"), None)
        if token is not None:
            if not self._is_token(token):
                return (
                    401,
                    "The token in the address is wrong. The command that serves this page prints the right one.",
                    [],
                )
            rest = urllib.parse.urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + urllib.parse.quote(scope["path"].lstrip("/"))
            place = (
                f"{scope.get('root_path', '')}{path}"
                if not scope["path"].startswith(scope.get("root_path", "") or "/")
                else path
            )
            kept = f"{cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            return 303, "", [("location", place + (f"?{rest}" if rest else "")), ("set-cookie", kept)]
        bearer = headers.get("authorization", "")
        if bearer.startswith("Bearer ") and self._is_token(bearer.removeprefix("Bearer ")):
            return 0, "", []
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(cookie)
        except CookieError:
            morsel = None
        if morsel is not None and self._is_token(morsel.value):
            return 0, "", []
        return 401, "This page wants its token. The command that serves it prints an address with the token in it.", []

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), (self._token or "").encode())


async def answer(
    send: Send, status: int, body: bytes, kind: str, headers: Iterable[tuple[str, str]] = (), with_body: bool = True
) -> None:
    """Sends a whole answer."""
    fields = [("content-type", kind), ("content-length", str(len(body))), *headers]
    start = {"type": "http.response.start", "status": status, "headers": [(n.encode(), v.encode()) for n, v in fields]}
    await send(start)
    await send({"type": "http.response.body", "body": body if with_body else b""})
