"""Boid: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_oracle,
    owned,
    packed,
    row_proxies,
    spaces,
    state_machine,
    subject,
)
from hypothesis import given

from .. import EntityManager, StaleInstanceError, World
from ..boid import Boid, BoidManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=BoidManager,
    row=Boid,
    fields=(
        subject.Float("position", (0.0, 0.0), "f32", (2,)),
        subject.Float("heading", (1.0, 0.0), "f32", (2,)),
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
    owned.SparseCases,
    buffers.DoublingCases,
    destroy.GcCases,
    owned.OneCases,
    owned.OwnedCases,
    packed.PackedCases,
    spaces.SpatialCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    buffers.DoublingRules,
    destroy.GcRules,
    owned.OneRules,
    owned.OwnedRules,
    packed.PackedRules,
):
    subject = under_test


TestMachine = _Machine.TestCase
TestMachine.settings = state_machine.SETTINGS


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


def steer_of_one(
    row: kernel_oracle.Row, _vision: kernel_oracle.Value, _apart: kernel_oracle.Value
) -> None:
    """Run the steps of `steer` for one row."""
    # push = sum(offset if distance < apart else offset * 0)
    _1: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _2 = kernel_oracle.apply("<", other.distance, _apart)
        _3 = kernel_oracle.number("f4", 0.0)
        _4 = kernel_oracle.apply("*", other.offset, _3)
        _5 = kernel_oracle.apply("if", _2, other.offset, _4)
        _1.append(_5)
    _6 = row.answer("sum", "f4", (2,), _1)
    # turn = sum(offset) * 0.03 - push * 0.015 + sum(other.heading) * 0.05
    _7: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _7.append(other.offset)
    _8 = row.answer("sum", "f4", (2,), _7)
    _9 = kernel_oracle.number("f4", 0.03)
    _10 = kernel_oracle.apply("*", _8, _9)
    _11 = kernel_oracle.number("f4", 0.015)
    _12 = kernel_oracle.apply("*", _6, _11)
    _13 = kernel_oracle.apply("-", _10, _12)
    _14: list[kernel_oracle.Value] = []
    for other in row.neighbours:
        _14.append(other["heading"])
    _15 = row.answer("sum", "f4", (2,), _14)
    _16 = kernel_oracle.number("f4", 0.05)
    _17 = kernel_oracle.apply("*", _15, _16)
    _18 = kernel_oracle.apply("+", _13, _17)
    # heading = normalize(heading + turn / f32(max(count(), 1)))
    _19 = row["heading"]
    _20: list[kernel_oracle.Value] = []
    for _ in row.neighbours:
        _20.append([True])
    _21 = row.answer("count", "i8", (), _20)
    _22 = kernel_oracle.number("i8", 1)
    _23 = kernel_oracle.apply("max", _21, _22)
    _24 = kernel_oracle.cast(_23, "f4")
    _25 = kernel_oracle.apply("/", _18, _24)
    _26 = kernel_oracle.apply("+", _19, _25)
    _27 = kernel_oracle.normalize(_26)
    row.put("heading", _27)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_steer(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "steer",
        steer_of_one,
        {"vision": ("f4", ()), "apart": ("f4", ())},
        rows,
        seed,
        is_exact=True,
        near="vision",
        takes_rows=True,
    )


def fly_of_one(
    row: kernel_oracle.Row,
    _way: kernel_oracle.Value,
    _width: kernel_oracle.Value,
    _height: kernel_oracle.Value,
) -> None:
    """Run the steps of `fly` for one row."""
    # position += heading * way
    _1 = row["position"]
    _2 = kernel_oracle.apply("*", row["heading"], _way)
    _3 = kernel_oracle.apply("+", _1, _2)
    row.put("position", _3)
    # position.x = position.x % width
    _4 = row["position"]
    _5 = kernel_oracle.element(_4, (2,), 0)
    _6 = kernel_oracle.apply("%", _5, _width)
    row.put("position", _6, 0)
    # position.y = position.y % height
    _7 = row["position"]
    _8 = kernel_oracle.element(_7, (2,), 1)
    _9 = kernel_oracle.apply("%", _8, _height)
    row.put("position", _9, 1)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_fly(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "fly",
        fly_of_one,
        {"way": ("f4", ()), "width": ("f4", ()), "height": ("f4", ())},
        rows,
        seed,
        is_exact=True,
        takes_rows=True,
    )
