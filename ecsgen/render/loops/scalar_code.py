"""Pieces of scalar code, put together with no more brackets than Python needs."""

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
    """How strongly the outermost operator of a piece of code binds."""

    CHOICE = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    SUM = 6
    PRODUCT = 7
    SIGN = 8
    POWER = 9
    ATOM = 10
    CALL = 11


@dataclass(frozen=True, slots=True)
class Code:
    """An expression for one number."""

    text: str
    level: Precedence = Precedence.ATOM
    value_bits: int = 0
    """Of an integer that numba has in 64 bits, where it still must be cut to its own type: it is
    between -2**reach and 2**reach (of unsigned ones only whether it is 0 matters)."""
    python_number: Callable[[], str] | None = field(default=None, compare=False)
    """The same as a number of Python's own, if plain loops have it so, at no level."""

    @property
    def is_at_hand(self) -> bool:
        """Whether reading it twice is as good as giving it a name."""
        return self.level is Precedence.ATOM

    @property
    def is_number(self) -> bool:
        """Whether it is a bare constant."""
        return self.text.removeprefix("-").isdigit()

    def within(self, level: int) -> str:
        """The text as an operand, in brackets if it binds less."""
        return f"({self.text})" if self.level < level else self.text


def infix(operator: str, level: Precedence, left: Code, right: Code, reach: int = 0) -> Code:
    """A chain of operators: what is left of one needs no brackets at the same level."""
    return Code(f"{left.within(level)} {operator} {right.within(level + 1)}", level, reach)


def make_call_code(function: str, *operands: Code, reach: int = 0) -> Code:
    return Code(f"{function}({', '.join(one.text for one in operands)})", Precedence.CALL, reach)


def wrap_to_type(code: Code, scalar: str) -> Code:
    """The same number in its own type: numba computes integers in 64 bits."""
    return make_call_code(SCALARS[scalar].numpy, code) if code.value_bits else code


def own_reach(scalar: str) -> int:
    """How far numbers of a type reach that numba has in 64 bits; 0 of others."""
    one = SCALARS[scalar]
    return one.bits - 1 if one.kind in "iu" and one.bits < 64 else 0


def number(value: bool | int | float, scalar: str) -> Code:
    """A constant of a type. A bare integer is an i64 to numba, which goes with all signed ones."""
    text = spelled(value)
    if scalar == "f32":
        return Code(f"np.float32({text if text == '-0.0' else text.removesuffix('.0')})")
    if scalar in UNSIGNED or (scalar, value) == ("i64", -(2**63)):
        return Code(f"{SCALARS[scalar].numpy}({text})")
    return Code(
        text, Precedence.SIGN if text.startswith("-") else Precedence.ATOM, own_reach(scalar)
    )


def zero_of(scalar: str) -> bool | int | float:
    return {"b": False, "f": 0.0}.get(SCALARS[scalar].kind, 0)


def extremes(scalar: str) -> tuple[int | float, int | float]:
    """The least and the greatest value of a type."""
    return (-inf, inf) if scalar in FLOATS else SCALARS[scalar].range


def spelled(value: bool | int | float) -> str:
    """A number as Python spells it; of those that it has no spelling for, numpy's."""
    text = repr(value)
    return text.replace("inf", "np.inf").replace("nan", "np.nan")


class NameAllocator:
    """The names inside one function: the schema's own, and what is still free for others."""

    def __init__(self, taken: Iterable[str], promised: Iterable[str] = ()) -> None:
        """`promised`: names of the schema that nothing else may take."""
        self.taken = {*taken}
        self._whole = {*taken}
        """Those of the function as a whole, whatever its loops call something."""
        self._promised = {*promised}
        self._promises = frozenset(self._promised)

    def again(self) -> None:
        """Let another loop of the function call something as the one before it did."""
        self.taken = {*self._whole}
        self._promised = {*self._promises} - self._whole

    def claim(self, name: str) -> str:
        """A name of the schema, as it is spelled in the whole function."""
        return self.reserve(self.released(name))

    def reserve(self, *wishes: str) -> str:
        """What `take` gives, for the whole function."""
        name = self.allocate(*wishes)
        self._whole.add(name)
        return name

    def released(self, name: str) -> str:
        """What a name of the schema is spelled like if that is free: not as what modules import.
        Nothing else keeps from taking it any longer."""
        self._promised.discard(name)
        return f"{name}_" if may_be_shadowed(name) else name

    def allocate(self, *wishes: str) -> str:
        """The first wish that is free, or else the first one with a number; without wishes a short
        name."""
        used, wishes = self.taken | self._promised, wishes or ("t", "u", "w")
        numbered = (f"{wishes[0]}{number}" for number in count(2))
        name = next(wish for wish in chain(wishes, numbered) if wish not in used)
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
"""What functions call by these names."""
