"""Kernels compiled by numba: bit for bit what the reference says, whatever is in the columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecsgen.config import Backend
from ecsgen.model import Component, Kernel
from ecsgen.model.columns import split_parts
from tests.models.kernel_reference import Reference
from tests.support.kernel_package import (
    Subject,
    arguments,
    built,
    columns_of,
    differing,
    filled,
    forget,
    random_values,
    schema,
)
from tests.support.soak import examples

pytest.importorskip("numba")

KERNELS = 8
LARGE = """\
component: Body
fields:
  place: "f32[3]"
  speed: "f32[3]"
  mass: f32
  long: "f32[40]"
  other: "f32[40]"
  square: "f32[6,6]"
  wide: "f64[6,6]"
  six: "f32[6]"
  parts: {type: "f32[20]", split: true}
  counts: "i16[20]"
hierarchy: {orphans: root}
kernels:
  flat: {args: {dt: f32}, steps: ["speed += place * dt", "place += speed * dt"]}
  inner:
    args: {gains: "f32[40]"}
    steps: ["long += other * 0.5 + gains", "other = long / norm(long) if mass > 0 else other"]
  mixed: {where: mass > 0, steps: ["t = long * 2", "t = t + long[3]", "long = t - t[1]"]}
  matrices: {steps: ["square = square @ square", "six = square @ six", "wide += f64(square)"]}
  split: {steps: ["parts = parts * 2 + parts[3]", "parts = normalize(parts)"]}
  floored: {steps: ["counts += counts * i16(parts)", "counts = counts // 3 - counts % 5"]}
  downwards:
    steps:
      - square = parent.square @ square
      - mass += parent.mass
      - long += parent.long
      - parts = parent.parts + 1
  shared: {parallel: true, steps: ["long *= mass", "six = square @ six"]}
"""


def package(folder: Path, name: str) -> Iterator[Subject]:
    yield built(folder, name, "numba")
    list(forget(name))


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("compiled")
    schema(folder, "", KERNELS, first=700)
    yield from package(folder, "kernels_compiled")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("large")
    (folder / "a.yaml").write_text(LARGE, encoding="utf-8")
    yield from package(folder, "kernels_large")


def check(kernel: Kernel, found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, column in found.items():
        wrong = differing(column, expected[name])
        assert not wrong.any(), (
            f"{kernel.steps} where {kernel.where!r}: {name} at {np.argwhere(wrong)[0]}: "
            f"{column[wrong][0]!r}, not {expected[name][wrong][0]!r}"
        )


@settings(deadline=None, max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(
    number=st.integers(0, KERNELS - 1),
    rows=st.sampled_from([0, 1, 2, 7, 8, 9, 17, 40]),
    seed=st.integers(0, 2**32),
)
def test_random_kernels_are_exact(subject: Subject, number: int, rows: int, seed: int) -> None:
    kernel = subject.component.kernels[number]
    manager = filled(subject, rows, np.random.default_rng(seed))
    expected = {name: c.copy() for name, c in columns_of(manager, subject.component).items()}
    given = arguments(kernel)
    getattr(manager, kernel.name)(**given)
    Reference(expected, given).run(kernel.program, range(rows))
    check(kernel, columns_of(manager, subject.component), expected)


def columns(data: Any, component: Component) -> dict[str, NDArray[Any]]:
    """Copies of the fields' columns, split ones put together."""
    found = {}
    for field in component.fields:
        parts = split_parts(field) if field.split else []
        stacked = np.stack([getattr(data, part.name) for part in parts], 1) if parts else None
        found[field.name] = getattr(data, field.name).copy() if stacked is None else stacked
    return found


def fill(data: Any, component: Component, random: np.random.Generator, tame: bool) -> None:
    for field in component.fields:
        values = random_values(field, (data.n, *field.type.shape), random)
        if tame and field.type.scalar[0] == "f":
            values = random.standard_normal(values.shape)
        for place, part in enumerate(split_parts(field) if field.split else ()):
            getattr(data, part.name)[...] = values[:, place]
        if not field.split:
            getattr(data, field.name)[...] = values


@pytest.mark.parametrize("number", range(LARGE.count("steps:")))
@pytest.mark.parametrize("rows", [0, 1, 70])
def test_shapes_and_trees(large: Subject, number: int, rows: int) -> None:
    """Long shapes are inner loops; a tree's parents come before their children."""
    component, random = large.component, np.random.default_rng(rows)
    kernel = component.kernels[number]
    entities = large.package.EntityManager()
    manager = large.package.BodyManager(entities)
    manager.create_many(entities.create_many(rows))
    if rows > 1:
        above = [int(random.integers(0, row)) for row in range(1, rows)]
        manager.set_parent_many(np.arange(1, rows), above)
        manager.sort(random.random(rows))
    fill(manager.data, component, random, tame=rows > 1)
    expected = columns(manager.data, component)
    given = {"dt": 0.25, "gains": tuple(range(40))}
    given = {argument.name: given[argument.name] for argument in kernel.program.arguments}
    getattr(manager, kernel.name)(**given)
    defaults = {name: np.array(elements) for name, elements in kernel.program.above_roots}
    order = [row for level in manager.levels() for row in level.tolist()]
    Reference(expected, given, manager.data.parent, defaults).run(kernel.program, order)
    check(kernel, columns(manager.data, component), expected)


FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_functions_are_within_four_ulps(backend: Backend, tmp_path: Path) -> None:
    names = [f"{name}_{scalar}" for name in FUNCTIONS for scalar in ("f32", "f64")]
    fields = "".join(f"  {name}: {name[-3:]}\n" for name in names)
    steps = ", ".join(f'"{name} = {name[:-4]}(x_{name[-3:]})"' for name in names)
    text = f"component: Wave\nfields:\n  x_f32: f32\n  x_f64: f64\n{fields}"
    text += f"kernels:\n  shape: {{steps: [{steps}]}}\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    name = f"functions_{backend}"
    package = built(tmp_path, name, backend).package
    entities = package.EntityManager()
    manager = package.WaveManager(entities)
    manager.create_many(entities.create_many(400))
    data = manager.data
    data.x_f64 = data.x_f32 = np.linspace(0.001, 0.999, 400, dtype=np.float32)
    manager.shape()
    for name in names:
        found = getattr(data, name)
        true = FUNCTIONS[name[:-4]](data.x_f64.astype(np.longdouble))
        error = np.abs(found - true) / np.spacing(np.abs(found))
        assert error.max() <= 4, name
    list(forget(package.__name__))
