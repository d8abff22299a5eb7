"""Totals over all rows of all ranks."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .exact import odd_total, rounded, total_of
from .lockstep import LockStep, agreed


def exact_sum(step: LockStep, values: ArrayLike) -> Any:
    """Return the sum over all rows of all ranks, axis 0: exact, of floats rounded once.

    A Python number for a flat column, else an array; 0 without rows. O(n).
    """

    def told() -> Any:
        given = _numbers(values)
        flat = given.reshape(len(given), prod(given.shape[1:]))
        totals = [total_of(flat[:, k]) for k in range(flat.shape[1])]
        return (
            given.dtype.kind,
            given.shape[1:],
            [[str(t), odd] for t, odd in totals],
        )

    parts = step.gather("sum", told)
    shape = _same_shape([shape for _, shape, _ in parts])
    is_float = any(kind == "f" for kind, _, _ in parts)
    columns = zip(*(totals for _, _, totals in parts), strict=True)
    found: list[Any] = []
    for column in columns:
        total = sum(
            _units(part[0], kind, is_float)
            for part, (kind, _, _) in zip(column, parts, strict=True)
        )
        found.append(
            rounded(total, odd_total([p[1] for p in column])) if is_float else total
        )
    return found[0] if not shape else np.array(found).reshape(shape)


def extreme(
    step: LockStep, call: str, values: ArrayLike, pick: Any, none: float
) -> Any:
    """Return the value that `pick` finds in all rows, `none` without rows. O(n)."""

    def told() -> Any:
        given = _numbers(values)
        return given.shape[1:], pick(given, axis=0).tolist() if len(given) else None

    parts = step.gather(call, told)
    shape = _same_shape([shape for shape, _ in parts])
    found = [value for _, value in parts if value is not None]
    if not found:
        return none if not shape else np.full(shape, none)
    best = pick(np.array(found), axis=0)
    return best.item() if not shape else best


def whole_number(label: str, given: Any) -> int:
    """Return an integer from 0 on, or raise TypeError or ValueError."""
    if isinstance(given, bool):
        raise TypeError(f"{label}: wanted a number, not {given}")
    number = index(given)
    if number < 0:
        raise ValueError(f"{label}: wanted 0 or more, not {number}")
    return number


def _numbers(values: ArrayLike) -> NDArray[Any]:
    given = np.asarray(values)
    if given.ndim == 0 or given.dtype.kind not in "biuf":
        raise TypeError(
            f"wanted a column of numbers, not {given.dtype} of {given.shape}"
        )
    return given


def _same_shape(shapes: list[Any]) -> tuple[int, ...]:
    return agreed([*map(tuple, shapes)], "have cells of the shapes {} and {}")


def _units(total: str, kind: str, is_float: bool) -> int:
    """Return a total in the units of floats, if others have those."""
    return int(total) if kind == "f" or not is_float else int(total) << 1126
