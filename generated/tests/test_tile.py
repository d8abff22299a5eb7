"""Tile: lookup direct, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    ids,
    owned,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World
from ..tile import Tile, TileManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=TileManager,
    row=Tile,
    fields=(
        subject.Float("height", 0.0, "f32"),
        subject.Int("walk_cost", 1, "u8"),
        subject.Float("flow", (0.0, 0.0), "f32", (2,)),
        subject.Bool("explored", False),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("height", "float32"),
        subject.Column("walk_cost", "uint8"),
        subject.Column("flow", "float32", (2,)),
        subject.Column("id_generation", "uint32"),
        subject.Column("explored", "bool", tags=("cold",)),
    ),
    tagged={"hot": ("height", "walk_cost", "flow"), "cold": ("explored",)},
    capacity=4096,
    reserve=4096,
)


class TestTile(
    buffers.ReservedCases,
    ids.DirectIdsCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.DirectRules,
    ids.DirectIdsRules,
    destroy.GcRules,
    owned.OwnedRules,
    buffers.ReservedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = TileManager(entities)
    entity = entities.create()
    row = manager.create(
        entity, height=0.0, walk_cost=1, flow=(0.0, 0.0), explored=False
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_height(row, 0.0)
    assert subject.same(manager.height(row), 0.0)
    manager.set_walk_cost(row, 1)
    assert subject.same(manager.walk_cost(row), 1)
    manager.set_flow(row, (0.0, 0.0))
    assert subject.same(manager.flow(row), (0.0, 0.0))
    manager.set_explored(row, False)
    assert subject.same(manager.explored(row), False)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
