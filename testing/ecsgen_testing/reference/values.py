"""Values of kernels: numpy's scalars and small arrays that know their type.

A number that is written in a schema is Python's, of the type `int` or `float`, and takes the type
of what it meets: as numpy has it, which is also what two types make (`i32 + f32` is an f64).
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

NUMBERS = {f"{k}{n}": np.dtype(f"{k}{n // 8}") for k in "iu" for n in (8, 16, 32, 64)}
NUMBERS |= {"f32": np.dtype("f4"), "f64": np.dtype("f8")}
UNITS = ("s", "ms", "us", "ns")
TIMES = {f"datetime[{unit}]": np.dtype(f"M8[{unit}]") for unit in UNITS}
TIMES |= {f"timedelta[{unit}]": np.dtype(f"m8[{unit}]") for unit in UNITS}
"""Times are numpy's own, which know NaT."""
_DTYPES = NUMBERS | TIMES | {"bool": np.dtype(bool)}
_HANDLES = np.dtype(np.uint64)
NAMES = {dtype: name for name, dtype in (NUMBERS | TIMES).items()} | {np.dtype(bool): "bool"}
LITERALS = ("int", "float")


class Value(NamedTuple):
    """A value of a type: a number's, `bool`, an enum's name, `entity`, `id<Component>`."""

    type: str
    data: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, () for a single number."""
        shape = getattr(self.data, "shape", None)
        return np.shape(self.data) if shape is None else shape

    @property
    def one(self) -> Any:
        """A value without a shape, as Python's."""
        return np.asarray(self.data).item()

    @property
    def kind(self) -> str:
        """The kind of number, as numpy names it: i, u, f or b; M or m for times."""
        return _dtype(self.data).kind

    @property
    def is_literal(self) -> bool:
        """True for a number that is written, which has no type of its own."""
        return self.type in LITERALS

    @property
    def is_id(self) -> bool:
        """True for an id of a component's row."""
        return self.type.startswith("id<")

    @property
    def target(self) -> str:
        """The component whose row an id is of."""
        return self.type[3:-1]


def dtype_of(type_: str) -> np.dtype[Any]:
    """Return numpy's type; handles, ids and members of enums are numbers, too."""
    return _DTYPES.get(type_, _HANDLES)


def value(type_: str, data: Any, shape: tuple[int, ...] | None = None) -> Value:
    """Return the value that Python's data is as a type; one number fills a whole shape."""
    array = np.asarray(data, dtype_of(type_))
    return Value(type_, array if shape is None else np.broadcast_to(array, shape))


def typed(data: Any) -> Value:
    """Return the result of an operation, whose type it has."""
    return Value(NAMES[_dtype(data)], data)


def _dtype(data: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] | None = getattr(data, "dtype", None)
    return np.asarray(data).dtype if dtype is None else dtype


def identity(type_: str, shape: tuple[int, ...]) -> Value | None:
    """Return the identity for a square matrix of numbers; None for other shapes."""
    is_square = len(shape) == 2 and shape[0] == shape[1] and type_ in NUMBERS
    return value(type_, np.eye(shape[0])) if is_square else None


# Conversions


def cast(type_: str, operand: Value) -> Value:
    """Convert a value: integers wrap; floats become integers by cutting, held in range, 0 for
    NaN."""
    dtype = dtype_of(type_)
    if dtype.kind in "iu" and operand.kind == "f":
        cells = [_whole(x, np.iinfo(dtype)) for x in np.ravel(operand.data).tolist()]
        return Value(type_, np.array(cells, dtype).reshape(operand.shape)[()])
    return Value(type_, np.asarray(operand.data).astype(dtype)[()])


def _whole(x: float, limits: np.iinfo[Any]) -> int:
    low, high = int(limits.min), int(limits.max)
    return 0 if math.isnan(x) else low if x <= low else high if x >= high else int(x)


def settled(operand: Value) -> Value:
    """Return a number that is written, where it meets nothing: an f64 or an i64."""
    return typed(np.asarray(operand.data)) if operand.is_literal else operand


def common(left: Value, right: Value) -> str:
    """Return the type that two values make, of which one at least is more than a written number."""
    for type_ in (left.type, right.type):
        if type_ not in NUMBERS and type_ not in LITERALS:
            return type_
    operands = [v.data if v.is_literal else dtype_of(v.type) for v in (left, right)]
    return typed(np.empty(0, np.result_type(*operands))).type


def floating(operand: Value) -> Value:
    """Return what roots and the like are taken of: integers become f64."""
    return operand if operand.kind == "f" else cast("f64", operand)


def assigned(new: Value, like: Value) -> Value:
    """Return a value as it is put in the place of another one, whose type and shape it gets."""
    data = new.data if new.type == like.type else cast(like.type, new).data
    result, shape = Value(like.type, data), like.shape
    return result if result.shape == shape else Value(like.type, np.broadcast_to(data, shape))


def replaced(old: Value, index: tuple[int, ...], part: Value) -> Value:
    """Return a value with another element or row."""
    data = np.array(old.data)
    data[index] = part.data
    return Value(old.type, data[()])


# Operations: each in the type that its operands make, rounded or wrapped to it

UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
UFUNCS |= {"and": np.logical_and, "or": np.logical_or, "==": np.equal, "!=": np.not_equal}
UFUNCS |= {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def _shifted(shift: Any, beyond: int, number: Any, by: Any) -> Any:
    """Return shifted numbers, of the type of both; by less than 0 or by the width or more 0, of
    negative ones what is `beyond`."""
    wide = np.result_type(number, by)
    number, by = (array.astype(wide) for array in np.broadcast_arrays(number, by))
    is_within = (by >= 0) & (by < 8 * wide.itemsize)
    filled = np.where(number < 0, beyond, 0).astype(wide)
    return np.where(is_within, shift(number, np.where(is_within, by, 0)), filled)[()]


UFUNCS |= {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
UFUNCS |= {"<<": partial(_shifted, np.left_shift, 0), ">>": partial(_shifted, np.right_shift, -1)}


def operation_of(sign: str, *types: str) -> Callable[[Any, Any], Any]:
    """Return an operation of numpy's numbers of two types; `sign` is none of `@` and `**`."""
    if sign in ("+", "-", "*") and not TIMES.keys().isdisjoint(types):
        return partial(_of_times, UFUNCS[sign])
    return UFUNCS[sign]  # type: ignore[no-any-return]  # ufuncs and functions


def _of_times(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """Return a sum, difference or multiple of times: NaT of NaT; what does not fit wraps, of which
    numpy makes an OverflowError."""
    times = [np.asarray(x) for x in (left, right)]
    dtype = ufunc(*(np.empty(0, x.dtype) for x in times)).dtype
    is_nat = reduce(np.logical_or, (np.isnat(x) for x in times if x.dtype.kind in "mM"))
    units = ufunc(*(x.view(np.int64) for x in times))
    return np.where(is_nat, np.iinfo(np.int64).min, units).view(dtype)[()]


def binary(sign: str, left: Value, right: Value) -> Value:
    """Return an operation of two values, element by element but for `@`."""
    if sign == "@":
        return dot(left, right)
    if sign == "**":
        result = _power(left, right)
    else:
        operate = operation_of(sign, left.type, right.type)
        result = typed(operate(meeting(left, right).data, meeting(right, left).data))
        if sign in ("&", "|", "^") and not (left.is_literal and right.is_literal):
            result = Value(common(left, right), result.data)  # flags stay what they are
    return _of_literals(result) if left.is_literal and right.is_literal else result


def meeting(operand: Value, other: Value) -> Value:
    """Return a value where it meets another: a written number in the type of the two, and what a
    timedelta is multiplied by as an i64."""
    if other.type in TIMES and operand.type not in TIMES:
        return cast("i64", operand)
    if not operand.is_literal or other.is_literal:
        return operand
    first = np.ravel(operand.data)[0].item()  # of `1 if marks else 2` there are several
    return cast(common(Value(operand.type, first), other), operand)


def _of_literals(result: Value) -> Value:
    """Return what is worked out of written numbers alone, which is a written number or a bool."""
    return result if result.type == "bool" else Value(type(result.one).__name__, result.one)


def _power(base: Value, exponent: Value) -> Value:
    if base.kind != "f" and exponent.type == "int":
        result = np.ones_like(base.data)
        for _ in range(exponent.one):
            result = result * base.data
        return typed(result)
    if exponent.is_literal and exponent.one == 2:
        return binary("*", base, base)
    if exponent.is_literal and exponent.one == 0.5:
        return typed(np.sqrt(floating(base).data))
    return typed(np.power(meeting(base, exponent).data, meeting(exponent, base).data))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """Return `yes if condition else no`."""
    if yes.is_literal and no.is_literal:
        result = np.where(condition.data, yes.data, no.data)
        type_ = "float" if result.dtype.kind == "f" else "int"
        return Value(type_, result if result.shape else result.item())
    type_ = common(yes, no)
    sides = cast(type_, yes).data, cast(type_, no).data
    return Value(type_, np.where(condition.data, *sides)[()])


# Functions

ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
OTHERS: dict[str, Any] = {"abs": np.abs, "sign": np.sign, "-": np.negative}
ROOTS: dict[str, Any] = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log2": np.log2}
ROOTS |= {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos}
ROOTS |= {"sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "atan2": np.arctan2}
ROOTS |= {"hypot": np.hypot, "log10": np.log10}


def function(name: str, operands: Sequence[Value]) -> Value:
    """Return a function of values, by its name."""
    if not all(operand.is_literal for operand in operands):
        return _function(name, operands)
    result = _function(name, [settled(operand) for operand in operands])
    if result.shape:
        return result
    result = _of_literals(result)
    return Value("int", int(result.data)) if name in ROUNDING else result


def _function(name: str, operands: Sequence[Value]) -> Value:
    first = operands[0]
    if name in ("min", "max"):
        for other in operands[1:]:
            first = binary(name, first, other)
        return first
    if name == "clip":
        return binary("min", binary("max", first, operands[1]), operands[2])
    if name in ROOTS:
        type_ = floating(value(common(first, operands[-1]), 0)).type
        return typed(ROOTS[name](*(cast(type_, operand).data for operand in operands)))
    if name in ROUNDING:
        return typed(ROUNDING[name](first.data)) if first.kind == "f" else first
    if name in OTHERS:
        return typed(OTHERS[name](first.data))
    return OF_VECTORS[name](*operands)


def norm(vector: Value) -> Value:
    """Return the length of a vector."""
    vector = floating(vector)
    return typed(np.sqrt(dot(vector, vector).data))


def normalize(vector: Value) -> Value:
    """Return a vector of length 1; one of length 0 as it is."""
    length = norm(vector)
    return floating(vector) if length.one == 0 else binary("/", floating(vector), length)


def dot(left: Value, right: Value) -> Value:
    """Return a product of vectors or matrices: sums from left to right, each operation rounded."""
    a, b = left.data, right.data
    if a.ndim == b.ndim == 1:
        return typed(reduce(operator.add, a * b))
    total = np.multiply.outer(a[..., 0], b[0])
    for k in range(1, len(b)):
        total = np.add(total, np.multiply.outer(a[..., k], b[k]))
    return typed(total)


def cross(left: Value, right: Value) -> Value:
    """Return the cross product."""
    a, b = left.data, right.data
    return typed(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])


def vec(*numbers: Value) -> Value:
    """Return the vector of several numbers, in the type that they make together."""
    known = sorted(numbers, key=lambda number: number.is_literal)
    if known[0].is_literal:
        type_ = "i64" if all(number.type == "int" for number in known) else "f64"
    else:
        type_ = reduce(lambda t, number: common(value(t, 0), number), known, known[0].type)
    return value(type_, [cast(type_, number).data for number in numbers])


def unit(angle: Value) -> Value:
    """Return the vector of length 1 at an angle."""
    return vec(function("cos", [angle]), function("sin", [angle]))


def angle(vector: Value) -> Value:
    """Return the angle of a vector."""
    x, y = elements(vector)
    return function("atan2", [y, x])


def rotate(vector: Value, by: Value) -> Value:
    """Return a vector turned by an angle."""
    x, y = elements(vector)
    cos, sin = function("cos", [by]), function("sin", [by])
    turned_x = binary("-", binary("*", x, cos), binary("*", y, sin))
    return vec(turned_x, binary("+", binary("*", x, sin), binary("*", y, cos)))


def elements(vector: Value) -> list[Value]:
    """Return the elements of a vector or matrix, in C order."""
    return [Value(vector.type, element) for element in np.ravel(vector.data)]


def of_elements(name: str, vector: Value) -> Value:
    """Return the `min`, `max` or `sum` of the elements of a vector or matrix."""
    return gathered(name, elements(vector), value(vector.type, 0))


OF_VECTORS: dict[str, Callable[..., Value]] = {
    "vec": vec,
    "unit": unit,
    "angle": angle,
    "rotate": rotate,
    "argmin": lambda vector: value("i64", np.argmin(vector.data)),
    "argmax": lambda vector: value("i64", np.argmax(vector.data)),
    "any": lambda vector: value("bool", np.any(vector.data)),
    "all": lambda vector: value("bool", np.all(vector.data)),
    "dot": dot,
    "cross": cross,
    "norm": norm,
    "normalize": normalize,
}


def reduced_type(function: str, sample: Value) -> str:
    """Return the type of a reduction of values that are like a sample."""
    if function == "count":
        return "i64"
    return {"i": "i64", "u": "u64"}.get(sample.kind, "f64") if function == "sum" else "f64"


def gathered(name: str, answers: list[Value], sample: Value) -> Value:
    """Return what neighbours have together; of none 0, or NaN as a float."""
    is_float = sample.kind == "f"
    if name in ("min", "max"):
        nothing = value(sample.type, math.nan if is_float else 0, sample.shape)
        return function(name, answers) if answers else nothing
    if name == "mode":
        counted = Counter(answer.one for answer in answers)
        return value(sample.type, max(counted, key=counted.__getitem__, default=0))
    wide = "f64" if is_float or name == "mean" else "i64" if sample.kind == "i" else "u64"
    total = value(wide, 0, sample.shape)
    for answer in answers:
        total = binary("+", total, cast(wide, answer))
    if name == "mean":
        total = binary("/", total, value("f64", len(answers)))
    return cast(sample.type, total) if is_float else total
