"""Reductions of some rows: those where a condition holds, those that are active."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS
from tests.support.kernel_package import built, forget

SCHEMA = """\
component: {name}
{keys}fields:
  mass: f32
  place: "f32[3]"
  parted: {{type: "f64[2]", split: true}}
  big: i64
  hp: u8
  alive: bool
reductions:
  weight: {{sum: mass, where: alive{all}}}
  center: {{mean: place * mass, where: hp > 3{all}}}
  right: {{max: parted, where: hp > 3 and alive{all}}}
  highest: {{max: big, where: big < 2000{all}}}
  lightest: {{min: mass, where: not alive{all}}}
  mean_hp: {{mean: hp, where: alive{all}}}
  total: {{sum: big, where: hp % 2 == 0{all}}}
  strong: {{count: mass > 0.5, where: alive{all}}}
  early: {{sum: big, where: parted.x < 0.01{all}}}
  none: {{min: place, where: "false"{all}}}
"""
KINDS = {
    "Plain": ("", ""),
    "Holey": ("lookup: direct\n", ""),
    "Rested": ("partition: {start: active}\n", ""),
    "Whole": ("partition: {start: inactive}\n", ", rows: all"),
}
ROWS = 3_000


@pytest.fixture(scope="module", params=BACKENDS)
def package(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ModuleType]:
    pytest.importorskip(request.param)
    folder = tmp_path_factory.mktemp("reductions_where")
    texts = [SCHEMA.format(name=n, keys=keys, all=rows) for n, (keys, rows) in KINDS.items()]
    (folder / "a.yaml").write_text("---\n".join(texts), encoding="utf-8")
    name = f"reductions_where_{request.param}"
    yield built(folder, name, request.param).package
    list(forget(name))


def filled(package: Any, kind: str, rows: int) -> Any:
    entities = package.EntityManager()
    manager = getattr(package, f"{kind}Manager")(entities)
    random = np.random.default_rng(1)
    everyone = entities.create_many(rows)
    manager.create_many(
        everyone,
        mass=random.random(rows, np.float32),
        place=random.standard_normal((rows, 3)),
        parted=random.random((rows, 2)),
        big=random.integers(-(2**60), 2**60, rows) // 2 ** random.integers(0, 60, rows),
        hp=random.integers(0, 9, rows),
        alive=random.random(rows) < 0.5,
    )
    manager.remove_many(everyone[::3])
    if hasattr(manager, "activate_many"):
        manager.activate_many(np.arange(manager.data.n))
        manager.deactivate_many(random.random(manager.data.n) < 0.4)
    return manager


def columns(manager: Any, kind: str) -> dict[str, Any]:
    """The fields of the rows that reductions look at."""
    data = manager.data
    used = data.present if kind == "Holey" else np.ones(data.n, np.bool_)
    if kind == "Rested":
        used &= np.arange(data.n) < manager.n_active
    names = ("mass", "place", "big", "hp", "alive")
    found = {name: getattr(data, name)[used] for name in names}
    found["parted"] = np.stack([data.parted_x, data.parted_y], axis=1)[used]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 2, 9, ROWS])
def test_some_rows(package: Any, kind: str, rows: int) -> None:
    manager = filled(package, kind, rows)
    c = columns(manager, kind)
    alive, hp = c["alive"], c["hp"]
    nan = math.nan

    def close(a: Any, b: Any) -> bool:
        return np.allclose(a, b, 1e-12, 1e-12, equal_nan=True)

    def mean(values: Any) -> Any:
        return values.astype(np.float64).mean(0) if len(values) else nan

    assert close(manager.weight(), c["mass"][alive].astype(np.float64).sum())
    assert close(manager.center(), mean((c["place"] * c["mass"][:, None])[hp > 3]))
    some = c["parted"][(hp > 3) & alive]
    assert close(manager.right(), some.max(0) if len(some) else nan)
    some = c["big"][c["big"] < 2000]
    assert manager.highest() == some.max() if len(some) else np.isnan(manager.highest())
    some = c["mass"][~alive]
    assert close(manager.lightest(), some.min() if len(some) else nan)
    assert close(manager.mean_hp(), mean(hp[alive]))
    assert manager.total() == c["big"][hp % 2 == 0].sum()
    assert manager.strong() == ((c["mass"] > 0.5) & alive).sum()
    assert manager.early() == c["big"][c["parted"][:, 0] < 0.01].sum()
    assert np.isnan(manager.none()).all()
    assert np.shape(manager.none()) == (3,)
