"""Columns of text and of enums as users see them: they compare as what they are, or raise.

numpy itself answers a comparison of bytes or numbers with text by an array of False.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..base.errors import short_repr

_COMPARISONS: Final = frozenset(
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)
_BIT_OPERATIONS: Final = frozenset((np.bitwise_and, np.bitwise_or, np.bitwise_xor))
_OPERANDS_OF_ISIN: Final = ("element", "test_elements")


class ComparableColumn(np.ndarray[Any, np.dtype[Any]]):
    """A view of a column whose comparisons convert the other operand.

    All else is done by plain arrays, and a pickle is of one.
    """

    __slots__ = ()

    KINDS: ClassVar[str]
    """Kinds of dtypes that columns have; arrays made of one may have others, and are plain ones."""

    def to_operand(self, value: Any) -> Any:
        """Return what numpy compares the plain column with; TypeError, ValueError for others."""
        raise NotImplementedError

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        if ufunc in _COMPARISONS and self.dtype.kind in self.KINDS:
            inputs = tuple(map(self.to_operand, inputs))
        if out:
            options["out"] = tuple(map(plain_column, out))
        result = getattr(ufunc, method)(*map(plain_column, inputs), **options)
        return out[0] if len(out) == 1 else result

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Mapping[str, Any]
    ) -> Any:
        if func is not np.isin or self.dtype.kind not in self.KINDS:
            return super().__array_function__(func, types, args, kwargs)
        arguments = dict(zip(_OPERANDS_OF_ISIN, args, strict=False)) | dict(kwargs)
        for name in _OPERANDS_OF_ISIN:
            arguments[name] = plain_column(self.to_operand(arguments[name]))
        return np.isin(
            arguments.pop("element"), arguments.pop("test_elements"), *args[2:], **arguments
        )

    def __repr__(self) -> str:
        return repr(plain_column(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain_column(self).__reduce_ex__(protocol)


def plain_column(value: Any) -> Any:
    """Return a comparable column as a plain array; O(1). Other values as they are."""
    return value.view(np.ndarray) if isinstance(value, ComparableColumn) else value


class TextColumn(ComparableColumn):
    """A column of text: it compares with text in order of code points, with bytes as numpy does."""

    __slots__ = ()
    KINDS: ClassVar = "S"

    def to_operand(self, value: Any) -> Any:
        if isinstance(value, TextColumn | bytes):
            return value
        if isinstance(value, str):
            return np.array(_encoded(value))
        is_sequence = isinstance(value, list | tuple)
        array: NDArray[Any] = np.array(value, object) if is_sequence else np.asarray(value)
        if array.dtype.kind == "S":
            return array
        cells = array.ravel().tolist() if array.dtype.kind in "UTO" else [value]
        if not all(isinstance(cell, str | bytes) for cell in cells):
            raise TypeError(f"a column of text compares with text, not with {short_repr(value)}")
        encoded = [cell if isinstance(cell, bytes) else _encoded(cell) for cell in cells]
        return np.array(encoded, np.bytes_).reshape(array.shape)


def _encoded(text: str) -> bytes:
    """Return text as bytes of the same order, with a 1 behind each NUL, which numpy would cut."""
    return text.encode(errors="surrogatepass").replace(b"\0", b"\0\1")


class EnumColumn(ComparableColumn):
    """A column of an enum: it compares with members, their names and numbers, and sets and clears
    the bits of flags in its own type, where numpy takes members for an i64."""

    __slots__ = ()
    KINDS: ClassVar = "iu"
    FIELD: ClassVar[Any]
    """The field's converter."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc in _BIT_OPERATIONS:
            inputs = tuple(map(self._to_bits, inputs))
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def _to_bits(self, value: Any) -> Any:
        if isinstance(value, self.FIELD.enum | str):
            return self.FIELD.dtype.type(self.FIELD.to_element(value))
        return value

    def to_operand(self, value: Any) -> Any:
        if isinstance(value, ComparableColumn | int):
            return plain_column(value)
        is_sequence = isinstance(value, list | tuple)
        array: NDArray[Any] = np.array(value, object) if is_sequence else np.asarray(value)
        kind = array.dtype.kind
        if kind in "biuf":
            return array
        if kind in "UTS" or any(isinstance(cell, str) for cell in array.ravel().tolist()):
            return self.FIELD.convert_array(array)
        if is_sequence:  # of numbers
            array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return array
        enum = self.FIELD.wanted
        raise TypeError(f"{self.FIELD.name} compares with {enum}, not with {short_repr(value)}")
