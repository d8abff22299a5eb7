"""A package whose callbacks come while something is created: some rows are released, others not."""

from __future__ import annotations

from typing import Any

from tests.support.world_package import world_package

SCHEMA = """
component: Held
fields: {x: i64, thing: object}
release: true
---
component: Slab
fields: {x: i64}
lookup: direct
release: true
---
component: Lots
fields: {x: i64}
instances: many
release: true
---
component: Flat
fields: {x: i64}
release: true
---
component: Aside
fields: {x: i64}
---
component: Chunked
fields: {x: i64}
---
component: Other
fields: {x: i64}
---
world: Half
entity: {min_free: 0}
groups: {pair: [Flat, Aside]}
archetypes: {chunk: 1024, components: [Chunked, Other]}
"""
package: Any = world_package(SCHEMA, "half_done")
