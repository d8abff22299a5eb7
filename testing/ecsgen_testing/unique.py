"""Fields of which no two rows have the same value.

Other tests know nothing of them: there each new row gets values of its own, and shows defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import FunctionType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import pytest
from ecsgen_runtime.base.errors import DuplicateValueError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases, State
from .state_machine import ManagerStateMachine, Record
from .subject import (
    Bool,
    Bytes,
    Datetime,
    Enum,
    Field,
    Float,
    Int,
    Subject,
    Text,
    Timedelta,
    refuses,
    same,
)

_MANAGER_CLASSES: dict[Any, Any] = {}
"""By a manager's class: the same with values of its own for each row."""
_MOST = 100_000


def values_of(field: Field) -> Iterator[Any]:
    """Yield values of a field, each once."""
    match field:
        case Bool():
            yield from (False, True)
        case Enum():
            yield from sorted({int(member): member for member in field.members})
        case Int():
            yield from range(field.low, min(field.high, field.low + _MOST) + 1)
        case Float():
            yield from map(float, range(_MOST))
        case Text():
            yield from map(str, range(min(_MOST, 10**field.size)))
        case Bytes():
            size = field.size
            numbers = range(min(_MOST, 256**size))
            yield from (number.to_bytes(size, "big") for number in numbers)
        case Datetime() | Timedelta():
            yield from map(field.element, range(_MOST))
        case _:
            yield from range(1, _MOST)


class _Filled:
    """Methods that are put into a subclass of a manager, so that rows which are given no unique
    values have some."""

    subject: Any
    plain: Any
    data: Any

    def create(self, /, *args: Any, **values: Any) -> Any:
        arguments = {**values, **self._fresh(1, self._given(values))}
        return self.plain.create(self, *args, **arguments)

    def row(self, row: int, /) -> Any:
        values = self.plain.row(self, row)
        return values._replace(**self.subject.hidden())

    def _convert(self, rows: int, arguments: Mapping[str, Any]) -> Any:
        filled = {**arguments, **self._fresh(rows, self._given(arguments), many=True)}
        return self.plain._convert(self, rows, filled)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _unfilled, (self.plain,), self.__getstate__()

    def _given(self, values: Mapping[str, Any]) -> set[str]:
        """Return the names of unique values that are not just defaults, passed on."""
        return {
            field.name
            for field in self.subject.unique
            if field.name in values and repr(values[field.name]) != repr(field.default)
        }

    def _fresh(self, rows: int, names: set[str], many: bool = False) -> dict[str, Any]:
        """Return values that no row has; skip the test where there are too few."""
        fresh: dict[str, Any] = {}
        for field in self.subject.unique:
            if field.name in names:
                continue
            held = set(getattr(self.data, field.name).tolist())
            free = (v for v in values_of(field) if field.stored(v) not in held)
            values = list(islice(free, rows))
            if len(values) < rows:
                pytest.skip(f"{field.name} has too few values for {rows} more rows")
            fresh[field.name] = values if many else values[0]
        return fresh


def _unfilled(kind: type) -> Any:
    """Return a manager to be loaded."""
    manager_class = _MANAGER_CLASSES[kind]
    return manager_class.__new__(manager_class)


def _as_of(module: str, method: FunctionType) -> FunctionType:
    """Return a method of another module: warnings name who called it, as without it."""
    names = {**method.__globals__, "__name__": module}
    held = method.__defaults__, method.__closure__
    copy = FunctionType(method.__code__, names, method.__name__, *held)
    copy.__kwdefaults__ = method.__kwdefaults__
    return copy


@dataclass(frozen=True)
class UniqueSubject(Subject):
    """A manager with unique fields, which are not among its `fields`."""

    unique: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        plain = self.manager
        body = {"__slots__": (), "__module__": plain.__module__, "subject": self}
        body["plain"] = plain
        filled = type(plain.__name__, (plain,), body)
        for name, method in vars(_Filled).items():
            if isinstance(method, FunctionType):
                # A class of one's own may not have these.
                setattr(filled, name, _as_of(plain.__module__, method))
        _MANAGER_CLASSES[plain] = filled
        object.__setattr__(self, "manager", filled)

    @property
    def every(self) -> tuple[Field, ...]:
        return super().every + self.unique

    @property
    def takes_repeats(self) -> bool:
        return False

    def hidden(self) -> dict[str, Any]:
        return super().hidden() | {f.name: f.read(f.default) for f in self.unique}


def filled_world(world: Any, *subjects: Mapping[str, Subject]) -> Callable[[], Any]:
    """Return what makes a world whose managers are those of the subjects."""
    every = {name: s for mapping in subjects for name, s in mapping.items()}
    return partial(_world, world, every)


def _world(world: Any, subjects: Mapping[str, Subject]) -> Any:
    filled = world()
    for name, subject in subjects.items():
        manager = getattr(filled, name)
        if type(manager) is not subject.manager:
            manager.__class__ = subject.manager
    return filled


class UniqueRules(ManagerStateMachine):
    """Values stay with their rows, which are found by them."""

    subject: ClassVar[UniqueSubject]

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

    subject: ClassVar[UniqueSubject]

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
            before = State(self.subject, m), self.state(m)
            for write in writes:
                named = f"{self.subject.label}.{field.name}"
                refuses(DuplicateValueError, named, write)
                assert (State(self.subject, m), self.state(m)) == before

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
            proxy = m[self.owner(m, 1)]
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
                setattr(m[self.owner(m, 0)], name, values[6])
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
