"""Kernels as methods of managers: arguments, rows, locks, kept views, functions, names."""

from __future__ import annotations

import copy
import math
import pickle
import re
import warnings
from functools import partial
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.kernel_package import manager_of
from tests.support.world_package import world_package

FUNCTIONS = (
    *("exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos"),
    *("sinh", "cosh", "tanh"),
)
SCHEMA = """\
component: Body
fields: {x: f32, wide: f64, out: f32, wide_out: f64, place: "f32[3]"}
kernels:
  move:
    args: {dt: f32, by: "f32[3]", count_: u8, on: bool, mode: Mode}
    where: on
    steps: [place += by * dt * count_, x = x if mode == Mode.idle else 9]
"""
KERNEL = '  {0}_: {{steps: ["out = {0}(x)", "wide_out = {0}(wide)"]}}\n'
REST = """\
  atan2_: {steps: ["out = atan2(x, 0.5)", "wide_out = atan2(wide, 0.5)"]}
  hypot_: {steps: ["out = hypot(x, 0.5)", "wide_out = hypot(wide, 0.5)"]}
  power: {steps: ["out = abs(x) ** 0.3", "wide_out = abs(wide) ** 0.3"]}
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
    text = SCHEMA + "".join(KERNEL.format(name) for name in FUNCTIONS) + REST
    return world_package(text, "kernels_managed")


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


@pytest.mark.parametrize("name", [*FUNCTIONS, "atan2", "hypot", "power"])
def test_functions_are_within_4_ulp(manager: Any, name: str) -> None:
    limit = 1.0 if name in ("asin", "acos") else 80.0
    values = np.random.default_rng(3).uniform(-limit, limit, 100)
    if name.startswith("log"):
        values = np.abs(values)
    manager.data.x, manager.data.wide = values, values
    getattr(manager, name if name == "power" else f"{name}_")()
    second = (0.5,) if name in ("atan2", "hypot") else ()
    function = getattr(math, name, abs)
    for input_name, output_name in (("x", "out"), ("wide", "wide_out")):
        results = getattr(manager.data, output_name)
        wanted = [function(float(x), *second) for x in getattr(manager.data, input_name)]
        exponent = 0.3 if results.dtype == np.float64 else float(np.float32(0.3))
        if name == "power":
            wanted = [abs(float(x)) ** exponent for x in getattr(manager.data, input_name)]
        off = np.abs(results.astype(np.float64) - wanted)
        assert (off <= 4 * np.spacing(np.abs(results))).all()


NAMES_SCHEMA = """\
component: Dial
fields: {angle: f32, wide: f64, on: bool, hits: i32}
kernels:
  turn:
    where: "true"
    args: {by: f32}
    steps:
      - part = pi * 2
      - angle = (angle + by * tau) % tau
      - wide = part + hits * pi
      - on = true if angle > pi else on and not false
reductions: {all_: {count: "true"}, none: {count: "false"}, area: {sum: pi * wide}}
---
component: Circle
fields: {pi: i32, tau: f32, sign: f32, hypot: "f32[2]", true: u8}
kernels:
  own:
    args: {trunc: i8}
    steps:
      - pi = pi + 1
      - tau = sign(-tau) * sign
      - hypot.x = hypot(tau, sign)
      - false = 3
      - true = u8(false) * true + u8(trunc(tau)) + u8(trunc)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_names(backend: Backend) -> None:
    package = world_package(NAMES_SCHEMA, f"names_{backend}", backend)
    entities = package.EntityManager()
    dials = package.DialManager(entities)
    dials.create_many(entities.create_many(3), angle=[0.0, 1.0, 6.0], hits=[0, 1, 2])
    dials.turn(0.25)
    f32 = np.float32
    turned = [f32(angle) + f32(0.25) * f32(math.tau) for angle in (0.0, 1.0, 6.0)]
    turned[2] = np.remainder(turned[2], f32(math.tau))
    assert dials.data.angle.tolist() == turned
    assert dials.data.wide.tolist() == [math.tau + hits * math.pi for hits in range(3)]
    assert dials.data.on.tolist() == [False, False, False]
    assert (dials.all_(), dials.none()) == (3, 0)

    circles = package.CircleManager(entities)
    circles.create(next(iter(entities)), pi=3, tau=-2.5, sign=4.0, true=5)
    circles.own(7)
    assert circles.row(0) == (4, 4.0, 4.0, (float(f32(math.sqrt(32))), 0.0), 26)


WORLD = """\
world: Hearth
groups: {pair: [Pot, Coal]}
kernels:
  heat:
    over: pair
    turns: rows
    args: {heat_kernel: f32, heat_kernel_: f32, heat_chunks: f32}
    steps: [Pot.warmth += heat_kernel * Coal.glow + heat_kernel_ * heat_chunks]
  cool:
    over: pair
    args: {cool_kernel: f32}
    steps: [Pot.warmth -= cool_kernel]
---
component: Pot
fields: {warmth: f32}
---
component: Coal
fields: {glow: f32}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_functions_of_the_world(backend: Backend) -> None:
    world = world_package(WORLD, f"hearth_{backend}", backend).Hearth()
    world.spawn(3, pot={"warmth": 1}, coal={"glow": 2})
    world.heat(3, 4, 5)
    assert world.pot.data.warmth.tolist() == [27, 27, 27]
    world.cool(7)
    assert world.pot.data.warmth.tolist() == [20, 20, 20]


REDUCED = """\
component: Grain
fields: {mass: f64}
kernels:
  each_grow: {args: {grow_kernel: {type: f64, each: true}}, steps: [mass += grow_kernel]}
  cells: {args: {cells_kernel: f64}, steps: [mass *= cells_kernel]}
reductions:
  found: {max: mass, where: mass > 0}
  matching: {mean: mass, where: mass > 0}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_reductions_and_kernels_called_like_locals(backend: Backend) -> None:
    """A function's name is that of no local of the method that calls it."""
    grains = manager_of(REDUCED, f"grains_{backend}", backend)
    grains.create_many(grains._entities.create_many(3), mass=[0.0, 1.0, 3.0])
    assert (grains.found(), grains.matching()) == (3, 2)
    grains.each_grow([1.0, 1.0, 0.0])
    grains.cells(2.0, rows=[0, 1, 2])
    assert grains.data.mass.tolist() == [2, 4, 6]


ASKING = """\
world: Meadow
queries: {flock: {all: [Bird, Grass]}}
kernels:
  crowd:
    over: flock
    near: reach
    args: {reach: f64, radius: f32, bird_rows: f32, hidden: f32, columns: f32, others: f32}
    steps: [Grass.trodden += count() * radius + bird_rows + hidden + columns + others]
---
component: Bird
fields: {at: "f32[2]"}
space: {field: at}
---
component: Grass
fields: {trodden: f32}
partition: {start: active}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_what_finds_neighbours(backend: Backend) -> None:
    world = world_package(ASKING, f"meadow_{backend}", backend).Meadow()
    world.spawn(3, bird={"at": [[0, 0], [1, 0], [9, 0]]}, grass={})
    world.crowd(2.0, 100, 20, 3, 0.5, 0.25)
    assert world.grass.data.trodden.tolist() == [123.75, 123.75, 23.75]


DYING = """\
component: Cell
grid: {shape: [3, 3]}
fields: {heat: f64}
kernels:
  spread: {near: 1, args: {around: f64}, steps: ["heat += around * sum(other.heat)"]}
---
component: Hen
fields: {age: f64, chick: entity, other: entity}
---
world: Coop
kernels:
  end:
    over: Hen
    args: {commands: f64, living: f64}
    steps: ["Hen.age += commands", "die(where=Hen.age > living)", "spawn(Hen(age=commands))"]
  feed:
    over: Hen
    args: {led: f64, led2: f64}
    steps: ["Hen.chick.Hen.age += led", "Hen.other.Hen.age += led2"]
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_what_ends_rows_and_finds_others(backend: Backend) -> None:
    world = world_package(DYING, f"coop_{backend}", backend).Coop()
    world.cell.data.heat = [0, 0, 0, 0, 1, 0, 0, 0, 0]
    world.cell.spread(0.5)
    assert world.cell.data.heat.tolist() == [0.5] * 4 + [1.0] + [0.5] * 4
    first, other = world.spawn(2, hen={"age": [1, 4]}).tolist()
    world.hen.data.chick = [other, first]
    world.hen.data.other = first
    world.feed(2.0, 0.5)
    assert world.hen.data.age.tolist() == [4, 6]
    world.end(1.5, 6.0)
    assert world.hen.data.age.tolist() == [5.5, 1.5]


TABLES = ("patch_axes", "reach", "hare_living", "hare_crowds", "hare_empty", "elk_table", "elk_ids")
MOVING = """\
component: Patch
grid: {shape: [5, 5], wrap: true}
fields: {heat: f64}
kernels:
  warm: {near: 1, turns: rows, args: {reach: f64}, steps: ["heat += reach * sum(other.heat) + 1"]}
---
component: Hare
on: cell
fields: {cell: id<Patch>, food: f64, kin: entity}
---
component: Elk
lookup: hash
fields: {size: f64}
---
world: Land
kernels:
  move:
    over: Hare
    turns: rows
    near: {radius: 1, among: Hare}
    args: {patch_axes: f64, hare_crowds: f64, hare_empty: f64, elk_table: f64, elk_ids: f64}
    steps:
      - "Hare.food += hare_crowds * count()"
      - "Hare.cell = random_empty(Hare)"
      - "Hare.kin.Elk.size += elk_table + elk_ids"
      - "die(where=Hare.food > 30 * patch_axes)"
      - "spawn(Hare(cell=Hare.cell, food=hare_empty), where=Hare.food > 20)"
  choose:
    over: Hare
    args: {hare_living: f64, hare_empty: f64}
    steps: ["Hare.kin = choice(Hare)", "Hare.food += hare_living + hare_empty"]
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_tables_of_loops(backend: Backend) -> None:
    """The results are those of arguments with other names, on numpy."""
    plain = re.sub("|".join(TABLES), lambda match: f"number{TABLES.index(match[0])}", MOVING)
    results = []
    for package in (
        world_package(MOVING, f"land_tables_{backend}", backend),
        world_package(plain, "land_plain"),
    ):
        world = package.Land()
        world.patch.data.heat = 1.0
        cells = [(1 << 32) + k for k in range(5)]
        world.spawn(5, hare={"cell": cells, "food": [1, 2, 3, 40, 5]}, elk={})
        world.hare.data.kin = world.hare.data.entity[::-1].copy()
        world.patch.warm(0.25)
        world.move(1.5, 0.5, 9.0, 2.0, 4.0)
        world.choose(8.0, 16.0)
        hares = world.hare.data
        results.append([c.tolist() for c in (hares.food, hares.cell, hares.kin)])
        results[-1] += [world.patch.data.heat.tolist(), world.elk.data.size.tolist()]
    assert results[0] == results[1]


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
    before = w.body.data.place.copy()
    calls = dict(w.body._stream_state.calls)
    for run in (partial(w.body.drift, 1.0), w.body.stray):
        with pytest.raises((TypeError, ValueError, inputs_package.StaleInstanceError)) as raised:
            run(rows=rows)
        assert type(raised.value).__name__ == error or error == "TypeError"
    assert (w.body.data.place == before).all()
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
    w.body.push([(1, 1, 1), (2, 2, 2)], 1.0, rows=[3, 1])
    assert w.body.speed(3) == (2, 3, 4)
    assert w.body.speed(1) == (3, 4, 5)
    w.body.hit([7], rows=np.arange(10) == 4)
    assert w.body.data.hits.tolist() == [0] * 4 + [7] + [0] * 5
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
    assert "rows" not in signature(type(w).burn).parameters


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
