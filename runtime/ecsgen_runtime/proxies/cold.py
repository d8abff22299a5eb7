"""Shaped fields of numbers in a second buffer, where only some instances have a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import NIL
from .arrays import CellView, array_writer, whole_cell
from .cells import ProxyField, field_property, late_writer
from .proxy import ManagedProxy, RowProxy

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_ManagerT = TypeVar("_ManagerT")


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
