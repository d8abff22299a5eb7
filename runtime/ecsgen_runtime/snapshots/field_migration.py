"""Fields in new rows, hot and cold: converted, with handles and ids rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, IdArray, RowArray
from ..managers.policies.ids import SLOT_BITS, SLOT_MASK
from ..tables.buffers import split_columns
from .cell_types import (
    HANDLES,
    CellType,
    Columns,
    cell_type,
    default_cell,
    differing,
)
from .documents import Document
from .entity_table import HandleRewriter
from .row_migration import RowPlan
from .saved_component import AS_BYTES, SavedComponent
from .schema_matching import SchemaMatch
from .stored_columns import LENGTHS, object_parts
from .type_conversion import BadRowError, TypeChange, change_of, converted, is_same_in_files

Generations = NDArray[np.uint32]


@dataclass(frozen=True)
class IdRemap:
    """New ids of a component for old ones, where ids are assigned anew."""

    generations: NDArray[np.uint32]
    """The generation of each old slot, or of each old row."""
    ids: IdArray
    """The new id of what is there; 0 where nothing is."""

    def of(self, old: IdArray) -> IdArray:
        """Return the new ids of old ones, 0 for stale ones."""
        count = len(self.ids)
        if count == 0:
            return np.zeros(old.shape, np.uint64)
        slots = (old & np.uint64(SLOT_MASK)).view(np.intp)
        is_current = self.generations.take(slots, mode="clip") == old >> np.uint64(SLOT_BITS)
        new_ids = self.ids.take(slots, mode="clip")
        return np.where(is_current & (slots < count), new_ids, np.uint64(0))


def had_ids(old: SavedComponent) -> bool:
    """Return True if rows had ids, with slots or without."""
    return bool(old.doc["ids"]) and not old.is_chunked


class FieldMigration:
    """A field of a component in the new schema: what it was, and its cells in new rows."""

    def __init__(
        self,
        names: SchemaMatch,
        handles: HandleRewriter,
        ids: Mapping[str, IdRemap],
        component: str,
        name: str,
        plan: RowPlan,
    ) -> None:
        self._handles = handles
        self._ids = ids
        """IdRemaps of components whose ids have changed, by their new names."""
        self.name = name
        self.plan = plan
        doc = names.schema["components"][component]
        self.doc: Document = doc["fields"][name]
        self.module: str = doc["module"]
        self.old = names.old(component)
        self.former = names.former(component, name)
        """The old name, None if the field is new."""
        self.type = names.type_of(component, name)
        self.default = default_cell(self.type, self.doc["default"])
        self._change: TypeChange | None = None
        if self.former is not None:
            self._change = names.change(component, name, self.former)

    def had(self, key: str) -> bool:
        """Return True if a policy with this key applied before."""
        return self.former is not None and bool(self.old.fields[self.former].get(key))

    @property
    def is_untouched(self) -> bool:
        """Return True if every cell stays as it is."""
        change = self._change
        if change is None or self.had("given"):
            return False  # integers that were given may stand for handles
        if change.new.base == "entity" and not self._handles.stay:
            return False
        if change.new.base == "id" and change.new.target in self._ids:
            return False
        return is_same_in_files(change)

    def tensors(self) -> Columns:
        """Return the tensors of a field; those of before if nothing has changed."""
        former, old, target = self.former, self.old, f"{self.module}.{self.name}"
        if self.plan.stays and former is not None and not old.is_cold_apart(former):
            same_split = self.doc["split"] == old.fields[former]["split"]
            if same_split and self.is_untouched:
                return _renamed(old, former, target)
        return tensors_of(target, self.type, self.plan.put(self.cells()), self.doc)

    def cells(self, instances: RowArray | None = None) -> NDArray[Any]:
        """Return the cells of these instances, or of all."""
        former, old, order = self.former, self.old, self.plan.order
        rows = order
        if instances is not None:
            rows = instances if order is None else order[instances]
        count = self.plan.count if instances is None else len(instances)
        if former is None:
            return filled(count, self.default)
        tensor, stored = old.tensor(former), old.stored(former)
        if not old.is_cold_apart(former):
            return self._taken(stored if rows is None else stored[rows], tensor, rows)
        cold_rows = old.column("cold_row") if rows is None else old.column("cold_row")[rows]
        has_cold = cold_rows != NIL
        cells = filled(count, self.default)
        taken = cold_rows[has_cold]
        cells[has_cold] = self._taken(stored[taken], tensor, taken)
        if not has_cold.all():  # one cell for all: the old type may take far more room
            without = np.flatnonzero(~has_cold) if rows is None else rows[~has_cold]
            default = old.default_of(former)[None]
            cells[~has_cold] = self._taken(default, f"{old.module}.{former}", without)
        return cells

    def differs(self) -> NDArray[np.bool_]:
        """Return which instances have another cell than the default, those with cold rows aside,
        shape (n,) or (1,)."""
        former, old = self.former, self.old
        if former is None:
            return np.zeros(1, np.bool_)
        if not old.is_cold_apart(former):
            return differing(self.cells(), self.default)
        try:
            cells = self.converted(old.default_of(former)[None])
        except BadRowError:
            return np.ones(1, np.bool_)
        return differing(cells, self.default)

    def _taken(self, cells: NDArray[Any], tensor: str, rows: NDArray[Any] | None) -> NDArray[Any]:
        """Return cells of these rows of a tensor, or of all, in the new type, or refuse the first
        bad one."""
        try:
            return self.converted(cells)
        except BadRowError as error:
            row = error.row
            if row is not None and rows is not None:
                row = int(rows[row])
            self.old.saved.refuse(error.why, tensor, row)

    def converted(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return cells of a field that is not new in its new type; raises BadRowError."""
        former, change = self.former, self._change
        assert former is not None
        assert change is not None
        if cells.dtype.hasobject and change.new.base == "object":
            return cells
        if change.old.base in HANDLES and cells.dtype != change.old.dtype:
            cells = as_handles(cells)
        new_cells = converted(cells, change, self.old.default_of(former), self.default)
        if change.new.base == "entity":
            return self._handles.rewritten(new_cells)
        new_ids = self._ids.get(change.new.target)
        if change.new.base == "id" and new_ids is not None:
            return new_ids.of(new_cells)
        return new_cells


def as_handles(cells: NDArray[Any]) -> NDArray[np.uint64]:
    """Return integers that a caller gave as handles; raises BadRowError."""
    kind = f"{cells.dtype.kind}{8 * cells.dtype.itemsize}"
    shape = cells.shape[1:]
    old, new = (cell_type(name, {}).of_shape(shape) for name in (kind, "u64"))
    none = np.zeros(shape, np.uint64)
    return converted(cells, change_of(old, new, {}), none, none)


def filled(count: int, default: NDArray[Any]) -> NDArray[Any]:
    """Return so many cells that all are the default."""
    return np.full((count, *default.shape), default, default.dtype)


def _renamed(old: SavedComponent, former: str, target: str) -> Columns:
    tensor, arrays = old.key(former), old.saved.arrays
    names = [column.tensor for column in old.columns_of(former)]
    names += [f"{tensor}{LENGTHS}"]
    return {target + name.removeprefix(tensor): arrays[name] for name in names if name in arrays}


def tensors_of(name: str, kind: CellType, cells: NDArray[Any], doc: Mapping[str, Any]) -> Columns:
    """Return a field's cells as tensors: objects as their bytes, split fields in parts."""
    if kind.base == "object":
        if all(cell is None for cell in cells):
            return {}
        parts = object_parts(name, name, cells, AS_BYTES)
        return {tensor.name: tensor.array for part in parts for tensor in part.tensors}
    if not doc["split"]:
        return {name: cells}
    flat = cells.reshape(len(cells), prod(kind.shape))
    return {
        part: np.ascontiguousarray(flat[:, element])
        for element, part in enumerate(split_columns(name, kind.shape))
    }


# A cell without a cold row is the old default; if that is another one now, its row needs one.


def cold_columns(
    fields: Sequence[FieldMigration], old: SavedComponent, module: str, plan: RowPlan
) -> tuple[Columns, dict[str, int]]:
    """Return the tensors of cold rows, and their number."""
    differs = np.zeros(plan.count, np.bool_)
    for field in fields:
        differs |= field.differs()
    rows = _rows_with_cold(old, plan, differs)
    cold_row = np.full(plan.count, NIL, np.uint32)
    cold_row[rows] = np.arange(len(rows))
    tensors: Columns = {
        f"{module}.cold_row": cold_row,
        f"{module}.cold.row": rows.astype(np.uint32, copy=False),
    }
    for field in fields:
        target = f"{module}.cold.{field.name}"
        tensors |= tensors_of(target, field.type, field.cells(rows), field.doc)
    return tensors, {"n_cold": len(rows)}


def _rows_with_cold(old: SavedComponent, plan: RowPlan, differs: NDArray[np.bool_]) -> RowArray:
    """Return the rows that have cold rows, in their order: those of before, then new ones."""
    if not old.has_cold_rows:
        return np.flatnonzero(differs)
    before = plan.where(old.column("cold.row")).astype(np.intp)
    before = before[before != NIL]
    differs[before] = False
    return np.concatenate((before, np.flatnonzero(differs)))
