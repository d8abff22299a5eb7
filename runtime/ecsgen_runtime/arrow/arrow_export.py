"""Components and queries as Arrow tables and structs: types, columns, batches and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, EntityArray
from ..managers.policies.cold import cold_row_column
from ..tables.arrow_mixins import ArrowExportableColumns
from ..tables.html_reprs import element_names, shown_columns
from ..tables.placement import rows_to_array
from ..values.field_tables import FieldInfo
from ..values.interchange import require_pyarrow
from ..world.archetypes.chunks import chunk_layout
from ..world.queries.join_rows import JoinRows
from ..world.queries.query import QueryJoin

if TYPE_CHECKING:
    from ..world.archetypes.chunks import ChunkBase


_MOST_TEXT: Final = 2**31 - 1
"""Bytes that the offsets of Arrow's strings reach."""


class BadCellError(ValueError):
    """A cell that a raw write left, and that Arrow has nothing for."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.place = position


class ArrowKind:
    """How cells of one element are written down in Arrow: numbers, flags, handles and bytes in
    memory that it reads as it is."""

    def __init__(self, type: Any) -> None:
        self.type = type

    def array(self, cells: NDArray[Any]) -> Any:
        """Return contiguous cells, shape (n,), as an array, or raise BadCellError."""
        pa = require_pyarrow()
        buffers = [None if part is None else pa.py_buffer(part) for part in self.parts(cells)]
        return pa.Array.from_buffers(self.type, len(cells), buffers)

    def parts(self, cells: NDArray[Any]) -> tuple[NDArray[Any] | None, ...]:
        """Return the buffers: bits of the cells that are not null, if some are, then the cells."""
        return None, cells


class _Bits(ArrowKind):
    """Bools, of which Arrow has eight in a byte."""

    def parts(self, cells: NDArray[Any]) -> tuple[NDArray[Any] | None, ...]:
        return None, np.packbits(cells, bitorder="little")


class _Times(ArrowKind):
    """Times, which are null where they are NaT."""

    def parts(self, cells: NDArray[Any]) -> tuple[NDArray[Any] | None, ...]:
        is_nat = np.isnat(cells)
        bits = np.packbits(~is_nat, bitorder="little") if is_nat.any() else None
        return bits, cells.view(np.int64)


class _Members(ArrowKind):
    """Members of an enum: places in a list of their names, in order of their numbers."""

    def __init__(self, enum: type[IntEnum | IntFlag], dtype: np.dtype[Any]) -> None:
        pa = require_pyarrow()
        members = sorted(enum, key=int)
        self._indices = ArrowKind(pa.from_numpy_dtype(dtype))
        self._numbers: NDArray[Any] = np.array([int(m) for m in members], dtype)
        self._is_dense = int(self._numbers[-1]) == len(members) - 1
        names = np.array([str(member.name).encode() for member in members])
        self._names = _Text(pa.string()).array(names)  # `pa.array` imports pandas
        self._enum = enum.__name__
        super().__init__(pa.dictionary(self._indices.type, pa.string()))

    def array(self, cells: NDArray[Any]) -> Any:
        pa = require_pyarrow()
        places = cells if self._is_dense else self._places(cells)
        if len(cells) and int(places.max()) >= len(self._names):
            raise self._no_member_error(cells)
        indices = self._indices.array(places)
        return pa.DictionaryArray.from_arrays(indices, self._names, safe=False)

    def _places(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the place of each number among those of the members."""
        places = self._numbers.searchsorted(cells)
        if (self._numbers.take(places, mode="clip") != cells).any():
            raise self._no_member_error(cells)
        return places.astype(cells.dtype)

    def _no_member_error(self, cells: NDArray[Any]) -> BadCellError:
        position = int(np.isin(cells, self._numbers, invert=True).argmax())
        return BadCellError(f"{cells[position]} is no member of {self._enum}", position)


class _Text(ArrowKind):
    """Text, of which Arrow has all bytes in a row, and where each begins."""

    def array(self, cells: NDArray[Any]) -> Any:
        array = super().array(cells)
        try:  # users may write any bytes to a column
            if cells.view(np.uint8).max(initial=0) >= 128:
                array.validate(full=True)
        except ValueError:  # pyarrow's ArrowInvalid is one
            for position, text in enumerate(cells.tolist()):
                try:
                    text.decode()
                except UnicodeDecodeError:
                    raise BadCellError(f"{text!r} is not UTF-8", position) from None
            raise
        return array

    def parts(self, cells: NDArray[Any]) -> tuple[NDArray[Any] | None, ...]:
        lengths = np.char.str_len(cells).astype(np.int64)
        total = int(lengths.sum())
        if total > _MOST_TEXT:
            raise OverflowError(f"{total} bytes of text do not fit into one Arrow string")
        offsets = np.zeros(len(cells) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        characters = cells.view(np.uint8).reshape(len(cells), cells.itemsize)
        return None, offsets, characters[np.arange(cells.itemsize) < lengths[:, None]]


def kind_of(field: FieldInfo) -> ArrowKind:
    """Return the kind of a field's elements."""
    pa = require_pyarrow()
    dtype = field.dtype
    if dtype is None:
        raise TypeError(f"{field.name}: objects have no type in Arrow")
    if dtype.kind == "S" and field.type.startswith("str"):
        return _Text(pa.string())
    if dtype.kind == "S":
        return ArrowKind(pa.binary(dtype.itemsize))
    return element_kind(dtype, field.enum)


def element_kind(dtype: np.dtype[Any], enum: type[IntEnum | IntFlag] | None = None) -> ArrowKind:
    """Return the kind of numbers, of flags, or of members of an enum."""
    pa = require_pyarrow()
    if enum is not None and not issubclass(enum, IntFlag):
        return _Members(enum, dtype)
    if dtype.kind == "b":
        return _Bits(pa.bool_())
    if dtype.kind in "mM":
        return _Times(pa.from_numpy_dtype(dtype))
    return ArrowKind(pa.from_numpy_dtype(dtype))


class TablePart(NamedTuple):
    """One column of a table."""

    name: str
    source: str
    """The attribute that has the cells."""
    type: str
    """The type as the schema has it."""
    kind: ArrowKind
    shape: tuple[int, ...] = ()
    """The shape of a cell in the table."""
    element: int = -1
    """The one element of a shaped cell that the column has; -1 for whole cells."""
    field: FieldInfo | None = None

    @property
    def field_name(self) -> str:
        """The field that the column is of; nothing for the owner's."""
        return "" if self.field is None else self.field.name

    def arrow_field(self) -> Any:
        """Return name, type and metadata."""
        pa = require_pyarrow()
        unit, doc = (self.field.unit, self.field.doc) if self.field else ("", "")
        notes = {"ecsgen.type": self.type, "unit": unit, "doc": doc}
        type = self.kind.type
        for size in reversed(self.shape):
            type = pa.list_(type, size)
        return pa.field(self.name, type, metadata=notes)

    def array(self, cells: NDArray[Any], copy: bool) -> Any:
        """Return cells, shape (n, *shape), as an Arrow array: a view of them if that can be."""
        if self.element >= 0:
            cells = cells.reshape(len(cells), prod(cells.shape[1:]))[:, self.element]
        if copy:
            cells = cells.copy()
        pa = require_pyarrow()
        arrow_array = self.kind.array(np.ascontiguousarray(cells).reshape(-1))
        for size in reversed(self.shape):
            arrow_array = pa.FixedSizeListArray.from_arrays(arrow_array, size)
        return arrow_array

    def refused(self, error: BadCellError, rows: slice | NDArray[Any]) -> ValueError:
        """Return the error of a bad cell, which names the row."""
        position = error.place // prod(self.shape)
        row = rows.start + position if isinstance(rows, slice) else int(rows[position])
        return ValueError(f"{self.name}: row {row}: {error}")


@cache
def table_parts(kind: Any, flat: bool) -> tuple[TablePart, ...]:
    """Return the columns of a class of rows: the owner, and the fields."""
    pa = require_pyarrow()
    owner = [owner_part()] if hasattr(kind, "entity") else []
    rows = [TablePart("row", "row", "u32", ArrowKind(pa.uint32()))]
    heads = [*owner, *(rows if hasattr(kind, "row") else [])]  # of cold rows
    return (*heads, *field_parts(kind, flat))


def owner_part() -> TablePart:
    """Return the column of the owners."""
    return TablePart("entity", "entity", "entity", ArrowKind(require_pyarrow().uint64()))


@cache
def field_parts(kind: Any, flat: bool) -> tuple[TablePart, ...]:
    """Return the fields of a class of columns: all but objects, and those that lie elsewhere."""
    return tuple(
        part
        for source, type, field in shown_columns(kind)
        if field is not None and field.dtype is not None
        for part in _parts_of(source, type, field, flat)
    )


def _parts_of(source: str, type: str, field: FieldInfo, flat: bool) -> list[TablePart]:
    kind = kind_of(field)
    is_whole = source == field.name
    if not (is_whole and flat and field.shape):
        shape = field.shape if is_whole else ()
        return [TablePart(source, source, type, kind, shape, field=field)]
    scalar = type.partition("[")[0]
    names = element_names(source, field.shape)
    return [
        TablePart(name, source, scalar, kind, (), index, field) for index, name in enumerate(names)
    ]


def component_notes(kind: Any, parts: Iterable[TablePart]) -> dict[str, str]:
    """Return the metadata of a component: its name, and its fields that are not among the parts.

    Those are objects, and cold fields that lie elsewhere.
    """
    shown = {part.field_name for part in parts}
    left = [field.name for field in kind.FIELDS if field.name not in shown]
    return {"ecsgen.component": _component(kind), "ecsgen.left_out": ",".join(left)}


def _component(kind: Any) -> str:
    if hasattr(kind, "MANAGER"):
        return str(kind.MANAGER.removesuffix("Manager"))
    if hasattr(kind, "ROW"):
        return str(kind.ROW.__name__)
    name: str = kind.__name__.removesuffix("Data")
    return name.removesuffix("GroupMember").removesuffix("Active")


@cache
def table_schema(kind: Any, flat: bool) -> Any:
    """Return the schema of a class of columns."""
    parts = table_parts(kind, flat)
    fields = [part.arrow_field() for part in parts]
    return require_pyarrow().schema(fields, metadata=component_notes(kind, parts))


def record_batches(columns: ArrowExportableColumns, copy: bool, flat: bool) -> Iterator[Any]:
    """Yield the rows of columns, at once; O(columns), and O(n) for each that is copied."""
    kind: Any = type(columns)
    rows = columns.shown_rows()
    cells: dict[str, NDArray[Any]] = {}
    for part in table_parts(kind, flat):
        if part.source not in cells:
            column = getattr(columns, part.source)
            cells[part.source] = column if isinstance(rows, slice) else column[rows]
    arrays = arrays_of(table_parts(kind, flat), cells, rows, copy)
    schema = table_schema(kind, flat)
    yield require_pyarrow().RecordBatch.from_arrays(arrays, schema=schema)


def arrays_of(
    parts: tuple[TablePart, ...],
    cells: Mapping[str, NDArray[Any]],
    rows: slice | NDArray[Any],
    copy: bool,
) -> list[Any]:
    """Return an array for each part, of the cells of its source in these rows."""
    arrays = []
    for part in parts:
        try:
            arrays.append(part.array(cells[part.source], copy))
        except BadCellError as error:
            raise part.refused(error, rows) from None
    return arrays


class ComponentStruct:
    """A component in a query: a struct of its fields."""

    def __init__(self, name: str, kind: Any, parts: Sequence[TablePart]) -> None:
        pa = require_pyarrow()
        self.parts = tuple(parts)
        fields = [part.arrow_field() for part in parts]
        notes = component_notes(kind, self.parts)
        self.field = pa.field(name, pa.struct(fields), metadata=notes)

    def array(
        self,
        cells: Mapping[str, NDArray[Any]],
        count: int,
        copy: bool,
        absent: NDArray[Any] | None = None,
    ) -> Any:
        """Return `count` structs of these cells; null where the component is absent."""
        pa = require_pyarrow()
        if not self.parts:
            bits = None if absent is None else pa.array(~absent).buffers()[1]
            return pa.Array.from_buffers(self.field.type, count, [bits])
        arrays = arrays_of(self.parts, cells, slice(0, count), copy)
        mask = None if absent is None else pa.array(absent)
        fields = list(self.field.type)
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def struct_table(
    structs: Iterable[ComponentStruct], batches: Iterator[tuple[EntityArray, list[Any]]], copy: bool
) -> tuple[Any, Iterator[Any]]:
    """Return the schema of these components, beside entities, and an iterator of record batches,
    one for each of `batches`: entities, and an array of each component."""
    pa, owner = require_pyarrow(), owner_part()
    schema = pa.schema([owner.arrow_field(), *(struct.field for struct in structs)])
    return schema, (
        pa.RecordBatch.from_arrays([owner.array(owners, copy), *arrays], schema=schema)
        for owners, arrays in batches
    )


def join_table(
    join: QueryJoin, names: Sequence[str], copy: bool, flat: bool
) -> tuple[Any, Iterator[Any]]:
    """Return the types of the components that a row can have, the required ones first, and what
    yields all rows; O(components), and O(n) for each column that is gathered."""
    columns = zip(names, join.columns(), strict=True)
    structs = [_struct(name, data, flat) for name, data in columns]
    return struct_table(structs, _joined_batches(join, structs, copy), copy)


def _struct(name: str, data: Any, flat: bool) -> ComponentStruct:
    kinds: list[Any] = [type(data)]
    if hasattr(data, "_cold"):
        kinds.append(type(data.cold))
    parts = [part for kind in kinds for part in field_parts(kind, flat)]
    order_of_fields = {field.name: order for order, field in enumerate(data.FIELDS)}
    return ComponentStruct(
        name, kinds[0], sorted(parts, key=lambda part: order_of_fields[part.field_name])
    )


def _joined_batches(
    join: QueryJoin, structs: Sequence[ComponentStruct], copy: bool
) -> Iterator[tuple[EntityArray, list[Any]]]:
    match, owners = join.match(), join.arrays()[0]
    members = zip(structs, join.columns(), match.members, strict=True)
    arrays = [
        _joined_array(struct, data, rows, match.count, copy) for struct, data, rows in members
    ]
    yield owners, arrays


def _joined_array(
    struct: ComponentStruct, data: Any, joined: JoinRows, count: int, copy: bool
) -> Any:
    absent = rows_to_array(joined.rows) == NIL if joined.has_nil else None
    cells = {
        source: _cells(data, source, joined, absent)
        for source in dict.fromkeys(part.source for part in struct.parts)
    }
    return struct.array(cells, count, copy, absent)


def _cells(
    data: Any, source: str, joined: JoinRows, absent: NDArray[np.bool_] | None
) -> NDArray[Any]:
    """Return a field's cells in the rows of a query; zeros where there is no row."""
    if not hasattr(data, source):
        return _cold_cells(data, source, joined, absent)
    column: NDArray[Any] = getattr(data, source)
    if isinstance(joined.rows, slice):
        return column[joined.rows]
    if absent is None:
        return joined.gather(column)
    cells = np.zeros((len(absent), *column.shape[1:]), column.dtype)
    cells[~absent] = column.take(joined.rows[~absent], axis=0)
    return cells


def _cold_cells(
    data: Any, source: str, joined: JoinRows, absent: NDArray[np.bool_] | None
) -> NDArray[Any]:
    """Return a cold field's cells: the default where a row has no cold row."""
    column, default = getattr(data.cold, source), data.cold.DEFAULTS[source]
    cold_rows = np.full(len(rows_to_array(joined.rows)), NIL, np.uint32)
    present = slice(None) if absent is None else ~absent
    cold_rows[present] = cold_row_column(data)[rows_to_array(joined.rows)[present]]
    cells = np.full((len(cold_rows), *column.shape[1:]), default, column.dtype)
    has_cold_row = cold_rows != NIL
    cells[has_cold_row] = column[cold_rows[has_cold_row]]
    return cells


def chunk_table(
    parts: Mapping[int, Any], chunks: Iterator[ChunkBase], copy: bool, flat: bool
) -> tuple[Any, Iterator[Any]]:
    """Return the types of the components, which are named as their modules are, and what yields a
    batch for each chunk; O(components), and O(rows) for each column that is copied."""
    structs = {
        number: ComponentStruct(part.__module__.rpartition(".")[2], part, field_parts(part, flat))
        for number, part in parts.items()
    }
    batches = (
        (chunk.entity, [_chunk_array(struct, chunk, n, copy) for n, struct in structs.items()])
        for chunk in chunks
    )
    return struct_table(structs.values(), batches, copy)


def _chunk_array(struct: ComponentStruct, chunk: ChunkBase, number: int, copy: bool) -> Any:
    if number not in chunk_layout(chunk).components:
        return require_pyarrow().nulls(chunk.n, struct.field.type)
    columns = chunk._parts[number]
    cells = {part.source: getattr(columns, part.source) for part in struct.parts}
    return struct.array(cells, chunk.n, copy)
