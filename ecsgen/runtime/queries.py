"""Queries: the entities that have certain components, and the rows where these are.

A query joins its managers from the smallest one, by bulk lookups, and keeps the result
until one of them changes or an entity dies. Rows that follow each other are kept as a
slice, so that columns of entities in order of creation are views, not copies.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .chains import first_rows
from .handles import NIL, EntityArray, RowArray

RowsOrSlice: TypeAlias = slice | RowArray
"""Rows of one manager; a slice where they follow each other."""


class QueriedManager(Protocol):
    """What a query needs of a manager."""

    @property
    def data(self) -> Any: ...

    @property
    def version(self) -> int: ...

    def __len__(self) -> int: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...


class QueriedEntities(Protocol):
    """What a query needs of the entity manager."""

    @property
    def _deaths(self) -> int: ...

    def alive_many(self, es: ArrayLike, /) -> NDArray[np.bool_]: ...


class QueryMember:
    """A component of a query, of which an entity has one instance at most."""

    __slots__ = ("manager",)

    def __init__(self, manager: QueriedManager) -> None:
        self.manager = manager

    def owners(self) -> EntityArray:
        """Return the owner of each row: a view, not to be kept."""
        owners: EntityArray = self.manager.data.entity
        return owners

    def candidates(self) -> RowsOrSlice:
        """Return all rows with an owner, ascending, one for each owner."""
        owners = self.owners()
        if len(self.manager) < len(owners):  # there are holes
            return np.flatnonzero(owners)
        return slice(0, len(owners))

    def find(self, entities: EntityArray) -> RowsOrSlice:
        """Return the row of each entity, NIL where it has none; O(k).

        Where the owners of consecutive rows are these very entities, that is seen in a fifth
        of the time that looking them up takes.
        """
        owners, count = self.owners(), len(entities)
        if 0 < count <= len(owners):
            first = int(self.manager.lookup_many(entities[:1])[0])
            rows = slice(first, first + count)
            if rows.stop <= len(owners) and _equal(owners[rows], entities):
                return rows
        return self.manager.lookup_many(entities)


class QueryListMember(QueryMember):
    """A component of a query, of which an entity may have several: its first one counts."""

    __slots__ = ()

    def candidates(self) -> RowsOrSlice:
        """Return the first row of each owner, ascending."""
        data, n = self.manager.data, len(self.manager)
        return first_rows(data._next_column[:n], data._previous_column[:n])

    def find(self, entities: EntityArray) -> RowsOrSlice:
        """Return the first row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


class QueryJoin:
    """Who has all components of `required`, one of `any_of` if there are any, and none of
    `none_of`; and where these entities have the required and the optional ones."""

    __slots__ = (
        "_any_of",
        "_arrays",
        "_entities",
        "_members",
        "_none_of",
        "_optional",
        "_required",
        "_result",
        "_state",
    )

    def __init__(
        self,
        entities: QueriedEntities,
        required: tuple[QueryMember, ...],
        any_of: tuple[QueryMember, ...] = (),
        none_of: tuple[QueryMember, ...] = (),
        optional: tuple[QueryMember, ...] = (),
    ) -> None:
        self._entities = entities
        self._required = required
        self._any_of = any_of
        self._none_of = none_of
        self._optional = optional
        self._members = (*required, *optional, *any_of, *none_of)
        self._state: list[int] = []
        self._arrays: tuple[NDArray[Any], ...] | None = None
        self._result: QueryMatch | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return QueryJoin, (
            self._entities,
            self._required,
            self._any_of,
            self._none_of,
            self._optional,
        )

    def count(self) -> int:
        """Return how many entities there are."""
        return self.match().count

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and the rows of each member, read-only and of one length."""
        found = self.match()
        if self._arrays is None:
            rows = [_as_array(found.rows[place]) for place in range(len(found.rows))]
            self._arrays = (self._owners(found), *rows)
            for array in self._arrays:
                array.flags.writeable = False
        return self._arrays

    def rows(self, place: int) -> RowsOrSlice:
        """Return the rows of a member: the required ones come first, then the optional."""
        return self.match().rows[place]

    def manager(self, place: int) -> Any:
        """Return the manager of a member."""
        return self._members[place].manager

    def match(self) -> QueryMatch:
        """Return who matches: the same object until a manager changes or an entity dies.

        Joins again if that happened; O(components) otherwise.
        """
        state = [member.manager.version for member in self._members]
        state.append(self._entities._deaths)
        if self._result is None or state != self._state:
            self._arrays = None
            self._result = self._join()
            self._state = state
        return self._result

    def _owners(self, found: QueryMatch) -> EntityArray:
        """Return the entities, as an array of their own."""
        if self._required:
            owners = self._required[0].owners()[found.rows[0]]
            return owners if owners.base is None else owners.copy()
        return found.entities

    def _join(self) -> QueryMatch:
        """Find entities and rows; O(rows of the smallest manager) per component."""
        match, places = self._start()
        for place in places:
            match.require(place, self._required[place])
        if self._any_of and self._required:
            match.keep_any(self._any_of)
        for member in self._none_of:
            match.drop(member)
        match.keep(self._entities.alive_many(match.entities))
        for place, member in enumerate(self._optional, len(self._required)):
            match.rows[place] = member.find(match.entities)
        match.finish(keeps_entities=not self._required)
        return match

    def _start(self) -> tuple[QueryMatch, list[int]]:
        """Return the smallest manager's entities, and which members to look at next."""
        if not self._required:
            return QueryMatch(_union(self._any_of), {}), []
        sizes = [len(member.manager) for member in self._required]
        first, *others = sorted(range(len(sizes)), key=sizes.__getitem__)
        rows = self._required[first].candidates()
        owners = self._required[first].owners()
        return QueryMatch(owners[rows], {first: rows}), others


class QueryMatch:
    """The entities that fulfil the conditions, so far, and their rows by member."""

    __slots__ = ("_numbers", "count", "entities", "rows")

    def __init__(self, entities: EntityArray, rows: dict[int, RowsOrSlice]) -> None:
        self.entities = entities
        self.rows = rows
        self.count = len(entities)
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

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the entities that are not to be kept."""
        if not kept.all():
            self.entities = self.entities[kept]
            self.rows = {place: _kept(rows, kept) for place, rows in self.rows.items()}
            self.count = len(self.entities)

    def require(self, place: int, member: QueryMember) -> None:
        """Keep those that have a component, and their rows."""
        rows = self.rows[place] = member.find(self.entities)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep those that have one component at least."""
        kept = np.zeros(self.count, np.bool_)
        for member in members:
            rows = member.find(self.entities)
            kept |= True if isinstance(rows, slice) else rows != NIL
        self.keep(kept)

    def drop(self, member: QueryMember) -> None:
        """Keep those that have not a component."""
        rows = member.find(self.entities)
        none = np.zeros(self.count, np.bool_)
        self.keep(none if isinstance(rows, slice) else rows == NIL)

    def finish(self, keeps_entities: bool) -> None:
        """Make the rows what is kept: slices where possible, and no view of a buffer."""
        self.rows = {place: _as_slice(rows) for place, rows in self.rows.items()}
        if not keeps_entities:
            self.entities = self.entities[:0].copy()


def _union(members: tuple[QueryMember, ...]) -> EntityArray:
    """Return the owners of all members' rows, each once; O(rows) per member."""
    found: list[EntityArray] = []
    for place, member in enumerate(members):
        match = QueryMatch(member.owners()[member.candidates()], {})
        for earlier in members[:place]:
            match.drop(earlier)
        found.append(match.entities)
    return np.concatenate(found)


def _equal(owners: EntityArray, entities: EntityArray) -> bool:
    """Return whether all are equal, which unequal ones in the middle or at the end refute."""
    ends = (
        owners[-1] == entities[-1]
        and owners[len(owners) // 2] == entities[len(owners) // 2]
    )
    return bool(ends) and np.array_equal(owners, entities)


def _kept(rows: RowsOrSlice, kept: NDArray[np.bool_]) -> RowArray:
    """Return those of the rows that are kept."""
    if isinstance(rows, slice):
        start: int = rows.start
        return np.flatnonzero(kept) + start
    left: RowArray = rows[kept]
    return left


def _as_array(rows: RowsOrSlice) -> RowArray:
    """Return rows as an array."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _as_slice(rows: RowsOrSlice) -> RowsOrSlice:
    """Return rows that follow each other as a slice, others as they are."""
    if isinstance(rows, slice) or len(rows) == 0 or rows[0] == NIL:
        return rows
    first, end = int(rows[0]), int(rows[-1]) + 1
    if end - first == len(rows) and np.array_equal(rows, np.arange(first, end)):
        return slice(first, end)
    return rows
