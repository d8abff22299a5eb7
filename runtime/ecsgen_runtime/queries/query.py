"""Queries whose components have managers: who has certain ones, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from numpy.typing import NDArray

from ..bulk import Sizes
from ..handle_layout import HandleLayout
from ..per_class import copy_methods, per_class, speed_up
from ..reprs import count_text
from .join import QueryBase, QueryJoin, RowsT, RowT, changed_in_loop
from .query_columns import QueryColumns
from .query_rows import QueriedEntities, QueriedManager


class QueriedRows(QueryBase[RowsT, RowT]):
    """Live entities with certain components, and their rows in the managers.

    Worked out when asked, and again if a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_columns", "_join")

    _COLUMNS: ClassVar[tuple[type[QueryColumns], ...]] = ()
    """Of the required components, then of the optional ones."""
    _columns: tuple[Any, ...]

    def __init__(
        self,
        entities: QueriedEntities,
        required: tuple[QueriedManager, ...],
        any_of: tuple[QueriedManager, ...] = (),
        none_of: tuple[QueriedManager, ...] = (),
        optional: tuple[QueriedManager, ...] = (),
    ) -> None:
        self._join = QueryJoin(entities, required, any_of, none_of, optional)
        self._columns = tuple(
            columns(self._join, place) for place, columns in enumerate(self._COLUMNS)
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        copy_methods(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), self._join.asked()

    def __repr__(self) -> str:
        """Show how many entities there are if that is known, or may be; O(components)."""
        count = self._join.known()
        if count is None:
            found = f"up to {count_text(self._join.bound(), 'entity', 'entities')}"
        else:
            found = count_text(count, "entity", "entities")
        return f"<{type(self).__name__}: {found}; {self._join.conditions()}>"

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    @property
    def _layout(self) -> HandleLayout:
        return self._join.entities._LAYOUT

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._join.arrays()

    def _arrow_schema(self, flat: bool) -> Any:
        from ..arrow_tables import join_structs, struct_schema

        return struct_schema(join_structs(self._join, self._components, flat))

    def _arrow_batches(self, copy: bool, flat: bool) -> Iterator[Any]:
        from ..arrow_tables import join_batch

        yield join_batch(self._join, self._components, copy, flat)

    @property
    def _components(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self._ROWS._fields[1:]  # type: ignore[attr-defined]  # a NamedTuple
        return names

    def _tuples(self) -> Iterator[RowT]:
        found = self._join.match()
        if found.count > Sizes.kept:
            return super()._tuples()
        if found.tuples is None:
            found.tuples = list(super()._tuples())
        return iter(found.tuples)

    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        join = self._join
        first, *between = join.data
        last = between.pop() if between else first
        return self._steps(rows, join.state, first, last, between)

    @per_class
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
            raise changed_in_loop()
        for row in rows:
            if first._version != one or last._version != two:
                raise changed_in_loop()
            if free.count != count or free._head != head or between:
                if self._join.changes() != state:
                    raise changed_in_loop()
                count, head = free.count, free._head  # an entity was created
            if entities._n_retired != retired:
                raise changed_in_loop()
            yield row
        if self._join.changes() != state:
            raise changed_in_loop()


speed_up(QueriedRows)
