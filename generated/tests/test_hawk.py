"""Hawk: lookup sparse, instances one, destroy gc."""

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
from ..hawk import Hawk, HawkManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=HawkManager,
    row=Hawk,
    fields=(
        subject.Float("hunger", 1.0, "f32"),
        subject.Handle("prey", 0),
        subject.Int("rivals", 0, "i32"),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("hunger", "float32"),
        subject.Column("prey", "uint64"),
        subject.Column("rivals", "int32"),
    ),
    tagged={"hot": ("hunger", "prey", "rivals")},
    capacity=0,
)


class TestHawk(
    buffers.DoublingCases,
    owned.OwnedCases,
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
    manager = HawkManager(entities)
    entity = entities.create()
    row = manager.create(entity, hunger=1.0, prey=0, rivals=0)
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_hunger(row, 1.0)
    assert subject.same(manager.hunger(row), 1.0)
    manager.set_prey(row, 0)
    assert subject.same(manager.prey(row), 0)
    manager.set_rivals(row, 0)
    assert subject.same(manager.rivals(row), 0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
