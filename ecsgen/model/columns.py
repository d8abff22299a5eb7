"""Columns of a component, and the bytes of rows in buffers and chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import prod
from typing import Final

from ecsgen.model import BaseType, Component, Default, Field, FieldType
from ecsgen.model.typed_tree import CELL_ID, ENTITY, ID_SLOT
from ecsgen.model.types import SCALARS

HOT = "hot"
COLD = "cold"

MANAGER_FIELDS: Final = {
    name: Field(name, FieldType(scalar, BaseType.INT, scalar), 0)
    for name, scalar in ((ENTITY, "u64"), (ID_SLOT, "u32"), (CELL_ID, "u64"))
}
"""Columns that managers keep, as kernels that draw random numbers read them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a manager.

    `scalar` is "bool", "i8" … "f64", "S<n>" for text and bytes, "M8[<unit>]" and "m8[<unit>]" for
    times, or "object"; `shape` is one cell's.
    """

    name: str
    scalar: str
    shape: tuple[int, ...] = ()
    tags: tuple[str, ...] = (HOT,)
    doc: str = ""
    unit: str = ""
    field: Field | None = None  # None for owner, link and id columns
    holds_rows: bool = False  # of the same manager: link columns
    by_row: bool = True  # False for tables in the buffer that rows do not index, such as slots

    @property
    def count(self) -> int:
        """Scalars per row."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes per row of the buffer."""
        if self.scalar.startswith("S"):
            return int(self.scalar[1:])
        if self.is_time:
            return 8
        return 0 if self.is_object else SCALARS[self.scalar].nbytes * self.count

    @property
    def is_object(self) -> bool:
        """True if the column holds Python objects and lies beside the buffer."""
        return self.scalar == "object"

    @property
    def is_time(self) -> bool:
        return self.scalar.startswith(("M", "m"))

    @property
    def is_cold(self) -> bool:
        return COLD in self.tags


def field_columns(field: Field) -> tuple[Column, ...]:
    """Return the columns that store a field: one, or one per element of a split field."""
    if field.split:
        return tuple(_column(part) for part in split_parts(field))
    return (_column(field),)


def split_parts(field: Field) -> list[Field]:
    """Return a split field's elements as scalar fields, in C order."""
    names = element_names(field.type.shape)
    kind = replace(field.type, text=field.type.text.partition("[")[0], shape=())
    doc = field.doc.rstrip(". ") or f"The {field.name}"
    return [
        replace(
            field,
            name=f"{field.name}_{name}",
            type=kind,
            default=default,
            doc=f"{doc}: element {name}.",
            split=False,
        )
        for name, default in zip(names, flat(field.default), strict=True)
    ]


def split_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the columns of a split field: `position_x` …, or `position_0` …."""
    return [f"{name}_{element}" for element in element_names(shape)]


def element_names(shape: tuple[int, ...]) -> Sequence[str]:
    """Return the names of the elements of a shape: up to four by axis, else by number."""
    count = prod(shape)
    return "xyzw"[:count] if count <= 4 else [str(number) for number in range(count)]


def flat(value: Default) -> list[Default]:
    """Return the scalars of a nested default, in C order."""
    if isinstance(value, tuple):
        return [scalar for item in value for scalar in flat(item)]
    return [value]


def ticks(default: Default) -> int:
    """Return a default of datetimes or timedeltas as the number of units; of NaT the least."""
    if isinstance(default, int):
        return default
    if default == "NaT":
        return -(2**63)
    moment, _, fraction = str(default).partition(".")
    seconds = (datetime.fromisoformat(moment) - datetime(1970, 1, 1)) // timedelta(seconds=1)
    scale = int("1".ljust(len(fraction) + 1, "0"))
    return seconds * scale + int(fraction or 0)


def _column(field: Field) -> Column:
    scalar, base = field.type.scalar, field.type.base
    if base in (BaseType.STR, BaseType.BYTES):
        scalar = f"S{field.type.size}"
    return Column(
        name=field.name,
        scalar="object" if base is BaseType.OBJECT else scalar,
        shape=field.type.shape,
        tags=field.tags if COLD in field.tags else (HOT, *(t for t in field.tags if t != HOT)),
        doc=field.doc,
        unit=field.unit,
        field=field,
    )


CACHE_LINE = 64
OWNER_BYTES = 8


def chunk_rows(components: Iterable[Component], chunk: int) -> int:
    """Return how many rows with all these components fit into a chunk; 0 if none does."""
    sizes = _chunk_sizes(components)
    rows = chunk // sum(sizes)
    while _chunk_bytes(sizes, rows) > chunk:
        rows -= 1
    return rows


def chunk_row_bytes(components: Iterable[Component]) -> int:
    """Return the bytes that one row with all these components takes in a chunk of its own."""
    return _chunk_bytes(_chunk_sizes(components), 1)


def _chunk_sizes(components: Iterable[Component]) -> list[int]:
    columns = (c for component in components for f in component.fields for c in field_columns(f))
    return [OWNER_BYTES, *(column.nbytes for column in columns)]


def _chunk_bytes(sizes: list[int], rows: int) -> int:
    return sum(round_to_cache_lines(rows * size) for size in sizes)


def round_to_cache_lines(count: int) -> int:
    """Return the bytes of the cache lines that so many bytes take; also of rows, by 64s."""
    return -(-count // CACHE_LINE) * CACHE_LINE
