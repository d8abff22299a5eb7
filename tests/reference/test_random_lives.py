"""Random kernels of components with any policies: whoever is met, referred to, born or dead, and
whichever rows a call names, the product leaves the same bits as the judge, and the same rows in
the same order, and gives the same handles to who is born."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from ecsgen_testing.reference.schema import Kernel
from ecsgen_testing.reference.world_copy import rows_of
from numpy.random import default_rng

from ecsgen.config import Backend
from tests.reference import random_life_kernels
from tests.reference.world_comparison import BACKENDS_AT_ONCE, Match, populated
from tests.reference.world_copy import manager
from tests.support.reference_schemas import read
from tests.support.world_package import world_package

TICKS = 0, 3, -(2**63), 2**62 + 1
"""Times at which some operation of time with time has nothing to divide by, or wraps."""


def judged(text: str, module: Any, seed: int) -> None:
    """Call each kernel twice, one of a component's own then for some of its rows."""
    schema = read(text)
    own = [kernel for one in schema.components.values() for kernel in one.kernels.values()]
    for number, kernel in enumerate([*schema.kernels.values(), *own]):
        random = default_rng([seed, number])
        world = populated(module, text, random)
        world.tick = TICKS[(seed + number) % len(TICKS)]
        match = Match(world, text, seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).* passes", RuntimeWarning)
            match.play(kernel.name)
            match.play(kernel.name, rows=some_rows(world, kernel, random))


def some_rows(world: Any, kernel: Kernel, random: Any) -> Any:
    """Some rows of the component whose own kernel it is, in any order; None of the world's."""
    if not kernel.home:
        return None
    rows = rows_of(manager(world, kernel.home))
    return random.permutation(rows)[: len(rows) // 2].tolist()


def lived(number: int, backend: Backend, count: int) -> None:
    text = random_life_kernels.schema(number, count)
    judged(text, world_package(text, f"judged_life_{number}_{count}_{backend}", backend), number)


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("backend", BACKENDS_AT_ONCE)
def test_lives(backend: Backend, number: int) -> None:
    lived(number, backend, 10)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(10, 100))
def test_many_lives(number: int) -> None:
    lived(number, "numpy", 12)
