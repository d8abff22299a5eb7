"""What users see of every query: how many entities, which, and the rows of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from ..html_tables import query_table

RowsT = TypeVar("RowsT", bound=tuple[Any, ...])
RowT = TypeVar("RowT", bound=tuple[Any, ...])


class QueryBase(ABC, Generic[RowsT, RowT]):
    """Entities, with a row of numbers for each; the generated class says of which types."""

    __slots__ = ()

    _ROWS: type[RowsT]
    """Named tuples: of arrays, and of what one entity has."""
    _ROW: type[RowT]

    def __iter__(self) -> Iterator[RowT]:
        """Iterate over entities and rows as they are now."""
        columns = (array.tolist() for array in self._arrays())
        return map(partial(tuple.__new__, self._ROW), zip(*columns, strict=True))

    def _repr_html_(self) -> str:
        """Return a table of the first and last entities, for notebooks; costs what `rows` does."""
        return query_table(self)

    def rows(self) -> RowsT:
        """Return the entities, and the row of each in every manager; kept till a change."""
        return tuple.__new__(self._ROWS, self._arrays())

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and their rows, read-only and of equal length."""
