"""Operations of the table on one element: the operands' code to the result's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ecsgen.kernels.operations import COMPARISONS, TABLE, Rule
from ecsgen.model.typed_tree import Cast, Operation
from ecsgen.model.types import SCALARS, UNSIGNED, Type
from ecsgen.render.blocks.block_expressions import numpy_function
from ecsgen.render.loops.scalar_code import (
    Code,
    Precedence,
    infix,
    make_call_code,
    number,
    widened_bits,
    wrap_to_type,
)


def element_of(node: Operation, operands: list[Code]) -> Code:
    """Return one element of an elementwise operation."""
    type_ = node.operands[-1].type
    if TABLE[node.name].rule in (Rule.FLOATS, Rule.WHOLE):
        function = "binary_logarithm" if node.name == "log2" else numpy_function(node.name)
        return make_call_code(function, *operands)
    if TABLE[node.name].rule is Rule.TIMES:
        return make_call_code(node.name, *operands)
    if node.name in COMPARISONS.values():
        return _comparison(node, operands)
    return _MAKERS[node.name](type_, *operands)


def _comparison(node: Operation, operands: list[Code]) -> Code:
    scalars = [operand.type.scalar for operand in node.operands]
    left, right = (
        code if code.is_number else wrap_to_type(code, scalar)
        for code, scalar in zip(operands, scalars, strict=True)
    )
    if scalars[0] == scalars[1]:
        sides = f"{left.within(Precedence.SUM)} {node.name} {right.within(Precedence.SUM)}"
        return Code(sides, Precedence.COMPARISON)
    sign = node.name
    if scalars[0] in UNSIGNED:
        left, right, sign = right, left, MIRRORED.get(sign, sign)
    comparison = make_call_code(_MIXED[_NEGATED.get(sign, sign)], left, right)
    return Code(f"not {comparison.text}", Precedence.NOT) if sign in _NEGATED else comparison


MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: Final = {">": "<=", ">=": "<", "!=": "=="}
_MIXED: Final = {"<": "less_than_unsigned", "<=": "at_most_unsigned", "==": "equals_unsigned"}
"""Comparisons of a signed integer with a u64."""


def arithmetic(sign: str, type_: Type, left: Code, right: Code) -> Code:
    """Return a sum, difference or product. Signed integers of 64 bits must not overflow, which is
    undefined to LLVM. Unsigned ones wrap, so `add_int64` and its like compute with these."""
    level = Precedence.PRODUCT if sign == "*" else Precedence.SUM
    if type_.scalar == "i64":
        return make_call_code(_INT64[sign], left, right)
    if not widened_bits(type_.scalar):
        return infix(sign, level, left, right)
    value_bits = _value_bits(sign, type_, left, right)
    if value_bits > _MAX_VALUE_BITS and type_.scalar not in UNSIGNED:
        left, right = wrap_to_type(left, type_.scalar), wrap_to_type(right, type_.scalar)
        value_bits = _value_bits(sign, type_, left, right)
    return infix(sign, level, left, right, value_bits)


def _value_bits(sign: str, type_: Type, left: Code, right: Code) -> int:
    """Return the bits that the result of an operation of narrow integers may have."""
    bits = [code.value_bits or widened_bits(type_.scalar) for code in (left, right)]
    return sum(bits) if sign == "*" else max(bits) + 1


_MAX_VALUE_BITS: Final = 62
_INT64: Final = {"+": "add_int64", "-": "subtract_int64", "*": "multiply_int64"}


def _floored(sign: str, function: str, type_: Type, left: Code, right: Code) -> Code:
    if type_.is_float:
        return make_call_code(function, left, right)
    if type_.scalar == "i64":
        return make_call_code(f"{function}_int64", left, right)
    left, right = wrap_to_type(left, type_.scalar), wrap_to_type(right, type_.scalar)
    return infix(sign, Precedence.PRODUCT, left, right, widened_bits(type_.scalar))


def _power(type_: Type, base: Code, exponent: Code) -> Code:
    if type_.is_float:
        text = f"{base.within(Precedence.ATOM)} ** {exponent.within(Precedence.SIGN)}"
        return Code(text, Precedence.POWER)
    times = exponent.text.removeprefix(f"{SCALARS[type_.scalar].numpy}(").removesuffix(")")
    return make_call_code("whole_power", wrap_to_type(base, type_.scalar), Code(times))


def _negative(type_: Type, operand: Code) -> Code:
    if type_.is_integer and (type_.scalar in UNSIGNED or type_.bits == 64):
        return arithmetic("-", type_, number(0, type_.scalar), operand)
    bits = widened_bits(type_.scalar)
    bits = bits and (operand.value_bits or bits)
    return Code(f"-{operand.within(Precedence.SIGN)}", Precedence.SIGN, bits)


def _absolute(type_: Type, operand: Code) -> Code:
    operand = wrap_to_type(operand, type_.scalar)
    if type_.scalar in UNSIGNED:
        return operand
    function = "absolute_int64" if type_.scalar == "i64" else "abs"
    return make_call_code(function, operand, value_bits=widened_bits(type_.scalar))


def _sign(type_: Type, operand: Code) -> Code:
    operand = wrap_to_type(operand, type_.scalar)
    return make_call_code("sign_of", operand, value_bits=widened_bits(type_.scalar))


def _bitwise(sign: str, level: Precedence, type_: Type, left: Code, right: Code) -> Code:
    left, right = wrap_to_type(left, type_.scalar), wrap_to_type(right, type_.scalar)
    return infix(sign, level, left, right, widened_bits(type_.scalar))


def _inverted(type_: Type, operand: Code) -> Code:
    if type_.scalar in UNSIGNED:  # Python's own numbers become negative
        ones = number(SCALARS[type_.scalar].range[1], type_.scalar)
        return _bitwise("^", Precedence.BIT_XOR, type_, operand, ones)
    text = f"~{wrap_to_type(operand, type_.scalar).within(Precedence.SIGN)}"
    return Code(text, Precedence.SIGN, widened_bits(type_.scalar))


def _shifted(function: str, type_: Type, left: Code, right: Code) -> Code:
    left, right = wrap_to_type(left, type_.scalar), wrap_to_type(right, type_.scalar)
    shifted = make_call_code(function, left, right, Code(f"{type_.bits}"))
    return make_call_code(SCALARS[type_.scalar].numpy, shifted)


def choose(type_: Type, test: Code, *values: Code) -> Code:
    """Return the first of two values where a test is true, else the second."""
    scalar = type_.scalar
    then, otherwise = (v if v.is_number else wrap_to_type(v, scalar) for v in values)
    sides = f"{then.within(Precedence.OR)} if {test.within(Precedence.OR)} else"
    text = f"{sides} {otherwise.within(Precedence.CHOICE)}"
    is_wide = then.is_number or otherwise.is_number
    return Code(text, Precedence.CHOICE, widened_bits(type_.scalar) if is_wide else 0)


def extreme_of(name: str, type_: Type, *operands: Code) -> Code:
    """Return the smallest or largest of the operands; NaN if one of them is."""
    if type_.is_float:
        return make_call_code(f"{name}imum", *operands)
    dtype = SCALARS[type_.scalar].numpy  # for mypy, numbers of Python and of numpy have no order
    values = (
        make_call_code(dtype, operand) if operand.is_number else wrap_to_type(operand, type_.scalar)
        for operand in operands
    )
    return make_call_code(name, *values, value_bits=widened_bits(type_.scalar))


_MAKERS: Final[dict[str, Callable[..., Code]]] = {
    **{sign: partial(arithmetic, sign) for sign in _INT64},
    "/": lambda type_, left, right: infix("/", Precedence.PRODUCT, left, right),
    "//": partial(_floored, "//", "floor_divide"),
    "%": partial(_floored, "%", "remainder"),
    "**": _power,
    "square": lambda type_, operand: arithmetic("*", type_, operand, operand),
    "&": partial(_bitwise, "&", Precedence.BIT_AND),
    "|": partial(_bitwise, "|", Precedence.BIT_OR),
    "^": partial(_bitwise, "^", Precedence.BIT_XOR),
    "~": _inverted,
    "<<": partial(_shifted, "shift_up"),
    ">>": partial(_shifted, "shift_down"),
    "neg": _negative,
    "abs": _absolute,
    "sign": _sign,
    "and": lambda type_, left, right: infix("and", Precedence.AND, left, right),
    "or": lambda type_, left, right: infix("or", Precedence.OR, left, right),
    "not": lambda type_, operand: Code(f"not {operand.within(Precedence.NOT)}", Precedence.NOT),
    "if": choose,
    "min": partial(extreme_of, "min"),
    "max": partial(extreme_of, "max"),
}
"""Functions by operation: (type of the operands, *operands) to the code of the result."""


def cast_of(node: Cast, operand: Code) -> Code:
    """Convert one element to another type: integers wrap, floats are truncated and clipped."""
    source, target = node.operand.type, node.type.scalar
    operand = wrap_to_type(operand, source.scalar)
    may_be_bare = operand.is_number or operand.level is Precedence.CHOICE
    if source.is_integer and may_be_bare:  # Python's own numbers do not wrap
        operand = make_call_code(SCALARS[source.scalar].numpy, operand)
    if target == "bool":
        return Code(f"{operand.within(Precedence.SUM)} != 0", Precedence.COMPARISON)
    if not source.is_float or node.type.is_float:
        return make_call_code(SCALARS[target].numpy, operand)
    if node.type.bits == 64:
        return make_call_code("as_int64" if target == "i64" else "as_uint64", operand)
    bounds = [number(float(bound), "f64") for bound in SCALARS[target].range]
    return make_call_code(SCALARS[target].numpy, make_call_code("between", operand, *bounds))
