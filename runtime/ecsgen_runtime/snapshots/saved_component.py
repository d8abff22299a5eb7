"""A component of a snapshot: its rows, and the cells of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, RowArray
from ..tables.buffers import split_columns
from .cell_types import CellType, cell_type, default_cell
from .documents import OTHERS, Codecs, Document, SnapshotContent, state_key
from .stored_columns import loaded_objects

AS_BYTES: Final[Codecs] = {OTHERS: (bytes, bytes)}
"""Objects stay as encoded as they are."""

_NOTHING: Final = {"n": 0, "version": 0}
_NO_LINKS: Final = np.empty(0, np.uint32)


class StoredColumn(NamedTuple):
    """A tensor that has the cells of a field, or of an element of a split one."""

    tensor: str
    type: CellType
    field: str


class SavedComponent:
    """Rows as they were saved; a component that is new has none."""

    def __init__(
        self, saved: SnapshotContent, name: str, doc: Document, is_new: bool = False
    ) -> None:
        self.saved = saved
        self.name = name
        self.doc = {**doc, "fields": {}} if is_new else doc
        self.fields: Document = self.doc["fields"]
        """Saved fields, by name."""
        self.is_new = is_new
        # what goes by its names may be another's, which the caller took away
        self._state: Document = {} if is_new else saved.state
        self._arrays: Mapping[str, NDArray[Any]] = {} if is_new else saved.arrays
        self.module: str = doc["module"]
        self.is_chunked = doc["in"] == "archetypes"
        self.has_owners = doc["owner"] == "entity"
        self.has_cold_rows = not self.is_chunked and doc["cold"] == "indirect"
        """True if cold fields lie in rows of their own."""

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The numbers of its manager in `state`."""
        if self.is_chunked:
            return {**_NOTHING, "n": len(self._chunk_rows)}
        return {**_NOTHING, **self._state.get(state_key(self.module), {})}

    @property
    def n(self) -> int:
        """Number of rows of its columns, holes among them."""
        return int(self.numbers["n"])

    @cached_property
    def owners(self) -> EntityArray:
        """The entity of each row, shape (n,); empty if rows have no owners."""
        if not self.has_owners or self.is_new:
            return np.empty(0, np.uint64)
        if self.is_chunked:
            owners: EntityArray = self._arrays["archetypes.entity"]
            return owners[self._chunk_rows]
        return self.column("entity")

    @cached_property
    def used(self) -> RowArray | None:
        """The rows in use, if there are holes."""
        if self.is_chunked or self.doc["lookup"] != "direct" or self.owners.all():
            return None
        return np.flatnonzero(self.owners)

    @cached_property
    def count(self) -> int:
        """Number of instances."""
        return self.n if self.used is None else len(self.used)

    @cached_property
    def _chunk_rows(self) -> RowArray:
        state = self._state.get("archetypes", {"tables": []})
        row_ranges = [np.empty(0, np.intp)]
        start = 0
        for names, rows in state["tables"]:
            if self.name in names:
                row_ranges.append(np.arange(start, start + rows))
            start += rows
        return np.concatenate(row_ranges)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of entities, links or numbers; empty where there is none."""
        column: NDArray[Any] = self._arrays.get(f"{self.module}.{name}", _NO_LINKS)
        return column

    def refuse(self, why: str, column: str, cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that names a cell."""
        self.saved.refuse(why, f"{self.module}.{column}", cell)

    def refuse_first(self, wrong: NDArray[np.bool_], why: str, column: str) -> None:
        """Do so for the first cell that is wrong, if any is."""
        self.saved.refuse_first(wrong, why, f"{self.module}.{column}")

    def refuse_others(self, known: NDArray[Any], why: str, column: str) -> None:
        """Do so for the first cell that leads somewhere and is none of the known ones, which all
        do, each given once."""
        leads = self.column(column) != NIL
        if int(np.count_nonzero(leads)) != len(known):
            leads[known] = False
            self.refuse_first(leads, why, column)

    def refuse_rows(self, why: str, column: str = "", row: int | None = None) -> NoReturn:
        """Raise SnapshotError that ends with how `migrate` makes other rows of a component."""
        how = f"del old[{self.name!r}], then old.add({self.name!r}, entities, …)"
        self.saved.refuse(f"{why}: {how}", self.module + column, row)

    def type_of(self, field: str) -> CellType:
        """Return the type of a field."""
        return cell_type(self.fields[field]["type"], self.saved.schema["enums"])

    def default_of(self, field: str) -> NDArray[Any]:
        """Return the default of a field, one cell."""
        return default_cell(self.type_of(field), self.fields[field]["default"])

    def is_cold_apart(self, field: str) -> bool:
        """Return True if only rows with cold rows have a cell of the field."""
        return self.has_cold_rows and bool(self.fields[field]["cold"])

    def tensor(self, field: str) -> str:
        """Return the name of the tensor that has a field, for messages."""
        apart = "cold." if self.is_cold_apart(field) else ""
        return f"{self.module}.{apart}{field}"

    def key(self, field: str) -> str:
        """Return under which name its cells are: another one if a caller has set them."""
        return str(self.fields[field].get("key", self.tensor(field)))

    def columns_of(self, field: str) -> list[StoredColumn]:
        """Return the columns that have a field: of a split one, one for each element."""
        type_, tensor = self.type_of(field), self.key(field)
        if not self.fields[field]["split"]:
            return [StoredColumn(tensor, type_, field)]
        element = type_.of_shape(())
        return [StoredColumn(part, element, field) for part in split_columns(tensor, type_.shape)]

    def columns(self) -> Iterator[StoredColumn]:
        """Yield the columns of all fields."""
        for field in self.fields:
            yield from self.columns_of(field)

    def stored(self, field: str) -> NDArray[Any]:
        """Return the cells that were saved: one for each row, or for each cold row."""
        kind = self.type_of(field)
        if kind.base == "object":
            tensor = self.key(field)
            count = self.numbers["n_cold"] if self.is_cold_apart(field) else self.n
            return loaded_objects(self.saved, tensor, tensor, AS_BYTES, count)
        parts = [self._arrays[column.tensor] for column in self.columns_of(field)]
        if not self.fields[field]["split"]:
            return parts[0]
        return np.stack(parts, axis=-1).reshape(-1, *kind.shape)

    def cells(self, field: str) -> NDArray[Any]:
        """Return a cell for each row, defaults of cold fields included."""
        if not self.is_cold_apart(field):
            return self.stored(field)
        default = self.default_of(field)
        cells = np.full((self.n, *default.shape), default, default.dtype)
        cells[self.column("cold.row")] = self.stored(field)
        return cells
