"""Boid: lookup sparse, instances one, destroy gc."""

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
    spaces,
    state_machine,
    subject,
)
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..boid import Boid, BoidManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=BoidManager,
    row=Boid,
    fields=(
        subject.Float("position", (0.0, 0.0), "f32", (2,)),
        subject.Float("heading", (1.0, 0.0), "f32", (2,)),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("position", "float32", (2,)),
        subject.Column("heading", "float32", (2,)),
    ),
    tagged={"hot": ("position", "heading")},
    capacity=0,
)


class TestBoid(
    buffers.DoublingCases,
    owned.OwnedCases,
    spaces.SpatialCases,
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
    manager = BoidManager(entities)
    entity = entities.create()
    row = manager.create(entity, position=(0.0, 0.0), heading=(1.0, 0.0))
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_position(row, (0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0))
    manager.set_heading(row, (1.0, 0.0))
    assert subject.same(manager.heading(row), (1.0, 0.0))
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"Boid": {"module": "boid",
"fields": {"position": "f32[2]", "heading": {"type": "f32[2]", "default": [1.0, 0.0]}},
"space": {"field": "position", "wrap": [100.0, 60.0]},
"kernels": {"steer": {"args": {"vision": "f32", "apart": "f32"}, "near": {"other":
{"radius": "vision"}}, "steps": ["push = sum(offset, where=distance < apart)",
"turn = sum(offset) * 0.03 - push * 0.015 + sum(other.heading) * 0.05",
"heading = normalize(heading + turn / f32(max(count(), 1)))"]}, "fly": {"args": {"way":
"f32", "width": "f32", "height": "f32"}, "steps":
["position = (position + heading * way) % vec(width, height)"]}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_steer(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Boid.steer", rows, seed)


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_fly(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Boid.fly", rows, seed)
