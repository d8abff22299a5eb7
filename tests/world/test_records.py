"""Tables of worlds, against what the reference interpreter makes of the same rows."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.kernel_cases import check_table
from numpy.typing import NDArray

from ecsgen.config import BACKENDS
from tests.support.reference_schemas import read
from tests.support.world_package import load, sources, world_package

USER = """\
from typed_records import World

w = World()
reveal_type(w.records.sheep.old)
reveal_type(w.records.sheep.mean)
reveal_type(w.records.glow.id)
reveal_type(w.records.herd.woolly)
w.records.open("out", format="csv", lines=3, append=True)
w.records.open("out", format="json")  # wrong
w.records.sheep.goats  # wrong
w.records.wolves  # wrong
count: int = len(w.records.herd) + len(w.records.herd.columns["kind"])
"""


def gini(values: NDArray[np.float64]) -> float:
    ranks, n = np.arange(1, len(values) + 1), len(values)
    return float(2 * (ranks @ np.sort(values)) / (n * values.sum()) - (n + 1) / n)


HOWS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    how: getattr(np, how) for how in ("sum", "min", "max", "mean", "std", "median")
} | {"gini": gini}
SCHEMA = """\
enum: Kind
values: {tame: 1, wild: 4}
---
component: Sheep
fields: {energy: f64, weight: f32, age: i16, big: i64, vast: u64, woolly: bool, kind: Kind,
  place: "f32[2]", parts: {type: "f64[2]", split: true}, friend: entity}
---
component: Wolf
partition: {start: active}
fields: {energy: f64}
---
component: Purse
instances: many
destroy: manual
fields: {coins: f64}
---
component: Spark
owner: none
partition: {start: inactive}
fields: {heat: f32}
---
component: Patch
grid: {shape: [3, 4]}
fields: {grass: f64}
---
component: Badge
lookup: direct
fields: {rank: i32}
---
component: Left
fields: {x: f64}
---
component: Right
fields: {y: f32}
---
component: Star
fields: {mass: f32, at: "f64[2]", spun: {type: "f32[2]", split: true}}
---
component: Planet
fields: {mass: f64}
---
world: Farm
groups: {hands: [Left, Right]}
queries: {hunted: {all: [Sheep, Wolf], none: [Badge]}, bodies: {all: [Star], any: [Planet]},
  some: {any: [Sheep, Wolf]}}
archetypes: {chunk: 1024, components: [Star, Planet]}
records:
  sheep:  # more than the 30 values that numba returns at once
    all: {count: Sheep}
    old: {count: Sheep.age > tick, where: Sheep.woolly}
    wild: {count: Sheep.kind == Kind.wild}
    ages: {sum: Sheep.age}
    vast: {sum: Sheep.vast, where: Sheep.age > 3}
    wrapped: {sum: Sheep.big * 2}
    doubled: {sum: Sheep.energy * 2}
    trebled: {mean: Sheep.energy * 3}
    far: {max: Sheep.place.x + Sheep.parts.y}
    light: {min: Sheep.weight, where: Sheep.woolly}
    least: {min: Sheep.big}
    none: {mean: Sheep.energy, where: "false"}
    same: {sum: "0.25", over: Sheep, where: tick >= 0}
HOWS  others:
    wolves: {count: Wolf}
    pack: {gini: Wolf.energy}
    purses: {count: Purse, where: Purse.coins > 0}
    coins: {std: Purse.coins}
    heat: {mean: Spark.heat}
    sparks: {count: Spark}
    grass: {sum: Patch.grass + 1}
    ranks: {sum: Badge.rank}
    badges: {count: Badge}
    mean: {mean: Left.x * Right.y, over: hands}
    hands: {count: hands}
    hunt: {sum: Sheep.energy - Wolf.energy, over: hunted}
    hunted: {count: hunted}
    mass: {sum: Star.mass * Star.at.y + Star.spun.x, over: bodies, where: Star.mass > 0.5}
    bodies: {count: "true", over: bodies}
  herd: {rows: Sheep, fields: [energy, weight, big, woolly, kind, friend], where: Sheep.age > tick}
  chase: {rows: hunted, fields: [Wolf.energy, Sheep.age]}
  held: {rows: hands, fields: [Right.y, Left.x], where: Left.x > 0}
  glow: {rows: Spark, fields: [heat]}
  lawn: {rows: Patch, fields: [grass], where: Patch.grass < 0.5}
  sky: {rows: bodies, fields: [Star.mass], where: Star.at.x > 0}
  any: {rows: some}
  number: {some: {count: some}}
schedule: {step: [sheep, {run: herd, every: 2, from: 1}, tick, others]}
"""
SCHEMA = SCHEMA.replace(
    "HOWS",
    "".join(
        f"    {how}: {{{how}: Sheep.energy}}\n    some_{how}: {{{how}: Sheep.energy, "
        f"where: Sheep.woolly}}\n"
        for how in HOWS
    ),
)


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    return world_package(SCHEMA, f"records_{request.param}", request.param)


def filled(package: Any, rows: int, seed: int) -> Any:
    """A world with so many sheep, some of them dead."""
    rng = np.random.default_rng(seed)
    w = package.World()

    def floats() -> Any:
        return rng.normal(size=rows)

    sheep = w.spawn(
        rows,
        sheep={
            "energy": floats(),
            "weight": floats(),
            "age": rng.integers(-9, 99, rows),
            "big": rng.integers(-(2**62), 2**62, rows),
            "vast": rng.integers(0, 2**64, rows, np.uint64),
            "woolly": rng.random(rows) < 0.6,
            "kind": rng.choice([1, 4], rows),
            "place": rng.normal(size=(rows, 2)),
            "parts": rng.normal(size=(rows, 2)),
        },
    )
    w.sheep.data.friend[:] = sheep[::-1]
    both = w.spawn(rows, sheep={"energy": floats()}, wolf={"energy": floats()})
    w.spawn(rows // 2, wolf={"energy": floats()[: rows // 2]}, badge={})
    w.wolf.deactivate_many(np.flatnonzero(rng.random(len(w.wolf)) < 0.3))
    w.purse.create_many(np.repeat(sheep, 2), coins=np.abs(rng.normal(size=2 * rows)))
    w.spark.create_many(rows, heat=floats())
    if rows:
        w.spark.activate_many(np.arange(rows - rows // 3))
    w.patch.data.grass[:] = rng.random(12)
    w.badge.create_many(both[: rows // 3], rank=rng.integers(0, 9, rows // 3))
    w.spawn(rows, left={"x": floats()}, right={"y": floats()})
    w.spawn(3, right={})
    w.spawn(
        rows,
        star={"mass": rng.random(rows), "at": rng.normal(size=(rows, 2)), "spun": 0.5},
        planet={},
    )
    w.spawn(2, star={})
    everyone = w.entities.live()
    dead = everyone[rng.random(len(everyone)) < 0.2]
    w.entities.destroy_many(dead)
    return w


@pytest.mark.parametrize("rows", [1, 9, 60])
def test_lines_are_what_the_interpreter_makes_of_the_rows(package: Any, rows: int) -> None:
    schema = read(SCHEMA)
    for name in schema.tables:
        check_table(package.World, schema, name, rows, rows)


def test_lines_say_whose_they_are(package: Any) -> None:
    w = filled(package, 40, 9)
    w.tick = 20
    w.left.data.x, w.patch.data.grass = 1, 0
    for chunk in w.bodies.chunks():
        chunk.star.at = 1
    sheep, hunted, hands = living(w), w.hunted.rows(), w.hands.entity
    wanted = {
        "herd": w.sheep.data.entity[sheep[w.sheep.data.age[sheep] > 20]],
        "chase": hunted.entity[hunted.wolf < w.wolf.n_active],
        "held": hands[w.entities.alive_many(hands)],
        "glow": w.spark.id_of_many(np.arange(w.spark.n_active)),
        "lawn": w.patch.id_of_many(np.arange(12)),
        "sky": w.bodies.rows().entity,
        "any": w.some.rows().entity,
    }
    for name, owners in wanted.items():
        table = getattr(w.records, name)
        table.write()
        assert 0 < len(table) == len(owners)
        assert table.columns["id" if name in ("glow", "lawn") else "entity"].tolist() == [*owners]
    w.records.number.write()
    assert w.records.number.some.tolist() == [len(w.some)]


def living(w: Any) -> NDArray[np.intp]:
    """Return the rows of sheep that count."""
    return np.flatnonzero(w.entities.alive_many(w.sheep.data.entity))


@pytest.mark.parametrize("rows", [0, 7, 300])
def test_floats_are_added_in_the_order_of_rows(package: Any, rows: int) -> None:
    w = filled(package, rows, rows)
    w.records.sheep.write()
    total = 0.0
    for value in w.sheep.data.energy[living(w)].tolist():
        total += value
    assert w.records.sheep.sum.tolist() == [total]
    mean = total / len(living(w)) if rows else math.nan
    assert np.array_equal(w.records.sheep.mean, [mean], equal_nan=True)


def test_one_number_that_is_none_makes_others_none(package: Any) -> None:
    w = filled(package, 7, 7)
    row = living(w)[-3]
    w.sheep.data.energy[row], w.sheep.data.woolly[row] = math.nan, True
    w.records.sheep.write()
    for how in HOWS:
        assert np.isnan(getattr(w.records.sheep, how)).all(), how
        assert np.isnan(getattr(w.records.sheep, f"some_{how}")).all(), how


@pytest.mark.parametrize("rows", [511, 1300, 40_001])
def test_blocks_and_backends_make_no_difference(rows: int) -> None:
    contents = set()
    for backend in BACKENDS:
        package = world_package(SCHEMA, f"records_{backend}", backend)
        for sizes in ((1024, 65536), (8, 8), (512, 4096)):
            w = filled(package, rows, rows)
            with Tuning.override(block_rows=sizes):
                w.records.sheep.write()
                w.records.others.write()
            tables = (w.records.sheep, w.records.others)
            contents.add(b"".join(c.tobytes() for table in tables for c in table.columns.values()))
    assert len(contents) == 1
    energies = w.sheep.data.energy[living(w)]
    for how, of_all in HOWS.items():
        assert getattr(w.records.sheep, how)[0] == pytest.approx(of_all(energies), rel=1e-11)


def test_tables_are_written_when_schedules_say_so(package: Any) -> None:
    w = filled(package, 3, 3)
    for _ in range(5):
        w.step()
    assert w.records.sheep.tick.tolist() == [0, 1, 2, 3, 4]
    assert w.records.others.tick.tolist() == [1, 2, 3, 4, 5]
    assert set(w.records.herd.tick.tolist()) <= {1, 3}
    doc = package.World.step.__doc__
    assert "herd (at ticks 1, 3, …) writes a line; reads Sheep.energy," in doc.replace("\n", " ")


def test_lines_grow_and_stay_what_they_were(package: Any) -> None:
    w = filled(package, 2, 1)
    table = w.records.sheep
    assert (len(table), table.columns["all"].dtype, table.all.shape) == (0, np.int64, (0,))
    seen = []
    for tick in range(300):
        w.tick = tick
        table.write()
        if tick % 7 == 0:
            seen.append(table.tick)
    assert len(table) == 300
    assert table.tick.tolist() == [*range(300)]
    for k, before in enumerate(seen):
        assert before.tolist() == [*range(7 * k + 1)]
        assert not before.flags.writeable
    table.clear()
    assert (len(table), table.tick.tolist()) == (0, [])
    w.tick = -1
    table.write()
    assert seen[-1][0] == 0  # not where the new line is
    assert table.tick.tolist() == [-1]
    with pytest.raises(ValueError, match="read-only"):
        table.tick[0] = 3


def test_types(package: Any) -> None:
    w = filled(package, 4, 1)
    for name in ("sheep", "herd", "glow"):
        getattr(w.records, name).write()
    sheep = {name: cells.dtype for name, cells in w.records.sheep.columns.items()}
    wanted: dict[str, Any] = dict.fromkeys(sheep, np.float64)
    wanted |= dict.fromkeys(("tick", "all", "old", "wild", "ages", "wrapped"), np.int64)
    assert sheep == wanted | {"vast": np.uint64}
    assert [cells.dtype for cells in w.records.herd.columns.values()] == [
        *(np.int64, np.uint64, np.float64, np.float32, np.int64, np.bool_, np.uint8, np.uint64)
    ]
    assert [*w.records.glow.columns] == ["tick", "id", "heat"]
    assert w.records.glow.id.tolist() == w.records.glow.columns["id"].tolist()


COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.copy,
    copy.deepcopy,
    lambda w: pickle.loads(pickle.dumps(w)),
    lambda w: type(w).load(w.to_bytes()),
)


@pytest.mark.parametrize("copied", COPIES)
def test_copies_have_no_lines(package: Any, copied: Callable[[Any], Any], tmp_path: Any) -> None:
    w = filled(package, 4, 1)
    w.records.open(tmp_path, format="csv")
    w.step()
    before = w.to_bytes()
    w.records.sheep.write()
    assert w.to_bytes() == before
    twin = copied(w)
    assert (len(w.records.sheep), len(twin.records.sheep), twin.tick) == (2, 0, 1)
    twin.records.sheep.write()
    twin.records.flush()  # nowhere
    assert (len(w.records.sheep), len(twin.records.sheep)) == (2, 1)
    assert not [*tmp_path.rglob("*.csv")]
    with pytest.raises(AttributeError):
        w.records = None


def test_types_to_mypy(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    for path, text in sources(load(SCHEMA)).items():
        file = tmp_path / "typed_records" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    output, _, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(user)])
    revealed = re.findall(r'user.py:(\d+): note: Revealed type is "(.*)"', output)
    array = r"numpy.ndarray\[.*numpy.dtype\[numpy.%s"
    wanted = ("signedinteger", "float64|numpy.floating", "unsignedinteger", "bool")
    for (_, shown), scalar in zip(revealed, wanted, strict=True):
        assert re.match(array % f"({scalar})", shown), shown
    wrong = re.findall(r"user.py:(\d+): error", output)
    assert wrong == [
        str(k) for k, line in enumerate(USER.split("\n"), 1) if "wrong" in line
    ], output


def test_tables_whose_names_are_alike() -> None:
    """Or like what generated code has; and a component whose flag is called like it."""
    package = world_package(
        """\
component: S
---
world: Alike
records:
  write: {n: {count: S}}
  t_1: {a: {count: S}, b: {count: S}}
  t1: {c: {count: S}}
schedule: {step: [write, t_1, t1, tick]}
""",
        "alike",
    )
    world = package.Alike()
    world.spawn(2, s={})
    world.step()
    tables = {name: [*getattr(world.records, name).columns] for name in ("write", "t_1", "t1")}
    assert tables == {"write": ["tick", "n"], "t_1": ["tick", "a", "b"], "t1": ["tick", "c"]}
    assert world.records.write.n.tolist() == world.records.t1.c.tolist() == [2]
    assert package.Signature.S == 1
    assert repr(world.records) == "Alike.records(write, t_1, t1)"
