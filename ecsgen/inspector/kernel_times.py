"""Times of kernels and passes over the last second, measured while somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.inspector.json_values import Json
from ecsgen.inspector.tick_queue import RequestError

_SPAN: Final = 1.0
"""Seconds that are measured together."""
_LOOKED_AT: Final = 5.0
"""Seconds after a request in which times are measured."""


class KernelTimes:
    """Measures a world's kernels, unless the program checks or measures them itself. All methods
    are called between steps, on the world's thread."""

    def __init__(self, world: InspectedWorld) -> None:
        self._world: Any = world
        self._texts: Any = None
        """The schemas, once they have been asked for."""
        self._open: ExitStack | None = None
        self._times: Any = None
        self._begun = self._asked = 0.0
        self._last: Json = []
        """The lines of the last whole second."""

    async def answer(self, ask: Callable[[Callable[[], Json]], Awaitable[Json]]) -> Json:
        """Return the lines of the last second; at first, of what there is of it. RequestError 404
        if the package's schemas are not at hand, or it is timed already."""
        try:
            if self._texts is None:
                from ecsgen.checked.methods import package_folder, schemas_in

                self._texts = await asyncio.to_thread(schemas_in, package_folder(self._world))
        except (ImportError, OSError, TypeError, ValueError) as error:
            raise RequestError(404, f"there are no times: {error}") from None
        return await ask(self._as_json)

    def _as_json(self) -> Json:
        self._asked = monotonic()
        if self._open is None:
            self._start()
        self.note()
        return {"times": self._last or self._lines()}

    def note(self) -> None:
        """Begin a new second if one is over, and end if nobody looks."""
        if self._open is None:
            return
        now = monotonic()
        if now - self._asked > _LOOKED_AT:
            self.end()
        elif now - self._begun >= _SPAN:
            self._last = self._lines()
            self._times.restart()
            self._begun = now

    def end(self) -> None:
        """Stop measuring."""
        if self._open is not None:
            self._open.close()
        self._open, self._last = None, []

    def _start(self) -> None:
        from ecsgen.checked.times import Times, timing

        opened = ExitStack()
        try:
            self._times = opened.enter_context(timing(self._world, self._texts, Times(), self.end))
        except RuntimeError as error:  # the program measures it already
            raise RequestError(404, f"there are no times: {error}") from None
        self._open, self._begun = opened, monotonic()

    def _lines(self) -> Json:
        return [line._asdict() for line in self._times.table()]
