"""All rows are there from the start: nothing ever moves to another buffer."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from ...errors import CapacityError
from .. import machine, memory
from ..base import State
from ..fields import Field
from ..machine import through_pickle
from ..memory import LINE, PAGE

FEW = 20_000
"""So many rows are few enough to be filled."""


class Rules(machine.Machine):
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

    @rule()
    def more_than_is_reserved(self) -> None:
        with pytest.raises(CapacityError):
            self.manager.reserve(self.manager.capacity + 1)

    @invariant()
    def the_buffer_stays(self) -> None:
        assert self.manager.data.buffer is self.buffer
        assert self.manager.capacity == self.subject.capacity


class Cases(memory.Cases):
    """Views stay good, and memory follows use."""

    def test_all_rows_are_there_from_the_start(self) -> None:
        _, m, _ = self.filled(3)
        buffer = m.data.buffer
        assert m.capacity == m.data.allocated == self.subject.capacity
        m.shrink_to_fit()
        m.reserve(m.capacity)
        m.clear()
        m.shrink_to_fit()
        assert m.data.buffer is buffer
        assert m.capacity == self.subject.capacity
        assert m.version == 2

    def test_too_many_rows_change_nothing(self) -> None:
        source, m, _ = self.filled(3)
        before = State(self.subject, m)
        with pytest.raises(CapacityError, match=f"{self.subject.label}Manager"):
            m.reserve(m.capacity + 1)
        if m.capacity <= FEW:
            with pytest.raises(CapacityError):
                self.add(source, m, m.capacity - 2)
            assert State(self.subject, m) == before

    def test_the_last_row_is_there(self) -> None:
        source, m = self.new()
        if m.capacity > FEW:
            pytest.skip(f"filling {m.capacity} rows takes long")
        self.add(source, m, m.capacity - 1)
        self.add_one(source, m)
        before = State(self.subject, m)
        with pytest.raises(CapacityError):
            self.add_one(source, m)
        with pytest.raises(CapacityError):
            self.add(source, m, 1)
        assert State(self.subject, m) == before
        self.check_buffer(m)
        m.clear()
        m.shrink_to_fit()
        self.check_unused(m, 0)

    def test_views_stay_good(self) -> None:
        source, m, _ = self.filled(2)
        if m.capacity < 4 * LINE:
            pytest.skip("nothing grows in so few rows")
        views = {f.name: getattr(m.data, f.name) for f in self.subject.whole}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.add(source, m, 3 * LINE)
            m.shrink_to_fit()
        for field in self.subject.whole:
            setattr(m.data, field.name, field.sample(5))
            assert views[field.name].tolist() == [field.stored(field.sample(5))] * 2

    def test_memory_follows_use(self) -> None:
        source, m = self.new()
        empty = m.nbytes
        self.add(source, m, LINE)
        per_row = sum(column.nbytes for column in self.subject.columns)
        assert m.nbytes >= empty + LINE * per_row
        if m.capacity > FEW:
            assert m.nbytes < m.capacity * per_row

    def test_what_is_behind_is_given_back(self) -> None:
        source, m = self.new()
        count = min(m.capacity, FEW)
        self.add(source, m, count, **self.ones(count))
        rows = sorted(self.found(m, owner) for owner in m)
        m.destroy_many(rows[3:])
        kept = [m.row(row) for row in range(3)]
        m.shrink_to_fit()
        assert [m.row(row) for row in range(3)] == kept
        for column in m.LAYOUT:
            start = column.offset(m.capacity) + column.nbytes * LINE
            end = column.offset(m.capacity) + column.nbytes * m.capacity
            pages = m.data.buffer[-(-start // PAGE) * PAGE : end // PAGE * PAGE]
            if hasattr(m.data, column.name):
                assert not pages.any(), column.name

    def ones(self, count: int) -> dict[str, Any]:
        """Return columns with something in every row."""
        return {
            f.name: f.array([self.something(f)] * count) for f in self.subject.fields
        }

    def something(self, field: Field) -> Any:
        """Return a value whose bytes are not all zero."""
        values = (field.sample(k) for k in range(4))
        return next(v for v in values if any(field.array([v]).tobytes()))

    def test_saving_saves_what_is_in_use(self) -> None:
        source, m, _ = self.filled(3)
        _, other = through_pickle((source, m))
        assert State(self.subject, other) == State(self.subject, m)
        assert other.capacity == self.subject.capacity
