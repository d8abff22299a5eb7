"""Rows that are created as children, and descendants that go with those above them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns import OwnedRows
from ..entity_manager import Entities
from ..errors import EcsError, StaleInstanceError
from ..handles import NIL, Columns, Entity, EntityArray, IdArray, Instance, RowArray
from ..interchange import GivenTable
from ..locks import break_since
from ..per_class import NO_SLOTS, per_class
from ..placement import NO_ROWS, Planned, Remap, put, whole_count
from .hierarchy import FamilyRows, Hierarchy, OrphansDestroy
from .links import among, new_parents, parent_numbers, parents_given
from .owners import Owned, Unowned

_Made = TypeVar("_Made", bound=int)
_Cell = TypeVar("_Cell", bound=np.generic)

# --- Rows that are created as children: creation and attachment in one call -----------
#
# A creation may have to remove rows and move others before there is a new one; the
# parents are followed meanwhile.


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
    _entities: Entities
    """Of rows with owners."""
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

    @abstractmethod
    def _count_new(self, of: Any) -> int:
        """Return how many rows there are to be, of so many entities or of a number."""

    @abstractmethod
    def _rows_made(self, made: NDArray[Any]) -> RowArray:
        """Return the rows of what a creation of many returned."""

    def _create_below(
        self,
        parent: Instance,
        create: Callable[..., _Made],
        *owner: Entity,
        **fields: Any,
    ) -> _Made:
        """Create a row and attach it to another; a dead entity counts for more than that one."""
        made: Callable[..., _Made] = self._made_below
        if self._RELEASES or self._HOLDS_OBJECTS:
            # who dies of it waits until the row is attached
            return self._dispatch.run(made, parent, create, *owner, **fields)
        return made(parent, create, *owner, **fields)

    def _made_below(
        self,
        parent: Instance,
        create: Callable[..., _Made],
        *owner: Entity,
        **fields: Any,
    ) -> _Made:
        try:
            self._follow(parent)
        except Exception:
            for entity in owner:
                self._entities.require(entity)
            raise
        version = self.data._version
        try:
            made = create(*owner, **fields)
            # without an owner it is an id, and the manager has `resolve`
            row: Any = made if owner else self.resolve(made)  # type: ignore[attr-defined]
            self._adopt(row)
        except BaseException as error:
            self._unfollow(version, error)
            raise
        return made

    def _create_children(
        self,
        parents: ArrayLike,
        create: Callable[..., NDArray[_Cell]],
        of: Any,
        given: Mapping[str, Any],
        table: GivenTable | None = None,
    ) -> NDArray[_Cell]:
        """Create rows of these fields, of entities or so many, below their parents; O(k)."""
        self._check_names(given)
        self._follow_many(self._count_new(of), parents)
        return self._dispatch.run(self._adopted, create, of, given, table)

    def _adopted(
        self,
        create: Callable[..., NDArray[_Cell]],
        of: Any,
        given: Mapping[str, Any],
        table: GivenTable | None,
    ) -> NDArray[_Cell]:
        """Create rows and attach them to those that were followed."""
        version = self.data._version
        try:
            made = create(of, given, table)
            self._adopt_many(self._rows_made(made))
        except BaseException as error:
            self._unfollow(version, error)
            raise
        return made


class OwnedFamilyRows(OwnedRows, FamilyRows):
    """Rows with parents, children and siblings, which belong to entities."""

    __slots__ = NO_SLOTS


class OwnedChildren(Children, Owned):
    """The same where rows belong to entities."""

    __slots__ = NO_SLOTS
    data: OwnedFamilyRows

    def _count_new(self, entities: ArrayLike) -> int:
        return len(self._entities.require_many(entities))

    def _rows_made(self, made: RowArray) -> RowArray:
        return made


class UnownedChildren(Unowned, Children):
    """The same where rows belong to nobody."""

    __slots__ = NO_SLOTS

    def _count_new(self, count: SupportsIndex) -> int:
        return whole_count(type(self).__name__, count)

    def _rows_made(self, made: IdArray) -> RowArray:
        return self.resolve_many(made)


# --- hierarchy: {orphans: die}: the descendants of rows that go, go with them,
# entities and all.


_FEW: Final = 64
"""So many are compared in a tenth of the time that `setdiff1d` takes for any."""

NO_ENTITIES: Final = np.empty(0, np.uint64)
NO_ENTITIES.flags.writeable = False


class OrphansDie(OrphansDestroy, OwnedChildren):
    """A manager in whose hierarchy the entities of all descendants die with a row that goes."""

    __slots__ = NO_SLOTS
    _RELEASES: ClassVar[bool] = True
    _KILLS: ClassVar[bool] = True

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        super()._make_room(entities, columns, borrowed)
        self._orphaned(self._with_descendants(self._in_the_way(entities)))

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        # before callbacks are told: it may be refused
        orphans = self._orphaned(gone)
        planned = super()._plan_moves(src, dst, gone)
        return (*planned, partial(self._let_die, orphans)) if len(orphans) else planned

    def _orphaned(self, gone: RowArray) -> EntityArray:
        """Return who dies with rows that go, their descendants among them.

        Whoever owns one of the topmost rows lives on. Raises StructureLockedError if that
        is refused; but what callbacks destroy is asked for at its turn.
        """
        data = self.data
        is_below = among(data._parent_column[gone], gone, data._n)
        if not is_below.any():
            return NO_ENTITIES
        owners = data._entity_column[gone]
        orphans = _difference(owners[is_below], owners[~is_below])
        orphans = orphans[self._entities.alive_many(orphans)]
        if len(orphans) and not self._dispatch.running:
            self._entities._callbacks.check()
        return orphans

    def _let_die(self, orphans: EntityArray) -> None:
        """Let them wait for their turn, which comes when the rows are gone."""
        self._dispatch.queue.append(orphans)


def _difference(ones: EntityArray, others: EntityArray) -> EntityArray:
    """Return those of the first that are not among the others, ascending, each once."""
    if len(ones) > _FEW:
        return np.setdiff1d(ones, others)
    return np.array(sorted({*ones.tolist()}.difference(others.tolist())), np.uint64)
