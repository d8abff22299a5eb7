"""Rows one at a time: `m[…]`, `m.rows()` and the accessors by entity, or by id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import MissingInstanceError, StaleIdError

from .common_cases import Cases
from .subject import Field, Float, Int, Subject, refuses, same

TOMBSTONE = (MissingInstanceError, StaleIdError)
"""Errors of a removed row, by entity and by id."""


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


def check_writes(proxy: Any, subject: Subject, read_row: Callable[[], Any]) -> None:
    """Check that attributes of a proxy are written: whole, as arrays, by their views."""
    for field in subject.fields:
        array = field.array([field.sample(6)])[0] if field.shape else field.sample(6)
        for k, value in ((5, field.sample(5)), (6, array)):
            setattr(proxy, field.name, value)
            assert same(getattr(read_row(), field.name), field.read(field.sample(k)))
        if is_shown(field):
            last = tuple(size - 1 for size in field.shape)
            getattr(proxy, field.name)[last] = 7
            assert getattr(proxy, field.name)[last] == 7
            assert np.array(getattr(read_row(), field.name))[last] == 7
            setattr(proxy, field.name, np.full(field.shape, 5, field.dtype))
            exec(f"proxy.{field.name} += 2", {"proxy": proxy})
            assert (np.array(getattr(read_row(), field.name)) == 7).all()


class ProxyCases(Cases):
    """Rows that are written through their attributes."""

    def check_proxy(self, proxy: Any, m: Any, row: int) -> None:
        """Check that all attributes of a proxy are those of a row."""
        assert proxy.row == row
        if hasattr(m, "entity"):
            assert proxy.entity == m.entity(row)
        else:
            assert not hasattr(proxy, "entity")
        check_attributes(proxy, self.subject, m.row(row))

    def test_proxies_write(self) -> None:
        _, m, es = self.filled(3)
        proxy = m[es[1]]
        check_writes(proxy, self.subject, lambda: m.row(1))
        self.check_values(m, [0, 2], [0, 2])
        self.check_proxy(proxy, m, 1)

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
