"""A whole world against a dict: entity → component → the values of its instances.

Managers of many policies, archetypes, bundles, signatures, queries and a group see the same changes
in the same world. What is added to the world gets a check in `world_model.PARTS`.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.models.world_machine import MOST, ManagerRules, few, number
from tests.models.world_model import (
    IN_CHUNKS,
    IN_MANAGERS,
    PARTS,
    columns,
    fields,
    package,
    row_class,
)
from tests.support.soak import examples

in_chunks = st.sampled_from(IN_CHUNKS)
through_either = st.sampled_from([lambda w: w, lambda w: w.entities])


class WorldMachine(ManagerRules):
    """Rules for components in chunks, and for all kinds at once."""

    def split(self, es: list[int], name: str) -> tuple[list[int], list[int]]:
        """Return those that have a component, and those that have not."""
        having = [e for e in es if name in self.model[e]]
        return having, [e for e in es if name not in self.model[e]]

    @rule(n=few, data=st.data(), value=number)
    def create_in_chunks(self, n: int, data: st.DataObject, value: int) -> None:
        if len(self.model) + n > MOST:
            return
        names = data.draw(st.lists(in_chunks, unique=True))
        columns_given = {name: columns(name, [value] * n) for name in names}
        es = self.world.archetypes.create(map(row_class, names), n, **columns_given)
        self.model |= {e: {name: [value] for name in names} for e in es.tolist()}

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=in_chunks, value=number)
    def add(self, data: st.DataObject, name: str, value: int) -> None:
        e = data.draw(st.sampled_from(sorted(self.model)))
        add = partial(self.world.archetypes.add, e, row_class(name))
        if name in self.model[e]:
            with pytest.raises(package().DuplicateInstanceError):
                add(**fields(name, value))
        else:
            add(**fields(name, value))
            self.model[e][name] = [value]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=in_chunks, value=number)
    def add_many(self, data: st.DataObject, name: str, value: int) -> None:
        es = self.draw(data)
        having, without = self.split(es, name)
        add_many = self.world.archetypes.add_many
        if having:
            with pytest.raises(package().DuplicateInstanceError):
                add_many(es, row_class(name), x=value)
        xs = [value + k for k in range(len(without))]
        add_many(without, row_class(name), **columns(name, xs))
        for e, x in zip(without, xs, strict=True):
            self.model[e][name] = [x]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=in_chunks)
    def take_away(self, data: st.DataObject, name: str) -> None:
        es = self.draw(data)
        having, without = self.split(es, name)
        store, row = self.world.archetypes, row_class(name)
        for e in without[:1]:
            for call in (partial(store.remove, e), partial(store.remove_many, es)):
                with pytest.raises(package().MissingInstanceError):
                    call(row)
        if len(having) == 1:
            store.remove(having[0], row)
        else:
            store.remove_many(having, row)
        for e in having:
            del self.model[e][name]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), name=in_chunks, value=number)
    def set_in_chunks(self, data: st.DataObject, name: str, value: int) -> None:
        e = data.draw(st.sampled_from(sorted(self.model)))
        store, row = self.world.archetypes, row_class(name)
        if name in self.model[e]:
            store.set(e, row, **fields(name, value))
            self.model[e][name] = [value]
            return
        for call in (store.set, store.get):
            with pytest.raises(package().MissingInstanceError):
                call(e, row)

    @rule(value=st.integers(-5, 5))
    def write_chunks(self, value: int) -> None:
        for chunk in self.world.archetypes.chunks(all=[row_class("armor")]):
            chunk.armor.x = np.minimum(chunk.armor.x, 1000) + value
        for has in self.model.values():
            if "armor" in has:
                has["armor"] = [min(has["armor"][0], 1000) + value]

    @rule(name=in_chunks)
    def change_while_iterating(self, name: str) -> None:
        e = next((e for e, has in self.model.items() if name in has), None)
        if e is not None:
            chunks = self.world.archetypes.chunks(any=map(row_class, IN_CHUNKS))
            next(chunks)
            self.world.archetypes.remove(e, row_class(name))
            del self.model[e][name]
            with pytest.raises(RuntimeError, match="changed"):
                next(chunks)

    @rule()
    def clear_chunks(self) -> None:
        self.world.archetypes.clear()
        self.world.archetypes.shrink_to_fit()
        for has in self.model.values():
            for name in IN_CHUNKS:
                has.pop(name, None)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), through=through_either)
    def destroy(self, data: st.DataObject, through: Callable[[Any], Any]) -> None:
        es = self.draw(data)
        if len(es) == 1:
            through(self.world).destroy(es[0])
        else:
            through(self.world).destroy_many(es)
        self.dead += es
        for e in es:
            del self.model[e]

    @rule(method=st.sampled_from(["gc", "collect"]))
    def collect(self, method: str) -> None:
        getattr(self.world, method)()

    @rule(through=through_either)
    def refuse_the_dead(self, through: Callable[[Any], Any]) -> None:
        alive, store = list(self.model)[:2], self.world.archetypes
        for e in self.dead[-2:]:
            calls = [partial(through(self.world).destroy, e)]
            calls += [partial(through(self.world).destroy_many, [*alive, e])]
            calls += [partial(getattr(self.world, name).create, e) for name in IN_MANAGERS]
            for row in map(row_class, IN_CHUNKS):
                assert not store.has(e, row)
                calls += [partial(c, e, row) for c in (store.add, store.remove, store.get)]
                calls += [partial(c, [*alive, e], row) for c in (store.add_many, store.remove_many)]
            for call in calls:
                with pytest.raises(package().StaleEntityError):
                    call()

    @rule(holder=st.sampled_from(["archetypes", "mesh"]), through=through_either)
    def locked(self, holder: str, through: Callable[[Any], Any]) -> None:
        """Nothing goes while whoever has to let it go is locked; what has to do with others may."""
        es = list(self.model)[:3]
        concerned = IN_CHUNKS if holder == "archetypes" else ["mesh"]
        calls: list[Any] = [partial(through(self.world).destroy, e) for e in es]
        calls += [partial(through(self.world).destroy_many, es)] if es else []
        calls += [partial(self.world.spawn, 2, **{name: {}}) for name in concerned]
        calls += [partial(self.world.spawn_engine, 2)]
        with getattr(self.world, holder).locked():
            for call in calls:
                with pytest.raises(package().StructureLockedError):
                    call()
            if len(self.model) < MOST:
                self.spawn(1, ["grid", "dice", "place"], 5)

    @rule(deep=st.booleans())
    def save_and_continue(self, deep: bool) -> None:
        saved = self.world
        self.world = copy.deepcopy(saved) if deep else pickle.loads(pickle.dumps(saved))
        orders = [
            [chunk.entity.tolist() for chunk in world.archetypes.chunks()]
            for world in (saved, self.world)
        ]
        assert orders[0] == orders[1]
        assert saved.archetypes.version == self.world.archetypes.version
        assert saved.gc() == copy.deepcopy(self.world).gc()
        saved.destroy_many(saved.entities.live())

    @invariant()
    def agrees(self) -> None:
        for check in PARTS:
            check(self.world, self.model)


TestWorldMachine = WorldMachine.TestCase
TestWorldMachine.settings = settings(
    max_examples=examples(40), stateful_step_count=25, deadline=None
)
