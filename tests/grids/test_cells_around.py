"""Questions of cells to the cells around, on both backends, against loops over offsets."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS
from ecsgen.render.kernel_printers import loop_reasons
from tests.support.world_package import load, world_package

Cell = dict[str, Any]
Question = Callable[[list[tuple[Cell, tuple[int, int]]]], float]


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


def mean(values: list[float]) -> float:
    return total(values) / len(values) if values else np.nan


def schema(wrap: str) -> str:
    kernels = "".join(
        f'  ask_{name}:\n    near: 1\n    args: {{q: f64}}\n    steps: ["out = f64({text})"]\n'
        for name, (text, _) in QUESTIONS.items()
    ).replace('args: {q: f64}\n    steps: ["out = f64(count', 'steps: ["out = f64(count')
    fields = "{alive: bool, k: i32, heat: f64, out: f64}"
    grid = f"{{shape: [7, 5], wrap: {wrap}}}"
    return f"component: Cell\ngrid: {grid}\nfields: {fields}\nkernels:\n{kernels}"


@pytest.mark.parametrize(
    ("backend", "wrap"),
    [("numpy", "true"), ("numpy", "false"), *((backend, "[true, false]") for backend in BACKENDS)],
)
def test_answers(backend: Any, wrap: str) -> None:
    name = f"around_{backend}_{''.join(filter(str.isalpha, wrap))}"
    cells = world_package(schema(wrap), name, backend).CellManager()
    rng = np.random.default_rng(3)
    cells.data.alive[:] = rng.random(35) < 0.4
    cells.data.k[:] = rng.integers(-1, 7, 35)
    cells.data.heat[:] = rng.normal(size=35)
    wraps = [wrap != "false", wrap == "true"]
    for question, (text, answer) in QUESTIONS.items():
        arguments = [0.5] if not text.startswith("count") else []
        getattr(cells, f"ask_{question}")(*arguments)
        expected = [answer(around(cells, cell, wraps)) for cell in range(35)]
        assert np.array_equal(cells.data.out, expected, equal_nan=True), text


def around(cells: Any, cell: int, wraps: list[bool]) -> list[tuple[Cell, tuple[int, int]]]:
    """Return the cells around a cell with their offsets."""
    row, column = divmod(cell, 5)
    neighbours = []
    for a, b in [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]:
        there = [row + a, column + b]
        for axis, size in enumerate((7, 5)):
            there[axis] = there[axis] % size if wraps[axis] else there[axis]
        if 0 <= there[0] < 7 and 0 <= there[1] < 5:
            other = there[0] * 5 + there[1]
            fields = {name: getattr(cells.data, name)[other] for name in ("alive", "k", "heat")}
            neighbours.append((fields, (a, b)))
    return neighbours


def test_numpy_answers_for_whole_columns() -> None:
    project = load(schema("true"))
    assert {loop_reasons(kernel.program) for kernel in project.components[0].kernels} == {()}
