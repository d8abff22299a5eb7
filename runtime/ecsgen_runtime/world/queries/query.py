"""Queries: entities with certain components, and their rows, found by a join.

A query joins its managers, from the smallest one by bulk lookups, and caches the match until a
manager changes or an entity dies. A join runs block by block, so that its arrays stay in the cache.
Consecutive rows are a slice, so columns of entities in order of creation are views, not copies.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import chain, repeat
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.extensions import arrow
from ...base.handles import NIL, EntityArray, HandleLayout, RowArray
from ...base.specialisation import install_accelerator, specialise_methods, specialised
from ...base.text import format_count, query_text
from ...entities.entity_manager import EntityManagerBase
from ...managers.query_members import QueryMember
from ...tables.arrow_mixins import ArrowExportable
from ...tables.bulk import Tuning
from ...tables.html_reprs import query_table
from ...tables.placement import FoundRows, RowsOrSlice, is_integer, rows_to_array
from .join_rows import (
    CleanMembers,
    JoinRows,
    has_nil,
    is_scattered,
    merged_rows,
    row_blocks,
    sample_rows,
)

if TYPE_CHECKING:
    from ...managers.policies.owners import Owned

RowsT = TypeVar("RowsT", bound=tuple[Any, ...])
RowT = TypeVar("RowT", bound=tuple[Any, ...])


class QueryBase(ArrowExportable, Generic[RowsT, RowT]):
    """Entities with their rows; the generated class has the types."""

    __slots__ = ()

    ROWS: type[RowsT]
    """Named tuple of arrays; `ROW` is that of one entity."""
    ROW: type[RowT]

    def __iter__(self) -> Iterator[RowT]:
        """Iterate over entities and their rows.

        A structural change of a manager and the death of an entity end the loop: the next
        step raises RuntimeError. Iterate over `list(query)` to change something meanwhile.
        """
        return self._while_unchanged(self._tuples())

    def __contains__(self, entity: object) -> bool:
        """Return True if the query finds an entity; O(entities)."""
        return is_integer(entity) and bool((self._arrays()[0] == index(entity)).any())

    def _repr_html_(self) -> str:
        """Return a table of the first and last entities, for notebooks; costs what `rows` does."""
        return query_table(self)

    def rows(self) -> RowsT:
        """Return the entities, and the row of each in every manager; cached until a change."""
        return tuple.__new__(self.ROWS, self._arrays())

    @property
    @abstractmethod
    def _layout(self) -> HandleLayout:
        """Layout of the entities' handles."""

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and their rows, read-only and of equal length."""

    def _tuples(self) -> Iterator[RowT]:
        """Iterate over entities and rows, which are made in batches."""
        arrays, count = self._arrays(), Tuning.tuple_batch
        rows = chain.from_iterable(
            zip(*(array[k : k + count].tolist() for array in arrays), strict=True)
            for k in range(0, len(arrays[0]), count)
        )
        make: Any = tuple.__new__  # what the class's `_make` calls
        return map(make, repeat(self.ROW), rows)

    @abstractmethod
    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        """Yield rows of the present state, and raise RuntimeError after a change."""


def changed_during_iteration_error() -> RuntimeError:
    """Return the error of a loop whose rows may have moved."""
    return RuntimeError(
        "something changed while a query was iterated: a component was added or removed, "
        "rows were moved, or an entity died; "
        "iterate over list(query), or collect what to change and change it after the loop"
    )


class QueryMatch:
    """Matching entities, and their rows by member."""

    __slots__ = ("_numbers", "count", "driving_member", "entities", "members", "rows", "tuples")

    def __init__(
        self, count: int, driving_member: int, members: list[JoinRows], entities: EntityArray | None
    ) -> None:
        self.count = count
        self.driving_member = driving_member
        """Number of the required member whose rows ascend."""
        self.members = members
        self.rows: list[RowsOrSlice] = [member.rows for member in members]
        self.entities = entities
        """Entities if no component is required, else None: they are the owners of rows."""
        self.tuples: list[Any] | None = None
        """Rows that loops over few entities yield, after the first such loop."""
        self._numbers: dict[int, RowArray] = {}

    def numbers(self, number: int) -> RowArray:
        """Return a member's rows, only the first if they are consecutive; O(1). Read-only, so that
        compiled code has one type for all."""
        array = self._numbers.get(number)
        if array is None:
            rows = self.rows[number]
            first = np.array([rows.start], np.intp) if isinstance(rows, slice) else rows
            array = self._numbers[number] = np.ascontiguousarray(first).view()
            array.flags.writeable = False
        return array


class JoinBlock:
    """Entities of a block that match so far, and their rows by member."""

    __slots__ = ("_entities", "_kept", "_live", "count", "rows")

    def __init__(
        self,
        entities: EntityArray,
        rows: dict[int, FoundRows],
        live: frozenset[QueryMember] = frozenset(),
    ) -> None:
        self._entities = entities
        self._kept: RowArray | None = None
        self.count = len(entities)
        self.rows = rows
        self._live = live
        """Members without rows of dead entities; empty if a candidate may be dead."""

    @property
    def entities(self) -> EntityArray:
        """Entities that are left, gathered on request."""
        if self._kept is not None:
            self._entities, self._kept = self._entities.take(self._kept), None
        return self._entities

    def find(self, member: QueryMember) -> FoundRows:
        """Return the row of each entity, NIL where it has none."""
        return member.find(self.entities, member in self._live)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Keep the entities for which a mask is true."""
        if mask.all():
            return
        positions = mask.nonzero()[0]  # a random mask takes ten times as long
        self._kept = positions if self._kept is None else self._kept.take(positions)
        self.count = len(positions)
        for number, rows in self.rows.items():
            if isinstance(rows, slice):
                self.rows[number] = positions + rows.start
            else:
                self.rows[number] = rows.take(positions)

    def require(self, number: int, member: QueryMember) -> None:
        """Keep the entities that have a component, and their rows."""
        rows = self.rows[number] = self.find(member)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep the entities that have at least one component."""
        matches = np.zeros(self.count, np.bool_)
        for member in members:
            rows = self.find(member)
            matches |= True if isinstance(rows, slice) else rows != NIL
        self.keep(matches)

    def drop(self, member: QueryMember) -> None:
        """Keep the entities that do not have a component."""
        rows = self.find(member)
        nothing = np.zeros(self.count, np.bool_)
        self.keep(nothing if isinstance(rows, slice) else rows == NIL)


_ALIKE: Final = 3
"""Ratio of sizes up to which a manager may drive the join instead of the smallest one."""


class QueryJoin:
    """Join of entities that have all components of `required`, one of `any_of` unless it is empty,
    and none of `none_of`, with their rows of required and optional components."""

    __slots__ = (
        "_arrays",
        "_living",
        "_members",
        "any_of",
        "data",
        "entities",
        "latest",
        "none_of",
        "optional",
        "required",
        "state",
    )

    def __init__(
        self,
        entities: EntityManagerBase,
        required: tuple[Owned, ...],
        any_of: tuple[Owned, ...] = (),
        none_of: tuple[Owned, ...] = (),
        optional: tuple[Owned, ...] = (),
    ) -> None:
        self.entities = entities
        self.required = _members(required)
        self.any_of = _members(any_of)
        self.none_of = _members(none_of)
        self.optional = _members(optional)
        self._members = (*self.required, *self.optional, *self.any_of, *self.none_of)
        self._living = CleanMembers(entities, self._members)
        self.state = -1
        """Number of changes and despawns before the match."""
        self.data: tuple[Any, ...] = ()
        """The `data` of each member's manager, once there was a match."""
        self._arrays: tuple[NDArray[Any], ...] | None = None
        self.latest = QueryMatch(0, -1, [], None)
        """The last match, which a change makes out of date."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return QueryJoin, self.asked()

    @property
    def _clauses(self) -> tuple[tuple[QueryMember, ...], ...]:
        return self.required, self.any_of, self.none_of, self.optional

    def asked(self) -> tuple[Any, ...]:
        """Return the arguments of the join."""
        clauses = (tuple(member.manager for member in clause) for clause in self._clauses)
        return self.entities, *clauses

    def bound(self) -> int:
        """Return the maximal number of entities; O(components)."""
        sizes = [len(member.manager) for member in self.required]
        others = [len(member.manager) for member in self.any_of]
        return min([*sizes, sum(others)] if others else sizes, default=0)

    def conditions(self) -> str:
        """Return the conditions in words."""
        names = (
            [member.manager.data.MANAGER.removesuffix("Manager") for member in clause]
            for clause in self._clauses
        )
        return query_text(*names)

    def columns(self) -> list[Any]:
        """Return the `data` of the required components, then of the optional ones."""
        return [member.manager.data for member in (*self.required, *self.optional)]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and the rows of each member, read-only and of one length."""
        match = self.match()
        if self._arrays is None:
            rows = map(rows_to_array, match.rows)
            self._arrays = (self._owners(match), *rows)
            for array in self._arrays:
                array.flags.writeable = False
        return self._arrays

    def match(self) -> QueryMatch:
        """Return the match, whose members are the required ones, then the optional ones: the same
        object, in O(components), until a manager changes or an entity dies."""
        entities = self.entities
        free = entities.free_indices
        # `changes`, without the time of calls:
        state = free.head + free.count + entities.n_retired
        for data in self.data:
            state += data.version
        return self.latest if state == self.state else self._match_again()

    def changes(self) -> int:
        """Return the number of changes and despawns so far."""
        versions: int = sum(data.version for data in self.data)
        return self.entities.despawn_count + versions

    def _match_again(self) -> QueryMatch:
        self.state = -1  # in case there is no memory for a match
        self._arrays = None
        self.latest = QueryMatch(0, -1, [], None)
        self.data = tuple(member.manager.data for member in self._members)
        state = self.changes()
        self.latest = self._join()
        self.state = state
        return self.latest

    def _owners(self, match: QueryMatch) -> EntityArray:
        if match.entities is not None:
            return match.entities
        owners = self.required[match.driving_member].owners()
        rows = match.rows[match.driving_member]
        return owners[rows].copy() if isinstance(rows, slice) else owners.take(rows)

    def _join(self) -> QueryMatch:
        """Find entities and rows; O(rows of the smallest manager) per component."""
        live = self._living.members()
        driving, others = self._way()
        matches = []
        for match in self._blocks(driving, live):
            self._narrow(match, others, live)
            if match.count:
                matches.append(match)
        members = []
        for number in range(len(self.required) + len(self.optional)):
            rows = merged_rows([match.rows[number] for match in matches])
            may_lack = number >= len(self.required)
            members.append(JoinRows(rows, may_lack and has_nil(rows)))
        entities = None
        if not self.required:
            none: EntityArray = np.empty(0, np.uint64)
            entities = np.concatenate([none, *(match.entities for match in matches)])
        count = sum(match.count for match in matches)
        return QueryMatch(count, driving, members, entities)

    def _way(self) -> tuple[int, list[int]]:
        """Return the numbers of the driving member, the smallest, and of the other required ones;
        the largest drives if it is not much larger and its rows, which are then read and written in
        the order of memory, would be scattered."""
        sizes = [len(member.manager) for member in self.required]
        order = sorted(range(len(sizes)), key=sizes.__getitem__)
        if not order:
            return -1, order
        smallest, largest = order[0], order[-1]
        if Tuning.cached_random_rows < sizes[smallest] < sizes[largest] <= _ALIKE * sizes[smallest]:
            few, many = self.required[smallest], self.required[largest]
            rows = many.manager.lookup_many(few.owners()[sample_rows(few.candidates())])
            if is_scattered(rows[rows != NIL]):
                return largest, order[:-1]
        return smallest, order[1:]

    def _blocks(self, driving: int, live: frozenset[QueryMember]) -> Iterator[JoinBlock]:
        """Yield the candidates, block by block."""
        if self.required:
            member = self.required[driving]
            owners, known = member.owners(), live if member in live else frozenset()
            for rows in row_blocks(member.candidates(), Tuning.join_block_rows):
                yield JoinBlock(owners[rows], {driving: rows}, known)
            return
        owners = _union(self.any_of)
        step = Tuning.join_block_rows
        for start in range(0, len(owners), step):
            yield JoinBlock(owners[start : start + step], {})

    def _narrow(self, match: JoinBlock, others: list[int], live: frozenset[QueryMember]) -> None:
        """Drop candidates that do not match, and find the rows of other members."""
        for number in others:
            match.require(number, self.required[number])
        if live.isdisjoint(self.required):
            match.keep(self.entities.alive_many(match.entities))
        if self.any_of and self.required:
            match.keep_any(self.any_of)
        for member in self.none_of:
            match.drop(member)
        for number, member in enumerate(self.optional, len(self.required)):
            match.rows[number] = match.find(member)


def _members(managers: tuple[Owned, ...]) -> tuple[QueryMember, ...]:
    return tuple(manager.MEMBER(manager) for manager in managers)


def _union(members: tuple[QueryMember, ...]) -> EntityArray:
    """Return the distinct owners of all members' rows; O(rows) per member."""
    owners: list[EntityArray] = []
    for number, member in enumerate(members):
        match = JoinBlock(member.owners()[member.candidates()], {})
        for earlier in members[:number]:
            match.drop(earlier)
        owners.append(match.entities)
    return np.concatenate(owners)


install_accelerator(QueryJoin)


class RowQuery(QueryBase[RowsT, RowT]):
    """Alive entities with certain components, and their rows in the managers: joined on request,
    and again after a manager changed or an entity died, in O(rows of the smallest manager) per
    component, otherwise O(components)."""

    __slots__ = ("_columns", "_join")

    _COLUMNS: ClassVar[tuple[type[Any], ...]] = ()
    """Of the required components, then of the optional ones."""
    _columns: tuple[Any, ...]

    def __init__(
        self,
        entities: EntityManagerBase,
        required: tuple[Owned, ...],
        any_of: tuple[Owned, ...] = (),
        none_of: tuple[Owned, ...] = (),
        optional: tuple[Owned, ...] = (),
    ) -> None:
        self._join = QueryJoin(entities, required, any_of, none_of, optional)
        self._columns = tuple(
            columns(self._join, number) for number, columns in enumerate(self._COLUMNS)
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        specialise_methods(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), self._join.asked()

    def __repr__(self) -> str:
        """Return the number of entities, or its maximum, and the conditions; O(components)."""
        join = self._join
        up_to, count = "", join.latest.count
        if join.changes() != join.state:
            up_to, count = "up to ", join.bound()
        shown = format_count(count, "entity", "entities")
        return f"<{type(self).__name__}: {up_to}{shown}; {join.conditions()}>"

    def __len__(self) -> int:
        """Return the number of entities."""
        return self._join.match().count

    @property
    def _layout(self) -> HandleLayout:
        return self._join.entities.HANDLE_LAYOUT

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._join.arrays()

    def _arrow(self, copy: bool, flat: bool) -> tuple[Any, Iterator[Any]]:
        names: tuple[str, ...] = self.ROWS._fields[1:]  # type: ignore[attr-defined]  # a NamedTuple
        table: tuple[Any, Iterator[Any]] = arrow().join_table(self._join, names, copy, flat)
        return table

    def _tuples(self) -> Iterator[RowT]:
        match = self._join.match()
        if match.count > Tuning.max_cached_tuples:
            return super()._tuples()
        if match.tuples is None:
            match.tuples = list(super()._tuples())
        return iter(match.tuples)

    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        join = self._join
        first, *between = join.data
        last = between.pop() if between else first
        return self._steps(rows, join.state, first, last, between)

    @specialised
    def _steps(
        self, rows: Iterator[RowT], state: int, first: Any, last: Any, between: Any
    ) -> Iterator[RowT]:
        """Yield rows of a match with this state, and raise RuntimeError after a change. Comparing
        versions takes half the time of adding up a state in each step."""
        entities = self._join.entities
        free, retired = entities.free_indices, entities.n_retired
        first_version, last_version = first.version, last.version
        count, head = free.count, free.head
        if self._join.changes() != state:
            raise changed_during_iteration_error()
        for row in rows:
            if first.version != first_version or last.version != last_version:
                raise changed_during_iteration_error()
            if free.count != count or free.head != head or between:
                if self._join.changes() != state:
                    raise changed_during_iteration_error()
                count, head = free.count, free.head  # an entity was created
            if entities.n_retired != retired:
                raise changed_during_iteration_error()
            yield row
        if self._join.changes() != state:
            raise changed_during_iteration_error()


def join_of(query: RowQuery[Any, Any]) -> QueryJoin:
    """Return the join that finds a query's rows."""
    return query._join
