"""The `schema` of a snapshot: the part of schemas on which files depend.

Capacities, chunks, hooks, queries, kernels and docs may change freely and are left out. The order
of the keys is part of the format, because the fingerprint is of the text.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Final, TypeAlias

from ecsgen.model import SETTINGS, Component, Default, Field, Project
from ecsgen.model.columns import COLD

Document: TypeAlias = dict[str, Any]
"""A JSON object."""


def make_snapshot_schema(project: Project) -> Document:
    """Return the `schema` of a project's snapshots."""
    world = project.world
    shards = {} if world.shards is None else {"shard_bits": world.shards.bits}
    settings = {SETTINGS: {setting.name: _field(setting) for setting in world.settings}}
    bits = {"index_bits": world.index_bits, "generation_bits": world.generation_bits}
    return {
        "version": project.history.version,
        "entity": bits | shards,
        "enums": {
            enum.name: {"type": enum.scalar, "flags": enum.flags, "members": dict(enum.values)}
            for enum in project.enums
        },
        "components": {component.name: _component(component) for component in project.components},
        "groups": {name: list(members) for name, members in world.groups},
    } | (settings if world.settings else {})


def schema_text(document: Document) -> str:
    """Return the text of a `schema` in files."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def schema_fingerprint(text: str) -> str:
    """Return the fingerprint of a schema's text: 64 hex digits."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


POLICIES: Final = ("owner", "instances", "lookup", "destroy", "ids", "partition", "hierarchy")
"""Keys that decide how rows are kept."""

_UNSAVED: Final = ("index",)
"""Keys of fields that say nothing about saved rows."""


def _component(component: Component) -> Document:
    grid, on = component.grid, component.on
    rows_on = {} if on is None else {"on": on.capacity}  # 0 for any number
    return {
        "module": component.module,
        "in": "archetypes" if component.chunk else "managers",
        **{key: getattr(component, key) for key in (*POLICIES, "cold")},
        # of rows without owners it is about references, of which files say nothing
        "destroy": component.destroy if component.owner == "entity" else "gc",
        **(rows_on if grid is None else {"grid": len(grid.shape)}),
        **dict(component.options),
        "fields": {field.name: _field(field) for field in component.fields},
    }


def _field(field: Field) -> Document:
    return {
        "type": field.type.text,
        "default": json_default(field.default),
        "cold": COLD in field.tags,
        "split": field.split,
        "unit": field.unit,
        **{key: value for key, value in field.options if key not in _UNSAVED},
    }


def json_default(value: Default) -> Any:
    """Return a default as JSON: bytes as numbers, NaN and infinities by name."""
    if isinstance(value, tuple):
        return [json_default(item) for item in value]
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
