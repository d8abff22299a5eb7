"""Defaults: checked against type, shape and range, and completed to the whole shape.

Without numpy, which `ecsgen validate` does not import: ranges are plain arithmetic.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.model import BaseType, Default, Enum, FieldType, Mark
from ecsgen.model.types import fits, misfit
from ecsgen.schema.validation import BadValueError, describe
from ecsgen.source.yaml_nodes import Node


def empty_default(type_: FieldType, enum: Enum | None) -> Default:
    """Return the default of a field without one: zero, null, empty, `None`, the enum's own."""
    zero = bytes(type_.size) if type_.base is BaseType.BYTES else _KINDS[type_.base][0]
    return _fill(zero if enum is None else enum.default, type_.shape)


def check_default(node: Node, type_: FieldType, enum: Enum | None) -> Default:
    """Return the default at `node`, completed to the type's shape. Raises BadValueError."""
    if type_.shape and isinstance(node.value, list):
        return _nested(node, type_, type_.shape, enum)
    return _fill(_scalar(node, type_, enum), type_.shape)


def _fill(value: Default, shape: tuple[int, ...]) -> Default:
    for length in reversed(shape):
        value = (value,) * length
    return value


_KINDS: Final[dict[BaseType, tuple[Default, str]]] = {
    BaseType.BOOL: (False, "wants true or false"),
    BaseType.INT: (0, "wants a whole number"),
    BaseType.FLOAT: (0.0, "wants a number"),
    BaseType.ENUM: (0, "wants a member or its number"),
    BaseType.STR: ("", "wants text"),
    BaseType.BYTES: (b"", "wants ASCII text or a list of numbers from 0 to 255"),
    BaseType.OBJECT: (None, "is always empty"),
    BaseType.ENTITY: (0, "is always the null entity"),
    BaseType.ID: (0, "is always the null id"),
    BaseType.DATETIME: ("NaT", "wants a time as ISO text"),
    BaseType.TIMEDELTA: ("NaT", "wants a whole number of units"),
}
"""The default of fields without one, and the values that a default can have."""


def _nested(node: Node, type_: FieldType, shape: tuple[int, ...], enum: Enum | None) -> Default:
    if not shape:
        return _scalar(node, type_, enum)
    items = node.value
    if not isinstance(items, list) or len(items) != shape[0]:
        shown = f"{len(items)} values" if isinstance(items, list) else describe(node)
        wanted = "x".join(str(length) for length in type_.shape)
        message = f"the shape {wanted} wants a list of {shape[0]} here, not {shown}"
        raise BadValueError("E108", message, mark=node.mark)
    return tuple(_nested(item, type_, shape[1:], enum) for item in items)


def _scalar(node: Node, type_: FieldType, enum: Enum | None) -> Default:
    value = node.value
    match type_.base:
        case BaseType.BOOL if isinstance(value, bool):
            return value
        case BaseType.INT if isinstance(value, int) and not isinstance(value, bool):
            return _number(value, type_, node.mark)
        case BaseType.FLOAT if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _number(value, type_, node.mark)
        case BaseType.ENUM if isinstance(value, (int, str)) and not isinstance(value, bool):
            return 0 if enum is None else _member(value, enum, node.mark)
        case BaseType.STR if isinstance(value, str):
            return _text(value, type_, node.mark)
        case BaseType.BYTES if isinstance(value, (str, list)):
            return _bytes(node, type_)
        case BaseType.DATETIME if isinstance(value, str):
            return _datetime(value, type_, node.mark)
        case BaseType.TIMEDELTA if isinstance(value, int) and not isinstance(value, bool):
            _check_ticks(value, type_, str(value), node.mark)
            return value
        case BaseType.DATETIME | BaseType.TIMEDELTA if value is None or value == "NaT":
            return "NaT"
        case BaseType.OBJECT if value is None:
            return None
        case BaseType.ENTITY | BaseType.ID if value is None or (value == 0 and type(value) is int):
            return 0
    wanted = f"the default of {quote(type_.text)} {_KINDS[type_.base][1]}"
    raise BadValueError("E106", f"{wanted}, not {describe(node)}", mark=node.mark)


def _number(value: int | float, type_: FieldType, mark: Mark) -> int | float:
    if not fits(value, type_.scalar):
        shown = quote(str(value))[1:-1]
        raise BadValueError("E107", misfit(shown, type_.scalar), mark=mark)
    return float(value) if type_.base is BaseType.FLOAT else value


def _text(value: str, type_: FieldType, mark: Mark) -> str:
    length = len(value.encode("utf-8"))
    if "\0" in value:
        raise BadValueError("E107", f"{quote(type_.text)} takes no NUL", mark=mark)
    if length > type_.size:
        message = f"the text has {length} UTF-8 bytes; {quote(type_.text)} takes {type_.size}"
        raise BadValueError("E107", message, mark=mark)
    return value


_ISO: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,18}))?)?)?(Z|[+-]\d\d:?\d\d)?"
)
_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits behind the point of a second, by unit."""


def _datetime(value: str, type_: FieldType, mark: Mark) -> str:
    """Return a time in the one spelling that its unit has."""
    if value == "NaT":
        return value
    match, shown = _ISO.fullmatch(value), quote(value)
    try:
        day, clock, second, fraction, zone = match.groups() if match else ("", "", "", "", "")
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}:{second or '00'}")
    except ValueError:
        message = f"{shown} is no time such as '2024-01-31T08:30:00'"
        raise BadValueError("E106", message, mark=mark) from None
    if zone:
        message = f"{shown} has a zone, and {type_.text} has none"
        raise BadValueError("E107", message, "write the time in UTC, without 'Z'", mark)
    unit = type_.scalar[3:-1]
    count, digits = _DIGITS[unit], (fraction or "").rstrip("0")
    if len(digits) > count:
        raise BadValueError("E107", f"{shown} is not a whole number of {unit}", mark=mark)
    digits = digits.ljust(count, "0")
    seconds = (moment - datetime(1970, 1, 1)) // timedelta(seconds=1)
    _check_ticks(seconds * 10**count + int(digits or 0), type_, shown, mark)
    return moment.isoformat() + (f".{digits}" if digits else "")


def _check_ticks(ticks: int, type_: FieldType, shown: str, mark: Mark) -> None:
    if abs(ticks) >= 2**63:
        raise BadValueError("E107", f"{shown} is too far for {type_.text}", mark=mark)


def _bytes(node: Node, type_: FieldType) -> bytes:
    value = node.value
    if isinstance(value, str):
        if not value.isascii():
            message = "only ASCII text can be a default of bytes"
            raise BadValueError("E106", message, "write a list of numbers instead", node.mark)
        data = value.encode("ascii")
    else:
        assert isinstance(value, list)
        data = bytes(_byte(item) for item in value)
    if len(data) > type_.size:
        message = f"{len(data)} bytes are given; {quote(type_.text)} takes {type_.size}"
        raise BadValueError("E107", message, mark=node.mark)
    return data.ljust(type_.size, b"\0")


def _byte(node: Node) -> int:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
        return value
    message = f"a byte is a number from 0 to 255, not {describe(node)}"
    raise BadValueError("E106", message, mark=node.mark)


def _member(value: int | str, enum: Enum, mark: Mark) -> int:
    numbers = dict(enum.values)
    if isinstance(value, int):
        is_member = value in numbers.values()
        if enum.flags:
            mask = reduce(or_, numbers.values(), 0)
            is_member = value >= 0 and value & ~mask == 0
        if not is_member:
            shown = quote(str(value))[1:-1]
            raise BadValueError("E106", f"{shown} is not a number of {enum.name}", mark=mark)
        return value
    total = 0
    for name in value.split("|") if enum.flags else (value,):
        name = name.strip() if enum.flags else name
        if name not in numbers:
            message = f"{enum.name} has no member {quote(name)}"
            raise BadValueError("E106", message, did_you_mean(name, numbers), mark)
        total |= numbers[name]
    return total
