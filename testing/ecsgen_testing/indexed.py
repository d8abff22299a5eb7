"""Fields whose rows are found by value."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis.stateful import invariant
from numpy.typing import NDArray

from .common_cases import Cases
from .state_machine import ManagerStateMachine
from .subject import Field, Subject, refuses


def _values(field: Field, cells: NDArray[Any]) -> list[Any]:
    """Return values that a field takes, of stored cells."""
    if cells.dtype.kind in "mM":  # those that Python has no time for would be numbers
        return list(cells)
    if cells.dtype.kind != "S":
        values: list[Any] = cells.tolist()
        return values
    texts: list[bytes] = cells.tolist()
    return [text.decode() for text in texts] if isinstance(field.default, str) else texts


def check_index(subject: Subject, m: Any, used: list[int]) -> None:
    """Compare what indexes find with searches of the columns."""
    for field in (f for f in subject.fields if f.name in subject.indexed):
        column = getattr(m.data, field.name)
        perhaps_gone = [field.default, *(field.sample(k) for k in range(6))]
        cells = np.concatenate((column[used], field.array(perhaps_gone)))
        values = _values(field, cells)
        expected = [np.flatnonzero(column == cell) for cell in cells]
        expected = [rows[np.isin(rows, used)] for rows in expected]
        for value, rows in zip(values[-8:], expected[-8:], strict=True):
            rows_found = getattr(m, f"rows_of_{field.name}")(value)
            assert rows_found.tolist() == rows.tolist()
        starts, rows = getattr(m, f"rows_of_{field.name}_many")(values)
        assert starts.tolist() == [0, *np.cumsum([len(rows) for rows in expected])]
        assert rows.tolist() == np.concatenate(expected).tolist()


class IndexRules(ManagerStateMachine):
    """Rows are found by their values, whatever happens to them."""

    @invariant()
    def indexed_rows_are_found(self) -> None:
        used = self.used()
        if used:
            check_index(self.subject, self.manager, used)


class IndexCases(Cases):
    """Rows are found by values that any number of them may have."""

    def check_searches(self, m: Any) -> None:
        check_index(self.subject, m, m.data._used_rows().tolist())

    def test_indexed_rows_are_found(self) -> None:
        for name in self.subject.indexed:
            field = self._field(name)
            _, m, _ = self.filled(5)
            self.check_searches(m)
            getattr(m, f"set_{name}")(2, getattr(m, name)(4))
            self.check_searches(m)
            setattr(m.data, name, getattr(m.data, name)[::-1].copy())
            self.check_searches(m)
            for value, error in field.wrong():
                refuses(error, name, getattr(m, f"rows_of_{name}"), value)
                refuses(error, name, getattr(m, f"rows_of_{name}_many"), [value])
            refuses(TypeError, getattr(m, f"rows_of_{name}_many"), getattr(m, name)(0))
            assert getattr(m, f"rows_of_{name}_many")([]).starts.tolist() == [0]

    def test_indexed_columns_are_read_only(self) -> None:
        _, m, _ = self.filled(3)
        for name in self.subject.indexed:
            refuses(ValueError, "read-only", getattr(m.data, name).fill, 0)

    def _field(self, name: str) -> Field:
        return next(f for f in self.subject.fields if f.name == name)
