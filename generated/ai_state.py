"""AiState: lookup sparse, instances one, destroy gc.

What an AI-controlled enemy does now, and what it drops when it dies.

One buffer of 36 bytes per row, column after column:

    column          type       bytes/row  offset (64 rows)  tags
    --------------  ---------  ---------  ----------------  ----
    entity          u64                8                 0  hot
    animation       Animation          1               512  hot
    energy          f64                8               576  hot
    goal            f32[2]             8              1088  hot
    loot            Loot               1              1600  cold
    min_drops       u8                 1              1664  cold
    max_drops       u8                 1              1728  cold
    chance_of_drop  f64                8              1792  cold
    36 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from random import Random
from struct import Struct
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
    flat_cells,
    grown_capacity,
    is_same_view,
    items,
    load_rows,
    put_cells,
    saved_rows,
    warn_if_viewed,
    whole_rows,
    word,
)
from ._runtime.convert.enums import EnumField
from ._runtime.convert.numbers import FloatField, IntField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.groups.group import (
    GroupMember,
    having_all,
    joined_at,
    locked_in_group,
    sorted_by_group,
    unshared,
)
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.partition import exchange, fill_parts
from ._runtime.placement.rows import (
    Remap,
    distinct,
    duplicate_instance,
    first_missing,
    first_present,
    first_repeated,
    has_row,
    integers,
    is_integer,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order
from ._runtime.queries.columns import QueryColumn, QueryColumns
from .enums import Animation, Loot

MANAGER: Final = "AiStateManager"
ROW_BYTES: Final = 36
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("animation", np.dtype(np.uint8), (), 1, ("hot",), 8),
    Column("energy", np.dtype(np.float64), (), 8, ("hot",), 9),
    Column("goal", np.dtype(np.float32), (2,), 8, ("hot",), 17),
    Column("loot", np.dtype(np.uint8), (), 1, ("cold",), 25),
    Column("min_drops", np.dtype(np.uint8), (), 1, ("cold",), 26),
    Column("max_drops", np.dtype(np.uint8), (), 1, ("cold",), 27),
    Column("chance_of_drop", np.dtype(np.float64), (), 8, ("cold",), 28),
)
_ANIMATION: Final = EnumField("AiState.animation", Animation, "u8")
_ENERGY: Final = FloatField("AiState.energy", "f64")
_GOAL: Final = FloatField("AiState.goal", "f32", (2,))
_LOOT: Final = EnumField("AiState.loot", Loot, "u8")
_MIN_DROPS: Final = IntField("AiState.min_drops", "u8")
_MAX_DROPS: Final = IntField("AiState.max_drops", "u8")
_CHANCE_OF_DROP: Final = FloatField("AiState.chance_of_drop", "f64")
GOAL_STRUCT: Final = Struct("=2f")
ANIMATION_DEFAULT: Final = Animation(0)
ANIMATION_CELL: Final = _ANIMATION.one(ANIMATION_DEFAULT)
ENERGY_DEFAULT: Final = 100.0
GOAL_DEFAULT: Final = (0.0, 0.0)
GOAL_WORD: Final = word(_GOAL, GOAL_DEFAULT)
LOOT_DEFAULT: Final = Loot(1)
LOOT_CELL: Final = _LOOT.one(LOOT_DEFAULT)
MIN_DROPS_DEFAULT: Final = 0
MAX_DROPS_DEFAULT: Final = 1
CHANCE_OF_DROP_DEFAULT: Final = 0.5
SORT_KEYS: Final = (
    "animation",
    "energy",
    "loot",
    "min_drops",
    "max_drops",
    "chance_of_drop",
)


class AiState(NamedTuple):
    """One row of a AiStateManager, copied out."""

    animation: Animation
    """The animation being played."""

    energy: float
    """Energy left to act with."""

    goal: tuple[float, float]
    """Where it is going. [m]"""

    loot: Loot
    """What it drops."""

    min_drops: int
    """Fewest items dropped."""

    max_drops: int
    """Most items dropped."""

    chance_of_drop: float
    """Chance of dropping anything, 0 to 1."""


class AiStateFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    animation: ArrayLike
    energy: ArrayLike
    goal: ArrayLike
    loot: ArrayLike
    min_drops: ArrayLike
    max_drops: ArrayLike
    chance_of_drop: ArrayLike


class AiStateHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    animation: NDArray[np.uint8]
    energy: NDArray[np.float64]
    goal: NDArray[np.float32]


class AiStateColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    loot: NDArray[np.uint8]
    min_drops: NDArray[np.uint8]
    max_drops: NDArray[np.uint8]
    chance_of_drop: NDArray[np.float64]


class AiStateData:
    """The columns of a AiStateManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_animation_cells",
        "_animation_column",
        "_buffer",
        "_chance_of_drop_cells",
        "_chance_of_drop_column",
        "_energy_cells",
        "_energy_column",
        "_entity_cells",
        "_entity_column",
        "_goal_cells",
        "_goal_column",
        "_goal_items",
        "_goal_words",
        "_loot_cells",
        "_loot_column",
        "_max_drops_cells",
        "_max_drops_column",
        "_min_drops_cells",
        "_min_drops_column",
        "_n",
        "_n_grouped",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _n_grouped: int
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _animation_column: NDArray[np.uint8]
    _animation_cells: memoryview[int]
    _energy_column: NDArray[np.float64]
    _energy_cells: memoryview[float]
    _goal_column: NDArray[np.float32]
    _goal_items: NDArray[Any]
    _goal_words: memoryview[int]
    _goal_cells: memoryview[float]
    _loot_column: NDArray[np.uint8]
    _loot_cells: memoryview[int]
    _min_drops_column: NDArray[np.uint8]
    _min_drops_cells: memoryview[int]
    _max_drops_column: NDArray[np.uint8]
    _max_drops_cells: memoryview[int]
    _chance_of_drop_column: NDArray[np.float64]
    _chance_of_drop_cells: memoryview[float]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._n_grouped = 0
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use, those of the group `actors` first."""
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
    def animation(self) -> NDArray[np.uint8]:
        """The animation being played. Shape (n,)."""
        return self._animation_column[: self._n]

    @animation.setter
    def animation(self, values: ArrayLike) -> None:
        if not is_same_view(self.animation, values):
            self._animation_column[: self._n] = _ANIMATION.many(values, self._n)

    @property
    def energy(self) -> NDArray[np.float64]:
        """Energy left to act with. Shape (n,)."""
        return self._energy_column[: self._n]

    @energy.setter
    def energy(self, values: ArrayLike) -> None:
        if not is_same_view(self.energy, values):
            self._energy_column[: self._n] = _ENERGY.many(values, self._n)

    @property
    def goal(self) -> NDArray[np.float32]:
        """Where it is going. [m] Shape (n, 2)."""
        return self._goal_column[: self._n]

    @goal.setter
    def goal(self, values: ArrayLike) -> None:
        if not is_same_view(self.goal, values):
            self._goal_column[: self._n] = _GOAL.many(values, self._n)

    @property
    def loot(self) -> NDArray[np.uint8]:
        """What it drops. Shape (n,)."""
        return self._loot_column[: self._n]

    @loot.setter
    def loot(self, values: ArrayLike) -> None:
        if not is_same_view(self.loot, values):
            self._loot_column[: self._n] = _LOOT.many(values, self._n)

    @property
    def min_drops(self) -> NDArray[np.uint8]:
        """Fewest items dropped. Shape (n,)."""
        return self._min_drops_column[: self._n]

    @min_drops.setter
    def min_drops(self, values: ArrayLike) -> None:
        if not is_same_view(self.min_drops, values):
            self._min_drops_column[: self._n] = _MIN_DROPS.many(values, self._n)

    @property
    def max_drops(self) -> NDArray[np.uint8]:
        """Most items dropped. Shape (n,)."""
        return self._max_drops_column[: self._n]

    @max_drops.setter
    def max_drops(self, values: ArrayLike) -> None:
        if not is_same_view(self.max_drops, values):
            self._max_drops_column[: self._n] = _MAX_DROPS.many(values, self._n)

    @property
    def chance_of_drop(self) -> NDArray[np.float64]:
        """Chance of dropping anything, 0 to 1. Shape (n,)."""
        return self._chance_of_drop_column[: self._n]

    @chance_of_drop.setter
    def chance_of_drop(self, values: ArrayLike) -> None:
        if not is_same_view(self.chance_of_drop, values):
            self._chance_of_drop_column[: self._n] = _CHANCE_OF_DROP.many(
                values, self._n
            )

    @overload
    def tagged(self, tag: Literal["hot"], /) -> AiStateHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> AiStateColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return AiStateHotColumns(self.animation, self.energy, self.goal)
        if tag == "cold":
            return AiStateColdColumns(
                self.loot, self.min_drops, self.max_drops, self.chance_of_drop
            )
        raise ValueError(f"AiState has no tag {tag!r}; it has hot, cold")

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._animation_column = cut(buffer, COLUMNS[1], capacity)
        self._animation_cells = cells(self._animation_column)
        self._energy_column = cut(buffer, COLUMNS[2], capacity)
        self._energy_cells = cells(self._energy_column)
        self._goal_column = cut(buffer, COLUMNS[3], capacity)
        self._goal_items = items(self._goal_column)
        self._goal_words = cells(self._goal_items)
        self._goal_cells = flat_cells(self._goal_column)
        self._loot_column = cut(buffer, COLUMNS[4], capacity)
        self._loot_cells = cells(self._loot_column)
        self._min_drops_column = cut(buffer, COLUMNS[5], capacity)
        self._min_drops_cells = cells(self._min_drops_column)
        self._max_drops_column = cut(buffer, COLUMNS[6], capacity)
        self._max_drops_cells = cells(self._max_drops_column)
        self._chance_of_drop_column = cut(buffer, COLUMNS[7], capacity)
        self._chance_of_drop_cells = cells(self._chance_of_drop_column)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._n
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._n)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""
        self._entity_cells[dst] = self._entity_cells[src]
        self._animation_cells[dst] = self._animation_cells[src]
        self._energy_cells[dst] = self._energy_cells[src]
        self._goal_words[dst] = self._goal_words[src]
        self._loot_cells[dst] = self._loot_cells[src]
        self._min_drops_cells[dst] = self._min_drops_cells[src]
        self._max_drops_cells[dst] = self._max_drops_cells[src]
        self._chance_of_drop_cells[dst] = self._chance_of_drop_cells[src]

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._animation_column[dst] = self._animation_column[src]
        self._energy_column[dst] = self._energy_column[src]
        self._goal_items[dst] = self._goal_items[src]
        self._loot_column[dst] = self._loot_column[src]
        self._min_drops_column[dst] = self._min_drops_column[src]
        self._max_drops_column[dst] = self._max_drops_column[src]
        self._chance_of_drop_column[dst] = self._chance_of_drop_column[src]


class AiStateGroupedData:
    """The columns of the rows in the group `actors`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)

    def __init__(self, data: AiStateData) -> None:
        self._data = data

    @property
    def n(self) -> int:
        """Rows in the group."""
        return self._data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The owner of each row in the group, shape (n,); read-only."""
        return self._data.entity[: self._data._n_grouped]

    @property
    def animation(self) -> NDArray[np.uint8]:
        """The animation being played. Shape (n,)."""
        data = self._data
        return data._animation_column[: data._n_grouped]

    @animation.setter
    def animation(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.animation, values):
            checked = _ANIMATION.many(values, data._n_grouped)
            data._animation_column[: data._n_grouped] = checked

    @property
    def energy(self) -> NDArray[np.float64]:
        """Energy left to act with. Shape (n,)."""
        data = self._data
        return data._energy_column[: data._n_grouped]

    @energy.setter
    def energy(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.energy, values):
            checked = _ENERGY.many(values, data._n_grouped)
            data._energy_column[: data._n_grouped] = checked

    @property
    def goal(self) -> NDArray[np.float32]:
        """Where it is going. [m] Shape (n, 2)."""
        data = self._data
        return data._goal_column[: data._n_grouped]

    @goal.setter
    def goal(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.goal, values):
            checked = _GOAL.many(values, data._n_grouped)
            data._goal_column[: data._n_grouped] = checked

    @property
    def loot(self) -> NDArray[np.uint8]:
        """What it drops. Shape (n,)."""
        data = self._data
        return data._loot_column[: data._n_grouped]

    @loot.setter
    def loot(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.loot, values):
            checked = _LOOT.many(values, data._n_grouped)
            data._loot_column[: data._n_grouped] = checked

    @property
    def min_drops(self) -> NDArray[np.uint8]:
        """Fewest items dropped. Shape (n,)."""
        data = self._data
        return data._min_drops_column[: data._n_grouped]

    @min_drops.setter
    def min_drops(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.min_drops, values):
            checked = _MIN_DROPS.many(values, data._n_grouped)
            data._min_drops_column[: data._n_grouped] = checked

    @property
    def max_drops(self) -> NDArray[np.uint8]:
        """Most items dropped. Shape (n,)."""
        data = self._data
        return data._max_drops_column[: data._n_grouped]

    @max_drops.setter
    def max_drops(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.max_drops, values):
            checked = _MAX_DROPS.many(values, data._n_grouped)
            data._max_drops_column[: data._n_grouped] = checked

    @property
    def chance_of_drop(self) -> NDArray[np.float64]:
        """Chance of dropping anything, 0 to 1. Shape (n,)."""
        data = self._data
        return data._chance_of_drop_column[: data._n_grouped]

    @chance_of_drop.setter
    def chance_of_drop(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.chance_of_drop, values):
            checked = _CHANCE_OF_DROP.many(values, data._n_grouped)
            data._chance_of_drop_column[: data._n_grouped] = checked


class AiStateColumns(QueryColumns):
    """The columns of AiState in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    animation = QueryColumn[np.uint8]("animation", _ANIMATION, ANIMATION_DEFAULT)
    """The animation being played. Shape (n,)."""

    energy = QueryColumn[np.float64]("energy", _ENERGY, ENERGY_DEFAULT)
    """Energy left to act with. Shape (n,)."""

    goal = QueryColumn[np.float32]("goal", _GOAL, GOAL_DEFAULT)
    """Where it is going. [m] Shape (n, 2)."""

    loot = QueryColumn[np.uint8]("loot", _LOOT, LOOT_DEFAULT)
    """What it drops. Shape (n,)."""

    min_drops = QueryColumn[np.uint8]("min_drops", _MIN_DROPS, MIN_DROPS_DEFAULT)
    """Fewest items dropped. Shape (n,)."""

    max_drops = QueryColumn[np.uint8]("max_drops", _MAX_DROPS, MAX_DROPS_DEFAULT)
    """Most items dropped. Shape (n,)."""

    chance_of_drop = QueryColumn[np.float64](
        "chance_of_drop", _CHANCE_OF_DROP, CHANCE_OF_DROP_DEFAULT
    )
    """Chance of dropping anything, 0 to 1. Shape (n,)."""


class AiStateManager:
    """Owns every AiState: lookup sparse, instances one, destroy gc.

    What an AI-controlled enemy does now, and what it drops when it dies.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_holds",
        "_locks",
        "_mates",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: AiStateData
    _mates: tuple[GroupMember, ...]
    _holds: int
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = AiStateData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)
        self._mates = ()
        self._holds = 0

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
            "rng": self._rng.getstate(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = AiStateData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._rng = Random()
        self._rng.setstate(state["rng"])
        self._mates = ()
        self._holds = 0

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
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
        self._holds += 1
        for mate in self._mates:
            mate._locks += 1
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1
            for mate in self._mates:
                mate._locks -= 1
            self._holds -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def animation(self, row: Instance, /) -> Animation:
        """The animation being played."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Animation(data._animation_cells[row])

    def set_animation(self, row: Instance, value: Animation | int, /) -> None:
        """Set `animation` of a row."""
        _value = _ANIMATION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._animation_cells[row] = _value

    def energy(self, row: Instance, /) -> float:
        """Energy left to act with."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._energy_cells[row]

    def set_energy(self, row: Instance, value: float, /) -> None:
        """Set `energy` of a row."""
        _value = _ENERGY.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._energy_cells[row] = _value

    def goal(self, row: Instance, /) -> tuple[float, float]:
        """Where it is going. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return GOAL_STRUCT.unpack_from(data._goal_cells, 8 * row)

    def set_goal(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `goal` of a row: 2 values."""
        _value = _GOAL.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._goal_cells[_at] = _value[0]
        data._goal_cells[_at + 1] = _value[1]

    def loot(self, row: Instance, /) -> Loot:
        """What it drops."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Loot(data._loot_cells[row])

    def set_loot(self, row: Instance, value: Loot | int, /) -> None:
        """Set `loot` of a row."""
        _value = _LOOT.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._loot_cells[row] = _value

    def min_drops(self, row: Instance, /) -> int:
        """Fewest items dropped."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._min_drops_cells[row]

    def set_min_drops(self, row: Instance, value: int, /) -> None:
        """Set `min_drops` of a row."""
        _value = _MIN_DROPS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._min_drops_cells[row] = _value

    def max_drops(self, row: Instance, /) -> int:
        """Most items dropped."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._max_drops_cells[row]

    def set_max_drops(self, row: Instance, value: int, /) -> None:
        """Set `max_drops` of a row."""
        _value = _MAX_DROPS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._max_drops_cells[row] = _value

    def chance_of_drop(self, row: Instance, /) -> float:
        """Chance of dropping anything, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._chance_of_drop_cells[row]

    def set_chance_of_drop(self, row: Instance, value: float, /) -> None:
        """Set `chance_of_drop` of a row."""
        _value = _CHANCE_OF_DROP.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._chance_of_drop_cells[row] = _value

    def row(self, row: Instance, /) -> AiState:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return AiState(
            Animation(data._animation_cells[row]),
            data._energy_cells[row],
            GOAL_STRUCT.unpack_from(data._goal_cells, 8 * row),
            Loot(data._loot_cells[row]),
            data._min_drops_cells[row],
            data._max_drops_cells[row],
            data._chance_of_drop_cells[row],
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
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
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return sparse_lookup(self._sparse, owners, given, INDEX_MASK)

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has an instance; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have an instance, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def create(
        self,
        entity: Entity,
        /,
        *,
        animation: Animation | int = ANIMATION_DEFAULT,
        energy: float = ENERGY_DEFAULT,
        goal: ArrayLike = GOAL_DEFAULT,
        loot: Loot | int = LOOT_DEFAULT,
        min_drops: int = MIN_DROPS_DEFAULT,
        max_drops: int = MAX_DROPS_DEFAULT,
        chance_of_drop: float = CHANCE_OF_DROP_DEFAULT,
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
            _animation_ = ANIMATION_CELL
            if animation is not ANIMATION_DEFAULT:
                _animation_ = _ANIMATION.one(animation)
            _energy_ = ENERGY_DEFAULT
            if energy is not ENERGY_DEFAULT:
                _energy_ = _ENERGY.one(energy)
            _goal_ = GOAL_DEFAULT
            if goal is not GOAL_DEFAULT:
                _goal_ = _GOAL.one(goal)
            _loot_ = LOOT_CELL
            if loot is not LOOT_DEFAULT:
                _loot_ = _LOOT.one(loot)
            _min_drops_ = MIN_DROPS_DEFAULT
            if min_drops is not MIN_DROPS_DEFAULT:
                _min_drops_ = _MIN_DROPS.one(min_drops)
            _max_drops_ = MAX_DROPS_DEFAULT
            if max_drops is not MAX_DROPS_DEFAULT:
                _max_drops_ = _MAX_DROPS.one(max_drops)
            _chance_of_drop_ = CHANCE_OF_DROP_DEFAULT
            if chance_of_drop is not CHANCE_OF_DROP_DEFAULT:
                _chance_of_drop_ = _CHANCE_OF_DROP.one(chance_of_drop)
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(MANAGER, entity)
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1), (goal,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.array([_found]))
            _found = NIL
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        data._animation_cells[row] = _animation_
        data._energy_cells[row] = _energy_
        if _goal_ is GOAL_DEFAULT:
            data._goal_words[row] = GOAL_WORD
        else:
            _at = 2 * row
            data._goal_cells[_at] = _goal_[0]
            data._goal_cells[_at + 1] = _goal_[1]
        data._loot_cells[row] = _loot_
        data._min_drops_cells[row] = _min_drops_
        data._max_drops_cells[row] = _max_drops_
        data._chance_of_drop_cells[row] = _chance_of_drop_
        data._n = row + 1
        self._sparse_cells[_slot] = row
        self._version += 1
        if self._mates:
            row = self._join_group(row, entity)
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        animation: ArrayLike = ANIMATION_DEFAULT,
        energy: ArrayLike = ENERGY_DEFAULT,
        goal: ArrayLike = GOAL_DEFAULT,
        loot: ArrayLike = LOOT_DEFAULT,
        min_drops: ArrayLike = MIN_DROPS_DEFAULT,
        max_drops: ArrayLike = MAX_DROPS_DEFAULT,
        chance_of_drop: ArrayLike = CHANCE_OF_DROP_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                animation=animation,
                energy=energy,
                goal=goal,
                loot=loot,
                min_drops=min_drops,
                max_drops=max_drops,
                chance_of_drop=chance_of_drop,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (
            entities,
            animation,
            energy,
            goal,
            loot,
            min_drops,
            max_drops,
            chance_of_drop,
        )
        self._make_room(entities, columns, _borrowed)
        if self._mates:
            entities, columns = unshared(entities, columns)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        animation: ArrayLike = ANIMATION_DEFAULT,
        energy: ArrayLike = ENERGY_DEFAULT,
        goal: ArrayLike = GOAL_DEFAULT,
        loot: ArrayLike = LOOT_DEFAULT,
        min_drops: ArrayLike = MIN_DROPS_DEFAULT,
        max_drops: ArrayLike = MAX_DROPS_DEFAULT,
        chance_of_drop: ArrayLike = CHANCE_OF_DROP_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "animation": _ANIMATION.many(animation, count, data._buffer),
            "energy": _ENERGY.many(energy, count, data._buffer),
            "goal": _GOAL.many(goal, count, data._buffer),
            "loot": _LOOT.many(loot, count, data._buffer),
            "min_drops": _MIN_DROPS.many(min_drops, count, data._buffer),
            "max_drops": _MAX_DROPS.many(max_drops, count, data._buffer),
            "chance_of_drop": _CHANCE_OF_DROP.many(chance_of_drop, count, data._buffer),
        }
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + len(entities)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)

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
            self._destroy_rows(np.sort(self.lookup_many(dead)))
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        data._entity_column[span] = entities
        data._animation_column[span] = columns["animation"]
        data._energy_column[span] = columns["energy"]
        put_cells(
            data._goal_column,
            data._goal_items,
            span,
            columns["goal"],
        )
        data._loot_column[span] = columns["loot"]
        data._min_drops_column[span] = columns["min_drops"]
        data._max_drops_column[span] = columns["max_drops"]
        data._chance_of_drop_column[span] = columns["chance_of_drop"]
        data._n = end
        self._sparse[slots] = rows.astype(np.uint32)
        self._version += 1
        if self._mates:
            rows = self._join_group_many(rows, entities)
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        animation: Animation | int = ANIMATION_DEFAULT,
        energy: float = ENERGY_DEFAULT,
        goal: ArrayLike = GOAL_DEFAULT,
        loot: Loot | int = LOOT_DEFAULT,
        min_drops: int = MIN_DROPS_DEFAULT,
        max_drops: int = MAX_DROPS_DEFAULT,
        chance_of_drop: float = CHANCE_OF_DROP_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity,
            animation=animation,
            energy=energy,
            goal=goal,
            loot=loot,
            min_drops=min_drops,
            max_drops=max_drops,
            chance_of_drop=chance_of_drop,
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The group's last row and the last of all move up.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return 0
        if row == NIL or self.data._entity_cells[row] != entity:
            return 0
        return self._destroy_row(row)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove the instances of k entities and return how many went; O(k)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
        if row < data._n_grouped:
            for mate in self._mates:
                mate._leave_group(row)
            last = Instance(data._n_grouped - 1)
            if row != last:
                self._move(last, row)
            data._n_grouped = row = last  # the hole is behind the group now
        last = Instance(data._n - 1)
        if row != last:
            self._move(last, row)
        data._n = last
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
        n, bound = data._n, data._n_grouped
        leaving = gone[: np.searchsorted(gone, bound)]
        if len(leaving):
            for mate in self._mates:
                mate._leave_group_many(leaving)
        src, dst = fill_parts(gone, bound, n)
        self._move_many(src, dst)
        data._n_grouped = bound - len(leaving)
        data._n = n - len(gone)
        self._version += 1
        return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "actors")
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
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "actors")
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
        self._version += 1

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        capacity = whole_rows(data._n)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1
        owners = indices(data._entity_column[: data._n], INDEX_MASK)
        size = whole_rows(int(owners.max()) + 1) if len(owners) else 64
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _link_group(self, mates: tuple[GroupMember, ...], n: int) -> None:
        """Be told of the group's other members, with which the first n rows are aligned."""
        self._mates = mates
        self.data._n_grouped = n

    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Let an entity join that has a row in every mate too; return its row; O(1) per mate."""
        for mate in self._mates:
            if mate.lookup(entity) == NIL:
                return row
        for mate in self._mates:
            mate._enter_group(mate.lookup(entity))
            mate._version += 1
        return self._enter_group(row)

    def _join_group_many(self, rows: RowArray, entities: EntityArray) -> RowArray:
        """Let those of k entities join that have rows in every mate; return all rows; O(k)."""
        joining, found = having_all(entities, self._mates)
        if len(joining) == 0:
            return rows
        for mate, rows_there in zip(self._mates, found, strict=True):
            mate._enter_group_many(rows_there)
            mate._version += 1
        src, dst = self._enter_group_many(rows[joining])
        return Remap(src, dst, self.data._n)(rows)

    def _enter_group(self, row: Instance) -> Instance:
        """Bring a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        self._swap(row, last)
        data._n_grouped = last + 1
        return last

    def _enter_group_many(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """Bring k rows, in this order, to the end of the group; return (src, dst); O(k)."""
        data = self.data
        src, dst = joined_at(rows, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped += len(rows)
        return src, dst

    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        self._swap(row, last)
        data._n_grouped = last
        self._version += 1

    def _leave_group_many(self, gone: RowArray) -> None:
        """Bring k ascending rows behind the group, which ends before them; O(k)."""
        data = self.data
        start = data._n_grouped - len(gone)
        src, dst = exchange(gone, start, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped = start
        self._version += 1

    def _group_key(self, key: str | ArrayLike) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            column: NDArray[Any] = getattr(data, key)
            return column[: data._n_grouped]
        return sort_key(key_values(key, MANAGER), data._n_grouped, "actors")

    def _permute_group(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k."""
        self._move_many(src, np.arange(len(src)))
        self._version += 1

    def _swap(self, one: Instance, other: Instance) -> None:
        """Let two rows change places, over the spare row behind the last one if there is one."""
        data = self.data
        spare = Instance(data._n)
        if one == other:
            return
        if spare == data._allocated:
            self._move_many(np.array([one, other]), np.array([other, one]))
            return
        self._move(one, spare)
        self._move(other, one)
        self._move(spare, other)

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""
        data = self.data
        data._move_row(src, dst)
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _move_many(self, src: RowArray, dst: RowArray) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers."""
        if len(src) == 0:
            return
        data = self.data
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        self._sparse = sparse
        self._sparse_cells = cells(sparse)

    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        owners = self.data.entity
        alive = self._entities.alive_many(owners)
        gone = np.flatnonzero(~alive)
        return self._destroy_rows(gone)
