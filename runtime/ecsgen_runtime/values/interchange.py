"""Tables and columns of other libraries: export, import, and their nulls, which are errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray


class ArrowStream(Protocol):
    """A table of another library: Arrow, polars, pandas, duckdb and more."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


TableLike: TypeAlias = ArrowStream | Mapping[str, Any]
"""Source of columns for creations of many: an Arrow stream or a mapping."""


_STREAM: Final = "__arrow_c_stream__"
_MARKS: Final = (_STREAM, "__arrow_c_array__", "null_count", "isna")
_TO_LIST: Final = ("to_pylist", "to_list", "tolist")
"""Methods of columns of Arrow, polars and pandas; tables of the latter two have none."""


def require_pyarrow() -> Any:
    """Return pyarrow, or raise ImportError with the way to get it."""
    pyarrow = pyarrow_if_there()
    if pyarrow is None:
        raise ImportError("Arrow needs pyarrow: pip install pyarrow")
    return pyarrow


@cache
def pyarrow_if_there() -> Any:
    """Return pyarrow, or None."""
    try:
        return import_module("pyarrow")
    except ImportError:
        return None


def is_foreign_column(kind: type) -> bool:
    """Return True if values of a type may have nulls, as those of Arrow, polars and pandas."""
    return any(hasattr(kind, mark) for mark in _MARKS)


def is_object_column(kind: type) -> bool:
    """Return True if values of a type are columns of Arrow, polars or pandas."""
    return any(hasattr(kind, name) for name in _TO_LIST) and is_foreign_column(kind)


def object_list(column: Any, name: str) -> list[Any]:
    """Return the objects of such a column; raises as `refuse_nulls` does. O(n)."""
    refuse_nulls(column, name)
    to_list = next(getattr(column, each) for each in _TO_LIST if hasattr(column, each))
    return list(to_list())


def has_stream(table: object) -> bool:
    """Return True if an object exports a table as an Arrow stream."""
    return hasattr(table, _STREAM)


def table_hint(argument: object, before: str = "") -> str:
    """Return an error's hint for a table in the wrong place; empty for other arguments.

    `before`: what `create_many` takes before a table, "n" or "entities", if it is the right place.
    """
    if type(argument).__name__ == "LazyFrame":  # of polars, which may be missing
        return "; .collect() it first"
    if before and isinstance(argument, Mapping):
        return f"; managers take tables by create_many({before}, columns)"
    if before and has_stream(argument) and hasattr(argument, "columns"):
        first = "len(df)" if before == "n" else before
        return f"; managers take tables by create_many({first}, df)"
    return ""


def null_error(name: str, row: int) -> ValueError:
    """Return the error of a null."""
    return ValueError(f"{name}: null in row {row}")


def plain_array(values: Any, name: str) -> NDArray[Any]:
    """Return `np.asarray` of values; raises as `refuse_nulls` does."""
    refuse_nulls(values, name)
    return np.asarray(values)


def refuse_nulls(values: Any, name: str) -> None:
    """Raise ValueError if a column of Arrow, polars or pandas has nulls, TypeError if an array has
    masked elements, or for lazy columns; leave all else alone.

    O(1), but O(n) in pandas, where NaN is null: `to_numpy()` gives it as a number.
    """
    if type(values) is np.ndarray:
        return
    if isinstance(values, np.ndarray):  # numpy.ma is imported on first use
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise TypeError(f"{name} may not have masked elements")
        return
    if not is_foreign_column(type(values)):
        return
    if hint := table_hint(values):
        raise TypeError(f"{name}: wanted values, not {type(values).__name__}{hint}")
    nulls = _nulls(values)
    if nulls is not None and nulls.any():
        rows = nulls.reshape(len(nulls), -1).any(axis=1)
        raise null_error(name, int(rows.argmax()))


def _nulls(column: Any) -> NDArray[np.bool_] | None:
    """Return which values are null; None if none is."""
    if hasattr(column, "isna"):
        return np.asarray(column.isna(), np.bool_)
    if hasattr(column, "get_columns"):  # a table of polars
        masks = [np.asarray(each.is_null()) for each in column.get_columns()]
        return np.stack(masks, axis=1) if masks else None
    count = getattr(column, "null_count", 0)
    if count() if callable(count) else count:
        return np.asarray(column.is_null())
    return _nulls_inside(column)


def _nulls_inside(column: Any) -> NDArray[np.bool_] | None:
    """Return which rows of a column of lists, as polars has them, have null elements."""
    elements = column
    while hasattr(elements, "explode") and elements.dtype.is_nested():
        elements = elements.explode()
    if elements is column or not elements.null_count():
        return None
    nulls = np.asarray(elements.is_null())
    # only lists of one length make an array
    return nulls.reshape(len(column), -1)
