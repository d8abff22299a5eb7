"""What all fields have in common: one value or many to what a column stores, or an error.

Values are never silently changed. `one` prepares a value for one cell, `many` a whole argument of a
bulk call. A field class says how to check one element (`cell`) and a typed array (`_cast`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, IntFlag
from operator import index
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .given_arrays import gathered, is_array_like, leaves, shown
from .interchange import table_hint

_IMMUTABLE: Final = frozenset((bool, int, float))


class Converter(Protocol):
    """What turns the values of a field into what its column stores."""

    @property
    def name(self) -> str: ...

    @property
    def dtype(self) -> np.dtype[Any] | None: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def enum(self) -> type[IntEnum | IntFlag] | None: ...

    def one(self, value: Any) -> Any: ...

    def same(self, value: Any, rows: int) -> Any: ...

    def many(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[Any]: ...


FieldTable: TypeAlias = Mapping[str, tuple[Converter, Any]]
"""The converter and the default of each field."""


def check_values(fields: FieldTable, row: Iterable[Any]) -> None:
    """Raise what a creation would if a value, one for each field, does not fit it."""
    for (field, _), value in zip(fields.values(), row, strict=True):
        field.one(value)


class Field:
    """One field of a component: checks values and converts them to the column's dtype."""

    __slots__ = (
        "_checked",
        "_wanted_many",
        "_wanted_one",
        "dtype",
        "name",
        "shape",
        "wanted",
    )

    _kinds: ClassVar[str] = ""
    """The dtype kinds of arrays that `_cast` takes."""
    takes_all: ClassVar[bool] = False
    """Whether any array of the column's dtype has values that the field holds."""

    def __init__(
        self, name: str, dtype: str, shape: tuple[int, ...], wanted: str
    ) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape = shape
        self.wanted = wanted
        rows = ", ".join(["rows", *map(str, shape)])
        self._wanted_one = f"{name}: wanted " + (
            f"shape {shape}" if shape else f"one {wanted}"
        )
        self._checked: tuple[object, Any] = (self, None)  # a value, and its cell
        self._wanted_many = f"{name}: wanted shape ({rows}{'' if shape else ','})"

    @property
    def enum(self) -> type[IntEnum | IntFlag] | None:
        """The enum that its values are members of, if they are."""
        return None

    def cell(self, value: Any) -> Any:
        """Return one element as the builtin that the column's memoryview stores unchanged; O(1)."""
        raise NotImplementedError

    def one(self, value: Any) -> Any:
        """Return what one cell stores: an element, or a flat tuple of them in C order.

        A builtin of the right type costs a few comparisons. Shapes must match exactly.

        Raises:
            TypeError, ValueError, OverflowError: the value is not one that the field holds.
        """
        return self.cell(value)

    def same(self, value: Any, rows: int) -> Any:
        """Return one value for all of so many rows as `many` takes it; raises what `one` raises."""
        self.one(value)
        return value

    def many(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[Any]:
        """Return an array of the column's dtype that broadcasts to `(rows, *shape)`; O(elements).

        The result may be the argument itself, but never shares memory with `buffer`.

        Raises:
            TypeError, ValueError, OverflowError: a value is not one that the field holds, or the
                shape does not broadcast.
        """
        if not is_array_like(type(value)):
            return np.array(self.cell(value), self.dtype)
        array = self._converted(
            gathered(value, 1 + len(self.shape), self._wanted_many, self)
        )
        if array.shape and array.shape != (rows, *self.shape):
            array = self._fitted(array, (rows, *self.shape))
        if buffer is not None and np.may_share_memory(array, buffer):
            return array.copy()
        return array

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of one of `_kinds` in the column's dtype, after checking its elements."""
        raise NotImplementedError

    def _converted(self, array: NDArray[Any]) -> NDArray[Any]:
        kind = array.dtype.kind
        if kind in self._kinds:
            return self._cast(array)
        if kind == "O":
            return self._from_elements(array)
        raise TypeError(
            f"{self.name}: wanted {self.wanted}, not an array of {array.dtype}"
        )

    def _from_elements(self, array: NDArray[Any]) -> NDArray[Any]:
        elements = array.ravel().tolist()
        try:
            cells = list(map(self.cell, elements))
        except (TypeError, ValueError, OverflowError):
            self._blame(array)
        return np.array(cells, self.dtype).reshape(array.shape)

    def _blame(self, array: NDArray[Any]) -> NoReturn:
        """Raise the error of the first bad element, with its position."""
        for position, element in enumerate(array.ravel().tolist()):
            try:
                self.cell(element)
            except (TypeError, ValueError, OverflowError) as error:
                place = tuple(map(int, np.unravel_index(position, array.shape)))
                at = place[0] if len(place) == 1 else place
                suffix = f" (at position {at})" if place else ""
                raise type(error)(f"{error}{suffix}") from None
        raise AssertionError(f"{self.name}: no element is wrong on its own")

    def _fitted(self, array: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
        """Return the array if it broadcasts to the shape, as the empty list does to no rows."""
        shape = array.shape
        if shape == (0,) and wanted[0] == 0:
            return np.empty(wanted, self.dtype)
        ends = zip(reversed(shape), reversed(wanted), strict=False)
        if len(shape) <= len(wanted) and all(
            given in (size, 1) for given, size in ends
        ):
            return array
        raise ValueError(f"{self.name}: wanted shape {wanted}, not {shape}")

    def _element(self, value: Any) -> Any:
        """Return a single value as it is, a 0-d array's element; ValueError for other arrays."""
        if not is_array_like(type(value)):
            return value
        if not isinstance(value, (list, tuple)):
            array = gathered(value, 0, self._wanted_one, self)
            if array.ndim == 0:
                return array[()]
        raise ValueError(f"{self.name}: wanted one {self.wanted}, not {shown(value)}")

    def _integer(self, value: Any) -> int:
        """Return whatever has `__index__`, bools apart, as an int."""
        value = self._element(value)
        if not isinstance(value, (bool, np.bool_)):
            try:
                return index(value)
            except TypeError:
                pass
        raise self._wrong_type(value)

    def _wrong_type(self, value: object) -> TypeError:
        kind = f"{type(value).__name__}){table_hint(value)}"
        return TypeError(
            f"{self.name}: wanted {self.wanted}, not {shown(value)} ({kind}"
        )

    def _does_not_fit(self, value: object) -> OverflowError:
        return OverflowError(
            f"{self.name}: {shown(value)} does not fit into {self.wanted}"
        )


class ShapedField(Field):
    """A field of a fixed shape: a cell is a tuple of `prod(shape)` elements.

    The last tuple that was checked is remembered, since most calls leave a field at its
    default, which is one object each time.
    """

    __slots__ = ()

    def one(self, value: Any) -> Any:
        checked = self._checked
        if value is checked[0]:
            return checked[1]
        cell = self._cell_of(value)
        if type(value) is tuple and _IMMUTABLE.issuperset(map(type, value)):
            self._checked = value, cell
        return cell

    def _cell_of(self, value: Any) -> Any:
        elements = leaves(value, self.shape)
        if elements is not None:
            return tuple(map(self.cell, elements))
        if not is_array_like(type(value)):
            self.cell(value)
            raise ValueError(f"{self._wanted_one}, not {shown(value)}")
        array = gathered(value, len(self.shape), self._wanted_one, self)
        if array.shape != self.shape:
            raise ValueError(f"{self._wanted_one}, not {array.shape}")
        return tuple(self._converted(array).ravel().tolist())
