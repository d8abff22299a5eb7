"""Spark: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    ids,
    kernel_cases,
    packed,
    row_proxies,
    seeded,
    state_machine,
    subject,
)
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..spark import Spark, SparkManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=SparkManager,
    row=Spark,
    fields=(
        subject.Float("position", (0.0, 0.0), "f32", (2,)),
        subject.Float("velocity", (0.0, 0.0), "f32", (2,)),
        subject.Float("heat", 1.0, "f32"),
    ),
    columns=(
        subject.Column("position_x", "float32"),
        subject.Column("position_y", "float32"),
        subject.Column("velocity_x", "float32"),
        subject.Column("velocity_y", "float32"),
        subject.Column("heat", "float32"),
        subject.Column("id_slot", "uint32"),
        subject.Column("id_row", "uint32"),
        subject.Column("id_generation", "uint32"),
    ),
    tagged={"hot": ("position_x", "position_y", "velocity_x", "velocity_y", "heat")},
    capacity=1024,
    split={
        "position": ("position_x", "position_y"),
        "velocity": ("velocity_x", "velocity_y"),
    },
)


class TestSpark(
    buffers.DoublingCases,
    seeded.SeededCases,
    ids.UnownedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    ids.IdsRules, packed.PartitionRules, buffers.DoublingRules, ids.UnownedRules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    manager = SparkManager()
    id = manager.create(position=(0.0, 0.0), velocity=(0.0, 0.0), heat=1.0)
    row = manager.resolve(id)
    assert manager.id_of(row) == id
    assert len(manager) == 1
    assert list(manager) == [id]
    manager.set_position(row, (0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0))
    manager.set_velocity(row, (0.0, 0.0))
    assert subject.same(manager.velocity(row), (0.0, 0.0))
    manager.set_heat(row, 1.0)
    assert subject.same(manager.heat(row), 1.0)
    manager.destroy(row)
    assert id not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"Spark": {"module": "spark",
"owner": "none",
"ids": true,
"partition": "active",
"fields": {"position": "f32[2]", "velocity": "f32[2]", "heat": {"type": "f32",
"default": 1.0}},
"kernels": {"flicker": {"args": {"strength": "f32"}, "rows": "active", "steps":
["velocity += normal(2) * strength", "heat *= uniform(0.9, 1.0)"]}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_flicker(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Spark.flicker", rows, seed)
