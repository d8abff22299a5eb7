"""Boid: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest

from .. import EntityManager, StaleInstanceError
from ..boid import Boid, BoidManager
from ._support import cases, fields, machine, subject
from ._support.policies import doubling, gc, one, owned, packed, spaced, sparse

under_test = subject.Subject(
    manager=BoidManager,
    row=Boid,
    fields=(
        fields.Float("position", (0.0, 0.0), "f32", (2,)),
        fields.Float("heading", (1.0, 0.0), "f32", (2,)),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("position", "float32", (2,)),
        subject.Column("heading", "float32", (2,)),
    ),
    tagged={"hot": ("position", "heading")},
    capacity=0,
)


class TestBoid(
    gc.Cases,
    sparse.Cases,
    doubling.Cases,
    one.Cases,
    spaced.Cases,
    owned.Cases,
    packed.Cases,
    cases.Cases,
):
    subject = under_test


class _Machine(
    gc.Rules,
    sparse.Rules,
    doubling.Rules,
    one.Rules,
    spaced.Rules,
    owned.Rules,
    packed.Rules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = machine.SETTINGS


def test_one_instance() -> None:
    """The calls for one row, as users write them."""
    entities = EntityManager()
    manager = BoidManager(entities)
    entity = entities.create()
    row = manager.create(entity, position=(0.0, 0.0), heading=(1.0, 0.0))
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_position(row, (0.0, 0.0))
    assert subject.same(manager.position(row), (0.0, 0.0))
    manager.set_heading(row, (1.0, 0.0))
    assert subject.same(manager.heading(row), (1.0, 0.0))
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)
