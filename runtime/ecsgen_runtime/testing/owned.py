"""Rows belong to entities."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ..entity_manager import Entities
from ..errors import (
    CapacityError,
    EcsError,
    MissingInstanceError,
    StaleEntityError,
    StaleInstanceError,
    StructureLockedError,
)
from ..handles import NIL, NULL_ENTITY
from .cases import Cases
from .machine import FORMS, Machine, Record
from .subject import Field, born, handles_with, need, refuses, same


class OwnedRules(Machine):
    """Entities are born, get instances, and die."""

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
        """Let entities be as they were."""
        self.reuse.close()

    def made(self) -> Any:
        return self.subject.manager(self.entities)

    def copied(self, copied: Callable[[Any], Any]) -> Any:
        manager, self.entities = copied((self.manager, self.entities))
        return manager

    def owner_of(self, row: int) -> int:
        entity: int = self.manager.entity(row)
        return entity

    # --- what policies say ---------------------------------------------------------

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        """Return the rows that go because these entities have their owners' indices."""
        return []

    def died(self, chosen: Sequence[int]) -> None:
        """Do what the death of entities does to their rows: nothing, for now."""

    def creatable(self) -> list[int]:
        """Return the entities that may get an instance."""
        return self.alive

    def choose_new(self, data: st.DataObject) -> list[int]:
        """Draw entities for new instances."""
        return data.draw(self.some(self.creatable(), unique=False))

    def structural_calls(self) -> list[Callable[[], object]]:
        m = self.manager
        return [
            *super().structural_calls(),
            *(lambda e=e: m.create(e) for e in self.creatable()[:1]),
            lambda: m.create_many(self.creatable()[:2]),
            lambda: m.remove(1),
            lambda: m.remove_many(self.alive),
        ]

    # --- the model -----------------------------------------------------------------

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

    def new_records(
        self, chosen: Sequence[int], rows: Sequence[dict[str, Any]]
    ) -> list[Record]:
        """Return rows of some values for entities, those left out being defaults."""
        read = [self.subject.read(values)._asdict() for values in rows]
        return [Record(*pair) for pair in zip(chosen, read, strict=True)]

    # --- entities ------------------------------------------------------------------

    @rule(count=st.integers(0, 6))
    def entities_are_born(self, count: int) -> None:
        self.alive += self.bear(count)

    def bear(self, count: int) -> list[int]:
        """Create as many entities, or none where the handles are too small for them."""
        try:
            born: list[int] = self.entities.create_many(count).tolist()
        except CapacityError:
            return []
        return born

    @rule(data=st.data())
    def entities_die(self, data: st.DataObject) -> None:
        chosen = data.draw(self.some(self.alive))
        if len(chosen) == 1:
            self.entities.destroy(chosen[0])
        else:
            self.entities.destroy_many(chosen)
        self.bury(chosen)

    @precondition(lambda self: any(entity in self.lists for entity in self.alive))
    @rule(data=st.data())
    def successors_come(self, data: st.DataObject) -> None:
        """Owners die, and others with their indices get instances, or only some do."""
        owners = [entity for entity in self.alive if entity in self.lists]
        chosen = data.draw(self.some(owners))
        self.entities.destroy_many(chosen)
        self.bury(chosen)
        successors = self.bear(len(chosen))
        self.alive += successors
        lucky = successors[: data.draw(st.integers(0, len(successors)))]
        rows = [self.subject.sample(k) for k in range(len(lucky))]
        columns = self.columns(rows, as_array=False)
        create = self.manager.create_many
        self.arrive(lucky, rows, lambda: create(lucky, **columns).tolist())

    def bury(self, chosen: Sequence[int]) -> None:
        """Move entities to the dead."""
        self.alive = [entity for entity in self.alive if entity not in chosen]
        self.dead += chosen
        self.died(chosen)

    # --- instances come ------------------------------------------------------------

    @precondition(lambda self: self.creatable())
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(self.creatable()))
        values = data.draw(self.subject.some_values)
        create = self.manager.create
        self.arrive([entity], [values], lambda: [create(entity, **values)])

    @rule(data=st.data(), form=st.sampled_from(FORMS))
    def create_many(self, data: st.DataObject, form: str) -> None:
        chosen = self.choose_new(data)
        values = data.draw(self.subject.some_values)
        rows, table, named = self.given(values, len(chosen), form)
        if table is not None:
            table = {"entity": None, **table}  # as other tables have it
        create = self.manager.create_many
        self.arrive(chosen, rows, lambda: create(chosen, table, **named).tolist())

    def arrive(
        self,
        chosen: Sequence[int],
        rows: Sequence[dict[str, Any]],
        create: Callable[[], list[int]],
    ) -> None:
        """Add rows to the model and create them, or see that there is no room."""
        if self.has_room(chosen):
            expected = self.join(self.new_records(chosen, rows))
            assert create() == expected
        else:
            refuses(CapacityError, create)

    def born(self, rows: list[dict[str, Any]]) -> None:
        born = self.bear(len(rows))
        rows = rows[: len(born)]
        self.alive += born
        columns = self.columns(rows, as_array=False)
        create = self.manager.create_many
        self.arrive(born, rows, lambda: create(born, **columns).tolist())

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

    # --- instances go --------------------------------------------------------------

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from([*self.alive, *self.lists, 0, 2**64]))
        assert self.manager.remove(entity) == self.leave(self.rows_of(entity))

    @rule(data=st.data())
    def remove_many(self, data: st.DataObject) -> None:
        chosen = data.draw(self.some([*self.alive, *self.lists, 0], unique=False))
        rows = [row for entity in set(chosen) for row in self.rows_of(entity)]
        assert self.manager.remove_many(chosen) == self.leave(rows)

    # --- what is refused -----------------------------------------------------------

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

    # --- what must hold ------------------------------------------------------------

    @invariant()
    def owners_agree(self) -> None:
        owners = [record.owner if record else 0 for record in self.table]
        assert self.manager.data.entity.tolist() == owners

    @invariant()
    def lookups_agree(self) -> None:
        m = self.manager
        where = {id(record): row for row, record in enumerate(self.table)}
        firsts = {entity: where[id(found[0])] for entity, found in self.lists.items()}
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

    def new(self, room: int = 0) -> tuple[Entities, Any]:
        need(self.subject, room)
        entities = self.subject.entities()
        return entities, self.subject.manager(entities)

    def add_one(self, source: Entities, m: Any, /, **values: Any) -> int:
        (entity,) = born(source, 1).tolist()
        row: int = m.create(entity, **values)
        return row

    def add(self, source: Entities, m: Any, count: int, /, **columns: Any) -> list[int]:
        rows: list[int] = m.create_many(born(source, count), **columns).tolist()
        return rows

    def owner(self, m: Any, row: int) -> int:
        entity: int = m.entity(row)
        return entity

    def found(self, m: Any, owner: int) -> int:
        row: int = m.lookup(owner)
        return row

    def check_unused(self, m: Any, row: int) -> None:
        super().check_unused(m, row)
        refuses(StaleInstanceError, m.entity, row)

    def check_refused(
        self,
        source: Entities,
        m: Any,
        field: Field,
        value: Any,
        error: type[Exception],
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
        m.create(entity)
        hint = rf"that is the entity {name}; lookup\(entity\) gives its row$"
        refuses(StaleInstanceError, hint, m.row, entity)
        refuses(StaleInstanceError, hint, m.destroy_many, [entity])
        entities.destroy(entity)
        refuses(StaleEntityError, f"{named}is not alive", m.create, entity)
        with pytest.raises(StaleInstanceError) as raised:
            m.row(entity)
        assert "that is" not in str(raised.value)

    def test_no_rows_yet(self) -> None:
        entities, m = self.new()
        entity = entities.create()
        assert m.lookup(entity) == m.lookup(NULL_ENTITY) == NIL
        assert m.lookup_many([entity, 0, 2**64 - 1]).tolist() == [NIL] * 3
        assert m.remove(entity) == m.remove_many([entity]) == 0
        assert m.version == 0

    def test_ensure_takes_defaults_and_only_fields(self) -> None:
        entities, m = self.new()
        entity = entities.create()
        refuses(TypeError, m.ensure, entity, no_such_field=1)
        assert same(m.row(m.ensure(entity)), self.subject.read({}))
        with pytest.raises(TypeError, match=r"ensure\(\).*no_such_field"):
            m.ensure(entity, no_such_field=1)  # ignored here, but must be a field

    def test_owners_can_not_be_written(self) -> None:
        _, m, _ = self.filled(2)
        with pytest.raises(ValueError, match="read-only"):
            m.data.entity[0] = 1

    def test_one_entity(self) -> None:
        entities, m = self.new()
        entity, other = entities.create(), entities.create()
        row = m.create(entity)
        assert m.lookup(entity) == m.require(entity) == m.ensure(entity) == row
        assert m.entity(row) == entity
        assert entity in m
        assert m.has(entity)
        assert other not in m
        assert not m.has(other)
        assert "text" not in m
        refuses(MissingInstanceError, f"{self.subject.label}Manager", m.require, other)
        with pytest.raises(MissingInstanceError, match=f"{self.subject.label}Manager"):
            m.require_many([entity, other])

    def test_numbers_that_are_no_entities_have_no_rows(self) -> None:
        _, m, es = self.filled(3)
        odd = [0, -1, 2**64 - 1, 2**64, 2**70, int(es[0]) + 1000, NIL]
        assert [m.lookup(number) for number in odd] == [NIL] * len(odd)
        assert m.lookup_many(odd).tolist() == [NIL] * len(odd)
        assert m.has_many(odd).tolist() == [False] * len(odd)
        assert not any(number in m for number in odd)

    def test_dead_entities_get_nothing(self) -> None:
        entities, m, es = self.filled(2)
        alive, dead = born(entities, 2).tolist()
        entities.destroy(dead)
        with self.unchanged(m):
            for wrong in (dead, 0, int(es[0]) ^ 1 << 40, -1, 2**64):
                for call in (m.create, m.ensure):
                    refuses(StaleEntityError, call, wrong)
                refuses(StaleEntityError, m.create_many, [alive, wrong])

    def test_a_dead_entity_is_the_first_error(self) -> None:
        entities, m = self.new()
        alive, dead = born(entities, 2).tolist()
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
        es = born(entities, 3)
        table = {f.name: f.array([f.sample(1), f.sample(2)]) for f in fields}
        rows = m.create_many(es[:2], {"entity": [0, 0], **table})
        self.check_values(m, rows, [1, 2])
        first = fields[0]
        m.create_many(es[2:], {}, **{first.name: first.array([first.sample(3)])})
        with self.unchanged(m):
            (other,) = born(entities, 1).tolist()
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

    def test_locked_for_entities(self) -> None:
        entities, m, es = self.filled(3)
        more = born(entities, 2)
        with self.unchanged(m):
            calls: tuple[Callable[[], object], ...] = (
                lambda: m.create(more[0]),
                lambda: m.create_many(more),
                lambda: m.ensure(more[0]),
                lambda: m.remove(es[0]),
                lambda: m.remove(more[0]),
                lambda: m.remove_many(es),
            )
            with m.locked():
                for call in calls:
                    refuses(StructureLockedError, f"{self.subject.label}Manager", call)
                assert m.ensure(es[0]) == 0

    def test_clear_lets_entities_live(self) -> None:
        entities, m, es = self.filled(70)
        m.clear()
        assert m.lookup_many(es).tolist() == [NIL] * 70
        assert entities.alive_many(es).all()

    def test_errors_are_of_one_family(self) -> None:
        _, m = self.new()
        for call in (m.destroy, m.require, m.create):
            refuses(EcsError, call, 5)
