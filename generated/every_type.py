"""EveryType: lookup sparse, instances one, destroy gc, release.

A column of every type that a field can have.

One buffer of 176 bytes per row, column after column:

    column       type       bytes/row  offset (64 rows)  tags
    -----------  ---------  ---------  ----------------  -----------
    entity       u64                8                 0  hot
    flag         bool               1               512  hot
    tiny         i8                 1               576  hot
    small        i16                2               640  hot
    medium       i32                4               768  hot render
    large        i64                8              1024  hot
    byte         u8                 1              1536  hot
    word         u16                2              1600  hot
    double_word  u32                4              1728  hot
    quad_word    u64                8              1984  hot
    single       f32                4              2496  hot
    double       f64                8              2752  hot
    vector       f32[3]            12              3264  hot render
    matrix       f64[2,3]          48              4032  hot
    switches     bool[2]            2              7104  hot
    mode         Mode               2              7232  hot
    modes        Mode[2]            4              7360  hot
    target       entity             8              7616  hot
    targets      entity[2]         16              8128  hot
    magic        bytes[4]           4              9152  hot
    ones         i16[2,2]           8              9408  cold
    access       Access             1              9920  render cold
    title        str[16]           16              9984  cold
    digest       bytes[4]           4             11008  cold
    payload      object        beside                    hot
    note         object        beside                    cold
    176 bytes per row, 12288 for 64 rows
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
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc, Release
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    nested,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import (
    BoolField,
    BytesField,
    EnumField,
    FloatField,
    HandleField,
    IntField,
    ObjectField,
    TextField,
)
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager
from .enums import Access, Mode

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("flag", np.dtype(np.bool_), (), 1, ("hot",), 8),
    Column("tiny", np.dtype(np.int8), (), 1, ("hot",), 9),
    Column("small", np.dtype(np.int16), (), 2, ("hot",), 10),
    Column("medium", np.dtype(np.int32), (), 4, ("hot", "render"), 12),
    Column("large", np.dtype(np.int64), (), 8, ("hot",), 16),
    Column("byte", np.dtype(np.uint8), (), 1, ("hot",), 24),
    Column("word", np.dtype(np.uint16), (), 2, ("hot",), 25),
    Column("double_word", np.dtype(np.uint32), (), 4, ("hot",), 27),
    Column("quad_word", np.dtype(np.uint64), (), 8, ("hot",), 31),
    Column("single", np.dtype(np.float32), (), 4, ("hot",), 39),
    Column("double", np.dtype(np.float64), (), 8, ("hot",), 43),
    Column("vector", np.dtype(np.float32), (3,), 12, ("hot", "render"), 51),
    Column("matrix", np.dtype(np.float64), (2, 3), 48, ("hot",), 63),
    Column("switches", np.dtype(np.bool_), (2,), 2, ("hot",), 111),
    Column("mode", np.dtype(np.uint16), (), 2, ("hot",), 113),
    Column("modes", np.dtype(np.uint16), (2,), 4, ("hot",), 115),
    Column("target", np.dtype(np.uint64), (), 8, ("hot",), 119),
    Column("targets", np.dtype(np.uint64), (2,), 16, ("hot",), 127),
    Column("magic", np.dtype("S4"), (), 4, ("hot",), 143),
    Column("ones", np.dtype(np.int16), (2, 2), 8, ("cold",), 147),
    Column("access", np.dtype(np.uint8), (), 1, ("render", "cold"), 155),
    Column("title", np.dtype("S16"), (), 16, ("cold",), 156),
    Column("digest", np.dtype("S4"), (), 4, ("cold",), 172),
)
_FLAG_FIELD: Final = BoolField("EveryType.flag")
_TINY_FIELD: Final = IntField("EveryType.tiny", "i8")
_SMALL_FIELD: Final = IntField("EveryType.small", "i16")
_MEDIUM_FIELD: Final = IntField("EveryType.medium", "i32")
_LARGE_FIELD: Final = IntField("EveryType.large", "i64")
_BYTE_FIELD: Final = IntField("EveryType.byte", "u8")
_WORD_FIELD: Final = IntField("EveryType.word", "u16")
_DOUBLE_WORD_FIELD: Final = IntField("EveryType.double_word", "u32")
_QUAD_WORD_FIELD: Final = IntField("EveryType.quad_word", "u64")
_SINGLE_FIELD: Final = FloatField("EveryType.single", "f32")
_DOUBLE_FIELD: Final = FloatField("EveryType.double", "f64")
_VECTOR_FIELD: Final = FloatField("EveryType.vector", "f32", (3,))
_MATRIX_FIELD: Final = FloatField("EveryType.matrix", "f64", (2, 3))
_ONES_FIELD: Final = IntField("EveryType.ones", "i16", (2, 2))
_SWITCHES_FIELD: Final = BoolField("EveryType.switches", (2,))
_MODE_FIELD: Final = EnumField("EveryType.mode", Mode, "u16")
_MODES_FIELD: Final = EnumField("EveryType.modes", Mode, "u16", (2,))
_ACCESS_FIELD: Final = EnumField("EveryType.access", Access, "u8")
_TARGET_FIELD: Final = HandleField("EveryType.target", "entity")
_TARGETS_FIELD: Final = HandleField("EveryType.targets", "entity", (2,))
_TITLE_FIELD: Final = TextField("EveryType.title", 16)
_DIGEST_FIELD: Final = BytesField("EveryType.digest", 4)
_MAGIC_FIELD: Final = BytesField("EveryType.magic", 4)
_PAYLOAD_FIELD: Final = ObjectField("EveryType.payload")
_NOTE_FIELD: Final = ObjectField("EveryType.note")
_VECTOR_STRUCT: Final = Struct("=3f")
_MATRIX_STRUCT: Final = Struct("=6d")
_SWITCHES_STRUCT: Final = Struct("=2?")
_MODES_STRUCT: Final = Struct("=2H")
_TARGETS_STRUCT: Final = Struct("=2Q")
_ONES_STRUCT: Final = Struct("=4h")
_FLAG_DEFAULT: Final = True
_TINY_DEFAULT: Final = -128
_SMALL_DEFAULT: Final = -300
_MEDIUM_DEFAULT: Final = 7
_LARGE_DEFAULT: Final = -9223372036854775808
_BYTE_DEFAULT: Final = 255
_WORD_DEFAULT: Final = 511
_DOUBLE_WORD_DEFAULT: Final = 4294967295
_QUAD_WORD_DEFAULT: Final = 18446744073709551615
_SINGLE_DEFAULT: Final = 0.1
_DOUBLE_DEFAULT: Final = float("-inf")
_VECTOR_DEFAULT: Final = (1.0, 2.5, -3.0)
_MATRIX_DEFAULT: Final = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
_MATRIX_CELL: Final = _MATRIX_FIELD.to_cell(_MATRIX_DEFAULT)
_ONES_DEFAULT: Final = ((1, 1), (1, 1))
_ONES_CELL: Final = _ONES_FIELD.to_cell(_ONES_DEFAULT)
_ONES_WORD: Final = pack_cell(_ONES_FIELD, _ONES_CELL)
_SWITCHES_DEFAULT: Final = (True, False)
_SWITCHES_WORD: Final = pack_cell(_SWITCHES_FIELD, _SWITCHES_DEFAULT)
_MODE_DEFAULT: Final = Mode(5)
_MODE_CELL: Final = _MODE_FIELD.to_cell(_MODE_DEFAULT)
_MODES_DEFAULT: Final = (Mode(300), Mode(0))
_MODES_CELL: Final = _MODES_FIELD.to_cell(_MODES_DEFAULT)
_MODES_WORD: Final = pack_cell(_MODES_FIELD, _MODES_CELL)
_ACCESS_DEFAULT: Final = Access(3)
_ACCESS_CELL: Final = _ACCESS_FIELD.to_cell(_ACCESS_DEFAULT)
_TARGET_DEFAULT: Final = NULL_ENTITY
_TARGETS_DEFAULT: Final = (NULL_ENTITY, NULL_ENTITY)
_TITLE_DEFAULT: Final = "Gr\xfc\xdfe"
_TITLE_CELL: Final = _TITLE_FIELD.to_cell(_TITLE_DEFAULT)
_DIGEST_DEFAULT: Final = b"\xde\xad"
_MAGIC_DEFAULT: Final = b"ECS"
_FIELDS: Final = component_fields(
    (_FLAG_FIELD, "bool", _FLAG_DEFAULT, ("hot",), "", "Truth."),
    (_TINY_FIELD, "i8", _TINY_DEFAULT, ("hot",), "", "Smallest signed integer."),
    (_SMALL_FIELD, "i16", _SMALL_DEFAULT, ("hot",), "", "Short signed integer."),
    (_MEDIUM_FIELD, "i32", _MEDIUM_DEFAULT, ("hot", "render"), "", "Signed integer."),
    (_LARGE_FIELD, "i64", _LARGE_DEFAULT, ("hot",), "", "Long signed integer."),
    (_BYTE_FIELD, "u8", _BYTE_DEFAULT, ("hot",), "", "Smallest unsigned integer."),
    (_WORD_FIELD, "u16", _WORD_DEFAULT, ("hot",), "", "Short unsigned integer."),
    (
        _DOUBLE_WORD_FIELD,
        "u32",
        _DOUBLE_WORD_DEFAULT,
        ("hot",),
        "",
        "Unsigned integer.",
    ),
    (
        _QUAD_WORD_FIELD,
        "u64",
        _QUAD_WORD_DEFAULT,
        ("hot",),
        "",
        "Long unsigned integer.",
    ),
    (_SINGLE_FIELD, "f32", _SINGLE_DEFAULT, ("hot",), "m", "Single precision."),
    (_DOUBLE_FIELD, "f64", _DOUBLE_DEFAULT, ("hot",), "s", "Double precision."),
    (
        _VECTOR_FIELD,
        "f32[3]",
        _VECTOR_DEFAULT,
        ("hot", "render"),
        "m",
        "Three of a kind.",
    ),
    (_MATRIX_FIELD, "f64[2,3]", _MATRIX_DEFAULT, ("hot",), "", "Two rows of three."),
    (
        _ONES_FIELD,
        "i16[2,2]",
        _ONES_DEFAULT,
        ("cold",),
        "",
        "A scalar fills the whole shape.",
    ),
    (_SWITCHES_FIELD, "bool[2]", _SWITCHES_DEFAULT, ("hot",), "", "Several truths."),
    (
        _MODE_FIELD,
        "Mode",
        _MODE_DEFAULT,
        ("hot",),
        "",
        "An enum by the name of its member.",
    ),
    (_MODES_FIELD, "Mode[2]", _MODES_DEFAULT, ("hot",), "", "Several enums."),
    (_ACCESS_FIELD, "Access", _ACCESS_DEFAULT, ("render", "cold"), "", "Flags."),
    (_TARGET_FIELD, "entity", _TARGET_DEFAULT, ("hot",), "", "Another entity."),
    (
        _TARGETS_FIELD,
        "entity[2]",
        _TARGETS_DEFAULT,
        ("hot",),
        "",
        "Two other entities.",
    ),
    (
        _TITLE_FIELD,
        "str[16]",
        _TITLE_DEFAULT,
        ("cold",),
        "",
        "Text of at most 16 UTF-8 bytes.",
    ),
    (_DIGEST_FIELD, "bytes[4]", _DIGEST_DEFAULT, ("cold",), "", "Four bytes."),
    (
        _MAGIC_FIELD,
        "bytes[4]",
        _MAGIC_DEFAULT,
        ("hot",),
        "",
        "ASCII text, padded with a zero byte.",
    ),
    (_PAYLOAD_FIELD, "object", None, ("hot",), "", "Any Python object."),
    (_NOTE_FIELD, "object", None, ("cold",), "", "Any Python object."),
)


class EveryType(NamedTuple):
    """One row of a EveryTypeManager, copied out."""

    flag: bool = _FLAG_DEFAULT
    """Truth."""

    tiny: int = _TINY_DEFAULT
    """Smallest signed integer."""

    small: int = _SMALL_DEFAULT
    """Short signed integer."""

    medium: int = _MEDIUM_DEFAULT
    """Signed integer."""

    large: int = _LARGE_DEFAULT
    """Long signed integer."""

    byte: int = _BYTE_DEFAULT
    """Smallest unsigned integer."""

    word: int = _WORD_DEFAULT
    """Short unsigned integer."""

    double_word: int = _DOUBLE_WORD_DEFAULT
    """Unsigned integer."""

    quad_word: int = _QUAD_WORD_DEFAULT
    """Long unsigned integer."""

    single: float = _SINGLE_DEFAULT
    """Single precision. [m]"""

    double: float = _DOUBLE_DEFAULT
    """Double precision. [s]"""

    vector: tuple[float, float, float] = _VECTOR_DEFAULT
    """Three of a kind. [m]"""

    matrix: tuple[tuple[float, float, float], tuple[float, float, float]] = (
        _MATRIX_DEFAULT
    )
    """Two rows of three."""

    ones: tuple[tuple[int, int], tuple[int, int]] = _ONES_DEFAULT
    """A scalar fills the whole shape."""

    switches: tuple[bool, bool] = _SWITCHES_DEFAULT
    """Several truths."""

    mode: Mode = _MODE_DEFAULT
    """An enum by the name of its member."""

    modes: tuple[Mode, Mode] = _MODES_DEFAULT
    """Several enums."""

    access: Access = _ACCESS_DEFAULT
    """Flags."""

    target: Entity = _TARGET_DEFAULT
    """Another entity."""

    targets: tuple[Entity, Entity] = _TARGETS_DEFAULT
    """Two other entities."""

    title: str = _TITLE_DEFAULT
    """Text of at most 16 UTF-8 bytes."""

    digest: bytes = _DIGEST_DEFAULT.ljust(4, b"\0")
    """Four bytes."""

    magic: bytes = _MAGIC_DEFAULT.ljust(4, b"\0")
    """ASCII text, padded with a zero byte."""

    payload: Any = None
    """Any Python object."""

    note: Any = None
    """Any Python object."""


class EveryTypeFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    flag: ArrayLike
    tiny: ArrayLike
    small: ArrayLike
    medium: ArrayLike
    large: ArrayLike
    byte: ArrayLike
    word: ArrayLike
    double_word: ArrayLike
    quad_word: ArrayLike
    single: ArrayLike
    double: ArrayLike
    vector: ArrayLike
    matrix: ArrayLike
    ones: ArrayLike
    switches: ArrayLike
    mode: ArrayLike
    modes: ArrayLike
    access: ArrayLike
    target: ArrayLike
    targets: ArrayLike
    title: ArrayLike
    digest: ArrayLike
    magic: ArrayLike
    payload: object
    note: object


class EveryTypeHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    flag: NDArray[np.bool_]
    tiny: NDArray[np.int8]
    small: NDArray[np.int16]
    medium: NDArray[np.int32]
    large: NDArray[np.int64]
    byte: NDArray[np.uint8]
    word: NDArray[np.uint16]
    double_word: NDArray[np.uint32]
    quad_word: NDArray[np.uint64]
    single: NDArray[np.float32]
    double: NDArray[np.float64]
    vector: NDArray[np.float32]
    matrix: NDArray[np.float64]
    switches: NDArray[np.bool_]
    mode: NDArray[np.uint16]
    modes: NDArray[np.uint16]
    target: NDArray[np.uint64]
    targets: NDArray[np.uint64]
    magic: NDArray[np.bytes_]
    payload: NDArray[np.object_]


class EveryTypeRenderColumns(NamedTuple):
    """The columns tagged `render`."""

    medium: NDArray[np.int32]
    vector: NDArray[np.float32]
    access: NDArray[np.uint8]


class EveryTypeColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    ones: NDArray[np.int16]
    access: NDArray[np.uint8]
    title: NDArray[np.bytes_]
    digest: NDArray[np.bytes_]
    note: NDArray[np.object_]


class EveryTypeData(OwnedRows):
    """The columns of a EveryTypeManager: views of the rows in use."""

    __slots__ = (
        "_access_cells",
        "_access_column",
        "_access_view",
        "_byte_cells",
        "_byte_column",
        "_digest_column",
        "_double_cells",
        "_double_column",
        "_double_word_cells",
        "_double_word_column",
        "_entity_cells",
        "_entity_column",
        "_flag_cells",
        "_flag_column",
        "_large_cells",
        "_large_column",
        "_magic_column",
        "_matrix_cells",
        "_matrix_column",
        "_matrix_items",
        "_medium_cells",
        "_medium_column",
        "_mode_cells",
        "_mode_column",
        "_mode_view",
        "_modes_cells",
        "_modes_column",
        "_modes_items",
        "_modes_view",
        "_modes_words",
        "_note_column",
        "_ones_cells",
        "_ones_column",
        "_ones_items",
        "_ones_words",
        "_payload_column",
        "_quad_word_cells",
        "_quad_word_column",
        "_single_cells",
        "_single_column",
        "_small_cells",
        "_small_column",
        "_switches_cells",
        "_switches_column",
        "_switches_items",
        "_switches_words",
        "_target_cells",
        "_target_column",
        "_targets_cells",
        "_targets_column",
        "_targets_items",
        "_tiny_cells",
        "_tiny_column",
        "_title_column",
        "_title_view",
        "_vector_cells",
        "_vector_column",
        "_vector_items",
        "_word_cells",
        "_word_column",
    )
    MANAGER: ClassVar = "EveryTypeManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    OBJECTS: ClassVar = ("_payload_column", "_note_column")
    _payload_column: NDArray[np.object_]
    _note_column: NDArray[np.object_]

    @property
    def flag(self) -> NDArray[np.bool_]:
        """Truth. Shape (n,)."""
        return self._flag_column[: self._n]

    @flag.setter
    def flag(self, values: ArrayLike) -> None:
        if not is_same_view(self.flag, values):
            self._flag_column[: self._n] = _FLAG_FIELD.to_column(values, self._n)

    @property
    def tiny(self) -> NDArray[np.int8]:
        """Smallest signed integer. Shape (n,)."""
        return self._tiny_column[: self._n]

    @tiny.setter
    def tiny(self, values: ArrayLike) -> None:
        if not is_same_view(self.tiny, values):
            self._tiny_column[: self._n] = _TINY_FIELD.to_column(values, self._n)

    @property
    def small(self) -> NDArray[np.int16]:
        """Short signed integer. Shape (n,)."""
        return self._small_column[: self._n]

    @small.setter
    def small(self, values: ArrayLike) -> None:
        if not is_same_view(self.small, values):
            self._small_column[: self._n] = _SMALL_FIELD.to_column(values, self._n)

    @property
    def medium(self) -> NDArray[np.int32]:
        """Signed integer. Shape (n,)."""
        return self._medium_column[: self._n]

    @medium.setter
    def medium(self, values: ArrayLike) -> None:
        if not is_same_view(self.medium, values):
            self._medium_column[: self._n] = _MEDIUM_FIELD.to_column(values, self._n)

    @property
    def large(self) -> NDArray[np.int64]:
        """Long signed integer. Shape (n,)."""
        return self._large_column[: self._n]

    @large.setter
    def large(self, values: ArrayLike) -> None:
        if not is_same_view(self.large, values):
            self._large_column[: self._n] = _LARGE_FIELD.to_column(values, self._n)

    @property
    def byte(self) -> NDArray[np.uint8]:
        """Smallest unsigned integer. Shape (n,)."""
        return self._byte_column[: self._n]

    @byte.setter
    def byte(self, values: ArrayLike) -> None:
        if not is_same_view(self.byte, values):
            self._byte_column[: self._n] = _BYTE_FIELD.to_column(values, self._n)

    @property
    def word(self) -> NDArray[np.uint16]:
        """Short unsigned integer. Shape (n,)."""
        return self._word_column[: self._n]

    @word.setter
    def word(self, values: ArrayLike) -> None:
        if not is_same_view(self.word, values):
            self._word_column[: self._n] = _WORD_FIELD.to_column(values, self._n)

    @property
    def double_word(self) -> NDArray[np.uint32]:
        """Unsigned integer. Shape (n,)."""
        return self._double_word_column[: self._n]

    @double_word.setter
    def double_word(self, values: ArrayLike) -> None:
        if not is_same_view(self.double_word, values):
            self._double_word_column[: self._n] = _DOUBLE_WORD_FIELD.to_column(
                values, self._n
            )

    @property
    def quad_word(self) -> NDArray[np.uint64]:
        """Long unsigned integer. Shape (n,)."""
        return self._quad_word_column[: self._n]

    @quad_word.setter
    def quad_word(self, values: ArrayLike) -> None:
        if not is_same_view(self.quad_word, values):
            self._quad_word_column[: self._n] = _QUAD_WORD_FIELD.to_column(
                values, self._n
            )

    @property
    def single(self) -> NDArray[np.float32]:
        """Single precision. [m] Shape (n,)."""
        return self._single_column[: self._n]

    @single.setter
    def single(self, values: ArrayLike) -> None:
        if not is_same_view(self.single, values):
            self._single_column[: self._n] = _SINGLE_FIELD.to_column(values, self._n)

    @property
    def double(self) -> NDArray[np.float64]:
        """Double precision. [s] Shape (n,)."""
        return self._double_column[: self._n]

    @double.setter
    def double(self, values: ArrayLike) -> None:
        if not is_same_view(self.double, values):
            self._double_column[: self._n] = _DOUBLE_FIELD.to_column(values, self._n)

    @property
    def vector(self) -> NDArray[np.float32]:
        """Three of a kind. [m] Shape (n, 3)."""
        return self._vector_column[: self._n]

    @vector.setter
    def vector(self, values: ArrayLike) -> None:
        if not is_same_view(self.vector, values):
            self._vector_column[: self._n] = _VECTOR_FIELD.to_column(values, self._n)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Two rows of three. Shape (n, 2, 3)."""
        return self._matrix_column[: self._n]

    @matrix.setter
    def matrix(self, values: ArrayLike) -> None:
        if not is_same_view(self.matrix, values):
            self._matrix_column[: self._n] = _MATRIX_FIELD.to_column(values, self._n)

    @property
    def switches(self) -> NDArray[np.bool_]:
        """Several truths. Shape (n, 2)."""
        return self._switches_column[: self._n]

    @switches.setter
    def switches(self, values: ArrayLike) -> None:
        if not is_same_view(self.switches, values):
            self._switches_column[: self._n] = _SWITCHES_FIELD.to_column(
                values, self._n
            )

    @property
    def mode(self) -> NDArray[np.uint16]:
        """An enum by the name of its member. Shape (n,)."""
        return self._mode_view[: self._n]

    @mode.setter
    def mode(self, values: ArrayLike) -> None:
        if not is_same_view(self.mode, values):
            self._mode_column[: self._n] = _MODE_FIELD.to_column(values, self._n)

    @property
    def modes(self) -> NDArray[np.uint16]:
        """Several enums. Shape (n, 2)."""
        return self._modes_view[: self._n]

    @modes.setter
    def modes(self, values: ArrayLike) -> None:
        if not is_same_view(self.modes, values):
            self._modes_column[: self._n] = _MODES_FIELD.to_column(values, self._n)

    @property
    def target(self) -> NDArray[np.uint64]:
        """Another entity. Shape (n,)."""
        return self._target_column[: self._n]

    @target.setter
    def target(self, values: ArrayLike) -> None:
        if not is_same_view(self.target, values):
            self._target_column[: self._n] = _TARGET_FIELD.to_column(values, self._n)

    @property
    def targets(self) -> NDArray[np.uint64]:
        """Two other entities. Shape (n, 2)."""
        return self._targets_column[: self._n]

    @targets.setter
    def targets(self, values: ArrayLike) -> None:
        if not is_same_view(self.targets, values):
            self._targets_column[: self._n] = _TARGETS_FIELD.to_column(values, self._n)

    @property
    def magic(self) -> NDArray[np.bytes_]:
        """ASCII text, padded with a zero byte. Shape (n,)."""
        return self._magic_column[: self._n]

    @magic.setter
    def magic(self, values: ArrayLike) -> None:
        if not is_same_view(self.magic, values):
            self._magic_column[: self._n] = _MAGIC_FIELD.to_column(values, self._n)

    @property
    def ones(self) -> NDArray[np.int16]:
        """A scalar fills the whole shape. Shape (n, 2, 2)."""
        return self._ones_column[: self._n]

    @ones.setter
    def ones(self, values: ArrayLike) -> None:
        if not is_same_view(self.ones, values):
            self._ones_column[: self._n] = _ONES_FIELD.to_column(values, self._n)

    @property
    def access(self) -> NDArray[np.uint8]:
        """Flags. Shape (n,)."""
        return self._access_view[: self._n]

    @access.setter
    def access(self, values: ArrayLike) -> None:
        if not is_same_view(self.access, values):
            self._access_column[: self._n] = _ACCESS_FIELD.to_column(values, self._n)

    @property
    def title(self) -> NDArray[np.bytes_]:
        """Text of at most 16 UTF-8 bytes. Shape (n,)."""
        return self._title_view[: self._n]

    @title.setter
    def title(self, values: ArrayLike) -> None:
        if not is_same_view(self.title, values):
            self._title_column[: self._n] = _TITLE_FIELD.to_column(values, self._n)

    @property
    def digest(self) -> NDArray[np.bytes_]:
        """Four bytes. Shape (n,)."""
        return self._digest_column[: self._n]

    @digest.setter
    def digest(self, values: ArrayLike) -> None:
        if not is_same_view(self.digest, values):
            self._digest_column[: self._n] = _DIGEST_FIELD.to_column(values, self._n)

    @property
    def payload(self) -> NDArray[np.object_]:
        """Any Python object. Shape (n,)."""
        return self._payload_column[: self._n]

    @payload.setter
    def payload(self, values: object) -> None:
        if not is_same_view(self.payload, values):
            checked = _PAYLOAD_FIELD.to_column(values, self._n)
            # what ends may run code
            _left = self._payload_column[: self._n].copy()
            self._payload_column[: self._n] = checked

    @property
    def note(self) -> NDArray[np.object_]:
        """Any Python object. Shape (n,)."""
        return self._note_column[: self._n]

    @note.setter
    def note(self, values: object) -> None:
        if not is_same_view(self.note, values):
            checked = _NOTE_FIELD.to_column(values, self._n)
            # what ends may run code
            _left = self._note_column[: self._n].copy()
            self._note_column[: self._n] = checked

    @overload
    def tagged(self, tag: Literal["hot"], /) -> EveryTypeHotColumns: ...

    @overload
    def tagged(self, tag: Literal["render"], /) -> EveryTypeRenderColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> EveryTypeColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return EveryTypeHotColumns(
                self.flag,
                self.tiny,
                self.small,
                self.medium,
                self.large,
                self.byte,
                self.word,
                self.double_word,
                self.quad_word,
                self.single,
                self.double,
                self.vector,
                self.matrix,
                self.switches,
                self.mode,
                self.modes,
                self.target,
                self.targets,
                self.magic,
                self.payload,
            )
        if tag == "render":
            return EveryTypeRenderColumns(self.medium, self.vector, self.access)
        if tag == "cold":
            return EveryTypeColdColumns(
                self.ones, self.access, self.title, self.digest, self.note
            )
        raise ValueError(f"EveryType has no tag {tag!r}; it has hot, render, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._flag_column: NDArray[np.bool_] = self._column_view(1)
        self._flag_cells: memoryview[bool] = cell_view(self._flag_column)
        self._tiny_column: NDArray[np.int8] = self._column_view(2)
        self._tiny_cells: memoryview[int] = cell_view(self._tiny_column)
        self._small_column: NDArray[np.int16] = self._column_view(3)
        self._small_cells: memoryview[int] = cell_view(self._small_column)
        self._medium_column: NDArray[np.int32] = self._column_view(4)
        self._medium_cells: memoryview[int] = cell_view(self._medium_column)
        self._large_column: NDArray[np.int64] = self._column_view(5)
        self._large_cells: memoryview[int] = cell_view(self._large_column)
        self._byte_column: NDArray[np.uint8] = self._column_view(6)
        self._byte_cells: memoryview[int] = cell_view(self._byte_column)
        self._word_column: NDArray[np.uint16] = self._column_view(7)
        self._word_cells: memoryview[int] = cell_view(self._word_column)
        self._double_word_column: NDArray[np.uint32] = self._column_view(8)
        self._double_word_cells: memoryview[int] = cell_view(self._double_word_column)
        self._quad_word_column: NDArray[np.uint64] = self._column_view(9)
        self._quad_word_cells: memoryview[int] = cell_view(self._quad_word_column)
        self._single_column: NDArray[np.float32] = self._column_view(10)
        self._single_cells: memoryview[float] = cell_view(self._single_column)
        self._double_column: NDArray[np.float64] = self._column_view(11)
        self._double_cells: memoryview[float] = cell_view(self._double_column)
        self._vector_column: NDArray[np.float32] = self._column_view(12)
        self._vector_items: NDArray[Any] = self._item_view(12)
        self._vector_cells: memoryview[float] = cell_view(self._vector_column)
        self._matrix_column: NDArray[np.float64] = self._column_view(13)
        self._matrix_items: NDArray[Any] = self._item_view(13)
        self._matrix_cells: memoryview[float] = cell_view(self._matrix_column)
        self._switches_column: NDArray[np.bool_] = self._column_view(14)
        self._switches_items: NDArray[Any] = self._item_view(14)
        self._switches_words: memoryview[int] = cell_view(self._switches_items)
        self._switches_cells: memoryview[bool] = cell_view(self._switches_column)
        self._mode_column: NDArray[np.uint16] = self._column_view(15)
        self._mode_cells: memoryview[int] = cell_view(self._mode_column)
        self._mode_view: NDArray[np.uint16] = _MODE_FIELD.comparable(self._mode_column)
        self._modes_column: NDArray[np.uint16] = self._column_view(16)
        self._modes_items: NDArray[Any] = self._item_view(16)
        self._modes_words: memoryview[int] = cell_view(self._modes_items)
        self._modes_cells: memoryview[int] = cell_view(self._modes_column)
        self._modes_view: NDArray[np.uint16] = _MODES_FIELD.comparable(
            self._modes_column
        )
        self._target_column: NDArray[np.uint64] = self._column_view(17)
        self._target_cells: memoryview[Entity] = cell_view(self._target_column)
        self._targets_column: NDArray[np.uint64] = self._column_view(18)
        self._targets_items: NDArray[Any] = self._item_view(18)
        self._targets_cells: memoryview[Entity] = cell_view(self._targets_column)
        self._magic_column: NDArray[np.bytes_] = self._column_view(19)
        self._ones_column: NDArray[np.int16] = self._column_view(20)
        self._ones_items: NDArray[Any] = self._item_view(20)
        self._ones_words: memoryview[int] = cell_view(self._ones_items)
        self._ones_cells: memoryview[int] = cell_view(self._ones_column)
        self._access_column: NDArray[np.uint8] = self._column_view(21)
        self._access_cells: memoryview[int] = cell_view(self._access_column)
        self._access_view: NDArray[np.uint8] = _ACCESS_FIELD.comparable(
            self._access_column
        )
        self._title_column: NDArray[np.bytes_] = self._column_view(22)
        self._title_view: NDArray[np.bytes_] = _TITLE_FIELD.comparable(
            self._title_column
        )
        self._digest_column: NDArray[np.bytes_] = self._column_view(23)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._flag_column[dst] = self._flag_column[src]
        self._tiny_column[dst] = self._tiny_column[src]
        self._small_column[dst] = self._small_column[src]
        self._medium_column[dst] = self._medium_column[src]
        self._large_column[dst] = self._large_column[src]
        self._byte_column[dst] = self._byte_column[src]
        self._word_column[dst] = self._word_column[src]
        self._double_word_column[dst] = self._double_word_column[src]
        self._quad_word_column[dst] = self._quad_word_column[src]
        self._single_column[dst] = self._single_column[src]
        self._double_column[dst] = self._double_column[src]
        self._vector_items[dst] = self._vector_items[src]
        self._matrix_items[dst] = self._matrix_items[src]
        self._switches_items[dst] = self._switches_items[src]
        self._mode_column[dst] = self._mode_column[src]
        self._modes_items[dst] = self._modes_items[src]
        self._target_column[dst] = self._target_column[src]
        self._targets_items[dst] = self._targets_items[src]
        self._magic_column[dst] = self._magic_column[src]
        self._ones_items[dst] = self._ones_items[src]
        self._access_column[dst] = self._access_column[src]
        self._title_column[dst] = self._title_column[src]
        self._digest_column[dst] = self._digest_column[src]
        self._payload_column[dst] = self._payload_column[src]
        self._note_column[dst] = self._note_column[src]


class EveryTypeManager(Sparse, MappedOne, Gc, Release):
    """Manager of every EveryType: lookup sparse, instances one, destroy gc, release.

    A column of every type that a field can have.
    """

    __slots__ = ("_entities", "_released", "_rng", "_sparse", "_sparse_cells")
    _HOLDS_OBJECTS: ClassVar = True
    PARTS: ClassVar = ManagerParts(
        row=EveryType,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse", "objects", "release"),
        guarded=("payload", "set_payload", "note", "set_note"),
    )
    ROWS: ClassVar = EveryTypeData
    _CAPACITY: ClassVar = 64
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = (
        "flag",
        "tiny",
        "small",
        "medium",
        "large",
        "byte",
        "word",
        "double_word",
        "quad_word",
        "single",
        "double",
        "mode",
        "access",
        "target",
        "title",
        "digest",
        "magic",
    )
    data: EveryTypeData

    def flag(self, row: int, /) -> bool:
        """Truth."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._flag_cells[row]

    def set_flag(self, row: int, value: bool, /) -> None:
        """Set `flag` of a row."""
        _value = _FLAG_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._flag_cells[row] = _value

    def tiny(self, row: int, /) -> int:
        """Smallest signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._tiny_cells[row]

    def set_tiny(self, row: int, value: int, /) -> None:
        """Set `tiny` of a row."""
        _value = _TINY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._tiny_cells[row] = _value

    def small(self, row: int, /) -> int:
        """Short signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._small_cells[row]

    def set_small(self, row: int, value: int, /) -> None:
        """Set `small` of a row."""
        _value = _SMALL_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._small_cells[row] = _value

    def medium(self, row: int, /) -> int:
        """Signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._medium_cells[row]

    def set_medium(self, row: int, value: int, /) -> None:
        """Set `medium` of a row."""
        _value = _MEDIUM_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._medium_cells[row] = _value

    def large(self, row: int, /) -> int:
        """Long signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._large_cells[row]

    def set_large(self, row: int, value: int, /) -> None:
        """Set `large` of a row."""
        _value = _LARGE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._large_cells[row] = _value

    def byte(self, row: int, /) -> int:
        """Smallest unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._byte_cells[row]

    def set_byte(self, row: int, value: int, /) -> None:
        """Set `byte` of a row."""
        _value = _BYTE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._byte_cells[row] = _value

    def word(self, row: int, /) -> int:
        """Short unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._word_cells[row]

    def set_word(self, row: int, value: int, /) -> None:
        """Set `word` of a row."""
        _value = _WORD_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._word_cells[row] = _value

    def double_word(self, row: int, /) -> int:
        """Unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._double_word_cells[row]

    def set_double_word(self, row: int, value: int, /) -> None:
        """Set `double_word` of a row."""
        _value = _DOUBLE_WORD_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._double_word_cells[row] = _value

    def quad_word(self, row: int, /) -> int:
        """Long unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._quad_word_cells[row]

    def set_quad_word(self, row: int, value: int, /) -> None:
        """Set `quad_word` of a row."""
        _value = _QUAD_WORD_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._quad_word_cells[row] = _value

    def single(self, row: int, /) -> float:
        """Single precision. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._single_cells[row]

    def set_single(self, row: int, value: float, /) -> None:
        """Set `single` of a row."""
        _value = _SINGLE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._single_cells[row] = _value

    def double(self, row: int, /) -> float:
        """Double precision. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._double_cells[row]

    def set_double(self, row: int, value: float, /) -> None:
        """Set `double` of a row."""
        _value = _DOUBLE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._double_cells[row] = _value

    def vector(self, row: int, /) -> tuple[float, float, float]:
        """Three of a kind. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _VECTOR_STRUCT.unpack_from(data._vector_cells, 12 * row)

    def set_vector(self, row: int, value: ArrayLike, /) -> None:
        """Set `vector` of a row: 3 values."""
        _value = _VECTOR_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._vector_cells[_at] = _value[0]
        data._vector_cells[_at + 1] = _value[1]
        data._vector_cells[_at + 2] = _value[2]

    def matrix(
        self, row: int, /
    ) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Two rows of three."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        cell = _MATRIX_STRUCT.unpack_from(data._matrix_cells, 48 * row)
        return nested(cell, (2, 3))

    def set_matrix(self, row: int, value: ArrayLike, /) -> None:
        """Set `matrix` of a row: 6 values."""
        _value = _MATRIX_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _MATRIX_STRUCT.pack_into(data._matrix_cells, 48 * row, *_value)

    def ones(self, row: int, /) -> tuple[tuple[int, int], tuple[int, int]]:
        """A scalar fills the whole shape."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        cell = _ONES_STRUCT.unpack_from(data._ones_cells, 8 * row)
        return nested(cell, (2, 2))

    def set_ones(self, row: int, value: ArrayLike, /) -> None:
        """Set `ones` of a row: 4 values."""
        _value = _ONES_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 4 * row
        data._ones_cells[_at] = _value[0]
        data._ones_cells[_at + 1] = _value[1]
        data._ones_cells[_at + 2] = _value[2]
        data._ones_cells[_at + 3] = _value[3]

    def switches(self, row: int, /) -> tuple[bool, bool]:
        """Several truths."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _SWITCHES_STRUCT.unpack_from(data._switches_cells, 2 * row)

    def set_switches(self, row: int, value: ArrayLike, /) -> None:
        """Set `switches` of a row: 2 values."""
        _value = _SWITCHES_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._switches_cells[_at] = _value[0]
        data._switches_cells[_at + 1] = _value[1]

    def mode(self, row: int, /) -> Mode:
        """An enum by the name of its member."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Mode(data._mode_cells[row])

    def set_mode(self, row: int, value: Mode | int | str, /) -> None:
        """Set `mode` of a row."""
        _value = _MODE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._mode_cells[row] = _value

    def modes(self, row: int, /) -> tuple[Mode, Mode]:
        """Several enums."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        cell = _MODES_STRUCT.unpack_from(data._modes_cells, 4 * row)
        return nested(map(Mode, cell), (2,))

    def set_modes(self, row: int, value: ArrayLike, /) -> None:
        """Set `modes` of a row: 2 values."""
        _value = _MODES_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._modes_cells[_at] = _value[0]
        data._modes_cells[_at + 1] = _value[1]

    def access(self, row: int, /) -> Access:
        """Flags."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Access(data._access_cells[row])

    def set_access(self, row: int, value: Access | int | str, /) -> None:
        """Set `access` of a row."""
        _value = _ACCESS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._access_cells[row] = _value

    def target(self, row: int, /) -> Entity:
        """Another entity."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._target_cells[row]

    def set_target(self, row: int, value: Entity | int, /) -> None:
        """Set `target` of a row."""
        _value = _TARGET_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._target_cells[row] = _value

    def targets(self, row: int, /) -> tuple[Entity, Entity]:
        """Two other entities."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _TARGETS_STRUCT.unpack_from(data._targets_cells, 16 * row)

    def set_targets(self, row: int, value: ArrayLike, /) -> None:
        """Set `targets` of a row: 2 values."""
        _value = _TARGETS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._targets_cells[_at] = _value[0]
        data._targets_cells[_at + 1] = _value[1]

    def title(self, row: int, /) -> str:
        """Text of at most 16 UTF-8 bytes."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return str(data._title_column[row], "utf-8")

    def set_title(self, row: int, value: str, /) -> None:
        """Set `title` of a row: at most 16 bytes of UTF-8."""
        _value = _TITLE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._title_column[row] = _value

    def digest(self, row: int, /) -> bytes:
        """Four bytes."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return bytes(data._digest_column[row]).ljust(4, b"\0")

    def set_digest(self, row: int, value: bytes, /) -> None:
        """Set `digest` of a row: at most 4 bytes, padded with zeros."""
        _value = _DIGEST_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._digest_column[row] = _value

    def magic(self, row: int, /) -> bytes:
        """ASCII text, padded with a zero byte."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return bytes(data._magic_column[row]).ljust(4, b"\0")

    def set_magic(self, row: int, value: bytes, /) -> None:
        """Set `magic` of a row: at most 4 bytes, padded with zeros."""
        _value = _MAGIC_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._magic_column[row] = _value

    def payload(self, row: int, /) -> Any:
        """Any Python object."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._payload_column[row]

    def set_payload(self, row: int, value: Any, /) -> None:
        """Set `payload` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _left_payload = data._payload_column[row]
        data._payload_column[row] = value

    def note(self, row: int, /) -> Any:
        """Any Python object."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._note_column[row]

    def set_note(self, row: int, value: Any, /) -> None:
        """Set `note` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _left_note = data._note_column[row]
        data._note_column[row] = value

    def row(self, row: int, /) -> EveryType:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return EveryType(
            data._flag_cells[row],
            data._tiny_cells[row],
            data._small_cells[row],
            data._medium_cells[row],
            data._large_cells[row],
            data._byte_cells[row],
            data._word_cells[row],
            data._double_word_cells[row],
            data._quad_word_cells[row],
            data._single_cells[row],
            data._double_cells[row],
            _VECTOR_STRUCT.unpack_from(data._vector_cells, 12 * row),
            self.matrix(row),
            self.ones(row),
            _SWITCHES_STRUCT.unpack_from(data._switches_cells, 2 * row),
            Mode(data._mode_cells[row]),
            self.modes(row),
            Access(data._access_cells[row]),
            data._target_cells[row],
            _TARGETS_STRUCT.unpack_from(data._targets_cells, 16 * row),
            str(data._title_column[row], "utf-8"),
            bytes(data._digest_column[row]).ljust(4, b"\0"),
            bytes(data._magic_column[row]).ljust(4, b"\0"),
            data._payload_column[row],
            data._note_column[row],
        )

    def __getitem__(self, entity: Entity, /) -> EveryTypeRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(EveryTypeRef, entity)

    def rows(self) -> Iterator[EveryTypeRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(EveryTypeRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        flag: bool = _FLAG_DEFAULT,
        tiny: int = _TINY_DEFAULT,
        small: int = _SMALL_DEFAULT,
        medium: int = _MEDIUM_DEFAULT,
        large: int = _LARGE_DEFAULT,
        byte: int = _BYTE_DEFAULT,
        word: int = _WORD_DEFAULT,
        double_word: int = _DOUBLE_WORD_DEFAULT,
        quad_word: int = _QUAD_WORD_DEFAULT,
        single: float = _SINGLE_DEFAULT,
        double: float = _DOUBLE_DEFAULT,
        vector: ArrayLike = _VECTOR_DEFAULT,
        matrix: ArrayLike = _MATRIX_DEFAULT,
        ones: ArrayLike = _ONES_DEFAULT,
        switches: ArrayLike = _SWITCHES_DEFAULT,
        mode: Mode | int | str = _MODE_DEFAULT,
        modes: ArrayLike = _MODES_DEFAULT,
        access: Access | int | str = _ACCESS_DEFAULT,
        target: Entity | int = _TARGET_DEFAULT,
        targets: ArrayLike = _TARGETS_DEFAULT,
        title: str = _TITLE_DEFAULT,
        digest: bytes = _DIGEST_DEFAULT,
        magic: bytes = _MAGIC_DEFAULT,
        payload: Any = None,
        note: Any = None,
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
            _flag_ = _FLAG_DEFAULT
            if flag is not _FLAG_DEFAULT:
                _flag_ = _FLAG_FIELD.to_cell(flag)
            _tiny_ = _TINY_DEFAULT
            if tiny is not _TINY_DEFAULT:
                _tiny_ = _TINY_FIELD.to_cell(tiny)
            _small_ = _SMALL_DEFAULT
            if small is not _SMALL_DEFAULT:
                _small_ = _SMALL_FIELD.to_cell(small)
            _medium_ = _MEDIUM_DEFAULT
            if medium is not _MEDIUM_DEFAULT:
                _medium_ = _MEDIUM_FIELD.to_cell(medium)
            _large_ = _LARGE_DEFAULT
            if large is not _LARGE_DEFAULT:
                _large_ = _LARGE_FIELD.to_cell(large)
            _byte_ = _BYTE_DEFAULT
            if byte is not _BYTE_DEFAULT:
                _byte_ = _BYTE_FIELD.to_cell(byte)
            _word_ = _WORD_DEFAULT
            if word is not _WORD_DEFAULT:
                _word_ = _WORD_FIELD.to_cell(word)
            _double_word_ = _DOUBLE_WORD_DEFAULT
            if double_word is not _DOUBLE_WORD_DEFAULT:
                _double_word_ = _DOUBLE_WORD_FIELD.to_cell(double_word)
            _quad_word_ = _QUAD_WORD_DEFAULT
            if quad_word is not _QUAD_WORD_DEFAULT:
                _quad_word_ = _QUAD_WORD_FIELD.to_cell(quad_word)
            _single_ = _SINGLE_DEFAULT
            if single is not _SINGLE_DEFAULT:
                _single_ = _SINGLE_FIELD.to_cell(single)
            _double_ = _DOUBLE_DEFAULT
            if double is not _DOUBLE_DEFAULT:
                _double_ = _DOUBLE_FIELD.to_cell(double)
            _vector_ = _VECTOR_DEFAULT
            if vector is not _VECTOR_DEFAULT:
                _vector_ = _VECTOR_FIELD.to_cell(vector)
            _matrix_ = _MATRIX_CELL
            if matrix is not _MATRIX_DEFAULT:
                _matrix_ = _MATRIX_FIELD.to_cell(matrix)
            _ones_ = _ONES_CELL
            if ones is not _ONES_DEFAULT:
                _ones_ = _ONES_FIELD.to_cell(ones)
            _switches_ = _SWITCHES_DEFAULT
            if switches is not _SWITCHES_DEFAULT:
                _switches_ = _SWITCHES_FIELD.to_cell(switches)
            _mode_ = _MODE_CELL
            if mode is not _MODE_DEFAULT:
                _mode_ = _MODE_FIELD.to_cell(mode)
            _modes_ = _MODES_CELL
            if modes is not _MODES_DEFAULT:
                _modes_ = _MODES_FIELD.to_cell(modes)
            _access_ = _ACCESS_CELL
            if access is not _ACCESS_DEFAULT:
                _access_ = _ACCESS_FIELD.to_cell(access)
            _target_ = _TARGET_DEFAULT
            if target is not _TARGET_DEFAULT:
                _target_ = _TARGET_FIELD.to_cell(target)
            _targets_ = _TARGETS_DEFAULT
            if targets is not _TARGETS_DEFAULT:
                _targets_ = _TARGETS_FIELD.to_cell(targets)
            _title_ = _TITLE_CELL
            if title is not _TITLE_DEFAULT:
                _title_ = _TITLE_FIELD.to_cell(title)
            _digest_ = _DIGEST_DEFAULT
            if digest is not _DIGEST_DEFAULT:
                _digest_ = _DIGEST_FIELD.to_cell(digest)
            _magic_ = _MAGIC_DEFAULT
            if magic is not _MAGIC_DEFAULT:
                _magic_ = _MAGIC_FIELD.to_cell(magic)
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
            data._grow(data._n + 1, (vector, matrix, ones, switches, modes, targets))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                flag=flag,
                tiny=tiny,
                small=small,
                medium=medium,
                large=large,
                byte=byte,
                word=word,
                double_word=double_word,
                quad_word=quad_word,
                single=single,
                double=double,
                vector=vector,
                matrix=matrix,
                ones=ones,
                switches=switches,
                mode=mode,
                modes=modes,
                access=access,
                target=target,
                targets=targets,
                title=title,
                digest=digest,
                magic=magic,
                payload=payload,
                note=note,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._flag_cells[row] = _flag_
            data._tiny_cells[row] = _tiny_
            data._small_cells[row] = _small_
            data._medium_cells[row] = _medium_
            data._large_cells[row] = _large_
            data._byte_cells[row] = _byte_
            data._word_cells[row] = _word_
            data._double_word_cells[row] = _double_word_
            data._quad_word_cells[row] = _quad_word_
            data._single_cells[row] = _single_
            data._double_cells[row] = _double_
            _at = 3 * row
            data._vector_cells[_at] = _vector_[0]
            data._vector_cells[_at + 1] = _vector_[1]
            data._vector_cells[_at + 2] = _vector_[2]
            _MATRIX_STRUCT.pack_into(data._matrix_cells, 48 * row, *_matrix_)
            if _ones_ is _ONES_CELL:
                data._ones_words[row] = _ONES_WORD
            else:
                _at = 4 * row
                data._ones_cells[_at] = _ones_[0]
                data._ones_cells[_at + 1] = _ones_[1]
                data._ones_cells[_at + 2] = _ones_[2]
                data._ones_cells[_at + 3] = _ones_[3]
            if _switches_ is _SWITCHES_DEFAULT:
                data._switches_words[row] = _SWITCHES_WORD
            else:
                _at = 2 * row
                data._switches_cells[_at] = _switches_[0]
                data._switches_cells[_at + 1] = _switches_[1]
            data._mode_cells[row] = _mode_
            if _modes_ is _MODES_CELL:
                data._modes_words[row] = _MODES_WORD
            else:
                _at = 2 * row
                data._modes_cells[_at] = _modes_[0]
                data._modes_cells[_at + 1] = _modes_[1]
            data._access_cells[row] = _access_
            data._target_cells[row] = _target_
            _at = 2 * row
            data._targets_cells[_at] = _targets_[0]
            data._targets_cells[_at + 1] = _targets_[1]
            data._title_column[row] = _title_
            data._digest_column[row] = _digest_
            data._magic_column[row] = _magic_
            data._payload_column[row] = payload
            data._note_column[row] = note
            data._n = row + 1
            self._sparse_cells[_slot] = row
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
        **columns: Unpack[EveryTypeFields],
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
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            data._flag_column[span] = columns["flag"]
            data._tiny_column[span] = columns["tiny"]
            data._small_column[span] = columns["small"]
            data._medium_column[span] = columns["medium"]
            data._large_column[span] = columns["large"]
            data._byte_column[span] = columns["byte"]
            data._word_column[span] = columns["word"]
            data._double_word_column[span] = columns["double_word"]
            data._quad_word_column[span] = columns["quad_word"]
            data._single_column[span] = columns["single"]
            data._double_column[span] = columns["double"]
            put_cells(data._vector_column, span, columns["vector"])
            put_cells(data._matrix_column, span, columns["matrix"])
            put_cells(data._ones_column, span, columns["ones"])
            put_cells(data._switches_column, span, columns["switches"])
            data._mode_column[span] = columns["mode"]
            put_cells(data._modes_column, span, columns["modes"])
            data._access_column[span] = columns["access"]
            data._target_column[span] = columns["target"]
            put_cells(data._targets_column, span, columns["targets"])
            data._title_column[span] = columns["title"]
            data._digest_column[span] = columns["digest"]
            data._magic_column[span] = columns["magic"]
            data._payload_column[span] = columns["payload"]
            data._note_column[span] = columns["note"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance, notified: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if not notified and self._released.entries:
            return self._destroy_notified(row)
        _left = data._payload_column[row], data._note_column[row]
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._flag_cells[dst] = data._flag_cells[src]
                data._tiny_cells[dst] = data._tiny_cells[src]
                data._small_cells[dst] = data._small_cells[src]
                data._medium_cells[dst] = data._medium_cells[src]
                data._large_cells[dst] = data._large_cells[src]
                data._byte_cells[dst] = data._byte_cells[src]
                data._word_cells[dst] = data._word_cells[src]
                data._double_word_cells[dst] = data._double_word_cells[src]
                data._quad_word_cells[dst] = data._quad_word_cells[src]
                data._single_cells[dst] = data._single_cells[src]
                data._double_cells[dst] = data._double_cells[src]
                data._vector_items[dst] = data._vector_items[src]
                data._matrix_items[dst] = data._matrix_items[src]
                data._switches_words[dst] = data._switches_words[src]
                data._mode_cells[dst] = data._mode_cells[src]
                data._modes_words[dst] = data._modes_words[src]
                data._target_cells[dst] = data._target_cells[src]
                data._targets_items[dst] = data._targets_items[src]
                data._magic_column[dst] = data._magic_column[src]
                data._ones_words[dst] = data._ones_words[src]
                data._access_cells[dst] = data._access_cells[src]
                data._title_column[dst] = data._title_column[src]
                data._digest_column[dst] = data._digest_column[src]
                data._payload_column[dst] = data._payload_column[src]
                data._note_column[dst] = data._note_column[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._payload_column[data._n] = None
            data._note_column[data._n] = None
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class EveryTypeRef(EntityProxy):
    """A row of a EveryTypeManager, which follows its entity."""

    __slots__ = ()

    flag = RowField.cell(EveryTypeManager.flag, EveryTypeManager.set_flag, _FLAG_FIELD)
    tiny = RowField.cell(EveryTypeManager.tiny, EveryTypeManager.set_tiny, _TINY_FIELD)
    small = RowField.cell(
        EveryTypeManager.small, EveryTypeManager.set_small, _SMALL_FIELD
    )
    medium = RowField.cell(
        EveryTypeManager.medium, EveryTypeManager.set_medium, _MEDIUM_FIELD
    )
    large = RowField.cell(
        EveryTypeManager.large, EveryTypeManager.set_large, _LARGE_FIELD
    )
    byte = RowField.cell(EveryTypeManager.byte, EveryTypeManager.set_byte, _BYTE_FIELD)
    word = RowField.cell(EveryTypeManager.word, EveryTypeManager.set_word, _WORD_FIELD)
    double_word = RowField.cell(
        EveryTypeManager.double_word,
        EveryTypeManager.set_double_word,
        _DOUBLE_WORD_FIELD,
    )
    quad_word = RowField.cell(
        EveryTypeManager.quad_word, EveryTypeManager.set_quad_word, _QUAD_WORD_FIELD
    )
    single = RowField.cell(
        EveryTypeManager.single, EveryTypeManager.set_single, _SINGLE_FIELD
    )
    double = RowField.cell(
        EveryTypeManager.double, EveryTypeManager.set_double, _DOUBLE_FIELD
    )
    vector = ArrayField.of(np.float32, EveryTypeManager.set_vector)
    matrix = ArrayField.of(np.float64, EveryTypeManager.set_matrix)
    ones = ArrayField.of(np.int16, EveryTypeManager.set_ones)
    switches = RowField.of(EveryTypeManager.switches, EveryTypeManager.set_switches)
    mode = RowField.of(EveryTypeManager.mode, EveryTypeManager.set_mode)
    modes = RowField.of(EveryTypeManager.modes, EveryTypeManager.set_modes)
    access = RowField.of(EveryTypeManager.access, EveryTypeManager.set_access)
    target = RowField.cell(
        EveryTypeManager.target, EveryTypeManager.set_target, _TARGET_FIELD
    )
    targets = RowField.of(EveryTypeManager.targets, EveryTypeManager.set_targets)
    title = RowField.of(EveryTypeManager.title, EveryTypeManager.set_title)
    digest = RowField.of(EveryTypeManager.digest, EveryTypeManager.set_digest)
    magic = RowField.of(EveryTypeManager.magic, EveryTypeManager.set_magic)
    payload = RowField.of(EveryTypeManager.payload, EveryTypeManager.set_payload)
    note = RowField.of(EveryTypeManager.note, EveryTypeManager.set_note)
