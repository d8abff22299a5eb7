"""What is noted at each tick: how long the frame took, and how much there is."""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, TypeAlias

KEPT: Final = 600
"""Frames that are remembered."""

Frame: TypeAlias = tuple[float, int | None, int | None]
"""Seconds since the last tick, entities and rows; None where that is not to be had."""

_count_rows: Final = attrgetter("_n")
_count_used: Final = attrgetter("_count")


class Frames:
    """The last frames. Noting one costs 2 µs, so rows are counted without calls into managers."""

    def __init__(self, world: Any) -> None:
        self.count = 0
        self._kept: deque[Frame] = deque(maxlen=KEPT)
        self._last = 0.0
        self._entities = world.entities
        columns = [getattr(world, name).data for name in world.MANAGERS]
        self._packed = [data for data in columns if not hasattr(data, "_count")]
        self._direct = [data for data in columns if hasattr(data, "_count")]
        self._store: Any = getattr(world, "archetypes", None)
        self._version = -1
        self._chunked = 0

    def note(self) -> None:
        """Note a tick."""
        now = perf_counter()
        last, self._last = self._last, now
        self.count += 1
        if not last:
            return
        entities = rows = None
        try:
            entities = len(self._entities)
            rows = sum(map(_count_rows, self._packed)) + sum(map(_count_used, self._direct))
            if self._store is not None:
                rows += self._chunked_rows()
        except Exception:
            pass  # something is broken, and the program is told where it uses it
        self._kept.append((now - last, entities, rows))

    def seen(self) -> list[Frame]:
        """Return the last frames, the oldest first."""
        return list(self._kept)

    def _chunked_rows(self) -> int:
        store = self._store
        if store._version != self._version:
            found = store._table.archetypes
            self._chunked = sum(each.n * len(each.layout.components) for each in found)
            self._version = store._version
        return self._chunked
