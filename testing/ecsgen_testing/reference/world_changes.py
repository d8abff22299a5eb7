"""Changes of a run, made to a generated world: as its own kernel would have left it."""

from __future__ import annotations

from typing import Any

import numpy as np
from ecsgen_runtime.kernels.deferred_commands import DeferredCommands, SpawnBatch, SpawnKind
from numpy.typing import NDArray

from .naive_world import Change, Row, Spawn, World
from .run import Run
from .schema import SETTINGS
from .world_copy import chunks_of, columns_of, manager_of, rows_of, stacked


def apply_run(run: Run, world: Any) -> None:
    """Write what a run on a copy of a world wrote, and despawn and spawn as it did.

    The world is as it was when it was copied. Raises what the kernel of the world would raise.
    """
    for name, field in sorted(run.written):
        if name == SETTINGS:
            setattr(world.settings, field, run.world.settings[field].data)
        else:
            write_column(run.world, world, name, field)
    RecordedCommands(run, world).apply()


def write_column(copy: World, world: Any, name: str, field: str) -> None:
    """Write a field of all rows of a copy to the world that it is of."""
    cells = stacked(copy, name, field)
    if copy.schema.components[name].is_chunked:
        _write_chunks(copy, world, name, field, cells)
        return
    manager = manager_of(world, copy.schema, name)
    rows = rows_of(manager)
    column = getattr(manager.data, field, None)
    if column is None:  # in several columns
        for row, cell in zip(rows, cells.tolist(), strict=True):
            getattr(manager, f"set_{field}")(row, cell)
    elif column.flags.writeable:
        column[rows] = cells
    else:  # indexed, or cells of a grid, which rows that are to be removed may still have
        getattr(manager.data, f"_{field}_column")[rows] = cells
        manager.data.drop_row_caches()


def _write_chunks(copy: World, world: Any, name: str, field: str, cells: NDArray[Any]) -> None:
    start, f = 0, copy.field(name, field)
    for entities, data in chunks_of(world, copy.schema, name):
        part = cells[start : start + len(entities)]
        columns = columns_of(data, field, f)
        for k, column in enumerate(columns):
            column[...] = part.reshape(len(part), -1)[:, k] if columns[1:] else part
        start += len(entities)


class RecordedCommands(DeferredCommands):
    """The despawns and spawns of a run."""

    def __init__(self, run: Run, world: Any) -> None:
        self.begin_call(world)
        self._schema, self._spawned = run.world.schema, run.world.spawned
        entities = [dead for dead in run.despawned if not isinstance(dead, Row)]
        rows = [dead for dead in run.despawned if isinstance(dead, Row)]
        self.despawned = np.array(entities, np.uint64)
        self.despawned_rows = {
            self._schema.components[name].module: self._rows(
                world, name, [row.id for row in rows if row.component == name]
            )
            for name in dict.fromkeys(row.component for row in rows)
        }
        batches: dict[tuple[Any, ...], list[tuple[int, Spawn]]] = {}
        for turn, spawn in enumerate(run.spawned):
            key = tuple((name, tuple(cells)) for name, cells in spawn.items())
            batches.setdefault(key, []).append((turn, spawn))
        self.spawn_batches = [self._batch(world, key, spawns) for key, spawns in batches.items()]
        self.spawn_batches += [self._change(world, *each) for each in enumerate(run.changes)]
        counts = [len(entities), *map(len, self.despawned_rows.values())]
        self.counts = np.array([*counts, *map(len, batches.values()), *([1] * len(run.changes))])
        homes = [
            "" if run.is_owned(spawn) else self._schema.components[next(iter(spawn))].module
            for spawn in (run.spawned if run.keeps_handles else ())
        ]
        # where new rows replace others, their ids are not known before
        known = {home for home in homes if not hasattr(getattr(world, home, None), "by_age")}
        self.handles = self.newborn_handles(known)
        for home, handles in self.handles.items():
            handles.numbers[0] = homes.count(home)

    def _rows(self, world: Any, name: str, ids: list[int]) -> Any:
        return manager_of(world, self._schema, name).resolve_many(np.array(ids, np.uint64))

    def _change(self, world: Any, turn: int, change: Change) -> SpawnBatch:
        """Return the batch of one component that an entity gets, with those that it requires, or
        loses."""
        owner, name, cells, replaces = change
        kind: SpawnKind = "remove" if cells is None else "replace" if replaces else "add"
        module, values = self._schema.components[name].module, cells or {}
        others = [] if cells is None else [n for n in self._spawned([name]) if n != name]
        required = [(self._schema.components[other].module, ()) for other in others]
        batch = SpawnBatch(world, ((module, tuple(values)), *required), 1, kind)
        batch.turns[0], batch.targets[0] = turn, owner
        for field, cell in values.items():
            batch.columns[module, field][0] = cell.data
        return batch

    def _batch(
        self, world: Any, key: tuple[Any, ...], spawns: list[tuple[int, Spawn]]
    ) -> SpawnBatch:
        modules = {name: self._schema.components[name].module for name, _ in key}
        spec = tuple((modules[name], fields) for name, fields in key)
        batch = SpawnBatch(world, spec, len(spawns))
        for k, (turn, spawn) in enumerate(spawns):
            batch.turns[k] = turn
            for name, cells in spawn.items():
                for field, cell in cells.items():
                    batch.columns[modules[name], field][k] = cell.data
        return batch
