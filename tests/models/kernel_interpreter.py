"""What steps with numbers alone mean, written from what the docs promise and nothing else.

It shares no code with the generator, nor with what it calls: a value is a scalar as in
`kernel_scalars`. Texts must be valid; nothing is checked, and nothing is fast.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache, partial, reduce
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
    smaller,
)

Value = Any
Row = Mapping[str, Value]


def assigned(text: str, row: Row, where: str, before: Value) -> Value:
    """What is in a place to which an expression is assigned, where a condition holds."""
    if where and not _parsed(where)(row):
        return before
    return converted(_parsed(text)(row), type(before))


@cache
def _parsed(text: str) -> Callable[[Row], Value]:
    return _function(ast.parse(text, mode="eval").body)


def _function(node: ast.expr) -> Callable[[Row], Value]:
    """What gives the value of an expression for a row."""
    match node:
        case ast.Constant(value=literal):
            value = np.bool_(literal) if isinstance(literal, bool) else literal
            return lambda row: value
        case ast.Name(id=name):
            return lambda row: row[name] if name in row else NAMES[name]
        case ast.UnaryOp():
            return _applied(UNARY[type(node.op)], [node.operand])
        case ast.BinOp():
            return _applied(BINARY[type(node.op)], [node.left, node.right])
        case ast.BoolOp():
            all_or_any = both if isinstance(node.op, ast.And) else either
            return _applied(lambda *values: reduce(all_or_any, values), node.values)
        case ast.Compare():
            signs = [compared(type(sign)) for sign in node.ops]
            return _applied(partial(_in_a_row, signs), [node.left, *node.comparators])
        case ast.IfExp():
            return _applied(chosen, [node.test, node.body, node.orelse])
        case ast.Call(func=ast.Name(id=name)):
            return _applied(_called(name), node.args)
    raise TypeError(ast.dump(node))


def _applied(function: Callable[..., Value], operands: list[ast.expr]) -> Callable[[Row], Value]:
    of_row = [_function(one) for one in operands]
    return lambda row: function(*[one(row) for one in of_row])


def _in_a_row(signs: list[Callable[[Value, Value], Any]], *values: Value) -> Any:
    """Whether all comparisons of a chain hold."""
    pairs = zip(signs, values, values[1:], strict=False)
    return reduce(both, [sign(a, b) for sign, a, b in pairs])


def _called(name: str) -> Callable[..., Value]:
    if name in SCALARS:
        return lambda value: converted(value, SCALARS[name])
    if name in ("min", "max"):
        return lambda *values: reduce(smaller if name == "min" else larger, values)
    if name == "clip":
        return lambda value, low, high: smaller(larger(value, low), high)
    return FUNCTIONS[name]
