"""Boid: lookup sparse, instances one, destroy gc.

A bird that flies with those near it.

One buffer of 24 bytes per row, column after column:

    column    type    bytes/row  offset (64 rows)  tags
    --------  ------  ---------  ----------------  ----
    entity    u64             8                 0  hot
    position  f32[2]          8               512  hot
    heading   f32[2]          8              1024  hot
    24 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    cells,
    is_same_view,
    items,
    put_cells,
    word,
)
from ._runtime.columns.field_info import field_info
from ._runtime.columns.rows import OwnedRows
from ._runtime.convert.base import FieldTable
from ._runtime.convert.numbers import FloatField
from ._runtime.destroy.gc import Gc
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.handles import NIL, Columns, Entity, EntityArray, Instance, RowArray
from ._runtime.instances.one import One
from ._runtime.maps.sparse import Sparse, grown_map, indices
from ._runtime.placement.moves import Planned
from ._runtime.placement.rows import duplicate_instance, fill
from ._runtime.proxies.arrays import ArrayField
from ._runtime.proxies.cells import RowField
from ._runtime.proxies.proxy import EntityProxy
from ._runtime.spaces.spaced import OwnedSpaced, SpaceLayout
from ._runtime.typed import NamedTuple, TypedDict

COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("position", np.dtype(np.float32), (2,), 8, ("hot",), 8),
    Column("heading", np.dtype(np.float32), (2,), 8, ("hot",), 16),
)
_POSITION: Final = FloatField("Boid.position", "f32", (2,))
_HEADING: Final = FloatField("Boid.heading", "f32", (2,))
POSITION_STRUCT: Final = Struct("=2f")
HEADING_STRUCT: Final = Struct("=2f")
POSITION_DEFAULT: Final = (0.0, 0.0)
POSITION_WORD: Final = word(_POSITION, POSITION_DEFAULT)
HEADING_DEFAULT: Final = (1.0, 0.0)
HEADING_WORD: Final = word(_HEADING, HEADING_DEFAULT)
CONVERTERS: Final[FieldTable] = {
    "position": (_POSITION, POSITION_DEFAULT),
    "heading": (_HEADING, HEADING_DEFAULT),
}
FIELDS: Final = (
    field_info(_POSITION, "f32[2]", POSITION_DEFAULT, ("hot",), "m", "Where it is."),
    field_info(
        _HEADING,
        "f32[2]",
        HEADING_DEFAULT,
        ("hot",),
        doc="Where it flies, of length 1.",
    ),
)


class Boid(NamedTuple):
    """One row of a BoidManager, copied out."""

    position: tuple[float, float] = POSITION_DEFAULT
    """Where it is. [m]"""

    heading: tuple[float, float] = HEADING_DEFAULT
    """Where it flies, of length 1."""


class BoidFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    position: ArrayLike
    heading: ArrayLike


class BoidHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    position: NDArray[np.float32]
    heading: NDArray[np.float32]


class BoidData(OwnedRows):
    """The columns of a BoidManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_heading_cells",
        "_heading_column",
        "_heading_items",
        "_heading_words",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_position_words",
    )
    MANAGER: ClassVar = "BoidManager"
    LAYOUT: ClassVar = COLUMNS
    ROW_BYTES: ClassVar = 24
    FIELDS: ClassVar = FIELDS

    @property
    def position(self) -> NDArray[np.float32]:
        """Where it is. [m] Shape (n, 2)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION.many(values, self._n)

    @property
    def heading(self) -> NDArray[np.float32]:
        """Where it flies, of length 1. Shape (n, 2)."""
        return self._heading_column[: self._n]

    @heading.setter
    def heading(self, values: ArrayLike) -> None:
        if not is_same_view(self.heading, values):
            self._heading_column[: self._n] = _HEADING.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> BoidHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return BoidHotColumns(self.position, self.heading)
        raise ValueError(f"Boid has no tag {tag!r}; it has hot")

    def _place(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._cut(0)
        self._entity_cells = cells(self._entity_column)
        self._position_column: NDArray[np.float32] = self._cut(1)
        self._position_items: NDArray[Any] = items(self._position_column)
        self._position_words: memoryview[int] = cells(self._position_items)
        self._position_cells: memoryview[float] = cells(self._position_column)
        self._heading_column: NDArray[np.float32] = self._cut(2)
        self._heading_items: NDArray[Any] = items(self._heading_column)
        self._heading_words: memoryview[int] = cells(self._heading_items)
        self._heading_cells: memoryview[float] = cells(self._heading_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._position_items[dst] = self._position_items[src]
        self._heading_items[dst] = self._heading_items[src]


class BoidManager(Sparse, One, Gc, OwnedSpaced):
    """Owns every Boid: lookup sparse, instances one, destroy gc.

    A bird that flies with those near it.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells", "_wrap")
    LAYOUT: ClassVar = COLUMNS
    FIELDS: ClassVar = FIELDS
    _SPACE: ClassVar = SpaceLayout(
        "position", ("_position_column",), "_n", (100.0, 60.0)
    )
    _ROWS: ClassVar = BoidData
    _CONVERTERS: ClassVar = CONVERTERS
    data: BoidData

    def position(self, row: int, /) -> tuple[float, float]:
        """Where it is. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return POSITION_STRUCT.unpack_from(data._position_cells, 8 * row)

    def set_position(self, row: int, value: ArrayLike, /) -> None:
        """Set `position` of a row: 2 values."""
        _value = _POSITION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        _at = 2 * row
        data._position_cells[_at] = _value[0]
        data._position_cells[_at + 1] = _value[1]

    def heading(self, row: int, /) -> tuple[float, float]:
        """Where it flies, of length 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return HEADING_STRUCT.unpack_from(data._heading_cells, 8 * row)

    def set_heading(self, row: int, value: ArrayLike, /) -> None:
        """Set `heading` of a row: 2 values."""
        _value = _HEADING.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        _at = 2 * row
        data._heading_cells[_at] = _value[0]
        data._heading_cells[_at + 1] = _value[1]

    def row(self, row: int, /) -> Boid:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return Boid(
            POSITION_STRUCT.unpack_from(data._position_cells, 8 * row),
            HEADING_STRUCT.unpack_from(data._heading_cells, 8 * row),
        )

    position_of = RowField.by_entity(position)
    set_position_of = RowField.set_by_entity(set_position)
    heading_of = RowField.by_entity(heading)
    set_heading_of = RowField.set_by_entity(set_heading)

    def __getitem__(self, entity: Entity, /) -> BoidRef:
        """Return the entity's row, which has the fields as attributes and follows it; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        return self._proxy(BoidRef, entity)

    def rows(self) -> Iterator[BoidRef]:
        """Iterate over the present rows as `m[…]` gives them, in row order; O(n).

        Those that go before their turn are skipped.
        """
        return self._proxies(BoidRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        heading: ArrayLike = HEADING_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: the entity has an instance already.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _position_ = POSITION_DEFAULT
            if position is not POSITION_DEFAULT:
                _position_ = _POSITION.one(position)
            _heading_ = HEADING_DEFAULT
            if heading is not HEADING_DEFAULT:
                _heading_ = _HEADING.one(heading)
        except Exception:
            self._entities.require(entity)  # a dead entity counts for more
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            raise self._locked()
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(data.MANAGER, entity)
        if data._n == data._allocated:
            data._grow(data._n + 1, (position, heading))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            self._evict(_found)  # a dead entity had the same index
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            if _position_ is POSITION_DEFAULT:
                data._position_words[row] = POSITION_WORD
            else:
                _at = 2 * row
                data._position_cells[_at] = _position_[0]
                data._position_cells[_at + 1] = _position_[1]
            if _heading_ is HEADING_DEFAULT:
                data._heading_words[row] = HEADING_WORD
            else:
                _at = 2 * row
                data._heading_cells[_at] = _heading_[0]
                data._heading_cells[_at + 1] = _heading_[1]
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._version += 1
        except BaseException:
            self._break()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        heading: ArrayLike = HEADING_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, {"position": position, "heading": heading})

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        slots = indices(entities, INDEX_MASK)
        try:
            data._entity_column[span] = entities
            put_cells(data._position_column, span, columns["position"])
            put_cells(data._heading_column, span, columns["heading"])
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
        except BaseException:
            self._break()
            raise
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        heading: ArrayLike = HEADING_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(entity, position=position, heading=heading)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._position_words[dst] = data._position_words[src]
                data._heading_words[dst] = data._heading_words[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._break()
            raise
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        n = data._n
        src, dst = fill(gone, n)
        moves = self._plan_moves(src, dst, gone)
        try:
            self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
            self._move_many(src, dst, moves)
            data._n = n - len(gone)
            data._version += 1
        except BaseException:
            self._break()
            raise
        return len(gone)

    def _move_many(self, src: RowArray, dst: RowArray, moves: Planned) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers."""
        if len(src):
            data = self.data
            data._move_rows(src, dst)
            self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
        for planned in moves:
            planned()


class BoidRef(EntityProxy):
    """A row of a BoidManager, which follows its entity."""

    __slots__ = ()

    position = ArrayField.of(np.float32, BoidManager.set_position)
    heading = ArrayField.of(np.float32, BoidManager.set_heading)
