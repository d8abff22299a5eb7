"""Rules of a state machine for managers, groups and queries of a whole world."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.models.world_model import (
    BUNDLES,
    GROUP,
    IN_MANAGERS,
    LISTS,
    NAMES,
    NIL,
    QUERIES,
    Model,
    columns,
    package,
    queried,
)

MOST = 30
"""No rule creates entities beyond these."""

few = st.integers(0, 5)
number = st.integers(-1_000_000, 1_000_000)
some_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES))


class ManagerRules(RuleBasedStateMachine):
    """Rules that change a world and a dict alike."""

    @initialize(n=st.integers(0, 12), names=some_names, value=number)
    def begin(self, n: int, names: list[str], value: int) -> None:
        self.world = package().Everything()
        self.model: Model = {}
        self.dead: list[int] = []
        self.spawn(n, names, value)

    def spawn(self, n: int, names: list[str], value: int) -> None:
        xs = [value - k if value > 0 else value for k in range(n)]
        es = self.world.spawn(n, **{name: columns(name, xs) for name in names})
        for e, x in zip(es.tolist(), xs, strict=True):
            self.model[e] = {name: [x] for name in names}

    def draw(self, data: st.DataObject, most: int = 8) -> list[int]:
        known = st.sampled_from(sorted(self.model))
        return data.draw(st.lists(known, unique=True, max_size=most))

    @rule(n=few, names=some_names, value=number)
    def spawn_some(self, n: int, names: list[str], value: int) -> None:
        if len(self.model) + n <= MOST:
            self.spawn(n, names, value)

    @rule(bundle=st.sampled_from(sorted(BUNDLES)), data=st.data(), value=number)
    def spawn_bundle(self, bundle: str, data: st.DataObject, value: int) -> None:
        if len(self.model) <= MOST:
            component = data.draw(st.sampled_from(sorted(BUNDLES[bundle])))
            spawn = getattr(self.world, f"spawn_{bundle}")
            (e,) = spawn(1, **{component: columns(component, [value])}).tolist()
            values = {**BUNDLES[bundle], component: value}
            self.model[e] = {name: [value] for name, value in values.items()}

    @rule(names=some_names, failing=st.sampled_from(["worker", "armor"]))
    def fail_to_spawn(self, names: list[str], failing: str) -> None:
        values: dict[str, Any] = {name: {} for name in names}
        with pytest.raises(TypeError):
            self.world.spawn(3, **values | {failing: {"x": "much"}})
        with pytest.raises(MemoryError):
            self.world.spawn(129, **values)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(IN_MANAGERS), value=number)
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
    @rule(data=st.data(), name=st.sampled_from(IN_MANAGERS), value=number)
    def create_many(self, data: st.DataObject, name: str, value: int) -> None:
        es = self.draw(data)
        without = [e for e in es if name not in self.model[e]]
        es = [*es, *es[:2]] if name in LISTS else without
        rows = getattr(self.world, name).create_many(es, x=value)
        assert getattr(self.world, name).data.entity[rows].tolist() == es
        for e in es:
            self.model[e].setdefault(name, []).append(value)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(IN_MANAGERS))
    def remove(self, data: st.DataObject, name: str) -> None:
        es = self.draw(data)
        manager = getattr(self.world, name)
        gone = manager.remove(es[0]) if len(es) == 1 else manager.remove_many(es)
        assert gone == sum(len(self.model[e].pop(name, ())) for e in es)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=st.sampled_from(IN_MANAGERS), value=number)
    def set_value(self, data: st.DataObject, name: str, value: int) -> None:
        e = data.draw(st.sampled_from(sorted(self.model)))
        manager = getattr(self.world, name)
        row = manager.lookup(e)
        if row != NIL:
            manager.set_x(row, value)
            self.model[e][name][0] = value

    @rule(name=st.sampled_from(["crowd", "dice", "mesh", "node", "worker"]))
    def sort_a_manager(self, name: str) -> None:
        getattr(self.world, name).sort("x")

    @rule(name=st.sampled_from(["crowd", "dice", "mesh", "node"]), random=st.randoms())
    def shuffle_a_manager(self, name: str, random: Random) -> None:
        manager = getattr(self.world, name)
        manager.reorder(random.sample(range(len(manager)), len(manager)))

    @rule(query=st.sampled_from(sorted(QUERIES)), value=st.integers(-5, 5))
    def write_through_a_query(self, query: str, value: int) -> None:
        clauses = QUERIES[query]
        for name in (*clauses.get("all", ()), *clauses.get("optional", ())):
            cells = getattr(getattr(self.world, query), name)
            cells.x = np.minimum(cells.x, 1000) + value
            for e in queried(self.model, query):
                if name in self.model[e]:
                    self.model[e][name][0] = min(self.model[e][name][0], 1000) + value

    @rule(name=st.sampled_from(GROUP))
    def write_through_the_group(self, name: str) -> None:
        cells = getattr(self.world.pair, name)
        cells.x = np.maximum(cells.x, -3)
        for has in self.model.values():
            if has.keys() >= set(GROUP):
                has[name][0] = max(has[name][0], -3)

    @rule(name=st.sampled_from(GROUP))
    def sort_the_group(self, name: str) -> None:
        self.world.pair.sort(name, "x")
        column = getattr(self.world.pair, name).x.tolist()
        assert column == sorted(column)
