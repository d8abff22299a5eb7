"""Indirect cold fields: which rows have cold rows now, and what is in them.

A cell without a cold row is the old default; if that is another one now, its row needs a cold row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, RowArray
from ..cell_types import differing
from ..convert import BadRowError
from .fields import Columns, FieldMaker, filled, tensors_of
from .old import OldComponent
from .rows import RowPlan


def cold_columns(
    maker: FieldMaker, component: str, plan: RowPlan
) -> tuple[Columns, dict[str, int]]:
    """Return the tensors of cold rows, if there are some now, and their number."""
    doc = maker.names.schema["components"][component]
    if doc["cold"] != "indirect":
        return {}, {}
    fields = [name for name, field in doc["fields"].items() if field["cold"]]
    if _keep_their_rows(maker, component, fields):
        return _same_rows(maker, component, fields, plan)
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


def _same_rows(
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
