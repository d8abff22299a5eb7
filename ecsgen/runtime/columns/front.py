"""The first rows of every column: those that are active, or in a group."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..arrow.columns import ArrowColumns
from ..reprs import columns_repr
from .field_info import FieldInfo


class FrontColumns(ArrowColumns):
    """The columns of the rows before a bound; the generated class has the fields."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[FieldInfo, ...]] = ()

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows there are."""

    def _shown_rows(self) -> slice:
        return slice(0, self.n)

    def __repr__(self) -> str:
        return columns_repr(self, self.n)

    def _repr_html_(self) -> str:
        """Return a table of the first and last rows, for notebooks."""
        from ..html_tables import columns_table  # for notebooks alone

        return columns_table(self, self.n)
