"""Conditions on the values of a table: `state=infectious`, `energy>=2.5`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
from ecsgen_runtime.values.field_tables import FieldInfo
from ecsgen_runtime.values.time_fields import DatetimeField
from numpy.typing import NDArray

from ecsgen.inspector.column_cache import ColumnCache
from ecsgen.inspector.component_readers import OWNER, ComponentReader
from ecsgen.inspector.json_values import given_value, whole_number
from ecsgen.inspector.tick_queue import RequestError, make_not_found

_HANDLES: Final = ("entity", "id<")
_PATTERN: Final = re.compile(r"([^=!<>]+)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Filter(NamedTuple):
    """A condition on a column."""

    column: str
    compare: Callable[[Any, Any], Any]
    value: Any


IN_USE: Final = Filter(OWNER, operator.ne, np.uint64(0))
"""Leaves out holes."""


def parse_filter(reader: ComponentReader, text: str) -> Filter:
    """Return a condition in a request. RequestError 404 for an unknown field, 400 for what cannot
    be compared."""
    parts = _PATTERN.fullmatch(text)
    if parts is None:
        raise RequestError(400, f"where: wanted a condition such as mass>=2, not {text[:100]!r}")
    name, sign, value = parts[1].strip(), parts[2], parts[3].strip()
    if name == reader.owner:
        return Filter(OWNER, _OPERATORS[sign], _number_of(name, value))
    if name not in reader.field:
        raise make_not_found(f"field of {reader.name}", name)
    field = reader.field[name]
    if field.dtype is None or field.shape:
        raise RequestError(400, f"where: {name} is {field.type}, and cannot be compared")
    has_order = field.enum is None and field.type != "bool"
    if sign not in ("=", "!=") and not (has_order and not field.type.startswith(_HANDLES)):
        raise RequestError(400, f"where: {field.type} has no order: {name} takes = and !=")
    return Filter(name, _OPERATORS[sign], _value(field, value))


def _value(field: FieldInfo, text: str) -> Any:
    """Return what a field's cells are compared with."""
    assert field.dtype is not None  # the caller asks
    if field.type.startswith(_HANDLES):
        return _number_of(field.name, text)
    if field.type == "bool":
        if text not in ("true", "false"):
            raise RequestError(400, f"where: {field.name} is true or false, not {text[:100]!r}")
        return text == "true"
    try:
        if field.enum is None and field.dtype.kind in "iuf":
            return _plain_number(field, text)
        if field.dtype.kind == "M":
            return DatetimeField(field.name, np.datetime_data(field.dtype)[0]).to_cell(text)
        value = given_value(text, field)
    except (ValueError, OverflowError) as error:
        raise RequestError(400, f"where: {error}") from None
    return value.encode() if isinstance(value, str) else value


def _plain_number(field: FieldInfo, text: str) -> Any:
    """Return a number; that of a float field is rounded as the field's cells are."""
    assert field.dtype is not None
    try:
        value = float(text) if field.dtype.kind == "f" else int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"{field.name}: {text[:100]!r} is no {field.type}") from None
    with np.errstate(over="ignore"):
        return field.dtype.type(value) if field.dtype.kind == "f" else value


def _number_of(name: str, text: str) -> Any:
    number = whole_number(text)
    if number is None:
        raise RequestError(400, f"where: {name} is a number of 64 bits, not {text[:100]!r}")
    return np.uint64(number)


async def filtered_rows(
    cache: ColumnCache, reader: ComponentReader, filters: Iterable[Filter]
) -> NDArray[np.bool_]:
    """Return which rows fulfil all conditions."""
    masks = []
    for test in filters:
        cells = (await cache.column(reader, test.column, is_fresh=True)).cells
        masks.append(np.asarray(test.compare(cells, test.value), np.bool_))
    n = min(map(len, masks))  # rows may have come meanwhile
    both: NDArray[np.bool_] = np.all([mask[:n] for mask in masks], axis=0)
    return both
