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

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from random import Random
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.callbacks import Callbacks, Subscription
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
    nested,
    put_cells,
    saved_rows,
    warn_if_viewed,
    whole_rows,
    word,
)
from ._runtime.convert.enums import EnumField
from ._runtime.convert.numbers import BoolField, FloatField, HandleField, IntField
from ._runtime.convert.objects import ObjectField
from ._runtime.convert.text import BytesField, TextField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.rows import (
    distinct,
    duplicate_instance,
    fill,
    first_missing,
    first_present,
    first_repeated,
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
from .enums import Access, Mode

MANAGER: Final = "EveryTypeManager"
ROW_BYTES: Final = 176
COLUMNS: Final = (
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
_FLAG: Final = BoolField("EveryType.flag")
_TINY: Final = IntField("EveryType.tiny", "i8")
_SMALL: Final = IntField("EveryType.small", "i16")
_MEDIUM: Final = IntField("EveryType.medium", "i32")
_LARGE: Final = IntField("EveryType.large", "i64")
_BYTE: Final = IntField("EveryType.byte", "u8")
_WORD: Final = IntField("EveryType.word", "u16")
_DOUBLE_WORD: Final = IntField("EveryType.double_word", "u32")
_QUAD_WORD: Final = IntField("EveryType.quad_word", "u64")
_SINGLE: Final = FloatField("EveryType.single", "f32")
_DOUBLE: Final = FloatField("EveryType.double", "f64")
_VECTOR: Final = FloatField("EveryType.vector", "f32", (3,))
_MATRIX: Final = FloatField("EveryType.matrix", "f64", (2, 3))
_ONES: Final = IntField("EveryType.ones", "i16", (2, 2))
_SWITCHES: Final = BoolField("EveryType.switches", (2,))
_MODE: Final = EnumField("EveryType.mode", Mode, "u16")
_MODES: Final = EnumField("EveryType.modes", Mode, "u16", (2,))
_ACCESS: Final = EnumField("EveryType.access", Access, "u8")
_TARGET: Final = HandleField("EveryType.target")
_TARGETS: Final = HandleField("EveryType.targets", (2,))
_TITLE: Final = TextField("EveryType.title", 16)
_DIGEST: Final = BytesField("EveryType.digest", 4)
_MAGIC: Final = BytesField("EveryType.magic", 4)
_PAYLOAD: Final = ObjectField("EveryType.payload")
_NOTE: Final = ObjectField("EveryType.note")
VECTOR_STRUCT: Final = Struct("=3f")
MATRIX_STRUCT: Final = Struct("=6d")
SWITCHES_STRUCT: Final = Struct("=2?")
MODES_STRUCT: Final = Struct("=2H")
TARGETS_STRUCT: Final = Struct("=2Q")
ONES_STRUCT: Final = Struct("=4h")
FLAG_DEFAULT: Final = True
TINY_DEFAULT: Final = -128
SMALL_DEFAULT: Final = -300
MEDIUM_DEFAULT: Final = 7
LARGE_DEFAULT: Final = -9223372036854775808
BYTE_DEFAULT: Final = 255
WORD_DEFAULT: Final = 511
DOUBLE_WORD_DEFAULT: Final = 4294967295
QUAD_WORD_DEFAULT: Final = 18446744073709551615
SINGLE_DEFAULT: Final = 0.1
DOUBLE_DEFAULT: Final = float("-inf")
VECTOR_DEFAULT: Final = (1.0, 2.5, -3.0)
MATRIX_DEFAULT: Final = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
MATRIX_CELL: Final = _MATRIX.one(MATRIX_DEFAULT)
ONES_DEFAULT: Final = ((1, 1), (1, 1))
ONES_CELL: Final = _ONES.one(ONES_DEFAULT)
ONES_WORD: Final = word(_ONES, ONES_CELL)
SWITCHES_DEFAULT: Final = (True, False)
SWITCHES_WORD: Final = word(_SWITCHES, SWITCHES_DEFAULT)
MODE_DEFAULT: Final = Mode(5)
MODE_CELL: Final = _MODE.one(MODE_DEFAULT)
MODES_DEFAULT: Final = (Mode(300), Mode(0))
MODES_CELL: Final = _MODES.one(MODES_DEFAULT)
MODES_WORD: Final = word(_MODES, MODES_CELL)
ACCESS_DEFAULT: Final = Access(3)
ACCESS_CELL: Final = _ACCESS.one(ACCESS_DEFAULT)
TARGET_DEFAULT: Final = NULL_ENTITY
TARGETS_DEFAULT: Final = (NULL_ENTITY, NULL_ENTITY)
TITLE_DEFAULT: Final = "Gr\xfc\xdfe"
TITLE_CELL: Final = _TITLE.one(TITLE_DEFAULT)
DIGEST_DEFAULT: Final = b"\xde\xad"
MAGIC_DEFAULT: Final = b"ECS"
SORT_KEYS: Final = (
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


class EveryType(NamedTuple):
    """One row of a EveryTypeManager, copied out."""

    flag: bool
    """Truth."""

    tiny: int
    """Smallest signed integer."""

    small: int
    """Short signed integer."""

    medium: int
    """Signed integer."""

    large: int
    """Long signed integer."""

    byte: int
    """Smallest unsigned integer."""

    word: int
    """Short unsigned integer."""

    double_word: int
    """Unsigned integer."""

    quad_word: int
    """Long unsigned integer."""

    single: float
    """Single precision. [m]"""

    double: float
    """Double precision. [s]"""

    vector: tuple[float, float, float]
    """Three of a kind. [m]"""

    matrix: tuple[tuple[float, float, float], tuple[float, float, float]]
    """Two rows of three."""

    ones: tuple[tuple[int, int], tuple[int, int]]
    """A scalar fills the whole shape."""

    switches: tuple[bool, bool]
    """Several truths."""

    mode: Mode
    """An enum by the name of its member."""

    modes: tuple[Mode, Mode]
    """Several enums."""

    access: Access
    """Flags."""

    target: Entity
    """Another entity."""

    targets: tuple[Entity, Entity]
    """Two other entities."""

    title: str
    """Text of at most 16 UTF-8 bytes."""

    digest: bytes
    """Four bytes."""

    magic: bytes
    """ASCII text, padded with a zero byte."""

    payload: Any
    """Any Python object."""

    note: Any
    """Any Python object."""


class EveryTypeFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

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


class EveryTypeData:
    """The columns of a EveryTypeManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_access_cells",
        "_access_column",
        "_allocated",
        "_buffer",
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
        "_modes_cells",
        "_modes_column",
        "_modes_items",
        "_modes_words",
        "_n",
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
        "_vector_cells",
        "_vector_column",
        "_vector_items",
        "_word_cells",
        "_word_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _flag_column: NDArray[np.bool_]
    _flag_cells: memoryview[bool]
    _tiny_column: NDArray[np.int8]
    _tiny_cells: memoryview[int]
    _small_column: NDArray[np.int16]
    _small_cells: memoryview[int]
    _medium_column: NDArray[np.int32]
    _medium_cells: memoryview[int]
    _large_column: NDArray[np.int64]
    _large_cells: memoryview[int]
    _byte_column: NDArray[np.uint8]
    _byte_cells: memoryview[int]
    _word_column: NDArray[np.uint16]
    _word_cells: memoryview[int]
    _double_word_column: NDArray[np.uint32]
    _double_word_cells: memoryview[int]
    _quad_word_column: NDArray[np.uint64]
    _quad_word_cells: memoryview[int]
    _single_column: NDArray[np.float32]
    _single_cells: memoryview[float]
    _double_column: NDArray[np.float64]
    _double_cells: memoryview[float]
    _vector_column: NDArray[np.float32]
    _vector_items: NDArray[Any]
    _vector_cells: memoryview[float]
    _matrix_column: NDArray[np.float64]
    _matrix_items: NDArray[Any]
    _matrix_cells: memoryview[float]
    _switches_column: NDArray[np.bool_]
    _switches_items: NDArray[Any]
    _switches_words: memoryview[int]
    _switches_cells: memoryview[bool]
    _mode_column: NDArray[np.uint16]
    _mode_cells: memoryview[int]
    _modes_column: NDArray[np.uint16]
    _modes_items: NDArray[Any]
    _modes_words: memoryview[int]
    _modes_cells: memoryview[int]
    _target_column: NDArray[np.uint64]
    _target_cells: memoryview[Entity]
    _targets_column: NDArray[np.uint64]
    _targets_items: NDArray[Any]
    _targets_cells: memoryview[Entity]
    _magic_column: NDArray[np.bytes_]
    _ones_column: NDArray[np.int16]
    _ones_items: NDArray[Any]
    _ones_words: memoryview[int]
    _ones_cells: memoryview[int]
    _access_column: NDArray[np.uint8]
    _access_cells: memoryview[int]
    _title_column: NDArray[np.bytes_]
    _digest_column: NDArray[np.bytes_]
    _payload_column: NDArray[np.object_]
    _note_column: NDArray[np.object_]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._place(allocate(ROW_BYTES, capacity), capacity)
        self._payload_column = np.full(capacity, None, np.object_)
        self._note_column = np.full(capacity, None, np.object_)

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
        """The one buffer that all columns but the objects are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def flag(self) -> NDArray[np.bool_]:
        """Truth. Shape (n,)."""
        return self._flag_column[: self._n]

    @flag.setter
    def flag(self, values: ArrayLike) -> None:
        if not is_same_view(self.flag, values):
            self._flag_column[: self._n] = _FLAG.many(values, self._n)

    @property
    def tiny(self) -> NDArray[np.int8]:
        """Smallest signed integer. Shape (n,)."""
        return self._tiny_column[: self._n]

    @tiny.setter
    def tiny(self, values: ArrayLike) -> None:
        if not is_same_view(self.tiny, values):
            self._tiny_column[: self._n] = _TINY.many(values, self._n)

    @property
    def small(self) -> NDArray[np.int16]:
        """Short signed integer. Shape (n,)."""
        return self._small_column[: self._n]

    @small.setter
    def small(self, values: ArrayLike) -> None:
        if not is_same_view(self.small, values):
            self._small_column[: self._n] = _SMALL.many(values, self._n)

    @property
    def medium(self) -> NDArray[np.int32]:
        """Signed integer. Shape (n,)."""
        return self._medium_column[: self._n]

    @medium.setter
    def medium(self, values: ArrayLike) -> None:
        if not is_same_view(self.medium, values):
            self._medium_column[: self._n] = _MEDIUM.many(values, self._n)

    @property
    def large(self) -> NDArray[np.int64]:
        """Long signed integer. Shape (n,)."""
        return self._large_column[: self._n]

    @large.setter
    def large(self, values: ArrayLike) -> None:
        if not is_same_view(self.large, values):
            self._large_column[: self._n] = _LARGE.many(values, self._n)

    @property
    def byte(self) -> NDArray[np.uint8]:
        """Smallest unsigned integer. Shape (n,)."""
        return self._byte_column[: self._n]

    @byte.setter
    def byte(self, values: ArrayLike) -> None:
        if not is_same_view(self.byte, values):
            self._byte_column[: self._n] = _BYTE.many(values, self._n)

    @property
    def word(self) -> NDArray[np.uint16]:
        """Short unsigned integer. Shape (n,)."""
        return self._word_column[: self._n]

    @word.setter
    def word(self, values: ArrayLike) -> None:
        if not is_same_view(self.word, values):
            self._word_column[: self._n] = _WORD.many(values, self._n)

    @property
    def double_word(self) -> NDArray[np.uint32]:
        """Unsigned integer. Shape (n,)."""
        return self._double_word_column[: self._n]

    @double_word.setter
    def double_word(self, values: ArrayLike) -> None:
        if not is_same_view(self.double_word, values):
            self._double_word_column[: self._n] = _DOUBLE_WORD.many(values, self._n)

    @property
    def quad_word(self) -> NDArray[np.uint64]:
        """Long unsigned integer. Shape (n,)."""
        return self._quad_word_column[: self._n]

    @quad_word.setter
    def quad_word(self, values: ArrayLike) -> None:
        if not is_same_view(self.quad_word, values):
            self._quad_word_column[: self._n] = _QUAD_WORD.many(values, self._n)

    @property
    def single(self) -> NDArray[np.float32]:
        """Single precision. [m] Shape (n,)."""
        return self._single_column[: self._n]

    @single.setter
    def single(self, values: ArrayLike) -> None:
        if not is_same_view(self.single, values):
            self._single_column[: self._n] = _SINGLE.many(values, self._n)

    @property
    def double(self) -> NDArray[np.float64]:
        """Double precision. [s] Shape (n,)."""
        return self._double_column[: self._n]

    @double.setter
    def double(self, values: ArrayLike) -> None:
        if not is_same_view(self.double, values):
            self._double_column[: self._n] = _DOUBLE.many(values, self._n)

    @property
    def vector(self) -> NDArray[np.float32]:
        """Three of a kind. [m] Shape (n, 3)."""
        return self._vector_column[: self._n]

    @vector.setter
    def vector(self, values: ArrayLike) -> None:
        if not is_same_view(self.vector, values):
            self._vector_column[: self._n] = _VECTOR.many(values, self._n)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Two rows of three. Shape (n, 2, 3)."""
        return self._matrix_column[: self._n]

    @matrix.setter
    def matrix(self, values: ArrayLike) -> None:
        if not is_same_view(self.matrix, values):
            self._matrix_column[: self._n] = _MATRIX.many(values, self._n)

    @property
    def switches(self) -> NDArray[np.bool_]:
        """Several truths. Shape (n, 2)."""
        return self._switches_column[: self._n]

    @switches.setter
    def switches(self, values: ArrayLike) -> None:
        if not is_same_view(self.switches, values):
            self._switches_column[: self._n] = _SWITCHES.many(values, self._n)

    @property
    def mode(self) -> NDArray[np.uint16]:
        """An enum by the name of its member. Shape (n,)."""
        return self._mode_column[: self._n]

    @mode.setter
    def mode(self, values: ArrayLike) -> None:
        if not is_same_view(self.mode, values):
            self._mode_column[: self._n] = _MODE.many(values, self._n)

    @property
    def modes(self) -> NDArray[np.uint16]:
        """Several enums. Shape (n, 2)."""
        return self._modes_column[: self._n]

    @modes.setter
    def modes(self, values: ArrayLike) -> None:
        if not is_same_view(self.modes, values):
            self._modes_column[: self._n] = _MODES.many(values, self._n)

    @property
    def target(self) -> NDArray[np.uint64]:
        """Another entity. Shape (n,)."""
        return self._target_column[: self._n]

    @target.setter
    def target(self, values: ArrayLike) -> None:
        if not is_same_view(self.target, values):
            self._target_column[: self._n] = _TARGET.many(values, self._n)

    @property
    def targets(self) -> NDArray[np.uint64]:
        """Two other entities. Shape (n, 2)."""
        return self._targets_column[: self._n]

    @targets.setter
    def targets(self, values: ArrayLike) -> None:
        if not is_same_view(self.targets, values):
            self._targets_column[: self._n] = _TARGETS.many(values, self._n)

    @property
    def magic(self) -> NDArray[np.bytes_]:
        """ASCII text, padded with a zero byte. Shape (n,)."""
        return self._magic_column[: self._n]

    @magic.setter
    def magic(self, values: ArrayLike) -> None:
        if not is_same_view(self.magic, values):
            self._magic_column[: self._n] = _MAGIC.many(values, self._n)

    @property
    def ones(self) -> NDArray[np.int16]:
        """A scalar fills the whole shape. Shape (n, 2, 2)."""
        return self._ones_column[: self._n]

    @ones.setter
    def ones(self, values: ArrayLike) -> None:
        if not is_same_view(self.ones, values):
            self._ones_column[: self._n] = _ONES.many(values, self._n)

    @property
    def access(self) -> NDArray[np.uint8]:
        """Flags. Shape (n,)."""
        return self._access_column[: self._n]

    @access.setter
    def access(self, values: ArrayLike) -> None:
        if not is_same_view(self.access, values):
            self._access_column[: self._n] = _ACCESS.many(values, self._n)

    @property
    def title(self) -> NDArray[np.bytes_]:
        """Text of at most 16 UTF-8 bytes. Shape (n,)."""
        return self._title_column[: self._n]

    @title.setter
    def title(self, values: ArrayLike) -> None:
        if not is_same_view(self.title, values):
            self._title_column[: self._n] = _TITLE.many(values, self._n)

    @property
    def digest(self) -> NDArray[np.bytes_]:
        """Four bytes. Shape (n,)."""
        return self._digest_column[: self._n]

    @digest.setter
    def digest(self, values: ArrayLike) -> None:
        if not is_same_view(self.digest, values):
            self._digest_column[: self._n] = _DIGEST.many(values, self._n)

    @property
    def payload(self) -> NDArray[np.object_]:
        """Any Python object. Shape (n,)."""
        return self._payload_column[: self._n]

    @payload.setter
    def payload(self, values: object) -> None:
        if not is_same_view(self.payload, values):
            self._payload_column[: self._n] = _PAYLOAD.many(values, self._n)

    @property
    def note(self) -> NDArray[np.object_]:
        """Any Python object. Shape (n,)."""
        return self._note_column[: self._n]

    @note.setter
    def note(self, values: object) -> None:
        if not is_same_view(self.note, values):
            self._note_column[: self._n] = _NOTE.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> EveryTypeHotColumns: ...

    @overload
    def tagged(self, tag: Literal["render"], /) -> EveryTypeRenderColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> EveryTypeColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
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

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._flag_column = cut(buffer, COLUMNS[1], capacity)
        self._flag_cells = cells(self._flag_column)
        self._tiny_column = cut(buffer, COLUMNS[2], capacity)
        self._tiny_cells = cells(self._tiny_column)
        self._small_column = cut(buffer, COLUMNS[3], capacity)
        self._small_cells = cells(self._small_column)
        self._medium_column = cut(buffer, COLUMNS[4], capacity)
        self._medium_cells = cells(self._medium_column)
        self._large_column = cut(buffer, COLUMNS[5], capacity)
        self._large_cells = cells(self._large_column)
        self._byte_column = cut(buffer, COLUMNS[6], capacity)
        self._byte_cells = cells(self._byte_column)
        self._word_column = cut(buffer, COLUMNS[7], capacity)
        self._word_cells = cells(self._word_column)
        self._double_word_column = cut(buffer, COLUMNS[8], capacity)
        self._double_word_cells = cells(self._double_word_column)
        self._quad_word_column = cut(buffer, COLUMNS[9], capacity)
        self._quad_word_cells = cells(self._quad_word_column)
        self._single_column = cut(buffer, COLUMNS[10], capacity)
        self._single_cells = cells(self._single_column)
        self._double_column = cut(buffer, COLUMNS[11], capacity)
        self._double_cells = cells(self._double_column)
        self._vector_column = cut(buffer, COLUMNS[12], capacity)
        self._vector_items = items(self._vector_column)
        self._vector_cells = flat_cells(self._vector_column)
        self._matrix_column = cut(buffer, COLUMNS[13], capacity)
        self._matrix_items = items(self._matrix_column)
        self._matrix_cells = flat_cells(self._matrix_column)
        self._switches_column = cut(buffer, COLUMNS[14], capacity)
        self._switches_items = items(self._switches_column)
        self._switches_words = cells(self._switches_items)
        self._switches_cells = flat_cells(self._switches_column)
        self._mode_column = cut(buffer, COLUMNS[15], capacity)
        self._mode_cells = cells(self._mode_column)
        self._modes_column = cut(buffer, COLUMNS[16], capacity)
        self._modes_items = items(self._modes_column)
        self._modes_words = cells(self._modes_items)
        self._modes_cells = flat_cells(self._modes_column)
        self._target_column = cut(buffer, COLUMNS[17], capacity)
        self._target_cells = cells(self._target_column)
        self._targets_column = cut(buffer, COLUMNS[18], capacity)
        self._targets_items = items(self._targets_column)
        self._targets_cells = flat_cells(self._targets_column)
        self._magic_column = cut(buffer, COLUMNS[19], capacity)
        self._ones_column = cut(buffer, COLUMNS[20], capacity)
        self._ones_items = items(self._ones_column)
        self._ones_words = cells(self._ones_items)
        self._ones_cells = flat_cells(self._ones_column)
        self._access_column = cut(buffer, COLUMNS[21], capacity)
        self._access_cells = cells(self._access_column)
        self._title_column = cut(buffer, COLUMNS[22], capacity)
        self._digest_column = cut(buffer, COLUMNS[23], capacity)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._n
        old_payload = self._payload_column
        self._payload_column = np.full(capacity, None, np.object_)
        self._payload_column[: self._n] = old_payload[: self._n]
        old_note = self._note_column
        self._note_column = np.full(capacity, None, np.object_)
        self._note_column[: self._n] = old_note[: self._n]
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            self._payload_column = old_payload
            self._note_column = old_note
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        rows = saved_rows(COLUMNS, self._buffer, self._allocated, self._n)
        rows["payload"] = self.payload
        rows["note"] = self.note
        return rows

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        self.payload[:] = rows["payload"]
        self.note[:] = rows["note"]
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

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


class EveryTypeManager:
    """Owns every EveryType: lookup sparse, instances one, destroy gc, release.

    A column of every type that a field can have.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_locks",
        "_released",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: EveryTypeData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random
    _released: Callbacks[RowArray]

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = EveryTypeData(capacity=64)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)
        self._released = Callbacks()

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
        self.data = data = EveryTypeData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._rng = Random()
        self._rng.setstate(state["rng"])
        self._released = Callbacks()

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
        total += self.data._payload_column.nbytes
        total += self.data._note_column.nbytes
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

    def flag(self, row: Instance, /) -> bool:
        """Truth."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._flag_cells[row]

    def set_flag(self, row: Instance, value: bool, /) -> None:
        """Set `flag` of a row."""
        _value = _FLAG.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._flag_cells[row] = _value

    def tiny(self, row: Instance, /) -> int:
        """Smallest signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._tiny_cells[row]

    def set_tiny(self, row: Instance, value: int, /) -> None:
        """Set `tiny` of a row."""
        _value = _TINY.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._tiny_cells[row] = _value

    def small(self, row: Instance, /) -> int:
        """Short signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._small_cells[row]

    def set_small(self, row: Instance, value: int, /) -> None:
        """Set `small` of a row."""
        _value = _SMALL.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._small_cells[row] = _value

    def medium(self, row: Instance, /) -> int:
        """Signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._medium_cells[row]

    def set_medium(self, row: Instance, value: int, /) -> None:
        """Set `medium` of a row."""
        _value = _MEDIUM.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._medium_cells[row] = _value

    def large(self, row: Instance, /) -> int:
        """Long signed integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._large_cells[row]

    def set_large(self, row: Instance, value: int, /) -> None:
        """Set `large` of a row."""
        _value = _LARGE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._large_cells[row] = _value

    def byte(self, row: Instance, /) -> int:
        """Smallest unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._byte_cells[row]

    def set_byte(self, row: Instance, value: int, /) -> None:
        """Set `byte` of a row."""
        _value = _BYTE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._byte_cells[row] = _value

    def word(self, row: Instance, /) -> int:
        """Short unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._word_cells[row]

    def set_word(self, row: Instance, value: int, /) -> None:
        """Set `word` of a row."""
        _value = _WORD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._word_cells[row] = _value

    def double_word(self, row: Instance, /) -> int:
        """Unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._double_word_cells[row]

    def set_double_word(self, row: Instance, value: int, /) -> None:
        """Set `double_word` of a row."""
        _value = _DOUBLE_WORD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._double_word_cells[row] = _value

    def quad_word(self, row: Instance, /) -> int:
        """Long unsigned integer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._quad_word_cells[row]

    def set_quad_word(self, row: Instance, value: int, /) -> None:
        """Set `quad_word` of a row."""
        _value = _QUAD_WORD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._quad_word_cells[row] = _value

    def single(self, row: Instance, /) -> float:
        """Single precision. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._single_cells[row]

    def set_single(self, row: Instance, value: float, /) -> None:
        """Set `single` of a row."""
        _value = _SINGLE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._single_cells[row] = _value

    def double(self, row: Instance, /) -> float:
        """Double precision. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._double_cells[row]

    def set_double(self, row: Instance, value: float, /) -> None:
        """Set `double` of a row."""
        _value = _DOUBLE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._double_cells[row] = _value

    def vector(self, row: Instance, /) -> tuple[float, float, float]:
        """Three of a kind. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return VECTOR_STRUCT.unpack_from(data._vector_cells, 12 * row)

    def set_vector(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `vector` of a row: 3 values."""
        _value = _VECTOR.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._vector_cells[_at] = _value[0]
        data._vector_cells[_at + 1] = _value[1]
        data._vector_cells[_at + 2] = _value[2]

    def matrix(
        self, row: Instance, /
    ) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Two rows of three."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        cell = MATRIX_STRUCT.unpack_from(data._matrix_cells, 48 * row)
        return nested(cell, (2, 3))

    def set_matrix(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `matrix` of a row: 6 values."""
        _value = _MATRIX.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        MATRIX_STRUCT.pack_into(data._matrix_cells, 48 * row, *_value)

    def ones(self, row: Instance, /) -> tuple[tuple[int, int], tuple[int, int]]:
        """A scalar fills the whole shape."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        cell = ONES_STRUCT.unpack_from(data._ones_cells, 8 * row)
        return nested(cell, (2, 2))

    def set_ones(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `ones` of a row: 4 values."""
        _value = _ONES.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 4 * row
        data._ones_cells[_at] = _value[0]
        data._ones_cells[_at + 1] = _value[1]
        data._ones_cells[_at + 2] = _value[2]
        data._ones_cells[_at + 3] = _value[3]

    def switches(self, row: Instance, /) -> tuple[bool, bool]:
        """Several truths."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return SWITCHES_STRUCT.unpack_from(data._switches_cells, 2 * row)

    def set_switches(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `switches` of a row: 2 values."""
        _value = _SWITCHES.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._switches_cells[_at] = _value[0]
        data._switches_cells[_at + 1] = _value[1]

    def mode(self, row: Instance, /) -> Mode:
        """An enum by the name of its member."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Mode(data._mode_cells[row])

    def set_mode(self, row: Instance, value: Mode | int, /) -> None:
        """Set `mode` of a row."""
        _value = _MODE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._mode_cells[row] = _value

    def modes(self, row: Instance, /) -> tuple[Mode, Mode]:
        """Several enums."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        cell = MODES_STRUCT.unpack_from(data._modes_cells, 4 * row)
        return nested(map(Mode, cell), (2,))

    def set_modes(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `modes` of a row: 2 values."""
        _value = _MODES.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._modes_cells[_at] = _value[0]
        data._modes_cells[_at + 1] = _value[1]

    def access(self, row: Instance, /) -> Access:
        """Flags."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Access(data._access_cells[row])

    def set_access(self, row: Instance, value: Access | int, /) -> None:
        """Set `access` of a row."""
        _value = _ACCESS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._access_cells[row] = _value

    def target(self, row: Instance, /) -> Entity:
        """Another entity."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._target_cells[row]

    def set_target(self, row: Instance, value: Entity | int, /) -> None:
        """Set `target` of a row."""
        _value = _TARGET.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._target_cells[row] = _value

    def targets(self, row: Instance, /) -> tuple[Entity, Entity]:
        """Two other entities."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return TARGETS_STRUCT.unpack_from(data._targets_cells, 16 * row)

    def set_targets(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `targets` of a row: 2 values."""
        _value = _TARGETS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._targets_cells[_at] = _value[0]
        data._targets_cells[_at + 1] = _value[1]

    def title(self, row: Instance, /) -> str:
        """Text of at most 16 UTF-8 bytes."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return str(data._title_column[row], "utf-8")

    def set_title(self, row: Instance, value: str, /) -> None:
        """Set `title` of a row: at most 16 bytes of UTF-8."""
        _value = _TITLE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._title_column[row] = _value

    def digest(self, row: Instance, /) -> bytes:
        """Four bytes."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return bytes(data._digest_column[row]).ljust(4, b"\0")

    def set_digest(self, row: Instance, value: bytes, /) -> None:
        """Set `digest` of a row: at most 4 bytes, padded with zeros."""
        _value = _DIGEST.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._digest_column[row] = _value

    def magic(self, row: Instance, /) -> bytes:
        """ASCII text, padded with a zero byte."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return bytes(data._magic_column[row]).ljust(4, b"\0")

    def set_magic(self, row: Instance, value: bytes, /) -> None:
        """Set `magic` of a row: at most 4 bytes, padded with zeros."""
        _value = _MAGIC.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._magic_column[row] = _value

    def payload(self, row: Instance, /) -> Any:
        """Any Python object."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._payload_column[row]

    def set_payload(self, row: Instance, value: Any, /) -> None:
        """Set `payload` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._payload_column[row] = value

    def note(self, row: Instance, /) -> Any:
        """Any Python object."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._note_column[row]

    def set_note(self, row: Instance, value: Any, /) -> None:
        """Set `note` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._note_column[row] = value

    def row(self, row: Instance, /) -> EveryType:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
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
            VECTOR_STRUCT.unpack_from(data._vector_cells, 12 * row),
            self.matrix(row),
            self.ones(row),
            SWITCHES_STRUCT.unpack_from(data._switches_cells, 2 * row),
            Mode(data._mode_cells[row]),
            self.modes(row),
            Access(data._access_cells[row]),
            data._target_cells[row],
            TARGETS_STRUCT.unpack_from(data._targets_cells, 16 * row),
            str(data._title_column[row], "utf-8"),
            bytes(data._digest_column[row]).ljust(4, b"\0"),
            bytes(data._magic_column[row]).ljust(4, b"\0"),
            data._payload_column[row],
            data._note_column[row],
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
        flag: bool = FLAG_DEFAULT,
        tiny: int = TINY_DEFAULT,
        small: int = SMALL_DEFAULT,
        medium: int = MEDIUM_DEFAULT,
        large: int = LARGE_DEFAULT,
        byte: int = BYTE_DEFAULT,
        word: int = WORD_DEFAULT,
        double_word: int = DOUBLE_WORD_DEFAULT,
        quad_word: int = QUAD_WORD_DEFAULT,
        single: float = SINGLE_DEFAULT,
        double: float = DOUBLE_DEFAULT,
        vector: ArrayLike = VECTOR_DEFAULT,
        matrix: ArrayLike = MATRIX_DEFAULT,
        ones: ArrayLike = ONES_DEFAULT,
        switches: ArrayLike = SWITCHES_DEFAULT,
        mode: Mode | int = MODE_DEFAULT,
        modes: ArrayLike = MODES_DEFAULT,
        access: Access | int = ACCESS_DEFAULT,
        target: Entity | int = TARGET_DEFAULT,
        targets: ArrayLike = TARGETS_DEFAULT,
        title: str = TITLE_DEFAULT,
        digest: bytes = DIGEST_DEFAULT,
        magic: bytes = MAGIC_DEFAULT,
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
            _flag_ = FLAG_DEFAULT
            if flag is not FLAG_DEFAULT:
                _flag_ = _FLAG.one(flag)
            _tiny_ = TINY_DEFAULT
            if tiny is not TINY_DEFAULT:
                _tiny_ = _TINY.one(tiny)
            _small_ = SMALL_DEFAULT
            if small is not SMALL_DEFAULT:
                _small_ = _SMALL.one(small)
            _medium_ = MEDIUM_DEFAULT
            if medium is not MEDIUM_DEFAULT:
                _medium_ = _MEDIUM.one(medium)
            _large_ = LARGE_DEFAULT
            if large is not LARGE_DEFAULT:
                _large_ = _LARGE.one(large)
            _byte_ = BYTE_DEFAULT
            if byte is not BYTE_DEFAULT:
                _byte_ = _BYTE.one(byte)
            _word_ = WORD_DEFAULT
            if word is not WORD_DEFAULT:
                _word_ = _WORD.one(word)
            _double_word_ = DOUBLE_WORD_DEFAULT
            if double_word is not DOUBLE_WORD_DEFAULT:
                _double_word_ = _DOUBLE_WORD.one(double_word)
            _quad_word_ = QUAD_WORD_DEFAULT
            if quad_word is not QUAD_WORD_DEFAULT:
                _quad_word_ = _QUAD_WORD.one(quad_word)
            _single_ = SINGLE_DEFAULT
            if single is not SINGLE_DEFAULT:
                _single_ = _SINGLE.one(single)
            _double_ = DOUBLE_DEFAULT
            if double is not DOUBLE_DEFAULT:
                _double_ = _DOUBLE.one(double)
            _vector_ = VECTOR_DEFAULT
            if vector is not VECTOR_DEFAULT:
                _vector_ = _VECTOR.one(vector)
            _matrix_ = MATRIX_CELL
            if matrix is not MATRIX_DEFAULT:
                _matrix_ = _MATRIX.one(matrix)
            _ones_ = ONES_CELL
            if ones is not ONES_DEFAULT:
                _ones_ = _ONES.one(ones)
            _switches_ = SWITCHES_DEFAULT
            if switches is not SWITCHES_DEFAULT:
                _switches_ = _SWITCHES.one(switches)
            _mode_ = MODE_CELL
            if mode is not MODE_DEFAULT:
                _mode_ = _MODE.one(mode)
            _modes_ = MODES_CELL
            if modes is not MODES_DEFAULT:
                _modes_ = _MODES.one(modes)
            _access_ = ACCESS_CELL
            if access is not ACCESS_DEFAULT:
                _access_ = _ACCESS.one(access)
            _target_ = TARGET_DEFAULT
            if target is not TARGET_DEFAULT:
                _target_ = _TARGET.one(target)
            _targets_ = TARGETS_DEFAULT
            if targets is not TARGETS_DEFAULT:
                _targets_ = _TARGETS.one(targets)
            _title_ = TITLE_CELL
            if title is not TITLE_DEFAULT:
                _title_ = _TITLE.one(title)
            _digest_ = DIGEST_DEFAULT
            if digest is not DIGEST_DEFAULT:
                _digest_ = _DIGEST.one(digest)
            _magic_ = MAGIC_DEFAULT
            if magic is not MAGIC_DEFAULT:
                _magic_ = _MAGIC.one(magic)
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
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(MANAGER, entity)
        if data._n == data._allocated:
            data._allocate(
                grown_capacity(data._allocated, data._n + 1),
                (vector, matrix, ones, switches, modes, targets),
            )
        if _map is not None:
            self._set_map(_map)
        with self._entities.dispatch:
            if _found != NIL and data._entity_cells[_found] != entity:
                # a dead entity had the same index
                self._destroy_rows(np.array([_found]))
                _found = NIL
            row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
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
            MATRIX_STRUCT.pack_into(data._matrix_cells, 48 * row, *_matrix_)
            if _ones_ is ONES_CELL:
                data._ones_words[row] = ONES_WORD
            else:
                _at = 4 * row
                data._ones_cells[_at] = _ones_[0]
                data._ones_cells[_at + 1] = _ones_[1]
                data._ones_cells[_at + 2] = _ones_[2]
                data._ones_cells[_at + 3] = _ones_[3]
            if _switches_ is SWITCHES_DEFAULT:
                data._switches_words[row] = SWITCHES_WORD
            else:
                _at = 2 * row
                data._switches_cells[_at] = _switches_[0]
                data._switches_cells[_at + 1] = _switches_[1]
            data._mode_cells[row] = _mode_
            if _modes_ is MODES_CELL:
                data._modes_words[row] = MODES_WORD
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
            self._version += 1
            return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        flag: ArrayLike = FLAG_DEFAULT,
        tiny: ArrayLike = TINY_DEFAULT,
        small: ArrayLike = SMALL_DEFAULT,
        medium: ArrayLike = MEDIUM_DEFAULT,
        large: ArrayLike = LARGE_DEFAULT,
        byte: ArrayLike = BYTE_DEFAULT,
        word: ArrayLike = WORD_DEFAULT,
        double_word: ArrayLike = DOUBLE_WORD_DEFAULT,
        quad_word: ArrayLike = QUAD_WORD_DEFAULT,
        single: ArrayLike = SINGLE_DEFAULT,
        double: ArrayLike = DOUBLE_DEFAULT,
        vector: ArrayLike = VECTOR_DEFAULT,
        matrix: ArrayLike = MATRIX_DEFAULT,
        ones: ArrayLike = ONES_DEFAULT,
        switches: ArrayLike = SWITCHES_DEFAULT,
        mode: ArrayLike = MODE_DEFAULT,
        modes: ArrayLike = MODES_DEFAULT,
        access: ArrayLike = ACCESS_DEFAULT,
        target: ArrayLike = TARGET_DEFAULT,
        targets: ArrayLike = TARGETS_DEFAULT,
        title: ArrayLike = TITLE_DEFAULT,
        digest: ArrayLike = DIGEST_DEFAULT,
        magic: ArrayLike = MAGIC_DEFAULT,
        payload: object = None,
        note: object = None,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
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
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (
            entities,
            flag,
            tiny,
            small,
            medium,
            large,
            byte,
            word,
            double_word,
            quad_word,
            single,
            double,
            vector,
            matrix,
            ones,
            switches,
            mode,
            modes,
            access,
            target,
            targets,
            title,
            digest,
            magic,
        )
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        flag: ArrayLike = FLAG_DEFAULT,
        tiny: ArrayLike = TINY_DEFAULT,
        small: ArrayLike = SMALL_DEFAULT,
        medium: ArrayLike = MEDIUM_DEFAULT,
        large: ArrayLike = LARGE_DEFAULT,
        byte: ArrayLike = BYTE_DEFAULT,
        word: ArrayLike = WORD_DEFAULT,
        double_word: ArrayLike = DOUBLE_WORD_DEFAULT,
        quad_word: ArrayLike = QUAD_WORD_DEFAULT,
        single: ArrayLike = SINGLE_DEFAULT,
        double: ArrayLike = DOUBLE_DEFAULT,
        vector: ArrayLike = VECTOR_DEFAULT,
        matrix: ArrayLike = MATRIX_DEFAULT,
        ones: ArrayLike = ONES_DEFAULT,
        switches: ArrayLike = SWITCHES_DEFAULT,
        mode: ArrayLike = MODE_DEFAULT,
        modes: ArrayLike = MODES_DEFAULT,
        access: ArrayLike = ACCESS_DEFAULT,
        target: ArrayLike = TARGET_DEFAULT,
        targets: ArrayLike = TARGETS_DEFAULT,
        title: ArrayLike = TITLE_DEFAULT,
        digest: ArrayLike = DIGEST_DEFAULT,
        magic: ArrayLike = MAGIC_DEFAULT,
        payload: object = None,
        note: object = None,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "flag": _FLAG.many(flag, count, data._buffer),
            "tiny": _TINY.many(tiny, count, data._buffer),
            "small": _SMALL.many(small, count, data._buffer),
            "medium": _MEDIUM.many(medium, count, data._buffer),
            "large": _LARGE.many(large, count, data._buffer),
            "byte": _BYTE.many(byte, count, data._buffer),
            "word": _WORD.many(word, count, data._buffer),
            "double_word": _DOUBLE_WORD.many(double_word, count, data._buffer),
            "quad_word": _QUAD_WORD.many(quad_word, count, data._buffer),
            "single": _SINGLE.many(single, count, data._buffer),
            "double": _DOUBLE.many(double, count, data._buffer),
            "vector": _VECTOR.many(vector, count, data._buffer),
            "matrix": _MATRIX.many(matrix, count, data._buffer),
            "ones": _ONES.many(ones, count, data._buffer),
            "switches": _SWITCHES.many(switches, count, data._buffer),
            "mode": _MODE.many(mode, count, data._buffer),
            "modes": _MODES.many(modes, count, data._buffer),
            "access": _ACCESS.many(access, count, data._buffer),
            "target": _TARGET.many(target, count, data._buffer),
            "targets": _TARGETS.many(targets, count, data._buffer),
            "title": _TITLE.many(title, count, data._buffer),
            "digest": _DIGEST.many(digest, count, data._buffer),
            "magic": _MAGIC.many(magic, count, data._buffer),
            "payload": _PAYLOAD.many(payload, count, data._buffer),
            "note": _NOTE.many(note, count, data._buffer),
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
        with self._entities.dispatch:
            owners = data._entity_column[: data._n]
            dead = predecessors(self._sparse, slots, owners, entities)
            if len(dead):
                self._destroy_rows(np.sort(self.lookup_many(dead)))
            n = data._n
            end = n + count
            span = slice(n, end)
            rows = np.arange(n, end)
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
            put_cells(
                data._vector_column,
                data._vector_items,
                span,
                columns["vector"],
            )
            put_cells(
                data._matrix_column,
                data._matrix_items,
                span,
                columns["matrix"],
            )
            put_cells(
                data._ones_column,
                data._ones_items,
                span,
                columns["ones"],
            )
            put_cells(
                data._switches_column,
                data._switches_items,
                span,
                columns["switches"],
            )
            data._mode_column[span] = columns["mode"]
            put_cells(
                data._modes_column,
                data._modes_items,
                span,
                columns["modes"],
            )
            data._access_column[span] = columns["access"]
            data._target_column[span] = columns["target"]
            put_cells(
                data._targets_column,
                data._targets_items,
                span,
                columns["targets"],
            )
            data._title_column[span] = columns["title"]
            data._digest_column[span] = columns["digest"]
            data._magic_column[span] = columns["magic"]
            data._payload_column[span] = columns["payload"]
            data._note_column[span] = columns["note"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            self._version += 1
            return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        flag: bool = FLAG_DEFAULT,
        tiny: int = TINY_DEFAULT,
        small: int = SMALL_DEFAULT,
        medium: int = MEDIUM_DEFAULT,
        large: int = LARGE_DEFAULT,
        byte: int = BYTE_DEFAULT,
        word: int = WORD_DEFAULT,
        double_word: int = DOUBLE_WORD_DEFAULT,
        quad_word: int = QUAD_WORD_DEFAULT,
        single: float = SINGLE_DEFAULT,
        double: float = DOUBLE_DEFAULT,
        vector: ArrayLike = VECTOR_DEFAULT,
        matrix: ArrayLike = MATRIX_DEFAULT,
        ones: ArrayLike = ONES_DEFAULT,
        switches: ArrayLike = SWITCHES_DEFAULT,
        mode: Mode | int = MODE_DEFAULT,
        modes: ArrayLike = MODES_DEFAULT,
        access: Access | int = ACCESS_DEFAULT,
        target: Entity | int = TARGET_DEFAULT,
        targets: ArrayLike = TARGETS_DEFAULT,
        title: str = TITLE_DEFAULT,
        digest: bytes = DIGEST_DEFAULT,
        magic: bytes = MAGIC_DEFAULT,
        payload: Any = None,
        note: Any = None,
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
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked(MANAGER)
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
            raise locked(MANAGER)
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        with self._entities.dispatch:
            self._release(np.array([row]))
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
            self._version += 1
            return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        with self._entities.dispatch:
            self._release(gone)
            self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
            n = data._n
            src, dst = fill(gone, n)
            if len(src):
                data._move_rows(src, dst)
                self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
            data._n = n - len(gone)
            data._payload_column[data._n : n] = None
            data._note_column[data._n : n] = None
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
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
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
        capacity = whole_rows(data._n)
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
        with self._entities.dispatch:
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

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        Inside, this manager is locked, and entities that are destroyed wait for their
        turn. Exceptions stop nothing; they are raised together, as an ExceptionGroup,
        when all is done. `cancel()` of what is returned ends it. Pickle does not save it.
        """
        return self._released.add(callback)

    def _release(self, rows: RowArray) -> None:
        self._locks += 1
        try:
            self._released.run(rows, self._entities.dispatch.errors)
        finally:
            self._locks -= 1
