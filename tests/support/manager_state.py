"""Contents of managers, entities and archetypes, as plain values that compare equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.handles import EntityArray
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from ecsgen_testing.subject import handles_with

from generated import EntityManager

NIL = 0xFFFF_FFFF


def snapshot(holder: Any) -> Any:
    """Return all that a manager, an entity manager or archetypes hold, capacities aside."""
    if hasattr(holder, "table"):
        return _archetypes(holder)
    return _manager(holder) if hasattr(holder, "data") else _entities(holder)


def by_owner(holder: Any) -> Any:
    """Return what each owner has, whatever row it is in, of what has owners; else all.

    Of entities who lives, in whatever order the others died.
    """
    if hasattr(holder, "alive_many"):
        free = holder.__getstate__()["free"]
        return {**_entities(holder), "free": sorted(free.tolist())}
    if not hasattr(holder, "data") or not hasattr(holder, "lookup"):
        return None if hasattr(holder, "table") else snapshot(holder)
    rows_by_owner: dict[int, list[str]] = {}
    for owner in holder:
        rows = holder.instances(owner) if hasattr(holder, "first") else [holder.lookup(owner)]
        rows_by_owner[owner] = [repr(holder.row(row)) for row in rows]
    assert sum(map(len, rows_by_owner.values())) == len(holder)
    return rows_by_owner


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
    contents = {
        "numbers of rows": state["numbers"],
        "columns": {name: _plain(column) for name, column in columns.items()},
        "objects": _plain(state["objects"]),
        "grouped": getattr(data, "_n_grouped", 0),
    }
    for name, part in state["parts"].items():
        contents[name] = _rows(part)
    return contents


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
            owner: (store.components(owner), [repr(store.get_row(owner, c)) for c in classes])
            for owner in owners
            if (classes := store.components(owner)) or True
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


def made(kind: Any, count: int = 0, **columns: Any) -> tuple[EntityManager, Any, Any]:
    """Return new entities' manager, a manager with a row for each of them, and the entities."""
    entities = EntityManager()
    m, es = kind(entities), entities.create_many(count)
    m.create_many(es, **columns)
    return entities, m, es


def wear_out(m: Any, rows: list[int]) -> None:
    """Put the slots of rows into their last generation, by writing to the buffer."""
    column = next(c for c in m.LAYOUT if c.name == "id_generation")
    start = column.offset(m.capacity)
    cells = m.data.buffer[start : start + 4 * m.capacity].view(column.dtype)
    one_generation = 1 if hasattr(m.data, "present") else int(m.id_of(rows[0]) >> 32)
    cells[[m.id_of(row) & 0xFFFF_FFFF for row in rows]] = 2**32 - one_generation


def fails(
    errors: Sequence[type[Exception]], call: Callable[..., object], /, *arguments: Any
) -> None:
    """Check that a call does all that it should, and raises what callbacks did, in order."""
    with pytest.raises(ExceptionGroup) as caught:
        call(*arguments)
    assert [type(error) for error in caught.value.exceptions] == [*errors]


def recreate(manager: EntityManagerBase, es: EntityArray) -> EntityArray:
    """Destroy entities, and return new ones of the same indices, in the same order."""
    manager.destroy_many(es)
    with handles_with(manager, MIN_FREE=0):
        again = manager.create_many(len(es))
    assert [manager.index(e) for e in again] == [manager.index(e) for e in es]
    return again
