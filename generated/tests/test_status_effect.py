"""StatusEffect: lookup sparse, instances many, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    ids,
    owned,
    packed,
    references,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World, enums
from ..status_effect import StatusEffect, StatusEffectManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=StatusEffectManager,
    row=StatusEffect,
    fields=(
        subject.Enum("effect", enums.Effect(0), enums.Effect, "u8"),
        subject.Float("strength", 1.0, "f32"),
        subject.Float("remaining", 5.0, "f32"),
        subject.Handle("icon", 0),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("effect", "uint8"),
        subject.Column("strength", "float32"),
        subject.Column("remaining", "float32"),
        subject.Column("next", "uint32"),
        subject.Column("previous", "uint32"),
        subject.Column("id_slot", "uint32"),
        subject.Column("id_row", "uint32"),
        subject.Column("id_generation", "uint32"),
        subject.Column("caster", "uint64", tags=("cold",)),
        subject.Column("icon", "uint64", tags=("cold",)),
    ),
    tagged={"hot": ("effect", "strength", "remaining"), "cold": ("caster", "icon")},
    capacity=0,
    apart=(subject.Handle("caster", 0),),
    on_delete={"caster": "clear"},
)


class TestStatusEffect(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    references.CollectedReferencesRules,
    owned.SparseRules,
    destroy.GcRules,
    ids.IdsRules,
    owned.ManyRules,
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
    manager = StatusEffectManager(entities)
    entity = entities.create()
    row = manager.create(
        entity, effect=enums.Effect(0), strength=1.0, remaining=5.0, caster=0, icon=0
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_effect(row, enums.Effect(0))
    assert subject.same(manager.effect(row), enums.Effect(0))
    manager.set_strength(row, 1.0)
    assert subject.same(manager.strength(row), 1.0)
    manager.set_remaining(row, 5.0)
    assert subject.same(manager.remaining(row), 5.0)
    manager.set_caster(row, 0)
    assert subject.same(manager.caster(row), 0)
    manager.set_icon(row, 0)
    assert subject.same(manager.icon(row), 0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
