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

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from random import Random
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime import (
    NIL,
    NULL_ENTITY,
    Blocks,
    Cells,
    Column,
    Columns,
    Entity,
    EntityArray,
    FloatField,
    Instance,
    JoinedBlocks,
    QueryColumn,
    QueryColumns,
    RowArray,
    StaleViewWarning,
    allocate,
    as_entities,
    averaged,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    direct_lookup,
    distinct,
    duplicate_instance,
    first_missing,
    first_present,
    first_repeated,
    flat_cells,
    grown_capacity,
    has_row,
    indices,
    is_integer,
    is_same_view,
    items,
    last_owner,
    load_rows,
    locked,
    missing,
    present_row,
    present_rows,
    put_cells,
    put_where,
    rows_last,
    rows_spanned,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from .entities import INDEX_MASK, EntityManager

MANAGER: Final = "TransformManager"
ROW_BYTES: Final = 48
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("translation", np.dtype(np.float32), (3,), 12, ("hot",), 8),
    Column("rotation", np.dtype(np.float32), (4,), 16, ("hot",), 20),
    Column("scale", np.dtype(np.float32), (3,), 12, ("hot",), 36),
)
_TRANSLATION: Final = FloatField("Transform.translation", "f32", (3,))
_ROTATION: Final = FloatField("Transform.rotation", "f32", (4,))
_SCALE: Final = FloatField("Transform.scale", "f32", (3,))
TRANSLATION_STRUCT: Final = Struct("=3f")
ROTATION_STRUCT: Final = Struct("=4f")
SCALE_STRUCT: Final = Struct("=3f")
TRANSLATION_DEFAULT: Final = (0.0, 0.0, 0.0)
ROTATION_DEFAULT: Final = (0.0, 0.0, 0.0, 1.0)
SCALE_DEFAULT: Final = (1.0, 1.0, 1.0)


class Transform(NamedTuple):
    """One row of a TransformManager, copied out."""

    translation: tuple[float, float, float]
    """Place of the origin. [m]"""

    rotation: tuple[float, float, float, float]
    """Unit quaternion, x y z w."""

    scale: tuple[float, float, float]
    """Factor along each axis."""


class TransformFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    translation: ArrayLike
    rotation: ArrayLike
    scale: ArrayLike


class TransformHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    translation: NDArray[np.float32]
    rotation: NDArray[np.float32]
    scale: NDArray[np.float32]


class TransformData:
    """The columns of a TransformManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_joined",
        "_kernels",
        "_n",
        "_rotation_cells",
        "_rotation_column",
        "_rotation_items",
        "_scale_cells",
        "_scale_column",
        "_scale_items",
        "_translation_cells",
        "_translation_column",
        "_translation_items",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _joined: dict[str, JoinedBlocks]
    _kernels: dict[str, Blocks]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _translation_column: NDArray[np.float32]
    _translation_items: NDArray[Any]
    _translation_cells: memoryview[float]
    _rotation_column: NDArray[np.float32]
    _rotation_items: NDArray[Any]
    _rotation_cells: memoryview[float]
    _scale_column: NDArray[np.float32]
    _scale_items: NDArray[Any]
    _scale_cells: memoryview[float]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._joined = {}
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """The highest row in use + 1; rows without an owner are holes."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer."""
        return self._allocated

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only, 0 in holes."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def translation(self) -> NDArray[np.float32]:
        """Place of the origin. [m] Shape (n, 3)."""
        return self._translation_column[: self._n]

    @translation.setter
    def translation(self, values: ArrayLike) -> None:
        if not is_same_view(self.translation, values):
            self._translation_column[: self._n] = _TRANSLATION.many(values, self._n)

    @property
    def rotation(self) -> NDArray[np.float32]:
        """Unit quaternion, x y z w. Shape (n, 4)."""
        return self._rotation_column[: self._n]

    @rotation.setter
    def rotation(self, values: ArrayLike) -> None:
        if not is_same_view(self.rotation, values):
            self._rotation_column[: self._n] = _ROTATION.many(values, self._n)

    @property
    def scale(self) -> NDArray[np.float32]:
        """Factor along each axis. Shape (n, 3)."""
        return self._scale_column[: self._n]

    @scale.setter
    def scale(self, values: ArrayLike) -> None:
        if not is_same_view(self.scale, values):
            self._scale_column[: self._n] = _SCALE.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> TransformHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return TransformHotColumns(self.translation, self.rotation, self.scale)
        raise ValueError(f"Transform has no tag {tag!r}; it has hot")

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are in use, shape (n,): a mask for columns with holes."""
        return self._entity_column[: self._n].astype(np.bool_)

    def _straighten_blocks(self) -> Blocks:
        """Cut the columns of `straighten` into blocks; good until they move or n changes."""
        n = self._n
        columns = (rows_last(self._rotation_column[:n]),)
        working: tuple[Cells, ...] = (
            ("?", (), False),
            ("f4", (), False),
            ("f4", (), False),
            ("f4", (4,), False),
        )
        blocks = Blocks(n, columns, working)
        self._kernels["straighten"] = blocks
        return blocks

    def _center_blocks(self) -> Blocks:
        """Cut the columns of `center` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._entity_column[:n], rows_last(self._translation_column[:n]))
        working: tuple[Cells, ...] = (("f4", (3,), False),)
        blocks = Blocks(n, columns, working)
        self._kernels["center"] = blocks
        return blocks

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._translation_column = cut(buffer, COLUMNS[1], capacity)
        self._translation_items = items(self._translation_column)
        self._translation_cells = flat_cells(self._translation_column)
        self._rotation_column = cut(buffer, COLUMNS[2], capacity)
        self._rotation_items = items(self._rotation_column)
        self._rotation_cells = flat_cells(self._rotation_column)
        self._scale_column = cut(buffer, COLUMNS[3], capacity)
        self._scale_items = items(self._scale_column)
        self._scale_cells = flat_cells(self._scale_column)
        for blocks in self._joined.values():
            blocks.drop()
        self._joined = {}
        self._kernels = {}

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._n
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._n)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)


class TransformColumns(QueryColumns):
    """The columns of Transform in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    translation = QueryColumn[np.float32](
        "translation", _TRANSLATION, TRANSLATION_DEFAULT
    )
    """Place of the origin. [m] Shape (n, 3)."""

    rotation = QueryColumn[np.float32]("rotation", _ROTATION, ROTATION_DEFAULT)
    """Unit quaternion, x y z w. Shape (n, 4)."""

    scale = QueryColumn[np.float32]("scale", _SCALE, SCALE_DEFAULT)
    """Factor along each axis. Shape (n, 3)."""


class TransformManager:
    """Owns every Transform: lookup direct, instances one, destroy gc.

    Place, orientation and size in world space.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_count",
        "_entities",
        "_locks",
        "_rng",
        "_version",
        "data",
    )
    data: TransformData
    _count: int
    _entities: EntityManager
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = TransformData(capacity=0)
        self._count = 0
        self._entities = entities
        self._rng = Random(0)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "count": self._count,
            "entities": self._entities,
            "rng": self._rng.getstate(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = TransformData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._count = state["count"]
        self._entities = state["entities"]
        self._rng = Random()
        self._rng.setstate(state["rng"])

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self._count

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, in order of their indices."""
        owners = self.data.entity
        return iter(owners[owners != NULL_ENTITY].tolist())

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: the buffer and a share of the world's scratch
        and scratch; O(1)."""
        total = self.data._buffer.nbytes
        total += sum(blocks.nbytes for blocks in self.data._joined.values())
        total += sum(blocks.nbytes for blocks in self.data._kernels.values())
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return data._entity_cells[row]

    def translation(self, row: Instance, /) -> tuple[float, float, float]:
        """Place of the origin. [m]"""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return TRANSLATION_STRUCT.unpack_from(data._translation_cells, 12 * row)

    def set_translation(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `translation` of a row: 3 values."""
        _value = _TRANSLATION.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        _at = 3 * row
        data._translation_cells[_at] = _value[0]
        data._translation_cells[_at + 1] = _value[1]
        data._translation_cells[_at + 2] = _value[2]

    def rotation(self, row: Instance, /) -> tuple[float, float, float, float]:
        """Unit quaternion, x y z w."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return ROTATION_STRUCT.unpack_from(data._rotation_cells, 16 * row)

    def set_rotation(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `rotation` of a row: 4 values."""
        _value = _ROTATION.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        _at = 4 * row
        data._rotation_cells[_at] = _value[0]
        data._rotation_cells[_at + 1] = _value[1]
        data._rotation_cells[_at + 2] = _value[2]
        data._rotation_cells[_at + 3] = _value[3]

    def scale(self, row: Instance, /) -> tuple[float, float, float]:
        """Factor along each axis."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return SCALE_STRUCT.unpack_from(data._scale_cells, 12 * row)

    def set_scale(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `scale` of a row: 3 values."""
        _value = _SCALE.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        _at = 3 * row
        data._scale_cells[_at] = _value[0]
        data._scale_cells[_at + 1] = _value[1]
        data._scale_cells[_at + 2] = _value[2]

    def row(self, row: Instance, /) -> Transform:
        """Return a copy of a row; O(1)."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return Transform(
            TRANSLATION_STRUCT.unpack_from(data._translation_cells, 12 * row),
            ROTATION_STRUCT.unpack_from(data._rotation_cells, 16 * row),
            SCALE_STRUCT.unpack_from(data._scale_cells, 12 * row),
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return NIL

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        return direct_lookup(data._entity_column[: data._n], given, INDEX_MASK)

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has an instance; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have an instance, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def create(
        self,
        entity: Entity,
        /,
        *,
        translation: ArrayLike = TRANSLATION_DEFAULT,
        rotation: ArrayLike = ROTATION_DEFAULT,
        scale: ArrayLike = SCALE_DEFAULT,
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
            _translation_ = TRANSLATION_DEFAULT
            if translation is not TRANSLATION_DEFAULT:
                _translation_ = _TRANSLATION.one(translation)
            _rotation_ = ROTATION_DEFAULT
            if rotation is not ROTATION_DEFAULT:
                _rotation_ = _ROTATION.one(rotation)
            _scale_ = SCALE_DEFAULT
            if scale is not SCALE_DEFAULT:
                _scale_ = _SCALE.one(scale)
        except Exception:
            self._entities.require(entity)  # death is the graver error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
        _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
        if _owner == entity:
            raise duplicate_instance(MANAGER, entity)
        if row >= data._allocated:
            data._allocate(
                grown_capacity(data._allocated, row + 1), (translation, rotation, scale)
            )
        if _owner != NULL_ENTITY:
            self._destroy_row(row)  # of a dead entity with the same index
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
        self._count += 1
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        translation: ArrayLike = TRANSLATION_DEFAULT,
        rotation: ArrayLike = ROTATION_DEFAULT,
        scale: ArrayLike = SCALE_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given), translation=translation, rotation=rotation, scale=scale
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, translation, rotation, scale)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        translation: ArrayLike = TRANSLATION_DEFAULT,
        rotation: ArrayLike = ROTATION_DEFAULT,
        scale: ArrayLike = SCALE_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "translation": _TRANSLATION.many(translation, count, data._buffer),
            "rotation": _ROTATION.many(rotation, count, data._buffer),
            "scale": _SCALE.many(scale, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = rows_spanned(entities, INDEX_MASK)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        rows_needed = rows_spanned(entities, INDEX_MASK)
        rows = span = indices(entities, INDEX_MASK)
        used = rows[rows < data._n]
        self._destroy_rows(np.sort(used[data._entity_column[used] != NULL_ENTITY]))
        data._entity_column[span] = entities
        put_cells(
            data._translation_column,
            data._translation_items,
            span,
            columns["translation"],
        )
        put_cells(
            data._rotation_column,
            data._rotation_items,
            span,
            columns["rotation"],
        )
        put_cells(
            data._scale_column,
            data._scale_items,
            span,
            columns["scale"],
        )
        data._n = max(data._n, rows_needed)
        self._count += count
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        translation: ArrayLike = TRANSLATION_DEFAULT,
        rotation: ArrayLike = ROTATION_DEFAULT,
        scale: ArrayLike = SCALE_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity, translation=translation, rotation=rotation, scale=scale
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). Nothing moves.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = present_rows(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked(MANAGER)
        row = self.lookup(entity)
        if row == NIL:
            return 0
        return self._destroy_row(row)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove the instances of k entities and return how many went; O(k)."""
        if self._locks:
            raise locked(MANAGER)
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.flatnonzero(self.data.entity))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        data._entity_cells[row] = NULL_ENTITY
        if row == data._n - 1:
            data._n = last_owner(data._entity_column, row)
        self._count -= 1
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        data._entity_column[gone] = NULL_ENTITY
        data._n = last_owner(data._entity_column, data._n)
        self._count -= len(gone)
        self._version += 1
        return len(gone)

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        capacity = whole_rows(data._n)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1

    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        pick = (self._rng if rng is None else rng).random
        alive = self._entities.alive
        collected = alive_in_row = 0
        while data._n and alive_in_row < 4:
            row = Instance(int(pick() * data._n))
            if not (owner := data._entity_cells[row]) or alive(owner):
                alive_in_row += 1
                continue
            alive_in_row = 0
            collected += self._destroy_row(row)
        return collected

    def collect(self) -> int:
        """Remove the rows of all dead entities at once and return how many went; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        owners = self.data.entity
        alive = self._entities.alive_many(owners)
        gone = np.flatnonzero(~alive & (owners != NULL_ENTITY))
        return self._destroy_rows(gone)

    def straighten(self) -> None:
        """Let rotations be of length 1 again.

        Reads rotation; writes rotation. O(n), n rows; no structural change.
        """
        data = self.data
        _blocks = data._kernels.get("straighten")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._straighten_blocks()
        with np.errstate(all="ignore"):
            for rotation, _where, _tmp, _tmp2, _tmp3 in _blocks.views:
                # where abs(1 - dot(rotation, rotation)) > 1e-6
                np.multiply(rotation[0], rotation[0], out=_tmp)
                np.multiply(rotation[1], rotation[1], out=_tmp2)
                _tmp += _tmp2
                np.multiply(rotation[2], rotation[2], out=_tmp2)
                _tmp += _tmp2
                np.multiply(rotation[3], rotation[3], out=_tmp2)
                _tmp += _tmp2
                np.subtract(1.0, _tmp, out=_tmp)
                np.absolute(_tmp, out=_tmp)
                np.greater(_tmp, 1e-06, out=_where)
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
            _parts.append(np.add.reduce(_tmp[..., _present], axis=-1, dtype=np.float64))
        result: tuple[float, float, float] = averaged(_parts, len(self), (3,))
        return result
