"""Fields in new rows, hot and cold: converted, with handles and ids rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, IdArray, RowArray
from ..policies.ids import SLOT_BITS, SLOT_MASK, WORN_OUT, ids_of
from .contents import LENGTHS, object_parts
from .convert import BadRowError, change_of, converted, is_same_in_files
from .evolved_rows import Handles, RowPlan
from .facts import (
    HANDLES,
    CellType,
    Columns,
    Evolved,
    cell_type,
    differing,
    split_columns,
)
from .old_snapshots import AS_BYTES, Names, OldComponent

if TYPE_CHECKING:
    from .evolution import Evolving


# --- Stable ids: those that stay, new ones, and what becomes of fields that hold ids.


Numbers = dict[str, int]

NEW: Final = 1
"""The generation of new ids."""


@dataclass(frozen=True)
class NewIds:
    """What old ids of a component are now, where ids are given anew."""

    generations: NDArray[np.uint32]
    """The generation of each old slot, or of each old row."""
    ids: IdArray
    """The new id of what is there; 0 where nothing is."""

    def of(self, old: IdArray) -> IdArray:
        """Return the new ids of old ones, 0 for those whose instance is gone."""
        count = len(self.ids)
        if count == 0:
            return np.zeros(old.shape, np.uint64)
        place = (old & np.uint64(SLOT_MASK)).view(np.intp)
        same = self.generations.take(place, mode="clip") == old >> np.uint64(SLOT_BITS)
        found = self.ids.take(place, mode="clip")
        return np.where(same & (place < count), found, np.uint64(0))


_NO_IDS: Final = NewIds(np.empty(0, np.uint32), np.empty(0, np.uint64))
"""Of a component that is new: fields may have ids of one that the caller took away."""


def id_columns(it: Evolving) -> Evolved:
    """Return the columns of ids, their numbers, and what old ids are now if they are others."""
    old, plan = it.old, it.plan
    is_direct = it.doc["lookup"] == "direct"
    if it.had:
        columns, numbers = (_same_rows if is_direct else _same_slots)(it)
        return Evolved(columns, numbers, _NO_IDS if old.is_new else None)
    columns, numbers, ids = _by_index(plan) if is_direct else _in_order(plan.n)
    if not had_ids(old):
        return Evolved(columns, numbers)
    return Evolved(columns, numbers, _new_ids(old, plan, ids, not is_direct))


def had_ids(old: OldComponent) -> bool:
    """Return whether rows had ids, with slots or without."""
    return bool(old.doc["ids"]) and not old.is_chunked


def _same_rows(it: Evolving) -> tuple[Columns, Numbers]:
    return {"id_generation": it.old.column("id_generation")}, {
        "peak": it.number("peak")
    }


def _same_slots(it: Evolving) -> tuple[Columns, Numbers]:
    """Return slots as they are; those of rows that go become free, with the next generation."""
    old, plan = it.old, it.plan
    names = ("id_slot", "id_row", "id_generation")
    slots, rows, generations = (old.column(name) for name in names)
    numbers = {name: it.number(name) for name in it.facts.numbers}
    if plan.stays:
        return dict(zip(names, (slots, rows, generations), strict=True)), numbers
    used = plan.take(slots[: old.n])
    is_kept = np.zeros(old.n, np.bool_)
    is_kept[slice(None) if plan.order is None else plan.order] = True
    gone = slots[: old.n][~is_kept]
    generations = generations.copy()
    fresh = gone[generations[gone] != WORN_OUT]
    generations[fresh] += 1
    slots = np.concatenate((used, fresh, slots[old.n :]))
    rows = np.full(len(rows), NIL, np.uint32)
    rows[used] = np.arange(plan.n)
    numbers["slots"] = len(slots)
    return dict(zip(names, (slots, rows, generations), strict=True)), numbers


def _in_order(n: int) -> tuple[Columns, Numbers, IdArray]:
    """Return new slots, in the order of the rows, and the ids."""
    slots = np.arange(n, dtype=np.uint32)
    generations = np.full(n, NEW, np.uint32)
    columns = {"id_slot": slots, "id_row": slots, "id_generation": generations}
    numbers = {"peak": n, "slots": n, "first_generation": NEW}
    return columns, numbers, ids_of(slots, generations)


def _by_index(plan: RowPlan) -> tuple[Columns, Numbers, IdArray]:
    """Return a generation for each row in use, and the ids of the instances."""
    at = np.arange(plan.n) if plan.at is None else plan.at
    generations = np.zeros(plan.n, np.uint32)
    generations[at] = NEW
    ids = ids_of(at, generations)
    return {"id_generation": generations}, {"peak": plan.n}, ids


def _new_ids(
    old: OldComponent, plan: RowPlan, ids: IdArray, was_direct: bool
) -> NewIds:
    """Return what old ids are now, by old slot, or by old row with `lookup: direct`."""
    generations = old.column("id_generation")
    found = np.zeros(len(generations), np.uint64)
    rows = np.arange(old.n) if plan.order is None else plan.order
    found[rows if was_direct else old.column("id_slot")[rows]] = ids
    return NewIds(generations, found)


# --- Fields of a component in new rows, hot and cold: converted, with handles and ids
# rewritten.


# --- Fields of a component in new rows: converted, with handles and ids rewritten -----


@dataclass(frozen=True)
class FieldMaker:
    """Makes the columns of fields."""

    names: Names
    handles: Handles
    ids: Mapping[str, NewIds]
    """Of the components whose ids are new, by what they are called now."""

    def columns(self, component: str, plan: RowPlan) -> Columns:
        """Return the tensors of all fields that lie with their rows."""
        doc = self.names.schema["components"][component]
        is_apart = doc["in"] == "managers" and doc["cold"] == "indirect"
        found: Columns = {}
        for name, field in doc["fields"].items():
            if is_apart and field["cold"]:
                continue
            found |= self._tensors(component, name, plan)
        return found

    def _tensors(self, component: str, field: str, plan: RowPlan) -> Columns:
        """Return the tensors of a field; those of before if nothing has changed."""
        old = self.names.old(component)
        doc = self.names.schema["components"][component]["fields"][field]
        target = f"{self.names.schema['components'][component]['module']}.{field}"
        former = self.names.former(component, field)
        if plan.stays and former is not None and not old.is_cold_apart(former):
            same_split = doc["split"] == old.fields[former]["split"]
            if same_split and self.is_untouched(component, field):
                return _renamed(old, former, target)
        cells = plan.put(self.cells(component, field, plan))
        return tensors_of(target, self.names.type_of(component, field), cells, doc)

    def is_untouched(self, component: str, field: str) -> bool:
        """Return whether every cell of a field that is not new stays as it is."""
        former = self.names.former(component, field)
        if former is None:
            return False
        if self.names.old(component).fields[former].get("given"):
            return False  # integers may stand for handles
        change = self.names.change(component, field, former)
        if change.new.base == "entity" and not self.handles.stay:
            return False
        if change.new.base == "id" and change.new.target in self.ids:
            return False
        return is_same_in_files(change)

    def cells(self, component: str, field: str, plan: RowPlan) -> NDArray[Any]:
        """Return the cells of a field, one for each instance."""
        former = self.names.former(component, field)
        default = self.names.default_of(component, field)
        if former is None:
            return filled(plan.count, default)
        old = self.names.old(component)
        if not old.is_cold_apart(former):
            return self._taken(component, field, plan.take(old.stored(former)), plan)
        place = plan.take(old.column("cold_row"))
        own, others = np.flatnonzero(place != NIL), np.flatnonzero(place == NIL)
        whole = filled(plan.count, default)
        cells = old.stored(former)[place[own]]
        whole[own] = self._taken(component, field, cells, plan, own)
        if len(others):  # one cell for all: the old type may take far more room
            cells = old.default_of(former)[None]
            whole[others] = self._taken(component, field, cells, plan, others)
        return whole

    def _taken(
        self,
        component: str,
        field: str,
        cells: NDArray[Any],
        plan: RowPlan,
        instances: RowArray | None = None,
    ) -> NDArray[Any]:
        """Return cells of these instances, or of all, in the new type, or refuse the first bad
        one."""
        try:
            return self.converted(component, field, cells)
        except BadRowError as error:
            row = error.row
            if row is not None:
                row = plan.old_row(row if instances is None else int(instances[row]))
            old, former = self.names.old(component), self.names.former(component, field)
            old.saved.refuse(error.why, f"{old.module}.{former}", row)

    def converted(
        self, component: str, field: str, cells: NDArray[Any]
    ) -> NDArray[Any]:
        """Return cells of a field that is not new in its new type; raises BadRowError."""
        former = self.names.former(component, field)
        assert former is not None
        change = self.names.change(component, field, former)
        old_default = self.names.old(component).default_of(former)
        default = self.names.default_of(component, field)
        if cells.dtype.hasobject and change.new.base == "object":
            return cells
        if change.old.base in HANDLES and cells.dtype != change.old.dtype:
            cells = as_handles(cells)
        found = converted(cells, change, old_default, default)
        if change.new.base == "entity":
            return self.handles.rewritten(found)
        new_ids = self.ids.get(change.new.target)
        if change.new.base == "id" and new_ids is not None:
            return new_ids.of(found)
        return found


def as_handles(cells: NDArray[Any]) -> NDArray[np.uint64]:
    """Return integers that a caller gave as handles; raises BadRowError."""
    kind = f"{cells.dtype.kind}{8 * cells.dtype.itemsize}"
    shape = cells.shape[1:]
    old, new = (cell_type(name, {}).of_shape(shape) for name in (kind, "u64"))
    none = np.zeros(shape, np.uint64)
    return converted(cells, change_of(old, new, {}), none, none)


def filled(count: int, default: NDArray[Any]) -> NDArray[Any]:
    """Return so many cells that all are the default."""
    cells = np.empty((count, *default.shape), default.dtype)
    cells[:] = default
    return cells


def _renamed(old: OldComponent, former: str, target: str) -> Columns:
    """Return the tensors of a field under another name."""
    kind = old.type_of(former)
    suffixes = ["", LENGTHS] if kind.base == "object" else [""]
    if old.fields[former]["split"]:
        suffixes = split_columns("", kind)
    tensor, arrays = old.key(former), old.saved.arrays
    return {
        target + end: arrays[tensor + end] for end in suffixes if tensor + end in arrays
    }


def tensors_of(
    name: str, kind: CellType, cells: NDArray[Any], doc: Mapping[str, Any]
) -> Columns:
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
        for element, part in enumerate(split_columns(name, kind))
    }


# --- Indirect cold fields: which rows have cold rows now, and what is in them ---------
#
# A cell without a cold row is the old default; if that is another one now, its row
# needs a cold row.


def cold_columns(
    maker: FieldMaker, component: str, plan: RowPlan
) -> tuple[Columns, dict[str, int]]:
    """Return the tensors of cold rows, if there are some now, and their number."""
    doc = maker.names.schema["components"][component]
    if doc["cold"] != "indirect":
        return {}, {}
    fields = [name for name, field in doc["fields"].items() if field["cold"]]
    if _keep_their_rows(maker, component, fields):
        return _same_cold(maker, component, fields, plan)
    cells = {name: maker.cells(component, name, plan) for name in fields}
    differs = np.zeros(plan.count, np.bool_)
    for name, column in cells.items():
        differs |= differing(column, maker.names.default_of(component, name))
    rows = _rows_with_cold(maker.names.old(component), plan, differs)
    cold_row = np.full(plan.count, NIL, np.uint32)
    cold_row[rows] = np.arange(len(rows))
    taken = {name: column[rows] for name, column in cells.items()}
    found = {f"{doc['module']}.cold_row": cold_row}
    found[f"{doc['module']}.cold.row"] = rows.astype(np.uint32)
    return found | _tensors(maker, component, taken), {"n_cold": len(rows)}


def _keep_their_rows(maker: FieldMaker, component: str, fields: list[str]) -> bool:
    """Whether no rows need cold rows but those that have them: defaults are what they were."""
    old = maker.names.old(component)
    if not old.has_cold_rows:
        return False
    for name in fields:
        former = maker.names.former(component, name)
        if former is None:
            continue
        if not old.is_cold_apart(former):
            return False
        try:
            before = maker.converted(component, name, old.default_of(former)[None])[0]
        except BadRowError:
            return False
        default = maker.names.default_of(component, name)
        if differing(np.asarray(before)[None], default).any():
            return False
    return True


def _same_cold(
    maker: FieldMaker, component: str, fields: list[str], plan: RowPlan
) -> tuple[Columns, dict[str, int]]:
    """Return the cold rows of before, of the rows that are still there; O(cold rows)."""
    old = maker.names.old(component)
    module = maker.names.schema["components"][component]["module"]
    rows, cold_row = old.column("cold.row"), old.column("cold_row")
    kept: slice | RowArray = slice(None)
    if not plan.stays:
        moved = plan.where(rows)
        kept = np.flatnonzero(moved != NIL)
        rows, cold_row = moved[kept], np.full(plan.count, NIL, np.uint32)
        cold_row[rows] = np.arange(len(rows))
    cells = {}
    for name in fields:
        former = maker.names.former(component, name)
        if former is None:
            cells[name] = filled(len(rows), maker.names.default_of(component, name))
            continue
        try:
            cells[name] = maker.converted(component, name, old.stored(former)[kept])
        except BadRowError as error:
            row = error.row
            if row is not None and not isinstance(kept, slice):
                row = int(kept[row])
            old.saved.refuse(error.why, old.tensor(former), row)
    found = {f"{module}.cold_row": cold_row, f"{module}.cold.row": rows}
    return found | _tensors(maker, component, cells), {"n_cold": len(rows)}


def _tensors(maker: FieldMaker, component: str, cells: Columns) -> Columns:
    names, doc = maker.names, maker.names.schema["components"][component]
    found: Columns = {}
    for name, column in cells.items():
        target = f"{doc['module']}.cold.{name}"
        kind = names.type_of(component, name)
        found |= tensors_of(target, kind, column, doc["fields"][name])
    return found


def _rows_with_cold(
    old: OldComponent, plan: RowPlan, differs: NDArray[np.bool_]
) -> RowArray:
    """Return the rows that have cold rows, in their order: those of before, then new ones."""
    if not old.has_cold_rows:
        return np.flatnonzero(differs)
    before = plan.where(old.column("cold.row")).astype(np.intp)
    before = before[before != NIL]
    differs = differs.copy()
    differs[before] = False
    return np.concatenate((before, np.flatnonzero(differs)))
