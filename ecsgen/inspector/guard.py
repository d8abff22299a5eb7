"""Who is let in: pages of this server alone, and only who knows the token.

Other pages can send requests to this machine, and a name of theirs can lead to it (DNS rebinding):
hence `Host` and `Origin`. Other users of this machine can connect as well: hence the token.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC: Final = "/static/"
"""What needs no token: the page's own files, which tell nothing."""
TOKEN_HEADER: Final = "x-ecsgen-token"
READING: Final = ("GET", "HEAD")

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


class Guard:
    """Lets requests through to an application, or answers them itself."""

    def __init__(self, app: ASGIApp, port: int, token: str, stranger: bytes) -> None:
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._origins = tuple(f"http://{host}" for host in self._hosts)
        self._token = token.encode()
        self._stranger = stranger
        """The page for who comes without a token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing else is spoken here

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        answer = self._refused(scope) or self._app
        await answer(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _error(421, f"this server is {self._hosts[0]} or {self._hosts[1]}")
        if any(origin not in self._origins for origin in headers.getlist("origin")):
            return _error(403, "pages of others are not answered")
        path = scope["path"]
        if path.startswith(STATIC) and scope["method"] in READING:
            return None
        if self._knows(scope, headers):
            return None
        if path == "/":
            return Response(self._stranger, 401, media_type="text/html")
        return _error(401, "the token is missing or wrong: open the URL that was printed")

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request has the token; those that write have it in a header."""
        given = headers.get(TOKEN_HEADER)
        if given is None and scope["method"] in READING:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            given = query.get("token", [""])[0]
        return compare_digest((given or "").encode("utf-8", "replace"), self._token)


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
