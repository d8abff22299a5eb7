"""Values to arrays that hold exactly what was given.

`np.asarray` alone turns `[2**63, 1]` into floats, `[True, 2]` into integers and cuts NULs off text.
Here a list becomes a typed array only when all its leaves are of one type, otherwise an array of
the leaves themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..arrow.library import is_column

if TYPE_CHECKING:
    from .base import Field

_SHOWN: Final = 80
"""Characters of a value that an error message shows."""

_SINGLE: Final = (float, int, str, bytes, bytearray, np.generic, Mapping)
"""Types of one value, elements or `__array__` notwithstanding."""

_ARRAY_PROTOCOLS: Final = ("__array__", "__array_interface__", "__array_struct__")


def shown(value: object) -> str:
    """Return a short `repr` for error messages, whatever the value is."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = _SHOWN
    try:
        text = short.repr(value)
    except Exception:  # integers of over 4300 digits, broken __repr__ of a nested value
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def is_array_like(kind: type) -> bool:
    """Whether values of a type have elements: sequences and arrays, 0-d arrays included."""
    if kind is list or kind is tuple or kind is np.ndarray:
        return True
    if issubclass(kind, _SINGLE):
        return False
    # `hasattr` would find what a metaclass defines, such as the length of an enum.
    defined = set(chain.from_iterable(map(vars, kind.__mro__)))
    return (
        not defined.isdisjoint(_ARRAY_PROTOCOLS)
        or {"__len__", "__getitem__"} <= defined
    )


def gathered(
    value: Any, depth: int, wanted: str, field: Field | None = None
) -> NDArray[Any]:
    """Return an array-like as an array of a plain type or of objects; O(elements).

    An array is returned as it is, unless it is one of objects. Lists may be nested `depth` levels.
    Error messages begin with `wanted`. `field` is who takes the elements.

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
    if is_column(type(value)):
        from ..arrow.reading import read_column  # for columns of other libraries alone

        name = wanted.partition(": ")[0] if field is None else field.name
        return gathered(read_column(value, name, field), depth, wanted)
    if any(hasattr(type(value), protocol) for protocol in _ARRAY_PROTOCOLS):
        return gathered(np.asarray(value), depth, wanted)
    try:
        view = memoryview(value)
    except TypeError:
        return _from_sequence(list(value), depth, wanted)
    return np.asarray(view)


def leaves(value: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
    """Return the elements of nested lists and tuples of exactly a shape, or None for others."""
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
        raise ValueError(f"{wanted}, not {shown(items)}")
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is float or kind is bool or issubclass(kind, (np.number, np.bool_)):
            return np.array(items)
        if kind is int:
            return _from_ints(items)
        if kind is list or kind is tuple:
            return _from_rows(items, depth, wanted)
    if any(is_array_like(kind) for kind in kinds):
        return _from_parts(items, depth, wanted)
    return np.fromiter(items, object, len(items))


def _from_ints(items: Collection[int]) -> NDArray[Any]:
    """Return integers as int64 or uint64, or as objects if they fit into neither."""
    try:
        return np.array(items, np.int64)
    except OverflowError:
        wide = min(items) < 0 or max(items) >= 2**64
        return np.array(items, object if wide else np.uint64)


def _from_rows(rows: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return a list of lists: the leaves gathered at once, then shaped."""
    lengths = set(map(len, rows))
    if len(lengths) > 1:
        raise ValueError(f"{wanted}, not rows that differ in length: {shown(rows)}")
    if depth == 1:
        raise ValueError(f"{wanted}, not {shown(rows)}")
    flat = _from_sequence(list(chain.from_iterable(rows)), depth - 1, wanted)
    return flat.reshape(len(rows), lengths.pop(), *flat.shape[1:])


def _from_parts(items: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return a sequence of arrays, lists and single values, all of one shape."""
    parts = [
        (
            gathered(item, depth - 1, wanted)
            if is_array_like(type(item))
            else np.fromiter((item,), object, 1).reshape(())
        )
        for item in items
    ]
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise ValueError(f"{wanted}, not rows that differ in shape: {shown(items)}")
    if all(part.dtype == parts[0].dtype for part in parts):
        return np.stack(parts)
    flat = chain.from_iterable(part.flat for part in parts)
    count = len(parts) * parts[0].size
    return np.fromiter(flat, object, count).reshape(len(parts), *shape)
