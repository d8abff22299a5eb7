"""What users see of every query: how many entities, which, and the rows of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from ..arrow.columns import ArrowTable
from ..entities.layout import HandleLayout
from ..sizes import Sizes

RowsT = TypeVar("RowsT", bound=tuple[Any, ...])
RowT = TypeVar("RowT", bound=tuple[Any, ...])


class QueryBase(ArrowTable, Generic[RowsT, RowT]):
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
        from ..reprs import query_table

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
        arrays, count = self._arrays(), Sizes.tuples
        rows = chain.from_iterable(
            zip(*(array[k : k + count].tolist() for array in arrays), strict=True)
            for k in range(0, len(arrays[0]), count)
        )
        make: Any = tuple.__new__  # what the class's `_make` calls
        return map(make, repeat(self._ROW), rows)

    @abstractmethod
    def _while_unchanged(self, rows: Iterator[RowT]) -> Iterator[RowT]:
        """Yield rows of this very state, and raise RuntimeError after a change."""


def changed_in_loop() -> RuntimeError:
    """Return the error of a loop whose rows may not be where they were."""
    return RuntimeError(
        "something changed while a query was iterated: a component was added or removed, "
        "rows were moved, or an entity died; "
        "iterate over list(query), or collect what to change and change it after the loop"
    )
