"""Kernels, reductions and tables of the schemas in `interpreted/`: both backends do what the
reference interpreter does, to the bit, in worlds drawn at random.

Examples worked out by hand, in `tests/reference`, say what the interpreter has to do. A case here
is a kernel in one of these files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from ecsgen_testing.drawn_worlds import DrawnWorld
from ecsgen_testing.kernel_cases import check_reduction, check_schedule, check_table
from numpy.random import default_rng

from ecsgen.config import BACKENDS, Backend
from tests.reference.world_comparison import Match
from tests.support.interpreted_schemas import (
    IN_LOOPS,
    IN_TURNS,
    IN_WORLDS,
    TOPICS,
    WORLDS,
    check,
    kernels,
    world_of,
)
from tests.support.reference_schemas import read
from tests.support.world_package import world_package

LANGUAGE = Path(__file__).parents[1] / "language.yaml"
ALL = TOPICS | IN_TURNS | IN_LOOPS | {"language": LANGUAGE.read_text("utf-8")}


# While numba compiles, frames that hold columns wait for the garbage collector.
@pytest.mark.filterwarnings("ignore:.*the buffer moved")
@pytest.mark.parametrize(
    ("topic", "kernel"), [(topic, name) for topic, text in ALL.items() for name in kernels(text)]
)
@pytest.mark.parametrize("backend", BACKENDS)
@IN_WORLDS
def test_kernels(
    backend: Backend, topic: str, kernel: str, worlds: Sequence[tuple[int, int]]
) -> None:
    check(ALL[topic], f"interpreted_{topic}", backend, kernel, worlds)


@pytest.mark.parametrize("name", kernels(TOPICS["rows_of_the_world"]))
@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_that_a_call_of_the_world_names(backend: Backend, name: str) -> None:
    """They run in the order of the call, as `test_kernels` has it of kernels of components."""
    text = TOPICS["rows_of_the_world"]
    world, schema = world_of(text, "interpreted_rows_of_the_world", backend), read(text)
    for seed in range(3):
        drawn = DrawnWorld(world, schema, [kernel := schema.kernels[name]], default_rng(seed))
        drawn.add_rows(25)
        match = Match(drawn.world, text, seed)
        match.play(name, rows=match.some_rows(kernel, drawn.rng))
        match.play(name, rows=[])


@pytest.mark.parametrize("topic", ALL)
@pytest.mark.parametrize("backend", BACKENDS)
def test_reductions_tables_and_schedules(backend: Backend, topic: str) -> None:
    world = world_of(ALL[topic], f"interpreted_{topic}", backend)
    schema = read(ALL[topic])
    reductions = [
        f"{owner}.{name}" for owner, c in schema.components.items() for name in c.reductions
    ]
    for (seed, rows), name in product(WORLDS, reductions):
        check_reduction(world, schema, name, rows, seed)
    for (seed, rows), name in product(WORLDS, schema.tables):
        check_table(world, schema, name, rows, seed)
    for (seed, rows), name in product(WORLDS, schema.schedules):
        check_schedule(world, schema, name, rows, seed)


@pytest.mark.parametrize(
    ("type_", "most"), [("u8", 256), ("i8", 256), ("bool", 2), ("Mode", 3), ("str[1]", 10)]
)
def test_worlds_have_fewer_rows_than_asked_for_where_unique_values_run_out(
    type_: str, most: int
) -> None:
    text = f"""
enum: Mode
values: [idle, walk, run]
---
component: Body
fields: {{name: {{type: "{type_}", unique: true}}, x: f64}}
reductions: {{greatest: {{max: x}}}}
"""
    world = world_package(text, f"of_few_{type_[:3]}", "numpy").World
    schema = read(text)
    check_reduction(world, schema, "Body.greatest", 2 * most + 9, 0)
    drawn = DrawnWorld(
        world, schema, [*schema.components["Body"].reductions.values()], default_rng(0)
    )
    drawn.add_rows(20 * most)
    assert 0 < len(drawn.world.body) <= most
