"""PointMass: lookup hash, instances one, destroy gc."""

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
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..point_mass import PointMass, PointMassManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=PointMassManager,
    row=PointMass,
    fields=(
        subject.Float("mass", 1.0, "f32"),
        subject.Float("position", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Float("velocity", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Float("acceleration", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Text("label", "", 24),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("mass", "float32"),
        subject.Column("position", "float32", (3,)),
        subject.Column("velocity", "float32", (3,)),
        subject.Column("acceleration", "float32", (3,)),
        subject.Column("label", "S24", tags=("cold",)),
    ),
    tagged={
        "hot": ("mass", "position", "velocity", "acceleration"),
        "cold": ("label",),
    },
    capacity=0,
)


class TestPointMass(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
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
    manager = PointMassManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        mass=1.0,
        position=(0.0, 0.0, 0.0),
        velocity=(0.0, 0.0, 0.0),
        acceleration=(0.0, 0.0, 0.0),
        label="",
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_mass(row, 1.0)
    assert subject.same(manager.mass(row), 1.0)
    manager.set_position(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0, 0.0))
    manager.set_velocity(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.velocity(row), (0.0, 0.0, 0.0))
    manager.set_acceleration(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.acceleration(row), (0.0, 0.0, 0.0))
    manager.set_label(row, "")
    assert subject.same(manager.label(row), "")
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"PointMass": {"module": "point_mass",
"lookup": "hash",
"fields": {"mass": {"type": "f32", "default": 1.0}, "position": "f32[3]", "velocity":
"f32[3]", "acceleration": "f32[3]"},
"kernels": {"simulate": {"args": {"dt": "f32"}, "steps":
["velocity += acceleration * dt", "position += velocity * dt"]}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_simulate(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "PointMass.simulate", rows, seed)
