"""The first rows of every column: those that are active, or in a group."""

from __future__ import annotations

from abc import abstractmethod

from ..arrow.columns import ArrowColumns
from ..reprs import columns_repr
from .texts import TextColumns


class FrontColumns(TextColumns, ArrowColumns):
    """The columns of the rows before a bound; the generated class has the fields."""

    __slots__ = ()

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
