"""Kernels that ask neighbours, and refer to others or send to them, against a loop over rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from tests.models.random_neighbour_worlds import NearWorlds
from tests.support.interpreted_schemas import IN_WORLDS, check, kernels
from tests.support.world_package import world_package

FIELDS = """\
f: f32, d: f64, i: i32, hits: u8, on: bool, v: "f32[3]", table: "f32[20]", foe: entity, \
parts: {type: "f64[2]", split: true}, turn: "f32[2,2]"\
"""
STEPS = {
    "tell": """
      - nearest(other.entity).OWN.f += OWN.f * 0.5
      - nearest(other.entity).OWN.f -= f32(sum(distance * gain))
      - OWN.foe = nearest(other.entity)
      - OWN.foe.OWN.hits += u8(OWN.i)
      - OWN.i = i32(sum(other.PART.i)) + OWN.foe.OWN.i""",
    "see": """
      - OWN.f = sum(other.PART.f if OWN.foe.OWN.on else OWN.foe.OWN.f * distance)
      - OWN.v = OWN.foe.OWN.v + f32(count(exists(OWN.foe) and other.PART.hits > OWN.hits))
      - OWN.on = exists(OWN.foe.OWN)
      - OWN.d = mean(other.PART.d) + max(OWN.foe.OWN.parts.y - other.PART.parts.x)
      - OWN.table = OWN.foe.OWN.table + nearest(other.PART.table) * scale""",
    "shout": """
      - best = nearest(other.entity)
      - best.OWN.on = best.OWN.on or OWN.f > 0
      - OWN.foe.OWN.v += sum(offset).x
      - best.OWN.v.y -= OWN.f
      - OWN.foe.OWN.d = min(OWN.foe.OWN.d, min(distance))
      - OWN.foe.OWN.turn += OWN.turn
      - HOME.at += sum(offset) * 0.1
      - best.OWN.table += OWN.f""",
    "roam": """
      - HOME.at += sum(offset) * 0.3
      - OWN.i = i32(count())
      - nearest(other.entity).HOME.at = HOME.at + 0.5
      - OWN.f = f32(sum(distance))
      - OWN.foe = nearest(other.entity)
      - OWN.foe.HOME.at.x += 1
      - OWN.v = sum(other.PART.v) + f32(count(other.PART.on))""",
    "chase": """
      - OWN.d = mean(other.PART.parts.x + distance) + f64(count())
      - OWN.foe.OWN.parts = OWN.parts + mean(other.PART.parts)
      - HOME.at.y += nearest(offset.y)
      - OWN.turn = sum(other.PART.turn) + OWN.foe.OWN.turn
      - OWN.foe.OWN.foe.HOME.at = HOME.at
      - best = nearest(other.entity)
      - best.OWN.table = OWN.table + nearest(other.PART.table)
      - OWN.i = OWN.i + i32(count(other.entity != OWN.foe))""",
}
COMPILED = ("hunting_shout", "Flea.tell")
"""Kernels that are compiled, too: numba takes seconds for each."""
TURNS = {"roam": "rows", "chase": "random"}
ARGS = {
    "tell": "args: {reach: f32, gain: {type: f32, each: true}}",
    "see": "args: {reach: f32, scale: f32}",
}
PLAIN = "args: {reach: f32}"


def component(name: str, keys: str, position_type: str) -> str:
    """A component, and its kernels."""
    kernels = ""
    for kernel, steps in STEPS.items():
        steps = steps.replace(".OWN", f".{name}").replace(".HOME", f".{name}")
        for prefix in ("OWN.", "PART.", "HOME."):
            steps = steps.replace(prefix, "")
        where = "    where: count() > 0 or on\n" if kernel != "see" else ""
        kernels += f"  {kernel}:\n    near: reach\n    {ARGS.get(kernel, PLAIN)}\n{where}"
        kernels += f"    turns: {TURNS[kernel]}\n" if kernel in TURNS else ""
        kernels += f"    steps:{steps}\n"
    head = f"component: {name}\n{keys}fields: {{at: {position_type}, {FIELDS}}}\n"
    head += "space: {field: at}\n"
    return f"{head}kernels:\n{kernels}"


def of_the_world(name: str, over: str, among: str, own_prefix: str, part: str) -> str:
    """Kernels of the world over rows that ask others."""
    kernels = ""
    for kernel, steps in STEPS.items():
        steps = steps.replace("OWN", own_prefix).replace("PART", part).replace("HOME", "Bird")
        near = f"{{radius: reach, among: {among}}}" if among else "reach"
        kernels += f"  {name}_{kernel}:\n    over: {over}\n    near: {near}\n"
        kernels += f"    {ARGS.get(kernel, PLAIN)}\n"
        kernels += f"    turns: {TURNS[kernel]}\n" if kernel in TURNS else ""
        kernels += f"    steps:{steps}\n"
    return kernels


SCHEMA = "---\n".join(
    [
        component("Bird", "", '"f32[2]"'),
        component("Fish", "lookup: hash\n", '{type: "f64[3]", split: true}'),
        component("Flea", "instances: many\nids: true\npartition: {start: active}\n", '"f64[2]"'),
        component("Rock", "lookup: direct\n", '"f32[3]"'),
        f"component: Wolf\npartition: {{start: active}}\nfields: {{{FIELDS}}}\n",
        f"component: Ewe\nlookup: hash\nfields: {{{FIELDS}}}\n",
        "world: Game\ngroups: {flock: [Bird, Ewe]}\n"
        "queries: {wolves: {all: [Bird, Wolf]}, lone: {all: [Wolf, Bird], none: [Ewe]}}\n"
        "kernels:\n"
        + of_the_world("flocked", "flock", "", "Ewe", "Ewe")
        + of_the_world("hunted", "flock", "wolves", "Ewe", "Wolf")
        + of_the_world("hunting", "lone", "flock", "Wolf", "Ewe")
        + of_the_world("birds", "Bird", "lone", "Bird", "Wolf"),
    ]
)


WORLDS = range(*map(int, os.environ.get("ECSGEN_NEAR", "9:12").split(":")))
"""Random worlds whose kernels ask neighbours: always the same ones, or others."""


@pytest.mark.parametrize(("number", "backend"), [*((k, "numpy") for k in WORLDS), (9, "numba")])
def test_random_worlds(number: int, backend: Backend) -> None:
    text = NearWorlds(number).text
    assert "near: " in text
    for kernel in kernels(text):
        check(text, f"near_{number}", backend, kernel, worlds=((0, 2), (1, 33)))


CASES = [*(("numpy", kernel) for kernel in kernels(SCHEMA))]
CASES += [("numba", kernel) for kernel in COMPILED]


@IN_WORLDS
@pytest.mark.parametrize(("backend", "kernel"), CASES)
def test_kernels(backend: Backend, kernel: str, worlds: Sequence[tuple[int, int]]) -> None:
    check(SCHEMA, "near_others", backend, kernel, worlds)


TIES_STEPS = """\
[best = nearest(other.number), least = min(other.size), most = max(other.size),
 alone = sum(other.alone)]"""
TIES_SCHEMA = f"""\
world: Plane
---
component: Dot
fields: {{at: "f32[2]", number: i32, best: i32, size: f32, least: f32, most: f32, hops: bool,
         alone: "f32[1]"}}
space: {{field: at}}
kernels:
  ask: {{near: 3, steps: {TIES_STEPS}}}
  act: {{near: 3, turns: rows, steps: {TIES_STEPS}}}
  hop:
    near: 3
    turns: rows
    steps:
      - at.x += 100 if hops else 0
      - at.x -= 100 if hops else 0
      - best = nearest(other.number)
"""


KERNELS = [("numpy", "ask"), ("numpy", "act"), ("numba", "ask")]
"""Compiled turns are tried above: numba takes seconds for them."""


def dots(backend: Backend, *places: tuple[float, float]) -> Any:
    """A world of dots with numbers from 1."""
    world = world_package(TIES_SCHEMA, f"ties_{backend}", backend).Plane()
    count = len(places)
    world.spawn(count, dot={"at": places, "number": np.arange(1, count + 1), "size": 1.0})
    return world


AROUND = ((0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (-0.5, 0.5), (0.5, -0.5))
"""The middle, two in its cell, then one in the cell before along each axis."""


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
def test_the_first_in_order_is_the_nearest(backend: Backend, kernel: str) -> None:
    world = dots(backend, *AROUND)
    for nearest in (4, 5, 2, 3, 0):  # cell by cell, the first axis slowest; then by rows
        getattr(world.dot, kernel)()
        assert world.dot.data.best[0] == nearest
        gone = world.dot.data.entity[world.dot.data.number == nearest]
        world.entities.destroy_many(gone)  # their rows stay


def test_who_comes_back_is_the_last_in_its_cell() -> None:
    world = dots("numpy", (1.5, 0.5), (0.5, 1.5), (0.5, 0.5))
    world.dot.hop()
    assert world.dot.data.best[2] == 1
    world.dot.data.hops = [True, False, False]
    world.dot.hop()
    assert world.dot.data.best[2] == 2
    world.dot.data.hops = False
    world.dot.hop()  # cells are made anew by each call
    assert world.dot.data.best[2] == 1


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
@pytest.mark.parametrize("row", range(1, 5))
def test_what_is_no_number_passes_on(backend: Backend, kernel: str, row: int) -> None:
    """Wherever it stands in the order, with anything before it and behind it."""
    world = dots(backend, *AROUND, (50, 50))
    data = world.dot.data
    data.size = [0, 3, -np.inf, np.inf, -2, 7]
    getattr(world.dot, kernel)()
    assert (data.least[0], data.most[0]) == (-np.inf, np.inf)
    assert np.isnan([data.least[5], data.most[5]]).all()  # of no neighbours
    data.size[row] = np.nan
    getattr(world.dot, kernel)()
    assert np.isnan([data.least[0], data.most[0]]).all()


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
def test_a_shape_of_one_element_is_asked_for(backend: Backend, kernel: str) -> None:
    world = dots(backend, *AROUND)
    world.dot.data.alone = 1
    getattr(world.dot, kernel)(rows=[0])
    assert world.dot.data.alone[:, 0].tolist() == [4, 1, 1, 1, 1]
