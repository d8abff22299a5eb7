"""Fields of enums and flags."""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import shown
from .base import Field, ShapedField


class EnumField(Field):
    """Members of one enum, or their numbers; for flags any combination of the members' bits."""

    __slots__ = ("_enum", "_has_gaps", "_mask", "_members", "_sorted")

    _kinds: ClassVar[str] = "iu"

    def __new__(
        cls,
        name: str,
        enum: type[IntEnum | IntFlag],
        scalar: str,
        shape: tuple[int, ...] = (),
    ) -> EnumField:
        return super().__new__(_ShapedEnumField if shape else cls)

    def __init__(
        self,
        name: str,
        enum: type[IntEnum | IntFlag],
        scalar: str,
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(name, f"u{int(scalar[1:]) // 8}", shape, enum.__name__)
        numbers = sorted({member.value for member in enum.__members__.values()})
        self._enum = enum
        self._mask = 0
        if issubclass(enum, IntFlag):
            for number in numbers:
                self._mask |= number
        self._members = frozenset(numbers)
        self._sorted: NDArray[Any] = np.array(numbers, self.dtype)
        self._has_gaps = len(numbers) <= numbers[-1]

    @property
    def enum(self) -> type[IntEnum | IntFlag]:
        return self._enum

    def cell(self, value: Any) -> Any:
        if type(value) is self._enum:
            number = value._value_
        elif type(value) is int:
            number = value
        else:
            number = self._number(value)
        if number in self._members or (number & self._mask == number and self._mask):
            return number
        what = "has bits outside" if self._mask else "is no member of"
        raise ValueError(f"{self.name}: {shown(value)} {what} {self.wanted}")

    one = cell

    def _number(self, value: Any) -> int:
        value = self._element(value)
        if type(value) is self._enum:
            return int(value)
        if isinstance(value, Enum):
            raise self._wrong_type(value)
        return self._integer(value)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.size == 0:
            return array.astype(self.dtype)
        largest = self._mask or int(self._sorted[-1])
        if int(array.min()) < 0 or int(array.max()) > largest:
            self._blame(array)
        numbers = array.astype(self.dtype, copy=False)
        if self._mask:
            bad = bool((numbers & ~self.dtype.type(self._mask)).any())
        elif self._has_gaps:
            bad = bool(
                (self._sorted[self._sorted.searchsorted(numbers)] != numbers).any()
            )
        else:
            bad = False
        if bad:
            self._blame(array)
        return numbers


class _ShapedEnumField(ShapedField, EnumField):
    __slots__ = ()
