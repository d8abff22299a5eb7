"""SoundSource: lookup hash, instances many, destroy manual.

A sound that plays at its entity. The sound system destroys it once it has faded out.

One buffer of 81 bytes per row, column after column:

    column    type     bytes/row  offset (64 rows)  tags
    --------  -------  ---------  ----------------  ----
    entity    u64              8                 0  hot
    volume    f32              4               512  hot
    pitch     f32              4               768  hot
    offset    f32[3]          12              1024  hot
    elapsed   f32              4              1792  hot
    looping   bool             1              2048  hot
    next      u32              4              2112  hot
    previous  u32              4              2368  hot
    clip      str[40]         40              2624  cold
    81 bytes per row, 8192 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    flat_cells,
    grown_capacity,
    is_same_view,
    items,
    load_rows,
    put_cells,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from ._runtime.convert.numbers import BoolField, FloatField
from ._runtime.convert.text import TextField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.instances.chains import (
    chain_lengths,
    chain_rows,
    join,
    link,
    remap_links,
    unlink,
    walk,
)
from ._runtime.maps.hash import dict_bytes, forget, hash_lookup, remember
from ._runtime.placement.rows import (
    distinct,
    fill,
    first_missing,
    has_row,
    integers,
    is_integer,
    locked,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order

MANAGER: Final = "SoundSourceManager"
ROW_BYTES: Final = 81
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("volume", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("pitch", np.dtype(np.float32), (), 4, ("hot",), 12),
    Column("offset", np.dtype(np.float32), (3,), 12, ("hot",), 16),
    Column("elapsed", np.dtype(np.float32), (), 4, ("hot",), 28),
    Column("looping", np.dtype(np.bool_), (), 1, ("hot",), 32),
    Column("next", np.dtype(np.uint32), (), 4, ("hot",), 33),
    Column("previous", np.dtype(np.uint32), (), 4, ("hot",), 37),
    Column("clip", np.dtype("S40"), (), 40, ("cold",), 41),
)
_CLIP: Final = TextField("SoundSource.clip", 40)
_VOLUME: Final = FloatField("SoundSource.volume", "f32")
_PITCH: Final = FloatField("SoundSource.pitch", "f32")
_OFFSET: Final = FloatField("SoundSource.offset", "f32", (3,))
_ELAPSED: Final = FloatField("SoundSource.elapsed", "f32")
_LOOPING: Final = BoolField("SoundSource.looping")
OFFSET_STRUCT: Final = Struct("=3f")
CLIP_DEFAULT: Final = ""
CLIP_CELL: Final = _CLIP.one(CLIP_DEFAULT)
VOLUME_DEFAULT: Final = 1.0
PITCH_DEFAULT: Final = 1.0
OFFSET_DEFAULT: Final = (0.0, 0.0, 0.0)
ELAPSED_DEFAULT: Final = 0.0
LOOPING_DEFAULT: Final = False
SORT_KEYS: Final = ("clip", "volume", "pitch", "elapsed", "looping")


class SoundSource(NamedTuple):
    """One row of a SoundSourceManager, copied out."""

    clip: str
    """Name of the sound to play."""

    volume: float
    """Loudness, 0 to 1."""

    pitch: float
    """Playing speed."""

    offset: tuple[float, float, float]
    """Place relative to the entity. [m]"""

    elapsed: float
    """How much of the clip has been played. [s]"""

    looping: bool
    """Whether it starts again at the end."""


class SoundSourceFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    clip: ArrayLike
    volume: ArrayLike
    pitch: ArrayLike
    offset: ArrayLike
    elapsed: ArrayLike
    looping: ArrayLike


class SoundSourceHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    volume: NDArray[np.float32]
    pitch: NDArray[np.float32]
    offset: NDArray[np.float32]
    elapsed: NDArray[np.float32]
    looping: NDArray[np.bool_]


class SoundSourceColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    clip: NDArray[np.bytes_]


class SoundSourceData:
    """The columns of a SoundSourceManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_clip_column",
        "_elapsed_cells",
        "_elapsed_column",
        "_entity_cells",
        "_entity_column",
        "_looping_cells",
        "_looping_column",
        "_n",
        "_next_cells",
        "_next_column",
        "_offset_cells",
        "_offset_column",
        "_offset_items",
        "_pitch_cells",
        "_pitch_column",
        "_previous_cells",
        "_previous_column",
        "_volume_cells",
        "_volume_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _volume_column: NDArray[np.float32]
    _volume_cells: memoryview[float]
    _pitch_column: NDArray[np.float32]
    _pitch_cells: memoryview[float]
    _offset_column: NDArray[np.float32]
    _offset_items: NDArray[Any]
    _offset_cells: memoryview[float]
    _elapsed_column: NDArray[np.float32]
    _elapsed_cells: memoryview[float]
    _looping_column: NDArray[np.bool_]
    _looping_cells: memoryview[bool]
    _next_column: NDArray[np.uint32]
    _next_cells: memoryview[Instance]
    _previous_column: NDArray[np.uint32]
    _previous_cells: memoryview[Instance]
    _clip_column: NDArray[np.bytes_]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use."""
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
        """The owner of each row, shape (n,); read-only."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def volume(self) -> NDArray[np.float32]:
        """Loudness, 0 to 1. Shape (n,)."""
        return self._volume_column[: self._n]

    @volume.setter
    def volume(self, values: ArrayLike) -> None:
        if not is_same_view(self.volume, values):
            self._volume_column[: self._n] = _VOLUME.many(values, self._n)

    @property
    def pitch(self) -> NDArray[np.float32]:
        """Playing speed. Shape (n,)."""
        return self._pitch_column[: self._n]

    @pitch.setter
    def pitch(self, values: ArrayLike) -> None:
        if not is_same_view(self.pitch, values):
            self._pitch_column[: self._n] = _PITCH.many(values, self._n)

    @property
    def offset(self) -> NDArray[np.float32]:
        """Place relative to the entity. [m] Shape (n, 3)."""
        return self._offset_column[: self._n]

    @offset.setter
    def offset(self, values: ArrayLike) -> None:
        if not is_same_view(self.offset, values):
            self._offset_column[: self._n] = _OFFSET.many(values, self._n)

    @property
    def elapsed(self) -> NDArray[np.float32]:
        """How much of the clip has been played. [s] Shape (n,)."""
        return self._elapsed_column[: self._n]

    @elapsed.setter
    def elapsed(self, values: ArrayLike) -> None:
        if not is_same_view(self.elapsed, values):
            self._elapsed_column[: self._n] = _ELAPSED.many(values, self._n)

    @property
    def looping(self) -> NDArray[np.bool_]:
        """Whether it starts again at the end. Shape (n,)."""
        return self._looping_column[: self._n]

    @looping.setter
    def looping(self, values: ArrayLike) -> None:
        if not is_same_view(self.looping, values):
            self._looping_column[: self._n] = _LOOPING.many(values, self._n)

    @property
    def clip(self) -> NDArray[np.bytes_]:
        """Name of the sound to play. Shape (n,)."""
        return self._clip_column[: self._n]

    @clip.setter
    def clip(self, values: ArrayLike) -> None:
        if not is_same_view(self.clip, values):
            self._clip_column[: self._n] = _CLIP.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> SoundSourceHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> SoundSourceColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return SoundSourceHotColumns(
                self.volume, self.pitch, self.offset, self.elapsed, self.looping
            )
        if tag == "cold":
            return SoundSourceColdColumns(self.clip)
        raise ValueError(f"SoundSource has no tag {tag!r}; it has hot, cold")

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._volume_column = cut(buffer, COLUMNS[1], capacity)
        self._volume_cells = cells(self._volume_column)
        self._pitch_column = cut(buffer, COLUMNS[2], capacity)
        self._pitch_cells = cells(self._pitch_column)
        self._offset_column = cut(buffer, COLUMNS[3], capacity)
        self._offset_items = items(self._offset_column)
        self._offset_cells = flat_cells(self._offset_column)
        self._elapsed_column = cut(buffer, COLUMNS[4], capacity)
        self._elapsed_cells = cells(self._elapsed_column)
        self._looping_column = cut(buffer, COLUMNS[5], capacity)
        self._looping_cells = cells(self._looping_column)
        self._next_column = cut(buffer, COLUMNS[6], capacity)
        self._next_cells = cells(self._next_column)
        self._previous_column = cut(buffer, COLUMNS[7], capacity)
        self._previous_cells = cells(self._previous_column)
        self._clip_column = cut(buffer, COLUMNS[8], capacity)

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

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._volume_column[dst] = self._volume_column[src]
        self._pitch_column[dst] = self._pitch_column[src]
        self._offset_items[dst] = self._offset_items[src]
        self._elapsed_column[dst] = self._elapsed_column[src]
        self._looping_column[dst] = self._looping_column[src]
        self._next_column[dst] = self._next_column[src]
        self._previous_column[dst] = self._previous_column[src]
        self._clip_column[dst] = self._clip_column[src]


class SoundSourceManager:
    """Owns every SoundSource: lookup hash, instances many, destroy manual.

    A sound that plays at its entity. The sound system destroys it once it has faded
    out.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_locks",
        "_rows",
        "_version",
        "data",
    )
    data: SoundSourceData
    _entities: EntityManager
    _rows: dict[int, Instance]

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = SoundSourceData(capacity=0)
        self._entities = entities
        self._rows = {}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "entities": self._entities,
            "rows": self._rows,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = SoundSourceData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._rows = dict(state["rows"])

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has instances; O(1)."""
        return is_integer(entity) and index(entity) in self._rows

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
        """Bytes that the manager holds: the buffer and the map; O(1)."""
        total = self.data._buffer.nbytes
        total += dict_bytes(self._rows)
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
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def clip(self, row: Instance, /) -> str:
        """Name of the sound to play."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return str(data._clip_column[row], "utf-8")

    def set_clip(self, row: Instance, value: str, /) -> None:
        """Set `clip` of a row: at most 40 bytes of UTF-8."""
        _value = _CLIP.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._clip_column[row] = _value

    def volume(self, row: Instance, /) -> float:
        """Loudness, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._volume_cells[row]

    def set_volume(self, row: Instance, value: float, /) -> None:
        """Set `volume` of a row."""
        _value = _VOLUME.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._volume_cells[row] = _value

    def pitch(self, row: Instance, /) -> float:
        """Playing speed."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._pitch_cells[row]

    def set_pitch(self, row: Instance, value: float, /) -> None:
        """Set `pitch` of a row."""
        _value = _PITCH.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._pitch_cells[row] = _value

    def offset(self, row: Instance, /) -> tuple[float, float, float]:
        """Place relative to the entity. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return OFFSET_STRUCT.unpack_from(data._offset_cells, 12 * row)

    def set_offset(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `offset` of a row: 3 values."""
        _value = _OFFSET.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._offset_cells[_at] = _value[0]
        data._offset_cells[_at + 1] = _value[1]
        data._offset_cells[_at + 2] = _value[2]

    def elapsed(self, row: Instance, /) -> float:
        """How much of the clip has been played. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._elapsed_cells[row]

    def set_elapsed(self, row: Instance, value: float, /) -> None:
        """Set `elapsed` of a row."""
        _value = _ELAPSED.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._elapsed_cells[row] = _value

    def looping(self, row: Instance, /) -> bool:
        """Whether it starts again at the end."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._looping_cells[row]

    def set_looping(self, row: Instance, value: bool, /) -> None:
        """Set `looping` of a row."""
        _value = _LOOPING.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._looping_cells[row] = _value

    def row(self, row: Instance, /) -> SoundSource:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return SoundSource(
            str(data._clip_column[row], "utf-8"),
            data._volume_cells[row],
            data._pitch_cells[row],
            OFFSET_STRUCT.unpack_from(data._offset_cells, 12 * row),
            data._elapsed_cells[row],
            data._looping_cells[row],
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's first row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        return self._rows.get(entity, NIL)

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's first row, NIL where it has none, shape (k,); O(k)."""
        return hash_lookup(self._rows, as_entities(entities))

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has instances; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have instances, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's first row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's first row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def first(self, entity: Entity, /) -> Instance:
        """Return the entity's first row in order of creation, or NIL; O(1)."""
        return self.lookup(entity)

    def next(self, row: Instance, /) -> Instance:
        """Return the same entity's row that was created after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._next_cells[row]

    def previous(self, row: Instance, /) -> Instance:
        """Return the same entity's row that was created before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        before = data._previous_cells[row]
        return NIL if data._next_cells[before] == NIL else before

    def instances(self, entity: Entity, /) -> Iterator[Instance]:
        """Iterate over the entity's rows in order of creation, as they are now."""
        row = self.lookup(entity)
        return iter([] if row == NIL else self._rows_from(row).tolist())

    def count(self, entity: Entity, /) -> int:
        """Return how many instances the entity has; O(that number)."""
        row = self.lookup(entity)
        return 0 if row == NIL else len(self._rows_from(row))

    def count_many(self, entities: ArrayLike, /) -> RowArray:
        """Return how many instances each of k entities has, shape (k,); O(k), or O(n)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return chain_lengths(data._next_column, owners, given, self.lookup_many(given))

    def create(
        self,
        entity: Entity,
        /,
        *,
        clip: str = CLIP_DEFAULT,
        volume: float = VOLUME_DEFAULT,
        pitch: float = PITCH_DEFAULT,
        offset: ArrayLike = OFFSET_DEFAULT,
        elapsed: float = ELAPSED_DEFAULT,
        looping: bool = LOOPING_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1), behind the ones that it has.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _clip_ = CLIP_CELL
            if clip is not CLIP_DEFAULT:
                _clip_ = _CLIP.one(clip)
            _volume_ = VOLUME_DEFAULT
            if volume is not VOLUME_DEFAULT:
                _volume_ = _VOLUME.one(volume)
            _pitch_ = PITCH_DEFAULT
            if pitch is not PITCH_DEFAULT:
                _pitch_ = _PITCH.one(pitch)
            _offset_ = OFFSET_DEFAULT
            if offset is not OFFSET_DEFAULT:
                _offset_ = _OFFSET.one(offset)
            _elapsed_ = ELAPSED_DEFAULT
            if elapsed is not ELAPSED_DEFAULT:
                _elapsed_ = _ELAPSED.one(elapsed)
            _looping_ = LOOPING_DEFAULT
            if looping is not LOOPING_DEFAULT:
                _looping_ = _LOOPING.one(looping)
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
        _found = self._rows.get(entity, NIL)
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1), (offset,))
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        data._clip_column[row] = _clip_
        data._volume_cells[row] = _volume_
        data._pitch_cells[row] = _pitch_
        _at = 3 * row
        data._offset_cells[_at] = _offset_[0]
        data._offset_cells[_at + 1] = _offset_[1]
        data._offset_cells[_at + 2] = _offset_[2]
        data._elapsed_cells[row] = _elapsed_
        data._looping_cells[row] = _looping_
        data._n = row + 1
        self._link_row(entity, row)
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        clip: ArrayLike = CLIP_DEFAULT,
        volume: ArrayLike = VOLUME_DEFAULT,
        pitch: ArrayLike = PITCH_DEFAULT,
        offset: ArrayLike = OFFSET_DEFAULT,
        elapsed: ArrayLike = ELAPSED_DEFAULT,
        looping: ArrayLike = LOOPING_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                clip=clip,
                volume=volume,
                pitch=pitch,
                offset=offset,
                elapsed=elapsed,
                looping=looping,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        _borrowed = (entities, clip, volume, pitch, offset, elapsed, looping)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        clip: ArrayLike = CLIP_DEFAULT,
        volume: ArrayLike = VOLUME_DEFAULT,
        pitch: ArrayLike = PITCH_DEFAULT,
        offset: ArrayLike = OFFSET_DEFAULT,
        elapsed: ArrayLike = ELAPSED_DEFAULT,
        looping: ArrayLike = LOOPING_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "clip": _CLIP.many(clip, count, data._buffer),
            "volume": _VOLUME.many(volume, count, data._buffer),
            "pitch": _PITCH.many(pitch, count, data._buffer),
            "offset": _OFFSET.many(offset, count, data._buffer),
            "elapsed": _ELAPSED.many(elapsed, count, data._buffer),
            "looping": _LOOPING.many(looping, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + len(entities)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        data._entity_column[span] = entities
        data._clip_column[span] = columns["clip"]
        data._volume_column[span] = columns["volume"]
        data._pitch_column[span] = columns["pitch"]
        put_cells(
            data._offset_column,
            data._offset_items,
            span,
            columns["offset"],
        )
        data._elapsed_column[span] = columns["elapsed"]
        data._looping_column[span] = columns["looping"]
        data._n = end
        self._link(entities, rows)
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        clip: str = CLIP_DEFAULT,
        volume: float = VOLUME_DEFAULT,
        pitch: float = PITCH_DEFAULT,
        offset: ArrayLike = OFFSET_DEFAULT,
        elapsed: float = ELAPSED_DEFAULT,
        looping: bool = LOOPING_DEFAULT,
    ) -> Instance:
        """Return the entity's first instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity,
            clip=clip,
            volume=volume,
            pitch=pitch,
            offset=offset,
            elapsed=elapsed,
            looping=looping,
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove all instances of the entity and return how many went; O(that number)."""
        if self._locks:
            raise locked(MANAGER)
        first = self.lookup(entity)
        if first == NIL:
            return 0
        gone = np.sort(self._rows_from(first))
        return self._destroy_rows(gone)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove all instances of k entities and return how many went; O(k + that number)."""
        if self._locks:
            raise locked(MANAGER)
        gone = self._rows_of_many(as_entities(entities))
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        self._unlink_row(row)
        src, dst = data._n - 1, row
        if src != dst:
            data._entity_cells[dst] = data._entity_cells[src]
            data._volume_cells[dst] = data._volume_cells[src]
            data._pitch_cells[dst] = data._pitch_cells[src]
            data._offset_items[dst] = data._offset_items[src]
            data._elapsed_cells[dst] = data._elapsed_cells[src]
            data._looping_cells[dst] = data._looping_cells[src]
            data._next_cells[dst] = data._next_cells[src]
            data._previous_cells[dst] = data._previous_cells[src]
            data._clip_column[dst] = data._clip_column[src]
            self._relink_row(src, dst)
        data._n = src
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._unlink_rows(gone)
        n = data._n
        src, dst = fill(gone, n)
        if len(src):
            data._move_rows(src, dst)
            self._relink_rows(src, dst, n)
        data._n = n - len(gone)
        self._version += 1
        return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            key = getattr(data, key)
        key = sort_key(key_values(key, MANAGER), data._n, MANAGER)
        self._permute(sort_order(key))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        self._relink_rows(src, dst, n)
        self._version += 1

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
        self._rows = dict(self._rows)

    def _rows_from(self, first: int) -> RowArray:
        """Return the rows of the list that begins at `first`, in its order."""
        return walk(self.data._next_cells, first)

    def _rows_of_many(self, entities: EntityArray) -> RowArray:
        """Return all rows of the entities, ascending."""
        data = self.data
        owners = data._entity_column[: data._n]
        heads = self.lookup_many(entities)
        return chain_rows(data._next_column, owners, entities, heads)

    def _link(self, entities: EntityArray, rows: RowArray) -> None:
        """Append new rows to their entities' lists, in the order given."""
        nexts, previous = self.data._next_column, self.data._previous_column
        first, last, owners = link(nexts, previous, entities, rows)
        heads = self.lookup_many(owners)
        new, old = heads == NIL, heads != NIL
        remember(self._rows, owners[new], first[new])
        join(nexts, previous, heads[old], first[old], last[old])

    def _link_row(self, entity: Entity, row: Instance) -> None:
        """Append a new row to its entity's list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        nexts[row] = NIL
        first = self.lookup(entity)
        if first == NIL:
            self._rows[entity] = row
            previous[row] = row
            return
        last = previous[first]
        nexts[last] = row
        previous[row] = last
        previous[first] = row

    def _unlink_row(self, row: Instance) -> None:
        """Take a row out of its list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[row]
        before, after = previous[row], nexts[row]
        if before == row:  # the only one
            del self._rows[owner]
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._rows[owner] = after
        else:
            nexts[before] = after
        behind = self._rows[owner] if after == NIL else after
        previous[behind] = before

    def _unlink_rows(self, gone: RowArray) -> None:
        """Take rows out of their lists, bridging over neighbours, however many go."""
        nexts, previous = self.data._next_column, self.data._previous_column
        owners = np.unique(self.data._entity_column[gone])
        heads = hash_lookup(self._rows, owners)
        heads, empty = unlink(nexts, previous, heads, gone)
        kept = ~empty
        forget(self._rows, owners[empty])
        remember(self._rows, owners[kept], heads[kept])

    def _relink_row(self, src: int, dst: Instance) -> None:
        """Mend a list after row src went to dst."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[dst]
        before, after = previous[dst], nexts[dst]
        if before == src:  # the only one
            self._rows[owner] = dst
            previous[dst] = dst
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._rows[owner] = dst
        else:
            nexts[before] = dst
        behind = self._rows[owner] if after == NIL else after
        previous[behind] = dst

    def _relink_rows(self, src: RowArray, dst: RowArray, n: int) -> None:
        """Mend the lists after rows src[k] of n went to dst[k]."""
        nexts, previous = self.data._next_column, self.data._previous_column
        first = remap_links(nexts, previous, src, dst, n)
        owners = self.data._entity_column[first]
        remember(self._rows, owners, first)
        last = dst[nexts[dst] == NIL]
        owners = self.data._entity_column[last]
        heads = hash_lookup(self._rows, owners)
        previous[heads] = last
