"""What managers, entities and archetypes hold, as plain values that compare equal."""

from __future__ import annotations

from typing import Any

import numpy as np

NIL = 0xFFFF_FFFF


def snapshot(whole: Any) -> Any:
    """Return all that a manager, an entity manager or archetypes hold, capacities aside."""
    if hasattr(whole, "_table"):
        return _archetypes(whole)
    return _manager(whole) if hasattr(whole, "data") else _entities(whole)


def by_owner(whole: Any) -> Any:
    """Return what each owner has, whatever row it is in, of what has owners; else all.

    Of entities who lives, in whatever order the others died.
    """
    if hasattr(whole, "alive_many"):
        free = whole.__getstate__()["free"]
        return {**_entities(whole), "free": sorted(free.tolist())}
    if not hasattr(whole, "data") or not hasattr(whole, "lookup"):
        return None if hasattr(whole, "_table") else snapshot(whole)
    found: dict[int, list[str]] = {}
    for owner in whole:
        rows = whole.instances(owner) if hasattr(whole, "first") else [whole.lookup(owner)]
        found[owner] = [repr(whole.row(row)) for row in rows]
    assert sum(map(len, found.values())) == len(whole)
    return found


def _entities(entities: Any) -> Any:
    state = entities.__getstate__()
    dispatch = entities.dispatch
    return {
        **{name: _plain(value) for name, value in state.items()},
        "cells": entities.handles.tolist()[: entities.n_used],
        "dispatch": (dispatch.depth, len(dispatch.queue), len(dispatch.errors)),
    }


def _manager(m: Any) -> Any:
    state = m.__getstate__()
    for name in ("entities", "data"):
        state.pop(name, None)
    sparse = state["extras"].pop("_map", None)
    if sparse is not None:
        used = np.flatnonzero(sparse != NIL)
        state["map"] = dict(zip(used.tolist(), sparse[used].tolist(), strict=True))
        state["is one map"] = len(m._sparse) == len(m._sparse_cells)
    state["locks"] = m._is_locked()
    if hasattr(m, "levels"):
        state["levels"] = [level.tolist() for level in m.levels()]
    return {**_plain(state), **_rows(m.data)}


def _rows(data: Any) -> Any:
    state = data.__getstate__()
    columns = {name: column.copy() for name, column in state["columns"].items()}
    if hasattr(data, "present"):  # what is in holes is nobody's
        for name, column in columns.items():
            if name not in ("entity", *data._COLUMN_LENGTHS):
                column[: data._n][~data.present] = np.zeros(1, column.dtype)[0]
    for name in data.OBJECTS:
        column = getattr(data, name)
        assert len(column) == data._allocated
        if not hasattr(data, "present"):  # holes hold what they are given
            assert not any(value is not None for value in column[data._n :])
    found = {
        "numbers of rows": state["numbers"],
        "columns": {name: _plain(column) for name, column in columns.items()},
        "objects": _plain(state["objects"]),
        "grouped": getattr(data, "_n_grouped", 0),
    }
    for name, part in state["parts"].items():
        found[name] = _rows(part)
    return found


def _archetypes(store: Any) -> Any:
    state = store.__getstate__()
    table = store.table
    used = np.flatnonzero(table.locations._owners)
    owners = table.locations._owners[used].tolist()
    return {
        "version": state["version"],
        "locks": store._is_locked(),
        "rows": {
            "+".join(names): _plain(columns)
            for names, columns in state["archetypes"]
            if len(columns[0])
        },
        "held": {
            owner: (store.components(owner), [repr(store.get_row(owner, c)) for c in found])
            for owner in owners
            if (found := store.components(owner)) or True
            if store._entities.alive(owner)
        },
        "owners": sorted(owners),
        "chunks": [[c.n for c in a.used()] for a in table.archetypes if a.n],
    }


def _plain(value: Any) -> Any:
    """Return arrays as lists, of items that compare bit for bit."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return [repr(item) for item in value.tolist()]
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
