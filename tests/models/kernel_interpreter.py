"""What steps with numbers alone mean, written from what the docs promise and nothing else.

It shares no code with the generator, nor with what it calls: a value is a scalar as in
`kernel_scalars`. Texts must be valid; nothing is checked, and nothing is fast.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
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
    smaller,
)

Value = Any


def assigned(text: str, row: Mapping[str, Value], where: str, before: Value) -> Value:
    """What is in a place to which an expression is assigned, where a condition holds."""
    with np.errstate(all="ignore"):
        if where and not _value(_parsed(where), row):
            return before
        return converted(_value(_parsed(text), row), type(before))


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, row: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant():
            return np.bool_(node.value) if isinstance(node.value, bool) else node.value
        case ast.Name():
            return row[node.id] if node.id in row else NAMES[node.id]
        case ast.UnaryOp():
            return UNARY[type(node.op)](_value(node.operand, row))
        case ast.BinOp():
            return BINARY[type(node.op)](_value(node.left, row), _value(node.right, row))
        case ast.BoolOp():
            all_or_any = both if isinstance(node.op, ast.And) else either
            return reduce(all_or_any, [_value(one, row) for one in node.values])
        case ast.Compare():
            values = [_value(one, row) for one in (node.left, *node.comparators)]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return reduce(both, [compared(type(sign))(a, b) for sign, a, b in pairs])
        case ast.IfExp():
            return chosen(*(_value(part, row) for part in (node.test, node.body, node.orelse)))
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, [_value(argument, row) for argument in node.args])
    raise TypeError(ast.dump(node))


def _called(name: str, values: list[Value]) -> Value:
    if name in SCALARS:
        return converted(values[0], SCALARS[name])
    if name in ("min", "max"):
        return reduce(smaller if name == "min" else larger, values)
    if name == "clip":
        return smaller(larger(*values[:2]), values[2])
    return FUNCTIONS[name](*values)
