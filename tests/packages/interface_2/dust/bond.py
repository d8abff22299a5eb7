"""Bond: lookup sparse, instances many, destroy callback, release.

One buffer of 44 bytes per row, column after column:

    column         type    bytes/row  offset (64 rows)  tags
    -------------  ------  ---------  ----------------  ----
    entity         u64             8                 0  hot
    strength       f64             8               512  hot
    to             entity          8              1024  hot
    next           u32             4              1536  hot
    previous       u32             4              1792  hot
    id_slot        u32             4              2048  hot
    id_row         u32             4              2304  hot
    id_generation  u32             4              2560  hot
    44 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.buffers import Column, cells, is_same_view
from ecsgen_runtime.cells import RowField
from ecsgen_runtime.columns import HotColumns
from ecsgen_runtime.field_types import FloatField, HandleField
from ecsgen_runtime.fields import described
from ecsgen_runtime.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.interchange import GivenTable
from ecsgen_runtime.kernels.blocks import JoinedRows
from ecsgen_runtime.policies.destroy import Callback, Release
from ecsgen_runtime.policies.ids import IdRows, Ids
from ecsgen_runtime.policies.instances import LinkedRows, Many
from ecsgen_runtime.policies.maps import Sparse, grown_map
from ecsgen_runtime.policies.owned import ensured
from ecsgen_runtime.proxies import EntityProxy
from ecsgen_runtime.queries.query_columns import QueryColumn, QueryColumns
from ecsgen_runtime.typed import NamedTuple, TypedDict
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("strength", np.dtype(np.float64), (), 8, ("hot",), 8),
    Column("to", np.dtype(np.uint64), (), 8, ("hot",), 16),
    Column("next", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("previous", np.dtype(np.uint32), (), 4, ("hot",), 28),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 32),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 36),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 40),
)
_STRENGTH_FIELD: Final = FloatField("Bond.strength", "f64")
_TO_FIELD: Final = HandleField("Bond.to", "entity")
_STRENGTH_DEFAULT: Final = 0.0
_TO_DEFAULT: Final = NULL_ENTITY
_FIELDS: Final = described(
    (_STRENGTH_FIELD, "f64", _STRENGTH_DEFAULT, ("hot",)),
    (_TO_FIELD, "entity", _TO_DEFAULT, ("hot",)),
)


class Bond(NamedTuple):
    """One row of a BondManager, copied out."""

    strength: float = _STRENGTH_DEFAULT
    to: Entity = _TO_DEFAULT


class BondFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    strength: ArrayLike
    to: ArrayLike


class BondColumns(QueryColumns):
    """The columns of Bond in a query's rows: one cell per entity."""

    __slots__ = ()

    strength = QueryColumn[np.float64]("strength", _STRENGTH_FIELD, _STRENGTH_DEFAULT)
    """The strength of each row. Shape (n,)."""

    to = QueryColumn[np.uint64]("to", _TO_FIELD, _TO_DEFAULT)
    """The to of each row. Shape (n,)."""


class BondData(LinkedRows, IdRows, JoinedRows, HotColumns):
    """The columns of a BondManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_first_generation",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_joined",
        "_next_cells",
        "_next_column",
        "_peak",
        "_previous_cells",
        "_previous_column",
        "_slots",
        "_strength_cells",
        "_strength_column",
        "_to_cells",
        "_to_column",
    )
    MANAGER: ClassVar = "BondManager"
    LAYOUT: ClassVar = _COLUMNS
    _ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def strength(self) -> NDArray[np.float64]:
        """The strength of each row. Shape (n,)."""
        return self._strength_column[: self._n]

    @strength.setter
    def strength(self, values: ArrayLike) -> None:
        if not is_same_view(self.strength, values):
            self._strength_column[: self._n] = _STRENGTH_FIELD.many(values, self._n)

    @property
    def to(self) -> NDArray[np.uint64]:
        """The to of each row. Shape (n,)."""
        return self._to_column[: self._n]

    @to.setter
    def to(self, values: ArrayLike) -> None:
        if not is_same_view(self.to, values):
            self._to_column[: self._n] = _TO_FIELD.many(values, self._n)

    def _place(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._cut(0)
        self._entity_cells = cells(self._entity_column)
        self._strength_column: NDArray[np.float64] = self._cut(1)
        self._strength_cells: memoryview[float] = cells(self._strength_column)
        self._to_column: NDArray[np.uint64] = self._cut(2)
        self._to_cells: memoryview[Entity] = cells(self._to_column)
        self._next_column = self._cut(3)
        self._next_cells = cells(self._next_column)
        self._previous_column = self._cut(4)
        self._previous_cells = cells(self._previous_column)
        self._id_slot_column = self._cut(5)
        self._id_slot_cells = cells(self._id_slot_column)
        self._id_row_column = self._cut(6)
        self._id_row_cells = cells(self._id_row_column)
        self._id_generation_column = self._cut(7)
        self._id_generation_cells = cells(self._id_generation_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._strength_column[dst] = self._strength_column[src]
        self._to_column[dst] = self._to_column[src]
        self._next_column[dst] = self._next_column[src]
        self._previous_column[dst] = self._previous_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]


class BondManager(Many, Sparse, Ids, Callback, Release):
    """Owns every Bond: lookup sparse, instances many, destroy callback, release."""

    __slots__ = ("_entities", "_released", "_sparse", "_sparse_cells")
    _STEPS: ClassVar = {
        "row": "packed",
        "create": "packed many sparse ids",
        "_destroy_row": "packed many ids release",
    }
    _ROWS: ClassVar = BondData
    _CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("strength", "to")
    data: BondData

    def strength(self, row: int, /) -> float:
        """The strength."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._strength_cells[row]

    def set_strength(self, row: int, value: float, /) -> None:
        """Set `strength` of a row."""
        _value = _STRENGTH_FIELD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        data._strength_cells[row] = _value

    def to(self, row: int, /) -> Entity:
        """The to."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._to_cells[row]

    def set_to(self, row: int, value: Entity | int, /) -> None:
        """Set `to` of a row."""
        _value = _TO_FIELD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        data._to_cells[row] = _value

    def row(self, row: int, /) -> Bond:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return Bond(data._strength_cells[row], data._to_cells[row])

    strength_of = RowField.by_entity(strength)
    set_strength_of = RowField.set_by_entity(set_strength)
    to_of = RowField.by_entity(to)
    set_to_of = RowField.set_by_entity(set_to)

    def __getitem__(self, entity: Entity, /) -> BondRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(BondRef, entity)

    def rows(self) -> Iterator[BondRef]:
        """Iterate over proxies of the rows; a structural change ends that; O(n)."""
        return self._proxies(BondRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        strength: float = _STRENGTH_DEFAULT,
        to: Entity | int = _TO_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1); it is the last of the entity's list.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _strength_ = _STRENGTH_DEFAULT
            if strength is not _STRENGTH_DEFAULT:
                _strength_ = _STRENGTH_FIELD.one(strength)
            _to_ = _TO_DEFAULT
            if to is not _TO_DEFAULT:
                _to_ = _TO_FIELD.one(to)
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
            self._refuse_locked()
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if _map is not None:
            self._set_map(_map)
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1)
        if _found != NIL and data._entity_cells[_found] != entity:
            _gone = self._evict, _found, self.create  # a dead one had this index
            return self._make_way(*_gone, entity, strength=strength, to=to)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            _taken = data._take_slot()
            data._entity_cells[row] = entity
            data._strength_cells[row] = _strength_
            data._to_cells[row] = _to_
            data._n = row + 1
            self._link_row(entity, row)
            data._id_slot_cells[row] = _taken
            data._id_row_cells[_taken] = row
            data._version += 1
        except BaseException:
            self._break()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: GivenTable | None = None,
        /,
        **columns: Unpack[BondFields],
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, columns, table)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        lists = self._plan_lists(entities, rows)
        taken = data._next_slots(count)
        try:
            data._take_slots(count)
            data._entity_column[span] = entities
            data._strength_column[span] = columns["strength"]
            data._to_column[span] = columns["to"]
            data._n = end
            self._relink(lists)
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            data._version += 1
        except BaseException:
            self._break()
            raise
        return rows

    ensure = ensured(create)

    def _destroy_row(self, row: Instance, told: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if not told and self._released.entries:
            return self._destroy_told(row)
        try:
            self._unlink_row(row)
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._strength_cells[dst] = data._strength_cells[src]
                data._to_cells[dst] = data._to_cells[src]
                data._next_cells[dst] = data._next_cells[src]
                data._previous_cells[dst] = data._previous_cells[src]
                data._id_slot_cells[dst] = data._id_slot_cells[src]
                self._relink_row(src, dst)
                data._id_row_cells[data._id_slot_cells[dst]] = dst
            data._n = src
            data._give_slot(slot)
            data._version += 1
        except BaseException:
            self._break()
            raise
        return 1


class BondRef(EntityProxy):
    """A row of a BondManager, which follows its entity."""

    __slots__ = ()

    strength = RowField.cell(
        BondManager.strength, BondManager.set_strength, _STRENGTH_FIELD
    )
    to = RowField.cell(BondManager.to, BondManager.set_to, _TO_FIELD)
