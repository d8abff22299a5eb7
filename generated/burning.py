"""Burning: rows in archetype chunks.

Marks who is on fire. A tag, without columns.

It has no columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.tables.buffers import Column
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.world.archetypes.chunk_proxies import ChunkProxy
from ecsgen_runtime.world.archetypes.chunks import ChunkColumns, RowCount
from numpy.typing import NDArray

from .entities import EntityManager

_COLUMNS: Final[tuple[Column, ...]] = ()


class Burning(NamedTuple):
    """One row of an archetype chunk, copied out. It has no fields."""


class BurningFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""


class BurningValues(TypedDict, total=False):
    """Fields of one row; fields left out have defaults, or stay as they are."""


class BurningData(ChunkColumns, HotColumns):
    """Burning in one chunk: its columns as views of the rows in use.

    A view is good until the next structural change. Assigning to a column writes its
    rows, after the same checks as everywhere: `chunk.burning.x = 2.0`.
    """

    ROW: ClassVar = Burning
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager

    __slots__ = ()

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        self._rows = rows

    @staticmethod
    def _one() -> tuple[Any, ...]:
        """Check the fields of one new row: there are none."""
        return ()

    @staticmethod
    def _many(count: int, /) -> tuple[NDArray[Any], ...]:
        """Check fields for `count` new rows: there are none."""
        return ()

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write a tuple that `_one` returned to a row."""

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write a dict that `_some` returned to a row."""

    def _row(self, row: int) -> Burning:
        """Return a copy of a row."""
        return Burning()


class BurningRef(ChunkProxy):
    """Burning of an entity, which it follows."""

    __slots__ = ()

    _COMPONENT: ClassVar = Burning
