"""Operations on compiled expressions: closures that give their value for one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

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
    return Expression(lambda scope: function(*[evaluate(scope) for evaluate in evaluates]), sample)


def arithmetic(sign: str, left: Expression, right: Expression) -> Expression:
    """Return an operation of two values: `binary` with types that are known."""
    if sign not in values.UFUNCS or (left.sample.is_literal and right.sample.is_literal):
        return operation(partial(binary, sign), left, right)
    sample = binary(sign, left.sample, right.sample)
    operate = values.operation_of(sign, left.sample.type, right.sample.type)
    a, b, type_ = _meeting(left, right).evaluate, _meeting(right, left).evaluate, sample.type
    return Expression(lambda scope: Value(type_, operate(a(scope).data, b(scope).data)), sample)


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
    """Return `and` or `or` of parts; a part that decides, in all its elements, ends it."""
    if len(parts) == 1:
        return parts[0]
    join, decisive = partial(binary, sign), sign == "or"
    if not all(part.is_scalar for part in parts):
        return reduce(partial(_joined, join, decisive), parts)
    evaluates = [part.evaluate for part in parts]

    def evaluate(scope: Scope) -> Value:
        return value("bool", any(bool(e(scope).data) == decisive for e in evaluates) == decisive)

    return Expression(evaluate, reduce(join, (part.sample for part in parts)))


def _joined(
    join: Callable[..., Value], decisive: bool, left: Expression, right: Expression
) -> Expression:
    def evaluate(scope: Scope) -> Value:
        first = left.evaluate(scope)
        return join(first, _used(right, scope, first.data != decisive))

    return Expression(evaluate, join(left.sample, right.sample))


def _used(part: Expression, scope: Scope, elements: Any) -> Value:
    """Return a value that some elements use; if none does, any one of its type and shape."""
    return part.evaluate(scope) if np.any(elements) else part.sample


def read_twice(part: Expression) -> tuple[Expression, Expression]:
    """Return a part that is read twice and worked out once, as its two readers read it."""
    last = part.sample

    def first(scope: Scope) -> Value:
        nonlocal last
        last = part.evaluate(scope)
        return last

    return replace(part, evaluate=first), replace(part, evaluate=lambda scope: last)


def conditional(when: Expression, yes: Expression, no: Expression) -> Expression:
    """Return `yes if when else no`; a side that no element takes is not worked out."""
    sample = values.chosen(when.sample, yes.sample, no.sample)
    test, sides = when.evaluate, (no.evaluate, yes.evaluate)
    if not when.is_scalar:

        def by_element(scope: Scope) -> Value:
            taken = test(scope)
            first = _used(yes, scope, taken.data)
            return values.chosen(taken, first, _used(no, scope, ~taken.data))

        return Expression(by_element, sample)
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
