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

        A list or an array of length `rows` is one object per row, anything else is one for all.
        """
        if isinstance(value, np.ndarray) and value.ndim and len(value) == rows:
            own = buffer is not None and np.may_share_memory(value, buffer)
            return np.fromiter(value.copy() if own else value, object, rows)
        if isinstance(value, list) and len(value) == rows:
            return np.fromiter(value, object, rows)
        return np.fromiter((value,), object, 1)
