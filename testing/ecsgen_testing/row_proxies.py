"""Rows one at a time: `m[…]`, `m.rows()` and the accessors by entity, or by id."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from operator import getitem
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import (
    MissingInstanceError,
    StaleIdError,
    StaleInstanceError,
    StaleViewWarning,
)

from .common_cases import Cases
from .subject import Enum, Field, Float, Handle, Int, Subject, refuses, same

TOMBSTONE = (MissingInstanceError, StaleIdError)
"""Errors of a removed row, by entity and by id."""


class SideEffectNumber:
    """A number that does something when it is first converted."""

    def __init__(self, number: int, act: Any) -> None:
        self.number = number
        self.acts = [act]

    def __index__(self) -> int:
        if self.acts:
            self.acts.pop()()
        return self.number

    def __float__(self) -> float:
        return float(self.__index__())


def with_first(value: Any, first: Any) -> Any:
    """Return a value with another first element: itself, if it is a single one."""
    if not isinstance(value, tuple):
        return first
    return with_first(value[0], first), *value[1:]


class Followed:
    """Proxies that are kept while a manager changes."""

    def __init__(self) -> None:
        self._manager: Any = None
        self._kept: dict[int, Any] = {}

    def check(self, m: Any, owners: list[int]) -> None:
        """Check proxies of before, and make some more."""
        if m is not self._manager:
            self._manager, self._kept = m, {}
        find = getattr(m, "lookup", None) or m.resolve
        for owner, proxy in list(self._kept.items()):
            row = find(owner)
            if row in range(m.data.n):
                assert proxy.row == row
            else:
                refuses(TOMBSTONE, getattr, proxy, "row")
                del self._kept[owner]
        self._kept |= {owner: m[owner] for owner in owners[-2:]}


def is_shown(field: Field) -> bool:
    """Return whether a proxy shows the field as a view."""
    return bool(field.shape) and isinstance(field, Int | Float)


def check_attributes(proxy: Any, subject: Subject, row: Any) -> None:
    """Check that all attributes of a proxy are those of a row, which it shows."""
    for field in subject.fields:
        value, expected = getattr(proxy, field.name), getattr(row, field.name)
        if not is_shown(field):
            assert same(value, expected)
            continue
        assert isinstance(value, np.ndarray)
        assert (value.dtype, value.shape) == (np.dtype(field.dtype), field.shape)
        assert same(value.tolist(), field.stored(expected))
    assert repr(row) in repr(proxy)


class ProxyCases(Cases):
    """Rows that are found again wherever they go."""

    def check_proxy(self, proxy: Any, m: Any, row: int) -> None:
        """Check that all attributes of a proxy are those of a row."""
        assert proxy.row == row
        if hasattr(m, "entity"):
            assert proxy.entity == m.entity(row)
        else:
            assert not hasattr(proxy, "entity")
        check_attributes(proxy, self.subject, m.row(row))

    def test_proxies_write_as_setters_do(self) -> None:
        _, m, es = self.filled(3)
        proxy = m[es[1]]
        for field in self.subject.fields:
            setattr(proxy, field.name, field.sample(5))
            assert same(getattr(m, field.name)(1), field.read(field.sample(5)))
            array = field.array([field.sample(6)])[0]
            setattr(proxy, field.name, array if field.shape else field.sample(6))
            assert same(getattr(m, field.name)(1), field.read(field.sample(6)))
        self.check_values(m, [0, 2], [0, 2])
        self.check_proxy(proxy, m, 1)

    def test_proxies_refuse_what_setters_refuse(self) -> None:
        _, m, es = self.filled(2)
        with self.unchanged(m):
            for field, value, error in self.subject.wrong():
                named = f"{self.subject.label}.{field.name}"
                refuses(error, named, setattr, m[es[1]], field.name, value)

    def test_views_write(self) -> None:
        _, m, es = self.filled(3)
        proxy = m[es[1]]
        for field in filter(is_shown, self.subject.fields):
            last = tuple(size - 1 for size in field.shape)
            getattr(proxy, field.name)[last] = 7
            assert getattr(proxy, field.name)[last] == 7
            cells = np.array(getattr(m, field.name)(1))
            assert cells[last] == 7
            setattr(proxy, field.name, np.full(field.shape, 5, field.dtype))
            exec(f"proxy.{field.name} += 2", {"proxy": proxy})
            assert (np.array(getattr(m, field.name)(1)) == 7).all()
        self.check_values(m, [0, 2], [0, 2])
        self.check_proxy(proxy, m, 1)

    def test_a_row_takes_what_another_shows(self) -> None:
        _, m, es = self.filled(3)
        for field in filter(is_shown, self.subject.fields):
            setattr(m[es[0]], field.name, getattr(m[es[2]], field.name))
            assert same(getattr(m, field.name)(0), getattr(m, field.name)(2))
        self.check_values(m, [1, 2], [1, 2])

    def test_views_of_defaults_write(self) -> None:
        source, m = self.new(2)
        for field in filter(is_shown, self.subject.fields):
            proxy = m[self.owner(m, self.add_one(source, m))]
            size = len(m)
            last = tuple(n - 1 for n in field.shape)
            expected = np.array(getattr(m, field.name)(proxy.row), field.dtype)
            shown = getattr(proxy, field.name)
            with np.errstate(over="ignore"):
                expected[last] = 3
                shown[last] = 3
                expected *= 2
                shown *= 2
                np.subtract(expected, 1, out=expected)
                np.subtract(shown, 1, out=shown)
            read = getattr(m, field.name)(proxy.row)
            assert same(field.stored(read), expected.tolist())
            assert getattr(proxy, field.name).flags.writeable
            assert len(m) == size

    def test_what_cannot_write_to_a_default_says_so(self, source: Any, m: Any) -> None:
        proxy = m[self.owner(m, self.add_one(source, m))]
        writes: tuple[Callable[[Any], object], ...] = (
            lambda shown: shown.fill(3),
            lambda shown: np.copyto(shown, 3),
            lambda shown: shown[:1].fill(3),
        )
        for field in filter(is_shown, self.subject.fields):
            if field.name in self.subject.indirect:
                for write in writes:
                    refuses(ValueError, "read-only", write, getattr(proxy, field.name))
        assert same(m.row(proxy.row), self.subject.read({}))

    def test_proxies_follow_their_rows(self) -> None:
        _, m, es = self.filled(70)
        owners = es.tolist()
        proxies = {owner: m[owner] for owner in owners}
        m.destroy_many(range(0, 70, 3))
        m.destroy(self.found(m, owners[1]))
        m.reserve(1000) if not self.subject.reserve else None
        for k, owner in enumerate(owners):
            if k % 3 and k != 1:
                self.check_proxy(proxies[owner], m, self.found(m, owner))
                continue
            for name in ("row", *(f.name for f in self.subject.fields)):
                refuses(TOMBSTONE, getattr, proxies[owner], name)
            for field in self.subject.fields:
                refuses(TOMBSTONE, setattr, proxies[owner], field.name, field.sample(0))
            assert type(proxies[owner]).__name__ in repr(proxies[owner])

    def test_values_that_move_rows_go_to_the_right_one(self) -> None:
        for field in self.subject.fields:
            if not isinstance(field, Float | Int | Handle | Enum):
                continue
            sample = field.sample(5)
            first = 9 if isinstance(field, Float) else int(np.ravel(sample)[0])
            expected = field.read(with_first(sample, first))
            _, m, _es = self.filled(4)
            act = lambda m=m: m.destroy(0)  # noqa: E731  # the last row moves
            moved = self.owner(m, m.data.n - 1)
            value = with_first(sample, SideEffectNumber(first, act))
            setattr(m[moved], field.name, value)
            cell = getattr(m, field.name)(self.found(m, moved))
            assert same(field.stored(cell), field.stored(expected))

    def test_there_are_no_other_attributes(self) -> None:
        _, m, es = self.filled(1)
        proxy = m[es[0]]
        refuses(AttributeError, "no_such_field", getattr, proxy, "no_such_field")
        for name in ("no_such_field", "row"):
            refuses(AttributeError, setattr, proxy, name, 0)
        names = {field.name for field in self.subject.fields}
        for field in self.subject.fields:
            other = f"{field.name}_"
            while other in names:
                other += "_"
            with pytest.raises(AttributeError) as raised:
                getattr(proxy, other)
            assert raised.value.obj is proxy  # so that Python suggests names
            refuses(AttributeError, delattr, proxy, field.name)

    def test_nobody_has_no_row(self) -> None:
        _, m, es = self.filled(2)
        m.destroy(self.found(m, int(es[0])))
        for nobody in (es[0], 0, 2**64 - 1):
            refuses(TOMBSTONE, getitem, m, nobody)
        for wrong in ("1", 1.0, None):
            refuses(TypeError, getitem, m, wrong)

    def test_rows_that_go_meanwhile(self) -> None:
        source, m, es = self.filled(5)
        rows = m.rows()
        first = next(rows)
        m.destroy_many([1, 3])
        self.add_one(source, m)
        if hasattr(m, "instances"):
            refuses(StaleInstanceError, next, rows)
            refuses(StaleInstanceError, getattr, first, "row")
            return
        assert [self.owner(m, proxy.row) for proxy in rows] == es[[2, 4]].tolist()
        assert self.owner(m, first.row) == es[0]

    def test_a_row_comes_while_the_last_one_is_shown(self) -> None:
        source, m, _ = self.filled(1)
        rows = m.rows()
        next(rows)
        self.add_one(source, m)
        if hasattr(m, "instances"):
            refuses(StaleInstanceError, next, rows)
        else:
            assert list(rows) == []

    def test_views_are_no_longer_held(self) -> None:
        source, m, es = self.filled(1)
        for field in filter(is_shown, self.subject.fields):
            exec(f"proxy.{field.name} += 0", {"proxy": m[es[0]]})
        with warnings.catch_warnings():
            warnings.simplefilter("error", StaleViewWarning)
            self.add(source, m, min(200, self.subject.reserve or 200) - 1)
