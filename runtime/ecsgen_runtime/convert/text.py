"""Fields of text and bytes, columns of dtype S, and of objects, beside the buffer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import shown
from .base import Field

# --- Fields of text and of bytes: columns of dtype S, padded with zeros ---------------


def _characters(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an array of dtype S as one row of bytes per element."""
    size = array.dtype.itemsize
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, size)


def _is_utf8(characters: NDArray[np.uint8]) -> bool:
    """Return whether each row is UTF-8: all together are, and none begins amid a letter."""
    if (characters[:, 0] & 0xC0 == 0x80).any():
        return False
    try:
        characters.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(array: NDArray[Any]) -> NDArray[np.object_]:
    """Return an array of dtype S as text; what is not UTF-8 becomes surrogates."""
    texts = (
        encoded.decode(errors="surrogateescape") for encoded in array.ravel().tolist()
    )
    return np.fromiter(texts, object, array.size).reshape(array.shape)


class TextField(Field):
    """Text of at most `size` bytes of UTF-8, without NUL."""

    __slots__ = ("_size",)

    _kinds: ClassVar[str] = "UTS"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"str[{size}]")
        self._size = size

    def cell(self, value: Any) -> Any:
        if type(value) is not str:
            value = self._element(value)
            if not isinstance(value, str):
                raise self._wrong_type(value)
        try:
            text = str.encode(value)
        except UnicodeEncodeError:
            raise ValueError(
                f"{self.name}: {shown(value)} is not valid UTF-8"
            ) from None
        if len(text) <= self._size and 0 not in text:
            return text
        if 0 in text:
            raise ValueError(
                f"{self.name}: {shown(value)} has a NUL, wanted {self.wanted}"
            )
        raise ValueError(
            f"{self.name}: {shown(value)} takes {len(text)} bytes of UTF-8, wanted {self.wanted}"
        )

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype.kind != "S":
            return self._from_elements(array)
        if array.size and array.dtype.itemsize:
            characters = _characters(array)
            ends = characters[:, :-1] == 0
            if (
                (characters.max() >= 128 and not _is_utf8(characters))
                or characters[:, self._size :].any()
                or (ends & (characters[:, 1:] != 0)).any()
            ):
                return self._from_elements(_decoded(array))
        return array.astype(self.dtype, copy=False)


class BytesField(Field):
    """At most `size` bytes; what is shorter is padded with zeros."""

    __slots__ = ("_size",)

    _kinds: ClassVar[str] = "S"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"bytes[{size}]")
        self._size = size

    def cell(self, value: Any) -> Any:
        if type(value) is bytes and len(value) <= self._size:
            return value
        value = self._element(value)
        if not isinstance(value, bytes | bytearray):
            raise self._wrong_type(value)
        if len(value) > self._size:
            raise ValueError(
                f"{self.name}: {shown(value)} has {len(value)} bytes, wanted {self.wanted}"
            )
        return bytes(value)

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        longer = array.size > 0 and array.dtype.itemsize > self._size
        if longer and _characters(array)[:, self._size :].any():
            self._blame(array)
        return array.astype(self.dtype, copy=False)


# --- Fields of Python objects, kept in a column beside the buffer ---------------------


class ObjectField:
    """Any objects, never looked into."""

    __slots__ = ("name",)

    dtype: ClassVar[None] = None
    shape: ClassVar[tuple[int, ...]] = ()
    enum: ClassVar[None] = None

    takes_all: ClassVar[bool] = False
    """As in other fields; an operator may fail halfway through a column."""

    def __init__(self, name: str) -> None:
        self.name = name

    def one(self, value: Any) -> Any:
        """Return the object itself."""
        return value

    def same(self, value: Any, rows: int) -> Any:
        """Return one object for all of so many rows as `many` takes it."""
        return [value] * rows if isinstance(value, list | np.ndarray) else value

    def many(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[np.object_]:
        """Return a new object array of shape `(rows,)`, or `(1,)` with one object for all; O(rows).

        A list or an array is one object per row, anything else is one for all.

        Raises:
            ValueError: a list or an array of another length.
        """
        is_array = isinstance(value, np.ndarray) and value.ndim > 0
        if not is_array and not isinstance(value, list):
            return np.fromiter((value,), object, 1)
        if len(value) != rows:
            raise self._wrong_length(len(value), rows)
        if is_array and buffer is not None and np.may_share_memory(value, buffer):
            value = value.copy()
        return np.fromiter(value, object, rows)

    def _wrong_length(self, given: int, rows: int) -> ValueError:
        return ValueError(
            f"{self.name}: wanted {rows} objects in a list or an array, one per row, "
            f"not {given}; for the same list in each row write [x] * {rows}"
        )
