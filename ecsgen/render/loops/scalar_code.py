"""Expressions as text, put together with no more brackets than Python needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain, count
from math import inf
from typing import Final

from ecsgen.model.types import FLOATS, SCALARS, UNSIGNED
from ecsgen.render.text.library_imports import COMPILED, locate_public_names
from ecsgen.render.text.name_shadowing import may_be_shadowed


class Precedence(IntEnum):
    """Precedence of the outermost operator of an expression."""

    CHOICE = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SUM = 9
    PRODUCT = 10
    SIGN = 11
    POWER = 12
    ATOM = 13
    CALL = 14


@dataclass(frozen=True, slots=True)
class Code:
    """Expression for one number."""

    text: str
    level: Precedence = Precedence.ATOM
    value_bits: int = 0
    """Bits of an integer that numba computes in 64 bits and that must be cut to its own type before
    use: it lies between -2**value_bits and 2**value_bits. 0 if it needs no cut; of unsigned types
    only whether it is 0 matters."""
    python_number: Callable[[], str] | None = field(default=None, compare=False)
    """Returns the expression for the number as Python's own `int` or `float`, without regard to
    precedence; None if plain loops have no such expression."""

    @property
    def is_atomic(self) -> bool:
        """True if reading the expression twice is as good as giving it a name."""
        return self.level is Precedence.ATOM

    @property
    def is_number(self) -> bool:
        """True if the expression is a bare integer constant."""
        return self.text.removeprefix("-").isdigit()

    def within(self, level: int) -> str:
        """Return the text as an operand, in brackets if its operator binds less than `level`."""
        return f"({self.text})" if self.level < level else self.text


def infix(operator: str, level: Precedence, left: Code, right: Code, value_bits: int = 0) -> Code:
    """Return a chain of operators: a left operand of the same level needs no brackets."""
    return Code(f"{left.within(level)} {operator} {right.within(level + 1)}", level, value_bits)


def make_call_code(function: str, *operands: Code, value_bits: int = 0) -> Code:
    arguments = ", ".join(operand.text for operand in operands)
    return Code(f"{function}({arguments})", Precedence.CALL, value_bits)


def wrap_to_type(code: Code, scalar: str) -> Code:
    """Cut a number to its own type, which numba has computed in 64 bits."""
    return make_call_code(SCALARS[scalar].numpy, code) if code.value_bits else code


def widened_bits(scalar: str) -> int:
    """Return the bits, but for the sign, of a type that numba widens to 64 bits; 0 for others."""
    scalar_type = SCALARS[scalar]
    return scalar_type.bits - 1 if scalar_type.kind in "iu" and scalar_type.bits < 64 else 0


def number(value: bool | int | float, scalar: str) -> Code:
    """Return a constant of a type. A bare integer is an i64, which mixes with signed types."""
    text = spelled(value)
    if scalar == "f32":
        return Code(f"np.float32({text if text == '-0.0' else text.removesuffix('.0')})")
    if scalar in UNSIGNED or (scalar, value) == ("i64", -(2**63)):
        return Code(f"{SCALARS[scalar].numpy}({text})")
    return Code(
        text, Precedence.SIGN if text.startswith("-") else Precedence.ATOM, widened_bits(scalar)
    )


def zero_of(scalar: str) -> bool | int | float:
    return {"b": False, "f": 0.0}.get(SCALARS[scalar].kind, 0)


def extremes(scalar: str) -> tuple[int | float, int | float]:
    """Return the least and the greatest value of a type."""
    return (-inf, inf) if scalar in FLOATS else SCALARS[scalar].range


def spelled(value: bool | int | float) -> str:
    """Return a number as Python writes it, infinities and NaN as numpy's."""
    text = repr(value)
    return text.replace("inf", "np.inf").replace("nan", "np.nan")


class NameAllocator:
    """Names inside one function: those of the schema, and those that are still free."""

    def __init__(self, taken: Iterable[str], promised: Iterable[str] = ()) -> None:
        """`promised`: names of the schema that nothing else may take."""
        self.taken = {*taken}
        self._whole = {*taken}
        """Names that hold in the whole function, in each of its loops."""
        self._promised = {*promised}
        self._promises = frozenset(self._promised)

    def free_loop_names(self) -> None:
        """Free the names of the loop just written for the next loop of the function."""
        self.taken = {*self._whole}
        self._promised = {*self._promises} - self._whole

    def claim(self, name: str) -> str:
        """Take a name of the schema for the whole function."""
        return self.reserve(self.released(name))

    def reserve(self, *preferred: str) -> str:
        """Take a free name for the whole function, as `allocate` does for one loop."""
        name = self.allocate(*preferred)
        self._whole.add(name)
        return name

    def released(self, name: str) -> str:
        """Return what a name of the schema becomes in the function, with `_` behind it if it would
        hide an import; from now on others may take it."""
        self._promised.discard(name)
        return f"{name}_" if may_be_shadowed(name) else name

    def allocate(self, *preferred: str) -> str:
        """Take the first of `preferred` that is free, else one with a number; by default a short
        name."""
        used, preferred = self.taken | self._promised, preferred or ("t", "u", "w")
        numbered = (f"{preferred[0]}{number}" for number in count(2))
        name = next(wish for wish in chain(preferred, numbered) if wish not in used)
        self.taken.add(name)
        return name


USED: Final = locate_public_names(COMPILED).keys() | {
    "np",
    "prange",
    "range",
    "abs",
    "min",
    "max",
    "NIL",
}
"""Names that every function calls."""
