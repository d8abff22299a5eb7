"""Fields as tests see them: values to store, how they read back, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from math import prod
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Refused: TypeAlias = tuple[tuple[Any, type[Exception]], ...]


class Field:
    """A field of a component: its type, and values for it.

    Values are compared by their `repr`, which tells 1 from 1.0 and True, -0.0 from 0.0,
    a member of an enum from its number, and finds NaN equal to itself.
    """

    dtype: str
    elements: st.SearchStrategy[Any]
    """Any element of a value."""
    refused: Refused
    """Elements that raise, and what they raise."""

    def __init__(self, name: str, default: Any, shape: tuple[int, ...] = ()) -> None:
        self.name = name
        self.default = default
        self.shape = shape

    @property
    def values(self) -> st.SearchStrategy[Any]:
        """Whatever one row may hold."""
        size = prod(self.shape)
        cells = st.lists(self.elements, min_size=size, max_size=size)
        return cells.map(self._shaped) if self.shape else self.elements

    def sample(self, k: int) -> Any:
        """Return the k-th of several values; neighbours differ."""
        if not self.shape:
            return self.element(k)
        return self._shaped(self.element(k + i) for i in range(prod(self.shape)))

    def wrong(self) -> Refused:
        """Return values that no row may hold, and what they raise."""
        if not self.shape:
            return self.refused
        rest = [self.element(i) for i in range(1, prod(self.shape))]
        bad = tuple((self._shaped([x, *rest]), error) for x, error in self.refused)
        longer = (*self.sample(0), self.sample(0)[0])
        return (*bad, (longer, ValueError))

    def read(self, value: Any) -> Any:
        """Return a value as accessors return it."""
        return _mapped(self.read_element, value, len(self.shape))

    def stored(self, value: Any) -> Any:
        """Return a value as the column's `tolist()` has it."""
        return _mapped(self.stored_element, self.read(value), len(self.shape), list)

    def array(self, values: Sequence[Any]) -> NDArray[Any]:
        """Return values for several rows as an array of the column's dtype."""
        array = np.array([self.stored(value) for value in values], self.dtype)
        return array.reshape(len(values), *self.shape)

    def is_default(self, value: Any) -> bool:
        """Return whether a value is the default, bit by bit."""
        given, default = self.array([value]), self.array([self.default])
        return given.tobytes() == default.tobytes()

    def element(self, k: int) -> Any:
        """Return the k-th of several elements; neighbours differ."""
        raise NotImplementedError

    def read_element(self, value: Any) -> Any:
        """Return an element as accessors return it."""
        return value

    def stored_element(self, value: Any) -> Any:
        """Return an element as it lies in the column."""
        return value

    def _shaped(self, elements: Iterable[Any]) -> Any:
        cells = tuple(elements)
        for size in reversed(self.shape[1:]):
            starts = range(0, len(cells), size)
            cells = tuple(cells[start : start + size] for start in starts)
        return cells


class Bool(Field):
    """Truth, and nothing that looks like it."""

    dtype = "bool"
    elements = st.booleans()
    refused = ((1, TypeError), (None, TypeError), ("True", TypeError))

    def element(self, k: int) -> bool:
        return k % 2 == 0


class Int(Field):
    """Integers of `i8` to `u64`."""

    def __init__(
        self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(name, default, shape)
        bits = int(kind[1:])
        self.dtype = f"{kind[0]}{bits // 8}"
        self.low = -(2 ** (bits - 1)) if kind[0] == "i" else 0
        self.high = self.low + 2**bits - 1
        self.elements = st.integers(self.low, self.high)
        self.refused = (
            (self.low - 1, OverflowError),
            (self.high + 1, OverflowError),
            (1.0, TypeError),
            (True, TypeError),
            ("1", TypeError),
            (None, TypeError),
        )

    def element(self, k: int) -> int:
        step = k // 2 % 100
        return self.low + step if k % 2 else self.high - step


class Float(Field):
    """Real numbers of 32 or 64 bits."""

    def __init__(
        self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(name, default, shape)
        self.dtype = f"f{int(kind[1:]) // 8}"
        self.elements = st.floats() if kind == "f64" else st.floats(width=32)
        self.refused = (
            (10**400, OverflowError),
            (-(2.0**128) if kind == "f32" else -(2**1024), OverflowError),
            (True, TypeError),
            ("1", TypeError),
            (None, TypeError),
            (1j, TypeError),
        )

    def element(self, k: int) -> float:
        return k + 0.1

    def read_element(self, value: float) -> float:
        code = "f" if self.dtype == "f4" else "d"
        rounded: float = struct.unpack(code, struct.pack(code, value))[0]
        return rounded


class Handle(Field):
    """Entities and ids, alive or not."""

    dtype = "u8"
    elements = st.integers(0, 2**64 - 1)
    refused = (
        (-1, OverflowError),
        (2**64, OverflowError),
        (1.0, TypeError),
        (True, TypeError),
        (None, TypeError),
    )

    def element(self, k: int) -> int:
        return (1 << 32) + k


class Enum(Field):
    """Members of an enum, or any combination of flags."""

    def __init__(
        self,
        name: str,
        default: Any,
        enum: type[IntEnum | IntFlag],
        kind: str,
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(name, default, shape)
        self.enum = enum
        self.dtype = f"u{int(kind[1:]) // 8}"
        self.members: list[Any] = list(enum)
        highest = max(member.value for member in self.members)
        outside = highest + 1
        if issubclass(enum, IntFlag):
            outside = 1 << highest.bit_length()
            self.members += [self.members[0] | self.members[-1], enum(0)]
        self.elements = st.sampled_from(self.members)
        self.refused = (
            (outside, ValueError),
            (-1, ValueError),
            (1.0, TypeError),
            (True, TypeError),
            (None, TypeError),
        )

    def element(self, k: int) -> Any:
        return self.members[k % len(self.members)]

    def stored_element(self, value: Any) -> int:
        return int(value)


class Text(Field):
    """Text of at most `size` bytes of UTF-8."""

    def __init__(self, name: str, default: str, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
        ascii_text = st.text(
            st.characters(min_codepoint=1, max_codepoint=127), max_size=size
        )
        self.elements = ascii_text | st.text(letters, max_size=size // 4)
        self.refused = (
            ("x" * (size + 1), ValueError),
            ("é" * (size // 2 + 1), ValueError),
            ("\0", ValueError),
            ("\ud800", ValueError),
            (b"x", TypeError),
            (1, TypeError),
            (None, TypeError),
        )

    def element(self, k: int) -> str:
        return str(k)[: self.size]

    def stored_element(self, value: str) -> bytes:
        return value.encode()


class Bytes(Field):
    """At most `size` bytes; what is shorter is padded with zeros."""

    def __init__(self, name: str, default: bytes, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        self.elements = st.binary(max_size=size)
        self.refused = (
            (b"x" * (size + 1), ValueError),
            ("x", TypeError),
            (1, TypeError),
            (None, TypeError),
        )

    def element(self, k: int) -> bytes:
        return bytes([k % 256])

    def read_element(self, value: bytes) -> bytes:
        return value.ljust(self.size, b"\0")

    def stored_element(self, value: bytes) -> bytes:
        return value.rstrip(b"\0")  # numpy leaves the padding out


class Object(Field):
    """Any Python object."""

    dtype = "O"
    elements = st.none() | st.integers(-2, 2) | st.text(max_size=2)
    refused = ()

    def is_default(self, value: Any) -> bool:
        return value is None

    def element(self, k: int) -> str:
        return f"object {k}"


def _mapped(
    function: Any,
    value: Any,
    depth: int,
    kind: type[list[Any] | tuple[Any, ...]] = tuple,
) -> Any:
    """Return nested tuples with a function applied to every element."""
    if depth == 0:
        return function(value)
    return kind(_mapped(function, item, depth - 1, kind) for item in value)
