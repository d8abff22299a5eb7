"""Direct cases of values: defaults, every way to write and read them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from . import base
from .base import State
from .fields import Object
from .subject import same

MOST = 256
"""Rows of a full buffer, unless it is larger from the start."""


class Cases(base.Cases):
    """Values are stored as given, or refused with nothing changed."""

    def test_what_is_left_out_takes_its_default(self) -> None:
        source, m = self.new()
        self.add_one(source, m)
        self.add(source, m, 2)
        for row in range(3):
            assert same(m.row(row), self.subject.read({}))

    def test_one_row(self) -> None:
        source, m = self.new()
        for k in range(3):
            self.add_one(source, m, **self.subject.sample(k))
        self.check_values(m, range(3), range(3))
        for row in range(3):
            assert type(m.row(row)) is self.subject.row
            assert same(self.subject.one_row(m, row), m.row(row))

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
            for given in (samples, field.array(samples)):
                setattr(m.data, field.name, field.sample(0))
                setattr(m.data, field.name, given)
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
                given = field.array([value]) if array else value
                self.add(source, m, 3, **{field.name: given})
                self.check_column(m, field, [value] * 3)

    def test_bad_values_change_nothing(self) -> None:
        source, m, _ = self.filled(2)
        before = State(self.subject, m)
        for field in self.subject.fields:
            for value, error in field.wrong():
                self.check_refused(source, m, field, value, error)
                assert State(self.subject, m) == before

    def test_columns_of_a_wrong_length_change_nothing(self) -> None:
        source, m, _ = self.filled(3)
        before = State(self.subject, m)
        for field in self.subject.fields:
            if isinstance(field, Object):  # then it is one object for all
                continue
            for given in ([field.sample(0)] * 2, field.array([field.sample(0)] * 4)):
                with pytest.raises(ValueError, match=field.name):
                    self.add(source, m, 3, **{field.name: given})
                if field in self.subject.whole:
                    with pytest.raises(ValueError, match=field.name):
                        setattr(m.data, field.name, given)
        assert State(self.subject, m) == before

    def test_bad_values_change_nothing_when_the_buffer_is_full(self) -> None:
        source, m = self.new()
        m.reserve(64)
        self.add(source, m, min(m.capacity, MOST))
        before = State(self.subject, m)
        for field in self.subject.fields:
            for value, error in field.wrong():
                self.check_refused(source, m, field, value, error)
        assert State(self.subject, m) == before

    def test_unknown_fields_are_refused(self) -> None:
        source, m = self.new()
        with pytest.raises(TypeError):
            self.add_one(source, m, no_such_field=1)
        with pytest.raises(TypeError):
            self.add(source, m, 1, no_such_field=1)
        assert len(m) == 0

    def test_tags_name_columns(self) -> None:
        _, m, _ = self.filled(2)
        for tag, names in self.subject.tagged.items():
            group = m.data.tagged(tag)
            assert group._fields == names
            for name, column in zip(names, group, strict=True):
                own = getattr(m.data, name, None)
                if own is not None:  # those of the second buffer are elsewhere
                    assert column.__array_interface__ == own.__array_interface__
        with pytest.raises(ValueError, match="no_such_tag"):
            m.data.tagged("no_such_tag")

    def test_rows_are_copies(self) -> None:
        _, m, _ = self.filled(2)
        row = m.row(0)
        for field in self.subject.fields:
            getattr(m, f"set_{field.name}")(0, field.sample(1))
        assert same(row, self.subject.read(self.subject.sample(0)))

    def test_arrays_given_are_not_kept(self) -> None:
        for field in self.subject.fields:
            if field.dtype == "O":
                continue
            source, m = self.new()
            given = field.array([field.sample(0), field.sample(1)])
            self.add(source, m, 2, **{field.name: given})
            given[0] = given[1]
            self.check_column(m, field, [field.sample(0), field.sample(1)])
            assert not np.may_share_memory(given, m.data.buffer)

    def test_a_transposed_column_is_not_the_column(self) -> None:
        for field in self.subject.whole:
            if len(field.shape) != 1 or field.shape[0] < 2:
                continue
            _, m, _ = self.filled(field.shape[0])
            column = getattr(m.data, field.name)
            column[0] = column[1]  # or both might be the same
            turned = column.T
            expected = turned.tolist()
            setattr(m.data, field.name, turned)
            assert same(getattr(m.data, field.name).tolist(), expected)
