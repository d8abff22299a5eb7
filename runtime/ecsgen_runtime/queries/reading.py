"""Who reads a column: somebody who may keep what he gets, or an operator that does not.

Whoever keeps what he reads must get a copy. `q.place.at += v`, which reads, adds and assigns,
has no use for one, nor has `q.place.speed * dt`: over large columns the copy would take longer
than the operation. The instruction at which the reader stands tells one from the other, and the
next ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from opcode import opmap
from types import FrameType
from typing import Any, Final

import numpy as np

_IS_KNOWN: Final = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[
    :2
] <= (3, 14)
"""Whether an augmented assignment is compiled to what `reader` looks for."""

LOAD: Final = opmap.get("LOAD_ATTR", -1) if _IS_KNOWN else -1
_COPY: Final = opmap.get("COPY", -1)
_EXTENDED: Final = opmap.get("EXTENDED_ARG", -1)
BEFORE_AUGMENTED: Final = frozenset((_COPY, _EXTENDED))
"""What may stand before the load of an augmented assignment; behind others it is plain."""


_CACHE: Final = opmap.get("CACHE", 0)
_BINARY: Final = opmap.get("BINARY_OP", -1)
_SUBSCRIPT: Final = 26
"""The argument of a BINARY_OP that is `x[y]`, since Python 3.14: it gives a view of x."""
_LOADS: Final = frozenset(
    opmap[name]
    for name in (
        *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_FAST", "LOAD_FAST_BORROW"),
        *("LOAD_FAST_CHECK", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"),
    )
    if name in opmap
)
"""What puts one value on the stack and runs no other code."""


class Reader(Enum):
    """What is done with the attribute that is read."""

    AUGMENTED = "an operator changes it, and it is assigned then"
    PLAIN = "anything but that"
    UNKNOWN = "read by compiled code, by getattr, or in a Python that is not known"


def reader(frame: FrameType) -> Reader:
    """Return who reads an attribute, by the instruction at which a frame stands; O(1).

    Only `x.a += v` loads an attribute of a copy of what is on top of the stack, because it
    needs the other one to assign to.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] != LOAD:
        return Reader.UNKNOWN
    at -= 2
    while code[at] == _EXTENDED:
        at -= 2
    if code[at] == _COPY and code[at + 1] == 1:
        return Reader.AUGMENTED
    return Reader.PLAIN


def is_operand(frame: FrameType) -> bool:
    """Return whether the plain reader at a frame is an operator, which makes a new array; O(1).

    It comes next, or behind the other operand if that is a constant or a variable.
    """
    code = frame.f_code.co_code
    at = _next(code, frame.f_lasti)
    if code[at] in _LOADS:
        at = _next(code, at)
    return code[at] == _BINARY and code[at + 1] != _SUBSCRIPT


def _next(code: bytes, at: int) -> int:
    at += 2
    while code[at] == _CACHE or code[at] == _EXTENDED:
        at += 2
    return at


class ReadCells(np.ndarray[Any, np.dtype[Any]]):
    """Read-only cells of an unknown reader: `+=` gives new ones, which may then be assigned."""

    __slots__ = ()

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Return what a function made of these cells as an ordinary array."""
        return array[()] if array.ndim == 0 else array


def _with_a_copy(name: str) -> Callable[[ReadCells, Any], Any]:
    in_place = getattr(np.ndarray, name)

    def operator(self: ReadCells, other: Any) -> Any:
        return in_place(self if self.flags.writeable else np.array(self), other)

    return operator


for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"):
    setattr(ReadCells, f"__i{_name}__", _with_a_copy(f"__i{_name}__"))
for _name in ("lshift", "rshift", "and", "or", "xor"):
    setattr(ReadCells, f"__i{_name}__", _with_a_copy(f"__i{_name}__"))
