"""The columns that an Arrow table of a component has, worked out once for each class."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns.field_info import FieldInfo
from ..reprs import element_names, shown_columns
from ..typed import NamedTuple
from .kinds import BadCellError, Kind, PlainKind, kind_of
from .library import pyarrow


class TablePart(NamedTuple):
    """One column of a table."""

    name: str
    source: str
    """The attribute that has the cells."""
    type: str
    """As the schema spells it."""
    kind: Kind
    shape: tuple[int, ...] = ()
    """Of a cell in the table."""
    element: int = -1
    """The one element of a shaped cell that the column has; -1 for whole cells."""
    field: FieldInfo | None = None

    @property
    def field_name(self) -> str:
        """The field that the column is of; nothing for the owner's."""
        return "" if self.field is None else self.field.name

    def arrow_field(self) -> Any:
        """Return name, type and metadata."""
        pa = pyarrow()
        unit, doc = (
            ("", "") if self.field is None else (self.field.unit, self.field.doc)
        )
        notes = {"ecsgen.type": self.type, "unit": unit, "doc": doc}
        return pa.field(self.name, self._type(), metadata=notes)

    def _type(self) -> Any:
        pa = pyarrow()
        type = self.kind.type
        for size in reversed(self.shape):
            type = pa.list_(type, size)
        return type

    def array(self, cells: NDArray[Any], copy: bool) -> Any:
        """Return cells, shape (n, *shape), as an Arrow array: a view of them if that can be."""
        if self.element >= 0:
            cells = cells.reshape(len(cells), prod(cells.shape[1:]))[:, self.element]
        if copy:
            cells = cells.copy()
        pa = pyarrow()
        found = self.kind.array(np.ascontiguousarray(cells).reshape(-1))
        for size in reversed(self.shape):
            found = pa.FixedSizeListArray.from_arrays(found, size)
        return found

    def refused(self, error: BadCellError, rows: slice | NDArray[Any]) -> ValueError:
        """Return the error of a bad cell, which names the row."""
        place = error.place // prod(self.shape)
        row = rows.start + place if isinstance(rows, slice) else int(rows[place])
        return ValueError(f"{self.name}: row {row}: {error}")


@cache
def table_parts(kind: Any, flat: bool) -> tuple[TablePart, ...]:
    """Return the columns of a class that has some: whose a row is, and the fields."""
    pa = pyarrow()
    owner = [owner_part()] if hasattr(kind, "entity") else []
    rows = [TablePart("row", "row", "u32", PlainKind(pa.uint32()))]
    heads = [*owner, *(rows if hasattr(kind, "row") else [])]  # of cold rows
    return (*heads, *field_parts(kind, flat))


def owner_part() -> TablePart:
    """Return the column of the owners."""
    return TablePart("entity", "entity", "entity", PlainKind(pyarrow().uint64()))


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
    """Return what a field, or an element of a split one, becomes."""
    kind = kind_of(field)
    is_whole = source == field.name
    if not (is_whole and flat and field.shape):
        shape = field.shape if is_whole else ()
        return [TablePart(source, source, type, kind, shape, field=field)]
    scalar = type.partition("[")[0]
    names = element_names(source, field.shape)
    return [
        TablePart(name, source, scalar, kind, (), place, field)
        for place, name in enumerate(names)
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
    if hasattr(kind, "_ROW"):
        return str(kind._ROW.__name__)
    name: str = kind.__name__.removesuffix("Data")
    return name.removesuffix("Grouped").removesuffix("Active")
