"""Cells of columns: random ones, those of a manager, whether two columns are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .fields import Enum
from .subject import Subject

Columns: TypeAlias = Mapping[str, NDArray[Any]]
Value: TypeAlias = list[Any]
"""One numpy scalar per element of a shape."""
SPECIAL = (
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    1.0,
    -1.0,
    3e38,
    1e-45,
    1e19,
    255.0,
)


def columns_of(subject: Subject, manager: Any) -> dict[str, NDArray[Any]]:
    """Return copies of the fields' columns and the owners'; split fields are put together."""
    columns = {f.name: np.array(getattr(manager.data, f.name)) for f in subject.whole}
    shapes = {f.name: f.shape for f in subject.fields}
    for name, parts in subject.split.items():
        stacked = np.stack([getattr(manager.data, part) for part in parts], axis=1)
        columns[name] = stacked.reshape(-1, *shapes[name])
    if hasattr(manager.data, "entity"):
        columns["entity"] = np.array(manager.data.entity)
    return columns


def put_columns(
    subject: Subject, manager: Any, columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write columns as `columns_of` has them over those of the fields."""
    for f in subject.whole:
        getattr(manager.data, f.name)[...] = columns[f.name]
    for name, parts in subject.split.items():
        cells = columns[name].reshape(len(columns[name]), len(parts))
        for place, part in enumerate(parts):
            getattr(manager.data, part)[...] = cells[:, place]


def random_cells(
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    tame: bool = False,
) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if tame and dtype.kind == "f":
        return np.asarray(rng.standard_normal(shape) * 10).astype(dtype)
    if tame:
        most = 50 if dtype.itemsize < 4 else 1_000_000  # few are the same
        return rng.integers(0, most, shape).astype(dtype)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    with np.errstate(all="ignore"):
        special = rng.choice(np.array(SPECIAL), shape).astype(dtype)
        usual = np.asarray(rng.standard_normal(shape) * 10).astype(dtype)
    return np.where(rng.random(shape) < 0.2, special, usual)


def choose_members(
    subject: Subject, columns: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> None:
    """Let most cells of enums be members: conditions seldom hold for any other number."""
    for f in subject.fields:
        if isinstance(f, Enum) and f.name in columns:
            column = columns[f.name]
            drawn = rng.choice(np.array(f.members, column.dtype), column.shape)
            np.copyto(column, drawn, where=rng.random(column.shape) < 0.8)


def same_cells(found: NDArray[Any], expected: NDArray[Any], is_exact: bool) -> bool:
    """Whether two columns are the same to the bit; NaN is NaN, and 0.0 is -0.0."""
    if found.dtype.kind != "f":
        return bool((found == expected).all())
    if not is_exact:
        with np.errstate(all="ignore"):
            return bool(np.isclose(found, expected, 1e-3, 1e-3, equal_nan=True).all())
    return bool(((found == expected) | (np.isnan(found) & np.isnan(expected))).all())


def flat(value: Any) -> Value:
    flat = np.asarray(value).reshape(-1)
    return [flat[i] for i in range(len(flat))]


def put(column: NDArray[Any], place: tuple[int, ...], value: Value) -> None:
    """Write a cell of a column, or an element of one."""
    cell = column[place]
    filled = np.array(value if np.ndim(cell) else value[0], column.dtype)
    column[place] = filled.reshape(np.shape(cell)) if len(value) > 1 else filled
