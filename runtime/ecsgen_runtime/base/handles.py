"""Handles: entities, instances, ids, integers with types of their own; and their bits.

Several packages share these modules, and each has a `HandleLayout` of its own: its `EntityManager`
names it as `HANDLE_LAYOUT`, and most code reads it there. One-row methods, where this would be a
twentieth of the time, are marked `specialised` and read the numbers as globals: the copy of the
method in a package's class has the package's numbers as globals.
"""

from __future__ import annotations

from functools import cache
from operator import index
from types import FunctionType
from typing import Any, Final, NewType, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from .errors import short_repr
from .fast_typing import NamedTuple

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


class Neighbours(NamedTuple):
    """Rows found for each of k points, cells or values: of i `rows[starts[i] : starts[i + 1]]`."""

    starts: RowArray
    """Shape (k + 1,)."""
    rows: RowArray


NULL_ENTITY: Final = Entity(0)
"""Never alive: generations start at 1."""

NIL: Final = Instance(0xFFFF_FFFF)
"""No instance. Out of range on purpose, so that no accessor takes it for a row."""

MAX_ROWS: Final = NIL - 63
"""As many rows as any manager has: the last multiple of 64 below NIL."""


class HandleLayout:
    """Bits of a handle: the generation on top, the index at the bottom."""

    def __init__(
        self, index_bits: int, generation_bits: int, min_free: int, between: int = 0
    ) -> None:
        """`between`: bits between generation and index, for subclasses."""
        shift = index_bits + between
        self.INDEX_BITS: Final = index_bits
        self.GENERATION_BITS: Final = generation_bits
        self.MIN_FREE: Final = min_free
        """Number of free indices that wait before one is used again."""
        self.INDEX_COUNT: Final = 1 << index_bits
        self.INDEX_MASK: Final = self.INDEX_COUNT - 1
        self.GENERATION_SHIFT: Final = shift
        self.ONE_GENERATION: Final = 1 << shift
        self.LAST_GENERATION: Final = ((1 << generation_bits) - 1) << shift
        self._globals: Final[dict[str, dict[str, Any]]] = {}
        """By module: the globals of methods that read these numbers."""

    def globals_of(self, method: FunctionType) -> dict[str, Any]:
        """Return the globals for a copy of a method: with these numbers, if the method reads
        any. The copies of a module's methods share them."""
        module = method.__globals__
        if NUMBERS.isdisjoint(method.__code__.co_names):
            return module
        module_name = module["__name__"]
        if module_name not in self._globals:
            numbers = {name: getattr(self, name) for name in NUMBERS}
            self._globals[module_name] = {**module, **numbers}
        return self._globals[module_name]

    def format_short(self, entity: SupportsIndex) -> str:
        """Return an entity as `5v1`: the index v the generation."""
        handle = index(entity)
        return f"{handle & self.INDEX_MASK}v{handle >> self.GENERATION_SHIFT}"

    def format_handle(self, entity: SupportsIndex) -> str:
        """Return an entity as `5v1 (4294967301)`; what can't be one is the bare number."""
        handle = index(entity)
        if 0 <= handle <= self.LAST_GENERATION | self.ONE_GENERATION - 1:
            return f"{self.format_short(handle)} ({handle})"
        return short_repr(handle)


@cache
def whole_mask(index_mask: int) -> NDArray[np.uint64]:
    """Return a mask as numpy takes it, which is half of the time of masking a few handles."""
    return np.array(index_mask, np.uint64)


# Unbound, so that a method that reads them without being copied fails at once:
INDEX_COUNT: Final = cast(int, None)
INDEX_MASK: Final = cast(int, None)
GENERATION_SHIFT: Final = cast(int, None)
MIN_FREE: Final = cast(int, None)
ONE_GENERATION: Final = cast(int, None)
LAST_GENERATION: Final = cast(int, None)

NUMBERS: Final = frozenset(
    (
        *("INDEX_COUNT", "INDEX_MASK", "MIN_FREE"),
        *("GENERATION_SHIFT", "ONE_GENERATION", "LAST_GENERATION"),
    )
)
"""Names of the numbers that methods of a generated class may read as globals."""
