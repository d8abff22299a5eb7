"""A member of a world's group: its rows of the entities that have all members come first.

A world tells a manager of the group's other members; without any, nothing is ever grouped. Rows
cross the bound when their entity gets or loses one of the components, in all members alike.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray

from ..broken import break_down
from ..columns.rows import OwnedRows
from ..entities.handles import NIL, Columns, Entity, EntityArray, Instance, RowArray
from ..errors import StructureLockedError
from ..owners.owned import Owned
from ..placement.bounded import Bounded
from ..placement.bounds import exchange
from ..placement.rows import Remap
from ..placement.sorting import key_values, sort_key
from ..state import NO_SLOTS
from .group import (
    GroupMember,
    having_all,
    joined_at,
    locked_in_group,
    sorted_by_group,
)


class GroupedRows(OwnedRows):
    """Rows of which the first `_n_grouped` are in the group."""

    __slots__ = NO_SLOTS
    _n_grouped: int

    def _start(self) -> None:
        super()._start()
        self._n_grouped = 0


class Grouped(Bounded, Owned):
    """A manager whose first rows are aligned with those of the group's other members.

    `_locks` counts the locks that hold for a member, `_holds` those of its own: errors name
    whose it is.
    """

    __slots__ = NO_SLOTS
    GROUP: ClassVar[str]
    data: GroupedRows
    _others: tuple[GroupMember, ...]
    _holds: int

    def _attach(self) -> None:
        super()._attach()
        self._others = ()
        self._holds = 0

    def _lock(self) -> None:
        self._holds += 1
        for member in (self, *self._others):
            member._locks += 1

    def _unlock(self) -> None:
        for member in (self, *self._others):
            member._locks -= 1
        self._holds -= 1

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
        return super()._own_entities(entities) if entities.base is None else entities.copy()

    def _link_group(self, others: tuple[GroupMember, ...], n: int) -> None:
        """Be told of the group's other members, with which the first n rows are aligned."""
        self._others = others
        self.data._n_grouped = n

    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Let an entity join that has a row in every other member too; return its row.

        O(1) per member.
        """
        for member in self._others:
            if member.lookup(entity) == NIL:
                return row
        for member in self._others:
            member._enter_group(member.lookup(entity))
            member._version += 1
        return self._enter_group(row)

    def _join_group_many(self, rows: RowArray, entities: EntityArray) -> RowArray:
        """Let those of k entities join that have rows in every member; return all rows; O(k)."""
        joining, found = having_all(entities, self._others)
        if len(joining) == 0:
            return rows
        for member, rows_there in zip(self._others, found, strict=True):
            member._enter_group_many(rows_there)
            member._version += 1
        src, dst = self._enter_group_many(rows[joining])
        return Remap(src, dst, self.data._n)(rows)

    def _enter_group(self, row: Instance) -> Instance:
        """Bring a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        self._swap(row, last)
        data._n_grouped = last + 1
        return last

    def _enter_group_many(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """Bring k rows, in this order, to the end of the group; return (src, dst); O(k)."""
        data = self.data
        src, dst = joined_at(rows, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped += len(rows)
        return src, dst

    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        self._swap(row, last)
        data._n_grouped = last
        self._version += 1

    def _leave_group_many(self, gone: RowArray) -> None:
        """Bring k ascending rows behind the group, which ends before them; O(k)."""
        data = self.data
        start = data._n_grouped - len(gone)
        src, dst = exchange(gone, start, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped = start
        self._version += 1

    def _group_key(self, key: Any) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        bound = self.data._n_grouped
        if isinstance(key, str):
            return self._key_column(key)[:bound]
        return sort_key(key_values(key, type(self).__name__), bound, self.GROUP)

    def _permute_group(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k."""
        self._permute(src)
