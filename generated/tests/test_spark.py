"""Spark: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    ids,
    kernel_inputs,
    kernel_oracle,
    packed,
    row_proxies,
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
    ids.IdsCases,
    packed.PartitionCases,
    kernel_inputs.SeededCases,
    ids.UnownedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    buffers.DoublingRules, ids.IdsRules, packed.PartitionRules, ids.UnownedRules
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


def flicker_of_one(row: kernel_oracle.Row, _strength: kernel_oracle.Value) -> None:
    """Run the steps of `flicker` for one row."""
    # velocity += normal(2) * strength
    _1 = row["velocity"]
    _2 = kernel_oracle.cast(_1, "f8")
    _3 = row.draw("normal", 0, 2)
    _4 = kernel_oracle.cast(_strength, "f8")
    _5 = kernel_oracle.apply("*", _3, _4)
    _6 = kernel_oracle.apply("+", _2, _5)
    _7 = kernel_oracle.cast(_6, "f4")
    row.put("velocity", _7)
    # heat *= uniform(0.9, 1.0)
    _8 = row["heat"]
    _9 = kernel_oracle.cast(_8, "f8")
    _10 = kernel_oracle.number("f8", 0.9)
    _11 = kernel_oracle.number("f8", 0.09999999999999998)
    _12 = row.draw("random", 2, 1)
    _13 = kernel_oracle.apply("*", _11, _12)
    _14 = kernel_oracle.apply("+", _10, _13)
    _15 = kernel_oracle.apply("*", _9, _14)
    _16 = kernel_oracle.cast(_15, "f4")
    row.put("heat", _16)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_flicker(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "flicker",
        flicker_of_one,
        {"strength": ("f4", ())},
        rows,
        seed,
        is_exact=False,
        drawing=kernel_oracle.Drawing("Spark.flicker"),
        takes_rows=True,
    )
