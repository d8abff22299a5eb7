"""A member of a world's group: its rows of the entities that have all members come first.

A world tells a manager of the group's other members; without any, nothing is ever grouped. Rows
cross the bound when their entity gets or loses one of the components, in all members alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any, ClassVar
from weakref import ref

from numpy.typing import NDArray

from ..broken import break_down
from ..columns.rows import OwnedRows
from ..errors import StructureLockedError
from ..handles import NIL, Columns, Entity, EntityArray, Instance, RowArray
from ..owners.owned import Owned
from ..per_class import per_class
from ..placement.bounded import Bounded
from ..placement.bounds import exchange, fill_parts
from ..placement.moves import Moves, Planned
from ..placement.packed import Closing
from ..placement.rows import Remap
from ..placement.sorting import key_values, sort_key
from ..state import NO_SLOTS
from ..typed import NamedTuple
from .group import (
    GroupMember,
    having_all,
    joined_at,
    locked_in_group,
    sorted_by_group,
)


class Joining(NamedTuple):
    """How new rows are going to join the group."""

    others: list[Callable[[], None]]
    """What the other members do."""
    moves: Moves
    rows: RowArray
    """Where all new rows are in the end."""
    entering: int


class GroupedRows(OwnedRows):
    """Rows of which the first `_n_grouped` are in the group."""

    __slots__ = NO_SLOTS
    _n_grouped: int

    def _start(self) -> None:
        super()._start()
        self._n_grouped = 0


class Grouped(Bounded, Owned):
    """A manager whose first rows are aligned with those of the group's other members.

    A lock of one holds for all; errors name whose it is.
    """

    __slots__ = NO_SLOTS
    _LEAVING: ClassVar[tuple[str, ...]] = ("_plan_parting",)
    GROUP: ClassVar[str]
    _BY_ROW: ClassVar[bool] = False
    data: GroupedRows
    _others: tuple[GroupMember, ...]

    def _attach(self) -> None:
        super()._attach()
        self._others = ()

    def _lock(self, hold: ref[BytesIO]) -> None:
        super()._lock(hold)
        for member in self._others:
            member._locks = 1

    def _is_locked(self) -> bool:
        if self._locks:
            members = (self, *self._others)
            self._locks = int(any(member._is_held() for member in members))
        return self._locks > 0

    def _locked(self) -> StructureLockedError:
        return locked_in_group(type(self).__name__, (self, *self._others))

    def _break(self) -> None:
        for member in self._others:
            break_down(member.data)
            break_down(member)
        super()._break()

    def _check_sortable(self) -> None:
        if self._others:
            raise sorted_by_group(type(self).__name__, self.GROUP)

    def _own(self, columns: Columns) -> Columns:
        """Copy views: what they look at may be rows of another member, which may move."""
        if not self._others:
            return super()._own(columns)
        return {name: c if c.base is None else c.copy() for name, c in columns.items()}

    def _own_entities(self, entities: EntityArray) -> EntityArray:
        return (
            super()._own_entities(entities)
            if entities.base is None
            else entities.copy()
        )

    def _link_group(self, others: tuple[GroupMember, ...], n: int) -> None:
        """Be told of the group's other members, with which the first n rows are aligned."""
        self._others = others
        self.data._n_grouped = n

    @per_class
    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Let an entity join that has a row in every other member too; return its row.

        O(1) per member.
        """
        for member in self._others:
            if member.lookup(entity) == NIL:
                return row
        for member in self._others:
            member._enter_group(member.lookup(entity))
            member.data._version += 1
        return self._enter_group(row)

    def _plan_join(self, entities: EntityArray, rows: RowArray) -> Joining | None:
        """Find out which of k entities join whose new rows these are going to be; O(k)."""
        if not self._others:
            return None
        chosen, found = having_all(entities, self._others)
        if len(chosen) == 0:
            return None
        data = self.data
        src, dst = joined_at(rows[chosen], data._n_grouped)
        return Joining(
            [m._plan_entering(r) for m, r in zip(self._others, found, strict=True)],
            (src, dst),
            Remap(src, dst, data._n + len(rows))(rows),
            len(chosen),
        )

    def _join_group_many(self, joining: Joining) -> RowArray:
        """Let new rows join, as planned; return where all new rows are now; O(k)."""
        for enter in joining.others:
            enter()
        src, dst = joining.moves
        self._move_many(src, dst, self._plan_moves(src, dst))
        self.data._n_grouped += joining.entering
        return joining.rows

    @per_class
    def _enter_group(self, row: Instance) -> Instance:
        """Bring a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        if row != last:
            self._swap(row, last, self._plan_swap(row, last))
        data._n_grouped = last + 1
        return last

    def _plan_entering(self, rows: RowArray) -> Callable[[], None]:
        """Plan to bring k rows, in this order, to the end of the group; O(k)."""
        src, dst = joined_at(rows, self.data._n_grouped)
        bound = self.data._n_grouped + len(rows)
        return partial(self._cross, src, dst, bound, self._plan_moves(src, dst))

    @per_class
    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        if row != last:
            self._swap(row, last, self._plan_swap(row, last))
        data._n_grouped = last
        self.data._version += 1

    def _plan_leaving(self, gone: RowArray) -> Callable[[], None]:
        """Plan to bring k ascending rows behind the group, which ends before them; O(k)."""
        end = self.data._n_grouped
        start = end - len(gone)
        src, dst = exchange(gone, start, end)
        return partial(self._cross, src, dst, start, self._plan_moves(src, dst))

    def _plan_closing(self, gone: RowArray) -> Closing:
        data = self.data
        src, dst = fill_parts(gone, data._n_grouped, data._n)
        return src, dst, self._plan_moves(src, dst, gone)

    def _plan_parting(self, gone: RowArray) -> Callable[[], None]:
        bound = self.data._n_grouped
        leaving = gone[: gone.searchsorted(bound)]
        others = self._others if len(leaving) else ()
        parting = [member._plan_leaving(leaving) for member in others]
        return partial(self._part, parting, bound - len(leaving))

    def _part(self, parting: list[Callable[[], None]], bound: int) -> None:
        """Let the other members' rows leave the group, too, and set the bound."""
        for leave in parting:
            leave()
        self.data._n_grouped = bound

    def _cross(self, src: RowArray, dst: RowArray, bound: int, moves: Planned) -> None:
        """Bring rows across the bound, and set it."""
        self._move_many(src, dst, moves)
        self.data._n_grouped = bound
        self.data._version += 1

    def _group_key(self, key: Any) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        bound = self.data._n_grouped
        if isinstance(key, str):
            return self._key_column(key)[:bound]
        return sort_key(key_values(key, type(self).__name__), bound, self.GROUP)
