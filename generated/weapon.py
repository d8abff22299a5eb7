"""Weapon: rows in archetype chunks.

What an entity fights with.

Each column on its own in a chunk:

    column       type        tags  bytes/row
    -----------  ----------  ----  ---------
    damage       f32         hot           4
    reach        f32[2]      hot           8
    direction_x  f32         hot           4
    direction_y  f32         hot           4
    direction_z  f32         hot           4
    grip         f32[3,3]    cold         36
    elements     Element[2]  hot           2
    sharp        bool        hot           1
    wielder      entity      hot           8
    name         str[16]     cold         16
    code         bytes[4]    cold          4
    model        object      cold     beside
    91 bytes per row, in archetype chunks of 16384 bytes
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, ClassVar, Final, Literal, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import NULL_ENTITY, Entity
from ecsgen_runtime.managers.row_proxies import ArrayField, ProxyField
from ecsgen_runtime.tables.buffers import Column, cell_view, nested
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import (
    BoolField,
    BytesField,
    EnumField,
    FloatField,
    HandleField,
    ObjectField,
    TextField,
)
from ecsgen_runtime.world.archetypes.chunk_proxies import (
    ChunkArray,
    ChunkProxy,
    ChunkValue,
)
from ecsgen_runtime.world.archetypes.chunks import ChunkColumns, RowCount
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager
from .enums import Element

_COLUMNS: Final = (
    Column("damage", np.dtype(np.float32), (), 4, ("hot",), 0),
    Column("reach", np.dtype(np.float32), (2,), 8, ("hot",), 4),
    Column("direction_x", np.dtype(np.float32), (), 4, ("hot",), 12),
    Column("direction_y", np.dtype(np.float32), (), 4, ("hot",), 16),
    Column("direction_z", np.dtype(np.float32), (), 4, ("hot",), 20),
    Column("elements", np.dtype(np.uint8), (2,), 2, ("hot",), 24),
    Column("sharp", np.dtype(np.bool_), (), 1, ("hot",), 26),
    Column("wielder", np.dtype(np.uint64), (), 8, ("hot",), 27),
    Column("grip", np.dtype(np.float32), (3, 3), 36, ("cold",), 35),
    Column("name", np.dtype("S16"), (), 16, ("cold",), 71),
    Column("code", np.dtype("S4"), (), 4, ("cold",), 87),
    Column("model", np.dtype(np.object_), (), 0, ("cold",), 91),
)
_DAMAGE_FIELD: Final = FloatField("Weapon.damage", "f32")
_REACH_FIELD: Final = FloatField("Weapon.reach", "f32", (2,))
_DIRECTION_FIELD: Final = FloatField("Weapon.direction", "f32", (3,))
_GRIP_FIELD: Final = FloatField("Weapon.grip", "f32", (3, 3))
_ELEMENTS_FIELD: Final = EnumField("Weapon.elements", Element, "u8", (2,))
_SHARP_FIELD: Final = BoolField("Weapon.sharp")
_WIELDER_FIELD: Final = HandleField("Weapon.wielder", "entity")
_NAME_FIELD: Final = TextField("Weapon.name", 16)
_CODE_FIELD: Final = BytesField("Weapon.code", 4)
_MODEL_FIELD: Final = ObjectField("Weapon.model")
_DIRECTION_X_FIELD: Final = FloatField("Weapon.direction_x", "f32")
_DIRECTION_Y_FIELD: Final = FloatField("Weapon.direction_y", "f32")
_DIRECTION_Z_FIELD: Final = FloatField("Weapon.direction_z", "f32")
_REACH_STRUCT: Final = Struct("=2f")
_ELEMENTS_STRUCT: Final = Struct("=2B")
_GRIP_STRUCT: Final = Struct("=9f")
_DAMAGE_DEFAULT: Final = 1.0
_REACH_DEFAULT: Final = (0.0, 1.5)
_DIRECTION_DEFAULT: Final = (0.0, 0.0, 0.0)
_GRIP_DEFAULT: Final = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
_GRIP_CELL: Final = _GRIP_FIELD.to_cell(_GRIP_DEFAULT)
_ELEMENTS_DEFAULT: Final = (Element(0), Element(0))
_ELEMENTS_CELL: Final = _ELEMENTS_FIELD.to_cell(_ELEMENTS_DEFAULT)
_SHARP_DEFAULT: Final = False
_WIELDER_DEFAULT: Final = NULL_ENTITY
_NAME_DEFAULT: Final = "fist"
_NAME_CELL: Final = _NAME_FIELD.to_cell(_NAME_DEFAULT)
_CODE_DEFAULT: Final = b""
_FIELDS: Final = component_fields(
    (_DAMAGE_FIELD, "f32", _DAMAGE_DEFAULT, ("hot",)),
    (_REACH_FIELD, "f32[2]", _REACH_DEFAULT, ("hot",), "m", "Nearest and farthest."),
    (_DIRECTION_FIELD, "f32[3]", _DIRECTION_DEFAULT, ("hot",), "", "Where it points."),
    (_GRIP_FIELD, "f32[3,3]", _GRIP_DEFAULT, ("cold",), "", "How it lies in the hand."),
    (_ELEMENTS_FIELD, "Element[2]", _ELEMENTS_DEFAULT, ("hot",)),
    (_SHARP_FIELD, "bool", _SHARP_DEFAULT, ("hot",)),
    (_WIELDER_FIELD, "entity", _WIELDER_DEFAULT, ("hot",), "", "Whose it is."),
    (_NAME_FIELD, "str[16]", _NAME_DEFAULT, ("cold",)),
    (_CODE_FIELD, "bytes[4]", _CODE_DEFAULT, ("cold",)),
    (_MODEL_FIELD, "object", None, ("cold",), "", "What draws it."),
)


class Weapon(NamedTuple):
    """One row of an archetype chunk, copied out."""

    damage: float = _DAMAGE_DEFAULT

    reach: tuple[float, float] = _REACH_DEFAULT
    """Nearest and farthest. [m]"""

    direction: tuple[float, float, float] = _DIRECTION_DEFAULT
    """Where it points."""

    grip: tuple[tuple[float, ...], ...] = _GRIP_DEFAULT
    """How it lies in the hand."""

    elements: tuple[Element, Element] = _ELEMENTS_DEFAULT
    sharp: bool = _SHARP_DEFAULT

    wielder: Entity = _WIELDER_DEFAULT
    """Whose it is."""

    name: str = _NAME_DEFAULT
    code: bytes = _CODE_DEFAULT.ljust(4, b"\0")

    model: Any = None
    """What draws it."""


class WeaponFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    damage: ArrayLike
    reach: ArrayLike
    direction: ArrayLike
    grip: ArrayLike
    elements: ArrayLike
    sharp: ArrayLike
    wielder: ArrayLike
    name: ArrayLike
    code: ArrayLike
    model: object


class WeaponHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    damage: NDArray[np.float32]
    reach: NDArray[np.float32]
    direction_x: NDArray[np.float32]
    direction_y: NDArray[np.float32]
    direction_z: NDArray[np.float32]
    elements: NDArray[np.uint8]
    sharp: NDArray[np.bool_]
    wielder: NDArray[np.uint64]


class WeaponColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    grip: NDArray[np.float32]
    name: NDArray[np.bytes_]
    code: NDArray[np.bytes_]
    model: NDArray[np.object_]


class WeaponValues(TypedDict, total=False):
    """Fields of one row; fields left out have defaults, or stay as they are."""

    damage: float
    reach: ArrayLike
    direction: ArrayLike
    grip: ArrayLike
    elements: ArrayLike
    sharp: bool
    wielder: Entity | int
    name: str
    code: bytes
    model: Any


class WeaponData(ChunkColumns):
    """Weapon in one chunk: its columns as views of the rows in use.

    A view is good until the next structural change. Assigning to a column writes its
    rows, after the same checks as everywhere: `chunk.weapon.x = 2.0`.
    """

    ROW: ClassVar = Weapon
    CONVERTERS: ClassVar = _FIELDS.converters
    FIELDS: ClassVar = _FIELDS.infos
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager

    __slots__ = (
        "_code_column",
        "_code_view",
        "_damage_cells",
        "_damage_column",
        "_damage_view",
        "_direction_x_cells",
        "_direction_x_column",
        "_direction_x_view",
        "_direction_y_cells",
        "_direction_y_column",
        "_direction_y_view",
        "_direction_z_cells",
        "_direction_z_column",
        "_direction_z_view",
        "_elements_cells",
        "_elements_column",
        "_elements_view",
        "_grip_cells",
        "_grip_column",
        "_grip_view",
        "_model_column",
        "_model_view",
        "_name_column",
        "_name_view",
        "_reach_cells",
        "_reach_column",
        "_reach_view",
        "_sharp_cells",
        "_sharp_column",
        "_sharp_view",
        "_wielder_cells",
        "_wielder_column",
        "_wielder_view",
    )
    _damage_column: NDArray[np.float32]
    _damage_view: NDArray[np.float32]
    _damage_cells: memoryview[float]
    _reach_column: NDArray[np.float32]
    _reach_view: NDArray[np.float32]
    _reach_cells: memoryview[float]
    _direction_x_column: NDArray[np.float32]
    _direction_x_view: NDArray[np.float32]
    _direction_x_cells: memoryview[float]
    _direction_y_column: NDArray[np.float32]
    _direction_y_view: NDArray[np.float32]
    _direction_y_cells: memoryview[float]
    _direction_z_column: NDArray[np.float32]
    _direction_z_view: NDArray[np.float32]
    _direction_z_cells: memoryview[float]
    _elements_column: NDArray[np.uint8]
    _elements_view: NDArray[np.uint8]
    _elements_cells: memoryview[int]
    _sharp_column: NDArray[np.bool_]
    _sharp_view: NDArray[np.bool_]
    _sharp_cells: memoryview[bool]
    _wielder_column: NDArray[np.uint64]
    _wielder_view: NDArray[np.uint64]
    _wielder_cells: memoryview[Entity]
    _grip_column: NDArray[np.float32]
    _grip_view: NDArray[np.float32]
    _grip_cells: memoryview[float]
    _name_column: NDArray[np.bytes_]
    _name_view: NDArray[np.bytes_]
    _code_column: NDArray[np.bytes_]
    _code_view: NDArray[np.bytes_]
    _model_column: NDArray[np.object_]
    _model_view: NDArray[np.object_]

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        self._rows = rows
        self._damage_column = columns[0]
        self._damage_view = columns[0]
        self._damage_cells = cell_view(columns[0])
        self._reach_column = columns[1]
        self._reach_view = columns[1]
        self._reach_cells = cell_view(columns[1])
        self._direction_x_column = columns[2]
        self._direction_x_view = columns[2]
        self._direction_x_cells = cell_view(columns[2])
        self._direction_y_column = columns[3]
        self._direction_y_view = columns[3]
        self._direction_y_cells = cell_view(columns[3])
        self._direction_z_column = columns[4]
        self._direction_z_view = columns[4]
        self._direction_z_cells = cell_view(columns[4])
        self._elements_column = columns[5]
        self._elements_view = columns[5]
        self._elements_cells = cell_view(columns[5])
        self._sharp_column = columns[6]
        self._sharp_view = columns[6]
        self._sharp_cells = cell_view(columns[6])
        self._wielder_column = columns[7]
        self._wielder_view = columns[7]
        self._wielder_cells = cell_view(columns[7])
        self._grip_column = columns[8]
        self._grip_view = columns[8]
        self._grip_cells = cell_view(columns[8])
        self._name_column = columns[9]
        self._name_view = columns[9]
        self._code_column = columns[10]
        self._code_view = columns[10]
        self._model_column = columns[11]
        self._model_view = columns[11]

    @property
    def damage(self) -> NDArray[np.float32]:
        """The damage of each row. Shape (n,)."""
        view = self._damage_column[: self._rows.n]
        self._damage_view = view
        return view

    @damage.setter
    def damage(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._damage_view
        if values is not view or len(view) != n:
            self._damage_column[: self._rows.n] = _DAMAGE_FIELD.to_column(values, n)

    @property
    def reach(self) -> NDArray[np.float32]:
        """Nearest and farthest. [m] Shape (n, 2)."""
        view = self._reach_column[: self._rows.n]
        self._reach_view = view
        return view

    @reach.setter
    def reach(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._reach_view
        if values is not view or len(view) != n:
            self._reach_column[: self._rows.n] = _REACH_FIELD.to_column(values, n)

    @property
    def direction_x(self) -> NDArray[np.float32]:
        """Where it points: element x. Shape (n,)."""
        view = self._direction_x_column[: self._rows.n]
        self._direction_x_view = view
        return view

    @direction_x.setter
    def direction_x(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._direction_x_view
        if values is not view or len(view) != n:
            self._direction_x_column[: self._rows.n] = _DIRECTION_X_FIELD.to_column(
                values, n
            )

    @property
    def direction_y(self) -> NDArray[np.float32]:
        """Where it points: element y. Shape (n,)."""
        view = self._direction_y_column[: self._rows.n]
        self._direction_y_view = view
        return view

    @direction_y.setter
    def direction_y(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._direction_y_view
        if values is not view or len(view) != n:
            self._direction_y_column[: self._rows.n] = _DIRECTION_Y_FIELD.to_column(
                values, n
            )

    @property
    def direction_z(self) -> NDArray[np.float32]:
        """Where it points: element z. Shape (n,)."""
        view = self._direction_z_column[: self._rows.n]
        self._direction_z_view = view
        return view

    @direction_z.setter
    def direction_z(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._direction_z_view
        if values is not view or len(view) != n:
            self._direction_z_column[: self._rows.n] = _DIRECTION_Z_FIELD.to_column(
                values, n
            )

    @property
    def elements(self) -> NDArray[np.uint8]:
        """The elements of each row. Shape (n, 2)."""
        view = _ELEMENTS_FIELD.comparable(self._elements_column[: self._rows.n])
        self._elements_view = view
        return view

    @elements.setter
    def elements(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._elements_view
        if values is not view or len(view) != n:
            self._elements_column[: self._rows.n] = _ELEMENTS_FIELD.to_column(values, n)

    @property
    def sharp(self) -> NDArray[np.bool_]:
        """The sharp of each row. Shape (n,)."""
        view = self._sharp_column[: self._rows.n]
        self._sharp_view = view
        return view

    @sharp.setter
    def sharp(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._sharp_view
        if values is not view or len(view) != n:
            self._sharp_column[: self._rows.n] = _SHARP_FIELD.to_column(values, n)

    @property
    def wielder(self) -> NDArray[np.uint64]:
        """Whose it is. Shape (n,)."""
        view = self._wielder_column[: self._rows.n]
        self._wielder_view = view
        return view

    @wielder.setter
    def wielder(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._wielder_view
        if values is not view or len(view) != n:
            self._wielder_column[: self._rows.n] = _WIELDER_FIELD.to_column(values, n)

    @property
    def grip(self) -> NDArray[np.float32]:
        """How it lies in the hand. Shape (n, 3, 3)."""
        view = self._grip_column[: self._rows.n]
        self._grip_view = view
        return view

    @grip.setter
    def grip(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._grip_view
        if values is not view or len(view) != n:
            self._grip_column[: self._rows.n] = _GRIP_FIELD.to_column(values, n)

    @property
    def name(self) -> NDArray[np.bytes_]:
        """The name of each row. Shape (n,)."""
        view = _NAME_FIELD.comparable(self._name_column[: self._rows.n])
        self._name_view = view
        return view

    @name.setter
    def name(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._name_view
        if values is not view or len(view) != n:
            self._name_column[: self._rows.n] = _NAME_FIELD.to_column(values, n)

    @property
    def code(self) -> NDArray[np.bytes_]:
        """The code of each row. Shape (n,)."""
        view = self._code_column[: self._rows.n]
        self._code_view = view
        return view

    @code.setter
    def code(self, values: ArrayLike) -> None:
        n, view = self._rows.n, self._code_view
        if values is not view or len(view) != n:
            self._code_column[: self._rows.n] = _CODE_FIELD.to_column(values, n)

    @property
    def model(self) -> NDArray[np.object_]:
        """What draws it. Shape (n,)."""
        view = self._model_column[: self._rows.n]
        self._model_view = view
        return view

    @model.setter
    def model(self, values: object) -> None:
        n, view = self._rows.n, self._model_view
        if values is not view or len(view) != n:
            checked = _MODEL_FIELD.to_column(values, n)
            # what ends may run code
            _left = self._model_column[: self._rows.n].copy()
            self._model_column[: self._rows.n] = checked

    @overload
    def tagged(self, tag: Literal["hot"], /) -> WeaponHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> WeaponColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return WeaponHotColumns(
                self.damage,
                self.reach,
                self.direction_x,
                self.direction_y,
                self.direction_z,
                self.elements,
                self.sharp,
                self.wielder,
            )
        if tag == "cold":
            return WeaponColdColumns(self.grip, self.name, self.code, self.model)
        raise ValueError(f"Weapon has no tag {tag!r}; it has hot, cold")

    @staticmethod
    def _one(
        *,
        damage: float = _DAMAGE_DEFAULT,
        reach: ArrayLike = _REACH_DEFAULT,
        direction: ArrayLike = _DIRECTION_DEFAULT,
        grip: ArrayLike = _GRIP_DEFAULT,
        elements: ArrayLike = _ELEMENTS_DEFAULT,
        sharp: bool = _SHARP_DEFAULT,
        wielder: Entity | int = _WIELDER_DEFAULT,
        name: str = _NAME_DEFAULT,
        code: bytes = _CODE_DEFAULT,
        model: Any = None,
    ) -> tuple[Any, ...]:
        """Check the fields of one new row."""
        _damage_ = _DAMAGE_DEFAULT
        if damage is not _DAMAGE_DEFAULT:
            _damage_ = _DAMAGE_FIELD.to_cell(damage)
        _reach_ = _REACH_DEFAULT
        if reach is not _REACH_DEFAULT:
            _reach_ = _REACH_FIELD.to_cell(reach)
        _direction_ = _DIRECTION_DEFAULT
        if direction is not _DIRECTION_DEFAULT:
            _direction_ = _DIRECTION_FIELD.to_cell(direction)
        _grip_ = _GRIP_CELL
        if grip is not _GRIP_DEFAULT:
            _grip_ = _GRIP_FIELD.to_cell(grip)
        _elements_ = _ELEMENTS_CELL
        if elements is not _ELEMENTS_DEFAULT:
            _elements_ = _ELEMENTS_FIELD.to_cell(elements)
        _sharp_ = _SHARP_DEFAULT
        if sharp is not _SHARP_DEFAULT:
            _sharp_ = _SHARP_FIELD.to_cell(sharp)
        _wielder_ = _WIELDER_DEFAULT
        if wielder is not _WIELDER_DEFAULT:
            _wielder_ = _WIELDER_FIELD.to_cell(wielder)
        _name_ = _NAME_CELL
        if name is not _NAME_DEFAULT:
            _name_ = _NAME_FIELD.to_cell(name)
        _code_ = _CODE_DEFAULT
        if code is not _CODE_DEFAULT:
            _code_ = _CODE_FIELD.to_cell(code)
        return (
            _damage_,
            _reach_,
            _direction_,
            _grip_,
            _elements_,
            _sharp_,
            _wielder_,
            _name_,
            _code_,
            model,
        )

    @staticmethod
    def _many(
        count: int,
        /,
        *,
        damage: ArrayLike = _DAMAGE_DEFAULT,
        reach: ArrayLike = _REACH_DEFAULT,
        direction: ArrayLike = _DIRECTION_DEFAULT,
        grip: ArrayLike = _GRIP_DEFAULT,
        elements: ArrayLike = _ELEMENTS_DEFAULT,
        sharp: ArrayLike = _SHARP_DEFAULT,
        wielder: ArrayLike = _WIELDER_DEFAULT,
        name: ArrayLike = _NAME_DEFAULT,
        code: ArrayLike = _CODE_DEFAULT,
        model: object = None,
    ) -> tuple[NDArray[Any], ...]:
        """Check fields for `count` new rows and return an array for each column."""
        _direction_ = np.broadcast_to(
            _DIRECTION_FIELD.to_column(direction, count), (count, 3)
        )
        return (
            _DAMAGE_FIELD.to_column(damage, count),
            _REACH_FIELD.to_column(reach, count),
            _direction_[:, 0],
            _direction_[:, 1],
            _direction_[:, 2],
            _ELEMENTS_FIELD.to_column(elements, count),
            _SHARP_FIELD.to_column(sharp, count),
            _WIELDER_FIELD.to_column(wielder, count),
            _GRIP_FIELD.to_column(grip, count),
            _NAME_FIELD.to_column(name, count),
            _CODE_FIELD.to_column(code, count),
            _MODEL_FIELD.to_column(model, count),
        )

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write a tuple that `_one` returned to a row."""
        (
            _damage_,
            _reach_,
            _direction_,
            _grip_,
            _elements_,
            _sharp_,
            _wielder_,
            _name_,
            _code_,
            model,
        ) = values
        self._damage_cells[row] = _damage_
        _at = 2 * row
        self._reach_cells[_at] = _reach_[0]
        self._reach_cells[_at + 1] = _reach_[1]
        self._direction_x_cells[row] = _direction_[0]
        self._direction_y_cells[row] = _direction_[1]
        self._direction_z_cells[row] = _direction_[2]
        _GRIP_STRUCT.pack_into(self._grip_cells, 36 * row, *_grip_)
        _at = 2 * row
        self._elements_cells[_at] = _elements_[0]
        self._elements_cells[_at + 1] = _elements_[1]
        self._sharp_cells[row] = _sharp_
        self._wielder_cells[row] = _wielder_
        self._name_column[row] = _name_
        self._code_column[row] = _code_
        self._model_column[row] = model

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write a dict that `_some` returned to a row."""
        if "damage" in values:
            self._damage_cells[row] = values["damage"]
        if "reach" in values:
            _at = 2 * row
            self._reach_cells[_at] = values["reach"][0]
            self._reach_cells[_at + 1] = values["reach"][1]
        if "direction" in values:
            self._direction_x_cells[row] = values["direction"][0]
            self._direction_y_cells[row] = values["direction"][1]
            self._direction_z_cells[row] = values["direction"][2]
        if "grip" in values:
            _GRIP_STRUCT.pack_into(self._grip_cells, 36 * row, *values["grip"])
        if "elements" in values:
            _at = 2 * row
            self._elements_cells[_at] = values["elements"][0]
            self._elements_cells[_at + 1] = values["elements"][1]
        if "sharp" in values:
            self._sharp_cells[row] = values["sharp"]
        if "wielder" in values:
            self._wielder_cells[row] = values["wielder"]
        if "name" in values:
            self._name_column[row] = values["name"]
        if "code" in values:
            self._code_column[row] = values["code"]
        if "model" in values:
            _left_model = self._model_column[row]
            self._model_column[row] = values["model"]

    def _row(self, row: int) -> Weapon:
        """Return a copy of a row."""
        return Weapon(
            self._damage_cells[row],
            _REACH_STRUCT.unpack_from(self._reach_cells, 8 * row),
            (
                self._direction_x_cells[row],
                self._direction_y_cells[row],
                self._direction_z_cells[row],
            ),
            nested(_GRIP_STRUCT.unpack_from(self._grip_cells, 36 * row), (3, 3)),
            nested(
                map(
                    Element, _ELEMENTS_STRUCT.unpack_from(self._elements_cells, 2 * row)
                ),
                (2,),
            ),
            self._sharp_cells[row],
            self._wielder_cells[row],
            str(self._name_column[row], "utf-8"),
            bytes(self._code_column[row]).ljust(4, b"\0"),
            self._model_column[row],
        )


class WeaponRef(ChunkProxy):
    """Weapon of an entity, which it follows."""

    __slots__ = ()

    _COMPONENT: ClassVar = Weapon

    damage: ProxyField[float, float] = ChunkValue.cell("damage")
    reach = ChunkArray.of(np.float32, "reach")
    direction = ChunkArray.of(
        np.float32, "direction", ArrayField.split((3,), "direction_x", "direction_y")
    )
    grip = ChunkArray.of(np.float32, "grip")
    elements: ProxyField[tuple[Element, Element], ArrayLike] = ChunkValue.of("elements")
    sharp: ProxyField[bool, bool] = ChunkValue.cell("sharp")
    wielder: ProxyField[Entity, Entity | int] = ChunkValue.cell("wielder")
    name: ProxyField[str, str] = ChunkValue.of("name")
    code: ProxyField[bytes, bytes] = ChunkValue.of("code")
    model: ProxyField[Any, Any] = ChunkValue.of("model")
