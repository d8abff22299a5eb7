"""Histograms of the values of a field."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from ecsgen_runtime.values.field_tables import FieldInfo
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import ComponentReader
from ecsgen.inspector.json_values import Json, member_name
from ecsgen.inspector.tick_queue import RequestError

SAMPLED: Final = 200_000
"""Maximum of cells that are read."""
MOST_BINS: Final = 200
_LARGEST: Final = float(np.finfo(np.float64).max)
_MOST_VALUES: Final = 256
"""Maximum of members, or combinations of flags, that are counted separately."""


def histogram_field(reader: ComponentReader, name: str) -> FieldInfo:
    """Return the field of a histogram. Raises RequestError if its type has none."""
    field: FieldInfo = reader.field[name]
    kind = "O" if field.dtype is None else field.dtype.kind
    if kind in "OS" or field.type.startswith(("entity", "id<")):
        raise RequestError(400, f"{reader.name}.{name}: {field.type} has no histogram")
    return field


def sample(reader: ComponentReader, field: FieldInfo) -> tuple[NDArray[Any], int, int]:
    """Return copied cells of evenly spread rows, their number, and the number of all cells."""
    each = prod(field.shape)
    rows = reader.spread(SAMPLED // each)
    cells = reader.cells(field.name, rows)
    if reader.has_holes:
        cells = cells[reader.owners(rows) != 0]
    return cells, len(cells) * each, reader.used * each


def histogram(cells: NDArray[Any], field: FieldInfo, bins: int, counted: int, total: int) -> Json:
    values = cells.ravel()
    answer: dict[str, Json] = {"cells": total, "counted": counted, "sampled": counted < total}
    if field.enum is not None:
        counts, edges = _by_member(values, field)
    elif values.dtype.kind == "b":
        true = int(np.count_nonzero(values))
        counts, edges = [len(values) - true, true], ["false", "true"]
    else:
        finite = values[np.isfinite(values)] if values.dtype.kind in "fmM" else values
        answer["skipped"] = len(values) - len(finite)
        counts, edges = _by_bins(finite, bins)
    return {"counts": counts, "edges": edges, **answer}


def _by_bins(values: NDArray[Any], bins: int) -> tuple[list[int], list[float]]:
    if not len(values):
        return [], []
    wide = values.astype(np.float64)
    scale = 4.0 if np.abs(wide).max() > _LARGEST / 8 else 1.0  # the range itself must fit a float
    wide /= scale
    counts, edges = np.histogram(wide, bins, _range(wide.min(), wide.max(), bins))
    most = _LARGEST / scale
    return counts.tolist(), (edges.clip(-most, most) * scale).tolist()


def _range(low: float, high: float, bins: int) -> tuple[float, float]:
    """Return the first and the last edge, so far apart that all edges differ as floats."""
    if low == high:
        low, high = low - 0.5, high + 0.5
    if (np.diff(np.linspace(low, high, bins + 1)) > 0).all():
        return low, high
    around = bins * float(np.spacing(max(abs(low), abs(high))))
    return low - around, high + around


def _by_member(values: NDArray[Any], field: FieldInfo) -> tuple[list[int], list[Json]]:
    """Count members, also unused ones, and numbers that are not members."""
    assert field.enum is not None  # the caller asks
    numbers, counts = np.unique(values, return_counts=True)
    count_by_number = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    known = {int(member.value): 0 for member in field.enum} | count_by_number
    most = sorted(known.items(), key=lambda pair: -pair[1])[:_MOST_VALUES]
    shown = sorted(most)
    names = [str(member_name(field.enum, number)) for number, _ in shown]
    return [count for _, count in shown], list(names)
