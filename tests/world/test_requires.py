"""`requires`: what entities with a component have as well comes along, with defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import checked, world_package

SCHEMA = """\
component: Transform
add: true
fields: {at: "f32[2]"}
---
component: Health
requires: [Transform]
add: true
fields: {hp: {type: f32, default: 10}}
---
component: Unit
requires: [Health]
add: true
fields: {team: u8}
---
component: Leaf
instances: many
requires: [Unit]
fields: {v: {type: i32, default: -1}}
---
component: Tree
requires: [Leaf]
fields: {v: i32}
---
component: Node
fields: {k: i32, mate: entity}
---
component: Rage
requires: [Power, Aura]
fields: {a: i32}
---
component: Power
requires: [Aura]
fields: {b: {type: i32, default: 3}}
---
component: Aura
fields: {c: {type: i32, default: 4}}
---
world: Game
bundles: {soldier: [Unit]}
groups: {both: [Health, Transform]}
archetypes: {components: [Rage, Power, Aura]}
kernels:
  born:
    over: Node
    steps:
      - spawn(Unit(team=u8(Node.k)))
      - spawn(soldier, Health(hp=Node.k), where=Node.k == 2)
  grow:
    over: Node
    steps: ["add(Tree(v=Node.k))", "add(Leaf(v=7))", "add(Node.mate, Unit(team=3), replace=true)"]
  leaf_first: {over: Node, steps: ["add(Leaf(v=7))", "add(Tree())"]}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    return world_package(SCHEMA, f"requires_{backend}", backend=backend)


def names(w: Any, entity: int) -> set[str]:
    return {row.__name__ for row in w.components(entity)}


ALL = {"Transform", "Health", "Unit"}


def test_spawn_adds_what_is_missing(package: Any) -> None:
    w = package.World()
    for n in (1, 3, 200):
        es = w.spawn(n, unit={"team": 2}, health={"hp": 5})
        assert names(w, es[-1]) == ALL
        assert w.health.data.hp[w.health.lookup_many(es)].tolist() == [5] * n
        assert len(w.both) == len(w.transform) == len(w.entities)
    assert names(w, w.spawn_soldier(2, unit={"team": 1})[1]) == ALL
    assert names(w, w.spawn(1)[0]) == set()
    assert names(w, w.spawn(2, unit=None, health={})[0]) == {"Health", "Transform"}
    with pytest.raises(OverflowError):
        w.spawn(1, unit={"team": 256})
    assert len(w.transform) == 208


def test_one_entity(package: Any) -> None:
    w, g = package.World(), package
    e = w.create(g.Tree(v=1), g.Leaf(v=2), g.Leaf(v=3), g.Health(hp=1))
    assert names(w, e) == ALL | {"Leaf", "Tree"}
    assert (w.get(e, g.Health).hp, len(w.leaf), w.get(e, g.Leaf).v) == (1, 2, 2)
    bare = w[w.create(g.Transform((1, 2)))]
    bare.add(g.Tree())
    assert names(w, bare.entity) == ALL | {"Leaf", "Tree"}
    assert w.get(bare.entity, g.Transform) == ((1, 2),)  # who has it keeps it
    assert w.get(bare.entity, g.Leaf).v == -1
    bare.remove(g.Transform)  # and may lose it
    bare.add(g.Leaf())
    assert len(w.leaf) == 4
    assert names(w, bare.entity) == ALL | {"Leaf", "Tree"}
    with pytest.raises(g.DuplicateInstanceError):
        bare.add(g.Unit())
    with pytest.raises(TypeError):
        w.create(g.Unit)
    w.destroy(bare.entity)
    with pytest.raises(g.StaleEntityError):
        bare.add(g.Unit())
    assert w.unit.create(w.entities.create()) == 2  # managers know nothing of each other
    assert len(w.health) == 2


def test_archetypes(package: Any) -> None:
    w, g = package.World(), package
    store = w.archetypes
    (e,) = store.create([g.Rage], aura={"c": 9})
    assert (store.get(e, g.Power).b, store.get(e, g.Aura).c) == (3, 9)
    others = w.spawn(3)
    store.add(others[0], g.Aura, c=5)
    store.add_many(others, g.Rage, a=[1, 2, 3])
    assert [store.get(other, g.Aura).c for other in others] == [5, 4, 4]
    assert store.has_many(others, g.Power).all()
    w[w.create()].add(g.Power(b=1))
    x = w[w.create()]
    x.add(g.Rage(), g.Aura(c=8))
    assert (w.get(x.entity, g.Aura).c, w.get(x.entity, g.Power).b) == (8, 3)
    store.remove(e, g.Aura)
    store.add(w.create(), g.Power(b=2))
    with pytest.raises(g.DuplicateInstanceError):
        store.add(e, g.Rage)
    assert not store.has(e, g.Aura)  # nothing has changed
    with pytest.raises(g.DuplicateInstanceError):
        store.add_many([w.create(), e], g.Rage)
    assert names(w, w.spawn(2, rage={})[1]) == {"Rage", "Power", "Aura"}


def test_kernels(package: Any) -> None:
    w = package.World()
    es = w.spawn(2, node={"k": [1, 2]})
    w.born()
    assert w.unit.data.team.tolist() == [1, 2, 0]
    assert w.health.data.hp.tolist() == [10, 10, 2]
    assert len(w.both) == 3
    w.node.data.mate[:] = es[::-1]
    w.unit.create(es[0], team=9)
    w.grow()
    leaves = {e: [w.leaf.v(row) for row in w.leaf.instances(e)] for e in es.tolist()}
    assert leaves == {es[0]: [-1, 7], es[1]: [-1, 7]}
    assert [w.unit.team(w.unit.require(e)) for e in es] == [3, 3]
    assert [w.health.hp(w.health.require(e)) for e in es] == [10, 10]
    w = package.World()
    e = w.spawn(1, node={})[0]
    w.leaf_first()
    assert (w.leaf.data.v.tolist(), names(w, e) > ALL) == ([7], True)


def test_callbacks_come_when_all_is_there(package: Any) -> None:
    w, g, seen = package.World(), package, list[Any]()

    def note(name: str) -> Any:
        return getattr(w, name).on_add(
            lambda rows: seen.append((name, rows.tolist(), len(w.transform)))
        )

    handles = [note(name) for name in ("unit", "transform", "health")]
    w.spawn(2, unit={})
    assert seen == [(name, [0, 1], 2) for name in ("health", "transform", "unit")]
    seen.clear()
    w.spawn(1, node={"k": 3})
    w.born()
    assert seen == [(name, [2], 3) for name in ("health", "transform", "unit")]
    seen.clear()
    w[w.create(g.Transform())].add(g.Unit())
    assert [name for name, *_ in seen] == ["transform", "health", "unit"]
    seen.clear()
    w.create(g.Unit())
    assert {name for name, *_ in seen} == {"transform", "health", "unit"}
    assert len(handles) == 3


BODY = "\n---\ncomponent: Body\nfields: {x: f32}\n"
WRONG = {
    "component: A\nrequires: [B]\n---\ncomponent: B\nrequires: [A]": ("E522", 2, "A → B → A"),
    "component: A\nrequires: [Body, A]": ("E522", 2, "A → A"),
    "component: A\nowner: none\nrequires: [Body]\nfields: {x: f32}": ("E522", 3, "no entity"),
    "component: A\nrequires: [B]\n---\ncomponent: B\nowner: none\nfields: {x: f32}": (
        *("E522", 2),
        "'owner: none'",
    ),
    "component: A\nrequires: [Body]\n---\nworld: W\narchetypes: {components: [A]}": (
        *("E522", 2),
        "'A' lives in archetypes, and 'Body' has a manager",
    ),
    "component: A\nrequires: [Body]\n---\nworld: W\narchetypes: {components: [Body]}": (
        *("E522", 2),
        "'Body' lives in archetypes, and 'A' has a manager",
    ),
    "component: A\nrequires: [Bodi]": ("E501", 2, "'Bodi'"),
    "component: A\nrequires: [Body, Body]": ("E509", 2, "twice"),
    "component: A\nrequires: Body": ("E304", 2, "a list"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(text: str) -> None:
    code, line, words = WRONG[text]
    _, diagnostics = checked(text + BODY)
    (entry,) = diagnostics
    assert (entry.code, entry.mark.line) == (code, line)
    assert words in entry.message


def test_random_entities(package: Any) -> None:
    """Spawned in bulk, created one by one, added to: the same, as a naive closure has it."""
    g, rng = package, np.random.default_rng(5)
    requires = {"Health": ["Transform"], "Unit": ["Health"], "Leaf": ["Unit"], "Tree": ["Leaf"]}
    for _ in range(40):
        kinds = [n for n in ("Transform", *requires) if rng.random() < 0.4]
        expected = [*kinds]
        for name in expected:
            expected += [n for n in requires.get(name, ()) if n not in expected]
        w = g.World()
        es = [w.spawn(2, **{name.lower(): {} for name in kinds})[1]]
        es.append(w.create(*(getattr(g, name)() for name in kinds)))
        es.append(w.create())
        for name in rng.permutation(kinds):
            if not w._holder(getattr(g, name)).has(es[-1]):
                w[es[-1]].add(getattr(g, name)())
        assert [names(w, e) for e in es] == [{*expected}] * 3


SHARDED = """\
world: Isles
shards: {}
---
component: Place
fields: {at: {type: f32, default: 3}}
---
component: Ship
requires: [Place]
fields: {sails: {type: u8, default: 2}}
---
component: Port
fields: {k: i32}
kernels: {grow: {steps: [k += 1]}}
"""


def test_shards() -> None:
    """Require components where an entity is made; an arrival keeps those that it had."""
    package = world_package(SHARDED, "requires_shards")
    here, there = package.Isles(0), package.Isles(1)
    sailing, bare = here.spawn(2, ship={"sails": [4, 5]})
    here[int(sailing)].place.at = 7
    here[int(bare)].remove(package.Place)
    there.absorb(here.extract([sailing, bare]))
    assert (there[int(sailing)].place.at, there[int(sailing)].ship.sails) == (7, 4)
    assert there.components(int(bare)) == (package.Ship,)  # it lost its place, and gets none here
    assert len(here.ship) == len(here.place) == 0
    port = there[there.create(package.Port())]
    port.add(package.Ship())
    assert (port.place.at, port.ship.sails, len(there.place)) == (3, 2, 2)
