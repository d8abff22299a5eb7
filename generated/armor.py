"""Armor: rows in archetype chunks.

Takes a part of every hit.

Each column on its own in a chunk:

    column   type     tags  bytes/row
    -------  -------  ----  ---------
    points   u16      hot           2
    element  Element  hot           1
    3 bytes per row, in archetype chunks of 16384 bytes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.managers.row_proxies import ProxyField
from ecsgen_runtime.tables.buffers import Column, cell_view
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import EnumField, IntField
from ecsgen_runtime.world.archetypes.chunk_proxies import ChunkProxy, ChunkValue
from ecsgen_runtime.world.archetypes.chunks import ChunkColumns, RowCount
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager
from .enums import Element

_COLUMNS: Final = (
    Column("points", np.dtype(np.uint16), (), 2, ("hot",), 0),
    Column("element", np.dtype(np.uint8), (), 1, ("hot",), 2),
)
_POINTS_FIELD: Final = IntField("Armor.points", "u16")
_ELEMENT_FIELD: Final = EnumField("Armor.element", Element, "u8")
_POINTS_DEFAULT: Final = 10
_ELEMENT_DEFAULT: Final = Element(0)
_ELEMENT_CELL: Final = _ELEMENT_FIELD.to_cell(_ELEMENT_DEFAULT)
_FIELDS: Final = component_fields(
    (_POINTS_FIELD, "u16", _POINTS_DEFAULT, ("hot",), "", "Hits that it still takes."),
    (
        _ELEMENT_FIELD,
        "Element",
        _ELEMENT_DEFAULT,
        ("hot",),
        "",
        "What it is made against.",
    ),
)


class Armor(NamedTuple):
    """One row of an archetype chunk, copied out."""

    points: int = _POINTS_DEFAULT
    """Hits that it still takes."""

    element: Element = _ELEMENT_DEFAULT
    """What it is made against."""


class ArmorFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    points: ArrayLike
    element: ArrayLike


class ArmorValues(TypedDict, total=False):
    """Fields of one row; fields left out have defaults, or stay as they are."""

    points: int
    element: Element | int | str


class ArmorData(ChunkColumns, HotColumns):
    """Armor in one chunk: its columns as views of the rows in use.

    A view is good until the next structural change. Assigning to a column writes its
    rows, after the same checks as everywhere: `chunk.armor.x = 2.0`.
    """

    ROW: ClassVar = Armor
    CONVERTERS: ClassVar = _FIELDS.converters
    FIELDS: ClassVar = _FIELDS.infos
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager

    __slots__ = (
        "_element_cells",
        "_element_column",
        "_element_view",
        "_points_cells",
        "_points_column",
        "_points_view",
    )
    _points_column: NDArray[np.uint16]
    _points_view: NDArray[np.uint16]
    _points_cells: memoryview[int]
    _element_column: NDArray[np.uint8]
    _element_view: NDArray[np.uint8]
    _element_cells: memoryview[int]

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        self._rows = rows
        self._points_column = columns[0]
        self._points_view = columns[0]
        self._points_cells = cell_view(columns[0])
        self._element_column = columns[1]
        self._element_view = columns[1]
        self._element_cells = cell_view(columns[1])

    @property
    def points(self) -> NDArray[np.uint16]:
        """Hits that it still takes. Shape (n,)."""
        view = self._points_column[: self._rows.n]
        self._points_view = view
        return view

    @points.setter
    def points(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._points_view
        if values is not view or len(view) != n:
            self._points_column[: self._rows.n] = _POINTS_FIELD.to_column(values, n)

    @property
    def element(self) -> NDArray[np.uint8]:
        """What it is made against. Shape (n,)."""
        view = _ELEMENT_FIELD.comparable(self._element_column[: self._rows.n])
        self._element_view = view
        return view

    @element.setter
    def element(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._element_view
        if values is not view or len(view) != n:
            self._element_column[: self._rows.n] = _ELEMENT_FIELD.to_column(values, n)

    @staticmethod
    def _one(
        *,
        points: int = _POINTS_DEFAULT,
        element: Element | int | str = _ELEMENT_DEFAULT,
    ) -> tuple[Any, ...]:
        """Check the fields of one new row."""
        _points_ = _POINTS_DEFAULT
        if points is not _POINTS_DEFAULT:
            _points_ = _POINTS_FIELD.to_cell(points)
        _element_ = _ELEMENT_CELL
        if element is not _ELEMENT_DEFAULT:
            _element_ = _ELEMENT_FIELD.to_cell(element)
        return (_points_, _element_)

    @staticmethod
    def _many(
        count: int,
        /,
        *,
        points: ArrayLike = _POINTS_DEFAULT,
        element: ArrayLike = _ELEMENT_DEFAULT,
    ) -> tuple[NDArray[Any], ...]:
        """Check fields for `count` new rows and return an array for each column."""
        return (
            _POINTS_FIELD.to_column(points, count),
            _ELEMENT_FIELD.to_column(element, count),
        )

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write a tuple that `_one` returned to a row."""
        _points_, _element_ = values
        self._points_cells[row] = _points_
        self._element_cells[row] = _element_

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write a dict that `_some` returned to a row."""
        if "points" in values:
            self._points_cells[row] = values["points"]
        if "element" in values:
            self._element_cells[row] = values["element"]

    def _row(self, row: int) -> Armor:
        """Return a copy of a row."""
        return Armor(self._points_cells[row], Element(self._element_cells[row]))


class ArmorRef(ChunkProxy):
    """Armor of an entity, which it follows."""

    __slots__ = ()

    _COMPONENT: ClassVar = Armor

    points: ProxyField[int, int] = ChunkValue.cell("points")
    element: ProxyField[Element, Element | int | str] = ChunkValue.of("element")
