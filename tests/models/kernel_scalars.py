"""What kernels' operations give of scalars, written from what the docs promise and nothing else.

Integers are computed as Python has them and cut to their type afterwards, floats are numpy scalars.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Value = Any
"""A numpy scalar, or a bare Python number: a literal that has met no type yet."""
SCALARS = {
    "bool": np.bool_,
    **{f"i{bits}": np.dtype(f"i{bits // 8}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}").type for bits in (8, 16, 32, 64)},
    "f32": np.float32,
    "f64": np.float64,
}


# --- types -----------------------------------------------------------------------------------


def is_literal(value: Value) -> bool:
    return type(value) in (int, float)


def wrapped(value: int, kind: Any) -> Any:
    """An integer of any size cut to the bits of a type."""
    low, high = _limits(kind)
    return kind((value - low) % (high - low + 1) + low)


@cache
def _limits(kind: Any) -> tuple[int, int]:
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


def converted(value: Value, kind: Any) -> Any:
    """A number in another type: integers wrap, floats are rounded, cut and kept in range."""
    if type(value) is kind:
        return value
    if kind is np.bool_:
        return np.bool_(value != 0)
    if issubclass(kind, np.floating):
        if isinstance(value, int):
            return np.float64(value).astype(kind)
        return np.asarray(value).astype(kind)[()]
    if isinstance(value, int | np.integer | np.bool_):
        return wrapped(int(value), kind)
    if value != value:
        return kind(0)
    low, high = _limits(kind)
    if not math.isfinite(value):
        return kind(high if value > 0 else low)
    return kind(min(max(math.trunc(float(value)), low), high))


def _kind_of(*values: Value) -> Any:
    """The type in which scalars meet: numpy's promotion; literals have none, unless a float meets
    integers."""
    return _meeting(tuple(map(type, values)))


@cache
def _meeting(kinds: tuple[type, ...]) -> Any:
    met = np.result_type(*(kind for kind in kinds if kind not in (int, float))).type
    return np.float64 if issubclass(met, np.integer) and float in kinds else met


def _met(*values: Value) -> list[Any]:
    kind = _kind_of(*values)
    return [converted(value, kind) for value in values]


# --- operations on scalars -------------------------------------------------------------------


def _arithmetic(of_integers: Any, of_floats: Any = None) -> Callable[[Value, Value], Value]:
    """An operation in the type in which its operands meet."""

    def compute(a: Value, b: Value) -> Value:
        if is_literal(a) and is_literal(b):
            return of_integers(a, b)
        a, b = _met(a, b)
        if isinstance(a, np.integer):
            return wrapped(of_integers(int(a), int(b)), type(a))
        return type(a)((of_floats or of_integers)(a, b))

    return compute


def _divide(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return a / b
    a, b = _met(a, b)
    return np.float64(a) / np.float64(b) if isinstance(a, np.integer) else a / b


def _floats_divided(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient rounded down and what it leaves, as Python has them, in the operands' type."""
    kind = type(a)
    if b == 0 or a != a or b != b or math.isinf(a):
        return (a / b if b == 0 else kind(np.nan)), kind(np.nan)
    rest = kind(math.fmod(a, b))
    quotient = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        rest, quotient = rest + b, quotient - kind(1)
    elif rest == 0:
        rest = np.copysign(kind(0), b)
    if quotient == 0:
        return np.copysign(kind(0), a / b), rest
    below = np.floor(quotient)
    return (below + kind(1) if quotient - below > 0.5 else below), rest


def _power(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return a**b
    if is_literal(b) and b == 2 and (isinstance(a, np.floating) or isinstance(b, int)):
        return BINARY[ast.Mult](a, a)
    if is_literal(b) and b == 0.5 and isinstance(a, np.floating):
        return np.sqrt(a)
    kind = _kind_of(a, b)
    if issubclass(kind, np.integer):
        return wrapped(int(a) ** int(b), kind)
    return kind(_real_power(float(converted(a, kind)), float(converted(b, kind))))


def _real_power(a: float, b: float) -> float:
    """The C library's power, without Python's exceptions."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # of a negative number, or of 0 with a negative exponent
        if a != 0:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def compared(sign: type[ast.cmpop]) -> Callable[[Value, Value], Any]:
    """A comparison: of integers exact, else in the type in which they meet."""

    def compare(a: Value, b: Value) -> Any:
        if not isinstance(a, np.bool_):
            if all(isinstance(one, int | np.integer) for one in (a, b)):
                a, b = int(a), int(b)
            elif not (is_literal(a) and is_literal(b)):
                a, b = _met(a, b)
        return np.bool_(COMPARISONS[sign](a, b))

    return compare


def both(a: Any, b: Any) -> Any:
    return np.bool_(bool(a) and bool(b))


def either(a: Any, b: Any) -> Any:
    return np.bool_(bool(a) or bool(b))


def chosen(test: Any, then: Value, otherwise: Value) -> Value:
    if is_literal(then) and is_literal(otherwise):
        if isinstance(then, float) or isinstance(otherwise, float):
            then, otherwise = float(then), float(otherwise)
    elif not isinstance(then, np.bool_):
        then, otherwise = _met(then, otherwise)
    return then if test else otherwise


def smaller(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return min(a, b)
    a, b = _met(a, b)
    return a if a != a or a < b else b


def larger(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return max(a, b)
    a, b = _met(a, b)
    return a if a != a or a > b else b


def _negative(a: Value) -> Value:
    return wrapped(-int(a), type(a)) if isinstance(a, np.integer) else -a


def _absolute(a: Value) -> Value:
    return wrapped(abs(int(a)), type(a)) if isinstance(a, np.integer) else abs(a)


def _sign(a: Value) -> Value:
    sign = a if a != a else (a > 0) * 1 - (a < 0) * 1
    return sign if is_literal(a) else type(a)(sign)


def _wider(kind: Any) -> Any:
    return np.float64 if kind is np.float32 else np.longdouble


def _real(function: Callable[..., Any]) -> Callable[..., Value]:
    """A function of reals: of integers in f64; computed with more bits, then rounded."""

    def compute(*values: Value) -> Value:
        if all(map(is_literal, values)):
            values = tuple(map(np.float64, values))
        kind = _kind_of(*values)
        kind = kind if issubclass(kind, np.floating) else np.float64
        given = (converted(value, kind).astype(_wider(kind)) for value in values)
        return function(*given).astype(kind)

    return compute


def _whole(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    return lambda a: a if isinstance(a, int | np.integer) else function(a)


BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _arithmetic(lambda a, b: a + b),
    ast.Sub: _arithmetic(lambda a, b: a - b),
    ast.Mult: _arithmetic(lambda a, b: a * b),
    ast.Div: _divide,
    ast.FloorDiv: _arithmetic(
        lambda a, b: a // b if b != 0 else 0, lambda a, b: _floats_divided(a, b)[0]
    ),
    ast.Mod: _arithmetic(
        lambda a, b: a % b if b != 0 else 0, lambda a, b: _floats_divided(a, b)[1]
    ),
    ast.Pow: _power,
}
UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: _negative,
    ast.UAdd: lambda a: a,
    ast.Not: lambda a: np.bool_(not a),
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "real": _real(lambda a: a),
    "abs": _absolute,
    "sqrt": lambda a: np.sqrt(FUNCTIONS["real"](a)),
    "exp": _real(np.exp),
    "log": _real(np.log),
    "sin": _real(np.sin),
    "cos": _real(np.cos),
    "tan": _real(np.tan),
    "asin": _real(np.arcsin),
    "acos": _real(np.arccos),
    "atan2": _real(np.arctan2),
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "trunc": _whole(np.trunc),
    "round": _whole(np.rint),
    "sign": _sign,
    "hypot": _real(np.hypot),
    **{name: _real(getattr(np, name)) for name in ("log2", "log10", "sinh", "cosh", "tanh")},
}
NAMES: dict[str, Value] = {
    "pi": math.pi,
    "tau": 2 * math.pi,
    "true": np.bool_(True),
    "false": np.bool_(False),
}
"""What names mean that a schema gives to nothing of its own."""
