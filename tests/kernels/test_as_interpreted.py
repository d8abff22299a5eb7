"""Kernels, reductions and tables of the schemas in `interpreted/`: both backends do what the
reference interpreter does, to the bit, in worlds drawn at random.

Examples worked out by hand, in `tests/reference`, say what the interpreter has to do. A case here
is a kernel in one of these files.
"""

from __future__ import annotations

from itertools import product

import pytest
from ecsgen_testing.kernel_cases import check_reduction, check_table

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import (
    IN_LOOPS,
    IN_TURNS,
    SIZES,
    TOPICS,
    check,
    kernels,
    world_of,
)
from tests.support.reference_schemas import read

ALL = TOPICS | IN_TURNS | IN_LOOPS


# While numba compiles, frames that hold columns wait for the garbage collector.
@pytest.mark.filterwarnings("ignore:.*the buffer moved")
@pytest.mark.parametrize(
    ("topic", "kernel"), [(topic, name) for topic, text in ALL.items() for name in kernels(text)]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels(backend: Backend, topic: str, kernel: str) -> None:
    check(ALL[topic], f"interpreted_{topic}", backend, kernel)


@pytest.mark.parametrize("topic", ALL)
@pytest.mark.parametrize("backend", BACKENDS)
def test_reductions_and_tables(backend: Backend, topic: str) -> None:
    world = world_of(ALL[topic], f"interpreted_{topic}", backend)
    schema = read(ALL[topic])
    reductions = [f"{n}.{one}" for n, c in schema.components.items() for one in c.reductions]
    for (seed, rows), name in product(enumerate(SIZES), reductions):
        check_reduction(world, schema, name, rows, seed)
    for (seed, rows), name in product(enumerate(SIZES), schema.tables):
        check_table(world, schema, name, rows, seed)
