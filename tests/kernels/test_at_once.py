"""Spawns, despawns and choices at once on numpy are made in blocks of rows; what becomes of
`interpreted/at_once.yaml` the interpreter says."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from tests.support.fault_injection import Events, is_broken, traced
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import load, sources, world_package

SCHEMA = TOPICS["at_once"]
KERNELS = ("dying", "breed", "both_ways", "asks", "ask", "notes", "aging", "pairs")


def test_they_are_no_loops() -> None:
    texts = sources(load(SCHEMA))
    (text,) = (text for path, text in texts.items() if path.endswith("world.py"))
    assert not [name for name in KERNELS if f"def _{name}_kernel" in text]


@pytest.mark.parametrize("kernel", ["dying", "breed", "notes"])
def test_where_nobody_dies_or_is_born_no_room_is_made(kernel: str) -> None:
    world = world_package(SCHEMA, "at_once_numpy", "numpy").World()
    world.sheep.create_many(world.entities.create_many(50_000), energy=100)
    world.note.create_many(50_000)
    getattr(world, kernel)()  # cuts the columns into blocks
    tracemalloc.start()
    getattr(world, kernel)()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000


@pytest.mark.parametrize("first", range(16))
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_deaths_and_births_that_fail_happen_all_or_break_what_they_change(
    error: Any, first: int
) -> None:
    package = world_package(SCHEMA, "at_once_failing", "numpy", runtime="vendored")

    def filled() -> Any:
        world = package.World()
        world.sheep.create_many(world.entities.create_many(6), energy=[1, 0, 3, 0, 2, 4])
        return world

    events, survived = Events(package="at_once_failing"), 0
    assert traced(events, filled().swap) is None
    for at in events.times()[first::16]:
        world = filled()
        failed = traced(Events(at, error, "at_once_failing"), world.swap)
        if not any(map(is_broken, (world.entities, world.sheep))):
            survived += 1
            assert len(world.entities) == len(world.sheep), at
            assert len(world.sheep) in (
                (6, 4, 7) if failed else (7,)
            ), at  # the two die first, then three are born
    assert survived
