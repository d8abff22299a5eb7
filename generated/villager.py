"""Villager: lookup sparse, instances one, destroy gc.

A peaceful creature with an AI; few of them carry anything.

One buffer of 28 bytes per row, column after column:

    column    type    bytes/row  offset (64 rows)  tags
    --------  ------  ---------  ----------------  ----
    entity    u64             8                 0  hot
    energy    f64             8               512  hot
    goal      f32[2]          8              1024  hot
    cold_row  u32             4              1536  hot
    28 bytes per row, 4096 for 64 rows

    cold column     type     bytes/row  offset (64 rows)  tags
    --------------  -------  ---------  ----------------  ----
    row             u32              4                 0  cold
    loot            Loot             1               256  cold
    chance_of_drop  f32              4               320  cold
    home            f32[2]           8               576  cold
    nickname        str[16]         16              1088  cold
    33 bytes per row, 4096 for 64 rows
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
from ecsgen_runtime.managers.policies.cold import (
    ColdRows,
    Indirect,
    IndirectRows,
    default_cell,
    select_rows,
)
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import (
    ArrayField,
    ColdArray,
    EntityProxy,
    RowField,
)
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import LeadingRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import EnumField, FloatField, TextField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.groups import GroupMember, GroupMemberRows
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager
from .enums import Loot

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("energy", np.dtype(np.float64), (), 8, ("hot",), 8),
    Column("goal", np.dtype(np.float32), (2,), 8, ("hot",), 16),
    Column("cold_row", np.dtype(np.uint32), (), 4, ("hot",), 24),
)
_ENERGY_FIELD: Final = FloatField("Villager.energy", "f64")
_GOAL_FIELD: Final = FloatField("Villager.goal", "f32", (2,))
_LOOT_FIELD: Final = EnumField("Villager.loot", Loot, "u8")
_CHANCE_OF_DROP_FIELD: Final = FloatField("Villager.chance_of_drop", "f32")
_HOME_FIELD: Final = FloatField("Villager.home", "f32", (2,))
_NICKNAME_FIELD: Final = TextField("Villager.nickname", 16)
_GOAL_STRUCT: Final = Struct("=2f")
_ENERGY_DEFAULT: Final = 100.0
_GOAL_DEFAULT: Final = (0.0, 0.0)
_GOAL_WORD: Final = pack_cell(_GOAL_FIELD, _GOAL_DEFAULT)
_LOOT_DEFAULT: Final = Loot(0)
_LOOT_CELL: Final = _LOOT_FIELD.to_cell(_LOOT_DEFAULT)
_CHANCE_OF_DROP_DEFAULT: Final = 0.1
_HOME_DEFAULT: Final = (0.0, 0.0)
_NICKNAME_DEFAULT: Final = ""
_NICKNAME_CELL: Final = _NICKNAME_FIELD.to_cell(_NICKNAME_DEFAULT)
_FIELDS: Final = component_fields(
    (_ENERGY_FIELD, "f64", _ENERGY_DEFAULT, ("hot",), "", "Energy left to act with."),
    (_GOAL_FIELD, "f32[2]", _GOAL_DEFAULT, ("hot",), "m", "Where it is going."),
    (_LOOT_FIELD, "Loot", _LOOT_DEFAULT, ("cold",), "", "What it drops when it dies."),
    (
        _CHANCE_OF_DROP_FIELD,
        "f32",
        _CHANCE_OF_DROP_DEFAULT,
        ("cold",),
        "",
        "Chance of dropping it, 0 to 1.",
    ),
    (_HOME_FIELD, "f32[2]", _HOME_DEFAULT, ("cold",), "m", "Where it carries it to."),
    (
        _NICKNAME_FIELD,
        "str[16]",
        _NICKNAME_DEFAULT,
        ("cold",),
        "",
        "What its neighbours call it.",
    ),
)
_COLD_COLUMNS: Final = (
    Column("row", np.dtype(np.uint32), (), 4, ("cold",), 0),
    Column("loot", np.dtype(np.uint8), (), 1, ("cold",), 4),
    Column("chance_of_drop", np.dtype(np.float32), (), 4, ("cold",), 5),
    Column("home", np.dtype(np.float32), (2,), 8, ("cold",), 9),
    Column("nickname", np.dtype("S16"), (), 16, ("cold",), 17),
)
_LOOT_STRUCT: Final = Struct("=B")
_LOOT_BYTES: Final = _LOOT_STRUCT.pack(0)
_CHANCE_OF_DROP_STRUCT: Final = Struct("=f")
_CHANCE_OF_DROP_BYTES: Final = _CHANCE_OF_DROP_STRUCT.pack(0.1)
_HOME_STRUCT: Final = Struct("=2f")
_HOME_BYTES: Final = _HOME_STRUCT.pack(0.0, 0.0)
_NICKNAME_STRUCT: Final = Struct("=16s")
_NICKNAME_BYTES: Final = _NICKNAME_STRUCT.pack(b"")
_COLD_STRUCT: Final = Struct("=Bf2f16s")
_COLD_DEFAULT: Final = _COLD_STRUCT.pack(0, 0.1, 0.0, 0.0, b"")
_COLD_DEFAULTS: Final[dict[str, NDArray[Any]]] = {
    "loot": default_cell(_LOOT_FIELD, _LOOT_BYTES),
    "chance_of_drop": default_cell(_CHANCE_OF_DROP_FIELD, _CHANCE_OF_DROP_BYTES),
    "home": default_cell(_HOME_FIELD, _HOME_BYTES),
    "nickname": default_cell(_NICKNAME_FIELD, _NICKNAME_BYTES),
}


class Villager(NamedTuple):
    """One row of a VillagerManager, copied out."""

    energy: float = _ENERGY_DEFAULT
    """Energy left to act with."""

    goal: tuple[float, float] = _GOAL_DEFAULT
    """Where it is going. [m]"""

    loot: Loot = _LOOT_DEFAULT
    """What it drops when it dies."""

    chance_of_drop: float = _CHANCE_OF_DROP_DEFAULT
    """Chance of dropping it, 0 to 1."""

    home: tuple[float, float] = _HOME_DEFAULT
    """Where it carries it to. [m]"""

    nickname: str = _NICKNAME_DEFAULT
    """What its neighbours call it."""


class VillagerFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    energy: ArrayLike
    goal: ArrayLike
    loot: ArrayLike
    chance_of_drop: ArrayLike
    home: ArrayLike
    nickname: ArrayLike


class VillagerHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    energy: NDArray[np.float64]
    goal: NDArray[np.float32]


class VillagerColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    loot: NDArray[np.uint8]
    chance_of_drop: NDArray[np.float32]
    home: NDArray[np.float32]
    nickname: NDArray[np.bytes_]


class VillagerGroupedData(LeadingRows):
    """The columns of the rows in the group `actors`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def __init__(self, data: VillagerData) -> None:
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


class VillagerColdData(ColdRows):
    """The cold columns of a VillagerManager: views of the cold rows in use.

    An instance has a cold row from its first value that is not the default until it
    goes; `row` has the row of each. A view is good until cold rows are added or
    removed, which does not count in the manager's `version`.
    """

    __slots__ = (
        "_chance_of_drop_cells",
        "_chance_of_drop_column",
        "_home_cells",
        "_home_column",
        "_home_items",
        "_home_words",
        "_loot_cells",
        "_loot_column",
        "_loot_view",
        "_nickname_column",
        "_nickname_view",
        "_row_cells",
        "_row_column",
    )
    MANAGER: ClassVar = "VillagerManager"
    LAYOUT: ClassVar = _COLD_COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    DEFAULTS: ClassVar = _COLD_DEFAULTS

    @property
    def loot(self) -> NDArray[np.uint8]:
        """What it drops when it dies. Shape (n,)."""
        return self._loot_view[: self._n]

    @loot.setter
    def loot(self, values: ArrayLike) -> None:
        if not is_same_view(self.loot, values):
            self._loot_column[: self._n] = _LOOT_FIELD.to_column(values, self._n)

    @property
    def chance_of_drop(self) -> NDArray[np.float32]:
        """Chance of dropping it, 0 to 1. Shape (n,)."""
        return self._chance_of_drop_column[: self._n]

    @chance_of_drop.setter
    def chance_of_drop(self, values: ArrayLike) -> None:
        if not is_same_view(self.chance_of_drop, values):
            self._chance_of_drop_column[: self._n] = _CHANCE_OF_DROP_FIELD.to_column(
                values, self._n
            )

    @property
    def home(self) -> NDArray[np.float32]:
        """Where it carries it to. [m] Shape (n, 2)."""
        return self._home_column[: self._n]

    @home.setter
    def home(self, values: ArrayLike) -> None:
        if not is_same_view(self.home, values):
            self._home_column[: self._n] = _HOME_FIELD.to_column(values, self._n)

    @property
    def nickname(self) -> NDArray[np.bytes_]:
        """What its neighbours call it. Shape (n,)."""
        return self._nickname_view[: self._n]

    @nickname.setter
    def nickname(self, values: ArrayLike) -> None:
        if not is_same_view(self.nickname, values):
            self._nickname_column[: self._n] = _NICKNAME_FIELD.to_column(
                values, self._n
            )

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._row_column = self._column_view(0)
        self._row_cells = cell_view(self._row_column)
        self._loot_column: NDArray[np.uint8] = self._column_view(1)
        self._loot_cells: memoryview[int] = cell_view(self._loot_column)
        self._loot_view: NDArray[np.uint8] = _LOOT_FIELD.comparable(self._loot_column)
        self._chance_of_drop_column: NDArray[np.float32] = self._column_view(2)
        self._chance_of_drop_cells: memoryview[float] = cell_view(
            self._chance_of_drop_column
        )
        self._home_column: NDArray[np.float32] = self._column_view(3)
        self._home_items: NDArray[Any] = self._item_view(3)
        self._home_words: memoryview[int] = cell_view(self._home_items)
        self._home_cells: memoryview[float] = cell_view(self._home_column)
        self._nickname_column: NDArray[np.bytes_] = self._column_view(4)
        self._nickname_view: NDArray[np.bytes_] = _NICKNAME_FIELD.comparable(
            self._nickname_column
        )

    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""
        self._row_cells[dst] = self._row_cells[src]
        self._loot_cells[dst] = self._loot_cells[src]
        self._chance_of_drop_cells[dst] = self._chance_of_drop_cells[src]
        self._home_words[dst] = self._home_words[src]
        self._nickname_column[dst] = self._nickname_column[src]

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._row_column[dst] = self._row_column[src]
        self._loot_column[dst] = self._loot_column[src]
        self._chance_of_drop_column[dst] = self._chance_of_drop_column[src]
        self._home_items[dst] = self._home_items[src]
        self._nickname_column[dst] = self._nickname_column[src]

    def _reset(self, cold_row: int) -> None:
        """Write the defaults to a cold row."""
        self._loot_column[cold_row] = 0
        self._chance_of_drop_column[cold_row] = 0.1
        self._home_column[cold_row] = _COLD_DEFAULTS["home"]
        self._nickname_column[cold_row] = b""

    def _fill(
        self, span: slice, columns: Columns, count: int, wanted: RowArray
    ) -> None:
        """Write `wanted` of `count` new rows' checked columns to cold rows."""
        self._loot_column[span] = select_rows(columns["loot"], (count,), wanted)
        self._chance_of_drop_column[span] = select_rows(
            columns["chance_of_drop"], (count,), wanted
        )
        put_cells(
            self._home_column, span, select_rows(columns["home"], (count, 2), wanted)
        )
        self._nickname_column[span] = select_rows(columns["nickname"], (count,), wanted)


class VillagerData(GroupMemberRows, IndirectRows):
    """The columns of a VillagerManager: views of the rows in use."""

    __slots__ = (
        "_cold",
        "_cold_row_cells",
        "_cold_row_column",
        "_energy_cells",
        "_energy_column",
        "_entity_cells",
        "_entity_column",
        "_goal_cells",
        "_goal_column",
        "_goal_items",
        "_goal_words",
        "_n_grouped",
    )
    MANAGER: ClassVar = "VillagerManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    COLD: ClassVar = VillagerColdData
    _cold: VillagerColdData

    @property
    def cold(self) -> VillagerColdData:
        """The cold columns, one cold row per instance that has other values than defaults."""
        return self._cold

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

    @overload
    def tagged(self, tag: Literal["hot"], /) -> VillagerHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> VillagerColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return VillagerHotColumns(self.energy, self.goal)
        if tag == "cold":
            return VillagerColdColumns(
                self._cold.loot,
                self._cold.chance_of_drop,
                self._cold.home,
                self._cold.nickname,
            )
        raise ValueError(f"Villager has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._energy_column: NDArray[np.float64] = self._column_view(1)
        self._energy_cells: memoryview[float] = cell_view(self._energy_column)
        self._goal_column: NDArray[np.float32] = self._column_view(2)
        self._goal_items: NDArray[Any] = self._item_view(2)
        self._goal_words: memoryview[int] = cell_view(self._goal_items)
        self._goal_cells: memoryview[float] = cell_view(self._goal_column)
        self._cold_row_column = self._column_view(3)
        self._cold_row_cells = cell_view(self._cold_row_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._energy_column[dst] = self._energy_column[src]
        self._goal_items[dst] = self._goal_items[src]
        self._cold_row_column[dst] = self._cold_row_column[src]


class VillagerManager(GroupMember, Sparse, MappedOne, Gc, Indirect):
    """Manager of every Villager: lookup sparse, instances one, destroy gc.

    A peaceful creature with an AI; few of them carry anything.
    """

    __slots__ = ("_entities", "_other_members", "_rng", "_sparse", "_sparse_cells")
    GROUP: ClassVar = "actors"
    LAYOUT_COLD: ClassVar = _COLD_COLUMNS
    PARTS: ClassVar = ManagerParts(
        row=Villager,
        accessors=("grouped",),
        create=("grouped", "sparse", "one", "indirect"),
        destroy_row=("grouped", "sparse", "indirect"),
        guarded=(
            "loot",
            "set_loot",
            "chance_of_drop",
            "set_chance_of_drop",
            "home",
            "set_home",
            "nickname",
            "set_nickname",
        ),
    )
    ROWS: ClassVar = VillagerData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("energy", "loot", "chance_of_drop", "nickname")
    data: VillagerData

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
        """What it drops when it dies."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            return _LOOT_DEFAULT
        return Loot(data._cold._loot_cells[_cold_row])

    def set_loot(self, row: int, value: Loot | int | str, /) -> None:
        """Set `loot` of a row."""
        _value = _LOOT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            if _LOOT_STRUCT.pack(_value) == _LOOT_BYTES:
                return
            _cold_row = data.take_cold_row(row)
        data._cold._loot_cells[_cold_row] = _value

    def chance_of_drop(self, row: int, /) -> float:
        """Chance of dropping it, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            return 0.10000000149011612
        return data._cold._chance_of_drop_cells[_cold_row]

    def set_chance_of_drop(self, row: int, value: float, /) -> None:
        """Set `chance_of_drop` of a row."""
        _value = _CHANCE_OF_DROP_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            if _CHANCE_OF_DROP_STRUCT.pack(_value) == _CHANCE_OF_DROP_BYTES:
                return
            _cold_row = data.take_cold_row(row)
        data._cold._chance_of_drop_cells[_cold_row] = _value

    def home(self, row: int, /) -> tuple[float, float]:
        """Where it carries it to. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            return _HOME_STRUCT.unpack(_HOME_BYTES)
        return _HOME_STRUCT.unpack_from(data._cold._home_cells, 8 * _cold_row)

    def set_home(self, row: int, value: ArrayLike, /) -> None:
        """Set `home` of a row: 2 values."""
        _value = _HOME_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            if _HOME_STRUCT.pack(*_value) == _HOME_BYTES:
                return
            _cold_row = data.take_cold_row(row, (value,))
        _at = 2 * _cold_row
        data._cold._home_cells[_at] = _value[0]
        data._cold._home_cells[_at + 1] = _value[1]

    def nickname(self, row: int, /) -> str:
        """What its neighbours call it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            return _NICKNAME_DEFAULT
        return str(data._cold._nickname_column[_cold_row], "utf-8")

    def set_nickname(self, row: int, value: str, /) -> None:
        """Set `nickname` of a row: at most 16 bytes of UTF-8."""
        _value = _NICKNAME_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _cold_row = data._cold_row_cells[row]
        if _cold_row == NIL:
            if _NICKNAME_STRUCT.pack(_value) == _NICKNAME_BYTES:
                return
            _cold_row = data.take_cold_row(row)
        data._cold._nickname_column[_cold_row] = _value

    def row(self, row: int, /) -> Villager:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Villager(
            data._energy_cells[row],
            _GOAL_STRUCT.unpack_from(data._goal_cells, 8 * row),
            self.loot(row),
            self.chance_of_drop(row),
            self.home(row),
            self.nickname(row),
        )

    def __getitem__(self, entity: Entity, /) -> VillagerRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(VillagerRef, entity)

    def rows(self) -> Iterator[VillagerRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(VillagerRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        energy: float = _ENERGY_DEFAULT,
        goal: ArrayLike = _GOAL_DEFAULT,
        loot: Loot | int | str = _LOOT_DEFAULT,
        chance_of_drop: float = _CHANCE_OF_DROP_DEFAULT,
        home: ArrayLike = _HOME_DEFAULT,
        nickname: str = _NICKNAME_DEFAULT,
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
            _energy_ = _ENERGY_DEFAULT
            if energy is not _ENERGY_DEFAULT:
                _energy_ = _ENERGY_FIELD.to_cell(energy)
            _goal_ = _GOAL_DEFAULT
            if goal is not _GOAL_DEFAULT:
                _goal_ = _GOAL_FIELD.to_cell(goal)
            _loot_ = _LOOT_CELL
            if loot is not _LOOT_DEFAULT:
                _loot_ = _LOOT_FIELD.to_cell(loot)
            _chance_of_drop_ = _CHANCE_OF_DROP_DEFAULT
            if chance_of_drop is not _CHANCE_OF_DROP_DEFAULT:
                _chance_of_drop_ = _CHANCE_OF_DROP_FIELD.to_cell(chance_of_drop)
            _home_ = _HOME_DEFAULT
            if home is not _HOME_DEFAULT:
                _home_ = _HOME_FIELD.to_cell(home)
            _nickname_ = _NICKNAME_CELL
            if nickname is not _NICKNAME_DEFAULT:
                _nickname_ = _NICKNAME_FIELD.to_cell(nickname)
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
            data._grow(data._n + 1, (goal, home))
        if _map is not None:
            self._set_map(_map)
        _packed = _COLD_STRUCT.pack(_loot_, _chance_of_drop_, *_home_, _nickname_)
        _is_cold = _packed != _COLD_DEFAULT
        if _is_cold:
            data._cold._ensure_capacity(1, (goal, home))
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                energy=energy,
                goal=goal,
                loot=loot,
                chance_of_drop=chance_of_drop,
                home=home,
                nickname=nickname,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._energy_cells[row] = _energy_
            if _goal_ is _GOAL_DEFAULT:
                data._goal_words[row] = _GOAL_WORD
            else:
                _at = 2 * row
                data._goal_cells[_at] = _goal_[0]
                data._goal_cells[_at + 1] = _goal_[1]
            data._n = row + 1
            self._sparse_cells[_slot] = row
            if _is_cold:
                _cold_row = data._cold._take(row)
                data._cold_row_cells[row] = _cold_row
                data._cold._loot_cells[_cold_row] = _loot_
                data._cold._chance_of_drop_cells[_cold_row] = _chance_of_drop_
                _at = 2 * _cold_row
                data._cold._home_cells[_at] = _home_[0]
                data._cold._home_cells[_at + 1] = _home_[1]
                data._cold._nickname_column[_cold_row] = _nickname_
            else:
                data._cold_row_cells[row] = NIL
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
        **columns: Unpack[VillagerFields],
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
        cold = data._plan_cold_rows(columns, count)
        try:
            data._entity_column[span] = entities
            data._energy_column[span] = columns["energy"]
            put_cells(data._goal_column, span, columns["goal"])
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._append_cold_rows(rows, cold)
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
            if data._cold_row_cells[row] != NIL:
                data._drop_cold_row(data._cold_row_cells[row])
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
        data._energy_cells[dst] = data._energy_cells[src]
        data._goal_words[dst] = data._goal_words[src]
        data._cold_row_cells[dst] = data._cold_row_cells[src]
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
        if data._cold_row_cells[dst] != NIL:
            data._cold._row_cells[data._cold_row_cells[dst]] = dst

    def _swap_via_spare(
        self, first: Instance, second: Instance, spare: Instance
    ) -> None:
        """Swap two rows through a third one, which is not in use."""
        self._move(first, spare)
        self._move(second, first)
        self._move(spare, second)


class VillagerRef(EntityProxy):
    """A row of a VillagerManager, which follows its entity."""

    __slots__ = ()

    energy = RowField.cell(
        VillagerManager.energy, VillagerManager.set_energy, _ENERGY_FIELD
    )
    goal = ArrayField.of(np.float32, VillagerManager.set_goal)
    loot = RowField.of(VillagerManager.loot, VillagerManager.set_loot)
    chance_of_drop = RowField.of(
        VillagerManager.chance_of_drop, VillagerManager.set_chance_of_drop
    )
    home = ColdArray.of(np.float32, VillagerManager.home, VillagerManager.set_home)
    nickname = RowField.of(VillagerManager.nickname, VillagerManager.set_nickname)
