"""Managers with rows of random bits, for kernels to run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..entities.manager import Entities
from ..handles import EntityArray
from ..sizes import Sizes
from .kernel_cells import choose_members, columns_of, put_columns, random_cells
from .kernel_inputs import Inputs
from .subject import Subject, born


def run(manager: Any, name: str, arguments: Mapping[str, Any]) -> Any:
    """Call a kernel, with blocks so small that there are several."""
    with Sizes.of(block_rows=(8, 8)):
        return getattr(manager, name)(**arguments)


def filled(
    subject: Subject,
    rows: int,
    rng: np.random.Generator,
    name: str,
    inputs: Inputs,
    *,
    tame: bool = False,
) -> Any:
    """Return a manager with rows of random bits, after a run of the kernel over the first ones."""
    entities = subject.entities()
    is_owned = any(column.name == "entity" for column in subject.columns)
    manager = subject.manager(entities) if is_owned else subject.manager()
    manager.reserve(min(rows, subject.reserve or rows))
    behind = min(3, subject.reserve - rows) if subject.reserve else 3
    for count in (rows // 2, rows - rows // 2, behind):
        with subject.room_for(rows + behind):
            manager.create_many(owners(manager, entities, count) if is_owned else count)
        if count == rows // 2:
            with np.errstate(all="ignore"):
                run(manager, name, inputs.of(manager.data.n).plain)
    columns = {f.name: getattr(manager.data, f.name) for f in subject.whole}
    for parts in subject.split.values():
        columns |= {part: getattr(manager.data, part) for part in parts}
    for column in columns.values():
        if column.dtype.kind in "biuf":
            column[...] = random_cells(column.dtype, column.shape, rng, tame=tame)
    choose_members(subject, columns, rng)
    for column in columns.values():
        if column.dtype.kind in "biuf":
            low, high = _range(column.dtype)
            column[rows::2], column[rows + 1 :: 2] = high, low
    used = used_rows(manager)
    manager.destroy_many(used[rows:])  # leaves their cells behind the last row
    if rows > 3:
        manager.destroy(int(used[2]))  # leaves a hole where rows are indices
    return manager


def owners(manager: Any, entities: Entities, count: int) -> EntityArray:
    """Return so many new entities, some of them twice where they can have several rows."""
    found = born(entities, count)
    if manager._IS_LIST:
        found[1::3] = found[0::3][: len(found[1::3])]
    return found


def move_buffer(
    subject: Subject, manager: Any, name: str, arguments: Mapping[str, Any]
) -> None:
    """Move the rows after a kernel was run on them, which may have kept views."""
    before = columns_of(subject, manager)
    with np.errstate(all="ignore"):
        run(manager, name, arguments)
    put_columns(subject, manager, before)
    if not subject.reserve:
        manager.reserve(manager.capacity + 1)


def _range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest finite value."""
    if dtype.kind == "b":
        return False, True
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


def related(manager: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Give rows parents and make some inactive, where there is such a thing; return parents."""
    n = manager.data.n
    if hasattr(manager, "set_parent"):
        for row in range(1, n):
            if rng.random() < 0.8:
                manager.set_parent(row, int(rng.integers(0, row)))
    if hasattr(manager, "deactivate_many"):
        manager.deactivate_many(rng.random(n) < 0.3)
    if not hasattr(manager, "set_parent"):
        return np.full(n, -1)
    parents = manager.data.parent.astype(np.int64)
    parents[parents == 0xFFFF_FFFF] = -1
    return np.asarray(parents)


def running(manager: Any) -> int:
    """Return how many rows kernels run over."""
    return int(getattr(manager, "n_active", manager.data.n))


def in_order(parents: NDArray[Any], n: int) -> list[int]:
    """Return rows [0, n), parents before their children."""
    depths = []
    for row in range(n):
        depth = 0
        while parents[row] >= 0:
            row, depth = int(parents[row]), depth + 1
        depths.append(depth)
    return sorted(range(n), key=depths.__getitem__)


def used_rows(manager: Any) -> NDArray[Any]:
    """Return the rows that are in use."""
    if hasattr(manager.data, "present"):
        return np.flatnonzero(manager.data.present)
    return np.arange(manager.data.n)
