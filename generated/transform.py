"""Transform: lookup direct, instances one, destroy gc.

Place, orientation and size in world space.

One buffer of 48 bytes per row, column after column:

    column       type    bytes/row  offset (64 rows)  tags
    -----------  ------  ---------  ----------------  ----
    entity       u64             8                 0  hot
    translation  f32[3]         12               512  hot
    rotation     f32[4]         16              1280  hot
    scale        f32[3]         12              2304  hot
    48 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.kernels.blocks import (
    KernelBlocks,
    KernelRows,
    SelectedRows,
    WorldKernelRows,
    combine_means,
    put_where,
    rows_last,
    selected_blocks,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.direct import Direct, DirectRows
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, put_cells
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("translation", np.dtype(np.float32), (3,), 12, ("hot",), 8),
    Column("rotation", np.dtype(np.float32), (4,), 16, ("hot",), 20),
    Column("scale", np.dtype(np.float32), (3,), 12, ("hot",), 36),
)
_TRANSLATION_FIELD: Final = FloatField("Transform.translation", "f32", (3,))
_ROTATION_FIELD: Final = FloatField("Transform.rotation", "f32", (4,))
_SCALE_FIELD: Final = FloatField("Transform.scale", "f32", (3,))
_TRANSLATION_STRUCT: Final = Struct("=3f")
_ROTATION_STRUCT: Final = Struct("=4f")
_SCALE_STRUCT: Final = Struct("=3f")
_TRANSLATION_DEFAULT: Final = (0.0, 0.0, 0.0)
_ROTATION_DEFAULT: Final = (0.0, 0.0, 0.0, 1.0)
_SCALE_DEFAULT: Final = (1.0, 1.0, 1.0)
_FIELDS: Final = component_fields(
    (
        _TRANSLATION_FIELD,
        "f32[3]",
        _TRANSLATION_DEFAULT,
        ("hot",),
        "m",
        "Place of the origin.",
    ),
    (
        _ROTATION_FIELD,
        "f32[4]",
        _ROTATION_DEFAULT,
        ("hot",),
        "",
        "Unit quaternion, x y z w.",
    ),
    (_SCALE_FIELD, "f32[3]", _SCALE_DEFAULT, ("hot",), "", "Factor along each axis."),
)
_1_0_f32: Final = np.array(1.0, np.float32)
_1e_minus_06_f32: Final = np.array(1e-06, np.float32)


class Transform(NamedTuple):
    """One row of a TransformManager, copied out."""

    translation: tuple[float, float, float] = _TRANSLATION_DEFAULT
    """Place of the origin. [m]"""

    rotation: tuple[float, float, float, float] = _ROTATION_DEFAULT
    """Unit quaternion, x y z w."""

    scale: tuple[float, float, float] = _SCALE_DEFAULT
    """Factor along each axis."""


class TransformFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    translation: ArrayLike
    rotation: ArrayLike
    scale: ArrayLike


class TransformColumns(QueryColumns):
    """The columns of Transform in a query's rows: one cell per entity."""

    __slots__ = ()

    translation = QueryColumn[np.float32](
        "translation", _TRANSLATION_FIELD, _TRANSLATION_DEFAULT
    )
    """Place of the origin. [m] Shape (n, 3)."""

    rotation = QueryColumn[np.float32]("rotation", _ROTATION_FIELD, _ROTATION_DEFAULT)
    """Unit quaternion, x y z w. Shape (n, 4)."""

    scale = QueryColumn[np.float32]("scale", _SCALE_FIELD, _SCALE_DEFAULT)
    """Factor along each axis. Shape (n, 3)."""


class TransformData(DirectRows, WorldKernelRows, KernelRows, HotColumns):
    """The columns of a TransformManager: views of the rows in use."""

    __slots__ = (
        "_count",
        "_entity_cells",
        "_entity_column",
        "_kernels",
        "_rotation_cells",
        "_rotation_column",
        "_scale_cells",
        "_scale_column",
        "_translation_cells",
        "_translation_column",
        "_world_kernels",
    )
    MANAGER: ClassVar = "TransformManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _straighten_blocks(self) -> KernelBlocks:
        """Cut the columns of `straighten` into blocks; good until they move or n
        changes."""
        n = self._n
        columns = (rows_last(self._rotation_column[:n]),)
        working = (
            ("?", (), False),
            ("f4", (), False),
            ("f4", (), False),
            ("f4", (4,), False),
        )
        blocks = KernelBlocks(n, columns, working, self._kernels.get("straighten"))
        self._kernels["straighten"] = blocks
        return blocks

    def _center_blocks(self) -> KernelBlocks:
        """Cut the columns of `center` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._entity_column[:n], rows_last(self._translation_column[:n]))
        working = (("f4", (3,), False),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("center"))
        self._kernels["center"] = blocks
        return blocks

    @property
    def translation(self) -> NDArray[np.float32]:
        """Place of the origin. [m] Shape (n, 3)."""
        return self._translation_column[: self._n]

    @translation.setter
    def translation(self, values: ArrayLike) -> None:
        if not is_same_view(self.translation, values):
            self._translation_column[: self._n] = _TRANSLATION_FIELD.to_column(
                values, self._n
            )

    @property
    def rotation(self) -> NDArray[np.float32]:
        """Unit quaternion, x y z w. Shape (n, 4)."""
        return self._rotation_column[: self._n]

    @rotation.setter
    def rotation(self, values: ArrayLike) -> None:
        if not is_same_view(self.rotation, values):
            self._rotation_column[: self._n] = _ROTATION_FIELD.to_column(
                values, self._n
            )

    @property
    def scale(self) -> NDArray[np.float32]:
        """Factor along each axis. Shape (n, 3)."""
        return self._scale_column[: self._n]

    @scale.setter
    def scale(self, values: ArrayLike) -> None:
        if not is_same_view(self.scale, values):
            self._scale_column[: self._n] = _SCALE_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._translation_column: NDArray[np.float32] = self._column_view(1)
        self._translation_cells: memoryview[float] = cell_view(self._translation_column)
        self._rotation_column: NDArray[np.float32] = self._column_view(2)
        self._rotation_cells: memoryview[float] = cell_view(self._rotation_column)
        self._scale_column: NDArray[np.float32] = self._column_view(3)
        self._scale_cells: memoryview[float] = cell_view(self._scale_column)


class TransformManager(Direct, Gc):
    """Manager of every Transform: lookup direct, instances one, destroy gc.

    Place, orientation and size in world space.
    """

    __slots__ = ("_entities", "_rng")
    PARTS: ClassVar = ManagerParts(
        row=Transform,
        accessors=("direct",),
        create=("direct",),
        destroy_row=("direct",),
    )
    ROWS: ClassVar = TransformData
    CONVERTERS: ClassVar = _FIELDS.converters
    data: TransformData

    def translation(self, row: int, /) -> tuple[float, float, float]:
        """Place of the origin. [m]"""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return _TRANSLATION_STRUCT.unpack_from(data._translation_cells, 12 * row)

    def set_translation(self, row: int, value: ArrayLike, /) -> None:
        """Set `translation` of a row: 3 values."""
        _value = _TRANSLATION_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        _at = 3 * row
        data._translation_cells[_at] = _value[0]
        data._translation_cells[_at + 1] = _value[1]
        data._translation_cells[_at + 2] = _value[2]

    def rotation(self, row: int, /) -> tuple[float, float, float, float]:
        """Unit quaternion, x y z w."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return _ROTATION_STRUCT.unpack_from(data._rotation_cells, 16 * row)

    def set_rotation(self, row: int, value: ArrayLike, /) -> None:
        """Set `rotation` of a row: 4 values."""
        _value = _ROTATION_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        _at = 4 * row
        data._rotation_cells[_at] = _value[0]
        data._rotation_cells[_at + 1] = _value[1]
        data._rotation_cells[_at + 2] = _value[2]
        data._rotation_cells[_at + 3] = _value[3]

    def scale(self, row: int, /) -> tuple[float, float, float]:
        """Factor along each axis."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return _SCALE_STRUCT.unpack_from(data._scale_cells, 12 * row)

    def set_scale(self, row: int, value: ArrayLike, /) -> None:
        """Set `scale` of a row: 3 values."""
        _value = _SCALE_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        _at = 3 * row
        data._scale_cells[_at] = _value[0]
        data._scale_cells[_at + 1] = _value[1]
        data._scale_cells[_at + 2] = _value[2]

    def row(self, row: int, /) -> Transform:
        """Return a copy of a row; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return Transform(
            _TRANSLATION_STRUCT.unpack_from(data._translation_cells, 12 * row),
            _ROTATION_STRUCT.unpack_from(data._rotation_cells, 16 * row),
            _SCALE_STRUCT.unpack_from(data._scale_cells, 12 * row),
        )

    def __getitem__(self, entity: Entity, /) -> TransformRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(TransformRef, entity)

    def rows(self) -> Iterator[TransformRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(TransformRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        translation: ArrayLike = _TRANSLATION_DEFAULT,
        rotation: ArrayLike = _ROTATION_DEFAULT,
        scale: ArrayLike = _SCALE_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            DuplicateInstanceError: the entity has an instance already.
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _translation_ = _TRANSLATION_DEFAULT
            if translation is not _TRANSLATION_DEFAULT:
                _translation_ = _TRANSLATION_FIELD.to_cell(translation)
            _rotation_ = _ROTATION_DEFAULT
            if rotation is not _ROTATION_DEFAULT:
                _rotation_ = _ROTATION_FIELD.to_cell(rotation)
            _scale_ = _SCALE_DEFAULT
            if scale is not _SCALE_DEFAULT:
                _scale_ = _SCALE_FIELD.to_cell(scale)
        except Exception:
            self._entities.require(entity)  # a dead entity is the first error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            self._raise_if_locked()
        data = self.data
        row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
        _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
        if _owner == entity:
            raise self._duplicate(entity)
        if row >= data._allocated:
            data._grow(row + 1, (translation, rotation, scale))
        if _owner != NULL_ENTITY:
            _evicted = self._destroy_row, row, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                translation=translation,
                rotation=rotation,
                scale=scale,
            )
        try:
            data._entity_cells[row] = entity
            _at = 3 * row
            data._translation_cells[_at] = _translation_[0]
            data._translation_cells[_at + 1] = _translation_[1]
            data._translation_cells[_at + 2] = _translation_[2]
            _at = 4 * row
            data._rotation_cells[_at] = _rotation_[0]
            data._rotation_cells[_at + 1] = _rotation_[1]
            data._rotation_cells[_at + 2] = _rotation_[2]
            data._rotation_cells[_at + 3] = _rotation_[3]
            _at = 3 * row
            data._scale_cells[_at] = _scale_[0]
            data._scale_cells[_at + 1] = _scale_[1]
            data._scale_cells[_at + 2] = _scale_[2]
            if row >= data._n:
                data._n = row + 1
            data._count += 1
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[TransformFields],
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, columns, table)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        rows = span = self._entities.slots(entities)
        end = self._entities.span(entities)
        try:
            data._entity_column[span] = entities
            put_cells(data._translation_column, span, columns["translation"])
            put_cells(data._rotation_column, span, columns["rotation"])
            put_cells(data._scale_column, span, columns["scale"])
            data._n = max(data._n, end)
            data._count += count
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        end = data._n
        if row == end - 1:
            end = self._end_below(row)
        try:
            data._entity_cells[row] = NULL_ENTITY
            data._n = end
            data._count -= 1
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def straighten(self, *, rows: ArrayLike | None = None) -> None:
        """Let rotations be of length 1 again.

        Reads rotation; writes rotation. O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        data = self.data
        _blocks = data._kernels.get("straighten")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._straighten_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0,))
        with np.errstate(all="ignore"):
            for rotation, _where, _tmp, _tmp2, _tmp3 in _views:
                # where abs(1 - dot(rotation, rotation)) > 1e-6
                np.multiply(rotation[0], rotation[0], out=_tmp)
                np.multiply(rotation[1], rotation[1], out=_tmp2)
                _tmp += _tmp2
                np.multiply(rotation[2], rotation[2], out=_tmp2)
                _tmp += _tmp2
                np.multiply(rotation[3], rotation[3], out=_tmp2)
                _tmp += _tmp2
                np.subtract(_1_0_f32, _tmp, out=_tmp)
                np.absolute(_tmp, out=_tmp)
                np.greater(_tmp, _1e_minus_06_f32, out=_where)
                if not _where.any():
                    continue
                # rotation = normalize(rotation)
                np.multiply(rotation[0], rotation[0], out=_tmp2)
                np.multiply(rotation[1], rotation[1], out=_tmp)
                _tmp2 += _tmp
                np.multiply(rotation[2], rotation[2], out=_tmp)
                _tmp2 += _tmp
                np.multiply(rotation[3], rotation[3], out=_tmp)
                _tmp2 += _tmp
                np.sqrt(_tmp2, out=_tmp2)
                np.putmask(_tmp2, _tmp2 == 0, 1)
                np.divide(rotation, _tmp2, out=_tmp3)
                put_where(rotation, _where, _tmp3)

    def center(self) -> tuple[float, float, float]:
        """Return the mean place.

        Reads translation [m]. Added in f64. Without rows it is NaN. O(n).
        """
        data = self.data
        _blocks = data._kernels.get("center")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._center_blocks()
        _parts: list[Any] = []
        for _owners, translation, _tmp in _blocks.views:
            _present = _owners != NULL_ENTITY
            if not _present.any():
                continue
            _tmp[...] = translation
            _parts.append(
                np.add.reduce(_tmp.compress(_present, -1), axis=-1, dtype=np.float64)
            )
        _result: tuple[float, float, float] = combine_means(_parts, len(self), (3,))
        return _result


class TransformRef(EntityProxy):
    """A row of a TransformManager, which follows its entity."""

    __slots__ = ()

    translation = ArrayField.of(np.float32, TransformManager.set_translation)
    rotation = ArrayField.of(np.float32, TransformManager.set_rotation)
    scale = ArrayField.of(np.float32, TransformManager.set_scale)
