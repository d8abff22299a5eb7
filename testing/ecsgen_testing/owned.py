"""Rows belong to entities, which find theirs by index, as their index or by a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest
from ecsgen_runtime.base.errors import (
    CapacityError,
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
    StaleInstanceError,
    StructureLockedError,
)
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases
from .state_machine import MANY_ROWS, ManagerStateMachine, Record
from .subject import Field, handles_with, refuses


class OwnedRules(ManagerStateMachine):
    """Entities are created, get instances, and are destroyed."""

    def __init__(self) -> None:
        # Indices are reused at once, so that handles of dead entities meet new ones.
        self.reuse = ExitStack()
        self.entities = self.subject.entities()
        self.reuse.enter_context(handles_with(self.entities, MIN_FREE=0))
        self.lists: dict[int, list[Record]] = {}  # by entity, in order of creation
        self.alive: list[int] = []
        self.dead: list[int] = []
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.reuse.close()

    def made(self) -> Any:
        return self.subject.made(self.entities)

    def copied(self, copied: Callable[[Any], Any]) -> Any:
        manager, self.entities = copied((self.manager, self.entities))
        return manager

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        """Return the rows that go because these entities have their owners' indices."""
        return []

    def died(self, chosen: Sequence[int]) -> None:
        """Do what the death of entities does to their rows: nothing, for now."""

    def creatable(self) -> list[int]:
        return self.alive

    def new_owners(self, count: int) -> list[int]:
        try:
            born: list[int] = self.entities.create_many(count).tolist()
        except CapacityError:
            return []
        self.alive += born
        return born

    def displaced(self, records: Sequence[Record]) -> Sequence[int]:
        return self.evicted([record.owner for record in records])

    def join(self, records: list[Record]) -> list[int]:
        rows = super().join(records)
        for record in records:
            self.lists.setdefault(record.owner, []).append(record)
        return rows

    def leaving(self, rows: list[int]) -> None:
        super().leaving(rows)
        for row in rows:
            record = self.at(row)
            self.lists[record.owner].remove(record)
            if not self.lists[record.owner]:
                del self.lists[record.owner]

    def rows_of(self, entity: int) -> list[int]:
        """Return an entity's rows, in order of creation."""
        wanted = self.lists.get(entity, [])
        return [self.table.index(record) for record in wanted]

    @rule(count=st.integers(0, 6))
    def entities_are_born(self, count: int) -> None:
        self.new_owners(count)

    @rule(data=st.data())
    def entities_die(self, data: st.DataObject) -> None:
        chosen = data.draw(self.some(self.alive))
        if len(chosen) == 1:
            self.entities.destroy(chosen[0])
        else:
            self.entities.destroy_many(chosen)
        self.move_to_dead(chosen)

    @precondition(lambda self: any(entity in self.lists for entity in self.alive))
    @rule(data=st.data(), at_once=st.booleans())
    def successors_come(self, data: st.DataObject, at_once: bool) -> None:
        """Destroy owners, and give instances to all or some of their successors."""
        owners = [entity for entity in self.alive if entity in self.lists]
        chosen = data.draw(self.some(owners))
        self.entities.destroy_many(chosen)
        self.move_to_dead(chosen)
        successors = self.new_owners(len(chosen))
        lucky = successors[: data.draw(st.integers(0, len(successors)))]
        samples = [self.subject.sample(k) for k in range(len(lucky))]
        if at_once:
            self.all_arrive(lucky, samples)
            return
        for owner, values in zip(lucky, samples, strict=True):
            self.one_arrives(owner, values)

    def move_to_dead(self, chosen: Sequence[int]) -> None:
        """Count entities as dead."""
        self.alive = [entity for entity in self.alive if entity not in chosen]
        self.dead += chosen
        self.died(chosen)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def ensure(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        values = data.draw(self.subject.some_values)
        ensure = self.manager.ensure
        rows = self.rows_of(entity)
        if rows:
            assert ensure(entity, **values) == rows[0]
        else:
            self.arrive([entity], [values], lambda: [ensure(entity, **values)])

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from([*self.alive, *self.lists, 0, 2**64]))
        assert self.manager.remove(entity) == self.leave(self.rows_of(entity))

    @rule(data=st.data())
    def remove_many(self, data: st.DataObject) -> None:
        chosen = data.draw(self.some([*self.alive, *self.lists, 0], unique=False))
        rows = [row for entity in set(chosen) for row in self.rows_of(entity)]
        assert self.manager.remove_many(chosen) == self.leave(rows)

    @precondition(lambda self: self.dead)
    @rule(data=st.data())
    def dead_entities_are_refused(self, data: st.DataObject) -> None:
        m, entity = self.manager, data.draw(st.sampled_from(self.dead))
        for call in (m.create, m.ensure, lambda e: m.create_many([*self.alive, e])):
            refuses(StaleEntityError, call, entity)

    @invariant()
    def owners_agree(self) -> None:
        owners = [record.owner if record else 0 for record in self.table]
        assert self.manager.data.entity.tolist() == owners

    @invariant()
    def lookups_agree(self) -> None:
        m = self.manager
        where = {id(record): row for row, record in enumerate(self.table)}
        firsts = {entity: where[id(records[0])] for entity, records in self.lists.items()}
        known = [*self.alive, *self.lists, *self.dead[-20:], 0, 1, 2**64 - 1]
        expected = [firsts.get(entity, NIL) for entity in known]
        assert [m.lookup(entity) for entity in known] == expected
        assert m.lookup_many(known).tolist() == expected
        has = [row != NIL for row in expected]
        assert [m.has(entity) for entity in known] == has
        assert [entity in m for entity in known] == has
        assert m.has_many(known).tolist() == has
        assert m.require_many(list(firsts)).tolist() == list(firsts.values())
        for entity, row in zip(known[-5:], expected[-5:], strict=True):
            if row == NIL:
                refuses(MissingInstanceError, m.require, entity)
            else:
                assert m.require(entity) == row


class OwnedCases(Cases):
    """Entities and their rows."""

    def check_unused(self, m: Any, row: int) -> None:
        super().check_unused(m, row)
        refuses(StaleInstanceError, m.entity, row)

    def check_refused(
        self, source: EntityManagerBase, m: Any, field: Field, value: Any, error: type[Exception]
    ) -> None:
        super().check_refused(source, m, field, value, error)
        with pytest.raises(error, match=f"{self.subject.label}.{field.name}"):
            m.ensure(source.create(), **{field.name: value})

    def test_a_dead_entity_is_the_first_error(self) -> None:
        entities, m = self.new()
        alive, dead = self.owners(entities, 2).tolist()
        entities.destroy(dead)
        bad = {f.name: f.wrong()[0][0] for f in self.subject.fields if f.wrong()}
        with m.locked():
            refuses(StaleEntityError, m.create, dead, **bad)
            refuses(StaleEntityError, m.create_many, [alive, alive, dead], **bad)
            refuses(StaleEntityError, m.ensure, dead, **bad)
            if self.subject.fields:
                with pytest.raises(StaleEntityError):
                    m.create_many([alive, dead], {"no field": [1, 2]})


class IndexedRules(OwnedRules):
    """Rows of a dead entity go before another entity of its index gets new ones."""

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        index = self.entities.index
        successors = {index(entity): entity for entity in chosen}
        former = [e for e in self.lists if successors.get(index(e), e) != e]
        return sorted(row for entity in former for row in self.rows_of(entity))


class SparseRules(IndexedRules):
    """Nothing more than rows found by index."""


class OneRules(OwnedRules):
    """A second instance is refused."""

    def creatable(self) -> list[int]:
        return [entity for entity in self.alive if entity not in self.lists]

    def choose_new(self, data: st.DataObject) -> list[int]:
        return data.draw(self.some(self.creatable()))

    @precondition(lambda self: any(entity in self.lists for entity in self.alive))
    @rule(data=st.data())
    def a_second_instance_is_refused(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from([e for e in self.alive if e in self.lists]))
        m, new = self.manager, self.creatable()[:1]
        refuses(DuplicateInstanceError, m.create, entity)
        for chosen in ([*new, entity], [entity] * 2, *([new * 2] if new else [])):
            refuses(DuplicateInstanceError, m.create_many, chosen)
        with m.locked():  # an earlier error
            refuses(StructureLockedError, m.create, entity)
            refuses(StructureLockedError, m.create_many, [entity])


class DirectRules(IndexedRules, OneRules):
    """Rows are where the entity's index says."""

    def append(self, records: list[Record]) -> list[int]:
        rows = [self.entities.index(record.owner) for record in records]
        self.table += [None] * (max(rows) + 1 - len(self.table))
        for row, record in zip(rows, records, strict=True):
            self.table[row] = record
        return rows

    def rows_needed(self, owners: Sequence[int]) -> int:
        return max(map(self.entities.index, owners), default=-1) + 1

    def close(self, rows: list[int]) -> None:
        for row in rows:
            self.table[row] = None
        while self.table and self.table[-1] is None:
            self.table.pop()

    @invariant()
    def holes_agree(self) -> None:
        present = [record is not None for record in self.table]
        assert self.manager.data.present.tolist() == present
        m, fields = self.manager, self.subject.fields
        calls = [m.row, m.destroy, m.entity, *(getattr(m, field.name) for field in fields)]
        calls += [m.id_of] if hasattr(m, "id_of") else []
        for row in [row for row, used in enumerate(present) if not used][:2]:
            for call in calls:
                refuses(StaleInstanceError, call, row)
            for field in fields:
                refuses(StaleInstanceError, getattr(m, f"set_{field.name}"), row, field.sample(0))
            refuses(StaleInstanceError, m.destroy_many, [row])


class ManyRules(OwnedRules):
    """Lists hold all rows of an entity."""

    @precondition(lambda self: self.alive and len(self.table) < MANY_ROWS)
    @rule(data=st.data(), count=st.integers(60, 70))
    def one_entity_gets_many(self, data: st.DataObject, count: int) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        rows = [self.subject.sample(k) for k in range(count)]
        self.all_arrive([entity] * count, rows)

    @invariant()
    def lists_agree(self) -> None:
        where = {id(record): row for row, record in enumerate(self.table)}
        known = [*self.alive, *self.lists, 0]
        lists = [[where[id(record)] for record in self.lists.get(e, [])] for e in known]
        for entity, rows in zip(known, lists, strict=True):
            check_list(self.manager, entity, rows)
        assert self.manager.count_many(known).tolist() == list(map(len, lists))


def check_list(m: Any, entity: int, rows: list[int]) -> None:
    """Check an entity's rows, forwards and backwards."""
    assert list(m.instances(entity)) == rows
    assert m.count(entity) == len(rows)
    assert m.count_many([entity, entity]).tolist() == [len(rows)] * 2
    assert m.first(entity) == m.lookup(entity) == (*rows, NIL)[0]
    for before, after in pairwise([NIL, *rows, NIL]):
        assert before == NIL or m.next(before) == after
        assert after == NIL or m.previous(after) == before
