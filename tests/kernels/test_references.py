"""References of kernels, against a loop over rows, with every policy on the other side."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from ecsgen.model import Project
from tests.support.others_package import KEYS, OTHERS, OWNED, WITH_IDS, built, check, filled


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
WORLD = (
    ["all_types"]
    + [f"see_{name.lower()}" for name in OWNED]
    + [f"by_{name.lower()}" for name in WITH_IDS]
)
ALIKE = ["see_sparse", "see_many", "see_parted", "see_round", "see_held", "by_held", "by_parted"]
ALIKE += ["by_round"]
OF_COMPONENTS = [("Node", "hop"), ("Node", "chain"), ("Node", "many_at_once")]
OF_COMPONENTS += [("Loose", "hop"), ("Loose", "moved"), ("Node", "by_arguments")]
OF_COMPONENTS += [("Node", "into_rows")]


@pytest.fixture(scope="module", params=["numpy", "numba"])
def game(request: pytest.FixtureRequest) -> tuple[Any, Project]:
    if request.param == "numba":
        pytest.importorskip("numba")
    backend: Backend = request.param
    return built(SCHEMA, "references", backend)


def given(world: Any, project: Project, name: str, random: np.random.Generator) -> dict[str, Any]:
    """Some arguments of a kernel of the world."""
    kernel = next(one for one in project.world.kernels if one.name == name)
    found: dict[str, Any] = {}
    for argument, text, _ in kernel.args:
        found[argument] = 0.5
        if text == "entity":
            alive = world.entities.live()
            found[argument] = int(random.choice(alive)) if len(alive) else 5
        elif text.startswith("id<"):
            ids = world.seeker.data.__getattribute__(text[3:-1].lower()).ravel()
            found[argument] = int(random.choice(ids)) if len(ids) else 0
    return found


@pytest.mark.parametrize("count", [0, 1, 40, 4097])
def test_kernels_of_the_world(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    random = np.random.default_rng(count)
    world = filled(module, project, count, random)
    names = [*WORLD, "swap", "grouped"] if count < 4000 else ["see_hash", "by_many", "swap"]
    if project.backend == "numba":  # each takes a second to compile
        names = [name for name in names if name not in ALIKE]
    for name in names:
        kernel = next(one for one in project.world.kernels if one.name == name)
        check(world, project, kernel, given(world, project, name, random))
    if 0 < count < 4000:
        world.collect()
        for name in names:
            kernel = next(one for one in project.world.kernels if one.name == name)
            check(world, project, kernel, given(world, project, name, random))


@pytest.mark.parametrize("count", [0, 1, 60])
def test_kernels_of_components(count: int, game: tuple[Any, Project]) -> None:
    module, project = game
    random = np.random.default_rng(count)
    world = filled(module, project, count, random)
    everybody = [0, *world.node.data.entity.tolist()]
    for home, name in OF_COMPONENTS:
        component = next(one for one in project.components if one.name == home)
        kernel = next(one for one in component.kernels if one.name == name)
        given: dict[str, Any] = {}
        if kernel.args:
            given = {"whom": everybody[-1], "both": random.choice(everybody, 2)}
        check(world, project, kernel, given, home)


@pytest.mark.parametrize("value", ["bird", None, 1.5, True])
def test_arguments_that_are_no_handles(value: object, game: tuple[Any, Project]) -> None:
    """Errors name the schema's type, and what was given."""
    world = getattr(game[0], game[1].world.name)()
    shown = rf"not {value!r} \({type(value).__name__}\)"
    with pytest.raises(TypeError, match=rf"\.by_many\.which: wanted id<Many>, {shown}"):
        world.by_many(value)
    with pytest.raises(TypeError, match=rf"Node\.by_arguments\.whom: wanted entity, {shown}"):
        world.node.by_arguments(whom=value, both=[0, 0])
    with pytest.raises(TypeError, match=rf"Node\.by_arguments\.both: wanted entity, {shown}"):
        world.node.by_arguments(whom=0, both=[0, value])
    with pytest.raises(TypeError, match=rf"Seeker\.many: wanted id<Many>, {shown}"):
        world.seeker.create_many(world.spawn(3), many=[[0, 0], [0, value], [0, 0]])


def test_a_function_annotates_each_name_once(game: tuple[Any, Project]) -> None:
    """mypy refuses a second annotation, even in another loop."""
    module, _ = game
    for function in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            annotated = [node for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
            names = [ast.unparse(node.target) for node in annotated]
            assert len(names) == len(set(names)), function.name


def test_policies_are_all_there() -> None:
    assert KEYS.keys() == {*OWNED, *WITH_IDS}


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
    pytest.importorskip(backend)
    world = built(ENDLESS, "endless", backend)[0].World()
    world.spawn(2, dot={"s": 1, "d": 1, "x": 1})
    getattr(world.dot, kernel)(0)  # nobody
    data = world.dot.data
    assert (data.s == np.inf).all()
    assert (data.d == -np.inf).all()
    assert np.isnan(data.x).all()
