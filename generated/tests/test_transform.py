"""Transform: lookup direct, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_oracle,
    owned,
    row_proxies,
    state_machine,
    subject,
)
from hypothesis import example, given

from .. import EntityManager, StaleInstanceError, World
from ..transform import Transform, TransformManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=TransformManager,
    row=Transform,
    fields=(
        subject.Float("translation", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Float("rotation", (0.0, 0.0, 0.0, 1.0), "f32", (4,)),
        subject.Float("scale", (1.0, 1.0, 1.0), "f32", (3,)),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("translation", "float32", (3,)),
        subject.Column("rotation", "float32", (4,)),
        subject.Column("scale", "float32", (3,)),
    ),
    tagged={"hot": ("translation", "rotation", "scale")},
    capacity=0,
)


class TestTransform(
    owned.DirectCases,
    buffers.DoublingCases,
    destroy.GcCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.DirectRules, buffers.DoublingRules, destroy.GcRules, owned.OwnedRules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = TransformManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        translation=(0.0, 0.0, 0.0),
        rotation=(0.0, 0.0, 0.0, 1.0),
        scale=(1.0, 1.0, 1.0),
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_translation(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.translation(row), (0.0, 0.0, 0.0))
    manager.set_rotation(row, (0.0, 0.0, 0.0, 1.0))
    assert subject.same(manager.rotation(row), (0.0, 0.0, 0.0, 1.0))
    manager.set_scale(row, (1.0, 1.0, 1.0))
    assert subject.same(manager.scale(row), (1.0, 1.0, 1.0))
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


def straighten_of_one(row: kernel_oracle.Row) -> bool:
    """Run the steps of `straighten` for one row; return whether it matches."""
    _1 = kernel_oracle.number("f4", 1.0)
    _2 = row["rotation"]
    _3 = row["rotation"]
    _4 = kernel_oracle.dot(_2, _3)
    _5 = kernel_oracle.apply("-", _1, _4)
    _6 = kernel_oracle.apply("abs", _5)
    _7 = kernel_oracle.number("f4", 1e-06)
    _8 = kernel_oracle.apply(">", _6, _7)
    if not _8[0]:
        return False
    # rotation = normalize(rotation)
    _9 = row["rotation"]
    _10 = kernel_oracle.normalize(_9)
    row.put("rotation", _10)
    return True


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_straighten(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "straighten",
        straighten_of_one,
        {},
        rows,
        seed,
        is_exact=True,
        has_border=True,
        takes_rows=True,
    )


def center_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `center` takes of one row."""
    return row["translation"]


@kernel_oracle.SEARCH
@example(rows=kernel_oracle.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_center(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check_reduction(
        under_test, "center", center_of_one, "mean", rows, seed, all_rows=True
    )
