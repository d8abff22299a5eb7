"""What there is to know of a kernel of the world, and one of its rows in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from .. import chance
from ..kernel_inputs import Columns
from ..kernel_rows import Row

Whole: TypeAlias = Mapping[str, Mapping[str, NDArray[Any]]]
"""By component: all columns of its manager."""


class Case(NamedTuple):
    """A kernel of the world, and what there is to know of it."""

    over: str
    steps: Callable[..., object]
    modules: Mapping[str, str]
    """The components that its rows have: the attributes of the world."""
    arguments: Mapping[str, tuple[Any, ...]]
    is_exact: bool
    kinds: Sequence[tuple[str, ...]]
    """What entities have that it runs over; then others that it has to do with."""
    has_border: bool
    """Whether there is a condition; then `steps` return whether it holds."""
    leads: Mapping[str, str] = {}
    """Those that it refers or sends to, likewise."""
    drawing: chance.Drawing | None = None
    turns: str = ""
    near: str | float = 0.0
    """The radius for neighbours, or the argument that it is."""
    place: str = ""
    """The field with their places."""
    among: str = ""
    """Who is asked, if these are others than it runs over."""
    asked: Mapping[str, str] = {}
    """The components that these have, likewise."""

    @property
    def every(self) -> dict[str, str]:
        """All components that it has to do with."""
        return {**self.modules, **self.leads, **self.asked}


class Place(Row):
    """A row of each of several components."""

    def __init__(self, columns: Columns, rows: Mapping[str, int], **told: Any) -> None:
        super().__init__(columns, 0, **told)
        self._rows = rows

    def place(self, name: str) -> int:
        """Return which row of a field's column it is."""
        return self._rows[name.partition(".")[0]]


def flat_names(whole: Whole) -> dict[str, NDArray[Any]]:
    """Return the same columns by the names that steps have for them."""
    return {
        f"{component}.{name}": column
        for component, columns in whole.items()
        for name, column in columns.items()
    }
