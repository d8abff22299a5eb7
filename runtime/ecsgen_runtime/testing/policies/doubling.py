"""A full buffer is replaced by one of at least twice the size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from ...errors import StaleViewWarning
from .. import machine, memory
from ..base import State
from ..memory import LINE


class Rules(machine.Machine):
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


class Cases(memory.Cases):
    """Growing, shrinking, and views that outlive the buffer."""

    def test_columns_follow_each_other_at_every_size(self) -> None:
        source, m = self.new()
        self.add(source, m, 3)
        for rows in (64, 128, 192, 1000):
            m.reserve(rows)
            self.check_buffer(m)
            assert m.data.buffer.nbytes <= m.nbytes

    def test_capacity_holds_without_growing(self) -> None:
        source, m = self.new()
        m.reserve(LINE)
        full = m.capacity
        assert full == max(LINE, self.subject.capacity)
        buffer = m.data.buffer
        self.add(source, m, full - LINE // 2)
        for _ in range(LINE // 2):
            self.add_one(source, m)
        assert m.data.buffer is buffer
        source, m = self.new()
        m.reserve(full)
        self.add(source, m, full)
        assert m.capacity == full

    def test_growth_doubles(self) -> None:
        source, m = self.new()
        m.reserve(2 * LINE)
        grow: tuple[Callable[[], object], ...] = (
            lambda: self.add_one(source, m),
            lambda: self.add(source, m, 1),
        )
        for call in grow:
            held = m.capacity
            self.add(source, m, held - len(m))
            assert m.capacity == held
            call()
            assert m.capacity == 2 * held

    def test_bulk_growth_is_exact_beyond_double(self) -> None:
        source, m = self.new()
        m.shrink_to_fit()
        version = m.version
        self.add(source, m, 10 * LINE + 1)
        assert m.capacity == 11 * LINE
        assert m.version == version + 1

    def test_reserve_and_shrink(self) -> None:
        source, m, _ = self.filled(3)
        m.shrink_to_fit()
        version = m.version
        m.reserve(10 * LINE - 5)
        assert m.capacity == 10 * LINE
        assert m.version == version + 1
        m.reserve(10)
        m.reserve(10 * LINE)
        assert m.version == version + 1
        held = m.nbytes
        m.shrink_to_fit()
        assert m.capacity == LINE
        assert m.version == version + 2
        assert m.nbytes < held
        m.shrink_to_fit()
        assert m.version == version + 2
        self.check_values(m, range(3), range(3))
        m.clear()
        m.shrink_to_fit()
        assert m.capacity == self.least
        rows = self.add(source, m, 3, **self.subject.samples(3))
        self.check_values(m, rows, range(3))

    def test_held_views_warn_when_the_buffer_moves(self) -> None:
        _, m, _ = self.filled(2)
        m.shrink_to_fit()
        view = m.data.buffer[:1]
        self.check_warning(lambda: m.reserve(1000))
        view = m.data.buffer[:1]
        self.check_warning(lambda: m.reserve(10_000))
        view = m.data.buffer[:2]
        self.check_warning(lambda: m.shrink_to_fit())
        assert len(view) == 2

    @pytest.mark.parametrize("count", [1, LINE])
    def test_creations_warn_when_the_buffer_moves(self, count: int) -> None:
        source, m, _ = self.filled(1)
        view = m.data.buffer[:1]
        self.add(source, m, m.capacity - 1)
        with pytest.warns(StaleViewWarning, match=self.subject.label) as caught:
            self.add(source, m, count)
        (warning,) = caught
        assert warning.filename in self.files_with("add")
        self.add(source, m, m.capacity - len(m))
        view = m.data.buffer[:1]
        with pytest.warns(StaleViewWarning, match=self.subject.label) as caught:
            self.add_one(source, m)
        (warning,) = caught
        assert warning.filename in self.files_with("add_one")
        assert len(view) == 1

    def files_with(self, method: str) -> set[str]:
        """Return the files of these cases that have a method."""
        found = (vars(kind).get(method) for kind in type(self).__mro__)
        return {function.__code__.co_filename for function in found if function}

    def check_warning(self, call: Any) -> None:
        """Check that a lambda of one line warns once, and names the manager and that line."""
        with pytest.warns(
            StaleViewWarning, match=f"{self.subject.label}Manager"
        ) as caught:
            call()
        (warning,) = caught
        code = call.__code__
        assert warning.filename == code.co_filename
        assert warning.lineno == code.co_firstlineno

    def test_dropped_views_and_arguments_do_not_warn(self) -> None:
        source, m, es = self.filled(2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            view = m.data.buffer[:10]
            del view
            m.reserve(1000)
            held = m.capacity
            while m.capacity == held:
                every = slice(0, len(m))
                self.add(source, m, len(m), **self.subject.own_columns(m, every))
            m.shrink_to_fit()
        self.check_values(m, range(2), range(2))
        assert [self.owner(m, row) for row in range(2)] == es.tolist()

    def test_a_warning_that_is_an_error_moves_nothing(self) -> None:
        _, m, es = self.filled(LINE)
        before, buffer = State(self.subject, m), m.data.buffer
        view = buffer[:1]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(StaleViewWarning):
                m.reserve(2 * m.capacity)
        assert m.data.buffer is buffer
        assert State(self.subject, m) == before
        del view
        self.check_rows(m, es, range(LINE))

    def test_own_columns_are_arguments(self) -> None:
        source, m, _ = self.filled(LINE)
        backwards = self.subject.own_columns(m, slice(None, None, -1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleViewWarning)
            rows = self.add(source, m, LINE, **backwards)
        self.check_values(m, range(LINE), range(LINE))
        self.check_values(m, rows, reversed(range(LINE)))
