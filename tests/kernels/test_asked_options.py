"""`where=`, `weight=` and `none=` of questions, and `mode`, against plain Python."""

from __future__ import annotations

import os
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import call_key, row_stem, unit_number, word

from ecsgen.config import Backend
from tests.support.world_package import world_package

QUESTIONS = {
    "least": "min(o.x, none=-C.x, where=o.kind > C.kind)",
    "mean": "mean(o.x, where=o.kind > C.kind, none=C.x * 2)",
    "total": "sum(o.x, where=o.kind == 3 and distance < 1, none=-1)",
    "nearest": "nearest(o.x, none=pi)",
    "often": "f64(mode(o.kind, where=distance < 1.5, none=-7))",
    "bools": "1.0 if mode(o.kind > 2, none=true) else 0.0",
    "weighted": "choice(o.x, weight=o.w, none=-0.5)",
    "some": "choice(o.x, none=-0.5, weight=o.kind - 3, where=o.x > C.x)",
    "best": "max_by(o.x, o.w, none=-0.25)",
    "vector": "max(o.v, none=C.x).x + sum(o.v, none=7).y",
    "own": "1.0 if mode(o.whom, none=entity) == entity else 0.0",
}


def schema(turns: str = "", grid: bool = False) -> str:
    """Return a schema with a kernel for each question, of rows in a space or on a grid."""
    cell = "cell: id<Land>" if grid else 'place: "f64[2]"'
    where = "on: cell" if grid else "space: {field: place}"
    near = "near: {radius: 1}" if grid else "near: {radius: 2}"
    land = "component: Land\ngrid: {shape: [9, 9]}\nfields: {h: f64}\n---\n" if grid else ""
    kernels = "".join(
        f"  {name}: {{{near}{turns}, steps: [{quoted(text)}]}}\n"
        for name, text in QUESTIONS.items()
    )
    fields = f'{{x: f64, w: f32, kind: i32, v: "f32[2]", whom: entity, value: f64, {cell}}}'
    return f"{land}component: C\n{where}\nfields: {fields}\nkernels:\n{kernels}---\nworld: W\n"


def quoted(text: str) -> str:
    return f'"value = {text.replace("o.", "other.").replace("C.", "")}"'


FORMS = {
    "at_once": schema(),
    "in_turns": schema(", turns: rows"),
    "on_grid": schema(grid=True),
    "on_grid_in_turns": schema(", turns: rows", grid=True),
}


def rows_of(form: str, backend: Backend, count: int = 90) -> Any:
    world = world_package(FORMS[form], f"options_{form}_{backend}", backend).W()
    rng = np.random.default_rng(6)
    entities = world.entities.create_many(count)
    weights = rng.choice([0, 1, 2.5, -1, nan, inf, 0.25], count).astype(np.float32)
    values = {
        "x": rng.normal(size=count),
        "w": weights,
        "kind": rng.integers(0, 6, count).astype(np.int32),
        "v": rng.normal(size=(count, 2)).astype(np.float32),
        "whom": entities[rng.integers(0, 4, count)],
    }
    if "grid" in form:
        cells = rng.integers(0, 81, count)
        world.c.create_many(entities, cell=cells.astype(np.uint64) + np.uint64(2**32), **values)
    else:
        world.c.create_many(entities, place=rng.uniform(0, 12, (count, 2)), **values)
    world.seed = 5
    return world


def neighbours(world: Any, form: str, row: int) -> list[tuple[int, float]]:
    """Return the neighbours of a row, with their distances, in the order of `m.near`."""
    data = world.c.data
    if "grid" in form:
        around = world.c.near(data.cell[row : row + 1], 1)
        here = [world.land.grid.coords(int(cell)) for cell in data.cell]
    else:
        around = world.c.near(data.place[row : row + 1], 2)
        here = data.place.tolist()
    matches = [int(other) for other in around.rows if other != row]
    offsets = [np.array(here[other]) - np.array(here[row]) for other in matches]
    return [
        (other, float(np.sqrt((offset**2).sum())))
        for other, offset in zip(matches, offsets, strict=True)
    ]


def most_frequent(values: list[Any], none: Any) -> Any:
    return max(dict.fromkeys(values), key=values.count) if values else none


def weighted(pairs: list[tuple[float, float]], drawn: float, none: float) -> float:
    """Return a value of pairs of value and weight, by a number in [0, 1)."""
    weights = [weight if isfinite(weight) and weight > 0 else 0.0 for _, weight in pairs]
    total = running = 0.0
    for weight in weights:
        total += weight
    for (value, _), weight in zip(pairs, weights, strict=True):
        running += weight
        if running > drawn * total:
            return value
    return none


def added(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def expected(world: Any, form: str, name: str, row: int, drawn: float, index: int) -> float:
    data = world.c.data
    others = neighbours(world, form, row)
    x, w, kind, v, whom = data.x, data.w, data.kind, data.v, data.whom
    higher = [float(x[o]) for o, _ in others if kind[o] > kind[row]]
    match name:
        case "least":
            return min(higher, default=-x[row])
        case "mean":
            return added(higher) / len(higher) if higher else x[row] * 2
        case "total":
            values = [float(x[o]) for o, far in others if kind[o] == 3 and far < 1]
            return added(values) if values else -1
        case "nearest":
            return float(x[min(others, key=lambda each: each[1])[0]]) if others else np.pi
        case "often":
            return float(most_frequent([int(kind[o]) for o, far in others if far < 1.5], -7))
        case "bools":
            return float(most_frequent([bool(kind[o] > 2) for o, _ in others], True))
        case "weighted":
            return weighted([(float(x[o]), float(w[o])) for o, _ in others], drawn, -0.5)
        case "some":
            pairs = [(float(x[o]), float(kind[o]) - 3) for o, _ in others if x[o] > x[row]]
            return weighted(pairs, drawn, -0.5)
        case "best":
            known = [float(w[o]) for o, _ in others if w[o] == w[o]]
            best = [float(x[o]) for o, _ in others if known and w[o] == max(known)]
            return best[index * len(best) >> 32] if best else -0.25
        case "vector":
            vectors = np.array([v[o] for o, _ in others], np.float32)
            if not others:
                return float(np.float32(x[row]) + np.float32(7))
            total = added([float(y) for y in vectors[:, 1]])
            return float(vectors[:, 0].max() + np.float32(total))
    frequent = most_frequent([int(whom[o]) for o, _ in others], int(data.entity[row]))
    return float(frequent == int(data.entity[row]))


SOAK = pytest.mark.soak
CASES = [pytest.param(form, "numpy") for form in FORMS] + [
    pytest.param(form, "numba", marks=[] if form == "at_once" else SOAK) for form in FORMS
]
if os.environ.get("NUMBA_DISABLE_JIT"):
    CASES = [pytest.param(form, "numba") for form in FORMS]
"""numba compiles one kind of loop, for `make soak` all; Python runs all kinds."""


@pytest.mark.parametrize(("form", "backend"), CASES)
def test_questions_have_options(form: str, backend: Backend) -> None:
    world = rows_of(form, backend)
    for name in QUESTIONS:
        key = call_key(5, f"C.{name}", 0)
        number = 0
        words = [word(row_stem(entity, key), number) for entity in world.c.data.entity.tolist()]
        wanted = [
            expected(world, form, name, row, unit_number(drawn), drawn >> 32)
            for row, drawn in enumerate(words)
        ]
        getattr(world.c, name)()
        assert world.c.data.value.tolist() == [float(value) for value in wanted], name
