"""Values of kernels: numpy's scalars and small arrays that know their type; and random words.

A number that is written in a schema is Python's, of the type `int` or `float`, and takes the type
of what it meets: as numpy has it, which is also what two types make (`i32 + f32` is an f64).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

NUMBERS = {f"{k}{n}": np.dtype(f"{k}{n // 8}") for k in "iu" for n in (8, 16, 32, 64)}
NUMBERS |= {"f32": np.dtype("f4"), "f64": np.dtype("f8")}
NAMES = {dtype: name for name, dtype in NUMBERS.items()} | {np.dtype(bool): "bool"}
LITERALS = ("int", "float")
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


class Value(NamedTuple):
    """A value of a type: a number's, `bool`, an enum's name, `entity`, `id<Component>`."""

    type: str
    data: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.data)

    @property
    def one(self) -> Any:
        """A value without a shape, as Python's."""
        return np.asarray(self.data).item()

    @property
    def kind(self) -> str:
        """As numpy says it: i, u, f or b."""
        return np.asarray(self.data).dtype.kind


def dtype_of(type_: str) -> np.dtype[Any]:
    """Handles, ids and members of enums are numbers, too."""
    return NUMBERS.get(type_, np.dtype(bool if type_ == "bool" else np.uint64))


def value(type_: str, data: Any, shape: tuple[int, ...] | None = None) -> Value:
    """What Python gives for a type; one number fills a whole shape."""
    array = np.asarray(data, dtype_of(type_))
    return Value(type_, array if shape is None else np.broadcast_to(array, shape))


def typed(data: Any) -> Value:
    """The result of an operation, whose type it has."""
    return Value(NAMES[np.asarray(data).dtype], data)


def default(type_: str, shape: tuple[int, ...], written: Any) -> Value:
    """A field's default: zeros if none is written, of a square matrix of numbers the identity."""
    if written is None and len(shape) == 2 and shape[0] == shape[1] and type_ in NUMBERS:
        written = np.eye(shape[0])
    return value(type_, 0 if written is None else written, shape)


# Conversions


def cast(type_: str, one: Value) -> Value:
    """Integers wrap; floats become integers by cutting, held in range, 0 for NaN."""
    dtype = dtype_of(type_)
    if one.kind == "f" and dtype.kind in "iu":
        cells = [_whole(x, np.iinfo(dtype)) for x in np.ravel(one.data).tolist()]
        return Value(type_, np.array(cells, dtype).reshape(one.shape))
    return Value(type_, np.asarray(one.data).astype(dtype))


def _whole(x: float, limits: np.iinfo[Any]) -> int:
    low, high = int(limits.min), int(limits.max)
    return 0 if math.isnan(x) else low if x <= low else high if x >= high else int(x)


def settled(one: Value) -> Value:
    """A number that is written, where it meets nothing: an f64 or an i64."""
    return typed(np.asarray(one.data)) if one.type in LITERALS else one


def common(one: Value, other: Value) -> str:
    """The type that two values make, of which one at least is more than a written number."""
    for type_ in (one.type, other.type):
        if type_ not in (*NUMBERS, *LITERALS):
            return type_
    operands = [v.data if v.type in LITERALS else dtype_of(v.type) for v in (one, other)]
    return typed(np.empty(0, np.result_type(*operands))).type


def floating(one: Value) -> Value:
    """Where roots and the like are taken, integers become f64."""
    return one if one.kind == "f" else cast("f64", one)


def assigned(one: Value, like: Value) -> Value:
    """A value as it is put in the place of another one, whose type and shape it gets."""
    return Value(like.type, np.broadcast_to(cast(like.type, one).data, like.shape))


def replaced(whole: Value, index: tuple[int, ...], part: Value) -> Value:
    """The whole with another element or row."""
    data = np.array(whole.data)
    data[index] = part.data
    return Value(whole.type, data)


# Operations: each in the type that its operands make, rounded or wrapped to it

UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
UFUNCS |= {"and": np.logical_and, "or": np.logical_or, "==": np.equal, "!=": np.not_equal}
UFUNCS |= {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def binary(sign: str, left: Value, right: Value) -> Value:
    """An operation of two values, element by element but for `@`."""
    if sign == "@":
        return dot(left, right)
    left, right = _meeting(left, right), _meeting(right, left)
    found = _power(left, right) if sign == "**" else typed(UFUNCS[sign](left.data, right.data))
    return _of_written(found) if left.type in LITERALS and right.type in LITERALS else found


def _meeting(one: Value, other: Value) -> Value:
    """Written numbers of a shape (`1 if marks else 2`) in the type of what they meet."""
    if one.type in LITERALS and one.shape and other.type not in LITERALS:
        return cast(common(Value(one.type, one.data.ravel()[0].item()), other), one)
    return one


def _of_written(one: Value) -> Value:
    """What is worked out of written numbers alone is one, too."""
    return Value(type(one.one).__name__, one.one)


def _power(base: Value, exponent: Value) -> Value:
    if base.kind != "f" and exponent.type == "int":
        found = np.ones_like(base.data)
        for _ in range(exponent.one):
            found = found * base.data
        return typed(found)
    if exponent.type in LITERALS and exponent.one == 2:
        return binary("*", base, base)
    if exponent.type in LITERALS and exponent.one == 0.5:
        return typed(np.sqrt(floating(base).data))
    return typed(np.power(base.data, exponent.data))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """`yes if condition else no`."""
    if yes.type in LITERALS and no.type in LITERALS:
        found = np.where(condition.data, yes.data, no.data)
        type_ = "float" if found.dtype.kind == "f" else "int"
        return Value(type_, found if found.shape else found.item())
    type_ = common(yes, no)
    return Value(type_, np.where(condition.data, cast(type_, yes).data, cast(type_, no).data))


# Functions

ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
OTHERS: dict[str, Any] = {"abs": np.abs, "sign": np.sign, "-": np.negative}
ROOTS: dict[str, Any] = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log2": np.log2}
ROOTS |= {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos}
ROOTS |= {"sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "atan2": np.arctan2}
ROOTS |= {"hypot": np.hypot, "log10": np.log10}


def function(name: str, operands: Sequence[Value]) -> Value:
    """A function by its name."""
    if any(one.type not in LITERALS for one in operands):
        return _function(name, operands)
    found = _of_written(_function(name, [settled(one) for one in operands]))
    return Value("int", int(found.data)) if name in ROUNDING else found


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
        return typed(ROOTS[name](*(cast(type_, one).data for one in operands)))
    if name in ROUNDING:
        return typed(ROUNDING[name](first.data)) if first.kind == "f" else first
    if name in OTHERS:
        return typed(OTHERS[name](first.data))
    found: Value = OF_VECTORS[name](*operands)
    return found


def norm(one: Value) -> Value:
    one = floating(one)
    return typed(np.sqrt(dot(one, one).data))


def normalize(one: Value) -> Value:
    length = norm(one)
    return floating(one) if length.one == 0 else binary("/", floating(one), length)


def dot(left: Value, right: Value) -> Value:
    """Also `@`: sums from left to right, each operation rounded."""
    a, b = left.data, right.data
    if a.ndim == b.ndim == 1:
        return typed(reduce(operator.add, a * b))
    found = np.multiply.outer(a[..., 0], b[0])
    for k in range(1, len(b)):
        found = np.add(found, np.multiply.outer(a[..., k], b[k]))
    return typed(found)


def cross(left: Value, right: Value) -> Value:
    a, b = left.data, right.data
    return typed(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])


OF_VECTORS: dict[str, Any] = {"dot": dot, "cross": cross, "norm": norm, "normalize": normalize}


# Random numbers


def mix(x: int) -> int:
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def key_of(seed: int, kernel: str, call: int) -> int:
    """The key of a call; the kernel's name is hashed by FNV-1a."""
    hashed = 0xCBF29CE484222325
    for byte in kernel.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & MASK
    return mix(mix(seed ^ hashed) + call * GOLDEN & MASK)


@dataclass
class Draws:
    """The random numbers of a row in one call of a kernel; `next` is j of the next one."""

    who: int
    key: int
    next: int = 0

    def word(self) -> int:
        self.next += 1
        return mix(mix(self.who ^ self.key) + self.next * GOLDEN & MASK)

    def random(self) -> float:
        return (self.word() >> 11) * 2.0**-53

    def normal(self) -> float:
        return NormalDist().inv_cdf(((self.word() >> 12) + 0.5) * 2.0**-52)

    def below(self, limit: int) -> int:
        return (self.word() >> 32) * min(max(limit, 0), 2**32 - 1) >> 32
