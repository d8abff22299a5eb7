"""The operations of kernels in plain Python, one scalar after another."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel_cells import Value


def number(scalar: str, value: Any) -> Value:
    """Return a literal."""
    return [np.dtype(scalar).type(value)]


def element(value: Value, shape: tuple[int, ...], *index: int) -> Value:
    """Return an element of a shape, or what is left of it."""
    places = np.arange(math.prod(shape)).reshape(shape)[index]
    return [value[place] for place in np.ravel(places).tolist()]


def cast(value: Value, scalar: str) -> Value:
    """Return a value in another type: integers wrap, floats are cut, NaN is 0."""
    return [_converted(one, np.dtype(scalar)) for one in value]


def apply(name: str, *operands: Value) -> Value:
    """Return what an operation makes of each element."""
    longest = max(map(len, operands))
    spread = [value * longest if len(value) == 1 else value for value in operands]
    return [SCALARS[name](*one) for one in zip(*spread, strict=True)]


def dot(left: Value, right: Value) -> Value:
    """Return the sum of products, from left to right."""
    total = left[0] * right[0]
    for x, y in zip(left[1:], right[1:], strict=True):
        total = total + x * y
    return [total]


def norm(vector: Value) -> Value:
    """Return the length."""
    return [np.sqrt(dot(vector, vector)[0])]


def normalize(vector: Value) -> Value:
    """Return a vector of length 1, or the vector itself if it has none."""
    length = norm(vector)[0]
    return [x / length for x in vector] if length != 0 else vector


def cross(a: Value, b: Value) -> Value:
    """Return the cross product."""
    turns = ((1, 2), (2, 0), (0, 1))
    return [a[i] * b[j] - a[j] * b[i] for i, j in turns]


def matrix(left: Value, right: Value, inner: int) -> Value:
    """Return the matrix product over `inner` columns of the left and rows of the right side."""
    columns = len(right) // inner
    rows = [left[start : start + inner] for start in range(0, len(left), inner)]
    return [dot(row, right[i::columns])[0] for row in rows for i in range(columns)]


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fb" or value.dtype.kind != "f":
        return value.astype(dtype)
    limits = np.iinfo(dtype)
    if value != value:
        return dtype.type(0)
    clipped = min(max(value, float(limits.min)), float(limits.max))
    return dtype.type(min(max(math.trunc(float(clipped)), limits.min), limits.max))


def _power(a: Any, b: Any) -> Any:
    return np.power(a, b)


def _sign(a: Any) -> Any:
    return a if a != a else type(a)(int(a > 0) - int(a < 0))


def _smaller(a: Any, b: Any) -> Any:
    if a != a:
        return a
    return b if b != b or b < a else a


def _larger(a: Any, b: Any) -> Any:
    if a != a:
        return a
    return b if b != b or b > a else a


def _exactly(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """Return a comparison that is exact for an i64 and a u64 too, which numpy takes as f64."""

    def compared(a: Any, b: Any) -> Any:
        is_whole = isinstance(a, np.integer) and isinstance(b, np.integer)
        return np.bool_(compare(int(a), int(b)) if is_whole else compare(a, b))

    return compared


SCALARS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": _power,
    "neg": operator.neg,
    "square": lambda a: a * a,
    "<": _exactly(operator.lt),
    "<=": _exactly(operator.le),
    ">": _exactly(operator.gt),
    ">=": _exactly(operator.ge),
    "==": _exactly(operator.eq),
    "!=": _exactly(operator.ne),
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "if": lambda c, a, b: a if c else b,
    "abs": abs,
    "min": _smaller,
    "max": _larger,
    "sqrt": np.sqrt,
    "hypot": np.hypot,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
