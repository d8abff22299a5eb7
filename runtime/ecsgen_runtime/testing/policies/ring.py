"""At most so many instances: the oldest ones make room for new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis.stateful import invariant, rule

from ...errors import CapacityError
from ...handles import NIL
from ..base import State
from ..machine import Record, through_pickle
from ..subject import handles_with, need, same
from . import packed
from .release import fail

SIZE = 64
"""Rings are that large in tests: full after a few rows, and no larger than any reserve."""


class Rules(packed.Rules):
    """Rows have an age, which no move changes."""

    def __init__(self) -> None:
        self.ages: list[Record] = []  # the oldest first
        self.room = ExitStack()
        self.room.enter_context(self.subject.room_for(SIZE))
        super().__init__()

    def teardown(self) -> None:
        """Let the ring be as large as it was."""
        super().teardown()
        self.room.close()

    def displaced(self, records: Sequence[Record]) -> Sequence[int]:
        gone = self.expanded(super().displaced(records))
        over = max(0, len(self.table) - len(gone) + len(records) - SIZE)
        others = [row for row in map(self.table.index, self.ages) if row not in gone]
        return [*gone, *others[:over]]

    def join(self, records: list[Record]) -> list[int]:
        rows = super().join(records)
        self.ages += records
        return rows

    def leaving(self, rows: list[int]) -> None:
        super().leaving(rows)
        for row in rows:
            self.ages.remove(self.at(row))

    def rows_needed(self, owners: Sequence[int]) -> int:
        return min(super().rows_needed(owners), SIZE)

    def has_room(self, owners: Sequence[int]) -> bool:
        return len(owners) <= SIZE and super().has_room(owners)

    @rule()
    def ring_is_filled(self) -> None:
        missing = SIZE - len(self.table)
        self.born([self.subject.sample(k) for k in range(missing)])

    @invariant()
    def ages_agree(self) -> None:
        rows = self.manager.by_age()
        assert rows.dtype == np.intp
        assert rows.tolist() == [self.table.index(record) for record in self.ages]
        assert len(rows) <= SIZE


class Cases(packed.Cases):
    """Rings that are full, and who is the oldest."""

    def setup_method(self) -> None:
        """Let the ring be of a handy size."""
        self.room = ExitStack()
        self.room.enter_context(self.subject.room_for(SIZE))

    def teardown_method(self) -> None:
        """Let the ring be as large as it was."""
        self.room.close()

    def new(self, room: int = 0) -> tuple[Any, Any]:
        self.keep(room)
        source, m = super().new(room)
        return source, m

    def add_one(self, source: Any, m: Any, /, **values: Any) -> int:
        self.keep(len(m) + 1)
        return super().add_one(source, m, **values)

    def add(self, source: Any, m: Any, count: int, /, **columns: Any) -> list[int]:
        self.keep(len(m) + count)
        return super().add(source, m, count, **columns)

    def keep(self, rows: int) -> None:
        """Skip a test that is not about rings where it would lose rows."""
        if rows > SIZE:
            pytest.skip(f"a ring of {SIZE} rows keeps no {rows}")

    def push(self, source: Any, m: Any, count: int) -> list[int]:
        """Create instances, whoever must go for them, and return by what they are known."""
        rows = super().add(source, m, count)
        return [self.owner(m, row) for row in rows]

    def push_one(self, source: Any, m: Any) -> int:
        """Create one instance, whoever must go for it, and return by what it is known."""
        return self.owner(m, super().add_one(source, m))

    def full(self) -> tuple[Any, Any, list[int]]:
        """Return a manager in which no row is free, and by what its rows are known, by age."""
        source, m = self.new()
        return source, m, self.push(source, m, SIZE)

    def check_ages(self, m: Any, owners: list[int]) -> None:
        """Check who is there, the oldest first, and that they are found."""
        assert [self.owner(m, row) for row in m.by_age()] == owners
        assert sorted(m) == sorted(owners)
        found = [self.found(m, owner) for owner in owners]
        assert m.by_age().tolist() == found

    def test_nothing_has_no_age(self) -> None:
        _, m = self.new()
        rows = m.by_age()
        assert (rows.dtype, rows.tolist()) == (np.intp, [])

    def test_the_oldest_makes_room_for_one(self) -> None:
        source, m, owners = self.full()
        version = m.version
        for count in range(1, 4):
            owners.append(self.push_one(source, m))
            assert self.found(m, owners[count - 1]) == NIL
            self.check_ages(m, owners[count:])
            assert m.version == version + 2 * count

    @pytest.mark.parametrize("count", [1, 2, 10])
    def test_the_oldest_make_room_for_many(self, count: int) -> None:
        source, m, owners = self.full()
        for _ in range(3):
            owners = [*owners[count:], *self.push(source, m, count)]
            self.check_ages(m, owners)

    def test_rows_that_are_free_come_first(self) -> None:
        source, m, owners = self.full()
        m.destroy_many(sorted(self.found(m, owner) for owner in owners[5:8]))
        owners[5:8] = []
        owners = [*owners[2:], *self.push(source, m, 5)]
        self.check_ages(m, owners)

    def test_all_can_be_replaced(self) -> None:
        source, m, _ = self.full()
        owners = self.push(source, m, SIZE)
        self.check_ages(m, owners)
        assert len(m) == SIZE

    def test_more_than_fit_change_nothing(self) -> None:
        for source, m, _ in (self.full(), (*self.new(), [])):
            before = State(self.subject, m)
            with pytest.raises(CapacityError, match=f"{self.subject.label}Manager"):
                super().add(source, m, SIZE + 1)
            assert State(self.subject, m) == before

    @pytest.mark.parametrize("at_once", [True, False])
    def test_parents_move_while_the_oldest_goes(self, at_once: bool) -> None:
        source, m, owners = self.full()
        if not hasattr(m, "set_parent"):
            pytest.skip("rows have no parents")
        last = len(m) - 1
        above = self.owner(m, last)
        assert above != owners[0]
        if at_once:
            (row,) = super().add(source, m, 1, parents=last)
        else:
            row = super().add_one(source, m, parent=last)
        assert self.owner(m, m.parent(row)) == above
        assert list(m.children(self.found(m, above))) == [row]

    def test_no_more_go_than_must(self) -> None:
        """The dead make room, and so does all below them that goes with them."""
        with handles_with(self.subject.entities, MIN_FREE=0):
            entities, m, es = self.full()
            if not (hasattr(m, "lookup") and hasattr(m, "set_parent")):
                pytest.skip("rows have no owners, or no parents")
            m.set_parent(self.found(m, es[10]), self.found(m, es[9]))
            entities.destroy(es[9])
            successors = entities.create_many(3).tolist()
            m.create_many(successors)
        assert len(m) == SIZE
        assert [self.owner(m, row) for row in m.by_age()[-3:]] == successors

    @pytest.mark.parametrize("at_once", [True, False])
    def test_failures_of_callbacks_stop_nobody(self, at_once: bool) -> None:
        source, m, owners = self.full()
        if not hasattr(m, "on_release"):
            pytest.skip("nobody is told")
        come: Callable[[], object] = partial(super().add, source, m, 1)
        if not at_once:
            come = partial(super().add_one, source, m)
        m.on_release(fail)
        with pytest.raises(ExceptionGroup):
            come()
        assert len(m) == SIZE
        assert self.found(m, owners[0]) == NIL

    def test_values_stay_with_their_rows(self) -> None:
        source, m, es = self.filled(SIZE)
        self.push_one(source, m)
        self.push(source, m, 4)
        kept = range(5, SIZE)
        self.check_values(m, [self.found(m, es[k]) for k in kept], kept)

    def test_moves_make_nobody_older(self) -> None:
        source, m, owners = self.full()
        gone = [owners.pop(k) for k in (30, 20, 10)]
        m.destroy_many(sorted(self.found(m, owner) for owner in gone))
        self.check_ages(m, owners)
        m.sort(np.arange(len(m))[::-1])
        self.check_ages(m, owners)
        for k in (-1, 0, 7):
            m.destroy(self.found(m, owners.pop(k)))
            self.check_ages(m, owners)
        owners = [*owners[2:], *self.push(source, m, 8)]
        self.check_ages(m, owners)

    def test_the_oldest_and_the_newest_go(self) -> None:
        source, m, owners = self.full()
        for ends in ([0, 1], [-1], [0, -1], slice(0, 5)):
            gone = np.array(owners)[ends].tolist()
            owners = [owner for owner in owners if owner not in gone]
            m.destroy_many(sorted(self.found(m, owner) for owner in gone))
            self.check_ages(m, owners)
            owners.append(self.push_one(source, m))
            self.check_ages(m, owners)
        m.clear()
        self.check_ages(m, self.push(source, m, 2))

    def test_a_full_ring_does_not_grow(self) -> None:
        source, m = self.new()
        m.reserve(SIZE)
        held = m.capacity
        for _ in range(3):
            self.push(source, m, SIZE)
            self.push(source, m, SIZE // 2)
            for _ in range(3):
                self.push_one(source, m)
        assert m.capacity == m.data.allocated == held

    @pytest.mark.parametrize("count", [2, SIZE])
    def test_a_ring_that_is_nearly_full_does_not_grow(self, count: int) -> None:
        source, m = self.new()
        m.reserve(SIZE)
        held = m.capacity
        self.push(source, m, SIZE - 1)
        owners = self.push(source, m, count)
        assert m.capacity == m.data.allocated == held
        assert [self.owner(m, row) for row in m.by_age()[-count:]] == owners

    def test_callbacks_give_values_to_those_that_stay(self) -> None:
        source, m = self.new()
        if not (hasattr(m, "on_release") and self.subject.indirect):
            pytest.skip("no callback takes room that is meant for new rows")
        need(self.subject, 2 * SIZE)
        field = self.subject.cold_fields[0]
        samples = (field.sample(k) for k in range(2))
        other = next(value for value in samples if not field.is_default(value))
        self.room.close()
        with self.subject.room_for(2 * SIZE):
            super().add(source, m, 2 * SIZE)

            def take_places(rows: Any) -> None:
                for row in sorted({*range(len(m))} - {*rows.tolist()})[-SIZE:]:
                    getattr(m, f"set_{field.name}")(row, other)

            m.on_release(take_places)
            rows = super().add(source, m, 10, **{field.name: [other] * 10})
            cells = [getattr(m, field.name)(row) for row in rows]
        assert same(cells, [field.read(other)] * 10)
        assert m.data.cold.n >= SIZE + 10

    def test_saving_keeps_ages(self) -> None:
        source, m, owners = self.full()
        m.sort(np.arange(len(m))[::-1])
        source, other = through_pickle((source, m))
        self.check_ages(other, owners)
        owners = [
            *owners[4:],
            *self.push(source, other, 3),
            self.push_one(source, other),
        ]
        self.check_ages(other, owners)

    @pytest.mark.parametrize("count", [1, 3])
    def test_ids_of_the_oldest_wear_out(self, count: int) -> None:
        """Slots that are worn out make no room."""
        cases: Any = self
        if not hasattr(cases, "wear_out"):
            pytest.skip("instances have no ids")
        if self.subject.reserve == SIZE:
            pytest.skip("there is no room for other slots")
        source, m, owners = self.full()
        m.shrink_to_fit()
        cases.wear_out(m, m.by_age()[:count].tolist())
        worn = m.id_of_many(m.by_age()[:count]).tolist()
        if count == 1:
            owners.append(self.push_one(source, m))
        else:
            owners += self.push(source, m, count)
        self.check_ages(m, owners[count:])
        assert not {id & 0xFFFF_FFFF for id in worn} & set(cases.slots(m))
