"""Which old rows stay, where they are in new columns, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, RowArray
from ..managers.policies.chains import RowLinks, depths, linked
from .documents import Document
from .entity_table import HandleRewriter
from .saved_component import SavedComponent
from .schema_matching import SchemaMatch


@dataclass(frozen=True)
class RowPlan:
    """Takes cells of old rows in their new order, and puts them where they belong."""

    old_n: int
    """Number of rows of the old columns."""
    order: RowArray | None
    """The old row of each instance, in the order of the new rows; None: all, as they are."""
    at: RowArray | None = None
    """Its new row, where rows are indices of entities; None: one after the other."""
    new_n: int = 0
    """Number of rows of the new columns, with `at`."""
    stays: bool = False
    """True if no row has moved, so that columns can stay as they are."""

    @property
    def count(self) -> int:
        """Number of instances."""
        return self.old_n if self.order is None else len(self.order)

    @property
    def n(self) -> int:
        """Number of rows of the new columns."""
        return self.count if self.at is None else self.new_n

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
        """Return the new rows of old ones; NIL for removed rows, and for NIL."""
        if self.stays:
            return rows
        table = np.full(self.old_n + 1, NIL, np.uint32)
        old: RowArray | slice = slice(0, self.old_n) if self.order is None else self.order
        table[old] = np.arange(self.count) if self.at is None else self.at
        return table.take(rows, mode="clip")

    def old_row(self, instance: int) -> int:
        """Return the old row of an instance, for messages."""
        return instance if self.order is None else int(self.order[instance])


def kept_plan(old_n: int, used: RowArray | None) -> RowPlan:
    """Return the plan by which all rows stay where they are, holes among them."""
    return RowPlan(old_n, used, used, old_n, stays=True)


def packed_plan(old_n: int, order: RowArray | None) -> RowPlan:
    """Return the plan by which old rows come one after the other."""
    return RowPlan(old_n, order, stays=order is None)


def plan_rows(old: SavedComponent, doc: Document, handles: HandleRewriter) -> RowPlan:
    """Return which old rows a component has now: for a manager's columns, or for chunks."""
    if not old.has_owners or doc["owner"] == "none":
        if old.count and doc["owner"] == "entity":
            why = f"no entity owns its {old.count} rows, and each needs one now"
            old.refuse_rows(f"{why}; only migrate= can say whose they are")
        return packed_plan(old.n, old.used)
    is_kept = _kept_rows(old, doc, handles)
    if is_kept.all() and old.used is None:
        order = None
    else:
        order = np.flatnonzero(is_kept if old.used is None else is_kept & (old.owners != 0))
    _check_single(old, doc, order)
    return placed(old, doc, order, handles)


def placed(
    old: SavedComponent, doc: Document, order: RowArray | None, handles: HandleRewriter
) -> RowPlan:
    """Return the plan that has old rows in an order, or at their entities' indices."""
    if doc["in"] == "archetypes" or doc["lookup"] != "direct":
        return packed_plan(old.n, order)
    count = old.n if order is None else len(order)
    if not old.is_chunked and old.doc["lookup"] == "direct" and count == old.count:
        return kept_plan(old.n, old.used)
    owners = old.owners if order is None else old.owners[order]
    indices = handles.entities.indices(owners)
    return RowPlan(old.n, order, indices, int(indices.max(initial=-1)) + 1)


def _kept_rows(old: SavedComponent, doc: Document, handles: HandleRewriter) -> NDArray[np.bool_]:
    """Return which rows, holes among them, are not those of the dead that go."""
    is_kept = np.ones(old.n, np.bool_)
    owners = old.owners
    lives_on = doc["in"] == "archetypes" or doc["destroy"] == "callback"
    lived = old.is_chunked or old.doc["destroy"] == "callback"
    if (lives_on and not lived) or not handles.stay:
        alive = handles.entities.alive(owners)
        if lives_on:
            is_kept &= alive
        else:
            is_kept &= alive | handles.fit(owners) | (owners == 0)
            if doc["destroy"] == "manual" and not is_kept.all():  # the user's to remove
                row = int((~is_kept).argmax())
                entity = old.saved.shown(owners[row])
                why = f"the dead entity {entity} does not fit the new bits"
                why += f"; {handles.way_back}"
                old.saved.refuse(why, f"{old.module}.entity", row)
    if doc["lookup"] != "hash" and not old.is_chunked and old.doc["lookup"] == "hash":
        is_kept &= ~_displaced(old, handles)
    return is_kept


def _displaced(old: SavedComponent, handles: HandleRewriter) -> NDArray[np.bool_]:
    """Return a mask of rows whose owner's index has a later owner here."""
    index = handles.entities.indices(old.owners)
    latest = np.zeros(len(handles.entities.cells), np.uint64)
    np.maximum.at(latest, index, old.owners)
    return np.asarray(latest[index] != old.owners)


def _check_single(old: SavedComponent, doc: Document, order: RowArray | None) -> None:
    """Refuse several instances of an entity where there may be one."""
    if doc["instances"] == "many" or old.doc["instances"] == "one":
        return
    rows = np.arange(old.n) if order is None else order
    followed = rows[old.column("next")[rows] != NIL]
    if len(followed):
        row = int(followed[0])
        entity = old.saved.shown(old.owners[row])
        why = f"the entity {entity} has several instances, and may have one now"
        why += "; 'instances: many' keeps all, or choose in migrate="
        old.refuse_rows(why, ".entity", row)


_SHORT: Final = 1 << 16


def chained(owners: NDArray[Any], rows: RowArray, n: int) -> tuple[RowLinks, RowLinks]:
    """Return the links of n rows of which some are chained by owner, in the order given.

    The others are chains of their own.
    """
    nexts = np.full(n, NIL, np.uint32)
    previous = np.arange(n, dtype=np.uint32)
    if len(rows):
        writes, *_ = linked(nexts, previous, owners, rows)
        for column, where, values in writes:
            column[where] = values
    return nexts, previous


def by_rank(nexts: RowLinks, plan: RowPlan) -> RowArray:
    """Return the new rows, those first that have the most behind them in their old chains."""
    rank = plan.take(depths(nexts))  # how many rows follow each
    most = int(rank.max()) if len(rank) else 0
    before = most - rank
    if most < _SHORT:
        return np.argsort(before.astype(np.uint16), kind="stable")  # a radix sort
    return np.argsort(before, kind="stable")


def plan_groups(
    names: SchemaMatch, handles: HandleRewriter, plans: dict[str, RowPlan]
) -> dict[str, int]:
    """Order the rows of groups' members, and return how many entities each group has."""
    counts = {}
    for group, members in names.schema["groups"].items():
        old_group = _same_group(names, members)
        if old_group is not None and all(plans[name].stays for name in members):
            counts[group] = names.saved.state["groups"][old_group]
        else:
            counts[group] = _plan_group(names, handles, plans, members)
    return counts


def _same_group(names: SchemaMatch, members: list[str]) -> str | None:
    wanted = {names.components[m].name for m in members if m in names.components}
    groups: Document = names.saved.schema["groups"]
    for name, old in groups.items():
        if set(old) == wanted and len(wanted) == len(members):
            return name
    return None


def _plan_group(
    names: SchemaMatch, handles: HandleRewriter, plans: dict[str, RowPlan], members: list[str]
) -> int:
    owners = {name: plans[name].take(names.old(name).owners) for name in members}
    first, *other_members = members
    rows = np.arange(len(owners[first]))
    rows_by_member: dict[str, RowArray] = {first: rows}
    for name in other_members:
        wanted = owners[first][rows_by_member[first]]
        member_rows = _rows_of(owners[name], wanted, handles)
        has_it = member_rows >= 0
        rows_by_member = {other: rows[has_it] for other, rows in rows_by_member.items()}
        rows_by_member[name] = member_rows[has_it]
    for name in members:
        plans[name] = _with_first(plans[name], rows_by_member[name])
    return len(rows_by_member[first])


def _with_first(plan: RowPlan, rows: RowArray) -> RowPlan:
    """Return the plan with `rows` in front, and other rows behind in their order."""
    count = plan.count
    is_first = np.zeros(count, np.bool_)
    is_first[rows] = True
    order = np.concatenate((rows, np.flatnonzero(~is_first)))
    if (order == np.arange(count)).all():
        return plan
    old = order if plan.order is None else plan.order[order]
    return packed_plan(plan.old_n, old)


def _rows_of(owners: EntityArray, wanted: EntityArray, handles: HandleRewriter) -> RowArray:
    """Return the row of each wanted entity, -1 for those that have none; O(n), or n log n."""
    if len(owners) == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1, np.intp)
    index, wanted_indices = map(handles.entities.indices, (owners, wanted))
    table = np.full(max(int(index.max()), int(wanted_indices.max())) + 1, -1, np.intp)
    table[index] = np.arange(len(owners))
    rows = table[wanted_indices]
    if (table[index] != np.arange(len(owners))).any():  # an index has several owners
        order = np.argsort(owners, kind="stable")
        positions = np.searchsorted(owners, wanted, sorter=order)
        rows = order.take(positions, mode="clip")
    return np.where((rows >= 0) & (owners[rows] == wanted), rows, -1)


Tables = list[list[Any]]
"""The components of each table, and how many rows it has."""

_WORD: Final = 32
"""So many components are told apart at once."""

_FEW_KEYS: Final = 1 << 16
"""Up to here a table of all keys is quicker than sorting them."""


def plan_chunks(
    names: SchemaMatch, handles: HandleRewriter, plans: dict[str, RowPlan], components: list[str]
) -> tuple[Tables, EntityArray]:
    """Order the rows of components in chunks; return the tables, and the owners of rows."""
    old_tables = names.saved.state.get("archetypes", {"tables": []})["tables"]
    if _all_stay(names, plans, components, old_tables):
        tables = [
            [[names.targets[component] for component in old], rows] for old, rows in old_tables
        ]
        return tables, _saved_owners(names)
    owners = {name: plans[name].take(names.old(name).owners) for name in components}
    entities = _first_of_each([_saved_owners(names), *owners.values()], handles)
    has_component = {
        n: _rows_of(owner_column, entities, handles) >= 0 for n, owner_column in owners.items()
    }
    number, firsts = number_tables([*has_component.values()], len(entities))
    few = len(firsts) < _FEW_KEYS  # then it is a radix sort
    order = np.argsort(number.astype(np.uint16) if few else number, kind="stable")
    has_any = np.logical_or.reduce([*has_component.values()])
    order = order[has_any[order]]
    entities = entities[order]
    counts = np.bincount(number, minlength=len(firsts)).tolist()
    present = [[c for c in components if has_component[c][first]] for first in firsts]
    tables = [[c, n] for c, n in zip(present, counts, strict=True) if c]
    for name in components:
        wanted = entities[has_component[name][order]]
        rows = _rows_of(owners[name], wanted, handles)
        plan = plans[name]
        old_rows = rows if plan.order is None else plan.order[rows]
        plans[name] = packed_plan(plan.old_n, old_rows)
    return tables, entities


def _all_stay(
    names: SchemaMatch, plans: dict[str, RowPlan], components: list[str], tables: Tables
) -> bool:
    """Return True if no component comes to the chunks or leaves them, and no row is removed."""
    old_names = {name for present, _ in tables for name in present}
    goes_on = set()
    for name in components:
        old = names.old(name)
        if old.is_new:
            continue
        if not old.is_chunked or not plans[name].stays:
            return False
        goes_on.add(old.name)
    return old_names <= goes_on


def _saved_owners(names: SchemaMatch) -> EntityArray:
    none = np.empty(0, np.uint64)
    owners: EntityArray = names.saved.arrays.get("archetypes.entity", none)
    return owners


def _first_of_each(owners: list[EntityArray], handles: HandleRewriter) -> EntityArray:
    """Return all entities once, in the order in which they are there first."""
    all_owners = np.concatenate(owners)
    if len(all_owners) == 0:
        return all_owners
    index = handles.entities.indices(all_owners)
    first = np.full(int(index.max()) + 1, -1, np.intp)
    first[index[::-1]] = np.arange(len(all_owners))[::-1]
    unique_owners: EntityArray = all_owners[first[index] == np.arange(len(all_owners))]
    return unique_owners


def number_tables(having: list[NDArray[np.bool_]], count: int) -> tuple[NDArray[np.intp], RowArray]:
    """Return the table of each entity, numbered as they are met, and the first entity of each;
    `having`: for each component which of them have it."""
    number = np.zeros(count, np.intp)
    for start in range(0, len(having), _WORD - 1):
        key = number << (_WORD - 1)
        for bit, mask in enumerate(having[start : start + _WORD - 1]):
            key |= mask.astype(np.intp) << bit
        number = _numbered(key)
    firsts = np.empty(int(number.max()) + 1 if count else 0, np.intp)
    firsts[number[::-1]] = np.arange(count)[::-1]
    return number, firsts


def _numbered(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return keys as numbers from 0 on, in the order in which they are met."""
    if len(key) and int(key.max()) < _FEW_KEYS:
        table = np.full(int(key.max()) + 1, len(key), np.intp)
        table[key[::-1]] = np.arange(len(key))[::-1]
        met = np.flatnonzero(table < len(key))
        met = met[np.argsort(table[met])]
        table[met] = np.arange(len(met))
        return table[key]
    _, firsts, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.intp)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[inverse.reshape(-1)]
