"""Transform: lookup direct, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_runtime.testing import (
    cases,
    destroy,
    kernels,
    machine,
    memory,
    owned,
    proxies,
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
    memory.DoublingCases,
    destroy.GcCases,
    owned.OwnedCases,
    proxies.ProxyCases,
    cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.DirectRules, memory.DoublingRules, destroy.GcRules, owned.OwnedRules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS


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


def straighten_of_one(row: kernels.Row) -> bool:
    """The steps of `straighten` for one row; whether it matches."""
    _1 = kernels.number("f4", 1.0)
    _2 = row["rotation"]
    _3 = row["rotation"]
    _4 = kernels.dot(_2, _3)
    _5 = kernels.apply("-", _1, _4)
    _6 = kernels.apply("abs", _5)
    _7 = kernels.number("f4", 1e-06)
    _8 = kernels.apply(">", _6, _7)
    if not _8[0]:
        return False
    # rotation = normalize(rotation)
    _9 = row["rotation"]
    _10 = kernels.normalize(_9)
    row.put("rotation", _10)
    return True


@kernels.SEARCH
@given(rows=kernels.SIZES, seed=kernels.SEEDS)
def test_kernel_straighten(rows: int, seed: int) -> None:
    """What it does to all rows is what the schema says of each."""
    kernels.check(
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


def center_of_one(row: kernels.Row) -> kernels.Value:
    """What `center` takes of one row."""
    return row["translation"]


@kernels.SEARCH
@example(rows=kernels.SEVERAL_BLOCKS, seed=0)
@given(rows=kernels.SIZES, seed=kernels.SEEDS)
def test_kernel_center(rows: int, seed: int) -> None:
    """What it does to all rows is what the schema says of each."""
    kernels.check_reduction(
        under_test, "center", center_of_one, "mean", rows, seed, all_rows=True
    )
