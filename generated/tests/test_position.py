"""Position: lookup sparse, instances one, destroy gc."""

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
from ..position import Position, PositionManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=PositionManager,
    row=Position,
    fields=(subject.Float("value", (0.0, 0.0, 0.0), "f32", (3,)),),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("value", "float32", (3,)),
    ),
    tagged={"hot": ("value",)},
    capacity=0,
)


class TestPosition(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    destroy.GcRules,
    packed.GroupedRules,
    owned.OneRules,
    buffers.DoublingRules,
    owned.OwnedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = PositionManager(entities)
    entity = entities.create()
    row = manager.create(entity, value=(0.0, 0.0, 0.0))
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_value(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.value(row), (0.0, 0.0, 0.0))
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
