"""Stable ids: those that stay, new ones, and what becomes of fields that hold ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, IdArray
from ...policies.ids import SLOT_BITS, SLOT_MASK, WORN_OUT, ids_of
from ..facts import Columns, Evolved
from .old import OldComponent
from .rows import RowPlan

if TYPE_CHECKING:
    from .managers import Evolving

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
