"""What kernels mean, written from what the docs promise and nothing else: texts, row by row.

It shares no code with the generator. A value is a scalar as in `kernel_scalars`, or a list of such
(nested, for shapes). Texts must be valid; nothing is checked, and nothing is fast.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from tests.models.kernel_scalars import (
    BINARY,
    FUNCTIONS,
    NAMES,
    SCALARS,
    UNARY,
    both,
    chosen,
    compared,
    converted,
    either,
    larger,
    settled,
    smaller,
)

Value = Any
Row = dict[str, Value]
"""The fields, arguments and locals of one row, by name."""


def run(steps: Sequence[str], row: Row, where: str = "") -> None:
    """Run steps over a row; its fields are replaced, and locals join them."""
    with np.errstate(all="ignore"):
        if not where or _value(_parsed_expression(where), row):
            for step in steps:
                _assign(_parsed(step), row)


@cache
def _parsed(step: str) -> ast.stmt:
    return ast.parse(step).body[0]


def evaluated(text: str, row: Mapping[str, Value]) -> Value:
    """The value of an expression in a row."""
    with np.errstate(all="ignore"):
        return _value(_parsed_expression(text), row)


@cache
def _parsed_expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


# --- statements ------------------------------------------------------------------------------


def _assign(step: ast.stmt, row: Row) -> None:
    if isinstance(step, ast.AugAssign):
        target: ast.expr = step.target
        value = _each(BINARY[type(step.op)], _value(target, row), _value(step.value, row))
    else:
        assert isinstance(step, ast.Assign)
        target, value = step.targets[0], _value(step.value, row)
    if isinstance(target, ast.Name) and target.id not in row:
        row[target.id] = _each(settled, value)
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
            return row[node.id] if node.id in row else NAMES[node.id]
        case ast.Attribute():
            whole = ast.unparse(node)  # of another component, or a member of an enum
            return row[whole] if whole in row else _value(node.value, row)["xyzw".index(node.attr)]
        case ast.Subscript():
            return reduce(lambda found, k: found[k], _indices(node), _value(node.value, row))
        case ast.UnaryOp():
            return _each(UNARY[type(node.op)], _value(node.operand, row))
        case ast.BinOp(op=ast.MatMult()):
            return _product(_value(node.left, row), _value(node.right, row))
        case ast.BinOp():
            return _each(BINARY[type(node.op)], _value(node.left, row), _value(node.right, row))
        case ast.BoolOp():
            all_or_any = both if isinstance(node.op, ast.And) else either
            values = [_value(one, row) for one in node.values]
            return reduce(lambda a, b: _each(all_or_any, a, b), values)
        case ast.Compare():
            values = [_value(one, row) for one in (node.left, *node.comparators)]
            tests = [
                _each(compared(type(sign)), a, b)
                for sign, a, b in zip(node.ops, values, values[1:], strict=False)
            ]
            return reduce(lambda a, b: _each(both, a, b), tests)
        case ast.IfExp():
            parts = (node.test, node.body, node.orelse)
            return _each(chosen, *(_value(part, row) for part in parts))
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
        extreme = smaller if name == "min" else larger
        return reduce(lambda a, b: _each(extreme, a, b), values)
    if name == "clip":
        return _called("min", [_called("max", values[:2]), values[2]])
    if name in _OF_VECTORS:
        return _OF_VECTORS[name](*values)
    return _each(FUNCTIONS[name], *values)


# --- vectors and matrices --------------------------------------------------------------------


def _plus(a: Value, b: Value) -> Value:
    return BINARY[ast.Add](a, b)


def _times(a: Value, b: Value) -> Value:
    return BINARY[ast.Mult](a, b)


def _dot(a: list[Value], b: list[Value]) -> Value:
    return reduce(_plus, [_times(x, y) for x, y in zip(a, b, strict=True)])


def _norm(a: list[Value]) -> Value:
    floats = [FUNCTIONS["real"](x) for x in a]
    return np.sqrt(_dot(floats, floats))


def _normalize(a: list[Value]) -> Value:
    length, floats = _norm(a), [FUNCTIONS["real"](x) for x in a]
    return floats if length == 0 else [x / length for x in floats]


def _cross(a: list[Value], b: list[Value]) -> Value:
    minus = BINARY[ast.Sub]
    turns = ((1, 2), (2, 0), (0, 1))
    return [minus(_times(a[i], b[j]), _times(a[j], b[i])) for i, j in turns]


def _product(a: list[Value], b: list[Value]) -> Value:
    if not isinstance(b[0], list):
        return [_dot(line, b) for line in a] if isinstance(a[0], list) else _dot(a, b)
    columns = [list(column) for column in zip(*b, strict=True)]
    if isinstance(a[0], list):
        return [[_dot(line, column) for column in columns] for line in a]
    return [_dot(a, column) for column in columns]


_OF_VECTORS: dict[str, Callable[..., Value]] = {
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
}
