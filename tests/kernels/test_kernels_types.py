"""Typed trees and their numbers: promotion, literals, conversions, effects, constants of numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.values import dtype_of

from ecsgen.layout.layout_tables import remarks
from ecsgen.model.typed_program import Program
from ecsgen.model.typed_tree import Cast, Constant, Operation, walk
from ecsgen.model.types import SCALARS, Type, promote
from ecsgen.render.blocks.array_values import ArrayValue, Constants, ElementOrder
from tests.support.world_package import load

FIELDS = """\
component: Body
hierarchy: {orphans: root}
fields:
  mass: {type: f32, default: 2.0}
  height: f64
  place: "f32[3]"
  speed: "f32[3]"
  local: "f32[2,2]"
  world: "f32[2,2]"
  hp: u8
  delta: i16
  steps: i32
  big: u64
  alive: bool
"""


def kernel(*steps: str) -> Program:
    listed = "".join(f"      - '{step}'\n" for step in steps)
    text = f"kernels:\n  k:\n    args: {{dt: f32}}\n    steps:\n{listed}"
    return load(FIELDS + text).components[0].kernels[0].program


@pytest.mark.parametrize(("left", "right"), list(itertools.product(list(SCALARS)[1:], repeat=2)))
def test_promotion_is_numpys(left: str, right: str) -> None:
    assert dtype_of(promote(left, right)) == np.result_type(dtype_of(left), dtype_of(right))


@pytest.mark.parametrize(
    ("step", "scalar"),
    [
        ("mass = mass * 0.5", "f32"),
        ("mass = 2 * mass", "f32"),
        ("height = mass * height", "f64"),
        ("height = steps / 2", "f64"),
        ("height = mass * steps", "f64"),
        ("mass = mass * delta", "f32"),
        ("steps = delta + hp", "i16"),
        ("height = steps * 0.5", "f64"),
        ("mass *= 0.5 if alive else 1", "f32"),
        ("mass = sqrt(2) * mass", "f32"),
        ("height = sqrt(steps)", "f64"),
        ("hp = hp // 2", "u8"),
        ("height = big + steps", "f64"),
        ("mass = mass ** 2", "f32"),
        ("mass = max(0, mass, 1.5)", "f32"),
    ],
)
def test_operations_have_the_type_of_their_operands(step: str, scalar: str) -> None:
    (step_found,) = kernel(step).actions
    operation = next(node for node in walk(step_found.value) if isinstance(node, Operation))
    assert operation.type.scalar == scalar
    assert all(
        part.type.scalar in (scalar, "bool") for part in operation.operands
    ), "operands are converted first"


def test_half_a_power_is_the_root() -> None:
    """Else -inf and -0.0 come out as the backend likes."""
    program = kernel("mass = mass ** 0.5", "height = steps ** 0.5")
    root, power = (step.value for step in program.actions)
    assert isinstance(root, Operation)
    assert isinstance(power, Operation)
    assert (root.name, power.name) == ("sqrt", "**")


def test_assignments_convert() -> None:
    program = kernel("mass = height", "hp = delta", "height = 3", "mass = steps")
    narrow, wrapping, literal, real = (step.value for step in program.actions)
    for value, scalar in ((narrow, "f32"), (wrapping, "u8"), (real, "f32")):
        assert isinstance(value, Cast)
        assert value.type == Type(scalar)
    assert literal == Constant(Type("f64"), 3.0)


def test_effects_are_known() -> None:
    program = kernel(
        "gain = dt * height", "place += speed * gain", "world = parent.world @ local", "hp = 1"
    )
    assert program.effects.reads == ("height", "place", "speed", "parent.world", "local")
    assert program.effects.writes == ("place", "world", "hp")
    assert [argument.name for argument in program.arguments] == ["dt"]


def test_remarks_on_tags() -> None:
    """Hot fields that nothing uses, cold ones that a kernel reads; only where kernels are."""
    text = """\
component: A
fields:
  warm: f32
  idle: f32
  out: f32
  rare: {type: f32, tags: [cold]}
  kept: {type: u8, tags: [cold]}
kernels: {k: {steps: [out = warm + rare]}}
---
component: B
fields: {idle: f32, seen: f32}
---
world: W
groups: {both: [A, B]}
"""
    project = load(text)
    first, second = project.components
    idle, rare = remarks(first, project.world)
    assert "'idle'" in idle
    assert "'rare'" in rare
    assert not list(remarks(second, project.world))
    world = "kernels: {w: {over: both, steps: [A.out = B.seen]}}\n"
    project = load(text + world)
    (idle,) = remarks(project.components[1], project.world)
    assert "'idle'" in idle


def column(scalar: str) -> ArrayValue:
    return ArrayValue("x", scalar, (), ElementOrder.ROWS)


def number(text: str, scalar: str = "i32") -> ArrayValue:
    return ArrayValue(text, scalar, (), ElementOrder.UNIFORM, is_literal=True)


def spelled(scalar: str, text: str) -> tuple[str, list[str]]:
    constants = Constants()
    return constants.operand_texts([column(scalar), number(text)])[1], constants.lines


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        *(("u8", "255"), ("i8", "-128"), ("u64", "18446744073709551615"), ("f32", "3")),
        *(("f32", "0.1"), ("f64", "-2.5"), ("f64", "1e-30"), ("f32", "1.5e+20")),
    ],
)
def test_a_number_that_fits_is_a_constant(scalar: str, text: str) -> None:
    name, lines = spelled(scalar, text)
    names: dict[str, Any] = {}
    exec("\n".join(lines).replace(": Final", ""), {"np": np}, names)
    array = names[name]
    assert (array.dtype, array.shape) == (np.dtype(SCALARS[scalar].code), ())
    python = float(text) if SCALARS[scalar].kind == "f" else int(text)
    weak = np.add(np.zeros(1, array.dtype), python)
    assert weak.dtype == array.dtype
    assert weak[0] == array


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        *(
            ("u8", "256"),
            ("u8", "-1"),
            ("i32", "0.5"),
            ("f32", "1e39"),
            ("f32", "9007199254740993"),
        ),
        *(("f64", 'float("inf")'), ("bool", "True"), ("bool", "1")),
    ],
)
def test_other_numbers_stay_as_they_are(scalar: str, text: str) -> None:
    assert spelled(scalar, text) == (text, [])


def test_names_tell_numbers_and_types_apart() -> None:
    constants = Constants()
    texts = ("1", "-1", "1.0", "10", "1e10", "1e-10", "-1e-10", "1.5", "15.0", "1.05")
    names = [
        constants.operand_texts([column(s), number(t)])[1] for s in ("f32", "f64") for t in texts
    ]
    assert len(set(names)) == len(names) == len(constants.lines)
    assert all(name.isidentifier() and name[1].isdigit() for name in names)


def test_operands_of_two_types_are_left_to_numpy() -> None:
    operands = [column("u8"), column("i32"), number("1")]
    assert Constants().operand_texts(operands) == ["x", "x", "1"]
