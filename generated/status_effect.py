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
from contextlib import contextmanager
from operator import index
from random import Random
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    grown_capacity,
    is_same_view,
    load_rows,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from ._runtime.convert.enums import EnumField
from ._runtime.convert.numbers import FloatField, HandleField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.ids.slots import (
    SLOT_BITS,
    SLOT_MASK,
    WORN_OUT,
    ids_of,
    resolve_ids,
    rows_of_ids,
    stale_id,
)
from ._runtime.instances.chains import (
    chain_lengths,
    chain_rows,
    join,
    link,
    remap_links,
    unlink,
    walk,
)
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.rows import (
    distinct,
    fill,
    first_missing,
    has_row,
    integers,
    is_integer,
    locked,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order
from ._runtime.queries.columns import QueryColumn, QueryColumns
from .enums import Effect

MANAGER: Final = "StatusEffectManager"
ROW_BYTES: Final = 53
COLUMNS: Final = (
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
_EFFECT: Final = EnumField("StatusEffect.effect", Effect, "u8")
_STRENGTH: Final = FloatField("StatusEffect.strength", "f32")
_REMAINING: Final = FloatField("StatusEffect.remaining", "f32")
_CASTER: Final = HandleField("StatusEffect.caster")
_ICON: Final = HandleField("StatusEffect.icon")
EFFECT_DEFAULT: Final = Effect(0)
EFFECT_CELL: Final = _EFFECT.one(EFFECT_DEFAULT)
STRENGTH_DEFAULT: Final = 1.0
REMAINING_DEFAULT: Final = 5.0
CASTER_DEFAULT: Final = NULL_ENTITY
ICON_DEFAULT: Final = Id(0)
SORT_KEYS: Final = ("effect", "strength", "remaining", "caster", "icon")


class StatusEffect(NamedTuple):
    """One row of a StatusEffectManager, copied out."""

    effect: Effect
    """What it does."""

    strength: float
    """How much of it."""

    remaining: float
    """Time until it wears off. [s]"""

    caster: Entity
    """Who is to blame."""

    icon: Id
    """What shows it on the screen."""


class StatusEffectFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

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


class StatusEffectData:
    """The columns of a StatusEffectManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_caster_cells",
        "_caster_column",
        "_effect_cells",
        "_effect_column",
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
        "_n",
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
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _peak: int
    _slots: int
    _first_generation: int
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _effect_column: NDArray[np.uint8]
    _effect_cells: memoryview[int]
    _strength_column: NDArray[np.float32]
    _strength_cells: memoryview[float]
    _remaining_column: NDArray[np.float32]
    _remaining_cells: memoryview[float]
    _next_column: NDArray[np.uint32]
    _next_cells: memoryview[Instance]
    _previous_column: NDArray[np.uint32]
    _previous_cells: memoryview[Instance]
    _id_slot_column: NDArray[np.uint32]
    _id_slot_cells: memoryview[int]
    _id_row_column: NDArray[np.uint32]
    _id_row_cells: memoryview[int]
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]
    _caster_column: NDArray[np.uint64]
    _caster_cells: memoryview[Entity]
    _icon_column: NDArray[np.uint64]
    _icon_cells: memoryview[Id]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._peak = 0
        self._slots = 0
        self._first_generation = 1
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer."""
        return self._allocated

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def effect(self) -> NDArray[np.uint8]:
        """What it does. Shape (n,)."""
        return self._effect_column[: self._n]

    @effect.setter
    def effect(self, values: ArrayLike) -> None:
        if not is_same_view(self.effect, values):
            self._effect_column[: self._n] = _EFFECT.many(values, self._n)

    @property
    def strength(self) -> NDArray[np.float32]:
        """How much of it. Shape (n,)."""
        return self._strength_column[: self._n]

    @strength.setter
    def strength(self, values: ArrayLike) -> None:
        if not is_same_view(self.strength, values):
            self._strength_column[: self._n] = _STRENGTH.many(values, self._n)

    @property
    def remaining(self) -> NDArray[np.float32]:
        """Time until it wears off. [s] Shape (n,)."""
        return self._remaining_column[: self._n]

    @remaining.setter
    def remaining(self, values: ArrayLike) -> None:
        if not is_same_view(self.remaining, values):
            self._remaining_column[: self._n] = _REMAINING.many(values, self._n)

    @property
    def caster(self) -> NDArray[np.uint64]:
        """Who is to blame. Shape (n,)."""
        return self._caster_column[: self._n]

    @caster.setter
    def caster(self, values: ArrayLike) -> None:
        if not is_same_view(self.caster, values):
            self._caster_column[: self._n] = _CASTER.many(values, self._n)

    @property
    def icon(self) -> NDArray[np.uint64]:
        """What shows it on the screen. Shape (n,)."""
        return self._icon_column[: self._n]

    @icon.setter
    def icon(self, values: ArrayLike) -> None:
        if not is_same_view(self.icon, values):
            self._icon_column[: self._n] = _ICON.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> StatusEffectHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> StatusEffectColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return StatusEffectHotColumns(self.effect, self.strength, self.remaining)
        if tag == "cold":
            return StatusEffectColdColumns(self.caster, self.icon)
        raise ValueError(f"StatusEffect has no tag {tag!r}; it has hot, cold")

    def _take_slot(self) -> int:
        """Return the slot of the next row: a free one, or a new one."""
        if self._n == self._slots:
            slot = self._peak
            self._id_generation_cells[slot] = self._first_generation
            self._peak += 1
            self._slots += 1
            return slot
        return self._id_slot_cells[self._n]

    def _take_slots(self, count: int) -> NDArray[np.uint32]:
        """Return the slots of the next `count` rows: free ones, then new ones."""
        free = self._id_slot_column[self._n : min(self._n + count, self._slots)].copy()
        new = count - len(free)
        if new == 0:
            return free
        peak = self._peak + new
        self._id_generation_column[self._peak : peak] = self._first_generation
        fresh = np.arange(self._peak, peak, dtype=np.uint32)
        self._peak = peak
        self._slots += new
        return np.concatenate((free, fresh))

    def _give_slot(self, slot: int) -> None:
        """Free the slot of a row that is gone, or retire it after its last generation."""
        if self._id_generation_cells[slot] == WORN_OUT:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        self._id_generation_cells[slot] += 1
        self._id_slot_cells[self._n] = slot

    def _give_slots(self, slots: NDArray[np.uint32]) -> None:
        """Free the slots of the rows that are gone, but retire those that are worn out."""
        fresh = slots[self._id_generation_column[slots] != WORN_OUT]
        self._id_generation_column[fresh] += 1
        worn = len(slots) - len(fresh)
        n, end = self._n, self._n + len(fresh)
        if worn:
            behind = self._id_slot_column[n + len(slots) : self._slots].copy()
            self._slots -= worn
            self._id_slot_column[end : self._slots] = behind
        self._id_slot_column[n:end] = fresh

    def _drop_slots(self) -> None:
        """Forget the free slots behind the last one in use; new ones begin where they ended."""
        n = self._n
        used = self._id_slot_column[:n]
        peak = int(used.max()) + 1 if n else 0
        if peak == self._peak or self._slots < self._peak:
            return  # none, or some were retired, which must not come again
        dropped = self._id_generation_column[peak : self._peak]
        self._first_generation = max(self._first_generation, int(dropped.max()))
        free = np.ones(peak, np.bool_)
        free[used] = False
        self._id_slot_column[n:peak] = np.flatnonzero(free)
        self._peak = self._slots = peak

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._effect_column = cut(buffer, COLUMNS[1], capacity)
        self._effect_cells = cells(self._effect_column)
        self._strength_column = cut(buffer, COLUMNS[2], capacity)
        self._strength_cells = cells(self._strength_column)
        self._remaining_column = cut(buffer, COLUMNS[3], capacity)
        self._remaining_cells = cells(self._remaining_column)
        self._next_column = cut(buffer, COLUMNS[4], capacity)
        self._next_cells = cells(self._next_column)
        self._previous_column = cut(buffer, COLUMNS[5], capacity)
        self._previous_cells = cells(self._previous_column)
        self._id_slot_column = cut(buffer, COLUMNS[6], capacity)
        self._id_slot_cells = cells(self._id_slot_column)
        self._id_row_column = cut(buffer, COLUMNS[7], capacity)
        self._id_row_cells = cells(self._id_row_column)
        self._id_generation_column = cut(buffer, COLUMNS[8], capacity)
        self._id_generation_cells = cells(self._id_generation_column)
        self._caster_column = cut(buffer, COLUMNS[9], capacity)
        self._caster_cells = cells(self._caster_column)
        self._icon_column = cut(buffer, COLUMNS[10], capacity)
        self._icon_cells = cells(self._icon_column)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._peak
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._peak)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

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


class StatusEffectColumns(QueryColumns):
    """The columns of StatusEffect in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    effect = QueryColumn[np.uint8]("effect", _EFFECT, EFFECT_DEFAULT)
    """What it does. Shape (n,)."""

    strength = QueryColumn[np.float32]("strength", _STRENGTH, STRENGTH_DEFAULT)
    """How much of it. Shape (n,)."""

    remaining = QueryColumn[np.float32]("remaining", _REMAINING, REMAINING_DEFAULT)
    """Time until it wears off. [s] Shape (n,)."""

    caster = QueryColumn[np.uint64]("caster", _CASTER, CASTER_DEFAULT)
    """Who is to blame. Shape (n,)."""

    icon = QueryColumn[np.uint64]("icon", _ICON, ICON_DEFAULT)
    """What shows it on the screen. Shape (n,)."""


class StatusEffectManager:
    """Owns every StatusEffect: lookup sparse, instances many, destroy gc.

    One effect that an entity is under.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_locks",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: StatusEffectData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = StatusEffectData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "entities": self._entities,
            "sparse": self._sparse,
            "peak": data._peak,
            "slots": data._slots,
            "first_generation": data._first_generation,
            "rng": self._rng.getstate(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = StatusEffectData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        data._peak = state["peak"]
        data._slots = state["slots"]
        data._first_generation = state["first_generation"]
        self._rng = Random()
        self._rng.setstate(state["rng"])

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has instances; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: the buffer and the map; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def effect(self, row: Instance, /) -> Effect:
        """What it does."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Effect(data._effect_cells[row])

    def set_effect(self, row: Instance, value: Effect | int, /) -> None:
        """Set `effect` of a row."""
        _value = _EFFECT.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._effect_cells[row] = _value

    def strength(self, row: Instance, /) -> float:
        """How much of it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._strength_cells[row]

    def set_strength(self, row: Instance, value: float, /) -> None:
        """Set `strength` of a row."""
        _value = _STRENGTH.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._strength_cells[row] = _value

    def remaining(self, row: Instance, /) -> float:
        """Time until it wears off. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._remaining_cells[row]

    def set_remaining(self, row: Instance, value: float, /) -> None:
        """Set `remaining` of a row."""
        _value = _REMAINING.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._remaining_cells[row] = _value

    def caster(self, row: Instance, /) -> Entity:
        """Who is to blame."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._caster_cells[row]

    def set_caster(self, row: Instance, value: Entity | int, /) -> None:
        """Set `caster` of a row."""
        _value = _CASTER.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._caster_cells[row] = _value

    def icon(self, row: Instance, /) -> Id:
        """What shows it on the screen."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._icon_cells[row]

    def set_icon(self, row: Instance, value: Id | int, /) -> None:
        """Set `icon` of a row."""
        _value = _ICON.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._icon_cells[row] = _value

    def row(self, row: Instance, /) -> StatusEffect:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return StatusEffect(
            Effect(data._effect_cells[row]),
            data._strength_cells[row],
            data._remaining_cells[row],
            data._caster_cells[row],
            data._icon_cells[row],
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's first row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return NIL
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's first row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return sparse_lookup(self._sparse, owners, given, INDEX_MASK)

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has instances; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have instances, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's first row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's first row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def first(self, entity: Entity, /) -> Instance:
        """Return the entity's first row in order of creation, or NIL; O(1)."""
        return self.lookup(entity)

    def next(self, row: Instance, /) -> Instance:
        """Return the same entity's row that was created after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._next_cells[row]

    def previous(self, row: Instance, /) -> Instance:
        """Return the same entity's row that was created before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        before = data._previous_cells[row]
        return NIL if data._next_cells[before] == NIL else before

    def instances(self, entity: Entity, /) -> Iterator[Instance]:
        """Iterate over the entity's rows in order of creation, as they are now."""
        row = self.lookup(entity)
        return iter([] if row == NIL else self._rows_from(row).tolist())

    def count(self, entity: Entity, /) -> int:
        """Return how many instances the entity has; O(that number)."""
        row = self.lookup(entity)
        return 0 if row == NIL else len(self._rows_from(row))

    def count_many(self, entities: ArrayLike, /) -> RowArray:
        """Return how many instances each of k entities has, shape (k,); O(k), or O(n)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return chain_lengths(data._next_column, owners, given, self.lookup_many(given))

    def create(
        self,
        entity: Entity,
        /,
        *,
        effect: Effect | int = EFFECT_DEFAULT,
        strength: float = STRENGTH_DEFAULT,
        remaining: float = REMAINING_DEFAULT,
        caster: Entity | int = CASTER_DEFAULT,
        icon: Id | int = ICON_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1), behind the ones that it has.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _effect_ = EFFECT_CELL
            if effect is not EFFECT_DEFAULT:
                _effect_ = _EFFECT.one(effect)
            _strength_ = STRENGTH_DEFAULT
            if strength is not STRENGTH_DEFAULT:
                _strength_ = _STRENGTH.one(strength)
            _remaining_ = REMAINING_DEFAULT
            if remaining is not REMAINING_DEFAULT:
                _remaining_ = _REMAINING.one(remaining)
            _caster_ = CASTER_DEFAULT
            if caster is not CASTER_DEFAULT:
                _caster_ = _CASTER.one(caster)
            _icon_ = ICON_DEFAULT
            if icon is not ICON_DEFAULT:
                _icon_ = _ICON.one(icon)
        except Exception:
            self._entities.require(entity)  # death is the graver error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1))
        if _map is not None:
            self._set_map(_map)
        if data._n == data._slots and data._peak == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._peak + 1))
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.sort(self._rows_from(_found)))
            _found = NIL
        _taken = data._take_slot()
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        data._effect_cells[row] = _effect_
        data._strength_cells[row] = _strength_
        data._remaining_cells[row] = _remaining_
        data._caster_cells[row] = _caster_
        data._icon_cells[row] = _icon_
        data._n = row + 1
        self._link_row(entity, row)
        data._id_slot_cells[row] = _taken
        data._id_row_cells[_taken] = row
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        effect: ArrayLike = EFFECT_DEFAULT,
        strength: ArrayLike = STRENGTH_DEFAULT,
        remaining: ArrayLike = REMAINING_DEFAULT,
        caster: ArrayLike = CASTER_DEFAULT,
        icon: ArrayLike = ICON_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                effect=effect,
                strength=strength,
                remaining=remaining,
                caster=caster,
                icon=icon,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        _borrowed = (entities, effect, strength, remaining, caster, icon)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        effect: ArrayLike = EFFECT_DEFAULT,
        strength: ArrayLike = STRENGTH_DEFAULT,
        remaining: ArrayLike = REMAINING_DEFAULT,
        caster: ArrayLike = CASTER_DEFAULT,
        icon: ArrayLike = ICON_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "effect": _EFFECT.many(effect, count, data._buffer),
            "strength": _STRENGTH.many(strength, count, data._buffer),
            "remaining": _REMAINING.many(remaining, count, data._buffer),
            "caster": _CASTER.many(caster, count, data._buffer),
            "icon": _ICON.many(icon, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + len(entities)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)
        slots = data._peak + max(0, data._n + len(entities) - data._slots)
        if slots > data._allocated:
            data._allocate(grown_capacity(data._allocated, slots), borrowed)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        slots = indices(entities, INDEX_MASK)
        highest = int(slots.max())
        if highest >= len(self._sparse):
            self._set_map(grown_map(self._sparse, highest))
        owners = data._entity_column[: data._n]
        dead = predecessors(self._sparse, slots, owners, entities)
        if len(dead):
            self._destroy_rows(self._rows_of_many(dead))
        taken = data._take_slots(count)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        data._entity_column[span] = entities
        data._effect_column[span] = columns["effect"]
        data._strength_column[span] = columns["strength"]
        data._remaining_column[span] = columns["remaining"]
        data._caster_column[span] = columns["caster"]
        data._icon_column[span] = columns["icon"]
        data._n = end
        self._link(entities, rows)
        data._id_slot_column[rows] = taken
        data._id_row_column[taken] = rows
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        effect: Effect | int = EFFECT_DEFAULT,
        strength: float = STRENGTH_DEFAULT,
        remaining: float = REMAINING_DEFAULT,
        caster: Entity | int = CASTER_DEFAULT,
        icon: Id | int = ICON_DEFAULT,
    ) -> Instance:
        """Return the entity's first instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity,
            effect=effect,
            strength=strength,
            remaining=remaining,
            caster=caster,
            icon=icon,
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove all instances of the entity and return how many went; O(that number)."""
        if self._locks:
            raise locked(MANAGER)
        first = self.lookup(entity)
        if first == NIL:
            return 0
        gone = np.sort(self._rows_from(first))
        return self._destroy_rows(gone)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove all instances of k entities and return how many went; O(k + that number)."""
        if self._locks:
            raise locked(MANAGER)
        gone = self._rows_of_many(as_entities(entities))
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
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
        data._give_slot(slot)
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._unlink_rows(gone)
        slots = data._id_slot_column[gone]
        data._id_row_column[slots] = NIL
        n = data._n
        src, dst = fill(gone, n)
        if len(src):
            data._move_rows(src, dst)
            self._relink_rows(src, dst, n)
            data._id_row_column[data._id_slot_column[dst]] = dst
        data._n = n - len(gone)
        data._give_slots(slots)
        self._version += 1
        return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            key = getattr(data, key)
        key = sort_key(key_values(key, MANAGER), data._n, MANAGER)
        self._permute(sort_order(key))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        self._relink_rows(src, dst, n)
        data._id_row_column[data._id_slot_column[dst]] = dst
        self._version += 1

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        data._drop_slots()
        capacity = whole_rows(data._peak)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1
        owners = indices(data._entity_column[: data._n], INDEX_MASK)
        size = whole_rows(int(owners.max()) + 1) if len(owners) else 64
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        self._sparse = sparse
        self._sparse_cells = cells(sparse)

    def _rows_from(self, first: int) -> RowArray:
        """Return the rows of the list that begins at `first`, in its order."""
        return walk(self.data._next_cells, first)

    def _rows_of_many(self, entities: EntityArray) -> RowArray:
        """Return all rows of the entities, ascending."""
        data = self.data
        owners = data._entity_column[: data._n]
        heads = self.lookup_many(entities)
        return chain_rows(data._next_column, owners, entities, heads)

    def _link(self, entities: EntityArray, rows: RowArray) -> None:
        """Append new rows to their entities' lists, in the order given."""
        nexts, previous = self.data._next_column, self.data._previous_column
        first, last, owners = link(nexts, previous, entities, rows)
        heads = self.lookup_many(owners)
        new, old = heads == NIL, heads != NIL
        self._sparse[indices(owners[new], INDEX_MASK)] = first[new]
        join(nexts, previous, heads[old], first[old], last[old])

    def _link_row(self, entity: Entity, row: Instance) -> None:
        """Append a new row to its entity's list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        nexts[row] = NIL
        first = self.lookup(entity)
        if first == NIL:
            self._sparse_cells[entity & INDEX_MASK] = row
            previous[row] = row
            return
        last = previous[first]
        nexts[last] = row
        previous[row] = last
        previous[first] = row

    def _unlink_row(self, row: Instance) -> None:
        """Take a row out of its list."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[row]
        before, after = previous[row], nexts[row]
        if before == row:  # the only one
            self._sparse_cells[owner & INDEX_MASK] = NIL
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._sparse_cells[owner & INDEX_MASK] = after
        else:
            nexts[before] = after
        behind = self._sparse_cells[owner & INDEX_MASK] if after == NIL else after
        previous[behind] = before

    def _unlink_rows(self, gone: RowArray) -> None:
        """Take rows out of their lists, bridging over neighbours, however many go."""
        nexts, previous = self.data._next_column, self.data._previous_column
        owners = np.unique(self.data._entity_column[gone])
        heads = self._sparse[indices(owners, INDEX_MASK)].astype(np.intp)
        heads, empty = unlink(nexts, previous, heads, gone)
        kept = ~empty
        self._sparse[indices(owners[empty], INDEX_MASK)] = NIL
        self._sparse[indices(owners[kept], INDEX_MASK)] = heads[kept]

    def _relink_row(self, src: int, dst: Instance) -> None:
        """Mend a list after row src went to dst."""
        nexts, previous = self.data._next_cells, self.data._previous_cells
        owner = self.data._entity_cells[dst]
        before, after = previous[dst], nexts[dst]
        if before == src:  # the only one
            self._sparse_cells[owner & INDEX_MASK] = dst
            previous[dst] = dst
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            self._sparse_cells[owner & INDEX_MASK] = dst
        else:
            nexts[before] = dst
        behind = self._sparse_cells[owner & INDEX_MASK] if after == NIL else after
        previous[behind] = dst

    def _relink_rows(self, src: RowArray, dst: RowArray, n: int) -> None:
        """Mend the lists after rows src[k] of n went to dst[k]."""
        nexts, previous = self.data._next_column, self.data._previous_column
        first = remap_links(nexts, previous, src, dst, n)
        owners = self.data._entity_column[first]
        self._sparse[indices(owners, INDEX_MASK)] = first
        last = dst[nexts[dst] == NIL]
        owners = self.data._entity_column[last]
        heads = self._sparse[indices(owners, INDEX_MASK)].astype(np.intp)
        previous[heads] = last

    def id_of(self, row: Instance, /) -> Id:
        """Return the stable id of a row: `generation << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        slot = data._id_slot_cells[row]
        return Id(data._id_generation_cells[slot] << SLOT_BITS | slot)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        data = self.data
        given = rows_in_use(rows, data, MANAGER)
        slots = data._id_slot_column[given]
        return ids_of(slots, data._id_generation_column)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        slot = id & SLOT_MASK
        if slot < data._peak and data._id_generation_cells[slot] == id >> SLOT_BITS:
            return Instance(data._id_row_cells[slot])
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those whose instance is gone; O(k)."""
        given = as_entities(ids)
        data = self.data
        rows = data._id_row_column[: data._peak]
        return resolve_ids(given, rows, data._id_generation_column[: data._peak])

    def destroy_id(self, id: Id, /) -> None:
        """Remove the instance with this id; O(1).

        Raises:
            StaleIdError: it is gone already.
            StructureLockedError: the manager is locked.
        """
        row = self.resolve(id)
        if row == NIL:
            raise stale_id(MANAGER, id)
        self.destroy(row)

    def destroy_id_many(self, ids: ArrayLike, /) -> None:
        """Remove the instances with these k ids; O(k). Nothing goes if one is stale.

        Raises:
            StaleIdError: an id is stale, or given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = as_entities(ids)
        self._destroy_rows(rows_of_ids(MANAGER, given, self.resolve_many(given)))

    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        pick = (self._rng if rng is None else rng).random
        alive = self._entities.alive
        collected = alive_in_row = 0
        while data._n and alive_in_row < 4:
            row = Instance(int(pick() * data._n))
            if alive(data._entity_cells[row]):
                alive_in_row += 1
                continue
            alive_in_row = 0
            collected += self._destroy_row(row)
        return collected

    def collect(self) -> int:
        """Remove the rows of all dead entities at once and return how many went; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        owners = self.data.entity
        alive = self._entities.alive_many(owners)
        gone = np.flatnonzero(~alive)
        return self._destroy_rows(gone)
