"""AiState: lookup sparse, instances one, destroy gc."""

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
from ..ai_state import AiState, AiStateManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=AiStateManager,
    row=AiState,
    fields=(
        subject.Enum("animation", enums.Animation(0), enums.Animation, "u8"),
        subject.Float("energy", 100.0, "f64"),
        subject.Float("goal", (0.0, 0.0), "f32", (2,)),
        subject.Enum("loot", enums.Loot(1), enums.Loot, "u8"),
        subject.Int("min_drops", 0, "u8"),
        subject.Int("max_drops", 1, "u8"),
        subject.Float("chance_of_drop", 0.5, "f64"),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("animation", "uint8"),
        subject.Column("energy", "float64"),
        subject.Column("goal", "float32", (2,)),
        subject.Column("loot", "uint8", tags=("cold",)),
        subject.Column("min_drops", "uint8", tags=("cold",)),
        subject.Column("max_drops", "uint8", tags=("cold",)),
        subject.Column("chance_of_drop", "float64", tags=("cold",)),
    ),
    tagged={
        "hot": ("animation", "energy", "goal"),
        "cold": ("loot", "min_drops", "max_drops", "chance_of_drop"),
    },
    capacity=0,
)


class TestAiState(
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
    manager = AiStateManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        animation=enums.Animation(0),
        energy=100.0,
        goal=(0.0, 0.0),
        loot=enums.Loot(1),
        min_drops=0,
        max_drops=1,
        chance_of_drop=0.5,
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_animation(row, enums.Animation(0))
    assert subject.same(manager.animation(row), enums.Animation(0))
    manager.set_energy(row, 100.0)
    assert subject.same(manager.energy(row), 100.0)
    manager.set_goal(row, (0.0, 0.0))
    assert subject.same(manager.goal(row), (0.0, 0.0))
    manager.set_loot(row, enums.Loot(1))
    assert subject.same(manager.loot(row), enums.Loot(1))
    manager.set_min_drops(row, 0)
    assert subject.same(manager.min_drops(row), 0)
    manager.set_max_drops(row, 1)
    assert subject.same(manager.max_drops(row), 1)
    manager.set_chance_of_drop(row, 0.5)
    assert subject.same(manager.chance_of_drop(row), 0.5)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
