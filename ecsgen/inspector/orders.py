"""Which row comes where in a sorted table: worked out from copies, on the server's threads."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.asking import RefusedError
from ecsgen.inspector.copies import Copies
from ecsgen.inspector.subjects import OWNER, Managed, Subject, missing_field


async def table_order(
    copies: Copies, subject: Subject, sort: str, desc: bool
) -> NDArray[np.intp] | None:
    """Return the rows of a component in order; None if they are all rows as they lie."""
    holes = isinstance(subject, Managed) and subject.has_holes
    if not sort and not holes:
        return None
    used = await copies.column(subject, OWNER) if holes else None
    if not sort:
        assert used is not None  # there are holes
        return await used.derived("used", np.flatnonzero)
    key = await copies.column(subject, sort_column(subject, sort))
    order = await key.derived(("order", desc), sorted_rows, desc)
    if used is None:
        return order
    return await asyncio.to_thread(_without_holes, order, used.cells)


def sort_column(subject: Subject, sort: str) -> str:
    """Return the column to sort by, or refuse."""
    if sort == subject.owner:
        return OWNER
    if sort not in subject.field:
        raise missing_field(subject, sort)
    field = subject.field[sort]
    if field.shape or field.dtype is None:
        raise RefusedError(400, f"{subject.name}.{sort}: {field.type} has no order")
    return sort


def sorted_rows(key: NDArray[Any], desc: bool) -> NDArray[np.intp]:
    """Return the order of a key, equal ones as they lie, NaN last either way; O(n log n)."""
    if not desc:
        return key.argsort(kind="stable")
    last = len(key) - 1
    order = last - key[::-1].argsort(kind="stable")[::-1]
    if key.dtype.kind == "f":
        count = int(np.isnan(key).sum())
        order = np.concatenate([order[count:], order[:count]])
    return order


def _without_holes(order: NDArray[np.intp], owners: NDArray[np.uint64]) -> NDArray[np.intp]:
    order = order.compress(order < len(owners))
    return order.compress(owners[order] != 0)
