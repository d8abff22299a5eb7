"""How the operations of the table are called in numpy."""

from __future__ import annotations

from typing import Final

UFUNCS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "power",
    "neg": "negative",
    "square": "square",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
    "and": "logical_and",
    "or": "logical_or",
    "not": "logical_not",
    "abs": "absolute",
    "sqrt": "sqrt",
    "hypot": "hypot",
    "exp": "exp",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan2": "arctan2",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "sign": "sign",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "min": "minimum",
    "max": "maximum",
}
"""Operations that are one ufunc; the others are put together from these."""

IN_PLACE: Final = {"+": "+=", "-": "-=", "*": "*=", "/": "/="}

COMPLAINING: Final = frozenset(
    ("/", "//", "%", "**", "sqrt", "exp", "log", "log2", "log10", "asin", "acos", "tan")
) | {"sinh", "cosh"}
"""Operations of which numpy warns for values that a field may well have."""
