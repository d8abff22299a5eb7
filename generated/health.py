"""Health: rows in archetype chunks.

How much an entity can take, and how fast it recovers.

Each column on its own in a chunk:

    column    type  tags  bytes/row
    --------  ----  ----  ---------
    points    f32   hot           4
    limit     f32   hot           4
    recovery  f32   hot           4
    12 bytes per row, in archetype chunks of 16384 bytes
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
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.world.archetypes.chunk_proxies import ChunkProxy, ChunkValue
from ecsgen_runtime.world.archetypes.chunks import ChunkColumns, RowCount
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager

_COLUMNS: Final = (
    Column("points", np.dtype(np.float32), (), 4, ("hot",), 0),
    Column("limit", np.dtype(np.float32), (), 4, ("hot",), 4),
    Column("recovery", np.dtype(np.float32), (), 4, ("hot",), 8),
)
_POINTS_FIELD: Final = FloatField("Health.points", "f32")
_LIMIT_FIELD: Final = FloatField("Health.limit", "f32")
_RECOVERY_FIELD: Final = FloatField("Health.recovery", "f32")
_POINTS_DEFAULT: Final = 100.0
_LIMIT_DEFAULT: Final = 100.0
_RECOVERY_DEFAULT: Final = 0.0
_FIELDS: Final = component_fields(
    (_POINTS_FIELD, "f32", _POINTS_DEFAULT, ("hot",), "", "What is left."),
    (_LIMIT_FIELD, "f32", _LIMIT_DEFAULT, ("hot",), "", "No more than this."),
    (
        _RECOVERY_FIELD,
        "f32",
        _RECOVERY_DEFAULT,
        ("hot",),
        "1/s",
        "What comes back by itself.",
    ),
)


class Health(NamedTuple):
    """One row of an archetype chunk, copied out."""

    points: float = _POINTS_DEFAULT
    """What is left."""

    limit: float = _LIMIT_DEFAULT
    """No more than this."""

    recovery: float = _RECOVERY_DEFAULT
    """What comes back by itself. [1/s]"""


class HealthFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    points: ArrayLike
    limit: ArrayLike
    recovery: ArrayLike


class HealthValues(TypedDict, total=False):
    """Fields of one row; fields left out have defaults, or stay as they are."""

    points: float
    limit: float
    recovery: float


class HealthData(ChunkColumns, HotColumns):
    """Health in one chunk: its columns as views of the rows in use.

    A view is good until the next structural change. Assigning to a column writes its
    rows, after the same checks as everywhere: `chunk.health.x = 2.0`.
    """

    ROW: ClassVar = Health
    CONVERTERS: ClassVar = _FIELDS.converters
    FIELDS: ClassVar = _FIELDS.infos
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager

    __slots__ = (
        "_limit_cells",
        "_limit_column",
        "_limit_view",
        "_points_cells",
        "_points_column",
        "_points_view",
        "_recovery_cells",
        "_recovery_column",
        "_recovery_view",
    )
    _points_column: NDArray[np.float32]
    _points_view: NDArray[np.float32]
    _points_cells: memoryview[float]
    _limit_column: NDArray[np.float32]
    _limit_view: NDArray[np.float32]
    _limit_cells: memoryview[float]
    _recovery_column: NDArray[np.float32]
    _recovery_view: NDArray[np.float32]
    _recovery_cells: memoryview[float]

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        self._rows = rows
        self._points_column = columns[0]
        self._points_view = columns[0]
        self._points_cells = cell_view(columns[0])
        self._limit_column = columns[1]
        self._limit_view = columns[1]
        self._limit_cells = cell_view(columns[1])
        self._recovery_column = columns[2]
        self._recovery_view = columns[2]
        self._recovery_cells = cell_view(columns[2])

    @property
    def points(self) -> NDArray[np.float32]:
        """What is left. Shape (n,)."""
        view = self._points_column[: self._rows.n]
        self._points_view = view
        return view

    @points.setter
    def points(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._points_view
        if values is not view or len(view) != n:
            self._points_column[: self._rows.n] = _POINTS_FIELD.to_column(values, n)

    @property
    def limit(self) -> NDArray[np.float32]:
        """No more than this. Shape (n,)."""
        view = self._limit_column[: self._rows.n]
        self._limit_view = view
        return view

    @limit.setter
    def limit(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._limit_view
        if values is not view or len(view) != n:
            self._limit_column[: self._rows.n] = _LIMIT_FIELD.to_column(values, n)

    @property
    def recovery(self) -> NDArray[np.float32]:
        """What comes back by itself. [1/s] Shape (n,)."""
        view = self._recovery_column[: self._rows.n]
        self._recovery_view = view
        return view

    @recovery.setter
    def recovery(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._recovery_view
        if values is not view or len(view) != n:
            self._recovery_column[: self._rows.n] = _RECOVERY_FIELD.to_column(values, n)

    @staticmethod
    def _one(
        *,
        points: float = _POINTS_DEFAULT,
        limit: float = _LIMIT_DEFAULT,
        recovery: float = _RECOVERY_DEFAULT,
    ) -> tuple[Any, ...]:
        """Check the fields of one new row."""
        _points_ = _POINTS_DEFAULT
        if points is not _POINTS_DEFAULT:
            _points_ = _POINTS_FIELD.to_cell(points)
        _limit_ = _LIMIT_DEFAULT
        if limit is not _LIMIT_DEFAULT:
            _limit_ = _LIMIT_FIELD.to_cell(limit)
        _recovery_ = _RECOVERY_DEFAULT
        if recovery is not _RECOVERY_DEFAULT:
            _recovery_ = _RECOVERY_FIELD.to_cell(recovery)
        return (_points_, _limit_, _recovery_)

    @staticmethod
    def _many(
        count: int,
        /,
        *,
        points: ArrayLike = _POINTS_DEFAULT,
        limit: ArrayLike = _LIMIT_DEFAULT,
        recovery: ArrayLike = _RECOVERY_DEFAULT,
    ) -> tuple[NDArray[Any], ...]:
        """Check fields for `count` new rows and return an array for each column."""
        return (
            _POINTS_FIELD.to_column(points, count),
            _LIMIT_FIELD.to_column(limit, count),
            _RECOVERY_FIELD.to_column(recovery, count),
        )

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write a tuple that `_one` returned to a row."""
        _points_, _limit_, _recovery_ = values
        self._points_cells[row] = _points_
        self._limit_cells[row] = _limit_
        self._recovery_cells[row] = _recovery_

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write a dict that `_some` returned to a row."""
        if "points" in values:
            self._points_cells[row] = values["points"]
        if "limit" in values:
            self._limit_cells[row] = values["limit"]
        if "recovery" in values:
            self._recovery_cells[row] = values["recovery"]

    def _row(self, row: int) -> Health:
        """Return a copy of a row."""
        return Health(
            self._points_cells[row], self._limit_cells[row], self._recovery_cells[row]
        )


class HealthRef(ChunkProxy):
    """Health of an entity, which it follows."""

    __slots__ = ()

    _COMPONENT: ClassVar = Health

    points: ProxyField[float, float] = ChunkValue.cell("points")
    limit: ProxyField[float, float] = ChunkValue.cell("limit")
    recovery: ProxyField[float, float] = ChunkValue.cell("recovery")
