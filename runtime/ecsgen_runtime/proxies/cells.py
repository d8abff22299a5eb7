"""What a proxy's fields, and the accessors by entity, are made of: a manager's accessors.

Each gets a function with machine code of its own, for the reason that `per_class` has. The row is
looked for behind the conversion of what is written, which may run code of the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, Protocol, TypeVar, cast, overload

import numpy as np

from ..convert.base import Converter
from ..handles import NIL, Entity, Id
from ..per_class import with_own_code
from ..placement import missing
from ..policies.ids import stale_id
from .proxy import ManagedProxy, RowProxy, resolved

_ReadT = TypeVar("_ReadT")
_WriteT = TypeVar("_WriteT")
_ManagerT = TypeVar("_ManagerT")
_ReadT_co = TypeVar("_ReadT_co", covariant=True)
_WriteT_contra = TypeVar("_WriteT_contra", contravariant=True)
_SelfT = TypeVar("_SelfT")

PLAIN: Final = frozenset((float, int, bool, str, bytes))
"""Types of values whose conversion runs no code of the caller's."""


class ProxyField(Protocol[_ReadT_co, _WriteT_contra]):
    """What checkers see of a proxy's field; at run time it is a `property`."""

    @overload
    def __get__(self: _SelfT, proxy: None, kind: type[Any]) -> _SelfT: ...

    @overload
    def __get__(self, proxy: RowProxy, kind: type[Any]) -> _ReadT_co: ...

    def __set__(self, proxy: RowProxy, value: _WriteT_contra) -> None: ...


class LateRow:
    """A row number that is asked for when the value for it is ready."""

    __slots__ = ("_find", "_owner")

    def __init__(self, find: Callable[[Any], int], owner: object) -> None:
        self._find = find
        self._owner = owner

    def __index__(self) -> int:
        return self._find(self._owner)


row_of: Final = attrgetter("row")


class RowField:
    """Makes what reads and writes one field of the row that something leads to."""

    @staticmethod
    def of(
        read: Callable[[_ManagerT, int], _ReadT],
        write: Callable[[_ManagerT, int, _WriteT], None],
    ) -> ProxyField[_ReadT, _WriteT]:
        """Return a proxy's field that is what a manager's accessor and setter make of it."""

        def get(self: ManagedProxy) -> Any:
            manager = self._manager
            if manager.data._version != self._version:
                self._find()
            return read(manager, self._row)

        def put(self: ManagedProxy, value: Any) -> None:
            manager = self._manager
            if type(value) in PLAIN and manager.data._version == self._version:
                write(manager, self._row, value)
            else:
                write(manager, LateRow(row_of, self), value)  # type: ignore[arg-type]

        field: ProxyField[_ReadT, _WriteT] = field_property(get, put, read.__doc__)
        return field

    @staticmethod
    def cell(
        read: Callable[[_ManagerT, int], _ReadT],
        write: Callable[[_ManagerT, int, _WriteT], None],
        converter: Converter,
    ) -> ProxyField[_ReadT, _WriteT]:
        """Return what `of` does, for a field that reads as its cell: in half the time.

        A row that was found since the last structural change is in use.
        """
        one, exact = converter.one, stored_type(converter)

        def get(self: ManagedProxy) -> Any:
            data = self._manager.data
            if data._version != self._version:
                self._find()
            return data._field_cells[self._row]

        def put(self: ManagedProxy, value: Any) -> None:
            data = self._manager.data
            kind = type(value)
            if kind in PLAIN and data._version == self._version:
                if kind is exact:
                    try:
                        data._field_cells[self._row] = value
                        return
                    except (ValueError, OverflowError):
                        pass  # said in the field's own words
                data._field_cells[self._row] = one(value)
            else:
                write(self._manager, LateRow(row_of, self), value)  # type: ignore[arg-type]

        names = {"_field_cells": f"_{read.__name__}_cells"}
        field: ProxyField[_ReadT, _WriteT]
        field = field_property(get, put, read.__doc__, names)
        return field

    @staticmethod
    def by_entity(
        read: Callable[[_ManagerT, int], _ReadT],
    ) -> Callable[[_ManagerT, Entity], _ReadT]:
        """Return a manager's accessor that takes an entity: MissingInstanceError without one."""

        def field_of(self: Any, entity: Entity, /) -> Any:
            row = self.lookup(entity)
            if row == NIL:
                raise missing(type(self).__name__, entity, self._entities._LAYOUT)
            return read(self, row)

        method: Callable[[_ManagerT, Entity], _ReadT] = _method(
            field_of, read, f"{read.__name__}_of", "an entity"
        )
        return method

    @staticmethod
    def by_id(
        read: Callable[[_ManagerT, int], _ReadT],
    ) -> Callable[[_ManagerT, Id], _ReadT]:
        """Return a manager's accessor that takes an id: StaleIdError for one that is stale."""

        def field_of(self: Any, id: Id, /) -> Any:
            row = self.resolve(id)
            if row == NIL:
                raise stale_id(type(self).__name__, id)
            return read(self, row)

        method: Callable[[_ManagerT, Id], _ReadT] = _method(
            field_of, read, f"{read.__name__}_of", "an id"
        )
        return method

    @staticmethod
    def set_by_entity(
        write: Callable[[_ManagerT, int, _WriteT], None],
    ) -> Callable[[_ManagerT, Entity, _WriteT], None]:
        """Return a manager's setter that takes an entity: MissingInstanceError without one."""

        def set_field_of(self: Any, entity: Entity, value: Any, /) -> None:
            row = self.lookup(entity)
            if row == NIL:
                raise missing(type(self).__name__, entity, self._entities._LAYOUT)
            if type(value) not in PLAIN and not is_plain_tuple(value):
                row = LateRow(self.require, entity)
            write(self, row, value)

        method: Callable[[_ManagerT, Entity, _WriteT], None] = _method(
            set_field_of, write, f"{write.__name__}_of", "an entity"
        )
        return method

    @staticmethod
    def set_by_id(
        write: Callable[[_ManagerT, int, _WriteT], None],
    ) -> Callable[[_ManagerT, Id, _WriteT], None]:
        """Return a manager's setter that takes an id: StaleIdError for one that is stale."""

        def set_field_of(self: Any, id: Id, value: Any, /) -> None:
            row = self.resolve(id)
            if row == NIL:
                raise stale_id(type(self).__name__, id)
            if type(value) not in PLAIN and not is_plain_tuple(value):
                row = LateRow(partial(resolved, self), id)
            write(self, row, value)

        method: Callable[[_ManagerT, Id, _WriteT], None] = _method(
            set_field_of, write, f"{write.__name__}_of", "an id"
        )
        return method


def stored_type(converter: Converter) -> type[Any] | None:
    """Return the type of which a cell stores every value unchanged, or refuses it; None if there
    is none, as where floats are rounded."""
    dtype = converter.dtype
    if dtype is None or dtype.kind not in "iuf":
        return None
    if dtype.kind == "f":
        return float if dtype.itemsize == np.dtype(float).itemsize else None
    return int


def is_plain_tuple(value: object) -> bool:
    """Return whether it is a tuple whose conversion runs no code of the caller's; O(k)."""
    return type(value) is tuple and PLAIN.issuperset(map(type, value))


def late_writer(
    write: Callable[[Any, int, Any], None],
) -> Callable[[ManagedProxy, Any], None]:
    """Return what writes a proxy's value by a setter, which looks for the row when it is ready."""

    def put(self: ManagedProxy, value: Any) -> None:
        write(self._manager, LateRow(row_of, self), value)  # type: ignore[arg-type]

    return put


def field_property(
    get: Callable[[Any], Any],
    put: Callable[[Any, Any], None],
    doc: str | None,
    names: Mapping[str, str] | None = None,
) -> Any:
    """Return the property of two functions, each with code of its own.

    `names`: the attributes that they use instead of some that they name.
    """
    own_get = with_own_code(cast(FunctionType, get), names)
    own_put = with_own_code(cast(FunctionType, put), names)
    return property(own_get, own_put, None, doc)


def _method(function: Any, of: Callable[..., Any], name: str, whose: str) -> Any:
    """Return a manager's method with code of its own, and the docs of what it calls."""
    method = with_own_code(function)
    method.__name__ = name
    method.__qualname__ = f"{of.__qualname__}_of"
    method.__module__ = of.__module__
    method.__doc__ = f"{of.__doc__}\n\nThe same as `{of.__name__}`, by {whose}. O(1)."
    return method
