"""Columns of text as `str`: they lie in the buffer as UTF-8."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..entities.manager import Entities
from .field_info import FieldInfo


class TextColumns:
    """Columns, some of which may have text; the generated class has the fields."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[FieldInfo, ...]] = ()
    _ENTITIES: ClassVar[type[Entities]]
    """The package's own, which knows what the bits of its entities are."""

    def decoded(self, field: str, /) -> NDArray[np.str_]:
        """Return a column of text as `str`, shape (n,): a copy; O(n).

        ValueError: it is not one of these columns, or has no text.
        """
        texts = [
            name
            for name, type_, *_ in self.FIELDS
            if type_.startswith("str[") and hasattr(type(self), name)
        ]
        if field not in texts:
            which = f"those that have are {', '.join(texts)}" if texts else "none has"
            raise ValueError(f"{field!r} is no column with text: {which}")
        column: NDArray[np.bytes_] = getattr(self, field)
        return np.char.decode(column, "utf-8")
