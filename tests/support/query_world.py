"""A world for tests of queries: its rows together, shuffled, and with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """
world: Camp
queries:
  movers: {all: [Place, Body], optional: [Extra]}
  burning: {all: [Heat]}
archetypes: {components: [Heat]}
---
enum: Mode
values: {idle: 0, walk: 1, run: 5}
---
component: Place
fields: {at: "f32[2]", x: f64, plain: object, label: "str[9]"}
---
component: Body
lookup: hash
fields: {mass: f32, hp: i32, mode: Mode, solid: bool, serial: {type: u32, unique: true}}
---
component: Extra
instances: many
fields: {bonus: {type: i16, default: 7}}
---
component: Heat
fields: {celsius: f32, source: object}
"""
COUNT = 6


def together() -> Any:
    """A world whose rows follow each other in all managers."""
    world = world_package(SCHEMA, "traps_camp").Camp()
    numbers = np.arange(COUNT)
    values = {"at": np.stack([numbers, -numbers], 1), "x": numbers}
    world.spawn(COUNT, place=values, body={"mass": numbers, "hp": numbers, "serial": numbers})
    return world


def shuffled() -> Any:
    """A world whose rows are in another order in each manager."""
    world = together()
    world.place.reorder([3, 1, 0, 5, 2, 4])
    world.body.reorder([5, 0, 3, 1, 4, 2])
    return world


def with_gaps() -> Any:
    """A world whose managers have rows of other entities, too."""
    world = together()
    entities = world.movers.rows().entity.copy()
    world.body.remove_many(entities[1:4:2])
    world.extra.create_many(entities[::2], bonus=[1, 2, 3])
    return world


ORDERS = pytest.mark.parametrize("make", [together, shuffled, with_gaps])
