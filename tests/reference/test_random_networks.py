"""Random kernels that go over networks: the product leaves what the reference interpreter does."""

from __future__ import annotations

import pytest
from numpy.random import default_rng

from ecsgen.config import Backend
from tests.reference import random_network_kernels
from tests.reference.world_comparison import BACKENDS_AT_ONCE, Match
from tests.support.reference_schemas import read
from tests.support.world_package import world_package


def compared(seed: int, backend: Backend, count: int) -> None:
    """Call each kernel twice, in worlds of two sizes."""
    text = random_network_kernels.schema(seed, count)
    module = world_package(text, f"random_network_{seed}_{count}_{backend}", backend)
    for name in read(text).kernels:
        for size in range(2):
            world = random_network_kernels.populated(module, default_rng([seed, size]))
            match = Match(world, text, seed)
            match.play(name)
            match.play(name)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("backend", BACKENDS_AT_ONCE)
def test_kernels(backend: Backend, seed: int) -> None:
    compared(seed, backend, 8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4, 60))
def test_many_kernels(seed: int) -> None:
    compared(seed, "numpy", 10)
