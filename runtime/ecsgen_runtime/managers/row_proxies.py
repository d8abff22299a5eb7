"""Row proxies: a row with its fields as attributes, found again after structural changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import repeat
from operator import attrgetter, index
from types import FunctionType
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from ..base.errors import EcsError, StaleInstanceError
from ..base.handles import NIL, Entity, Id, Instance
from ..base.specialisation import accelerated, clone_function, install_accelerator
from ..values.field_types import Converter
from .manager import BaseManager
from .policies.ids import IdMethods, stale_id_error

ProxyT = TypeVar("ProxyT", bound="RowProxy")


class RowProxy:
    """A row as an object that follows its owner; a generated class per component adds the fields.

    Fields read as the accessors of managers do and write as their setters do. Shaped fields of
    numbers read as views of the buffer, which are good until the next structural change.
    """

    __slots__ = ("_manager", "_owner", "_row", "_version")

    _manager: Any
    """Owner of the row: a manager, or archetypes."""
    _owner: Any
    """Key by which the row is found again; None if only until the next structural change."""
    _row: Instance
    _version: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        install_accelerator(cls)

    def _find(self) -> None:
        """Find the row after a structural change, or raise."""
        raise NotImplementedError

    def _copied(self) -> Any:
        """Return a copy of the row."""
        raise NotImplementedError

    def _whose(self) -> str:
        """Return the owner as `repr` shows it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        try:
            return f"<{self._copied()!r} of {self._whose()}>"
        except EcsError as error:
            return f"<{type(self).__name__}: {error}>"


class ManagedProxy(RowProxy):
    """A row of a manager."""

    __slots__ = ()

    @property
    def row(self) -> Instance:
        """The row's present number.

        Raises:
            MissingInstanceError, StaleIdError: the instance was removed.
            StaleInstanceError: `rows` yielded the proxy, which no key can find again, and rows were
                added, removed or moved.
        """
        if self._manager.data._version != self._version:
            self._find()
        return self._row

    def _find(self) -> None:
        manager = self._manager
        if self._owner is None:
            raise rows_changed(type(manager).__name__)
        self._row = self._found(self._owner)
        self._version = manager.data._version

    def _found(self, owner: Any) -> Instance:
        """Return an owner's row, or raise."""
        raise NotImplementedError

    def _copied(self) -> Any:
        return self._manager.row(self.row)


class EntityProxy(ManagedProxy):
    """A row that belongs to an entity: its only one, or its first."""

    __slots__ = ()

    @property
    def entity(self) -> Entity:
        """Entity of the row."""
        entity: Entity = self._owner
        return self._manager.entity(self.row) if entity is None else entity

    def _found(self, owner: Entity) -> Instance:
        row: Instance = self._manager.require(owner)
        return row

    def _whose(self) -> str:
        return f"entity {self._manager._entities.HANDLE_LAYOUT.format_short(self.entity)}"


class IdProxy(ManagedProxy):
    """A row without an owner, which follows its id."""

    __slots__ = ()

    def _found(self, owner: Id) -> Instance:
        return resolved(self._manager, owner)

    def _whose(self) -> str:
        return f"id {self._owner:#x}"


def resolved(manager: IdMethods, id: Id) -> Instance:
    """Return the row of an id, or raise StaleIdError."""
    row = manager.resolve(id)
    if row == NIL:
        raise stale_id_error(type(manager).__name__, id)
    return row


def proxy_of_id(self: Any, kind: type[ProxyT], id: Id) -> ProxyT:
    """Return a proxy of the row of an id, or raise StaleIdError; O(1). A manager's method."""
    id = Id(index(id))
    proxy = new_proxy(kind)
    proxy._manager = self
    proxy._owner = id
    proxy._row = resolved(self, id)
    proxy._version = self.data._version
    return proxy


def rows_changed(manager: str) -> StaleInstanceError:
    """Return the error of rows that cannot be found again."""
    return StaleInstanceError(f"{manager}: rows were added, removed or moved meanwhile")


new_proxy: Final = object.__new__


_own: Any = cache(lambda loop, kind: clone_function(loop))
"""Function that clones a loop once for each class of proxies, as `specialised` methods are."""


def iter_proxies(
    kind: type[ProxyT],
    manager: BaseManager,
    rows: list[Instance],
    owners: Iterable[Any] | None = None,
    find: Callable[[Any], Instance] | None = None,
) -> Iterator[ProxyT]:
    """Iterate over proxies of the present rows. `find` finds them by their owners; those removed
    before their turn are skipped. Without it a structural change is StaleInstanceError."""
    pairs = zip(owners or repeat(None), rows, strict=False)
    loop: Iterator[ProxyT]
    loop = _own(_proxies_of, kind)(kind, manager, find, pairs, manager.data._version)
    return loop


def _proxies_of(
    kind: type[ProxyT],
    manager: BaseManager,
    find: Callable[[Any], Instance] | None,
    pairs: Iterable[tuple[Any, Instance]],
    version: int,
) -> Iterator[ProxyT]:
    data = manager.data
    for owner, row in pairs:
        now = data._version
        if now != version:
            if find is None:
                break
            row = find(owner)
            if row == NIL:
                continue
        proxy = new_proxy(kind)
        proxy._manager = manager
        proxy._owner = owner
        proxy._row = row
        proxy._version = now
        yield proxy
    # The last row too: a loop must not pass because there is one row only.
    if find is None and data._version != version:
        raise rows_changed(type(manager).__name__)


# Each gets a function with machine code of its own, for the reason that `specialised`
# has. The row is looked for behind the conversion of what is written, which may run
# code of the caller's.


_ReadT = TypeVar("_ReadT")
_WriteT = TypeVar("_WriteT")
_ManagerT = TypeVar("_ManagerT")
_ReadT_co = TypeVar("_ReadT_co", covariant=True)
_WriteT_contra = TypeVar("_WriteT_contra", contravariant=True)
_SelfT = TypeVar("_SelfT")

PLAIN: Final = frozenset((float, int, bool, str, bytes))
"""Types of values whose conversion runs no code of the caller's."""


class ProxyField(Protocol[_ReadT_co, _WriteT_contra]):
    """Type of a proxy's field for checkers; at run time it is a `property`."""

    @overload
    def __get__(self: _SelfT, proxy: None, kind: type[Any]) -> _SelfT: ...

    @overload
    def __get__(self, proxy: RowProxy, kind: type[Any]) -> _ReadT_co: ...

    def __set__(self, proxy: RowProxy, value: _WriteT_contra) -> None: ...


class LateRow:
    """A proxy's row number, found when the value for it is ready."""

    __slots__ = ("_proxy",)

    def __init__(self, proxy: ManagedProxy) -> None:
        self._proxy = proxy

    def __index__(self) -> int:
        return self._proxy.row


class RowField:
    """Maker of a proxy's field."""

    @staticmethod
    def of(
        read: Callable[[_ManagerT, int], _ReadT], write: Callable[[_ManagerT, int, _WriteT], None]
    ) -> ProxyField[_ReadT, _WriteT]:
        """Return a proxy's field that is what a manager's accessor and setter make of it."""

        @accelerated("get")
        def get(self: ManagedProxy) -> Any:
            manager = self._manager
            if manager.data._version != self._version:
                self._find()
            return read(manager, self._row)

        @accelerated("put")
        def put(self: ManagedProxy, value: Any) -> None:
            manager = self._manager
            if type(value) in PLAIN and manager.data._version == self._version:
                write(manager, self._row, value)
            else:
                write(manager, LateRow(self), value)  # type: ignore[arg-type]  # it is an int to `__index__`

        return field_property(get, put, read.__doc__)

    @staticmethod
    def cell(
        read: Callable[[_ManagerT, int], _ReadT],
        write: Callable[[_ManagerT, int, _WriteT], None],
        converter: Converter,
    ) -> ProxyField[_ReadT, _WriteT]:
        """Return the field that `of` returns, for a field that reads as its cell: in half the time.

        A row that was found since the last structural change is in use.
        """
        to_cell, exact = converter.to_cell, stored_type(converter)

        @accelerated("get")
        def get(self: ManagedProxy) -> Any:
            data = self._manager.data
            if data._version != self._version:
                self._find()
            return data._field_cells[self._row]

        @accelerated("put")
        def put(self: ManagedProxy, value: Any) -> None:
            data = self._manager.data
            kind = type(value)
            if kind in PLAIN and data._version == self._version:
                if kind is exact:
                    try:
                        data._field_cells[self._row] = value
                        return
                    except (ValueError, OverflowError):
                        pass  # the field raises a better message
                data._field_cells[self._row] = to_cell(value)
            else:
                write(self._manager, LateRow(self), value)  # type: ignore[arg-type]  # it is an int to `__index__`

        names = {"_field_cells": f"_{read.__name__}_cells"}
        return field_property(get, put, read.__doc__, names)


def stored_type(converter: Converter) -> type[Any] | None:
    """Return the type of which a cell stores every value unchanged, or refuses it; None if there
    is none, as where floats are rounded."""
    dtype = converter.dtype
    if dtype is None or dtype.kind not in "iuf":
        return None
    if dtype.kind == "f":
        return float if dtype.itemsize == np.dtype(float).itemsize else None
    return int


def late_writer(write: Callable[[Any, int, Any], None]) -> Callable[[ManagedProxy, Any], None]:
    """Return a function that writes by a setter; the row is found after the value's conversion."""

    @accelerated("put")
    def put(self: ManagedProxy, value: Any) -> None:
        write(self._manager, LateRow(self), value)  # type: ignore[arg-type]  # it is an int to `__index__`

    return put


def field_property(
    get: Callable[[Any], Any],
    put: Callable[[Any, Any], None],
    doc: str | None,
    names: Mapping[str, str] | None = None,
) -> ProxyField[Any, Any]:
    """Return the property of two functions, each with code of its own.

    `names`: the attributes that they use instead of some that they name.
    """
    own_get = clone_function(cast(FunctionType, get), names)
    own_put = clone_function(cast(FunctionType, put), names)
    field: Any = property(own_get, own_put, None, doc)
    return cast(ProxyField[Any, Any], field)


_ScalarT = TypeVar("_ScalarT", bound=np.generic)

CellView: TypeAlias = Callable[[Any, int], NDArray[Any]]
"""Function from columns and a row to a view of the cell."""


class ArrayField:
    """Maker of a proxy's shaped field of numbers."""

    @staticmethod
    def of(
        scalar: type[_ScalarT],
        write: Callable[[_ManagerT, int, ArrayLike], None],
        view: CellView | None = None,
    ) -> ProxyField[NDArray[_ScalarT], ArrayLike]:
        """Return a proxy's field that reads as a view, and writes as the manager's setter does.

        `view`: function that returns its cells, if they are not in one column of its name.
        """
        show = view or column_cell(write.__name__.removeprefix("set_"))

        def get(self: ManagedProxy) -> Any:
            manager = self._manager
            if manager.data._version != self._version:
                self._find()
            return show(manager.data, self._row)

        put = array_writer(scalar, late_writer(write), get)
        return field_property(get, put, write.__doc__)

    @staticmethod
    def split(shape: tuple[int, ...], first: str, second: str) -> CellView:
        """Return the view of cells with a column per element; the first two columns are named.

        The columns of a field lie one behind another, at equal distances.
        """
        first_of = attrgetter(f"_{first}_column")
        second_of = attrgetter(f"_{second}_column")
        steps = np.empty(shape, np.int8).strides

        def view(columns: Any, row: int) -> NDArray[Any]:
            cells = first_of(columns)
            step = _address(second_of(columns)) - _address(cells)
            return as_strided(cells[row:], shape, [step * n for n in steps])

        return view


def column_cell(name: str) -> CellView:
    """Return the view of cells of one column."""
    column_of = attrgetter(f"_{name}_column")

    def view(columns: Any, row: int) -> NDArray[Any]:
        cell: NDArray[Any] = column_of(columns)[row]
        return cell

    return view


def array_writer(
    scalar: type[np.generic], write: Callable[[Any, Any], None], show: Callable[[Any], NDArray[Any]]
) -> Callable[[RowProxy, Any], None]:
    """Return a function that writes a shaped field of numbers; `write` checks the value.

    Numbers that lie in the same buffer already are not checked again: those of the view that `+=`
    hands back.
    """

    dtype = np.dtype(scalar)

    @accelerated("put")
    def put(self: RowProxy, value: Any) -> None:
        if type(value) is np.ndarray and value.dtype == dtype:
            cell = show(self)
            if value.base is cell.base and value.shape == cell.shape:
                cell[...] = value
                return
        write(self, value)

    return put


def _address(column: NDArray[Any]) -> int:
    address: int = column.__array_interface__["data"][0]
    return address


class ColdDefault(np.ndarray[Any, np.dtype[Any]]):
    """The default of a cell without a cold row: writing to it makes one.

    `cell[...] = …` and operations in place go through the field. Whatever else writes finds a
    read-only array, so nothing is lost unnoticed.
    """

    _field: Any = None
    _proxy: RowProxy | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._proxy is None:  # a part of a cell
            super().__setitem__(key, value)
            return
        cell = self._copied()
        cell[key] = value
        self._field.__set__(self._proxy, cell)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        if outs:
            options["out"] = tuple(map(_plain, outs))
        plain = [*map(_plain, inputs)]
        result = getattr(ufunc, method)(*plain, **options)
        if method == "at" and isinstance(inputs[0], ColdDefault):
            inputs[0][...] = plain[0]  # numpy writes to it, read-only or not
        if not outs:
            return result
        for out, values in zip(outs, options["out"], strict=True):
            if isinstance(out, ColdDefault):
                out[...] = values
        shown = [out._shown() if isinstance(out, ColdDefault) else out for out in outs]
        return tuple(shown) if len(shown) > 1 else shown[0]

    def _shown(self) -> Any:
        """Return the field's present value, which may have been written since."""
        return self if self._proxy is None else self._field.__get__(self._proxy)

    def _copied(self) -> NDArray[Any]:
        return np.array(self._shown(), subok=False)


def _plain(value: Any) -> Any:
    """Return an ordinary array of the cell's present value; any other value as it is."""
    return value._copied() if isinstance(value, ColdDefault) else value


class ColdArray:
    """Maker of a proxy's shaped field of numbers that is cold."""

    @staticmethod
    def of(
        scalar: type[_ScalarT],
        read: Callable[[_ManagerT, int], Any],
        write: Callable[[_ManagerT, int, ArrayLike], None],
        view: CellView | None = None,
    ) -> ProxyField[NDArray[_ScalarT], ArrayLike]:
        """Return a proxy's field that reads as a view, and writes as the manager's setter does.

        Reading makes no cold row: where there is none, a ColdDefault stands for the cell.
        `view`: function that returns its cells, if they are not in one column of its name.
        """
        show = view or column_cell(write.__name__.removeprefix("set_"))

        def get(self: ManagedProxy) -> Any:
            row = self.row
            data = self._manager.data
            cold_row = data._cold_row_cells[row]
            if cold_row != NIL:
                return show(data.cold, cold_row)
            cell = np.array(read(self._manager, row), scalar).view(ColdDefault)
            cell._field, cell._proxy = field, self
            cell.flags.writeable = False
            return cell

        put = array_writer(scalar, late_writer(write), get)
        field = field_property(get, put, write.__doc__)
        return field
