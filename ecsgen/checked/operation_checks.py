"""Checks of one operation: what is wrong with its outcome, by its operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from ecsgen_testing.reference.values import NUMBERS, Value

Kinds = tuple[str, ...]
"""Kinds of findings."""


def _cross(a: Any, b: Any) -> Any:
    return a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]]


_EXACT: Final[Mapping[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "**": operator.pow,
    "@": np.matmul,
    "dot": np.matmul,
    "cross": _cross,
    "negative": operator.neg,
    "abs": abs,
    "sum": lambda *parts: sum(parts),
}
"""Operations on integers of any size; those that are not here never wrap."""
_DIVISIONS: Final = ("/", "//", "%")


def operation_kinds(name: str, operands: Sequence[Value], result: Value) -> Kinds:
    """Return what is wrong with an operation, function or conversion, by its sign or name."""
    if name in NUMBERS:
        return cast_kinds(operands[0], result)
    kinds: Kinds = ()
    if name in _DIVISIONS:
        divisor = operands[1]
        kinds = () if (np.all(divisor.data) if divisor.shape else divisor.data) else ("zero",)
    kind = result.kind
    if kind == "f":
        return kinds + float_kinds(result, operands)
    if name in _EXACT and kind in "iumM" and _wraps(name, operands, result):
        return (*kinds, "wrap")
    return kinds


def _wraps(name: str, operands: Sequence[Value], result: Value) -> bool:
    """Return whether integers or times do not fit; nobody knows of NaT and of `x // 0`."""
    cells, known = [_exact(operand) for operand in operands], []
    if name == "//":
        known = [cells[1] != 0]
        cells[1] = np.where(known[0], np.asarray(cells[1], object), 1)
    if name == "sum" and not result.shape:
        cells = [np.sum(part) for part in cells]
    wrong = _EXACT[name](*cells) != _exact(result)
    if wrong is False:  # of single integers
        return False
    known += [~np.isnat(operand.data) for operand in operands if operand.kind in "mM"]
    if result.kind in "mM":
        wrong |= np.isnat(result.data)  # NaT by chance
    return bool(np.any(wrong) and np.any(reduce(np.logical_and, known, wrong)))


def _exact(operand: Value) -> Any:
    """Return integers, or the units of times, as Python's; those with a shape in an array."""
    if operand.kind in "mM":
        return np.asarray(operand.data).astype(np.int64).astype(object)
    return np.asarray(operand.data).astype(object) if operand.shape else int(operand.data)


def cast_kinds(operand: Value, result: Value) -> Kinds:
    """Return what is wrong with a conversion."""
    if result.kind == "f":
        return float_kinds(result, (operand,))
    if operand.kind in "mM":
        return ("nan",) if np.any(np.isnat(operand.data)) else ()
    if result.kind not in "iu" or operand.kind not in "iuf":
        return ()
    cells, numbers = np.ravel(operand.data).tolist(), np.ravel(result.data).tolist()
    kinds: Kinds = ("nan",) if any(cell != cell for cell in cells) else ()
    finite = [pair for pair in zip(cells, numbers, strict=False) if math.isfinite(pair[0])]
    if any(int(cell) != number for cell, number in finite) or any(map(math.isinf, cells)):
        kinds = ("wrap", *kinds)
    return kinds


def float_kinds(result: Value, operands: Iterable[Value]) -> Kinds:
    """Return `nan` for a NaN that no operand has, `infinite` for an infinity of finite numbers."""
    cells = result.data
    if math.isfinite(cells) if not result.shape else np.isfinite(cells).all():
        return ()
    are_nan, are_infinite = np.isnan(cells), np.isinf(cells)
    for operand in operands:
        if operand.kind in "fm":
            was_nan, was_infinite = _spread(operand, result)
            are_nan, are_infinite = are_nan & ~was_nan, are_infinite & ~was_nan & ~was_infinite
    kinds: Kinds = ("nan",) if np.any(are_nan) else ()
    return (*kinds, "infinite") if np.any(are_infinite) else kinds


def _spread(operand: Value, result: Value) -> tuple[Any, Any]:
    """Return where an operand is NaN or infinite; in all elements where shapes differ."""
    is_time = operand.kind == "m"
    are_nan = np.isnat(operand.data) if is_time else np.isnan(operand.data)
    are_infinite = np.isinf(operand.data) if not is_time else np.zeros_like(are_nan)
    if operand.shape and operand.shape != result.shape:
        return np.any(are_nan), np.any(are_infinite)
    return are_nan, are_infinite


def is_lost(old: Value, delta: Value, result: Value) -> bool:
    """Return whether a finite number is as it was though something was added."""
    if result.kind != "f":
        return False
    stays = (np.asarray(result.data) == old.data) & np.isfinite(old.data)
    return bool(np.any(stays & (np.asarray(delta.data) != 0)))
