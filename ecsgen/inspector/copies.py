"""Copies of whole columns, made in ticks piece by piece, for what is worked out elsewhere."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.asking import Questions
from ecsgen.inspector.subjects import OWNER, Subject

PIECE: Final = 8 << 20
"""Bytes that one tick copies: about half a millisecond."""
FRESH: Final = 1.0
"""Seconds for which values count as the present ones, while no row comes, goes or moves."""
_KEPT: Final = 16
"""Columns that are kept."""
_TRIES: Final = 2
"""How often a copy is begun again because rows moved meanwhile."""

Read: TypeAlias = Callable[[slice], NDArray[Any]]


class Copy:
    """A column as it was at a version."""

    __slots__ = ("cells", "orders", "since", "version")

    def __init__(self, version: Hashable, cells: NDArray[Any]) -> None:
        self.version = version
        self.cells = cells
        self.since = monotonic()
        self.orders: dict[object, NDArray[np.intp]] = {}
        """What was worked out of it."""


class Copies:
    """Copies columns, and keeps those that are still true."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._kept: OrderedDict[Hashable, Copy] = OrderedDict()

    async def column(self, subject: Subject, name: str) -> Copy:
        """Return a copy of a component's owners, or of the cells of a field."""
        return await self.of(
            (subject.name, name),
            lambda: (subject.version, subject.n),
            lambda rows: subject.column(name, rows),
            subject.width(name),
            lasting=name == OWNER,
        )

    async def of(
        self,
        key: Hashable,
        state: Callable[[], tuple[Hashable, int]],
        read: Read,
        width: int,
        lasting: bool,
    ) -> Copy:
        """Return a copy of something with a length, which is good until its version changes.

        `lasting`: cells only change with the version; others are read again after a while.
        """
        old = self._kept.get(key)
        step = max(1, PIECE // width)

        def begin() -> tuple[Hashable, int, NDArray[Any]] | None:
            version, n = state()
            is_same = old is not None and old.version == version
            if old is not None and is_same and (lasting or monotonic() - old.since < FRESH):
                return None
            return version, n, read(slice(0, min(step, n)))

        for _ in range(_TRIES):
            begun = await self._questions.ask(begin)
            if begun is None:
                assert old is not None  # or there would be a new one
                self._kept.move_to_end(key)
                return old
            version, n, first = begun
            pieces = [first]
            if n > step and not await self._rest(pieces, version, n, step, state, read):
                continue
            break
        cells = await asyncio.to_thread(np.concatenate, pieces) if n > step else first
        found = self._kept[key] = Copy(version, cells)
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    async def _rest(
        self,
        pieces: list[NDArray[Any]],
        version: Hashable,
        n: int,
        step: int,
        state: Callable[[], tuple[Hashable, int]],
        read: Read,
    ) -> bool:
        """Read the other pieces; return whether nothing moved meanwhile."""
        same = True
        for start in range(step, n, step):

            def piece(start: int = start) -> tuple[Hashable, NDArray[Any]]:
                now, length = state()
                return now, read(slice(min(start, length), min(start + step, length)))

            now, cells = await self._questions.ask(piece)
            same = same and now == version
            pieces.append(cells)
        return same
