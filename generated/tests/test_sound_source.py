"""SoundSource: lookup hash, instances many, destroy manual."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World
from ..sound_source import SoundSource, SoundSourceManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=SoundSourceManager,
    row=SoundSource,
    fields=(
        subject.Text("clip", "", 40),
        subject.Float("volume", 1.0, "f32"),
        subject.Float("pitch", 1.0, "f32"),
        subject.Float("offset", (0.0, 0.0, 0.0), "f32", (3,)),
        subject.Float("elapsed", 0.0, "f32"),
        subject.Bool("looping", False),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("volume", "float32"),
        subject.Column("pitch", "float32"),
        subject.Column("offset", "float32", (3,)),
        subject.Column("elapsed", "float32"),
        subject.Column("looping", "bool"),
        subject.Column("next", "uint32"),
        subject.Column("previous", "uint32"),
        subject.Column("clip", "S40", tags=("cold",)),
    ),
    tagged={
        "hot": ("volume", "pitch", "offset", "elapsed", "looping"),
        "cold": ("clip",),
    },
    capacity=0,
)


class TestSoundSource(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.ManyRules, buffers.DoublingRules, owned.OwnedRules, packed.PackedRules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = SoundSourceManager(entities)
    entity = entities.create()
    row = manager.create(
        entity,
        clip="",
        volume=1.0,
        pitch=1.0,
        offset=(0.0, 0.0, 0.0),
        elapsed=0.0,
        looping=False,
    )
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_clip(row, "")
    assert subject.same(manager.clip(row), "")
    manager.set_volume(row, 1.0)
    assert subject.same(manager.volume(row), 1.0)
    manager.set_pitch(row, 1.0)
    assert subject.same(manager.pitch(row), 1.0)
    manager.set_offset(row, (0.0, 0.0, 0.0))
    assert subject.same(manager.offset(row), (0.0, 0.0, 0.0))
    manager.set_elapsed(row, 0.0)
    assert subject.same(manager.elapsed(row), 0.0)
    manager.set_looping(row, False)
    assert subject.same(manager.looping(row), False)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
