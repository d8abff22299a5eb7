"""Groups as a state machine: whatever happens to members, their rows stay aligned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ..runtime import handles_with
from ..searching import SEARCH
from ..subject import same
from .group import COPIES, MANY, Group

SETTINGS = settings(SEARCH, stateful_step_count=40)


class Rules(Group, RuleBasedStateMachine):
    """Entities and rows come and go; who has all members is in the group."""

    def __init__(self) -> None:
        super().__init__()
        self.w = self.world()
        self.k = 0
        self.rows: dict[str, dict[int, int]] = {module: {} for module in self.members}
        """By member and entity: which sample its row is."""

    @initialize()
    def begin(self) -> None:
        self.spawned(3, list(self.members))
        for module in self.members:
            self.spawned(2, [module])

    def room(self, modules: Iterable[str]) -> int:
        """Return how many rows can be added at once."""
        return min(
            [MANY, *(self.members[module].most_rows or MANY for module in modules)]
        )

    def spawned(self, count: int, modules: list[str]) -> None:
        count = min(count, self.room(modules))
        rows = (len(manager) for manager in self.managers(self.w))
        if max(len(self.w.entities), *rows) + count > MANY:
            return
        with handles_with(self.w.entities, MIN_FREE=0):  # the dead have successors
            es = self.spawn(self.w, range(self.k, self.k + count), modules)
        self.know(modules, es.tolist())

    def know(self, modules: list[str], es: list[int]) -> None:
        """Tell the model of new rows, and which rows of the dead they drove out."""
        for module in modules:
            ks = range(self.k, self.k + len(es))
            self.rows[module] |= dict(zip(es, ks, strict=True))
        self.k += len(es)
        self.forget_collected()

    def forget_collected(self) -> None:
        """Forget the rows of dead entities, and those that made way, that are there no more."""
        for module, rows in self.rows.items():
            held = set(getattr(self.w, module))
            by_age, gone = list(rows), [e for e in rows if e not in held]
            made_way = [e for e in gone if self.w.entities.alive(e)]
            if made_way:
                assert len(held) == self.members[module].most_rows
                assert held.isdisjoint(by_age[: by_age.index(made_way[-1])])
            for e in gone:
                del rows[e]

    def drop(self, module: str, es: list[int]) -> None:
        for e in es:
            del self.rows[module][e]

    def lacking(self, module: str) -> list[int]:
        """Return live entities without a member, no more than there is room for."""
        room = min(MANY - len(getattr(self.w, module)), self.room([module]))
        return [e for e in self.w.entities if e not in self.rows[module]][:room]

    def some(self, data: st.DataObject, values: list[int]) -> list[int]:
        return (
            data.draw(st.lists(st.sampled_from(values), unique=True)) if values else []
        )

    def member(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.members)))

    @rule(count=st.integers(0, 6), data=st.data())
    def spawn_some(self, count: int, data: st.DataObject) -> None:
        modules = st.lists(st.sampled_from(sorted(self.members)), unique=True)
        self.spawned(count, data.draw(modules))

    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        module = self.member(data)
        for e in self.some(data, self.lacking(module))[:2]:
            manager, sample = getattr(self.w, module), self.samples(module, [self.k])
            row = manager.create(e, **{name: v[0] for name, v in sample.items()})
            assert row == manager.lookup(e)
            self.know([module], [e])

    @rule(data=st.data())
    def create_many(self, data: st.DataObject) -> None:
        module = self.member(data)
        es = self.some(data, self.lacking(module))
        manager = getattr(self.w, module)
        ks = range(self.k, self.k + len(es))
        rows = manager.create_many(es, **self.samples(module, ks))
        assert rows.tolist() == manager.lookup_many(es).tolist()
        self.know([module], es)

    @rule(data=st.data(), by_entity=st.booleans())
    def destroy(self, data: st.DataObject, by_entity: bool) -> None:
        module = self.member(data)
        manager = getattr(self.w, module)
        for e in self.some(data, list(manager))[:2]:
            if by_entity:
                assert manager.remove(e) == 1
            else:
                manager.destroy(manager.lookup(e))
            self.drop(module, [e])

    @rule(data=st.data(), by_entity=st.booleans())
    def destroy_many(self, data: st.DataObject, by_entity: bool) -> None:
        module = self.member(data)
        manager = getattr(self.w, module)
        es = self.some(data, list(manager))
        if by_entity:
            assert manager.remove_many(es) == len(es)
        else:
            manager.destroy_many(manager.lookup_many(es))
        self.drop(module, es)

    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.w.destroy_many(self.some(data, list(self.w.entities)))
        self.forget_collected()

    @rule(call=st.sampled_from(["gc", "collect"]))
    def collect(self, call: str) -> None:
        getattr(self.w, call)()
        self.forget_collected()

    @rule(data=st.data())
    def order(self, data: st.DataObject) -> None:
        group = self.grouped(self.w)
        key = data.draw(st.lists(st.integers(0, 2), min_size=group.n, max_size=group.n))
        expected = group.entity[np.argsort(key, kind="stable")].tolist()
        group.sort(self.member(data), key)
        assert group.entity.tolist() == expected

    @rule(copied=st.sampled_from(COPIES))
    def copy(self, copied: Callable[[Any], Any]) -> None:
        self.w = copied(self.w)

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        for module, subject in self.members.items():
            manager, rows = getattr(self.w, module), self.rows[module]
            owners = list(manager)
            assert set(owners) == set(rows)
            assert manager.lookup_many(owners).tolist() == list(range(len(owners)))
            for field in subject.fields:
                expected = [field.stored(field.sample(rows[e])) for e in owners]
                assert same(subject.column(manager, field), expected)

    @invariant()
    def members_are_aligned(self) -> None:
        self.check_aligned(self.w)
