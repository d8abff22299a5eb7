"""References and messages, as the interpreter has them, with every policy on the other side."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import IN_WORLDS, check, kernels, world_of
from tests.support.referred_components import OTHERS, OWNED, WITH_IDS
from tests.support.world_package import world_package


def _of_entities(name: str) -> str:
    """A kernel that reads fields of a component by entities."""
    h = f"Seeker.target.{name}"
    return (
        f"  see_{name.lower()}:\n    over: Seeker\n    args: {{k: f32, whom: entity}}\n"
        f"    where: exists({h}) or Seeker.sum < k or exists(whom)\n    steps:\n"
        f'      - "Seeker.at = ({h}.at - Seeker.at) * k + whom.{name}.at"\n'
        f'      - "Seeker.hits = {h}.hits + {h}.friends[1].{name}.hits"\n'
    )


ALL_TYPES = """\
  all_types:
    over: Seeker
    steps:
      - "Seeker.turn = Seeker.target.Sparse.turn @ Seeker.turn"
      - "Seeker.parts = Seeker.target.Sparse.parts + entity.Sparse.parts"
      - "Seeker.wide = Seeker.target.Sparse.wide"
      - "who = Seeker.target.Sparse.link"
      - "Seeker.table = Seeker.target.Sparse.table + who.Sparse.table"
      - "Seeker.target = who if exists(who) else entity"
      - "Seeker.small = Seeker.target.Sparse.small"
      - "Seeker.flag = exists(Seeker.target.Sparse) and exists(who.Sparse.link) and who.Sparse.flag"
"""


def _of_ids(name: str) -> str:
    h = f"Seeker.{name.lower()}"
    return (
        f"  by_{name.lower()}:\n    over: Seeker\n    args: {{which: id<{name}>}}\n    steps:\n"
        f'      - "Seeker.at = {h}[0].at + which.at"\n'
        f'      - "Seeker.flag = exists({h}[1]) == exists(which)"\n'
        f'      - "Seeker.hits = {h}[1].hits if exists({h}[1]) else i32({h}[0].small)"\n'
    )


SCHEMA = (
    "world: Game\nqueries: {pairs: {all: [Seeker, Sparse]}}\ngroups: {both: [Hash, Held]}\n"
    "kernels:\n"
    + "".join(map(_of_entities, OWNED))
    + "".join(map(_of_ids, WITH_IDS))
    + ALL_TYPES
    + """\
  swap:
    over: pairs
    steps:
      - "Sparse.at = Seeker.target.Sparse.at * 2 - Sparse.at"
      - "Sparse.link = Sparse.link.Sparse.link"
      - "Sparse.sum = Sparse.link.Sparse.sum + Seeker.target.Seeker.sum"
      - "Seeker.sum = Sparse.sum"
  grouped: {over: both, steps: ["Held.at = Hash.link.Held.at", "Hash.sum = Held.link.Hash.sum"]}
---
component: Seeker
instances: one
fields:
  at: "f32[3]"
  turn: "f32[2,2]"
  parts: {type: "f64[2]", split: true}
  wide: "f32[20]"
  table: "i16[3,3]"
  target: entity
  sum: f32
  hits: i32
  small: u8
  flag: bool
"""
    + "".join(f'  {name.lower()}: "id<{name}>[2]"\n' for name in WITH_IDS)
    + OTHERS
    + """\
---
component: Node
ids: true
instances: many
fields:
  after: id<Node>
  friend: entity
  value: f32
  m: "f32[2,2]"
  pair: {type: "f32[2]", split: true}
kernels:
  hop:
    steps: ["value = after.value + friend.Node.value", "pair = after.pair", "m = friend.Node.m"]
  chain:
    where: exists(after.after) or exists(friend)
    steps: ["value += after.after.after.value", "after = after.after"]
  by_arguments:
    args: {whom: entity, both: "entity[2]"}
    where: exists(both[1]) or exists(both[0].Node) or value < whom.Node.friend.Node.value
    steps:
      - value = whom.Node.friend.Node.value + both[0].Node.after.value
      - m += both[1].Node.friend.Node.m
      - whom.Node.friend.Node.pair += value
  into_rows: {steps: ["m[0] = friend.Node.pair", "m[1] = after.m[0]"]}
  many_at_once: {parallel: true, steps: ["m = after.m @ friend.Node.m"]}
---
component: Loose
owner: none
partition: {start: active}
fields: {after: id<Loose>, value: i64}
kernels:
  hop: {rows: all, steps: ["value = after.value - after.after.value"]}
  moved: {steps: ["value = after.value"]}
"""
)


@pytest.fixture(params=BACKENDS)
def game(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    return world_of(SCHEMA, "references", backend)


@pytest.mark.parametrize("value", ["bird", None, 1.5, True])
def test_arguments_that_are_no_handles(value: object, game: Any) -> None:
    """Errors name the schema's type, and what was given."""
    world = game()
    shown = rf"not {value!r} \({type(value).__name__}\)"
    with pytest.raises(TypeError, match=rf"\.by_many\.which: wanted id<Many>, {shown}"):
        world.by_many(value)
    with pytest.raises(TypeError, match=rf"Node\.by_arguments\.whom: wanted entity, {shown}"):
        world.node.by_arguments(whom=value, both=[0, 0])
    with pytest.raises(TypeError, match=rf"Node\.by_arguments\.both: wanted entity, {shown}"):
        world.node.by_arguments(whom=0, both=[0, value])
    with pytest.raises(TypeError, match=rf"Seeker\.many: wanted id<Many>, {shown}"):
        world.seeker.create_many(world.spawn(3), many=[[0, 0], [0, value], [0, 0]])


def test_a_function_annotates_each_name_once(game: Any) -> None:
    """mypy refuses a second annotation, even in another loop."""
    text = inspect.getsource(sys.modules[game.__module__])
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            annotated = [node for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
            names = [ast.unparse(node.target) for node in annotated]
            assert len(names) == len(set(names)), function.name


STEPS = '["s = to.Dot.s", "d = to.Dot.d", "x = to.Dot.x"]'
ENDLESS = f"""\
component: Dot
fields:
  s: {{type: f32, default: .inf}}
  d: {{type: f64, default: -.inf}}
  x: {{type: f32, default: .nan}}
kernels:
  at_once: {{args: {{to: entity}}, steps: {STEPS}}}
  in_turns: {{turns: rows, args: {{to: entity}}, steps: {STEPS}}}
"""


@pytest.mark.parametrize(
    ("backend", "kernel"), [("numpy", "at_once"), ("numpy", "in_turns"), ("numba", "at_once")]
)
def test_defaults_that_are_no_finite_numbers(backend: Backend, kernel: str) -> None:
    world = world_of(ENDLESS, "endless", backend)()
    world.spawn(2, dot={"s": 1, "d": 1, "x": 1})
    getattr(world.dot, kernel)(0)  # nobody
    data = world.dot.data
    assert (data.s == np.inf).all()
    assert (data.d == -np.inf).all()
    assert np.isnan(data.x).all()


def _to(name: str) -> str:
    """A kernel that sends to rows that entities have."""
    h = f"Sender.target.{name}"
    return (
        f"  strike_{name.lower()}:\n    over: Sender\n    where: Sender.sum < 5\n    steps:\n"
        f'      - "{h}.hits -= Sender.hits"\n'
        f'      - "{h}.at += Sender.at * 2"\n'
        f'      - "entity.{name}.hits += 3"\n'
    )


MESSAGES_SCHEMA = (
    "world: Game\nqueries: {pairs: {all: [Sender, Sparse]}}\ngroups: {both: [Hash, Held]}\n"
    "kernels:\n"
    + "".join(map(_to, OWNED))
    + """\
  by_ids:
    over: Sender
    args: {which: id<Nobody>, whom: entity}
    steps:
"""
    + "".join(f'      - "Sender.{name.lower()}.most += Sender.wide"\n' for name in WITH_IDS)
    + """\
      - "which.small += Sender.small"
      - "whom.Sparse.small -= 1"
  all_types:
    over: Sender
    steps:
      - "Sender.target.Sparse.small += Sender.small"
      - "Sender.target.Sparse.table = min(Sender.target.Sparse.table, Sender.table)"
      - "Sender.target.Sparse.most = max(Sender.target.Sparse.most, Sender.sum)"
      - "Sender.target.Sparse.flag = Sender.target.Sparse.flag or Sender.flag"
      - "Sender.target.Direct.flag = Sender.target.Direct.flag and Sender.flag"
      - "Sender.target.Sparse.far += Sender.far"
      - "Sender.target.Sparse.far -= 5"
      - "Sender.target.Sparse.parts -= Sender.parts"
      - "Sender.target.Sparse.wide += 0.5"
  elements:
    over: Sender
    steps:
      - "Sender.target.Sparse.at += Sender.at"
      - "Sender.target.Sparse.at.y -= Sender.sum"
      - "entity.Sparse.at[2] += 1"
      - "Sender.target.Sparse.turn[1] += Sender.sum"
      - "Sender.target.Sparse.parts.x -= Sender.wide"
  waits:
    over: pairs
    where: Sparse.sum < 3
    steps:
      - "Sender.target.Sparse.sum += Sparse.sum"
      - "Sparse.at = Sender.target.Sparse.at + 1"
      - "Sender.target.Sparse.at -= Sparse.at"
      - "Sender.target.Sparse.sum -= Sender.sum"
      - "Sparse.sum *= 2"
      - "Sender.target.Sparse.wide = min(Sender.target.Sparse.wide, Sparse.wide)"
  grouped: {over: both, steps: ["Hash.link.Held.at += Held.at", "Held.link.Hash.hits -= 2"]}
  from_nobody:
    over: Nobody
    args: {whom: entity}
    where: Nobody.flag
    steps: ["whom.Sparse.hits += 1", "Nobody.link.Many.hits += Nobody.hits"]
---
component: Sender
lookup: direct
fields:
  at: "f32[3]"
  parts: {type: "f64[2]", split: true}
  table: "i16[3,3]"
  target: entity
  sum: f32
  wide: f64
  hits: i32
  far: i64
  small: u8
  flag: bool
"""
    + "".join(f"  {name.lower()}: id<{name}>\n" for name in WITH_IDS)
    + OTHERS.replace("  link: entity\n", "  link: entity\n  far: i64\n")
    + """\
---
component: Node
ids: true
instances: many
fields: {after: id<Node>, friend: entity, value: f32, count_: i32, m: "f32[2]"}
kernels:
  pass_on: {steps: ["after.count_ += count_", "friend.Node.m -= m", "after.m += m"]}
  swap:
    where: exists(after)
    steps: ["x = after.value", "after.value = max(after.value, value + 1)", "value = x"]
---
component: Loose
owner: none
fields: {after: id<Loose>, value: i64}
kernels:
  pull: {steps: ["after.value -= value", "value = after.value"]}
"""
)
BALLS_SCHEMA = """
component: Ball
ids: true
fields: {other: entity, left: id<Ball>, f: f32, d: f64, i: i8, on: bool, v: "f32[2]"}
kernels:
  read:
    where: exists(left) or f < other.Ball.f
    steps: ["f = other.Ball.f - left.f", "v = left.v * f", "i = other.Ball.i + left.left.i"]
  send: {steps: ["other.Ball.f += f", "left.f -= 0.1", "left.i += i", "other.Ball.v.y += f"]}
  both:
    steps:
      - d = other.Ball.d + left.d
      - other.Ball.d -= d
      - left.on = left.on or f > 0
      - other.Ball.v = min(other.Ball.v, v)
  give:
    args: {by: {type: f32, each: true}}
    where: f < 1 or by > 0
    steps: ["other.Ball.f += by", "f = left.f * by", "other.Ball.v.x += by", "left.i -= i"]
  turns: {turns: random, steps: ["other.Ball.f = f + left.f", "left.d += f", "other = left.other"]}
"""
SCHEMAS = {"references": SCHEMA, "messages": MESSAGES_SCHEMA, "balls": BALLS_SCHEMA}
CASES = [(name, kernel) for name, text in SCHEMAS.items() for kernel in kernels(text)]


@IN_WORLDS
@pytest.mark.parametrize(("name", "kernel"), CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels(
    backend: Backend, name: str, kernel: str, worlds: Sequence[tuple[int, int]]
) -> None:
    check(SCHEMAS[name], name, backend, kernel, worlds)


def test_locals_keep_their_values_where_a_branch_is_not_taken() -> None:
    steps = ["h = entity", "if m > 0: h = friend.Bee.friend", "friend = h"]
    fields = "{m: i32, friend: entity}"
    text = f"component: Bee\nfields: {fields}\nkernels: {{look: {{steps: {steps}}}}}\n"
    world = world_package(text, "branches_of_references").World()
    bees = world.entities.create_many(3)
    world.bee.create_many(bees, m=[1, 0, 1], friend=np.roll(bees, 1))
    world.bee.look()
    assert world.bee.data.friend.tolist() == [bees[1], bees[1], bees[0]]


EXTREMES = """\
component: Cup
fields: {least: f32, most: f64}
---
component: Shot
fields: {to: entity, level: f32}
---
world: Game
kernels:
  fill:
    over: Shot
    steps:
      - Shot.to.Cup.least = min(Shot.to.Cup.least, Shot.level)
      - Shot.to.Cup.most = max(Shot.to.Cup.most, Shot.level)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_passes_on_in_messages_without_a_warning(backend: Backend) -> None:
    world = world_of(EXTREMES, "extremes", backend)()
    cups = world.spawn(2, cup={})
    world.spawn(4, shot={"to": cups[[0, 0, 1, 1]], "level": [1, np.nan, 2, -2]})
    world.fill()
    assert np.isnan([world.cup.least(0), world.cup.most(0)]).all()
    assert (world.cup.least(1), world.cup.most(1)) == (-2, 2)
