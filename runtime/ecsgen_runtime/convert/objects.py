"""Fields of Python objects, kept in a column beside the buffer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


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
