"""A component of an old snapshot: what its tensors hold, whatever its policies are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...handles import EntityArray, RowArray
from ..cell_types import CellType, cell_type, default_cell, split_columns
from ..codecs import OTHERS, Codecs
from ..contents import loaded_objects
from ..documents import Document, Saved, state_key

AS_BYTES: Final[Codecs] = {OTHERS: (bytes, bytes)}
"""Objects stay as encoded as they are."""

_NOTHING: Final = {"n": 0, "version": 0}
_NO_LINKS: Final = np.empty(0, np.uint32)


class OldComponent:
    """Rows as they were saved; a component that is new has none."""

    def __init__(self, saved: Saved, name: str, doc: Document, is_new: bool) -> None:
        self.saved = saved
        self.name = name
        self.doc = {**doc, "fields": {}} if is_new else doc
        self.is_new = is_new
        # what goes by its names may be another's, which the caller took away
        self._state: Document = {} if is_new else saved.state
        self._arrays: Mapping[str, NDArray[Any]] = {} if is_new else saved.arrays
        self.module: str = doc["module"]
        self.is_chunked = doc["in"] == "archetypes"
        self.has_owners = doc["owner"] == "entity"

    @property
    def fields(self) -> Document:
        """The fields that were saved, by name."""
        fields: Document = self.doc["fields"]
        return fields

    @property
    def has_cold_rows(self) -> bool:
        """Whether cold fields lie in rows of their own."""
        return not self.is_chunked and bool(self.doc["cold"] == "indirect")

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """What is said of its manager."""
        if self.is_chunked:
            return {**_NOTHING, "n": len(self._chunk_rows)}
        return {**_NOTHING, **self._state.get(state_key(self.module), {})}

    @property
    def n(self) -> int:
        """How many rows its columns have, holes among them."""
        n: int = self.numbers["n"]
        return n

    @cached_property
    def owners(self) -> EntityArray:
        """The entity of each row, shape (n,); empty if rows belong to nobody."""
        if not self.has_owners or self.is_new:
            return np.empty(0, np.uint64)
        if self.is_chunked:
            owners: EntityArray = self._arrays["archetypes.entity"]
            return owners[self._chunk_rows]
        found: EntityArray = self._arrays[f"{self.module}.entity"]
        return found

    @cached_property
    def used(self) -> RowArray | None:
        """The rows in use, if there are holes."""
        if self.is_chunked or self.doc["lookup"] != "direct" or self.owners.all():
            return None
        return np.flatnonzero(self.owners)

    @cached_property
    def count(self) -> int:
        """How many instances there are."""
        return self.n if self.used is None else len(self.used)

    @cached_property
    def _chunk_rows(self) -> RowArray:
        """Return which of the rows of all tables have the component."""
        state = self._state.get("archetypes", {"tables": []})
        found = [np.empty(0, np.intp)]
        start = 0
        for names, rows in state["tables"]:
            if self.name in names:
                found.append(np.arange(start, start + rows))
            start += rows
        return np.concatenate(found)

    def refuse_rows(
        self, why: str, column: str = "", row: int | None = None
    ) -> NoReturn:
        """Raise SnapshotError that ends with how `migrate` makes other rows of a component."""
        how = f"del old[{self.name!r}], then old.add({self.name!r}, entities, …)"
        self.saved.refuse(f"{why}: {how}", self.module + column, row)

    # --- columns ------------------------------------------------------------------------

    def has(self, column: str) -> bool:
        """Return whether there is such a tensor."""
        return f"{self.module}.{column}" in self._arrays

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of links or numbers; empty where there is none."""
        found: NDArray[Any] = self._arrays.get(f"{self.module}.{name}", _NO_LINKS)
        return found

    def type_of(self, field: str) -> CellType:
        """Return the type of a field."""
        return cell_type(self.fields[field]["type"], self.saved.schema["enums"])

    def default_of(self, field: str) -> NDArray[Any]:
        """Return the default of a field, one cell."""
        return default_cell(self.type_of(field), self.fields[field]["default"])

    def is_cold_apart(self, field: str) -> bool:
        """Return whether only some rows have a cell of the field."""
        return self.has_cold_rows and bool(self.fields[field]["cold"])

    def tensor(self, field: str) -> str:
        """Return the name of the tensor that has a field, for messages."""
        apart = "cold." if self.is_cold_apart(field) else ""
        return f"{self.module}.{apart}{field}"

    def key(self, field: str) -> str:
        """Return under which name its cells are: another one if a caller has set them."""
        key: str = self.fields[field].get("key", self.tensor(field))
        return key

    def stored(self, field: str) -> NDArray[Any]:
        """Return the cells that were saved: one for each row, or for each cold row."""
        kind = self.type_of(field)
        tensor = self.key(field)
        count = self.numbers["n_cold"] if self.is_cold_apart(field) else self.n
        if kind.base == "object":
            return loaded_objects(self.saved, tensor, tensor, AS_BYTES, count)
        if not self.fields[field]["split"]:
            return self._arrays[tensor]
        parts = [self._arrays[part] for part in split_columns(tensor, kind)]
        return np.stack(parts, axis=-1).reshape(-1, *kind.shape)

    def cells(self, field: str) -> NDArray[Any]:
        """Return a cell for each row, defaults of cold fields included."""
        if not self.is_cold_apart(field):
            return self.stored(field)
        default = self.default_of(field)
        whole = np.empty((self.n, *default.shape), default.dtype)
        whole[:] = default
        whole[self.column("cold.row")] = self.stored(field)
        return whole
