"""Rows lie without holes, in an order: as they come, active first, grouped, or in a ring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from math import isnan
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases, sortable
from .state_machine import MANY_ROWS, ManagerStateMachine, Record
from .subject import Object, same


class PackedRules(ManagerStateMachine):
    """Moves of rows after removals, and orders."""

    def append(self, records: list[Record]) -> list[int]:
        rows = range(len(self.table), len(self.table) + len(records))
        self.table += records
        return list(rows)

    def close(self, rows: list[int]) -> None:
        self.fill(rows, len(self.table))
        del self.table[len(self.table) - len(rows) :]

    def fill(self, holes: list[int], end: int) -> None:
        """Fill ascending holes with the last rows before `end`."""
        new_end = end - len(holes)
        moving = (row for row in range(new_end, end) if row not in holes)
        for hole in holes:
            if hole < new_end:
                self.table[hole] = self.table[next(moving)]

    def parts(self) -> list[slice]:
        """Return the rows that orders keep apart: all are one part."""
        return [slice(0, len(self.table))]

    @rule(data=st.data())
    def sort_by_field(self, data: st.DataObject) -> None:
        names = sortable(self.subject.fields)
        if names:
            field = data.draw(st.sampled_from(names))
            self.manager.sort(field.name)
            self.permute_by(lambda record: field.order(record.stored(field)))

    @rule(data=st.data())
    def sort_by_key(self, data: st.DataObject) -> None:
        count = len(self.table)
        seed = data.draw(st.integers(0, 3))
        key = [(row * 7 + seed) % 5 - 0.5 for row in range(count)]
        self.manager.sort(key)
        keys = {id(self.at(row)): value for row, value in enumerate(key)}
        self.permute_by(lambda record: keys[id(record)])

    def permute_by(self, key: Callable[[Record], Any]) -> None:
        """Sort the model, NaN last."""
        for part in self.parts():
            rows = [self.at(row) for row in range(part.start, part.stop)]
            rows.sort(key=lambda record: _nan_last(key(record)))
            self.table[part] = rows
        self.version += 1

    @precondition(lambda self: len(self.table) < MANY_ROWS)
    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        random = data.draw(st.randoms(use_true_random=True))
        order: list[int] = []
        for part in self.parts():
            rows = list(range(part.start, part.stop))
            random.shuffle(rows)
            order += rows
        self.manager.reorder(order)
        self.table = [self.table[row] for row in order]
        self.version += 1


def _nan_last(value: Any) -> tuple[bool, Any]:
    is_last = value is None or (isinstance(value, float) and isnan(value))  # NaT is None
    return is_last, 0.0 if is_last else value


class PackedCases(Cases):
    """Removal of rows, and orders."""

    def changes(self) -> list[Callable[[Any, Any], object]]:
        return [
            *super().changes(),
            lambda _, m: m.sort([2, 0, 1]),
            lambda _, m: m.reorder([0, 1, 2]),
        ]

    @pytest.mark.parametrize("removed", [0, 2, 4])
    def test_the_last_row_fills_the_hole(self, removed: int) -> None:
        _, m, es = self.filled(5)
        m.destroy(removed)
        expected = [0, 1, 2, 3, 4]
        expected[removed] = 4
        self.check_rows(m, es, expected[:4])


class GroupedRules(PackedRules):
    """Rows are in the group only in a world."""


class GroupedCases(PackedCases):
    """Rows are in the group only in a world."""


class PartitionRules(PackedRules):
    """Two parts: rows come and go in each, and change sides."""

    def __init__(self) -> None:
        self.active = 0
        super().__init__()

    def parts(self) -> list[slice]:
        return [slice(0, self.active), slice(self.active, len(self.table))]

    def append(self, records: list[Record]) -> list[int]:
        if not self.subject.starts_active:
            return super().append(records)
        start, end, n = self.active, self.active + len(records), len(self.table)
        displaced = self.table[start:end]
        self.table += [None] * len(records)
        self.table[max(n, end) :] = displaced
        self.table[start:end] = records
        self.active = end
        return list(range(start, end))

    def close(self, rows: list[int]) -> None:
        removed = [row for row in rows if row < self.active]
        self.fill(removed, self.active)
        given_up = range(self.active - len(removed), self.active)
        self.active -= len(removed)
        super().close([*given_up, *rows[len(removed) :]])

    def cross(self, rows: list[int], start: int) -> list[int]:
        """Swap rows to where a part ends, and return where they are now."""
        wanted = range(start, start + len(rows))
        coming = sorted(row for row in rows if row not in wanted)
        leaving = [row for row in wanted if row not in rows]
        now = {row: row for row in rows}
        for source, target in zip(coming, leaving, strict=True):
            self.table[source], self.table[target] = self.table[target], self.table[source]
            now[source] = target
        self.version += bool(rows)
        return [now[row] for row in rows]

    @precondition(lambda self: self.table)
    @rule(data=st.data(), side=st.sampled_from(["activate", "deactivate"]))
    def change_side(self, data: st.DataObject, side: str) -> None:
        row = data.draw(st.sampled_from(self.used()))
        (now,) = self.sided([row], side)
        assert getattr(self.manager, side)(row) == now

    @rule(data=st.data(), side=st.sampled_from(["activate", "deactivate"]), as_mask=st.booleans())
    def change_sides(self, data: st.DataObject, side: str, as_mask: bool) -> None:
        rows, argument = self.chosen(data, as_mask)
        now = self.sided(rows, side)
        assert getattr(self.manager, f"{side}_many")(argument).tolist() == now

    def sided(self, rows: list[int], side: str) -> list[int]:
        """Make rows of the model active or inactive, and return where they are now."""
        in_front = side == "activate"
        crossing = [row for row in rows if (row < self.active) != in_front]
        start = self.active if in_front else self.active - len(crossing)
        now = dict(zip(crossing, self.cross(crossing, start), strict=True))
        self.active = start + len(crossing) if in_front else start
        return [now.get(row, row) for row in rows]

    @precondition(lambda self: self.active and self.subject.whole)
    @rule(data=st.data())
    def assign_active(self, data: st.DataObject) -> None:
        field = data.draw(st.sampled_from(self.subject.whole))
        values = [data.draw(field.values)]
        values += [field.sample(k) for k in range(1, self.active)]
        setattr(self.manager.data.active, field.name, values)
        for row, value in enumerate(values):
            self.at(row).values[field.name] = field.read(value)

    @invariant()
    def parts_agree(self) -> None:
        m, active = self.manager, self.manager.data.active
        assert m.n_active == active.n == self.active
        rows = {0, self.active - 1, self.active, len(self.table) - 1}
        for row in rows & set(self.used()):
            assert m.is_active(row) == (row < self.active)
        for column in self.subject.columns:
            if hasattr(active, column.name):
                every = getattr(m.data, column.name)[: self.active].tolist()
                assert same(getattr(active, column.name).tolist(), every)


class PartitionCases(PackedCases):
    """New rows and columns of both sides."""

    def parted(self, active: int, inactive: int) -> tuple[Any, Any, Any]:
        """Return a manager whose row k is sample k, the first rows active."""
        source, m, owners = self.filled(active + inactive)
        m.activate_many(range(active))
        m.deactivate_many(range(active, active + inactive))
        self.check_rows(m, owners, range(active + inactive))
        assert m.n_active == active
        return source, m, owners

    def changes(self) -> list[Callable[[Any, Any], object]]:
        name = "deactivate" if self.subject.starts_active else "activate"
        return [
            *super().changes(),
            lambda _, m: getattr(m, name)(1),
            lambda _, m: getattr(m, f"{name}_many")([0, 2]),
        ]

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        both = (m.activate, 1), (m.deactivate, 1)
        many = (m.activate_many, [1, 2]), (m.deactivate_many, [1, 2])
        calls = [partial(call, argument) for call, argument in (*both, *many)]
        return [*super().structural_calls(source, m), *calls]

    def test_what_new_rows_are(self) -> None:
        source, m, owners = self.parted(2, 2)
        new = self.add_one(source, m, **self.subject.sample(7))
        more = self.add(source, m, 3, **self.subject.samples(3))
        starts_active = self.subject.starts_active
        assert [m.is_active(row) for row in (new, *more)] == [starts_active] * 4
        assert m.n_active == (6 if starts_active else 2)
        self.check_values(m, [new, *more], [7, 0, 1, 2])
        rows = [self.found(m, owner) for owner in owners]
        assert [m.is_active(row) for row in rows] == [True, True, False, False]
        self.check_values(m, rows, range(4))

    def test_columns_of_active_rows(self) -> None:
        for field in self.subject.whole:
            _, m, _ = self.parted(2, 2)
            setattr(m.data.active, field.name, [field.sample(7), field.sample(8)])
            self.check_column(m, field, [field.sample(k) for k in (7, 8, 2, 3)])
            setattr(m.data.active, field.name, field.sample(4))
            self.check_column(m, field, [field.sample(k) for k in (4, 4, 2, 3)])
            if isinstance(field, Object):  # then it is one object for all
                continue
            with pytest.raises(ValueError, match=field.name):
                setattr(m.data.active, field.name, field.array([field.sample(0)] * 3))

    def test_parts_of_active_rows(self) -> None:
        split = self.subject.split.items()
        part_names = [parts for name, parts in split if name not in self.subject.indirect]
        for part in sum(part_names, ()):
            _, m, _ = self.parted(2, 2)
            first, *others = getattr(m.data, part).tolist()
            setattr(m.data.active, part, first)
            assert same(getattr(m.data, part).tolist(), [first, first, *others[1:]])


SIZE = 64
"""Rings are that large in tests: full after a few rows, and no larger than any reserve."""


class RingRules(PackedRules):
    """Rows have an age, which no move changes."""

    def __init__(self) -> None:
        self.ages: list[Record] = []  # the oldest first
        self.room = ExitStack()
        self.room.enter_context(self.subject.room_for(SIZE))
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.room.close()

    def displaced(self, records: Sequence[Record]) -> Sequence[int]:
        removed = self.expanded(super().displaced(records))
        over = max(0, len(self.table) - len(removed) + len(records) - SIZE)
        others = [row for row in map(self.table.index, self.ages) if row not in removed]
        return [*removed, *others[:over]]

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
        self.create_rows([self.subject.sample(k) for k in range(missing)])

    @invariant()
    def ages_agree(self) -> None:
        rows = self.manager.by_age()
        assert rows.dtype == np.intp
        assert rows.tolist() == [self.table.index(record) for record in self.ages]
        assert len(rows) <= SIZE


class RingCases(PackedCases):
    """Full rings, and the order of age."""

    def setup_method(self) -> None:
        """Give the ring a handy size."""
        self.room = ExitStack()
        self.room.enter_context(self.subject.room_for(SIZE))

    def teardown_method(self) -> None:
        self.room.close()

    def new(self, room: int = 0) -> tuple[Any, Any]:
        self.keep(room)
        return super().new(room)

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
        """Check the owners, the oldest first, and that their rows are found."""
        assert [self.owner(m, row) for row in m.by_age()] == owners
        assert sorted(m) == sorted(owners)
        rows = [self.found(m, owner) for owner in owners]
        assert m.by_age().tolist() == rows

    @pytest.mark.parametrize("count", [0, 1, 2, 10])
    def test_the_oldest_make_room(self, count: int) -> None:
        """For several at once, or, with a count of 0, for one."""
        source, m, owners = self.full()
        version = m.version
        for k in range(1, 4):
            new = self.push(source, m, count) if count else [self.push_one(source, m)]
            removed, owners = owners[: len(new)], [*owners[len(new) :], *new]
            assert [self.found(m, owner) for owner in removed] == [NIL] * len(removed)
            self.check_ages(m, owners)
            assert m.version == version + 2 * k
