"""Person: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_cases,
    owned,
    packed,
    row_proxies,
    seeded,
    state_machine,
    subject,
)
from hypothesis import example, given

from .. import EntityManager, StaleInstanceError, World, enums
from ..person import Person, PersonManager

under_test = subject.Subject(
    world=World,
    entities=EntityManager,
    manager=PersonManager,
    row=Person,
    fields=(
        subject.Enum("condition", enums.Condition(0), enums.Condition, "u8"),
        subject.Bool("exposed", False),
        subject.Int("days", 0, "u16"),
    ),
    columns=(
        subject.Column("entity", "uint64"),
        subject.Column("condition", "uint8"),
        subject.Column("exposed", "bool"),
        subject.Column("days", "uint16"),
    ),
    tagged={"hot": ("condition", "exposed", "days")},
    capacity=0,
)


class TestPerson(
    buffers.DoublingCases,
    owned.OwnedCases,
    seeded.SeededCases,
    row_proxies.ProxyCases,
    common_cases.CommonCases,
):
    subject = under_test


class _Machine(
    owned.SparseRules,
    destroy.GcRules,
    owned.OneRules,
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
    manager = PersonManager(entities)
    entity = entities.create()
    row = manager.create(entity, condition=enums.Condition(0), exposed=False, days=0)
    assert manager.lookup(entity) == row
    assert manager.entity(row) == entity
    assert len(manager) == 1
    assert list(manager) == [entity]
    manager.set_condition(row, enums.Condition(0))
    assert subject.same(manager.condition(row), enums.Condition(0))
    manager.set_exposed(row, False)
    assert subject.same(manager.exposed(row), False)
    manager.set_days(row, 0)
    assert subject.same(manager.days(row), 0)
    manager.destroy(row)
    assert entity not in manager
    with pytest.raises(StaleInstanceError):
        manager.row(row)


schema = kernel_cases.read_schema(r"""
{"enums": {"Condition": {"susceptible": 0,
"infectious": 1,
"recovered": 2}},
"components": {"Person": {"module": "person",
"fields": {"condition": {"type": "Condition", "default": 0}, "exposed": "bool", "days":
"u16"},
"kernels": {"decide": {"args": {"recovery": "f64", "loss": "f64"}, "steps":
["if condition == Condition.infectious:
    days += 1
    if bernoulli(recovery):
        condition = Condition.recovered
else:
    days = 0
    if condition == Condition.recovered and bernoulli(loss):
        condition = Condition.susceptible
    elif condition == Condition.susceptible and exposed:
        condition = Condition.infectious
exposed = false
"]}},
"reductions": {"ill": {"function": "count", "of": "condition == Condition.infectious"},
"immune": {"function": "count", "of": "condition == Condition.recovered"}}}}}
""")


@kernel_cases.SEARCH
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_decide(rows: int, seed: int) -> None:
    """Compare the kernel with the reference interpreter."""
    kernel_cases.check_kernel(World, schema, "Person.decide", rows, seed)


@kernel_cases.SEARCH
@example(rows=kernel_cases.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_ill(rows: int, seed: int) -> None:
    """Compare the reduction with the reference interpreter."""
    kernel_cases.check_reduction(World, schema, "Person.ill", rows, seed)


@kernel_cases.SEARCH
@example(rows=kernel_cases.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_cases.SIZES, seed=kernel_cases.SEEDS)
def test_kernel_immune(rows: int, seed: int) -> None:
    """Compare the reduction with the reference interpreter."""
    kernel_cases.check_reduction(World, schema, "Person.immune", rows, seed)
