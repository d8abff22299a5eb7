"""Generated reductions of all rows, and of those where a condition holds or that are active."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import yaml
from ecsgen_testing.kernel_cases import SEVERAL_BLOCKS, check_reduction

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import world_of
from tests.support.kernel_package import manager_of
from tests.support.reference_schemas import read

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
KEYS = {"Plain": "", "Holey": "lookup: direct\n"}


@pytest.fixture(params=BACKENDS)
def plain(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    return manager_of(SCHEMA.format(name="Plain", keys=""), f"reductions_{backend}", backend)


def test_a_number_that_is_none_passes_on(plain: Any) -> None:
    plain.create_many(plain._entities.create_many(3), mass=[1, math.nan, 2], alive=True)
    plain.set_parted(1, (math.nan, 0))
    plain.set_place(2, (math.nan, math.inf, 0))
    assert math.isnan(plain.least())
    assert np.isnan(plain.middle()).tolist() == [True, False]
    assert np.isnan(plain.spread()).tolist() == [True, True, False]
    assert type(plain.highest()) is int


def test_no_rows(plain: Any) -> None:
    assert plain.weight() == 0
    assert type(plain.weight()) is float
    assert plain.tables() == ((0, 0), (0, 0))
    assert plain.everyone() == 0
    for value in (*plain.spread(), *plain.middle(), plain.unequal(), plain.even()):
        assert math.isnan(value)
    for value in (plain.least(), plain.highest(), plain.mean_hp(), *plain.center()):
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


ALL = "---\n".join(
    [
        *(SCHEMA.format(name=name, keys=keys) for name, keys in KEYS.items()),
        *(
            WHERE_SCHEMA.format(name=f"{name}Some", keys=keys, all=rows)
            for name, (keys, rows) in KINDS.items()
        ),
        "world: World\n",
    ]
)
NAMES = [
    f"{document['component']}.{name}"
    for document in yaml.load_all(ALL, yaml.CBaseLoader)
    for name in document.get("reductions", ())
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_reductions(backend: Backend, name: str) -> None:
    """Of rows in a few blocks, and of some of all kinds of rows in several more."""
    world = world_of(ALL, "reductions_all", backend)
    more = SEVERAL_BLOCKS if name in ("Plain.weight", "Holey.center", "RestedSome.total") else 33
    for seed, rows in enumerate((0, 2, 9, more)):
        check_reduction(world, read(ALL), name, rows, seed)
