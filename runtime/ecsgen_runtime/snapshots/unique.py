"""Fields that are unique: no value may be there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .cell_types import CellType
from .documents import Saved
from .facts import FieldFacts, Present

if TYPE_CHECKING:
    from .evolution.managers import EvolvingField


def _refuses(type_: CellType) -> str:
    is_one_value = not type_.shape and type_.base != "object"
    return "" if is_one_value else "only of one value per row"


def repeated_value(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Return the first row whose value an earlier one has, and that; O(n log n).

    Text is bytes in rows, shape (n, size); NaN equals nothing.
    """
    if cells.ndim > 1:
        cells = np.ascontiguousarray(cells).view(f"S{cells.shape[1]}")[:, 0]
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(again) == 0:
        return None
    place = again[np.argmin(order[again + 1])]
    return int(order[place + 1]), int(order[place])


def _check(saved: Saved, tensor: str, present: Present) -> None:
    """Refuse values that are there twice, NaN aside; O(n log n)."""
    array = saved.arrays[tensor]
    rows = np.arange(len(array)) if present is None else np.flatnonzero(present)
    repeated = repeated_value(array[rows])
    if repeated is not None:
        row = int(rows[repeated[0]])
        saved.refuse("another row has this value, which is unique", tensor, row)


def _evolve(field: EvolvingField) -> None:
    """Refuse two rows with the same value, unless all have those of before."""
    if field.had and field.is_untouched:
        return
    cells = field.cells
    repeated = repeated_value(cells)
    if repeated is not None:
        row, earlier = map(field.plan.old_row, repeated)
        value = _shown(cells[repeated[0]], field.type)
        why = f"{value} is the value of row {earlier} too, and {field.name} is unique"
        field.refuse(f"{why}; make them different in migrate=", row)


def _shown(cell: Any, type_: str) -> str:
    if isinstance(cell, np.ndarray):
        stored = cell.tobytes().rstrip(b"\0")
        return repr(stored.decode() if type_.startswith("str") else stored)
    return repr(cell.item())


UNIQUE: Final = FieldFacts(key="unique", refuses=_refuses, check=_check, evolve=_evolve)
