"""Villager: lookup sparse, instances one, destroy gc."""

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

from .. import EntityManager, StaleInstanceError, World, enums
from ..villager import Villager, VillagerManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=VillagerManager,
    row=Villager,
    fields=(
        subject.Float("energy", 100.0, "f64"),
        subject.Float("goal", (0.0, 0.0), "f32", (2,)),
        subject.Enum("loot", enums.Loot(0), enums.Loot, "u8"),
        subject.Float("chance_of_drop", 0.1, "f32"),
        subject.Float("home", (0.0, 0.0), "f32", (2,)),
        subject.Text("nickname", "", 16),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("energy", "float64"),
        subject.Column("goal", "float32", (2,)),
        subject.Column("cold_row", "uint32"),
    ),
    tagged={
        "hot": ("energy", "goal"),
        "cold": ("loot", "chance_of_drop", "home", "nickname"),
    },
    capacity=0,
    indirect=("loot", "chance_of_drop", "home", "nickname"),
    cold_columns=(
        subject.Column("row", "uint32", tags=("cold",)),
        subject.Column("loot", "uint8", tags=("cold",)),
        subject.Column("chance_of_drop", "float32", tags=("cold",)),
        subject.Column("home", "float32", (2,), tags=("cold",)),
        subject.Column("nickname", "S16", tags=("cold",)),
    ),
)


class TestVillager(
    buffers.DoublingCases,
    buffers.IndirectCases,
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
    buffers.IndirectRules,
    owned.OwnedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = VillagerManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        energy=100.0,
        goal=(0.0, 0.0),
        loot=enums.Loot(0),
        chance_of_drop=0.1,
        home=(0.0, 0.0),
        nickname="",
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_energy(row, 100.0)
    assert subject.same(manager.energy(row), 100.0)
    manager.set_goal(row, (0.0, 0.0))
    assert subject.same(manager.goal(row), (0.0, 0.0))
    manager.set_loot(row, enums.Loot(0))
    assert subject.same(manager.loot(row), enums.Loot(0))
    manager.set_chance_of_drop(row, 0.1)
    assert subject.same(manager.chance_of_drop(row), 0.10000000149011612)
    manager.set_home(row, (0.0, 0.0))
    assert subject.same(manager.home(row), (0.0, 0.0))
    manager.set_nickname(row, "")
    assert subject.same(manager.nickname(row), "")
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
