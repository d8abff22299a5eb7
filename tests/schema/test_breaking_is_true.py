"""What `ecsgen breaking` says of saved data is what loading does: for each case of its own tests, a
world full of extreme values is saved by the old package and loaded by the new one."""

from __future__ import annotations

from itertools import cycle, islice
from math import prod
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.snapshots.facts import CellType, cell_type

from ecsgen.model.saved import saved_schema
from tests.schema.test_breaking import CASES
from tests.support.evolving import package
from tests.support.world_package import load

ROWS = 12
REFUSED = {"E901", "E902", "E903"}
DROPPED = ["body.entity"]
"""What may go where owners are forgotten, which is said to need it."""
FIT = {"enum to its number", "fewer bits"}
"""Changes by which values may not fit, where those of so small a world do."""


def elements(kind: CellType, entities: list[int]) -> list[Any]:
    """Values of one element that another type is the least likely to take."""
    if kind.base in ("enum", "flags"):
        return list(kind.members.values())
    if kind.base == "str":
        return ["ä" * (kind.size // 2), "x" * kind.size]
    if kind.base == "bytes":
        return [b"\xff" * kind.size]
    if kind.base == "entity":
        return entities
    if kind.base in ("bool", "object"):
        return [True, False] if kind.base == "bool" else [None]
    dtype = kind.dtype
    if dtype.kind == "f":
        return [float(np.finfo(dtype).max), 0.1, float("nan"), -float("inf")]
    return [int(np.iinfo(dtype).max), int(np.iinfo(dtype).min), 1]


def column(kind: CellType, count: int, is_unique: bool, entities: list[int]) -> Any:
    """A column of these, over and over."""
    if is_unique:
        return range(count)
    flat = list(islice(cycle(elements(kind, entities)), count * prod(kind.shape)))
    return np.array(flat, kind.dtype).reshape(count, *kind.shape) if kind.shape else flat


def filled(text: str) -> Any:
    """A world with rows of every component."""
    schema = saved_schema(load(text))
    town = package(text).World()
    entities = town.entities.create_many(ROWS).tolist()
    for component in schema["components"].values():
        count = min(ROWS, component.get("ring", ROWS))
        columns = {
            name: column(kind, count, field.get("unique", False), entities)
            for name, field in component["fields"].items()
            if (kind := cell_type(field["type"], schema["enums"])).base != "id"
        }
        if component["in"] == "archetypes":
            town.spawn(count, **{component["module"]: columns})
            continue
        manager = getattr(town, component["module"])
        if component["owner"] == "none":
            manager.create_many(count, **columns)
            continue
        is_many = component["instances"] == "many"
        manager.create_many(entities[:1] * count if is_many else entities[:count], **columns)
    return town


@pytest.mark.parametrize(
    ("name", "old", "new", "data"),
    [pytest.param(name, old, new, data, id=name) for name, old, new, data, _ in CASES],
)
def test_loading_does_as_it_says(name: str, old: str, new: str, data: str) -> None:
    codes = {found.partition(":")[0] for found in data.split()}
    saved = filled(old).to_bytes(codecs={"*": (bytes, bytes)})
    kind = package(new).World
    options: dict[str, Any] = {"codecs": {"*": (bytes, bytes)}}
    if name == "nothing to owner: none":
        options["drop"] = DROPPED
    if codes & REFUSED and name not in FIT:
        with pytest.raises(ValueError, match="<bytes>: ") as error:
            kind.load(saved, **options)
        assert type(error.value).__name__ == "SnapshotError"
    else:
        kind.load(saved, **options)
