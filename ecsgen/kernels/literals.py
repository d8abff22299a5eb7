"""Literals: they take the type of the other operand; among themselves they are Python's numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ecsgen.kernels.operations import FUNCTIONS, TABLE, Rule
from ecsgen.kernels.parsing import KernelError
from ecsgen.model.typed_tree import Constant, Expression, Operation
from ecsgen.model.types import Number, Type, fits, misfit

_LONGEST: Final = 400  # bits of a literal that is computed


@dataclass(frozen=True, slots=True)
class Literal:
    """A number that has no type yet, or a choice between such numbers."""

    value: Number  # of a choice: the one that needs the wider type
    node: ast.AST
    choice: tuple[Expression, Literal, Literal] | None = None  # the condition, then, else

    @property
    def scalar(self) -> str:
        """The type of the literal if no other operand has one."""
        if isinstance(self.value, float):
            return "f64"
        return "i64" if self.value < 2**63 else "u64"


def choose_literal(test: Expression, then: Literal, otherwise: Literal, node: ast.AST) -> Literal:
    """Return a choice between literals, which has no type yet either."""
    values = then.value, otherwise.value
    wider = max(values, key=lambda value: (isinstance(value, float), abs(value)))
    return Literal(wider, node, (test, then, otherwise))


def resolve_literal(literal: Literal, type_: Type) -> Expression:
    """Return the literal as a value of a type. Raises E809 if it does not fit."""
    if literal.choice is not None:
        test, *numbers = literal.choice
        values = (resolve_literal(number, type_) for number in numbers)
        return Operation(type_.of_shape(test.type.shape), "if", (test, *values))
    value, scalar = literal.value, type_.scalar
    if not fits(value, scalar):
        shown = repr(value) if abs(value) < 10**20 or isinstance(value, float) else "the number"
        raise KernelError("E809", misfit(shown, scalar), literal.node)
    return Constant(Type(scalar), float(value) if type_.is_float else value)


def fold_constants(name: str, operands: list[Literal], node: ast.AST) -> Literal | None:
    """Return the result of an operation on literals, computed by Python; None if it is no number.

    Raises E809 if there is no result.
    """
    if name not in _PYTHON or any(operand.choice is not None for operand in operands):
        return None
    values = [operand.value for operand in operands]
    if TABLE[name].rule is Rule.BITS and not all(isinstance(value, int) for value in values):
        return None
    result: object
    try:
        if name in ("**", "<<") and _is_huge(name, values):
            raise OverflowError
        result = _PYTHON[name](*values)
    except (ArithmeticError, ValueError):
        result = None
    if not isinstance(result, int | float) or not math.isfinite(result):
        raise KernelError("E809", "these numbers have no result", node)
    return Literal(result, node)


def _alike(numbers: tuple[Number, ...]) -> tuple[Number, ...]:
    """Return numbers as floats if one is: of 7 and -2.0 the greatest is 7.0."""
    is_float = any(isinstance(number, float) for number in numbers)
    return tuple(map(float, numbers)) if is_float else numbers


def _is_huge(name: str, values: list[Number]) -> bool:
    base, exponent = values
    if name == "<<":
        return exponent > _LONGEST
    return isinstance(base, int) and abs(exponent) * base.bit_length() > _LONGEST


_PYTHON: Final[dict[str, Callable[..., object]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "~": lambda a: ~a,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "neg": lambda a: -a,
    "pos": lambda a: a,
    "abs": abs,
    "min": lambda *numbers: min(_alike(numbers)),
    "max": lambda *numbers: max(_alike(numbers)),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "sign": lambda a: (a > 0) - (a < 0) if isinstance(a, int) else float((a > 0) - (a < 0)),
    **{name: getattr(math, name) for name, f in FUNCTIONS.items() if f.rule is Rule.FLOATS},
}
