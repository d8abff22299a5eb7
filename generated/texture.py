"""Texture: lookup sparse, instances one, destroy gc, release.

An image on the graphics card.

One buffer of 88 bytes per row, column after column:

    column         type     bytes/row  offset (64 rows)  tags
    -------------  -------  ---------  ----------------  ----
    device_handle  u64              8                 0  hot
    width          u16              2               512  hot
    height         u16              2               640  hot
    id_slot        u32              4               768  hot
    id_row         u32              4              1024  hot
    id_generation  u32              4              1280  hot
    file           str[64]         64              1536  cold
    staging        object      beside                    cold
    88 bytes per row, 8192 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, Literal, Unpack, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Release
from ecsgen_runtime.managers.policies.ids import SLOT_BITS, IdRows, Ids, ids_of
from ecsgen_runtime.managers.policies.owners import Unowned
from ecsgen_runtime.managers.policies.unique import Unique, UniqueRows
from ecsgen_runtime.managers.row_proxies import IdProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, read_only
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import IntField, ObjectField, TextField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager

_COLUMNS: Final = (
    Column("device_handle", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("width", np.dtype(np.uint16), (), 2, ("hot",), 8),
    Column("height", np.dtype(np.uint16), (), 2, ("hot",), 10),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 12),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("file", np.dtype("S64"), (), 64, ("cold",), 24),
)
_DEVICE_HANDLE_FIELD: Final = IntField("Texture.device_handle", "u64")
_WIDTH_FIELD: Final = IntField("Texture.width", "u16")
_HEIGHT_FIELD: Final = IntField("Texture.height", "u16")
_FILE_FIELD: Final = TextField("Texture.file", 64)
_STAGING_FIELD: Final = ObjectField("Texture.staging")
_DEVICE_HANDLE_DEFAULT: Final = 0
_WIDTH_DEFAULT: Final = 1
_HEIGHT_DEFAULT: Final = 1
_FILE_DEFAULT: Final = ""
_FILE_CELL: Final = _FILE_FIELD.to_cell(_FILE_DEFAULT)
_FIELDS: Final = component_fields(
    (
        _DEVICE_HANDLE_FIELD,
        "u64",
        _DEVICE_HANDLE_DEFAULT,
        ("hot",),
        "",
        "What the graphics card calls it.",
    ),
    (_WIDTH_FIELD, "u16", _WIDTH_DEFAULT, ("hot",), "px", "Columns of pixels."),
    (_HEIGHT_FIELD, "u16", _HEIGHT_DEFAULT, ("hot",), "px", "Rows of pixels."),
    (_FILE_FIELD, "str[64]", _FILE_DEFAULT, ("cold",), "", "Where it was loaded from."),
    (
        _STAGING_FIELD,
        "object",
        None,
        ("cold",),
        "",
        "The pixels that wait to be uploaded.",
    ),
)


class Texture(NamedTuple):
    """One row of a TextureManager, copied out."""

    device_handle: int = _DEVICE_HANDLE_DEFAULT
    """What the graphics card calls it."""

    width: int = _WIDTH_DEFAULT
    """Columns of pixels. [px]"""

    height: int = _HEIGHT_DEFAULT
    """Rows of pixels. [px]"""

    file: str = _FILE_DEFAULT
    """Where it was loaded from."""

    staging: Any = None
    """The pixels that wait to be uploaded."""


class TextureFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    device_handle: ArrayLike
    width: ArrayLike
    height: ArrayLike
    file: ArrayLike
    staging: object


class TextureHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    device_handle: NDArray[np.uint64]
    width: NDArray[np.uint16]
    height: NDArray[np.uint16]


class TextureColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    file: NDArray[np.bytes_]
    staging: NDArray[np.object_]


class TextureData(UniqueRows, IdRows):
    """The columns of a TextureManager: views of the rows in use."""

    __slots__ = (
        "_device_handle_cells",
        "_device_handle_column",
        "_file_column",
        "_file_view",
        "_first_generation",
        "_height_cells",
        "_height_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_indexes",
        "_peak",
        "_slots",
        "_staging_column",
        "_width_cells",
        "_width_column",
    )
    MANAGER: ClassVar = "TextureManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    OBJECTS: ClassVar = ("_staging_column",)
    _staging_column: NDArray[np.object_]
    UNIQUE: ClassVar = {"file": _FILE_FIELD}

    @property
    def device_handle(self) -> NDArray[np.uint64]:
        """What the graphics card calls it. Shape (n,)."""
        return self._device_handle_column[: self._n]

    @device_handle.setter
    def device_handle(self, values: ArrayLike) -> None:
        if not is_same_view(self.device_handle, values):
            self._device_handle_column[: self._n] = _DEVICE_HANDLE_FIELD.to_column(
                values, self._n
            )

    @property
    def width(self) -> NDArray[np.uint16]:
        """Columns of pixels. [px] Shape (n,)."""
        return self._width_column[: self._n]

    @width.setter
    def width(self, values: ArrayLike) -> None:
        if not is_same_view(self.width, values):
            self._width_column[: self._n] = _WIDTH_FIELD.to_column(values, self._n)

    @property
    def height(self) -> NDArray[np.uint16]:
        """Rows of pixels. [px] Shape (n,)."""
        return self._height_column[: self._n]

    @height.setter
    def height(self, values: ArrayLike) -> None:
        if not is_same_view(self.height, values):
            self._height_column[: self._n] = _HEIGHT_FIELD.to_column(values, self._n)

    @property
    def file(self) -> NDArray[np.bytes_]:
        """Where it was loaded from. Shape (n,)."""
        return read_only(self._file_view[: self._n])

    @file.setter
    def file(self, values: ArrayLike) -> None:
        if not is_same_view(self.file, values):
            self._assign_values("file", self._n, _FILE_FIELD.to_column(values, self._n))

    @property
    def staging(self) -> NDArray[np.object_]:
        """The pixels that wait to be uploaded. Shape (n,)."""
        return self._staging_column[: self._n]

    @staging.setter
    def staging(self, values: object) -> None:
        if not is_same_view(self.staging, values):
            checked = _STAGING_FIELD.to_column(values, self._n)
            # what ends may run code
            _left = self._staging_column[: self._n].copy()
            self._staging_column[: self._n] = checked

    @overload
    def tagged(self, tag: Literal["hot"], /) -> TextureHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> TextureColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return TextureHotColumns(self.device_handle, self.width, self.height)
        if tag == "cold":
            return TextureColdColumns(self.file, self.staging)
        raise ValueError(f"Texture has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._device_handle_column: NDArray[np.uint64] = self._column_view(0)
        self._device_handle_cells: memoryview[int] = cell_view(
            self._device_handle_column
        )
        self._width_column: NDArray[np.uint16] = self._column_view(1)
        self._width_cells: memoryview[int] = cell_view(self._width_column)
        self._height_column: NDArray[np.uint16] = self._column_view(2)
        self._height_cells: memoryview[int] = cell_view(self._height_column)
        self._id_slot_column = self._column_view(3)
        self._id_slot_cells = cell_view(self._id_slot_column)
        self._id_row_column = self._column_view(4)
        self._id_row_cells = cell_view(self._id_row_column)
        self._id_generation_column = self._column_view(5)
        self._id_generation_cells = cell_view(self._id_generation_column)
        self._file_column: NDArray[np.bytes_] = self._column_view(6)
        self._file_view: NDArray[np.bytes_] = _FILE_FIELD.comparable(self._file_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._device_handle_column[dst] = self._device_handle_column[src]
        self._width_column[dst] = self._width_column[src]
        self._height_column[dst] = self._height_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]
        self._file_column[dst] = self._file_column[src]
        self._staging_column[dst] = self._staging_column[src]


class TextureManager(Unique, Unowned, Ids, Release):
    """Manager of every Texture: lookup sparse, instances one, destroy gc, release.

    An image on the graphics card.
    """

    __slots__ = ("_failures", "_released")
    _HOLDS_OBJECTS: ClassVar = True
    PARTS: ClassVar = ManagerParts(
        row=Texture,
        accessors=("packed",),
        create=("unique", "packed", "ids"),
        destroy_row=("unique", "packed", "ids", "objects", "release"),
        guarded=("set_file", "staging", "set_staging"),
    )
    ROWS: ClassVar = TextureData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("device_handle", "width", "height", "file")
    data: TextureData

    def device_handle(self, row: int, /) -> int:
        """What the graphics card calls it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._device_handle_cells[row]

    def set_device_handle(self, row: int, value: int, /) -> None:
        """Set `device_handle` of a row."""
        _value = _DEVICE_HANDLE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._device_handle_cells[row] = _value

    def width(self, row: int, /) -> int:
        """Columns of pixels. [px]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._width_cells[row]

    def set_width(self, row: int, value: int, /) -> None:
        """Set `width` of a row."""
        _value = _WIDTH_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._width_cells[row] = _value

    def height(self, row: int, /) -> int:
        """Rows of pixels. [px]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._height_cells[row]

    def set_height(self, row: int, value: int, /) -> None:
        """Set `height` of a row."""
        _value = _HEIGHT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._height_cells[row] = _value

    def file(self, row: int, /) -> str:
        """Where it was loaded from."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return str(data._file_column[row], "utf-8")

    def set_file(self, row: int, value: str, /) -> None:
        """Set `file` of a row: at most 64 bytes of UTF-8."""
        _value = _FILE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        self._set_value("file", row, _value)

    def staging(self, row: int, /) -> Any:
        """The pixels that wait to be uploaded."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._staging_column[row]

    def set_staging(self, row: int, value: Any, /) -> None:
        """Set `staging` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _left_staging = data._staging_column[row]
        data._staging_column[row] = value

    def row(self, row: int, /) -> Texture:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Texture(
            data._device_handle_cells[row],
            data._width_cells[row],
            data._height_cells[row],
            str(data._file_column[row], "utf-8"),
            data._staging_column[row],
        )

    def __getitem__(self, id: Id, /) -> TextureRef:
        """Return a proxy of the id's row, or raise StaleIdError; O(1)."""
        return self._proxy(TextureRef, id)

    def rows(self) -> Iterator[TextureRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(TextureRef)

    def create(
        self,
        *,
        device_handle: int = _DEVICE_HANDLE_DEFAULT,
        width: int = _WIDTH_DEFAULT,
        height: int = _HEIGHT_DEFAULT,
        file: str = _FILE_DEFAULT,
        staging: Any = None,
    ) -> Id:
        """Add an instance and return its id; O(1).

        Raises:
            DuplicateValueError: another row has the value of a unique field.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _device_handle_ = _DEVICE_HANDLE_DEFAULT
        if device_handle is not _DEVICE_HANDLE_DEFAULT:
            _device_handle_ = _DEVICE_HANDLE_FIELD.to_cell(device_handle)
        _width_ = _WIDTH_DEFAULT
        if width is not _WIDTH_DEFAULT:
            _width_ = _WIDTH_FIELD.to_cell(width)
        _height_ = _HEIGHT_DEFAULT
        if height is not _HEIGHT_DEFAULT:
            _height_ = _HEIGHT_FIELD.to_cell(height)
        _file_ = _FILE_CELL
        if file is not _FILE_DEFAULT:
            _file_ = _FILE_FIELD.to_cell(file)
        if self._locks:
            self._raise_if_locked()
        data = self.data
        self._check_value("file", _file_, NULL_ENTITY)
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            _new_slot = data._take_slot()
            data._device_handle_cells[row] = _device_handle_
            data._width_cells[row] = _width_
            data._height_cells[row] = _height_
            data._file_column[row] = _file_
            data._staging_column[row] = staging
            data._index_row(row)
            data._n = row + 1
            data._id_slot_cells[row] = _new_slot
            data._id_row_cells[_new_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return Id(data._id_generation_cells[_new_slot] << SLOT_BITS | _new_slot)

    def create_many(
        self,
        count: int,
        table: TableLike | None = None,
        /,
        **columns: Unpack[TextureFields],
    ) -> IdArray:
        """Add `count` instances and return their ids, shape (count,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(count, columns, table)

    def _append_many(self, entities: EntityArray, columns: Columns) -> IdArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        taken = data._next_slots(count)
        ids = ids_of(taken, data._id_generation_column)
        try:
            data._take_slots(count)
            data._device_handle_column[span] = columns["device_handle"]
            data._width_column[span] = columns["width"]
            data._height_column[span] = columns["height"]
            data._file_column[span] = columns["file"]
            data._staging_column[span] = columns["staging"]
            data._index_rows(rows)
            data._n = end
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return ids

    def _destroy_row(self, row: Instance, notified: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if not notified and self._released.entries:
            return self._destroy_notified(row)
        _left = data._staging_column[row]
        try:
            data._unindex_row(row)
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._device_handle_cells[dst] = data._device_handle_cells[src]
                data._width_cells[dst] = data._width_cells[src]
                data._height_cells[dst] = data._height_cells[src]
                data._id_slot_cells[dst] = data._id_slot_cells[src]
                data._file_column[dst] = data._file_column[src]
                data._staging_column[dst] = data._staging_column[src]
                data._index_row(dst)
                data._id_row_cells[data._id_slot_cells[dst]] = dst
            data._n = src
            data._free_slot(slot)
            data._staging_column[data._n] = None
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def find_file(self, value: str, /) -> Instance:
        """Return the row whose `file` is this value, or NIL; O(1)."""
        return self.data._indexes["file"].find(value)

    def find_file_many(self, values: ArrayLike, /) -> RowArray:
        """Return the row of each of k values of `file`, NIL where none has it; O(k)."""
        return self.data._indexes["file"].find_many(values)


class TextureRef(IdProxy):
    """A row of a TextureManager, which follows its id."""

    __slots__ = ()

    device_handle = RowField.cell(
        TextureManager.device_handle,
        TextureManager.set_device_handle,
        _DEVICE_HANDLE_FIELD,
    )
    width = RowField.cell(TextureManager.width, TextureManager.set_width, _WIDTH_FIELD)
    height = RowField.cell(
        TextureManager.height, TextureManager.set_height, _HEIGHT_FIELD
    )
    file = RowField.of(TextureManager.file, TextureManager.set_file)
    staging = RowField.of(TextureManager.staging, TextureManager.set_staging)
