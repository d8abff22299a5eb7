"""Overview of a world: components, queries, groups, archetypes and the last frames."""

from __future__ import annotations

from collections import deque
from enum import IntFlag
from operator import attrgetter
from time import perf_counter
from typing import Final, TypeAlias

from ecsgen_runtime.values.field_tables import FieldInfo

from ecsgen.inspector.component_readers import (
    ChunkReader,
    ComponentReader,
    InspectedWorld,
    store_of,
)
from ecsgen.inspector.json_values import Json, json_value

KEPT: Final = 600
"""Number of frames kept."""

Frame: TypeAlias = tuple[float, int | None, int | None]
"""Seconds since the last tick, entities and rows, None if they could not be counted."""

_count_rows: Final = attrgetter("_n")
_count_used: Final = attrgetter("_count")


class Frames:
    """The last frames. `note` takes 2 µs: it counts rows without calls of managers."""

    def __init__(self, world: InspectedWorld) -> None:
        self.count = 0
        self._kept: deque[Frame] = deque(maxlen=KEPT)
        self._last = 0.0
        self._entities = world.entities
        columns = [getattr(world, name).data for name in world.MANAGERS]
        self._packed = [data for data in columns if not hasattr(data, "_count")]
        self._direct = [data for data in columns if hasattr(data, "_count")]
        self._store = store_of(world)
        self._version = -1
        self._chunked = 0

    def note(self) -> None:
        now = perf_counter()
        last, self._last = self._last, now
        self.count += 1
        if not last:
            return
        entities = rows = None
        try:
            entities = len(self._entities)
            rows = sum(map(_count_rows, self._packed)) + sum(map(_count_used, self._direct))
            if self._store is not None:
                rows += self._chunked_rows()
        except Exception:
            pass  # a broken manager raises where the program uses it
        self._kept.append((now - last, entities, rows))

    def leave_out(self) -> None:
        """Do not count the time until the next tick, in which nobody looked."""
        self._last = 0.0

    def as_json(self) -> Json:
        """Return the last times between ticks in milliseconds, with entities and rows."""
        return {
            "ms": [round(seconds * 1000, 4) for seconds, _, _ in self._kept],
            "entities": [entities for _, entities, _ in self._kept],
            "rows": [rows for _, _, rows in self._kept],
        }

    def _chunked_rows(self) -> int:
        store = self._store
        if store.version != self._version:
            archetypes = store.table.archetypes
            self._chunked = sum(each.n * len(each.layout.components) for each in archetypes)
            self._version = store.version
        return self._chunked


def component_json(reader: ComponentReader, fields: list[Json]) -> Json:
    """Return what the page knows of a component; `fields`: of each field."""
    capacity, nbytes = reader.room
    return {
        "name": reader.name,
        "title": reader.title,
        "rows": reader.used,
        "capacity": capacity,
        "nbytes": nbytes,
        "version": reader.version,
        "owner": reader.owner,
        "in": "archetypes" if isinstance(reader, ChunkReader) else "managers",
        "list": reader.is_list,
        "tree": reader.is_tree,
        "grid": reader.grid,
        "fields": fields,
        "layout": reader.layout(),
    }


def archetypes_json(archetypes: list[tuple[list[str], int, int]]) -> Json:
    """Return archetypes with their chunks, of which only the last is not full."""
    return [
        {
            "components": components,
            "entities": rows,
            "chunks": [
                {"rows": min(capacity, rows - start), "capacity": capacity}
                for start in range(0, rows, capacity)
            ],
        }
        for components, rows, capacity in archetypes
    ]


def field_json(field: FieldInfo) -> Json:
    """Return what the page knows of a field, or of a setting."""
    members = None if field.enum is None else list(field.enum.__members__)
    return {
        "name": field.name,
        "type": field.type,
        "shape": list(field.shape),
        "default": json_value(field.default, field),
        "unit": field.unit,
        "doc": field.doc,
        "tags": list(field.tags),
        "members": members,
        "flags": field.enum is not None and issubclass(field.enum, IntFlag),
        "min": field.min,
        "max": field.max,
    }
