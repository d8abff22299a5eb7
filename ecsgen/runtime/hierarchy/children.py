"""Rows that are created as children: creation and attachment in one call.

A creation may have to remove rows and move others before there is a new one; the parents are
followed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..arrow.columns import GivenTable
from ..columns.rows import OwnedRows
from ..errors import StaleInstanceError
from ..handles import NIL, Entity, Id, IdArray, Instance, RowArray
from ..owners.owned import Owned
from ..owners.unowned import Unowned
from ..per_class import per_class
from ..placement.moves import NO_ROWS, Planned, put
from ..placement.rows import Remap, whole_count
from ..state import NO_SLOTS
from .hierarchy import FamilyRows, Hierarchy
from .links import new_parents, parent_numbers, parents_given


class Followed:
    """Rows, if there are any, and where they are after each change that was planned."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: Sequence[Instance] | RowArray | None = None

    def planned(
        self, moves: tuple[RowArray, RowArray], gone: RowArray, n: int, manager: str
    ) -> Planned:
        """Return what tells where they are once rows have moved.

        Raises StaleInstanceError if one of them goes.
        """
        rows = np.asarray(self.rows, np.intp)
        lost = rows[np.isin(rows, gone)]
        if len(lost):
            raise StaleInstanceError(
                f"{manager}: row {lost[0]} can't be a parent, for it goes to make room"
            )
        return (partial(setattr, self, "rows", Remap(*moves, n)(rows)),)


class Children(Hierarchy):
    """A manager whose new instances may have parents."""

    __slots__ = NO_SLOTS
    _followed: Followed

    def _attach(self) -> None:
        super()._attach()
        self._followed = Followed()

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        planned = super()._plan_moves(src, dst, gone)
        if self._followed.rows is None:
            return planned
        moves, name = (src, dst), type(self).__name__
        return planned + self._followed.planned(moves, gone, self.data._n, name)

    @per_class
    def _follow(self, parent: Instance) -> Followed:
        """Follow a parent, if it is not NIL; StaleInstanceError if it is not in use."""
        number = index(parent)
        if 0 <= number < self.data._n:
            self._followed.rows = (number,)  # type: ignore[assignment]  # calling Instance takes time
        elif number != NIL:
            raise self._unused(number)
        return self._followed

    @per_class
    def _adopt(self, row: Instance) -> None:
        """Make a new row the last child of the one that was followed, if one was."""
        followed, data = self._followed, self.data
        if followed.rows is None:
            return
        above, followed.rows = followed.rows[0], None
        try:
            if above == row:  # it made room for the new row, and went to the end
                above = data._n - 1
            self._join_parent(row, int(above))  # type: ignore[arg-type]
            data._version += 1
        except BaseException:
            self._break()
            raise

    def _follow_many(self, count: int, parents: ArrayLike) -> Followed:
        """Follow the parents of so many new rows."""
        name = type(self).__name__
        numbers = parent_numbers(parents, name)
        above = parents_given(numbers, count, self)
        if (above != NIL).any():
            self._followed.rows = above.copy()
        return self._followed

    def _adopt_many(self, rows: RowArray) -> None:
        """Make new rows the last children of those that were followed."""
        followed, data = self._followed, self.data
        if followed.rows is None:
            return
        above, followed.rows = np.asarray(followed.rows, np.intp), None
        children = above != NIL
        try:
            family, n = data._family(), data._n
            put(new_parents(family, rows[children], above[children], n))
            data._version += 1
        except BaseException:
            self._break()
            raise


class OwnedFamilyRows(OwnedRows, FamilyRows):
    """Rows with parents, children and siblings, which belong to entities."""

    __slots__ = NO_SLOTS


class OwnedChildren(Children, Owned):
    """The same where rows belong to entities."""

    __slots__ = NO_SLOTS
    data: OwnedFamilyRows

    @per_class
    def _below(self, parent: Instance, entity: Entity) -> Followed:
        """Follow the parent of an entity's new row; a dead entity counts for more."""
        try:
            return self._follow(parent)
        except Exception:
            self._entities.require(entity)
            raise

    @per_class
    def _attached(self, row: Instance) -> Instance:
        """Attach a new row to the one that was followed, and return it."""
        self._adopt(row)
        return row

    def _create_children(
        self,
        parents: ArrayLike,
        entities: ArrayLike,
        given: Mapping[str, Any],
        table: GivenTable | None = None,
    ) -> RowArray:
        """Give each of k entities an instance of these fields below its parent; O(k)."""
        self._check_names(given)
        count = len(self._entities.require_many(entities))
        followed = self._follow_many(count, parents)
        try:
            with self._dispatch:
                rows = self._create_many(entities, given, table)
                self._adopt_many(rows)
                return rows
        finally:
            followed.rows = None


class UnownedChildren(Unowned, Children):
    """The same where rows belong to nobody."""

    __slots__ = NO_SLOTS

    @per_class
    def _below(self, parent: Instance) -> Followed:
        """Follow the parent of a new row."""
        return self._follow(parent)

    @per_class
    def _attached(self, made: Id) -> Id:
        """Attach a new row to the one that was followed, and return its id."""
        self._adopt(self.resolve(made))
        return made

    def _create_children(
        self,
        parents: ArrayLike,
        count: SupportsIndex,
        given: Mapping[str, Any],
        table: GivenTable | None = None,
    ) -> IdArray:
        """Add `count` instances of these fields below their parents; O(count)."""
        self._check_names(given)
        count = whole_count(type(self).__name__, count)
        followed = self._follow_many(count, parents)
        try:
            with self._dispatch:
                ids = self._create_many(count, given, table)
                self._adopt_many(self.resolve_many(ids))
                return ids
        finally:
            followed.rows = None
