"""Queries: the entities that have certain components, and their rows; what a join finds.

A query joins its managers, from the smallest one by bulk lookups, and keeps the result until one of
them changes or an entity dies. It goes block by block, so that what it works with stays in the
cache. Rows that follow each other are kept as a slice, so that columns of entities in order of
creation are views, not copies.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import chain, repeat
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
from ...tables.placement import FoundRows, RowsOrSlice, rows_to_array
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
    """Entities, with a row of numbers for each; the generated class says of which types."""

    __slots__ = ()

    _ROWS: type[RowsT]
    """Named tuples: of arrays, and of what one entity has."""
    _ROW: type[RowT]

    def __iter__(self) -> Iterator[RowT]:
        """Iterate over entities and their rows.

        A structural change of a manager and the death of an entity end the loop: the next
        step raises RuntimeError. Iterate over `list(query)` to change something meanwhile.
        """
        return self._while_unchanged(self._tuples())

    def _repr_html_(self) -> str:
        """Return a table of the first and last entities, for notebooks; costs what `rows` does."""
        return query_table(self)

    def rows(self) -> RowsT:
        """Return the entities, and the row of each in every manager; kept till a change."""
        return tuple.__new__(self._ROWS, self._arrays())

    @property
    @abstractmethod
    def _layout(self) -> HandleLayout:
        """What the bits of the entities are."""

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and their rows, read-only and of equal length."""

    def _tuples(self) -> Iterator[RowT]:
        """Iterate over entities and rows, of which some are made at a time."""
        arrays, count = self._arrays(), Tuning.tuple_batch
        rows = chain.from_iterable(
            zip(*(array[k : k + count].tolist() for array in arrays), strict=True)
            for k in range(0, len(arrays[0]), count)
        )
        make: Any = tuple.__new__  # what the class's `_make` calls
        return map(make, repeat(self._ROW), rows)

    @abstractmethod
    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        """Yield rows of this very state, and raise RuntimeError after a change."""


def changed_during_iteration_error() -> RuntimeError:
    """Return the error of a loop whose rows may not be where they were."""
    return RuntimeError(
        "something changed while a query was iterated: a component was added or removed, "
        "rows were moved, or an entity died; "
        "iterate over list(query), or collect what to change and change it after the loop"
    )


class QueryMatch:
    """The entities that fulfil the conditions, and their rows by member."""

    __slots__ = ("_numbers", "count", "driving_member", "entities", "members", "rows", "tuples")

    def __init__(
        self, count: int, walked: int, members: list[JoinRows], entities: EntityArray | None
    ) -> None:
        self.count = count
        self.driving_member = walked
        """The required member whose rows ascend."""
        self.members = members
        self.rows: list[RowsOrSlice] = [member.rows for member in members]
        self.entities = entities
        """Only where no component is required: otherwise they are the owners of rows."""
        self.tuples: list[Any] | None = None
        """What a loop over few entities goes through, once there was one."""
        self._numbers: dict[int, RowArray] = {}

    def numbers(self, place: int) -> RowArray:
        """Return a member's rows; the first alone where they follow each other; O(1).

        Always read-only, so that compiled code has them in one type.
        """
        found = self._numbers.get(place)
        if found is None:
            rows = self.rows[place]
            first = np.array([rows.start], np.intp) if isinstance(rows, slice) else rows
            found = self._numbers[place] = np.ascontiguousarray(first).view()
            found.flags.writeable = False
        return found


class JoinBlock:
    """The entities of a block that fulfil the conditions so far, and their rows by member."""

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
        """Members none of whose rows' owners is dead; only if no candidate is dead either."""

    @property
    def entities(self) -> EntityArray:
        """Those that are left, put together when somebody asks."""
        if self._kept is not None:
            self._entities, self._kept = self._entities.take(self._kept), None
        return self._entities

    def find(self, member: QueryMember) -> FoundRows:
        """Return the row of each entity, NIL where it has none."""
        return member.find(self.entities, member in self._live)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the entities that are not to be kept."""
        if kept.all():
            return
        places = kept.nonzero()[0]  # a mask takes ten times as long where it is random
        self._kept = places if self._kept is None else self._kept.take(places)
        self.count = len(places)
        for place, rows in self.rows.items():
            if isinstance(rows, slice):
                self.rows[place] = places + rows.start
            else:
                self.rows[place] = rows.take(places)

    def require(self, place: int, member: QueryMember) -> None:
        """Keep those that have a component, and their rows."""
        rows = self.rows[place] = self.find(member)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep those that have one component at least."""
        kept = np.zeros(self.count, np.bool_)
        for member in members:
            rows = self.find(member)
            kept |= True if isinstance(rows, slice) else rows != NIL
        self.keep(kept)

    def drop(self, member: QueryMember) -> None:
        """Keep those that have not a component."""
        rows = self.find(member)
        none = np.zeros(self.count, np.bool_)
        self.keep(none if isinstance(rows, slice) else rows == NIL)


_ALIKE: Final = 3
"""How many times as large as the smallest manager another one may be to be walked instead."""


class QueryJoin:
    """Who has all components of `required`, one of `any_of` if there are any, and none of
    `none_of`; and where these entities have the required and the optional ones."""

    __slots__ = (
        "_any_of",
        "_arrays",
        "_living",
        "_members",
        "_none_of",
        "_optional",
        "_required",
        "_result",
        "data",
        "entities",
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
        self._required = _members(required)
        self._any_of = _members(any_of)
        self._none_of = _members(none_of)
        self._optional = _members(optional)
        self._members = (*self._required, *self._optional, *self._any_of, *self._none_of)
        self._living = CleanMembers(entities, self._members)
        self.state = -1
        """How many changes and deaths there were before the match."""
        self.data: tuple[Any, ...] = ()
        """The `data` of each member's manager; known as soon as there is a match."""
        self._arrays: tuple[NDArray[Any], ...] | None = None
        self._result = QueryMatch(0, -1, [], None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return QueryJoin, self.asked()

    @property
    def _clauses(self) -> tuple[tuple[QueryMember, ...], ...]:
        return self._required, self._any_of, self._none_of, self._optional

    def asked(self) -> tuple[Any, ...]:
        """Return what the join was made of."""
        clauses = (tuple(one.manager for one in part) for part in self._clauses)
        return self.entities, *clauses

    def known(self) -> int | None:
        """Return how many entities there are if that is known without a join; O(components)."""
        return self._result.count if self.changes() == self.state else None

    def bound(self) -> int:
        """Return how many entities there can be at most; O(components)."""
        sizes = [len(member.manager) for member in self._required]
        others = [len(member.manager) for member in self._any_of]
        return min([*sizes, sum(others)] if others else sizes, default=0)

    def conditions(self) -> str:
        """Return who matches, in words."""
        names = (
            [one.manager.data.MANAGER.removesuffix("Manager") for one in part]
            for part in self._clauses
        )
        return query_text(*names)

    def columns(self) -> list[Any]:
        """Return the `data` of the components that a row can have, the required ones first."""
        return [member.manager.data for member in (*self._required, *self._optional)]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and the rows of each member, read-only and of one length."""
        found = self.match()
        if self._arrays is None:
            rows = map(rows_to_array, found.rows)
            self._arrays = (self._owners(found), *rows)
            for array in self._arrays:
                array.flags.writeable = False
        return self._arrays

    def match(self) -> QueryMatch:
        """Return who matches: the same object until a manager changes or an entity dies.

        Joins again if that happened; O(components) otherwise. The members of the match are the
        required ones, then the optional.
        """
        entities = self.entities
        free = entities._free
        # `changes`, without the time that calls take:
        state = free._head + free.count + entities._n_retired
        for data in self.data:
            state += data._version
        return self._result if state == self.state else self._match_again()

    def changes(self) -> int:
        """Return how many changes and deaths there were: a sum of what never goes down."""
        versions: int = sum(data._version for data in self.data)
        return self.entities._despawn_count + versions

    def _match_again(self) -> QueryMatch:
        self.state = -1  # in case that there is no memory for a match
        self._arrays = None
        self._result = QueryMatch(0, -1, [], None)
        self.data = tuple(member.manager.data for member in self._members)
        state = self.changes()
        self._result = self._join()
        self.state = state
        return self._result

    def _owners(self, found: QueryMatch) -> EntityArray:
        """Return the entities, as an array of their own."""
        if found.entities is not None:
            return found.entities
        owners = self._required[found.driving_member].owners()
        rows = found.rows[found.driving_member]
        return owners[rows].copy() if isinstance(rows, slice) else owners.take(rows)

    def _join(self) -> QueryMatch:
        """Find entities and rows; O(rows of the smallest manager) per component."""
        live = self._living.members()
        walked, others = self._way()
        matches = []
        for match in self._blocks(walked, live):
            self._narrow(match, others, live)
            if match.count:
                matches.append(match)
        members = []
        for place in range(len(self._required) + len(self._optional)):
            rows = merged_rows([match.rows[place] for match in matches])
            may_lack = place >= len(self._required)
            members.append(JoinRows(rows, may_lack and has_nil(rows)))
        entities = None
        if not self._required:
            none: EntityArray = np.empty(0, np.uint64)
            entities = np.concatenate([none, *(match.entities for match in matches)])
        count = sum(match.count for match in matches)
        return QueryMatch(count, walked, members, entities)

    def _way(self) -> tuple[int, list[int]]:
        """Return the member whose rows to go through, the smallest, and the other required ones.

        If the rows of the largest would then be here and there in it, and it is not much larger,
        it is gone through instead: so its columns are read and written in the order of memory.
        """
        sizes = [len(member.manager) for member in self._required]
        order = sorted(range(len(sizes)), key=sizes.__getitem__)
        if not order:
            return -1, order
        smallest, largest = order[0], order[-1]
        if Tuning.cached_random_rows < sizes[smallest] < sizes[largest] <= _ALIKE * sizes[smallest]:
            few, many = self._required[smallest], self._required[largest]
            rows = many.manager.lookup_many(few.owners()[sample_rows(few.candidates())])
            if is_scattered(rows[rows != NIL]):
                return largest, order[:-1]
        return smallest, order[1:]

    def _blocks(self, walked: int, live: frozenset[QueryMember]) -> Iterator[JoinBlock]:
        """Yield the candidates, block by block."""
        if self._required:
            member = self._required[walked]
            owners, known = member.owners(), live if member in live else frozenset()
            for rows in row_blocks(member.candidates(), Tuning.join_block_rows):
                yield JoinBlock(owners[rows], {walked: rows}, known)
            return
        owners = _union(self._any_of)
        step = Tuning.join_block_rows
        for start in range(0, len(owners), step):
            yield JoinBlock(owners[start : start + step], {})

    def _narrow(self, match: JoinBlock, others: list[int], live: frozenset[QueryMember]) -> None:
        """Drop candidates that do not fulfil the conditions, and find the others' rows."""
        for place in others:
            match.require(place, self._required[place])
        if live.isdisjoint(self._required):
            match.keep(self.entities.alive_many(match.entities))
        if self._any_of and self._required:
            match.keep_any(self._any_of)
        for member in self._none_of:
            match.drop(member)
        for place, member in enumerate(self._optional, len(self._required)):
            match.rows[place] = match.find(member)


def _members(managers: tuple[Owned, ...]) -> tuple[QueryMember, ...]:
    return tuple(manager._MEMBER(manager) for manager in managers)


def _union(members: tuple[QueryMember, ...]) -> EntityArray:
    """Return the owners of all members' rows, each once; O(rows) per member."""
    found: list[EntityArray] = []
    for place, member in enumerate(members):
        match = JoinBlock(member.owners()[member.candidates()], {})
        for earlier in members[:place]:
            match.drop(earlier)
        found.append(match.entities)
    return np.concatenate(found)


install_accelerator(QueryJoin)


class RowQuery(QueryBase[RowsT, RowT]):
    """Live entities with certain components, and their rows in the managers.

    Worked out when asked, and again if a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

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
            columns(self._join, place) for place, columns in enumerate(self._COLUMNS)
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        specialise_methods(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), self._join.asked()

    def __repr__(self) -> str:
        """Show how many entities there are if that is known, or may be; O(components)."""
        count = self._join.known()
        if count is None:
            found = f"up to {format_count(self._join.bound(), 'entity', 'entities')}"
        else:
            found = format_count(count, "entity", "entities")
        return f"<{type(self).__name__}: {found}; {self._join.conditions()}>"

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.match().count

    @property
    def _layout(self) -> HandleLayout:
        return self._join.entities._LAYOUT

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._join.arrays()

    def _arrow(self, copy: bool, flat: bool) -> tuple[Any, Iterator[Any]]:
        table: tuple[Any, Iterator[Any]]
        table = arrow().join_table(self._join, self._components, copy, flat)
        return table

    @property
    def _components(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self._ROWS._fields[1:]  # type: ignore[attr-defined]  # a NamedTuple
        return names

    def _tuples(self) -> Iterator[RowT]:
        found = self._join.match()
        if found.count > Tuning.max_cached_tuples:
            return super()._tuples()
        if found.tuples is None:
            found.tuples = list(super()._tuples())
        return iter(found.tuples)

    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        join = self._join
        first, *between = join.data
        last = between.pop() if between else first
        return self._steps(rows, join.state, first, last, between)

    @specialised
    def _steps(
        self, rows: Iterator[RowT], state: int, first: Any, last: Any, between: Any
    ) -> Iterator[RowT]:
        """Yield rows of a match with this state, and raise RuntimeError after a change.

        Comparing what is known takes half the time of adding up a state in each step.
        """
        entities = self._join.entities
        free, retired = entities._free, entities._n_retired
        one, two, count, head = first._version, last._version, free.count, free._head
        if self._join.changes() != state:
            raise changed_during_iteration_error()
        for row in rows:
            if first._version != one or last._version != two:
                raise changed_during_iteration_error()
            if free.count != count or free._head != head or between:
                if self._join.changes() != state:
                    raise changed_during_iteration_error()
                count, head = free.count, free._head  # an entity was created
            if entities._n_retired != retired:
                raise changed_during_iteration_error()
            yield row
        if self._join.changes() != state:
            raise changed_during_iteration_error()


install_accelerator(RowQuery)
