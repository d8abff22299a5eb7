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

from ..broken import is_broken
from ..columns.rows import OwnedRows
from ..errors import StaleInstanceError
from ..handles import NIL, Entity, Id, IdArray, Instance, RowArray
from ..owners.owned import Owned
from ..owners.unowned import Unowned
from ..per_class import per_class
from ..placement.moves import NO_ROWS, Planned, put
from ..placement.rows import Remap, unused, whole_count
from ..state import NO_SLOTS
from .hierarchy import FamilyRows, Hierarchy
from .links import new_parents, parent_numbers, parents_given


class Followed:
    """Rows, and where they are after each change that was planned."""

    __slots__ = ("_manager", "rows")

    def __init__(self, rows: Sequence[int] | RowArray, manager: str) -> None:
        self.rows = rows
        self._manager = manager

    def planned(
        self, moves: tuple[RowArray, RowArray], gone: RowArray, n: int
    ) -> Planned:
        """Return what tells where they are once rows have moved.

        Raises StaleInstanceError if one of them goes.
        """
        rows = np.asarray(self.rows, np.intp)
        lost = rows[np.isin(rows, gone)]
        if len(lost):
            raise StaleInstanceError(
                f"{self._manager}: row {lost[0]} can't be a parent, for it goes to make room"
            )
        return (partial(setattr, self, "rows", Remap(*moves, n)(rows)),)


class Children(Hierarchy):
    """A manager whose new instances may have parents."""

    __slots__ = NO_SLOTS
    _followed: Followed | None

    def _attach(self) -> None:
        super()._attach()
        self._followed = None

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        planned = super()._plan_moves(src, dst, gone)
        if self._followed is None:
            return planned
        return planned + self._followed.planned((src, dst), gone, self.data._n)

    @per_class
    def _parent_row(self, parent: Instance) -> Instance:
        """Return a parent, a row in use or NIL, as an int; StaleInstanceError for others."""
        number = Instance(index(parent))
        n = self.data._n
        if number != NIL and not 0 <= number < n:
            raise unused(number, n, type(self).__name__)
        return number

    @per_class
    def _create_below(
        self, parent: Instance, create: Callable[..., int], *whom: int, **fields: Any
    ) -> int:
        """Create an instance as the last child of a row; return what `create` does.

        `create` does all that it does without a parent, and nothing changes if it raises.
        """
        if parent == NIL:
            return create(*whom, **fields)
        followed = self._followed = Followed((parent,), type(self).__name__)
        try:
            made = create(*whom, **fields)
        except BaseException:
            self._stop_following()
            raise
        self._followed = None
        data = self.data
        try:
            row = self._row_made(made)
            above = Instance(int(followed.rows[0]))
            # where the new row has come to lie, another made room and went to the end
            self._join_parent(row, Instance(data._n - 1) if above == row else above)
            data._version += 1
        except BaseException:
            self._break()
            raise
        return made

    def _row_made(self, made: int) -> Instance:
        """Return the row of what `create` returned."""
        return Instance(made)

    def _create_many_below(
        self, parents: RowArray, create: Callable[[], RowArray]
    ) -> RowArray:
        """Create instances, in any way, as children of rows; return their rows."""
        followed = self._followed = Followed(parents, type(self).__name__)
        try:
            rows = create()
        except BaseException:
            self._stop_following()
            raise
        self._followed = None
        above = np.asarray(followed.rows, np.intp)
        data = self.data
        children = above != NIL
        try:
            if children.any():
                n = data._n
                put(new_parents(data._family(), rows[children], above[children], n))
                data._version += 1
        except BaseException:
            self._break()
            raise
        return rows

    def _parents_for(self, count: int, parents: ArrayLike) -> RowArray:
        """Return the parents of so many new rows, as an array that no one else has."""
        name = type(self).__name__
        numbers = parent_numbers(parents, name)
        return parents_given(numbers, count, self.data._n, name).copy()

    def _stop_following(self) -> None:
        """Forget what was followed, if there is still a manager that could know of it."""
        if not is_broken(self):
            self._followed = None


class OwnedFamilyRows(OwnedRows, FamilyRows):
    """Rows with parents, children and siblings, which belong to entities."""

    __slots__ = NO_SLOTS


class OwnedChildren(Children, Owned):
    """The same where rows belong to entities."""

    __slots__ = NO_SLOTS
    data: OwnedFamilyRows

    @per_class
    def _create_child(
        self,
        create: Callable[..., Instance],
        parent: Instance,
        entity: Entity,
        **fields: Any,
    ) -> Instance:
        """Give an entity an instance below `parent`, as `create` makes it."""
        entity = self._entities.require(entity)  # a dead one counts for more
        above = self._parent_row(parent)
        if not self._RELEASES:
            return Instance(self._create_below(above, create, entity, **fields))
        with self._dispatch:  # callbacks' deaths wait until the row is attached
            return Instance(self._create_below(above, create, entity, **fields))

    def _create_children(
        self, parents: ArrayLike, entities: ArrayLike, given: Mapping[str, Any]
    ) -> RowArray:
        """Give each of k entities an instance of these fields below its parent; O(k)."""
        count = len(self._entities.require_many(entities))
        above = self._parents_for(count, parents)
        with self._dispatch:
            return self._create_many_below(
                above, lambda: self._create_many(entities, given)
            )


class UnownedChildren(Unowned, Children):
    """The same where rows belong to nobody."""

    __slots__ = NO_SLOTS

    @per_class
    def _create_child(
        self, create: Callable[..., Id], parent: Instance, **fields: Any
    ) -> Id:
        """Add an instance below `parent`, as `create` makes it."""
        above = self._parent_row(parent)
        with self._dispatch:
            return Id(self._create_below(above, create, **fields))

    def _create_children(
        self, parents: ArrayLike, count: SupportsIndex, given: Mapping[str, Any]
    ) -> IdArray:
        """Add `count` instances of these fields below their parents; O(count)."""
        count = whole_count(type(self).__name__, count)
        above = self._parents_for(count, parents)
        made: list[IdArray] = []

        def create() -> RowArray:
            made.append(self._create_many(count, given))
            return self.resolve_many(made[0])

        with self._dispatch:
            self._create_many_below(above, create)
        return made[0]

    def _row_made(self, made: int) -> Instance:
        return self.resolve(Id(made))
