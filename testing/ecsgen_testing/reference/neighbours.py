"""Neighbourhoods of one call: who is near a row, on a grid or in a continuous space, and in which
order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from .grid_geometry import FIRST_CELL, Coords, Space, hex_steps, square
from .naive_world import Actor, Row, World
from .schema import Kernel, Near, Reduction, Schema
from .sight import Sight
from .values import Value, dtype_of, floating, typed, value


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour, and its place less the row's."""

    rows: Actor
    offset: Value
    link: Row | None = None
    """The row that links both."""

    @property
    def row(self) -> Row:
        """The first of its rows."""
        return next(iter(self.rows.values()))


@dataclass(frozen=True)
class Hood:
    """A neighbourhood of a kernel: rows of `here` ask, those of `there` are met."""

    near: Near
    among: str
    here: str
    there: str
    shape: str = ""
    """On a grid: which cells are in reach."""
    grid: str = ""
    """The grid; "" in a continuous space, and for everybody."""
    field: str = ""
    """The field of places in the continuous space of both sides."""

    @classmethod
    def of(cls, schema: Schema, kernel: Kernel | Reduction, near: Near) -> Hood:
        """Return a neighbourhood in the space that both sides have, else on the grid."""

        def grid_of(name: str) -> str:
            return name if components[name].shape else components[name].grid

        components, among = schema.components, near.among or kernel.over
        asking, met = schema.members_of(kernel.over), schema.members_of(among)
        if near.via:
            here, there = (
                next(n for n in side if components[n].is_owned) for side in (asking, met)
            )
            return cls(near, among, here, there)
        for name in asking:
            if components[name].space and name in met:
                return cls(near, among, name, name, field=components[name].space)
        if near.radius is None:
            return cls(near, among, asking[0], met[0])
        pairs = ((here, there) for here in asking for there in met if grid_of(here))
        here, there = next(pair for pair in pairs if grid_of(pair[0]) == grid_of(pair[1]))
        grid = grid_of(here)
        return cls(near, among, here, there, near.hood or components[grid].hood, grid)

    def sample(self, schema: Schema) -> Value:
        """Return an offset, for its type and shape."""
        if self.grid:
            return value("i64", 0, (len(schema.components[self.grid].shape),))
        return schema.components[self.there].fields[self.field].initial

    def square(self, offset: Value) -> Value:
        """Return the square of the distance at an offset; of hexagons, of the number of steps."""
        if self.shape == "hex":
            return value("i64", hex_steps(offset.data.tolist()) ** 2)
        return square(offset)

    def distance(self, offset: Value) -> Value:
        """Return the distance at an offset."""
        return typed(np.sqrt(floating(self.square(offset)).data))


def candidates(component: str) -> Hood:
    """Return rows of a component, of which one is chosen by chance, as a neighbourhood."""
    return Hood(Near(component), component, component, component)


class Neighbourhood:
    """A neighbourhood in one call of a kernel, at places in a continuous space, if it has one.

    Neighbours come in row order: everybody, or who is within the row's own reach.
    """

    def __init__(self, sight: Sight, hood: Hood) -> None:
        self._sight, self._hood = sight, hood
        self._among = {actor[hood.there]: actor for actor in sight.active(hood.among)}
        self._meets_its_own = hood.near.radius is not None and (
            hood.among == sight.source.over in sight.world.rows
        )
        """True if a row may meet other rows of its entity."""
        self._cached: dict[Row, list[Neighbour]] = {}

    def around(self, actor: Actor) -> list[Neighbour]:
        """Return the neighbours of an actor now, in order."""
        row = actor[self._hood.here]
        if self._sight.in_turns or row not in self._cached:
            self._cached[row] = self._search(actor, row)
        return self._cached[row]

    @cached_property
    def _space(self) -> Space:
        hood, world = self._hood, self._sight.world
        axes = math.prod(hood.sample(world.schema).shape) if hood.field else 0
        return Space(world.sizes[hood.there], axes)

    def _place(self, row: Row) -> Value:
        return self._sight.seen(row, self._hood.field)

    def _search(self, actor: Actor, row: Row) -> list[Neighbour]:
        near = self._hood.near
        radius = None if near.radius is None else float(self._sight.radius(near.radius, actor))
        if radius is not None and not 0 <= radius < math.inf:
            return []
        neighbours: list[Neighbour] = []
        for other in self._among:
            offset = self._offset(row, other)
            if radius is None or self._is_within(row, other, offset, radius):
                neighbours += self._met(other, actor, offset)
        return neighbours

    def _is_within(self, row: Row, other: Row, offset: Value, radius: float) -> bool:
        """Return True if both places are finite, and not farther from each other."""
        limit = value(offset.type, radius).data
        is_finite = all(np.isfinite(self._place(each).data).all() for each in (row, other))
        return is_finite and bool(self._hood.square(offset).data <= limit * limit)

    def offset(self, actor: Actor, neighbour: Neighbour) -> Value:
        """Return the place of a neighbour less the actor's; in turns their places of now."""
        if not self._sight.in_turns:
            return neighbour.offset
        return self._offset(actor[self._hood.here], neighbour.rows[self._hood.there])

    def _offset(self, row: Row, other: Row) -> Value:
        if not self._hood.field:
            return value("f64", 0)
        return self._space.offset(self._place(row), self._place(other))

    def follow(self, row: Row) -> None:
        """Take note that a row was written in turns."""

    def _met(self, row: Row, actor: Actor, offset: Value) -> list[Neighbour]:
        """Return the neighbour that a row belongs to; none for one who asks, dead, or not asked."""
        rows = self._among.get(row)
        if rows is None:
            return []
        owner = 0 if self._meets_its_own else next(iter(actor.values())).owner
        for other in rows.values():
            if other in actor.values() or not self._sight.world.lives(other):
                return []
            if owner and other.owner == owner:
                return []
        return [Neighbour(rows, offset)]


class GridNeighbourhood(Neighbourhood):
    """Neighbours come by ascending offset; on a cell in row order, then those who came to it."""

    def __init__(self, sight: Sight, hood: Hood) -> None:
        super().__init__(sight, hood)
        self._grid = sight.world.grids[hood.grid]
        assert hood.near.radius is not None
        self._radius = radius = sight.radius(hood.near.radius)
        if radius is not None and radius < 0:
            raise ValueError(f"a radius of {radius}")

    def _cell(self, row: Row) -> int:
        """Return the id of a row that is a cell, or of the cell on which it stands."""
        return row.id if row.component == self._hood.grid else self._sight.cell_number(row)

    def _offset(self, row: Row, other: Row) -> Value:
        return value("i64", self._grid.offset(self._cell(row), self._cell(other), self._hood.shape))

    def _search(self, actor: Actor, row: Row) -> list[Neighbour]:
        hood, sight = self._hood, self._sight
        radius = self._radius
        if radius is None and hood.near.radius is not None:
            radius = sight.radius(hood.near.radius, actor)
        cell = self._cell(row)
        if not sight.world.lives(row) or not self._grid.has(cell):
            return []
        neighbours = []
        for offset, there in self._grid.around(cell, int(radius), hood.shape):
            way = value("i64", offset)
            if hood.there != hood.grid:
                for other in sight.occupants(hood.there).standing(there):
                    neighbours += self._met(other, actor, way)
            elif any(offset) or hood.near.center:
                cell_row = sight.world.rows[hood.grid][there - FIRST_CELL]
                neighbours.append(Neighbour({hood.grid: cell_row}, way))
        return neighbours


class LinkedNeighbourhood(Neighbourhood):
    """Neighbours come in the order of the links before the kernel; those that have gone since, and
    those of the dead, are left out."""

    def __init__(self, sight: Sight, hood: Hood) -> None:
        super().__init__(sight, hood)
        near, world = hood.near, sight.world
        network = world.schema.components[near.via]
        self._links: dict[int, list[tuple[Row, int]]] = defaultdict(list)
        for row in world.rows[near.via]:
            first, second = (
                row.owner if end == "entity" else row.cells[end].one for end in network.ends
            )
            ends = [(first, second), (second, first)]
            for entity, other in ends if network.is_mutual else ends[near.back :][:1]:
                if row.is_active and first != second:
                    self._links[entity].append((row, other))
        self._first = {e: world.first(hood.there, e) for e in sorted(world.entities)}

    def _search(self, actor: Actor, row: Row) -> list[Neighbour]:
        entities, lives = self._sight.world.entities, self._sight.world.lives
        neighbours = []
        for link, other in self._links[row.owner] if lives(row) else ():
            met = self._first.get(other)
            rows = None if met is None else self._among.get(met)
            if rows is not None and other in entities and all(map(lives, (link, *rows.values()))):
                neighbours.append(Neighbour(rows, value("f64", 0), link))
        return neighbours


class CellNeighbourhood(Neighbourhood):
    """Neighbours come cell by cell; in a cell in row order, then those who came into it."""

    def __init__(self, sight: Sight, hood: Hood) -> None:
        super().__init__(sight, hood)
        assert hood.near.radius is not None
        radius = sight.radius(hood.near.radius)
        if not 0 < radius < math.inf:
            raise ValueError(f"a radius of {radius}")
        self._space.divide(radius, dtype_of(hood.sample(sight.world.schema).type))
        self._cell_of: dict[Row, Coords | None] = {}
        self._members: dict[Coords | None, dict[Row, None]] = defaultdict(dict)
        for row in self._among:
            self._enter(row)

    def _enter(self, row: Row) -> None:
        cell = self._cell_of[row] = self._space.cell(self._place(row))
        self._members[cell][row] = None

    def follow(self, row: Row) -> None:
        if row in self._cell_of and self._cell_of[row] != self._space.cell(self._place(row)):
            del self._members[self._cell_of[row]][row]
            self._enter(row)

    def _search(self, actor: Actor, row: Row) -> list[Neighbour]:
        met = self._space.met(self._members, self._place(row), self._place)
        return [near for other, offset in met for near in self._met(other, actor, offset)]


class Surroundings(Sight):
    """Sight with neighbourhoods, and with rows of which one is chosen by chance."""

    def __init__(
        self,
        world: World,
        source: Kernel | Reduction,
        arguments: Mapping[str, Value] = MappingProxyType({}),
        chosen: Iterable[str] = (),
    ) -> None:
        """`chosen`: the components whose living rows are chosen from."""
        super().__init__(world, source, arguments)
        self.candidates = {
            name: [row for row in world.rows[name] if row.is_active and world.lives(row)]
            for name in chosen
        }
        """Rows of which one is chosen by chance: those that lived before the kernel."""
        self.nearby: dict[str, Neighbourhood] = {}
        """The neighbourhoods by name."""

    def look_around(self, hoods: Mapping[str, Hood]) -> None:
        """Begin with the neighbourhoods of a kernel. Raises ValueError for a bad radius."""
        for name, hood in hoods.items():
            kind: type[Neighbourhood] = GridNeighbourhood if hood.grid else CellNeighbourhood
            if not hood.grid and (
                hood.near.radius is None or self.radius(hood.near.radius) is None
            ):
                kind = LinkedNeighbourhood if hood.near.via else Neighbourhood
            self.nearby[name] = kind(self, hood)

    def follow(self, row: Row) -> None:
        """Take note that a row was written; in turns its neighbours see it."""
        if self.in_turns:
            for near in self.nearby.values():
                near.follow(row)
