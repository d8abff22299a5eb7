"""The type rules of operations: operands are converted to one type, shapes must agree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final, TypeGuard

from ecsgen.diagnostics import quote
from ecsgen.kernels.literals import Literal, choose_literal, fold_constants, resolve_literal
from ecsgen.kernels.operations import OF_ELEMENTS, TABLE, Rule
from ecsgen.kernels.parsing import KernelError
from ecsgen.kernels.time_rules import prepare_times
from ecsgen.model.typed_tree import Cast, Constant, Expression, Operation
from ecsgen.model.types import BOOL, FLOATS, Type, as_float, promote

Operand = Expression | Literal
Shape = tuple[int, ...]

_WRITTEN: Final = {"neg": "-", **{name: written for written, name in OF_ELEMENTS.items()}}
"""Operations, as they are written."""


def apply_operation(name: str, operands: Sequence[Operand], node: ast.AST) -> Operand:
    """Return an operation on operands of any types. Raises KernelError if it does not take them."""
    literals = [operand for operand in operands if isinstance(operand, Literal)]
    if len(literals) == len(operands):
        result = fold_constants(name, literals, node)
        if result is not None:
            return result
    if (times := prepare_times(name, operands, node)) is not None:
        operation_of_times, type_, values = times
        shape = common_shape(name, values, node)
        return Operation(type_.of_shape(shape), operation_of_times, values)
    prepare, build = _RULES[TABLE[name].rule]
    operation: Operand = build(name, prepare(name, operands, node), node)
    return operation


def give_default_type(operand: Operand) -> Expression:
    """Return an operand with a type: literals alone are i64, u64 or f64."""
    if isinstance(operand, Literal):
        return resolve_literal(operand, Type(operand.scalar))
    return operand


def cast(operand: Expression, scalar: str) -> Expression:
    """Return an operand in another scalar type, or itself if it is of that type already."""
    if operand.type.scalar == scalar and not operand.type.kind:
        return operand
    if isinstance(operand, Constant) and not operand.type.is_float and scalar in FLOATS:
        return Constant(Type(scalar), float(operand.value))
    return Cast(operand.type.of_scalar(scalar), operand)


def _numbers(name: str, operands: Sequence[Operand], node: ast.AST) -> list[Expression]:
    """Return operands as numbers of one type; literals take the type of the other operands."""
    literals = [operand for operand in operands if isinstance(operand, Literal)]
    values = [operand for operand in operands if not isinstance(operand, Literal)]
    for value in values:
        if not value.type.is_number:
            raise _no_number(name, value.type, node)
    scalars = [value.type.scalar for value in values] or [literal.scalar for literal in literals]
    scalar = reduce(promote, scalars)
    if any(isinstance(literal.value, float) for literal in literals):
        scalar = as_float(scalar)
    return [
        resolve_literal(o, Type(scalar)) if isinstance(o, Literal) else cast(o, scalar)
        for o in operands
    ]


def _no_number(name: str, type_: Type, node: ast.AST) -> KernelError:
    shown = quote(_WRITTEN.get(name, name))
    if type_.is_bool:
        hint = "write a condition as in `1 if c else 0`, or a cast such as f32(c)"
    else:
        hint = f"only == and != work on {type_.kind}"
        hint += ", and & | ^ ~ if it has flags" if type_.enum else ""
        hint = "i64(…) counts the units of a time" if type_.is_time else hint
    return KernelError("E803", f"{shown} takes numbers, not {type_}", node, hint)


def _floats(name: str, operands: Sequence[Operand], node: ast.AST) -> list[Expression]:
    numbers = _numbers(name, operands, node)
    return [cast(operand, as_float(operand.type.scalar)) for operand in numbers]


def _integers(name: str, operands: Sequence[Operand], node: ast.AST) -> list[Expression]:
    """Return operands as integers of one type, or as flags of one enum."""
    types = [operand.type for operand in operands if not isinstance(operand, Literal)]
    if any(type_.enum for type_ in types) and name not in ("<<", ">>"):
        return unify_operands(name, operands, node)
    numbers = _numbers(name, operands, node)
    if not numbers[0].type.is_float:
        return numbers
    shown = " and ".join("a number" if isinstance(o, Literal) else str(o.type) for o in operands)
    if _exact(operands):
        raise KernelError("E803", f"no integers hold both {shown}", node, "convert one of them")
    hint = "a power is written '**'" if name == "^" else "write i64(…) to convert it"
    raise KernelError("E803", f"{quote(name)} takes integers, not {shown}", node, hint)


def _conditions(name: str, operands: Sequence[Operand], node: ast.AST) -> list[Expression]:
    values = []
    for operand in operands:
        if isinstance(operand, Literal) or not operand.type.is_bool:
            shown = "a number" if isinstance(operand, Literal) else str(operand.type)
            is_enum = not isinstance(operand, Literal) and operand.type.enum
            with_what = f"{shown}.name" if is_enum else "0"
            hint = f"compare it with something, as in `x != {with_what}`"
            raise KernelError("E803", f"{quote(name)} takes conditions, not {shown}", node, hint)
        values.append(operand)
    return values


def _exact(operands: Sequence[Operand]) -> list[Expression]:
    """Return the operands if they are integers whose common type is a float; else nothing."""
    values = [operand for operand in operands if not isinstance(operand, Literal)]
    if len(values) < len(operands):
        return []
    is_whole = all(value.type.is_number and value.type.is_integer for value in values)
    meeting = reduce(promote, (value.type.scalar for value in values)) if is_whole else ""
    return values if meeting in FLOATS else []


def unify_operands(name: str, operands: Sequence[Operand], node: ast.AST) -> list[Expression]:
    """Return operands as values of one type: numbers, bools, or members of one kind."""
    types = [operand.type for operand in operands if not isinstance(operand, Literal)]
    kinds = {type_.kind or ("bool" if type_.is_bool else "number") for type_ in types}
    if not kinds or kinds == {"number"}:
        return _numbers(name, operands, node)
    if len(kinds) == 1:
        (kind,) = kinds
        values = [_of_kind(operand, kind) for operand in operands]
        if None not in values:
            return [value for value in values if value is not None]
    shown = " and ".join("a number" if isinstance(o, Literal) else str(o.type) for o in operands)
    enums, hint = [type_.enum for type_ in types if type_.enum], ""
    if len(enums) == 1:
        hint = f"name members of {enums[0]}; of flags `{enums[0]}.name in x` asks for one"
    raise KernelError("E803", f"{quote(name)} takes two of one kind, not {shown}", node, hint)


def _of_kind(operand: Operand, kind: str) -> Expression | None:
    """Return a value of a kind; a handle may also be the literal 0, which is null."""
    if not isinstance(operand, Literal):
        return operand
    type_ = Type("u64", (), kind)
    return Constant(type_, 0) if type_.is_handle and _is_null(operand) else None


def _is_null(literal: Literal) -> bool:
    return type(literal.value) is int and literal.value == 0 and literal.choice is None


def common_shape(name: str, operands: Sequence[Expression], node: ast.AST) -> Shape:
    """Return the shape of the operands that have one. Raises E804 if shapes differ."""
    shapes = {operand.type.shape for operand in operands if operand.type.shape}
    if len(shapes) > 1:
        shown = " and ".join(str(operand.type) for operand in operands if operand.type.shape)
        raise KernelError("E804", f"{quote(name)} of {shown}: the shapes differ", node)
    return shapes.pop() if shapes else ()


def _elementwise(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    shape = common_shape("-" if name == "neg" else name, operands, node)
    return Operation(operands[0].type.of_shape(shape), name, tuple(operands))


def _compared(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    return Operation(BOOL.of_shape(common_shape(name, operands, node)), name, tuple(operands))


def _whole(name: str, operands: Sequence[Expression], node: ast.AST) -> Expression:
    (operand,) = operands
    return operand if operand.type.is_integer else _elementwise(name, operands, node)


def _power(name: str, operands: Sequence[Operand], node: ast.AST) -> Operand:
    base, exponent = operands
    if not isinstance(base, Literal):
        is_whole = isinstance(exponent, Literal) and isinstance(exponent.value, int)
        if _is_literal(exponent, 2) and (base.type.is_float or is_whole):
            return apply_operation("square", [base], node)
        if base.type.is_float and _is_literal(exponent, 0.5):  # numpy's own special case
            return apply_operation("sqrt", [base], node)
    left, right = _numbers(name, operands, node)
    if left.type.is_integer and (not isinstance(right, Constant) or right.value < 0):
        hint = "or take f64() of one side"
        message = "the power of an integer takes a literal from 0 as its exponent"
        raise KernelError("E803", message, node, hint)
    return _elementwise(name, [left, right], node)


def _is_literal(operand: Operand, value: float) -> TypeGuard[Literal]:
    return isinstance(operand, Literal) and not operand.choice and operand.value == value


def _choice(name: str, operands: Sequence[Operand], node: ast.AST) -> Operand:
    test, *choices = operands
    if isinstance(test, Literal) or not test.type.is_bool:
        shown = "a number" if isinstance(test, Literal) else str(test.type)
        raise KernelError("E803", f"'if' takes a condition, not {shown}", node)
    literals = [choice for choice in choices if isinstance(choice, Literal)]
    if len(literals) == 2:
        then, otherwise = literals
        return choose_literal(test, then, otherwise, node)
    values = unify_operands("else", choices, node)
    shape = common_shape("if", [test, *values], node)
    return Operation(values[0].type.of_shape(shape), name, (test, *values))


def _bits(name: str, operands: Sequence[Expression], node: ast.AST) -> Expression:
    members = [Literal(o.value, node) for o in operands if isinstance(o, Constant) and o.type.kind]
    if name != "~" and len(members) == len(operands):
        combined = fold_constants(name, members, node)
        assert combined is not None
        return Constant(operands[0].type, combined.value)
    return _elementwise(name, operands, node)


def _vector(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    for operand in operands:
        if operand.type.shape:
            raise KernelError("E804", f"{quote(name)} takes numbers, not {operand.type}", node)
    return Operation(operands[0].type.of_shape((len(operands),)), name, (*operands,))


def _plane(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    """Return an operation on vectors of two and angles."""
    vectors, angle = ([], operands[0]) if name == "unit" else (operands[:1], operands[-1])
    for vector in vectors:
        if vector.type.shape != (2,):
            message = f"{quote(name)} takes a vector of two, not {vector.type}"
            raise KernelError("E804", message, node)
    if name == "angle":
        return Operation(Type(angle.type.scalar), name, (angle,))
    if angle.type.shape:
        raise KernelError("E804", f"an angle is one number, not {angle.type}", node)
    type_ = angle.type.of_shape((2,))
    unit = Operation(type_, "unit", (angle,))
    return Operation(type_, name, (*vectors, unit)) if vectors else unit


def _of_elements(name: str, operands: Sequence[Expression], node: ast.AST) -> Expression:
    """Return an operation on all elements of one value."""
    type_ = operands[0].type
    if not type_.shape:
        hint = ""
        if name in ("any", "all"):
            hint = f"write '{'or' if name == 'any' else 'and'}' between conditions"
        raise KernelError("E804", f"{quote(name)} takes a shape, not {type_}", node, hint)
    scalar = "i64" if name in ("argmin", "argmax") else type_.scalar
    return Operation(Type(scalar), name, (*operands,))


def _total(name: str, operands: Sequence[Expression], node: ast.AST) -> Expression:
    """Return the sum of all elements, of floats in f64 and of integers in 64 bits."""
    type_ = operands[0].type
    total = _of_elements(name, [cast(operands[0], type_.total)], node)
    return cast(total, type_.scalar) if type_.is_float else total


def _vectors(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    """Return an operation on vectors: a number, or another vector."""
    for operand in operands:
        if len(operand.type.shape) != 1:
            raise KernelError("E804", f"{quote(name)} takes vectors, not {operand.type}", node)
    vector = _elementwise(name, operands, node)
    return vector if name == "normalize" else replace(vector, type=Type(vector.type.scalar))


def _cross(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    for value in operands:
        if value.type.shape != (3,):
            raise KernelError("E804", f"'cross' takes two of shape [3], not {value.type}", node)
    return _elementwise(name, operands, node)


def _matrix(name: str, operands: Sequence[Expression], node: ast.AST) -> Operation:
    left, right = operands
    first, second = left.type.shape, right.type.shape
    if not (1 <= len(first) <= 2 and 1 <= len(second) <= 2):
        message = f"'@' takes matrices and vectors, not {left.type} and {right.type}"
        raise KernelError("E804", message, node)
    if len(first) == len(second) == 1:
        return _vectors("dot", operands, node)
    if first[-1] != second[0]:
        message = f"'@' of {left.type} and {right.type}: {first[-1]} columns meet {second[0]} rows"
        raise KernelError("E804", message, node)
    return Operation(left.type.of_shape((*first[:-1], *second[1:])), name, (left, right))


_Step = Callable[[str, Sequence[Any], ast.AST], Any]
_RULES: Final[dict[Rule, tuple[_Step, _Step]]] = {
    Rule.NUMBERS: (_numbers, _elementwise),
    Rule.QUOTIENT: (_floats, _elementwise),
    Rule.FLOATS: (_floats, _elementwise),
    Rule.WHOLE: (_numbers, _whole),
    Rule.POWER: (lambda name, operands, node: operands, _power),
    Rule.ORDER: (lambda n, operands, at: _exact(operands) or _numbers(n, operands, at), _compared),
    Rule.EQUALITY: (
        lambda name, operands, node: _exact(operands) or unify_operands(name, operands, node),
        _compared,
    ),
    Rule.LOGIC: (_conditions, _elementwise),
    Rule.CHOICE: (lambda name, operands, node: operands, _choice),
    Rule.DOT: (_numbers, _vectors),
    Rule.CROSS: (_numbers, _cross),
    Rule.NORM: (_floats, _vectors),
    Rule.NORMALIZE: (_floats, _vectors),
    Rule.MATRIX: (_numbers, _matrix),
    Rule.BITS: (_integers, _bits),
    Rule.VECTOR: (_numbers, _vector),
    Rule.PLANE: (_floats, _plane),
    Rule.ELEMENTS: (_numbers, _of_elements),
    Rule.TOTAL: (_numbers, _total),
    Rule.TRUTHS: (_conditions, _of_elements),
}
"""By rule: the function that prepares the operands, and the one that builds the result."""


def convert_for_target(value: Operand, wanted: Type, node: ast.expr) -> Expression:
    """Return a value converted to the type of a target: floats are rounded, integers wrap."""
    if isinstance(value, Literal):
        if not wanted.is_number:
            if wanted.is_handle and _is_null(value):
                return Constant(Type(wanted.scalar, (), wanted.kind), 0)
            raise _mismatch("a number", wanted, node)
        if wanted.is_integer and isinstance(value.value, float):
            raise _mismatch("a float", wanted, node)
        return resolve_literal(value, Type(wanted.scalar))
    type_ = value.type
    if type_.shape and type_.shape != wanted.shape:
        raise KernelError("E804", f"the target is {wanted}, the value {type_}", node)
    if type_.kind or wanted.kind or type_.is_bool or wanted.is_bool:
        if (type_.kind, type_.scalar) != (wanted.kind, wanted.scalar):
            raise _mismatch(str(type_), wanted, node)
        return value
    if type_.is_float and wanted.is_integer:
        raise _mismatch(str(type_), wanted, node)
    return cast(value, wanted.scalar)


def _mismatch(shown: str, wanted: Type, node: ast.expr) -> KernelError:
    hint = ""
    if wanted.enum:
        hint = f"name a member, as in {wanted.kind}.name"
    elif wanted.is_bool:
        hint = "compare it with something, as in `x != 0`"
    elif shown.startswith(("datetime[", "timedelta[")) and wanted.is_number:
        hint = "i64(…) counts the units of a time"
    elif wanted.is_handle and shown.startswith(("entity", "id<")):
        hint = f"give it the type {shown}"
    elif wanted.is_number and not shown.startswith(("entity", "id<")):
        hint = f"write {wanted.scalar}(…) to convert it"
    return KernelError("E803", f"{shown} cannot be assigned to {wanted}", node, hint)
