"""Hierarchies, a parent's children at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from ecsgen_runtime.handles import NIL
from numpy.typing import NDArray

from ecsgen.inspector.asking import missing
from ecsgen.inspector.copies import PIECE, Copies, Copy, Source
from ecsgen.inspector.json_cells import Json
from ecsgen.inspector.overview import is_tree
from ecsgen.inspector.row_tables import Window
from ecsgen.inspector.subjects import Managed, Subject


async def tree_nodes(
    copies: Copies, subject: Subject, parent: int | None, row: int | None, window: Window
) -> Json:
    """Return the children of a parent in order of attachment, or the roots.

    `row`: which of the parent's, where it has several; otherwise its first one. Children are
    counted, and followed, in copied links.
    """
    if not isinstance(subject, Managed) or not is_tree(subject):
        raise missing("hierarchy", subject.name)
    parents = await _link(copies, subject, "parent")
    counts = await parents.derived("counts", _counted)
    if parent is None:
        rows = await parents.derived("roots", _roots)
        wanted, n = rows[window.rows], len(rows)
    else:
        above, first = await copies.ask(lambda: _first_child(subject, parent, row))
        nexts = (await _link(copies, subject, "next_sibling")).cells
        wanted = await asyncio.to_thread(_followed, nexts, first, window)
        n = int(counts[above]) if above < len(counts) else len(wanted)
    owners = await copies.ask(lambda: subject.owners(wanted[wanted < subject.n]))
    nodes = [
        {subject.owner: str(owner), "row": place, "children": int(counts[place])}
        for owner, place in zip(owners.tolist(), wanted.tolist(), strict=False)
        if place < len(counts)
    ]
    return {"n": n, "start": window.start, "nodes": nodes}


async def _link(copies: Copies, subject: Managed, name: str) -> Copy:
    data = subject.manager.data

    def read(rows: slice) -> NDArray[Any]:
        column: NDArray[Any] = getattr(data, f"_{name}_column")
        return column[: data._n][rows].copy()

    def state() -> tuple[int, int]:
        return subject.version, subject.n

    return await copies.of(Source((subject.name, f"·{name}"), state, read, lambda: PIECE // 4))


def _first_child(subject: Managed, parent: int, given: int | None) -> tuple[int, int]:
    """Return the row of a parent, given by its entity or id, and its first child's."""
    manager = subject.manager
    if given is not None and given in subject.rows_of(parent):
        return given, int(manager.first_child(given))
    row = manager.lookup(parent) if subject.owner == "entity" else manager.resolve(parent)
    if row == NIL:
        raise missing(f"row of {subject.name} of", parent)
    return int(row), int(manager.first_child(row))


def _counted(parents: NDArray[np.uint32]) -> NDArray[np.intp]:
    inner = parents[parents < len(parents)].astype(np.intp)
    return np.bincount(inner, minlength=len(parents))


def _roots(parents: NDArray[np.uint32]) -> NDArray[np.intp]:
    roots: NDArray[np.intp] = (parents == NIL).nonzero()[0]
    return roots


def _followed(nexts: NDArray[np.uint32], first: int, window: Window) -> NDArray[np.intp]:
    """Return a window of the siblings that follow each other from the first one on."""
    cells = memoryview(nexts)  # type: ignore[arg-type]  # an array has a buffer
    found, row = [], first
    for place in range(min(window.start + window.count, len(nexts))):
        if row >= len(nexts):
            break
        if place >= window.start:
            found.append(row)
        row = cells[row]
    return np.array(found, np.intp)
