"""Times of kernels, fused passes, tables, reductions and schedules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecsgen.checked import checked, timed
from tests.support.generated_package import imported_package

SCHEMA = """\
component: Body
fields: {at: f64, speed: f64}
kernels:
  bounce: {steps: [speed = -speed]}
reductions: {farthest: {max: at}}
---
component: Part
fields: {angle: f64}
---
world: Room
archetypes: {components: [Part]}
queries: {bodies: {all: [Body]}, parts: {all: [Part]}}
kernels:
  drift: {over: Body, args: {dt: f64}, steps: ["Body.at += Body.speed * dt"]}
  slow: {over: Body, steps: ["Body.speed *= 0.5"]}
  look: {over: bodies, turns: rows, steps: ["Body.at += 1"]}
  leave: {over: bodies, where: Body.at > 100, steps: [die()]}
  split: {over: Body, steps: [spawn(Body(at=1))]}
  end: {over: Body, steps: [die()]}
  spin: {over: parts, steps: ["Part.angle += 1"]}
records: {places: {far: {max: Body.at}}}
settings: {gain: f64}
schedule:
  step: [drift, slow, look, Body.bounce, places, tick]
  settle:
    - {set: settings.gain, to: Body.farthest()}
    - {run: Body.bounce, while: Body.farthest, at_most: 2}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("timed")
    with imported_package(folder, "timed_room", "room.yaml", SCHEMA) as module:
        yield module.Room()


def schemas(world: Any) -> Path:
    return Path(str(sys.modules[type(world).__module__].__file__)).parent.parent / "schemas"


def test_table(world: Any) -> None:
    world.spawn(3, body={"speed": 1.0})
    step, twin = world.step, type(world)()
    with timed(world, schemas(world)) as times:
        for _ in range(2):
            step(dt=1.0)
            world.body.farthest()
        world.body.bounce(rows=[0, 2])
        world.body.bounce(rows=[True, False, False])
        twin.step(dt=1.0)
        world.archetypes.create([sys.modules["timed_room"].Part], n=5)
        world.body.data.at[0] = 101
        world.leave()
        world.leave()
        world.spin()
        with pytest.warns(RuntimeWarning, match="still"):
            world.settle()
        world.split()
        world.end()
    world.step(dt=1.0)
    table = times.table()
    listed = {(t.name, t.within): (t.calls, t.rows) for t in table}
    assert listed == {
        ("step", ""): (2, 0),
        ("drift + slow", "step"): (2, 6),
        ("look", "step"): (2, 6),
        ("Body.bounce", "step"): (2, 6),
        ("places", "step"): (2, 0),
        ("Body.farthest", ""): (2, 6),
        ("Body.bounce", ""): (2, 3),
        ("leave", ""): (2, 5),  # those who left are counted once
        ("spin", ""): (1, 5),
        ("settle", ""): (1, 0),
        ("settings.gain = Body.farthest()", "settle"): (1, 0),
        ("Body.bounce", "settle"): (2, 4),
        ("Body.farthest", "settle"): (3, 6),
        ("split", ""): (1, 2),  # of those before
        ("end", ""): (1, 4),
    }
    assert [t.seconds for t in table] == sorted((t.seconds for t in table), reverse=True)
    (whole_step,) = (t for t in table if t.name == "step")
    assert whole_step.seconds >= sum(t.seconds for t in table if t.within == "step")
    assert all(0 < t.longest <= t.seconds for t in table)
    assert 0 < sum(t.share for t in table if not t.within) <= 1
    drift = next(t for t in table if t.name == "drift + slow")
    assert drift.ns_per_row == pytest.approx(drift.seconds * 1e9 / 6)
    head, *lines = repr(times).split("\n")
    assert head.split() == ["name", "within", "calls", "seconds", "share", "longest", "ns/row"]
    assert len(lines) == len(table)


def test_errors_are_timed_and_end_nothing(world: Any) -> None:
    with timed(world, schemas(world)) as times:
        with pytest.raises(TypeError):
            world.step(dt="a")
        with pytest.raises(RuntimeError, match="checked or timed already"):
            checked(world, schemas(world)).__enter__()
        world.body.bounce()
    assert {(t.name, t.within) for t in times.table()} == {("step", ""), ("Body.bounce", "")}
