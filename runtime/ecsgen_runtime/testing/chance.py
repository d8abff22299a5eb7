"""Random numbers of kernels, one at a time, as their definition says: for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ALL = 2**64 - 1
STEP = 0x9E3779B97F4A7C15
INVERSE = NormalDist().inv_cdf


class Drawing(NamedTuple):
    """How a kernel draws."""

    name: str
    """The kernel's, with that of its component."""
    key: str = ""
    """The field that tells rows apart, if it is not their entity or id."""


def mix(x: int) -> int:
    """Return a number of 64 bits made of another."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & ALL
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


def name_hash(name: str) -> int:
    """Return the FNV-1a of a name."""
    found = 0xCBF29CE484222325
    for byte in name.encode():
        found = (found ^ byte) * 0x100000001B3 & ALL
    return found


def stems(seed: int, name: str, call: int, who: NDArray[Any]) -> list[int]:
    """Return what all numbers of a row have in common, for each row."""
    key = mix(mix(seed ^ name_hash(name)) + call * STEP & ALL)
    return [mix(one ^ key) for one in who.tolist()]


def first_word(stem: int) -> int:
    """Return a row's first word, which tells when it is its turn."""
    return mix(stem + STEP & ALL)


def who_of(
    manager: Any, columns: Mapping[str, NDArray[Any]], drawing: Drawing
) -> NDArray[np.uint64]:
    """Return what tells the rows of a manager apart."""
    if drawing.key:
        return columns[drawing.key].copy()
    if manager._IS_LIST or not hasattr(manager.data, "entity"):
        ids: NDArray[np.uint64] = manager.id_of_many(np.arange(manager.data.n))
        return ids
    return np.array(manager.data.entity)


def numbers(
    how: str, stem: int, first: int, count: int, bounds: Sequence[list[Any]]
) -> Any:
    """Return so many numbers of a row, from the first one on."""
    words = [mix(stem + (first + k + 1) * STEP & ALL) for k in range(count)]
    if how == "random":
        return [np.float64((word >> 11) * 2.0**-53) for word in words]
    if how == "normal":
        return [np.float64(INVERSE(((word >> 12) + 0.5) * 2.0**-52)) for word in words]
    (given,) = bounds
    several = [int(bound) for bound in given] * (count if len(given) == 1 else 1)
    pairs = zip(words, several, strict=True)
    return [np.int64((word >> 32) * bound >> 32) for word, bound in pairs]
