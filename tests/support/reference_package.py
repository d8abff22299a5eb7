"""A package in which rows refer to others, with every policy on the other side; and its worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.world_copy import rows_of

from ecsgen.config import Backend
from ecsgen.model import Field, Project
from ecsgen.model.columns import split_parts
from ecsgen.policies import max_rows
from tests.reference.world_copy import assert_same, manager, mirrored
from tests.support.kernel_package import random_values
from tests.support.world_package import load, world_package

KEYS = {
    "Sparse": "",
    "Hash": "lookup: hash\n",
    "Direct": "lookup: direct\nids: true\n",
    "Many": "instances: many\nids: true\n",
    "Nobody": "owner: none\n",
    "Parted": "partition: {start: active}\nids: true\n",
    "Round": "ring: 40\nids: true\nlookup: hash\n",
    "Held": "growth: {reserve: 8192}\nids: true\n",
}
"""The components that are referred to, and their policies."""
WITH_IDS = [name for name in KEYS if name not in ("Sparse", "Hash")]
OWNED = [name for name in KEYS if name != "Nobody"]
FIELDS = """\
fields:
  at: {type: "f32[3]", default: [1, -2, 3]}
  parts: {type: "f64[2]", split: true, default: 0.5}
  turn: "f32[2,2]"
  table: "i16[3,3]"
  wide: {type: "f32[20]", default: 7}
  sum: f32
  hits: {type: i32, default: -7}
  small: {type: u8, default: 9}
  most: f64
  flag: bool
  link: entity
  friends: "entity[2]"
"""
OTHERS = "".join(f"---\ncomponent: {name}\n{keys}{FIELDS}" for name, keys in KEYS.items())


def built(text: str, name: str, backend: Backend) -> tuple[Any, Project]:
    """The module of a world, and its checked model."""
    return world_package(text, f"{name}_{backend}", backend), load(text).made_for(backend)


def filled(module: Any, project: Project, count: int, random: np.random.Generator) -> Any:
    """A world in which `count` entities have some components, of which some are dead, and links
    lead to all kinds of rows and to nothing."""
    world = getattr(module, project.world.name)()
    es = world.entities.create_many(count)
    for component in project.components:
        manager = getattr(world, component.module)
        if component.owner == "none":
            manager.create_many(count)
            manager.destroy_many(random.random(len(manager)) < 0.2)
            continue
        owners = es[random.random(count) < 0.8]
        if most := max_rows(component):
            owners = owners[:most]
        manager.create_many(random.permutation(owners))
        if component.instances == "many":
            manager.create_many(owners[random.random(len(owners)) < 0.4])
        if component.partition:
            manager.deactivate_many(random.random(len(manager)) < 0.3)
        gone = manager.data.entity[random.random(manager.data.n) < 0.1]
        manager.remove_many(gone[gone != 0])
    world.entities.destroy_many(es[random.random(count) < 0.2])  # their rows stay
    world.entities.create_many(count // 8)
    randomize(world, project, es, random)
    return world


def randomize(world: Any, project: Project, es: Any, random: np.random.Generator) -> None:
    """Fill all fields with random bits, and links with handles of all kinds."""
    for component in project.components:
        data = getattr(world, component.module).data
        for field in component.fields:
            parts = split_parts(field) if field.split else [field]
            for part in parts:
                column = getattr(data, part.name)
                column[...] = _cells(world, project, part, column.shape, es, random)


def _cells(
    world: Any, project: Project, field: Field, shape: Any, es: Any, random: np.random.Generator
) -> Any:
    text = field.type.text
    wild = np.array([0, 1, 2**64 - 1, 2**32, (1 << 32) | 5, 77 << 32], np.uint64)
    if text.startswith("entity"):
        return random.choice(np.concatenate((es, wild)), shape)
    if text.startswith("id<"):
        target = next(
            component for component in project.components if component.name == field.type.target
        )
        manager_ = getattr(world, target.module)
        ids = manager_.id_of_many(rows_of(manager_))
        return random.choice(np.concatenate((ids, ids + np.uint64(1 << 32), wild)), shape)
    return random_values(field, shape, random)


def check(
    world: Any, text: str, name: str, arguments: dict[str, Any], chosen: list[int] | None = None
) -> None:
    """Run a kernel, or some rows of it, and compare all columns with what the judge makes of
    them."""
    judge = mirrored(world, text)
    kernel = judge.schema.kernel(name)
    holder = manager(world, kernel.home) if kernel.home else world
    home_rows = rows_of(holder) if kernel.home else []
    if chosen is None:  # values are for holes, too
        each = [key for key, argument in kernel.args.items() if argument.is_each and kernel.home]
        of_rows = {key: [arguments[key][row] for row in home_rows] for key in each}
        call(judge, name, None, **arguments | of_rows)
    else:
        call(judge, name, [home_rows.index(row) for row in chosen], **arguments)
    if kernel.turns:
        holder.seed = 0
    with np.errstate(all="ignore"), Tuning.override(block_rows=(512, 512)):
        method = getattr(holder, name.rpartition(".")[2])
        method(**arguments, **({} if chosen is None else {"rows": chosen}))
    assert_same(world, judge, kernel)
