"""A change that fails in the middle leaves everything as it was, or it breaks what it changed.

Allocations are made to fail at every eleventh place, with ECSGEN_FAULTS=1 at each in turn;
interrupts come at lines, calls and rounds of loops, with ECSGEN_INTERRUPTS=1 at every one: see
`faults`.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.accelerated_packages import need_layer
from tests.support.fault_injection import (
    CLOCK,
    Events,
    Operation,
    Scene,
    Tally,
    fail_everywhere,
    interrupt_everywhere,
    is_broken,
    patched,
    traced,
)
from tests.support.fault_operations import (
    archetype_operations,
    archetype_scene,
    entity_operations,
    entity_scenes,
    group_operations,
    group_scene,
    manager_operations,
    manager_scenes,
)
from tests.support.policies_package import MANAGERS, ROOT, filled, package
from tests.support.world_package import world_package

STEP = int(os.environ.get("ECSGEN_FAULTS", "11"))
INTERRUPTS = int(os.environ.get("ECSGEN_INTERRUPTS", "1000"))
SIGNALS = float(os.environ.get("ECSGEN_SIGNALS", "0.5"))
"""Seconds."""
SHARE = 0.8
"""Of the failures of each manager, so many leave everything as it was at least; of all, 0.95."""


def run(
    scenes: list[Scene], operations: dict[str, Operation], step: int = 1, in_one: bool = False
) -> None:
    tally = Tally()
    with patched():
        for _, scene, title, operation in trials(scenes, operations, in_one):
            tally.add(fail_everywhere(scene, title, operation, step * STEP))
    assert tally.tried
    assert not tally.wrong, tally.wrong[:5]
    if STEP == 1:  # else too few of all places were tried
        share = (tally.as_it_was + tally.done) / tally.tried
        assert share >= SHARE, tally.broke


def trials(
    scenes: list[Scene], operations: dict[str, Operation], in_one: bool
) -> Iterator[tuple[int, Scene, str, Operation]]:
    """Yield each operation with its number in each scene, or in one of them by turns."""
    for number, (title, operation) in enumerate(operations.items()):
        for scene in [scenes[number % len(scenes)]] if in_one else scenes:
            yield number, scene, title, operation


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MANAGERS)
def test_managers_are_as_they_were_or_broken(name: str) -> None:
    few, *others = manager_scenes(name)
    if STEP > 1:
        run([few, *others], manager_operations(name), in_one=True)
        return
    run([few], manager_operations(name))
    run(others, manager_operations(name), step=3)


OTHERS: dict[str, Callable[[], tuple[list[Scene], dict[str, Operation]]]] = {
    "groups": lambda: ([group_scene()], group_operations()),
    "archetypes": lambda: ([archetype_scene()], archetype_operations()),
    "entity_managers": lambda: ([*entity_scenes()], entity_operations()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_others_are_as_they_were_or_broken(name: str) -> None:
    run(*OTHERS[name](), step=1 if name == "entity_managers" else 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ["create", "spawn", "group"])
def test_what_undoes_a_creation_needs_no_memory(title: str) -> None:
    (scene,), operations = OTHERS["groups" if title == "group" else "archetypes"]()
    tally = Tally()
    with patched():
        for name, operation in operations.items():
            if name.startswith((title, "spawn")):
                tally.add(fail_everywhere(scene, name, operation, STEP, lasts=True))
    assert tally.tried
    assert not tally.wrong, tally.wrong[:5]


@pytest.mark.parametrize("kind", ["archetypes", "position"])
def test_taking_back_takes_no_memory(kind: str) -> None:
    w = package.Many()
    if kind == "archetypes":
        entities = w.archetypes.create([package.Health], 10_000)
        taker = w.archetypes
    else:
        entities = w.spawn(10_000, position={})
        taker = w.position
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        taker.remove_rows_one_by_one(entities)
        w.entities.undo_create(entities)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 20_000
    assert len(taker) == len(w.entities) == 0
    assert w.spawn(3).tolist() == entities[:3].tolist()


# In a process of its own: a signal may come before `errstate` of numpy has ended, say.
@pytest.mark.parametrize("is_pure", ["1", "0"])
def test_signals_leave_nothing_that_answers_wrongly(is_pure: str) -> None:
    if is_pure == "0":
        need_layer()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.interrupt_worlds", str(SIGNALS)],
        env={**os.environ, "ECSGEN_PURE": is_pure},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def interrupted(scenes: list[Scene], operations: dict[str, Operation]) -> None:
    tally, in_one = Tally(), "ECSGEN_INTERRUPTS" not in os.environ
    for number, scene, title, operation in trials(scenes, operations, in_one):
        if not title.startswith(("set_", "data.")):  # values are no change of structure
            error = (KeyboardInterrupt, SystemExit, Signalled)[number % 3]
            tally.add(interrupt_everywhere(scene, title, operation, INTERRUPTS, number, error))
    assert tally.tried
    assert not tally.wrong, tally.wrong[:5]


class Signalled(BaseException):
    """An exception that a handler of signals may raise."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MANAGERS)
def test_interrupted_managers_are_as_they_were_or_broken(name: str) -> None:
    interrupted([*manager_scenes(name)], manager_operations(name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_interrupted_others_are_as_they_were_or_broken(name: str) -> None:
    interrupted(*OTHERS[name]())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ["create high", "create_many"])
def test_a_map_that_is_interrupted_as_it_grows_is_one_map(title: str) -> None:
    scene = next(manager_scenes("PlainManager"))
    tally = interrupt_everywhere(
        scene, title, manager_operations("PlainManager")[title], 1, 0, KeyboardInterrupt
    )
    assert tally.tried
    assert not tally.wrong, tally.wrong[:5]


@pytest.mark.parametrize("count", [1, 12])
def test_rows_go_with_their_entities_if_memory_is_short_before_the_manager_begins(
    count: int,
) -> None:
    schema = "component: {}\ndestroy: callback\nlookup: {}\nfields: {{x: i32}}\n"
    text = "---\n".join([*map(schema.format, "AB", ("sparse", "hash")), "world: Short\n"])
    short = world_package(text, "short_of_memory", runtime="vendored")

    def filled_world() -> Any:
        w = short.Short()
        w.spawn(20, a={}, b={})
        return w

    w, events = filled_world(), Events(package="short_of_memory")
    assert traced(events, lambda: w.destroy_many(w.entities.live()[:count])) is None
    for at in events.times()[::STEP]:
        w = filled_world()
        error = traced(
            Events(at, MemoryError, "short_of_memory"),
            lambda w=w: w.destroy_many(w.entities.live()[:count]),  # type: ignore[misc]
        )
        if not any(map(is_broken, (w.entities, w.a, w.b))):
            assert len(w.entities) == len(w.a) == len(w.b), error


@pytest.mark.parametrize("name", MANAGERS)
def test_what_is_broken_says_so(name: str) -> None:
    _, m = filled(name, 20)
    m._mark_broken()
    assert {package.EcsError, RuntimeError} <= {*package.BrokenManagerError.__mro__}
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
