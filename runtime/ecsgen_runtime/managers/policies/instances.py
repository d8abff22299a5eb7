"""instances: one and instances: many: the rows of one entity."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.handles import NIL, Entity, EntityArray, Instance, RowArray
from ...base.specialisation import NO_SLOTS, accelerated, specialised
from ...tables import placement
from ...tables.changes import ChangeReader
from ...tables.columns import OwnedRows, owner_column, used_rows
from ...tables.placement import NO_ROWS, CommitSteps, Remap, Write
from ...values.array_coercion import as_entities
from ..query_members import QueryListMember, QueryMember
from ..row_proxies import ProxyT, iter_proxies
from .chains import (
    LinkUpdates,
    chain_lengths,
    chain_rows,
    chain_to_array,
    first_rows,
    joined,
    linked,
)
from .ids import IdMethods
from .lookup_maps import Mapped
from .owners import Owned


class One(Owned):
    """A manager with at most one instance per entity."""

    __slots__ = NO_SLOTS

    def _single_rows(self, entities: list[int]) -> list[int] | None:
        lookup = self.lookup
        rows = {lookup(entity) for entity in entities}  # type: ignore[arg-type]  # calling Entity takes time
        rows.discard(NIL)
        return [*rows]

    def _rows_with(self, row: Instance) -> RowArray:
        return np.array([row])

    def rows_of_many(self, entities: EntityArray) -> RowArray:
        rows = self.lookup_many(entities)
        rows = rows[rows != NIL]
        rows.sort()
        is_repeated = rows[1:] == rows[:-1]
        return np.unique(rows) if np.logical_or.reduce(is_repeated) else rows

    def _check_can_create(self, entities: EntityArray) -> None:
        name, layout = type(self).__name__, self._entities.HANDLE_LAYOUT
        placement.first_repeated(name, entities, layout)
        if len(entities) and not self._surely_have_no_rows(entities):
            placement.first_present(name, entities, self.lookup_many(entities), layout)


class MappedOne(Mapped, One):
    """One instance per entity, found by a map."""

    __slots__ = NO_SLOTS

    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ("_unmap_rows",)
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ("_map_moved_rows",)


# Bitsquid leaves the list "as an exercise". It is circular backwards: the first row's
# `previous` cell holds the last row, so that appending is O(1) and a row is the first
# exactly if next[previous[row]] is NIL. The map holds each entity's first row.


class LinkedRows(OwnedRows):
    """Rows with the links of their entities' lists."""

    __slots__ = NO_SLOTS
    _next_column: NDArray[np.uint32]
    _next_cells: memoryview[Instance]
    _previous_column: NDArray[np.uint32]
    _previous_cells: memoryview[Instance]


ListPlan: TypeAlias = tuple[list[Write], EntityArray, RowArray, EntityArray]
"""Plan of lists and map: writes to links, owners to map, their first rows, and owners to unmap."""


class Many(Mapped):
    """A manager with any number of instances per entity."""

    __slots__ = NO_SLOTS
    ALLOWS_MANY: ClassVar = True
    MEMBER: ClassVar[type[QueryMember]] = QueryListMember
    data: LinkedRows

    def changes(self, /, *fields: str) -> ChangeReader:
        if not isinstance(self, IdMethods):
            why = "an entity may have several rows, which ids tell apart: say `ids: true`"
            raise TypeError(f"{type(self).__name__}.changes: {why}")
        return super().changes(*fields)

    @specialised
    def remove(self, entity: Entity, /) -> int:
        """Remove all instances of the entity and return how many went; O(that number)."""
        if self._locks:
            self._raise_if_locked()
        row = self.lookup(entity)
        if row == NIL:
            return 0
        if self.data._previous_cells[row] == row:  # the only one
            return self._destroy_row(row)
        return self.destroy_rows(self._rows_with(row))

    @accelerated("lookup")
    def first(self, entity: Entity, /) -> Instance:
        """Return the entity's first row in order of creation, or NIL; O(1)."""
        return self.lookup(entity)

    @specialised
    def next(self, row: int, /) -> Instance:
        """Return the same entity's row that was created after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._next_cells[row]

    @specialised
    def previous(self, row: int, /) -> Instance:
        """Return the same entity's row that was created before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        before = data._previous_cells[row]
        return NIL if data._next_cells[before] == NIL else before

    @specialised
    def instances(self, entity: Entity, /) -> Iterator[Instance]:
        """Iterate over the entity's rows in order of creation, as they are now."""
        row = self.lookup(entity)
        return iter([] if row == NIL else self.rows_from(row).tolist())

    @specialised
    def count(self, entity: Entity, /) -> int:
        """Return how many instances the entity has; O(that number)."""
        row = self.lookup(entity)
        return 0 if row == NIL else len(self.rows_from(row))

    def count_many(self, entities: ArrayLike, /) -> RowArray:
        """Return how many instances each of k entities has, shape (k,); O(k), or O(n)."""
        handles = as_entities(entities)
        data = self.data
        owners = owner_column(data)[: data.n]
        return chain_lengths(data._next_column, owners, handles, self.lookup_many(handles))

    def first_rows(self) -> RowArray:
        data = self.data
        n = data.n
        return first_rows(data._next_column[:n], data._previous_column[:n])

    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the present rows until a structural change; O(n)."""
        return iter_proxies(kind, self, used_rows(self.data).tolist())

    def _copies_of(self, entity: Entity) -> Iterator[Any]:
        return map(self.row, self.instances(entity))

    @specialised
    def rows_from(self, first: int) -> RowArray:
        """Return the rows of the list that begins at `first`, in its order."""
        return chain_to_array(self.data._next_cells, first)

    @specialised
    def _rows_with(self, row: Instance) -> RowArray:
        return np.sort(self.rows_from(row))

    def rows_of_many(self, entities: EntityArray) -> RowArray:
        data = self.data
        owners = owner_column(data)[: data.n]
        heads = self.lookup_many(entities)
        return chain_rows(data._next_column, owners, entities, heads)

    @specialised
    def _link_row(self, entity: Entity, row: Instance) -> None:
        """Append a new row to its entity's list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        nexts[row] = NIL
        first = self.lookup(entity)
        if first == NIL:
            self._map_row(entity, row)
            previous[row] = row
            return
        last = previous[first]
        nexts[last] = row
        previous[row] = last
        previous[first] = row

    def _plan_chain_appends(
        self,
        entities: EntityArray,
        rows: RowArray,
        src: RowArray = NO_ROWS,
        dst: RowArray = NO_ROWS,
    ) -> ListPlan:
        """Plan to append new rows to lists, in the order given, once src[k] are at dst[k]."""
        nexts, previous = self.data._next_column, self.data._previous_column
        writes, first, last, owners = linked(nexts, previous, entities, rows)
        heads = self.lookup_many(owners)
        new, old = heads == NIL, heads != NIL
        moved = Remap(src, dst, self.data.n)
        heads = heads[old]
        lists = moved(heads), moved(previous[heads])
        writes += joined(nexts, previous, lists, (first[old], last[old]))
        return writes, owners[new], first[new], owners[:0]

    @specialised
    def _unlink_row(self, row: Instance) -> None:
        """Take a row out of its list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[row]
        before, after = previous[row], nexts[row]
        if before == row:  # the only one
            self._unmap(owner)
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._map_row(owner, after)
        else:
            nexts[before] = after
        behind = self._first_of(owner) if after == NIL else after
        previous[behind] = before

    def _plan_moves(self, src: RowArray, dst: RowArray, removed: RowArray = NO_ROWS) -> CommitSteps:
        relink = partial(self._commit_chains, self._plan_chains(src, dst, removed))
        return (*super()._plan_moves(src, dst, removed), relink)

    def _plan_chains(self, src: RowArray, dst: RowArray, removed: RowArray) -> ListPlan:
        data = self.data
        owners = owner_column(data)
        if len(removed) == data.n:
            left = owners[self.first_rows()]
            return [], left[:0], removed[:0], left
        previous = data._previous_column
        if (previous[src] == src).all() and (previous[removed] == removed).all():
            # each is its owner's only one
            return [(previous, dst, dst)], owners[src], dst, owners[removed]
        moves = src, dst
        chains = LinkUpdates(data._next_column, data._previous_column, moves, removed, data.n)
        entered, first, left = owners[:0], dst[:0], owners[:0]
        if len(src):
            is_first, is_last = chains.follow(src, dst)
            heads = chains.after(self._firsts_of(owners[src[is_last]]))
            chains.writes.append((previous, heads, dst[is_last]))
            entered, first = owners[src[is_first]], dst[is_first]
        if len(removed):
            losing = np.unique(owners[removed])
            heads = chains.close(self._firsts_of(losing))
            is_left, left = heads != NIL, losing[heads == NIL]
            entered = np.concatenate((entered, losing[is_left]))
            first = np.concatenate((first, heads[is_left]))
        return chains.writes, entered, first, left

    def _commit_chains(self, plan: ListPlan) -> None:
        writes, owners, first, left = plan
        placement.apply_writes(writes)
        self._unmap_many(left)
        self._map_rows(owners, first)

    @specialised
    def _relink_row(self, src: int, dst: Instance) -> None:
        """Mend a list after row src moved to dst."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[dst]
        before, after = previous[dst], nexts[dst]
        if before == src:  # the only one
            self._map_row(owner, dst)
            previous[dst] = dst
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._map_row(owner, dst)
        else:
            nexts[before] = dst
        behind = self._first_of(owner) if after == NIL else after
        previous[behind] = dst
