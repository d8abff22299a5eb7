"""Parcels: entities with all that they have, as tables of columns in one run of bytes."""

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
from ..values.field_tables import FieldInfo
from .handle_map import all_distinct


class ParcelError(EcsError, ValueError):
    """A parcel is damaged, of other schemas, or has what is here already."""


class ShardError(EcsError, RuntimeError):
    """Something went wrong on another rank, or on all of them."""


# --- What parcels consist of: tables of columns, one or two for each component --------
#
# All is read off the managers' classes, once for each class of world, so that a parcel
# can be looked at without a world.

_LINKS: Final = (
    "entity next previous parent first_child next_sibling previous_sibling id_slot id_row "
    "id_generation newer older cold_row"
)
_MANAGER_SUBCLASSES: Final = frozenset(_LINKS.split())  # a list of strings takes thrice the lines
"""Columns that are no fields."""
_U8: Final = np.dtype(np.uint8)
_U32: Final = np.dtype(np.uint32)
_U64: Final = np.dtype(np.uint64)


class PackedColumn(NamedTuple):
    """A column of a parcel."""

    name: str
    """As in `Parcel.columns`: the component, and the column in its manager, or with a `~` what it
    stands for."""
    table: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of one cell."""
    nbytes: int
    """Bytes per row."""
    item: np.dtype[Any]
    """What a row is if nobody looks into it: moves in half the time."""


class ParcelComponent(NamedTuple):
    """A component that travels: what of it does, and where that is in a parcel."""

    name: str
    attribute: str
    """Of the world; "" for those in chunks."""
    kind: Any
    """The class of its manager, or of its columns in chunks."""
    table: int
    columns: Mapping[str, int]
    """Columns of the manager → columns of the parcel; also "~id", "~parent" …"""
    cold: Mapping[str, int]
    """The same of the second buffer, and "~row"; empty without one."""
    objects: Mapping[str, int]
    """Fields that are objects → columns of pickles."""
    parts: Mapping[str, tuple[str, ...]]
    """Fields → the columns that they are: several of those that are split."""
    is_owned: bool
    """Whether rows belong to entities."""
    is_one: bool
    """Whether these have one row each, and rows come in the order of entities."""
    sources: tuple[tuple[Column, int], ...]
    """Columns of the manager, which are columns of the parcel as they are; without owners."""
    cold_sources: tuple[tuple[Column, int], ...]
    """The same of the second buffer."""
    marks: Mapping[str, int]
    """The columns that stand for something else."""


class ParcelPlan(NamedTuple):
    """All tables of a world's parcels."""

    fingerprint: bytes
    row_nbytes: tuple[int, ...]
    """Bytes per row of each table."""
    columns: tuple[PackedColumn, ...]
    order: tuple[int, ...]
    """In which columns lie in the body: by falling alignment."""
    managed: tuple[ParcelComponent, ...]
    """Components with managers."""
    chunked: tuple[ParcelComponent, ...]
    """Components in chunks."""

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return len(self.row_nbytes)


class Tables:
    """Collects columns and tables."""

    def __init__(self) -> None:
        self.columns: list[PackedColumn] = []
        self.count = 0

    def table(self) -> int:
        """Return the number of a new table."""
        self.count += 1
        return self.count - 1

    def add(self, name: str, table: int, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> int:
        """Return the number of a new column."""
        nbytes = dtype.itemsize * prod(shape)
        column = PackedColumn(name, table, dtype, shape, nbytes, item_type(nbytes))
        self.columns.append(column)
        return len(self.columns) - 1


def _plan_of(world: Any) -> ParcelPlan:
    tables, stays = Tables(), world._STAYS
    managed = tuple(
        _managed(tables, attribute, kind)
        for attribute, kind in world._MANAGER_CLASSES.items()
        if attribute not in stays
    )
    chunked = tuple(
        _chunked(tables, kind) for kind in world._CHUNKED if kind._ROW.__name__ not in stays
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
    """Return on how many bytes cells begin."""
    return 1 if dtype.kind in "SV" else dtype.itemsize


def _managed(tables: Tables, attribute: str, kind: Any) -> ParcelComponent:
    rows, name = kind._ROWS, kind._ROWS.MANAGER.removesuffix("Manager")
    held, table = {column.name for column in kind.LAYOUT}, tables.table()
    found: dict[str, int] = {}
    if "entity" in held:
        found["entity"] = tables.add(f"{name}.entity", table, _U64)
    if "id_generation" in held:
        found["~id"] = tables.add(f"{name}.~id", table, _U64)
    if "parent" in held:
        found["~parent"] = tables.add(f"{name}.~parent", table, _U32)
        found["~rank"] = tables.add(f"{name}.~rank", table, _U32)
    if hasattr(kind, "activate"):
        found["~active"] = tables.add(f"{name}.~active", table, np.dtype(np.bool_))
    found |= _fields(tables, name, table, kind.LAYOUT)
    cold: dict[str, int] = {}
    sources = _sources(kind.LAYOUT, found)
    cold_sources: tuple[tuple[Column, int], ...] = ()
    objects = [*rows.OBJECTS]
    if "cold_row" in held:
        second = tables.table()
        cold["~row"] = tables.add(f"{name}.~row", second, _U32)
        layout = [column for column in kind.LAYOUT_COLD if column.name != "row"]
        cold |= _fields(tables, name, second, layout)
        cold_sources = _sources(layout, cold)
        objects += rows._COLD.OBJECTS
    pickles = {
        field_of(column): tables.add(f"{name}.~{field_of(column)}", tables.table(), _U8)
        for column in objects
    }
    return ParcelComponent(
        name,
        attribute,
        kind,
        table,
        found,
        cold,
        pickles,
        {f.name: serialise_tensors(f, {*found, *cold, *pickles}) for f in kind.FIELDS},
        "entity" in held,
        "entity" in held and not kind._ALLOWS_MANY and not kind._HAS_ORDER,
        sources,
        cold_sources,
        {name: number for name, number in found.items() if name.startswith("~")},
    )


def _sources(layout: Iterable[Column], found: Mapping[str, int]) -> tuple[tuple[Column, int], ...]:
    """Return which columns are columns of the parcel, but for owners."""
    return tuple(
        (column, found[column.name])
        for column in layout
        if column.name in found and column.name != "entity"
    )


def _chunked(tables: Tables, kind: Any) -> ParcelComponent:
    name, table = kind._ROW.__name__, tables.table()
    found = {"entity": tables.add(f"{name}.entity", table, _U64)}
    plain = [column for column in kind.LAYOUT if not column.dtype.hasobject]
    found |= _fields(tables, name, table, plain)
    pickles = {
        column.name: tables.add(f"{name}.~{column.name}", tables.table(), _U8)
        for column in kind.LAYOUT
        if column.dtype.hasobject
    }
    return ParcelComponent(name, "", kind, table, found, {}, pickles, {}, True, True, (), (), {})


def _fields(tables: Tables, component: str, table: int, layout: Iterable[Column]) -> dict[str, int]:
    return {
        c.name: tables.add(f"{component}.{c.name}", table, c.dtype, c.shape)
        for c in layout
        if c.name not in _MANAGER_SUBCLASSES
    }


def serialise_tensors(field: FieldInfo, columns: set[str]) -> tuple[str, ...]:
    """Return the columns of a field."""
    if field.name in columns:
        return (field.name,)
    return tuple(split_columns(field.name, field.shape))


# --- Parcels: entities with all that they have, as one run of bytes -------------------

MAGIC: Final = b"ecsparc1"
_MAGIC: Final = int.from_bytes(MAGIC, "little")
_HEAD: Final = 7
"""Words before those of tables: magic, fingerprint, length, number of entities."""
LENGTH: Final = 5
"""Which of them is the length."""
_MOST: Final = 1 << 24
"""Bytes of the JSON header of a file."""


class ParcelBase:
    """Entities that left a world, with all their components.

    The buffer is a header (magic, fingerprint of the schema, length, number of entities, rows
    per table; `u64` each) and a body: the entities, then all columns by falling alignment,
    without gaps. Pickles, out of band with protocol 5.
    """

    __slots__ = ("_buffer", "_counts", "_starts")

    _world: ClassVar[Any]
    """The class of the worlds that it is for."""

    def __init__(self, buffer: Any) -> None:
        """Look at the bytes of a parcel, which are not copied.

        Raises:
            ParcelError: they are none, not all, or those of other schemas.
        """
        data = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        if data.__array_interface__["data"][0] % 8:
            data = data.copy()
        data.flags.writeable = False
        self._buffer = data
        self._counts = checked_counts(data, self._plan())
        self._starts = starts_of(self._plan(), len(self), self._counts)

    @classmethod
    def _plan(cls) -> ParcelPlan:
        return plan_of(cls._world)

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._buffer[: 8 * _HEAD].view(np.uint64).item(6)

    @property
    def nbytes(self) -> int:
        """How many bytes the buffer has."""
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
        start = 8 * (_HEAD + self._plan().n_tables)
        return self._buffer[start : start + 8 * len(self)].view(np.uint64)

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Read-only views by name: "Position.value"; those with a `~` are bookkeeping."""
        plan = self._plan()
        found = {c.name: self._column(number) for number, c in enumerate(plan.columns)}
        return MappingProxyType(found)

    def _column(self, number: int) -> NDArray[Any]:
        column = self._plan().columns[number]
        count = self._counts[column.table]
        return view_of(self._buffer, self._starts[number], count, column)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} entities, {self.nbytes} bytes>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if protocol >= 5:
            return type(self), (PickleBuffer(self._buffer.data),)
        return type(self), (self._buffer.tobytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parcel as a safetensors file, which takes the place of an old one as a whole.

        OSError as for every file.
        """
        from ..base.atomic_files import replace_file

        plan = self._plan()
        before = header_nbytes(plan)
        body = self._buffer[before:]
        tensors = {"entities": _tensor(_U64, (len(self),), 0)}
        for number in plan.order:
            column, start = plan.columns[number], self._starts[number] - before
            shape = (self._counts[column.table], *column.shape)
            tensors[column.name] = _tensor(column.dtype, shape, start)
        said = {
            "ecsgen_parcel": "1",
            "crc32": f"{zlib.crc32(body.data):08x}",
            "fingerprint": plan.fingerprint.hex(),
            "counts": json.dumps(self._counts, separators=(",", ":")),
        }
        whole = {"__metadata__": said, **tensors}
        text = json.dumps(whole, separators=(",", ":")).encode()
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
            ParcelError: it is none, is damaged, or of other schemas.
            OSError: as for every file.
        """
        from ..snapshots.documents import parsed_json

        plan, name = cls._plan(), os.path.basename(os.fsdecode(path))
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > _MOST:
                raise ParcelError(f"{name}: no parcel")
            text, body = file.read(size), file.read()
        try:
            said = parsed_json(text.decode(), "the header", name)["__metadata__"]
            version, crc = said["ecsgen_parcel"], int(said["crc32"], 16)
            fingerprint = bytes.fromhex(said["fingerprint"])
            counts = parsed_json(said["counts"], "the counts", name)
        except SnapshotError as error:
            raise ParcelError(str(error)) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ParcelError(f"{name}: no parcel: {error}") from None
        if version != "1" or fingerprint != plan.fingerprint:
            raise ParcelError(f"{name}: a parcel of other schemas, or of another format")
        if zlib.crc32(body) != crc:
            raise ParcelError(f"{name}: the checksum is another: cut off, or damaged")
        is_list = isinstance(counts, list) and len(counts) == plan.n_tables
        if not (is_list and all(type(n) is int and n >= 0 for n in counts)):
            raise ParcelError(f"{name}: rows of other tables")
        rest = nbytes_of(plan, 0, counts) - header_nbytes(plan)
        n = (len(body) - rest) // 8
        head = header_of(plan, max(n, 0), counts)
        return cls(np.concatenate((head.view(np.uint8), np.frombuffer(body, np.uint8))))


def header_of(plan: ParcelPlan, n: int, counts: list[int]) -> NDArray[np.uint64]:
    """Return the header of a parcel."""
    length = nbytes_of(plan, n, counts)
    fingerprint = np.frombuffer(plan.fingerprint, np.uint64)
    return np.array([_MAGIC, *fingerprint, length, n, *counts], np.uint64)


def header_nbytes(plan: ParcelPlan) -> int:
    """Return how many bytes a header has."""
    return 8 * (_HEAD + plan.n_tables)


def nbytes_of(plan: ParcelPlan, n: int, counts: list[int]) -> int:
    """Return how many bytes a parcel has."""
    of_tables: int = sum(map(mul, plan.row_nbytes, counts))
    return header_nbytes(plan) + 8 * n + of_tables


def starts_of(plan: ParcelPlan, n: int, counts: list[int]) -> list[int]:
    """Return the first byte of each column."""
    starts = [0] * len(plan.columns)
    place = header_nbytes(plan) + 8 * n
    for number in plan.order:
        starts[number] = place
        column = plan.columns[number]
        place += column.nbytes * counts[column.table]
    return starts


def view_of(body: NDArray[np.uint8], start: int, count: int, column: PackedColumn) -> NDArray[Any]:
    """Return a column of so many rows in a run of bytes."""
    cells = body[start : start + count * column.nbytes].view(column.dtype)
    return cells.reshape(count, *column.shape) if column.shape else cells


def checked_counts(data: NDArray[np.uint8], plan: ParcelPlan) -> list[int]:
    """Return the rows of each table, or raise ParcelError."""
    if sys.byteorder != "little":
        raise ParcelError("parcels are little-endian, and this machine is not")
    size = header_nbytes(plan)
    if len(data) < size or int(data[:8].view(np.uint64)[0]) != _MAGIC:
        raise ParcelError(f"{len(data)} bytes that are no parcel")
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
    """Return what the header says of cells; text and bytes are `u8`."""
    from ..snapshots.header import NAMES

    offsets = [start, start + prod(shape) * dtype.itemsize]
    if dtype not in NAMES:
        shape = (*shape, dtype.itemsize)
    return {"dtype": NAMES.get(dtype, "U8"), "shape": shape, "data_offsets": offsets}


# --- Values of a parcel: those that no world would have are refused -------------------

_CHECKED: Final = "SV"
"""Kinds of cells of which not every value will do; enums besides."""


class ParcelRows:
    """The rows of a component in a parcel, which may say anything."""

    def __init__(self, parcel: ParcelBase, one: ParcelComponent) -> None:
        self.one = one
        self.count = parcel._counts[one.table]
        self._parcel = parcel

    def refuse(self, column: str, why: str) -> NoReturn:
        """Raise ParcelError that names a column."""
        raise ParcelError(f"{self.one.name}.{column}: {why}")

    def column(self, name: str) -> NDArray[Any]:
        """Return a column that lies with the rows."""
        return self._parcel._column(self.one.columns[name])

    def fields(self, manager: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of new rows by field, as creations have them when they are checked."""
        found: dict[str, NDArray[Any]] = {}
        for name, (field, _) in manager._CONVERTERS.items():
            if name in self.one.objects:
                found[name] = self.objects(name)
                continue
            parts = self.one.parts[name]
            cells = [self._stored(manager, part) for part in parts]
            column = cells[0]
            if parts != (name,):
                column = np.stack(cells, axis=1).reshape(self.count, *field.shape)
            found[name] = self.checked(name, field, column)
        return found

    def checked(self, name: str, field: Any, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column whose values all will do, or raise ParcelError; numbers always will."""
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
        found = np.full(self.count, None, np.object_)
        text = self._parcel._column(self.one.objects[name])
        if len(text):
            try:
                values = pickle.loads(text.tobytes())
            except Exception as error:
                raise ParcelError(f"{self.one.name}.{name}: {error!r}") from error
            if type(values) is not list or len(values) != self.count:
                self.refuse(name, "not as many objects as rows")
            for row, value in enumerate(values):
                found[row] = value
        return found

    def check_bools(self, name: str, column: NDArray[np.bool_]) -> None:
        """Raise ParcelError if a column of bools has something else."""
        if len(column) and int(column.view(np.uint8).max()) > 1:
            self.refuse(name, "neither True nor False")

    def _stored(self, manager: Any, part: str) -> NDArray[Any]:
        """Return a column of all rows, those of cold rows spread over them."""
        one, count = self.one, self.count
        if part in one.columns:
            return self.column(part)
        default = manager.data._cold.DEFAULTS[part]
        column = np.full((count, *default.shape), default, default.dtype)
        rows = self._parcel._column(one.cold["~row"])
        if len(rows) and (int(rows.max()) >= count or not all_distinct(rows)):
            self.refuse("~row", "a row that there is not, or twice")
        column[rows] = self._parcel._column(one.cold[part])
        return column
