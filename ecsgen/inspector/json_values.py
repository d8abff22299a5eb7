"""Conversion of cells to JSON, and of JSON to values of fields.

Numbers that JSON or a browser cannot hold are strings, enums are their members' names, and objects
are the names of their types: `repr` would run code, and may be huge.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum, IntFlag
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final, TypeAlias

import numpy as np
from ecsgen_runtime.values.field_tables import FieldInfo
from ecsgen_runtime.values.time_fields import iso_texts
from numpy.typing import NDArray

Json: TypeAlias = Any

_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_DURATION: Final = re.compile(
    r"(-)?P(?:(\d{1,20})D)?(?:T(?:(\d{1,20})H)?(?:(\d{1,20})M)?(?:(\d{1,20}(?:\.\d{1,18})?)S)?)?"
)
"""Sign, days, hours, minutes and seconds."""
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INTEGER: Final = re.compile("-?[0-9]{1,20}")


def type_names(cells: Iterable[object]) -> NDArray[np.object_]:
    """Return the name of each object's type."""
    return np.array([type(cell).__name__ for cell in cells], np.object_)


def json_column(cells: NDArray[Any], field: FieldInfo | None) -> list[Json]:
    """Return copied cells as JSON; without a field they are entities or ids."""
    if field is not None and field.enum is not None:
        return _nested(cells, cache(partial(member_name, field.enum)))
    if field is None or cells.dtype == np.uint64:
        return _nested(cells, str)
    if field.dtype is None:
        return list(cells.tolist())
    if cells.dtype.kind == "S":
        size = cells.dtype.itemsize
        if field.type.startswith("str"):
            return _nested(cells, lambda cell: cell.decode(errors="replace"))
        return _nested(cells, lambda cell: cell.ljust(size, b"\0").hex())
    if cells.dtype.kind in "mM":
        return [text or None for text in iso_texts(cells).tolist()]
    if cells.dtype.kind == "f" and not np.isfinite(cells).all():
        return _nested(cells, json_number)
    values: list[Json] = cells.tolist()
    return values


def whole_number(text: str, limit: int = 1 << 64) -> int | None:
    """Return the number that a text is; None for other texts, and for what is not below a limit."""
    is_number = text.isascii() and text.isdigit() and len(text) <= 20
    return int(text) if is_number and int(text) < limit else None


def json_number(value: float) -> Json:
    """Return a float, as text if it is not finite."""
    return value if math.isfinite(value) else json.dumps(float(value))


def json_value(value: Any, field: FieldInfo) -> Json:
    """Return a value of an accessor as JSON."""
    if field.dtype is None:
        return type(value).__name__
    dtype = np.dtype(np.uint64) if field.type.startswith(("entity", "id<")) else field.dtype
    cells = np.empty((1, *field.shape), dtype)
    cells[0] = _encoded(value)
    return json_column(cells, field)[0]


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encoded(part) for part in value]
    return value.encode() if isinstance(value, str) else value


def _nested(cells: NDArray[Any], convert: Callable[[Any], Json]) -> list[Json]:
    if cells.ndim == 1:
        return [*map(convert, cells.tolist())]
    return [_nested(part, convert) for part in cells]


def member_name(enum: type[IntEnum | IntFlag], number: int) -> Json:
    """Return a member's name, `read|write` for several flags, or the number without one."""
    try:
        return enum(number).name or number
    except ValueError:
        return number


def given_fields(body: Json, fields: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """Return the fields in the body of a request as arguments of setters. ValueError for what is no
    object, for an unknown field and for an invalid value."""
    if not isinstance(body, dict):
        raise ValueError("wanted a JSON object of fields")
    for name in body:
        if name not in fields:
            raise ValueError(f"there is no field {name[:100]!r}")
    return {name: given_value(value, fields[name]) for name, value in body.items()}


def given_value(value: Json, field: FieldInfo) -> Any:
    """Return a value that a request has as an argument of setters. Raises ValueError."""
    if field.dtype is None:
        raise ValueError(f"{field.name}: objects can't be given")
    if isinstance(value, list):
        return tuple(given_value(element, field) for element in value)
    if field.dtype.kind == "m" and type(value) in (int, str):
        return _timedelta(value, field)
    if not isinstance(value, str) or field.type.startswith(("str", "datetime")):
        return value
    if field.enum is not None:
        return _member(field.enum, value, field.name)
    if field.type.startswith("bytes"):
        try:
            return bytes.fromhex(value)
        except ValueError:
            raise ValueError(f"{field.name}: wanted bytes as hexadecimal digits") from None
    if field.dtype.kind == "f" and value in _WORDS:
        return float(value)
    if field.dtype.kind in "iu" and _INTEGER.fullmatch(value):
        return int(value)
    raise ValueError(f"{field.name}: {value[:100]!r} is no {field.type}")


def _timedelta(value: Any, field: FieldInfo) -> Any:
    """Return ISO text such as `PT1.5S`, or a number of units, as a span. Raises ValueError."""
    ticks = value
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        if match is None or not any(match.groups()[1:]):
            raise ValueError(f"{field.name}: {value[:100]!r} is no timedelta such as 'PT1.5S'")
        sign, *numbers = match.groups()
        parts = zip(numbers, (86_400, 3600, 60, 1), strict=True)
        seconds = sum(Fraction(number or 0) * size for number, size in parts)
        count = (-seconds if sign else seconds) * _PER_SECOND[field.type[10:-1]]
        if count.denominator != 1:
            raise ValueError(f"{field.name}: {value[:100]!r} is not exact in {field.type}")
        ticks = count.numerator
    if abs(ticks) >= 2**63:
        raise ValueError(f"{field.name}: {value} is too far for {field.type}")
    return np.array(ticks, field.dtype)[()]


def _member(enum: type[IntEnum | IntFlag], text: str, name: str) -> int:
    number = 0
    for part in text.split("|"):
        if part.strip() not in enum.__members__:
            raise ValueError(f"{name}: {enum.__name__} has no member {part.strip()[:100]!r}")
        number |= enum.__members__[part.strip()]
    if "|" in text and not issubclass(enum, IntFlag):
        raise ValueError(f"{name}: {enum.__name__} has no flags, so wanted one member")
    return number
