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
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, Unpack, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import LeadingRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import EnumField, FloatField, IntField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.groups import GroupMember, GroupMemberRows
from ecsgen_runtime.world.queries.query_columns import (
    ComparableQueryColumn,
    QueryColumn,
    QueryColumns,
)
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager
from .enums import Animation, Loot

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("animation", np.dtype(np.uint8), (), 1, ("hot",), 8),
    Column("energy", np.dtype(np.float64), (), 8, ("hot",), 9),
    Column("goal", np.dtype(np.float32), (2,), 8, ("hot",), 17),
    Column("loot", np.dtype(np.uint8), (), 1, ("cold",), 25),
    Column("min_drops", np.dtype(np.uint8), (), 1, ("cold",), 26),
    Column("max_drops", np.dtype(np.uint8), (), 1, ("cold",), 27),
    Column("chance_of_drop", np.dtype(np.float64), (), 8, ("cold",), 28),
)
_ANIMATION_FIELD: Final = EnumField("AiState.animation", Animation, "u8")
_ENERGY_FIELD: Final = FloatField("AiState.energy", "f64")
_GOAL_FIELD: Final = FloatField("AiState.goal", "f32", (2,))
_LOOT_FIELD: Final = EnumField("AiState.loot", Loot, "u8")
_MIN_DROPS_FIELD: Final = IntField("AiState.min_drops", "u8")
_MAX_DROPS_FIELD: Final = IntField("AiState.max_drops", "u8")
_CHANCE_OF_DROP_FIELD: Final = FloatField("AiState.chance_of_drop", "f64")
_GOAL_STRUCT: Final = Struct("=2f")
_ANIMATION_DEFAULT: Final = Animation(0)
_ANIMATION_CELL: Final = _ANIMATION_FIELD.to_cell(_ANIMATION_DEFAULT)
_ENERGY_DEFAULT: Final = 100.0
_GOAL_DEFAULT: Final = (0.0, 0.0)
_GOAL_WORD: Final = pack_cell(_GOAL_FIELD, _GOAL_DEFAULT)
_LOOT_DEFAULT: Final = Loot(1)
_LOOT_CELL: Final = _LOOT_FIELD.to_cell(_LOOT_DEFAULT)
_MIN_DROPS_DEFAULT: Final = 0
_MAX_DROPS_DEFAULT: Final = 1
_CHANCE_OF_DROP_DEFAULT: Final = 0.5
_FIELDS: Final = component_fields(
    (
        _ANIMATION_FIELD,
        "Animation",
        _ANIMATION_DEFAULT,
        ("hot",),
        "",
        "The animation being played.",
    ),
    (_ENERGY_FIELD, "f64", _ENERGY_DEFAULT, ("hot",), "", "Energy left to act with."),
    (_GOAL_FIELD, "f32[2]", _GOAL_DEFAULT, ("hot",), "m", "Where it is going."),
    (_LOOT_FIELD, "Loot", _LOOT_DEFAULT, ("cold",), "", "What it drops."),
    (
        _MIN_DROPS_FIELD,
        "u8",
        _MIN_DROPS_DEFAULT,
        ("cold",),
        "",
        "Fewest items dropped.",
    ),
    (_MAX_DROPS_FIELD, "u8", _MAX_DROPS_DEFAULT, ("cold",), "", "Most items dropped."),
    (
        _CHANCE_OF_DROP_FIELD,
        "f64",
        _CHANCE_OF_DROP_DEFAULT,
        ("cold",),
        "",
        "Chance of dropping anything, 0 to 1.",
    ),
)


class AiState(NamedTuple):
    """One row of a AiStateManager, copied out."""

    animation: Animation = _ANIMATION_DEFAULT
    """The animation being played."""

    energy: float = _ENERGY_DEFAULT
    """Energy left to act with."""

    goal: tuple[float, float] = _GOAL_DEFAULT
    """Where it is going. [m]"""

    loot: Loot = _LOOT_DEFAULT
    """What it drops."""

    min_drops: int = _MIN_DROPS_DEFAULT
    """Fewest items dropped."""

    max_drops: int = _MAX_DROPS_DEFAULT
    """Most items dropped."""

    chance_of_drop: float = _CHANCE_OF_DROP_DEFAULT
    """Chance of dropping anything, 0 to 1."""


class AiStateFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

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


class AiStateGroupedData(LeadingRows):
    """The columns of the rows in the group `actors`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

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
        return data._animation_view[: data._n_grouped]

    @animation.setter
    def animation(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.animation, values):
            checked = _ANIMATION_FIELD.to_column(values, data._n_grouped)
            data._animation_view[: data._n_grouped] = checked

    @property
    def energy(self) -> NDArray[np.float64]:
        """Energy left to act with. Shape (n,)."""
        data = self._data
        return data._energy_column[: data._n_grouped]

    @energy.setter
    def energy(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.energy, values):
            checked = _ENERGY_FIELD.to_column(values, data._n_grouped)
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
            checked = _GOAL_FIELD.to_column(values, data._n_grouped)
            data._goal_column[: data._n_grouped] = checked

    @property
    def loot(self) -> NDArray[np.uint8]:
        """What it drops. Shape (n,)."""
        data = self._data
        return data._loot_view[: data._n_grouped]

    @loot.setter
    def loot(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.loot, values):
            checked = _LOOT_FIELD.to_column(values, data._n_grouped)
            data._loot_view[: data._n_grouped] = checked

    @property
    def min_drops(self) -> NDArray[np.uint8]:
        """Fewest items dropped. Shape (n,)."""
        data = self._data
        return data._min_drops_column[: data._n_grouped]

    @min_drops.setter
    def min_drops(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.min_drops, values):
            checked = _MIN_DROPS_FIELD.to_column(values, data._n_grouped)
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
            checked = _MAX_DROPS_FIELD.to_column(values, data._n_grouped)
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
            checked = _CHANCE_OF_DROP_FIELD.to_column(values, data._n_grouped)
            data._chance_of_drop_column[: data._n_grouped] = checked


class AiStateColumns(QueryColumns):
    """The columns of AiState in a query's rows: one cell per entity."""

    __slots__ = ()

    animation = ComparableQueryColumn[np.uint8](
        "animation", _ANIMATION_FIELD, _ANIMATION_DEFAULT
    )
    """The animation being played. Shape (n,)."""

    energy = QueryColumn[np.float64]("energy", _ENERGY_FIELD, _ENERGY_DEFAULT)
    """Energy left to act with. Shape (n,)."""

    goal = QueryColumn[np.float32]("goal", _GOAL_FIELD, _GOAL_DEFAULT)
    """Where it is going. [m] Shape (n, 2)."""

    loot = ComparableQueryColumn[np.uint8]("loot", _LOOT_FIELD, _LOOT_DEFAULT)
    """What it drops. Shape (n,)."""

    min_drops = QueryColumn[np.uint8]("min_drops", _MIN_DROPS_FIELD, _MIN_DROPS_DEFAULT)
    """Fewest items dropped. Shape (n,)."""

    max_drops = QueryColumn[np.uint8]("max_drops", _MAX_DROPS_FIELD, _MAX_DROPS_DEFAULT)
    """Most items dropped. Shape (n,)."""

    chance_of_drop = QueryColumn[np.float64](
        "chance_of_drop", _CHANCE_OF_DROP_FIELD, _CHANCE_OF_DROP_DEFAULT
    )
    """Chance of dropping anything, 0 to 1. Shape (n,)."""


class AiStateData(GroupMemberRows):
    """The columns of a AiStateManager: views of the rows in use."""

    __slots__ = (
        "_animation_cells",
        "_animation_column",
        "_animation_view",
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
        "_loot_view",
        "_max_drops_cells",
        "_max_drops_column",
        "_min_drops_cells",
        "_min_drops_column",
        "_n_grouped",
    )
    MANAGER: ClassVar = "AiStateManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def animation(self) -> NDArray[np.uint8]:
        """The animation being played. Shape (n,)."""
        return self._animation_view[: self._n]

    @animation.setter
    def animation(self, values: ArrayLike) -> None:
        if not is_same_view(self.animation, values):
            self._animation_column[: self._n] = _ANIMATION_FIELD.to_column(
                values, self._n
            )

    @property
    def energy(self) -> NDArray[np.float64]:
        """Energy left to act with. Shape (n,)."""
        return self._energy_column[: self._n]

    @energy.setter
    def energy(self, values: ArrayLike) -> None:
        if not is_same_view(self.energy, values):
            self._energy_column[: self._n] = _ENERGY_FIELD.to_column(values, self._n)

    @property
    def goal(self) -> NDArray[np.float32]:
        """Where it is going. [m] Shape (n, 2)."""
        return self._goal_column[: self._n]

    @goal.setter
    def goal(self, values: ArrayLike) -> None:
        if not is_same_view(self.goal, values):
            self._goal_column[: self._n] = _GOAL_FIELD.to_column(values, self._n)

    @property
    def loot(self) -> NDArray[np.uint8]:
        """What it drops. Shape (n,)."""
        return self._loot_view[: self._n]

    @loot.setter
    def loot(self, values: ArrayLike) -> None:
        if not is_same_view(self.loot, values):
            self._loot_column[: self._n] = _LOOT_FIELD.to_column(values, self._n)

    @property
    def min_drops(self) -> NDArray[np.uint8]:
        """Fewest items dropped. Shape (n,)."""
        return self._min_drops_column[: self._n]

    @min_drops.setter
    def min_drops(self, values: ArrayLike) -> None:
        if not is_same_view(self.min_drops, values):
            self._min_drops_column[: self._n] = _MIN_DROPS_FIELD.to_column(
                values, self._n
            )

    @property
    def max_drops(self) -> NDArray[np.uint8]:
        """Most items dropped. Shape (n,)."""
        return self._max_drops_column[: self._n]

    @max_drops.setter
    def max_drops(self, values: ArrayLike) -> None:
        if not is_same_view(self.max_drops, values):
            self._max_drops_column[: self._n] = _MAX_DROPS_FIELD.to_column(
                values, self._n
            )

    @property
    def chance_of_drop(self) -> NDArray[np.float64]:
        """Chance of dropping anything, 0 to 1. Shape (n,)."""
        return self._chance_of_drop_column[: self._n]

    @chance_of_drop.setter
    def chance_of_drop(self, values: ArrayLike) -> None:
        if not is_same_view(self.chance_of_drop, values):
            self._chance_of_drop_column[: self._n] = _CHANCE_OF_DROP_FIELD.to_column(
                values, self._n
            )

    @overload
    def tagged(self, tag: Literal["hot"], /) -> AiStateHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> AiStateColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return AiStateHotColumns(self.animation, self.energy, self.goal)
        if tag == "cold":
            return AiStateColdColumns(
                self.loot, self.min_drops, self.max_drops, self.chance_of_drop
            )
        raise ValueError(f"AiState has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._animation_column: NDArray[np.uint8] = self._column_view(1)
        self._animation_cells: memoryview[int] = cell_view(self._animation_column)
        self._animation_view: NDArray[np.uint8] = _ANIMATION_FIELD.comparable(
            self._animation_column
        )
        self._energy_column: NDArray[np.float64] = self._column_view(2)
        self._energy_cells: memoryview[float] = cell_view(self._energy_column)
        self._goal_column: NDArray[np.float32] = self._column_view(3)
        self._goal_items: NDArray[Any] = self._item_view(3)
        self._goal_words: memoryview[int] = cell_view(self._goal_items)
        self._goal_cells: memoryview[float] = cell_view(self._goal_column)
        self._loot_column: NDArray[np.uint8] = self._column_view(4)
        self._loot_cells: memoryview[int] = cell_view(self._loot_column)
        self._loot_view: NDArray[np.uint8] = _LOOT_FIELD.comparable(self._loot_column)
        self._min_drops_column: NDArray[np.uint8] = self._column_view(5)
        self._min_drops_cells: memoryview[int] = cell_view(self._min_drops_column)
        self._max_drops_column: NDArray[np.uint8] = self._column_view(6)
        self._max_drops_cells: memoryview[int] = cell_view(self._max_drops_column)
        self._chance_of_drop_column: NDArray[np.float64] = self._column_view(7)
        self._chance_of_drop_cells: memoryview[float] = cell_view(
            self._chance_of_drop_column
        )

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


class AiStateManager(GroupMember, Sparse, MappedOne, Gc):
    """Manager of every AiState: lookup sparse, instances one, destroy gc.

    What an AI-controlled enemy does now, and what it drops when it dies.
    """

    __slots__ = ("_entities", "_other_members", "_rng", "_sparse", "_sparse_cells")
    GROUP: ClassVar = "actors"
    PARTS: ClassVar = ManagerParts(
        row=AiState,
        accessors=("grouped",),
        create=("grouped", "sparse", "one"),
        destroy_row=("grouped", "sparse"),
    )
    ROWS: ClassVar = AiStateData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = (
        "animation",
        "energy",
        "loot",
        "min_drops",
        "max_drops",
        "chance_of_drop",
    )
    data: AiStateData

    def animation(self, row: int, /) -> Animation:
        """The animation being played."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Animation(data._animation_cells[row])

    def set_animation(self, row: int, value: Animation | int | str, /) -> None:
        """Set `animation` of a row."""
        _value = _ANIMATION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._animation_cells[row] = _value

    def energy(self, row: int, /) -> float:
        """Energy left to act with."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._energy_cells[row]

    def set_energy(self, row: int, value: float, /) -> None:
        """Set `energy` of a row."""
        _value = _ENERGY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._energy_cells[row] = _value

    def goal(self, row: int, /) -> tuple[float, float]:
        """Where it is going. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _GOAL_STRUCT.unpack_from(data._goal_cells, 8 * row)

    def set_goal(self, row: int, value: ArrayLike, /) -> None:
        """Set `goal` of a row: 2 values."""
        _value = _GOAL_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._goal_cells[_at] = _value[0]
        data._goal_cells[_at + 1] = _value[1]

    def loot(self, row: int, /) -> Loot:
        """What it drops."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Loot(data._loot_cells[row])

    def set_loot(self, row: int, value: Loot | int | str, /) -> None:
        """Set `loot` of a row."""
        _value = _LOOT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._loot_cells[row] = _value

    def min_drops(self, row: int, /) -> int:
        """Fewest items dropped."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._min_drops_cells[row]

    def set_min_drops(self, row: int, value: int, /) -> None:
        """Set `min_drops` of a row."""
        _value = _MIN_DROPS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._min_drops_cells[row] = _value

    def max_drops(self, row: int, /) -> int:
        """Most items dropped."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._max_drops_cells[row]

    def set_max_drops(self, row: int, value: int, /) -> None:
        """Set `max_drops` of a row."""
        _value = _MAX_DROPS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._max_drops_cells[row] = _value

    def chance_of_drop(self, row: int, /) -> float:
        """Chance of dropping anything, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._chance_of_drop_cells[row]

    def set_chance_of_drop(self, row: int, value: float, /) -> None:
        """Set `chance_of_drop` of a row."""
        _value = _CHANCE_OF_DROP_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._chance_of_drop_cells[row] = _value

    def row(self, row: int, /) -> AiState:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return AiState(
            Animation(data._animation_cells[row]),
            data._energy_cells[row],
            _GOAL_STRUCT.unpack_from(data._goal_cells, 8 * row),
            Loot(data._loot_cells[row]),
            data._min_drops_cells[row],
            data._max_drops_cells[row],
            data._chance_of_drop_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> AiStateRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(AiStateRef, entity)

    def rows(self) -> Iterator[AiStateRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(AiStateRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        animation: Animation | int | str = _ANIMATION_DEFAULT,
        energy: float = _ENERGY_DEFAULT,
        goal: ArrayLike = _GOAL_DEFAULT,
        loot: Loot | int | str = _LOOT_DEFAULT,
        min_drops: int = _MIN_DROPS_DEFAULT,
        max_drops: int = _MAX_DROPS_DEFAULT,
        chance_of_drop: float = _CHANCE_OF_DROP_DEFAULT,
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
            _animation_ = _ANIMATION_CELL
            if animation is not _ANIMATION_DEFAULT:
                _animation_ = _ANIMATION_FIELD.to_cell(animation)
            _energy_ = _ENERGY_DEFAULT
            if energy is not _ENERGY_DEFAULT:
                _energy_ = _ENERGY_FIELD.to_cell(energy)
            _goal_ = _GOAL_DEFAULT
            if goal is not _GOAL_DEFAULT:
                _goal_ = _GOAL_FIELD.to_cell(goal)
            _loot_ = _LOOT_CELL
            if loot is not _LOOT_DEFAULT:
                _loot_ = _LOOT_FIELD.to_cell(loot)
            _min_drops_ = _MIN_DROPS_DEFAULT
            if min_drops is not _MIN_DROPS_DEFAULT:
                _min_drops_ = _MIN_DROPS_FIELD.to_cell(min_drops)
            _max_drops_ = _MAX_DROPS_DEFAULT
            if max_drops is not _MAX_DROPS_DEFAULT:
                _max_drops_ = _MAX_DROPS_FIELD.to_cell(max_drops)
            _chance_of_drop_ = _CHANCE_OF_DROP_DEFAULT
            if chance_of_drop is not _CHANCE_OF_DROP_DEFAULT:
                _chance_of_drop_ = _CHANCE_OF_DROP_FIELD.to_cell(chance_of_drop)
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
        if _found != NIL and data._entity_cells[_found] == entity:
            raise self._duplicate(entity)
        if data._n == data._allocated:
            data._grow(data._n + 1, (goal,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                animation=animation,
                energy=energy,
                goal=goal,
                loot=loot,
                min_drops=min_drops,
                max_drops=max_drops,
                chance_of_drop=chance_of_drop,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._animation_cells[row] = _animation_
            data._energy_cells[row] = _energy_
            if _goal_ is _GOAL_DEFAULT:
                data._goal_words[row] = _GOAL_WORD
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
            data._version += 1
            if self._other_members:
                row = self._join_group(row, entity)
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[AiStateFields],
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
        joining = self._plan_join(entities, rows)
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            data._animation_column[span] = columns["animation"]
            data._energy_column[span] = columns["energy"]
            put_cells(data._goal_column, span, columns["goal"])
            data._loot_column[span] = columns["loot"]
            data._min_drops_column[span] = columns["min_drops"]
            data._max_drops_column[span] = columns["max_drops"]
            data._chance_of_drop_column[span] = columns["chance_of_drop"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
            if joining is not None:
                rows = self._join_group_many(joining)
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if row < data._n_grouped:
                for member in self._other_members:
                    member._leave_group(row)
                last = Instance(data._n_grouped - 1)
                if row != last:
                    self._move(last, row)
                data._n_grouped = row = last  # the hole is behind the group now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and update what refers to its index."""
        data = self.data
        data._entity_cells[dst] = data._entity_cells[src]
        data._animation_cells[dst] = data._animation_cells[src]
        data._energy_cells[dst] = data._energy_cells[src]
        data._goal_words[dst] = data._goal_words[src]
        data._loot_cells[dst] = data._loot_cells[src]
        data._min_drops_cells[dst] = data._min_drops_cells[src]
        data._max_drops_cells[dst] = data._max_drops_cells[src]
        data._chance_of_drop_cells[dst] = data._chance_of_drop_cells[src]
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _swap_via_spare(
        self, first: Instance, second: Instance, spare: Instance
    ) -> None:
        """Swap two rows through a third one, which is not in use."""
        self._move(first, spare)
        self._move(second, first)
        self._move(spare, second)


class AiStateRef(EntityProxy):
    """A row of a AiStateManager, which follows its entity."""

    __slots__ = ()

    animation = RowField.of(AiStateManager.animation, AiStateManager.set_animation)
    energy = RowField.cell(
        AiStateManager.energy, AiStateManager.set_energy, _ENERGY_FIELD
    )
    goal = ArrayField.of(np.float32, AiStateManager.set_goal)
    loot = RowField.of(AiStateManager.loot, AiStateManager.set_loot)
    min_drops = RowField.cell(
        AiStateManager.min_drops, AiStateManager.set_min_drops, _MIN_DROPS_FIELD
    )
    max_drops = RowField.cell(
        AiStateManager.max_drops, AiStateManager.set_max_drops, _MAX_DROPS_FIELD
    )
    chance_of_drop = RowField.cell(
        AiStateManager.chance_of_drop,
        AiStateManager.set_chance_of_drop,
        _CHANCE_OF_DROP_FIELD,
    )
