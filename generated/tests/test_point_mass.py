"""PointMass: lookup hash, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_oracle,
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
    destroy.GcCases,
    owned.HashCases,
    owned.OneCases,
    owned.OwnedCases,
    packed.PackedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    buffers.DoublingRules,
    destroy.GcRules,
    owned.OneRules,
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


def simulate_of_one(row: kernel_oracle.Row, _dt: kernel_oracle.Value) -> None:
    """Run the steps of `simulate` for one row."""
    # velocity += acceleration * dt
    _1 = row["velocity"]
    _2 = kernel_oracle.apply("*", row["acceleration"], _dt)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("velocity", _3)
    # position += velocity * dt
    _4 = row["position"]
    _5 = row["velocity"]
    _6 = kernel_oracle.apply("*", _5, _dt)
    _7 = kernel_oracle.apply("+", _4, _6)
    row.put("position", _7)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_simulate(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "simulate",
        simulate_of_one,
        {"dt": ("f4", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )
