"""A package with one component per policy, for tests from a user's side."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from tests.support.world_package import world_package

SCHEMA = """
component: Plain
fields: {x: i32, place: "f32[3]", thing: object}
---
component: Hashed
lookup: hash
fields: {x: i32}
---
component: Direct
lookup: direct
fields: {x: i32}
---
component: Called
destroy: callback
fields: {x: i32}
---
component: Several
instances: many
fields: {x: i32}
---
component: Parted
partition: {start: active}
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

NAMES = ["Plain", "Hashed", "Direct", "Called", "Several", "Parted", "Everything", "Mark"]


class Index:
    """An integer only by `__index__`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def manager_of(name: str) -> tuple[Any, Any]:
    """Return an entity manager and a manager of the component."""
    entities = package.EntityManager()
    return entities, getattr(package, f"{name}Manager")(entities)


def state(manager: Any) -> dict[str, Any]:
    """Return what a manager shows of itself: an error leaves all of it as it was."""
    data = manager.data
    columns = {}
    for name in dir(type(data)):
        value = None if name.startswith("_") else getattr(data, name)
        if isinstance(value, np.ndarray):
            columns[name] = value.tolist()
    return {
        "version": manager.version,
        "capacity": manager.capacity,
        "nbytes": manager.nbytes,
        "buffer": id(data.buffer),
        "rows": list(manager),
        "columns": columns,
    }


def world_state(world: Any) -> dict[str, Any]:
    """Return the state of all managers of a world and of its entities."""
    managers = {name: state(value) for name, value in vars(world).items() if name != "entities"}
    return {**managers, "entities": pickle.dumps(world.entities)}
