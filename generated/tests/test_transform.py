"""Transform: lookup direct, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_cases,
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
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.DirectRules, destroy.GcRules, buffers.DoublingRules, owned.OwnedRules
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


schema = kernel_cases.read_schema(r"""
{"components": {"Transform": {"module": "transform",
"lookup": "direct",
"fields": {"translation": "f32[3]", "rotation": {"type": "f32[4]", "default": [0.0, 0.0,
0.0, 1.0]}, "scale": {"type": "f32[3]", "default": [1.0, 1.0, 1.0]}},
"kernels": {"straighten": {"where": "abs(1 - dot(rotation, rotation)) > 1e-6", "steps":
["rotation = normalize(rotation)"]}},
"reductions": {"center": {"function": "mean", "of": "translation"}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_straighten(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Transform.straighten", rows, seed)


@kernel_cases.SEARCH
@example(rows=kernel_cases.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_center(rows: int, seed: int) -> None:
    """Compare the reduction with the reference interpreter."""
    kernel_cases.check_reduction(World, schema, "Transform.center", rows, seed)
