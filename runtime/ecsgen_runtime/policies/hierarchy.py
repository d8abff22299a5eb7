"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component).

A parent's children are a chain like an entity's instances with `instances: many`, in order of
attachment, which begins at its `first_child` cell. A root has the parent NIL and is a chain of its
own.
"""

from __future__ import annotations

from functools import partial
from operator import index
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bulk import SMALL_BATCH
from ..columns import Rows
from ..handles import NIL, Instance, RowArray
from ..per_class import NO_SLOTS, per_class
from ..placement import NO_ROWS, Planned, put
from .chains import ROUNDS, walk
from .links import (
    FamilyLinks,
    LevelCache,
    children_of,
    circular,
    closed_circle,
    few_below,
    is_below,
    moved_family,
    new_parents,
    parent_numbers,
    parents_given,
    with_descendants,
)
from .packed import Packed


class FamilyRows(Rows):
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
        column = self._parent_column[: self._n]
        column.flags.writeable = False
        return column

    def _family(self) -> FamilyLinks:
        """Return the columns that make the hierarchy."""
        return FamilyLinks(
            self._parent_column,
            self._first_child_column,
            self._next_sibling_column,
            self._previous_sibling_column,
        )


class Hierarchy(Packed):
    """A manager whose instances have parents and children."""

    __slots__ = NO_SLOTS
    data: FamilyRows
    _levels: LevelCache

    @per_class
    def parent(self, row: int, /) -> Instance:
        """Return the row's parent, or NIL for a root; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._parent_cells[row]

    @per_class
    def first_child(self, row: int, /) -> Instance:
        """Return the child that was attached first, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._first_child_cells[row]

    @per_class
    def next_sibling(self, row: int, /) -> Instance:
        """Return the same parent's child that was attached after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._next_sibling_cells[row]

    @per_class
    def previous_sibling(self, row: int, /) -> Instance:
        """Return the same parent's child that was attached before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        before = data._previous_sibling_cells[row]
        return NIL if data._next_sibling_cells[before] == NIL else before

    @per_class
    def children(self, row: int, /) -> RowArray:
        """Return the row's children in order of attachment, shape (k,); O(k)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return walk(data._next_sibling_cells, data._first_child_cells[row])

    def roots(self) -> RowArray:
        """Return the rows without a parent, ascending; O(n)."""
        without: NDArray[np.bool_] = self.data.parent == NIL
        return without.nonzero()[0]

    def levels(self) -> tuple[RowArray, ...]:
        """Return the rows level by level, from the roots down, ascending in each; read-only.

        O(n log depth), once per `version`.
        """
        return self._levels.levels(self.data.parent, self.data._version)

    @per_class
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
            self._refuse_locked()
        parent = Instance(index(parent))
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        if parent != NIL and not 0 <= parent < data._n:
            raise self._unused(parent)
        parents = data._parent_cells
        if parents[row] == parent:
            return
        is_leaf = data._first_child_cells[row] == NIL
        if parent == row or (not is_leaf and is_below(parents, parent, row)):
            raise circular(type(self).__name__, row)
        try:
            if parents[row] != NIL:
                self._leave_parent(row)  # type: ignore[arg-type]  # a call takes time
            self._join_parent(row, parent)  # type: ignore[arg-type]  # see above
            data._version += 1
        except BaseException:
            self._break()
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
            self._refuse_locked()
        data, name = self.data, type(self).__name__
        numbers = parent_numbers(parents, name)
        given = self._rows_given(rows)
        n = data._n
        self._distinct(given)
        wanted = parents_given(numbers, len(given), self)
        changed = data._parent_column[given] != wanted
        given, wanted = given[changed], wanted[changed]
        if len(given) == 0:
            return
        links = data._family()
        culprit = closed_circle(links, given, wanted, n)
        if culprit != NIL:
            raise circular(name, culprit)
        writes = new_parents(links, given, wanted, n)
        try:
            put(writes)
            self.data._version += 1
        except BaseException:
            self._break()
            raise

    def _attach(self) -> None:
        super()._attach()
        self._levels = LevelCache()

    def _nbytes(self) -> int:
        return super()._nbytes() + self._levels.rows.nbytes

    def _with_descendants(self, gone: RowArray) -> RowArray:
        """Return rows with all that are below them, ascending."""
        data = self.data
        if len(gone) <= SMALL_BATCH:
            firsts, nexts = data._first_child_cells, data._next_sibling_cells
            few = few_below(firsts, nexts, gone.tolist())
            if few is not None:
                return np.array(few, np.intp)
        return with_descendants(data._family(), gone, data._n)

    @per_class
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

    def _orphans(self, gone: RowArray) -> RowArray:
        """Return the children of rows that go, if they stay behind."""
        return NO_ROWS

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        data = self.data
        if len(gone) == data._n:
            return super()._plan_moves(src, dst, gone)
        orphans = self._orphans(gone) if len(gone) else gone
        writes = moved_family(data._family(), (src, dst), gone, orphans, data._n)
        return (*super()._plan_moves(src, dst, gone), partial(put, writes))

    @per_class
    def _join_parent(self, row: Instance, parent: Instance) -> None:
        """Append a row without a parent to the children of one, or leave it a root."""
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

    @per_class
    def _leave_parent(self, row: Instance) -> None:
        """Take a row out of its parent's children."""
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

    @per_class
    def _relink_family(self, src: int, dst: Instance) -> None:
        """Mend the links of children, siblings and parent after row src went to dst."""
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

    @per_class
    def _tell_children(self, src: int, dst: Instance) -> None:
        """Let the children of a row that went from src to dst know it."""
        data = self.data
        parents = data._parent_cells
        child = data._first_child_cells[dst]
        for _ in range(ROUNDS):
            parents[child] = dst
            child = data._next_sibling_cells[child]
            if child == NIL:
                return
        column = data._parent_column[: data._n + 1]  # the spare row as well
        column[column == src] = dst  # many children: one pass over all rows is quicker


class OrphansDestroy(Hierarchy):
    """A manager in whose hierarchy the descendants of rows that go, go with them."""

    __slots__ = NO_SLOTS
    _BY_ROW: ClassVar[bool] = False
    _FOLLOWED: ClassVar[bool] = True

    def _with_followers(self, gone: RowArray) -> RowArray:
        return self._with_descendants(gone)


class OrphansRoot(Hierarchy):
    """A manager in whose hierarchy the children of rows that go become roots."""

    __slots__ = NO_SLOTS

    def _orphans(self, gone: RowArray) -> RowArray:
        return children_of(self.data._family(), gone, self.data._n)
