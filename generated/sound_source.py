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
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, Unpack, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import Columns, Entity, EntityArray, Instance, RowArray
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.instances import LinkedRows, Many
from ecsgen_runtime.managers.policies.lookup_maps import Hash
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, put_cells
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import BoolField, FloatField, TextField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
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
_CLIP_FIELD: Final = TextField("SoundSource.clip", 40)
_VOLUME_FIELD: Final = FloatField("SoundSource.volume", "f32")
_PITCH_FIELD: Final = FloatField("SoundSource.pitch", "f32")
_OFFSET_FIELD: Final = FloatField("SoundSource.offset", "f32", (3,))
_ELAPSED_FIELD: Final = FloatField("SoundSource.elapsed", "f32")
_LOOPING_FIELD: Final = BoolField("SoundSource.looping")
_OFFSET_STRUCT: Final = Struct("=3f")
_CLIP_DEFAULT: Final = ""
_CLIP_CELL: Final = _CLIP_FIELD.to_cell(_CLIP_DEFAULT)
_VOLUME_DEFAULT: Final = 1.0
_PITCH_DEFAULT: Final = 1.0
_OFFSET_DEFAULT: Final = (0.0, 0.0, 0.0)
_ELAPSED_DEFAULT: Final = 0.0
_LOOPING_DEFAULT: Final = False
_FIELDS: Final = component_fields(
    (
        _CLIP_FIELD,
        "str[40]",
        _CLIP_DEFAULT,
        ("cold",),
        "",
        "Name of the sound to play.",
    ),
    (_VOLUME_FIELD, "f32", _VOLUME_DEFAULT, ("hot",), "", "Loudness, 0 to 1."),
    (_PITCH_FIELD, "f32", _PITCH_DEFAULT, ("hot",), "", "Playing speed."),
    (
        _OFFSET_FIELD,
        "f32[3]",
        _OFFSET_DEFAULT,
        ("hot",),
        "m",
        "Place relative to the entity.",
    ),
    (
        _ELAPSED_FIELD,
        "f32",
        _ELAPSED_DEFAULT,
        ("hot",),
        "s",
        "How much of the clip has been played.",
    ),
    (
        _LOOPING_FIELD,
        "bool",
        _LOOPING_DEFAULT,
        ("hot",),
        "",
        "Whether it starts again at the end.",
    ),
)


class SoundSource(NamedTuple):
    """One row of a SoundSourceManager, copied out."""

    clip: str = _CLIP_DEFAULT
    """Name of the sound to play."""

    volume: float = _VOLUME_DEFAULT
    """Loudness, 0 to 1."""

    pitch: float = _PITCH_DEFAULT
    """Playing speed."""

    offset: tuple[float, float, float] = _OFFSET_DEFAULT
    """Place relative to the entity. [m]"""

    elapsed: float = _ELAPSED_DEFAULT
    """How much of the clip has been played. [s]"""

    looping: bool = _LOOPING_DEFAULT
    """Whether it starts again at the end."""


class SoundSourceFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

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


class SoundSourceData(LinkedRows):
    """The columns of a SoundSourceManager: views of the rows in use."""

    __slots__ = (
        "_clip_column",
        "_clip_view",
        "_elapsed_cells",
        "_elapsed_column",
        "_entity_cells",
        "_entity_column",
        "_looping_cells",
        "_looping_column",
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
    MANAGER: ClassVar = "SoundSourceManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def volume(self) -> NDArray[np.float32]:
        """Loudness, 0 to 1. Shape (n,)."""
        return self._volume_column[: self._n]

    @volume.setter
    def volume(self, values: ArrayLike) -> None:
        if not is_same_view(self.volume, values):
            self._volume_column[: self._n] = _VOLUME_FIELD.to_column(values, self._n)

    @property
    def pitch(self) -> NDArray[np.float32]:
        """Playing speed. Shape (n,)."""
        return self._pitch_column[: self._n]

    @pitch.setter
    def pitch(self, values: ArrayLike) -> None:
        if not is_same_view(self.pitch, values):
            self._pitch_column[: self._n] = _PITCH_FIELD.to_column(values, self._n)

    @property
    def offset(self) -> NDArray[np.float32]:
        """Place relative to the entity. [m] Shape (n, 3)."""
        return self._offset_column[: self._n]

    @offset.setter
    def offset(self, values: ArrayLike) -> None:
        if not is_same_view(self.offset, values):
            self._offset_column[: self._n] = _OFFSET_FIELD.to_column(values, self._n)

    @property
    def elapsed(self) -> NDArray[np.float32]:
        """How much of the clip has been played. [s] Shape (n,)."""
        return self._elapsed_column[: self._n]

    @elapsed.setter
    def elapsed(self, values: ArrayLike) -> None:
        if not is_same_view(self.elapsed, values):
            self._elapsed_column[: self._n] = _ELAPSED_FIELD.to_column(values, self._n)

    @property
    def looping(self) -> NDArray[np.bool_]:
        """Whether it starts again at the end. Shape (n,)."""
        return self._looping_column[: self._n]

    @looping.setter
    def looping(self, values: ArrayLike) -> None:
        if not is_same_view(self.looping, values):
            self._looping_column[: self._n] = _LOOPING_FIELD.to_column(values, self._n)

    @property
    def clip(self) -> NDArray[np.bytes_]:
        """Name of the sound to play. Shape (n,)."""
        return self._clip_view[: self._n]

    @clip.setter
    def clip(self, values: ArrayLike) -> None:
        if not is_same_view(self.clip, values):
            self._clip_column[: self._n] = _CLIP_FIELD.to_column(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> SoundSourceHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> SoundSourceColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return SoundSourceHotColumns(
                self.volume, self.pitch, self.offset, self.elapsed, self.looping
            )
        if tag == "cold":
            return SoundSourceColdColumns(self.clip)
        raise ValueError(f"SoundSource has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._volume_column: NDArray[np.float32] = self._column_view(1)
        self._volume_cells: memoryview[float] = cell_view(self._volume_column)
        self._pitch_column: NDArray[np.float32] = self._column_view(2)
        self._pitch_cells: memoryview[float] = cell_view(self._pitch_column)
        self._offset_column: NDArray[np.float32] = self._column_view(3)
        self._offset_items: NDArray[Any] = self._item_view(3)
        self._offset_cells: memoryview[float] = cell_view(self._offset_column)
        self._elapsed_column: NDArray[np.float32] = self._column_view(4)
        self._elapsed_cells: memoryview[float] = cell_view(self._elapsed_column)
        self._looping_column: NDArray[np.bool_] = self._column_view(5)
        self._looping_cells: memoryview[bool] = cell_view(self._looping_column)
        self._next_column = self._column_view(6)
        self._next_cells = cell_view(self._next_column)
        self._previous_column = self._column_view(7)
        self._previous_cells = cell_view(self._previous_column)
        self._clip_column: NDArray[np.bytes_] = self._column_view(8)
        self._clip_view: NDArray[np.bytes_] = _CLIP_FIELD.comparable(self._clip_column)

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


class SoundSourceManager(Many, Hash):
    """Manager of every SoundSource: lookup hash, instances many, destroy manual.

    A sound that plays at its entity. The sound system destroys it once it has faded
    out.
    """

    __slots__ = ("_entities", "_rows")
    PARTS: ClassVar = ManagerParts(
        row=SoundSource,
        accessors=("packed",),
        create=("packed", "many"),
        destroy_row=("packed", "many"),
    )
    ROWS: ClassVar = SoundSourceData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("clip", "volume", "pitch", "elapsed", "looping")
    data: SoundSourceData

    def clip(self, row: int, /) -> str:
        """Name of the sound to play."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return str(data._clip_column[row], "utf-8")

    def set_clip(self, row: int, value: str, /) -> None:
        """Set `clip` of a row: at most 40 bytes of UTF-8."""
        _value = _CLIP_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._clip_column[row] = _value

    def volume(self, row: int, /) -> float:
        """Loudness, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._volume_cells[row]

    def set_volume(self, row: int, value: float, /) -> None:
        """Set `volume` of a row."""
        _value = _VOLUME_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._volume_cells[row] = _value

    def pitch(self, row: int, /) -> float:
        """Playing speed."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._pitch_cells[row]

    def set_pitch(self, row: int, value: float, /) -> None:
        """Set `pitch` of a row."""
        _value = _PITCH_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._pitch_cells[row] = _value

    def offset(self, row: int, /) -> tuple[float, float, float]:
        """Place relative to the entity. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _OFFSET_STRUCT.unpack_from(data._offset_cells, 12 * row)

    def set_offset(self, row: int, value: ArrayLike, /) -> None:
        """Set `offset` of a row: 3 values."""
        _value = _OFFSET_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._offset_cells[_at] = _value[0]
        data._offset_cells[_at + 1] = _value[1]
        data._offset_cells[_at + 2] = _value[2]

    def elapsed(self, row: int, /) -> float:
        """How much of the clip has been played. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._elapsed_cells[row]

    def set_elapsed(self, row: int, value: float, /) -> None:
        """Set `elapsed` of a row."""
        _value = _ELAPSED_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._elapsed_cells[row] = _value

    def looping(self, row: int, /) -> bool:
        """Whether it starts again at the end."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._looping_cells[row]

    def set_looping(self, row: int, value: bool, /) -> None:
        """Set `looping` of a row."""
        _value = _LOOPING_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._looping_cells[row] = _value

    def row(self, row: int, /) -> SoundSource:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return SoundSource(
            str(data._clip_column[row], "utf-8"),
            data._volume_cells[row],
            data._pitch_cells[row],
            _OFFSET_STRUCT.unpack_from(data._offset_cells, 12 * row),
            data._elapsed_cells[row],
            data._looping_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> SoundSourceRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(SoundSourceRef, entity)

    def rows(self) -> Iterator[SoundSourceRef]:
        """Iterate over proxies of the rows; a structural change ends that; O(n)."""
        return self._proxies(SoundSourceRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        clip: str = _CLIP_DEFAULT,
        volume: float = _VOLUME_DEFAULT,
        pitch: float = _PITCH_DEFAULT,
        offset: ArrayLike = _OFFSET_DEFAULT,
        elapsed: float = _ELAPSED_DEFAULT,
        looping: bool = _LOOPING_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1); it is the last of the entity's list.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _clip_ = _CLIP_CELL
            if clip is not _CLIP_DEFAULT:
                _clip_ = _CLIP_FIELD.to_cell(clip)
            _volume_ = _VOLUME_DEFAULT
            if volume is not _VOLUME_DEFAULT:
                _volume_ = _VOLUME_FIELD.to_cell(volume)
            _pitch_ = _PITCH_DEFAULT
            if pitch is not _PITCH_DEFAULT:
                _pitch_ = _PITCH_FIELD.to_cell(pitch)
            _offset_ = _OFFSET_DEFAULT
            if offset is not _OFFSET_DEFAULT:
                _offset_ = _OFFSET_FIELD.to_cell(offset)
            _elapsed_ = _ELAPSED_DEFAULT
            if elapsed is not _ELAPSED_DEFAULT:
                _elapsed_ = _ELAPSED_FIELD.to_cell(elapsed)
            _looping_ = _LOOPING_DEFAULT
            if looping is not _LOOPING_DEFAULT:
                _looping_ = _LOOPING_FIELD.to_cell(looping)
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
        if data._n == data._allocated:
            data._grow(data._n + 1, (offset,))
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
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
        **columns: Unpack[SoundSourceFields],
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
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        lists = self._plan_chain_appends(entities, rows)
        try:
            data._entity_column[span] = entities
            data._clip_column[span] = columns["clip"]
            data._volume_column[span] = columns["volume"]
            data._pitch_column[span] = columns["pitch"]
            put_cells(data._offset_column, span, columns["offset"])
            data._elapsed_column[span] = columns["elapsed"]
            data._looping_column[span] = columns["looping"]
            data._n = end
            self._commit_chains(lists)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
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
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class SoundSourceRef(EntityProxy):
    """A row of a SoundSourceManager, which follows its entity."""

    __slots__ = ()

    clip = RowField.of(SoundSourceManager.clip, SoundSourceManager.set_clip)
    volume = RowField.cell(
        SoundSourceManager.volume, SoundSourceManager.set_volume, _VOLUME_FIELD
    )
    pitch = RowField.cell(
        SoundSourceManager.pitch, SoundSourceManager.set_pitch, _PITCH_FIELD
    )
    offset = ArrayField.of(np.float32, SoundSourceManager.set_offset)
    elapsed = RowField.cell(
        SoundSourceManager.elapsed, SoundSourceManager.set_elapsed, _ELAPSED_FIELD
    )
    looping = RowField.cell(
        SoundSourceManager.looping, SoundSourceManager.set_looping, _LOOPING_FIELD
    )
