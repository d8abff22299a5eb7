"""A whole world against a dict: entity → component → the values of its instances.

Managers of many policies, bundles, signatures, queries and a group see the same changes in the same
world. What is added to the world (`PARTS`) is checked after each step.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.world_package import world_package

NIL = 0xFFFF_FFFF
COMPONENTS = {
    "crowd": "instances: many\nlookup: hash\ndestroy: manual",
    "dice": "instances: many\nids: true",
    "grid": "lookup: direct",
    "mesh": "destroy: callback",
    "node": "hierarchy: {orphans: root}",
    "place": "release: true",
    "speed": "lookup: hash\nids: true",
    "worker": "partition: {start: inactive}",
}
NAMES = sorted(COMPONENTS)
LISTS = ("crowd", "dice")
GROUP = ("place", "speed")
BUNDLES = {"thing": ["grid", "mesh"], "mover": ["grid", "mesh", "place", "speed"]}
QUERIES: dict[str, dict[str, list[str]]] = {
    "both": {"all": ["place", "speed"]},
    "busy": {"all": ["worker"], "any": ["dice", "crowd"], "none": ["node"]},
    "placed": {"all": ["grid", "place"], "optional": ["dice", "mesh"]},
    "some": {"any": ["node", "dice"], "none": ["mesh"]},
    "thrown": {"all": ["dice", "crowd"], "optional": ["speed"]},
}


def schema() -> str:
    clauses = {
        query: ", ".join(
            f"{key}: [{', '.join(map(str.capitalize, names))}]" for key, names in clauses.items()
        )
        for query, clauses in QUERIES.items()
    }
    world = [
        "world: Everything",
        "entity: {index_bits: 7, generation_bits: 20, min_free: 4}",
        "bundles: {thing: [Grid, Mesh], mover: [thing, Place, Speed]}",
        f"groups: {{pair: [{', '.join(map(str.capitalize, GROUP))}]}}",
        "queries:",
        *(f"  {query}: {{{text}}}" for query, text in clauses.items()),
    ]
    documents = [
        f"component: {name.capitalize()}\nfields: {{x: {{type: i32, default: 7}}}}\n{policies}"
        for name, policies in COMPONENTS.items()
    ]
    return "\n---\n".join(["\n".join(world), *documents])


def package() -> Any:
    return world_package(schema(), "everything")


Model = dict[int, dict[str, list[int]]]
"""Of each live entity, the values of its instances, by component."""


def values(world: Any, name: str, e: int) -> list[int]:
    """The values of an entity's instances, in order of creation."""
    manager = getattr(world, name)
    if name in LISTS:
        return [manager.x(row) for row in manager.instances(e)]
    row = manager.lookup(e)
    return [] if row == NIL else [manager.x(row)]


def check_components(world: Any, model: Model) -> None:
    assert list(world.entities) == sorted(model, key=world.entities.index)
    for e, has in model.items():
        for name in NAMES:
            assert values(world, name, e) == has.get(name, []), name
        found = {row.__name__.lower() for row in world.components(e)}
        assert found == set(has)
    assert set(world.empty_entities().tolist()) == {e for e, has in model.items() if not has}


def check_signatures(world: Any, model: Model) -> None:
    flags = package().Signature
    for e, found in zip(model, world.signatures(list(model)).tolist(), strict=True):
        assert found == world.signature(e)
        assert found == sum(1 << NAMES.index(name) for name in model[e])
        for name, modules in BUNDLES.items():
            assert world.signature(e).all_of(flags[name.upper()]) == (set(modules) <= set(model[e]))


def matching(model: Model, query: str) -> list[int]:
    """The entities of a query, by the definition."""
    clauses = QUERIES[query]
    return [
        e
        for e, has in model.items()
        if has.keys() >= set(clauses.get("all", ()))
        and not has.keys() & set(clauses.get("none", ()))
        and ("any" not in clauses or has.keys() & set(clauses["any"]))
    ]


def check_queries(world: Any, model: Model) -> None:
    for query, clauses in QUERIES.items():
        rows = getattr(world, query).rows()
        assert sorted(rows.entity.tolist()) == sorted(matching(model, query))
        for name in (*clauses.get("all", ()), *clauses.get("optional", ())):
            manager = getattr(world, name)
            for e, row in zip(rows.entity.tolist(), getattr(rows, name).tolist(), strict=True):
                assert row == manager.lookup(e)
            column = getattr(getattr(world, query), name).x.tolist()
            wanted = [model[e].get(name, [7])[0] for e in rows.entity.tolist()]
            assert column == wanted


def check_group(world: Any, model: Model) -> None:
    owners = [getattr(world, name).data.entity[: world.pair.n].tolist() for name in GROUP]
    assert all(found == owners[0] for found in owners)
    alive = {e for e in owners[0] if e in model}
    assert alive == {e for e, has in model.items() if has.keys() >= set(GROUP)}
    for name in GROUP:
        column = getattr(world.pair, name).x.tolist()
        assert [x for e, x in zip(owners[0], column, strict=True) if e in model] == [
            model[e][name][0] for e in owners[0] if e in model
        ]


PARTS: tuple[Callable[[Any, Model], None], ...] = (
    check_components,
    check_signatures,
    check_queries,
    check_group,
)

few = st.integers(0, 5)
number = st.integers(-1_000_000, 1_000_000)
some_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES))


class WorldMachine(RuleBasedStateMachine):
    """The same changes to a world and to a dict."""

    @initialize(n=st.integers(0, 12), names=some_names, value=number)
    def begin(self, n: int, names: list[str], value: int) -> None:
        self.world = package().Everything()
        self.model: Model = {}
        self.spawn(n, names, value)

    def spawn(self, n: int, names: list[str], value: int) -> None:
        columns = {
            name: {"x": [value - k if value > 0 else value for k in range(n)]} for name in names
        }
        for k, e in enumerate(self.world.spawn(n, **columns).tolist()):
            self.model[e] = {name: [columns[name]["x"][k]] for name in names}

    def draw(self, data: st.DataObject, most: int = 8) -> list[int]:
        known = st.sampled_from(sorted(self.model))
        return data.draw(st.lists(known, unique=True, max_size=most))

    @rule(n=few, names=some_names, value=number)
    def spawn_some(self, n: int, names: list[str], value: int) -> None:
        if len(self.model) + n <= 30:
            self.spawn(n, names, value)

    @rule(bundle=st.sampled_from(sorted(BUNDLES)), value=number)
    def spawn_bundle(self, bundle: str, value: int) -> None:
        if len(self.model) <= 30:
            (e,) = getattr(self.world, f"spawn_{bundle}")(1, mesh={"x": value}).tolist()
            self.model[e] = {name: [7] for name in BUNDLES[bundle]} | {"mesh": [value]}

    @rule(names=some_names)
    def fail_to_spawn(self, names: list[str]) -> None:
        columns: dict[str, Any] = {name: {} for name in names}
        with pytest.raises(TypeError):
            self.world.spawn(3, **columns | {"worker": {"x": "much"}})
        with pytest.raises(MemoryError):
            self.world.spawn(129, **columns)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(NAMES), value=number)
    def create(self, data: st.DataObject, name: str, value: int) -> None:
        e = data.draw(st.sampled_from(sorted(self.model)))
        manager, has = getattr(self.world, name), self.model[e]
        if name in has and name not in LISTS:
            with pytest.raises(ValueError, match="already"):
                manager.create(e, x=value)
            assert manager.ensure(e, x=value) == manager.lookup(e)
        else:
            row = manager.create(e, x=value)
            assert manager.entity(row) == e
            has.setdefault(name, []).append(value)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(NAMES), value=number)
    def create_many(self, data: st.DataObject, name: str, value: int) -> None:
        es = self.draw(data)
        without = [e for e in es if name not in self.model[e]]
        es = [*es, *es[:2]] if name in LISTS else without
        rows = getattr(self.world, name).create_many(es, x=value)
        assert getattr(self.world, name).data.entity[rows].tolist() == es
        for e in es:
            self.model[e].setdefault(name, []).append(value)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def remove(self, data: st.DataObject, name: str) -> None:
        es = self.draw(data)
        manager = getattr(self.world, name)
        gone = manager.remove(es[0]) if len(es) == 1 else manager.remove_many(es)
        assert gone == sum(len(self.model[e].pop(name, ())) for e in es)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(NAMES), value=number)
    def set_value(self, data: st.DataObject, name: str, value: int) -> None:
        e = data.draw(st.sampled_from(sorted(self.model)))
        manager = getattr(self.world, name)
        row = manager.lookup(e)
        if row != NIL:
            manager.set_x(row, value)
            self.model[e][name][0] = value

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def destroy(self, data: st.DataObject) -> None:
        es = self.draw(data)
        if len(es) == 1:
            self.world.destroy(es[0])
        else:
            self.world.destroy_many(es)
        for e in es:
            del self.model[e]

    @rule(method=st.sampled_from(["gc", "collect"]))
    def collect(self, method: str) -> None:
        getattr(self.world, method)()

    @rule(query=st.sampled_from(sorted(QUERIES)), value=st.integers(-5, 5))
    def write_through_a_query(self, query: str, value: int) -> None:
        clauses = QUERIES[query]
        for name in (*clauses.get("all", ()), *clauses.get("optional", ())):
            columns = getattr(getattr(self.world, query), name)
            columns.x = np.minimum(columns.x, 1000) + value
            for e in matching(self.model, query):
                if name in self.model[e]:
                    self.model[e][name][0] = min(self.model[e][name][0], 1000) + value

    @rule(name=st.sampled_from(GROUP))
    def write_through_the_group(self, name: str) -> None:
        columns = getattr(self.world.pair, name)
        columns.x = np.maximum(columns.x, -3)
        for has in self.model.values():
            if has.keys() >= set(GROUP):
                has[name][0] = max(has[name][0], -3)

    @rule(name=st.sampled_from(GROUP))
    def sort_the_group(self, name: str) -> None:
        self.world.pair.sort(name, "x")
        column = getattr(self.world.pair, name).x.tolist()
        assert column == sorted(column)

    @rule(name=st.sampled_from(["crowd", "dice", "mesh", "node", "worker"]))
    def sort_a_manager(self, name: str) -> None:
        getattr(self.world, name).sort("x")

    @rule(deep=st.booleans())
    def save_and_continue(self, deep: bool) -> None:
        saved = self.world
        self.world = copy.deepcopy(saved) if deep else pickle.loads(pickle.dumps(saved))
        assert saved.gc() == copy.deepcopy(self.world).gc()
        saved.destroy_many(saved.entities.live())

    @invariant()
    def agrees(self) -> None:
        for check in PARTS:
            check(self.world, self.model)


TestWorldMachine = WorldMachine.TestCase
TestWorldMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
