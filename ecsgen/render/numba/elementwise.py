"""Operations of the table on one element: operands' codes to the result's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ecsgen.kernels.tree import Cast, Operation
from ecsgen.kernels.types import UNSIGNED, Type, integer_range
from ecsgen.render.column_spelling import NUMPY
from ecsgen.render.numba.code import Code, Level, called, cut, infix, number

COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS: Final = {
    "sqrt": "np.sqrt",
    "exp": "np.exp",
    "log": "np.log",
    "sin": "np.sin",
    "cos": "np.cos",
    "tan": "np.tan",
    "asin": "np.arcsin",
    "acos": "np.arccos",
    "atan2": "np.arctan2",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "round": "np.rint",
}


def element_of(node: Operation, operands: list[Code]) -> Code:
    """One element of an elementwise operation."""
    type_ = node.operands[-1].type
    if node.name in FUNCTIONS:
        return called(FUNCTIONS[node.name], *operands)
    if node.name in COMPARISONS:
        left, right = (one if one.is_number else cut(one, type_.scalar) for one in operands)
        sides = f"{left.within(Level.SUM)} {node.name} {right.within(Level.SUM)}"
        return Code(sides, Level.COMPARISON)
    return _MAKERS[node.name](type_, operands)


def is_narrow(type_: Type) -> bool:
    """Whether numba computes in 64 bits what is an integer of less."""
    return type_.is_integer and type_.bits < 64


def sum_of(type_: Type, left: Code, right: Code) -> Code:
    return infix("+", Level.SUM, left, right, is_narrow(type_))


def product_of(type_: Type, left: Code, right: Code) -> Code:
    return infix("*", Level.PRODUCT, left, right, is_narrow(type_))


def _difference(type_: Type, operands: list[Code]) -> Code:
    left, right = operands
    return infix("-", Level.SUM, left, right, is_narrow(type_))


def _quotient(type_: Type, operands: list[Code]) -> Code:
    left, right = operands
    return infix("/", Level.PRODUCT, left, right)


def _floor_quotient(type_: Type, operands: list[Code]) -> Code:
    return _floored(type_, operands, "//", "floor_divide")


def _remainder(type_: Type, operands: list[Code]) -> Code:
    return _floored(type_, operands, "%", "remainder")


def _floored(type_: Type, operands: list[Code], sign: str, function: str) -> Code:
    if type_.is_float:
        return called(function, *operands)
    if type_.scalar == "i64":
        return called(f"{function}_int64", *operands)
    left, right = (cut(one, type_.scalar) for one in operands)
    return infix(sign, Level.PRODUCT, left, right, is_narrow(type_))


def _power(type_: Type, operands: list[Code]) -> Code:
    base, exponent = operands
    if type_.is_float:
        return Code(f"{base.within(Level.ATOM)} ** {exponent.within(Level.SIGN)}", Level.POWER)
    wide = NUMPY["u64" if type_.scalar in UNSIGNED else "i64"]
    base = cut(base, type_.scalar)
    times = exponent.text.removeprefix(f"{NUMPY[type_.scalar]}(").removesuffix(")")
    return called("whole_power", called(wide, base), Code(times), is_wide=is_narrow(type_))


def _negative(type_: Type, operands: list[Code]) -> Code:
    if type_.scalar in UNSIGNED:
        return _difference(type_, [number(0, type_.scalar), *operands])
    return Code(f"-{operands[0].within(Level.SIGN)}", Level.SIGN, is_narrow(type_))


def _absolute(type_: Type, operands: list[Code]) -> Code:
    operand = cut(operands[0], type_.scalar)
    if type_.scalar in UNSIGNED:
        return operand
    return called("abs", operand, is_wide=is_narrow(type_))


def _and(type_: Type, operands: list[Code]) -> Code:
    left, right = operands
    return infix("and", Level.AND, left, right)


def _or(type_: Type, operands: list[Code]) -> Code:
    left, right = operands
    return infix("or", Level.OR, left, right)


def _not(type_: Type, operands: list[Code]) -> Code:
    return Code(f"not {operands[0].within(Level.NOT)}", Level.NOT)


def _choice(type_: Type, operands: list[Code]) -> Code:
    test, *values = operands
    then, otherwise = (one if one.is_number else cut(one, type_.scalar) for one in values)
    sides = f"{then.within(Level.OR)} if {test.within(Level.OR)} else"
    text = f"{sides} {otherwise.within(Level.CHOICE)}"
    return Code(text, Level.CHOICE, then.is_number or otherwise.is_number)


def _least(type_: Type, operands: list[Code]) -> Code:
    return _extreme("min", type_, operands)


def _greatest(type_: Type, operands: list[Code]) -> Code:
    return _extreme("max", type_, operands)


def _extreme(name: str, type_: Type, operands: list[Code]) -> Code:
    if type_.is_float:
        return called(f"{name}imum", *operands)
    values = [cut(one, type_.scalar) for one in operands]
    return called(name, *values, is_wide=is_narrow(type_))


_MAKERS: Final[dict[str, Callable[[Type, list[Code]], Code]]] = {
    "+": lambda type_, operands: sum_of(type_, *operands),
    "-": _difference,
    "*": lambda type_, operands: product_of(type_, *operands),
    "/": _quotient,
    "//": _floor_quotient,
    "%": _remainder,
    "**": _power,
    "square": lambda type_, operands: product_of(type_, operands[0], operands[0]),
    "neg": _negative,
    "abs": _absolute,
    "and": _and,
    "or": _or,
    "not": _not,
    "if": _choice,
    "min": _least,
    "max": _greatest,
}


def cast_of(node: Cast, operand: Code) -> Code:
    """One element in another type: integers wrap, floats are cut and kept in range."""
    given, wanted = node.operand.type, node.type.scalar
    operand = cut(operand, given.scalar)
    if wanted == "bool":
        return Code(f"{operand.within(Level.SUM)} != 0", Level.COMPARISON)
    if not given.is_float or node.type.is_float:
        return called(NUMPY[wanted], operand)
    if node.type.bits == 64:
        return called("as_int64" if wanted == "i64" else "as_uint64", operand)
    bounds = [number(float(bound), "f64") for bound in integer_range(wanted)]
    return called(NUMPY[wanted], called("between", operand, *bounds))
