"""The time of worlds: who has one, what kernels see of it, schedules by it, how it is saved."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from ecsgen_runtime.base.errors import SnapshotError

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.schedules import passes, resolve_calls
from tests.support.world_package import checked, load, world_package

SCHEMA = """\
component: Bear
fields: {wakes: i64, m: i64, x: i64}
kernels:
  eat: {args: {by: i64}, steps: [m += by]}
  nap: {steps: [x += 1]}
---
world: Wood
kernels: {wake: {over: Bear, where: Bear.wakes == tick, steps: [Bear.x = tick * 10]}}
schedule:
"""
STEP = "  step: [Bear.eat, {run: Bear.nap, every: 3, from: 2}, wake, {run: tick}]\n"


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    world = world_package(SCHEMA + STEP, f"time_{request.param}", request.param).World()
    world.spawn(3, bear={"wakes": [0, 4, -1]})
    return world


def test_time_moves_where_a_schedule_says_so(world: Any) -> None:
    seen = []
    for _ in range(7):
        world.step(by=2)
        seen.append((world.tick, *world.bear.data.x.tolist()))
    assert world.bear.data.m.tolist() == [14] * 3
    assert seen == [
        (1, 0, 0, 0),
        (2, 0, 0, 0),
        (3, 1, 1, 1),
        (4, 1, 1, 1),
        (5, 1, 40, 1),
        (6, 2, 41, 2),
        (7, 2, 41, 2),
    ]


def test_time_before_the_beginning(world: Any) -> None:
    world.tick = -1
    world.step(by=1)
    assert (world.tick, world.bear.data.x.tolist()) == (-1, [0, 0, -10])  # plain entries alone
    world.tick = 2**63 - 1
    world.tick = -(2**63)


def test_what_is_no_time(world: Any) -> None:
    world.tick = 5
    for wrong in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError, match=r"World.tick|Wood.tick"):
            world.tick = wrong
    for strange in (1.5, "1", None):
        with pytest.raises(TypeError):
            world.tick = strange
    assert world.tick == 5


def loaded(world: Any) -> Any:
    return type(world).load(world.to_bytes())


COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.copy,
    copy.deepcopy,
    lambda w: pickle.loads(pickle.dumps(w)),
    loaded,
)


@pytest.mark.parametrize("tick", [0, 7, -(2**63), 2**63 - 1])
def test_copies_have_it(world: Any, tick: int) -> None:
    world.tick = tick
    for copied in COPIES:
        twin = copied(world)
        assert twin.tick == tick
        twin.tick = 6
        assert world.tick == tick


@pytest.mark.parametrize("tick", [2**63, "noon", 1.0, True])
def test_files_with_another_are_refused(world: Any, tick: object) -> None:
    vars(world)["_tick"] = tick
    with pytest.raises(SnapshotError, match=r"state\.world\.tick: .*, wanted -9"):
        loaded(world)


def timeless(schedule: str, name: str) -> Any:
    """A package whose kernel asks for no time."""
    schema = SCHEMA.replace("wakes == tick", "wakes == 1").replace("tick * 10", "10")
    return world_package(f"{schema}  step: {schedule}\n", name)


def test_a_world_without_time_takes_none(world: Any) -> None:
    package = timeless("[Bear.nap]", "timeless_bears")
    wood = package.World()
    with pytest.raises(AttributeError, match="Wood has no time: nothing in its schemas asks"):
        wood.tick = 4
    assert "tick" not in vars(wood)
    package.World.load(world.to_bytes())  # it is 0
    world.tick = 7
    with pytest.raises(SnapshotError, match=r"Wood has no time, which is 7 here; .*world.tick"):
        package.World.load(world.to_bytes())
    assert len(package.World.load(world.to_bytes(), drop=["world.tick"]).entities) == 3


def test_the_end_of_time() -> None:
    schema = SCHEMA + "  step: [tick]\n"
    world = world_package(schema, "end_of_time").World()
    world.tick = 2**63 - 1
    with pytest.raises(OverflowError):
        world.step()


@pytest.mark.parametrize(
    ("schedule", "has_time"),
    [("[Bear.nap]", False), ("[Bear.nap, tick]", True), ("[{run: Bear.nap, every: 2}]", True)],
)
def test_who_has_a_time(schedule: str, has_time: bool) -> None:
    package = timeless(schedule, f"who_has_{len(schedule)}")
    assert hasattr(package.World(), "tick") == has_time


def test_what_happens_at_times_is_a_pass_of_its_own() -> None:
    entries = "[Bear.eat, Bear.nap, tick, Bear.nap, {run: Bear.nap}, Bear.nap, tick, {run: tick}]"
    project = load(f"{SCHEMA}  step: {entries}\n")
    calls = resolve_calls(project.world.schedules[0][1], project.by_name, project.world)
    fused = passes(calls, project.world)
    assert [len(fused_pass.calls) for fused_pass in fused] == [2, 1, 1, 1, 1, 1, 1]
    assert [fused_pass.why for fused_pass in fused[1:4]] == [
        "tick advances the time",
        "tick advances the time",
        "Bear.nap runs from tick 0 on",
    ]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{run: Bear.nap, every: 0}", "E514"),
        ("{run: Bear.nap, every: -2}", "E514"),
        ("{run: tick, from: -1}", "E514"),
        ("{run: Bear.sleep}", "E514"),
        ("{run: tock, every: 2}", "E514"),
        ("tock", "E514"),
        ("{every: 2}", "E514"),
        ("{run: tick, at: 2}", "E302"),
        ("{run: tick, every: 2.0}", "E304"),
        ("{run: tick, every: true}", "E304"),
    ],
)
def test_entries_that_are_none(entry: str, code: str) -> None:
    _, diagnostics = checked(f"{SCHEMA}  step: [{entry}]\n")
    assert [error.code for error in diagnostics.errors] == [code]
    assert diagnostics.errors[0].mark.line == 10


SKY = """\
component: Star
fields: {t: i64, f: f32}
---
component: Moon
fields: {t: i64, b: bool}
kernels: {own: {args: {now: i64}, steps: [t += now]}}
---
component: Sun
fields: {t: i64}
---
world: Sky
archetypes: {components: [Star]}
queries: {stars: {all: [Star]}, both: {all: [Moon, Sun]}}
kernels:
  rise: {over: stars, args: {z: i64}, where: Star.t <= tick, steps: [
    Star.t = tick + z, Star.f = f32(tick) / 2]}
  wane: {over: Moon, args: {now: i64}, steps: [Moon.t = tick * 2 + now, "Moon.b = tick % 2 == 0"]}
  meet: {over: both, steps: [Sun.t += tick, when = tick + 1, Moon.t += when]}
schedule: {step: [rise, wane, Moon.own, meet, tick, wane]}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_at_once_know_the_time(backend: Backend) -> None:
    """In blocks, in chunks, and in passes of several kernels."""
    sky = world_package(SKY, f"sky_{backend}", backend).Sky()
    sky.tick = 5
    sky.spawn(3, star={})
    sky.spawn(2, moon={}, sun={})
    for _ in range(3):
        sky.step(z=1, now=10)
    (chunk,) = sky.stars.chunks()
    assert (chunk.star.t.tolist(), chunk.star.f.tolist()) == ([8] * 3, [3.5] * 3)
    assert (sky.moon.data.t.tolist(), sky.moon.data.b.tolist()) == ([26] * 2, [True] * 2)
    assert (sky.sun.data.t.tolist(), sky.tick) == ([18] * 2, 8)


STAYING = """\
component: Spark
owner: none
fields: {a: i64}
---
component: Sheep
fields: {a: i64}
kernels: {give: {args: {k: {type: i64, each: true}}, steps: [a += k]}}
---
component: Free
destroy: manual
fields: {a: i64}
kernels: {give: {args: {k: {type: i64, each: true}}, steps: [a += k]}}
---
world: W
kernels: {burn: {over: Spark, steps: [die()]}, kill: {over: Sheep, steps: [die()]}}
"""


@pytest.mark.parametrize(
    ("first", "then", "is_right"),
    [("burn", "Sheep.give", True), ("kill", "Free.give", True), ("kill", "Sheep.give", False)],
)
def test_values_for_rows_that_stay(first: str, then: str, is_right: bool) -> None:
    """Nobody else's rows go with a row that is nobody's, and none that go by hand."""
    schedules = f"schedule:\n  step: [{first}, {then}]\n  before: [Sheep.give, kill]\n"
    errors = [(e.code, e.mark.line) for e in checked(STAYING + schedules)[1].errors]
    assert errors == ([] if is_right else [("E514", 17)])
