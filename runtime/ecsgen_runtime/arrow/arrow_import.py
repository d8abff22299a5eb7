"""Columns of Arrow, polars and pandas as numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..values import interchange
from ..values.array_coercion import field_order
from ..values.field_types import member_number

if TYPE_CHECKING:
    from ..values.field_types import Field


_TEXTS: Final = ("string", "large_string", "string_view")
_BYTES: Final = ("binary", "large_binary", "binary_view")


def text_cells(pa: Any, array: Any, field: Field, start: int) -> NDArray[Any]:
    """Return text, or bytes, without nulls in the dtype of a field; O(n).

    Raises:
        ValueError: a value is too long, or text with a NUL; the rows begin at `start`.
    """
    offsets, text = _characters(pa, array)
    lengths = np.diff(offsets)
    size = field.dtype.itemsize
    bad = lengths > size
    if field.wanted.startswith("str"):
        nuls = (text == 0).nonzero()[0] + offsets[0]
        bad[offsets.searchsorted(nuls, "right") - 1] = True
    if bad.any():
        position = int(bad.argmax())
        try:
            field.to_element(array[position].as_py())
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} (at position {start + position})") from None
    cells = np.zeros((len(array), size), np.uint8)
    cells[np.arange(size) < lengths[:, None]] = text
    return cells.view(field.dtype).reshape(-1)


def _characters(pa: Any, array: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return the offsets between values, shape (n + 1,), and the bytes of all."""
    if str(array.type).endswith("_view"):
        is_text = str(array.type) in _TEXTS
        array = array.cast(pa.large_string() if is_text else pa.large_binary())
    is_large = str(array.type).startswith("large_")
    _, places, text = array.buffers()
    offsets = np.frombuffer(places, np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    if text is None:  # all are empty
        return offsets, np.empty(0, np.uint8)
    return offsets, np.frombuffer(text, np.uint8)[offsets[0] : offsets[-1]]


def read_column(values: Any, name: str, field: Field | None) -> NDArray[Any]:
    """Return a column as an array; O(n), O(1) where memory can be shared.

    Names of members become numbers if the field is an enum, text becomes its bytes, and lists
    become rows of an array: no Python object is made per cell.

    Raises:
        ValueError: there is a null, lists of another length, no member of a name, text that
            does not fit.
    """
    pa = interchange.require_pyarrow()
    reader, row = _Reader(pa, name, field), 0
    parts = []
    for chunk in _chunks(pa, values):
        parts.append(reader.read(chunk, row, 1))
        row += len(chunk)
    if not parts:
        return np.empty(0, np.intp if field is None else field.dtype)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _chunks(pa: Any, values: Any) -> list[Any]:
    """Return Arrow arrays: a table's are of structs."""
    if isinstance(values, pa.Table | pa.RecordBatch):
        values = values.to_struct_array()
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        is_stream = interchange.has_stream(values)
        values = pa.chunked_array(values) if is_stream else pa.array(values)
    chunks: list[Any] = [values] if isinstance(values, pa.Array) else values.chunks
    return chunks


class _Reader:
    def __init__(self, pa: Any, name: str, field: Field | None) -> None:
        self._pa = pa
        self._name = name
        self._field = field

    def read(self, array: Any, start: int, each: int) -> NDArray[Any]:
        """Return the values of an array, whose rows begin at `start` and have `each` values."""
        takes_nulls = self._field is not None and self._field.takes_nulls
        if array.null_count and not takes_nulls:
            position = int(np.asarray(array.is_null()).argmax())
            raise interchange.null_error(self._name, start + position // each)
        types, type, field = self._pa.types, array.type, self._field
        if isinstance(array, self._pa.ExtensionArray):
            return self.read(array.storage, start, each)
        if types.is_dictionary(type):
            return self._from_dictionary(array, start, each)
        if takes_nulls and getattr(type, "tz", None) is not None:
            raise ValueError(f"{self._name}: {type} has a zone, and times have none")
        if takes_nulls and types.is_null(type):
            return np.full(len(array), None, object)
        if types.is_nested(type):
            return self._from_nested(array, start, each)
        if field is None or len(array) == 0:
            values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
            return values if field is None else np.empty(0, field.dtype)
        if str(type) in _TEXTS and field.enum is not None:
            text = array.cast(self._pa.large_string())
            return self._from_dictionary(text.dictionary_encode(), start, each)
        same = _TEXTS if field.wanted.startswith("str") else _BYTES
        if field.dtype.kind == "S" and str(type) in same:
            return text_cells(self._pa, array, field, start)
        if types.is_fixed_size_binary(type):
            size, start = type.byte_width, array.offset
            cells = np.frombuffer(array.buffers()[1], f"S{size}")  # a view
            return cells[start : start + len(array)]
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]  # pyarrow has no types

    def _from_dictionary(self, array: Any, start: int, each: int) -> NDArray[Any]:
        """Return values that stand once in a list: names of members, or whatever else."""
        field = self._field
        enum = None if field is None else field.enum
        if enum is None or str(array.type.value_type) not in _TEXTS:
            words = array.dictionary
            if str(words.type) == "string_view":
                words = words.cast(self._pa.large_string())  # what `take` knows
            return self.read(words.take(array.indices), start, each)
        member_indices = array.indices.to_numpy()
        names = array.dictionary.to_pylist()
        is_used = np.zeros(len(names), np.bool_)
        is_used[member_indices] = True
        numbers: NDArray[Any] = np.zeros(len(names), field.dtype)  # type: ignore[union-attr]  # an enum has one
        for index in is_used.nonzero()[0].tolist():
            row = start + int((member_indices == index).argmax()) // each
            if names[index] is None:
                raise interchange.null_error(self._name, row)
            try:
                numbers[index] = member_number(self._name, enum, names[index])
            except ValueError as error:
                raise ValueError(f"{error} (at position {row})") from None
        cells: NDArray[Any] = numbers[member_indices]
        return cells

    def _from_nested(self, array: Any, start: int, each: int) -> NDArray[Any]:
        """Return lists or structs of one length as the rows of an array."""
        types, type = self._pa.types, array.type
        if types.is_struct(type):
            return self._from_struct(array, start, each)
        if types.is_fixed_size_list(type):
            size = type.list_size
        elif types.is_map(type) or not hasattr(array, "value_lengths"):
            raise TypeError(f"{self._name}: wanted values or lists of them, not {type}")
        else:
            size = self._length(array, start, each)
        cells = self.read(array.flatten(), start, each * max(size, 1))
        return cells.reshape(len(array), size, *cells.shape[1:])

    def _length(self, array: Any, start: int, each: int) -> int:
        """Return the length of lists, which must be that of the field."""
        lengths = array.value_lengths().to_numpy()
        shape = () if self._field is None else self._field.shape
        depth = len(shape) - _depth(array.type)
        wanted = shape[depth] if shape and depth >= 0 else int(lengths[:1].sum())
        is_wrong = lengths != wanted
        if is_wrong.any():
            position = int(is_wrong.argmax())
            raise ValueError(
                f"{self._name}: wanted lists of {wanted}, not of {lengths[position]} "
                f"(at position {start + position // each})"
            )
        return int(wanted)

    def _from_struct(self, array: Any, start: int, each: int) -> NDArray[Any]:
        parts = array.flatten()
        parts = [parts[index] for index in field_order([part.name for part in array.type])]
        columns = [self.read(part, start, each) for part in parts]
        if self._field is not None:
            columns = [self._field.convert_array(column) for column in columns]
        if not columns:
            return np.empty((len(array), 0))
        return np.stack(columns, axis=1)


def _depth(type: Any) -> int:
    """Return the depth of nested lists."""
    count = 0
    while hasattr(type, "value_type"):
        type, count = type.value_type, count + 1
    return count
