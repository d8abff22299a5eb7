"""Worlds of random kernels over a group and a query, and changes to such worlds."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsgen.model import Project
from tests.models.random_kernels import ENUM, FIELDS, kernel
from tests.support.kernel_package import fill
from tests.support.schema_evolution import through_bytes
from tests.support.world_package import checked

COMPONENTS = {
    "One": ("", "mass height place parted counts hp far mode"),
    "Two": ("lookup: hash\n", "small speed wide table local delta alive target"),
    "Three": ("instances: many\n", "world steps big marks"),
}
WORLD = """\
world: Game
groups:
  pair: [One, Two]
queries:
  crowd: {all: [Three, One, Two], none: [Frozen]}
"""
Change = Callable[[Any, np.random.Generator], Any]


def _components() -> str:
    listed = FIELDS.format(keys="").partition("fields:\n")[2].splitlines()
    lines = {line.partition(":")[0].strip(): line for line in listed}
    texts = [
        f"component: {name}\n{keys}fields:\n" + "\n".join(lines[field] for field in fields.split())
        for name, (keys, fields) in COMPONENTS.items()
    ]
    return "---\n" + "\n---\n".join([*texts, "component: Frozen"]) + "\n" + ENUM


def _over_several(text: str, over: str) -> str:
    """Return a kernel over one component as one over several."""
    owners = {field: name for name, (_, fields) in COMPONENTS.items() for field in fields.split()}
    pattern = rf"(?<![\w.])({'|'.join(owners)})\b(?!:)"
    text = re.sub(pattern, lambda match: f"{owners[match[1]]}.{match[1]}", text)
    return text.replace(": {args", f": {{over: {over}, args", 1)


def schema(wanted: int, first: int) -> str:
    """Return a world of random kernels, over the query and the group in turns."""
    seed, kernels = first, ""
    for turn in range(wanted):
        while True:
            text = _over_several(kernel(seed), "pair" if turn % 2 else "crowd")
            seed += 1
            if checked(f"{WORLD}kernels:\n{text}{_components()}")[0] is not None:
                break
        kernels += text
    return f"{WORLD}kernels:\n{kernels}{_components()}"


def fill_all(worlds: list[Any], project: Project, random: np.random.Generator) -> None:
    """Give all fields random bits, the same in all worlds."""
    for component in project.components:
        if component.name in COMPONENTS:
            fill([getattr(world, component.module).data for world in worlds], component, random)


def _some(world: Any, random: np.random.Generator) -> NDArray[np.uint64]:
    entities: NDArray[np.uint64] = world.entities.live()
    return entities[random.random(len(entities)) < 0.3]


def spawn(world: Any, random: np.random.Generator) -> Any:
    """Add entities with all components, and some with only a few."""
    count = int(random.integers(1, 12))
    world.spawn(count, one={}, two={}, three={})
    world.three.create_many(world.spawn(count // 2, two={}))
    world.three.create_many(world.spawn(count // 3, one={}))
    return world


def add(world: Any, random: np.random.Generator) -> Any:
    """Complete some entities, and give them second instances where there may be such."""
    chosen = _some(world, random)
    for manager in (world.one, world.two):
        manager.create_many(chosen[~manager.has_many(chosen)])
    world.three.create_many(chosen)
    return world


def remove(world: Any, random: np.random.Generator) -> Any:
    manager = (world.one, world.two, world.three)[random.integers(3)]
    chosen = _some(world, random)
    manager.remove_many(chosen[manager.has_many(chosen)])
    return world


def freeze(world: Any, random: np.random.Generator) -> Any:
    chosen = _some(world, random)
    world.frozen.remove_many(chosen[world.frozen.has_many(chosen)])
    chosen = _some(world, random)
    world.frozen.create_many(chosen[~world.frozen.has_many(chosen)])
    return world


def destroy(world: Any, random: np.random.Generator) -> Any:
    """Destroy entities; their rows stay until they are collected."""
    world.destroy_many(_some(world, random))
    return world


def collect(world: Any, random: np.random.Generator) -> Any:
    world.collect()
    return world


def permute(world: Any, random: np.random.Generator) -> Any:
    world.pair.sort("one", random.random(world.pair.n))
    world.three.reorder(random.permutation(world.three.data.n))
    return world


def reserve(world: Any, random: np.random.Generator) -> Any:
    for manager in (world.one, world.two, world.three):
        if random.random() < 0.5:
            manager.reserve(manager.data.allocated + 64)
    return world


def shrink(world: Any, random: np.random.Generator) -> Any:
    for manager in (world.one, world.two, world.three):
        manager.shrink_to_fit()
    return world


def clear(world: Any, random: np.random.Generator) -> Any:
    (world.one, world.two, world.three)[random.integers(3)].clear()
    return world


def pickled(world: Any, random: np.random.Generator) -> Any:
    return pickle.loads(pickle.dumps(world))


def saved(world: Any, random: np.random.Generator) -> Any:
    return through_bytes(world)


def copied(world: Any, random: np.random.Generator) -> Any:
    return copy.deepcopy(world)


CHANGES: tuple[Change, ...] = (
    *(spawn, spawn, add, remove, freeze, destroy, collect, permute),
    *(reserve, shrink, clear, pickled, saved, copied),
)
