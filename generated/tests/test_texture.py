"""Texture: lookup sparse, instances one, destroy gc, release."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    ids,
    packed,
    row_proxies,
    state_machine,
    subject,
    unique,
)

from .. import EntityManager, StaleInstanceError, World
from ..texture import Texture, TextureManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=TextureManager,
    row=Texture,
    fields=(
        subject.Int("device_handle", 0, "u64"),
        subject.Int("width", 1, "u16"),
        subject.Int("height", 1, "u16"),
        subject.Object("staging", None),
    ),
    columns=(
        subject.Column("device_handle", "uint64"),
        subject.Column("width", "uint16"),
        subject.Column("height", "uint16"),
        subject.Column("id_slot", "uint32"),
        subject.Column("id_row", "uint32"),
        subject.Column("id_generation", "uint32"),
        subject.Column("file", "S64", tags=("cold",)),
    ),
    tagged={"hot": ("device_handle", "width", "height"), "cold": ("file", "staging")},
    capacity=0,
    unique=(subject.Text("file", "", 64),),
)


class TestTexture(
    buffers.DoublingCases,
    buffers.ObjectsCases,
    unique.UniqueCases,
    ids.UnownedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    ids.IdsRules,
    buffers.DoublingRules,
    packed.PackedRules,
    destroy.ReleaseRules,
    unique.UniqueRules,
    ids.UnownedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    manager = TextureManager()
    id = manager.create(device_handle=0, width=1, height=1, file="", staging=None)
    row = manager.resolve(id)
    assert manager.id_of(row) == id
    assert len(manager) == 1
    assert list(manager) == [id]
    manager.set_device_handle(row, 0)
    assert subject.same(manager.device_handle(row), 0)
    manager.set_width(row, 1)
    assert subject.same(manager.width(row), 1)
    manager.set_height(row, 1)
    assert subject.same(manager.height(row), 1)
    manager.set_file(row, "")
    assert subject.same(manager.file(row), "")
    manager.set_staging(row, None)
    assert subject.same(manager.staging(row), None)
    manager.destroy(row)
    assert id not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
