"""Results of models as columns of five types: i64, u64, f64, bool and text; and how they join.

The types are few so that columns can be written as JSON, read again, and be the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..base.errors import short_repr
from ..base.fast_typing import NamedTuple
from ..base.text import format_count
from ..values.interchange import refuse_nulls
from ..values.time_fields import iso_texts

Column: TypeAlias = NDArray[Any]
COLUMN_TYPES: Final[Mapping[str, Any]] = {
    "bool": np.bool_,
    "i64": np.int64,
    "u64": np.uint64,
    "f64": np.float64,
    "text": np.object_,  # a text of numpy's would make all others as long
}
_BOOL, _I64, _U64, _F64, _TEXT = (np.dtype(kind).kind for kind in COLUMN_TYPES.values())
TYPE_NAMES: Final[Mapping[str, str]] = {
    np.dtype(kind).kind: name for name, kind in COLUMN_TYPES.items()
}
"""Names of types by the kind of a dtype."""
_PLAIN: Final = (bool, int, float, str)


class RecordedLines(Protocol):
    """Lines with columns, as a table of `world.records` has them."""

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]: ...

    def __len__(self) -> int: ...


class Result(NamedTuple):
    """Lines of one run for the table."""

    is_scalars: bool
    """True if the model returned one value for each name, not columns."""
    columns: dict[str, Column]

    @property
    def lines(self) -> int:
        """Number of lines."""
        return 1 if self.is_scalars else max(map(len, self.columns.values()), default=0)


def result_of(returned: object, taken: Collection[str]) -> Result:
    """Parse the return value of a model; TypeError or ValueError if it is no line or lines.

    `taken`: names that other columns of the table have.
    """
    mapping = getattr(returned, "columns", returned)
    if not isinstance(mapping, Mapping):
        raise TypeError(
            "a model returns a mapping of numbers, bools or texts, or of columns of them, or a "
            f"table of world.records, not {short_repr(returned)}"
        )
    enums = getattr(returned, "_ENUMS", {})  # of a table of records, by column
    columns: dict[str, Column] = {}
    sizes: dict[str, str] = {}
    for name, value in mapping.items():
        if not isinstance(name, str):
            raise TypeError(f"names of results are texts, not {short_repr(name)}")
        if name in taken:
            raise ValueError(f"{name!r} is the name of a parameter, or seed or replicate")
        try:
            cells = _names(enums[name], value) if name in enums else value
            columns[name], is_one = _column(cells)
        except Exception as error:
            error.add_note(f"in the result {name!r}")
            raise
        sizes[name] = "one value" if is_one else format_count(len(columns[name]), "line")
    if len({*sizes.values()}) > 1:
        different = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"neither one value each, nor columns of one length: {different}")
    return Result(mapping is returned and {*sizes.values()} <= {"one value"}, columns)


def _names(enum: type[Enum], numbers: Column) -> Column:
    """Return the names of members, or ValueError for a number that none has."""
    names = {number: enum_name(enum(number)) for number in {*numbers.tolist()}}
    return np.array([names[number] for number in numbers.tolist()], np.object_)


def _column(value: object) -> tuple[Column, bool]:
    """Return the column of a value, shape (n,), and True if it is one value."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return cells_column(value), False
    if isinstance(value, Enum) or not hasattr(value, "__array__"):
        return cells_column([value]), True
    if isinstance(value, np.ndarray):
        refuse_nulls(value, "an array")
    array = np.asarray(value)
    if array.ndim > 1:
        raise ValueError(f"a column has one axis, not the shape {array.shape}")
    return _typed(array.reshape(-1)), not array.ndim


def _typed(array: Column) -> Column:
    """Return the values of an array in one of the five types; a copy, for the model may go on."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    match kind:
        case "b" | "i":
            return array.astype(COLUMN_TYPES[TYPE_NAMES[kind]])
        case "f":
            return _one_nan(array.astype(np.float64))
        case "u":
            return array.astype(np.uint64 if size == 8 else np.int64)
        case "M" | "m":
            return iso_texts(array).astype(np.object_)
        case "O" | "T" | "U" if not len(array):
            return array.astype(np.object_)
        case "O" | "T" | "U":
            return cells_column(array.tolist())
    raise TypeError(f"values of {array.dtype} are neither numbers, bools, texts nor times")


def _one_nan(array: Column) -> Column:
    """Return numbers with the NaN that null is read as, whatever bits theirs have."""
    array[np.isnan(array)] = np.nan
    return array


def cells_column(values: Sequence[object]) -> Column:
    """Return Python's values, or numpy's scalars, as a column; TypeError for what is none."""
    kinds = set(map(type, values))
    if not kinds.issubset(_PLAIN):
        values = [_cell(value) for value in values]
        kinds = set(map(type, values))
    if str in kinds:
        if len(kinds) > 1:
            raise TypeError("texts and others are in one column")
        return np.array(values, np.object_)
    if float in kinds or not kinds:
        return _one_nan(np.array(values, np.float64))
    if kinds == {bool}:
        return np.array(values, np.bool_)
    numbers = cast(Sequence[int], values)
    low, high = min(numbers), max(numbers)
    if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
        raise OverflowError(f"{low if low < -(2**63) else high} does not fit into 64 bits")
    return np.array(numbers, np.uint64 if high >= 2**63 else np.int64)


def _cell(value: object) -> object:
    """Return one value as a bool, int, float or str."""
    if isinstance(value, Enum):
        return enum_name(value)
    if isinstance(value, (datetime, timedelta)):
        if hasattr(value, "to_numpy") and not getattr(value, "tzinfo", None):
            value = value.to_numpy()  # of pandas: with nanoseconds, or no time
        elif isinstance(value, timedelta):
            value = np.timedelta64(value)
    if isinstance(value, np.generic):
        return _typed(np.asarray(value).reshape(1)).tolist()[0]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    for kind in _PLAIN:
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(
        f"{short_repr(value)} is neither a number, a bool, a text, an enum nor a time"
        + "; where there is no number, math.nan stands" * (value is None)
    )


def enum_name(member: Enum) -> str:
    """Return the name of a member; of flags without one, their number."""
    return member.name or str(member.value)


def concatenate_columns(parts: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """Return columns one after the other; None is one that a run does not have.

    Numbers of several types become i64, u64 or f64; with texts all are texts. What is not there is
    NaN, or an empty text. `counts`: the lengths of all parts. O(n).
    """
    present = [part for part in parts if part is not None]
    kinds: set[str] = {p.dtype.kind for p in present if len(p)}
    kinds = kinds or {p.dtype.kind for p in present}
    dtype: Any = np.float64
    fill: Any = np.nan
    if _TEXT in kinds:
        dtype, fill = np.object_, ""
    elif kinds and _F64 not in kinds and len(present) == len(parts):
        dtype, fill = _whole_type(kinds, present), 0
    cells: Column = np.full(sum(counts), fill, dtype)
    start = 0
    for part, n in zip(parts, counts, strict=True):
        if part is not None:
            is_text = part.dtype.kind == _TEXT or dtype is not np.object_
            values = part if is_text else [str(value) for value in part.tolist()]
            cells[start : start + n] = values
        start += n
    return cells


def _whole_type(kinds: set[str], parts: Iterable[Column]) -> Any:
    """Return the type of bools and integers together."""
    if kinds == {_BOOL}:
        return np.bool_
    if _U64 not in kinds:
        return np.int64
    filled = [part for part in parts if len(part)]
    if all(part.dtype.kind != _I64 or part.min() >= 0 for part in filled):
        return np.uint64
    fits = all(part.dtype.kind != _U64 or part.max() < 2**63 for part in filled)
    return np.int64 if fits else np.float64
