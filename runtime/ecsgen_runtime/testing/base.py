"""What direct cases start from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from ..errors import StaleInstanceError
from ..handles import EntityArray
from .fields import Field, Object
from .subject import Subject, same


def _fail(*_: object) -> None:
    raise ZeroDivisionError


INTERRUPTED = property(lambda _: 0, _fail)
"""A version that cannot be counted up, which is the last thing in each change."""


class Cases:
    """A manager to try things on, and how to look at it."""

    subject: ClassVar[Subject]
    least: ClassVar[int] = 0
    """The capacity of a manager that was emptied, and shrank."""

    def new(self, room: int = 0) -> tuple[Any, Any]:
        """Return where owners of rows come from, and a manager that may have so many rows."""
        raise NotImplementedError

    def add_one(self, source: Any, m: Any, /, **values: Any) -> int:
        """Create an instance of nobody known yet, and return its row."""
        raise NotImplementedError

    def add(self, source: Any, m: Any, count: int, /, **columns: Any) -> list[int]:
        """Create `count` instances of nobody known yet, and return their rows."""
        raise NotImplementedError

    def owner(self, m: Any, row: int) -> int:
        """Return by what a row is known, wherever it goes: its entity or its id."""
        raise NotImplementedError

    def found(self, m: Any, owner: int) -> int:
        """Return the row that is known by that, or NIL."""
        raise NotImplementedError

    def changes(self) -> list[Callable[[Any, Any], object]]:
        """Return what changes the structure of a manager that has three rows."""
        return [
            self.add_one,
            lambda source, m: self.add(source, m, 2),
            lambda source, m: m.destroy(0),
            lambda source, m: m.destroy_many([0, 2]),
        ]

    def filled(self, count: int) -> tuple[Any, Any, EntityArray]:
        """Return a manager whose row k is sample k, and by what each of `count` rows is known."""
        source, m = self.new(count)
        rows = self.add(source, m, count, **self.subject.samples(count))
        return source, m, np.array([self.owner(m, row) for row in rows], np.uint64)

    def check_rows(self, m: Any, es: EntityArray, expected: Sequence[int]) -> None:
        """Check that row i is what row and sample expected[i] were, and can be found."""
        assert len(m) == m.data.n == len(expected)
        owners = es[list(expected)].tolist()
        assert list(m) == owners
        self.check_values(m, range(len(expected)), expected)
        assert [self.owner(m, self.found(m, owner)) for owner in owners] == owners

    def check_values(self, m: Any, rows: Iterable[int], samples: Iterable[int]) -> None:
        """Check that rows hold those samples, in the columns and cell by cell."""
        for row, k in zip(rows, samples, strict=True):
            assert same(m.row(row), self.subject.read(self.subject.sample(k)))
            for field in self.subject.fields:
                stored = self.subject.column(m, field)[row : row + 1]
                assert same(stored, [field.stored(field.sample(k))])

    def check_unused(self, m: Any, row: int) -> None:
        """Check that nothing takes a row that is not in use."""
        names = [field.name for field in self.subject.fields]
        for name in ("row", "destroy", *names):
            with pytest.raises(StaleInstanceError):
                getattr(m, name)(row)
        for field in self.subject.fields:
            with pytest.raises(StaleInstanceError):
                getattr(m, f"set_{field.name}")(row, field.sample(0))
        with pytest.raises(StaleInstanceError):
            m.destroy_many([row])

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
        with pytest.raises(error, match=named):
            self.add_one(source, m, **{field.name: value})
        with pytest.raises(error, match=named):
            self.add(source, m, 2, **{field.name: both})
        with pytest.raises(error, match=named):
            getattr(m, f"set_{field.name}")(0, value)
        if field in self.subject.whole:
            with pytest.raises(error, match=named):
                setattr(m.data, field.name, both)


class State:
    """Everything that can be seen of a manager, to check that a failed call changed nothing."""

    def __init__(self, subject: Subject, m: Any) -> None:
        self.seen = (
            m.version,
            m.capacity,
            m.data.n,
            len(m),
            list(m),
            [self._used_cells(m, subject.column(m, f)) for f in subject.fields],
            [owner in m for owner in m],
        )

    @staticmethod
    def _used_cells(m: Any, column: Any) -> list[Any]:
        """Return a column without holes: what is in those, copies need not have."""
        return [column[row] for row in m.data._used_rows().tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and same(self.seen, other.seen)


def sortable(fields: Iterable[Field]) -> list[Field]:
    """Return the fields that `sort` takes by name."""
    return [f for f in fields if not f.shape and not isinstance(f, Object)]
