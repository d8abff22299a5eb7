"""Where columns lie: in buffers that grow, in reserved ones, cold fields in one of their own."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from ..errors import CapacityError, StaleInstanceError, StaleViewWarning
from ..handles import NIL
from .cases import LINE, PAGE, Cases, MemoryCases, State, check_columns, check_layout
from .machine import Machine, Record
from .subject import Field, Float, Object, reborn, refuses, same, through_pickle

# --- A full buffer is replaced by one of at least twice the size ----------------------


class DoublingRules(Machine):
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
            refuses(StaleViewWarning, m.reserve, 2 * m.capacity)
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


# --- All rows are there from the start: nothing ever moves to another buffer ----------


SMALL_BATCH = 20_000
"""So many rows are few enough to be filled."""


class ReservedRules(Machine):
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
        refuses(CapacityError, self.manager.reserve, self.manager.capacity + 1)

    @invariant()
    def the_buffer_stays(self) -> None:
        assert self.manager.data.buffer is self.buffer
        assert self.manager.capacity == self.subject.capacity


class ReservedCases(MemoryCases):
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
        if m.capacity <= SMALL_BATCH:
            refuses(CapacityError, self.add, source, m, m.capacity - 2)
            assert State(self.subject, m) == before

    def test_the_last_row_is_there(self) -> None:
        source, m = self.new()
        if m.capacity > SMALL_BATCH:
            pytest.skip(f"filling {m.capacity} rows takes long")
        self.add(source, m, m.capacity - 1)
        self.add_one(source, m)
        with self.unchanged(m):
            refuses(CapacityError, self.add_one, source, m)
            refuses(CapacityError, self.add, source, m, 1)
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
        if m.capacity > SMALL_BATCH:
            assert m.nbytes < m.capacity * per_row

    def test_what_is_behind_is_given_back(self) -> None:
        source, m = self.new()
        count = min(m.capacity, SMALL_BATCH)
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


# --- Cold fields: rows take places in a second buffer with another value --------------


class IndirectRules(Machine):
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


class IndirectCases(Cases):
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
            check_columns(m.data.cold, m.LAYOUT_COLD, m.data.cold.allocated)
        check_layout(m.LAYOUT_COLD, self.subject.cold_columns)

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
        with self.unchanged(m):
            for field in self.subject.cold_fields:
                for value, error in field.wrong():
                    self.check_refused(source, m, field, value, error)
                with pytest.raises(StaleInstanceError):
                    getattr(m, f"set_{field.name}")(1, self.other(field))
                refuses(StaleInstanceError, getattr(m, field.name), NIL)
            assert m.data.cold.n == 0

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


# --- Fields of type object: what leaves is let go of ----------------------------------


class Thing:
    """Something that can be watched."""


class ObjectsCases(Cases):
    """Objects are kept as they are, and no longer than their row."""

    @property
    def names(self) -> list[str]:
        """The fields that hold objects."""
        return [
            field.name for field in self.subject.fields if isinstance(field, Object)
        ]

    def held(self, count: int) -> tuple[Any, list[int], list[list[weakref.ref[Thing]]]]:
        """Return a manager whose rows alone hold objects, and references by field and row."""
        source, m = self.new()
        things = {name: [Thing() for _ in range(count)] for name in self.names}
        rows = self.add(source, m, count, **things)
        return (
            m,
            rows,
            [[weakref.ref(thing) for thing in row] for row in things.values()],
        )

    @pytest.mark.parametrize(
        ("leave", "gone"),
        [
            (lambda m: m.destroy(0), [0]),
            (lambda m: m.destroy(3), [3]),
            (lambda m: m.destroy_many([0, 3]), [0, 3]),
            (lambda m: m.destroy_many([1, 0]), [0, 1]),
            (lambda m: m.destroy_many([3, 1, 2]), [1, 2, 3]),
            (lambda m: m.clear(), [0, 1, 2, 3]),
        ],
    )
    def test_objects_go_with_their_row(
        self, leave: Callable[[Any], object], gone: list[int]
    ) -> None:
        m, _, references = self.held(4)
        leave(m)
        gc.collect(1)  # what is new: all of it would take a second where much is loaded
        for column in references:
            assert [
                k for k, reference in enumerate(column) if reference() is None
            ] == gone

    def test_growing_and_shrinking_keep_objects(self) -> None:
        m, _, references = self.held(3)
        m.reserve(self.subject.reserve or 1000)
        m.shrink_to_fit()
        gc.collect(1)  # what is new: all of it would take a second where much is loaded
        assert all(
            reference() is not None for column in references for reference in column
        )
        for name, column in zip(self.names, references, strict=True):
            assert [getattr(m, name)(row) for row in range(3)] == [
                thing() for thing in column
            ]

    def test_objects_are_themselves(self) -> None:
        source, m = self.new()
        one, two = [1, 2, 3], {"key": np.zeros(2)}
        for name in self.names:
            row = self.add_one(source, m, **{name: one})
            assert getattr(m, name)(row) is one
            getattr(m, f"set_{name}")(row, two)
            assert getattr(m, name)(row) is two
            rows = self.add(source, m, 2, **{name: [one, two]})
            assert [getattr(m, name)(row) for row in rows] == [one, two]

    def test_a_list_of_another_length_is_refused(self) -> None:
        source, m = self.new()
        whole = ["a", "list"]
        for name in self.names:
            for wrong in (whole, np.array(whole, object), []):
                with pytest.raises(ValueError, match=r"write \[x\] \* 3"):
                    self.add(source, m, 3, **{name: wrong})
            assert m.data.n == 0
            rows = self.add(source, m, 3, **{name: [whole] * 3})
            assert all(getattr(m, name)(row) is whole for row in rows)
            m.destroy_many(rows)

    def test_anything_else_is_one_object_for_all(self) -> None:
        source, m = self.new()
        for name in self.names:
            for one in (("a", "b", "c"), {"a": 1}, "abc", Thing()):
                rows = self.add(source, m, 3, **{name: one})
                assert all(getattr(m, name)(row) is one for row in rows)
                m.destroy_many(rows)

    def test_objects_count_as_memory(self) -> None:
        source, m = self.new(10_000)
        objects = {name: list(range(10_000)) for name in self.names}
        self.add(source, m, 10_000, **objects)
        assert m.nbytes >= 10_000 * (
            sum(c.nbytes for c in self.subject.columns) + 8 * len(self.names)
        )
