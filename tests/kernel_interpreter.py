"""What kernels mean, written from what the docs promise and nothing else: texts, row by row.

It shares no code with the generator: Python's own parser, integers as Python has them and cut to
their type afterwards, floats as numpy scalars. A value is a numpy scalar, a list of such (nested,
for shapes), or a bare Python number, which is a literal that has met no type yet. Texts must be
valid; nothing is checked, and nothing is fast.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

Value = Any
Row = dict[str, Value]
"""The fields, arguments and locals of one row, by name."""

SCALARS = {
    "bool": np.bool_,
    **{f"i{bits}": np.dtype(f"i{bits // 8}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}").type for bits in (8, 16, 32, 64)},
    "f32": np.float32,
    "f64": np.float64,
}


def run(steps: Sequence[str], row: Row, where: str = "") -> None:
    """Run steps over a row; its fields are replaced, and locals join them."""
    with np.errstate(all="ignore"):
        if where and not evaluated(where, row):
            return
        for step in steps:
            _assign(_parsed(step), row)


@cache
def _parsed(step: str) -> ast.stmt:
    return ast.parse(step).body[0]


def evaluated(text: str, row: Mapping[str, Value]) -> Value:
    """The value of an expression in a row."""
    with np.errstate(all="ignore"):
        return _value(ast.parse(text, mode="eval").body, row)


# --- types -----------------------------------------------------------------------------------


def is_literal(value: Value) -> bool:
    return type(value) in (int, float)


def wrapped(value: int, kind: Any) -> Any:
    """An integer of any size cut to the bits of a type."""
    limits = np.iinfo(kind)
    span = int(limits.max) - int(limits.min) + 1
    return kind((value - int(limits.min)) % span + int(limits.min))


def converted(value: Value, kind: Any) -> Any:
    """A number in another type: integers wrap, floats are rounded, cut and kept in range."""
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
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    if not math.isfinite(value):
        return kind(high if value > 0 else low)
    return kind(min(max(math.trunc(float(value)), low), high))


def _kind_of(*values: Value) -> Any:
    """The type in which scalars meet: numpy's promotion; literals have none, unless a float meets
    integers."""
    given = [value.dtype for value in values if not is_literal(value)]
    kind = np.result_type(*given).type
    if issubclass(kind, np.integer) and any(isinstance(value, float) for value in values):
        return np.float64
    return kind


def _met(*values: Value) -> list[Any]:
    kind = _kind_of(*values)
    return [converted(value, kind) for value in values]


def _settled(value: Value) -> Value:
    """A literal that stands alone."""
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, int):
        return np.int64(value) if value < 2**63 else np.uint64(value)
    return value


# --- statements ------------------------------------------------------------------------------


def _assign(step: ast.stmt, row: Row) -> None:
    if isinstance(step, ast.AugAssign):
        target: ast.expr = step.target
        value = _each(_BINARY[type(step.op)], _value(target, row), _value(step.value, row))
    else:
        assert isinstance(step, ast.Assign)
        target, value = step.targets[0], _value(step.value, row)
    if isinstance(target, ast.Name) and target.id not in row:
        row[target.id] = _each(_settled, value)
    elif isinstance(target, ast.Name):
        row[target.id] = _fitted(value, row[target.id])
    else:
        holder, index = _place(target)
        row[holder] = _replaced(row[holder], index, value)


def _fitted(value: Value, before: Value) -> Value:
    """A value as a place takes it that has a value already."""
    if isinstance(before, list):
        parts = value if isinstance(value, list) else [value] * len(before)
        return [_fitted(part, old) for part, old in zip(parts, before, strict=True)]
    return converted(value, type(before))


def _place(target: ast.expr) -> tuple[str, tuple[int, ...]]:
    if isinstance(target, ast.Name):
        return target.id, ()
    if isinstance(target, ast.Attribute):
        holder, index = _place(target.value)
        return holder, (*index, "xyzw".index(target.attr))
    assert isinstance(target, ast.Subscript)
    holder, index = _place(target.value)
    return holder, (*index, *_indices(target))


def _replaced(before: Value, index: tuple[int, ...], value: Value) -> Value:
    if not index:
        return _fitted(value, before)
    part = _replaced(before[index[0]], index[1:], value)
    return [part if place == index[0] else old for place, old in enumerate(before)]


# --- expressions -----------------------------------------------------------------------------


def _value(node: ast.expr, row: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant():
            return np.bool_(node.value) if isinstance(node.value, bool) else node.value
        case ast.Name():
            return row[node.id]
        case ast.Attribute():
            whole = ast.unparse(node)  # of another component, or a member of an enum
            return row[whole] if whole in row else _value(node.value, row)["xyzw".index(node.attr)]
        case ast.Subscript():
            return reduce(lambda found, k: found[k], _indices(node), _value(node.value, row))
        case ast.UnaryOp():
            return _each(_UNARY[type(node.op)], _value(node.operand, row))
        case ast.BinOp(op=ast.MatMult()):
            return _product(_value(node.left, row), _value(node.right, row))
        case ast.BinOp():
            return _each(_BINARY[type(node.op)], _value(node.left, row), _value(node.right, row))
        case ast.BoolOp():
            all_or_any = _both if isinstance(node.op, ast.And) else _either
            values = [_value(one, row) for one in node.values]
            return reduce(lambda a, b: _each(all_or_any, a, b), values)
        case ast.Compare():
            values = [_value(one, row) for one in (node.left, *node.comparators)]
            tests = [
                _each(_compared(type(sign)), a, b)
                for sign, a, b in zip(node.ops, values, values[1:], strict=False)
            ]
            return reduce(lambda a, b: _each(_both, a, b), tests)
        case ast.IfExp():
            parts = (node.test, node.body, node.orelse)
            return _each(_chosen, *(_value(part, row) for part in parts))
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, [_value(argument, row) for argument in node.args])
    raise TypeError(ast.dump(node))


def _indices(node: ast.Subscript) -> list[int]:
    return list(np.atleast_1d(ast.literal_eval(node.slice)))


def _each(function: Callable[..., Value], *values: Value) -> Value:
    """A function of scalars on every element; what has no shape goes with each."""
    lengths = [len(value) for value in values if isinstance(value, list)]
    if not lengths:
        return function(*values)
    spread = [value if isinstance(value, list) else [value] * lengths[0] for value in values]
    return [_each(function, *parts) for parts in zip(*spread, strict=True)]


def _called(name: str, values: list[Value]) -> Value:
    if name in SCALARS:
        return _each(lambda value: converted(value, SCALARS[name]), *values)
    if name in ("min", "max"):
        extreme = _smaller if name == "min" else _larger
        return reduce(lambda a, b: _each(extreme, a, b), values)
    if name == "clip":
        return _called("min", [_called("max", values[:2]), values[2]])
    if name in _OF_VECTORS:
        return _OF_VECTORS[name](*values)
    return _each(_FUNCTIONS[name], *values)


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
        return _BINARY[ast.Mult](a, a)
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


def _compared(sign: type[ast.cmpop]) -> Callable[[Value, Value], Any]:
    """A comparison: of integers exact, else in the type in which they meet."""

    def compare(a: Value, b: Value) -> Any:
        if not isinstance(a, np.bool_):
            if all(isinstance(one, int | np.integer) for one in (a, b)):
                a, b = int(a), int(b)
            elif not (is_literal(a) and is_literal(b)):
                a, b = _met(a, b)
        return np.bool_(_COMPARISONS[sign](a, b))

    return compare


def _both(a: Any, b: Any) -> Any:
    return np.bool_(bool(a) and bool(b))


def _either(a: Any, b: Any) -> Any:
    return np.bool_(bool(a) or bool(b))


def _chosen(test: Any, then: Value, otherwise: Value) -> Value:
    if is_literal(then) and is_literal(otherwise):
        if isinstance(then, float) or isinstance(otherwise, float):
            then, otherwise = float(then), float(otherwise)
    elif not isinstance(then, np.bool_):
        then, otherwise = _met(then, otherwise)
    return then if test else otherwise


def _smaller(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return min(a, b)
    a, b = _met(a, b)
    return a if a != a or a < b else b


def _larger(a: Value, b: Value) -> Value:
    if is_literal(a) and is_literal(b):
        return max(a, b)
    a, b = _met(a, b)
    return a if a != a or a > b else b


def _negative(a: Value) -> Value:
    return wrapped(-int(a), type(a)) if isinstance(a, np.integer) else -a


def _absolute(a: Value) -> Value:
    return wrapped(abs(int(a)), type(a)) if isinstance(a, np.integer) else abs(a)


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


# --- vectors and matrices --------------------------------------------------------------------


def _plus(a: Value, b: Value) -> Value:
    return _BINARY[ast.Add](a, b)


def _times(a: Value, b: Value) -> Value:
    return _BINARY[ast.Mult](a, b)


def _dot(a: list[Value], b: list[Value]) -> Value:
    return reduce(_plus, [_times(x, y) for x, y in zip(a, b, strict=True)])


def _norm(a: list[Value]) -> Value:
    floats = [_FUNCTIONS["real"](x) for x in a]
    return np.sqrt(_dot(floats, floats))


def _normalize(a: list[Value]) -> Value:
    length, floats = _norm(a), [_FUNCTIONS["real"](x) for x in a]
    return floats if length == 0 else [x / length for x in floats]


def _cross(a: list[Value], b: list[Value]) -> Value:
    minus = _BINARY[ast.Sub]
    turns = ((1, 2), (2, 0), (0, 1))
    return [minus(_times(a[i], b[j]), _times(a[j], b[i])) for i, j in turns]


def _product(a: list[Value], b: list[Value]) -> Value:
    if not isinstance(b[0], list):
        return [_dot(line, b) for line in a] if isinstance(a[0], list) else _dot(a, b)
    columns = [list(column) for column in zip(*b, strict=True)]
    if isinstance(a[0], list):
        return [[_dot(line, column) for column in columns] for line in a]
    return [_dot(a, column) for column in columns]


_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
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
_UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: _negative,
    ast.UAdd: lambda a: a,
    ast.Not: lambda a: np.bool_(not a),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "real": _real(lambda a: a),
    "abs": _absolute,
    "sqrt": lambda a: np.sqrt(_FUNCTIONS["real"](a)),
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
    "round": _whole(np.rint),
}
_OF_VECTORS: dict[str, Callable[..., Value]] = {
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
}
