"""Who reads a column: an augmented assignment, which is about to write it, or anything else.

`q.place.at += v` reads the column, adds to what it gets, and assigns that. Whoever keeps what he
reads must get a copy, which an addition in place has no use for: over large columns it would
take three times as long. The reader's instruction tells one from the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from opcode import opmap
from types import FrameType
from typing import Any, Final

import numpy as np

_IS_KNOWN: Final = (
    sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (3, 14)
)
"""Whether an augmented assignment is compiled to what `reader` looks for."""

LOAD: Final = opmap.get("LOAD_ATTR", -1) if _IS_KNOWN else -1
_COPY: Final = opmap.get("COPY", -1)
_EXTENDED: Final = opmap.get("EXTENDED_ARG", -1)
BEFORE_AUGMENTED: Final = frozenset((_COPY, _EXTENDED))
"""What may stand before the load of an augmented assignment; behind others it is plain."""


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
