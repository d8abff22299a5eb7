"""What a field is in Arrow: its type, and the arrays that its cells make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns.field_info import FieldInfo
from .library import pyarrow

_MOST_TEXT: Final = 2**31 - 1
"""Bytes that the offsets of Arrow's strings reach."""


class BadCellError(ValueError):
    """A cell that a raw write left, and that Arrow has nothing for."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class Kind(ABC):
    """How cells of one element are written down in Arrow."""

    def __init__(self, type: Any) -> None:
        self.type = type

    @abstractmethod
    def array(self, cells: NDArray[Any]) -> Any:
        """Return contiguous cells, shape (n,), as an array, or raise BadCellError."""


class PlainKind(Kind):
    """Memory that Arrow reads as it is: numbers, flags, handles and bytes."""

    def array(self, cells: NDArray[Any]) -> Any:
        pa = pyarrow()
        return pa.Array.from_buffers(self.type, len(cells), [None, pa.py_buffer(cells)])


class _Bits(Kind):
    """Bools, of which Arrow has eight in a byte."""

    def array(self, cells: NDArray[Any]) -> Any:
        pa = pyarrow()
        bits = pa.py_buffer(np.packbits(cells, bitorder="little"))
        return pa.Array.from_buffers(self.type, len(cells), [None, bits])


class _Members(Kind):
    """Members of an enum: places in a list of their names, in order of their numbers."""

    def __init__(self, enum: type[IntEnum | IntFlag], dtype: np.dtype[Any]) -> None:
        pa = pyarrow()
        members = sorted(enum, key=int)
        self._indices = PlainKind(pa.from_numpy_dtype(dtype))
        self._numbers: NDArray[Any] = np.array([int(m) for m in members], dtype)
        self._is_dense = int(self._numbers[-1]) == len(members) - 1
        names = np.array([str(member.name).encode() for member in members])
        self._names = _Text(pa.string()).array(names)  # `pa.array` imports pandas
        self._enum = enum.__name__
        super().__init__(pa.dictionary(self._indices.type, pa.string()))

    def array(self, cells: NDArray[Any]) -> Any:
        pa = pyarrow()
        places = cells if self._is_dense else self._places(cells)
        if len(cells) and int(places.max()) >= len(self._names):
            raise self._refused(cells)
        indices = self._indices.array(places)
        return pa.DictionaryArray.from_arrays(indices, self._names, safe=False)

    def _places(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the place of each number among those of the members."""
        places = self._numbers.searchsorted(cells)
        if (self._numbers.take(places, mode="clip") != cells).any():
            raise self._refused(cells)
        return places.astype(cells.dtype)

    def _refused(self, cells: NDArray[Any]) -> BadCellError:
        place = int(np.isin(cells, self._numbers, invert=True).argmax())
        return BadCellError(f"{cells[place]} is no member of {self._enum}", place)


class _Text(Kind):
    """Text, of which Arrow has all bytes in a row, and where each begins."""

    def array(self, cells: NDArray[Any]) -> Any:
        pa = pyarrow()
        lengths = np.char.str_len(cells).astype(np.int64)
        total = int(lengths.sum())
        if total > _MOST_TEXT:
            raise OverflowError(
                f"{total} bytes of text do not fit into one Arrow string"
            )
        offsets = np.zeros(len(cells) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        characters = cells.view(np.uint8).reshape(len(cells), cells.itemsize)
        text = characters[np.arange(cells.itemsize) < lengths[:, None]]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        array = pa.Array.from_buffers(self.type, len(cells), buffers)
        if total and text.max() >= 128:
            _check_text(array, cells)
        return array


def _check_text(array: Any, cells: NDArray[Any]) -> None:
    """Raise BadCellError if bytes are no UTF-8: anybody may write them to a column."""
    try:
        array.validate(full=True)
    except ValueError:  # pyarrow's ArrowInvalid is one
        for place, text in enumerate(cells.tolist()):
            try:
                text.decode()
            except UnicodeDecodeError:
                raise BadCellError(f"{text!r} is not UTF-8", place) from None
        raise


def kind_of(field: FieldInfo) -> Kind:
    """Return the kind of a field's elements."""
    pa = pyarrow()
    dtype = field.dtype
    if dtype is None:
        raise TypeError(f"{field.name}: objects have no type in Arrow")
    if field.enum is not None and not issubclass(field.enum, IntFlag):
        return _Members(field.enum, dtype)
    if dtype.kind == "b":
        return _Bits(pa.bool_())
    if dtype.kind == "S" and field.type.startswith("str"):
        return _Text(pa.string())
    if dtype.kind == "S":
        return PlainKind(pa.binary(dtype.itemsize))
    return PlainKind(pa.from_numpy_dtype(dtype))
