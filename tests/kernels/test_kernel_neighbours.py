"""Kernels that ask neighbours: both backends, the same bits, and what does not matter."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.generated_package import build
from tests.support.kernel_package import differing, forget
from tests.support.soak import examples

SCHEMA = """\
component: Fish
fields:
  place: {type: "f32[2]"}
  way: "f32[2]"
  mate: entity
  size: f32
  age: u16
  seen: i64
  bold: bool
space: {field: place, wrap: [20, 0]}
partition: {start: active}
kernels:
  school:
    near: reach
    args: {reach: f32, apart: f32}
    steps:
      - push = sum(offset if distance < apart else offset * 0)
      - way = way + (sum(other.way) * 0.1 - push) / f32(max(count(), 1))
      - place += way * 0.5
  court:
    near: 3
    rows: all
    where: count(other.bold) > 0 or min(distance) < 1
    steps:
      - mate = nearest(other.entity)
      - seen = i64(sum(other.age)) - i64(max(other.age)) * seen + count(other.mate == entity)
      - bold = nearest(other.size) > size
      - size = mean(other.size) + f32(mean(other.age))
  stray: {near: reach, args: {reach: f64}, steps: ["way += f32(normal(2)) * f32(count())"]}
"""
PACKAGES = "near_numpy", "near_numba"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ModuleType]]:
    """The same component for both backends."""
    folder = tmp_path_factory.mktemp("near")
    (folder / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name, backend in zip(PACKAGES, ("numpy", "numba"), strict=True):
            build(folder, folder / name, None, backend)  # type: ignore[arg-type]  # one of them
        yield [import_module(name) for name in PACKAGES]
    for name in PACKAGES:
        list(forget(name))


def filled(package: ModuleType, rows: int, seed: int, order: Any = None) -> tuple[Any, Any]:
    """Fish at random places, by which all else about them goes; created in some order."""
    random = np.random.default_rng(seed)
    entities = package.EntityManager()
    manager = package.FishManager(entities)
    es = entities.create_many(rows)
    columns: dict[str, NDArray[Any]] = {
        "place": (random.random((rows, 2)) * 24 - 2).astype("f4"),
        "way": random.standard_normal((rows, 2)).astype("f4"),
        "size": random.standard_normal(rows).astype("f4"),
        "age": random.integers(0, 2**16, rows),
        "bold": random.random(rows) < 0.3,
    }
    columns["place"][: rows // 20] = np.nan
    some = np.arange(rows) if order is None else order(rows)
    manager.create_many(es[some], **{name: cells[some] for name, cells in columns.items()})
    return manager, es


def called(manager: Any, entities: Any, es: Any) -> None:
    """All kernels; meanwhile some die, and some are not active."""
    manager.school(2.0, 0.7)
    entities.destroy_many(es[::5])
    manager.court()
    manager.deactivate_many(manager.lookup_many(es[1::7]))
    manager.court()
    manager.stray(1.5)
    manager.school(0.4, 0.2)


def state(manager: Any, es: Any) -> dict[str, NDArray[Any]]:
    """All columns, by entity."""
    rows = manager.lookup_many(es)
    names = ("place", "way", "mate", "size", "age", "seen", "bold")
    return {name: np.array(getattr(manager.data, name))[rows] for name in names}


@settings(max_examples=examples(12), deadline=None)
@given(rows=st.sampled_from([0, 1, 2, 60, 300]), seed=st.integers(0, 2**32 - 1))
def test_both_backends(packages: list[ModuleType], rows: int, seed: int) -> None:
    """The same bits, sums of floats included: they are added in the order of neighbours."""
    found = []
    for package in packages:
        manager, es = filled(package, rows, seed)
        manager.wrap = [(20, 0), (0, 0), (3, 24)][seed % 3]
        with np.errstate(all="ignore"):
            called(manager, manager._entities, es)
        found.append(state(manager, es))
    for name, column in found[0].items():
        assert not differing(column, found[1][name]).any(), name


@pytest.mark.parametrize("backend", [0, 1])
def test_rows_in_any_order(packages: list[ModuleType], backend: int) -> None:
    """Who is near, what is counted and drawn, does not depend on it; nor on collecting."""
    found = []
    for turn in range(2):

        def order(rows: int, turn: int = turn) -> Any:
            return np.random.default_rng(turn).permutation(rows)

        manager, es = filled(packages[backend], 300, 5, order)
        manager._entities.destroy_many(es[::4])
        if turn:
            manager.collect()
        manager.court()
        manager.stray(2.0)
        kept = np.delete(es, np.s_[::4])
        found.append({name: state(manager, kept)[name] for name in ("mate", "seen", "bold", "way")})
    for name, column in found[0].items():
        assert not differing(column, found[1][name]).any(), name


def test_what_is_no_radius(packages: list[ModuleType]) -> None:
    """Nothing is done, and no call counted."""
    for package in packages:
        manager, es = filled(package, 40, 1)
        before = state(manager, es)
        for radius in (0.0, -1.0, np.nan, np.inf, 1e-50):
            with pytest.raises(ValueError, match="radius"):
                manager.school(radius, 1.0)
        with pytest.raises(ValueError, match="radius"):
            manager.stray(0)
        assert manager._chance.calls == {}
        for name, column in state(manager, es).items():
            assert not differing(column, before[name]).any()
