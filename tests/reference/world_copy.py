"""Random worlds for the reference interpreter, and whether the product's are the same."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from ecsgen_testing.reference.grid_geometry import FIRST_CELL
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.schema import Field, Kernel
from ecsgen_testing.reference.values import value
from ecsgen_testing.reference.world_copy import (
    column_of,
    copied_world,
    rows_of,
    stacked,
)

from tests.support.kernel_package import differing
from tests.support.reference_schemas import read

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 2.5, -0.5, 1e19, 255.0)


def manager(world: Any, name: str) -> Any:
    return getattr(world, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())


def cell_number(one: Field, world: Any, entities: Any, random: Any, is_place: bool = False) -> Any:
    """A random cell of a field, of whatever value."""
    if one.shape:
        parts = [
            cell_number(Field(one.type), world, entities, random, is_place)
            for _ in range(math.prod(one.shape))
        ]
        shaped: list[Any] = np.reshape(np.array(parts, object), one.shape).tolist()
        return shaped
    if one.type == "entity":
        return int(random.choice([*entities, 0, 7, FIRST_CELL]))
    if one.type.startswith("id<"):
        part = manager(world, one.type[3:-1])
        ids = [int(part.id_of(k)) for k in rows_of(part)]
        return int(random.choice(np.array([*ids, 0, 2**64 - 1], np.uint64)))
    if is_place:
        return float(np.nan if random.random() < 0.02 else random.integers(-4, 24) / 2)
    if one.type == "bool":
        return bool(random.random() < 0.5)
    if one.type[0] == "f":
        wild = np.float32(random.choice(SPECIAL))
        return float(wild if random.random() < 0.2 else np.float32(random.normal() * 3))
    if one.type[1:].isdigit() and random.random() < 0.3:
        limits = np.iinfo(value(one.type, 0).data.dtype)
        return int(random.integers(limits.min, limits.max, 1, limits.dtype, endpoint=True)[0])
    return int(random.integers(0, 3))


def mirrored(world: Any, text: str) -> World:
    """The interpreter's world that is like the product's."""
    return copied_world(world, read(text))


def assert_same(world: Any, judge: World, kernel: Kernel, is_strict: bool = False) -> None:
    """All bytes, but of NaN, and of the sign of a zero from min and max, if open."""
    text = kernel.text
    is_open = not is_strict and any(f"{how}(" in text for how in ("min", "max", "clip"))
    for name, component in judge.schema.components.items():
        part = manager(world, name)
        for field, one in component.fields.items():
            found = column_of(part, field, one)
            wanted = stacked(judge, name, field)
            wrong = differing(found, wanted) & ~(is_open & (found == wanted))
            where = np.argwhere(wrong)[:1].tolist()
            assert (
                not where
            ), f"{name}.{field} at {where}: {found[wrong][0]}, not {wanted[wrong][0]}, after {text}"
    for name, one in judge.schema.settings.items():
        found = value(one.type, getattr(world.settings, name), one.shape).data
        wanted = judge.settings[name].data
        wrong = differing(found, wanted) & ~(is_open & (found == wanted))
        assert not wrong.any(), f"settings.{name}: {found}, not {wanted}, after {text}"
