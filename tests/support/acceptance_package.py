"""A package with one component per policy, for tests from a user's side."""

from __future__ import annotations

from typing import Any

from tests.support.manager_state import snapshot
from tests.support.world_package import world_package

SCHEMA = """
component: Plain
fields: {x: i32, place: "f32[3]", thing: object}
---
component: Called
destroy: callback
fields: {x: i32}
---
component: Several
instances: many
fields: {x: i32}
---
component: Everything
instances: many
ids: true
release: true
partition: {start: inactive}
fields: {x: i32}
---
component: Mark
---
component: Odd
lookup: direct
ids: true
fields: {X: f32, owner: i32, place: i32, found: i32, taken: i32, borrowed: i32, old: object}
---
component: Icy
cold: indirect
fields:
  packed: {type: "f32[3]", tags: [cold]}
  place: {type: i32, tags: [cold]}
  is_cold: {type: i32, tags: [cold]}
  O: {type: object, tags: [cold]}
  taken: f32
"""

package: Any = world_package(SCHEMA, "accepted")


def manager_of(name: str) -> tuple[Any, Any]:
    """Return an entity manager and a manager of the component."""
    entities = package.EntityManager()
    return entities, getattr(package, f"{name}Manager")(entities)


def world_state(world: Any) -> Any:
    """Return all that is in a world, and where: an error leaves it as it was."""
    managers = [manager for name, manager in vars(world).items() if name != "entities"]
    places = [(m.capacity, m.nbytes, id(m.data.buffer)) for m in managers]
    return [snapshot(part) for part in (world.entities, *managers)], places
