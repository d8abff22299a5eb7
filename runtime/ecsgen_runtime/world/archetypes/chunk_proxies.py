"""Proxies of rows in archetype chunks, which follow their entities from chunk to chunk."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.handles import Entity, RowClass
from ...managers import row_proxies
from ...managers.row_proxies import RowProxy

_ScalarT = TypeVar("_ScalarT", bound=np.generic)


class ChunkProxy(RowProxy):
    """A row of one component in a chunk."""

    __slots__ = ("_columns",)

    _COMPONENT: ClassVar[RowClass]
    _columns: Any
    """Columns of the component in the row's chunk."""

    @property
    def entity(self) -> Entity:
        """Owner of the row."""
        entity: Entity = self._owner
        return entity

    def _find(self) -> None:
        store = self._manager
        self._columns, self._row = store._find(self._owner, self._COMPONENT)
        self._version = store.version

    def _copied(self) -> Any:
        return self._manager.get_row(self._owner, self._COMPONENT)

    def _whose(self) -> str:
        return f"entity {self._manager._entities.HANDLE_LAYOUT.format_short(self._owner)}"


class ChunkValue:
    """Factory of properties for one field of a row in a chunk."""

    @staticmethod
    def cell(name: str) -> Any:
        """Return the property of a column whose cells are the field's values."""
        cells_of = attrgetter(f"_{name}_cells")

        def get(self: ChunkProxy) -> Any:
            if self._manager._version != self._version:
                self._find()
            return cells_of(self._columns)[self._row]

        return _field(name, get)

    @staticmethod
    def of(name: str) -> Any:
        """Return a property that reads the field of a copy of the row."""

        def get(self: ChunkProxy) -> Any:
            return getattr(self._copied(), name)

        return _field(name, get)


class ChunkArray:
    """Factory of properties for one shaped field of numbers of a row in a chunk."""

    @staticmethod
    def of(
        scalar: type[_ScalarT], name: str, view: row_proxies.CellView | None = None
    ) -> row_proxies.ProxyField[NDArray[_ScalarT], ArrayLike]:
        """Return the property; `view` returns the cells if the field is not one column."""
        show = view or row_proxies.column_cell(name)

        def get(self: ChunkProxy) -> Any:
            if self._manager._version != self._version:
                self._find()
            return show(self._columns, self._row)

        field: row_proxies.ProxyField[NDArray[_ScalarT], ArrayLike]
        field = _field(name, get, row_proxies.array_writer(scalar, _writer(name), get))
        return field


def _writer(name: str) -> Callable[[ChunkProxy, Any], None]:
    """Return a function that checks a value and writes it to the row."""

    def put(self: ChunkProxy, value: Any) -> None:
        self._manager._set(self._owner, self._COMPONENT, {name: value})

    return put


def _field(
    name: str, get: Callable[[Any], Any], put: Callable[[Any, Any], None] | None = None
) -> Any:
    return row_proxies.field_property(get, put or _writer(name), f"`{name}` of the row.")
