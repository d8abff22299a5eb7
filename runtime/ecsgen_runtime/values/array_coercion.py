"""Coercion of arguments into arrays that hold exactly that: values, and handles of entities."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import short_repr
from ..base.extensions import arrow
from ..base.handles import EntityArray
from .interchange import (
    is_foreign_column,
    plain_array,
    pyarrow_if_there,
    refuse_nulls,
    table_hint,
)

if TYPE_CHECKING:

    class NamedField(Protocol):
        """A field, as far as messages name it."""

        name: str
        takes_nulls: ClassVar[bool]


# `np.asarray` alone turns `[2**63, 1]` into floats, `[True, 2]` into integers and cuts
# NULs off text. Here a list becomes a typed array only if all its items are of one
# type, otherwise an array of the items themselves.


_SINGLE: Final = (float, int, str, bytes, bytearray, np.generic, Mapping)
"""Types of single values, even if they have elements or `__array__`."""

_ARRAY_PROTOCOLS: Final = ("__array__", "__array_interface__", "__array_struct__")


def is_array_like(kind: type) -> bool:
    """Return True if values of a type have elements: sequences and arrays, 0-d arrays included."""
    if kind is list or kind is tuple or kind is np.ndarray:
        return True
    if issubclass(kind, _SINGLE):
        return False
    # `hasattr` would find what a metaclass defines, such as the length of an enum.
    defined = set(chain.from_iterable(map(vars, kind.__mro__)))
    return not defined.isdisjoint(_ARRAY_PROTOCOLS) or {"__len__", "__getitem__"} <= defined


def to_array(value: Any, depth: int, wanted: str, field: NamedField | None = None) -> NDArray[Any]:
    """Return an array-like as an array of a plain type or of objects; O(elements).

    An array is returned as it is, unless it is one of objects. Lists may be nested `depth` levels.
    Error messages begin with `wanted`. `field` converts the elements.

    Raises:
        TypeError: an element is masked.
        ValueError: the lists are nested deeper, or of different lengths; an element is null.
    """
    if isinstance(value, np.ndarray):
        array = value if type(value) is np.ndarray else _unmasked(value, wanted)
        if array.dtype.kind != "O" or array.ndim == 0 or array.size == 0:
            return array
        return _from_sequence(array.tolist(), max(depth, array.ndim), wanted)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, depth, wanted)
    if is_foreign_column(type(value)):
        name = wanted.partition(": ")[0] if field is None else field.name
        return to_array(_foreign_cells(value, name, field), depth, wanted)
    if any(hasattr(type(value), protocol) for protocol in _ARRAY_PROTOCOLS):
        return to_array(np.asarray(value), depth, wanted)
    try:
        view = memoryview(value)
    except TypeError:
        return _from_sequence(list(value), depth, wanted)
    return np.asarray(view)


def _foreign_cells(values: Any, name: str, field: NamedField | None) -> Any:
    """Return a column of another library as an array, or raise ValueError if there is a null."""
    takes_nulls = field is not None and field.takes_nulls
    if hasattr(values, "isna"):
        if not takes_nulls:
            refuse_nulls(values, name)  # where pandas says so: NaN is one
        if hasattr(values, "columns"):  # a table, which has a column for each element
            values = values.iloc[:, field_order([str(name) for name in values.columns])]
        if not hasattr(values, "dtype") or isinstance(values.dtype, np.dtype):
            return np.asarray(values)
    if pyarrow_if_there() is None:
        return np.asarray(values) if takes_nulls else plain_array(values, name)
    return arrow().read_column(values, name, field)


def field_order(names: list[str]) -> list[int]:
    """Return the order of a struct's fields: that of elements if they are called like these."""
    for elements in (list("xyzw"), [str(index) for index in range(len(names))]):
        wanted = elements[: len(names)]
        if sorted(names) == sorted(wanted):
            return [names.index(name) for name in wanted]
    return list(range(len(names)))


def flatten_exact(value: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
    """Return the elements of nested lists and tuples of exactly a shape, else None."""
    level: Sequence[Any] = (value,)
    for size in shape:
        for row in level:
            if (type(row) is not tuple and type(row) is not list) or len(row) != size:
                return None
        level = list(chain.from_iterable(level))
    return level


def _unmasked(array: NDArray[Any], wanted: str) -> NDArray[Any]:
    # Only subclasses get here, because numpy.ma is imported on first use.
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError(f"{wanted}, not masked elements")
    return np.asarray(array)


def _from_sequence(items: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    if depth == 0:
        raise ValueError(f"{wanted}, not {short_repr(items)}")
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is float or kind is bool or _is_number(kind):
            return np.array(items)
        if kind is int:
            return _from_ints(items)
        if kind is list or kind is tuple:
            return _from_rows(items, depth, wanted)
    if any(is_array_like(kind) for kind in kinds):
        return _from_parts(items, depth, wanted)
    return np.fromiter(items, object, len(items))


def _is_number(kind: type) -> bool:
    """Return True for numpy's numbers; times of one type may have several units."""
    return issubclass(kind, (np.number, np.bool_)) and not issubclass(kind, np.timedelta64)


def _from_ints(items: Collection[int]) -> NDArray[Any]:
    """Return integers as int64 or uint64, or as objects if they fit into neither."""
    try:
        return np.array(items, np.int64)
    except OverflowError:
        wide = min(items) < 0 or max(items) >= 2**64
        return np.array(items, object if wide else np.uint64)


def _from_rows(rows: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return the array of a list of lists: items are gathered at once, then shaped."""
    lengths = set(map(len, rows))
    if len(lengths) > 1:
        raise ValueError(f"{wanted}, not rows that differ in length: {short_repr(rows)}")
    if depth == 1:
        raise ValueError(f"{wanted}, not {short_repr(rows)}")
    flat = _from_sequence(list(chain.from_iterable(rows)), depth - 1, wanted)
    return flat.reshape(len(rows), lengths.pop(), *flat.shape[1:])


def _from_parts(items: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return the array of a sequence of arrays, lists and single values, all of one shape."""
    parts = [
        (
            to_array(item, depth - 1, wanted)
            if is_array_like(type(item))
            else np.fromiter((item,), object, 1).reshape(())
        )
        for item in items
    ]
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise ValueError(f"{wanted}, not rows that differ in shape: {short_repr(items)}")
    if all(part.dtype == parts[0].dtype for part in parts):
        return np.stack(parts)
    flat = chain.from_iterable(part.flat for part in parts)
    count = len(parts) * parts[0].size
    return np.fromiter(flat, object, count).reshape(len(parts), *shape)


_HANDLE_BITS: Final = 64

_BLOCK: Final = 16_384
"""Handles checked at once, so that the scratch stays in the cache."""


def parse_count(
    count: SupportsIndex, things: str = "entities", before: str = "", manager: str = ""
) -> int:
    """Return a count as an int; TypeError for anything else, ValueError below 0.

    `before`: what `create_many` takes before a table, which may be passed by mistake.
    """
    whose = f"{manager}: " if manager else ""
    try:
        number = operator.index(count)
    except TypeError:
        kind = f"{type(count).__name__}{table_hint(count, before or things)}"
        raise TypeError(f"{whose}wanted a number of {things}, not {kind}") from None
    if number < 0:
        raise ValueError(f"{whose}can't create {number} {things}")
    return number


def parse_non_negative(label: str, value: Any) -> int:
    """Return an integer from 0 on, or raise TypeError or ValueError."""
    if isinstance(value, bool):
        raise TypeError(f"{label}: wanted a number, not {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{label}: wanted a number, not {short_repr(value)}") from None
    if number < 0:
        raise ValueError(f"{label}: wanted 0 or more, not {number}")
    return number


def as_entities(es: ArrayLike, what: str = "entities") -> EntityArray:
    """Return handles as a flat `uint64` array: the argument itself if it is one already.

    Numbers that can't be handles (negative, over 64 bits) become 0, which is never alive. Integers
    never pass through floats. Raises TypeError for anything but integers (an empty sequence is
    fine), ValueError for more than one dimension and for nulls. O(k).
    """
    try:
        array: NDArray[Any] = np.asarray(es)
    except (TypeError, ValueError) as error:  # sequences that differ in length, tables
        raise _not_flat(es, what, 2, short_repr(es)) from error
    if array.ndim != 1 or _is_masked(es):
        raise _not_flat(es, what, array.ndim, f"one of shape {array.shape}")
    kind = array.dtype.kind
    if kind in "ui":
        natural = array if kind == "u" else np.maximum(array, 0)
        handles: EntityArray = natural.astype(np.uint64, copy=False)
        return handles
    if kind == "O" or (kind == "f" and array is not es):
        # numpy makes floats of an empty list, of ints that share no integer type, and of nulls.
        refuse_nulls(es, what)
        numbers = map(operator.index, cast(Iterable[SupportsIndex], es))
        fits = (n if 0 <= n < 1 << _HANDLE_BITS else 0 for n in numbers)
        try:
            return np.fromiter(fits, np.uint64, len(array))
        except TypeError as error:
            raise TypeError(f"{what} are integers: {error}") from error
    raise TypeError(f"{what} are integers, not {array.dtype}")


def _not_flat(es: ArrayLike, what: str, ndim: int, shape_text: str) -> Exception:
    hint = table_hint(es, what if what == "entities" else "")
    if hint or ndim < 2:
        kind = f"{type(es).__name__}{hint}"
        return TypeError(f"expected an array or a sequence of {what}, not {kind}")
    return ValueError(f"expected a flat array of {what}, not {shape_text}")


def _is_masked(es: ArrayLike) -> bool:
    # An exact array is not asked, because numpy.ma is imported on first use.
    subclass = isinstance(es, np.ndarray) and type(es) is not np.ndarray
    return subclass and isinstance(es, np.ma.MaskedArray)


def are_stored_handles(cells: EntityArray, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Return which handles e the cells `e & mask` hold, shape (k,); clipped to the last cell.

    O(k), three times faster in blocks than with whole arrays; and again for blocks of entities
    in order of creation.
    """
    k = len(es)
    if k <= _BLOCK:
        return np.equal(cells.take((es & mask).view(np.int64), mode="clip"), es)
    held = np.empty(k, np.bool_)
    indices = np.empty(_BLOCK, np.uint64)
    stored = np.empty(_BLOCK, np.uint64)
    for start in range(0, k, _BLOCK):
        block = es[start : start + _BLOCK]
        n = len(block)
        if _is_run(cells, block, mask):
            held[start : start + n] = True
            continue
        np.bitwise_and(block, mask, out=indices[:n])
        cells.take(indices[:n].view(np.int64), out=stored[:n], mode="clip")
        np.equal(stored[:n], block, out=held[start : start + n])
    return held


def _is_run(cells: EntityArray, es: EntityArray, mask: int) -> bool:
    """Return True if the handles are those of consecutive cells."""
    first, end = int(es[0]) & mask, (int(es[-1]) & mask) + 1
    return end - first == len(es) and np.array_equal(cells[first:end], es)


def all_distinct_below(indices: NDArray[np.integer[Any]], bound: int) -> bool:
    """Return True if indices in `[0, bound)` are distinct; O(k log k), or O(k + bound)."""
    k = len(indices)
    if k < 2:
        return True
    if k * 16 < bound:
        ascending = np.sort(indices)
        return bool((ascending[1:] != ascending[:-1]).all())
    seen = np.zeros(bound, np.bool_)
    seen[indices] = True
    return int(np.count_nonzero(seen)) == k


def drop_duplicates(es: EntityArray) -> EntityArray:
    """Return each handle once, where it occurs first. O(k) if they ascend, else O(k log k)."""
    if (es[1:] > es[:-1]).all():
        return es
    _, first = np.unique(es, return_index=True)
    return es if len(first) == len(es) else es[np.sort(first)]


def find_first_duplicate(values: NDArray[Any]) -> int:
    """Return the position of the first value that occurred before; `len(values)` if none did.
    O(k) if they ascend, else O(k log k)."""
    if (values[1:] > values[:-1]).all():
        return len(values)
    _, first = np.unique(values, return_index=True)
    repeats = np.ones(len(values) + 1, np.bool_)
    repeats[first] = False
    return int(repeats.argmax())


SMALL_BATCH: Final = 16
"""Up to so many are looked up one by one, or created of the same values."""


def as_small_int_list(values: Any, most: int = SMALL_BATCH) -> list[int] | None:
    """Return a few plain integers as a list."""
    if type(values) is np.ndarray:
        if values.ndim != 1 or len(values) > most or values.dtype.kind not in "iu":
            return None
        numbers: list[int] = values.tolist()
        return numbers
    if type(values) is not list or len(values) > most:
        return None
    numbers = values.copy()  # values of other arguments may run code
    for number in numbers:
        if type(number) is not int:
            return None
    return numbers
