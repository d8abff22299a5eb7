"""The type rules of times: points and spans of one unit, which no number is added to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final, NamedTuple

from ecsgen.diagnostics import quote
from ecsgen.kernels.literals import Literal, resolve_literal
from ecsgen.kernels.parsing import KernelError
from ecsgen.model.typed_tree import Cast, Expression
from ecsgen.model.types import BOOL, Type

_POINT, _SPAN, _COUNT = "datetime", "timedelta", "integer"
_FLOAT: Final = "f64"
_BOOL: Final = "bool"
_Results = dict[tuple[str, ...], str]
"""By the kinds of the operands: the kind of the result."""


class _Rule(NamedTuple):
    operation: str
    """Its name in the table of operations."""
    results: _Results
    words: str


_COMPARED: Final[_Results] = {(_POINT, _POINT): _BOOL, (_SPAN, _SPAN): _BOOL}
_CHOSEN: Final[_Results] = {(_POINT, _POINT): _POINT, (_SPAN, _SPAN): _SPAN}
_ALIKE: Final = "two of one kind"
_RULES: Final = {
    "+": _Rule(
        "add_times",
        {(_POINT, _SPAN): _POINT, (_SPAN, _POINT): _POINT, (_SPAN, _SPAN): _SPAN},
        "a datetime and a timedelta, or two timedeltas",
    ),
    "-": _Rule(
        "subtract_times",
        {(_POINT, _POINT): _SPAN, (_POINT, _SPAN): _POINT, (_SPAN, _SPAN): _SPAN},
        "two of one kind, or a datetime and a timedelta",
    ),
    "*": _Rule(
        "multiply_time",
        {(_SPAN, _COUNT): _SPAN, (_COUNT, _SPAN): _SPAN},
        "a timedelta and an integer",
    ),
    "/": _Rule("divide_times", {(_SPAN, _SPAN): _FLOAT}, "two timedeltas"),
    "neg": _Rule("negate_time", {(_SPAN,): _SPAN}, "a timedelta"),
    "abs": _Rule("absolute_time", {(_SPAN,): _SPAN}, "a timedelta"),
    "min": _Rule("earliest", _CHOSEN, _ALIKE),
    "max": _Rule("latest", _CHOSEN, _ALIKE),
    "<": _Rule("is_before", _COMPARED, _ALIKE),
    ">": _Rule("is_before", _COMPARED, _ALIKE),
    "<=": _Rule("is_at_most", _COMPARED, _ALIKE),
    ">=": _Rule("is_at_most", _COMPARED, _ALIKE),
    "==": _Rule("is_same_time", _COMPARED, _ALIKE),
    "!=": _Rule("is_other_time", _COMPARED, _ALIKE),
}
_MIRRORED: Final = (">", ">=")
TIME_SIGNS: Final = {rule.operation: sign for sign, rule in reversed(_RULES.items())}
"""The sign of each operation on times; of two signs the first one."""


def prepare_times(
    name: str, operands: Sequence[Expression | Literal], node: ast.AST
) -> tuple[str, Type, tuple[Expression, ...]] | None:
    """Return an operation's name among times, its type without a shape, and its operands; None
    without times, and of what is no operation on times alone.

    Raises E803 for operands of other kinds, and for times of two units.
    """
    types = [operand.type for operand in operands if not isinstance(operand, Literal)]
    units = {type_.kind.partition("[")[2] for type_ in types if type_.is_time}
    if name not in _RULES or not units:
        return None
    rule, kinds = _RULES[name], tuple(map(_kind, operands))
    shown = " and ".join("a number" if isinstance(o, Literal) else str(o.type) for o in operands)
    if kinds not in rule.results:
        sign = quote("-" if name == "neg" else name)
        message = f"{sign} takes {rule.words}, not {shown}"
        raise KernelError("E803", message, node, _hint(name, kinds))
    if len(units) > 1:
        message = f"{quote(name)} takes times of one unit, not {shown}"
        raise KernelError("E803", message, node, "declare both in the finer one")
    values = [_value(operand) for operand in operands]
    if name in _MIRRORED or kinds == (_COUNT, _SPAN):
        values.reverse()
    return rule.operation, _type(rule.results[kinds], *units), (*values,)


def _kind(operand: Expression | Literal) -> str:
    if isinstance(operand, Literal):
        return _COUNT if isinstance(operand.value, int) else ""
    if operand.type.is_time:
        return operand.type.kind.partition("[")[0]
    return _COUNT if operand.type.is_number and operand.type.is_integer else ""


def _type(kind: str, unit: str) -> Type:
    if kind == _BOOL:
        return BOOL
    return Type(_FLOAT) if kind == _FLOAT else Type("i64", (), f"{kind}[{unit}")


def _value(operand: Expression | Literal) -> Expression:
    count = Type("i64")
    if isinstance(operand, Literal):
        return resolve_literal(operand, count)
    if operand.type.scalar == count.scalar:
        return operand
    return Cast(count.of_shape(operand.type.shape), operand)


def _hint(name: str, kinds: Sequence[str]) -> str:
    if name in ("*", "/"):
        return "i64(…) counts the units of a timedelta"
    if {_COUNT, ""} & {*kinds}:
        return "a setting or an argument can be a timedelta, as in `settings.hour * 2`"
    return ""
