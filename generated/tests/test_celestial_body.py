"""CelestialBody: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_cases,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)
from hypothesis import example, given

from .. import EntityManager, StaleInstanceError, World
from ..celestial_body import CelestialBody, CelestialBodyManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=CelestialBodyManager,
    row=CelestialBody,
    fields=(
        subject.Float("gm", 0.0, "f64"),
        subject.Float("position", (0.0, 0.0, 0.0), "f64", (3,)),
        subject.Float("velocity", (0.0, 0.0, 0.0), "f64", (3,)),
        subject.Float("acceleration", (0.0, 0.0, 0.0), "f64", (3,)),
        subject.Float("radius", 0.0, "f64"),
        subject.Text("name", "", 16),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("gm", "float64"),
        subject.Column("position", "float64", (3,)),
        subject.Column("velocity", "float64", (3,)),
        subject.Column("acceleration", "float64", (3,)),
        subject.Column("radius", "float64", tags=("cold",)),
        subject.Column("name", "S16", tags=("cold",)),
    ),
    tagged={
        "hot": ("gm", "position", "velocity", "acceleration"),
        "cold": ("radius", "name"),
    },
    capacity=0,
)


class TestCelestialBody(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    destroy.GcRules,
    owned.OneRules,
    buffers.DoublingRules,
    owned.OwnedRules,
    packed.PackedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = CelestialBodyManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        gm=0.0,
        position=(0.0, 0.0, 0.0),
        velocity=(0.0, 0.0, 0.0),
        acceleration=(0.0, 0.0, 0.0),
        radius=0.0,
        name="",
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_gm(row, 0.0)
    assert subject.same(manager.gm(row), 0.0)
    manager.set_position(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0, 0.0))
    manager.set_velocity(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.velocity(row), (0.0, 0.0, 0.0))
    manager.set_acceleration(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.acceleration(row), (0.0, 0.0, 0.0))
    manager.set_radius(row, 0.0)
    assert subject.same(manager.radius(row), 0.0)
    manager.set_name(row, "")
    assert subject.same(manager.name(row), "")
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"CelestialBody": {"module": "celestial_body",
"fields": {"gm": "f64", "position": "f64[3]", "velocity": "f64[3]", "acceleration":
"f64[3]", "radius": "f64"},
"kernels": {"kick": {"args": {"dt": "f64"}, "steps": ["velocity += acceleration * dt"]},
"drift": {"args": {"dt": "f64"}, "steps": ["position += velocity * dt"]}},
"reductions": {"kinetic_energy": {"function": "sum", "of":
"0.5 * gm * dot(velocity, velocity)"}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_kick(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "CelestialBody.kick", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_drift(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "CelestialBody.drift", rows, seed)


@kernel_cases.SEARCH
@example(rows=kernel_cases.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_kinetic_energy(rows: int, seed: int) -> None:
    """Compare the reduction with the reference interpreter."""
    kernel_cases.check_reduction(
        World, schema, "CelestialBody.kinetic_energy", rows, seed
    )
