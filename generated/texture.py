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

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.callbacks import Callbacks, Dispatch, Subscription
from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copy_rows,
    cut,
    grown_capacity,
    is_same_view,
    load_rows,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from ._runtime.convert.numbers import IntField
from ._runtime.convert.objects import ObjectField
from ._runtime.convert.text import TextField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import NIL, Columns, Id, IdArray, Instance, RowArray
from ._runtime.errors import StaleViewWarning
from ._runtime.ids.slots import (
    SLOT_BITS,
    SLOT_MASK,
    WORN_OUT,
    ids_of,
    resolve_ids,
    rows_of_ids,
    stale_id,
)
from ._runtime.placement.rows import (
    distinct,
    fill,
    integers,
    is_integer,
    locked,
    permutation,
    row_in_use,
    rows_in_use,
    whole_count,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order

MANAGER: Final = "TextureManager"
ROW_BYTES: Final = 88
COLUMNS: Final = (
    Column("device_handle", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("width", np.dtype(np.uint16), (), 2, ("hot",), 8),
    Column("height", np.dtype(np.uint16), (), 2, ("hot",), 10),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 12),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("file", np.dtype("S64"), (), 64, ("cold",), 24),
)
_DEVICE_HANDLE: Final = IntField("Texture.device_handle", "u64")
_WIDTH: Final = IntField("Texture.width", "u16")
_HEIGHT: Final = IntField("Texture.height", "u16")
_FILE: Final = TextField("Texture.file", 64)
_STAGING: Final = ObjectField("Texture.staging")
DEVICE_HANDLE_DEFAULT: Final = 0
WIDTH_DEFAULT: Final = 1
HEIGHT_DEFAULT: Final = 1
FILE_DEFAULT: Final = ""
FILE_CELL: Final = _FILE.one(FILE_DEFAULT)
SORT_KEYS: Final = ("device_handle", "width", "height", "file")


class Texture(NamedTuple):
    """One row of a TextureManager, copied out."""

    device_handle: int
    """What the graphics card calls it."""

    width: int
    """Columns of pixels. [px]"""

    height: int
    """Rows of pixels. [px]"""

    file: str
    """Where it was loaded from."""

    staging: Any
    """The pixels that wait to be uploaded."""


class TextureFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

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


class TextureData:
    """The columns of a TextureManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_device_handle_cells",
        "_device_handle_column",
        "_file_column",
        "_first_generation",
        "_height_cells",
        "_height_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_n",
        "_peak",
        "_slots",
        "_staging_column",
        "_width_cells",
        "_width_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _peak: int
    _slots: int
    _first_generation: int
    _device_handle_column: NDArray[np.uint64]
    _device_handle_cells: memoryview[int]
    _width_column: NDArray[np.uint16]
    _width_cells: memoryview[int]
    _height_column: NDArray[np.uint16]
    _height_cells: memoryview[int]
    _id_slot_column: NDArray[np.uint32]
    _id_slot_cells: memoryview[int]
    _id_row_column: NDArray[np.uint32]
    _id_row_cells: memoryview[int]
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]
    _file_column: NDArray[np.bytes_]
    _staging_column: NDArray[np.object_]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._peak = 0
        self._slots = 0
        self._first_generation = 1
        self._place(allocate(ROW_BYTES, capacity), capacity)
        self._staging_column = np.full(capacity, None, np.object_)

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
        """The one buffer that all columns but the objects are cut from."""
        return self._buffer

    @property
    def device_handle(self) -> NDArray[np.uint64]:
        """What the graphics card calls it. Shape (n,)."""
        return self._device_handle_column[: self._n]

    @device_handle.setter
    def device_handle(self, values: ArrayLike) -> None:
        if not is_same_view(self.device_handle, values):
            self._device_handle_column[: self._n] = _DEVICE_HANDLE.many(values, self._n)

    @property
    def width(self) -> NDArray[np.uint16]:
        """Columns of pixels. [px] Shape (n,)."""
        return self._width_column[: self._n]

    @width.setter
    def width(self, values: ArrayLike) -> None:
        if not is_same_view(self.width, values):
            self._width_column[: self._n] = _WIDTH.many(values, self._n)

    @property
    def height(self) -> NDArray[np.uint16]:
        """Rows of pixels. [px] Shape (n,)."""
        return self._height_column[: self._n]

    @height.setter
    def height(self, values: ArrayLike) -> None:
        if not is_same_view(self.height, values):
            self._height_column[: self._n] = _HEIGHT.many(values, self._n)

    @property
    def file(self) -> NDArray[np.bytes_]:
        """Where it was loaded from. Shape (n,)."""
        return self._file_column[: self._n]

    @file.setter
    def file(self, values: ArrayLike) -> None:
        if not is_same_view(self.file, values):
            self._file_column[: self._n] = _FILE.many(values, self._n)

    @property
    def staging(self) -> NDArray[np.object_]:
        """The pixels that wait to be uploaded. Shape (n,)."""
        return self._staging_column[: self._n]

    @staging.setter
    def staging(self, values: object) -> None:
        if not is_same_view(self.staging, values):
            self._staging_column[: self._n] = _STAGING.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> TextureHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> TextureColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return TextureHotColumns(self.device_handle, self.width, self.height)
        if tag == "cold":
            return TextureColdColumns(self.file, self.staging)
        raise ValueError(f"Texture has no tag {tag!r}; it has hot, cold")

    def _take_slot(self) -> int:
        """Return the slot of the next row: a free one, or a new one."""
        if self._n == self._slots:
            slot = self._peak
            self._id_generation_cells[slot] = self._first_generation
            self._peak += 1
            self._slots += 1
            return slot
        return self._id_slot_cells[self._n]

    def _take_slots(self, count: int) -> NDArray[np.uint32]:
        """Return the slots of the next `count` rows: free ones, then new ones."""
        free = self._id_slot_column[self._n : min(self._n + count, self._slots)].copy()
        new = count - len(free)
        if new == 0:
            return free
        peak = self._peak + new
        self._id_generation_column[self._peak : peak] = self._first_generation
        fresh = np.arange(self._peak, peak, dtype=np.uint32)
        self._peak = peak
        self._slots += new
        return np.concatenate((free, fresh))

    def _give_slot(self, slot: int) -> None:
        """Free the slot of a row that is gone, or retire it after its last generation."""
        if self._id_generation_cells[slot] == WORN_OUT:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        self._id_generation_cells[slot] += 1
        self._id_slot_cells[self._n] = slot

    def _give_slots(self, slots: NDArray[np.uint32]) -> None:
        """Free the slots of the rows that are gone, but retire those that are worn out."""
        fresh = slots[self._id_generation_column[slots] != WORN_OUT]
        self._id_generation_column[fresh] += 1
        worn = len(slots) - len(fresh)
        n, end = self._n, self._n + len(fresh)
        if worn:
            behind = self._id_slot_column[n + len(slots) : self._slots].copy()
            self._slots -= worn
            self._id_slot_column[end : self._slots] = behind
        self._id_slot_column[n:end] = fresh

    def _drop_slots(self) -> None:
        """Forget the free slots behind the last one in use; new ones begin where they ended."""
        n = self._n
        used = self._id_slot_column[:n]
        peak = int(used.max()) + 1 if n else 0
        if peak == self._peak or self._slots < self._peak:
            return  # none, or some were retired, which must not come again
        dropped = self._id_generation_column[peak : self._peak]
        self._first_generation = max(self._first_generation, int(dropped.max()))
        free = np.ones(peak, np.bool_)
        free[used] = False
        self._id_slot_column[n:peak] = np.flatnonzero(free)
        self._peak = self._slots = peak

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._device_handle_column = cut(buffer, COLUMNS[0], capacity)
        self._device_handle_cells = cells(self._device_handle_column)
        self._width_column = cut(buffer, COLUMNS[1], capacity)
        self._width_cells = cells(self._width_column)
        self._height_column = cut(buffer, COLUMNS[2], capacity)
        self._height_cells = cells(self._height_column)
        self._id_slot_column = cut(buffer, COLUMNS[3], capacity)
        self._id_slot_cells = cells(self._id_slot_column)
        self._id_row_column = cut(buffer, COLUMNS[4], capacity)
        self._id_row_cells = cells(self._id_row_column)
        self._id_generation_column = cut(buffer, COLUMNS[5], capacity)
        self._id_generation_cells = cells(self._id_generation_column)
        self._file_column = cut(buffer, COLUMNS[6], capacity)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._peak
        old_staging = self._staging_column
        self._staging_column = np.full(capacity, None, np.object_)
        self._staging_column[: self._n] = old_staging[: self._n]
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            self._staging_column = old_staging
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        rows = saved_rows(COLUMNS, self._buffer, self._allocated, self._peak)
        rows["staging"] = self.staging
        return rows

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        self.staging[:] = rows["staging"]
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._device_handle_column[dst] = self._device_handle_column[src]
        self._width_column[dst] = self._width_column[src]
        self._height_column[dst] = self._height_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]
        self._file_column[dst] = self._file_column[src]
        self._staging_column[dst] = self._staging_column[src]


class TextureManager:
    """Owns every Texture: lookup sparse, instances one, destroy gc, release.

    An image on the graphics card.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_dispatch",
        "_locks",
        "_released",
        "_version",
        "data",
    )
    data: TextureData
    _dispatch: Dispatch
    _released: Callbacks[RowArray]

    def __init__(self) -> None:
        self._locks = 0
        self._version = 0
        self.data = TextureData(capacity=0)
        self._dispatch = Dispatch()
        self._released = Callbacks()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "peak": data._peak,
            "slots": data._slots,
            "first_generation": data._first_generation,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = TextureData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._dispatch = Dispatch()
        data._peak = state["peak"]
        data._slots = state["slots"]
        data._first_generation = state["first_generation"]
        self._released = Callbacks()

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.id_of_many(np.arange(self.data._n)).tolist())

    def __contains__(self, id: object) -> bool:
        """Return whether an id has an instance; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

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
        """Bytes that the manager holds: the buffer; O(1)."""
        total = self.data._buffer.nbytes
        total += self.data._staging_column.nbytes
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def device_handle(self, row: Instance, /) -> int:
        """What the graphics card calls it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._device_handle_cells[row]

    def set_device_handle(self, row: Instance, value: int, /) -> None:
        """Set `device_handle` of a row."""
        _value = _DEVICE_HANDLE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._device_handle_cells[row] = _value

    def width(self, row: Instance, /) -> int:
        """Columns of pixels. [px]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._width_cells[row]

    def set_width(self, row: Instance, value: int, /) -> None:
        """Set `width` of a row."""
        _value = _WIDTH.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._width_cells[row] = _value

    def height(self, row: Instance, /) -> int:
        """Rows of pixels. [px]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._height_cells[row]

    def set_height(self, row: Instance, value: int, /) -> None:
        """Set `height` of a row."""
        _value = _HEIGHT.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._height_cells[row] = _value

    def file(self, row: Instance, /) -> str:
        """Where it was loaded from."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return str(data._file_column[row], "utf-8")

    def set_file(self, row: Instance, value: str, /) -> None:
        """Set `file` of a row: at most 64 bytes of UTF-8."""
        _value = _FILE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._file_column[row] = _value

    def staging(self, row: Instance, /) -> Any:
        """The pixels that wait to be uploaded."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._staging_column[row]

    def set_staging(self, row: Instance, value: Any, /) -> None:
        """Set `staging` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._staging_column[row] = value

    def row(self, row: Instance, /) -> Texture:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Texture(
            data._device_handle_cells[row],
            data._width_cells[row],
            data._height_cells[row],
            str(data._file_column[row], "utf-8"),
            data._staging_column[row],
        )

    def create(
        self,
        *,
        device_handle: int = DEVICE_HANDLE_DEFAULT,
        width: int = WIDTH_DEFAULT,
        height: int = HEIGHT_DEFAULT,
        file: str = FILE_DEFAULT,
        staging: Any = None,
    ) -> Id:
        """Add an instance and return its id; O(1).

        Raises:
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _device_handle_ = DEVICE_HANDLE_DEFAULT
        if device_handle is not DEVICE_HANDLE_DEFAULT:
            _device_handle_ = _DEVICE_HANDLE.one(device_handle)
        _width_ = WIDTH_DEFAULT
        if width is not WIDTH_DEFAULT:
            _width_ = _WIDTH.one(width)
        _height_ = HEIGHT_DEFAULT
        if height is not HEIGHT_DEFAULT:
            _height_ = _HEIGHT.one(height)
        _file_ = FILE_CELL
        if file is not FILE_DEFAULT:
            _file_ = _FILE.one(file)
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1))
        if data._n == data._slots and data._peak == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._peak + 1))
        with self._dispatch:
            _taken = data._take_slot()
            row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
            data._device_handle_cells[row] = _device_handle_
            data._width_cells[row] = _width_
            data._height_cells[row] = _height_
            data._file_column[row] = _file_
            data._staging_column[row] = staging
            data._n = row + 1
            data._id_slot_cells[row] = _taken
            data._id_row_cells[_taken] = row
            self._version += 1
            return Id(data._id_generation_cells[_taken] << SLOT_BITS | _taken)

    def create_many(
        self,
        count: int,
        /,
        *,
        device_handle: ArrayLike = DEVICE_HANDLE_DEFAULT,
        width: ArrayLike = WIDTH_DEFAULT,
        height: ArrayLike = HEIGHT_DEFAULT,
        file: ArrayLike = FILE_DEFAULT,
        staging: object = None,
    ) -> IdArray:
        """Add `count` instances and return their ids, shape (count,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        count = whole_count(MANAGER, count)
        columns = self._convert(
            count,
            device_handle=device_handle,
            width=width,
            height=height,
            file=file,
            staging=staging,
        )
        _borrowed = (device_handle, width, height, file)
        self._make_room(count, columns, _borrowed)
        return self._append_many(count, columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        device_handle: ArrayLike = DEVICE_HANDLE_DEFAULT,
        width: ArrayLike = WIDTH_DEFAULT,
        height: ArrayLike = HEIGHT_DEFAULT,
        file: ArrayLike = FILE_DEFAULT,
        staging: object = None,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "device_handle": _DEVICE_HANDLE.many(device_handle, count, data._buffer),
            "width": _WIDTH.many(width, count, data._buffer),
            "height": _HEIGHT.many(height, count, data._buffer),
            "file": _FILE.many(file, count, data._buffer),
            "staging": _STAGING.many(staging, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, count: int, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + count
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)
        slots = data._peak + max(0, data._n + count - data._slots)
        if slots > data._allocated:
            data._allocate(grown_capacity(data._allocated, slots), borrowed)

    def _append_many(self, count: int, columns: Columns) -> IdArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        if count == 0:
            return np.empty(0, np.uint64)
        with self._dispatch:
            taken = data._take_slots(count)
            n = data._n
            end = n + count
            span = slice(n, end)
            rows = np.arange(n, end)
            data._device_handle_column[span] = columns["device_handle"]
            data._width_column[span] = columns["width"]
            data._height_column[span] = columns["height"]
            data._file_column[span] = columns["file"]
            data._staging_column[span] = columns["staging"]
            data._n = end
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            self._version += 1
            return ids_of(taken, data._id_generation_column)

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

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        with self._dispatch:
            self._release(np.array([row]))
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
                data._id_row_cells[data._id_slot_cells[dst]] = dst
            data._n = src
            data._give_slot(slot)
            data._staging_column[data._n] = None
            self._version += 1
            return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        with self._dispatch:
            self._release(gone)
            slots = data._id_slot_column[gone]
            data._id_row_column[slots] = NIL
            n = data._n
            src, dst = fill(gone, n)
            if len(src):
                data._move_rows(src, dst)
                data._id_row_column[data._id_slot_column[dst]] = dst
            data._n = n - len(gone)
            data._give_slots(slots)
            data._staging_column[data._n : n] = None
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
        data._id_row_column[data._id_slot_column[dst]] = dst
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
        data._drop_slots()
        capacity = whole_rows(data._peak)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1

    def id_of(self, row: Instance, /) -> Id:
        """Return the stable id of a row: `generation << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        slot = data._id_slot_cells[row]
        return Id(data._id_generation_cells[slot] << SLOT_BITS | slot)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        data = self.data
        given = rows_in_use(rows, data, MANAGER)
        slots = data._id_slot_column[given]
        return ids_of(slots, data._id_generation_column)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        slot = id & SLOT_MASK
        if slot < data._peak and data._id_generation_cells[slot] == id >> SLOT_BITS:
            return Instance(data._id_row_cells[slot])
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those whose instance is gone; O(k)."""
        given = as_entities(ids)
        data = self.data
        rows = data._id_row_column[: data._peak]
        return resolve_ids(given, rows, data._id_generation_column[: data._peak])

    def destroy_id(self, id: Id, /) -> None:
        """Remove the instance with this id; O(1).

        Raises:
            StaleIdError: it is gone already.
            StructureLockedError: the manager is locked.
        """
        row = self.resolve(id)
        if row == NIL:
            raise stale_id(MANAGER, id)
        self.destroy(row)

    def destroy_id_many(self, ids: ArrayLike, /) -> None:
        """Remove the instances with these k ids; O(k). Nothing goes if one is stale.

        Raises:
            StaleIdError: an id is stale, or given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = as_entities(ids)
        self._destroy_rows(rows_of_ids(MANAGER, given, self.resolve_many(given)))

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        Inside, this manager is locked, and entities that are destroyed wait for their
        turn. Exceptions stop nothing; they are raised together, as an ExceptionGroup,
        when all is done. `cancel()` of what is returned ends it. Pickle does not save it.
        """
        return self._released.add(callback)

    def _release(self, rows: RowArray) -> None:
        self._locks += 1
        try:
            self._released.run(rows, self._dispatch.errors)
        finally:
            self._locks -= 1
