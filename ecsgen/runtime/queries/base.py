"""What users see of every query: how many entities, which, and the rows of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from numpy.typing import NDArray


class NamedTupleClass(Protocol):
    """What all named tuples are made by."""

    @classmethod
    def _make(cls, iterable: Iterable[Any], /) -> Self: ...


RowsT = TypeVar("RowsT", bound=NamedTupleClass)
RowT = TypeVar("RowT")


class QueryBase(ABC, Generic[RowsT, RowT]):
    """Entities, with a row of numbers for each; the generated class says of which types."""

    __slots__ = ()

    _ROWS: type[RowsT]
    _ROW: type[RowT]

    def __iter__(self) -> Iterator[RowT]:
        """Iterate over entities and rows as they are now."""
        columns = (array.tolist() for array in self._arrays())
        return map(partial(tuple.__new__, self._ROW), zip(*columns, strict=True))

    def rows(self) -> RowsT:
        """Return the entities, and the row of each in every manager; kept till a change."""
        return self._ROWS._make(self._arrays())

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and their rows, read-only and of equal length."""
