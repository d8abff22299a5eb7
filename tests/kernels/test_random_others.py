"""Random kernels that refer to others, send to them and ask neighbours, at once and in turns."""

from __future__ import annotations

import re
from random import Random

import pytest

from ecsgen.kernels.lowering import lower_kernel
from ecsgen.kernels.statements import FindRow, ReadField, SendMessage
from tests.support.interpreted_schemas import check, kernels
from tests.support.world_package import load

BALL = """\
component: Ball
ids: true
fields: {at: "f32[2]", foe: entity, left: id<Ball>, f: f32, d: f64, i: i8, on: bool, v: "f32[2]"}
space: {field: at}
"""
TERMS = (
    *("OWN.f", "OWN.v.x", "OWN.foe.Ball.f", "OWN.left.f", "OWN.left.left.v.y", "f32(OWN.i)"),
    *("OWN.foe.Ball.foe.Ball.f", "f32(exists(OWN.foe.Ball))", "f32(exists(OWN.left))", "0.5"),
)
QUESTIONS = (
    *("sum(other.PART.f)", "f32(count())", "nearest(offset.x)", "max(distance)"),
    *("f32(count(other.PART.on))", "sum(other.PART.f * OWN.left.f)", "nearest(other.PART.f)"),
)
STEPS = (
    *(
        "OWN.f = TERM + TERM",
        "OWN.v.y = TERM",
        "OWN.v = OWN.left.v * TERM",
        "OWN.foe = OWN.left.foe",
    ),
    *(
        "OWN.left = OWN.foe.Ball.left",
        "OWN.on = TERM > TERM",
        "OWN.at.x += TERM",
        "OWN.d = f64(TERM)",
    ),
    *(
        "OWN.foe.Ball.f += TERM",
        "OWN.left.v.x -= TERM",
        "OWN.left.f -= TERM",
        "OWN.left.i += OWN.i",
    ),
    *("OWN.foe.Ball.on = OWN.foe.Ball.on or TERM > TERM", "OWN.foe.Ball.at += 0.25"),
    "OWN.left.d = min(OWN.left.d, TERM)",
)
ASKING = ("OWN.foe = nearest(other.entity)", "nearest(other.entity).Ball.f += TERM")
IN_TURNS = ("OWN.left.f = TERM", "OWN.foe.Ball.foe = OWN.left.foe", "OWN.left.at = OWN.at + TERM")


def text(seed: int) -> str:
    """A kernel at random, of the world or of balls; a few have errors."""
    random = Random(seed)
    turns, near = random.choice(["", "rows", "random"]), random.random() < 0.6
    steps = [*STEPS, *(ASKING * 3 if near else ()), *(IN_TURNS * 3 if turns else ())]
    terms = [*TERMS, *(QUESTIONS if near else ())]

    def filled_in(text: str) -> str:
        while "TERM" in text:
            text = text.replace("TERM", random.choice(terms), 1)
        return text

    chosen = [filled_in(random.choice(steps)) for _ in range(random.randint(1, 6))]
    if random.random() < 0.4:
        chosen.insert(0, f"seen = {random.choice(['OWN.left.foe', 'OWN.foe.Ball.foe'])}")
        chosen.append(filled_in(random.choice(["seen.Ball.f += TERM", "OWN.f = seen.Ball.f"])))
    lines = [f"  k{seed}:"]
    lines += [f"    turns: {turns}"] if turns else []
    lines += ["    near: 1.5"] if near else []
    if random.random() < 0.4:
        lines.append(f"    where: {filled_in('TERM > TERM or exists(OWN.foe)')}")
    return "\n".join([*lines, f"    steps: {chosen}"]).replace("'", '"') + "\n"


def kernels_of(texts: list[str]) -> str:
    """A schema with kernels: of the component, and of the world."""
    own_kernels = "".join(texts).replace("OWN.", "").replace("PART.", "")
    world = "".join(texts).replace("OWN", "Ball").replace("PART", "Ball")
    world = re.sub(r"^  k\d+:\n", r"\g<0>    over: Ball\n", world, flags=re.MULTILINE)
    return f"{BALL}kernels:\n{own_kernels}---\nworld: Hall\nkernels:\n{world}"


def valid(wanted: int, first: int) -> list[str]:
    """As many texts without an error."""
    kernels: list[str] = []
    while len(kernels) < wanted:
        try:
            load(kernels_of([text(first)]))
            kernels.append(text(first))
        except AssertionError:
            pass
        first += 1
    return kernels


@pytest.mark.parametrize("first", [0, 1000, 2000])
def test_random_kernels_that_see_others(first: int) -> None:
    """Lookups are forgotten in time, messages wait where somebody would notice."""
    schema = kernels_of(valid(30 if first else 12, first))
    for name in kernels(schema):
        check(schema, f"random_others_{first}", "numpy", name, worlds=((0, 17),))


FOLLOWING = """\
component: Ball
ids: true
fields: {foe: entity, f: f32, i: i32}
kernels:
  twice: {steps: ["f = foe.Ball.f + foe.Ball.f", "foe.Ball.f += 1"]}
  led: {steps: ["f = foe.Ball.f", "foe = foe.Ball.foe", "i = foe.Ball.i"]}
  turned: {turns: rows, steps: ["f = foe.Ball.f", "i = foe.Ball.i"]}
  turned_led: {turns: rows, steps: ["f = foe.Ball.f", "foe = foe.Ball.foe", "i = foe.Ball.i"]}
  told: {turns: rows, steps: ["foe.Ball.foe = entity", "i = foe.Ball.i"]}
  far: {turns: rows, steps: ["f = foe.Ball.foe.Ball.f", "i = foe.Ball.foe.Ball.i"]}
  quiet: {steps: ["foe.Ball.i += 1", "foe.Ball.i -= 2"]}
"""


def test_rows_are_found_once_for_each_handle() -> None:
    """They are found again when the handle may have changed: in turns through others any write
    may do that."""
    (ball,) = load(FOLLOWING).components
    forms = {kernel.name: lower_kernel(kernel.program, "Ball", {}) for kernel in ball.kernels}
    finds = {
        k: sum(isinstance(statement, FindRow) for statement in form.body)
        for k, form in forms.items()
    }
    assert finds == {
        "twice": 1,
        "led": 2,
        "turned": 1,
        "turned_led": 2,
        "told": 2,
        "far": 3,
        "quiet": 1,
    }
    sends = [
        statement
        for form in forms.values()
        for statement in form.body
        if isinstance(statement, SendMessage)
    ]
    assert [(send.is_deferred, send.number, send.count) for send in sends] == [
        *[(True, 0, 1), (False, 0, 1), (False, 0, 2), (False, 1, 2)]
    ]
    fetched = [statement for statement in forms["led"].body if isinstance(statement, ReadField)]
    assert [read.from_copy for read in fetched] == [True, True, True]
