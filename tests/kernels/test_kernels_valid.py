"""Every kernel that validates makes Python, with both backends and wherever its rows are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.run import call

from ecsgen.config import BACKENDS, Backend
from tests.models.random_kernels import ENUM, FIELDS, Drawing
from tests.models.random_kernels import kernel as random_kernel
from tests.reference.world_copy import assert_same, mirrored
from tests.support.generated_package import build
from tests.support.kernel_package import built, filled
from tests.support.world_package import checked

SETUPS = {
    "plain": "",
    "tree": "hierarchy: {orphans: root}\npartition: {start: active}\n",
    "holes": "lookup: direct\n",
    "packed": "owner: none\n",
}
TYPES = {"mass": "f32", "height": "f64", "hp": "u8", "delta": "i16", "far": "i64", "big": "u64"}
SHAPED = {"place": "f32", "wide": "f64", "parted": "f32", "table": "f32", "counts": "i32"}
OTHERS = ("alive", "marks", "mode", "target")
ELEMENTS = ("place.x", "wide[1]", "parted.z", "table[1, 2]", "table[1]", "counts[0]", "marks[2]")
CONDITIONS = ("True", "False", "not True", "alive", "mass == mass", "on", "not on", "1 < 2")
ARGUMENTS = "args: {dt: f32, shift: i16, gain: 'f32[3]', on: bool, kind: Mode}"


def idle(random: Random) -> list[str]:
    """A step or two that change little or nothing."""

    def pick(choices: Any) -> str:
        return str(random.choice(tuple(choices)))

    numbers = TYPES | SHAPED
    name = pick(numbers)
    target = pick((*numbers, *OTHERS, *ELEMENTS))
    condition = pick(CONDITIONS)
    return random.choice(
        [
            [f"{target} = {target}"],
            [f"{name} = +{name}"],
            [f"{name} = -(-{name})"],
            [f"{name} = {numbers[name]}({name})"],
            [f"{name} {pick('+-*')}= {pick('01')}"],
            [f"{name} = {pick('01')}"],
            [f"{target} = {target} if {condition} else {target}"],
            [f"{name} = {name} if {condition} else {pick('01')}"],
            [f"part = {target}", f"{target} = part"],
            [f"part = {target}", "other = part", f"{target} = other"],
            [f"part = {pick('01')}", f"{name} = {numbers[name]}(part)"],
            [f"part = {name}", "part = part", f"{name} = part"],
            [f"part = {pick(('dt', 'shift', 'gain'))}", "place = f32(part)"],
            [f"alive = {condition}"],
            [f"marks = {condition}"],
            ["mode = kind"],
            ["mode = Mode.walk"],
            ["target = 0"],
            [f"place = {pick(('gain', 'dt', 'gain * dt', 'gain.x', 'cross(gain, gain)'))}"],
            ["mass = norm(gain) + dot(gain, gain)"],
            ["place = normalize(gain)"],
        ]
    )


def usual(seed: int) -> str:
    """A kernel of the other tests, whose steps do something."""
    return random_kernel(seed)


def kernel(seed: int, parent: bool = False, exact: bool = True) -> str:
    """A kernel as a line of a schema: steps that do nothing, now and then among others."""
    random = Random(seed)
    drawing = Drawing(random, exact, parent)
    steps = idle(random)
    if random.random() < 0.3:
        name = random.choice(list(TYPES))
        steps.append(f"{name} = {TYPES[name]}({drawing.number((), 2)})")
    if random.random() < 0.2:
        steps.insert(0, f"height = {random.choice(('dt', 'f64(shift)', 'f64(on)'))}")
    where = f'where: "{random.choice(CONDITIONS)}", ' if random.random() < 0.3 else ""
    parallel = "parallel: true, " if random.random() < 0.2 else ""
    listed = ", ".join(f'"{step}"' for step in steps)
    return f"  k{seed}: {{{ARGUMENTS}, {where}{parallel}steps: [{listed}]}}\n"


def reduction(seed: int) -> str:
    random = Random(seed)
    how = random.choice(("sum", "min", "max", "mean", "count"))
    values = (
        "1",
        "0.5",
        "mass",
        "place",
        "counts",
        "far",
        "mass * 0",
        "table[1]",
        "parted",
        "2 - 2",
    )
    value = random.choice(CONDITIONS[:5] if how == "count" else values)
    return f'  r{seed}: {{{how}: "{value}"}}\n'


def valid(head: str, seeds: range, text: Callable[[int], str]) -> list[str]:
    """The texts that have no error under some keys of a component."""
    return [step for step in map(text, seeds) if checked(head + step + ENUM)[0] is not None]


@cache
def schema(keys: str, seeds: range) -> str:
    """A schema with the valid ones of so many kernels and reductions."""
    head = FIELDS.format(keys=keys)
    kernels = valid(
        f"{head}kernels:\n", seeds, lambda k: kernel(k, "hierarchy" in keys, exact=False)
    )
    reductions = valid(f"{head}reductions:\n", range(30), reduction)
    assert len(kernels) > len(seeds) // 2
    return f"{head}kernels:\n{''.join(kernels)}reductions:\n{''.join(reductions)}{ENUM}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("setup", SETUPS)
def test_valid_kernels_make_python(tmp_path: Path, setup: str, backend: Backend) -> None:
    seeds = range(30 * [*SETUPS].index(setup), 30 * [*SETUPS].index(setup) + 30)
    (tmp_path / "a.yaml").write_text(schema(SETUPS[setup], seeds), encoding="utf-8")
    build(tmp_path, tmp_path / "out", backend=backend)
    for path in (tmp_path / "out").rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), path, "exec")


@pytest.mark.parametrize(("backend", "seeds"), [("numpy", range(120)), ("numba", range(8))])
@pytest.mark.parametrize("text", [kernel, usual])
def test_valid_kernels_run(text: Callable[[int], str], backend: Backend, seeds: range) -> None:
    """They give what the judge says, shapes included."""
    head = FIELDS.format(keys="") + "kernels:\n"
    schema = head + "".join(valid(head, seeds, text)) + ENUM
    subject = built(schema, f"valid_{text.__name__}_{backend}", backend)
    manager = filled(subject, 12, np.random.default_rng(1))
    world = SimpleNamespace(entities=manager._entities, body=manager)
    known: dict[str, Any] = {
        "on": True,
        "kind": 2,
        "dt": 0.25,
        "shift": -3,
        "gain": (0.5, -2.0, 0.0),
    }
    for tested in subject.component.kernels:
        arguments = {argument.name: known[argument.name] for argument in tested.program.arguments}
        judge = mirrored(world, schema)
        kernel = call(judge, f"Body.{tested.name}", **arguments).kernel
        with np.errstate(all="ignore"):
            getattr(manager, tested.name)(**arguments)
        assert_same(world, judge, kernel)
