"""Energy: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_runtime.testing import cases, fields, machine, subject
from ecsgen_runtime.testing.policies import doubling, gc, one, owned, packed, sparse

from .. import EntityManager, StaleInstanceError, World
from ..energy import Energy, EnergyManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=EnergyManager,
    row=Energy,
    fields=(fields.Float("stored", 1.0, "f32"),),
    columns=(subject.Column("entity", "uint64"), subject.Column("stored", "float32")),
    tagged={"hot": ("stored",)},
    capacity=0,
)


class TestEnergy(
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
    manager = EnergyManager(entities)
    entity = entities.create()
    row = manager.create(entity, stored=1.0)
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_stored(row, 1.0)
    assert subject.same(manager.stored(row), 1.0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
