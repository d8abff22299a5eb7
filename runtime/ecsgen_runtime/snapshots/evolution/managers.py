"""The tensors and numbers of one component in its new manager."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..repeats import repeated_value
from ..saved import Document
from ..strategy import Saving
from .chains import family_links, instance_links, ring_links
from .cold import cold_columns
from .fields import Columns, FieldMaker
from .ids import NewIds
from .old import OldComponent
from .rows import RowPlan

Numbers = dict[str, Any]


def structure(
    saving: Saving,
    old: OldComponent,
    doc: Document,
    plan: RowPlan,
    owners: NDArray[np.uint64],
) -> tuple[Columns, Numbers, NewIds | None]:
    """Return the columns of links and ids with their numbers, and what old ids are now.

    `owners` in new rows, in the new handles.
    """
    version = 0 if old.is_chunked else old.numbers["version"]
    numbers = {"n": plan.n, "version": version}
    ids, id_numbers, new_ids = saving.id_columns(old, doc, plan)
    ring, ring_numbers = ring_links(old, doc, plan)
    columns = instance_links(old, doc, plan, owners)
    columns |= family_links(old, doc, plan) | ring | ids
    if doc["owner"] == "entity":
        columns["entity"] = owners
    numbers |= id_numbers | ring_numbers | _partition(old, doc, plan) | _notes(old)
    if _keeps_generator(old, doc):
        columns["_rng"] = old.column("_rng")
    module = doc["module"]
    tensors = {f"{module}.{name}": column for name, column in columns.items()}
    return tensors, numbers, new_ids


def _partition(old: OldComponent, doc: Document, plan: RowPlan) -> Numbers:
    """Return how many rows are active, which are in front, if rows are active or not."""
    if not doc["partition"]:
        return {}
    if old.is_chunked or not old.doc["partition"]:
        return {"n_active": plan.n if doc["partition"] == "active" else 0}
    active = old.numbers["n_active"]
    if plan.order is not None:
        active = int(np.count_nonzero(plan.order < active))
    return {"n_active": active}


def _notes(old: OldComponent) -> Numbers:
    """Return the seed, the calls of kernels, which are known by their names, and the sizes of a
    space."""
    kept = ("seed", "calls", "wrap")
    return {key: old.numbers[key] for key in kept if key in old.numbers}


def _keeps_generator(old: OldComponent, doc: Document) -> bool:
    collects = doc["destroy"] == "gc" and doc["owner"] == "entity"
    return (
        collects
        and not old.is_chunked
        and old.doc["destroy"] == "gc"
        and old.has("_rng")
    )


def fields(maker: FieldMaker, component: str, plan: RowPlan) -> tuple[Columns, Numbers]:
    """Return the columns of all fields, cold ones among them."""
    columns = maker.columns(component, plan)
    cold, numbers = cold_columns(maker, component, plan)
    return columns | cold, numbers


def check_unique(
    maker: FieldMaker, component: str, plan: RowPlan, columns: Columns
) -> None:
    """Refuse two rows with the same value of a unique field; NaN equals nothing."""
    doc, old = maker.names.schema["components"][component], maker.names.old(component)
    for name, field in doc["fields"].items():
        if not field.get("unique") or _was_unique(maker, component, name):
            continue
        cells = columns[f"{doc['module']}.{name}"]
        rows = np.arange(plan.n) if plan.at is None else plan.at
        repeated = repeated_value(cells[rows])
        if repeated is not None:
            row, earlier = map(plan.old_row, repeated)
            value = _shown(cells[rows[repeated[0]]], field["type"])
            why = f"{value} is the value of row {earlier} too, and {name} is unique"
            why += "; make them different in migrate="
            old.saved.refuse(why, f"{old.module}.{name}", row)


def _was_unique(maker: FieldMaker, component: str, field: str) -> bool:
    """Whether a field was unique before, and is what it was."""
    old, former = maker.names.old(component), maker.names.former(component, field)
    if former is None or not old.fields[former].get("unique"):
        return False
    return maker.is_untouched(component, field)


def _shown(cell: Any, kind: str) -> str:
    if isinstance(cell, np.ndarray):
        stored = cell.tobytes().rstrip(b"\0")
        return repr(stored.decode() if kind.startswith("str") else stored)
    return repr(cell.item())
