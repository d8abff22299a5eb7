"""Random kernels of components with any policies: whoever is met, referred to, born or dead, in
whatever order turns are taken, and whichever rows a call names, the product leaves the same bits as
the judge, and the same rows in the same order, and gives the same handles to who is born. Short
kernels, of a few fields of any types, leave the same bits, too."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.random import default_rng

from ecsgen.config import Backend
from tests.reference import random_life_kernels, random_short_kernels
from tests.reference.world_comparison import BACKENDS_AT_ONCE, Match, populated
from tests.support.interpreted_schemas import check, kernels
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
        many = {name: 7 for name in kernel.args if name == "many"}
        match.play(kernel.name, **many)
        match.play(kernel.name, rows=match.some_rows(kernel, random), **many)


def lived(number: int, backend: Backend, count: int) -> None:
    text = random_life_kernels.schema(number, count)
    judged(text, world_package(text, f"judged_life_{number}_{count}_{backend}", backend), number)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("backend", BACKENDS_AT_ONCE)
def test_lives(backend: Backend, number: int) -> None:
    lived(number, backend, 10)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(5, 100))
def test_many_lives(number: int) -> None:
    lived(number, "numpy", 12)


def short(number: int, backend: Backend) -> None:
    text = random_short_kernels.schema(number, 10)
    for kernel in kernels(text):
        worlds = (number, 7), (number + 1, 1), (number + 2, 40)
        check(text, f"judged_short_{number}", backend, kernel, worlds)


@pytest.mark.parametrize("number", [0, 49, 89, 113])
@pytest.mark.parametrize("backend", BACKENDS_AT_ONCE)
def test_short_kernels(backend: Backend, number: int) -> None:
    short(number, backend)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(100))
def test_many_short_kernels(number: int) -> None:
    short(number, "numpy")
