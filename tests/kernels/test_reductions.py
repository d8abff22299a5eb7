"""Generated reductions of all rows, and of those where a condition holds or that are active."""

from __future__ import annotations

import math
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning

from ecsgen.config import BACKENDS, Backend
from tests.support.kernel_package import manager_of
from tests.support.world_package import world_package

SCHEMA = """\
component: {name}
{keys}fields:
  mass: f32
  place: "f32[3]"
  parted: {{type: "f64[2]", split: true}}
  table: "i16[2,2]"
  hp: u8
  big: i64
  alive: bool
reductions:
  weight: {{sum: mass}}
  center: {{mean: place * mass}}
  right: {{max: parted}}
  least: {{min: mass}}
  tables: {{sum: table}}
  health: {{sum: hp}}
  all_big: {{sum: big}}
  highest: {{max: big}}
  mean_hp: {{mean: hp}}
  living: {{count: alive and hp > 3}}
  everyone: {{count: "True"}}
  ones: {{sum: "0.5"}}
  spread: {{std: place}}
  middle: {{median: parted, where: alive}}
  unequal: {{gini: hp}}
  even: {{gini: "2", where: alive}}
"""
ROWS = 3_000


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> ModuleType:
    plain = SCHEMA.format(name="Plain", keys="")
    direct = SCHEMA.format(name="Holey", keys="lookup: direct\n")
    return world_package(f"{plain}---\n{direct}", f"reductions_{request.param}", request.param)


@pytest.fixture(params=["PlainManager", "HoleyManager"])
def manager(package: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Rows in a few blocks; every third was destroyed, which leaves holes in the direct one."""
    entities = package.EntityManager()
    kind = getattr(package, request.param)
    if find_spec("ecsgen_runtime.kernels.blocks"):  # with numba there are none
        monkeypatch.setattr(Tuning, "block_rows", (512, 512))
    manager_made = kind(entities)
    random = np.random.default_rng(1)
    everyone = entities.create_many(ROWS)
    manager_made.create_many(
        everyone,
        mass=random.random(ROWS, np.float32) * 1e5,
        place=random.standard_normal((ROWS, 3)),
        parted=random.standard_normal((ROWS, 2)),
        table=random.integers(-9, 9, (ROWS, 2, 2)),
        hp=random.integers(0, 255, ROWS),
        big=random.integers(-(2**40), 2**40, ROWS),
        alive=random.random(ROWS) < 0.5,
    )
    manager_made.remove_many(everyone[::3])
    return manager_made


def rows_of(manager: Any) -> list[Any]:
    return [manager.row(manager.lookup(e)) for e in manager]


def test_sums(manager: Any) -> None:
    rows = rows_of(manager)
    assert manager.weight() == pytest.approx(math.fsum(row.mass for row in rows), rel=1e-14)
    products = [np.float32(row.mass) * np.array(row.place, np.float32) for row in rows]
    means = [math.fsum(float(p[axis]) for p in products) / len(rows) for axis in range(3)]
    assert manager.center() == pytest.approx(means, rel=1e-12)
    assert manager.health() == sum(row.hp for row in rows)
    assert manager.all_big() == sum(row.big for row in rows)
    assert manager.mean_hp() == pytest.approx(sum(row.hp for row in rows) / len(rows), rel=1e-15)
    assert manager.ones() == len(rows) / 2
    tables = np.array([row.table for row in rows]).sum(0)
    assert manager.tables() == tuple(map(tuple, tables.tolist()))


def test_of_all_values(manager: Any) -> None:
    rows = rows_of(manager)
    places = np.array([row.place for row in rows], np.float64)
    assert manager.spread() == pytest.approx(places.std(0).tolist(), rel=1e-12)
    parted = np.array([row.parted for row in rows if row.alive])
    assert manager.middle() == tuple(np.median(parted, 0).tolist())
    hp = np.sort([row.hp for row in rows]).astype(np.float64)
    n = len(hp)
    gini = 2 * (np.arange(1, n + 1) * hp).sum() / (n * hp.sum()) - (n + 1) / n
    assert manager.unequal() == pytest.approx(gini, rel=1e-12)
    assert manager.even() == pytest.approx(0, abs=1e-12)
    alive = next(m for m in map(manager.lookup, manager) if manager.row(m).alive)
    manager.set_parted(alive, (math.nan, 0))
    assert math.isnan(manager.middle()[0])
    manager.set_place(alive, (math.nan, math.inf, 0))
    assert np.isnan(manager.spread()).tolist() == [True, True, False]


def test_smallest_and_largest(manager: Any) -> None:
    rows = rows_of(manager)
    assert manager.least() == min(row.mass for row in rows)
    assert manager.right() == tuple(max(row.parted[axis] for row in rows) for axis in range(2))
    highest = manager.highest()
    assert highest == max(row.big for row in rows)
    assert type(highest) is int
    manager.set_mass(manager.lookup(next(iter(manager))), math.nan)
    assert math.isnan(manager.least())


def test_counts(manager: Any) -> None:
    rows = rows_of(manager)
    assert manager.living() == sum(row.alive and row.hp > 3 for row in rows)
    assert manager.everyone() == len(rows) == len(manager)


def test_no_rows(manager: Any) -> None:
    manager.clear()
    assert manager.weight() == 0
    assert type(manager.weight()) is float
    assert manager.tables() == ((0, 0), (0, 0))
    assert manager.everyone() == 0
    for value in (*manager.spread(), *manager.middle(), manager.unequal(), manager.even()):
        assert math.isnan(value)
    for value in (manager.least(), manager.highest(), manager.mean_hp(), *manager.center()):
        assert math.isnan(value)


EDGES = """\
component: Edge
fields: {big: i64, vast: u64, small: i8, pair: "i64[2]", x: f64}
reductions:
  total: {sum: big}
  totals: {sum: pair}
  negative: {sum: -big}
  vast_total: {sum: vast}
  small_total: {sum: small}
  doubled: {sum: small * 2}
  below: {count: big < vast}
  same: {count: big == vast}
  grown: {count: big + 1 > big}
  least: {min: big}
  most: {max: vast}
  divided: {max: x / -0.0}
"""


def wrapped(value: int, bits: int) -> int:
    """An integer of any size cut to some bits, of which one is the sign."""
    half = 1 << bits - 1
    return (value + half) % (2 * half) - half


@pytest.mark.parametrize("backend", BACKENDS)
def test_edges(backend: Backend) -> None:
    """Sums wrap, comparisons are exact, the ends of types stay what they are."""
    manager = manager_of(EDGES, f"reduced_{backend}", backend)
    big = [2**63 - 1, -(2**63), -1, 0, 2**63 - 2, 2**63 - 1] * 300
    vast = [2**63, 2**64 - 1, 2**64 - 1, 0, 2**63 - 1, 2**63 - 1] * 300
    small = [127, -128, -128, -1, 0, 127] * 300
    pairs = [[number, -2] for number in big]
    entities = manager._entities.create_many(len(big))
    manager.create_many(entities, big=big, vast=vast, small=small, pair=pairs, x=-1.0)
    assert manager.total() == wrapped(sum(big), 64)
    assert manager.totals() == (wrapped(sum(big), 64), -2 * len(big))
    assert manager.negative() == wrapped(-sum(big), 64)
    assert manager.vast_total() == sum(vast) % 2**64
    assert manager.small_total() == sum(small)
    assert manager.doubled() == sum(wrapped(2 * number, 8) for number in small)
    assert manager.below() == sum(a < b for a, b in zip(big, vast, strict=True))
    assert manager.same() == sum(a == b for a, b in zip(big, vast, strict=True))
    assert manager.grown() == sum(number != 2**63 - 1 for number in big)
    assert (manager.least(), manager.most()) == (-(2**63), 2**64 - 1)
    assert manager.divided() == math.inf


WHERE_SCHEMA = """\
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


@pytest.fixture(scope="module", params=BACKENDS)
def package_where(request: pytest.FixtureRequest) -> ModuleType:
    texts = [WHERE_SCHEMA.format(name=n, keys=keys, all=rows) for n, (keys, rows) in KINDS.items()]
    return world_package("---\n".join(texts), f"reductions_where_{request.param}", request.param)


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
    columns_found = {name: getattr(data, name)[used] for name in names}
    columns_found["parted"] = np.stack([data.parted_x, data.parted_y], axis=1)[used]
    return columns_found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 2, 9, ROWS])
def test_some_rows(package_where: Any, kind: str, rows: int) -> None:
    manager = filled(package_where, kind, rows)
    c = columns(manager, kind)
    alive, hp = c["alive"], c["hp"]
    nan = math.nan

    def close(a: Any, b: Any) -> bool:
        return np.allclose(a, b, 1e-12, 1e-12, equal_nan=True)

    def mean(values: Any) -> Any:
        return values.astype(np.float64).mean(0) if len(values) else nan

    assert close(manager.weight(), c["mass"][alive].astype(np.float64).sum())
    assert close(manager.center(), mean((c["place"] * c["mass"][:, None])[hp > 3]))
    matching = c["parted"][(hp > 3) & alive]
    assert close(manager.right(), matching.max(0) if len(matching) else nan)
    matching = c["big"][c["big"] < 2000]
    assert manager.highest() == matching.max() if len(matching) else np.isnan(manager.highest())
    matching = c["mass"][~alive]
    assert close(manager.lightest(), matching.min() if len(matching) else nan)
    assert close(manager.mean_hp(), mean(hp[alive]))
    assert manager.total() == c["big"][hp % 2 == 0].sum()
    assert manager.strong() == ((c["mass"] > 0.5) & alive).sum()
    assert manager.early() == c["big"][c["parted"][:, 0] < 0.01].sum()
    assert np.isnan(manager.none()).all()
    assert np.shape(manager.none()) == (3,)
