"""The reference: runs a typed kernel row by row, scalar by scalar, as its definition says.

A value is a list of numpy scalars, one per element of its shape, in C order. Nothing is fast here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ecsgen_runtime.testing import kernel_inputs
from numpy.typing import NDArray

from ecsgen.model import types
from ecsgen.model.programs import (
    PARENT,
    Argument,
    Cast,
    Constant,
    Distance,
    Draw,
    Element,
    Expression,
    FieldValue,
    Local,
    Offset,
    Operation,
    OtherField,
    Program,
    Question,
    Step,
)
from ecsgen.model.types import Type
from tests.models.kernel_scalars import SCALARS as NUMPY

Scalar = Any
Value = list[Scalar]
Columns = Mapping[str, NDArray[Any]]

NIL = 0xFFFF_FFFF


def _minimum(a: Scalar, b: Scalar) -> Scalar:
    if a != a:
        return a
    return b if b != b or b < a else a


def _maximum(a: Scalar, b: Scalar) -> Scalar:
    if a != a:
        return a
    return b if b != b or b > a else a


def _sign(a: Scalar) -> Scalar:
    return a if a != a else type(a)(int(a > 0) - int(a < 0))


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, np.floating):
        return np.power(a, b)
    bits = a.dtype.itemsize * 8
    power = pow(int(a), int(b), 2**bits)
    if a.dtype.kind == "i" and power >= 2 ** (bits - 1):
        power -= 2**bits
    return a.dtype.type(power)


def _floored(function: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Scalar, Scalar], Scalar]:
    """`//` and `%` as Python has them, 0 for integers by 0."""

    def divide(a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, np.floating) or b != 0:
            return a.dtype.type(function(a, b))
        return a.dtype.type(0)

    return divide


def _exactly(compare: Callable[[Any, Any], bool]) -> Callable[[Scalar, Scalar], Scalar]:
    """A comparison; of an i64 with a u64 as well, which no type has room for."""

    def compared(a: Scalar, b: Scalar) -> Scalar:
        is_whole = isinstance(a, np.integer) and isinstance(b, np.integer)
        return np.bool_(compare(int(a), int(b)) if is_whole else compare(a, b))

    return compared


SCALARS: dict[str, Callable[..., Scalar]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": _floored(np.floor_divide),
    "%": _floored(np.remainder),
    "**": _power,
    "neg": operator.neg,
    "square": lambda a: a * a,
    "<": _exactly(operator.lt),
    "<=": _exactly(operator.le),
    ">": _exactly(operator.gt),
    ">=": _exactly(operator.ge),
    "==": _exactly(operator.eq),
    "!=": _exactly(operator.ne),
    "and": lambda a, b: np.bool_(bool(a) and bool(b)),
    "or": lambda a, b: np.bool_(bool(a) or bool(b)),
    "not": lambda a: np.bool_(not a),
    "if": lambda c, a, b: a if c else b,
    "abs": abs,
    "min": _minimum,
    "max": _maximum,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "hypot": np.hypot,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sign": _sign,
    "trunc": np.trunc,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
}


def convert(value: Scalar, scalar: str) -> Scalar:
    """One number in another type: see `Cast`."""
    kind = NUMPY[scalar]
    if scalar == "bool":
        return np.bool_(value != 0)
    if scalar in ("f32", "f64"):
        return kind(value)
    if isinstance(value, np.floating):
        if value != value:
            return kind(0)
        low, high = types.SCALARS[scalar].range
        return kind(low if value < low else high if value > high else math.trunc(float(value)))
    bits = int(scalar[1:])
    wrapped = int(value) % 2**bits
    if scalar[0] == "i" and wrapped >= 2 ** (bits - 1):
        wrapped -= 2**bits
    return kind(wrapped)


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


@dataclass
class Reference:
    """One row of a kernel, or of a reduction, at a time."""

    columns: Columns
    arguments: Mapping[str, Any] = field(default_factory=dict)
    parents: NDArray[Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of a root's parent
    stems: Sequence[int] = ()  # what the random numbers of each row have in common
    row: int = 0
    locals_: dict[str, Value] = field(default_factory=dict)

    def run(self, program: Program, rows: Sequence[int]) -> None:
        """Run the steps for each row; with a hierarchy, parents must come before children."""
        with np.errstate(all="ignore"):
            for self.row in rows:
                self.locals_ = {}
                if program.where is None or self.value(program.where)[0]:
                    for step in program.steps:
                        self._assign(step)

    def _assign(self, step: Step) -> None:
        value = self.value(step.value)
        if isinstance(step.target, Local):
            self.locals_[step.target.name] = value
            return
        assert isinstance(step.target, FieldValue)
        column = self.columns[step.target.text]
        shape = step.type.shape
        filled = value * math.prod(shape) if len(value) == 1 else value
        cell = np.array(filled, column.dtype).reshape(shape)
        column[(self.row, *step.index)] = cell if shape else filled[0]

    def value(self, node: Expression) -> Value:
        """What an expression is in the present row."""
        match node:
            case Constant():
                return [NUMPY[node.type.scalar](node.value)]
            case Argument():
                return self._elements(self.arguments[node.name], node.type)
            case Local():
                return self.locals_[node.name]
            case FieldValue():
                return self._field(node)
            case Element():
                base = np.arange(node.base.type.elements).reshape(node.base.type.shape)
                places = np.atleast_1d(base[node.index]).ravel().tolist()
                values = self.value(node.base)
                return [values[place] for place in places]
            case Cast():
                return [convert(one, node.type.scalar) for one in self.value(node.operand)]
            case Operation():
                return self._operation(node)
            case OtherField() | Offset() | Distance() | Question():
                raise TypeError(node)  # generated tests have neighbours
            case Draw():
                bounds = [self.value(operand) for operand in node.operands]
                stem, count = self.stems[self.row], node.type.elements
                return list(kernel_inputs.numbers(node.how, stem, node.number, count, bounds))
        raise TypeError(node)  # of other rows: see `world_reference`

    def _elements(self, given: Any, type_: Type) -> Value:
        flat: NDArray[Any] = np.asarray(given, NUMPY[type_.scalar]).reshape(-1)
        return [flat[i] for i in range(len(flat))]

    def _field(self, node: FieldValue) -> Value:
        if node.owner != PARENT:
            return self._elements(self.columns[node.text][self.row], node.type)
        assert self.parents is not None
        parent = int(self.parents[self.row])
        if parent == NIL:
            return self._elements(self.defaults[node.name], node.type)
        return self._elements(self.columns[node.name][parent], node.type)

    def _operation(self, node: Operation) -> Value:
        values = [self.value(operand) for operand in node.operands]
        match node.name:
            case "dot":
                return [_dot(*values)]
            case "norm":
                return [np.sqrt(_dot(values[0], values[0]))]
            case "normalize":
                length = np.sqrt(_dot(values[0], values[0]))
                return [x / length for x in values[0]] if length != 0 else values[0]
            case "cross":
                a, b = values
                turns = ((1, 2), (2, 0), (0, 1))
                return [a[i] * b[j] - a[j] * b[i] for i, j in turns]
            case "@":
                return self._product(node, *values)
        function = SCALARS[node.name]
        longest = max(map(len, values))
        spread = [value * longest if len(value) == 1 else value for value in values]
        return [function(*one) for one in zip(*spread, strict=True)]

    def _product(self, node: Operation, left: Value, right: Value) -> Value:
        inner = node.operands[0].type.shape[-1]
        columns = len(right) // inner
        rows = [left[start : start + inner] for start in range(0, len(left), inner)]
        return [_dot(row, right[column::columns]) for row in rows for column in range(columns)]
