"""Spark: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest

from .. import StaleInstanceError
from ..spark import Spark, SparkManager
from ._support import cases, fields, machine, subject
from ._support.policies import doubling, ids, partition, unowned

under_test = subject.Subject(
    manager=SparkManager,
    row=Spark,
    fields=(
        fields.Float("position", (0.0, 0.0), "f32", (2,)),
        fields.Float("velocity", (0.0, 0.0), "f32", (2,)),
        fields.Float("heat", 1.0, "f32"),
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


class TestSpark(ids.Cases, doubling.Cases, partition.Cases, unowned.Cases, cases.Cases):
    subject = under_test


class _Machine(ids.Rules, doubling.Rules, partition.Rules, unowned.Rules):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS


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
