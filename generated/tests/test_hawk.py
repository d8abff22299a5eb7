"""Hawk: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_runtime.testing import cases, fields, machine, subject
from ecsgen_runtime.testing.policies import doubling, gc, one, owned, packed, sparse

from .. import EntityManager, StaleInstanceError, World
from ..hawk import Hawk, HawkManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=HawkManager,
    row=Hawk,
    fields=(
        fields.Float("hunger", 1.0, "f32"),
        fields.Handle("prey", 0),
        fields.Int("rivals", 0, "i32"),
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
    gc.Cases,
    sparse.Cases,
    doubling.Cases,
    one.Cases,
    owned.Cases,
    packed.Cases,
    cases.Cases,
):
    subject = under_test


class _Machine(
    gc.Rules, sparse.Rules, doubling.Rules, one.Rules, owned.Rules, packed.Rules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS


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
