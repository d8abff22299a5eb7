"""SceneNode: lookup sparse, instances one, destroy callback, release."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    hierarchy,
    kernel_cases,
    orphans,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..scene_node import SceneNode, SceneNodeManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=SceneNodeManager,
    row=SceneNode,
    fields=(
        subject.Float(
            "local",
            (
                (1.0, 0.0, 0.0, 0.0),
                (0.0, 1.0, 0.0, 0.0),
                (0.0, 0.0, 1.0, 0.0),
                (0.0, 0.0, 0.0, 1.0),
            ),
            "f32",
            (4, 4),
        ),
        subject.Float(
            "world",
            (
                (1.0, 0.0, 0.0, 0.0),
                (0.0, 1.0, 0.0, 0.0),
                (0.0, 0.0, 1.0, 0.0),
                (0.0, 0.0, 0.0, 1.0),
            ),
            "f32",
            (4, 4),
        ),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("local", "float32", (4, 4)),
        subject.Column("world", "float32", (4, 4)),
        subject.Column("parent", "uint32"),
        subject.Column("first_child", "uint32"),
        subject.Column("next_sibling", "uint32"),
        subject.Column("previous_sibling", "uint32"),
    ),
    tagged={"hot": ("local", "world")},
    capacity=0,
)


class TestSceneNode(
    buffers.DoublingCases,
    destroy.CallbackCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    hierarchy.OwnedChildrenRules,
    owned.SparseRules,
    destroy.CallbackRules,
    owned.OneRules,
    orphans.OrphansDestroyRules,
    buffers.DoublingRules,
    hierarchy.HierarchyRules,
    owned.OwnedRules,
    packed.PackedRules,
    destroy.ReleaseRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = SceneNodeManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        local=(
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
        world=(
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_local(
        row,
        (
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
    )
    assert subject.same(
        manager.local(row),
        (
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
    )
    manager.set_world(
        row,
        (
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
    )
    assert subject.same(
        manager.world(row),
        (
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        ),
    )
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"SceneNode": {"module": "scene_node",
"destroy": "callback",
"hierarchy": "destroy",
"fields": {"local": {"type": "f32[4,4]", "default": [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0,
0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]}, "world": {"type": "f32[4,4]",
"default": [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0,
0.0, 1.0]]}},
"kernels": {"place": {"steps": ["world = parent.world @ local"]}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_place(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "SceneNode.place", rows, seed)
