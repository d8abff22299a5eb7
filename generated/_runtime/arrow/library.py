"""pyarrow, which is optional, and columns of libraries that nobody needs to have."""

from __future__ import annotations

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
