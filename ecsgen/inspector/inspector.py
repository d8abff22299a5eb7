"""The inspector of a world: `serve` and `tick`."""

from __future__ import annotations

import math
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Final
from urllib.parse import quote

from ecsgen.inspector.api import Api
from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.inspector.film import Film
from ecsgen.inspector.picture import png
from ecsgen.inspector.run_loop import RunLoop, Step
from ecsgen.inspector.server import HOST, Server
from ecsgen.inspector.tick_queue import TickQueue
from ecsgen.inspector.view import View

BUDGET: Final = 0.002
"""Seconds of a tick beyond the first request."""
_TOKEN_BYTES: Final = 32
_PAUSE: Final = 0.005
"""Seconds between two ticks with `block=True`."""
_TICK_EVERY: Final = 0.004
"""Seconds between two ticks of `run` while somebody looks, where steps are shorter."""
_LOOKING: Final = 10.0
"""Seconds after a request for which somebody is taken to look."""


class Inspector(AbstractContextManager["Inspector", None]):
    """Shows a world to a browser on the same machine. Made by `serve`.

    The world is read and written in `tick` only, so call that once a frame, on the world's thread.
    """

    def __init__(
        self,
        world: InspectedWorld,
        loop: RunLoop,
        port: int,
        token: str | None,
        edit: bool,
        save_folder: Path | None,
        view: View,
    ) -> None:
        token = token_urlsafe(_TOKEN_BYTES) if token is None else _checked_token(token)
        self._queue = TickQueue()
        self._loop = loop
        self._charts = view.charts
        self._make_api = partial(
            Api, queue=self._queue, loop=loop, edit=edit, save_folder=save_folder, view=view
        )
        self._asked = -math.inf
        """When the last request was answered."""
        self._is_closed = False
        self._show(world)
        self._server = Server(
            self._api.paths, lambda path, request: self._api.answer(path, request), token, port
        )
        self.url = f"http://{HOST}:{self._server.port}/?token={quote(token, safe='')}"
        """URL of the page with the token, which gives access to the world."""

    def _show(self, world: InspectedWorld) -> None:
        """Answer requests from now on about this world."""
        self._api = self._make_api(world, reset=self._show)

    def tick(self, budget: float = BUDGET) -> int:
        """Answer the requests since the last tick, and return their number.

        Takes at most `budget` seconds beyond the first request, and about 2 µs without one. No
        view of a column outlives the call. Errors of requests go to the browser.
        """
        self._api.frames.note()
        answered = self._queue.run_pending(budget)
        self._api.note()
        if answered:
            self._asked = time.monotonic()
        return answered

    @property
    def _is_seen(self) -> bool:
        """True while somebody looks, as far as requests tell."""
        return time.monotonic() - self._asked < _LOOKING

    @property
    def world(self) -> Any:
        """The world that is shown: a new one after Reset."""
        return self._loop.world

    @property
    def has_step(self) -> bool:
        """True if `run` and `record` have something to do."""
        return self._loop.step is not None

    def run(self) -> int:
        """Step as the page says, and tick in between; return the number of steps done.

        Ends with Ctrl-C, `close`, or the page's Stop. It is paused at first. ValueError without a
        `step`; an error of the last step, which the page has shown, is raised again.
        """
        loop = self._loop
        if loop.step is None:
            raise ValueError("run() needs a step: serve(world, step=...)")
        loop.is_over, loop.error, before, ticked = self._is_closed, None, loop.total, 0.0
        with suppress(KeyboardInterrupt):
            while not loop.is_over:
                due = ticked + _TICK_EVERY
                if loop.is_ready:
                    is_idle = None if self._is_seen else self._queue.is_empty
                    loop.do_steps(0.0 if self._api.series.is_asked else due, is_idle)
                    self._api.series.note()
                    if is_idle is not None:
                        self._api.frames.leave_out()
                if time.perf_counter() >= due or not loop.is_playing:
                    self.tick()
                    ticked = time.perf_counter()
                if not loop.is_ready:
                    time.sleep(loop.pause)
        loop.is_playing = False
        if loop.error is not None:
            raise loop.error
        return loop.total - before

    def picture(self, width: int, height: int) -> bytes:
        """Return a PNG of the map as it is now, drawn without a browser, by Pillow.

        ValueError if nothing in the world has a place, or the size is no picture's.
        """
        return png(self._api.camera.take(self._loop.time_json()), width, height)

    def record(self, steps: int, every: int = 1) -> Film:
        """Do `steps` steps, and return the film: what the view shows now and after every `every`.

        The page is answered in between. A film holds its columns: some 16 bytes for each point of
        each picture. ValueError without a `step`, and for numbers out of range; an error of the
        last step is raised again.
        """
        loop = self._loop
        if not self.has_step:
            raise ValueError("record() needs a step: serve(world, step=...)")
        if steps < 0 or every < 1:
            raise ValueError(f"wanted steps from 0 and every from 1, not {steps} and {every}")
        film = Film(type(self.world).__name__, self._charts)
        film.add(self._api.camera.take(loop.time_json()))
        for done in range(1, steps + 1):
            loop.do_steps()
            if loop.error is not None:
                raise loop.error
            self._api.series.note()
            if done % every == 0:
                film.add(self._api.camera.take(loop.time_json()))
            self.tick()
        return film

    def run_or_tick(self) -> None:
        """Run, or without a step tick until Ctrl-C or `close`."""
        if self._loop.step is not None:
            self.run()
            return
        with suppress(KeyboardInterrupt):
            while not self._is_closed:
                self.tick()
                time.sleep(_PAUSE)

    def wait(self) -> bool:
        """Count a step of a loop of the program's own, and keep it to the page's Pause and speed.

        Call it after `tick`. Blocks while the page has paused the run, and answers meanwhile. It
        plays at first, and again once nobody has looked for 10 s. Returns False after Stop or
        `close`.
        """
        loop = self._loop
        if not loop.is_controlled:
            loop.is_controlled = loop.is_playing = True
        loop.take_turn()
        self._api.series.note()
        while not (loop.is_over or loop.is_ready):
            self.tick()
            if not self._is_seen:
                loop.is_playing = True
            time.sleep(loop.pause)
        return not loop.is_over

    def close(self) -> None:
        """Stop serving; waiting requests fail. Closing again does nothing."""
        self._is_closed = self._loop.is_over = True
        self._api.close()
        self._queue.close()
        self._server.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Inspector on {HOST}:{self._server.port}>"  # without the token, which is secret


def serve(
    world: InspectedWorld,
    *,
    step: Step | None = None,
    args: Mapping[str, Any] | None = None,
    make: Callable[..., Any] | None = None,
    view: View | None = None,
    port: int = 0,
    token: str | None = None,
    edit: bool = False,
    save_folder: Path | None = None,
    open_browser: bool = False,
    block: bool = False,
) -> Inspector:
    """Serve a page that shows a world, on this machine alone, and return its inspector.

    `port`: 0 for any free one. `token`: secret of requests, by default 32 random bytes.
    `edit`: whether the page may change the world, and save it under new names in `save_folder`, if
    there is one. `block`: print the URL, and tick until Ctrl-C; otherwise call the inspector's
    `tick` once a frame.

    `step`: a function, or a method of the world, that the inspector's `run` calls with `args`;
    with `block` that is done at once. `make`: a function that returns a new world, or
    `(world, step)`, for the page's Reset; its parameters with defaults are fields of the page.
    `view`: what the page opens with, and what pictures and films show.

    Raises TypeError if `world` is not a world, `view` no View, or `step` cannot be called with
    `args` or `make` without arguments; ValueError for a token that is empty or not printable ASCII,
    and unknown names in the view; OSError if the port is taken.
    """
    if not isinstance(getattr(type(world), "MANAGERS", None), tuple):
        raise TypeError(f"wanted a world of a generated package, not {type(world).__name__}")
    if view is not None and not isinstance(view, View):
        raise TypeError(f"view: wanted a View, not {type(view).__name__}")
    loop = RunLoop(world, step, args or {}, make)
    inspector = Inspector(world, loop, port, token, edit, save_folder, view or View())
    if block:
        print(inspector.url, flush=True)
    if open_browser:  # with some browsers the call returns when they are closed
        threading.Thread(target=webbrowser.open, args=(inspector.url,), daemon=True).start()
    if block:
        with inspector:
            inspector.run_or_tick()
    return inspector


def _checked_token(token: str) -> str:
    if not isinstance(token, str):
        raise TypeError(f"token: wanted text, not {type(token).__name__}")
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("token: wanted printable ASCII without blanks, and not nothing")
    return token
