"""Random kernels on grids of all shapes: the product leaves the same bits as the judge, the same
rows in the same order, and the same handles for who is born; whatever has happened before."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ecsgen_runtime.base.errors import FullCellError
from ecsgen_testing.reference.grid_geometry import FIRST_CELL, Grid
from ecsgen_testing.reference.schema import Kernel
from numpy.random import Generator, default_rng

from ecsgen.config import BACKENDS, Backend
from ecsgen.render.kernel_printers import loop_reasons
from tests.reference import random_grid_kernels, random_life_kernels, random_short_kernels
from tests.reference.world_comparison import Match, cells, populated
from tests.reference.world_copy import manager
from tests.support.interpreted_schemas import TOPICS
from tests.support.reference_schemas import read
from tests.support.world_package import load, sources, world_package


def built(number: int, backend: Backend, count: int, rich: str = "queries") -> Any:
    """A random schema, and its package."""
    text = random_grid_kernels.schema(100 * number, count, number % 3 + 1, rich)
    return text, world_package(text, f"judged_grid_{number}_{count}_{rich}_{backend}", backend)


def kernels(text: str) -> list[Kernel]:
    """All kernels of a schema."""
    schema = read(text)
    own = [kernel for one in schema.components.values() for kernel in one.kernels.values()]
    return [*schema.kernels.values(), *own]


def given(kernel: Kernel, random: Generator) -> dict[str, int]:
    return {name: int(random.integers(0, 4)) for name in kernel.args}


def judged(text: str, module: Any, seed: int) -> None:
    """Call each kernel twice, one over a component then for some of its rows."""
    for number, kernel in enumerate(kernels(text)):
        random = default_rng([seed, number])
        match = Match(populated(module, text, random), text, seed)
        match.play(kernel.name, **given(kernel, random))
        rows = match.some_rows(kernel, random)
        match.play(kernel.name, rows=rows, **given(kernel, random))


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 2), marks=pytest.mark.soak)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_has_been_wrong(backend: Backend, seeds: range) -> None:
    text = random_grid_kernels.with_kernels(
        random_grid_kernels.KNOWN, random_grid_kernels.OWN, "", axes=2
    )
    for seed in seeds:
        judged(text, world_package(text, f"judged_known_{backend}", backend), seed)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=pytest.mark.soak)])
def test_compiled_crowds(seeds: range) -> None:
    text = random_grid_kernels.with_kernels(random_grid_kernels.CROWD, "", "", axes=1)
    for seed in seeds:
        judged(text, world_package(text, "judged_crowd", "numba"), seed)


@pytest.mark.parametrize("number", range(30))
def test_kernels(number: int) -> None:
    rich = "groups" if number % 4 == 3 else "queries"
    text, module = built(number, "numpy", 20 if number else 10, rich)
    for seed in range(1 + (number > 0)):
        judged(text, module, seed)


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 3), marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("number", "backend"), [*((number, "numpy") for number in range(6)), (7, "numba")]
)
def test_cells_that_ask_cells(number: int, backend: Backend, seeds: range) -> None:
    text = random_grid_kernels.cells_schema(
        100 * number, 12 if backend == "numpy" else 4, number % 3 + 1
    )
    reasons = Counter(loop_reasons(k.program) for c in load(text).components for k in c.kernels)
    assert reasons[()] > 3
    for seed in seeds:
        judged(text, world_package(text, f"judged_cells_{number}_{backend}", backend), seed)


@pytest.mark.parametrize("number", range(12))
def test_compiled_kernels(number: int) -> None:
    text, module = built(number, "numba", 3 if number == 0 else 10)
    for seed in range(5):
        judged(text, module, seed)


@pytest.mark.soak
def test_types(tmp_path: Path) -> None:
    """mypy has nothing to say of random kernels."""
    texts = [
        random_grid_kernels.schema(100 * k, 20, k % 3 + 1, ("queries", "groups")[k % 2])
        for k in range(6)
    ]
    texts += [
        random_grid_kernels.with_kernels(
            random_grid_kernels.KNOWN, random_grid_kernels.OWN, "", axes=2
        ),
        TOPICS["typed"],
        random_grid_kernels.schema(1014, 12, 1),
        random_short_kernels.schema(0, 10),
        *(random_life_kernels.schema(seed, 10) for seed in (1000, 1004, 1017)),
    ]
    for (number, text), backend in product(enumerate(texts), BACKENDS):
        for path, source in sources(load(text), backend, "installed").items():
            file = tmp_path / f"grid_{number}_{backend}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--exclude=/tests/", str(tmp_path)]
    read = subprocess.run(command, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stdout[-3000:]


class Life(Match):
    """Kernels between all that Python does, in any order."""

    def __init__(self, text: str, module: Any, seed: int) -> None:
        self.random = default_rng(seed)
        super().__init__(populated(module, text, self.random), text, seed)

    def pick(self, some: Any) -> Any:
        return some[int(self.random.integers(len(some)))]

    def live(self, steps: int) -> None:
        ways = [self.call, self.call, self.call, self.stand, self.stand, self.spawn, self.exchange]
        ways += [self.kill, self.collect, self.sort, self.copy, self.near, self.turn]
        for _ in range(steps):
            self.pick(ways)()
            self.assert_standing()

    def call(self) -> None:
        kernel = self.pick(kernels(self.text))
        self.play(kernel.name, **given(kernel, self.random))

    def stand(self) -> None:
        """One row goes elsewhere, if there is room."""
        name = self.pick(random_grid_kernels.STANDING)
        part = manager(self.world, name)
        where = self.where(name)
        if not where:
            return
        row, cell = self.pick(range(len(part))), self.pick([0, *self.world.patch])
        is_dead = hasattr(part, "entity") and part.entity(row) not in self.world.entities
        is_full = where.count(cell) >= self.schema.components[name].capacity
        if cell and is_full and cell != where[row] and not is_dead:
            before = [part.cell(k) for k in range(len(part))]
            with pytest.raises(FullCellError):
                part.set_cell(row, cell)
            assert [part.cell(k) for k in range(len(part))] == before
        else:
            part.set_cell(row, cell)

    def exchange(self) -> None:
        """All go to cells of their own."""
        name = self.pick(random_grid_kernels.STANDING)
        part, capacity = manager(self.world, name), self.schema.components[name].capacity
        part.data.cell = cells(self.random, len(self.world.patch), len(part), capacity)

    def spawn(self) -> None:
        count, name = int(self.random.integers(1, 5)), self.pick(["Sheep", "Bird"])
        new = [self.pick([0, *self.world.patch]) for _ in range(count)]
        crowd = Counter(self.where(name)) + Counter(new)
        capacity = self.schema.components[name].capacity
        given = {name.lower(): {"cell": new, "e": range(count)}, "purse": {}}
        if any(crowd[cell] > capacity for cell in new if cell):
            living = [*self.world.entities]
            with pytest.raises(FullCellError):
                self.world.spawn(count, **given)
            assert [*self.world.entities] == living
        else:
            self.world.spawn(count, **given)

    def kill(self) -> None:
        living = [*self.world.entities]
        if len(living) > 5:
            dead = self.random.permutation(living)[: self.random.integers(1, 4)]
            self.pick([self.world.destroy_many, self.world.entities.destroy_many])(dead)
        if len(self.world.tree) > 5:
            self.world.tree.destroy(self.pick(range(len(self.world.tree))))

    def collect(self) -> None:
        self.pick([self.world.collect, self.world.gc, self.world.sheep.collect])()

    def sort(self) -> None:
        names = ["Sheep", "Tree", "Note", "Coat", *(["Bird"] if "queries" in self.text else [])]
        part = manager(self.world, self.pick(names))
        self.pick([lambda: part.sort("e"), lambda: part.reorder(range(len(part))[::-1])])()

    def copy(self) -> None:
        twins = [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))]
        self.world = self.pick(twins)(self.world)

    def turn(self) -> None:
        """The grid is another torus."""
        axes = len(self.world.patch.wrap)
        self.world.patch.wrap = tuple((self.random.random(axes) < 0.5).tolist())

    def near(self) -> None:
        """Who is near cells is whom the judge finds."""
        patch, radius = self.world.patch, self.pick([0, 1, 2, 9])
        hoods = random_grid_kernels.HOODS[len(patch.wrap)]
        hood, center = self.pick(hoods), self.pick([True, False])
        grid = Grid(patch.grid.shape, patch.wrap)
        ids = [self.pick([*patch]) for _ in range(4)]
        around = [[cell for _, cell in grid.around(one, radius, hood)] for one in ids]
        found = patch.near(ids, radius, hood, center=center)
        for k, (one, wanted) in enumerate(zip(ids, around, strict=True)):
            rows = found.rows[found.starts[k] : found.starts[k + 1]] + FIRST_CELL
            assert rows.tolist() == [cell for cell in wanted if center or cell != one]
        name = self.pick(random_grid_kernels.STANDING)
        found, where = manager(self.world, name).near(ids, radius, hood), self.where(name)
        for k, some in enumerate(around):
            rows = found.rows[found.starts[k] : found.starts[k + 1]]
            wanted = [row for cell in some for row, at in enumerate(where) if at == cell]
            assert rows.tolist() == wanted


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", range(40, 52))
def test_lives(number: int, seeds: range) -> None:
    rich = "groups" if number % 2 else "queries"
    text, module = built(number, "numpy", 20 if number > 40 else 10, rich)
    for seed in seeds:
        Life(text, module, seed).live(40)


def test_compiled_lives() -> None:
    text, module = built(0, "numba", 3)
    for seed in range(4):
        Life(text, module, seed).live(40)
