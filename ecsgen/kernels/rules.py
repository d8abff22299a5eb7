"""The type rules of operations: operands are converted to one type, shapes must agree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, TypeGuard

from ecsgen.diagnostics import quote
from ecsgen.kernels.literals import Literal, chosen, folded, settled
from ecsgen.kernels.operations import TABLE, Rule
from ecsgen.kernels.syntax import KernelError
from ecsgen.model.programs import Cast, Constant, Expression, Operation
from ecsgen.model.types import BOOL, FLOATS, Type, as_float, promote

Operand = Expression | Literal
Shape = tuple[int, ...]


def applied(name: str, operands: Sequence[Operand], node: ast.AST) -> Operand:
    """An operation on operands of whatever types they have; KernelError if it takes no such."""
    literals = [operand for operand in operands if isinstance(operand, Literal)]
    if len(literals) == len(operands):
        result = folded(name, literals, node)
        if result is not None:
            return result
    return _RULES[TABLE[name].rule](name, list(operands), node)


def typed(operand: Operand) -> Expression:
    """An operand with a type: literals alone are i64, u64 or f64."""
    return settled(operand, Type(operand.scalar)) if isinstance(operand, Literal) else operand


def cast(operand: Expression, scalar: str) -> Expression:
    """An operand in another scalar type, if it is not of that type already."""
    if operand.type.scalar == scalar and not operand.type.kind:
        return operand
    if isinstance(operand, Constant) and not operand.type.is_float and scalar in FLOATS:
        return Constant(Type(scalar), float(operand.value))
    return Cast(operand.type.of_scalar(scalar), operand)


def _numbers(name: str, operands: list[Operand], node: ast.AST) -> list[Expression]:
    """Operands as numbers of one type; literals take the type of the others."""
    for operand in operands:
        if not isinstance(operand, Literal) and not operand.type.is_number:
            raise _no_number(name, operand.type, node)
    given = [operand.type.scalar for operand in operands if not isinstance(operand, Literal)]
    if not given:
        given = [operand.scalar for operand in operands if isinstance(operand, Literal)]
    scalar = reduce(promote, given)
    for operand in operands:
        if isinstance(operand, Literal) and isinstance(operand.value, float):
            scalar = as_float(scalar)
    return [_number(operand, scalar) for operand in operands]


def _number(operand: Operand, scalar: str) -> Expression:
    if isinstance(operand, Literal):
        return settled(operand, Type(scalar))
    return cast(operand, scalar)


def _no_number(name: str, type_: Type, node: ast.AST) -> KernelError:
    shown = quote(name if name != "neg" else "-")
    if type_.is_bool:
        hint = "write a condition as in `1 if c else 0`, or a cast such as f32(c)"
    else:
        hint = f"only == and != work on {type_.kind}"
    return KernelError("E803", f"{shown} takes numbers, not {type_}", node, hint)


def _floats(name: str, operands: list[Operand], node: ast.AST) -> list[Expression]:
    numbers = _numbers(name, operands, node)
    return [cast(operand, as_float(operand.type.scalar)) for operand in numbers]


def common_shape(name: str, operands: Sequence[Expression], node: ast.AST) -> Shape:
    """The one shape of operands that have one; E804 if they differ."""
    shapes = {operand.type.shape for operand in operands if operand.type.shape}
    if len(shapes) > 1:
        shown = " and ".join(str(operand.type) for operand in operands if operand.type.shape)
        raise KernelError("E804", f"{quote(name)} of {shown}: the shapes differ", node)
    return shapes.pop() if shapes else ()


# --- one function per rule, with `_numbers` and `_floats` for what they have in common ----------


def _elementwise(name: str, operands: list[Expression], node: ast.AST) -> Operation:
    shape = common_shape("-" if name == "neg" else name, operands, node)
    return Operation(operands[0].type.of_shape(shape), name, tuple(operands))


def _rule_numbers(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    return _elementwise(name, _numbers(name, operands, node), node)


def _rule_floats(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    return _elementwise(name, _floats(name, operands, node), node)


def _rule_whole(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    (operand,) = _numbers(name, operands, node)
    return operand if operand.type.is_integer else _elementwise(name, [operand], node)


def _rule_power(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    base, exponent = operands
    if not isinstance(base, Literal):
        if _is_two(exponent, base.type):
            return _rule_numbers("square", [base], node)
        if base.type.is_float and _is_literal(exponent, 0.5):  # numpy's own special case
            return _rule_floats("sqrt", [base], node)
    left, right = _numbers(name, operands, node)
    if left.type.is_integer and (not isinstance(right, Constant) or right.value < 0):
        hint = "or take f64() of one side"
        message = "the power of an integer takes a literal from 0 as its exponent"
        raise KernelError("E803", message, node, hint)
    return _elementwise(name, [left, right], node)


def _is_two(exponent: Operand, base: Type) -> bool:
    return _is_literal(exponent, 2) and (base.is_float or isinstance(exponent.value, int))


def _is_literal(operand: Operand, value: float) -> TypeGuard[Literal]:
    return isinstance(operand, Literal) and not operand.choice and operand.value == value


def _compared_exactly(operands: list[Operand]) -> list[Expression]:
    """Integers that only a float has room for, as they are, if these are such; else nothing."""
    values = [operand for operand in operands if not isinstance(operand, Literal)]
    if len(values) < len(operands):
        return []
    is_whole = all(value.type.is_number and value.type.is_integer for value in values)
    meeting = reduce(promote, (value.type.scalar for value in values)) if is_whole else ""
    return values if meeting in FLOATS else []


def _rule_order(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    numbers = _compared_exactly(operands) or _numbers(name, operands, node)
    return Operation(BOOL.of_shape(common_shape(name, numbers, node)), name, tuple(numbers))


def _rule_equality(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = _compared_exactly(operands) or unified(name, operands, node)
    return Operation(BOOL.of_shape(common_shape(name, values, node)), name, tuple(values))


def unified(name: str, operands: list[Operand], node: ast.AST) -> list[Expression]:
    """Operands as values of one type: numbers, bools, or members of one kind."""
    kinds = {_kind(operand) for operand in operands if not isinstance(operand, Literal)}
    if not kinds or kinds == {"number"}:
        return _numbers(name, operands, node)
    if len(kinds) == 1:
        (kind,) = kinds
        values = [_of_kind(operand, kind, node) for operand in operands]
        if None not in values:
            return [value for value in values if value is not None]
    shown = " and ".join("a number" if isinstance(o, Literal) else str(o.type) for o in operands)
    raise KernelError("E803", f"{quote(name)} takes two of one kind, not {shown}", node)


def _kind(operand: Expression) -> str:
    type_ = operand.type
    return type_.kind or ("bool" if type_.is_bool else "number")


def _of_kind(operand: Operand, kind: str, node: ast.AST) -> Expression | None:
    """A value of a kind; a handle may also be the literal 0, which is null."""
    if not isinstance(operand, Literal):
        return operand
    type_ = Type("u64", (), kind)
    is_zero = type(operand.value) is int and operand.value == 0 and not operand.choice
    return Constant(type_, 0) if is_zero and type_.is_handle else None


def _rule_logic(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = []
    for operand in operands:
        if isinstance(operand, Literal) or not operand.type.is_bool:
            given = "a number" if isinstance(operand, Literal) else str(operand.type)
            hint = "compare it with something, as in `x != 0`"
            raise KernelError("E803", f"{quote(name)} takes conditions, not {given}", node, hint)
        values.append(operand)
    return _elementwise(name, values, node)


def _rule_choice(name: str, operands: list[Operand], node: ast.AST) -> Operand:
    test, *choices = operands
    if isinstance(test, Literal) or not test.type.is_bool:
        given = "a number" if isinstance(test, Literal) else str(test.type)
        raise KernelError("E803", f"'if' takes a condition, not {given}", node)
    literals = [choice for choice in choices if isinstance(choice, Literal)]
    if len(literals) == 2:
        then, otherwise = literals
        return chosen(test, then, otherwise, node)
    values = unified("else", choices, node)
    shape = common_shape("if", [test, *values], node)
    return Operation(values[0].type.of_shape(shape), name, (test, *values))


def _vectors(name: str, operands: list[Expression], node: ast.AST) -> None:
    for operand in operands:
        if len(operand.type.shape) != 1:
            raise KernelError("E804", f"{quote(name)} takes vectors, not {operand.type}", node)


def _rule_dot(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = _numbers(name, operands, node)
    _vectors(name, values, node)
    common_shape(name, values, node)
    return Operation(Type(values[0].type.scalar), name, tuple(values))


def _rule_cross(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = _numbers(name, operands, node)
    for value in values:
        if value.type.shape != (3,):
            raise KernelError("E804", f"'cross' takes two of shape [3], not {value.type}", node)
    return _elementwise(name, values, node)


def _rule_norm(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = _floats(name, operands, node)
    _vectors(name, values, node)
    return Operation(Type(values[0].type.scalar), name, tuple(values))


def _rule_normalize(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    values = _floats(name, operands, node)
    _vectors(name, values, node)
    return Operation(values[0].type, name, tuple(values))


def _rule_matrix(name: str, operands: list[Operand], node: ast.AST) -> Expression:
    left, right = _numbers(name, operands, node)
    one, other = left.type.shape, right.type.shape
    if not (1 <= len(one) <= 2 and 1 <= len(other) <= 2):
        message = f"'@' takes matrices and vectors, not {left.type} and {right.type}"
        raise KernelError("E804", message, node)
    if len(one) == len(other) == 1:
        return _rule_dot("dot", [left, right], node)
    if one[-1] != other[0]:
        message = f"'@' of {left.type} and {right.type}: {one[-1]} columns meet {other[0]} rows"
        raise KernelError("E804", message, node)
    return Operation(left.type.of_shape((*one[:-1], *other[1:])), name, (left, right))


_RULES: Final[dict[Rule, Callable[[str, list[Operand], ast.AST], Operand]]] = {
    Rule.NUMBERS: _rule_numbers,
    Rule.QUOTIENT: _rule_floats,
    Rule.FLOATS: _rule_floats,
    Rule.WHOLE: _rule_whole,
    Rule.POWER: _rule_power,
    Rule.ORDER: _rule_order,
    Rule.EQUALITY: _rule_equality,
    Rule.LOGIC: _rule_logic,
    Rule.CHOICE: _rule_choice,
    Rule.DOT: _rule_dot,
    Rule.CROSS: _rule_cross,
    Rule.NORM: _rule_norm,
    Rule.NORMALIZE: _rule_normalize,
    Rule.MATRIX: _rule_matrix,
}


def fitted(value: Operand, wanted: Type, node: ast.expr) -> Expression:
    """A value as what a target of a type takes: floats are rounded, integers wrap."""
    if isinstance(value, Literal):
        if not wanted.is_number:
            return _literal_of_kind(value, wanted, node)
        if wanted.is_integer and isinstance(value.value, float):
            raise _mismatch("a float", wanted, node)
        return settled(value, Type(wanted.scalar))
    given = value.type
    if given.shape and given.shape != wanted.shape:
        raise KernelError("E804", f"the target is {wanted}, the value {given}", node)
    if given.kind or wanted.kind or given.is_bool or wanted.is_bool:
        if (given.kind, given.scalar) != (wanted.kind, wanted.scalar):
            raise _mismatch(str(given), wanted, node)
        return value
    if given.is_float and wanted.is_integer:
        raise _mismatch(str(given), wanted, node)
    return cast(value, wanted.scalar)


def _literal_of_kind(value: Literal, wanted: Type, node: ast.expr) -> Expression:
    is_null = type(value.value) is int and value.value == 0 and value.choice is None
    if is_null and wanted.is_handle:
        return Constant(Type(wanted.scalar, (), wanted.kind), 0)
    raise _mismatch("a number", wanted, node)


def _mismatch(given: str, wanted: Type, node: ast.expr) -> KernelError:
    if wanted.kind and wanted.kind[0].isupper():
        hint = f"name a member, as in {wanted.kind}.name"
    elif wanted.is_bool:
        hint = "compare it with something, as in `x != 0`"
    elif wanted.is_number and not given.startswith(("entity", "id<")):
        hint = f"write {wanted.scalar}(…) to convert it"
    else:
        hint = ""
    return KernelError("E803", f"{given} cannot be assigned to {wanted}", node, hint)
