"""Groups: the rows of entities that have all members, aligned in each, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np
from ecsgen_runtime.base.handles import EntityArray
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .state_machine import SEARCH
from .subject import COPIES, Subject, WorldTests, check_objects, handles_with, same, skipped_if_full

MANY = 60
"""No rule adds entities or rows beyond these."""


SETTINGS = settings(SEARCH, stateful_step_count=40)


class GroupRules(WorldTests, RuleBasedStateMachine):
    """Entities and rows come and go; entities with rows in all members are in the group."""

    kind: ClassVar[Any]
    """The group's class."""
    group: ClassVar[str]
    members: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        for subject in self.members.values():
            self.patches.enter_context(subject.filled())
        self.w = self.world()
        self.k = 0
        self.rows: dict[str, dict[int, int]] = {module: {} for module in self.members}
        """By member and entity: which sample its row is."""

    def teardown(self) -> None:
        self.patches.close()

    def grouped(self, w: Any) -> Any:
        group = getattr(w, self.group)
        assert type(group) is self.kind
        return group

    def managers(self, w: Any) -> list[Any]:
        return [getattr(w, module) for module in self.members]

    def samples(self, module: str, ks: Sequence[int]) -> dict[str, Any]:
        """Return columns whose row i is sample ks[i]."""
        fields = self.members[module].fields
        return {f.name: [f.sample(k) for k in ks] for f in fields}

    def spawn(self, w: Any, ks: Sequence[int], modules: Iterable[str]) -> EntityArray:
        """Spawn an entity for each k, with sample k of some members."""
        columns = {module: self.samples(module, ks) for module in modules}
        with skipped_if_full():
            es: EntityArray = w.spawn(len(ks), **columns)
        for module in self.members.keys() - columns.keys():
            if getattr(w, module).has_many(es).any():  # others require it
                getattr(w, module).remove_many(es)
        return es

    def check_aligned(self, w: Any) -> None:
        """Check that the first n rows of every member are those of the same entities."""
        group = self.grouped(w)
        owners = [list(manager) for manager in self.managers(w)]
        common = set.intersection(*map(set, owners))
        assert group.n == len(group) == len(common)
        for module, rows_of in zip(self.members, owners, strict=True):
            part = getattr(group, module)
            assert part.n == group.n
            assert rows_of[: group.n] == group.entity.tolist() == part.entity.tolist()
            check_objects(getattr(w, module).data)
        assert set(group.entity.tolist()) == common

    @initialize()
    def begin(self) -> None:
        self.spawned(3, list(self.members))
        for module in self.members:
            self.spawned(2, [module])

    def room(self, modules: Iterable[str]) -> int:
        """Return how many rows can be added at once."""
        bounds = (self.members[module].max_rows or MANY for module in modules)
        return min([MANY, *bounds])

    def spawned(self, count: int, modules: list[str]) -> None:
        count = min(count, self.room(modules))
        rows = (len(manager) for manager in self.managers(self.w))
        if max(len(self.w.entities), *rows) + count > MANY:
            return
        with handles_with(self.w.entities, MIN_FREE=0):  # the dead have successors
            es = self.spawn(self.w, range(self.k, self.k + count), modules)
        self.know(modules, es.tolist())

    def know(self, modules: list[str], es: list[int]) -> None:
        """Add new rows to the model, and remove those of dead entities that they evict."""
        for module in modules:
            ks = range(self.k, self.k + len(es))
            self.rows[module] |= dict(zip(es, ks, strict=True))
        self.k += len(es)
        self.forget_collected()

    def forget_collected(self) -> None:
        """Forget the rows of dead entities, and those that made way, that are there no more."""
        for module, rows in self.rows.items():
            held = set(getattr(self.w, module))
            by_age, removed = list(rows), [e for e in rows if e not in held]
            made_way = [e for e in removed if self.w.entities.alive(e)]
            if made_way:
                assert len(held) == self.members[module].max_rows
                assert held.isdisjoint(by_age[: by_age.index(made_way[-1])])
            for e in removed:
                del rows[e]

    def lacking(self, module: str) -> list[int]:
        """Return live entities without a member, no more than there is room for."""
        room = min(MANY - len(getattr(self.w, module)), self.room([module]))
        return [e for e in self.w.entities if e not in self.rows[module]][:room]

    def some(self, data: st.DataObject, values: list[int]) -> list[int]:
        choices = st.lists(st.sampled_from(values), unique=True)
        return data.draw(choices) if values else []

    def member(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.members)))

    @rule(count=st.integers(0, 6), data=st.data())
    def spawn_some(self, count: int, data: st.DataObject) -> None:
        modules = st.lists(st.sampled_from(sorted(self.members)), unique=True)
        self.spawned(count, data.draw(modules))

    @rule(data=st.data(), at_once=st.booleans())
    def create(self, data: st.DataObject, at_once: bool) -> None:
        module = self.member(data)
        manager, es = getattr(self.w, module), self.some(data, self.lacking(module))
        if at_once:
            ks = range(self.k, self.k + len(es))
            rows = manager.create_many(es, **self.samples(module, ks))
            assert rows.tolist() == manager.lookup_many(es).tolist()
            self.know([module], es)
        for e in () if at_once else es[:2]:
            row = manager.create(e, **self.members[module].sample(self.k))
            assert row == manager.lookup(e)
            self.know([module], [e])

    @rule(data=st.data(), by_entity=st.booleans(), in_group=st.booleans())
    def destroy(self, data: st.DataObject, by_entity: bool, in_group: bool) -> None:
        """Destroy a row of each member: drawn one by one they are too rarely of the group."""
        for module, rows in self.rows.items():
            manager, n = getattr(self.w, module), self.grouped(self.w).n
            owners = list(manager)[: n if in_group and n else None]
            if not owners:
                continue
            e = data.draw(st.sampled_from(owners))
            if by_entity:
                assert manager.remove(e) == 1
            else:
                manager.destroy(manager.lookup(e))
            del rows[e]
            self.check_aligned(self.w)

    @rule(data=st.data(), by_entity=st.booleans())
    def destroy_many(self, data: st.DataObject, by_entity: bool) -> None:
        module = self.member(data)
        manager = getattr(self.w, module)
        es = self.some(data, list(manager))
        if by_entity:
            assert manager.remove_many(es) == len(es)
        else:
            manager.destroy_many(manager.lookup_many(es))
        for e in es:
            del self.rows[module][e]

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

    @rule(data=st.data())
    def assign(self, data: st.DataObject) -> None:
        """Write columns of the group, and what they were again."""
        module = self.member(data)
        part, data_of_all = getattr(self.grouped(self.w), module), getattr(self.w, module).data
        for field in self.members[module].whole:
            before = getattr(part, field.name).copy()
            behind = getattr(data_of_all, field.name)[len(before) :].tolist()
            for cells in (before[::-1], before):
                setattr(part, field.name, cells)
                assert same(getattr(part, field.name).tolist(), cells.tolist())
                every = getattr(data_of_all, field.name).tolist()
                assert same(every, cells.tolist() + behind)

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
