"""Components that the user's `migrate` adds to a snapshot: rows, and nothing that policies keep."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import EntityArray
from .evolution.chains import chained
from .evolution.handles import Handles
from .evolution.old import OldComponent
from .saved import Document, Saved, state_key


def free_module(saved: Saved, component: str) -> str:
    """Return a prefix for tensors that no other component has."""
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", component).lower()
    taken = {doc["module"] for doc in saved.schema["components"].values()}
    return component if module in taken else module


def created_owners(handles: Handles, component: str, entity: ArrayLike) -> EntityArray:
    """Return entities of a snapshot as an array; raises TypeError and ValueError."""
    given = np.array(entity)
    if given.ndim != 1:
        raise ValueError(f"{component}: entities have the shape {given.shape}")
    if len(given) and given.dtype.kind not in "iu":
        raise TypeError(f"{component}: entities are integers, not {given.dtype}")
    owners = given.astype(np.uint64)
    created = handles.created(owners)
    if not created.all():
        first = int(owners[int((~created).argmax())])
        raise ValueError(f"{component}: the entity {first:#x} was never created")
    return owners


def owner_columns(owners: EntityArray) -> dict[str, NDArray[Any]]:
    """Return the columns of owners, and of their lists in the order given."""
    n = len(owners)
    nexts, previous = chained(owners, np.arange(n), n)
    return {"entity": owners, "next": nexts, "previous": previous}


def new_component(
    saved: Saved,
    component: str,
    module: str,
    columns: dict[str, NDArray[Any]],
    count: int,
) -> OldComponent:
    """Return a new component of a snapshot, in which nothing but rows is kept."""
    doc: Document = {
        "module": module,
        "in": "managers",
        "owner": "entity" if columns else "none",
        "instances": "many",
        "lookup": "hash",
        "destroy": "manual",
        "ids": False,
        "partition": "",
        "hierarchy": "",
        "cold": "inline",
        "fields": {},
    }
    arrays = {f"{module}.{name}": column for name, column in columns.items()}
    whole = replace(
        saved,
        state={**saved.state, state_key(module): {"n": count, "version": 0}},
        arrays={**saved.arrays, **arrays},
    )
    return OldComponent(whole, component, doc, is_new=False)
