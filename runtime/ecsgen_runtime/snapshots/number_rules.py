"""Numbers and bools of one type as another: exactly, or not at all.

Each rule takes an array and returns a new one, or raises BadCellError for the first cell that does
not fit.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from .cell_types import CellType

_MANTISSA: Final = {"f32": 24, "f64": 53}


class BadCellError(Exception):
    """The first element that does not fit, by its number in C order, and why."""

    def __init__(self, element: int, why: str) -> None:
        super().__init__(why)
        self.element = element
        self.why = why


def range_of(integer: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    size = int(integer[1:])
    if integer[0] == "u":
        return 0, 2**size - 1
    return -(2 ** (size - 1)), 2 ** (size - 1) - 1


def check(bad: NDArray[np.bool_], cells: NDArray[Any], wanted: str) -> None:
    """Raise BadCellError for the first cell that is bad."""
    if bad.any():
        refuse_first(bad, cells, f"does not fit {wanted}")


def refuse_first(bad: NDArray[np.bool_], cells: NDArray[Any], why: str) -> NoReturn:
    """Raise BadCellError for the first cell that is bad, with its value."""
    element = int(bad.argmax())
    raise BadCellError(element, f"{cells.reshape(-1)[element].item()!r} {why}")


def always_fits(old: str, new: str) -> bool:
    """Whether all values of one type of numbers or bools are values of another."""
    if old == new or old == "bool":
        return True
    if new == "bool" or (new[0] != "f" and old[0] == "f"):
        return False
    if new[0] == "f":
        if old[0] == "f":
            return old == "f32"
        return range_of(old)[1] < 1 << _MANTISSA[new]
    low, high = range_of(old)
    return range_of(new)[0] <= low and high <= range_of(new)[1]


def as_number(cells: NDArray[Any], old: str, new: CellType) -> NDArray[Any]:
    """Return numbers or bools of the type `old` as those of another, by value.

    Only from f64 to f32 they are rounded; a finite one stays finite. -0.0 is 0 as an integer.
    """
    name = new.number or new.base
    dtype = np.dtype(new.dtype)
    if always_fits(old, name):
        return cells.astype(dtype)
    if name == "bool":
        check((cells != 0) & (cells != 1), cells, "bool")
        return cells.astype(dtype)
    if name[0] == "f":
        return _as_float(cells, old, name, dtype)
    low, high = range_of(name)
    if old[0] == "f":
        inside = (cells >= float(low)) & (cells < float(high + 1))
        check(~inside | (np.floor(cells) != cells), cells, name)
    else:
        check(_outside(cells, old, low, high), cells, name)
    return cells.astype(dtype)


def _outside(cells: NDArray[Any], old: str, low: int, high: int) -> NDArray[np.bool_]:
    """Return which integers are below or above; bounds that none can pass are not compared."""
    least, greatest = range_of(old)
    outside = np.zeros(cells.shape, np.bool_)
    if least < low:
        outside |= cells < cells.dtype.type(low)
    if high < greatest:
        outside |= cells > cells.dtype.type(high)
    return outside


def _as_float(
    cells: NDArray[Any], old: str, name: str, dtype: np.dtype[Any]
) -> NDArray[Any]:
    if old[0] != "f":
        check(_needs_more_bits(cells, _MANTISSA[name]), cells, name)
        return cells.astype(dtype)
    with np.errstate(all="ignore"):
        rounded = cells.astype(dtype)
    check(np.isinf(rounded) & np.isfinite(cells), cells, name)
    return rounded


def _needs_more_bits(cells: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return which integers have more binary digits than so many, zeros at the end apart.

    As integers: a float next to it would compare equal to one that is not exact.
    """
    wide = cells.astype(np.uint64 if cells.dtype.kind == "u" else np.int64)
    size = wide if wide.dtype.kind == "u" else np.abs(wide).view(np.uint64)
    lowest = size & (~size + np.uint64(1))
    digits = size // np.maximum(lowest, np.uint64(1))
    needs: NDArray[np.bool_] = digits >= np.uint64(1 << count)
    return needs
