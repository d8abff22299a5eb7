"""Particle: lookup sparse, instances one, destroy gc."""

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


schema = kernel_cases.read_schema(r"""
{"components": {"Particle": {"module": "particle",
"fields": {"position": "f32[2]", "velocity": "f32[2]", "life": {"type": "f32",
"default": 1.0}, "colour": {"type": "u8[4]", "default": [255, 255, 255, 255]}},
"kernels": {"simulate": {"args": {"dt": "f32", "gravity": "f32"}, "steps":
["velocity.y += gravity * dt", "position += velocity * dt", "life -= dt"]}},
"reductions": {"expired": {"function": "count", "of": "life <= 0"}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_simulate(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Particle.simulate", rows, seed)


@kernel_cases.SEARCH
@example(rows=kernel_cases.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_expired(rows: int, seed: int) -> None:
    """Compare the reduction with the reference interpreter."""
    kernel_cases.check_reduction(World, schema, "Particle.expired", rows, seed)
