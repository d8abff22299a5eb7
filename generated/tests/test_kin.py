"""Kin: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    hierarchy,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World
from ..kin import Kin, KinManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=KinManager,
    row=Kin,
    fields=(subject.Int("born", 0, "i32"),),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("born", "int32"),
        subject.Column("parent", "uint32"),
        subject.Column("first_child", "uint32"),
        subject.Column("next_sibling", "uint32"),
        subject.Column("previous_sibling", "uint32"),
    ),
    tagged={"hot": ("born",)},
    capacity=0,
)


class TestKin(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    hierarchy.OwnedChildrenRules,
    owned.SparseRules,
    destroy.GcRules,
    owned.OneRules,
    buffers.DoublingRules,
    hierarchy.HierarchyRules,
    owned.OwnedRules,
    packed.PackedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = KinManager(entities)
    entity = entities.create()
    row = manager.create(entity, born=0)
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_born(row, 0)
    assert subject.same(manager.born(row), 0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
