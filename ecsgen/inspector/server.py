"""The web server: access control, routes and thread.

Other pages can send requests to this machine, and a domain of theirs can point to it (DNS
rebinding): hence the checks of `Host` and `Origin`. Other users of this machine can connect as
well: hence the token.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hmac import compare_digest
from importlib.resources import files
from typing import Any, Final, NoReturn, TypeAlias
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecsgen.inspector.tick_queue import RequestError

STATIC: Final = "/static/"
"""Path of the page's own files, which need no token: they hold no data."""
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
    """Passes allowed requests to an application, and rejects others."""

    def __init__(self, app: ASGIApp, port: int, token: str, unauthorized: bytes) -> None:
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._origins = tuple(f"http://{host}" for host in self._hosts)
        self._token = token.encode()
        self._unauthorized = unauthorized
        """The page for who comes without a token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # only HTTP is served

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _error(421, f"this server is {self._hosts[0]} or {self._hosts[1]}")
        if any(origin not in self._origins for origin in headers.getlist("origin")):
            return _error(403, "requests of other pages are not answered")
        path = scope["path"]
        if path.startswith(STATIC) and scope["method"] in READING:
            return None
        if self._has_token(scope, headers):
            return None
        if path == "/":
            return Response(self._unauthorized, 401, media_type="text/html")
        return _error(401, "the token is missing or wrong: open the URL that was printed")

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request has the token; writing requests must have it in a header."""
        token = headers.get(TOKEN_HEADER)
        if token is None and scope["method"] in READING:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            token = query.get("token", [""])[0]
        return compare_digest((token or "").encode("utf-8", "replace"), self._token)


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)


HOST: Final = "127.0.0.1"
"""The address to listen on, which no option changes."""
_PIECE: Final = 1 << 20
"""Bytes of an answer that are sent at once."""
MOST_SENT: Final = 1 << 16
"""Maximum of bytes in a request's body."""

Answer: TypeAlias = Callable[[str, Request], Awaitable[Any]]
"""Returns a response to a request for a path, or what is sent as JSON."""

_TYPES: Final = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "LICENSE": "text/plain",
}


def page_files() -> dict[str, bytes]:
    folder = files("ecsgen.inspector") / "page"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _application(pages: Mapping[str, bytes], paths: Iterable[str], answer: Answer) -> Starlette:
    """Return the application: the page, its files, and answers for the paths of the API."""

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "")
        if name and (name not in pages or name.endswith(".html")):
            raise HTTPException(404)
        name = name or "index.html"
        return Response(pages[name], media_type=_TYPES[name.rpartition(".")[2]])

    listed = [Route("/", file), Route("/static/{name}", file)]
    listed += [Route(f"/api/{path}", _Endpoint(path, answer)) for path in paths]
    handlers: dict[Any, Callable[[Request, Any], Response]] = {
        RequestError: lambda request, error: _error(error.status, error.message),
        HTTPException: lambda request, error: JSONResponse(
            {"error": error.detail}, error.status_code, error.headers
        ),
        # not read by the client
        ClientDisconnect: lambda request, error: Response(status_code=400),
    }
    app = Starlette(routes=listed, exception_handlers=handlers)
    app.router.redirect_slashes = False  # an unknown name is not another path
    return app


@dataclass(frozen=True)
class _Endpoint:
    """A path of the API; not a function, which Starlette would call for some methods only."""

    path: str
    answer: Answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        content = await self.answer(self.path, Request(scope, receive))
        response = content if isinstance(content, Response) else JSONResponse(content)
        await response(scope, receive, send)


def bytes_response(parts: Sequence[memoryview]) -> Response:
    """Return bytes to be sent in pieces, so that the connection is never asked to hold all."""

    async def pieces() -> AsyncIterator[memoryview]:
        for part in parts:
            for start in range(0, len(part), _PIECE):
                yield part[start : start + _PIECE]

    size = {"content-length": str(sum(map(len, parts)))}
    return StreamingResponse(pieces(), headers=size, media_type="application/octet-stream")


async def body_of(request: Request) -> Any:
    """Return the JSON of a request's body; an empty one stands for no fields."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_SENT:
            raise RequestError(413, f"a request may have {MOST_SENT} bytes")
    if not body:
        return {}
    try:
        return json.loads(body, parse_constant=_no_json, parse_float=_float)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"that is not JSON: {error}") from None


def _no_json(text: str) -> NoReturn:
    raise ValueError(f"{text} is written as a string")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


class Server:
    """Serves an application on its own thread."""

    def __init__(self, paths: Iterable[str], answer: Answer, token: str, port: int) -> None:
        """Listen on a port, 0 for any free one. OSError if it is taken."""
        # requests may come before the thread runs
        self._socket = socket.create_server((HOST, port), backlog=128)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        self.port: int = self._socket.getsockname()[1]
        pages = page_files()
        app = _application(pages, paths, answer)
        config = uvicorn.Config(
            Guard(app, self.port, token, pages["unauthorized.html"]),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="ecsgen-inspector", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):  # closed while it started
            self._server.run(sockets=[self._socket])

    def close(self) -> None:
        """Stop serving, and wait until that is done."""
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()
