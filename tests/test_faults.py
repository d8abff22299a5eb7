"""A change that fails in the middle leaves everything as it was, or it breaks what it changed.

Allocations are made to fail at each place in turn, and interrupts come at random lines: see
`faults`.
"""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import pytest

from tests.fault_operations import (
    archetype_operations,
    archetype_scene,
    cases,
    entity_operations,
    entity_scenes,
    group_operations,
    group_scene,
    manager_operations,
    manager_scenes,
)
from tests.faults import CLOCK, Operation, Scene, Tally, fail_everywhere, interrupt, patched
from tests.policies_package import MANAGERS, filled, package

SHARE = 0.95
"""Of all failures, so many leave everything as it was at least."""

WHOLE = ("destroy_", "remove", "sort", "reorder", "activate", "deactivate", "set_parent", "clear")
"""Operations that are one change: others are a row after evictions, say, or cells of a vector."""

TOTAL = Tally()


def run(scenes: list[Scene], operations: dict[str, Operation], step: int = 1) -> None:
    tally = Tally()
    with patched():
        for scene in scenes:
            for title, operation in operations.items():
                tally.add(fail_everywhere(scene, title, operation, step))
    TOTAL.add(tally)
    assert tally.tried
    assert not tally.wrong, tally.wrong[:5]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MANAGERS)
def test_managers_are_as_they_were_or_broken(name: str) -> None:
    few, *others = manager_scenes(name)
    run([few], manager_operations(name))
    run(others, manager_operations(name), step=5)


@pytest.mark.filterwarnings("ignore")
def test_groups_are_as_they_were_or_broken() -> None:
    run([group_scene()], group_operations(), step=2)


@pytest.mark.filterwarnings("ignore")
def test_archetypes_are_as_they_were_or_broken() -> None:
    run([archetype_scene()], archetype_operations(), step=2)


@pytest.mark.filterwarnings("ignore")
def test_entity_managers_are_as_they_were_or_broken() -> None:
    run([*entity_scenes()], entity_operations())


def test_nearly_all_are_as_they_were() -> None:
    if TOTAL.tried < 10_000:
        pytest.skip("the other tests did not all run here")
    kept = (TOTAL.as_it_was + TOTAL.done) / TOTAL.tried
    assert kept >= SHARE, TOTAL.broke


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_interrupts_leave_nothing_that_answers_wrongly(seed: int) -> None:
    random = Random(seed)
    everything = [
        (scene, title, operation)
        for scene, operations in cases()
        if not getattr(getattr(package, scene.name.split()[0], None), "_RELEASES", False)
        for title, operation in operations.items()
        if title.startswith(WHOLE)
    ]
    tally = Tally()
    for scene, title, operation in random.sample(everything, 60):
        at = 1
        while (found := interrupt(scene, title, operation, at)) is not None:
            tally.add(found)
            at += random.randint(1, 25)
    assert tally.tried > 200
    assert not tally.wrong, tally.wrong[:5]


def broken(name: str) -> Any:
    _, m = filled(name, 20)
    m._break()
    return m


def test_the_error_is_exported_and_has_two_bases() -> None:
    assert issubclass(package.BrokenManagerError, package.EcsError)
    assert issubclass(package.BrokenManagerError, RuntimeError)


@pytest.mark.parametrize("name", MANAGERS)
def test_what_is_broken_says_so(name: str) -> None:
    m = broken(name)
    for call in (
        lambda: m.data,
        lambda: m.version,
        lambda: len(m),
        lambda: list(m),
        lambda: 1 in m,
        lambda: m.clear(),
        lambda: pickle.dumps(m),
        lambda: copy.deepcopy(m),
        lambda: setattr(m, "_version", 1),
    ):
        with pytest.raises(package.BrokenManagerError, match=rf"{name} is broken.*build it anew"):
            call()
    assert repr(m) == f"<broken {name}>"
    assert isinstance(m, getattr(package, name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["PlainManager", "RareManager", "ThirdManager", "BranchManager"])
def test_shrinking_without_memory_leaves_columns_of_one_length(name: str) -> None:
    with patched():
        for k in range(1, 100):
            _, m = filled(name, 20)
            m.reserve(1000)
            before = m.capacity, m.data.thing.tolist() if hasattr(m.data, "thing") else None
            CLOCK.at, CLOCK.count = k, 0
            try:
                m.shrink_to_fit()
            except MemoryError:
                lengths = {len(getattr(m.data, column)) for column in m.data.OBJECTS}
                assert lengths <= {m.capacity}
                assert before[1] in (None, m.data.thing.tolist() if before[1] else None)
                continue
            finally:
                CLOCK.at = 0
            assert m.capacity < before[0]
            return
    raise AssertionError("no end")
