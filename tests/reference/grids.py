"""Who is near: hoods and offsets on grids and in continuous spaces, and the order of neighbours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tests.reference.values import Value, dot, norm, typed, value

if TYPE_CHECKING:
    from tests.reference.interpreter import Run
    from tests.reference.world import Actor, Row

FIRST_CELL = 2**32
Coords = tuple[int, ...]


@dataclass
class Grid:
    """Cells in C order; cell k has the id 2**32 + k."""

    shape: Coords
    wrap: tuple[bool, ...]

    def has(self, cell: int) -> bool:
        return 0 <= cell - FIRST_CELL < math.prod(self.shape)

    def coords(self, cell: int) -> Coords:
        """The coordinates of a cell; -1s for what is none."""
        if not self.has(cell):
            return (-1,) * len(self.shape)
        return tuple(int(x) for x in np.unravel_index(cell - FIRST_CELL, self.shape))

    def at(self, coords: Iterable[int]) -> int:
        """The cell's id: wrapped along wrapped axes, 0 outside of open ones."""
        row = 0
        for x, size, wraps in zip(coords, self.shape, self.wrap, strict=True):
            if not wraps and not 0 <= x < size:
                return 0
            row = row * size + int(x) % size
        return FIRST_CELL + row

    def around(self, cell: int, radius: int, hood: str) -> Iterator[tuple[Coords, int]]:
        """Offsets and ids of the cells in reach, the cell itself included, by ascending offset."""
        here = self.coords(cell)
        for offset in product(*(self._steps(axis, radius) for axis in range(len(here)))):
            there = self.at(x + o for x, o in zip(here, offset, strict=True))
            if there and _reaches(offset, radius, hood):
                yield offset, there

    def _steps(self, axis: int, radius: int) -> range:
        """Along a wrapped axis of size s offsets are those in (-s/2, s/2]."""
        size = self.shape[axis]
        low, high = (-((size - 1) // 2), size // 2) if self.wrap[axis] else (1 - size, size - 1)
        return range(max(low, -radius), min(high, radius) + 1)


def _reaches(offset: Coords, radius: int, hood: str) -> bool:
    steps = [abs(o) for o in offset]
    if hood == "von_neumann":
        return sum(steps) <= radius
    return max(steps) <= radius and (hood == "moore" or sum(o > 0 for o in steps) <= 1)


class Space:
    """A continuous space: offsets in the field's type, and cells a bit wider than the radius."""

    def __init__(self, wrap: tuple[float, ...], axes: int, radius: float) -> None:
        self.wrap = wrap or (0.0,) * axes
        self.radius = radius
        least = 1.001 * radius
        self._counts = [max(1, math.floor(size / least)) if size else 0 for size in self.wrap]
        counted = zip(self.wrap, self._counts, strict=True)
        self._edges = [size / count if size else least for size, count in counted]

    def cell(self, place: Value) -> Coords | None:
        """The cell of a place, None if it is not finite."""
        if not np.isfinite(place.data).all():
            return None
        xs = zip(place.data.tolist(), self._edges, strict=True)
        return self._turned(math.floor(x / edge) for x, edge in xs)

    def _turned(self, cell: Iterable[int]) -> Coords:
        return tuple(k % n if n else k for k, n in zip(cell, self._counts, strict=True))

    def around(self, cell: Coords) -> list[Coords]:
        """The cells in which neighbours may be, in their order, each once."""
        steps = product((-1, 0, 1), repeat=len(cell))
        found = (self._turned(k + s for k, s in zip(cell, step, strict=True)) for step in steps)
        return list(dict.fromkeys(found))

    def offset(self, here: Value, there: Value) -> Value:
        o = there.data - here.data
        if not any(self.wrap):
            return typed(o)
        sizes = np.array(self.wrap, o.dtype)
        turned = o - sizes * np.rint(o / sizes)
        return typed(np.where((sizes > 0) & (np.abs(o) > sizes / 2), turned, o))

    def reaches(self, offset: Value) -> bool:
        radius = value(offset.type, self.radius).data
        return bool(dot(offset, offset).data <= radius * radius)


@dataclass(frozen=True)
class Neighbour:
    """Who is near, and its place less the row's."""

    rows: Actor
    offset: Value

    @property
    def row(self) -> Row:
        return next(iter(self.rows.values()))

    @property
    def distance(self) -> Value:
        return norm(self.offset)


class Nearby:
    """A neighbourhood in one call of a kernel: rows of `here` ask, those of `there` are met."""

    def __init__(self, run: Run, near: dict[str, str], here: str, there: str) -> None:
        self.run, self.near, self.here, self.there = run, near, here, there
        self.component = run.world.schema.components[there]
        self.over = run.kernel.over
        self.among_name = near.get("among", self.over)
        self.among = {actor[there]: actor for actor in run.active(self.among_name)}

    def nobody(self, nowhere: Value) -> Neighbour:
        """One with defaults, which shows of what type an answer is."""
        world = self.run.world
        names = world.names(self.among_name)
        return Neighbour({name: world.made(name, 0, 0, {}) for name in names}, nowhere)

    def met(self, row: Row, actor: Actor, offset: Value) -> list[Neighbour]:
        """The neighbour of this row, unless it is the one who asks, dead, or not among them."""
        met = self.among.get(row, {})
        others = [r for r in met.values() if self.run.world.lives(r) and r not in actor.values()]
        is_same_kind = self.among_name == self.over in self.run.world.rows
        own = 0 if is_same_kind else next(iter(actor.values())).owner
        is_other = len(others) == len(met) > 0 and (not own or others[0].owner != own)
        return [Neighbour(met, offset)] if is_other else []


class OnGrid(Nearby):
    """Neighbours come by ascending offset; on a cell in row order, then those who have come."""

    def __init__(self, run: Run, near: dict[str, str], here: str, there: str) -> None:
        super().__init__(run, near, here, there)
        self.name = self.component.grid or there
        self.grid = run.world.grids[self.name]
        self.none = self.nobody(value("i64", 0, (len(self.grid.shape),)))
        self.hood = near.get("hood", run.world.schema.components[self.name].hood)
        radius = run.radius(near["radius"])
        if radius is not None and radius < 0:
            raise ValueError(f"a radius of {radius}")

    def of(self, actor: Actor) -> list[Neighbour]:
        row, radius = actor[self.here], self.run.radius(self.near["radius"], actor)
        cell = row.id if self.here == self.name else self.run.cell_number(row)
        if not self.run.world.lives(row) or not self.grid.has(cell):
            return []
        found = []
        for offset, there in self.grid.around(cell, radius, self.hood):
            where = value("i64", offset)
            if self.there != self.name:
                standing = self.run.standing(self.there, there)
                found += [one for r in standing for one in self.met(r, actor, where)]
            elif any(offset) or self.near.get("center") == "true":
                rows = self.run.world.rows[self.name]
                found.append(Neighbour({self.name: rows[there - FIRST_CELL]}, where))
        return found


class InSpace(Nearby):
    """Neighbours come cell by cell; in a cell in row order, then those who have come into it."""

    def __init__(self, run: Run, near: dict[str, str], here: str, there: str) -> None:
        super().__init__(run, near, here, there)
        field = self.component.fields[self.component.space]
        self.none = self.nobody(value(field.type, 0, field.shape))
        radius = run.radius(near["radius"])
        if not 0 < radius < math.inf:
            raise ValueError(f"a radius of {radius}")
        self.space = Space(run.world.sizes[there], field.shape[0], radius)
        self._met: dict[Row, list[Neighbour]] = {}
        self._cells: dict[Row, Coords | None] = {}
        self._crowds: dict[Coords | None, dict[Row, None]] = defaultdict(dict)
        for row in self.among:
            self._enter(row)

    def _place(self, row: Row) -> Value:
        return self.run.cells(row)[self.component.space]

    def _enter(self, row: Row) -> None:
        cell = self._cells[row] = self.space.cell(self._place(row))
        self._crowds[cell][row] = None

    def follow(self, row: Row) -> None:
        """In turns: a row has been written; in a new cell it is the last."""
        if row in self._cells and self._cells[row] != self.space.cell(self._place(row)):
            del self._crowds[self._cells[row]][row]
            self._enter(row)

    def of(self, actor: Actor) -> list[Neighbour]:
        """Who is near, worked out once for each row unless rows take turns."""
        row = actor[self.here]
        if self.run.in_turns or row not in self._met:
            self._met[row] = self._found(actor)
        return self._met[row]

    def _found(self, actor: Actor) -> list[Neighbour]:
        here = self._place(actor[self.here])
        cell = self.space.cell(here)
        found: list[Neighbour] = []
        for around in self.space.around(cell) if cell else ():
            for row in self._crowds.get(around, ()):
                offset = self.space.offset(here, self._place(row))
                found += self.met(row, actor, offset) if self.space.reaches(offset) else []
        return found


def nearby(run: Run, near: dict[str, str]) -> OnGrid | InSpace:
    """A neighbourhood in the space that both sides have, else on the grid."""
    components, over = run.world.schema.components, run.world.names(run.kernel.over)
    among = run.world.names(near.get("among", run.kernel.over))
    for name in over:
        if components[name].space and name in among:
            return InSpace(run, near, name, name)
    here = next(n for n in over if components[n].shape or components[n].grid)
    there = next(n for n in among if components[n].shape or components[n].grid)
    return OnGrid(run, near, here, there)
