"""CelestialBody: lookup sparse, instances one, destroy gc."""

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
    owned.SparseCases,
    buffers.DoublingCases,
    destroy.GcCases,
    owned.OneCases,
    owned.OwnedCases,
    packed.PackedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
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


def kick_of_one(row: kernel_oracle.Row, _dt: kernel_oracle.Value) -> None:
    """Run the steps of `kick` for one row."""
    # velocity += acceleration * dt
    _1 = row["velocity"]
    _2 = kernel_oracle.apply("*", row["acceleration"], _dt)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("velocity", _3)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_kick(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "kick",
        kick_of_one,
        {"dt": ("f8", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )


def drift_of_one(row: kernel_oracle.Row, _dt: kernel_oracle.Value) -> None:
    """Run the steps of `drift` for one row."""
    # position += velocity * dt
    _1 = row["position"]
    _2 = kernel_oracle.apply("*", row["velocity"], _dt)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("position", _3)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_drift(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "drift",
        drift_of_one,
        {"dt": ("f8", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )


def kinetic_energy_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `kinetic_energy` takes of one row."""
    _1 = kernel_oracle.number("f8", 0.5)
    _2 = kernel_oracle.apply("*", _1, row["gm"])
    _3 = kernel_oracle.dot(row["velocity"], row["velocity"])
    return kernel_oracle.apply("*", _2, _3)


@kernel_oracle.SEARCH
@example(rows=kernel_oracle.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_kinetic_energy(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check_reduction(
        under_test,
        "kinetic_energy",
        kinetic_energy_of_one,
        "sum",
        rows,
        seed,
        all_rows=True,
    )
