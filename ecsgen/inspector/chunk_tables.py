"""Components whose rows live in archetype chunks, and all components of a world."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

import numpy as np
from ecsgen_runtime.fields import FieldInfo
from ecsgen_runtime.handles import NIL
from numpy.typing import NDArray

from ecsgen.inspector.asking import RefusedError
from ecsgen.inspector.json_cells import type_names
from ecsgen.inspector.subjects import (
    Managed,
    Rows,
    Subject,
    columns_json,
    joined,
    row_numbers,
)
from ecsgen.model.columns import split_names

CHUNKS: Final = 100
"""Chunks that a tick reads: each takes a few microseconds."""
SMALL_BATCH: Final = 500
"""Rows that are found one by one: as many as an answer has."""


class Chunked(Subject):
    """A component whose rows live in archetype chunks, in the order of the archetypes."""

    def __init__(self, name: str, store: Any, row: type[Any]) -> None:
        self._number: int = store._number(row)
        self.part: Any = store._table.parts[self._number]
        super().__init__(name, row.__name__, self.part)
        self.store = store
        self.row = row
        self.has_holes = False
        self._found: tuple[NDArray[np.intp], int, list[tuple[int, int, int]]]
        self._found = np.empty(0, np.intp), -1, []

    @property
    def version(self) -> int:
        return int(self.store.version)

    def _archetypes(self) -> list[Any]:
        return [each for each in self.store._table.archetypes if each.has(self._number)]

    @property
    def n(self) -> int:
        return sum(archetype.n for archetype in self._archetypes())

    @property
    def used(self) -> int:
        return self.n

    @property
    def room(self) -> tuple[int, int]:
        rows = sum(len(each.chunks) * each.capacity for each in self._archetypes())
        return rows, rows * sum(column.nbytes for column in self.part.LAYOUT)

    def owners(self, rows: Rows) -> NDArray[np.uint64]:
        return self._gathered(lambda archetype: 0, rows, np.dtype(np.uint64), ())

    def cells(self, field: str, rows: Rows) -> NDArray[Any]:
        info = self.field[field]
        names = [column.name for column in self.part.LAYOUT]
        wanted = [info.name] if info.name in names else split_names(info.name, info.shape)
        parts = [self._part(info, names.index(name), rows) for name in wanted]
        return parts[0] if info.name in names else joined(parts, info)

    def _part(self, info: FieldInfo, place: int, rows: Rows) -> NDArray[Any]:
        column = self.part.LAYOUT[place]

        def number(archetype: Any) -> int:
            return int(archetype.layout.starts[self._number]) + place

        cells = self._gathered(number, rows, column.dtype, column.shape)
        return type_names(cells) if info.dtype is None else cells

    def _gathered(
        self, column: Any, rows: Rows, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """Return a column's cells of rows, counted over all archetypes.

        Many rows that do not follow each other are ascending.
        """
        if isinstance(rows, slice) and rows.step is None:
            return self._window(column, rows, dtype, shape)
        wanted = row_numbers(rows, self.n)
        cells = np.empty((len(wanted), *shape), dtype)
        if len(wanted) <= SMALL_BATCH:
            self._take_few(column, wanted, cells)
            return cells
        start = base = 0
        for archetype in self._archetypes():
            end = int(wanted.searchsorted(base + archetype.n))
            number = column(archetype)
            for chunk, inside, part in archetype.runs(wanted[start:end] - base):
                cells[start + part.start : start + part.stop] = chunk._columns[number][inside]
            start, base = end, base + archetype.n
        return cells

    def _take_few(self, column: Any, rows: NDArray[np.intp], cells: NDArray[Any]) -> None:
        """Copy the cells of a few rows in any order; O(rows)."""
        archetypes = self._archetypes()
        numbers = [column(archetype) for archetype in archetypes]
        for place, (which, chunk, inside) in enumerate(self._places(archetypes, rows)):
            cells[place] = archetypes[which].chunks[chunk]._columns[numbers[which]][inside]

    def _places(self, archetypes: list[Any], rows: NDArray[np.intp]) -> list[tuple[int, int, int]]:
        """Return where rows are: which archetype, which of its chunks, and where in it.

        The last answer is remembered, for all columns of an answer ask about the same rows.
        """
        known, version, found = self._found
        if known is rows and version == self.version:
            return found
        ends = list(accumulate(archetype.n for archetype in archetypes))
        found = []
        for row in rows.tolist():
            which = bisect_right(ends, row)
            archetype = archetypes[which]
            position = row - ends[which] + archetype.n
            found.append((which, *divmod(position, archetype.capacity)))
        self._found = rows, self.version, found
        return found

    def _window(
        self, column: Any, rows: slice, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """Return the same of rows that follow each other; O(chunks)."""
        start, stop, _ = rows.indices(self.n)
        cells = np.empty((max(0, stop - start), *shape), dtype)
        base = 0
        for archetype in self._archetypes():
            first, last = max(start, base) - base, min(stop - base, archetype.n)
            number, at = column(archetype), base + first - start
            if first < last:
                for chunk, inside, part in archetype._spans(first, last):
                    cells[at + part.start : at + part.stop] = chunk._columns[number][inside]
            base += archetype.n
        return cells

    def step(self, name: str, nbytes: int) -> int:
        smallest = min((each.capacity for each in self._archetypes()), default=1)
        return min(super().step(name, nbytes), max(1, CHUNKS * smallest))

    def spread(self, count: int) -> Rows:
        smallest = min((each.capacity for each in self._archetypes()), default=1)
        n, runs = self.n, CHUNKS // 2
        length = max(1, min(count // runs, smallest))
        if n <= runs * length:
            return slice(0, n)
        starts = np.arange(runs) * (n // runs)
        return (starts[:, np.newaxis] + np.arange(length)).ravel()

    def find(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        bases, before = {}, 0
        for archetype in self._archetypes():
            bases[id(archetype)] = before
            before += archetype.n
        found = np.full(len(entities), NIL, np.intp)
        for place, entity in enumerate(entities.tolist()):
            archetype, position = self.store._table.of(entity)
            base = bases.get(id(archetype))
            if base is not None:
                found[place] = base + position
        return found

    def add(self, entity: int, values: Mapping[str, Any]) -> None:
        self.store.add(entity, self.row, **values)

    def write(self, entity: int, instance: int, values: Mapping[str, Any]) -> None:
        _check_only(instance)
        self.store.set(entity, self.row, **values)

    def remove(self, entity: int, instance: int | None) -> None:
        _check_only(instance)
        self.store.remove(entity, self.row)

    def layout(self) -> list[dict[str, Any]]:
        return columns_json(self.part.LAYOUT, None)


def _check_only(instance: int | None) -> None:
    """Refuse other instances than the first: there are none in archetypes."""
    if instance:
        raise RefusedError(422, f"there is no instance {instance}: an entity has one at most")


def store_of(world: Any) -> Any:
    """Return a world's archetypes, None without any: others may have an attribute of that name."""
    return world.archetypes if hasattr(world, "_chunked") else None


def subjects_of(world: Any) -> dict[str, Subject]:
    """Return the components of a world by the names that they have in it."""
    found: dict[str, Subject] = {}
    for name in world.MANAGERS:
        found[name] = Managed(name, getattr(world, name))
    for row in getattr(world, "_chunked", ()):
        name = row.__module__.rpartition(".")[2]  # as chunks call it
        found[name] = Chunked(name, world.archetypes, row)
    return found
