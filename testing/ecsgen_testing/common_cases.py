"""Direct cases of every manager, each of which builds on `Cases`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from operator import contains
from typing import Any, ClassVar

import numpy as np
import pytest
from ecsgen_runtime.base.errors import BrokenManagerError, StaleInstanceError, StructureLockedError
from ecsgen_runtime.base.handles import NIL, EntityArray

from .subject import (
    MANY,
    Bytes,
    Column,
    Enum,
    Field,
    Object,
    Subject,
    raise_error,
    refuses,
    same,
    skipped_if_full,
)

INTERRUPTED = property(lambda _: 0, raise_error)
"""A version that cannot be counted up, which is the last thing in each change."""


class Cases:
    """A manager to try things on, and how to look at it."""

    subject: ClassVar[Subject]

    @pytest.fixture(autouse=True)
    def plenty_of_room(self) -> Iterator[None]:
        """Give rings so much room that no row evicts another, and fill unique fields."""
        with self.subject.room_for(MANY), self.subject.filled():
            yield

    def new(self, room: int = 0) -> tuple[Any, Any]:
        """Return the entities, None without owners, and a manager that may have `room` rows."""
        if 0 < (reserve := self.subject.reserve) < room:
            pytest.skip(f"no more than {reserve} rows are reserved, {room} are needed")
        if not self.subject.is_owned:
            return None, self.subject.made()
        entities = self.subject.entities()
        return entities, self.subject.made(entities)

    @pytest.fixture(name="m")
    def manager(self) -> Any:
        """Return a manager without rows."""
        return self.new()[1]

    def add_one(self, source: Any, m: Any, /, **values: Any) -> int:
        """Create an instance with a new owner, and return its row."""
        (owner,) = self.owners(source, 1).tolist()
        return self.subject.create(m, owner, **values)

    def add(self, source: Any, m: Any, count: int, /, **columns: Any) -> list[int]:
        """Create `count` instances with new owners, and return their rows."""
        return self.subject.create_many(m, self.owners(source, count), **columns)

    def owners(self, source: Any, count: int) -> EntityArray:
        """Return new owners, zeros where there are none."""
        with skipped_if_full():
            return np.zeros(count, np.uint64) if source is None else source.create_many(count)

    def changes(self, source: Any, m: Any) -> list[Callable[[], object]]:
        """Return a change of each kind for a manager of several rows; first those that add some."""
        rows: list[int] = m.data._used_rows().tolist()
        calls = [
            ("destroy", rows[0]),
            ("destroy", rows[-1]),
            ("destroy_many", [rows[0], rows[-1]]),
            ("sort", np.arange(m.data.n) * 3 % 5),
            ("reorder", np.arange(m.data.n)),
            ("activate", rows[-1]),
            ("deactivate", rows[0]),
            ("activate_many", rows[1:3]),
            ("deactivate_many", rows[:2]),
        ]
        by_name = [
            partial(getattr(m, name), argument) for name, argument in calls if hasattr(m, name)
        ]
        return [partial(self.add_one, source, m), partial(self.add, source, m, 2), *by_name]

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        """Return what a locked manager of three rows refuses, if it changes nothing as well."""
        ids = m.id_of_many([0, 2]) if hasattr(m, "id_of_many") else []
        es = [*m][:3]
        others = [source.create()] if hasattr(m, "ensure") else []
        arguments: dict[str, list[tuple[Any, ...]]] = {
            "destroy_many": [([],)],
            "clear": [()],
            "reserve": [(1000,)],
            "shrink_to_fit": [()],
            "activate": [(1,)],
            "deactivate": [(1,)],
            "activate_many": [([1, 2],)],
            "deactivate_many": [([1, 2],)],
            "set_parent": [(1, 0), (0, NIL)],
            "set_parent_many": [([1], 0), ([0], NIL)],
            "destroy_id": [(id,) for id in ids],
            "destroy_id_many": [(ids,)],
            "ensure": [(e,) for e in others],
            "remove": [(e,) for e in (*es[:1], *others)],
            "remove_many": [(es,)],
            "gc": [()],
            "collect": [()],
        }
        calls = [
            partial(getattr(m, name), *each)
            for name, every in arguments.items()
            if hasattr(m, name)
            for each in every
        ]
        if hasattr(m, "set_parent"):
            calls += [partial(self.add_one, source, m, parent=0)]
            calls += [partial(self.add, source, m, 1, parents=0)]
        return [*self.changes(source, m), partial(self.add, source, m, 0), *calls]

    def filled(self, count: int) -> tuple[Any, Any, EntityArray]:
        """Return a manager with sample k in row k, and the key of each of `count` rows."""
        source, m = self.new(count)
        rows = self.add(source, m, count, **self.subject.samples(count))
        return source, m, np.array([self.subject.key(m, row) for row in rows], np.uint64)

    def divided(self, count: int) -> tuple[Any, Any, EntityArray]:
        """Return the same, active rows before others where there are such."""
        source, m, es = self.filled(count)
        if hasattr(m, "activate"):
            m.activate_many([0, 1])
            m.deactivate_many([count - 1])
        return source, m, es

    @contextmanager
    def unchanged(self, m: Any) -> Iterator[None]:
        """Check that nothing can be seen of what happens to a manager in the `with` block."""
        before = state_of(self.subject, m)
        yield
        assert state_of(self.subject, m) == before

    def check_values(self, m: Any, rows: Iterable[int], samples: Iterable[int]) -> None:
        """Check that rows hold those samples, in the columns and cell by cell."""
        for row, k in zip(rows, samples, strict=True):
            assert same(m.row(row), self.subject.expected(k))
            for field in self.subject.fields:
                stored = self.subject.column(m, field)[row : row + 1]
                assert same(stored, [field.stored(field.sample(k))])

    def check_unused(self, m: Any, row: int) -> None:
        """Check that nothing takes a row that is not in use."""
        names = [field.name for field in self.subject.fields]
        for name in ("row", "destroy", *names):
            refuses(StaleInstanceError, getattr(m, name), row)
        for field in self.subject.fields:
            with pytest.raises(StaleInstanceError):
                getattr(m, f"set_{field.name}")(row, field.sample(0))
        refuses(StaleInstanceError, m.destroy_many, [row])

    def check_column(self, m: Any, field: Field, values: list[Any]) -> None:
        """Check one field of all rows, as a column and cell by cell."""
        stored = [field.stored(value) for value in values]
        assert same(self.subject.column(m, field), stored)
        read = [getattr(m, field.name)(row) for row in range(len(values))]
        assert same(read, [field.read(value) for value in values])

    def check_refused(
        self, source: Any, m: Any, field: Field, value: Any, error: type[Exception]
    ) -> None:
        """Check that no way of writing takes a value, and that each names the field."""
        named = f"{self.subject.label}.{field.name}"
        both = [field.sample(0), value]
        refuses(error, named, self.add_one, source, m, **{field.name: value})
        refuses(error, named, self.add, source, m, 2, **{field.name: both})
        refuses(error, named, getattr(m, f"set_{field.name}"), 0, value)
        if field in self.subject.whole:
            refuses(error, named, setattr, m.data, field.name, both)


def state_of(subject: Subject, m: Any) -> str:
    """Return all that can be seen of a manager, to check that a failed call changed nothing."""
    used = m.data._used_rows().tolist()
    columns = [subject.column(m, f) for f in subject.fields]
    cells = [[column[row] for row in used] for column in columns]  # copies need not have holes
    has = [owner in m for owner in m]
    cold_rows = m.data.cold.row.tolist() if subject.indirect else []
    return repr((m.version, m.capacity, m.data.n, len(m), list(m), cells, has, cold_rows))


def sortable(fields: Iterable[Field]) -> list[Field]:
    """Return the fields that `sort` takes by name."""
    return [f for f in fields if not f.shape and not isinstance(f, Object)]


MOST = 256
"""Rows of a full buffer, unless it is larger from the start."""


class ValueCases(Cases):
    """Values are stored as given, or refused with nothing changed."""

    def test_setters_write_one_cell(self) -> None:
        for field in self.subject.fields:
            _, m, _ = self.filled(3)
            getattr(m, f"set_{field.name}")(1, field.sample(5))
            values = [field.read(field.sample(k)) for k in (0, 5, 2)]
            assert same([getattr(m, field.name)(row) for row in range(3)], values)
            assert m.version == 1
            getattr(m, f"set_{field.name}")(1, field.sample(1))
            self.check_values(m, range(3), range(3))

    def test_columns_write_many_cells(self) -> None:
        for field in self.subject.whole:
            _, m, _ = self.filled(3)
            samples = [field.sample(k) for k in (7, 8, 9)]
            for values in (samples, field.array(samples)):
                setattr(m.data, field.name, field.sample(0))
                setattr(m.data, field.name, values)
                self.check_column(m, field, samples)
            setattr(m.data, field.name, getattr(m.data, field.name)[::-1])
            self.check_column(m, field, samples[::-1])
            setattr(m.data, field.name, field.sample(4))
            self.check_column(m, field, [field.sample(4)] * 3)
            setattr(m.data, field.name, getattr(m.data, field.name))
            self.check_column(m, field, [field.sample(4)] * 3)

    def test_bulk_columns_broadcast(self) -> None:
        for field in self.subject.fields:
            for array in (False, True):
                source, m = self.new()
                value = field.sample(3)
                if array and isinstance(field, Object):  # one per row, or none
                    continue
                values = field.array([value]) if array else value
                self.add(source, m, 3, **{field.name: values})
                self.check_column(m, field, [value] * 3)

    @pytest.mark.parametrize("is_full", [False, True])
    def test_bad_values_change_nothing(self, is_full: bool) -> None:
        source, m = self.new()
        m.reserve(64)
        self.add(source, m, min(m.capacity, MOST) if is_full else 2)
        before = state_of(self.subject, m)
        for field, value, error in self.subject.wrong():
            self.check_refused(source, m, field, value, error)
            assert state_of(self.subject, m) == before

    def test_tags_name_columns(self) -> None:
        _, m, _ = self.filled(2)
        for tag, names in self.subject.tagged.items():
            group = m.data.tagged(tag)
            assert group._fields == names
            for name, column in zip(names, group, strict=True):
                column_of_rows = getattr(m.data, name, None)
                if column_of_rows is not None:  # those of the second buffer are elsewhere
                    assert column.__array_interface__ == column_of_rows.__array_interface__
        refuses(ValueError, "no_such_tag", m.data.tagged, "no_such_tag")


class StructureCases(Cases):
    """Rows in use, locks, and changes that fail."""

    def test_rows_not_in_use(self) -> None:
        _, m, es = self.filled(3)
        for row in (3, 63, 64, -1, -3, NIL, 2**31, 2**63, 2**64, -(2**70)):
            self.check_unused(m, row)
        assert len(m) == m.data.n == 3
        assert list(m) == es.tolist()
        self.check_values(m, range(3), range(3))

    def rows_by_key(self, m: Any) -> dict[tuple[int, ...], Any]:
        """Return the values of all rows, each of which is found by its entity and its id."""
        rows = {}
        for row in m.data._used_rows().tolist():
            key = (self.subject.key(m, row), *([m.id_of(row)] if hasattr(m, "id_of") else []))
            assert self.subject.find(m, key[0]) == row
            assert len(key) == 1 or m.resolve(key[1]) == row
            rows[key] = m.row(row)
        return rows

    def check_searches(self, m: Any) -> None:
        """Check what else finds rows."""

    def test_rows_outlast_changes(self) -> None:
        """Change some rows in two ways, then add some: the rest are found as they were."""
        kinds = range(len(self.changes(*self.filled(6)[:2])))
        for pair in product(kinds, repeat=2):
            source, m, _ = self.divided(6)
            for kind in (*pair, 0, 1):
                before, count = self.rows_by_key(m), len(m)
                self.check_searches(m)
                self.changes(source, m)[kind]()
                after = self.rows_by_key(m)
                remaining = before.keys() & after.keys()
                assert len(remaining) == min(count, len(m))
                assert same([after[key] for key in remaining], [before[key] for key in remaining])
                self.check_searches(m)

    def test_locked(self) -> None:
        source, m, _ = self.divided(3)
        with self.unchanged(m), m.locked():
            for call in self.structural_calls(source, m):
                refuses(StructureLockedError, f"{self.subject.label}Manager", call)
        m.destroy(0)

    def test_what_fails_halfway_breaks_the_manager(self) -> None:
        for kind in range(len(self.changes(*self.filled(3)[:2]))):
            source, m, es = self.divided(3)
            data, change = m.data, self.changes(source, m)[kind]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(m.data), "_version", INTERRUPTED, raising=False)
                refuses(ZeroDivisionError, change)
            assert repr(m) == f"<broken {self.subject.label}Manager>"
            assert isinstance(m, self.subject.manager)
            calls: list[tuple[Any, ...]] = [(len, m), (contains, m, es[0]), (iter, m)]
            calls += [(getattr, m, name) for name in ("data", "row", "clear")]
            for call, *arguments in [*calls, (setattr, m, "data", None)]:
                refuses(BrokenManagerError, self.subject.label, call, *arguments)
            refuses(BrokenManagerError, getattr, data, "n")
            refuses(BrokenManagerError, setattr, data, "n", 0)


def check_fields(subject: Subject, infos: Any) -> None:
    """Check what a component says of its fields, and the defaults of its row class."""
    assert type(infos) is tuple
    fields = {field.name: field for field in subject.seen + subject.unique}
    assert tuple(info.name for info in infos) == subject.row._fields
    assert sorted(info.name for info in infos) == sorted(fields)
    for info in infos:
        field = fields[info.name]
        is_object = isinstance(field, Object)
        assert info.dtype == (None if is_object else np.dtype(field.dtype))
        assert info.shape == field.shape
        assert info.enum is (field.enum if isinstance(field, Enum) else None)
        is_padded = isinstance(field, Bytes)
        default = field.read(field.default) if is_padded else field.default
        assert same(info.default, default)
        names = subject.split.get(field.name, (field.name,))
        tagged = [t for t, having in subject.tagged.items() if {*names} <= {*having}]
        assert sorted(info.tags) == sorted(tagged)
        assert type(info.type) is type(info.unit) is type(info.doc) is str
    defaults = {info.name: info.default for info in infos}
    assert same(subject.row(), subject.row(**defaults))


class ReflectionCases(Cases):
    """The schema's fields, and the defaults of rows."""

    def test_fields_are_those_of_the_schema(self, m: Any) -> None:
        check_fields(self.subject, self.subject.manager.FIELDS)
        assert m.FIELDS is m.data.FIELDS is self.subject.manager.FIELDS


PAGE = 4096
LINE = 64


def check_columns(data: Any, layout: Any, capacity: int) -> None:
    """Check that every column of a buffer lies where it should, one behind the other."""
    start, end = data.buffer.__array_interface__["data"][0], 0
    for column in layout:
        view = getattr(data, column.name, None)
        if view is not None and len(view):  # links have no view
            assert view.__array_interface__["data"][0] == start + end, column.name
            assert view.flags.c_contiguous
        assert column.offset(capacity) == end
        end += column.nbytes * capacity
    assert capacity % LINE == 0
    assert capacity == 0 or start % LINE == 0
    assert data.buffer.dtype == np.uint8
    assert data.buffer.shape == (-(-end // PAGE) * PAGE,)


def check_layout(layout: Any, columns: Iterable[Column]) -> None:
    """Check that columns are what the schema says."""
    assert [(c.name, c.dtype, c.shape, c.nbytes, c.tags) for c in layout] == [
        (c.name, np.dtype(c.dtype), c.shape, c.nbytes, c.tags) for c in columns
    ]


class MemoryCases(Cases):
    """The layout that the schema asks for."""

    def test_layout_is_what_the_schema_says(self) -> None:
        check_layout(self.subject.manager.LAYOUT, self.subject.columns)

    def test_columns_follow_each_other(self) -> None:
        source, m = self.new()
        assert m.capacity == m.data.allocated == self.subject.capacity
        check_columns(m.data, m.LAYOUT, m.capacity)
        self.add(source, m, 3)
        check_columns(m.data, m.LAYOUT, m.capacity)

    def test_every_row_is_kept(self) -> None:
        source, m = self.new(2 * LINE + 1)
        rows = []
        for k in range(2 * LINE + 1):
            rows.append(self.add_one(source, m, **self.subject.sample(k)))
        self.check_values(m, rows, range(2 * LINE + 1))
        owners = [self.subject.key(m, row) for row in rows]
        assert [self.subject.find(m, owner) for owner in owners] == rows


class CommonCases(MemoryCases, ReflectionCases, StructureCases, ValueCases):
    """Memory, what components say of themselves, structure and values."""
