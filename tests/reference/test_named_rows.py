"""`rows=` on kernels of every kind: the rows that a call names run, in the order given, and no
others; as the judge has it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.schema import Kernel

from ecsgen.config import BACKENDS
from tests.reference.test_judge import arguments
from tests.reference.world_comparison import BACKENDS_AT_ONCE, populated
from tests.reference.world_copy import assert_same, manager, mirrored
from tests.support.reference_schemas import read
from tests.support.world_package import world_package

FIELDS = 'm: f64, k: i64, b: bool, w: "f32[2]", mate: entity, goal: id<Patch>'
BY = "args: {by: {type: f32, each: true}}"
KINDS = {
    "plain": "m = m * 2 + by",
    "sums": "m += norm(w) * by; w = w * by; k += i64(m)",
    "draws": "m = random() + by; k = randrange(100)",
    "refers": "m = mate.HOME.m + by; b = exists(mate)",
    "sends": "m += 1; mate.HOME.m += by",
    "chooses": "mate = choice(HOME); m = random() + by",
}
"""What a kernel of a component does, by its name."""
STANDING = {
    "places": "k = coords(goal)[0] + 1; m = by",
    "finds": "goal = cell_at(Patch, coords(cell) + i64(by)); m += 1",
    "moves": "cell = cell_at(Patch, coords(cell) + 1); m += by; k += 1",
    "empties": "goal = random_empty(HOME); m += by",
    "goes": "cell = random_empty(HOME); m += by",
    "stays": "m = cell.m + by; k = coords(cell)[1]",
    "reads": "m = goal.m + by; k += 1",
    "grazes": "cell.m += by; m = cell.m",
    "looks": "m = sum(other.m) + by | near: {radius: 1, among: Patch}",
    "meets": "m += sum(other.m) + by; mate = choice(other) | near: 1",
    "pairs": "k = count(kin) + 9 * count(spots) | "
    "near: {kin: {radius: 1}, spots: {radius: 1, among: Patch}}",
}
"""What one does whose rows stand on cells."""
FLYING = {
    "flocks": "m += sum(other.m) + by; k = count() | near: 2",
    "hits": "mate.Fly.m += sum(other.m) + by | near: 2",
    "leads": "mate = choice(Fly); m = by + f64(count()) | near: 2",
    "draws": "mate = choice(Fly); mate.Fly.m += sum(other.m) + by | near: 2",
}
"""What one does whose rows are in a continuous space."""
OF_CELLS = {
    "plain": "m = m * 2 + by",
    "draws": "m = random() + by; k = randrange(100)",
    "cells": "m = goal.m + by; k += 1",
    "tells": "goal.m += by; k += 1",
    "places": "k = coords(goal)[0] + 1; m = by",
    "around": "m += sum(other.m) + by | near: 1",
    "counts": "k = count(other.b); m = by | near: 1",
    "chooses": "goal = choice(Patch); m = by",
}
VARIANTS = {"": "", "some_": "where: b, ", "turning_": "turns: rows, ", "mixed_": "turns: random, "}
"""How rows come to run."""
HOMES = "Patch", "Bird", "Dove", "Fly"
HOWS = "order", "all", "mask", "none"


def kernels(home: str, kinds: dict[str, str]) -> str:
    lines = ["kernels:"]
    for (variant, keys), (name, kind) in product(VARIANTS.items(), kinds.items()):
        steps, _, near = kind.replace("HOME", home).partition(" | ")
        listed = ", ".join(f'"{step}"' for step in steps.split("; "))
        near = f"{near}, " * bool(near)
        lines.append(f"  {variant}{name}: {{{BY}, {keys}{near}steps: [{listed}]}}")
    return "\n".join([*lines, ""])


def schema() -> str:
    fields = f"fields: {{{FIELDS}}}\n"
    on = f"on: cell\nfields: {{cell: id<Patch>, {FIELDS}}}\n"
    parts = [
        "component: Patch\ngrid: {shape: [3, 4]}\n" + fields + kernels("Patch", OF_CELLS),
        "component: Bird\n" + on + kernels("Bird", KINDS | STANDING),
        "component: Dove\npartition: {start: active}\n" + fields + kernels("Dove", KINDS),
        "component: Fly\nspace: {field: at}\n"
        + fields.replace("{", '{at: "f32[2]", ')
        + kernels("Fly", FLYING),
        "world: World\n",
    ]
    return "---\n".join(parts)


def rows_named(count: int, random: np.random.Generator) -> dict[str, Any]:
    """Rows as calls name them, by how."""
    order = random.permutation(count)
    return {
        "order": order[: count // 2],
        "all": order,
        "mask": random.random(count) < 0.5,
        "none": order[:0],
    }


def some_of(home: str, turn: int) -> list[Kernel]:
    """Each kind of kernel of a component in one variant, which is another one each turn."""
    own = [*read(schema()).components[home].kernels.values()]
    kinds = len(own) // len(VARIANTS)
    return [own[(k + turn) % len(VARIANTS) * kinds + k] for k in range(kinds)]


def run_named_rows(backend: Any, home: str, kernels: list[Kernel], every: int = 1) -> None:
    """`every`: of so many ways to name rows each kernel is called in one."""
    text = schema()
    module = world_package(text, f"judged_chosen_{backend}", backend)
    for (seed, kernel), (number, how) in product(enumerate(kernels), enumerate(HOWS)):
        if (seed + number) % every:
            continue
        random = np.random.default_rng([seed, len(how)])
        world = populated(module, text, random)
        judge = mirrored(world, text)
        judge.seed(seed)
        part = manager(world, home)
        if hasattr(part, "seed"):
            part.seed = seed
        rows = rows_named(len(part), random)[how]
        places = np.flatnonzero(rows) if how == "mask" else rows
        given = {"by": arguments(judge, kernel, random)["by"][: len(places)]}
        with np.errstate(all="ignore"):
            getattr(part, kernel.name.rpartition(".")[2])(**given, rows=rows)
        call(judge, kernel.name, places.tolist(), **given)
        assert_same(world, judge, kernel)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("backend", BACKENDS_AT_ONCE)
def test_only_rows_that_a_call_names_run(backend: Any, home: str) -> None:
    run_named_rows(backend, home, some_of(home, turn=HOMES.index(home)), every=2)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(len(VARIANTS)))
@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_only_named_rows_of_all_variants_run(backend: Any, home: str, turn: int) -> None:
    run_named_rows(backend, home, some_of(home, turn))
