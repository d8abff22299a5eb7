"""Worlds that the inspector shows: on grids, in space, with links, names and settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.world_package import world_package

HOSTILE = "</script><img src=x onerror=x()>"
FARM = """
enum: Mood
values: {calm: 3, wild: 9}
---
component: Patch
doc: "</script><img src=x onerror=x()>"
grid: {shape: [4, 3], wrap: [true, false]}
fields: {grass: f64, wet: bool, secret: {type: i32, default: 424242}}
---
component: Sheep
on: cell
fields: {cell: id<Patch>, mood: Mood, energy: f64, way: "f32[2]", name: "str[40]"}
reductions: {wild: {count: mood == Mood.wild}}
---
component: Star
space: {field: position}
fields: {position: "f32[3]", heat: f32}
---
component: Purse
fields: {coins: i64}
---
world: Farm
queries: {flock: {all: [Sheep]}}
records: {count: {stars: {count: Star}}}
schedule: {step: [count, tick]}
"""


def farm(count: int = 3) -> Any:
    """Return a farm with sheep, calm and wild in turns, on every fifth patch."""
    world = world_package(FARM, "watched_farm").Farm()
    world.patch.data.grass[:] = np.arange(12)
    world.patch.data.wet[5] = True
    cells = world.patch.id_of_many(np.arange(count) * 5 % 12)
    moods = np.resize([3, 9], count)
    world.spawn(count, sheep={"cell": cells, "mood": moods, "way": (1, 0), "name": HOSTILE[:40]})
    return world


VILLAGE = """
component: Person
space: {field: home, wrap: [100, 0]}
fields: {home: "f32[2]", known: bool}
---
component: Guest
fields: {days: i64}
---
component: Knows
owner: none
fields: {a: entity, b: entity}
network: {between: [a, b]}
---
component: Follows
partition: {start: active}
instances: many
fields: {whom: entity}
network: {from: entity, to: whom}
---
component: Room
grid: {shape: [3, 2, 4]}
fields: {heat: f32}
---
component: Lodger
on: room
fields: {room: id<Room>}
---
world: Village
queries: {guests: {all: [Person, Guest]}}
"""


def nobodys_village() -> Any:
    """Return a world in which only rooms are."""
    return world_package(VILLAGE, "linked_village").Village()


def village() -> Any:
    """Return four persons, of whom the first knows the second and, across the border, the third."""
    world = nobodys_village()
    homes = [(10, 10), (30, 10), (90, 30), (20, 50)]
    persons = world.spawn(4, person={"home": homes})
    world.knows.create_many(2, a=persons[0], b=persons[[1, 2]])
    world.follows.create(persons[3], whom=int(persons[1]))
    world.guest.create_many(persons[[0, 1]])
    world.room.data.heat[:] = np.arange(24)
    world.spawn(3, lodger={"room": world.room.id_of_many(np.array([0, 3, 23]))})
    return world


TOWN = """
enum: State
values: {susceptible: 0, infectious: 3, constructor: 4, toString: 5}
---
component: Person
fields:
  name: "str[40]"
  state: State
  age: u8
  weight: f32
  is_awake: bool
  friend: entity
  home: id<House>
  place: "f32[2]"
  thought: object
space: {field: place}
---
component: House
owner: none
fields: {label: "str[12]", rooms: u8}
---
component: Dog
fields: {label: "str[12]"}
---
component: Family
hierarchy: {orphans: root}
fields: {size: u8}
---
world: Town
settings:
  vision: {type: f32, default: 2, min: 0, max: 10}
  mode: State
  is_open: bool
  motto: "str[16]"
  wind: "f32[2]"
  size: u8
records: {state: {people: {count: Person}}}
"""
"""Some of its names are also those of what every object has in the page's scripts."""


def new_town() -> Any:
    """Return a world without rows."""
    return world_package(TOWN, "watched_town").Town()
