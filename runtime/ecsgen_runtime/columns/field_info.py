"""What a schema says of a field, for whatever looks at components from outside."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, TypeAlias

import numpy as np

from ..convert.base import Converter
from ..typed import NamedTuple

_Enum: TypeAlias = type[IntEnum | IntFlag]


class FieldInfo(NamedTuple):
    """One field of a component."""

    name: str
    type: str
    """As the schema spells it: `f32[3]`, `Mode`."""
    dtype: np.dtype[Any] | None
    """Of one element of the column; None for objects."""
    shape: tuple[int, ...]
    """Of one cell: `()` for scalars."""
    enum: _Enum | None
    default: Any
    """As the accessor returns it."""
    unit: str
    doc: str
    tags: tuple[str, ...]


def field_info(
    field: Converter,
    type: str,
    default: object,
    tags: tuple[str, ...],
    unit: str = "",
    doc: str = "",
) -> FieldInfo:
    """Return what is known of a field: by its converter, and by its schema."""
    name = field.name.rpartition(".")[2]
    return FieldInfo(
        name, type, field.dtype, field.shape, field.enum, default, unit, doc, tags
    )
