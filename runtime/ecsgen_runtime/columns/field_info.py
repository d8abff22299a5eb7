"""What a schema says of a field, for whatever looks at components from outside."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, TypeAlias

import numpy as np

from ..convert.base import Converter, FieldTable
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


class Described(NamedTuple):
    """The fields of a component."""

    infos: tuple[FieldInfo, ...]
    converters: FieldTable


def described(*fields: tuple[Any, ...]) -> Described:
    """Return what is known of fields, by their converters and by their schema: of each its
    converter, type and default, its tags, and if there are some its unit and doc."""
    infos = tuple(_info(*field) for field in fields)
    return Described(
        infos, {i.name: f[:3:2] for i, f in zip(infos, fields, strict=True)}
    )


def _info(
    field: Converter,
    type: str,
    default: Any,
    tags: tuple[str, ...],
    unit: str = "",
    doc: str = "",
) -> FieldInfo:
    name, dtype = field.name.rpartition(".")[2], field.dtype
    if dtype is not None and dtype.kind == "S" and isinstance(default, bytes):
        default = default.ljust(dtype.itemsize, b"\0")
    return FieldInfo(
        name, type, dtype, field.shape, field.enum, default, unit, doc, tags
    )
