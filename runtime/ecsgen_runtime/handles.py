"""Handles: entities, instances and ids are plain integers with types of their own."""

from __future__ import annotations

from typing import Any, Final, NewType, TypeAlias

import numpy as np
from numpy.typing import NDArray

Entity = NewType("Entity", int)
"""An entity: `generation << index_bits | index`."""

Instance = NewType("Instance", int)
"""A row of one manager, valid until that manager's next structural change."""

Id = NewType("Id", int)
"""A stable id of one instance: `generation << 32 | slot`."""

EntityArray: TypeAlias = NDArray[np.uint64]
IdArray: TypeAlias = NDArray[np.uint64]
RowArray: TypeAlias = NDArray[np.intp]
Columns: TypeAlias = dict[str, NDArray[Any]]
RowClass: TypeAlias = type[tuple[Any, ...]]
"""A component is named by the class of its rows."""

NULL_ENTITY: Final = Entity(0)
"""Never alive: generations start at 1."""

NIL: Final = Instance(0xFFFF_FFFF)
"""No instance. Out of range on purpose, so that no accessor takes it for a row."""

MOST_ROWS: Final = NIL - 63
"""As many rows as any manager has: the last multiple of 64 below NIL."""
