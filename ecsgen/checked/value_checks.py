"""Checks of one operation: what is wrong with its outcome, by its operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from ecsgen_testing.reference.values import Value

Kinds = tuple[str, ...]
"""Kinds of findings."""

_EXACT: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "**": operator.pow,
    "@": np.matmul,
}
"""Operations on integers of any size; those that are not here never wrap."""
_DIVISIONS: Final = ("/", "//", "%")


def arithmetic_kinds(sign: str, left: Value, right: Value, result: Value) -> Kinds:
    """Return what is wrong with an operation of two values."""
    kinds: Kinds = ()
    if sign in _DIVISIONS and not (np.all(right.data) if right.shape else right.data):
        kinds = ("zero",)
    if result.kind == "f":
        return kinds + float_kinds(result, (left, right))
    if result.kind in "mM":
        return kinds + time_kinds(sign, (left, right), result)
    if result.kind in "iu" and sign in _EXACT and _wraps(sign, left, right, result):
        return (*kinds, "wrap")
    return kinds


def _wraps(sign: str, left: Value, right: Value, result: Value) -> bool:
    if not (left.shape or right.shape):
        a, b = int(left.data), int(right.data)
        return bool((b or sign != "//") and _EXACT[sign](a, b) != int(result.data))
    divisor = exact(right)
    if sign == "//":
        divisor = np.where(divisor == 0, 1, divisor)
        return bool((_EXACT[sign](exact(left), divisor) != exact(result))[exact(right) != 0].any())
    return bool(np.any(_EXACT[sign](exact(left), divisor) != exact(result)))


def exact(integers: Value) -> Any:
    """Return integers as Python's, in an array."""
    return np.asarray(integers.data).astype(object)


def time_kinds(sign: str, operands: Iterable[Value], result: Value) -> Kinds:
    """Return `wrap` for times that do not fit, NaT by chance among them."""
    cells = [_ticks(operand) for operand in operands]
    is_known = np.all([~np.isnat(o.data) for o in operands if o.kind in "mM"], axis=0)
    wrong = is_known & (_EXACT[sign](*cells) != _ticks(result))
    return ("wrap",) if np.any(wrong | (is_known & np.isnat(result.data))) else ()


def _ticks(operand: Value) -> Any:
    """Return the units of times, and integers as they are, as Python's."""
    return np.asarray(operand.data).astype(np.int64).astype(object)


def negation_kinds(operand: Value, result: Value) -> Kinds:
    """Return what is wrong with `-x`."""
    if result.kind == "m":
        return ()  # all but NaT have a negative
    is_integer = result.kind in "iu"
    return ("wrap",) if is_integer and np.any(-exact(operand) != exact(result)) else ()


def function_kinds(name: str, operands: Iterable[Value], result: Value) -> Kinds:
    """Return what is wrong with a function, by its outcome."""
    if result.kind == "f":
        return float_kinds(result, operands)
    if result.kind in "mM":
        return ()  # one of the operands, or its absolute value
    if name == "abs" and result.kind in "iu":
        (operand,) = operands
        return ("wrap",) if np.any(abs(exact(operand)) != exact(result)) else ()
    return sum_kinds(operands, result) if name == "sum" else ()


def sum_kinds(operands: Iterable[Value], result: Value) -> Kinds:
    """Return what is wrong with a sum of all elements, or of the same ones of several values."""
    if result.kind == "f":
        return float_kinds(result, operands)
    cells = [exact(operand) for operand in operands]
    if not result.shape:
        cells = [np.sum(part) for part in cells]
    return ("wrap",) if result.kind in "iu" and np.any(sum(cells) != exact(result)) else ()


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
