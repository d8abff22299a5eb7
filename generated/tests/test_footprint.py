"""Footprint: lookup sparse, instances many, destroy manual."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    kernel_cases,
    owned,
    packed,
    row_proxies,
    state_machine,
    subject,
)
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..footprint import Footprint, FootprintManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=FootprintManager,
    row=Footprint,
    fields=(
        subject.Float("place", (0.0, 0.0), "f32", (2,)),
        subject.Float("heading", 0.0, "f32"),
        subject.Float("depth", 1.0, "f32"),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("place", "float32", (2,)),
        subject.Column("heading", "float32"),
        subject.Column("depth", "float32"),
        subject.Column("next", "uint32"),
        subject.Column("previous", "uint32"),
        subject.Column("newer", "uint32"),
        subject.Column("older", "uint32"),
    ),
    tagged={"hot": ("place", "heading", "depth")},
    capacity=0,
    max_rows=4096,
)


class TestFootprint(
    buffers.DoublingCases,
    owned.OwnedCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    owned.ManyRules,
    packed.RingRules,
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
    manager = FootprintManager(entities)
    entity = entities.create()
    row = manager.create(entity, place=(0.0, 0.0), heading=0.0, depth=1.0)
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_place(row, (0.0, 0.0))
    assert subject.same(manager.place(row), (0.0, 0.0))
    manager.set_heading(row, 0.0)
    assert subject.same(manager.heading(row), 0.0)
    manager.set_depth(row, 1.0)
    assert subject.same(manager.depth(row), 1.0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"components": {"Footprint": {"module": "footprint",
"instances": "many",
"destroy": "manual",
"fields": {"place": "f32[2]", "heading": "f32", "depth": {"type": "f32", "default":
1.0}},
"kernels": {"fade": {"args": {"dt": "f32", "wear": "f32"}, "steps":
["depth = max(depth - wear * dt, 0)"]}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_fade(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Footprint.fade", rows, seed)
