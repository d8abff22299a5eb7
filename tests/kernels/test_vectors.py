"""Vectors, elements and bits in kernels, against Python's own numbers, in blocks and in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.values import dtype_of

from ecsgen.config import BACKENDS
from ecsgen.model import Field
from ecsgen.model.columns import split_parts
from tests.support.kernel_package import built, write
from tests.support.world_package import load, sources, world_package

ROWS = 300
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 2.5)

FIELDS = """\
component: Body
fields:
  x: f32
  y: f32
  wide: f64
  hits: i32
  small: i8
  tiny: u8
  place: "f32[2]"
  apart: {type: "f32[2]", split: true}
  exact: "f64[2]"
  three: "f64[3]"
  long: "f32[20]"
  apart_long: {type: "f64[20]", split: true}
  table: "i16[2,3]"
  counts: "u8[4]"
  flags: "bool[3]"
  out_place: "f32[2]"
  out_apart: {type: "f32[2]", split: true}
  out_exact: "f64[2]"
  out_three: "f64[3]"
  out_five: "i64[5]"
  out_x: f32
  out_wide: f64
  out_n: i64
  out_u: u64
  out_small: i16
  out_flag: bool
kernels:
"""

f32, f64 = np.float32, np.float64


def _sum(values: Any) -> Any:
    total = np.float64(0)
    for value in values:
        total = total + np.float64(value)
    return total


def _turned(v: Any, a: Any) -> list[Any]:
    return [
        v[0] * np.cos(a) - v[1] * np.sin(a),
        v[0] * np.sin(a) + v[1] * np.cos(a),
    ]


CASES: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "of_fields": ("out_place", "vec(x, y)", lambda r: [r.x, r.y]),
    "apart": ("out_apart", "vec(y, x * 2)", lambda r: [r.y, r.x * f32(2)]),
    "with_literals": ("out_place", "vec(x, 1)", lambda r: [r.x, f32(1)]),
    "of_literals": ("out_five", "vec(1, 2, 3, 4, -5)", lambda r: [1, 2, 3, 4, -5]),
    "of_floats": ("out_exact", "vec(1, 0.5)", lambda r: [1, 0.5]),
    "promoted": ("out_three", "vec(x, hits, wide)", lambda r: [r.x, r.hits, r.wide]),
    "scaled": ("out_place", "vec(x, y) * 2 - place", lambda r: np.array([r.x, r.y]) * 2 - r.place),
    "element": ("out_x", "vec(x, y).y + vec(x, y)[0]", lambda r: r.y + r.x),
    "length": ("out_x", "norm(vec(x, y))", lambda r: np.sqrt(r.x * r.x + r.y * r.y)),
    "chosen": ("out_place", "vec(x, y) if hits > 0 else place", lambda r: _chosen(r)),
    "unit": ("out_exact", "unit(wide)", lambda r: _unit(r.wide)),
    "unit_of_whole": ("out_exact", "unit(hits)", lambda r: _unit(f64(r.hits))),
    "angle": ("out_x", "angle(place)", lambda r: np.arctan2(r.place[1], r.place[0])),
    "angle_apart": ("out_x", "angle(apart - 1)", lambda r: _angle(r.apart - f32(1))),
    "rotate": ("out_exact", "rotate(exact, wide)", lambda r: _turned(r.exact, r.wide)),
    "rotate_half": ("out_place", "rotate(place, x + 1)", lambda r: _turned(r.place, r.x + f32(1))),
    "rotate_vec": ("out_apart", "rotate(vec(y, x), x)", lambda r: _turned([r.y, r.x], r.x)),
    "least": ("out_x", "min(long)", lambda r: np.min(r.long)),
    "least_of_vec": ("out_x", "min(vec(x, y))", lambda r: np.min([r.x, r.y])),
    "least_of_table": ("out_n", "min(table)", lambda r: min(map(int, r.table.flat))),
    "greatest": ("out_wide", "max(apart_long)", lambda r: np.max(r.apart_long)),
    "greatest_of_counts": ("out_n", "max(counts) + 1", lambda r: (int(max(r.counts)) + 1) % 256),
    "sum": ("out_x", "sum(long)", lambda r: f32(_sum(r.long))),
    "sum_apart": ("out_wide", "sum(apart_long * 2)", lambda r: _sum(r.apart_long * 2)),
    "sum_of_table": ("out_n", "sum(table)", lambda r: sum(map(int, r.table.flat))),
    "sum_of_counts": ("out_u", "sum(counts)", lambda r: sum(map(int, r.counts))),
    "sum_of_zeros": ("out_wide", "sum(vec(-0.0, -0.0) * abs(x))", lambda r: _zeros(r.x)),
    "argmin": ("out_n", "argmin(long)", lambda r: np.argmin(r.long)),
    "argmax": ("out_n", "argmax(apart_long)", lambda r: np.argmax(r.apart_long)),
    "argmin_of_three": ("out_n", "argmin(three)", lambda r: np.argmin(r.three)),
    "argmax_of_table": ("out_n", "argmax(table)", lambda r: np.argmax(r.table)),
    "argmax_of_counts": ("out_n", "argmax(counts)", lambda r: np.argmax(r.counts)),
    "any": ("out_flag", "any(flags)", lambda r: any(r.flags)),
    "all": ("out_flag", "all(flags)", lambda r: all(r.flags)),
    "any_far": ("out_flag", "any(long > 2) and not all(place < 1)", lambda r: _far(r)),
    "all_of_many": ("out_flag", "all(apart_long != 1)", lambda r: all(r.apart_long != 1)),
}


def _unit(a: Any) -> list[Any]:
    return [np.cos(a), np.sin(a)]


def _zeros(x: Any) -> Any:
    return _sum(np.full(2, -0.0) * abs(np.float64(x)))


def _chosen(row: Any) -> Any:
    return [row.x, row.y] if row.hits > 0 else row.place


def _angle(v: Any) -> Any:
    return np.arctan2(v[1], v[0])


def _far(row: Any) -> bool:
    return any(row.long > 2) and not all(row.place < 1)


def _schema() -> str:
    kernels = []
    for name, (field, expression, _) in CASES.items():
        step = f"{field} = {expression}"
        kernels.append(f'  do_{name}: {{steps: ["{step}"]}}\n')
        looped = f"steps: |\n      for i in range(1):\n        {step}\n"
        kernels.append(f"  do_{name}_looped:\n    {looped}")
    return FIELDS + "".join(kernels)


class Row:
    """The fields of one row."""

    def __init__(self, columns: dict[str, Any], index: int) -> None:
        self.__dict__ = {name: column[index] for name, column in columns.items()}


def _columns(bodies: Any) -> dict[str, Any]:
    """Return the fields of all rows, split ones put together."""
    columns, data = {}, bodies.data
    for field in COMPONENT.fields:
        parts = [getattr(data, part.name) for part in split_parts(field)] if field.split else []
        columns[field.name] = np.stack(parts, 1) if parts else getattr(data, field.name).copy()
    return columns


def _values(field: Field, random: np.random.Generator) -> Any:
    shape, dtype = (ROWS, *field.type.shape), dtype_of(field.type.scalar)
    if dtype.kind != "f":
        return random.integers(0, 256, shape).astype(dtype)
    values = random.normal(0, 3, shape).astype(dtype)
    special = random.random(shape) < 0.03
    values[special] = random.choice(np.array(SPECIAL, dtype), int(special.sum()))
    return values


COMPONENT = load(_schema()).components[0]


@pytest.fixture(scope="module", params=BACKENDS)
def bodies(request: pytest.FixtureRequest) -> Any:
    package = built(_schema(), f"vectors_{request.param}", request.param).package
    entities = package.EntityManager()
    manager = package.BodyManager(entities)
    manager.create_many(entities.create_many(ROWS))
    random = np.random.default_rng(5)
    for field in COMPONENT.fields:
        write(manager.data, field, _values(field, random))
    return manager


@pytest.mark.parametrize("form", ["", "_looped"])
@pytest.mark.parametrize("name", CASES)
def test_vectors_and_their_elements_are_as_python_has_them(
    bodies: Any, name: str, form: str
) -> None:
    field, text, naive = CASES[name]
    columns = _columns(bodies)
    with np.errstate(all="ignore"):
        getattr(bodies, f"do_{name}{form}")()
        wanted = np.array([naive(Row(columns, index)) for index in range(ROWS)])
    got = _columns(bodies)[field]
    wanted = wanted.astype(got.dtype)
    if any(function in text for function in ("unit", "angle", "rotate")):
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-6)  # sines differ in their last bits
    else:
        assert got.tobytes() == wanted.tobytes()


FLOCK = """\
component: Bird
fields:
  at: "f32[2]"
  limbs: "f32[3]"
  power: f32
  own: f32
  within: f32
  asked: f32
  looped: f32
  least: "f32[3]"
  spot: i64
  counted: i64
  turned: "f32[2]"
space: {field: at}
kernels:
"""
STEPS = """\
own = sum(limbs)
within = sum(max(other.limbs))
asked = sum(power)
least = min(other.limbs)
spot = sum(argmax(other.limbs))
counted = count(any(other.limbs > limbs) and not all(other.limbs > 0))
turned = sum(rotate(offset, other.power) + vec(power + min(limbs), max(other.limbs)))
"""
LOOP = "for bird in other:\n  looped += min(bird.limbs) + sum(bird.offset)\n"


def _around(name: str, keys: str, steps: str) -> str:
    lines = "".join(f"      {line}\n" for line in steps.split("\n"))
    return f"  {name}:\n    near: 2\n{keys}    steps: |\n{lines}"


FLOCK += _around("look", "", STEPS) + _around("look_in_turns", "    turns: rows\n", STEPS)
FLOCK += _around("loop", "", LOOP)


def _asked(data: Any, row: int) -> dict[str, Any]:
    """Return what a bird sees."""
    at, limbs, power = data.at, data.limbs, data.power
    offsets = at - at[row]
    near = [k for k in range(data.n) if k != row and np.hypot(*offsets[k]) <= 2]
    turned = np.zeros(2)
    for k in near:
        turned += np.array(_turned(offsets[k], power[k])) + _shift(data, row, k)
    no_limbs = np.full(3, np.nan, f32)
    return {
        "own": f32(_sum(limbs[row])),
        "within": f32(_sum(limbs[k].max() for k in near)),
        "asked": f32(_sum(power[row] for _ in near)),
        "looped": sum(limbs[k].min() + f32(_sum(offsets[k])) for k in near),
        "least": np.min(limbs[near], 0) if near else no_limbs,
        "spot": sum(int(limbs[k].argmax()) for k in near),
        "counted": sum(any(limbs[k] > limbs[row]) and not all(limbs[k] > 0) for k in near),
        "turned": turned,
    }


def _shift(data: Any, row: int, other: int) -> Any:
    return np.array([data.power[row] + data.limbs[row].min(), data.limbs[other].max()])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", ["look", "look_in_turns"])
def test_functions_of_elements_are_told_from_questions(backend: Any, kernel: str) -> None:
    package = built(FLOCK, f"flock_{backend}", backend).package
    entities = package.EntityManager()
    birds = package.BirdManager(entities)
    birds.create_many(entities.create_many(60))
    data, random = birds.data, np.random.default_rng(1)
    data.at[...] = random.uniform(0, 9, (60, 2))
    data.limbs[...] = random.normal(0, 1, (60, 3))
    data.power[...] = random.normal(0, 1, 60)
    birds.loop()
    getattr(birds, kernel)()
    wanted = [_asked(data, row) for row in range(60)]
    for name in wanted[0]:
        values = np.array([of_row[name] for of_row in wanted])
        np.testing.assert_allclose(getattr(data, name), values, 1e-4, 1e-5, err_msg=name)


def test_costly_operands_are_worked_out_once() -> None:
    steps = ["out_exact = rotate(vec(sqrt(wide), 1), exp(x))", "out_x = angle(normalize(place))"]
    kernel = f"  once: {{steps: [{', '.join(map(repr, steps))}]}}\n"
    for backend in BACKENDS:
        text = sources(load(FIELDS + kernel), backend)["body.py"]
        for function in ("np.exp", "np.cos", "np.sin"):
            assert text.count(f"{function}(") == 1


WORLD = """\
world: Game
kernels:
  push:
    over: Seeker
    where: sum(Seeker.v) > 0 or any(Seeker.seen)
    steps:
      - Seeker.target.Body.v += vec(Seeker.x, max(Seeker.v))
      - Seeker.w = Seeker.target.Body.w - vec(1, 0.5)
  bear:
    over: Seeker
    steps: ["spawn(Body(v=vec(Seeker.x, 1), hits=3 << argmax(Seeker.v)), where=all(Seeker.v > 0))"]
---
component: Seeker
fields: {v: "f32[2]", w: "f64[2]", x: f32, target: entity, seen: "bool[4]"}
reductions:
  total: {sum: sum(v)}
  greatest: {max: "max(vec(x, v.x, v.y))", where: any(seen)}
  middle: {mean: "vec(x, v.x)"}
---
component: Body
fields: {v: "f32[2]", w: "f64[2]", hits: i64}
---
component: Node
hierarchy: {orphans: root}
fields: {local: "f32[2]", world: "f32[2]"}
kernels:
  level: {steps: ["world = vec(parent.world.x + local.x, parent.world.y + max(parent.local))"]}
"""


@pytest.fixture(params=BACKENDS)
def game(request: pytest.FixtureRequest) -> Any:
    """Return a world in which seekers mean bodies."""
    world = world_package(WORLD, f"vector_world_{request.param}", request.param).World()
    random, entities = np.random.default_rng(2), world.entities.create_many(50)
    world.seeker.create_many(entities)
    world.body.create_many(entities)
    world.node.create_many(entities)
    seekers, bodies = world.seeker.data, world.body.data
    for column in (seekers.v, seekers.x, bodies.v, bodies.w, world.node.data.local):
        column[...] = random.normal(0, 1, column.shape)
    seekers.seen[...] = random.integers(0, 2, (50, 4))
    seekers.target[...] = random.choice(entities, 50)
    return world


def test_vectors_go_to_other_rows_and_newborn(game: Any) -> None:
    seekers, bodies = game.seeker.data, game.body.data
    wanted_v, wanted_w = bodies.v.copy(), seekers.w.copy()
    rows = {entity: row for row, entity in enumerate(bodies.entity.tolist())}
    for row in range(50):
        if _sum(seekers.v[row]) > 0 or any(seekers.seen[row]):
            target = rows[int(seekers.target[row])]
            wanted_v[target] += np.array([seekers.x[row], seekers.v[row].max()])
            wanted_w[row] = bodies.w[target] - np.array([1, 0.5])
    game.push()
    np.testing.assert_array_equal(bodies.v, wanted_v)
    np.testing.assert_array_equal(seekers.w, wanted_w)
    game.bear()
    born = [row for row in range(50) if all(seekers.v[row] > 0)]
    assert game.body.data.v[50:].tolist() == [[seekers.x[row], 1] for row in born]
    assert game.body.data.hits[50:].tolist() == [3 << int(seekers.v[row].argmax()) for row in born]


def test_vectors_are_reduced(game: Any) -> None:
    seekers = game.seeker.data
    x, v, seen = seekers.x, seekers.v, seekers.seen.any(1)
    assert game.seeker.total() == pytest.approx(v.sum(dtype=np.float64), abs=1e-4)
    assert game.seeker.greatest() == max(x[seen].max(), v[seen].max())
    assert game.seeker.middle() == pytest.approx((x.mean(), v[:, 0].mean()), abs=1e-5)


def test_vectors_of_parents_go_down(game: Any) -> None:
    nodes = game.node
    for row in range(1, 50):
        nodes.set_parent(row, (row - 1) // 2)
    nodes.level()
    local, wanted = nodes.data.local, np.zeros((50, 2), f32)
    for row in range(50):
        parent = (row - 1) // 2
        above, length = (wanted[parent], local[parent].max()) if row else (np.zeros(2, f32), f32(0))
        wanted[row] = above[0] + local[row, 0], above[1] + length
    np.testing.assert_array_equal(nodes.data.world, wanted)
