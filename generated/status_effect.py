"""StatusEffect: lookup sparse, instances many, destroy gc.

One effect that an entity is under.

One buffer of 53 bytes per row, column after column:

    column         type         bytes/row  offset (64 rows)  tags
    -------------  -----------  ---------  ----------------  ----
    entity         u64                  8                 0  hot
    effect         Effect               1               512  hot
    strength       f32                  4               576  hot
    remaining      f32                  4               832  hot
    next           u32                  4              1088  hot
    previous       u32                  4              1344  hot
    id_slot        u32                  4              1600  hot
    id_row         u32                  4              1856  hot
    id_generation  u32                  4              2112  hot
    caster         entity               8              2368  cold
    icon           id<Texture>          8              2880  cold
    53 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, ClassVar, Final, Literal, Unpack, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Id,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.ids import IdRows, Ids
from ecsgen_runtime.managers.policies.instances import LinkedRows, Many
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.policies.references import CollectedReferences
from ecsgen_runtime.managers.row_proxies import EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import EnumField, FloatField, HandleField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import (
    ComparableQueryColumn,
    QueryColumn,
    QueryColumns,
)
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager
from .enums import Effect

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("effect", np.dtype(np.uint8), (), 1, ("hot",), 8),
    Column("strength", np.dtype(np.float32), (), 4, ("hot",), 9),
    Column("remaining", np.dtype(np.float32), (), 4, ("hot",), 13),
    Column("next", np.dtype(np.uint32), (), 4, ("hot",), 17),
    Column("previous", np.dtype(np.uint32), (), 4, ("hot",), 21),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 25),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 29),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 33),
    Column("caster", np.dtype(np.uint64), (), 8, ("cold",), 37),
    Column("icon", np.dtype(np.uint64), (), 8, ("cold",), 45),
)
_EFFECT_FIELD: Final = EnumField("StatusEffect.effect", Effect, "u8")
_STRENGTH_FIELD: Final = FloatField("StatusEffect.strength", "f32")
_REMAINING_FIELD: Final = FloatField("StatusEffect.remaining", "f32")
_CASTER_FIELD: Final = HandleField("StatusEffect.caster", "entity")
_ICON_FIELD: Final = HandleField("StatusEffect.icon", "id<Texture>")
_EFFECT_DEFAULT: Final = Effect(0)
_EFFECT_CELL: Final = _EFFECT_FIELD.to_cell(_EFFECT_DEFAULT)
_STRENGTH_DEFAULT: Final = 1.0
_REMAINING_DEFAULT: Final = 5.0
_CASTER_DEFAULT: Final = NULL_ENTITY
_ICON_DEFAULT: Final = Id(0)
_FIELDS: Final = component_fields(
    (_EFFECT_FIELD, "Effect", _EFFECT_DEFAULT, ("hot",), "", "What it does."),
    (_STRENGTH_FIELD, "f32", _STRENGTH_DEFAULT, ("hot",), "", "How much of it."),
    (
        _REMAINING_FIELD,
        "f32",
        _REMAINING_DEFAULT,
        ("hot",),
        "s",
        "Time until it wears off.",
    ),
    (_CASTER_FIELD, "entity", _CASTER_DEFAULT, ("cold",), "", "Who is to blame."),
    (
        _ICON_FIELD,
        "id<Texture>",
        _ICON_DEFAULT,
        ("cold",),
        "",
        "What shows it on the screen.",
    ),
)


class StatusEffect(NamedTuple):
    """One row of a StatusEffectManager, copied out."""

    effect: Effect = _EFFECT_DEFAULT
    """What it does."""

    strength: float = _STRENGTH_DEFAULT
    """How much of it."""

    remaining: float = _REMAINING_DEFAULT
    """Time until it wears off. [s]"""

    caster: Entity = _CASTER_DEFAULT
    """Who is to blame."""

    icon: Id = _ICON_DEFAULT
    """What shows it on the screen."""


class StatusEffectFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    effect: ArrayLike
    strength: ArrayLike
    remaining: ArrayLike
    caster: ArrayLike
    icon: ArrayLike


class StatusEffectHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    effect: NDArray[np.uint8]
    strength: NDArray[np.float32]
    remaining: NDArray[np.float32]


class StatusEffectColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    caster: NDArray[np.uint64]
    icon: NDArray[np.uint64]


class StatusEffectColumns(QueryColumns):
    """The columns of StatusEffect in a query's rows: one cell per entity."""

    __slots__ = ()

    effect = ComparableQueryColumn[np.uint8]("effect", _EFFECT_FIELD, _EFFECT_DEFAULT)
    """What it does. Shape (n,)."""

    strength = QueryColumn[np.float32]("strength", _STRENGTH_FIELD, _STRENGTH_DEFAULT)
    """How much of it. Shape (n,)."""

    remaining = QueryColumn[np.float32](
        "remaining", _REMAINING_FIELD, _REMAINING_DEFAULT
    )
    """Time until it wears off. [s] Shape (n,)."""

    caster = QueryColumn[np.uint64]("caster", _CASTER_FIELD, _CASTER_DEFAULT)
    """Who is to blame. Shape (n,)."""

    icon = QueryColumn[np.uint64]("icon", _ICON_FIELD, _ICON_DEFAULT)
    """What shows it on the screen. Shape (n,)."""


class StatusEffectData(LinkedRows, IdRows):
    """The columns of a StatusEffectManager: views of the rows in use."""

    __slots__ = (
        "_caster_cells",
        "_caster_column",
        "_effect_cells",
        "_effect_column",
        "_effect_view",
        "_entity_cells",
        "_entity_column",
        "_first_generation",
        "_icon_cells",
        "_icon_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_next_cells",
        "_next_column",
        "_peak",
        "_previous_cells",
        "_previous_column",
        "_remaining_cells",
        "_remaining_column",
        "_slots",
        "_strength_cells",
        "_strength_column",
    )
    MANAGER: ClassVar = "StatusEffectManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def effect(self) -> NDArray[np.uint8]:
        """What it does. Shape (n,)."""
        return self._effect_view[: self._n]

    @effect.setter
    def effect(self, values: ArrayLike) -> None:
        if not is_same_view(self.effect, values):
            self._effect_column[: self._n] = _EFFECT_FIELD.to_column(values, self._n)

    @property
    def strength(self) -> NDArray[np.float32]:
        """How much of it. Shape (n,)."""
        return self._strength_column[: self._n]

    @strength.setter
    def strength(self, values: ArrayLike) -> None:
        if not is_same_view(self.strength, values):
            self._strength_column[: self._n] = _STRENGTH_FIELD.to_column(
                values, self._n
            )

    @property
    def remaining(self) -> NDArray[np.float32]:
        """Time until it wears off. [s] Shape (n,)."""
        return self._remaining_column[: self._n]

    @remaining.setter
    def remaining(self, values: ArrayLike) -> None:
        if not is_same_view(self.remaining, values):
            self._remaining_column[: self._n] = _REMAINING_FIELD.to_column(
                values, self._n
            )

    @property
    def caster(self) -> NDArray[np.uint64]:
        """Who is to blame. Shape (n,)."""
        return self._caster_column[: self._n]

    @caster.setter
    def caster(self, values: ArrayLike) -> None:
        if not is_same_view(self.caster, values):
            self._caster_column[: self._n] = _CASTER_FIELD.to_column(values, self._n)

    @property
    def icon(self) -> NDArray[np.uint64]:
        """What shows it on the screen. Shape (n,)."""
        return self._icon_column[: self._n]

    @icon.setter
    def icon(self, values: ArrayLike) -> None:
        if not is_same_view(self.icon, values):
            self._icon_column[: self._n] = _ICON_FIELD.to_column(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> StatusEffectHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> StatusEffectColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return StatusEffectHotColumns(self.effect, self.strength, self.remaining)
        if tag == "cold":
            return StatusEffectColdColumns(self.caster, self.icon)
        raise ValueError(f"StatusEffect has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._effect_column: NDArray[np.uint8] = self._column_view(1)
        self._effect_cells: memoryview[int] = cell_view(self._effect_column)
        self._effect_view: NDArray[np.uint8] = _EFFECT_FIELD.comparable(
            self._effect_column
        )
        self._strength_column: NDArray[np.float32] = self._column_view(2)
        self._strength_cells: memoryview[float] = cell_view(self._strength_column)
        self._remaining_column: NDArray[np.float32] = self._column_view(3)
        self._remaining_cells: memoryview[float] = cell_view(self._remaining_column)
        self._next_column = self._column_view(4)
        self._next_cells = cell_view(self._next_column)
        self._previous_column = self._column_view(5)
        self._previous_cells = cell_view(self._previous_column)
        self._id_slot_column = self._column_view(6)
        self._id_slot_cells = cell_view(self._id_slot_column)
        self._id_row_column = self._column_view(7)
        self._id_row_cells = cell_view(self._id_row_column)
        self._id_generation_column = self._column_view(8)
        self._id_generation_cells = cell_view(self._id_generation_column)
        self._caster_column: NDArray[np.uint64] = self._column_view(9)
        self._caster_cells: memoryview[Entity] = cell_view(self._caster_column)
        self._icon_column: NDArray[np.uint64] = self._column_view(10)
        self._icon_cells: memoryview[Id] = cell_view(self._icon_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._effect_column[dst] = self._effect_column[src]
        self._strength_column[dst] = self._strength_column[src]
        self._remaining_column[dst] = self._remaining_column[src]
        self._next_column[dst] = self._next_column[src]
        self._previous_column[dst] = self._previous_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]
        self._caster_column[dst] = self._caster_column[src]
        self._icon_column[dst] = self._icon_column[src]


class StatusEffectManager(CollectedReferences, Many, Sparse, Ids, Gc):
    """Manager of every StatusEffect: lookup sparse, instances many, destroy gc.

    One effect that an entity is under.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    ON_DELETE: ClassVar = {"caster": False}
    PARTS: ClassVar = ManagerParts(
        row=StatusEffect,
        accessors=("packed",),
        create=("packed", "many", "sparse", "ids"),
        destroy_row=("packed", "many", "ids"),
    )
    ROWS: ClassVar = StatusEffectData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("effect", "strength", "remaining", "caster", "icon")
    data: StatusEffectData

    def effect(self, row: int, /) -> Effect:
        """What it does."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Effect(data._effect_cells[row])

    def set_effect(self, row: int, value: Effect | int | str, /) -> None:
        """Set `effect` of a row."""
        _value = _EFFECT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._effect_cells[row] = _value

    def strength(self, row: int, /) -> float:
        """How much of it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._strength_cells[row]

    def set_strength(self, row: int, value: float, /) -> None:
        """Set `strength` of a row."""
        _value = _STRENGTH_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._strength_cells[row] = _value

    def remaining(self, row: int, /) -> float:
        """Time until it wears off. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._remaining_cells[row]

    def set_remaining(self, row: int, value: float, /) -> None:
        """Set `remaining` of a row."""
        _value = _REMAINING_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._remaining_cells[row] = _value

    def caster(self, row: int, /) -> Entity:
        """Who is to blame."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._caster_cells[row]

    def set_caster(self, row: int, value: Entity | int, /) -> None:
        """Set `caster` of a row."""
        _value = _CASTER_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._caster_cells[row] = _value

    def icon(self, row: int, /) -> Id:
        """What shows it on the screen."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._icon_cells[row]

    def set_icon(self, row: int, value: Id | int, /) -> None:
        """Set `icon` of a row."""
        _value = _ICON_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._icon_cells[row] = _value

    def row(self, row: int, /) -> StatusEffect:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return StatusEffect(
            Effect(data._effect_cells[row]),
            data._strength_cells[row],
            data._remaining_cells[row],
            data._caster_cells[row],
            data._icon_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> StatusEffectRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(StatusEffectRef, entity)

    def rows(self) -> Iterator[StatusEffectRef]:
        """Iterate over proxies of the rows; a structural change ends that; O(n)."""
        return self._proxies(StatusEffectRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        effect: Effect | int | str = _EFFECT_DEFAULT,
        strength: float = _STRENGTH_DEFAULT,
        remaining: float = _REMAINING_DEFAULT,
        caster: Entity | int = _CASTER_DEFAULT,
        icon: Id | int = _ICON_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1); it is the last of the entity's list.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _effect_ = _EFFECT_CELL
            if effect is not _EFFECT_DEFAULT:
                _effect_ = _EFFECT_FIELD.to_cell(effect)
            _strength_ = _STRENGTH_DEFAULT
            if strength is not _STRENGTH_DEFAULT:
                _strength_ = _STRENGTH_FIELD.to_cell(strength)
            _remaining_ = _REMAINING_DEFAULT
            if remaining is not _REMAINING_DEFAULT:
                _remaining_ = _REMAINING_FIELD.to_cell(remaining)
            _caster_ = _CASTER_DEFAULT
            if caster is not _CASTER_DEFAULT:
                _caster_ = _CASTER_FIELD.to_cell(caster)
            _icon_ = _ICON_DEFAULT
            if icon is not _ICON_DEFAULT:
                _icon_ = _ICON_FIELD.to_cell(icon)
        except Exception:
            self._entities.require(entity)  # a dead entity is the first error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            self._raise_if_locked()
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grow_map(self._sparse, _slot)
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if _map is not None:
            self._set_map(_map)
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                effect=effect,
                strength=strength,
                remaining=remaining,
                caster=caster,
                icon=icon,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            _new_slot = data._take_slot()
            data._entity_cells[row] = entity
            data._effect_cells[row] = _effect_
            data._strength_cells[row] = _strength_
            data._remaining_cells[row] = _remaining_
            data._caster_cells[row] = _caster_
            data._icon_cells[row] = _icon_
            data._n = row + 1
            self._link_row(entity, row)
            data._id_slot_cells[row] = _new_slot
            data._id_row_cells[_new_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[StatusEffectFields],
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
        lists = self._plan_chain_appends(entities, rows)
        taken = data._next_slots(count)
        try:
            data._take_slots(count)
            data._entity_column[span] = entities
            data._effect_column[span] = columns["effect"]
            data._strength_column[span] = columns["strength"]
            data._remaining_column[span] = columns["remaining"]
            data._caster_column[span] = columns["caster"]
            data._icon_column[span] = columns["icon"]
            data._n = end
            self._commit_chains(lists)
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._unlink_row(row)
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._effect_cells[dst] = data._effect_cells[src]
                data._strength_cells[dst] = data._strength_cells[src]
                data._remaining_cells[dst] = data._remaining_cells[src]
                data._next_cells[dst] = data._next_cells[src]
                data._previous_cells[dst] = data._previous_cells[src]
                data._id_slot_cells[dst] = data._id_slot_cells[src]
                data._caster_cells[dst] = data._caster_cells[src]
                data._icon_cells[dst] = data._icon_cells[src]
                self._relink_row(src, dst)
                data._id_row_cells[data._id_slot_cells[dst]] = dst
            data._n = src
            data._free_slot(slot)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class StatusEffectRef(EntityProxy):
    """A row of a StatusEffectManager, which follows its entity."""

    __slots__ = ()

    effect = RowField.of(StatusEffectManager.effect, StatusEffectManager.set_effect)
    strength = RowField.cell(
        StatusEffectManager.strength, StatusEffectManager.set_strength, _STRENGTH_FIELD
    )
    remaining = RowField.cell(
        StatusEffectManager.remaining,
        StatusEffectManager.set_remaining,
        _REMAINING_FIELD,
    )
    caster = RowField.cell(
        StatusEffectManager.caster, StatusEffectManager.set_caster, _CASTER_FIELD
    )
    icon = RowField.cell(
        StatusEffectManager.icon, StatusEffectManager.set_icon, _ICON_FIELD
    )
