"""Particle: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_runtime.testing import (
    cases,
    destroy,
    kernels,
    machine,
    memory,
    owned,
    packed,
    proxies,
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
    memory.DoublingCases,
    destroy.GcCases,
    owned.OneCases,
    owned.OwnedCases,
    packed.PackedCases,
    proxies.ProxyCases,
    cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    memory.DoublingRules,
    destroy.GcRules,
    owned.OneRules,
    owned.OwnedRules,
    packed.PackedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS


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
    row: kernels.Row, _dt: kernels.Value, _gravity: kernels.Value
) -> None:
    """The steps of `simulate` for one row."""
    # velocity.y += gravity * dt
    _1 = row["velocity"]
    _2 = kernels.element(_1, (2,), 1)
    _3 = kernels.apply("*", _gravity, _dt)
    _4 = kernels.apply("+", _2, _3)
    row.put("velocity", _4, 1)
    # position += velocity * dt
    _5 = row["position"]
    _6 = row["velocity"]
    _7 = kernels.apply("*", _6, _dt)
    _8 = kernels.apply("+", _5, _7)
    row.put("position", _8)
    # life -= dt
    _9 = row["life"]
    _10 = kernels.apply("-", _9, _dt)
    row.put("life", _10)


@kernels.SEARCH
@given(rows=kernels.SIZES, seed=kernels.SEEDS)
def test_kernel_simulate(rows: int, seed: int) -> None:
    """What it does to all rows is what the schema says of each."""
    kernels.check(
        under_test,
        "simulate",
        simulate_of_one,
        {"dt": ("f4", ()), "gravity": ("f4", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )


def expired_of_one(row: kernels.Row) -> kernels.Value:
    """What `expired` takes of one row."""
    _1 = kernels.number("f4", 0.0)
    return kernels.apply("<=", row["life"], _1)


@kernels.SEARCH
@example(rows=kernels.SEVERAL_BLOCKS, seed=0)
@given(rows=kernels.SIZES, seed=kernels.SEEDS)
def test_kernel_expired(rows: int, seed: int) -> None:
    """What it does to all rows is what the schema says of each."""
    kernels.check_reduction(
        under_test, "expired", expired_of_one, "count", rows, seed, all_rows=True
    )
