"""Random kernels of the world: bit for bit what the reference says, whatever happened before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.model import Project
from tests.support.joined_package import (
    CHANGES,
    Change,
    Contents,
    build_world,
    columns_of,
    fill,
    write_schema,
)
from tests.support.kernel_package import arguments, differing, forget
from tests.support.soak import examples

KERNELS = 24
COMPILED = 4
"""How many of them numba compiles: each takes seconds."""


@dataclass(frozen=True, repr=False)  # it would be long in messages
class Packages:
    project: Project
    numpy: Any
    numba: Any


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("joined")
    project = write_schema(folder, KERNELS, first=300)
    made = build_world(folder, "joined_numpy", "numpy"), build_world(
        folder, "joined_numba", "numba"
    )
    yield Packages(project, *made)
    for package in made:
        list(forget(package.__name__))


def check_call(project: Project, worlds: list[Any], number: int) -> None:
    """Run a kernel in several worlds that are alike."""
    kernel = project.world.kernels[number]
    given = arguments(kernel)
    expected = Contents.of(worlds[0], project, kernel.over)
    expected.run(kernel, given)
    for world in worlds:
        with np.errstate(all="ignore"):
            getattr(world, kernel.name)(**given)
        for component in project.components:
            for name, column in columns_of(world, component).items():
                wrong = differing(column, expected.columns[f"{component.name}.{name}"])
                assert not wrong.any(), (type(world), kernel.steps, kernel.where, name)


def check_story(
    packages: Packages, turns: list[tuple[Change, int]], seed: int, compiled: bool
) -> None:
    """Change worlds and run kernels in turns."""
    makers = [packages.numpy, packages.numba] if compiled else [packages.numpy]
    worlds = [maker.Game() for maker in makers]
    for turn, (change, number) in enumerate(turns):
        worlds = [change(world, np.random.default_rng((seed, turn))) for world in worlds]
        fill(worlds, packages.project, np.random.default_rng((seed, turn, 1)))
        check_call(packages.project, worlds, number)


def stories(kernels: int) -> st.SearchStrategy[list[tuple[Change, int]]]:
    """Some changes, each with the kernel that runs after it; the kernels are few, to come again."""
    few = st.lists(st.integers(0, kernels - 1), min_size=1, max_size=3)
    turn = few.flatmap(
        lambda numbers: st.lists(
            st.tuples(st.sampled_from(CHANGES), st.sampled_from(numbers)), min_size=2, max_size=8
        )
    )
    return turn.map(lambda turns: [(CHANGES[0], turns[0][1]), *turns])


@settings(deadline=None, max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(turns=stories(COMPILED), seed=st.integers(0, 2**32))
def test_both_backends_are_exact(
    packages: Packages, turns: list[tuple[Change, int]], seed: int
) -> None:
    check_story(packages, turns, seed, compiled=True)


@settings(deadline=None, max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(turns=stories(KERNELS), seed=st.integers(0, 2**32))
def test_blocks_join(packages: Packages, turns: list[tuple[Change, int]], seed: int) -> None:
    """With numpy, in blocks of four rows."""
    with Sizes.of(block_rows=(4, 4)):
        check_story(packages, turns, seed, compiled=False)
