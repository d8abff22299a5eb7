"""Archetypes do what a dict of dicts does, whatever happens in whatever order."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.archetypes_package import COMPONENTS, DEFAULTS, Entities, check, game
from tests.support.loaded_worlds import through_bytes
from tests.support.soak import examples

MODES = st.sampled_from(list(game.Mode))
FLOATS = st.floats(-1e6, 1e6, width=32)
VALUES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "health": st.fixed_dictionaries(
        {}, optional={"hp": FLOATS, "limit": st.integers(-(2**15), 2**15 - 1)}
    ),
    "armor": st.fixed_dictionaries({}, optional={"points": st.integers(0, 2**16 - 1)}),
    "marked": st.just({}),
    "body": st.fixed_dictionaries(
        {},
        optional={
            "position": st.tuples(FLOATS, FLOATS, FLOATS),
            "velocity": st.tuples(FLOATS, FLOATS),
            "name": st.text("abcd", max_size=6),
            "mode": MODES,
            "modes": st.tuples(MODES, MODES),
            "thing": st.sampled_from([None, "thing", 5, (1, 2)]),
        },
    ),
}
MODULES = st.sampled_from(sorted(COMPONENTS))
SETS = st.sets(MODULES)
REFUSED = (TypeError, ValueError, OverflowError)
BAD: dict[str, dict[str, Any]] = {
    "health": {"limit": 1.5},
    "armor": {"points": -1},
    "marked": {"x": 1},
    "body": {"name": 3},
}


def columns(values: list[dict[str, Any]], module: str) -> dict[str, Any]:
    """Rows as columns: those fields that all rows have."""
    fields = set.intersection(*map(set, values)) if values else set()
    return {name: [row[name] for row in values] for name in fields}


def filled(module: str, values: dict[str, Any]) -> Any:
    return DEFAULTS[module]._replace(**values)


def pickled(world: Any) -> Any:
    return pickle.loads(pickle.dumps(world))


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.w = game.Game()
        self.entities: Entities = {}
        self.dead: list[int] = []
        self.version = 0

    # --- choosing ------------------------------------------------------------------------

    def pick(self, data: st.DataObject, module: str | None = None, has: bool = True) -> int | None:
        found = [e for e, rows in self.entities.items() if not module or (module in rows) == has]
        return data.draw(st.sampled_from(found)) if found else None

    def pick_many(self, data: st.DataObject, module: str, has: bool) -> list[int]:
        found = [e for e, rows in self.entities.items() if (module in rows) == has]
        if not found:
            return []
        if data.draw(st.booleans()):
            return found if data.draw(st.booleans()) else found[::-1]
        return data.draw(st.lists(st.sampled_from(found), unique=True))

    def rows(self, data: Any, module: str, count: int) -> dict[str, Any]:
        rows = st.lists(VALUES[module], min_size=count, max_size=count)
        values: list[dict[str, Any]] = data.draw(rows)
        if count and data.draw(st.booleans()):
            return values[0]  # one for all
        return columns(values, module)

    def learn(self, es: list[int], module: str, given: dict[str, Any]) -> None:
        for k, e in enumerate(es):
            row = {n: v[k] if isinstance(v, list) else v for n, v in given.items()}
            self.entities[e][module] = filled(module, row)

    # --- creating --------------------------------------------------------------------------

    @rule(data=st.data(), modules=SETS, n=st.sampled_from([0, 1, 2, 3, 25]), spawned=st.booleans())
    def create(self, data: st.DataObject, modules: set[str], n: int, spawned: bool) -> None:
        given = {module: self.rows(data, module, n) for module in sorted(modules)}
        if spawned:
            es = self.w.spawn(n, plain={}, mesh={}, **given).tolist()
            assert self.w.plain.has_many(es).all()
        else:
            names = [COMPONENTS[m] for m in data.draw(st.permutations(sorted(modules)))]
            named: bool = data.draw(st.booleans())
            shown = {m: fields for m, fields in given.items() if fields or named}
            es = self.w.archetypes.create(names, n, **shown).tolist()
        self.entities |= {e: {} for e in es}
        for module, fields in given.items():
            self.learn(es, module, fields)
        self.version += bool(es and modules)

    @rule(data=st.data(), module=MODULES)
    def failing_creations(self, data: st.DataObject, module: str) -> None:
        before = len(self.w.entities)
        others: dict[str, Any] = {other: {} for other in COMPONENTS}
        others[module] = BAD[module]
        with pytest.raises(REFUSED):
            self.w.spawn(2, plain={}, **others)
        with pytest.raises(REFUSED):
            self.w.archetypes.create(COMPONENTS.values(), 2, **{module: BAD[module]})
        assert len(self.w.entities) == before

    # --- one -------------------------------------------------------------------------------

    @rule(data=st.data(), module=MODULES)
    def add(self, data: st.DataObject, module: str) -> None:
        e = self.pick(data, module, has=False)
        if e is not None:
            values = data.draw(VALUES[module])
            self.w.archetypes.add(e, COMPONENTS[module], **values)
            self.entities[e][module] = filled(module, values)
            self.version += 1

    @rule(data=st.data(), module=MODULES)
    def remove(self, data: st.DataObject, module: str) -> None:
        e = self.pick(data, module)
        if e is not None:
            self.w.archetypes.remove(e, COMPONENTS[module])
            del self.entities[e][module]
            self.version += 1

    @rule(data=st.data(), module=MODULES)
    def set(self, data: st.DataObject, module: str) -> None:
        e = self.pick(data, module)
        if e is not None:
            values = data.draw(VALUES[module])
            self.w.archetypes.set(e, COMPONENTS[module], **values)
            self.entities[e][module] = self.entities[e][module]._replace(**values)

    # --- many ------------------------------------------------------------------------------

    @rule(data=st.data(), module=MODULES)
    def add_many(self, data: st.DataObject, module: str) -> None:
        es = self.pick_many(data, module, has=False)
        given = self.rows(data, module, len(es))
        self.w.archetypes.add_many(np.array(es, np.uint64), COMPONENTS[module], **given)
        self.learn(es, module, given)
        self.version += bool(es)

    @rule(data=st.data(), module=MODULES)
    def remove_many(self, data: st.DataObject, module: str) -> None:
        es = self.pick_many(data, module, has=True)
        self.w.archetypes.remove_many(es, COMPONENTS[module])
        for e in es:
            del self.entities[e][module]
        self.version += bool(es)

    @rule()
    def whole_columns(self) -> None:
        for chunk in self.w.archetypes.chunks(all=[game.Health]):
            chunk.health.hp *= 0.5
            chunk.health.limit = 7
        for rows in self.entities.values():
            if "health" in rows:
                half = float(np.float32(rows["health"].hp) * np.float32(0.5))
                rows["health"] = game.Health(half, 7)

    @rule()
    def clear(self) -> None:
        self.version += any(self.entities.values())
        self.w.archetypes.clear()
        self.w.archetypes.shrink_to_fit()
        assert self.w.archetypes._table.pool.nbytes == 0
        self.entities = {e: {} for e in self.entities}

    # --- death -----------------------------------------------------------------------------

    def bury(self, es: list[int]) -> None:
        self.version += any(self.entities[e] for e in es)
        for e in es:
            del self.entities[e]
        self.dead += es

    @rule(data=st.data())
    def destroy(self, data: st.DataObject) -> None:
        e = self.pick(data)
        if e is not None:
            (self.w if e % 2 else self.w.entities).destroy(e)
            self.bury([e])

    @precondition(lambda self: self.entities)
    @rule(data=st.data(), most=st.booleans())
    def destroy_many(self, data: st.DataObject, most: bool) -> None:
        es = data.draw(st.lists(st.sampled_from(list(self.entities)), unique=True))
        if most:
            es = [e for e in self.entities if e not in es]
        self.w.destroy_many(es)
        self.bury(es)

    @rule()
    def collect(self) -> None:
        self.w.gc()
        self.w.collect()

    # --- memory ----------------------------------------------------------------------------

    @rule(copied=st.sampled_from([deepcopy, pickled, through_bytes]))
    def copy(self, copied: Callable[[Any], Any]) -> None:
        before = [chunk.entity.tolist() for chunk in self.w.archetypes.chunks()]
        self.w = copied(self.w)
        assert [chunk.entity.tolist() for chunk in self.w.archetypes.chunks()] == before

    # --- what is refused -------------------------------------------------------------------

    @rule(data=st.data(), module=MODULES)
    def refused(self, data: st.DataObject, module: str) -> None:
        store, row = self.w.archetypes, COMPONENTS[module]
        for e in self.dead[-1:]:
            for call in (store.add, store.remove, store.get, store.set):
                with pytest.raises(game.StaleEntityError):
                    call(e, row)
            assert not store.has(e, row)
            alive = list(self.entities)[:2]
            for call in (store.add_many, store.remove_many):
                with pytest.raises(game.StaleEntityError):
                    call([*alive, e], row)
        absent, present = self.pick(data, module, has=False), self.pick(data, module)
        if absent is not None:
            for call in (store.remove, store.get, store.set):
                with pytest.raises(game.MissingInstanceError):
                    call(absent, row)
            with pytest.raises(game.DuplicateInstanceError):
                store.add_many([absent, absent], row, **BAD[module])
            with pytest.raises(REFUSED):
                store.add(absent, row, **BAD[module])
            with pytest.raises(REFUSED):
                store.add_many([absent], row, **BAD[module])
        if present is not None:
            with pytest.raises(game.DuplicateInstanceError):
                store.add(present, row, **BAD[module])
            with pytest.raises(game.DuplicateInstanceError):
                store.add_many([present], row, **BAD[module])
            with pytest.raises(game.MissingInstanceError):
                store.remove_many([present, present], row)
            with pytest.raises(REFUSED):
                store.set(present, row, **BAD[module])

    @rule(module=MODULES)
    def locked(self, module: str) -> None:
        store, row = self.w.archetypes, COMPONENTS[module]
        es = list(self.entities)[:2]
        with store.locked():
            calls: list[Any] = [
                partial(call, e, row) for e in es for call in (store.add, store.remove)
            ]
            calls += [partial(self.w.destroy, e) for e in es]
            calls += [partial(call, es, row) for call in (store.add_many, store.remove_many)]
            calls += [partial(store.create, [row]), partial(self.w.spawn, 1, **{module: {}})]
            for call in [*calls, store.clear, store.shrink_to_fit]:
                with pytest.raises(game.StructureLockedError):
                    call()

    # --- what must hold --------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        check(self.w, self.entities)
        assert self.w.archetypes.version == self.version
        empty = [e for e, rows in self.entities.items() if not rows and not self.w.plain.has(e)]
        assert self.w.empty_entities().tolist() == sorted(empty, key=self.w.entities.index)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(40), stateful_step_count=20, deadline=None)
