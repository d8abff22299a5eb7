"""How the values of a field are spread."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.asking import RefusedError, missing
from ecsgen.inspector.cells import Json, json_number, member_name
from ecsgen.inspector.subjects import Managed, Subject
from ecsgen.runtime.columns.field_info import FieldInfo

SAMPLED: Final = 200_000
"""Cells that are looked at, at most."""
MOST_BINS: Final = 200
_LARGEST: Final = float(np.finfo(np.float64).max)
_MOST_VALUES: Final = 256
"""Combinations of flags that are told apart."""


def histogram_field(subject: Subject, name: str) -> FieldInfo:
    """Return the field of a histogram, or refuse."""
    if name not in subject.field:
        raise missing(f"field of {subject.name}", name)
    field: FieldInfo = subject.field[name]
    kind = "O" if field.dtype is None else field.dtype.kind
    if kind in "OS" or field.type.startswith(("entity", "id<")):
        raise RefusedError(400, f"{subject.name}.{name}: {field.type} has no histogram")
    return field


def sample(subject: Subject, field: FieldInfo) -> tuple[NDArray[Any], int, int]:
    """Return copied cells of some rows, evenly spread; how many were looked at; and all."""
    n = subject.n
    each = prod(field.shape)
    step = max(1, -(-n * each // SAMPLED))
    rows = np.arange(0, n, step)
    if isinstance(subject, Managed) and subject.has_holes:
        rows = rows[subject.owners(rows) != 0]
    return subject.cells(field.name, rows), len(rows) * each, subject.used * each


def histogram(cells: NDArray[Any], field: FieldInfo, bins: int, counted: int, total: int) -> Json:
    """Return the histogram of copied cells."""
    values = cells.ravel()
    answer: dict[str, Json] = {"cells": total, "counted": counted, "sampled": counted < total}
    if field.enum is not None:
        counts, edges = _by_member(values, field)
    elif values.dtype.kind == "b":
        true = int(np.count_nonzero(values))
        counts, edges = [len(values) - true, true], ["false", "true"]
    else:
        finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        answer["skipped"] = len(values) - len(finite)
        counts, edges = _by_bins(finite, bins)
    return {"counts": counts, "edges": edges, **answer}


def _by_bins(values: NDArray[Any], bins: int) -> tuple[list[int], list[Json]]:
    if not len(values):
        return [], []
    wide = values.astype(np.float64)
    scale = 1.0
    if wide.max() / 4 - wide.min() / 4 > _LARGEST / 4:
        scale = 4.0  # the range itself does not fit a float
    counts, edges = np.histogram(wide / scale, bins)
    with np.errstate(over="ignore"):
        found = (edges * scale).tolist()
    return counts.tolist(), [json_number(edge) for edge in found]


def _by_member(values: NDArray[Any], field: FieldInfo) -> tuple[list[int], list[Json]]:
    """Count members, also those that nobody has, and numbers that are none."""
    assert field.enum is not None  # the caller asks
    numbers, counts = np.unique(values, return_counts=True)
    found = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    known = {int(member.value): 0 for member in field.enum} | found
    most = sorted(known.items(), key=lambda one: -one[1])[:_MOST_VALUES]
    shown = sorted(most)
    names = [str(member_name(field.enum, number)) for number, _ in shown]
    return [count for _, count in shown], list(names)
