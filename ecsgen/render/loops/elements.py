"""Operations of the table on one element: operands' codes to the result's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ecsgen.kernels.operations import COMPARISONS, TABLE, Rule
from ecsgen.model.programs import Cast, Operation
from ecsgen.model.types import SCALARS, UNSIGNED, Type
from ecsgen.render.blocks.block_expressions import UFUNCS
from ecsgen.render.loops.code import Code, Level, called, cut, infix, number, own_reach


def element_of(node: Operation, operands: list[Code]) -> Code:
    """One element of an elementwise operation."""
    type_ = node.operands[-1].type
    if TABLE[node.name].rule in (Rule.FLOATS, Rule.WHOLE):
        ufunc = f"np.{UFUNCS.get(node.name, node.name)}"
        return called("binary_logarithm" if node.name == "log2" else ufunc, *operands)
    if node.name in COMPARISONS.values():
        return _comparison(node, operands)
    return _MAKERS[node.name](type_, *operands)


def _comparison(node: Operation, operands: list[Code]) -> Code:
    scalars = [operand.type.scalar for operand in node.operands]
    left, right = (
        one if one.is_number else cut(one, scalar)
        for one, scalar in zip(operands, scalars, strict=True)
    )
    if scalars[0] == scalars[1]:
        sides = f"{left.within(Level.SUM)} {node.name} {right.within(Level.SUM)}"
        return Code(sides, Level.COMPARISON)
    sign = node.name
    if scalars[0] in UNSIGNED:
        left, right, sign = right, left, TURNED.get(sign, sign)
    found = called(_MIXED[_OPPOSITE.get(sign, sign)], left, right)
    return Code(f"not {found.text}", Level.NOT) if sign in _OPPOSITE else found


TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE: Final = {">": "<=", ">=": "<", "!=": "=="}
_MIXED: Final = {"<": "less_than_unsigned", "<=": "at_most_unsigned", "==": "equals_unsigned"}
"""Comparisons of a signed integer with a u64."""


def arithmetic(sign: str, type_: Type, left: Code, right: Code) -> Code:
    """A sum, difference or product. Signed integers of 64 bits must not overflow: to LLVM that has
    no meaning, and it draws conclusions. Unsigned ones wrap, so those of the schema are computed as
    such."""
    level = Level.PRODUCT if sign == "*" else Level.SUM
    if type_.scalar == "i64":
        return called(_INT64[sign], left, right)
    if not own_reach(type_.scalar):
        return infix(sign, level, left, right)
    reach = _reach(sign, type_, left, right)
    if reach > _FURTHEST and type_.scalar not in UNSIGNED:
        left, right = cut(left, type_.scalar), cut(right, type_.scalar)
        reach = _reach(sign, type_, left, right)
    return infix(sign, level, left, right, reach)


def _reach(sign: str, type_: Type, left: Code, right: Code) -> int:
    """How far the result of an operation of narrow integers reaches."""
    one, other = (code.reach or own_reach(type_.scalar) for code in (left, right))
    return one + other if sign == "*" else max(one, other) + 1


_FURTHEST: Final = 62
_INT64: Final = {"+": "add_int64", "-": "subtract_int64", "*": "multiply_int64"}


def _floored(sign: str, function: str, type_: Type, left: Code, right: Code) -> Code:
    if type_.is_float:
        return called(function, left, right)
    if type_.scalar == "i64":
        return called(f"{function}_int64", left, right)
    left, right = cut(left, type_.scalar), cut(right, type_.scalar)
    return infix(sign, Level.PRODUCT, left, right, own_reach(type_.scalar))


def _power(type_: Type, base: Code, exponent: Code) -> Code:
    if type_.is_float:
        return Code(f"{base.within(Level.ATOM)} ** {exponent.within(Level.SIGN)}", Level.POWER)
    times = exponent.text.removeprefix(f"{SCALARS[type_.scalar].numpy}(").removesuffix(")")
    return called("whole_power", cut(base, type_.scalar), Code(times))


def _negative(type_: Type, operand: Code) -> Code:
    if type_.is_integer and (type_.scalar in UNSIGNED or type_.bits == 64):
        return arithmetic("-", type_, number(0, type_.scalar), operand)
    reach = own_reach(type_.scalar)
    return Code(f"-{operand.within(Level.SIGN)}", Level.SIGN, reach and (operand.reach or reach))


def _absolute(type_: Type, operand: Code) -> Code:
    operand = cut(operand, type_.scalar)
    if type_.scalar in UNSIGNED:
        return operand
    function = "absolute_int64" if type_.scalar == "i64" else "abs"
    return called(function, operand, reach=own_reach(type_.scalar))


def _sign(type_: Type, operand: Code) -> Code:
    return called("sign_of", cut(operand, type_.scalar), reach=own_reach(type_.scalar))


def _choice(type_: Type, test: Code, *values: Code) -> Code:
    then, otherwise = (one if one.is_number else cut(one, type_.scalar) for one in values)
    sides = f"{then.within(Level.OR)} if {test.within(Level.OR)} else"
    text = f"{sides} {otherwise.within(Level.CHOICE)}"
    is_wide = then.is_number or otherwise.is_number
    return Code(text, Level.CHOICE, own_reach(type_.scalar) if is_wide else 0)


def extreme_of(name: str, type_: Type, *operands: Code) -> Code:
    """The smallest or largest; NaN if one is."""
    if type_.is_float:
        return called(f"{name}imum", *operands)
    dtype = SCALARS[type_.scalar].numpy  # for mypy, numbers of Python and of numpy have no order
    values = (called(dtype, one) if one.is_number else cut(one, type_.scalar) for one in operands)
    return called(name, *values, reach=own_reach(type_.scalar))


_MAKERS: Final[dict[str, Callable[..., Code]]] = {
    **{sign: partial(arithmetic, sign) for sign in _INT64},
    "/": lambda type_, left, right: infix("/", Level.PRODUCT, left, right),
    "//": partial(_floored, "//", "floor_divide"),
    "%": partial(_floored, "%", "remainder"),
    "**": _power,
    "square": lambda type_, one: arithmetic("*", type_, one, one),
    "neg": _negative,
    "abs": _absolute,
    "sign": _sign,
    "and": lambda type_, left, right: infix("and", Level.AND, left, right),
    "or": lambda type_, left, right: infix("or", Level.OR, left, right),
    "not": lambda type_, one: Code(f"not {one.within(Level.NOT)}", Level.NOT),
    "if": _choice,
    "min": partial(extreme_of, "min"),
    "max": partial(extreme_of, "max"),
}
"""By operation: the code of a type of operands made of theirs."""


def cast_of(node: Cast, operand: Code) -> Code:
    """One element in another type: integers wrap, floats are cut and kept in range."""
    given, wanted = node.operand.type, node.type.scalar
    operand = cut(operand, given.scalar)
    if wanted == "bool":
        return Code(f"{operand.within(Level.SUM)} != 0", Level.COMPARISON)
    if not given.is_float or node.type.is_float:
        return called(SCALARS[wanted].numpy, operand)
    if node.type.bits == 64:
        return called("as_int64" if wanted == "i64" else "as_uint64", operand)
    bounds = [number(float(bound), "f64") for bound in SCALARS[wanted].range]
    return called(SCALARS[wanted].numpy, called("between", operand, *bounds))
