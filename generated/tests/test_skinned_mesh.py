"""SkinnedMesh: lookup sparse, instances one, destroy callback, release."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World
from ..skinned_mesh import SkinnedMesh, SkinnedMeshManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=SkinnedMeshManager,
    row=SkinnedMesh,
    fields=(
        subject.Int("vertex_buffers", (0, 0), "u32", (2,)),
        subject.Int("index_buffer", 0, "u32"),
        subject.Int("shader", 0, "u32"),
        subject.Int("material", 0, "u32"),
        subject.Int("bone_count", 1, "u16"),
        subject.Bool("visible", True),
        subject.Object("resource", None),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("vertex_buffers", "uint32", (2,)),
        subject.Column("index_buffer", "uint32"),
        subject.Column("shader", "uint32"),
        subject.Column("material", "uint32"),
        subject.Column("bone_count", "uint16"),
        subject.Column("visible", "bool"),
    ),
    tagged={
        "hot": (
            "vertex_buffers",
            "index_buffer",
            "shader",
            "material",
            "bone_count",
            "visible",
            "resource",
        ),
    },
    capacity=0,
)


class TestSkinnedMesh(
    buffers.DoublingCases,
    destroy.CallbackCases,
    buffers.ObjectsCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    destroy.CallbackRules,
    packed.GroupedRules,
    owned.OneRules,
    buffers.DoublingRules,
    owned.OwnedRules,
    destroy.ReleaseRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = SkinnedMeshManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        vertex_buffers=(0, 0),
        index_buffer=0,
        shader=0,
        material=0,
        bone_count=1,
        visible=True,
        resource=None,
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_vertex_buffers(row, (0, 0))
    assert subject.same(manager.vertex_buffers(row), (0, 0))
    manager.set_index_buffer(row, 0)
    assert subject.same(manager.index_buffer(row), 0)
    manager.set_shader(row, 0)
    assert subject.same(manager.shader(row), 0)
    manager.set_material(row, 0)
    assert subject.same(manager.material(row), 0)
    manager.set_bone_count(row, 1)
    assert subject.same(manager.bone_count(row), 1)
    manager.set_visible(row, True)
    assert subject.same(manager.visible(row), True)
    manager.set_resource(row, None)
    assert subject.same(manager.resource(row), None)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
