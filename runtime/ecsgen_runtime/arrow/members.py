"""Members of enums by name."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

from ..columns.field_names import nearest_name
from ..convert.arrays import shown


def member_number(name: str, enum: type[IntEnum | IntFlag], member: str) -> int:
    """Return the number of a member, or raise ValueError."""
    found = enum.__members__.get(member)
    if found is not None:
        return int(found)
    near = nearest_name(member, list(enum.__members__))
    hint = f"; did you mean {near!r}?" if near else ""
    raise ValueError(f"{name}: {shown(member)} is no member of {enum.__name__}{hint}")


def named_numbers(name: str, enum: type[IntEnum | IntFlag], values: Any) -> Any:
    """Return lists or arrays in which names of members became numbers; other values as they are.

    ValueError for a name that no member has.
    """
    if isinstance(values, str):
        return member_number(name, enum, values)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return values
    if isinstance(values, list | tuple | np.ndarray):
        items = values.tolist() if isinstance(values, np.ndarray) else values
        return [named_numbers(name, enum, item) for item in items]
    return values
