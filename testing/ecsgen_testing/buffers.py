"""Where columns lie: in buffers that grow, in reserved ones, cold fields in one of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from .common_cases import LINE, Cases, MemoryCases, check_columns, check_layout
from .state_machine import ManagerStateMachine, Record
from .subject import Field, Object, refuses, same


class DoublingRules(ManagerStateMachine):
    """The capacity is what was asked for, or needed."""

    @rule(rows=st.integers(0, 300))
    def reserve(self, rows: int) -> None:
        before = self.manager.capacity
        self.manager.reserve(rows)
        assert self.manager.capacity == max(before, -(-rows // LINE) * LINE)
        self.version += self.manager.capacity != before

    @rule()
    def shrink_to_fit(self) -> None:
        before = self.manager.capacity
        self.manager.shrink_to_fit()
        assert self.manager.capacity == -(-self.smallest() // LINE) * LINE
        self.version += self.manager.capacity != before


class DoublingCases(MemoryCases):
    """Columns at every size, and room that is used to the last row."""

    def test_columns_follow_each_other_at_every_size(self) -> None:
        source, m = self.new()
        self.add(source, m, 3)
        for rows in (64, 128, 192, 1000):
            m.reserve(rows)
            check_columns(m.data, m.LAYOUT, m.capacity)
            assert m.data.buffer.nbytes <= m.nbytes

    @pytest.mark.parametrize("one_by_one", [0, LINE // 2])
    def test_capacity_holds_without_growing(self, one_by_one: int) -> None:
        source, m = self.new()
        m.reserve(LINE)
        full, buffer = m.capacity, m.data.buffer
        assert full == max(LINE, self.subject.capacity)
        self.add(source, m, full - one_by_one)
        for _ in range(one_by_one):
            self.add_one(source, m)
        assert m.data.buffer is buffer
        assert m.capacity == full


FEW_ROWS = 20_000
"""At most so many rows are quick to fill."""


class ReservedRules(ManagerStateMachine):
    """The buffer stays."""

    def watch(self) -> None:
        super().watch()
        self.buffer = self.manager.data.buffer

    def has_room(self, owners: Sequence[int]) -> bool:
        fits = self.rows_needed(owners) <= self.subject.capacity
        return fits and super().has_room(owners)

    @rule(rows=st.integers(0, 300))
    def reserve(self, rows: int) -> None:
        if rows <= self.manager.capacity:
            self.manager.reserve(rows)

    @rule()
    def shrink_to_fit(self) -> None:
        self.manager.shrink_to_fit()

    @invariant()
    def the_buffer_stays(self) -> None:
        assert self.manager.data.buffer is self.buffer
        assert self.manager.capacity == self.subject.capacity


class ReservedCases(MemoryCases):
    """All rows that are reserved can be had, and no more."""

    def test_the_last_row_is_there(self) -> None:
        source, m = self.new()
        if m.capacity > FEW_ROWS:
            pytest.skip(f"filling {m.capacity} rows takes long")
        self.add(source, m, m.capacity - 1)
        self.add_one(source, m)
        with self.unchanged(m):
            refuses(CapacityError, self.add_one, source, m)
            refuses(CapacityError, self.add, source, m, 1)
        check_columns(m.data, m.LAYOUT, m.capacity)
        m.clear()
        m.shrink_to_fit()
        self.check_unused(m, 0)


class IndirectRules(ManagerStateMachine):
    """A row that ever had a value other than the default has a cold row until it is removed."""

    def __init__(self) -> None:
        self.cold: set[Record] = set()
        super().__init__()

    @invariant()
    def cold_rows_agree(self) -> None:
        cold, fields = self.manager.data.cold, self.subject.cold_fields
        for record in map(self.at, self.used()):
            if not all(f.is_default(record.values[f.name]) for f in fields):
                self.cold.add(record)
        self.cold &= set(map(self.at, self.used()))
        rows = cold.row.tolist()
        assert cold.n == len(rows) == len(self.cold)
        assert {self.at(row) for row in rows} == self.cold
        for field in fields:
            expected = [self.at(row).stored(field) for row in rows]
            assert same(self.subject.read_column(cold, field), expected)


class IndirectCases(Cases):
    """The second buffer, case by case."""

    def other(self, field: Field) -> Any:
        """Return a value that is not the default."""
        samples = (field.sample(k) for k in range(2))
        return next(value for value in samples if not field.is_default(value))

    def test_the_layout_of_the_second_buffer(self) -> None:
        source, m = self.new(5 * LINE)
        for count in (1, LINE, 3 * LINE):
            self.add(source, m, count, **self.subject.samples(count))
            check_columns(m.data.cold, m.LAYOUT_COLD, m.data.cold.allocated)
        refuses(ValueError, "read-only", m.data.cold.row.fill, 0)
        check_layout(m.LAYOUT_COLD, self.subject.cold_columns)
        names = [column.name for column in self.subject.cold_columns]
        assert all(hasattr(m.data.cold, name) for name in names)
        assert not any(hasattr(m.data, name) for name in {*names} - {"row"})

    def test_defaults_take_no_cold_row(self) -> None:
        source, m = self.new()
        row = self.add_one(source, m, **{f.name: f.default for f in self.subject.fields})
        for field in self.subject.cold_fields:
            getattr(m, f"set_{field.name}")(row, field.default)
        assert len(m.data.cold.row) == 0

    def test_cold_columns_are_written(self) -> None:
        for field in self.subject.cold_fields:
            if field.name in self.subject.split:
                continue
            source, m = self.new()
            self.add(source, m, 3)
            for row in range(3):
                getattr(m, f"set_{field.name}")(row, self.other(field))
            values = [field.sample(k) for k in (7, 8, 9)]
            setattr(m.data.cold, field.name, values)
            self.check_column(m, field, values)
            setattr(m.data.cold, field.name, field.sample(4))
            self.check_column(m, field, [field.sample(4)] * 3)
            for value, error in field.wrong():
                with pytest.raises(error, match=field.name):
                    setattr(m.data.cold, field.name, [field.sample(0), value, value])
            self.check_column(m, field, [field.sample(4)] * 3)


class ObjectsCases(Cases):
    """Objects are kept as they are."""

    def test_objects_are_themselves(self) -> None:
        source, m = self.new()
        first, second = [1, 2, 3], {"key": np.zeros(2)}
        for name in (f.name for f in self.subject.fields if isinstance(f, Object)):
            row = self.add_one(source, m, **{name: first})
            assert getattr(m, name)(row) is first
            getattr(m, f"set_{name}")(row, second)
            assert getattr(m, name)(row) is second
            rows = self.add(source, m, 2, **{name: [first, second]})
            assert [getattr(m, name)(row) for row in rows] == [first, second]
            for thing in (("a", "b"), {"a": 1, "b": 2}, "ab", object()):
                rows = self.add(source, m, 2, **{name: thing})
                assert all(getattr(m, name)(row) is thing for row in rows)
