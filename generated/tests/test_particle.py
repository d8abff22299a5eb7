"""Particle: lookup sparse, instances one, destroy gc."""

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
from ..particle import Particle, ParticleManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=ParticleManager,
    row=Particle,
    fields=(
        subject.Float("position", (0.0, 0.0), "f32", (2,)),
        subject.Float("velocity", (0.0, 0.0), "f32", (2,)),
        subject.Float("life", 1.0, "f32"),
        subject.Int("colour", (255, 255, 255, 255), "u8", (4,)),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("position", "float32", (2,)),
        subject.Column("velocity", "float32", (2,)),
        subject.Column("life", "float32"),
        subject.Column("colour", "uint8", (4,), tags=("cold",)),
    ),
    tagged={"hot": ("position", "velocity", "life"), "cold": ("colour",)},
    capacity=0,
)


class TestParticle(
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
    manager = ParticleManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        position=(0.0, 0.0),
        velocity=(0.0, 0.0),
        life=1.0,
        colour=(255, 255, 255, 255),
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_position(row, (0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0))
    manager.set_velocity(row, (0.0, 0.0))
    assert subject.same(manager.velocity(row), (0.0, 0.0))
    manager.set_life(row, 1.0)
    assert subject.same(manager.life(row), 1.0)
    manager.set_colour(row, (255, 255, 255, 255))
    assert subject.same(manager.colour(row), (255, 255, 255, 255))
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


def simulate_of_one(
    row: kernel_oracle.Row, _dt: kernel_oracle.Value, _gravity: kernel_oracle.Value
) -> None:
    """Run the steps of `simulate` for one row."""
    # velocity.y += gravity * dt
    _1 = row["velocity"]
    _2 = kernel_oracle.element(_1, (2,), 1)
    _3 = kernel_oracle.apply("*", _gravity, _dt)
    _4 = kernel_oracle.apply("+", _2, _3)
    row.put("velocity", _4, 1)
    # position += velocity * dt
    _5 = row["position"]
    _6 = row["velocity"]
    _7 = kernel_oracle.apply("*", _6, _dt)
    _8 = kernel_oracle.apply("+", _5, _7)
    row.put("position", _8)
    # life -= dt
    _9 = row["life"]
    _10 = kernel_oracle.apply("-", _9, _dt)
    row.put("life", _10)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_simulate(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "simulate",
        simulate_of_one,
        {"dt": ("f4", ()), "gravity": ("f4", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )


def expired_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `expired` takes of one row."""
    _1 = kernel_oracle.number("f4", 0.0)
    return kernel_oracle.apply("<=", row["life"], _1)


@kernel_oracle.SEARCH
@example(rows=kernel_oracle.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_expired(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check_reduction(
        under_test, "expired", expired_of_one, "count", rows, seed, all_rows=True
    )
