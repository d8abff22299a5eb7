"""Operations on compiled expressions: closures that give their value for one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from . import values
from .scopes import Expression, Scope
from .values import Value, binary, cast, typed, value


def constant(data: Value) -> Expression:
    """Return the expression of a value that is the same for all rows."""
    return Expression(lambda scope: data, data, is_constant=True)


def operation(function: Callable[..., Value], *operands: Expression) -> Expression:
    """Return an operation or function of values that are all worked out."""
    sample = function(*(operand.sample for operand in operands))
    if all(operand.sample.is_literal and operand.is_constant for operand in operands):
        return constant(sample)
    evaluates = [operand.evaluate for operand in operands]
    if len(operands) == 1:
        (only,) = evaluates
        return Expression(lambda scope: function(only(scope)), sample)
    if len(operands) == 2:
        left, right = evaluates
        return Expression(lambda scope: function(left(scope), right(scope)), sample)
    return Expression(lambda scope: function(*(evaluate(scope) for evaluate in evaluates)), sample)


def arithmetic(sign: str, left: Expression, right: Expression) -> Expression:
    """Return an operation of two values: `binary` with types that are known."""
    if sign not in values.UFUNCS or (left.sample.is_literal and right.sample.is_literal):
        return operation(partial(binary, sign), left, right)
    sample, ufunc = binary(sign, left.sample, right.sample), values.UFUNCS[sign]
    a, b, type_ = _meeting(left, right).evaluate, _meeting(right, left).evaluate, sample.type
    return Expression(lambda scope: Value(type_, ufunc(a(scope).data, b(scope).data)), sample)


def _meeting(operand: Expression, other: Expression) -> Expression:
    """Return an operand in the type in which it is computed with."""
    is_count = other.sample.type in values.TIMES and operand.sample.type not in values.TIMES
    if not (operand.sample.is_literal or is_count):
        return operand
    sample = values.meeting(operand.sample, other.sample)
    if operand.is_constant:
        return constant(sample)
    type_, evaluate = sample.type, operand.evaluate
    return Expression(lambda scope: cast(type_, evaluate(scope)), sample)


def connected(sign: str, parts: Sequence[Expression]) -> Expression:
    """Return `and` or `or` of parts; a part that decides ends it, if none has a shape."""
    if len(parts) == 1:
        return parts[0]
    join = partial(binary, sign)
    if not all(part.is_scalar for part in parts):
        return reduce(partial(operation, join), parts)
    evaluates, decisive = [part.evaluate for part in parts], sign == "or"

    def evaluate(scope: Scope) -> Value:
        return value("bool", any(bool(e(scope).data) == decisive for e in evaluates) == decisive)

    return Expression(evaluate, reduce(join, (part.sample for part in parts)))


def conditional(when: Expression, yes: Expression, no: Expression) -> Expression:
    """Return `yes if when else no`; the side that is not taken is not worked out."""
    sample = values.chosen(when.sample, yes.sample, no.sample)
    if not when.is_scalar:
        return operation(values.chosen, when, yes, no)
    test, sides = when.evaluate, (no.evaluate, yes.evaluate)
    kind = float if sample.type == "float" else int
    like = value("f64" if sample.is_literal else sample.type, 0, sample.shape)

    def evaluate(scope: Scope) -> Value:
        side = sides[bool(test(scope).data)](scope)
        if sample.is_literal:
            return Value(sample.type, kind(side.data))
        return values.assigned(side, like)

    return Expression(evaluate, sample)


def negation(operand: Value) -> Value:
    return typed(np.logical_not(operand.data))


def inverse(operand: Value) -> Value:
    """Return an integer with all bits the other way."""
    result = np.invert(operand.data)
    return Value(operand.type, int(result)) if operand.is_literal else typed(result)


def negative(operand: Value) -> Value:
    if operand.is_literal:
        return Value(operand.type, -operand.data)
    return values.function("-", [operand])
