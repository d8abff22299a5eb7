"""Kernels as methods of managers: arguments, rows, locks, kept views; `interpreted/names.yaml`
has names that functions and locals have."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import partial
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

SCHEMA = """\
component: Body
fields: {x: f32, place: "f32[3]"}
kernels:
  move:
    args: {dt: f32, by: "f32[3]", count_: u8, on: bool, mode: Mode}
    where: on
    steps: [place += by * dt * count_, x = x if mode == Mode.idle else 9]
---
component: Holey
lookup: direct
fields: {x: f32}
kernels: {grow: {steps: [x *= 1e30]}}
---
enum: Mode
values: [idle, walk]
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "kernels_managed")


@pytest.fixture
def manager(package: Any) -> Any:
    entities = package.EntityManager()
    bodies = package.BodyManager(entities)
    bodies.create_many(entities.create_many(100))
    return bodies


def move(manager: Any, **changed: Any) -> None:
    arguments = {"dt": 0.5, "by": (1, 2, 3), "count_": 2, "on": True, "mode": 1}
    manager.move(**{**arguments, **changed})


def test_arguments_are_checked_like_fields(package: Any, manager: Any) -> None:
    move(manager, mode=package.Mode.walk)
    assert manager.place(7) == (1, 2, 3)
    assert manager.x(7) == 9
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"dt": True}, TypeError),
        ({"dt": "1"}, TypeError),
        ({"dt": 1e39}, OverflowError),
        ({"count_": 256}, OverflowError),
        ({"count_": 1.0}, TypeError),
        ({"on": 1}, TypeError),
        ({"by": (1, 2)}, ValueError),
        ({"mode": 5}, ValueError),
    ]
    for changed, error in wrong:
        with pytest.raises(error, match=rf"Body\.move\.{next(iter(changed))}"):
            move(manager, **changed)
    assert manager.place(7) == (1, 2, 3)


def test_kernels_are_no_structural_change(manager: Any) -> None:
    version = manager.version
    with manager.locked():
        move(manager)
    assert manager.version == version
    move(manager, on=False)
    assert manager.place(0) == (1, 2, 3)


def test_kept_views_are_let_go(package: Any, manager: Any) -> None:
    """Growing warns of views that others hold: not of those that kernels have kept."""
    small = manager.nbytes
    move(manager)
    assert manager.nbytes > small
    entities = package.EntityManager()
    other = package.BodyManager(entities)
    other.create_many(entities.create_many(64))
    move(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.create_many(entities.create_many(1000))
        other.shrink_to_fit()
    move(other)
    assert other.place(1063) == (1, 2, 3)
    assert other.place(0) == (2, 4, 6)


def test_copies_have_views_of_their_own(manager: Any) -> None:
    move(manager)
    for other in (copy.deepcopy(manager), pickle.loads(pickle.dumps(manager))):
        move(other)
        assert other.place(0) == (2, 4, 6)
    assert manager.place(0) == (1, 2, 3)


def test_holes_do_not_warn(package: Any) -> None:
    entities = package.EntityManager()
    holey = package.HoleyManager(entities)
    first, second = entities.create(), entities.create()
    holey.create(first, x=1e30)
    holey.create(second)
    holey.remove(first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        holey.grow()


INPUTS_SCHEMA = """\
component: Body
fields: {place: "f32[3]", speed: "f32[3]", hits: u8, mode: Mode}
kernels:
  push:
    args: {by: {type: "f32[3]", each: true}, dt: f32}
    steps: [speed += by * dt, place += speed]
  hit: {args: {by: {type: u8, each: true}}, steps: [hits = by]}
  turn: {args: {to: {type: Mode, each: true}}, steps: [mode = to]}
  drift: {args: {dt: f32}, steps: [place += speed * dt]}
  stray: {steps: ["speed += f32(normal())"]}
  stray_in_turns: {turns: random, args: {by: f32}, steps: ["speed += f32(normal()) * by"]}
---
component: Spin
lookup: direct
fields: {angle: f32}
kernels: {turn: {args: {by: {type: f32, each: true}}, steps: [angle += by]}}
---
component: Bone
hierarchy: {orphans: root}
partition: {start: active}
fields: {turn: f32}
kernels:
  follow: {steps: [turn = parent.turn + 1]}
  lean: {args: {by: {type: f32, each: true}}, steps: [turn += by]}
---
component: Fuel
fields: {left: f32}
---
component: Node
ids: true
fields: {after: id<Node>, value: f64, y: f64}
kernels: {hop: {steps: ["value = after.value * 0.5 + after.y + y"]}}
---
component: Charm
fields: {luck: f32}
---
component: Spell
fields: {power: "f32[2]"}
---
enum: Mode
values: [idle, walk]
---
world: Game
groups: {bodies: [Body, Fuel]}
queries: {spun: {all: [Body, Spin]}, charmed: {all: [Charm, Spell]}}
archetypes: {components: [Charm, Spell]}
kernels:
  rise: {over: Body, args: {by: f32}, steps: ["Body.place.z += by"]}
  rise_each: {over: Body, args: {by: {type: f32, each: true}}, steps: ["Body.place.z += by"]}
  burn: {over: bodies, args: {by: {type: f32, each: true}}, steps: ["Fuel.left -= by"]}
  aim: {over: bodies, args: {mode: Mode, at: f32}, where: Fuel.left > at, steps: [Body.mode = mode]}
  face: {over: bodies, args: {each: {type: Mode, each: true}}, steps: [Body.mode = each]}
  whirl: {over: spun, args: {by: {type: f32, each: true}}, steps: ["Spin.angle += by"]}
  bless:
    over: charmed
    args: {by: {type: "f32[2]", each: true}}
    steps: ["Spell.power += by", "Charm.luck += by.x"]
schedule: {turn_all: [Body.turn], aim_first: [aim, face]}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def inputs_package(request: Any) -> Any:
    return world_package(INPUTS_SCHEMA, f"inputs_{request.param}", request.param)


@pytest.fixture
def w(inputs_package: Any) -> Any:
    """A world of ten bodies, all of which spin and burn."""
    world = inputs_package.Game()
    world.spawn(10, body={"speed": (1, 2, 3)}, spin={}, fuel={})
    return world


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([0, 10], "StaleInstanceError"),
        ([1, 1], "StaleInstanceError"),
        ([-1], "StaleInstanceError"),
        (np.ones(9, np.bool_), "ValueError"),
        ([[0]], "ValueError"),
        ([0.5], "TypeError"),
        ("ab", "TypeError"),
        (3, "ValueError"),
    ],
)
def test_bad_rows_change_nothing(inputs_package: Any, w: Any, rows: Any, error: str) -> None:
    before = w.body.data.place.copy(), w.body.data.speed.copy()
    calls = dict(w.body._stream_state.calls)
    kernels = w.body.drift, w.body.stray_in_turns, w.rise
    for run in (w.body.stray, *(partial(kernel, 1.0) for kernel in kernels)):
        with pytest.raises((TypeError, ValueError, inputs_package.StaleInstanceError)) as raised:
            run(rows=rows)
        assert type(raised.value).__name__ == error or error == "TypeError"
    assert (np.stack([w.body.data.place, w.body.data.speed]) == before).all()
    assert w.body._stream_state.calls == calls


@pytest.mark.parametrize(
    ("by", "error"),
    [
        (np.zeros((9, 3)), ValueError),
        (np.zeros((10, 2)), ValueError),
        ([(0, 0, "a")] * 10, TypeError),
        (1e39, OverflowError),
        ([(0, 0, 1e39)] * 10, OverflowError),
        (True, TypeError),
        (None, TypeError),
    ],
)
def test_bad_values_change_nothing(w: Any, by: Any, error: type[Exception]) -> None:
    before = w.body.data.speed.copy()
    with pytest.raises(error, match=r"Body\.push\.by"):
        w.body.push(by, 0.5)
    assert (w.body.data.speed == before).all()


def test_values_of_rows_are_as_many_as_these(w: Any) -> None:
    with pytest.raises(ValueError, match=r"wanted shape \(2, 3\)"):
        w.body.push(np.zeros((10, 3)), 0.5, rows=[3, 1])
    with pytest.raises(ValueError, match=r"rise_each\.by"):
        w.rise_each([1.0, 2.0], rows=[1, 2, 3])
    w.body.push([(1, 1, 1), (2, 2, 2)], 1.0, rows=[3, 1])
    assert w.body.speed(3) == (2, 3, 4)
    assert w.body.speed(1) == (3, 4, 5)
    w.body.hit([7], rows=np.arange(10) == 4)
    assert w.body.data.hits.tolist() == [0] * 4 + [7] + [0] * 5
    w.rise(0.5, rows=np.arange(10) == 4)
    assert w.body.data.place[:, 2].tolist() == [0, 5, 0, 4, 0.5, 0, 0, 0, 0, 0]
    w.body.hit([], rows=[])
    w.body.hit(3, rows=[0])
    assert w.body.hits(0) == 3
    with pytest.raises(OverflowError):
        w.body.hit([300], rows=[0])


def test_enums_are_checked(w: Any, inputs_package: Any) -> None:
    w.body.turn([inputs_package.Mode.walk] + [0] * 9)
    assert w.body.mode(0) is inputs_package.Mode.walk
    with pytest.raises(ValueError, match="Mode"):
        w.body.turn([5] * 10)


def test_values_may_be_columns_that_change(w: Any) -> None:
    w.body.push(w.body.data.speed, 1.0)
    assert (w.body.data.speed == (2, 4, 6)).all()
    w.body.push(w.body.data.place[::-1], 1.0)
    assert (w.body.data.place == (6, 12, 18)).all()
    w.burn(w.fuel.data.left)
    w.whirl(np.arange(10, dtype=np.float32))
    w.whirl(w.spin.data.angle)
    assert w.spin.data.angle.tolist() == [2.0 * k for k in range(10)]


def test_read_only_and_strided_values(w: Any) -> None:
    values = np.arange(60, dtype=np.float32).reshape(10, 6)[:, ::2]
    values.flags.writeable = False
    w.body.push(values, 1.0)
    assert (w.body.data.speed == values + np.array([1, 2, 3], np.float32)).all()
    w.body.push(values.astype(">f4"), -1.0)
    assert (w.body.data.speed == (1, 2, 3)).all()


def test_inactive_rows_stay(w: Any, inputs_package: Any) -> None:
    w.spawn(10, bone={})
    bones = w.bone
    bones.deactivate_many(np.arange(10) % 2 == 0)
    active = bones.n_active
    bones.lean(np.arange(10), rows=np.arange(10))
    assert bones.data.turn.tolist() == [*range(active), *[0] * (10 - active)]
    bones.lean([5, 6], rows=[9, 0])
    assert bones.turn(0) == 6
    assert bones.turn(9) == 0
    bones.lean(range(10))
    assert bones.data.turn[active:].tolist() == [0] * (10 - active)


def test_who_reads_parents_takes_no_rows(w: Any) -> None:
    assert "rows" not in signature(type(w.bone).follow).parameters
    assert signature(type(w.bone).lean).parameters["rows"].kind.name == "KEYWORD_ONLY"
    for kernel in (type(w).burn, type(w).whirl):  # over a group, and over a query
        assert "rows" not in signature(kernel).parameters


def test_holes_are_no_rows(w: Any, inputs_package: Any) -> None:
    w.spin.remove(next(iter(w.entities)))
    assert w.spin.data.n == 10
    with pytest.raises(inputs_package.StaleInstanceError):
        w.spin.turn([1.0], rows=[0])
    w.spin.turn(range(10))
    assert w.spin.angle(9) == 9


def test_whoever_changes_rows_meanwhile_is_told(w: Any) -> None:
    class Rude:
        def __array__(self, *_: Any, **__: Any) -> Any:
            w.spawn(5, body={}, fuel={}, spin={})
            return np.zeros((10, 3), np.float32)

    with pytest.raises(RuntimeError, match="changed the rows"):
        w.body.push(Rude(), 1.0)
    with pytest.raises((RuntimeError, ValueError)):
        w.burn(Rude())


def test_locked_managers_and_versions(w: Any) -> None:
    version = w.body.version
    with w.body.locked():
        w.body.drift(1.0, rows=[2])
        w.body.push(0.5, 1.0)
    assert w.body.version == version
    assert w.body.place(2)[0] == 2.5


def test_values_go_with_rows_of_the_world(w: Any) -> None:
    es = list(w.entities)
    w.destroy_many(es[2:5])
    w.collect()
    w.burn(range(7))
    assert w.fuel.data.left[: len(w.bodies)].tolist() == [-float(k) for k in range(7)]
    rows = w.spun.rows()
    w.whirl(range(7))
    assert w.spin.data.angle[rows.spin].tolist() == list(range(7))
    for values in (range(6), np.zeros((7, 2))):
        with pytest.raises(ValueError, match=r"whirl\.by"):
            w.whirl(values)


def test_values_go_with_chunks(w: Any) -> None:
    w.spawn(3, charm={}, spell={})
    w.spawn(2, charm={}, spell={}, body={})
    count = len(w.charmed)
    assert count == 5
    values = np.arange(10, dtype=np.float32).reshape(5, 2)
    w.bless(values)
    w.bless(0.5)
    powers = [np.array(chunk.spell.power) for chunk in w.charmed.chunks()]
    assert (np.concatenate(powers) == values + np.float32(0.5)).all()
    with pytest.raises(ValueError, match=r"bless\.by"):
        w.bless(np.zeros((4, 2)))


def test_rows_that_refer_to_others(w: Any) -> None:
    """Fields of other rows are read where they are, whichever rows a call names."""
    w.spawn(40, node={})
    data, random = w.node.data, np.random.default_rng(1)
    data.value, data.y = random.random(40), random.random(40)
    data.after = w.node.id_of_many(random.integers(0, 40, 40))
    value, y, after = np.array(data.value), np.array(data.y), w.node.resolve_many(data.after)
    rows = random.permutation(40)[:15]
    w.node.hop(rows=rows)
    expected = value.copy()
    expected[rows] = value[after[rows]] * 0.5 + y[after[rows]] + y[rows]
    assert (data.value == expected).all()


def test_enums_are_arguments_of_the_world(inputs_package: Any, w: Any) -> None:
    walk = inputs_package.Mode.walk
    w.fuel.data.left = [0.0, 1.0] * 5
    w.aim(walk, at=0.5)
    assert w.body.data.mode.tolist() == [0, 1] * 5
    w.face([walk] * 5 + [0] * 5)
    assert w.body.data.mode.tolist() == [1] * 5 + [0] * 5
    w.turn_all(to=[0, walk] * 5)
    assert w.body.data.mode.tolist() == [0, 1] * 5
    w.aim_first(mode=0, at=0.5, each=walk)
    assert w.body.data.mode.tolist() == [1] * 10
    with pytest.raises(ValueError, match=r"Game\.aim\.mode: 2 is no member of Mode"):
        w.aim(2, 0.5)
    with pytest.raises(OverflowError, match=r"Game\.aim\.at"):
        w.aim(walk, 1e39)
