"""Costs of derived values, and where they are; `interpreted/derived.yaml` is about what they
are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import component_schema, world_schema
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import checked, load, sources, world_package

SCHEMA = TOPICS["derived"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_of_tables_have_the_types_of_values(backend: Backend) -> None:
    farm = world_package(SCHEMA, f"derived_{backend}", backend).Farm()
    farm.records.sheep.write()
    assert (farm.records.sheep.speed.dtype, farm.records.sheep.hungry.dtype) == (np.float32, bool)


def test_nothing_is_stored_and_no_byte_is_generated_for_what_nobody_reads() -> None:
    written = "component: Node\nfields: {x: f64}\nkernels: {go: {steps: [x += 1]}}\n"
    derived = written + "derived: {twice: x * 2, far: twice > 3}\n"
    plain, more = load(written), load(derived)
    assert sources(plain) == sources(more)
    name = more.components[0]
    assert component_schema(plain, plain.components[0]) == component_schema(more, name)
    read = load(derived.replace("x += 1", "x += 1 if far else 2"))
    schema = component_schema(read, read.components[0])
    assert schema["components"]["Node"]["derived"] == {"twice": "x * 2", "far": "twice > 3"}
    assert "derived" not in world_schema(more).get("components", {}).get("Node", {})


def test_effects_name_the_fields_behind() -> None:
    project = load(SCHEMA)
    kernels = {kernel.name: kernel.program.effects for kernel in project.world.kernels}
    assert kernels["eat"].reads_referenced == ("Field.rain", "Wolf.mass")
    assert "Sheep.velocity" in kernels["meet"].reads_neighbours
    assert project.world.records[1].reads == ("Sheep.energy", "Sheep.need", "Sheep.velocity")


def test_limits_of_what_derived_values_grow_to() -> None:
    names = "\n".join(f"  d{k}: d{k - 1} + d{k - 1}" for k in range(1, 40))
    schema = f"component: Node\nfields: {{x: f64}}\nderived:\n  d0: x\n{names}\n"
    (only,) = checked(schema)[1]
    assert only.code == "E819"
    assert only.message.startswith("'d9' has more than 1000 parts")
    names = "\n".join(f"  d{k}: -d{k - 1}" for k in range(1, 2000))
    (only,) = checked(schema[: schema.index("  d1:")] + names)[1]
    assert only.code == "E819"


@pytest.mark.parametrize("backend", BACKENDS)
def test_managers_alone_have_settings_of_a_world(backend: Backend) -> None:
    text = TOPICS["derived_settings"]
    package: Any = world_package(text, f"derived_settings_{backend}", backend)
    settings = package.Farm().settings
    alone = package.EweManager(entities := package.EntityManager(), settings=settings)
    alone.create(entities.create(), energy=0.9)
    settings.limit = 0
    assert alone.thin_ones() == 0
    settings.limit = 1
    assert alone.thin_ones() == 1
