"""Groups: managers whose first rows belong to the same entities, in the same order.

A group is nothing but a bound in each of its members, which all have the same value. One
rule keeps the rows aligned although each member computes its own moves: ascending holes
take ascending survivors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .errors import StructureLockedError
from .handles import NIL, Entity, EntityArray, Instance, RowArray


class GroupMember(Protocol):
    """What the members of a group need of each other."""

    _locks: int
    _version: int

    def lookup(self, entity: Entity, /) -> Instance: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...

    def _link_group(self, mates: tuple[GroupMember, ...], n: int, /) -> None: ...

    def _enter_group(self, row: Instance, /) -> Instance: ...

    def _enter_group_many(self, rows: RowArray, /) -> tuple[RowArray, RowArray]: ...

    def _leave_group(self, row: Instance, /) -> None: ...

    def _leave_group_many(self, gone: RowArray, /) -> None: ...


def link_members(members: Sequence[GroupMember], n: int) -> None:
    """Make managers the members of one group; their first n rows are aligned already."""
    for member in members:
        mates = tuple(other for other in members if other is not member)
        member._link_group(mates, n)


def having_all(
    entities: EntityArray, mates: tuple[GroupMember, ...]
) -> tuple[RowArray, list[RowArray]]:
    """Return which of k entities have a row in every mate, and these rows, by mate; O(k)."""
    chosen = np.arange(len(entities))
    found: list[RowArray] = []
    for mate in mates:
        rows = mate.lookup_many(entities[chosen])
        present = rows != NIL
        if not present.all():
            chosen = chosen[present]
            rows = rows[present]
            found = [earlier[present] for earlier in found]
        found.append(rows)
        if len(chosen) == 0:
            break
    return chosen, found


def gathered(rows: RowArray, start: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) by which k distinct `rows`, none before `start`, come to follow it.

    They keep the order given, which is what aligns the members of a group. Rows that
    were in their way go where they came from.
    """
    end = start + len(rows)
    wanted = np.arange(start, end)
    outside = rows >= end
    in_the_way = np.ones(end - start, np.bool_)
    in_the_way[rows[~outside] - start] = False
    moving = rows != wanted
    displaced = np.flatnonzero(in_the_way) + start
    src = np.concatenate((rows[moving], displaced))
    dst = np.concatenate((wanted[moving], rows[outside]))
    return src, dst


def sorted_by_group(manager: str, group: str) -> StructureLockedError:
    """Return the error of sorting one member of a group on its own."""
    return StructureLockedError(
        f"{manager}: its rows keep in step with those of the group '{group}'; "
        f"sort them with the world's {group}.sort"
    )
