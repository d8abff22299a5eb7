"""Rows belong to entities, which find theirs by index, as their index or by a map."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from ecsgen_runtime.base.errors import (
    CapacityError,
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
    StaleInstanceError,
    StructureLockedError,
)
from ecsgen_runtime.base.handles import NIL, NULL_ENTITY
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases
from .state_machine import MANY_ROWS, ManagerStateMachine, Record
from .subject import Field, Handle, create_or_skip, handles_with, need, recreate, refuses, same


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
        self.reuse.close()

    def made(self) -> Any:
        return self.subject.made(self.entities)

    def copied(self, copied: Callable[[Any], Any]) -> Any:
        manager, self.entities = copied((self.manager, self.entities))
        return manager

    def owner_of(self, row: int) -> int:
        return int(self.manager.entity(row))

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

    def create_one(self, owner: int, /, **values: Any) -> int:
        return int(self.manager.create(owner, **values))

    def create_all(self, owners: list[int], table: Any = None, /, **columns: Any) -> list[int]:
        if table is not None:
            table = {"entity": None, **table}  # as other tables have it
        rows: list[int] = self.manager.create_many(owners, table, **columns).tolist()
        return rows

    def found(self, records: list[Record], known: list[int]) -> list[int]:
        return known

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
    @rule(data=st.data())
    def successors_come(self, data: st.DataObject) -> None:
        """Destroy owners, and give instances to all or some of their successors."""
        owners = [entity for entity in self.alive if entity in self.lists]
        chosen = data.draw(self.some(owners))
        self.entities.destroy_many(chosen)
        self.move_to_dead(chosen)
        successors = self.new_owners(len(chosen))
        lucky = successors[: data.draw(st.integers(0, len(successors)))]
        self.all_arrive(lucky, [self.subject.sample(k) for k in range(len(lucky))])

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

    @precondition(lambda self: len(self.creatable()) > 1 and self.subject.fields)
    @rule(data=st.data())
    def bad_values_are_refused(self, data: st.DataObject) -> None:
        m, (first, second) = self.manager, self.creatable()[:2]
        for field, value, error in self.subject.wrong():
            refuses(error, m.create, first, **{field.name: value})
            columns = {field.name: [field.sample(0), value]}
            refuses(error, m.create_many, [first, second], **columns)

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

    collects: ClassVar[bool] = False
    """True if rows of dead entities wait until they are collected."""

    def new(self, room: int = 0) -> tuple[EntityManagerBase, Any]:
        need(self.subject, room)
        entities = self.subject.entities()
        return entities, self.subject.made(entities)

    def add_one(self, source: EntityManagerBase, m: Any, /, **values: Any) -> int:
        (entity,) = create_or_skip(source, 1).tolist()
        return int(m.create(entity, **values))

    def add(self, source: EntityManagerBase, m: Any, count: int, /, **columns: Any) -> list[int]:
        rows: list[int] = m.create_many(create_or_skip(source, count), **columns).tolist()
        return rows

    def owner(self, m: Any, row: int) -> int:
        return int(m.entity(row))

    def found(self, m: Any, owner: int) -> int:
        return int(m.lookup(owner))

    def structural_calls(self, source: EntityManagerBase, m: Any) -> list[Callable[[], object]]:
        owners, other = m.data.entity.copy(), source.create()
        return [
            *super().structural_calls(source, m),
            *(partial(m.ensure, other), partial(m.remove_many, owners)),
            *(partial(m.remove, entity) for entity in (owners[0], other)),
        ]

    def check_unused(self, m: Any, row: int) -> None:
        super().check_unused(m, row)
        refuses(StaleInstanceError, m.entity, row)

    def check_refused(
        self, source: EntityManagerBase, m: Any, field: Field, value: Any, error: type[Exception]
    ) -> None:
        super().check_refused(source, m, field, value, error)
        with pytest.raises(error, match=f"{self.subject.label}.{field.name}"):
            m.ensure(source.create(), **{field.name: value})

    def test_messages_show_entities(self) -> None:
        """By index and generation, and where a row was wanted, what was given instead."""
        entities, m = self.new(1)
        refuses(StaleInstanceError, r"row 0 .* there are no rows$", m.destroy, 0)
        entity = entities.create()
        name = f"{entities.index(entity)}v{entities.generation(entity)}"
        named = re.escape(f"entity {name} ({entity}) ")
        refuses(MissingInstanceError, named, m.require, entity)
        for call, argument in ((m.require, entity), (m.require_many, [entity])):
            refuses(MissingInstanceError, f"{self.subject.label}Manager", call, argument)
        m.create(entity)
        also = r"(; that is an id; resolve\(id\) gives its row)?"  # it may be both
        hint = rf"that is the entity {name}; lookup\(entity\) gives its row{also}$"
        refuses(StaleInstanceError, hint, m.row, entity)
        refuses(StaleInstanceError, hint, m.destroy_many, [entity])
        entities.destroy(entity)
        refuses(StaleEntityError, f"{named}is not alive", m.create, entity)
        with pytest.raises(StaleInstanceError) as raised:
            m.row(entity)
        assert "that is the entity" not in str(raised.value)

    def test_ensure_takes_defaults_and_only_fields(self) -> None:
        entities, m = self.new()
        entity = entities.create()
        refuses(TypeError, m.ensure, entity, no_such_field=1)
        assert same(m.row(m.ensure(entity)), self.subject.read({}))
        with m.locked():
            assert m.ensure(entity) == m.lookup(entity)
        with pytest.raises(TypeError, match=r"ensure\(\).*no_such_field"):
            m.ensure(entity, no_such_field=1)  # ignored here, but must be a field

    def test_owners_can_not_be_written(self) -> None:
        _, m, _ = self.filled(2)
        refuses(ValueError, "read-only", m.data.entity.fill, 0)

    @pytest.mark.parametrize("rows", [0, 3])
    def test_numbers_that_are_no_entities_have_no_rows(self, rows: int) -> None:
        entities, m, _ = self.filled(rows)
        new = entities.create()
        odd = [new, 0, -1, 2**64 - 1, 2**64, 2**70, new + 1000, NIL]
        assert [m.lookup(number) for number in odd] == [NIL] * len(odd)
        assert m.lookup_many(odd).tolist() == [NIL] * len(odd)
        assert m.has_many(odd).tolist() == [False] * len(odd)
        assert not any(number in m for number in odd)
        assert m.remove(new) == m.remove_many([new, 0]) == 0
        assert m.version == min(rows, 1)

    def test_nothing_collects_but_where_the_dead_wait(self, m: Any) -> None:
        assert hasattr(m, "gc") == hasattr(m, "collect") == self.collects

    def test_dead_entities_get_nothing(self) -> None:
        entities, m, es = self.filled(2)
        alive, dead = create_or_skip(entities, 2).tolist()
        entities.destroy(dead)
        with self.unchanged(m):
            for wrong in (dead, 0, int(es[0]) ^ 1 << 40, -1, 2**64):
                for call in (m.create, m.ensure):
                    refuses(StaleEntityError, call, wrong)
                refuses(StaleEntityError, m.create_many, [alive, wrong])

    def test_a_dead_entity_is_the_first_error(self) -> None:
        entities, m = self.new()
        alive, dead = create_or_skip(entities, 2).tolist()
        entities.destroy(dead)
        bad = {f.name: f.wrong()[0][0] for f in self.subject.fields if f.wrong()}
        with m.locked():
            refuses(StaleEntityError, m.create, dead, **bad)
            refuses(StaleEntityError, m.create_many, [alive, alive, dead], **bad)
            refuses(StaleEntityError, m.ensure, dead, **bad)
            if self.subject.fields:
                with pytest.raises(StaleEntityError):
                    m.create_many([alive, dead], {"no field": [1, 2]})

    def test_a_table_is_as_good_as_columns(self) -> None:
        if not (fields := self.subject.fields):
            pytest.skip("without fields there are no tables")
        entities, m = self.new()
        es = create_or_skip(entities, 3)
        table = {f.name: f.array([f.sample(1), f.sample(2)]) for f in fields}
        rows = m.create_many(es[:2], {"entity": [0, 0], **table})
        self.check_values(m, rows, [1, 2])
        first = fields[0]
        m.create_many(es[2:], {}, **{first.name: first.array([first.sample(3)])})
        with self.unchanged(m):
            (other,) = create_or_skip(entities, 1).tolist()
            refuses(TypeError, "no field", m.create_many, [other], {"no field": [1]})
            refuses(TypeError, "table", m.create_many, [other], 7)

    def test_removing_entities(self) -> None:
        _, m, es = self.filled(4)
        assert m.remove(es[1]) == 1
        assert m.remove(es[1]) == 0
        assert m.remove_many([es[1], es[2], es[0], es[2]]) == 2
        assert list(m) == [es[3]]
        assert m.remove_many(es) == 1
        assert m.version == 4

    def test_whatever_has_an_index_is_an_entity(self) -> None:
        _, m, es = self.filled(3)
        assert m.lookup(es[1]) == m.lookup(int(es[1])) == 1
        assert m.entity(np.int8(1)) == m.entity(np.uint64(1)) == es[1]
        assert type(m.entity(np.int8(1))) is int
        for wrong in (1.0, "1", None):
            refuses(TypeError, m.lookup, wrong)
            refuses(TypeError, m.entity, wrong)
            refuses(TypeError, m.remove, wrong)
        m.destroy(np.uint16(1))
        assert m.lookup(es[1]) == NIL


class IndexedRules(OwnedRules):
    """Rows of a dead entity go before another entity of its index gets new ones."""

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        index = self.entities.index
        successors = {index(entity): entity for entity in chosen}
        former = [e for e in self.lists if successors.get(index(e), e) != e]
        return sorted(row for entity in former for row in self.rows_of(entity))


class IndexedCases(OwnedCases):
    """An index is used again, perhaps before its former owner's rows were collected."""

    @pytest.mark.parametrize("at_once", [False, True])
    def test_successors_drive_the_dead_out(self, at_once: bool) -> None:
        entities, m, es = self.filled(6)
        successors, samples = recreate(entities, es[1:4]), range(3)
        if at_once:
            rows = m.create_many(successors, **self.subject.samples(3)).tolist()
        else:
            for e, k in zip(successors, samples, strict=True):
                row = m.create(e, **self.subject.sample(k))
                assert (m.entity(row), m.lookup(es[1 + k])) == (e, NIL)
            rows = m.lookup_many(successors).tolist()
        assert m.lookup_many(successors).tolist() == rows
        assert m.lookup_many(es).tolist().count(NIL) == 3
        assert sorted(m) == sorted([es[0], *es[4:], *successors])
        self.check_values(m, rows, samples)
        assert (len(m), m.remove(es[1]), m.remove(successors[1])) == (6, 0, 1)


class SparseRules(IndexedRules):
    """Nothing more than rows found by index."""


class SparseCases(IndexedCases):
    """The map grows with the highest index, and shrinks on demand."""

    def test_the_map_counts_as_memory(self) -> None:
        entities, m = self.new(2000)
        es = create_or_skip(entities, 2000)
        m.reserve(64)
        m.create(es[0])
        before = m.nbytes
        m.create(es[-1])
        assert m.nbytes >= before + 4 * (2000 - 64)
        m.remove(es[-1])
        m.shrink_to_fit()
        assert m.nbytes <= before
        assert m.lookup_many(es[[0, -1]]).tolist() == [0, NIL]
        m.create_many(es[1:])
        assert m.lookup_many(es).tolist() == list(range(2000))

    def test_the_map_keeps_the_highest_index(self) -> None:
        entities, m = self.new()
        es = create_or_skip(entities, 130)
        for k in (63, 64, 65, 127, 128):
            m.create(es[k])
            m.shrink_to_fit()
            assert m.has_many(es).nonzero()[0].tolist() == [k]
            m.clear()

    def test_entities_of_own_columns_are_read_before_the_dead_leave(self) -> None:
        for field in self.subject.whole:
            entities, m, es = self.filled(4)
            column = getattr(m.data, field.name)
            if isinstance(field, Handle) and not field.shape:
                column[2:] = successors = recreate(entities, es[:2])
                rows = m.create_many(column[2:])
                assert same(m.data.entity[rows].tolist(), successors.tolist())
                assert same(m.lookup_many(successors).tolist(), rows.tolist())

    def test_own_columns_are_copied_before_the_dead_leave(self) -> None:
        entities, m, es = self.filled(6)
        successors = recreate(entities, es[:2])
        expected = [m.row(row) for row in range(2)]
        columns = self.subject.own_columns(m, slice(2))
        rows = m.create_many(successors, **columns)
        assert same([m.row(row) for row in rows], expected)


class HashCases(OwnedCases):
    """An index is used again before its former owner's rows were collected."""

    def test_the_map_counts_as_memory(self) -> None:
        _, more, _ = self.filled(1000)
        more.reserve(1000)
        _, m, _ = self.filled(1)
        m.reserve(1000)
        assert more.nbytes >= m.nbytes + 1000


class OneRules(OwnedRules):
    """A second instance is refused."""

    def creatable(self) -> list[int]:
        return [entity for entity in self.alive if entity not in self.lists]

    def choose_new(self, data: st.DataObject) -> list[int]:
        return data.draw(self.some(self.creatable()))


class OneCases(OwnedCases):
    """Duplicates, one and many."""

    def test_a_second_instance_is_refused(self) -> None:
        entities, m, es = self.filled(3)
        new, other = create_or_skip(entities, 2).tolist()
        with self.unchanged(m):
            refuses(DuplicateInstanceError, m.create, es[1], **self.subject.sample(5))
            repeats = [new, new], [other, new, other], [new, other, new]
            for chosen in ([new, es[2]], [es[0]], *repeats):
                refuses(DuplicateInstanceError, m.create_many, chosen)
            with m.locked():  # an earlier error
                refuses(StructureLockedError, m.create, es[0])
                refuses(StructureLockedError, m.create_many, es)


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
        for row in [row for row, used in enumerate(present) if not used][:2]:
            refuses(StaleInstanceError, self.manager.row, row)
            refuses(StaleInstanceError, self.manager.destroy, row)


class DirectCases(IndexedCases, OneCases):
    """Rows stay where they are."""

    def test_a_hole_stays_a_hole(self) -> None:
        _, m, es = self.filled(5)
        m.destroy(2)
        assert (len(m), m.data.n) == (4, 5)
        assert m.data.present.tolist() == [True, True, False, True, True]
        assert m.data.entity.tolist() == [*es[:2], 0, *es[3:]]
        assert list(m) == [*es[:2], *es[3:]]
        assert (m.lookup(NULL_ENTITY), m.remove(NULL_ENTITY)) == (NIL, 0)
        self.check_unused(m, 2)
        self.check_values(m, [0, 1, 3, 4], [0, 1, 3, 4])

    @pytest.mark.parametrize("holes", [1, 15, 16, 17, 4_110, 4_111, 4_112, 8_200])
    def test_the_end_is_found_over_any_number_of_holes(self, holes: int) -> None:
        entities, m = self.new(holes + 2)
        es = create_or_skip(entities, holes + 2)
        chosen = es[[0, -1]]
        m.create_many(chosen)
        m.destroy(holes + 1)
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(chosen[1:])
        m.destroy_many([holes + 1])
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])

    @pytest.mark.parametrize("count", [2, 15, 16, 17, 40, 5_000])
    def test_the_end_is_found_when_many_go(self, count: int) -> None:
        entities, m = self.new(count + 1)
        es = create_or_skip(entities, count + 1)
        m.create_many(es)
        m.destroy_many(np.arange(1, count + 1))
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(es[1:])
        m.destroy_many(np.delete(np.arange(count + 1), 1))
        assert (len(m), m.data.n, list(m)) == (1, 2, [es[1]])

    def test_a_mask_with_holes(self) -> None:
        _, m, es = self.filled(4)
        m.destroy(1)
        with self.unchanged(m):
            refuses(StaleInstanceError, m.destroy_many, np.ones(4, np.bool_))
        m.destroy_many(m.data.present & (m.data.entity != es[0]))
        assert list(m) == [es[0]]


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


class ManyCases(OwnedCases):
    """Order, both ways, through every change."""

    def several(self, owners: str) -> tuple[Any, dict[str, int]]:
        """Return a manager with a row for each letter, owned by the entity of that letter."""
        entities, m = self.new(len(owners))
        letters = sorted(set(owners))
        es = create_or_skip(entities, len(letters)).tolist()
        names = dict(zip(letters, es, strict=True))
        samples = self.subject.samples(len(owners))
        m.create_many([names[letter] for letter in owners], **samples)
        return m, names

    def test_order_of_creation(self) -> None:
        m, names = self.several("abaab")
        check_list(m, names["a"], [0, 2, 3])
        check_list(m, names["b"], [1, 4])
        assert m.create(names["a"]) == 5
        check_list(m, names["a"], [0, 2, 3, 5])
        assert m.ensure(names["b"]) == 1
        assert len(m) == 6

    @pytest.mark.parametrize(
        ("removed", "left"), [(0, [1, 2, 0]), (1, [0, 2, 1]), (2, [0, 1, 2]), (3, [0, 1, 2])]
    )
    def test_one_of_several_goes(self, removed: int, left: list[int]) -> None:
        m, names = self.several("aaaa")
        m.destroy(removed)
        check_list(m, names["a"], left)

    def test_all_of_an_entity_go(self) -> None:
        m, names = self.several("abcabcab")
        assert m.remove(names["a"]) == 3
        check_list(m, names["a"], [])
        assert names["a"] not in m
        assert m.remove_many([names["b"], names["a"], names["b"]]) == 3
        check_list(m, names["c"], [1, 0])
        assert len(m) == 2

    def test_long_lists(self) -> None:
        m, names = self.several("ab" + "a" * 200)
        check_list(m, names["a"], [0, *range(2, 202)])
        m.destroy_many(range(0, 202, 2))
        assert m.count(names["a"]) == 100
        assert m.count_many([names["b"], names["a"]]).tolist() == [1, 100]
        assert m.remove_many([names["a"]]) == 100
        check_list(m, names["b"], [0])

    def test_only_rows_in_use_have_neighbours(self) -> None:
        m, _ = self.several("ab")
        for row in (-1, 2, NIL):
            for call in (m.next, m.previous):
                refuses(StaleInstanceError, call, row)

    def test_instances_are_those_of_now(self) -> None:
        m, names = self.several("aab")
        instances = m.instances(names["a"])
        m.create(names["a"])
        assert list(instances) == [0, 1]
