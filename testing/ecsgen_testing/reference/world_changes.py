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
        self.despawned_rows = {}
        for name in dict.fromkeys(row.component for row in rows):
            ids = np.array([row.id for row in rows if row.component == name], np.uint64)
            module = self._schema.components[name].module
            self.despawned_rows[module] = getattr(world, module).resolve_many(ids)
        self.spawn_batches = [
            *(self._batch(turn, spawn) for turn, spawn in enumerate(run.spawned)),
            *(self._change(turn, change) for turn, change in enumerate(run.changes)),
        ]
        counts = [len(entities), *map(len, self.despawned_rows.values())]
        self.counts = np.array([*counts, *([1] * len(self.spawn_batches))])
        homes = [
            "" if run.is_owned(spawn) else self._schema.components[next(iter(spawn))].module
            for spawn in (run.spawned if run.keeps_handles else ())
        ]
        # where new rows replace others, their ids are not known before
        known = {home for home in homes if not hasattr(getattr(world, home, None), "by_age")}
        self.handles = self.newborn_handles(known)
        for home, handles in self.handles.items():
            handles.numbers[0] = homes.count(home)

    def _change(self, turn: int, change: Change) -> SpawnBatch:
        """Return the batch of one component that an entity gets, with those that it requires, or
        loses."""
        owner, name, cells, replaces = change
        if cells is None:
            return self._batch(turn, {name: {}}, "remove", owner)
        required = {**self._spawned([name]), name: cells}
        return self._batch(turn, required, "replace" if replaces else "add", owner)

    def _batch(
        self, turn: int, spawn: Spawn, kind: SpawnKind = "spawn", owner: int = 0
    ) -> SpawnBatch:
        """Return the batch of a single command."""
        modules = {name: self._schema.components[name].module for name in spawn}
        spec = tuple((modules[name], tuple(cells)) for name, cells in spawn.items())
        batch = SpawnBatch(self._world, spec, 1, kind)
        batch.turns[0] = turn
        batch.targets[:1] = owner
        for name, cells in spawn.items():
            for field, cell in cells.items():
                batch.columns[modules[name], field][0] = cell.data
        return batch
