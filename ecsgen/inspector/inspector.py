"""The inspector of a world: `serve` and `tick`."""

from __future__ import annotations

import threading
import time
import webbrowser
from contextlib import suppress
from secrets import token_urlsafe
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from ecsgen.inspector.api import Api
from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.inspector.overview import Frames
from ecsgen.inspector.server import HOST, Guard, Server, application, page_files
from ecsgen.inspector.tick_queue import TickQueue

BUDGET: Final = 0.002
"""Seconds of a tick beyond the first request."""
_TOKEN_BYTES: Final = 32
_PAUSE: Final = 0.005
"""Seconds between two ticks with `block=True`."""


class Inspector:
    """Shows a world to a browser on the same machine. Made by `serve`.

    The world is read and written in `tick` only, so call that once a frame, on the world's thread.
    """

    def __init__(self, world: InspectedWorld, port: int, token: str | None, edit: bool) -> None:
        if not isinstance(getattr(type(world), "MANAGERS", None), tuple):
            raise TypeError(f"wanted a world of a generated package, not {type(world).__name__}")
        token = token_urlsafe(_TOKEN_BYTES) if token is None else _checked_token(token)
        self._queue = TickQueue()
        self._frames = Frames(world)
        self._api = Api(world, self._queue, self._frames, edit)
        pages = page_files()
        app = application(pages, self._api.routes(), self._api.check_names)
        unauthorized = pages["unauthorized.html"]
        self._server = Server(lambda port: Guard(app, port, token, unauthorized), port)
        self.url = f"http://{HOST}:{self._server.port}/?token={quote(token, safe='')}"
        """URL of the page with the token, which gives access to the world."""

    def tick(self, budget: float = BUDGET) -> int:
        """Answer the requests since the last tick, and return their number.

        Takes at most `budget` seconds beyond the first request, and about 2 µs without one. No
        view of a column outlives the call. Errors of requests go to the browser.
        """
        self._frames.note()
        return self._queue.run_pending(budget)

    def close(self) -> None:
        """Stop serving; waiting requests fail. Closing again does nothing."""
        self._queue.close()
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Inspector on {HOST}:{self._server.port}>"  # without the token, which is secret


def serve(
    world: InspectedWorld,
    *,
    port: int = 0,
    token: str | None = None,
    edit: bool = False,
    open_browser: bool = False,
    block: bool = False,
) -> Inspector:
    """Serve a page that shows a world, on this machine alone, and return its inspector.

    `port`: 0 for any free one. `token`: secret of requests, by default 32 random bytes.
    `edit`: whether the page may change the world. `block`: print the URL, and tick
    until Ctrl-C; otherwise call the inspector's `tick` once a frame.

    Raises:
        TypeError: `world` is not a world.
        ValueError: the token is empty, or not printable ASCII.
        OSError: the port is taken.
    """
    inspector = Inspector(world, port, token, edit)
    if block:
        print(inspector.url, flush=True)
    if open_browser:  # with some browsers the call returns when they are closed
        threading.Thread(target=webbrowser.open, args=(inspector.url,), daemon=True).start()
    if block:
        with inspector, suppress(KeyboardInterrupt):
            while True:
                inspector.tick()
                time.sleep(_PAUSE)
    return inspector


def _checked_token(token: str) -> str:
    if not isinstance(token, str):
        raise TypeError(f"token: wanted text, not {type(token).__name__}")
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("token: wanted printable ASCII without blanks, and not nothing")
    return token
