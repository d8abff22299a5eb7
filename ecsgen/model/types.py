"""Scalar types, and types of kernel expressions, promoted as in numpy."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of numbers or bools."""

    name: str
    """The name in schemas."""
    nbytes: int
    struct: str
    """The letter for the module `struct`."""
    numpy: str
    """The class in generated code."""
    kind: str
    """`b`, `i`, `u` or `f`, as in numpy."""

    @property
    def bits(self) -> int:
        return 8 * self.nbytes

    @property
    def code(self) -> str:
        """The short name in numpy."""
        return "?" if self.kind == "b" else f"{self.kind}{self.nbytes}"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        if self.kind == "u":
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1


def _integers(kind: str, numpy: str, letters: str) -> tuple[Scalar, ...]:
    sizes = zip(letters, (1, 2, 4, 8), strict=True)
    return tuple(
        Scalar(f"{kind}{8 * size}", size, letter, f"np.{numpy}{8 * size}", kind)
        for letter, size in sizes
    )


_ALL: Final = (
    Scalar("bool", 1, "?", "np.bool_", "b"),
    *_integers("i", "int", "bhiq"),
    *_integers("u", "uint", "BHIQ"),
    Scalar("f32", 4, "f", "np.float32", "f"),
    Scalar("f64", 8, "d", "np.float64", "f"),
)
SCALARS: Final = {scalar.name: scalar for scalar in _ALL}
UNSIGNED: Final = tuple(scalar.name for scalar in _ALL if scalar.kind == "u")
INTEGERS: Final = tuple(scalar.name for scalar in _ALL if scalar.kind in "iu")
FLOATS: Final = tuple(scalar.name for scalar in _ALL if scalar.kind == "f")
TIME_UNITS: Final = ("s", "ms", "us", "ns")
TIMES: Final = tuple(f"{base}[{unit}]" for base in ("datetime", "timedelta") for unit in TIME_UNITS)


Number = int | float


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an expression's value per row: one scalar, or a fixed shape of them."""

    scalar: str  # "bool", "i8" … "f64"
    shape: tuple[int, ...] = ()
    kind: str = ""
    """An enum's name, "entity" or "id<…>": values to compare and assign, not numbers; or a time
    with its unit, "datetime[ms]" or "timedelta[ms]", whose units an i64 counts."""

    @property
    def is_bool(self) -> bool:
        return self.scalar == "bool"

    @property
    def is_float(self) -> bool:
        return self.scalar in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.scalar in INTEGERS

    @property
    def is_number(self) -> bool:
        """True if arithmetic is allowed."""
        return not self.is_bool and not self.kind

    @property
    def is_handle(self) -> bool:
        """True for entities and ids."""
        return self.kind == "entity" or self.kind.startswith("id<")

    @property
    def enum(self) -> str:
        """The name of the enum; empty for other types."""
        return "" if self.is_handle or self.is_time else self.kind

    @property
    def is_time(self) -> bool:
        """True for datetimes and timedeltas."""
        return self.kind.startswith(("datetime[", "timedelta["))

    @property
    def column_scalar(self) -> str:
        """The scalar type of a column of such values: numpy's of times."""
        if not self.is_time:
            return self.scalar
        base, unit = self.kind.split("[")
        return f"{'M8' if base == 'datetime' else 'm8'}[{unit}"

    @property
    def is_computed(self) -> bool:
        """True if arithmetic is allowed, of times as their own rules have it."""
        return self.is_number or self.is_time

    @property
    def bits(self) -> int:
        return SCALARS[self.scalar].bits

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def total(self) -> str:
        """The scalar type of sums."""
        return f"{'f' if self.is_float else 'u' if self.scalar[0] == 'u' else 'i'}64"

    def of_shape(self, shape: tuple[int, ...]) -> Type:
        return Type(self.scalar, shape, self.kind)

    def of_scalar(self, scalar: str) -> Type:
        return Type(scalar, self.shape)

    def __str__(self) -> str:
        name = self.kind or self.scalar
        return f"{name}[{','.join(map(str, self.shape))}]" if self.shape else name


BOOL: Final = Type("bool")


def promote(left: str, right: str) -> str:
    """Return the scalar type of an operation of two numbers: numpy's `result_type`."""
    if left == right:
        return left
    if left in FLOATS or right in FLOATS:
        small = {"f32", "i8", "i16", "u8", "u16"}
        return "f32" if left in small and right in small else "f64"
    if left[0] == right[0]:
        return max(left, right, key=lambda name: SCALARS[name].bits)
    signed, unsigned = (left, right) if left[0] == "i" else (right, left)
    bits = SCALARS[unsigned].bits
    if SCALARS[signed].bits > bits:
        return signed
    return "f64" if unsigned == "u64" else f"i{2 * bits}"


def as_float(scalar: str) -> str:
    """Return the scalar type of the argument of a function of real numbers."""
    return scalar if scalar in FLOATS else "f64"


def fits(value: Number, scalar: str) -> bool:
    """Return True if a literal is a value of the type, which may round floats."""
    if scalar in FLOATS:
        try:
            struct.pack(f"<{SCALARS[scalar].struct}", value)
        except (OverflowError, struct.error):
            return False
        return True
    if not isinstance(value, int):
        return False
    low, high = SCALARS[scalar].range
    return low <= value <= high


def misfit(shown: str, scalar: str) -> str:
    """Return the message for a number that is no value of the type."""
    if scalar in FLOATS:
        return f"{shown} would become infinite in {scalar}"
    low, high = SCALARS[scalar].range
    return f"{shown} does not fit {scalar}: {low} to {high}"
