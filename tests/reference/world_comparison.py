"""Random worlds with a grid, in which the product plays a kernel against the judge."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.handles import NIL
from ecsgen_testing.reference.grid_geometry import FIRST_CELL
from ecsgen_testing.reference.naive_world import Change, Row, World
from ecsgen_testing.reference.run import Run
from ecsgen_testing.reference.schema import Component, Field, Kernel, Schema
from ecsgen_testing.reference.values import TIMES
from ecsgen_testing.reference.world_copy import rows_of
from numpy.random import Generator

from tests.reference.world_copy import assert_same, cell_number, manager, mirrored
from tests.support.reference_schemas import read

LONGEST = 0, 11, 5, 3
"""Axes of a grid, by how many it has."""
SIZES = 5.0, 1.0, 2.0, 0.0
"""Sizes of a continuous space's axes; an axis of 0 is open."""
BACKENDS_AT_ONCE = ["numpy", pytest.param("numba", marks=pytest.mark.soak)]
if os.environ.get("NUMBA_DISABLE_JIT"):
    BACKENDS_AT_ONCE = ["numba"]
"""Backends for tests with many kernels: numba compiles for long, which is for `make soak` alone;
where numba is off Python runs the same loops."""


def populated(
    module: Any, text: str, random: Generator, count: int = 14, is_wild: bool = False
) -> Any:
    """A world in which some stand on cells, some nowhere, and some are dead; `is_wild`: numbers are
    of any size."""
    schema = read(text)
    world, size = getattr(module, schema.world_name)(), 0
    if "Patch" in schema.components:
        axes = len(schema.components["Patch"].shape)
        world = module.World(patch=random.integers(1, LONGEST[axes], axes, endpoint=True).tolist())
        world.patch.wrap = tuple((random.random(axes) < 0.5).tolist())
        size = len(world.patch)
    for name, component in schema.components.items():
        if component.space and not is_wild:
            part = manager(world, name)
            part.wrap = tuple(random.choice(SIZES, len(part.wrap)).tolist())
    entities = world.entities.create_many(count)
    for name, component in schema.components.items():
        if not component.shape:
            some = random.permutation(entities[random.random(count) < 0.6])
            settle(manager(world, name), component, some, size, random)
    world.entities.destroy_many(entities[random.random(count) < 0.2])
    fill(world, schema, random, entities, cell_number if is_wild else tame)
    return world


def settle(part: Any, component: Component, some: Any, size: int, random: Generator) -> None:
    """Give some entities rows, which stand somewhere if they can."""
    stands = {}
    if component.stands:
        stands = {component.stands: cells(random, size, len(some), component.capacity)}
    part.create_many(len(some) if not component.is_owned else some, **stands)
    if component.has_many:
        part.create_many(some[:3])
    if component.partition == "inactive":
        part.activate_many(random.random(len(part)) < 0.8)
    if component.partition:
        part.deactivate_many(random.random(len(part)) < 0.3)


def cells(random: Generator, size: int, count: int, capacity: float) -> Any:
    """A cell for each of so many rows, or none; not more on each than may stand there."""
    every = np.repeat(FIRST_CELL + np.arange(size, dtype=np.uint64), int(min(capacity, count)))
    found = np.zeros(count, np.uint64)
    some = random.permutation(every)[:count]
    found[: len(some)] = some
    return random.permutation(np.where(random.random(count) < 0.1, np.uint64(0), found))


def fill(world: Any, schema: Schema, random: Generator, entities: Any, drawn: Any) -> None:
    """Give all fields and settings values that are `drawn`."""
    for name, component in schema.components.items():
        part = manager(world, name)
        for field, one in component.fields.items():
            is_place = field == component.space
            for k in rows_of(part) if field != component.stands else ():
                getattr(part, f"set_{field}")(k, drawn(one, world, entities, random, is_place))
    for name, one in schema.settings.items():
        number = drawn(one, world, entities, random)
        is_within = np.ndim(number) or one.type in TIMES or one.least <= number <= one.most
        setattr(world.settings, name, number if is_within else one.least)


def tame(one: Field, world: Any, entities: Any, random: Generator, is_place: bool = False) -> Any:
    """A random cell of a field, mostly a small number, so that there are ties."""
    if one.type in TIMES:
        number = random.choice([0, 1, -2, 3, 2**62, -(2**63)], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1])
        return TIMES[one.type].type(int(number), "s") if number > -9 else None
    if one.shape:
        numbers = random.integers(-2, 3, one.shape)
        halves: list[Any] = (numbers / 2 if one.type[0] == "f" else numbers).tolist()
        return halves
    if one.type[0] == "f" and random.random() < 0.9:
        return float(random.integers(-3, 4)) / 2
    if one.type == "i8" or (one.type[1:].isdigit() and random.random() < 0.95):
        return int(random.integers(0 if one.type[0] == "u" else -1, 4))
    return cell_number(one, world, entities, random)


class Nursery:
    """Says who is born, by doing to a copy of the world in Python what the kernel does.

    Handles that rows get while they run are those of before the dead go."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.changes = list[Change]()
        self.dead: dict[int | Row, None] | None = None
        """Who has died, once all rows have run."""
        self._taken = 0
        self._before: Any = None
        self._copy: Any = None

    def __call__(self, name: str, owners: Sequence[int]) -> Sequence[int]:
        if self.dead is None:
            self._before = self._before or copy.deepcopy(self.world)
            self._taken += 0 if name else len(owners)
            return self._created(self._before, name, owners)
        self._copy = self._copy or self._without_dead(self.dead)
        return self._created(self._copy, name, owners)

    def _created(self, world: Any, name: str, owners: Sequence[int]) -> Sequence[int]:
        if not name:
            found: list[int] = world.entities.create_many(len(owners)).tolist()
            return found
        part = manager(world, name)
        if not hasattr(part, "entity"):
            return [int(one) for one in part.create_many(len(owners))]
        return [int(one) for one in part.id_of_many(part.create_many(owners))]

    def _without_dead(self, dead: dict[int | Row, None]) -> Any:
        world = copy.deepcopy(self.world)
        newborn = world.entities.reserve_handles(self._taken)
        entities = [one for one in dead if not isinstance(one, Row)]
        rows = [one for one in dead if isinstance(one, Row)]

        def bury() -> None:
            world.entities.destroy_many(entities)
            for part in world.collecting_managers:
                part.remove_many(entities)
            for name in {row.component for row in rows}:
                part = manager(world, name)
                ids = np.array([row.id for row in rows if row.component == name], np.uint64)
                found = part.resolve_many(ids)
                part.destroy_many(np.sort(found[found != NIL]))

        world.entities.dispatch.run(bury)  # callbacks are called last
        removed = [change for change in self.changes if change.cells is None]
        for name in dict.fromkeys(change.component for change in removed):
            owners = dict.fromkeys(change.owner for change in removed if change.component == name)
            part = manager(world, name)
            part.remove_many([one for one in owners if one in world.entities and part.has(one)])
        world.entities.create_reserved(newborn)
        return world


class Match:
    """The product's world, against the judge's."""

    def __init__(self, world: Any, text: str, seed: int) -> None:
        self.world, self.text, self.seed = world, text, seed
        self.schema = read(text)
        self.calls: dict[str, int] = {}
        world.seed = seed

    def play(self, name: str, rows: Any = None, **arguments: Any) -> Run:
        """Call a kernel of both; one over a component, if these rows are given, for them alone."""
        judge = mirrored(self.world, self.text)
        judge.seed(self.seed)
        judge.calls = self.calls
        judge.new_handles = nursery = Nursery(self.world)
        kernel = judge.schema.kernel(name)
        holder = manager(self.world, kernel.home) if kernel.home else self.world
        given, places = dict(arguments), None
        if rows is not None:
            given["rows"] = rows
            places = [*np.searchsorted(rows_of(manager(self.world, kernel.over)), rows)]
        for key in (key for key, argument in kernel.args.items() if argument.is_each):
            given[key], arguments[key] = self.each(judge, kernel, rows)
        with np.errstate(all="ignore"):
            run = Run(judge, name, places, arguments)
            nursery.changes = run.changes
            run.act()
            nursery.dead = run.despawned
            run.apply()
        before, died = self.versions(), list[int]()
        watch = self.world.entities.on_destroy(lambda gone: died.extend(gone.tolist()))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).* passes", RuntimeWarning)  # of loops
            getattr(holder, name.rpartition(".")[2])(**given)
        watch.cancel()
        assert died == [one for one in run.despawned if not isinstance(one, Row)]
        assert judge.entities == {*map(int, self.world.entities)}, run.kernel.text
        self.assert_rows(judge, run)
        assert_same(self.world, judge, run.kernel)
        if not run.despawned and not run.spawned and not run.changes:
            assert self.versions() == before
        self.assert_standing()
        return run

    def some_rows(self, kernel: Kernel, random: Generator) -> Any:
        """Some rows of the component that a kernel is over, in any order, some twice where turns
        are given; None of a group or query."""
        if kernel.over not in self.schema.components:
            return None
        rows = random.permutation(rows_of(manager(self.world, kernel.over)))
        some: list[int] = rows[: len(rows) // 2].tolist()
        return [*some, *some[::2]] if kernel.turns == "given" else some

    def each(self, judge: World, kernel: Kernel, rows: Any) -> tuple[Any, Any]:
        """A value for each row that a call takes one for, and for each that the judge runs."""
        if rows is not None:
            return (numbers := np.arange(len(rows)) % 7 / 2), numbers
        if kernel.home and kernel.turns != "given":
            part = manager(self.world, kernel.home)
            return (numbers := np.arange(part.data.n) % 7 / 2), numbers[rows_of(part)]
        actors = judge.actors(kernel.over)
        if kernel.over in judge.schema.components and not kernel.home:
            actors = [actor for actor in actors if actor[kernel.over].is_active]
        return (numbers := np.arange(len(actors)) % 7 / 2), numbers

    def versions(self) -> list[int]:
        return [manager(self.world, name).version for name in self.schema.components]

    def assert_rows(self, judge: World, run: Run) -> None:
        """The same rows, in the same order; of a group's members, and inactive ones, in any."""
        grouped = {member for members in self.schema.groups.values() for member in members}
        for name, rows in judge.rows.items():
            part = manager(self.world, name)
            there, about = rows_of(part), (name, run.kernel.text)
            has_ids = self.schema.components[name].has_ids
            known = [int(part.id_of(k) if has_ids else part.entity(k)) for k in there]
            wanted = [row.id if has_ids else row.owner for row in rows]
            is_free = [name in grouped or not row.is_active for row in rows]
            if any(is_free) and {*known} == {*wanted}:
                free = {one for one, is_any in zip(wanted, is_free, strict=True) if is_any}
                places = {one: k if one in free else -1 for k, one in enumerate(known)}
                in_order = sorted((places[one], k) for k, one in enumerate(wanted))
                rows[:] = [rows[k] for _, k in in_order]
            assert known == [row.id if has_ids else row.owner for row in rows], about
            owners = [
                int(part.entity(k)) if judge.schema.components[name].is_owned else 0 for k in there
            ]
            assert owners == [row.owner for row in rows], about

    def assert_standing(self) -> None:
        """Who stands where is what the columns say, in a world with a grid."""
        if not hasattr(self.world, "patch"):
            return
        patch = [*self.world.patch]
        for name, component in self.schema.components.items():
            if component.stands:
                found, where = manager(self.world, name).near(patch, 0), self.where(name)
                for k, cell in enumerate(patch):
                    rows = found.rows[found.starts[k] : found.starts[k + 1]].tolist()
                    assert rows == [row for row, at in enumerate(where) if at == cell]
                    assert len(rows) <= component.capacity

    def where(self, name: str) -> list[int]:
        """On which cell each row stands; those of the dead stand nowhere."""
        part, field = manager(self.world, name), self.schema.components[name].stands
        rows = range(len(part))
        if not hasattr(part, "entity"):
            return [int(getattr(part, field)(k)) for k in rows]
        alive = self.world.entities.alive_many([part.entity(k) for k in rows])
        return [int(getattr(part, field)(k)) * bool(alive[k]) for k in rows]
