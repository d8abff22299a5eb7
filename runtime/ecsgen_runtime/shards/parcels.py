"""Parcels: entities with all their rows, as tables of columns in one run of bytes."""

from __future__ import annotations

import json
import os
import pickle
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import prod
from operator import mul
from pickle import PickleBuffer
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ..base.errors import EcsError, SnapshotError
from ..base.fast_typing import NamedTuple
from ..base.handles import EntityArray
from ..tables.buffers import Column, item_type, split_columns
from ..tables.columns import field_of
from .handle_map import all_distinct
from .shard_base import ShardBase


class ParcelError(EcsError, ValueError):
    """A parcel is damaged, of other schemas, or has entities that are here already."""


class ShardError(EcsError, RuntimeError):
    """Something went wrong on another rank, or on all of them."""


# Plans are derived from the managers' classes, once for each class of world, so that a
# parcel can be read without a world.

_LINKS: Final = (
    "entity next previous parent first_child next_sibling previous_sibling id_slot id_row "
    "id_generation newer older cold_row row"
)
_BOOKKEEPING: Final = frozenset(_LINKS.split())  # a list of strings takes thrice the lines
"""Columns that are no fields."""
_U8: Final = np.dtype(np.uint8)
_U32: Final = np.dtype(np.uint32)
_U64: Final = np.dtype(np.uint64)


class ParcelColumn(NamedTuple):
    """A column of a parcel."""

    name: str
    """As in `Parcel.columns`: component and manager's column, or `~` and a name for bookkeeping."""
    table: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """The shape of one cell."""
    nbytes: int
    """Bytes per row."""
    item: np.dtype[Any]
    """A row as opaque bytes: moves in half the time."""


class ParcelComponent(NamedTuple):
    """A component that travels: its columns, and where they are in a parcel."""

    name: str
    attribute: str
    """Attribute of the world; "" for components in chunks."""
    kind: Any
    """The class of its manager, or of its columns in chunks."""
    table: int
    columns: Mapping[str, int]
    """Columns of the manager → columns of the parcel; also "~id", "~parent" …"""
    cold: Mapping[str, int]
    """The columns of the cold subtable, and "~row"; empty without one."""
    objects: Mapping[str, int]
    """Fields that are objects → columns of pickles."""

    @property
    def is_owned(self) -> bool:
        """True if rows belong to entities."""
        return "entity" in self.columns

    @property
    def is_tree(self) -> bool:
        """True if rows have parents."""
        return "~parent" in self.columns


class ParcelPlan(NamedTuple):
    """All tables of a world's parcels."""

    fingerprint: bytes
    row_nbytes: tuple[int, ...]
    """Bytes per row of each table."""
    columns: tuple[ParcelColumn, ...]
    order: tuple[int, ...]
    """Columns as they lie in the body: by falling alignment."""
    managed: tuple[ParcelComponent, ...]
    """Components with managers."""
    chunked: tuple[ParcelComponent, ...]
    """Components in chunks."""

    @property
    def n_tables(self) -> int:
        """Number of tables."""
        return len(self.row_nbytes)

    @property
    def trees(self) -> list[ParcelComponent]:
        """Components with managers whose rows have parents."""
        return [component for component in self.managed if component.is_tree]


class Tables:
    """Columns and tables of a plan, as they are added."""

    def __init__(self) -> None:
        self.columns: list[ParcelColumn] = []
        self.count = 0

    def table(self) -> int:
        """Return the number of a new table."""
        self.count += 1
        return self.count - 1

    def add(self, name: str, table: int, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> int:
        """Return the number of a new column."""
        nbytes = dtype.itemsize * prod(shape)
        column = ParcelColumn(name, table, dtype, shape, nbytes, item_type(nbytes))
        self.columns.append(column)
        return len(self.columns) - 1


def _plan_of(world: type[ShardBase]) -> ParcelPlan:
    tables, stays = Tables(), world.STAYS
    managed = tuple(
        _managed(tables, attribute, kind)
        for attribute, kind in world.MANAGER_CLASSES.items()
        if attribute not in stays
    )
    chunked = tuple(
        _chunked(tables, kind) for kind in world.CHUNKED if kind.ROW.__name__ not in stays
    )
    columns, row_nbytes = tuple(tables.columns), [0] * tables.count
    for column in columns:
        row_nbytes[column.table] += column.nbytes
    order = sorted(range(len(columns)), key=lambda k: -alignment(columns[k].dtype))
    fingerprint = bytes.fromhex(world.FINGERPRINT)
    return ParcelPlan(fingerprint, tuple(row_nbytes), columns, tuple(order), managed, chunked)


plan_of: Final[Callable[[Any], ParcelPlan]] = cache(_plan_of)
"""Return the tables of the parcels of a class of worlds."""


def alignment(dtype: np.dtype[Any]) -> int:
    """Return the alignment of a dtype's cells in bytes."""
    return 1 if dtype.kind in "SV" else dtype.itemsize


_MARKS: Final = (
    *(("entity", "entity", _U64), ("id_generation", "~id", _U64)),
    *(("parent", "~parent", _U32), ("parent", "~rank", _U32)),
)
"""Columns of a manager, and what they become in a parcel."""


def _managed(tables: Tables, attribute: str, kind: Any) -> ParcelComponent:
    rows, name, table = kind.ROWS, kind.ROWS.MANAGER.removesuffix("Manager"), tables.table()
    present, cold = {column.name for column in kind.LAYOUT}, dict[str, int]()
    columns = {
        mark: tables.add(f"{name}.{mark}", table, dtype)
        for column, mark, dtype in _MARKS
        if column in present
    }
    if hasattr(kind, "activate"):
        columns["~active"] = tables.add(f"{name}.~active", table, np.dtype(np.bool_))
    columns |= _fields(tables, name, table, kind.LAYOUT)
    objects = [*rows.OBJECTS]
    if "cold_row" in present:
        cold_table = tables.table()
        cold["~row"] = tables.add(f"{name}.~row", cold_table, _U32)
        cold |= _fields(tables, name, cold_table, kind.LAYOUT_COLD)
        objects += rows.COLD.OBJECTS
    pickles = _pickles(tables, name, map(field_of, objects))
    return ParcelComponent(name, attribute, kind, table, columns, cold, pickles)


def _chunked(tables: Tables, kind: Any) -> ParcelComponent:
    name, table = kind.ROW.__name__, tables.table()
    objects = [column.name for column in kind.LAYOUT if column.dtype.hasobject]
    columns = {"entity": tables.add(f"{name}.entity", table, _U64)}
    plain = [column for column in kind.LAYOUT if column.name not in objects]
    columns |= _fields(tables, name, table, plain)
    return ParcelComponent(name, "", kind, table, columns, {}, _pickles(tables, name, objects))


def _pickles(tables: Tables, component: str, fields: Iterable[str]) -> dict[str, int]:
    return {name: tables.add(f"{component}.~{name}", tables.table(), _U8) for name in fields}


def _fields(tables: Tables, component: str, table: int, layout: Iterable[Column]) -> dict[str, int]:
    return {
        c.name: tables.add(f"{component}.{c.name}", table, c.dtype, c.shape)
        for c in layout
        if c.name not in _BOOKKEEPING
    }


MAGIC: Final = b"ecsparc1"
_MAGIC: Final = int.from_bytes(MAGIC, "little")
_HEAD: Final = 7
"""Words before those of tables: magic, fingerprint, length, number of entities."""
LENGTH: Final = 5
"""Index of the length among the header's words."""
_MOST: Final = 1 << 24
"""Most bytes that the JSON header of a file may have."""


class ParcelBase:
    """Entities that left a world, with all their components.

    The buffer is a header (magic, fingerprint of the schema, length, number of entities, rows
    per table; `u64` each) and a body: the entities, then all columns by falling alignment,
    without gaps. Pickles, out of band with protocol 5.
    """

    __slots__ = ("_buffer", "_starts", "counts")

    _world: ClassVar[Any]
    """The class of the worlds of this parcel."""

    def __init__(self, buffer: Any) -> None:
        """Check the bytes of a parcel, which are not copied.

        Raises:
            ParcelError: they are no parcel, are cut off, or are of other schemas.
        """
        data = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        if data.__array_interface__["data"][0] % 8:
            data = data.copy()
        data.flags.writeable = False
        self._buffer = data
        self.counts = checked_counts(data, self.plan())
        self._starts = starts_of(self.plan(), len(self), self.counts)

    @classmethod
    def plan(cls) -> ParcelPlan:
        return plan_of(cls._world)

    def __len__(self) -> int:
        """Return the number of entities."""
        return self._buffer[: 8 * _HEAD].view(np.uint64).item(6)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the buffer."""
        return self._buffer.nbytes

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """All bytes, contiguous; read-only."""
        return self._buffer

    def __bytes__(self) -> bytes:
        return self._buffer.tobytes()

    @property
    def entities(self) -> EntityArray:
        """All entities, descendants included, shape (n,); read-only."""
        start = 8 * (_HEAD + self.plan().n_tables)
        return self._buffer[start : start + 8 * len(self)].view(np.uint64)

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Read-only views by name: "Position.value"; names with a `~` are bookkeeping."""
        plan = self.plan()
        columns = {c.name: self.column(number) for number, c in enumerate(plan.columns)}
        return MappingProxyType(columns)

    def column(self, number: int) -> NDArray[Any]:
        column = self.plan().columns[number]
        count = self.counts[column.table]
        return view_of(self._buffer, self._starts[number], count, column)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} entities, {self.nbytes} bytes>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if protocol >= 5:
            return type(self), (PickleBuffer(self._buffer.data),)
        return type(self), (self._buffer.tobytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parcel as a safetensors file, which replaces an old one atomically; OSError as
        for every file."""
        from ..base.files import replace_file

        plan = self.plan()
        header_size = header_nbytes(plan)
        body = self._buffer[header_size:]
        tensors = {"entities": _tensor(_U64, (len(self),), 0)}
        for number in plan.order:
            column, start = plan.columns[number], self._starts[number] - header_size
            shape = (self.counts[column.table], *column.shape)
            tensors[column.name] = _tensor(column.dtype, shape, start)
        metadata = {
            "ecsgen_parcel": "1",
            "crc32": f"{zlib.crc32(body.data):08x}",
            "fingerprint": plan.fingerprint.hex(),
            "counts": json.dumps(self.counts, separators=(",", ":")),
        }
        header = {"__metadata__": metadata, **tensors}
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with replace_file(path) as file:
            for part in (len(text).to_bytes(8, "little"), text, body.data):
                left = memoryview(part).cast("B")
                while len(left):
                    left = left[file.write(left) :]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the parcel in a file.

        Raises:
            ParcelError: the file is no parcel, is damaged, or of other schemas.
            OSError: as for every file.
        """
        from ..snapshots.documents import parsed_json

        plan, name = cls.plan(), os.path.basename(os.fsdecode(path))
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > _MOST:
                raise ParcelError(f"{name}: is no parcel")
            text, body = file.read(size), file.read()
        try:
            metadata = parsed_json(text.decode(), "the header", name)["__metadata__"]
            version, crc = metadata["ecsgen_parcel"], int(metadata["crc32"], 16)
            fingerprint = bytes.fromhex(metadata["fingerprint"])
            counts = parsed_json(metadata["counts"], "the counts", name)
        except SnapshotError as error:
            raise ParcelError(str(error)) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ParcelError(f"{name}: is no parcel: {error}") from None
        if version != "1" or fingerprint != plan.fingerprint:
            raise ParcelError(f"{name}: a parcel of other schemas, or of another format")
        if zlib.crc32(body) != crc:
            raise ParcelError(f"{name}: wrong checksum: the file is cut off or damaged")
        is_list = isinstance(counts, list) and len(counts) == plan.n_tables
        if not (is_list and all(type(n) is int and n >= 0 for n in counts)):
            raise ParcelError(f"{name}: rows of other tables")
        n = (len(body) + header_nbytes(plan) - nbytes_of(plan, 0, counts)) // 8
        if n < 0:
            raise ParcelError(f"{name}: more rows than {len(body)} bytes hold")
        head = header_of(plan, n, counts)
        return cls(np.concatenate((head.view(np.uint8), np.frombuffer(body, np.uint8))))


def header_of(plan: ParcelPlan, n: int, counts: list[int]) -> NDArray[np.uint64]:
    """Return the header of a parcel."""
    length = nbytes_of(plan, n, counts)
    fingerprint = np.frombuffer(plan.fingerprint, np.uint64)
    return np.array([_MAGIC, *fingerprint, length, n, *counts], np.uint64)


def header_nbytes(plan: ParcelPlan) -> int:
    """Return the number of bytes of a header."""
    return 8 * (_HEAD + plan.n_tables)


def nbytes_of(plan: ParcelPlan, n: int, counts: list[int]) -> int:
    """Return the number of bytes of a parcel of n entities and `counts` rows."""
    of_tables: int = sum(map(mul, plan.row_nbytes, counts))
    return header_nbytes(plan) + 8 * n + of_tables


def starts_of(plan: ParcelPlan, n: int, counts: list[int]) -> list[int]:
    """Return the offset of each column."""
    starts = [0] * len(plan.columns)
    offset = header_nbytes(plan) + 8 * n
    for number in plan.order:
        starts[number] = offset
        column = plan.columns[number]
        offset += column.nbytes * counts[column.table]
    return starts


def view_of(body: NDArray[np.uint8], start: int, count: int, column: ParcelColumn) -> NDArray[Any]:
    """Return a view of a column of `count` rows in a run of bytes."""
    cells = body[start : start + count * column.nbytes].view(column.dtype)
    return cells.reshape(count, *column.shape) if column.shape else cells


def checked_counts(data: NDArray[np.uint8], plan: ParcelPlan) -> list[int]:
    """Return the number of rows of each table, or raise ParcelError."""
    if sys.byteorder != "little":
        raise ParcelError("parcels are little-endian, and this machine is not")
    size = header_nbytes(plan)
    if len(data) < size or int(data[:8].view(np.uint64)[0]) != _MAGIC:
        raise ParcelError(f"{len(data)} bytes, which are no parcel")
    head = data[:size].view(np.uint64)
    if head[1:5].tobytes() != plan.fingerprint:
        raise ParcelError("a parcel of other schemas")
    counts: list[int]
    length, n, *counts = head[5:].tolist()
    if length != len(data):
        raise ParcelError(f"a parcel of {length} bytes, cut to {len(data)}")
    if nbytes_of(plan, n, counts) != length:
        raise ParcelError("a parcel whose tables do not have its length")
    return counts


def _tensor(dtype: np.dtype[Any], shape: tuple[int, ...], start: int) -> dict[str, Any]:
    """Return a tensor's entry in the header; text and bytes are `u8`."""
    from ..snapshots.header import NAMES

    offsets = [start, start + prod(shape) * dtype.itemsize]
    if dtype not in NAMES:
        shape = (*shape, dtype.itemsize)
    return {"dtype": NAMES.get(dtype, "U8"), "shape": shape, "data_offsets": offsets}


_CHECKED: Final = "SV"
"""Kinds of dtypes of which not every value is valid; enums besides."""


class ParcelRows:
    """The rows of a component in a parcel, whose bytes are not trusted."""

    def __init__(self, parcel: ParcelBase, component: ParcelComponent) -> None:
        self.component = component
        self.count = parcel.counts[component.table]
        self._parcel = parcel

    def refuse(self, column: str, reason: str) -> NoReturn:
        """Raise ParcelError that names a column."""
        raise ParcelError(f"{self.component.name}.{column}: {reason}")

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the parcel by its name in the component."""
        return self._parcel.column(self.component.columns[name])

    def fields(self) -> dict[str, NDArray[Any]]:
        """Return the columns of new rows by field, checked, as creations take them."""
        columns: dict[str, NDArray[Any]] = {}
        for name, (field, _) in self.component.kind.CONVERTERS.items():
            if name in self.component.objects:
                columns[name] = self.objects(name)
                continue
            if name in self.component.columns or name in self.component.cold:
                column = self._stored(name)
            else:
                cells = [self._stored(part) for part in split_columns(name, field.shape)]
                column = np.stack(cells, axis=1).reshape(self.count, *field.shape)
            columns[name] = self.checked(name, field, column)
        return columns

    def checked(self, name: str, field: Any, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column if all its values are valid, or raise ParcelError; numbers always are."""
        if column.dtype.kind == "b":
            self.check_bools(name, column)
        if column.dtype.kind not in _CHECKED and field.enum is None:
            return column
        try:
            checked: NDArray[Any] = field.to_column(column, self.count)
        except (ValueError, TypeError, OverflowError) as error:
            self.refuse(name, str(error))
        return checked

    def objects(self, name: str) -> NDArray[np.object_]:
        """Return the objects of a field, or raise ParcelError."""
        column = np.full(self.count, None, np.object_)
        pickled = self._parcel.column(self.component.objects[name])
        if len(pickled):
            try:
                values = pickle.loads(pickled.tobytes())
            except Exception as error:
                raise ParcelError(f"{self.component.name}.{name}: {error!r}") from error
            if type(values) is not list or len(values) != self.count:
                self.refuse(name, "not as many objects as rows")
            for row, value in enumerate(values):
                column[row] = value
        return column

    def check_bools(self, name: str, column: NDArray[np.bool_]) -> None:
        """Raise ParcelError if a column of bools has something else."""
        if len(column) and int(column.view(np.uint8).max()) > 1:
            self.refuse(name, "a bool that is neither True nor False")

    def _stored(self, part: str) -> NDArray[Any]:
        """Return a column of all rows; cold columns have defaults where there is no cold row."""
        component, count = self.component, self.count
        if part in component.columns:
            return self.column(part)
        default = component.kind.ROWS.COLD.DEFAULTS[part]
        column = np.full((count, *default.shape), default, default.dtype)
        rows = self._parcel.column(component.cold["~row"])
        if len(rows) and (int(rows.max()) >= count or not all_distinct(rows)):
            self.refuse("~row", "a row that does not exist, or twice")
        column[rows] = self._parcel.column(component.cold[part])
        return column
