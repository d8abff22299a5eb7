"""Meeting: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    ids,
    packed,
    row_proxies,
    state_machine,
    subject,
)

from .. import EntityManager, StaleInstanceError, World
from ..meeting import Meeting, MeetingManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=MeetingManager,
    row=Meeting,
    fields=(subject.Handle("one", 0), subject.Handle("other", 0)),
    columns=(
        subject.Column("one", "uint64"),
        subject.Column("other", "uint64"),
        subject.Column("id_slot", "uint32"),
        subject.Column("id_row", "uint32"),
        subject.Column("id_generation", "uint32"),
    ),
    tagged={"hot": ("one", "other")},
    capacity=0,
)


class TestMeeting(
    buffers.DoublingCases,
    ids.UnownedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    ids.IdsRules, buffers.DoublingRules, packed.PackedRules, ids.UnownedRules
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    manager = MeetingManager()
    id = manager.create(one=0, other=0)
    row = manager.resolve(id)
    assert manager.id_of(row) == id
    assert len(manager) == 1
    assert list(manager) == [id]
    manager.set_one(row, 0)
    assert subject.same(manager.one(row), 0)
    manager.set_other(row, 0)
    assert subject.same(manager.other(row), 0)
    manager.destroy(row)
    assert id not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
