"""Shaped fields of numbers: a proxy shows a cell as a view of the buffer, or of the cold one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from ..handles import NIL
from .cells import ProxyField, field_property, late_writer
from .proxy import ManagedProxy, RowProxy

# --- Shaped fields of numbers: a proxy shows a row's cell as a view of the buffer -----


_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_ManagerT = TypeVar("_ManagerT")

CellView: TypeAlias = Callable[[Any, int], NDArray[Any]]
"""Returns the cell of a row, as a view, of what has the columns."""


class ArrayField:
    """Makes what shows and writes one shaped field of numbers."""

    @staticmethod
    def of(
        scalar: type[_ScalarT],
        write: Callable[[_ManagerT, int, ArrayLike], None],
        view: CellView | None = None,
    ) -> ProxyField[NDArray[_ScalarT], ArrayLike]:
        """Return a proxy's field that reads as a view, and writes as the manager's setter does.

        `view`: what shows its cells, if that is not one column of its name.
        """
        show = view or whole_cell(write)

        def get(self: ManagedProxy) -> Any:
            manager = self._manager
            if manager.data._version != self._version:
                self._find()
            return show(manager.data, self._row)

        put = array_writer(scalar, late_writer(write), get)
        field: ProxyField[NDArray[_ScalarT], ArrayLike]
        field = field_property(get, put, write.__doc__)
        return field

    @staticmethod
    def split(shape: tuple[int, ...], first: str, second: str) -> CellView:
        """Return what shows cells of a column per element, the first two of which are named.

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


def whole_cell(write: Callable[..., None]) -> CellView:
    """Return what shows cells of the column that a setter writes to."""
    return column_cell(write.__name__.removeprefix("set_"))


def column_cell(name: str) -> CellView:
    """Return what shows cells of one column."""
    column_of = attrgetter(f"_{name}_column")

    def view(columns: Any, row: int) -> NDArray[Any]:
        cell: NDArray[Any] = column_of(columns)[row]
        return cell

    return view


def array_writer(
    scalar: type[np.generic],
    write: Callable[[Any, Any], None],
    show: Callable[[Any], NDArray[Any]],
) -> Callable[[RowProxy, Any], None]:
    """Return what writes a shaped field of numbers; `write` checks the value.

    Numbers that lie in the same buffer already are not checked again: those of the view that `+=`
    hands back.
    """

    dtype = np.dtype(scalar)

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


# --- Shaped fields of numbers in a second buffer, where only some instances have a
# row.


class ColdDefault(np.ndarray[Any, np.dtype[Any]]):
    """The default of a cell that has no place in the buffer yet: writing to it makes one.

    `cell[...] = …` and operations in place go through the field. Whatever else writes finds a
    read-only array, so nothing is lost unnoticed.
    """

    _field: Any = None
    _proxy: RowProxy | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._proxy is None:  # a part of one
            super().__setitem__(key, value)
            return
        cell = self._copied()
        cell[key] = value
        self._field.__set__(self._proxy, cell)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        outs = options.get("out", ())
        if outs:
            options["out"] = tuple(map(_plain, outs))
        result = getattr(ufunc, method)(*map(_read_only, inputs), **options)
        if not outs:
            return result
        for out, values in zip(outs, options["out"], strict=True):
            if isinstance(out, ColdDefault):
                out[...] = values
        shown = [out._shown() if isinstance(out, ColdDefault) else out for out in outs]
        return tuple(shown) if len(shown) > 1 else shown[0]

    def _shown(self) -> Any:
        """Return what the field holds now: something may have been written since."""
        return self if self._proxy is None else self._field.__get__(self._proxy)

    def _copied(self) -> NDArray[Any]:
        return np.array(self._shown(), subok=False)


def _plain(value: Any) -> Any:
    """Return an ordinary array with what the cell holds now, or another value as it is."""
    return value._copied() if isinstance(value, ColdDefault) else value


def _read_only(value: Any) -> Any:
    """The same for what an operation reads; `ufunc.at` would write to it."""
    plain = _plain(value)
    if plain is not value:
        plain.flags.writeable = False
    return plain


class ColdArray:
    """Makes what shows and writes one shaped field of numbers that is cold."""

    @staticmethod
    def of(
        scalar: type[_ScalarT],
        read: Callable[[_ManagerT, int], Any],
        write: Callable[[_ManagerT, int, ArrayLike], None],
        view: CellView | None = None,
    ) -> ProxyField[NDArray[_ScalarT], ArrayLike]:
        """Return a proxy's field that reads as a view, and writes as the manager's setter does.

        Reading makes no cold row: where there is none, a ColdDefault stands for the cell.
        `view`: what shows its cells, if that is not one column of its name.
        """
        show = view or whole_cell(write)

        def get(self: ManagedProxy) -> Any:
            row = self.row
            data = self._manager.data
            place = data._cold_row_cells[row]
            if place != NIL:
                return show(data._cold, place)
            cell = np.array(read(self._manager, row), scalar).view(ColdDefault)
            cell._field, cell._proxy = field, self
            cell.flags.writeable = False
            return cell

        field = field_property(
            get, array_writer(scalar, late_writer(write), get), write.__doc__
        )
        typed: ProxyField[NDArray[_ScalarT], ArrayLike] = field
        return typed
