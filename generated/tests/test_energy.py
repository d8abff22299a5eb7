"""Energy: lookup sparse, instances one, destroy gc."""

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
from ..energy import Energy, EnergyManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=EnergyManager,
    row=Energy,
    fields=(subject.Float("stored", 1.0, "f32"),),
    columns=(subject.Column("entity", "uint64"), subject.Column("stored", "float32")),
    tagged={"hot": ("stored",)},
    capacity=0,
)


class TestEnergy(
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
