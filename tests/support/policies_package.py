"""A package with all shipped and unshipped components, and more combinations of policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.support.world_package import world_package

ROOT = Path(__file__).resolve().parents[2]

FIELDS = "{k: i64, u: u64, w: u32, v: i32, b: bool, place: 'f32[3]', thing: object}"
COLD = "{k: i64, v: i32, heat: {type: i64, tags: [cold]}, note: {type: object, tags: [cold]}}"

COMBINATIONS = f"""
component: Plain
fields: {FIELDS}
---
component: Rare
fields: {FIELDS}
lookup: hash
destroy: callback
release: true
---
component: Cell
fields: {FIELDS}
lookup: direct
ids: true
release: true
destroy: callback
---
component: Guest
fields: {FIELDS}
instances: many
ids: true
release: true
partition: {{start: active}}
---
component: Visit
fields: {FIELDS}
instances: many
lookup: hash
partition: {{start: inactive}}
---
component: Branch
fields: {COLD}
hierarchy: {{orphans: destroy}}
cold: indirect
ids: true
release: true
---
component: Twig
fields: {FIELDS}
hierarchy: {{orphans: root}}
instances: many
partition: {{start: active}}
---
component: Chilled
fields: {COLD}
instances: many
cold: indirect
partition: {{start: active}}
ids: true
---
component: Loose
fields: {FIELDS}
owner: none
partition: {{start: inactive}}
hierarchy: {{orphans: root}}
release: true
---
component: Left
fields: {{k: i64, v: i32}}
---
component: Right
fields: {{k: i64, v: i32, heat: {{type: i64, tags: [cold]}}}}
cold: indirect
ids: true
release: true
---
component: Third
fields: {{k: i64, thing: object}}
lookup: hash
---
world: Many
entity: {{min_free: 0}}
groups:
  bodies: [Position, Velocity]
  actors: [AiState, SkinnedMesh, Villager]
  trio: [Left, Right, Third]
archetypes: {{chunk: 4096, components: [Health, Armor, Burning, Weapon]}}
"""


def _schemas() -> str:
    shipped = sorted(path for path in (ROOT / "schemas").glob("*.yaml") if path.stem != "world")
    texts = [path.read_text("utf-8") for path in (*shipped, ROOT / "tests" / "more_policies.yaml")]
    return "\n---\n".join([*texts, COMBINATIONS])


package: Any = world_package(_schemas(), "policies_package", runtime="vendored")


def _takes_equal_rows(name: str) -> bool:
    """Return True if many rows may have the same values, as all rows here do at first."""
    return not any(method.startswith("find_") for method in dir(getattr(package, name)))


MANAGERS: list[str] = sorted(
    name
    for name in dir(package)
    if name.endswith("Manager") and name != "EntityManager" and _takes_equal_rows(name)
)


def attached(name: str, entities: Any) -> Any:
    """Return a new manager."""
    kind = getattr(package, name)
    return kind(entities) if hasattr(kind, "lookup") else kind()


def filled(name: str, rows: int, seed: int = 7) -> tuple[Any, Any]:
    """Return an entity manager and a manager of so many rows, with dead owners among them.

    The first 200 entities that were created have the handles ENTITIES; HEIR has a dead one's index.
    """
    rng = np.random.default_rng(seed)
    entities = package.EntityManager()
    m = attached(name, entities)
    owners = entities.create_many(200)
    populate(m, owners, rows, rng)
    entities.destroy(int(owners[DEAD]))
    assert entities.create() == HEIR
    return entities, m


def populate(m: Any, owners: Any, rows: int, rng: Any) -> None:
    """Give a manager rows, with some that went before, and links and parts of all kinds."""
    first, missing = rows - rows // 4, rows // 4
    if hasattr(m, "first"):
        added = [m.create_many(owners[:first])]
        m.remove_many(owners[4:8])
        m.create_many(np.concatenate((owners[: missing + 2], owners[1:3])))
    elif hasattr(m, "lookup"):
        added = [m.create_many(owners[: rows + 4])]
        m.destroy_many(m.lookup_many(owners[4:8]))
    else:
        added = [m.create_many(rows + 4)]
        m.destroy_many([1, 2, 5, 7])
    assert len(added[0])
    for name in m.row(0)._fields if len(m) else ():
        fill_column(m, name, rng)
    if hasattr(m, "set_parent"):
        n = len(m)
        children = np.arange(1, n)[::2]
        m.set_parent_many(children, children // 3)
    if hasattr(m, "activate"):
        m.activate_many(rng.permutation(len(m))[: len(m) // 3])
        m.deactivate_many([0, 2])


def fill_column(m: Any, name: str, rng: Any) -> None:
    """Write values of all kinds to a column, permutations of row numbers to wide integers."""
    if not hasattr(m.data, name) and hasattr(m.data, "cold"):
        values: Any = [3, None, 1, 0]
        for row in range(0, len(m), 3):
            try:
                getattr(m, f"set_{name}")(row, int(rng.integers(3)))
            except (TypeError, ValueError):
                return
        return
    column = getattr(m.data, name, None)
    if column is None or column.dtype.kind not in "iubfO":
        return
    n = len(column)
    values = rng.integers(0, 100, column.shape) if column.ndim > 1 else rng.permutation(n)
    if column.dtype.kind == "b":
        values = values % 2 == 0
    try:
        setattr(m.data, name, values.astype(column.dtype))
    except (ValueError, TypeError, OverflowError):
        return  # an enum, say


DEAD = 3
_entities = package.EntityManager()
ENTITIES: list[int] = _entities.create_many(200).tolist()
_entities.destroy(ENTITIES[DEAD])
HEIR: int = _entities.create()
