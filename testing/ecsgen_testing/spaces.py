"""Neighbours, found by looking at all pairs; and cases of managers that find them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .common_cases import Cases
from .kernel_inputs import Columns, Rng, Value, columns_of, flat, put_columns
from .subject import COPIES, Subject, refuses

Cell = tuple[int, ...]


class Space:
    """A radius, and an axis each: f32 or f64 places, sizes with 0 for open ones."""

    def __init__(self, radius: float, wrap: Sequence[float], dtype: Any) -> None:
        self._kind = np.dtype(dtype).type
        self._reach = self._kind(radius) * self._kind(radius)
        self._wrap = [self._kind(size) for size in wrap]
        edge = 1.001 * float(radius)
        self._counts = [max(1, math.floor(size / edge)) if size else 0 for size in wrap]
        sizes = zip(wrap, self._counts, strict=True)
        self._edges = [size / count if count else edge for size, count in sizes]

    def offset(self, start: Any, target: Any) -> list[Any]:
        """Return the way from a place to another."""
        offset = []
        for x, y, size in zip(start, target, self._wrap, strict=True):
            apart = y - x
            if size and abs(apart) > size / 2:
                apart = apart - size * np.rint(apart / size)
            offset.append(apart)
        return offset

    def square(self, offset: Sequence[Any]) -> Any:
        """Return `dot(offset, offset)`."""
        return sum((apart * apart for apart in offset), self._kind(0))

    def cell(self, point: Any) -> Cell:
        """Return the cell of a finite place."""
        axes = zip(point, self._edges, self._counts, strict=True)
        cells = ((math.floor(float(x) / edge), count) for x, edge, count in axes)
        return tuple(cell % count if count else cell for cell, count in cells)

    def around(self, cell: Cell) -> list[Cell]:
        """Return the cells around one, each once, in order."""
        steps = product((-1, 0, 1), repeat=len(cell))
        axes = [tuple(map(sum, zip(cell, step, strict=True))) for step in steps]
        met = [
            tuple(c % n if n else c for c, n in zip(around, self._counts, strict=True))
            for around in axes
        ]
        return list(dict.fromkeys(met))

    def met(
        self, by_cell: Mapping[Cell, Sequence[int]], point: Any, places: NDArray[Any]
    ) -> Iterator[tuple[int, list[Any], Any]]:
        """Yield the rows in reach of a point, cell by cell: the way there, its square.

        The cells have rows with finite places alone.
        """
        if not np.isfinite(point).all():
            return
        for cell in self.around(self.cell(point)):
            for row in by_cell.get(cell, ()):
                offset = self.offset(point, places[row])
                square = self.square(offset)
                if square <= self._reach:
                    yield row, offset, square


def neighbours(
    space: Space, points: NDArray[Any], places: NDArray[Any], seen: Sequence[bool]
) -> list[list[int]]:
    """Return which places, of those that are seen, are in reach of each point, in order.

    Points and places of one type, shape (k, axes).
    """
    with np.errstate(all="ignore"):
        by_cell: dict[Cell, list[int]] = {}
        for row, position in enumerate(places):
            if seen[row] and np.isfinite(position).all():
                by_cell.setdefault(space.cell(position), []).append(row)
        met = (space.met(by_cell, point, places) for point in points)
        return [[row for row, *_ in near] for near in met]


Rows = Mapping[str, int]
"""By component: the row of one of those that the world's kernels run over, or ask."""


class Neighbour:
    """A row as another one sees it, or one row of each of several components."""

    def __init__(self, columns: Columns, row: int, rows: Rows, offset: Value, square: Any) -> None:
        self._columns = columns
        self._row = row
        self._rows = rows
        self.offset = offset
        self.square = square
        self.distance: Value = [np.sqrt(square)]

    def __getitem__(self, name: str) -> Value:
        row = self._rows.get(name.partition(".")[0], self._row)
        return flat(self._columns[name][row])


class Members(NamedTuple):
    """Members of a space that may be neighbours."""

    rows: Mapping[int, Rows]
    """By the row with the place, in order: those of the same entity in each component."""
    names: NDArray[np.uint64] | None = None
    """By row: its entity; rows of one entity are no neighbours."""


class NaiveCellList:
    """Rows of a manager in the cells of their places, in the order in which they came there.

    Positions are those before the kernel; in turns the present ones: rows that move change cells.
    `place` is the field with the places, as steps spell it; by default all ask each other.
    """

    def __init__(
        self,
        manager: Any,
        columns: Columns,
        radius: float,
        field: str,
        *,
        in_turns: bool,
        members: Members | None = None,
    ) -> None:
        if not in_turns:
            columns = {name: column.copy() for name, column in columns.items()}
        self.place = field
        self._columns = columns
        self._places = columns[field]
        self._in_turns = in_turns
        self._space = Space(radius, manager.wrap, self._places.dtype)
        everybody = range(len(self._places))
        rows, names = members or Members({row: {} for row in everybody})
        self._names = everybody if names is None else names
        seen = are_seen(manager)
        self._rows = {row: of_one for row, of_one in rows.items() if seen[row]}
        self._cells: dict[Cell, list[int]] = {}
        self._cell_of: dict[int, Cell | None] = {}
        self._found: dict[int, list[Neighbour]] = {}
        for row in self._rows:
            self._enter(row)

    def moved(self, column: NDArray[Any], row: int) -> None:
        """Move a row to another cell if its position was written and other rows see it."""
        if self._in_turns and column is self._places:
            self._found.clear()
            if row in self._rows:
                self._enter(row)

    def around(self, row: int) -> list[Neighbour]:
        """Return the neighbours of a row, in order, cached until a row moves."""
        if row not in self._found:
            places, name = self._places, self._names[row]
            met = self._space.met(self._cells, places[row], places)
            self._found[row] = [
                Neighbour(self._columns, near, self._rows[near], offset, square)
                for near, offset, square in met
                if self._names[near] != name
            ]
        return self._found[row]

    def _enter(self, row: int) -> None:
        point, before = self._places[row], self._cell_of.get(row)
        cell = self._space.cell(point) if np.isfinite(point).all() else None
        if cell == before:
            return
        if before is not None:
            self._cells[before].remove(row)
        if cell is not None:
            self._cells.setdefault(cell, []).append(row)
        self._cell_of[row] = cell


def are_seen(manager: Any) -> list[bool]:
    """Return which rows are visible: active ones of live entities."""
    data = manager.data
    active = int(getattr(manager, "n_active", data.n))
    seen = [row < active for row in range(data.n)]
    if hasattr(data, "entity"):
        alive = manager._entities.alive_many(data.entity).tolist()
        seen = [is_active and other for is_active, other in zip(seen, alive, strict=True)]
    return seen


def answer(how: str, scalar: str, count: int, values: list[Value], squares: Sequence[Any]) -> Value:
    """Return what comes of the values that neighbours answer, an element after the other."""
    kind = np.dtype(scalar).type
    if how == "count":
        return [kind(sum(bool(value[0]) for value in values))]
    if not values:
        none = np.nan if how in ("mean", "min", "max") and kind(0.5) == 0.5 else 0
        return [kind(none)] * count
    if how == "nearest":
        first = min(range(len(values)), key=lambda k: squares[k])
        return values[first] * (count // len(values[first]))
    elements = zip(*(value * (count // len(value)) for value in values), strict=True)
    return [_folded(how, kind, list(each)) for each in elements]


def _folded(how: str, kind: Any, values: list[Any]) -> Any:
    if how in ("min", "max"):
        unordered = [value for value in values if value != value]
        return unordered[0] if unordered else (min if how == "min" else max)(values)
    if how == "sum" and kind(0.5) != 0.5:
        return np.array(values).astype(kind).sum(dtype=kind)
    added = sum(map(np.float64, values))
    return kind(added / len(values) if how == "mean" else added)


def gather(subject: Subject, manager: Any, field: str, radius: float, rng: Rng) -> None:
    """Move some rows near others, in a space that wraps around or does not."""
    columns = columns_of(subject, manager)
    places = columns[field]
    half = places.dtype.type(radius / 2)
    with np.errstate(all="ignore"):
        places *= half / 5
        if rng.random() < 0.5:  # equal distances, some just in reach
            places[...] = np.rint(places / half) * half
    put_columns(subject, manager, columns)
    sizes = rng.choice([0, 0, 2.5, 3.5, 8], len(manager.wrap)) * radius
    manager.wrap = tuple(sizes.tolist())


def kill_some(manager: Any, rng: Rng) -> None:
    """Destroy some owners; their rows stay, or go at once."""
    if hasattr(manager.data, "entity"):
        owners = np.unique(manager.data.entity)
        owners = owners[owners != 0]
        manager._entities.destroy_many(owners[rng.random(len(owners)) < 0.2])


COUNT = 40


class SpatialCases(Cases):
    """Searches for rows around points."""

    def placed(self) -> tuple[Any, Any, list[int]]:
        """Return rows at random places in a square of 10, two of them at none."""
        source, m = self.new(COUNT)
        axes = len(m.wrap)
        places = np.random.default_rng(1).random((COUNT, axes)) * 10
        places[3, 0], places[4, axes - 1] = np.nan, np.inf
        places[5:7] = 1  # two just in reach of each other
        places[6, 0] = 3
        rows = self.add(source, m, COUNT, **{m._SPACE.field: places})
        return source, m, rows

    def check(self, m: Any, radius: float) -> None:
        """Compare with the definition, for points among the rows and elsewhere."""
        places = columns_of(self.subject, m)[m._SPACE.field]
        points = np.vstack([places, places[:5] * 0.5, places[:5] - 11])
        space = Space(radius, m.wrap, places.dtype)
        expected = neighbours(space, points, places, are_seen(m))
        starts, rows = m.near(points, radius)
        assert (starts.dtype, rows.dtype) == (np.intp, np.intp)
        pairs = pairwise(starts)
        assert [rows[start:end].tolist() for start, end in pairs] == expected

    def test_who_is_near(self) -> None:
        source, m, rows = self.placed()
        axes = len(m.wrap)
        same = ((size,) * axes for size in (0, 10, 5))
        for wrap in (*same, (0, 2.5, 10)[:axes], (20, 3, 0)[:axes]):
            m.wrap = wrap
            for radius in (0.5, 2, 30):
                self.check(m, radius)
        if hasattr(source, "destroy_many"):
            owners = [self.owner(m, row) for row in rows]
            source.destroy_many(owners[::3])
            self.check(m, 2)
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(1, m.data.n, 4))
            self.check(m, 2)
        m.clear()
        starts, rows_found = m.near(np.zeros((2, axes)), 1.0)
        assert (starts.tolist(), rows_found.tolist()) == ([0, 0, 0], [])
        assert m.near(np.empty((0, axes)), 1.0).starts.tolist() == [0]

    def test_what_is_no_point_or_radius(self) -> None:
        _, m, _ = self.placed()
        axes = len(m.wrap)
        points = np.zeros((2, axes))
        for radius in (0, -1.0, np.nan, np.inf, "1", None, True):
            refuses(ValueError, "radius", m.near, points, radius)
        shapes = (2, axes + 1), (1, 2, axes)
        for wrong in (0.0, [0.0] * axes, *map(np.zeros, shapes)):
            refuses(ValueError, "points", m.near, wrong, 1.0)

    def test_what_is_no_wrap(self, m: Any) -> None:
        axes = len(m.wrap)
        sizes = (-1, np.nan, np.inf, "x", None, True)
        others = (), (1,) * (axes + 1), 7, None, "abc"
        for wrap in (*((size,) * axes for size in sizes), *others):
            refuses(ValueError, "wrap", setattr, m, "wrap", wrap)
        assert m.wrap == m._SPACE.wrap
        m.wrap = np.arange(axes)
        assert m.wrap == tuple(map(float, range(axes)))
        assert all(type(size) is float for size in m.wrap)

    def test_copies_are_as_wide(self, m: Any) -> None:
        m.wrap = wrap = tuple(size + 0.1 for size in m._SPACE.wrap[::-1])
        assert [copied(m).wrap for copied in COPIES] == [wrap, wrap]
