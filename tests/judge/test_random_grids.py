"""Random kernels on grids of all shapes: the product leaves the same bits as the judge, the same rows
in the same order, and the same handles for who is born."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.judge import grid_texts
from tests.judge.grids import FIRST_CELL
from tests.judge.kernels import Run
from tests.judge.mirror import assert_same, cell_of, manager, mirrored, rows_of
from tests.judge.model import Row
from tests.judge.schema import Field, Kernel, read
from tests.support.world_package import world_package


def populated(module: Any, text: str, random: Generator, count: int = 14) -> Any:
    """A world of another shape, in which some stand on cells, some nowhere, and some are dead."""
    schema = read(text)
    axes = len(schema.components["Patch"].shape)
    world = module.World(patch=tuple(random.integers(1, (12, 6, 4)[axes - 1], axes).tolist()))
    world.patch.wrap = tuple((random.random(axes) < 0.5).tolist())
    entities = world.entities.create_many(count)
    for name, component in schema.components.items():
        part = manager(world, name)
        if component.shape:
            continue
        some = random.permutation(entities[random.random(count) < 0.6])
        stands = {}
        if component.stands:
            stands = {component.stands: cells(random, len(world.patch), len(some), component.capacity)}
        if component.says("owner", "none"):
            part.create_many(len(some), **stands)
            continue
        part.create_many(some, **stands)
        if component.says("instances", "many"):
            part.create_many(some[: count // 4])
        if "partition" in component.keys:
            part.deactivate_many(random.random(len(part)) < 0.3)
    world.entities.destroy_many(entities[random.random(count) < 0.2])
    fill(world, text, random, entities)
    return world


def cells(random: Generator, size: int, count: int, capacity: float) -> Any:
    """A cell for each of so many rows, or none; not more on each than may stand there."""
    every = np.repeat(FIRST_CELL + np.arange(size, dtype=np.uint64), int(min(capacity, count)))
    found = np.zeros(count, np.uint64)
    some = random.permutation(every)[:count]
    found[: len(some)] = some
    return random.permutation(np.where(random.random(count) < 0.1, np.uint64(0), found))


def fill(world: Any, text: str, random: Generator, entities: Any) -> None:
    """Give all fields values, mostly small ones, so that there are ties."""
    for name, component in read(text).components.items():
        part = manager(world, name)
        for field, one in component.fields.items():
            if field != component.stands:
                for k in rows_of(part):
                    getattr(part, f"set_{field}")(k, tame(one, world, entities, random))


def tame(one: Field, world: Any, entities: Any, random: Generator) -> Any:
    if one.shape:
        return random.integers(-2, 3, one.shape).tolist()
    if one.type[0] == "f" and random.random() < 0.9:
        return float(random.integers(-3, 4)) / 2
    if one.type == "i8" or (one.type[1:].isdigit() and random.random() < 0.95):
        return int(random.integers(0 if one.type[0] == "u" else -1, 4))
    return cell_of(one, world, entities, random, is_place=False)


class Nursery:
    """Says who is born, by doing with a copy of the world what the kernel does: in Python."""

    def __init__(self, world: Any) -> None:
        self.world, self.dead = world, list[Any]()
        self._copy: Any = None

    def __call__(self, name: str, count: int) -> Sequence[int]:
        self._copy = self._copy or self._without_dead()
        if not name:
            found: Sequence[int] = self._copy.entities.create_many(count).tolist()
            return found
        part = manager(self._copy, name)
        if hasattr(part, "destroy_id") and not hasattr(part, "remove"):
            return [int(one) for one in part.create_many(count)]
        another = copy.deepcopy(self._copy)
        part = manager(another, name)
        rows = part.create_many(another.entities.create_many(count))
        return [int(part.id_of(int(k))) for k in rows]

    def _without_dead(self) -> Any:
        world = copy.deepcopy(self.world)
        dead = dict.fromkeys(self.dead)  # each once
        entities = [one for one in dead if not isinstance(one, Row)]
        world.entities.destroy_many(entities)
        for part in world._collecting:
            part.remove_many(entities)
        rows = [one for one in dead if isinstance(one, Row)]
        for name in {row.component for row in rows}:
            part = manager(world, name)
            part.destroy_id_many([row.id for row in rows if row.component == name])
        return world


class Match:
    """The product's world, against the judge's."""

    def __init__(self, world: Any, text: str, seed: int) -> None:
        self.world, self.text, self.seed = world, text, seed
        self.calls: dict[str, int] = {}
        world.seed = seed

    def play(self, name: str, **arguments: Any) -> None:
        """Call a kernel of both."""
        judge = mirrored(self.world, self.text)
        judge.seed(self.seed)
        judge.calls = self.calls
        judge.newborn = nursery = Nursery(self.world)
        with np.errstate(all="ignore"):
            run = Run(judge, name, None, arguments)
            nursery.dead = run.dead
            run.run()
        kernel = judge.kernel(name)
        before = self.versions()
        holder = manager(self.world, kernel.home) if kernel.home else self.world
        with np.errstate(all="ignore"):
            getattr(holder, name.rpartition(".")[2])(**arguments)
        assert {*judge.entities} == {*map(int, self.world.entities)}, kernel.keys
        for one, rows in judge.rows.items():
            part = manager(self.world, one)
            there = rows_of(part)
            if judge.is_owned(one):
                owners = [int(part.entity(k)) for k in there]
                assert owners == [row.owner for row in rows], (one, kernel.keys)
            if judge.has_ids(one):
                assert [part.id_of(k) for k in there] == [row.id for row in rows], (one, kernel.keys)
        assert_same(self.world, judge, kernel)
        if not run.dead and not run.births:
            assert self.versions() == before
        self.assert_standing()

    def versions(self) -> list[int]:
        return [manager(self.world, name).version for name in read(self.text).components]

    def assert_standing(self) -> None:
        """Who stands where is what the columns say."""
        patch = self.world.patch
        for name, component in read(self.text).components.items():
            if component.stands:
                part = manager(self.world, name)
                where = [
                    getattr(part, component.stands)(k)
                    if not hasattr(part, "entity") or part.entity(k) in self.world.entities
                    else 0
                    for k in range(len(part))
                ]
                found = part.near([*patch], 0)
                for k, cell in enumerate(patch):
                    rows = found.rows[found.starts[k] : found.starts[k + 1]].tolist()
                    assert rows == [row for row, at in enumerate(where) if at == cell]
                    assert len(rows) <= component.capacity


def judged(first: int, count: int, axes: int, hood: str, backend: Any, worlds: int = 2) -> None:
    """Call each kernel of a random schema twice in some worlds."""
    text = grid_texts.schema(first, count, axes, hood)
    module = world_package(text, f"judged_grid_{first}_{axes}_{backend}", backend)
    for number, kernel in enumerate(kernels(text)):
        for seed in range(worlds):
            matched(module, text, kernel, 1000 * first + 10 * number + seed)


def kernels(text: str) -> list[Kernel]:
    schema = read(text)
    homes = [schema, *schema.components.values()]
    return [kernel for home in homes for kernel in home.kernels.values()]


def matched(module: Any, text: str, kernel: Kernel, seed: int) -> None:
    random = default_rng(seed)
    match = Match(populated(module, text, random), text, seed)
    for _ in range(2):
        match.play(kernel.name, **{one: int(random.integers(0, 4)) for one in kernel.args})


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_kernels_on_grids(axes: int) -> None:
    judged(axes, 20, axes, grid_texts.HOODS[axes - 1], "numpy")
