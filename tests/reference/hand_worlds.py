"""Worlds for examples that are worked out by hand from the contract, and the random words that
kernels draw there."""

from __future__ import annotations

import json
from typing import Any

from ecsgen_testing.reference.grid_geometry import FIRST_CELL as CELL
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.schema import Schema
from ecsgen_testing.reference.values import value

from tests.support.reference_schemas import read

FIELDS = "{cell: id<Patch>, want: id<Patch>, energy: f64, x: f64, seen: i64, mate: entity}"
PASTURE = f"""
component: Patch
grid: {{shape: [6], wrap: true}}
fields: {{grass: {{type: f32, default: 1}}, due: i64}}
---
component: Sheep
on: {{field: cell, capacity: 1}}
fields: {FIELDS}
---
component: Bird
on: cell
fields: {FIELDS}
---
world: Farm
kernels:
"""
NODE = {
    "fields": {
        "at": "f64[2]",
        "k": "i64",
        "n": "i64",
        "x": "f64",
        "b": "u8",
        "on": "bool",
        "v": "i64[3]",
        "w": "f32[2]",
        "m": "f64[2,2]",
        "mate": "entity",
    },
    "space": {"field": "at"},
}
LEAF = {
    "instances": "many",
    "ids": True,
    "fields": {"at": "f64[2]", "n": "i64", "x": "f64"},
    "space": {"field": "at"},
}
ENUMS = {"Caps": {"swim": 1, "fly": 2, "dig": 4}}
G, LOW = 0x9E3779B97F4A7C15, 2**64 - 1
Rows = list[dict[str, Any]]


def world_of(schema: Schema, **rows: Rows) -> World:
    """A world with rows of components. Those with an owner are of the entities 1, 2, … or of their
    `owner`, those with ids have 71, 72, … or their `id`; newborn are 1001, 1002, …"""
    numbers = iter(range(1001, 2000))
    world = World(schema, lambda name, owners: [next(numbers) for _ in owners])
    for name, some in rows.items():
        component = schema.components[name]
        for k, fields in enumerate(some, 1):
            known = {"owner": k, "id": 70 + k} | fields
            owner, id_ = known.pop("owner") * component.is_owned, known.pop("id")
            world.entities |= {owner} - {0}
            world.add(name, owner, id_ * component.has_ids, **known)
    return world


# A pasture of six cells in a ring


def farm(*kernels: str, **rows: Rows) -> World:
    """A world in which sheep are the entities 1, 2, …, birds 101, 102, …"""
    birds = [{"owner": k} | fields for k, fields in enumerate(rows.get("Bird", []), 101)]
    return world_of(read(PASTURE + "".join(kernels)), Sheep=rows.get("Sheep", []), Bird=birds)


def kernel(name: str, over: str, *steps: str, **keys: Any) -> str:
    lines = [f"  {name}:", f"    over: {over}", *(f"    {k}: {v}" for k, v in keys.items())]
    return "\n".join([*lines, "    steps:", *(f"    - {json.dumps(one)}" for one in steps), ""])


def at(*cells: int, **columns: Any) -> Rows:
    """Rows on these cells, below 0 on none, with other fields."""
    rows = [{"cell": CELL + k if k >= 0 else 0} for k in cells]
    return [row | {n: c[k] for n, c in columns.items()} for k, row in enumerate(rows)]


def put(world: World, name: str, field: str, *cells: Any) -> None:
    for row, cell in zip(world.rows[name], cells, strict=True):
        row.cells[field] = value(row.cells[field].type, cell)


def cells(world: World, name: str = "Sheep", field: str = "cell") -> list[int]:
    return [max(k - CELL, -1) for k in world.column(name, field)]


def owners(world: World, name: str = "Sheep") -> list[int]:
    return [row.owner for row in world.rows[name]]


# Nodes, a step apart on a plane


def game(
    kernel: dict[str, Any], nodes: Rows, more: Any = None, world: Any = None, **components: Any
) -> World:
    """A world with the kernel `go` over nodes, which are the entities 1, 2, …; `more` rows, by
    component; `world`: more of its keys."""
    document = {
        "enums": ENUMS,
        "components": {"Node": NODE, "Leaf": LEAF} | components,
        "world": {"kernels": {"go": {"over": "Node"} | kernel}} | (world or {}),
    }
    apart = [{"at": (k, 0)} | fields for k, fields in enumerate(nodes, 1)]
    return world_of(Schema(document), Node=apart, **more or {})


def gone(steps: str | list[str], nodes: Rows, **keys: Any) -> World:
    """The same world after a call."""
    texts = [steps] if isinstance(steps, str) else steps
    world = game({"steps": texts, **keys}, nodes)
    call(world, "go")
    return world


def ks(*numbers: int) -> Rows:
    return [{"k": k} for k in numbers]


# Random words of the first call with seed 0


def mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & LOW
    x = (x ^ x >> 27) * 0x94D049BB133111EB & LOW
    return x ^ x >> 31


def word(who: int, j: int, kernel: str = "go") -> int:
    """Random word j."""
    name = 0xCBF29CE484222325
    for byte in kernel.encode():
        name = (name ^ byte) * 0x100000001B3 & LOW
    return mix(mix(who ^ mix(mix(name))) + (j + 1) * G & LOW)


def index(who: int, j: int, count: int, kernel: str = "go") -> int:
    return (word(who, j, kernel) >> 32) * count >> 32


def unit(who: int, j: int, kernel: str = "go") -> float:
    return (word(who, j, kernel) >> 11) * 2.0**-53


def within(who: int, *numbers: int) -> int:
    """Who a row is to its draws in loops, the outer one first, by their passes or by whom."""
    for number in numbers:
        who = mix(who ^ mix(number + G & LOW))
    return who
