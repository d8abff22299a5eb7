"""Generated numpy kernels: bit for bit what the reference says, whatever is in the columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsgen.model import Kernel
from tests.models.kernel_reference import Reference
from tests.support.kernel_package import (
    Subject,
    arguments,
    built,
    columns_of,
    differing,
    filled,
    forget,
    schema,
)
from tests.support.soak import examples

KERNELS = 60


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("kernels")
    schema(folder, "", KERNELS, first=0)
    yield built(folder, "kernels_exact")
    list(forget("kernels_exact"))


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """Kernels that read parents, on a component of which some rows are inactive."""
    folder = tmp_path_factory.mktemp("families")
    keys = "hierarchy: {orphans: root}\npartition: {start: active}\n"
    schema(folder, keys, KERNELS // 2, first=0, parent=True)
    yield built(folder, "kernels_family")
    list(forget("kernels_family"))


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """The same kernels as `subject` has, where rows take turns: loops in plain Python."""
    folder = tmp_path_factory.mktemp("loops")
    schema(folder, "", KERNELS // 2, first=0)
    path = folder / "a.yaml"
    path.write_text(path.read_text().replace(": {args:", ": {turns: rows, args:"))
    yield built(folder, "kernels_loops")
    list(forget("kernels_loops"))


def check(subject: Subject, number: int, rows: int, seed: int) -> None:
    kernel = subject.component.kernels[number]
    random = np.random.default_rng(seed)
    manager = filled(subject, rows, random)
    if subject.component.hierarchy:
        relate(manager, rows, random)
    expected = {name: c.copy() for name, c in columns_of(manager, subject.component).items()}
    given = arguments(kernel)
    with np.errstate(all="ignore"):
        getattr(manager, kernel.name)(**given)
    if subject.component.hierarchy:
        order = [int(row) for level in manager.levels() for row in level if row < manager.n_active]
        parents = manager.data.parent
        Reference(expected, given, parents, above_roots(kernel)).run(kernel.program, order)
    else:
        Reference(expected, given).run(kernel.program, range(rows))
    for name, found in columns_of(manager, subject.component).items():
        wrong = differing(found, expected[name])
        assert not wrong.any(), (
            f"{kernel.steps} where {kernel.where!r}: {name} at {np.argwhere(wrong)[0]}: "
            f"{found[wrong][0]!r}, not {expected[name][wrong][0]!r}"
        )


def relate(manager: Any, rows: int, random: np.random.Generator) -> None:
    """Give most rows a parent, then deactivate some."""
    for row in range(1, rows):
        if random.random() < 0.8:
            manager.set_parent(row, int(random.integers(0, row)))
    manager.deactivate_many(random.random(rows) < 0.2)


def above_roots(kernel: Kernel) -> dict[str, Any]:
    return dict(kernel.program.above_roots)


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


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(
    number=st.integers(0, KERNELS // 2 - 1),
    rows=st.sampled_from([0, 1, 2, 9, 30]),
    seed=st.integers(0, 2**32),
)
def test_parents_come_first(family: Subject, number: int, rows: int, seed: int) -> None:
    check(family, number, rows, seed)


@pytest.mark.parametrize("number", range(KERNELS))
def test_blocks_join(subject: Subject, number: int) -> None:
    with Sizes.of(block_rows=(8, 8)):
        check(subject, number, 24 + number % 3, seed=number)
