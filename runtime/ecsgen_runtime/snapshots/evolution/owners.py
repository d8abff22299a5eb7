"""Which rows stay, by whose they are, and in which order they come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, RowArray
from ..saved import Document
from .handles import Handles
from .old import OldComponent
from .rows import RowPlan, indexed_plan, kept_plan, packed_plan


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
