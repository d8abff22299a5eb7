"""What a policy says of itself to files: what of it is saved, what must be true of that, and what
becomes of it in another schema.

Data where data can say it. Functions get what they need handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..handles import MOST_ROWS
from .documents import Document, Saved

if TYPE_CHECKING:
    from .cell_types import CellType
    from .checks.rows import CheckedRows
    from .evolution.ids import NewIds
    from .evolution.managers import Evolving, EvolvingField

Columns = dict[str, NDArray[Any]]
Present = NDArray[np.bool_] | None
"""Which rows are in use, if there are holes."""


class Number(NamedTuple):
    """A number of a manager's state, and its bounds: numbers, or the names of others."""

    lowest: int | str
    highest: int | str
    at_first: int = 0
    """What it is where there are no rows."""


class Evolved(NamedTuple):
    """What a policy has of a component's rows in another schema."""

    columns: Columns
    numbers: Mapping[str, int] = {}
    new_ids: NewIds | None = None
    """What old ids are now, if they are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A policy of components as saving knows it."""

    applies: Callable[[Document], bool]
    """Tells by what the schema says of a component."""
    rare: Mapping[str, range] = field(default_factory=dict)
    """Keys that documents have only where the policy is on, and what they may say."""
    excludes_direct: bool = False
    """Whether it does not go with `lookup: direct`."""
    most_rows: Callable[[Document], int] = lambda component: MOST_ROWS
    columns: Mapping[str, str] = field(default_factory=dict)
    """Tensors of row numbers, or of what is as small, each with the number that is its length."""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    """Beside `n` and `version`, in the order in which they depend on each other."""
    check: Callable[[CheckedRows], None] | None = None
    """Refuses what cannot be true of the tensors."""
    evolve: Callable[[Evolving], Evolved] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFacts:
    """A policy of fields as saving knows it; documents have its key only where it is on."""

    key: str
    refuses: Callable[[CellType], str]
    """Says why a field of a type cannot have it, if it cannot."""
    check: Callable[[Saved, str, Present], None]
    """Refuses what cannot be true of a tensor."""
    evolve: Callable[[EvolvingField], None]
    """Refuses cells that cannot be in the new schema."""
