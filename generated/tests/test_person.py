"""Person: lookup sparse, instances one, destroy gc."""

from __future__ import annotations

import pytest
from ecsgen_testing import (
    buffers,
    common_cases,
    destroy,
    kernel_inputs,
    kernel_oracle,
    owned,
    packed,
    row_proxies,
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
    owned.SparseCases,
    buffers.DoublingCases,
    destroy.GcCases,
    owned.OneCases,
    owned.OwnedCases,
    packed.PackedCases,
    kernel_inputs.SeededCases,
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


def decide_of_one(
    row: kernel_oracle.Row, _recovery: kernel_oracle.Value, _loss: kernel_oracle.Value
) -> None:
    """Run the steps of `decide` for one row."""
    # ill = condition == Condition.infectious
    _1 = row["condition"]
    _2 = kernel_oracle.number("u1", 1)
    _3 = kernel_oracle.apply("==", _1, _2)
    # caught = exposed and condition == Condition.susceptible
    _4 = row["exposed"]
    _5 = row["condition"]
    _6 = kernel_oracle.number("u1", 0)
    _7 = kernel_oracle.apply("==", _5, _6)
    _8 = kernel_oracle.apply("and", _4, _7)
    # recovers = ill and random() < recovery
    _9 = row.draw("random", 0, 1)
    _10 = kernel_oracle.apply("<", _9, _recovery)
    _11 = kernel_oracle.apply("and", _3, _10)
    # lapses = condition == Condition.recovered and random() < loss
    _12 = row["condition"]
    _13 = kernel_oracle.number("u1", 2)
    _14 = kernel_oracle.apply("==", _12, _13)
    _15 = row.draw("random", 1, 1)
    _16 = kernel_oracle.apply("<", _15, _loss)
    _17 = kernel_oracle.apply("and", _14, _16)
    # days = days + 1 if ill else 0
    _18 = row["days"]
    _19 = kernel_oracle.number("u2", 1)
    _20 = kernel_oracle.apply("+", _18, _19)
    _21 = kernel_oracle.number("u2", 0)
    _22 = kernel_oracle.apply("if", _3, _20, _21)
    row.put("days", _22)
    # condition = Condition.infectious if caught else condition
    _23 = kernel_oracle.number("u1", 1)
    _24 = row["condition"]
    _25 = kernel_oracle.apply("if", _8, _23, _24)
    row.put("condition", _25)
    # condition = Condition.recovered if recovers else condition
    _26 = kernel_oracle.number("u1", 2)
    _27 = row["condition"]
    _28 = kernel_oracle.apply("if", _11, _26, _27)
    row.put("condition", _28)
    # condition = Condition.susceptible if lapses else condition
    _29 = kernel_oracle.number("u1", 0)
    _30 = row["condition"]
    _31 = kernel_oracle.apply("if", _17, _29, _30)
    row.put("condition", _31)
    # exposed = false
    _32 = kernel_oracle.number("?", False)
    row.put("exposed", _32)


@kernel_oracle.SEARCH
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_decide(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check(
        under_test,
        "decide",
        decide_of_one,
        {"recovery": ("f8", ()), "loss": ("f8", ())},
        rows,
        seed,
        is_exact=True,
        drawing=kernel_oracle.Drawing("Person.decide"),
        takes_rows=True,
    )


def ill_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `ill` takes of one row."""
    _1 = kernel_oracle.number("u1", 1)
    return kernel_oracle.apply("==", row["condition"], _1)


@kernel_oracle.SEARCH
@example(rows=kernel_oracle.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_ill(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check_reduction(
        under_test, "ill", ill_of_one, "count", rows, seed, all_rows=True
    )


def immune_of_one(row: kernel_oracle.Row) -> kernel_oracle.Value:
    """Return what `immune` takes of one row."""
    _1 = kernel_oracle.number("u1", 2)
    return kernel_oracle.apply("==", row["condition"], _1)


@kernel_oracle.SEARCH
@example(rows=kernel_oracle.SEVERAL_BLOCKS, seed=0)
@given(rows=kernel_oracle.SIZES, seed=kernel_oracle.SEEDS)
def test_kernel_immune(rows: int, seed: int) -> None:
    """Compare the method over all rows with the function of each."""
    kernel_oracle.check_reduction(
        under_test, "immune", immune_of_one, "count", rows, seed, all_rows=True
    )
