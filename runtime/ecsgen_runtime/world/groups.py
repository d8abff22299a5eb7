"""Groups: managers whose first rows belong to the same entities, in the same order.

A group is a boundary in each of its members, the same for all. One rule keeps rows aligned although
each member computes its own moves: ascending holes take ascending survivors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from io import BytesIO
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import StructureLockedError
from ..base.handles import NIL, Columns, Entity, EntityArray, Instance, RowArray
from ..base.locks import mark_broken, read_only_attribute_error
from ..base.specialisation import NO_SLOTS, specialised
from ..base.text import format_count, format_list
from ..managers.policies.owners import Owned
from ..managers.policies.packed import Bounded, Compaction
from ..tables import placement
from ..tables.columns import OwnedRows
from ..tables.placement import CommitSteps, Moves, Remap, is_integer


class Group:
    """Entities that have all of several components, in the first rows of each manager.

    Row k of every member belongs to the same entity. Entities join and leave as they get
    and lose components; dead ones leave when one of their rows is collected.
    """

    __slots__ = ("_first", "_members", "_name")

    def __init__(self, name: str, members: Mapping[str, GroupMember], n: int) -> None:
        self._name = name
        self._members = dict(members)
        self._first = next(iter(members.values()))
        for member in members.values():
            others = tuple(other for other in members.values() if other is not member)
            member._link_group(others, n)

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if hasattr(self, name):
                raise read_only_attribute_error(self, name)
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self._members.values(), self.n)

    def __repr__(self) -> str:
        count = format_count(self.n, "entity", "entities")
        return f"<{type(self).__name__}: {count} with {format_list(self._members)}>"

    @property
    def n(self) -> int:
        """Number of entities in the group: the rows [0, n) of every member; O(1)."""
        return self._first.data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The entity of each row, shape (n,); read-only."""
        return self._first.data.entity[: self.n]

    def __len__(self) -> int:
        """Return the number of entities in the group; O(1)."""
        return self.n

    def __contains__(self, entity: object) -> bool:
        """Return True if an entity is in the group; O(1)."""
        return is_integer(entity) and self._first.lookup(Entity(index(entity))) < self.n

    def sort(self, member: str, key: str | ArrayLike, /) -> None:
        """Sort the group, in all members alike, by a scalar field of one; O(n log n).

        Ascending, stable, NaN last. Instead of the field's name, a key array may be given
        with one value per row of the group.

        Raises:
            ValueError: no such member or field, or a key of another length.
            StructureLockedError: a member is locked.
        """
        self._check_lock()
        if member not in self._members:
            known = ", ".join(self._members)
            raise ValueError(f"{self._name} has the members {known}, not {member!r}")
        self._permute(placement.sort_order(self._members[member]._group_key(key)))

    def reorder(self, order: ArrayLike, /) -> None:
        """Move row order[k] of the group to row k, in all members alike; O(n).

        Raises:
            ValueError: the order is not a permutation of the group's rows.
            StructureLockedError: a member is locked.
        """
        self._check_lock()
        rows = placement.integers(order, self._name, "the order")
        self._permute(placement.permutation(rows, self.n, self._name))

    def _check_lock(self) -> None:
        if self._first._is_locked():
            raise locked_in_group(self._name, self._members.values())

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k, in all members or none."""
        dst = np.arange(len(src))
        members = tuple(self._members.values())
        moves = [member._plan_moves(src, dst) for member in members]
        try:
            for member, planned in zip(members, moves, strict=True):
                member._move_many(src, dst, planned)
                member.data._version += 1
        except BaseException:
            self._first._mark_broken()
            raise


def having_all(
    entities: EntityArray, others: tuple[GroupMember, ...]
) -> tuple[RowArray, list[RowArray]]:
    """Return the indices of the k entities that all members have, and their rows by member;
    O(k)."""
    chosen, wanted = np.arange(len(entities)), entities
    member_rows: list[RowArray] = []
    for member in others:
        rows = member.lookup_many(wanted)
        present = rows != NIL
        if not present.all():
            chosen = chosen[present]
            wanted, rows = wanted[present], rows[present]
            member_rows = [earlier[present] for earlier in member_rows]
        member_rows.append(rows)
        if len(chosen) == 0:
            break
    return chosen, member_rows


def joined_at(rows: RowArray, start: int) -> tuple[RowArray, RowArray]:
    """Return moves (src, dst) of k distinct `rows`, none before `start`, to the rows from there on:
    in their order, which aligns the members of a group. Displaced rows take the former places."""
    end = start + len(rows)
    wanted = np.arange(start, end)
    moving = rows != wanted
    if not moving.any():
        return rows[:0], rows[:0]
    outside = rows >= end
    in_the_way = np.ones(end - start, np.bool_)
    in_the_way[rows[~outside] - start] = False
    displaced = in_the_way.nonzero()[0] + start
    src = np.concatenate((rows[moving], displaced))
    dst = np.concatenate((wanted[moving], rows[outside]))
    return src, dst


def locked_in_group(name: str, members: Iterable[GroupMember]) -> StructureLockedError:
    """Return the error of a structural change while a member's lock holds for its group."""
    holder = next((type(m).__name__ for m in members if m.is_held()), name)
    if holder == name:
        return placement.locked_error(name)
    return StructureLockedError(
        f"{name} is locked: a `locked()` block of {holder} or one of its callbacks is "
        "running, which locks the whole group"
    )


Joining: TypeAlias = tuple[list[Callable[[], None]], Moves, RowArray, int]
"""Plan of new rows joining the group: commits of the other members, moves, final rows, boundary."""


class GroupMemberRows(OwnedRows):
    """Rows, the first `_n_grouped` of which are in the group."""

    __slots__ = NO_SLOTS
    _n_grouped: int

    def _init_empty(self) -> None:
        super()._init_empty()
        self._n_grouped = 0


class GroupMember(Bounded, Owned):
    """A manager whose first rows are aligned with those of the group's other members.

    The world links the members; a manager without others has no group. Rows cross the boundary when
    their entity gets or loses one of the components. A lock of one member holds for all; errors
    name the locked one.
    """

    __slots__ = NO_SLOTS
    _PLAN_REMOVE: ClassVar[tuple[str, ...]] = ("_plan_parting",)
    GROUP: ClassVar[str]
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    data: GroupMemberRows
    _other_members: tuple[GroupMember, ...]

    def _init_transient(self) -> None:
        super()._init_transient()
        self._other_members = ()

    def _lock(self, hold: ref[BytesIO]) -> None:
        super()._lock(hold)
        for member in self._other_members:
            member._locks = 1

    def _is_locked(self) -> bool:
        if self._locks:
            members = (self, *self._other_members)
            self._locks = int(any(member.is_held() for member in members))
        return self._locks > 0

    def _lock_error(self) -> StructureLockedError:
        return locked_in_group(type(self).__name__, (self, *self._other_members))

    def _mark_broken(self) -> None:
        for member in self._other_members:
            mark_broken(member.data)
            mark_broken(member)
        super()._mark_broken()

    def _check_sortable(self) -> None:
        if self._other_members:
            raise StructureLockedError(
                f"{type(self).__name__}: its rows keep in step with those of the group "
                f"'{self.GROUP}'; sort them with the world's {self.GROUP}.sort"
            )

    def _own(self, columns: Columns) -> Columns:
        """Copy views: another member's rows, which may move, may be under them."""
        if not self._other_members:
            return super()._own(columns)
        return {name: c if c.base is None else c.copy() for name, c in columns.items()}

    def _own_entities(self, entities: EntityArray) -> EntityArray:
        if entities.base is not None:
            return entities.copy()
        return super()._own_entities(entities)

    def _link_group(self, others: tuple[GroupMember, ...], n: int) -> None:
        """Set the group's other members, with which the first n rows are aligned."""
        self._other_members = others
        self.data._n_grouped = n

    @specialised
    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Move an entity into the group if all members have it; return its row. O(members)."""
        for member in self._other_members:
            if member.lookup(entity) == NIL:
                return row
        for member in self._other_members:
            member._enter_group(member.lookup(entity))
            member.data._version += 1
        return self._enter_group(row)

    def _plan_join(self, entities: EntityArray, rows: RowArray) -> Joining | None:
        """Plan the joining of those of k entities, with these new rows, that all members have;
        O(k)."""
        if not self._other_members:
            return None
        joining, member_rows = having_all(entities, self._other_members)
        if len(joining) == 0:
            return None
        start = self.data._n_grouped
        end = start + len(joining)
        src, dst = joined_at(rows[joining], start)
        others = [
            member._plan_crossing(joined_at(rows_of_member, start), end)
            for member, rows_of_member in zip(self._other_members, member_rows, strict=True)
        ]
        moved = Remap(src, dst, self.data.n + len(rows))
        return others, (src, dst), moved(rows), end

    def _join_group_many(self, joining: Joining) -> RowArray:
        """Commit a plan of joining; return the present rows of all new ones; O(k)."""
        others, (src, dst), rows, boundary = joining
        for enter in others:
            enter()
        self._move_many(src, dst, self._plan_moves(src, dst))
        self.data._n_grouped = boundary
        return rows

    @specialised
    def _enter_group(self, row: Instance) -> Instance:
        """Move a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        if row != last:
            self._swap(row, last, self._plan_swap(row, last))
        data._n_grouped = last + 1
        return last

    def _plan_crossing(self, moves: Moves, boundary: int) -> Callable[[], None]:
        """Return a function that moves k rows across the boundary and sets it; O(k)."""
        return partial(self._cross, *moves, boundary, self._plan_moves(*moves))

    @specialised
    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last one and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        if row != last:
            self._swap(row, last, self._plan_swap(row, last))
        data._n_grouped = last
        self.data._version += 1

    def _plan_compaction(self, rows: RowArray) -> Compaction:
        data = self.data
        src, dst = placement.swap_remove_moves_in_parts(rows, data._n_grouped, data.n)
        return src, dst, self._plan_moves(src, dst, rows)

    def _plan_parting(self, rows: RowArray) -> Callable[[], None]:
        end = self.data._n_grouped
        leaving = rows[: rows.searchsorted(end)]
        boundary, others = end - len(leaving), self._other_members if len(leaving) else ()
        moves = placement.swap_moves(leaving, boundary, end)
        parting = [member._plan_crossing(moves, boundary) for member in others]
        return partial(self._part, parting, boundary)

    def _part(self, parting: list[Callable[[], None]], boundary: int) -> None:
        """Move the other members' rows out of the group as well, and set the boundary."""
        for leave in parting:
            leave()
        self.data._n_grouped = boundary

    def _cross(self, src: RowArray, dst: RowArray, boundary: int, moves: CommitSteps) -> None:
        """Move rows across the boundary, and set it."""
        self._move_many(src, dst, moves)
        self.data._n_grouped = boundary
        self.data._version += 1

    def _group_key(self, key: Any) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        boundary = self.data._n_grouped
        if isinstance(key, str):
            return self._key_column(key)[:boundary]
        keys = placement.key_values(key, type(self).__name__)
        return placement.sort_key(keys, boundary, self.GROUP)
