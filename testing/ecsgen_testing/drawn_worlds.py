"""Worlds for tests of kernels: rows of random bits, handles that lead somewhere or nowhere, dead
entities, holes, parents, and neighbours that are near."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from ecsgen_runtime.base.errors import EcsError
from ecsgen_runtime.base.handles import NIL, EntityArray
from numpy.typing import NDArray

from .reference.grid_geometry import FIRST_CELL
from .reference.neighbours import Hood
from .reference.schema import SETTINGS, Component, Field, Kernel, Reduction, Schema
from .reference.values import TIMES, dtype_of, value
from .reference.world_copy import chunks_of, column_of, columns_of, manager_of, rows_of
from .subject import small_chunks

Rng: TypeAlias = np.random.Generator
Source: TypeAlias = Kernel | Reduction
"""A kernel or a reduction, which has rows to read."""
SPECIAL: Final = (*(np.nan, np.inf, -np.inf, -0.0, 0.0), *(1.0, -1.0, 3e38, 1e-45, 1e19, 255.0))
_NO_HANDLES: Final = (0, 1, 2**64 - 1, 77 << 32, FIRST_CELL + 1_000_000)
_RADII: Final = (1, 5, 20)
_GRID_RADII: Final = (0, 1, 2)
"""Radii of neighbourhoods that arguments have, in continuous spaces and on grids."""
_AXES: Final = (0, 11, 5, 3)
"""Longest axis of a grid, by how many it has."""
_BEHIND: Final = 3
"""Rows that are destroyed again, and leave extreme numbers behind the last row."""


def involved(schema: Schema, sources: Iterable[Source]) -> list[str]:
    """Return the components with which sources have to do, in the order of the schema."""
    names = set[str]()
    for source in sources:
        query = schema.queries.get(source.over, {})
        names.update(schema.members_of(source.over), query.get("any", ()), query.get("none", ()))
        names.update(re.findall(r"\w+", source.text))
        for near in source.near.values():
            names.update(schema.members_of(near.among or source.over), [near.via])
    for name in [*names]:
        names.update(_bundled(schema, name))
    names.update([schema.components[n].grid for n in names if n in schema.components])
    return [name for name in schema.components if name in names]


def _bundled(schema: Schema, bundle: str) -> set[str]:
    members = schema.bundles.get(bundle, {})
    return {*members}.union(*(_bundled(schema, member) for member in members))


class DrawnWorld:
    """A generated world, and some components of it that have rows."""

    def __init__(self, kind: Any, schema: Schema, sources: Sequence[Source], rng: Rng) -> None:
        """`kind`: the class of the world."""
        self.schema, self.rng = schema, rng
        self.numbers = any_numbers
        """Draws the numbers of fields and arguments."""
        if any(isinstance(source, Kernel) and source.computes_passes for source in sources):
            self.numbers = _few_numbers
        self._is_in_step = bool(rng.random() < 0.4)
        """True if entities have their rows in one order, and only the first of them die."""
        self.names = involved(schema, sources)
        queries = [schema.queries.get(source.over, {}) for source in sources]
        self._excluded = {name for query in queries for name in query.get("none", ())}
        with small_chunks(kind()):
            self.world = kind(**self._shapes())
        self.entities: EntityArray = np.empty(0, np.uint64)
        nears = [(source, near) for source in sources for near in source.near.values()]
        self._settings = {f"{SETTINGS}.{name}": f for name, f in schema.settings.items()}
        self._hoods = [Hood.of(schema, source, near) for source, near in nears]
        self.radii: dict[float | str, int] = {
            hood.near.radius: rng.choice(_GRID_RADII if hood.grid else _RADII).item()
            for (source, _), hood in zip(nears, self._hoods, strict=True)
            if hood.near.radius in (*source.args, *self._settings)
        }
        """Radii of neighbourhoods that are arguments or settings."""
        for name in self.names:
            self._draw_wrap(name)

    def manager(self, name: str) -> Any:
        """Return the manager of a component."""
        return manager_of(self.world, self.schema, name)

    def _shapes(self) -> dict[str, list[int]]:
        components = (self.schema.components[name] for name in self.names)
        return {
            c.module: self.rng.integers(
                1, _AXES[len(c.shape)], len(c.shape), endpoint=True
            ).tolist()
            for c in components
            if c.shape
        }

    def _draw_wrap(self, name: str) -> None:
        component = self.schema.components[name]
        if component.shape:
            wraps = self.rng.random(len(component.shape)) < 0.5
            self.manager(name).wrap = tuple(wraps.tolist())
        elif component.space:
            manager = self.manager(name)
            sizes = self.rng.choice([0, 0, 2.5, 3.5, 8], len(manager.wrap)) * self._scale(name)
            manager.wrap = tuple(sizes.tolist())

    def _scale(self, name: str) -> float:
        """Return the radius in which rows of a component are looked for."""
        for hood in self._hoods:
            if hood.there == name and not hood.grid and hood.near.radius is not None:
                radius = hood.near.radius
                return float(self.radii.get(radius, 1.0) if isinstance(radius, str) else radius)
        return 1.0

    # Rows

    def add_rows(self, count: int) -> None:
        """Add rows to all components, often in another order in each, and give fields new values.

        Some entities lack a component, some have died. Raises CapacityError without handles.
        """
        new = self.world.entities.create_many(count + _BEHIND)
        for name in self.names:
            if not self.schema.components[name].shape:
                self._create(name, new)
        usual, self.numbers = self.numbers, _extreme_numbers
        self.draw_fields()
        self.numbers = usual
        self.world.destroy_many(new[count:])
        self.world.collect()
        self.entities = np.concatenate([self.entities, new[:count]])
        for name in self.names:
            self._relate(name)
        self.draw_fields()
        if self.rng.random() < 0.5:
            alive = self.entities[self.world.entities.alive_many(self.entities)]
            dies = np.arange(len(alive)) < self.rng.integers(1, 4)
            if not self._is_in_step:
                dies = self.rng.random(len(alive)) < 0.15
            self.world.entities.destroy_many(alive[dies])

    def _create(self, name: str, new: EntityArray) -> None:
        component, rng = self.schema.components[name], self.rng
        if self._is_in_step:
            owners = new[len(new) if name in self._excluded else rng.integers(_BEHIND + 1) :]
        else:
            share = 0.2 if name in self._excluded else 0.9
            owners = rng.permutation(new[rng.random(len(new)) < share])
        if component.is_chunked:
            package = sys.modules[type(self.world).__module__.rpartition(".")[0]]
            self.world.archetypes.add_many(owners, getattr(package, name))
            return
        if component.has_many:
            owners = np.concatenate([owners, owners[::3]])
        starts = self._starts(name, len(owners))
        _create_rows(self.manager(name), component, owners, starts)

    def _starts(self, name: str, count: int) -> dict[str, Any]:
        """Return the values of fields that rows must be created with."""
        component = self.schema.components[name]
        first = len(self.manager(name))
        starts = {
            field: [self._distinct(type_, first + k) for k in range(count)]
            for field, type_ in component.unique.items()
        }
        if component.stands:
            starts[component.stands] = self._cells(name, count).tolist()
        return starts

    def _distinct(self, type_: str, number: int) -> Any:
        """Return a value that no other number gives, if the type has enough."""
        members = [*self.schema.enums.get(type_, {}).values()]
        if members:
            return members[number % len(members)]
        if type_.startswith("str"):
            return str(number)[-int(type_[4:-1]) :]
        if type_.startswith("bytes"):
            size = int(type_[6:-1])
            return (number % 256**size).to_bytes(size, "big")
        if type_ in TIMES:
            return TIMES[type_].type(number, np.datetime_data(TIMES[type_])[0])
        dtype = dtype_of(type_)
        return np.array([number]).astype(dtype).item()

    def _cells(self, name: str, count: int) -> NDArray[np.uint64]:
        """Return a cell for each of some new rows, or 0, no more on each than its capacity."""
        component, manager = self.schema.components[name], self.manager(name)
        every = FIRST_CELL + np.arange(len(self.manager(component.grid)), dtype=np.uint64)
        taken = getattr(manager.data, component.stands)
        capacity = int(min(component.capacity, count))
        left = [int(capacity - np.count_nonzero(taken == cell)) for cell in every]
        room = self.rng.permutation(every.repeat(np.maximum(left, 0)))[:count]
        cells = np.zeros(count, np.uint64)
        cells[: len(room)] = room
        return self.rng.permutation(np.where(self.rng.random(count) < 0.1, np.uint64(0), cells))

    def _relate(self, name: str) -> None:
        """Give rows parents, make some inactive, and leave a hole where rows are indices."""
        if self.schema.components[name].is_chunked:
            return
        manager, rng = self.manager(name), self.rng
        if hasattr(manager, "set_parent"):
            for row in range(len(manager)):  # no root is below a row that moved before it
                manager.set_parent(row, NIL)
            for row in range(1, len(manager)):
                if rng.random() < 0.5:
                    manager.set_parent(row, int(rng.integers(0, row)))
        if hasattr(manager, "deactivate_many"):
            manager.activate_many(rng.random(len(manager)) < 0.7)
            manager.deactivate_many(rng.random(len(manager)) < 0.3)
        is_long = len(manager) > _BEHIND and not self._is_in_step
        if hasattr(manager, "destroy") and is_long and rng.random() < 0.5:
            manager.destroy(rows_of(manager)[2])

    # Values

    def draw_fields(self) -> None:
        """Fill settings and the fields of all rows anew, but those whose values are bound."""
        for name, setting in self._settings.items():
            self._draw_setting(name, setting)
        for name in self.names:
            component = self.schema.components[name]
            if component.is_chunked:
                self._draw_chunks(name, component)
                continue
            manager = self.manager(name)
            for field, f in component.fields.items():
                if field != component.stands and field not in component.unique:
                    put_column(manager, field, self._column(name, field, f, manager.data.n))

    def _draw_setting(self, name: str, setting: Field) -> None:
        drawn = value(setting.type, self.draw_argument(name, setting, setting.shape), setting.shape)
        if drawn.kind in "mM":
            setattr(self.world.settings, name.partition(".")[2], drawn.data[()])
            return
        if not setting.shape:
            drawn = setting.initial if drawn.one != drawn.one else setting.clipped(drawn)
        setattr(self.world.settings, name.partition(".")[2], drawn.data.tolist())

    def _draw_chunks(self, name: str, component: Component) -> None:
        for entities, data in chunks_of(self.world, self.schema, name):
            for field, f in component.fields.items():
                for column in columns_of(data, field, f):
                    column[...] = self.draw(f.type, (len(entities), *column.shape[1:]))

    def roll(self, name: str, places: int) -> None:
        """Move the fields of a component's rows on, those of the last rows to the first."""
        component, manager = self.schema.components[name], self.manager(name)
        used = rows_of(manager)
        for field, f in component.fields.items():
            if field != component.stands and field not in component.unique:
                cells = np.zeros((manager.data.n, *f.shape), dtype_of(f.type))
                cells[used] = np.roll(column_of(manager, field, f), places, axis=0)
                put_column(manager, field, cells)

    def _column(self, name: str, field: str, f: Field, count: int) -> NDArray[Any]:
        component, shape = self.schema.components[name], (count, *f.shape)
        if field == component.space:
            return self._positions(name, shape).astype(dtype_of(f.type))
        return self.draw(f.type, shape)

    def _positions(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return positions near each other, half of the times at equal distances."""
        half = self._scale(name) / 2
        cells = self.rng.standard_normal(shape) * 3
        places = (np.rint(cells) if self.rng.random() < 0.5 else cells) * half
        places[self.rng.random(shape) < 0.02] = self.rng.choice(SPECIAL[:3])
        return places

    def draw(self, type_: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return random values of a type."""
        rng, dtype = self.rng, dtype_of(type_)
        members = self.schema.enums.get(type_)
        if members:
            return rng.choice(np.array([*members.values()], np.uint64), shape)
        if type_ == "entity" or type_.startswith("id<"):
            return rng.choice(self._handles(type_), shape)
        if dtype.kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        with np.errstate(all="ignore"):
            if dtype.kind in "mM":
                ticks = self.numbers(np.dtype(np.int64), shape, rng).view(dtype)
                return np.where(rng.random(shape) < 0.1, np.array("NaT", dtype), ticks)
            return self.numbers(dtype, shape, rng)

    def draw_argument(self, name: str, argument: Field, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return values of an argument: a radius, a share or chance, or any."""
        if name in self.radii:
            return np.asarray(self.radii[name])
        if argument.type.startswith("f") and self.rng.random() < 0.5:
            return np.asarray(self.rng.random(shape)).astype(dtype_of(argument.type))
        return self.draw(argument.type, shape)

    def _handles(self, type_: str) -> NDArray[np.uint64]:
        pool = [np.array(_NO_HANDLES, np.uint64), self.entities]
        target = type_[3:-1]
        if target in self.names:
            manager = self.manager(target)
            pool.append(np.asarray(manager.id_of_many(rows_of(manager)), np.uint64))
        return np.concatenate(pool)


def put_column(manager: Any, field: str, cells: NDArray[Any]) -> None:
    """Write a field of all rows; one in several columns row by row."""
    column = getattr(manager.data, field, None)
    if column is not None:
        setattr(manager.data, field, cells)
        return
    for row in rows_of(manager):
        getattr(manager, f"set_{field}")(row, cells[row].tolist())


def _create_rows(
    manager: Any, component: Component, owners: EntityArray, starts: dict[str, Any]
) -> None:
    """Create rows, all at once or, if some are refused, those that are not."""
    try:
        manager.create_many(owners if component.is_owned else len(owners), **starts)
    except EcsError:
        for k, owner in enumerate(owners.tolist()):
            values = {field: values[k] for field, values in starts.items()}
            try:
                manager.create(*([owner] if component.is_owned else []), **values)
            except EcsError:
                continue


def any_numbers(dtype: np.dtype[Any], shape: Iterable[int], rng: Rng) -> NDArray[Any]:
    """Return numbers of all sizes: special ones, small ones that are often equal, and any bits."""
    shape, kind = tuple(shape), rng.random()
    if dtype.kind == "f":
        usual = rng.standard_normal(shape) * 10 if kind < 0.7 else rng.integers(-3, 4, shape) / 2
        special = rng.choice(np.array(SPECIAL), shape)
        return np.where(rng.random(shape) < 0.15, special, usual).astype(dtype)
    limits = np.iinfo(dtype)
    wild = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    tame = rng.integers(0, 5, shape).astype(dtype)
    return np.where(rng.random(shape) < (0.8 if kind < 0.5 else 0.2), wild, tame)


def tame_numbers(dtype: np.dtype[Any], shape: Iterable[int], rng: Rng) -> NDArray[Any]:
    """Return numbers that can be added."""
    if dtype.kind == "f":
        return np.asarray(rng.standard_normal(tuple(shape)) * 10).astype(dtype)
    most = 50 if dtype.itemsize < 4 else 1_000_000  # few are the same
    return rng.integers(0, most, tuple(shape)).astype(dtype)


def _few_numbers(dtype: np.dtype[Any], shape: Iterable[int], rng: Rng) -> NDArray[Any]:
    """Return numbers that a loop can count up to."""
    low = 0 if dtype.kind == "u" else -2
    return (rng.integers(2 * low, 10, tuple(shape)) / 2).astype(dtype)


def _extreme_numbers(dtype: np.dtype[Any], shape: Iterable[int], rng: Rng) -> NDArray[Any]:
    """Return numbers that change whatever is computed of them."""
    if dtype.kind == "f":
        return np.full(tuple(shape), np.nan, dtype)
    limits = np.iinfo(dtype)
    return rng.choice(np.array([limits.min, limits.max], dtype), tuple(shape))
