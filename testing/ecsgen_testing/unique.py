"""Fields of which no two rows have the same value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from ecsgen_runtime.base.errors import DuplicateValueError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases, state_of
from .state_machine import ManagerStateMachine, Record
from .subject import Field, refuses, same, values_of


class UniqueRules(ManagerStateMachine):
    """Values stay with their rows, which are found by them."""

    def __init__(self) -> None:
        self.known: WeakKeyDictionary[Record, dict[str, Any]] = WeakKeyDictionary()
        super().__init__()

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def set_unique(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        field = data.draw(st.sampled_from(self.subject.unique))
        value = data.draw(st.sampled_from(list(islice(values_of(field), 40))))
        write = getattr(self.manager, f"set_{field.name}")
        if getattr(self.manager, f"find_{field.name}")(value) in (row, NIL):
            write(row, value)
            self.known[self.at(row)][field.name] = field.stored(value)
        else:
            refuses(DuplicateValueError, write, row, value)

    @precondition(lambda self: len(self.used()) > 1)
    @rule(data=st.data())
    def exchange_values(self, data: st.DataObject) -> None:
        field = data.draw(st.sampled_from(self.subject.unique))
        used = self.used()
        column = getattr(self.manager.data, field.name).copy()
        column[used] = column[used[1:] + used[:1]]
        setattr(self.manager.data, field.name, column)
        for row in used:
            self.known[self.at(row)][field.name] = column[row].item()
        column[used[0]] = column[used[1]]
        refuses(DuplicateValueError, setattr, self.manager.data, field.name, column)

    @invariant()
    def values_are_found(self) -> None:
        used = self.used()
        for field in self.subject.unique:
            column = getattr(self.manager.data, field.name)
            cells = column.tolist()
            for row in used:
                known = self.known.setdefault(self.at(row), {})
                assert same(known.setdefault(field.name, cells[row]), cells[row])
            find_many = getattr(self.manager, f"find_{field.name}_many")
            assert find_many(column[used]).tolist() == used
            held = {cells[row] for row in used}
            candidates = islice(values_of(field), 9)
            unused = [v for v in candidates if field.stored(v) not in held]
            assert find_many(unused).tolist() == [NIL] * len(unused)


class UniqueCases(Cases):
    """Rows are found by their values, and no two have the same."""

    def three(self, field: Field) -> tuple[Any, Any, list[Any]]:
        """Return a manager with the first three values of a field, and others."""
        default = field.stored(field.default)  # which stands for nothing given
        candidates = (v for v in values_of(field) if field.stored(v) != default)
        values = list(islice(candidates, 8))
        if len(values) < 8:
            pytest.skip(f"{field.name} has too few values")
        source, m = self.new()
        self.add(source, m, 3, **{field.name: values[:3]})
        return source, m, values

    def test_rows_are_found_by_their_values(self) -> None:
        for field in self.subject.unique:
            source, m, values = self.three(field)
            row = self.add_one(source, m, **{field.name: values[3]})
            find = getattr(m, f"find_{field.name}")
            find_many = getattr(m, f"find_{field.name}_many")
            assert [find(value) for value in values] == [0, 1, 2, row, *[NIL] * 4]
            assert find_many(values[4::-1]).tolist() == [NIL, row, 2, 1, 0]
            assert find_many(field.array(values[:2])).tolist() == [0, 1]
            assert find_many([]).tolist() == []
            assert type(find(values[0])) is int
            refuses(TypeError, find_many, values[0])
            for value, error in field.wrong():
                refuses(error, field.name, find, value)
                refuses(error, field.name, find_many, [values[0], value])

    def test_values_that_other_rows_have_are_refused(self) -> None:
        for field in self.subject.unique:
            source, m, values = self.three(field)
            writes = self.wrong_writes(source, m, field.name, values)
            before = state_of(self.subject, m), self.state(m)
            for write in writes:
                named = f"{self.subject.label}.{field.name}"
                refuses(DuplicateValueError, named, write)
                assert (state_of(self.subject, m), self.state(m)) == before

    def wrong_writes(
        self, source: Any, m: Any, name: str, values: list[Any]
    ) -> list[Callable[[], object]]:
        """Return writes after which two of the rows with the first three values had the same."""
        first, second, third, new, *_ = values
        calls: list[Callable[[], object]] = [
            lambda: self.add_one(source, m, **{name: first}),
            lambda: self.add(source, m, 2, **{name: [new, second]}),
            lambda: self.add(source, m, 2, **{name: [new, new]}),
            lambda: self.add(source, m, 2, **{name: new}),
            lambda: getattr(m, f"set_{name}")(1, first),
            lambda: setattr(m.data, name, [first, third, first]),
            lambda: setattr(m.data, name, new),
        ]
        if hasattr(m, "rows"):
            proxy = m[self.subject.key(m, 1)]
            calls.append(lambda: setattr(proxy, name, first))
            calls.append(lambda: setattr([*m.rows()][1], name, first))
        if isinstance(source, EntityManagerBase):
            calls.append(lambda: m.ensure(source.create(), **{name: first}))
        if hasattr(m, "n_active") and m.n_active == 3:
            m.deactivate(2)
            calls.append(lambda: setattr(m.data.active, name, [first, third]))
        return calls

    def state(self, m: Any) -> list[Any]:
        """Return the unique values, and where they are found."""
        columns = [getattr(m.data, field.name).copy() for field in self.subject.unique]
        pairs = zip(self.subject.unique, columns, strict=True)
        rows = [getattr(m, f"find_{f.name}_many")(cells).tolist() for f, cells in pairs]
        return [[column.tolist() for column in columns], rows]

    def test_values_may_change_places(self) -> None:
        for field in self.subject.unique:
            _, m, values = self.three(field)
            name = field.name
            version = m.version
            getattr(m, f"set_{name}")(1, values[1])
            setattr(m.data, name, getattr(m.data, name)[::-1])
            getattr(m, f"set_{name}")(1, values[5])
            find_many = getattr(m, f"find_{name}_many")
            assert find_many(values[:6]).tolist() == [2, NIL, 0, NIL, NIL, 1]
            setattr(m.data, name, [values[1], values[2], values[4]])
            assert find_many(values[:6]).tolist() == [NIL, 0, 1, NIL, 2, NIL]
            if hasattr(m, "rows"):
                setattr(m[self.subject.key(m, 0)], name, values[6])
                assert find_many(values[:7]).tolist()[1::5] == [NIL, 0]
            assert m.version == version

    def test_columns_are_read_only(self) -> None:
        _, m, _ = self.filled(3)
        for field in self.subject.unique:
            column = getattr(m.data, field.name)
            tags = map(m.data.tagged, self.subject.tagged)
            tagged = [getattr(group, field.name, column) for group in tags]
            if hasattr(m, "n_active"):
                m.activate_many(range(3))
                tagged.append(getattr(m.data.active, field.name))
            for view in (column, *tagged):
                refuses(ValueError, "read-only", view.fill, 0)
            before = self.state(m)
            setattr(m.data, field.name, column)
            assert self.state(m) == before
