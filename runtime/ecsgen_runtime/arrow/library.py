"""pyarrow, which is optional, and columns of libraries that nobody needs to have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

_STREAM: Final = "__arrow_c_stream__"
_MARKS: Final = (_STREAM, "__arrow_c_array__", "null_count", "isna")


def pyarrow() -> Any:
    """Return the module; ImportError that says how to get it."""
    found = pyarrow_if_there()
    if found is None:
        raise ImportError("Arrow needs pyarrow: pip install pyarrow")
    return found


@cache
def pyarrow_if_there() -> Any:
    """Return the module, or None."""
    try:
        return import_module("pyarrow")
    except ImportError:
        return None


def is_column(kind: type) -> bool:
    """Whether values of a type may have nulls: what Arrow, polars and pandas make."""
    return any(hasattr(kind, mark) for mark in _MARKS)


def has_stream(table: object) -> bool:
    """Whether a table can be had from an object."""
    return hasattr(table, _STREAM)


def table_hint(given: object, before: str = "") -> str:
    """Return what an error says of a table that is in the wrong place; nothing of other things.

    `before`: what `create_many` takes before a table, "n" or "entities", if it is the right place.
    """
    if type(given).__name__ == "LazyFrame":  # of polars, which may not be there
        return "; .collect() it first"
    if before and isinstance(given, Mapping):
        return f"; managers take tables by create_many({before}, columns)"
    if before and has_stream(given) and hasattr(given, "columns"):
        first = "len(df)" if before == "n" else before
        return f"; managers take tables by create_many({first}, df)"
    return ""
