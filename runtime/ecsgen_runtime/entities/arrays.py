"""Bulk arguments: arrays of handles from whatever holds integers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Final, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrow.library import refuse_nulls, table_hint
from ..convert.arrays import shown
from ..handles import EntityArray

_HANDLE_BITS: Final = 64

_BLOCK: Final = 16_384
"""Handles checked at once, so that the scratch stays in the cache."""


def as_count(count: SupportsIndex, wanted: str, before: str) -> int:
    """A number of things that are `wanted`, as an int; TypeError for what is none.

    `before`: what `create_many` takes before a table, which may be given in its place.
    """
    try:
        return operator.index(count)
    except TypeError:
        kind = f"{type(count).__name__}{table_hint(count, before)}"
        raise TypeError(f"{wanted}, not {kind}") from None


def entity_count(n: SupportsIndex) -> int:
    """A number of entities as an int; TypeError for what is none, ValueError below 0."""
    n = as_count(n, "wanted a number of entities", "entities")
    if n < 0:
        raise ValueError(f"can't create {n} entities")
    return n


def as_entities(es: ArrayLike, what: str = "entities") -> EntityArray:
    """The handles as a flat `uint64` array: the argument itself where it is one already.

    Numbers that can't be handles (negative, over 64 bits) become 0, which is never alive. Integers
    never pass through floats. Raises TypeError for anything but integers (an empty sequence is
    fine), ValueError for more than one dimension and for nulls. O(k).
    """
    try:
        given: NDArray[Any] = np.asarray(es)
    except (TypeError, ValueError) as error:  # sequences that differ in length, tables
        raise _not_flat(es, what, 2, shown(es)) from error
    if given.ndim != 1 or _is_masked(es):
        raise _not_flat(es, what, given.ndim, f"one of shape {given.shape}")
    kind = given.dtype.kind
    if kind in "ui":
        natural = given if kind == "u" else np.maximum(given, 0)
        handles: EntityArray = natural.astype(np.uint64, copy=False)
        return handles
    if kind == "O" or (kind == "f" and given is not es):
        # numpy makes floats of an empty list, of ints that share no integer type, and of nulls.
        refuse_nulls(es, what)
        return _from_integers(cast(Iterable[SupportsIndex], es), len(given))
    raise TypeError(f"{what} are integers, not {given.dtype}")


def _not_flat(es: ArrayLike, what: str, ndim: int, given: str) -> Exception:
    """The error of what is no array of one dimension."""
    hint = table_hint(es, what if what == "entities" else "")
    if hint or ndim < 2:
        kind = f"{type(es).__name__}{hint}"
        return TypeError(f"expected an array or a sequence of {what}, not {kind}")
    return ValueError(f"expected a flat array of {what}, not {given}")


def _is_masked(es: ArrayLike) -> bool:
    # An exact array is not asked, because numpy.ma is imported on first use.
    subclass = isinstance(es, np.ndarray) and type(es) is not np.ndarray
    return subclass and isinstance(es, np.ma.MaskedArray)


def _from_integers(numbers: Iterable[SupportsIndex], count: int) -> EntityArray:
    indices = map(operator.index, numbers)
    handles = (n if n >= 0 and n.bit_length() <= _HANDLE_BITS else 0 for n in indices)
    return np.fromiter(handles, np.uint64, count)


def are_held(cells: EntityArray, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Whether cell `e & mask` holds e, for each handle; the last cell stands for those behind it.

    O(k), three times faster in blocks than with whole arrays; and again for blocks of entities
    in order of creation.
    """
    k = len(es)
    if k <= _BLOCK:
        return np.equal(cells.take((es & mask).view(np.int64), mode="clip"), es)
    held = np.empty(k, np.bool_)
    indices = np.empty(_BLOCK, np.uint64)
    found = np.empty(_BLOCK, np.uint64)
    for start in range(0, k, _BLOCK):
        block = es[start : start + _BLOCK]
        n = len(block)
        if _is_run(cells, block, mask):
            held[start : start + n] = True
            continue
        np.bitwise_and(block, mask, out=indices[:n])
        cells.take(indices[:n].view(np.int64), out=found[:n], mode="clip")
        np.equal(found[:n], block, out=held[start : start + n])
    return held


def _is_run(cells: EntityArray, es: EntityArray, mask: int) -> bool:
    """Whether the handles are those of consecutive cells, which is seen without an index for
    each; most others are told by the first and the last."""
    first, end = int(es[0]) & mask, (int(es[-1]) & mask) + 1
    return end - first == len(es) and np.array_equal(cells[first:end], es)


def all_different(indices: NDArray[np.integer[Any]], bound: int) -> bool:
    """Whether no index in `[0, bound)` occurs twice. O(k log k), or O(k + bound) for large k."""
    k = len(indices)
    if k < 2:
        return True
    if k * 16 < bound:
        ascending = np.sort(indices)
        return bool((ascending[1:] != ascending[:-1]).all())
    seen = np.zeros(bound, np.bool_)
    seen[indices] = True
    return int(np.count_nonzero(seen)) == k


def without_repeats(es: EntityArray) -> EntityArray:
    """Each of the handles once, where it occurs first. O(k log k)."""
    _, first = np.unique(es, return_index=True)
    return es if len(first) == len(es) else es[np.sort(first)]


def first_repeat(values: NDArray[Any]) -> int:
    """The position of the first value that occurred before; `len(values)` if none does.
    O(k log k)."""
    _, first = np.unique(values, return_index=True)
    repeats = np.ones(len(values) + 1, np.bool_)
    repeats[first] = False
    return int(repeats.argmax())
