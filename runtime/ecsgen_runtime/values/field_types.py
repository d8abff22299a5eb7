"""Fields of every type: converters of values into cells and columns, which raise for bad values.

Values are never silently changed. `to_cell` converts a value for one cell, `to_column` a whole
argument of a bulk call. Field classes define checks of one element (`to_element`) and of a typed
array (`_cast`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum, IntFlag
from functools import cache, reduce
from math import frexp, inf, isfinite, isinf, isnan, nextafter
from operator import index, or_
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.errors import short_repr
from ..base.text import did_you_mean
from .array_coercion import flatten_exact, is_array_like, to_array
from .comparable_columns import EnumColumn, TextColumn
from .interchange import is_object_column, refuse_nulls, table_hint

_IMMUTABLE: Final = frozenset((bool, int, float))


Converter: TypeAlias = "Field | ObjectField"
"""Converter of a field's values into the items of its column."""

FieldTable: TypeAlias = Mapping[str, tuple[Converter, Any]]
"""The converter and the default of each field."""


def check_values(fields: FieldTable, row: Iterable[Any]) -> None:
    """Check a row's values, one for each field; raises as a creation does."""
    for (field, _), value in zip(fields.values(), row, strict=True):
        field.to_cell(value)


class Field:
    """One field of a component: checks values and converts them to the column's dtype."""

    _kinds: ClassVar[str] = ""
    """The dtype kinds of arrays that `_cast` takes."""
    accepts_any_cell: ClassVar[bool] = False
    """True if the field accepts any array of the column's dtype."""
    takes_nulls: ClassVar[bool] = False
    """True if nulls of Arrow, pandas and polars are values: NaT."""
    cells_in_c: ClassVar[str] = ""
    """How C has elements: a letter of a dtype, or `s` for text; "" if it leaves them to Python."""
    _BY_SHAPE: ClassVar[Mapping[tuple[int, ...], type[Field]]] = {}
    """Subclasses for a few shapes."""

    def __init_subclass__(cls) -> None:
        if "to_element" in vars(cls):  # a cell is an element: no call between
            cls.to_cell = cls.to_element  # type: ignore[method-assign]  # of no other type

    def __new__(cls, *arguments: Any) -> Self:
        """Return a field, a ShapedField if the last argument is a shape."""
        kind: Any = cls
        if arguments and type(arguments[-1]) is tuple and arguments[-1]:
            kind = cls._BY_SHAPE.get(arguments[-1]) or _shaped(kind)
        field: Self = object.__new__(kind)
        return field

    def __init__(self, name: str, dtype: str, shape: tuple[int, ...], wanted: str) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape = shape
        self.wanted = wanted
        rows = ", ".join(["rows", *map(str, shape)])
        self._wanted_one = f"{name}: wanted " + (f"shape {shape}" if shape else f"one {wanted}")
        self._checked: tuple[object, Any] = (self, None)  # the last value checked, and its cell
        self._wanted_many = f"{name}: wanted shape ({rows}{'' if shape else ','})"

    @property
    def enum(self) -> type[IntEnum | IntFlag] | None:
        """Enum of the field's values, or None."""
        return None

    def to_element(self, value: Any) -> Any:
        """Return one element as the builtin that the column's memoryview stores unchanged; O(1)."""
        raise NotImplementedError

    def to_cell(self, value: Any) -> Any:
        """Return what one cell stores: an element, or a flat tuple of them in C order.

        A builtin of the right type costs a few comparisons. Shapes must match exactly.

        Raises:
            TypeError, ValueError, OverflowError: the value is not one that the field holds.
        """
        return self.to_element(value)

    def to_repeated_column(self, value: Any, rows: int) -> Any:
        """Return one value for `rows` rows as `to_column` takes it; raises as `to_cell` does."""
        self.to_cell(value)
        return value

    def to_column(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[Any]:
        """Return an array of the column's dtype that broadcasts to `(rows, *shape)`; O(elements).

        The result may be the argument itself, but never shares memory with `buffer`.

        Raises:
            TypeError, ValueError, OverflowError: a value is not one that the field holds, or the
                shape does not broadcast.
        """
        if not is_array_like(type(value)):
            return np.array(self.to_element(value), self.dtype)
        array = self.convert_array(to_array(value, 1 + len(self.shape), self._wanted_many, self))
        if array.shape and array.shape != (rows, *self.shape):
            array = self._fitted(array, (rows, *self.shape))
        if buffer is not None and np.may_share_memory(array, buffer):
            return array.copy()
        return array

    def to_cells(self, values: Any) -> NDArray[Any]:
        """Return k values of a scalar field, an array or a list, in its dtype, shape (k,)."""
        if not is_array_like(type(values)) or np.ndim(values) == 0:
            kind = type(values).__name__
            raise TypeError(f"{self.name}: wanted an array or a list of values, not {kind}")
        count = len(values)
        cells = self.to_column(values, count).astype(self.dtype, copy=False)
        return np.broadcast_to(cells, count)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of one of `_kinds` in the column's dtype, after checking its elements."""
        return array

    def convert_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of any shape in the column's dtype, after checking its elements."""
        kind = array.dtype.kind
        if kind in self._kinds:
            return self._cast(array)
        if kind == "O":
            return self._from_elements(array)
        raise TypeError(f"{self.name}: wanted {self.wanted}, not an array of {array.dtype}")

    def _from_elements(self, array: NDArray[Any]) -> NDArray[Any]:
        elements = array.ravel().tolist()
        try:
            cells = list(map(self.to_element, elements))
        except (TypeError, ValueError, OverflowError):
            self._blame(array)
        return np.array(cells, self.dtype).reshape(array.shape)

    def _blame(self, array: NDArray[Any]) -> NoReturn:
        """Raise the error of the first bad element, with its position."""
        for position, element in enumerate(array.ravel().tolist()):
            try:
                self.to_element(element)
            except (TypeError, ValueError, OverflowError) as error:
                indices = tuple(map(int, np.unravel_index(position, array.shape)))
                at = indices[0] if len(indices) == 1 else indices
                suffix = f" (at position {at})" if indices else ""
                raise type(error)(f"{error}{suffix}") from None
        raise AssertionError(f"{self.name}: no element is wrong on its own")

    def _fitted(self, array: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
        """Return the array if it broadcasts to the shape, as the empty list does to no rows."""
        shape = array.shape
        if shape == (0,) and wanted[0] == 0:
            return np.empty(wanted, self.dtype)
        ends = zip(reversed(shape), reversed(wanted), strict=False)
        if len(shape) <= len(wanted) and all(actual in (size, 1) for actual, size in ends):
            return array
        raise ValueError(f"{self.name}: wanted shape {wanted}, not {shape}")

    def _element(self, value: Any) -> Any:
        """Return a single value as it is, a 0-d array's element; ValueError for other arrays."""
        if not is_array_like(type(value)):
            return value
        if not isinstance(value, (list, tuple)):
            array = to_array(value, 0, self._wanted_one, self)
            if array.ndim == 0:
                return array[()]
        raise ValueError(f"{self.name}: wanted one {self.wanted}, not {short_repr(value)}")

    def _integer(self, value: Any) -> int:
        """Return whatever has `__index__`, bools apart, as an int."""
        value = self._element(value)
        if not isinstance(value, (bool, np.bool_)):
            try:
                return index(value)
            except TypeError:
                pass
        raise self._wrong_type(value)

    def _wrong_type(self, value: object) -> TypeError:
        kind = f"{type(value).__name__}){table_hint(value)}"
        return TypeError(f"{self.name}: wanted {self.wanted}, not {short_repr(value)} ({kind}")

    def _does_not_fit(self, value: object) -> OverflowError:
        return OverflowError(f"{self.name}: {short_repr(value)} does not fit into {self.wanted}")


class ShapedField(Field):
    """A field of a fixed shape: a cell is a tuple of `prod(shape)` elements.

    The last tuple that was checked is remembered, since most calls leave a field at its
    default, which is one object each time.
    """

    def to_cell(self, value: Any) -> Any:
        checked = self._checked
        if value is checked[0]:
            return checked[1]
        cell = self._cell_of(value)
        if type(value) is tuple and _IMMUTABLE.issuperset(map(type, value)):
            self._checked = value, cell
        return cell

    def _cell_of(self, value: Any) -> Any:
        elements = flatten_exact(value, self.shape)
        if elements is not None:
            return tuple(map(self.to_element, elements))
        if not is_array_like(type(value)):
            self.to_element(value)
            raise ValueError(f"{self._wanted_one}, not {short_repr(value)}")
        array = to_array(value, len(self.shape), self._wanted_one, self)
        if array.shape != self.shape:
            raise ValueError(f"{self._wanted_one}, not {array.shape}")
        return tuple(self.convert_array(array).ravel().tolist())


@cache
def _shaped(kind: type[Field]) -> type[Field]:
    """Return the subclass with a shape."""
    return type(f"Shaped{kind.__name__}", (ShapedField, kind), {})


_EXACT: Final = 2**53
"""Bound up to which every integer is a float of 64 bits."""

_ROUNDS_TO_INF: Final = {"f32": float.fromhex("0x1.ffffffp127"), "f64": inf}
"""Bounds from which rounding makes finite numbers infinite: half a step over the largest float."""


_NOT_REAL: Final = (bool, np.bool_, np.complexfloating, np.flexible, np.datetime64, np.timedelta64)
"""Types that have `__float__` or `__index__` all the same."""


def _is_finite(value: Any) -> bool:
    """Return True if a number is finite; `float` makes large Decimals infinite without an error."""
    try:
        return bool(-inf < value < inf)
    except TypeError:
        return False


class BoolField(Field):
    """Bools, and nothing that merely looks like one."""

    _kinds: ClassVar[str] = "b"
    cells_in_c: ClassVar[str] = "?"
    accepts_any_cell: ClassVar[bool] = True

    def __init__(self, name: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, "bool", shape, "bool")

    def to_element(self, value: Any) -> Any:
        if value is True or value is False:
            return value
        value = self._element(value)
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise self._wrong_type(value)


class IntField(Field):
    """Integers of 8 to 64 bits: whatever has `__index__`, bools apart, if it fits."""

    _kinds: ClassVar[str] = "iu"
    cells_in_c: ClassVar[str] = "i"
    accepts_any_cell: ClassVar[bool] = True

    def __init__(
        self, name: str, scalar: str, shape: tuple[int, ...] = (), wanted: str = ""
    ) -> None:
        bits = int(scalar[1:])
        super().__init__(name, f"{scalar[0]}{bits // 8}", shape, wanted or scalar)
        signed = scalar[0] == "i"
        self._low = -(2 ** (bits - 1)) if signed else 0
        self._high = 2 ** (bits - signed) - 1

    def to_element(self, value: Any) -> Any:
        if type(value) is int and self._low <= value <= self._high:
            return value
        number = self._integer(value)
        if self._low <= number <= self._high:
            return number
        raise self._does_not_fit(number)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == self.dtype:
            return array
        if not self._holds(array):
            self._blame(array)
        return array.astype(self.dtype)

    def _holds(self, array: NDArray[Any]) -> bool:
        source, target = array.dtype, self.dtype
        is_narrower = source.itemsize < target.itemsize and source.kind in ("u", target.kind)
        if is_narrower or array.size == 0:
            return True
        return self._low <= int(array.min()) and int(array.max()) <= self._high


class HandleField(IntField):
    """Handles of entities and ids: integers of 64 bits, alive or not.

    `wanted` is the schema's type: `entity` or `id<…>`.
    """

    def __init__(self, name: str, wanted: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, "u64", shape, wanted)

    def _does_not_fit(self, value: object) -> OverflowError:
        return OverflowError(f"{self.name}: wanted {self.wanted}, not {short_repr(value)}")


class FloatField(Field):
    """Real numbers, rounded to the float's precision; finite ones never become infinite."""

    _kinds: ClassVar[str] = "fiu"
    cells_in_c: ClassVar[str] = "f"
    accepts_any_cell: ClassVar[bool] = True

    def __init__(self, name: str, scalar: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, f"f{int(scalar[1:]) // 8}", shape, scalar)
        self._limit = _ROUNDS_TO_INF[scalar]
        self._low = -self._limit

    def to_element(self, value: Any) -> Any:
        if type(value) is float and self._low < value < self._limit:
            return value
        if type(value) is int and -_EXACT <= value <= _EXACT:
            return float(value)
        return self._real(value)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == self.dtype:
            return array
        if array.dtype.kind != "f" or array.dtype.itemsize <= self.dtype.itemsize:
            return array.astype(self.dtype)
        with np.errstate(all="ignore"):
            rounded = array.astype(self.dtype)
        # Counting is the fastest way to ask for all, in small arrays by a microsecond.
        is_plain = np.count_nonzero(np.isfinite(rounded)) == rounded.size
        if not is_plain and (np.isinf(rounded) & np.isfinite(array)).any():
            self._blame(array)
        return rounded

    def _real(self, value: Any) -> float:
        value = self._element(value)
        if isinstance(value, np.longdouble):
            return self._from_longdouble(value)
        try:
            number = self._nearest(value)
        except TypeError:
            raise self._wrong_type(value) from None
        except OverflowError:
            raise self._does_not_fit(value) from None
        except ValueError as error:  # a signalling NaN
            raise ValueError(
                f"{self.name}: wanted {self.wanted}, not {short_repr(value)}"
            ) from error
        if self._low < number < self._limit or isnan(number):
            return number
        if isinf(number) and not _is_finite(value):
            return number
        raise self._does_not_fit(value)

    def _from_longdouble(self, value: np.longdouble) -> float:
        with np.errstate(all="ignore"):
            number = float(value.astype(self.dtype))
        if isinf(number) and not np.isinf(value):
            raise self._does_not_fit(value)
        return number

    def _nearest(self, value: Any) -> float:
        kind = type(value)
        if hasattr(kind, "__index__") and not issubclass(kind, _NOT_REAL):
            value = index(value)
        elif not hasattr(kind, "__float__") or issubclass(kind, _NOT_REAL):
            raise TypeError
        return self._once(float(value), value)

    def _once(self, number: float, value: Any) -> float:
        """Return the float of 64 bits that rounds to f32 as `value` itself does: an inexact one is
        rounded to odd, so that f32 is not rounded twice."""
        if self.dtype.itemsize == 8 or number == value or not isfinite(number):
            return number
        if int(frexp(number)[0] * _EXACT) & 1:
            return number
        try:
            return nextafter(number, inf if value > number else -inf)
        except TypeError:
            # a class that has `__float__` alone: what it returns is its value
            return number


class _FloatPairField(ShapedField, FloatField):
    def to_cell(self, value: Any) -> Any:
        if type(value) is tuple:
            match value:
                case x, y if type(x) is type(y) is float:
                    low, high = self._low, self._limit
                    if low < x < high and low < y < high:
                        return value
        return super().to_cell(value)


class _FloatTripleField(ShapedField, FloatField):
    def to_cell(self, value: Any) -> Any:
        if type(value) is tuple:
            match value:
                case x, y, z if type(x) is type(y) is type(z) is float:
                    low, high = self._low, self._limit
                    if low < x < high and low < y < high and low < z < high:
                        return value
        return super().to_cell(value)


class _FloatQuadField(ShapedField, FloatField):
    def to_cell(self, value: Any) -> Any:
        if type(value) is tuple:
            match value:
                case x, y, z, w if type(x) is type(y) is type(z) is type(w) is float:
                    low, high = self._low, self._limit
                    finite = low < x < high and low < y < high
                    if finite and low < z < high and low < w < high:
                        return value
        return super().to_cell(value)


# Tuples of the common sizes are taken apart by hand: a loop costs half as much again.
FloatField._BY_SHAPE = {(2,): _FloatPairField, (3,): _FloatTripleField, (4,): _FloatQuadField}


def member_number(name: str, enum: type[IntEnum | IntFlag], text: str) -> int:
    """Return the number of a member by its name, of flags by names with `|` between them, or "0".

    ValueError: no member has the name; `name` is the field's.
    """
    members, number, is_flag = enum.__members__, 0, issubclass(enum, IntFlag)
    if is_flag and text == "0":  # as tables show that none is set
        return 0
    for member in text.split("|") if is_flag else [text]:
        known = members.get(member.strip())
        if known is None:
            hint = did_you_mean(member.strip(), list(members))
            raise ValueError(f"{name}: {short_repr(text)} is no member of {enum.__name__}{hint}")
        number |= known._value_
    return number


class EnumField(Field):
    """Members of one enum, their names or numbers; for flags any combination of the members."""

    _kinds: ClassVar[str] = "iuUTS"
    cells_in_c: ClassVar[str] = "u"

    def __init__(
        self, name: str, enum: type[IntEnum | IntFlag], scalar: str, shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(name, f"u{int(scalar[1:]) // 8}", shape, enum.__name__)
        numbers = sorted({member.value for member in enum.__members__.values()})
        self._enum = enum
        self._mask = reduce(or_, numbers, 0) if issubclass(enum, IntFlag) else 0
        self._members = frozenset(numbers)
        self._sorted: NDArray[Any] = np.array(numbers, self.dtype)
        self._has_gaps = len(numbers) <= numbers[-1]
        self._column_type: type[EnumColumn] | None = None

    @property
    def enum(self) -> type[IntEnum | IntFlag]:
        return self._enum

    def comparable(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a view of a column that compares with members by name; O(1)."""
        if self._column_type is None:  # not at import: a class takes time
            self._column_type = type("EnumColumn", (EnumColumn,), {"__slots__": (), "FIELD": self})
        return column.view(self._column_type)

    def to_element(self, value: Any) -> Any:
        if type(value) is self._enum:
            number = value._value_
        elif type(value) is int:
            number = value
        else:
            number = self._number(value)
        if number in self._members or (number & self._mask == number and self._mask):
            return number
        what = "has bits outside" if self._mask else "is no member of"
        raise ValueError(f"{self.name}: {short_repr(value)} {what} {self.wanted}")

    def _number(self, value: Any) -> int:
        value = self._element(value)
        if type(value) is self._enum:
            return int(value)
        if isinstance(value, str):
            return member_number(self.name, self._enum, value)
        if isinstance(value, Enum):
            raise self._wrong_type(value)
        return self._integer(value)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.size == 0:
            return np.empty(array.shape, self.dtype)
        if array.dtype.kind in "UTS":
            return self._from_elements(_decoded(array) if array.dtype.kind == "S" else array)
        largest = self._mask or int(self._sorted[-1])
        if int(array.min()) < 0 or int(array.max()) > largest:
            self._blame(array)
        numbers = array.astype(self.dtype, copy=False)
        bad = np.False_
        if self._mask:
            bad = (numbers & ~self.dtype.type(self._mask)).any()
        elif self._has_gaps:
            near = self._sorted[self._sorted.searchsorted(numbers)]
            bad = (near != numbers).any()
        if bad:
            self._blame(array)
        return numbers


def _characters(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an array of dtype S as one row of bytes per element."""
    size = array.dtype.itemsize
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, size)


def _is_utf8(characters: NDArray[np.uint8]) -> bool:
    """Return whether each row is UTF-8: all together are, and none begins amid a letter."""
    if (characters[:, 0] & 0xC0 == 0x80).any():
        return False
    try:
        characters.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(array: NDArray[Any]) -> NDArray[np.object_]:
    """Return an array of dtype S as text; bytes that are no UTF-8 become surrogates."""
    cells = array.ravel().tolist()
    texts = (text.decode(errors="surrogateescape") for text in cells)
    return np.fromiter(texts, object, array.size).reshape(array.shape)


class TextField(Field):
    """Text of at most `size` bytes of UTF-8, without NUL."""

    _kinds: ClassVar[str] = "UTS"
    cells_in_c: ClassVar[str] = "s"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"str[{size}]")
        self._size = size

    def comparable(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a view of a column that compares with text; O(1)."""
        return column.view(TextColumn)

    def to_element(self, value: Any) -> Any:
        if type(value) is not str:
            value = self._element(value)
            if not isinstance(value, str):
                raise self._wrong_type(value)
        try:
            text = str.encode(value)
        except UnicodeEncodeError:
            why = "is not valid UTF-8"
        else:
            if len(text) <= self._size and 0 not in text:
                return text
            what = "has a NUL" if 0 in text else f"takes {len(text)} bytes of UTF-8"
            why = f"{what}, wanted {self.wanted}"
        raise ValueError(f"{self.name}: {short_repr(value)} {why}")

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype.kind != "S":
            return self._from_elements(array)
        if array.size and array.dtype.itemsize:
            characters = _characters(array)
            ends = characters[:, :-1] == 0
            if (
                (characters.max() >= 128 and not _is_utf8(characters))
                or characters[:, self._size :].any()
                or (ends & (characters[:, 1:] != 0)).any()
            ):
                return self._from_elements(_decoded(array))
        return array.astype(self.dtype, copy=False)


class BytesField(Field):
    """At most `size` bytes; shorter values are padded with zeros."""

    _kinds: ClassVar[str] = "S"
    cells_in_c: ClassVar[str] = "S"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"bytes[{size}]")
        self._size = size

    def to_element(self, value: Any) -> Any:
        if type(value) is bytes and len(value) <= self._size:
            return value
        value = self._element(value)
        if not isinstance(value, bytes | bytearray):
            raise self._wrong_type(value)
        if len(value) > self._size:
            raise ValueError(
                f"{self.name}: {short_repr(value)} has {len(value)} bytes, wanted {self.wanted}"
            )
        return bytes(value)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        longer = array.size > 0 and array.dtype.itemsize > self._size
        if longer and _characters(array)[:, self._size :].any():
            self._blame(array)
        return array.astype(self.dtype, copy=False)


class ObjectField:
    """Any objects, never looked into."""

    dtype: ClassVar[None] = None
    shape: ClassVar[tuple[int, ...]] = ()
    enum: ClassVar[None] = None

    accepts_any_cell: ClassVar[bool] = False
    """As in other fields; an operator may fail halfway through a column."""

    def __init__(self, name: str) -> None:
        self.name = name

    def to_cell(self, value: Any) -> Any:
        """Return the object itself."""
        return value

    def to_repeated_column(self, value: Any, rows: int) -> Any:
        """Return one object for `rows` rows as `to_column` takes it."""
        is_column = isinstance(value, list | np.ndarray) or is_object_column(type(value))
        return [value] * rows if is_column else value

    def to_column(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[np.object_]:
        """Return a new object array of shape `(rows,)`, or `(1,)` with one object for all; O(rows).

        A list or an array is one object per row, anything else is one for all.

        Raises:
            ValueError: a list or an array of another length; a column of Arrow, polars or pandas,
                which is one object here, that has a null.
        """
        is_array = isinstance(value, np.ndarray) and value.ndim > 0
        if not is_array and not isinstance(value, list):
            if value is not None and is_object_column(type(value)):
                refuse_nulls(value, self.name)
            return np.fromiter((value,), object, 1)
        if len(value) != rows:
            raise ValueError(
                f"{self.name}: wanted {rows} objects in a list or an array, one per row, not "
                f"{len(value)}; for the same list in each row write [x] * {rows}"
            )
        if is_array and buffer is not None and np.may_share_memory(value, buffer):
            value = value.copy()
        return np.fromiter(value, object, rows)
