"""Questions of cells to the cells around, on both backends, against loops over offsets."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.grids.grid_layout import GridLayout
from ecsgen_runtime.kernels.grids.stencils import Stencil
from ecsgen_runtime.tables.bulk import Tuning

from ecsgen.config import BACKENDS
from ecsgen.render.kernel_printers import loop_reasons
from tests.support.world_package import load, world_package

Cell = dict[str, Any]
Around = list[tuple[Cell, tuple[int, int]]]
Question = Callable[[Around], float]
Mixed = Callable[[Cell, Around], float]


def total(values: list[float]) -> float:
    result = 0.0
    for value in values:
        result += value
    return result


QUESTIONS: dict[str, tuple[str, Question]] = {
    "field": ("count(other.alive)", lambda n: sum(c["alive"] for c, _ in n)),
    "compared": ("count(other.k > 3)", lambda n: sum(c["k"] > 3 for c, _ in n)),
    "column": (
        "count(other.alive, where=offset.x == 0)",
        lambda n: sum(c["alive"] for c, o in n if o[0] == 0),
    ),
    "both": (
        "count(where=offset.y > 0 and other.k > 2 and distance < 1.2)",
        lambda n: sum(o[1] > 0 and c["k"] > 2 and sqrt(o[0] ** 2 + o[1] ** 2) < 1.2 for c, o in n),
    ),
    "counted": (
        "count(other.k % 2 == 0 and offset.x != 0)",
        lambda n: sum(c["k"] % 2 == 0 and o[0] != 0 for c, o in n),
    ),
    "expression": ("sum(other.heat * 2 + q)", lambda n: total([c["heat"] * 2 + 0.5 for c, _ in n])),
    "some": (
        "sum(other.heat, where=other.k > 1)",
        lambda n: total([c["heat"] for c, _ in n if c["k"] > 1]),
    ),
    "average": (
        "mean(other.heat, where=other.k > 3 and offset.x < 0)",
        lambda n: mean([c["heat"] for c, o in n if c["k"] > 3 and o[0] < 0]),
    ),
    "least": (
        "min(other.k, where=other.alive)",
        lambda n: min([c["k"] for c, _ in n if c["alive"]], default=0),
    ),
    "greatest": (
        "max(other.heat, where=other.k < 2)",
        lambda n: max([c["heat"] for c, _ in n if c["k"] < 2], default=np.nan),
    ),
}

EACH = """\
out = 0
for other in other:
    if other.k > 5:
        break
    out += other.distance * heat + other.offset.x - other.offset.y * 3
    if other.alive and not alive:
        continue
    out *= 2"""


def each(me: Cell, around: Around) -> float:
    """Do what EACH says."""
    out = 0.0
    for cell, (a, b) in around:
        if cell["k"] > 5:
            break
        out += sqrt(a * a + b * b) * me["heat"] + a - b * 3
        if not (cell["alive"] and not me["alive"]):
            out *= 2
    return out


MIXED: dict[str, tuple[str, Mixed]] = {
    "more": ("out = count(other.k > k)", lambda me, n: sum(c["k"] > me["k"] for c, _ in n)),
    "pull": (
        "out = sum(heat * offset.x if other.alive else 0)",
        lambda me, n: total([me["heat"] * o[0] for c, o in n if c["alive"]]),
    ),
    "apart": (
        "out = mean(other.heat - heat, where=offset.y >= 0 and other.k > 1 and other.k != k)",
        lambda me, n: mean(
            [c["heat"] - me["heat"] for c, o in n if o[1] >= 0 and c["k"] > 1 and c["k"] != me["k"]]
        ),
    ),
    "local": (
        "mine = heat * q\nout = max(other.heat * mine, where=other.alive, none=mine)",
        lambda me, n: max(
            [c["heat"] * (me["heat"] * 0.5) for c, _ in n if c["alive"]], default=me["heat"] * 0.5
        ),
    ),
    "whole": ("out = min(other.k + k)", lambda me, n: min([c["k"] + me["k"] for c, _ in n])),
    "led": (
        "out = sum(other.heat * goal.heat, where=other != goal)",
        lambda me, n: total([c["heat"] * me["led"] for c, _ in n if c["id"] != me["goal"]]),
    ),
    "odd": (
        "out = f64(min(other.odd, where=other.heat > heat))",
        lambda me, n: least([c["odd"] for c, _ in n if c["heat"] > me["heat"]]),
    ),
    "oddest": (
        "out = f64(max(other.odd * f32(k), where=other.alive, none=odd))",
        lambda me, n: (
            -least([c["odd"] * -np.float32(me["k"]) for c, _ in n if c["alive"]])
            if any(c["alive"] for c, _ in n)
            else me["odd"]
        ),
    ),
    "corner": (
        "low = min(other.spot, where=other.k >= k)\nout = low.x * 2 + low.y",
        lambda me, n: sum(
            weight * least([c["spot"][axis] for c, _ in n if c["k"] >= me["k"]])
            for axis, weight in enumerate((2, 1))
        ),
    ),
    "edge": (
        "out = f64(max(offset.x, where=other.k < k)) + min(distance, where=other.k < k, none=9)",
        lambda me, n: (
            max([o[0] for c, o in n if c["k"] < me["k"]], default=0)
            + min([sqrt(o[0] ** 2 + o[1] ** 2) for c, o in n if c["k"] < me["k"]], default=9)
        ),
    ),
    "branch": (
        "if alive:\n    way = sum(offset * k)\n    out = way.x * 10 + way.y",
        lambda me, n: sum((o[0] * 10 + o[1]) * me["k"] for _, o in n) if me["alive"] else -1,
    ),
    "far": (
        "out = sum(distance * heat)",
        lambda me, n: total([sqrt(o[0] ** 2 + o[1] ** 2) * me["heat"] for _, o in n]),
    ),
    "changed": (
        "heat = q\nout = sum(other.heat * heat)",
        lambda me, n: total([c["heat"] * 0.5 for c, _ in n]),
    ),
    "each": (EACH, lambda me, n: each(me, n)),
}
"""Steps that set `out`, and what it is of the cell itself and those around."""


def least(values: list[float]) -> float:
    return float(np.min(values)) if values else np.nan


def mean(values: list[float]) -> float:
    return total(values) / len(values) if values else np.nan


def schema(wrap: str) -> str:
    asked = {name: f"out = f64({text})" for name, (text, _) in QUESTIONS.items()}
    kernels = ""
    for name, text in (asked | {name: text for name, (text, _) in MIXED.items()}).items():
        arguments = "    args: {q: f64}\n" if " q" in text else ""
        steps = "".join(f"      {line}\n" for line in text.split("\n"))
        kernels += f"  ask_{name}:\n    near: 1\n{arguments}    steps: |\n{steps}"
    fields = "{alive: bool, k: i32, heat: f64, odd: f32, spot: 'f64[2]', out: f64, goal: id<Cell>}"
    grid = f"{{shape: [7, 5], wrap: {wrap}}}"
    return f"component: Cell\ngrid: {grid}\nfields: {fields}\nkernels:\n{kernels}"


def fill(cells: Any) -> None:
    rng = np.random.default_rng(3)
    cells.data.alive[:] = rng.random(35) < 0.4
    cells.data.k[:] = rng.integers(-1, 7, 35)
    cells.data.heat[:] = rng.normal(size=35)
    cells.data.goal[:] = rng.choice([*cells, 0], 35)
    cells.data.odd[:] = rng.choice([np.nan, np.inf, -np.inf, 0, 1, 2.5, -3], 35)
    cells.data.spot[:] = np.where(rng.random((35, 2)) < 0.1, np.nan, rng.normal(size=(35, 2)))
    cells.data.out[:] = -1


@pytest.mark.parametrize(
    ("backend", "wrap"),
    [("numpy", "true"), ("numpy", "false"), *((backend, "[true, false]") for backend in BACKENDS)],
)
def test_answers(backend: Any, wrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"around_{backend}_{''.join(filter(str.isalpha, wrap))}"
    cells = world_package(schema(wrap), name, backend).CellManager()
    wraps = [wrap != "false", wrap == "true"]
    monkeypatch.setattr(Tuning, "block_rows", (16, 16))
    questions: dict[str, tuple[str, Callable[..., float]]] = {**QUESTIONS, **MIXED}
    for question, (text, answer) in questions.items():
        fill(cells)
        is_mixed = question in MIXED
        known = [([me(cells, k)] if is_mixed else [], around(cells, k, wraps)) for k in range(35)]
        expected = np.array([answer(*mine, there) for mine, there in known])
        arguments = [0.5] if " q" in text else []
        for rows in (range(34, 0, -2), None):
            fill(cells)
            getattr(cells, f"ask_{question}")(*arguments, rows=rows)
            asked = range(35) if rows is None else rows
            assert np.array_equal(cells.data.out[asked], expected[asked], True), text


FIELDS = "alive", "k", "heat", "goal", "odd", "spot"


def me(cells: Any, cell: int) -> Cell:
    """Return the fields of a cell, and what those have to which it leads."""
    fields = {name: getattr(cells.data, name)[cell] for name in FIELDS}
    fields["id"] = 2**32 + cell
    fields["led"] = cells.data.heat[int(fields["goal"]) - 2**32] if fields["goal"] else 0
    return fields


def around(cells: Any, cell: int, wraps: list[bool]) -> Around:
    """Return the cells around a cell with their offsets."""
    row, column = divmod(cell, 5)
    neighbours = []
    for a, b in [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]:
        there = [row + a, column + b]
        for axis, size in enumerate((7, 5)):
            there[axis] = there[axis] % size if wraps[axis] else there[axis]
        if 0 <= there[0] < 7 and 0 <= there[1] < 5:
            neighbours.append((me(cells, there[0] * 5 + there[1]), (a, b)))
    return neighbours


@pytest.mark.parametrize("question", ["expression", "far"])
def test_sums_of_infinities_do_not_warn(question: str) -> None:
    cells = world_package(schema("true"), "around_numpy_true", "numpy").CellManager()
    cells.data.heat[:] = np.inf * (-1) ** np.arange(35)
    getattr(cells, f"ask_{question}")(*[0.5] * (question == "expression"))
    assert np.isnan(cells.data.out).any() == (question == "expression")


def test_columns_around_have_memory_of_their_own_as_long_as_they_are_used() -> None:
    stencil = Stencil(GridLayout((7, 5), (True, True)), "moore", 1)
    column = np.arange(35.0)
    picked, other = stencil.around(column)[:20], stencil.around(column + 100)
    again, memory = [*other], next(iter(other)).ctypes.data
    del other
    assert next(iter(stencil.around(column))).ctypes.data == memory
    assert [values[0] for values in picked] == [34, 30, 31, 4, 1, 9, 5, 6]
    assert len(again) == 8


def test_numpy_asks_about_whole_blocks() -> None:
    kernels = load(schema("true")).components[0].kernels
    assert [kernel.name for kernel in kernels if loop_reasons(kernel.program)] == ["ask_each"]
