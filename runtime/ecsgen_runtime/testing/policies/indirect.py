"""Cold fields in a second buffer: a row takes a place there with its first other value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis.stateful import invariant

from ...errors import StaleInstanceError, StaleViewWarning
from ...handles import NIL
from .. import base, machine
from ..base import State
from ..fields import Field, Float
from ..machine import Record, through_pickle
from ..memory import LINE, PAGE
from ..subject import reborn, same


class Rules(machine.Machine):
    """Who ever had another value has a cold row, until it goes."""

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


class Cases(base.Cases):
    """The second buffer, case by case."""

    def is_placed(self, k: int) -> bool:
        """Return whether sample k takes a cold row: it may be all defaults by chance."""
        return not all(f.is_default(f.sample(k)) for f in self.subject.cold_fields)

    def check_cold(self, m: Any, every: list[tuple[int, int]]) -> None:
        """Check for each cold row whose it is, and which sample."""
        expected = [(row, k) for row, k in every if self.is_placed(k)]
        assert m.data.cold.n == len(expected)
        assert m.data.cold.row.tolist() == [row for row, _ in expected]
        for field in self.subject.cold_fields:
            stored = [field.stored(field.sample(k)) for _, k in expected]
            assert same(self.subject.read_column(m.data.cold, field), stored)

    def other(self, field: Field) -> Any:
        """Return a value that is not the default."""
        samples = (field.sample(k) for k in range(2))
        return next(value for value in samples if not field.is_default(value))

    def test_cold_fields_are_no_columns_of_data(self) -> None:
        _, m, _ = self.filled(1)
        for name in (field.name for field in self.subject.cold_fields):
            assert not hasattr(m.data, name)
            for part in self.subject.split.get(name, (name,)):
                assert hasattr(m.data.cold, part)

    def test_the_layout_of_the_second_buffer(self) -> None:
        source, m = self.new(5 * LINE)
        for count in (1, LINE, 3 * LINE):
            self.add(source, m, count, **self.subject.samples(count))
            self.check_cold_buffer(m)
        columns = [(c.name, c.dtype, c.shape, c.nbytes, c.tags) for c in m.LAYOUT_COLD]
        assert columns == [
            (c.name, np.dtype(c.dtype), c.shape, c.nbytes, c.tags)
            for c in self.subject.cold_columns
        ]

    def check_cold_buffer(self, m: Any) -> None:
        """Check that every cold column lies where it should, one behind the other."""
        cold, end = m.data.cold, 0
        start = cold.buffer.__array_interface__["data"][0]
        for column in m.LAYOUT_COLD:
            view = getattr(cold, column.name)
            assert view.__array_interface__["data"][0] == start + end
            assert column.offset(cold.allocated) == end
            end += column.nbytes * cold.allocated
        assert cold.allocated % LINE == 0
        assert start % LINE == 0 or not cold.allocated  # nothing lies anywhere
        assert cold.buffer.nbytes == -(-end // PAGE) * PAGE

    def test_defaults_take_no_place(self) -> None:
        source, m = self.new()
        defaults = {field.name: field.default for field in self.subject.cold_fields}
        self.add_one(source, m)
        self.add(source, m, 3)
        self.add_one(source, m, **defaults)
        self.add(source, m, 3, **{name: [v] * 3 for name, v in defaults.items()})
        for name, value in defaults.items():
            getattr(m, f"set_{name}")(0, value)
        assert (m.data.cold.n, m.data.cold.row.tolist()) == (0, [])
        assert same(m.row(7), self.subject.read({}))

    def test_the_first_other_value_takes_a_place(self) -> None:
        for field in self.subject.cold_fields:
            source, m = self.new()
            self.add(source, m, 3)
            version = m.version
            with m.locked():
                getattr(m, f"set_{field.name}")(1, self.other(field))
                getattr(m, f"set_{field.name}")(1, self.other(field))
            assert m.data.cold.row.tolist() == [1]
            assert m.version == version
            expected = self.subject.read({field.name: self.other(field)})
            assert same(m.row(1), expected)
            assert same(m.row(0), self.subject.read({}))
            getattr(m, f"set_{field.name}")(1, field.default)
            assert m.data.cold.row.tolist() == [1]
            assert same(m.row(1), self.subject.read({}))

    def test_a_place_begins_with_defaults(self) -> None:
        source, m, _ = self.filled(3)
        m.clear()
        assert m.data.cold.n == 0
        for field in self.subject.cold_fields:
            self.add_one(source, m, **{field.name: self.other(field)})
            values = {field.name: self.other(field)}
            assert same(m.row(len(m) - 1), self.subject.read(values))
        m.clear()
        self.add(source, m, 2)
        for field in self.subject.cold_fields:
            getattr(m, f"set_{field.name}")(0, self.other(field))
            getattr(m, f"set_{field.name}")(0, field.default)
        assert m.data.cold.n == 1
        assert same(m.row(0), self.subject.read({}))

    def test_some_of_many_take_places(self) -> None:
        for field in self.subject.cold_fields:
            source, m = self.new()
            other, default = self.other(field), field.default
            values = [default, other, default, other]
            rows = self.add(source, m, 4, **{field.name: values})
            assert sorted(m.data.cold.row.tolist()) == sorted([rows[1], rows[3]])
            read = [field.read(value) for value in values]
            assert same([getattr(m, field.name)(row) for row in rows], read)

    def test_the_last_place_fills_the_hole(self) -> None:
        for gone in range(3):
            _, m, owners = self.filled(3)
            m.destroy(gone)
            self.check_places(m, {k: owners[k] for k in {0, 1, 2} - {gone}})

    def test_many_places_are_given_up(self) -> None:
        _, m, owners = self.filled(9)
        m.destroy_many([0, 3, 8, 7])
        self.check_places(m, {k: owners[k] for k in (1, 2, 4, 5, 6)})

    def test_places_are_given_up_in_any_order(self) -> None:
        _, m, owners = self.filled(9)
        m.reorder(range(9)[::-1])
        m.destroy_many([0, 3, 8, 7])
        self.check_places(m, {k: owners[k] for k in (2, 3, 4, 6, 7)})

    def check_places(self, m: Any, owners: dict[int, Any]) -> None:
        """Check the values and places of samples, by whom they belong to."""
        rows = {k: self.found(m, owner) for k, owner in owners.items()}
        self.check_values(m, rows.values(), rows)
        placed = [row for k, row in rows.items() if self.is_placed(k)]
        assert sorted(m.data.cold.row.tolist()) == sorted(placed)

    def test_places_follow_their_rows(self) -> None:
        _, m, _ = self.filled(4)
        self.check_cold(m, [(0, 0), (1, 1), (2, 2), (3, 3)])
        m.reorder([3, 2, 1, 0])
        self.check_cold(m, [(3, 0), (2, 1), (1, 2), (0, 3)])
        self.check_values(m, range(4), [3, 2, 1, 0])

    def test_cold_columns_are_written(self) -> None:
        whole = [
            f for f in self.subject.cold_fields if f.name not in self.subject.split
        ]
        for field in whole:
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

    def test_whose_a_place_is_can_not_be_written(self) -> None:
        _, m, _ = self.filled(1)
        with pytest.raises(ValueError, match="read-only"):
            m.data.cold.row[0] = 1

    def test_refused_values_take_no_place(self) -> None:
        source, m = self.new()
        self.add(source, m, 1)
        before = State(self.subject, m)
        for field in self.subject.cold_fields:
            for value, error in field.wrong():
                self.check_refused(source, m, field, value, error)
            with pytest.raises(StaleInstanceError):
                getattr(m, f"set_{field.name}")(1, self.other(field))
            with pytest.raises(StaleInstanceError):
                getattr(m, field.name)(NIL)
        assert m.data.cold.n == 0
        assert State(self.subject, m) == before

    def test_copies_have_places_of_their_own(self) -> None:
        source, m, _ = self.filled(3)
        m.destroy(0)
        seen = m.data.cold.row.tolist()
        _, other = through_pickle((source, m))
        assert other.data.cold.row.tolist() == seen
        other.clear()
        assert m.data.cold.row.tolist() == seen
        self.check_values(m, [0], [2])

    def test_held_views_of_places_warn(self) -> None:
        source, m = self.new(2 * LINE)
        m.reserve(2 * LINE)
        self.add_places(source, m, 1)
        view = m.data.cold.buffer[:1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.add_places(source, m, LINE)
        moved = not np.may_share_memory(view, m.data.cold.buffer)
        assert [warning.category for warning in caught] == [StaleViewWarning] * moved
        assert moved or self.subject.reserve

    def test_places_are_arguments(self) -> None:
        source, m = self.new(2 * LINE)
        m.reserve(2 * LINE)
        self.add_places(source, m, LINE)
        apart = self.subject.split
        whole = [f for f in self.subject.cold_fields if f.name not in apart]
        views = {f.name: getattr(m.data.cold, f.name) for f in whole}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = self.add(source, m, LINE, **views)
        for field in whole:
            read = field.read(self.other(field))
            assert same([getattr(m, field.name)(row) for row in rows], [read] * LINE)

    def test_places_are_arguments_before_they_move(self) -> None:
        for field in self.subject.cold_fields:
            source, m, es = self.filled(4)
            if source is None or field.name in self.subject.split:
                continue
            put, value = getattr(m, f"set_{field.name}"), self.other(field)
            put(0, value)
            (last,) = self.add(source, m, 1, **{field.name: [value]})
            put(last, field.default)  # it keeps the last place
            place = m.data.cold.row.tolist().index(0)
            views = {field.name: getattr(m.data.cold, field.name)[place : place + 1]}
            given = views[field.name].tobytes()
            new = reborn(source, es[:1])  # drives out the row whose place that is
            if views[field.name].tobytes() != given:
                continue  # the row went with its entity
            (row,) = m.create_many(new, **views)
            assert same(getattr(m, field.name)(row), field.read(value))

    def test_rows_without_a_place_are_sorted_by_the_default(self) -> None:
        for field in self.subject.cold_fields:
            if not isinstance(field, Float) or field.shape or not field.default:
                continue
            source, m = self.new(3)
            values = [field.default, field.default / 2, field.default * 2]
            self.add(source, m, 3, **{field.name: values})
            m.sort(field.name)
            found = [getattr(m, field.name)(row) for row in range(3)]
            assert same(found, [field.read(value) for value in sorted(values)])

    def add_places(self, source: Any, m: Any, count: int) -> None:
        """Create rows that take a place each."""
        fields = self.subject.cold_fields
        self.add(source, m, count, **{f.name: [self.other(f)] * count for f in fields})

    def test_places_count_as_memory(self) -> None:
        source, m = self.new(10 * LINE)
        self.add(source, m, 10 * LINE)
        before = m.nbytes
        per_row = sum(column.nbytes for column in self.subject.cold_columns)
        for field in self.subject.cold_fields:
            for row in range(10 * LINE):
                getattr(m, f"set_{field.name}")(row, self.other(field))
        assert m.nbytes >= before + 10 * LINE * per_row
        m.clear()
        m.shrink_to_fit()
        assert m.nbytes < before
        self.check_unused(m, 0)

    def test_objects_leave_with_their_place(self) -> None:
        for field in self.subject.cold_fields:
            if field.dtype == "O":
                source, m, _ = self.filled(3)
                m.destroy_many([0, 1])
                self.add_one(source, m, **{field.name: None})
                assert getattr(m, field.name)(len(m) - 1) is None
