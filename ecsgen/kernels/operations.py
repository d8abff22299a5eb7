"""The table of operations, which typing, the reference implementation and every backend share.

A rule gives the types of the prepared operands, and the type of the result.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Rule(Enum):
    """Types of the operands and of the result of an operation."""

    NUMBERS = "numbers of one type, element by element; the same type"
    QUOTIENT = "floats of one type (two integers become f64), element by element; the same type"
    FLOATS = "floats of one type (integers become f64), element by element; the same type"
    WHOLE = "a float, element by element; the same type (an integer is whole already)"
    POWER = "a float and a float, or an integer and a literal from 0; the type of the first"
    ORDER = "numbers of one type, or integers of any two, element by element; bool"
    EQUALITY = "two values of one type, or integers of any two, element by element; bool"
    LOGIC = "bools, element by element; bool"
    CHOICE = "a bool and two values of one type, element by element; their type"
    DOT = "two vectors of numbers of one type and length; a scalar of that type"
    CROSS = "two vectors of three numbers of one type; the same type"
    NORM = "a vector of floats (integers become f64); a scalar of that type"
    NORMALIZE = "a vector of floats (integers become f64); the same type"
    AGGREGATE = "a value of each neighbour; the same type, sums of integers in 64 bits"
    GRID = "a component, a cell, or a place; a cell, a place, or bool"
    DRAW = "how many numbers, or bounds; f64, whole numbers i64"
    MATRIX = "a matrix and a matrix or vector, or a vector and a matrix; numbers of one type"
    BITS = "integers of one type, or flags of one enum, element by element; the same type"
    VECTOR = "2 to 16 numbers of one type without a shape; a vector of them"
    PLANE = "a vector of two floats, or an angle (integers become f64); of the same type"
    ELEMENTS = "numbers with a shape; one of them, or an i64"
    TOTAL = "numbers with a shape; the same type, sums of integers in 64 bits"
    TRUTHS = "bools with a shape; bool"
    TIMES = "times of one unit, as `time_rules` has them, element by element"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operation."""

    name: str  # as in the tree
    arity: int
    rule: Rule
    description: str  # what it computes


def _table(*operators: Operator) -> dict[str, Operator]:
    return {operator.name: operator for operator in operators}


OPERATORS: Final = _table(
    Operator("+", 2, Rule.NUMBERS, "the sum; integers wrap"),
    Operator("-", 2, Rule.NUMBERS, "the difference; integers wrap"),
    Operator("*", 2, Rule.NUMBERS, "the product; integers wrap"),
    Operator("/", 2, Rule.QUOTIENT, "the quotient; of integers in f64"),
    Operator("//", 2, Rule.NUMBERS, "the quotient rounded down; 0 for an integer by 0"),
    Operator(
        "%", 2, Rule.NUMBERS, "what `//` leaves, of the divisor's sign; 0 for an integer by 0"
    ),
    Operator("**", 2, Rule.POWER, "the power; integers wrap"),
    Operator("neg", 1, Rule.NUMBERS, "the negative; integers wrap"),
    Operator("square", 1, Rule.NUMBERS, "x ** 2: x times x"),
    Operator("<", 2, Rule.ORDER, "less; false for NaN"),
    Operator("<=", 2, Rule.ORDER, "less or equal; false for NaN"),
    Operator(">", 2, Rule.ORDER, "greater; false for NaN"),
    Operator(">=", 2, Rule.ORDER, "greater or equal; false for NaN"),
    Operator("==", 2, Rule.EQUALITY, "equal; false for NaN"),
    Operator("!=", 2, Rule.EQUALITY, "not equal; true for NaN"),
    Operator("and", 2, Rule.LOGIC, "both"),
    Operator("or", 2, Rule.LOGIC, "one of them or both"),
    Operator("not", 1, Rule.LOGIC, "the opposite"),
    Operator("if", 3, Rule.CHOICE, "`a if c else b` as (c, a, b)"),
    Operator("@", 2, Rule.MATRIX, "the matrix product, each sum from left to right"),
    Operator("&", 2, Rule.BITS, "the bits of both"),
    Operator("|", 2, Rule.BITS, "the bits of one of them or both"),
    Operator("^", 2, Rule.BITS, "the bits of one of them alone"),
    Operator("~", 1, Rule.BITS, "the other bits; of flags the other members"),
    Operator("<<", 2, Rule.BITS, "shifted up; by less than 0, or by the width or more: 0"),
    Operator(">>", 2, Rule.BITS, "shifted down, the sign kept; by what `<<` gives 0: 0, or -1"),
)
"""Operations written with signs and words."""

FUNCTIONS: Final = _table(
    Operator("abs", 1, Rule.NUMBERS, "the absolute value; the smallest integer stays as it is"),
    Operator("sqrt", 1, Rule.FLOATS, "the square root; NaN below zero"),
    Operator("hypot", 2, Rule.FLOATS, "the length of the vector (x, y)"),
    Operator("exp", 1, Rule.FLOATS, "e to the power of x"),
    Operator("log", 1, Rule.FLOATS, "the natural logarithm; -inf for zero"),
    Operator("log2", 1, Rule.FLOATS, "the logarithm to base 2"),
    Operator("log10", 1, Rule.FLOATS, "the logarithm to base 10"),
    Operator("sin", 1, Rule.FLOATS, "the sine of x radians"),
    Operator("cos", 1, Rule.FLOATS, "the cosine of x radians"),
    Operator("tan", 1, Rule.FLOATS, "the tangent of x radians"),
    Operator("asin", 1, Rule.FLOATS, "the arc sine in radians"),
    Operator("acos", 1, Rule.FLOATS, "the arc cosine in radians"),
    Operator("atan2", 2, Rule.FLOATS, "the angle of (x, y) as atan2(y, x)"),
    Operator("sinh", 1, Rule.FLOATS, "the hyperbolic sine"),
    Operator("cosh", 1, Rule.FLOATS, "the hyperbolic cosine"),
    Operator("tanh", 1, Rule.FLOATS, "the hyperbolic tangent"),
    Operator("sign", 1, Rule.NUMBERS, "-1, 0 or 1; NaN of NaN, 0 of either zero"),
    Operator("floor", 1, Rule.WHOLE, "the next whole number below"),
    Operator("ceil", 1, Rule.WHOLE, "the next whole number above"),
    Operator("trunc", 1, Rule.WHOLE, "the next whole number towards zero"),
    Operator("round", 1, Rule.WHOLE, "the nearest whole number, halves to even ones"),
    Operator("min", 2, Rule.NUMBERS, "the smallest of two or more; NaN if one is"),
    Operator("max", 2, Rule.NUMBERS, "the largest of two or more; NaN if one is"),
    Operator("clip", 3, Rule.NUMBERS, "`min(max(x, low), high)`"),
    Operator("dot", 2, Rule.DOT, "the sum of products, from left to right"),
    Operator("cross", 2, Rule.CROSS, "the cross product"),
    Operator("norm", 1, Rule.NORM, "the length: `sqrt(dot(v, v))`"),
    Operator("normalize", 1, Rule.NORMALIZE, "v / norm(v); unchanged if the length is 0"),
    Operator("vec", 2, Rule.VECTOR, "a vector of 2 to 16 numbers"),
    Operator("unit", 1, Rule.PLANE, "`vec(cos(a), sin(a))`"),
    Operator("angle", 1, Rule.PLANE, "`atan2(v.y, v.x)`"),
    Operator("rotate", 2, Rule.PLANE, "v turned by an angle: as a complex number times `unit(a)`"),
    Operator("argmin", 1, Rule.ELEMENTS, "where the smallest is in C order, the first of several"),
    Operator("argmax", 1, Rule.ELEMENTS, "where the largest is in C order, the first of several"),
    Operator("any", 1, Rule.TRUTHS, "true if one is true"),
    Operator("all", 1, Rule.TRUTHS, "true if all are true"),
)
"""Operations written as calls. `clip` and `min` and `max` of more than two become pairs."""

ELEMENT_FUNCTIONS: Final = _table(
    Operator("least", 1, Rule.ELEMENTS, "`min(v)`: the smallest element; NaN if one is"),
    Operator("greatest", 1, Rule.ELEMENTS, "`max(v)`: the largest element; NaN if one is"),
    Operator("total", 1, Rule.TOTAL, "`sum(v)`: the sum in C order, of floats in f64"),
)
OF_ELEMENTS: Final = {"min": "least", "max": "greatest", "sum": "total"}
"""The operations of functions that ask neighbours as well, or take several values."""

MAX_VECTOR: Final = 16
"""The most numbers that `vec` takes."""

TIME_OPERATIONS: Final = _table(
    Operator("add_times", 2, Rule.TIMES, "the sum; NaT if one is"),
    Operator("subtract_times", 2, Rule.TIMES, "the difference; NaT if one is"),
    Operator("multiply_time", 2, Rule.TIMES, "a timedelta so many times"),
    Operator("divide_times", 2, Rule.TIMES, "the ratio of timedeltas, f64; NaN of NaT"),
    Operator("negate_time", 1, Rule.TIMES, "the negative"),
    Operator("absolute_time", 1, Rule.TIMES, "the absolute value"),
    Operator("earliest", 2, Rule.TIMES, "the smaller; NaT if one is"),
    Operator("latest", 2, Rule.TIMES, "the larger; NaT if one is"),
    Operator("is_before", 2, Rule.TIMES, "less; false for NaT"),
    Operator("is_at_most", 2, Rule.TIMES, "less or equal; false for NaT"),
    Operator("is_same_time", 2, Rule.TIMES, "equal; false for NaT"),
    Operator("is_other_time", 2, Rule.TIMES, "not equal; true for NaT"),
)
"""Operations on times, in which an i64 counts the units and the least one is NaT."""

TABLE: Final = OPERATORS | FUNCTIONS | ELEMENT_FUNCTIONS | TIME_OPERATIONS

DRAWS: Final = _table(
    Operator("random", 0, Rule.DRAW, "a number in [0, 1); `random(3)` is a vector of three"),
    Operator("uniform", 2, Rule.DRAW, "`a + (b - a) * random()`, for each element of a shape"),
    Operator(
        "normal",
        0,
        Rule.DRAW,
        "a number of mean 0 and deviation 1; `normal(3)` is a vector of three",
    ),
    Operator("randrange", 1, Rule.DRAW, "a whole number from 0 to n - 1, for each element"),
    Operator(
        "exponential", 1, Rule.DRAW, "`-log(1 - random()) * scale`: how long until it happens"
    ),
    Operator("poisson", 1, Rule.DRAW, "how often what happens `mean` times on average does, i64"),
    Operator("bernoulli", 1, Rule.DRAW, "true with probability p: `random() < p`"),
)
"""Draws of random numbers, written as calls."""

CONSTANTS: Final = {"pi": math.pi, "tau": math.tau}
"""Literals by name."""

TRUTHS: Final = {"true": True, "false": False}
"""Bools as YAML writes them; Python's own are part of its syntax."""
GRID_FUNCTIONS: Final = _table(
    Operator("random_empty", 1, Rule.GRID, "a cell on which no row of a component stands"),
    Operator("coords", 1, Rule.GRID, "where a cell is; -1 along each axis for what is none"),
    Operator("full", 2, Rule.GRID, "is there no room on a cell for a row? true for no cell"),
    Operator("cell_at", 2, Rule.GRID, "the cell of a grid at a place, 0 outside of open axes"),
)
"""Calls about cells; `choice` of a component is typed with them."""
COMMANDS: Final = ("die", "destroy", "spawn", "add", "remove")
"""Calls that are steps of their own: despawns and spawns, and changes of components."""
EXISTS: Final = "exists"
"""The function that is true if a handle leads to a row or a living entity."""

AGGREGATES: Final = _table(
    Operator("count", 0, Rule.AGGREGATE, "how many neighbours; of a condition, for how many"),
    Operator("sum", 1, Rule.AGGREGATE, "the sum, of floats in f64; 0 without neighbours"),
    Operator("mean", 1, Rule.AGGREGATE, "the mean, of integers in f64; NaN without neighbours"),
    Operator("min", 1, Rule.AGGREGATE, "the smallest; NaN if one is, or without neighbours (0)"),
    Operator("max", 1, Rule.AGGREGATE, "the largest; NaN if one is, or without neighbours (0)"),
    Operator(
        "nearest", 1, Rule.AGGREGATE, "that of the nearest; 0, false, null without neighbours"
    ),
    Operator("mode", 1, Rule.AGGREGATE, "the most frequent value, of several the one first met"),
    Operator("choice", 1, Rule.AGGREGATE, "that of one of them, each as likely; 0, false, null"),
    Operator("max_by", 2, Rule.AGGREGATE, "the first, of whom the next ones are greatest"),
    Operator("min_by", 2, Rule.AGGREGATE, "the first, of whom the next ones are least"),
)
"""Aggregates over neighbours, in kernels with `near`."""

BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
UNARY: Final[dict[type[ast.unaryop], str]] = {
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Not: "not",
    ast.Invert: "~",
}
WORDS: Final[dict[type[ast.boolop], str]] = {ast.And: "and", ast.Or: "or"}
COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
MEMBERSHIP: Final[dict[type[ast.cmpop], str]] = {ast.In: "==", ast.NotIn: "!="}
"""Comparisons with 0 of the flags that are missing."""
