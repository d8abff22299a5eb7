"""Values of a parcel: those that no world would have are refused."""

from __future__ import annotations

import pickle
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from .distinct import are_distinct
from .errors import ParcelError
from .parcel import ParcelBase
from .tables import Component

_CHECKED: Final = "SV"
"""Kinds of cells of which not every value will do; enums besides."""


def refuse_parcel(one: Component, column: str, why: str) -> NoReturn:
    raise ParcelError(f"{one.name}.{column}: {why}")


def check_bools(one: Component, name: str, column: NDArray[Any]) -> None:
    if len(column) and int(column.view(np.uint8).max()) > 1:
        refuse_parcel(one, name, "neither True nor False")


def arriving_fields(
    parcel: ParcelBase, one: Component, manager: Any, count: int
) -> dict[str, NDArray[Any]]:
    """Return the columns of new rows by field, as creations have them when they are checked."""
    found: dict[str, NDArray[Any]] = {}
    for name, (field, _) in manager._CONVERTERS.items():
        parts = one.parts[name]
        if name in one.objects:
            found[name] = unpickled(parcel, one, name, count)
            continue
        cells = [_stored(parcel, one, manager, part, count) for part in parts]
        column = cells[0]
        if parts != (name,):
            column = np.stack(cells, axis=1).reshape(count, *field.shape)
        found[name] = checked_column(one, name, field, column, count)
    return found


def _stored(
    parcel: ParcelBase, one: Component, manager: Any, part: str, count: int
) -> NDArray[Any]:
    """Return a column of all rows, those of cold rows spread over them."""
    if part in one.columns:
        return parcel._column(one.columns[part])
    default = manager.data._cold.DEFAULTS[part]
    column = np.empty((count, *default.shape), default.dtype)
    column[:] = default
    rows = parcel._column(one.cold["~row"])
    if len(rows) and (int(rows.max()) >= count or not are_distinct(rows)):
        refuse_parcel(one, "~row", "a row that there is not, or twice")
    column[rows] = parcel._column(one.cold[part])
    return column


def checked_column(
    one: Component, name: str, field: Any, column: NDArray[Any], count: int
) -> NDArray[Any]:
    """Return a column whose values all will do, or raise ParcelError; numbers always will."""
    if column.dtype.kind == "b":
        check_bools(one, name, column)
    if column.dtype.kind not in _CHECKED and field.enum is None:
        return column
    try:
        checked: NDArray[Any] = field.many(column, count)
    except (ValueError, TypeError, OverflowError) as error:
        refuse_parcel(one, name, str(error))
    return checked


def unpickled(
    parcel: ParcelBase, one: Component, name: str, count: int
) -> NDArray[np.object_]:
    """Return the objects of a field, or raise ParcelError."""
    found = np.full(count, None, np.object_)
    text = parcel._column(one.objects[name])
    if len(text):
        try:
            values = pickle.loads(text.tobytes())
        except Exception as error:
            raise ParcelError(f"{one.name}.{name}: {error!r}") from error
        if type(values) is not list or len(values) != count:
            refuse_parcel(one, name, "not as many objects as rows")
        for row, value in enumerate(values):
            found[row] = value
    return found
