"""Rows that are created as children: creation and attachment in one call.

A creation may have to remove rows and move others before there is a new one; the parents are
followed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..arrow.columns import GivenTable
from ..broken import break_since
from ..columns.rows import OwnedRows
from ..errors import EcsError, StaleInstanceError
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

    def _let_go(self, row: Instance) -> None:
        if self._followed.rows is None:
            super()._let_go(row)
        else:  # only moves in bulk tell where parents go
            self._destroy_rows(np.array([row]))

    @per_class
    def _follow(self, parent: Instance) -> None:
        """Follow a parent, if it is not NIL; StaleInstanceError if it is not in use."""
        number = index(parent)
        self._followed.rows = None
        if 0 <= number < self.data._n:
            self._followed.rows = (number,)  # type: ignore[assignment]  # calling Instance takes time
        elif number != NIL:
            raise self._unused(number)

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

    def _follow_many(self, count: int, parents: ArrayLike) -> None:
        """Follow the parents of so many new rows."""
        name = type(self).__name__
        numbers = parent_numbers(parents, name)
        above = parents_given(numbers, count, self)
        self._followed.rows = None
        if (above != NIL).any():
            self._followed.rows = above.copy()

    def _unfollow(self, version: int, error: BaseException) -> None:
        """Follow nobody any more: a creation failed, before or after there were new rows."""
        self._followed.rows = None
        if not isinstance(error, EcsError):
            break_since(self, version)

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

    def _create_below(
        self,
        parent: Instance,
        create: Callable[..., Instance],
        entity: Entity,
        **fields: Any,
    ) -> Instance:
        """Create a row and attach it to another; a dead entity counts for more than that one."""
        made = self._made_below
        if self._RELEASES or self._HOLDS_OBJECTS:
            # who dies of it waits until the row is attached
            return self._dispatch.run(made, parent, create, entity, **fields)
        return made(parent, create, entity, **fields)

    def _made_below(
        self,
        parent: Instance,
        create: Callable[..., Instance],
        entity: Entity,
        **fields: Any,
    ) -> Instance:
        try:
            self._follow(parent)
        except Exception:
            self._entities.require(entity)
            raise
        version = self.data._version
        try:
            row = create(entity, **fields)
            self._adopt(row)
        except BaseException as error:
            self._unfollow(version, error)
            raise
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
        self._follow_many(count, parents)
        return self._dispatch.run(self._adopted, entities, given, table)

    def _adopted(
        self,
        entities: ArrayLike,
        given: Mapping[str, Any],
        table: GivenTable | None,
    ) -> RowArray:
        """Create rows and attach them to those that were followed."""
        version = self.data._version
        try:
            rows = self._create_many(entities, given, table)
            self._adopt_many(rows)
        except BaseException as error:
            self._unfollow(version, error)
            raise
        return rows


class UnownedChildren(Unowned, Children):
    """The same where rows belong to nobody."""

    __slots__ = NO_SLOTS

    def _create_below(
        self, parent: Instance, create: Callable[..., Id], **fields: Any
    ) -> Id:
        """Create a row and attach it to another."""
        made = self._made_below
        if self._RELEASES or self._HOLDS_OBJECTS:
            # who dies of it waits until the row is attached
            return self._dispatch.run(made, parent, create, **fields)
        return made(parent, create, **fields)

    def _made_below(
        self, parent: Instance, create: Callable[..., Id], **fields: Any
    ) -> Id:
        self._follow(parent)
        version = self.data._version
        try:
            made = create(**fields)
            self._adopt(self.resolve(made))
        except BaseException as error:
            self._unfollow(version, error)
            raise
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
        self._follow_many(count, parents)
        return self._dispatch.run(self._adopted, count, given, table)

    def _adopted(
        self,
        count: SupportsIndex,
        given: Mapping[str, Any],
        table: GivenTable | None,
    ) -> IdArray:
        """Create rows and attach them to those that were followed."""
        version = self.data._version
        try:
            ids = self._create_many(count, given, table)
            self._adopt_many(self.resolve_many(ids))
        except BaseException as error:
            self._unfollow(version, error)
            raise
        return ids
