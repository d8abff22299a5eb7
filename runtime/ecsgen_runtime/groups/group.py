"""Groups: managers whose first rows belong to the same entities, in the same order.

A group is nothing but a bound in each of its members, which all have the same value. One
rule keeps the rows aligned although each member computes its own moves: ascending holes
take ascending survivors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StructureLockedError
from ..handles import NIL, Entity, EntityArray, Instance, RowArray
from ..parts import not_replaced
from ..placement.moves import Planned
from ..placement.rows import integers, is_integer, locked, permutation
from ..placement.sorting import sort_order
from ..reprs import count_text, list_text


class GroupedColumns(Protocol):
    """What a group needs of a member's columns."""

    _n_grouped: int
    _version: int

    @property
    def entity(self) -> EntityArray: ...


class GroupMember(Protocol):
    """What a group, and its members of each other, need of a member."""

    _locks: int

    def _is_locked(self) -> bool: ...

    def _is_held(self) -> bool: ...

    @property
    def data(self) -> GroupedColumns: ...

    def lookup(self, entity: Entity, /) -> Instance: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...

    def _link_group(self, others: tuple[GroupMember, ...], n: int, /) -> None: ...

    def _enter_group(self, row: Instance, /) -> Instance: ...

    def _plan_entering(self, rows: RowArray, /) -> Callable[[], None]: ...

    def _leave_group(self, row: Instance, /) -> None: ...

    def _plan_leaving(self, gone: RowArray, /) -> Callable[[], None]: ...

    def _group_key(self, key: Any, /) -> NDArray[Any]: ...

    def _plan_moves(self, src: RowArray, dst: RowArray, /) -> Planned: ...

    def _move_many(self, src: RowArray, dst: RowArray, moves: Planned, /) -> None: ...

    def _break(self) -> None: ...


class Group:
    """The entities that have all of several components, in the first rows of each manager.

    Row k of every member belongs to the same entity. Entities join and leave as they get
    and lose components. The dead are in it until one of their rows is collected.
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
                raise not_replaced(self, name)
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self._members.values(), self.n)

    def __repr__(self) -> str:
        count = count_text(self.n, "entity", "entities")
        return f"<{type(self).__name__}: {count} with {list_text(self._members)}>"

    @property
    def n(self) -> int:
        """How many entities are in the group: the rows [0, n) of every member; O(1)."""
        return self._first.data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The entity of each row, shape (n,); read-only."""
        return self._first.data.entity[: self.n]

    def __len__(self) -> int:
        """Return how many entities are in the group; O(1)."""
        return self.n

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity is in the group; O(1)."""
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
        self._permute(sort_order(self._members[member]._group_key(key)))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k of the group become what row order[k] was, in all members alike; O(n).

        Raises:
            ValueError: the order is not a permutation of the group's rows.
            StructureLockedError: a member is locked.
        """
        self._check_lock()
        given = integers(order, self._name, "the order")
        self._permute(permutation(given, self.n, self._name))

    def _check_lock(self) -> None:
        if self._first._is_locked():
            raise locked_in_group(self._name, self._members.values())

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k, in all members or in none."""
        dst = np.arange(len(src))
        members = tuple(self._members.values())
        moves = [member._plan_moves(src, dst) for member in members]
        try:
            for member, planned in zip(members, moves, strict=True):
                member._move_many(src, dst, planned)
                member.data._version += 1
        except BaseException:
            self._first._break()
            raise


def having_all(
    entities: EntityArray, others: tuple[GroupMember, ...]
) -> tuple[RowArray, list[RowArray]]:
    """Return which of k entities all others have, and their rows, member by member; O(k)."""
    chosen, wanted = np.arange(len(entities)), entities
    found: list[RowArray] = []
    for member in others:
        rows = member.lookup_many(wanted)
        present = rows != NIL
        if not present.all():
            chosen = chosen[present]
            wanted, rows = wanted[present], rows[present]
            found = [earlier[present] for earlier in found]
        found.append(rows)
        if len(chosen) == 0:
            break
    return chosen, found


def joined_at(rows: RowArray, start: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) by which k distinct `rows`, none before `start`, come to follow it.

    They keep the order given, which is what aligns the members of a group. Rows that
    were in their way go where they came from.
    """
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


def sorted_by_group(manager: str, group: str) -> StructureLockedError:
    """Return the error of sorting one member of a group on its own."""
    return StructureLockedError(
        f"{manager}: its rows keep in step with those of the group '{group}'; "
        f"sort them with the world's {group}.sort"
    )


def locked_in_group(name: str, members: Iterable[GroupMember]) -> StructureLockedError:
    """Return the error of a structural change while a member's lock holds for its group."""
    holder = next((type(m).__name__ for m in members if m._is_held()), name)
    if holder == name:
        return locked(name)
    return StructureLockedError(
        f"{name} is locked: a `locked()` block of {holder} or one of its callbacks is "
        "running, which locks the whole group"
    )
