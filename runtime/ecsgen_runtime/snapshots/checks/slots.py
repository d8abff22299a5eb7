"""Columns in a snapshot that say where others point from: slots of ids, who is free, cold rows."""

from __future__ import annotations

import numpy as np

from ...handles import NIL
from ...policies.ids import WORN_OUT
from .chains import check_links
from .rows import CheckedRows


def check_slots(rows: CheckedRows) -> None:
    """Refuse slots that are not each a row's, free or worn out; O(slots)."""
    n, peak = rows.n, rows.numbers["peak"]
    check_links(rows, "id_slot", peak, may_end=False)
    slots, places = rows.column("id_slot"), rows.column("id_row")
    generations = rows.column("id_generation")
    strange = places.take(slots[:n]) != np.arange(n)
    if strange.any():
        row = int(strange.argmax())
        rows.refuse(f"slot {slots[row]} is not that of row {row}", "id_slot", row)
    is_known = np.zeros(peak, np.bool_)
    is_known[slots] = True
    if int(np.count_nonzero(is_known)) != len(slots):
        rows.refuse("a slot is there twice", "id_slot")
    is_held = places != NIL
    if int(np.count_nonzero(is_held)) != n:
        is_held[slots[:n]] = False
        rows.refuse("no row has this slot", "id_row", int(is_held.argmax()))
    if len(slots) < peak:
        lost = ~is_known & (generations != WORN_OUT)
        if lost.any():
            slot = int(lost.argmax())
            rows.refuse("neither used, free nor worn out", "id_generation", slot)
    if peak and not int(generations.min()):
        rows.refuse("ids begin with 1", "id_generation", int(generations.argmin()))


def check_direct_ids(rows: CheckedRows) -> None:
    """Refuse generations of 0 where an instance is, or was the last one; O(n)."""
    generations = rows.column("id_generation")
    lacking = (rows.column("entity") != 0) & (generations[: rows.n] == 0)
    if lacking.any():
        row = int(lacking.argmax())
        rows.refuse("ids begin with 1", "id_generation", row)
    if len(generations) and not int(generations[-1]):
        row = len(generations) - 1
        rows.refuse("no instance was ever here", "id_generation", row)


def check_cold(rows: CheckedRows) -> None:
    """Refuse rows and cold rows that do not know each other; O(n)."""
    n_cold = rows.numbers["n_cold"]
    check_links(rows, "cold_row", n_cold, may_end=True)
    check_links(rows, "cold.row", rows.n, may_end=False)
    places, owners = rows.column("cold_row"), rows.column("cold.row")
    strange = places.take(owners) != np.arange(n_cold)
    if strange.any():
        cell = int(strange.argmax())
        rows.refuse(f"row {owners[cell]} has another one", "cold.row", cell)
    held = places != NIL
    if int(np.count_nonzero(held)) != n_cold:
        held[owners] = False
        rows.refuse("another row has this one", "cold_row", int(held.argmax()))
