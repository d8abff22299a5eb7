"""A world with components in small chunks, and what must hold of these."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.state_machines import package_with_tests

SCHEMA = """
component: Health
fields:
  hp: {type: f32, default: 100.0}
  limit: {type: i16, default: -1}
---
component: Armor
fields: {points: {type: u16, default: 1}}
---
component: Marked
---
component: Body
fields:
  position: "f32[3]"
  velocity: {type: "f64[2]", default: 0.5, split: true}
  name: {type: "str[6]", default: none, tags: [cold]}
  mode: Mode
  modes: "Mode[2]"
  thing: object
---
component: Plain
fields: {x: f32}
---
component: Mesh
destroy: callback
---
enum: Mode
values: [idle, walk, run]
---
world: Game
archetypes: {chunk: 1024, components: [Health, Armor, Marked, Body]}
queries:
  hurt: {all: [Health, Body], none: [Marked]}
  plated: {any: [Armor, Body], optional: [Health]}
  tagged: {all: [Marked], any: [Health, Armor]}
  solid: {all: [Plain], optional: [Mesh]}
"""

game: Any = package_with_tests(SCHEMA, "archetype_world")
"""The generated package."""

COMPONENTS: dict[str, Any] = {
    name.lower(): getattr(game, name) for name in ("Health", "Armor", "Marked", "Body")
}
"""The row classes of the components in chunks, by their modules."""

QUERIES: dict[str, tuple[set[str], set[str], set[str]]] = {
    "hurt": ({"health", "body"}, set(), {"marked"}),
    "plated": (set(), {"armor", "body"}, set()),
    "tagged": ({"marked"}, {"health", "armor"}, set()),
}
"""The queries of chunks: all, any and none of these."""

DEFAULTS: dict[str, Any] = {
    "health": game.Health(100.0, -1),
    "armor": game.Armor(1),
    "marked": game.Marked(),
    "body": game.Body((0.0, 0.0, 0.0), (0.5, 0.5), "none", game.Mode(0), (game.Mode(0),) * 2, None),
}

Entities = dict[int, dict[str, Any]]
"""The model: rows by component, by entity."""


def check_structure(w: Any) -> None:
    """Check what must hold of the chunks, whatever is in them."""
    table, size = w.archetypes.table, sys.modules[type(w.archetypes).__module__].CHUNK_BYTES
    used = 0
    for archetype in table.archetypes:
        counts = [chunk.n for chunk in archetype.used()]
        used += len(archetype.chunks)
        assert all(n == archetype.capacity for n in counts[:-1])
        assert sum(counts) == archetype.n
        for chunk in archetype.chunks:
            assert chunk.buffer.nbytes == size
            assert chunk.capacity == archetype.capacity > 1
            for column in archetype.layout.objects:
                assert not any(chunk._columns[column][chunk.n :].tolist())
    assert w.archetypes.nbytes == size * (used + len(table.pool._free)) + table.locations.nbytes


def check_queries(w: Any, entities: Entities) -> None:
    """Check that the queries of chunks find what the model says, in every form."""
    for name, (all_of, any_of, none_of) in QUERIES.items():
        query = getattr(w, name)
        expected = {
            e
            for e, rows in entities.items()
            if all_of <= rows.keys()
            and (not any_of or any_of & rows.keys())
            and not none_of & rows.keys()
        }
        rows_found = query.rows().entity.tolist()
        assert len(query) == len(rows_found) == len(expected)
        assert set(rows_found) == expected
        assert [row.entity for row in query] == rows_found
        assert [e for chunk in query.chunks() for e in chunk.entity.tolist()] == rows_found
