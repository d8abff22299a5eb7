"""Generated kernels: bit for bit what the judge says, whatever is in the columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.blocks import power_of_counts
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.values import ROOTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.config import BACKENDS, Backend
from tests.reference.world_copy import assert_same, mirrored
from tests.support.interpreted_schemas import TOPICS
from tests.support.kernel_package import (
    Subject,
    arguments,
    built,
    fill,
    filled,
    manager_of,
    schema,
    write,
)
from tests.support.soak import examples

KERNELS = min(60, examples(240))


@pytest.fixture(scope="module")
def subject() -> Subject:
    return built(schema("", KERNELS, first=0), "kernels_exact")


@pytest.fixture(scope="module", params=["random", "written"])
def family(request: pytest.FixtureRequest) -> Subject:
    """Kernels that read parents, on a component of which some rows are inactive: random ones, or
    such as write what children read."""
    if request.param == "written":
        return built(TOPICS["parents"], "kernels_written")
    keys = "hierarchy: {orphans: root}\npartition: {start: active}\n"
    return built(schema(keys, KERNELS // 2, first=0, parent=True), "kernels_family")


@pytest.fixture(scope="module")
def loops() -> Subject:
    """Return the kernels of `subject` with turns: loops in plain Python."""
    text = schema("", KERNELS // 2, first=0)
    return built(text.replace(": {args:", ": {turns: rows, args:"), "kernels_loops")


def check(subject: Subject, number: int, rows: int, seed: int) -> None:
    kernel = subject.component.kernels[number]
    random = np.random.default_rng(seed)
    manager = filled(subject, rows, random)
    if subject.component.hierarchy:
        relate(manager, rows, random)
    judged(subject, manager, kernel.name, arguments(kernel))


def judged(subject: Subject, manager: Any, name: str, arguments: dict[str, Any]) -> None:
    """Call a kernel, which leaves the same bits as the judge."""
    world = SimpleNamespace(entities=manager._entities, body=manager)
    judge = mirrored(world, subject.text)
    kernel = call(judge, f"Body.{name}", **arguments).kernel
    with np.errstate(all="ignore"):
        getattr(manager, name)(**arguments)
    assert_same(world, judge, kernel, is_strict=True)


def relate(manager: Any, rows: int, random: np.random.Generator) -> None:
    """Give most rows a parent, in some worlds those of a level behind those of the one above, then
    deactivate some in others."""
    above = random.integers(0, np.arange(rows), endpoint=True)
    if random.random() < 0.5:
        above.sort()
    for row, parent in enumerate(above.tolist()):
        if parent < row:
            manager.set_parent(row, parent)
    manager.deactivate_many(random.random(rows) < random.choice([0, 0.2]))


@settings(deadline=None, max_examples=examples(250), suppress_health_check=[HealthCheck.too_slow])
@given(
    number=st.integers(0, KERNELS - 1),
    rows=st.sampled_from([0, 1, 2, 7, 8, 9, 17, 40]),
    seed=st.integers(0, 2**32),
)
def test_random_kernels_are_exact(subject: Subject, number: int, rows: int, seed: int) -> None:
    check(subject, number, rows, seed)


@settings(deadline=None, max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
@given(
    number=st.integers(0, KERNELS // 2 - 1),
    rows=st.sampled_from([0, 1, 2, 17]),
    seed=st.integers(0, 2**32),
)
def test_loops_are_exact(loops: Subject, number: int, rows: int, seed: int) -> None:
    check(loops, number, rows, seed)


@pytest.mark.parametrize("size", [1, 4, 16, 1024])
def test_parents_come_first(family: Subject, size: int) -> None:
    """Whatever the size of the blocks in which the rows of a level are."""
    count = len(family.component.kernels)
    with Tuning.override(block_rows=(size, size)):
        for seed in range(16):
            check(family, (seed + size) % count, (0, 2, 9, 30)[seed // 4], seed)


@pytest.mark.parametrize("number", range(KERNELS))
def test_blocks_join(subject: Subject, number: int) -> None:
    with Tuning.override(block_rows=(8, 8)):
        check(subject, number, 24 + number % 3, seed=number)


COMPILED_KERNELS = 8
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


@pytest.fixture(scope="module")
def compiled() -> Subject:
    return built(schema("", COMPILED_KERNELS, first=700), "kernels_compiled", "numba")


@pytest.fixture(scope="module")
def large() -> Subject:
    return built(LARGE, "kernels_large", "numba")


@settings(deadline=None, max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(
    number=st.integers(0, COMPILED_KERNELS - 1),
    rows=st.sampled_from([0, 1, 2, 7, 8, 9, 17, 40]),
    seed=st.integers(0, 2**32),
)
def test_random_compiled_kernels_are_exact(
    compiled: Subject, number: int, rows: int, seed: int
) -> None:
    check(compiled, number, rows, seed)


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
    fill([manager.data], component, random)
    for field in component.fields:
        if rows > 1 and field.type.scalar[0] == "f":  # with values that stay finite
            write(manager.data, field, random.standard_normal((rows, *field.type.shape)))
    arguments = {"dt": 0.25, "gains": tuple(range(40))}
    arguments = {argument.name: arguments[argument.name] for argument in kernel.program.arguments}
    judged(large, manager, kernel.name, arguments)


STEPS = {
    **{name: f"{name}(x)" for name in ("exp", "sinh", "cosh", "tanh", "sin", "cos", "tan")},
    **{name: f"{name}(abs(x))" for name in ("log", "log2", "log10")},
    **{name: f"{name}(part)" for name in ("asin", "acos")},
    "atan2": "atan2(x, part)",
    "hypot": "hypot(x, part)",
    "power": "abs(x) ** 0.3",
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_functions_are_within_four_ulps(backend: Backend, scalar: str) -> None:
    fields = "".join(f"  {name}_: {scalar}\n" for name in STEPS)
    steps = ", ".join(f'"{name}_ = {step}"' for name, step in STEPS.items())
    text = f"component: Wave\nfields:\n  x: {scalar}\n  part: {scalar}\n{fields}"
    text += f"kernels:\n  shape: {{steps: [{steps}]}}\n"
    manager = manager_of(text, f"functions_{scalar}_{backend}", backend)
    manager.create_many(manager._entities.create_many(400))
    data = manager.data
    data.x, data.part = np.linspace(-80, 80, 400), np.linspace(0.999, -0.999, 400)
    manager.shape()
    wide = {name: getattr(data, name).astype(np.longdouble) for name in ("x", "part")}
    for name, step in STEPS.items():
        results = getattr(data, f"{name}_")
        error = np.abs(results - eval(step, dict(ROOTS), wide)) / np.spacing(np.abs(results))
        assert error.max() <= 4, name


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_roots_are_compared_as_squares(kind: Any) -> None:
    """Distances are compared without their roots: none is on the other side then."""
    pytest.importorskip("numba")
    from ecsgen_runtime.kernels.compiled_arithmetic import square_of, square_within

    rng, info = np.random.default_rng(3), np.finfo(kind)
    exponents = rng.uniform(np.log2(info.smallest_subnormal), np.log2(info.max) - 1, 300)
    special = [0.0, -0.0, -1.0, 1.0, 2.0, 3.0, np.inf, -np.inf, np.nan]
    limits = [info.max, info.tiny, info.smallest_subnormal]
    roots = np.array([*special, *limits, *np.exp2(exponents), *rng.random(300)], kind)
    with np.errstate(all="ignore"):
        for root in roots:
            squares = [root * root, square_of(root), square_within(root), 0.0, info.max, np.inf]
            for square in np.array(squares, kind):
                below = np.nextafter(square, kind(-1))
                for near in np.maximum(
                    [below, square, np.nextafter(square, kind(np.inf))], kind(0)
                ):
                    assert (np.sqrt(near) < root) == (near < square_of(root)), (near, root)
                    assert (np.sqrt(near) <= root) == (near <= square_within(root)), (near, root)


@pytest.mark.parametrize("base", [0.6, 1.0, 0.0, -1.5, np.inf, np.nan])
@pytest.mark.parametrize(
    ("low", "high", "size"), [(0, 4, 1000), (0, 4, 9), (-2, 4, 1000), (0, 900, 1000), (0, 1, 0)]
)
def test_powers_of_counts_are_those_of_numpy(base: float, low: int, high: int, size: int) -> None:
    counts, powers = np.random.default_rng(1).integers(low, high, size), np.empty(size)
    with np.errstate(all="ignore"):
        power_of_counts(np.float64(base), counts, powers)
        expected = np.power(np.float64(base), counts)
    assert powers.tobytes() == expected.tobytes()
