"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component).

A parent's children are a chain like an entity's instances with `instances: many`, in order of
attachment, which begins at its `first_child` cell. A root has the parent NIL and is a chain of its
own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import EcsError, StaleInstanceError
from ...base.handles import NIL, Columns, Entity, EntityArray, IdArray, Instance, RowArray
from ...base.locks import mark_broken_if_changed
from ...base.specialisation import NO_SLOTS, specialised
from ...tables.buffers import read_only
from ...tables.columns import OwnedRows, Rows, owner_column
from ...tables.placement import NO_ROWS, CommitSteps, Remap, apply_writes
from ...values.array_coercion import SMALL_BATCH, parse_count
from ...values.interchange import TableLike
from . import chains
from .chains import MAX_STEPS, LevelCache, chain_to_array, is_below
from .owners import Owned, Unowned
from .packed import Packed

_Made = TypeVar("_Made", bound=int)
_Cell = TypeVar("_Cell", bound=np.generic)


class HierarchyRows(Rows):
    """Rows with parents, children and siblings."""

    __slots__ = NO_SLOTS
    _parent_column: NDArray[np.uint32]
    _parent_cells: memoryview[Instance]
    _first_child_column: NDArray[np.uint32]
    _first_child_cells: memoryview[Instance]
    _next_sibling_column: NDArray[np.uint32]
    _next_sibling_cells: memoryview[Instance]
    _previous_sibling_column: NDArray[np.uint32]
    _previous_sibling_cells: memoryview[Instance]

    @property
    def parent(self) -> NDArray[np.uint32]:
        """The parent of each row, NIL for roots, shape (n,); read-only."""
        return read_only(self._parent_column[: self._n])

    def _family(self) -> chains.HierarchyLinks:
        """Return the link columns."""
        return chains.HierarchyLinks(
            self._parent_column,
            self._first_child_column,
            self._next_sibling_column,
            self._previous_sibling_column,
        )


class Hierarchy(Packed):
    """A manager whose instances have parents and children."""

    __slots__ = NO_SLOTS
    data: HierarchyRows
    _entities: Any
    """Entity manager, if rows have owners."""
    _levels: LevelCache
    _tracked_parents: Sequence[Instance] | RowArray | None
    """The parents of rows that are being created, wherever they move meanwhile."""

    @specialised
    def parent(self, row: int, /) -> Instance:
        """Return the row's parent, or NIL for a root; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._parent_cells[row]

    @specialised
    def first_child(self, row: int, /) -> Instance:
        """Return the child that was attached first, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._first_child_cells[row]

    @specialised
    def next_sibling(self, row: int, /) -> Instance:
        """Return the same parent's child that was attached after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._next_sibling_cells[row]

    @specialised
    def previous_sibling(self, row: int, /) -> Instance:
        """Return the same parent's child that was attached before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        before = data._previous_sibling_cells[row]
        return NIL if data._next_sibling_cells[before] == NIL else before

    @specialised
    def children(self, row: int, /) -> RowArray:
        """Return the row's children in order of attachment, shape (k,); O(k)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return chain_to_array(data._next_sibling_cells, data._first_child_cells[row])

    def roots(self) -> RowArray:
        """Return the rows without a parent, ascending; O(n)."""
        without: NDArray[np.bool_] = self.data.parent == NIL
        return without.nonzero()[0]

    def levels(self) -> tuple[RowArray, ...]:
        """Return the rows level by level, from the roots down, ascending in each; read-only.

        O(n log depth), once per `version`.
        """
        return self._levels.levels(self.data.parent, self.data._version)

    @specialised
    def set_parent(self, row: int, parent: int, /) -> None:
        """Attach a row as a parent's last child, or make it a root with NIL; O(1).

        No row moves. A row with children costs O(depth of the parent). Nothing changes if
        that is its parent already.

        Raises:
            StaleInstanceError: a row is not in use.
            HierarchyError: the parent is the row itself or below it.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        parent = Instance(index(parent))
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        if parent != NIL and not 0 <= parent < data._n:
            raise self._unused_row_error(parent)
        parents = data._parent_cells
        if parents[row] == parent:
            return
        is_leaf = data._first_child_cells[row] == NIL
        if parent == row or (not is_leaf and is_below(parents, parent, row)):
            raise chains.cycle_error(type(self).__name__, row)
        try:
            if parents[row] != NIL:
                self._detach_from_parent(row)  # type: ignore[arg-type]  # a call takes time
            self._attach_to_parent(row, parent)  # type: ignore[arg-type]  # see above
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise

    def set_parent_many(self, rows: ArrayLike, parents: ArrayLike, /) -> None:
        """Give k distinct rows, or a mask's, their parents: one for all, or one each; O(k * depth).

        NIL makes roots. Rows are attached in the order given; those that have that parent
        already stay where they are. Only the final state counts: rows may change places
        with their ancestors. Never more than O(n log depth), as for many rows in deep trees.

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            ValueError: not as many parents as rows.
            HierarchyError: a row would become its own ancestor.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        data, name = self.data, type(self).__name__
        numbers = chains.parent_numbers(parents, name)
        checked = self._require_rows(rows)
        n = data.n
        self._distinct(checked)
        wanted = chains.parse_parents(numbers, len(checked), self)
        changed = data._parent_column[checked] != wanted
        checked, wanted = checked[changed], wanted[changed]
        if len(checked) == 0:
            return
        links = data._family()
        culprit = chains.find_cycle(links, checked, wanted, n)
        if culprit != NIL:
            raise chains.cycle_error(name, culprit)
        self._commit(apply_writes, chains.plan_reparenting(links, checked, wanted, n))

    def _init_transient(self) -> None:
        super()._init_transient()
        self._levels = LevelCache()
        self._tracked_parents = None

    def _nbytes(self) -> int:
        return super()._nbytes() + self._levels.rows.nbytes

    def with_descendants(self, removed: RowArray) -> RowArray:
        """Return rows and all their descendants, ascending."""
        data = self.data
        if len(removed) <= SMALL_BATCH:
            firsts, nexts = data._first_child_cells, data._next_sibling_cells
            few = chains.small_subtree(firsts, nexts, removed.tolist())
            if few is not None:
                return np.array(few, np.intp)
        return chains.with_descendants(data._family(), removed, data.n)

    @specialised
    def _release_children(self, row: Instance) -> None:
        """Make the children of a row roots."""
        data = self.data
        child = data._first_child_cells[row]
        while child != NIL:
            following = data._next_sibling_cells[child]
            data._parent_cells[child] = NIL
            data._next_sibling_cells[child] = NIL
            data._previous_sibling_cells[child] = child
            child = following

    def _orphans(self, removed: RowArray) -> RowArray:
        """Return the children that stay when these rows are removed."""
        return NO_ROWS

    def _plan_moves(self, src: RowArray, dst: RowArray, removed: RowArray = NO_ROWS) -> CommitSteps:
        planned, data = super()._plan_moves(src, dst, removed), self.data
        moves, n = (src, dst), data.n
        if len(removed) < n:
            orphans = self._orphans(removed) if len(removed) else removed
            writes = chains.plan_hierarchy_moves(data._family(), moves, removed, orphans, n)
            planned = (*planned, partial(apply_writes, writes))
        if self._tracked_parents is None:
            return planned
        rows = np.asarray(self._tracked_parents, np.intp)
        lost_parents, name = rows[np.isin(rows, removed)], type(self).__name__
        if len(lost_parents):
            raise StaleInstanceError(
                f"{name}: row {lost_parents[0]} can't be a parent, for it goes to make room"
            )
        follow = partial(setattr, self, "_tracked_parents", Remap(src, dst, n)(rows))
        return (*planned, follow)

    @specialised
    def _attach_to_parent(self, row: Instance, parent: Instance) -> None:
        """Append a root to the children of `parent`; NIL leaves it a root."""
        data = self.data
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        data._parent_cells[row] = parent
        nexts[row] = NIL
        previous[row] = row
        if parent == NIL:
            return
        first = data._first_child_cells[parent]
        if first == NIL:
            data._first_child_cells[parent] = row
            return
        last = previous[first]
        nexts[last] = row
        previous[row] = last
        previous[first] = row

    @specialised
    def _detach_from_parent(self, row: Instance) -> None:
        """Detach a row from its parent."""
        data = self.data
        firsts = data._first_child_cells
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        owner = data._parent_cells[row]
        before, after = previous[row], nexts[row]
        if before == row:  # the only one
            firsts[owner] = NIL
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            firsts[owner] = after
        else:
            nexts[before] = after
        behind = firsts[owner] if after == NIL else after
        previous[behind] = before

    @specialised
    def _relink_hierarchy(self, src: int, dst: Instance) -> None:
        """Mend the links of children, siblings and parent after row src moved to dst."""
        data = self.data
        firsts = data._first_child_cells
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        if firsts[dst] != NIL:
            self._tell_children(src, dst)
        owner = data._parent_cells[dst]
        if owner == NIL:
            previous[dst] = dst
            return
        before, after = previous[dst], nexts[dst]
        if before == src:  # the only one
            firsts[owner] = dst
            previous[dst] = dst
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            firsts[owner] = dst
        else:
            nexts[before] = dst
        behind = firsts[owner] if after == NIL else after
        previous[behind] = dst

    @specialised
    def _tell_children(self, src: int, dst: Instance) -> None:
        """Update the parent of the children of a row that moved from src to dst."""
        data = self.data
        parents = data._parent_cells
        child = data._first_child_cells[dst]
        for _ in range(MAX_STEPS):
            parents[child] = dst
            child = data._next_sibling_cells[child]
            if child == NIL:
                return
        column = data._parent_column[: data.n + 1]  # the spare row as well
        column[column == src] = dst  # many children: one pass over all rows is quicker

    # A creation may evict and move rows before there is a new one: parents are tracked meanwhile.

    def _evict_row(self, row: Instance) -> None:
        if self._tracked_parents is None:
            super()._evict_row(row)
        else:  # only bulk moves update tracked parents
            self.destroy_rows(np.array([row]))

    @specialised
    def _track_parent(self, parent: Instance) -> None:
        """Track a parent, if it is not NIL; StaleInstanceError if it is not in use."""
        number = index(parent)
        self._tracked_parents = None
        if 0 <= number < self.data.n:
            self._tracked_parents = (number,)  # type: ignore[assignment]  # calling Instance takes time
        elif number != NIL:
            raise self._unused_row_error(number)

    @specialised
    def _attach_to_tracked(self, row: Instance) -> None:
        """Make a new row the last child of the tracked parent, if there is one."""
        if self._tracked_parents is None:
            return
        above, self._tracked_parents, data = self._tracked_parents[0], None, self.data
        try:
            if above == row:  # the parent made room for the new row, and moved to the end
                above = data.n - 1
            self._attach_to_parent(row, int(above))  # type: ignore[arg-type]  # an Instance
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise

    def _complete_rows(self, rows: RowArray) -> None:
        super()._complete_rows(rows)
        if len(rows) == 1:
            self._attach_to_tracked(Instance(rows.item(0)))
        else:
            self._attach_many_to_tracked(rows)

    def _track_parents(self, count: int, parents: ArrayLike) -> None:
        """Track the parents of so many new rows."""
        name = type(self).__name__
        numbers = chains.parent_numbers(parents, name)
        above = chains.parse_parents(numbers, count, self)
        self._tracked_parents = above.copy() if (above != NIL).any() else None

    def _stop_tracking(self, version: int, error: BaseException) -> None:
        """Stop tracking parents: a creation failed, before or after there were new rows."""
        self._tracked_parents = None
        if not isinstance(error, EcsError):
            mark_broken_if_changed(self, version)

    def _attach_many_to_tracked(self, rows: RowArray) -> None:
        """Make new rows the last children of the tracked parents."""
        if self._tracked_parents is None:
            return
        above, self._tracked_parents = np.asarray(self._tracked_parents, np.intp), None
        links, is_child = self.data._family(), above != NIL
        rows, above = rows[is_child], above[is_child]
        self._commit(apply_writes, chains.plan_reparenting(links, rows, above, self.data.n))

    @abstractmethod
    def _count_new(self, of: Any) -> int:
        """Return how many rows entities, or a number, ask for."""

    @abstractmethod
    def _created_rows(self, created: NDArray[Any]) -> RowArray:
        """Return the rows of what a creation of many returned."""

    def _create_child(
        self,
        parent: Instance,
        create: Callable[..., _Made],
        /,  # fields may be called like these
        *owner: Entity,
        **fields: Any,
    ) -> _Made:
        """Create a row below a parent. A dead owner is reported before a stale parent."""

        def adopted() -> _Made:
            try:
                self._track_parent(parent)
            except Exception:
                for entity in owner:
                    self._entities.require(entity)
                raise
            version = self.data._version
            try:
                created = create(*owner, **fields)
                # without an owner `created` is an id, and the manager has `resolve`
                row: Any = created if owner else self.resolve(created)  # type: ignore[attr-defined]  # see above
                self._attach_to_tracked(row)
            except BaseException as error:
                self._stop_tracking(version, error)
                raise
            return created

        if self.HAS_RELEASE_CALLBACKS or self.HAS_ADD_CALLBACKS or self._HOLDS_OBJECTS:
            return self._dispatch.run(adopted)  # despawns wait until the row is attached
        return adopted()

    def _create_children(
        self,
        parents: ArrayLike,
        create: Callable[..., NDArray[_Cell]],
        of: Any,
        arguments: Mapping[str, Any],
        table: TableLike | None = None,
    ) -> NDArray[_Cell]:
        """Create rows of these fields, of entities or so many, below their parents; O(k)."""
        self._check_names(arguments)
        self._track_parents(self._count_new(of), parents)

        def adopted() -> NDArray[_Cell]:
            version = self.data._version
            try:
                created = create(of, arguments, table)
                self._attach_many_to_tracked(self._created_rows(created))
            except BaseException as error:
                self._stop_tracking(version, error)
                raise
            return created

        return self._dispatch.run(adopted)


class OrphansDestroy(Hierarchy):
    """A manager that removes the descendants of removed rows."""

    __slots__ = NO_SLOTS
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    _CASCADES: ClassVar[bool] = True

    def _with_cascaded(self, removed: RowArray) -> RowArray:
        return self.with_descendants(removed)


class OrphansRoot(Hierarchy):
    """A manager that makes the children of removed rows roots."""

    __slots__ = NO_SLOTS

    def _orphans(self, removed: RowArray) -> RowArray:
        return chains.children_of(self.data._family(), removed, self.data.n)


class OwnedHierarchyRows(OwnedRows, HierarchyRows):
    """Rows with parents, children and siblings, which belong to entities."""

    __slots__ = NO_SLOTS


class OwnedHierarchy(Hierarchy, Owned):
    """A hierarchy of rows that belong to entities."""

    __slots__ = NO_SLOTS
    data: OwnedHierarchyRows

    def _count_new(self, entities: ArrayLike) -> int:
        return len(self._entities.require_many(entities))

    def _created_rows(self, created: RowArray) -> RowArray:
        return created


class UnownedHierarchy(Unowned, Hierarchy):
    """A hierarchy of rows without owners."""

    __slots__ = NO_SLOTS

    def _count_new(self, count: SupportsIndex) -> int:
        return parse_count(count, "instances", "n", type(self).__name__)

    def _created_rows(self, created: IdArray) -> RowArray:
        return self.resolve_many(created)


_FEW: Final = 64
"""At most so many are compared in a tenth of the time that `setdiff1d` takes for any."""


class OrphansDie(OrphansDestroy, OwnedHierarchy):
    """A manager that destroys the entities of a removed row's descendants."""

    __slots__ = NO_SLOTS
    HAS_RELEASE_CALLBACKS: ClassVar[bool] = True
    DESPAWNS_OWNERS: ClassVar[bool] = True

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        super()._ensure_capacity(entities, columns, borrowed)
        self._orphaned(self.with_descendants(self._rows_to_evict(entities)))

    def _plan_moves(self, src: RowArray, dst: RowArray, removed: RowArray = NO_ROWS) -> CommitSteps:
        # before callbacks run: it may be refused
        orphans = self._orphaned(removed)
        planned = super()._plan_moves(src, dst, removed)
        if len(orphans):  # destroyed once the rows are removed
            planned = (*planned, partial(self._dispatch.queue.append, orphans))
        return planned

    def _orphaned(self, removed: RowArray) -> EntityArray:
        """Return the entities to destroy with removed rows, which include their descendants.

        Owners of the topmost rows stay alive. Raises StructureLockedError if despawns are
        refused; inside of callbacks that is checked later.
        """
        data = self.data
        is_below = chains.isin_sorted(data._parent_column[removed], removed, data.n)
        if not is_below.any():
            return np.empty(0, np.uint64)
        owners = owner_column(data)[removed]
        orphans = _difference(owners[is_below], owners[~is_below])
        alive: NDArray[np.bool_] = self._entities.alive_many(orphans)
        orphans = orphans[alive]
        if len(orphans) and not self._dispatch.running:
            self._entities.callbacks.check()
        return orphans


def parent_column(rows: HierarchyRows) -> NDArray[np.uint32]:
    """Return the row of each row's parent, NIL for roots, shape (allocated,); O(1)."""
    return rows._parent_column


def _difference(entities: EntityArray, excluded: EntityArray) -> EntityArray:
    """Return the entities that are only in the first array, ascending, each once."""
    if len(entities) > _FEW:
        return np.setdiff1d(entities, excluded)
    return np.array(sorted({*entities.tolist()}.difference(excluded.tolist())), np.uint64)
