"""Defaults in a schema document: complete, and of their field's type."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..cell_types import FLOATS, CellType

_ODD: Final = ("NaN", "Infinity", "-Infinity")


def is_default(type_: CellType, given: Any) -> bool:
    """Return whether a document's default is a cell of a type: nested lists of its shape."""
    return _fills(type_, type_.shape, given)


def _fills(type_: CellType, shape: tuple[int, ...], given: Any) -> bool:
    if not shape:
        return _is_element(type_, given)
    if type(given) is not list or len(given) != shape[0]:
        return False
    return all(_fills(type_, shape[1:], part) for part in given)


def _is_element(type_: CellType, given: Any) -> bool:
    base = type_.base
    if base == "object":
        return given is None
    if base == "bool":
        return type(given) is bool
    if base == "str":
        return type(given) is str and _is_text(given, type_.size)
    if base == "bytes":
        return (
            type(given) is list
            and len(given) == type_.size
            and all(type(byte) is int and 0 <= byte <= 255 for byte in given)
        )
    if base in FLOATS:
        return _is_float(type_, given)
    return type(given) is int and _is_integer(type_, given)


def _is_text(given: str, size: int) -> bool:
    try:
        stored = given.encode()
    except UnicodeEncodeError:
        return False
    return len(stored) <= size and 0 not in stored


def _is_float(type_: CellType, given: Any) -> bool:
    if type(given) is str:
        return given in _ODD
    highest = float(np.finfo(type_.dtype).max)
    return type(given) in (int, float) and -highest <= given <= highest


def _is_integer(type_: CellType, given: int) -> bool:
    if type_.base == "enum":
        return given in type_.members.values()
    if type_.base == "flags":
        return given & ~type_.mask == 0
    limits = np.iinfo(type_.dtype)
    return int(limits.min) <= given <= int(limits.max)
