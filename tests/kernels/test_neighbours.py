"""Neighbours do not depend on the order of rows, and a radius has to be one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecsgen.config import BACKENDS
from tests.support.interpreted_schemas import TOPICS
from tests.support.kernel_package import differing
from tests.support.world_package import load, sources, world_package


@pytest.fixture(scope="module")
def packages() -> list[ModuleType]:
    """One component, for both backends."""
    return [world_package(TOPICS["neighbours"], f"near_{backend}", backend) for backend in BACKENDS]


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
    rows_in_order = np.arange(rows) if order is None else order(rows)
    manager.create_many(
        es[rows_in_order], **{name: cells[rows_in_order] for name, cells in columns.items()}
    )
    return manager, es


def state(manager: Any, es: Any) -> dict[str, NDArray[Any]]:
    """All columns, by entity."""
    rows = manager.lookup_many(es)
    names = ("place", "way", "mate", "rank", "least", "size", "age", "seen", "bold")
    return {name: np.array(getattr(manager.data, name))[rows] for name in names}


@pytest.mark.parametrize("backend", [0, 1])
def test_rows_in_any_order(packages: list[ModuleType], backend: int) -> None:
    """Neighbours, counts and draws do not depend on the order of rows; nor on collecting."""
    states = []
    for turn in range(2):

        def order(rows: int, turn: int = turn) -> Any:
            return np.random.default_rng(turn).permutation(rows)

        manager, es = filled(packages[backend], 300, 5, order)
        manager._entities.destroy_many(es[::4])
        if turn:
            manager.collect()
        manager.court()
        manager.stray(2.0)
        survivors = np.delete(es, np.s_[::4])
        states.append(
            {name: state(manager, survivors)[name] for name in ("mate", "seen", "bold", "way")}
        )
    for name, column in states[0].items():
        assert not differing(column, states[1][name]).any(), name


def test_what_is_no_radius(packages: list[ModuleType]) -> None:
    """Nothing is done, and no call counted."""
    for package in packages:
        manager, es = filled(package, 40, 1)
        before = state(manager, es)
        for radius in (0.0, -1.0, np.nan, np.inf, 1e-50):
            with pytest.raises(ValueError, match=r"Manager\.school: "):
                manager.school(radius, 1.0)
        with pytest.raises(ValueError, match=r"Manager\.stray: reach: .* not 0\.0$"):
            manager.stray(0)
        assert manager._stream_state.calls == {}
        for name, column in state(manager, es).items():
            assert not differing(column, before[name]).any()


LED = """
component: Gull
fields: {at: "f32[2]", mates: "entity[2]", hits: u8}
space: {field: at}
---
world: Coast
kernels: {peck: {over: Gull, near: 2, steps: ["nearest(other.Gull.mates[0]).Gull.hits += 1"]}}
"""


def test_shaped_fields_that_only_lead_to_receivers() -> None:
    """They are fields that a kernel uses: compiled loops see them element after element."""
    project = load(LED).made_for("numba")
    assert "mates" in project.components[0].world_columns
    assert "_mates_flat" in sources(project, "numba")["gull.py"]
