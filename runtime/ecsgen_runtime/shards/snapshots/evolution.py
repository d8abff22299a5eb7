"""A shard of one schema as one of another would have saved it: who is known elsewhere stays so."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, EntityArray, RowArray
from ...snapshots.evolution.handles import Handles
from ...snapshots.evolution.ids import Columns, NewIds, Numbers, id_columns
from ...snapshots.evolution.old import OldComponent
from ...snapshots.evolution.rows import RowPlan
from ...snapshots.saved import Document, Saved
from ..ids import IDS
from ..ids import SLOTS as ID_SLOTS
from ..layout import ID_LAST, ID_SHARD_BITS, ID_VISITOR
from .contents import IDLE, SLOTS, VISITORS

_BITS: Final = ("index_bits", "generation_bits", "shard_bits")
_ONE: Final = 1 << ID_SHARD_BITS


class ShardedHandles(Handles):
    """The entities of an old shard; their handles stay, for other shards know them."""

    def __init__(self, saved: Saved, schema: Document) -> None:
        old, new = saved.schema["entity"], schema["entity"]
        if any(old.get(name) != new.get(name) for name in _BITS):
            saved.refuse(
                f"handles of {[old.get(name, 0) for name in _BITS]} bits cannot become those of "
                f"{[new.get(name, 0) for name in _BITS]}, for other shards have them, too; "
                "keep the bits of before"
            )
        super().__init__(saved, schema)
        order = saved.arrays[VISITORS].argsort()
        self._visitors: EntityArray = saved.arrays[VISITORS][order]
        self._slots = saved.arrays[SLOTS].astype(np.intp)[order]
        self._shift = np.uint64(self.old.of_index + new["shard_bits"])
        self._home = np.uint64(saved.state["entities"]["shard"])

    def indices(self, handles: EntityArray) -> RowArray:
        """Return the slot of each old handle."""
        found = super().indices(handles)
        if len(self._visitors) == 0:
            return found
        last = len(self._visitors) - 1
        place = np.minimum(self._visitors.searchsorted(handles), last)
        return np.where(self._visitors[place] == handles, self._slots[place], found)

    def created(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which were ever given out here, or came."""
        found: NDArray[np.bool_] = np.isin(handles, self._visitors)
        index = super().indices(handles)
        below = (np.uint64(1) << self._shift) - np.uint64(1)
        own = (handles & below) >> np.uint64(self.old.of_index) == self._home
        own &= (index < len(self.cells)) & ~np.isin(index, self._slots)
        if len(self.cells):
            now = self.cells.take(index, mode="clip")
            given, last = handles >> self._shift, now >> self._shift
            own &= (given != 0) & ((last == 0) | (given < last) | (now == handles))
        found |= own
        return found

    def tensors(self) -> tuple[Columns, Document]:
        """Return the tensors of all entities, visitors included, and their numbers."""
        found, numbers = super().tensors()
        own = {name: self._saved.arrays[name] for name in (VISITORS, SLOTS, IDLE)}
        return {**found, **own}, {**numbers, "shard": int(self._home)}


def shard_id_columns(
    old: OldComponent, doc: Document, plan: RowPlan
) -> tuple[Columns, Numbers, NewIds | None]:
    """Return the columns of ids and their numbers. Ids stay, for other shards know them."""
    if not doc["ids"] or doc["in"] == "archetypes":
        return {}, {}, None
    shard = old.saved.state["entities"]["shard"]
    if not old.doc["ids"] or old.is_chunked:
        columns, numbers, _ = id_columns(old, doc, plan)
        generations = columns["id_generation"]
        first = np.uint32(_ONE | shard)
        columns["id_generation"] = np.where(generations, first, np.uint32(0))
        if "first_generation" in numbers:
            numbers["first_generation"] = int(first)
        return columns, numbers, None
    if (old.doc["lookup"] == "direct") != (doc["lookup"] == "direct"):
        why = "'lookup: direct' gives other ids, and other shards know those of before"
        why += f"; 'lookup: {old.doc['lookup']}' keeps them"
        old.saved.refuse(why, f"{old.module}.id_generation")
    columns, numbers, _ = id_columns(old, doc, plan)
    if doc["lookup"] != "direct" and not plan.stays:
        columns, numbers = _freed(old, plan, columns, numbers, shard)
    return {**columns, **_aliases(old, columns["id_generation"])}, numbers, None


def _freed(
    old: OldComponent, plan: RowPlan, columns: Columns, numbers: Numbers, shard: int
) -> tuple[Columns, Numbers]:
    """Return slots, those of rows that went with the next generation of this shard."""
    slots, generations = old.column("id_slot"), old.column("id_generation").copy()
    used = plan.take(slots[: old.n])
    gone = slots[: old.n][~np.isin(slots[: old.n], used)]
    fresh = gone[generations[gone] >> ID_SHARD_BITS != ID_LAST]
    generations[fresh] = (generations[fresh] >> ID_SHARD_BITS) + 1 << ID_SHARD_BITS
    generations[fresh] |= np.uint32(shard)
    rows = np.full(len(columns["id_row"]), NIL, np.uint32)
    rows[used] = np.arange(plan.n)
    whole = np.concatenate((used, fresh, slots[old.n :]))
    found = {"id_slot": whole, "id_row": rows, "id_generation": generations}
    return found, {**numbers, "slots": len(whole)}


def _aliases(old: OldComponent, generations: NDArray[np.uint32]) -> Columns:
    """Return the ids given elsewhere that are still in a slot."""
    if not old.has(IDS):
        return {}
    ids, slots = old.column(IDS), old.column(ID_SLOTS)
    held = generations[slots] & ID_VISITOR == ID_VISITOR
    return {IDS: ids[held], ID_SLOTS: slots[held]} if held.any() else {}
