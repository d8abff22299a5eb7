"""Which old rows stay, where they are in new columns, and who is alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, EntityArray, RowArray
from .documents import Document, Saved
from .old_snapshots import OldComponent

# --- Handles of entities: who is alive, and what handles are with other bits ----------


class Bits(NamedTuple):
    """How many bits of a handle are its index, and how many its generation."""

    of_index: int
    of_generation: int


class Handles:
    """The entities of an old snapshot, and their handles in a world of other bits."""

    def __init__(self, saved: Saved, schema: Document) -> None:
        self._saved = saved
        self.old = _bits(saved.schema)
        self.new = _bits(schema)
        self.cells: EntityArray = saved.arrays["entities.handles"]
        self._mask = np.uint64((1 << self.old.of_index) - 1)
        self.stay = self.old == self.new
        """Whether every handle is what it was."""

    @property
    def way_back(self) -> str:
        """What to write in the schemas for handles that do not fit."""
        bits = self.old
        keys = f"index_bits: {bits.of_index}, generation_bits: {bits.of_generation}"
        return f"'entity: {{{keys}}}' keeps it"

    def indices(self, handles: EntityArray) -> RowArray:
        """Return the index of each old handle."""
        return (handles & self._mask).view(np.intp)

    def alive(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which entities are alive."""
        count = len(self.cells)
        if count == 0:
            return np.zeros(handles.shape, np.bool_)
        index = self.indices(handles)
        alive: NDArray[np.bool_] = self.cells.take(index, mode="clip") == handles
        alive &= index < count
        return alive

    def created(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which were ever given out."""
        count = len(self.cells)
        index = self.indices(handles)
        if count == 0:
            return np.zeros(handles.shape, np.bool_)
        now = self.cells.take(index, mode="clip") >> np.uint64(self.old.of_index)
        given = handles >> np.uint64(self.old.of_index)
        known: NDArray[np.bool_] = (given != 0) & (index < count)
        known &= (now == 0) | (given < now) | self.alive(handles)
        return known

    def fit(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which handles have a place among the new bits."""
        generations = handles >> np.uint64(self.old.of_index)
        fit: NDArray[np.bool_] = (handles & self._mask) < np.uint64(
            1 << self.new.of_index
        )
        return fit & (generations < np.uint64(1 << self.new.of_generation))

    def rewritten(self, handles: EntityArray) -> EntityArray:
        """Return handles in the new bits; 0 for those of the dead that do not fit."""
        if self.stay:
            return handles
        generations = handles >> np.uint64(self.old.of_index)
        found = generations << np.uint64(self.new.of_index) | (handles & self._mask)
        return np.where(self.fit(handles), found, np.uint64(0))

    def tensors(self) -> tuple[dict[str, NDArray[np.generic]], Document]:
        """Return the tensors of all entities, and their numbers."""
        arrays = self._saved.arrays
        free = arrays["entities.free"]
        noted = arrays.get("entities.noted", np.empty(0, np.uint64))
        retired: int = self._saved.state["entities"]["n_retired"]
        cells = self.cells
        if not self.stay:
            cells, worn_out = self._new_cells()
            left = ~worn_out.take(free, mode="clip") if len(free) else free != free
            free = free[left & (free < len(cells))]
            noted = self.rewritten(noted)
            noted = noted[noted != 0]
            retired = int(np.count_nonzero(cells >> np.uint64(self.new.of_index) == 0))
        found = {"entities.handles": cells, "entities.free": free}
        numbers = {"n_retired": retired}
        return (found | {"entities.noted": noted} if len(noted) else found), numbers

    def _new_cells(self) -> tuple[EntityArray, NDArray[np.bool_]]:
        """Return a cell per index, and which indices are worn out."""
        index = np.arange(len(self.cells), dtype=np.uint64)
        is_live = (self.cells & self._mask) == index
        handles = np.where(is_live, self.cells, self.cells ^ np.uint64(1))
        fit = self.fit(handles)
        lost = is_live & ~fit
        if lost.any():
            row = int(lost.argmax())
            entity = int(self.cells[row])
            place = f"index {row}, generation {entity >> self.old.of_index}"
            bits = f"{self.new.of_index} and {self.new.of_generation} bits"
            why = f"the live entity {entity:#x} ({place}) does not fit {bits}"
            self._saved.refuse(f"{why}; {self.way_back}", "entities.handles", row)
        kept = slice(0, min(len(self.cells), 1 << self.new.of_index))
        worn_out = ~fit
        rewritten = np.where(worn_out, index, self.rewritten(handles))
        cells = np.where(is_live, rewritten, rewritten ^ np.uint64(1))
        return cells[kept], worn_out


def _bits(schema: Document) -> Bits:
    entity = schema["entity"]
    return Bits(entity["index_bits"], entity["generation_bits"])


# --- Which old rows stay, by whose they are, and where they are in new columns --------


# --- Which old rows there are in new columns, and where -------------------------------


@dataclass(frozen=True)
class RowPlan:
    """Takes cells of old rows in their new order, and puts them where they belong."""

    old_n: int
    """How many rows the old columns have."""
    order: RowArray | None
    """The old row of each instance, in the order of the new rows; None: all, as they are."""
    at: RowArray | None = None
    """Its new row, where rows are indices of entities; None: one after the other."""
    new_n: int = 0
    """How many rows the new columns have, with `at`."""
    stays: bool = False
    """Whether each row is where it was, so that columns can stay as they are."""

    @property
    def count(self) -> int:
        """How many instances there are."""
        return self.old_n if self.order is None else len(self.order)

    @property
    def n(self) -> int:
        """How many rows the new columns have."""
        return self.count if self.at is None else self.new_n

    @property
    def is_whole(self) -> bool:
        """Whether all rows are there, in their order."""
        return self.order is None

    def take(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of the instances; the same array if they are all of it."""
        return cells if self.order is None else cells[self.order]

    def put(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return a new column of these cells; zeros, or None, where there is no instance."""
        if self.at is None:
            return cells
        empty = None if cells.dtype.hasobject else 0
        column = np.full((self.new_n, *cells.shape[1:]), empty, cells.dtype)
        column[self.at] = cells
        return column

    def moved(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a new column of what an old one has, by row."""
        return column if self.stays else self.put(self.take(column))

    def where(self, rows: NDArray[Any]) -> NDArray[np.uint32]:
        """Return where old rows are now; NIL for those that are not there, and for NIL."""
        if self.stays:
            return rows
        table = np.full(self.old_n + 1, NIL, np.uint32)
        old: RowArray | slice = (
            slice(0, self.old_n) if self.order is None else self.order
        )
        table[old] = np.arange(self.count) if self.at is None else self.at
        return table.take(rows, mode="clip")

    def old_row(self, instance: int) -> int:
        """Return where an instance was, for messages."""
        return instance if self.order is None else int(self.order[instance])


def kept_plan(old_n: int, used: RowArray | None) -> RowPlan:
    """Return the plan by which all rows stay where they are, holes among them."""
    return RowPlan(old_n, used, used, old_n, stays=True)


def packed_plan(old_n: int, order: RowArray | None) -> RowPlan:
    """Return the plan by which old rows come one after the other."""
    return RowPlan(old_n, order, stays=order is None)


def indexed_plan(old_n: int, order: RowArray | None, at: RowArray) -> RowPlan:
    """Return the plan by which old rows go to the indices of their entities."""
    n = int(at.max()) + 1 if len(at) else 0
    return RowPlan(old_n, order, at, n)


# --- Which rows stay, by whose they are, and in which order they come -----------------


def plan_rows(old: OldComponent, doc: Document, handles: Handles) -> RowPlan:
    """Return which old rows a component has now: for a manager's columns, or for chunks."""
    if not old.has_owners or doc["owner"] == "none":
        _check_owner(old, doc)
        return packed_plan(old.n, old.used)
    kept = _kept(old, doc, handles)
    if kept.all() and old.used is None:
        order = None
    else:
        order = np.flatnonzero(kept if old.used is None else kept & (old.owners != 0))
    _check_single(old, doc, order)
    return placed(old, doc, order, handles)


def placed(
    old: OldComponent, doc: Document, order: RowArray | None, handles: Handles
) -> RowPlan:
    """Return the plan that has old rows in an order, or at their entities' indices."""
    if doc["in"] == "archetypes" or doc["lookup"] != "direct":
        return packed_plan(old.n, order)
    count = old.n if order is None else len(order)
    if not old.is_chunked and old.doc["lookup"] == "direct" and count == old.count:
        return kept_plan(old.n, old.used)
    owners = old.owners if order is None else old.owners[order]
    return indexed_plan(old.n, order, handles.indices(owners))


def _check_owner(old: OldComponent, doc: Document) -> None:
    if old.count and doc["owner"] == "entity":
        why = f"no entity owns its {old.count} rows, and each needs one now"
        old.refuse_rows(f"{why}; only migrate= can say whose they are")


def _kept(old: OldComponent, doc: Document, handles: Handles) -> NDArray[np.bool_]:
    """Return which rows, holes among them, are not those of the dead that go."""
    kept = np.ones(old.n, np.bool_)
    owners = old.owners
    lives_on = doc["in"] == "archetypes" or doc["destroy"] == "callback"
    lived = old.is_chunked or old.doc["destroy"] == "callback"
    if (lives_on and not lived) or not handles.stay:
        alive = handles.alive(owners)
        if lives_on:
            kept &= alive
        else:
            kept &= alive | handles.fit(owners) | (owners == 0)
            _check_manual(old, doc, kept, handles)
    if doc["lookup"] != "hash" and not old.is_chunked and old.doc["lookup"] == "hash":
        kept &= ~_displaced(old, handles)
    return kept


def _check_manual(
    old: OldComponent, doc: Document, kept: NDArray[np.bool_], handles: Handles
) -> None:
    """Refuse to lose rows of the dead that are the user's to remove."""
    if doc["destroy"] == "manual" and not kept.all():
        row = int((~kept).argmax())
        why = f"the dead entity {int(old.owners[row]):#x} does not fit the new bits"
        old.saved.refuse(f"{why}; {handles.way_back}", f"{old.module}.entity", row)


def _displaced(old: OldComponent, handles: Handles) -> NDArray[np.bool_]:
    """Return which rows are those of entities whose index has a later owner here."""
    index = handles.indices(old.owners)
    latest = np.zeros(len(handles.cells), np.uint64)
    np.maximum.at(latest, index, old.owners)
    displaced: NDArray[np.bool_] = latest[index] != old.owners
    return displaced


def _check_single(old: OldComponent, doc: Document, order: RowArray | None) -> None:
    """Refuse several instances of an entity where there may be one."""
    if doc["instances"] == "many" or old.doc["instances"] == "one":
        return
    rows = np.arange(old.n) if order is None else order
    followed = rows[old.column("next")[rows] != NIL]
    if len(followed):
        row = int(followed[0])
        entity = int(old.owners[row])
        why = f"the entity {entity:#x} has several instances, and may have one now"
        why += "; 'instances: many' keeps all, or choose in migrate="
        old.refuse_rows(why, ".entity", row)
