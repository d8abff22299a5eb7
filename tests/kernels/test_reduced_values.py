"""Values of reductions in kernels, radii, tables and other reductions, on both backends, against
the reference interpreter."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.reduced_values import column_values
from ecsgen_testing.reference.run import call
from ecsgen_testing.reference.schema import Schema
from ecsgen_testing.reference.world_copy import copied_world, stacked

from ecsgen.cli import ecsgen
from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import make_reference_schema, world_schema
from tests.support.world_package import load, world_package

SCHEMA = """\
component: Person
fields: {state: i64, seen: i64, x: f64, at: "f64[2]", out: f64, b: u8}
space: {field: at}
reductions:
  ill: {count: state > 1}
  total: {sum: b}
  mean_x: {mean: x}
  rich: {sum: x, where: x > Person.mean_x()}
  widest: {max: x}
  spread: {std: at.x}
---
component: Hole
lookup: direct
fields: {v: f32}
reductions: {all_v: {sum: v}, least: {min: v}}
---
component: Part
partition: {start: active}
instances: many
fields: {k: i32, n_: i64, cells: "f32[2]"}
reductions: {busy: {sum: k}, every: {sum: k, rows: all}, second: {mean: "cells[1]"}}
---
component: Patch
grid: {shape: [4, 5]}
fields: {g: f32, k: i32, r: i64}
reductions: {high: {sum: k}}
---
component: Dust
fields: {z: f64}
---
world: Town
archetypes: {components: [Dust]}
queries: {both: {all: [Person, Hole]}, dusty: {all: [Dust]}}
kernels:
  compare:
    over: Person
    where: Person.x >= Person.mean_x()
    steps: |
      Person.seen = Person.ill() + i64(Person.total())
      Person.out = Person.rich() * Person.spread()
  fall_ill:
    over: Person
    turns: {by: Person.x * Person.ill()}
    where: Person.state < Person.ill()
    steps: ["Person.state = 9", "Person.seen = Person.ill()"]
  look:
    over: Person
    near: Person.widest()
    steps: ["Person.seen = count()", "Person.out = sum(other.Person.x * Person.mean_x())"]
  grow:
    over: Patch
    near: {radius: Patch.high()}
    steps: ["Patch.r = count() + i64(Hole.least())"]
  join:
    over: both
    steps: ["Person.out = Hole.all_v() + Part.second() * Part.busy() - Part.every()"]
  settle: {over: dusty, steps: ["Dust.z = Dust.z + Hole.all_v()"]}
  draw:
    over: Person
    near: {radius: Person.widest()}
    turns: random
    steps: ["Person.out += random()"]
  add_one:
    over: Person
    args: {person_ill: i64}
    steps: ["Person.state += Person.ill() - person_ill"]
  plain: {over: Person, steps: ["Person.state += 1"]}
schedule: {step: [plain, add_one, plain]}
records:
  herd:
    ill: {mean: Person.state * Person.ill() + 0 * Part.busy()}
    tall: {count: Person.x > Person.mean_x()}
  rows: {rows: Person, where: Person.x > Person.mean_x(), fields: [x]}
"""
RUN = ("compare", "fall_ill", "look", "grow", "join", "settle")


@pytest.fixture(params=BACKENDS)
def backend(request: Any) -> Backend:
    return request.param  # type: ignore[no-any-return]


def town(backend: Backend, count: int = 60) -> Any:
    """A world whose managers have rows of dead entities, holes and inactive rows."""
    w = world_package(SCHEMA, f"reduced_values_{backend}", backend).Town()
    random = np.random.default_rng(3)
    entities = w.spawn(count, dust={"z": 0.5})
    w.person.create_many(
        entities,
        state=random.integers(0, 3, count),
        x=random.standard_normal(count) * 3,
        at=random.standard_normal((count, 2)) * 10,
        b=random.integers(0, 255, count),
    )
    w.hole.create_many(entities[::2], v=random.standard_normal((count + 1) // 2))
    w.part.create_many(entities[::3], k=random.integers(-9, 9, (count + 2) // 3))
    w.part.data.cells = random.standard_normal((w.part.data.n, 2))
    w.part.deactivate_many(np.arange(w.part.data.n) % 4 == 1)
    w.patch.data.k[7] = 2
    w.hole.remove_many(entities[20:30:2])
    w.entities.destroy_many(entities[:6])
    return w


def cells(w: Any, schema: Schema) -> dict[str, bytes]:
    """All fields of a world."""
    copy = w if isinstance(w, World) else copied_world(w, schema)
    names = [(name, f) for name, c in schema.components.items() for f in c.fields]
    return {f"{name}.{f}": stacked(copy, name, f).tobytes() for name, f in names}


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(make_reference_schema(load(SCHEMA)))


@pytest.mark.parametrize("name", RUN)
def test_kernels_read_them_as_of_the_call(backend: Backend, schema: Schema, name: str) -> None:
    """Of all rows, those of the dead included: the value stays while rows write."""
    w = town(backend)
    wanted = copied_world(w, schema)
    call(wanted, name)
    before = cells(w, schema)
    getattr(w, name)()
    assert cells(w, schema) == cells(wanted, schema) != before


def test_backends_add_in_the_same_order(schema: Schema) -> None:
    """Of more rows than are added in their order."""
    worlds = [town(each, 20_000) for each in BACKENDS]
    for w in worlds:
        for name in ("compare", "join", "settle", "fall_ill"):
            getattr(w, name)()
    first, *others = ([manager.data.out.tobytes() for manager in (w.person,)] for w in worlds)
    assert all(other == first for other in others)
    assert len({w.person.data.seen.tobytes() for w in worlds}) == 1


def test_no_rows(backend: Backend) -> None:
    w = world_package(SCHEMA, f"reduced_values_{backend}", backend).Town()
    w.person.create_many(w.entities.create_many(2), x=-1)
    w.join()
    w.hole.create_many(w.entities.create_many(2))
    w.both.rows()
    w.person.clear()
    w.person.create_many(list(w.entities)[2:])
    w.join()
    assert np.isnan(w.person.data.out).all()  # the mean of no parts


@pytest.mark.parametrize("x", [0, -2, np.nan, np.inf])
def test_bad_radii_do_nothing(backend: Backend, x: float) -> None:
    w = town(backend)
    w.person.data.x = x
    for name in ("look", "draw"):
        with pytest.raises(ValueError, match=r"Town\.(look|draw): Person\.widest"):
            getattr(w, name)()
    assert not w.person.data.seen.any()
    w.patch.data.k = -1
    with pytest.raises(ValueError, match=r"Town\.grow: Patch\.high: wanted 0 or more, not -20"):
        w.grow()


def test_a_refused_call_is_not_counted(backend: Backend) -> None:
    worlds = [town(backend), town(backend)]
    worlds[0].person.data.x = 0
    with pytest.raises(ValueError, match="widest"):
        worlds[0].draw()
    for w in worlds:
        w.person.data.x = 1
        w.draw()
    assert (worlds[0].person.data.out == worlds[1].person.data.out).all()


def test_reductions_and_tables_read_them(backend: Backend, schema: Schema) -> None:
    w = town(backend)
    copy = copied_world(w, schema)
    x = w.person.data.x
    assert w.person.rich() == pytest.approx(x[x > w.person.mean_x()].sum())
    herd = schema.tables["herd"].columns
    w.records.herd.write()
    values = [value.one for value in column_values(copy, herd["ill"])]
    assert w.records.herd.ill[0] == pytest.approx(np.mean(values))
    assert w.records.herd.tall[0] == sum(v.one for v in column_values(copy, herd["tall"]))
    w.records.rows.write()
    rows = schema.tables["rows"].rows
    assert rows is not None
    assert len(w.records.rows) == len(column_values(copy, rows)) > 9


def test_kernels_that_read_them_begin_a_pass(backend: Backend) -> None:
    """Those behind may share it; an argument may be called like the value."""
    w = town(backend)
    state = w.person.data.state.copy()
    w.step(person_ill=2)
    state += 1
    state += (state > 1).sum() - 2 + 1
    assert (w.person.data.state == state).all()
    doc = inspect.getdoc(w.step) or ""
    assert [line[:6] for line in doc.splitlines() if "pass " in line] == [
        "pass 1",
        "pass 2",
        "pass 2",
    ]
    assert "Person.ill()" in (inspect.getdoc(w.add_one) or "")


def test_layout_shows_what_they_read(tmp_path: Any) -> None:
    (tmp_path / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    layout = ["layout", "--schemas", str(tmp_path), "--schedule", "step"]
    shown = CliRunner().invoke(ecsgen, layout).stdout
    _, heading, _, add_one, *_ = shown.splitlines()
    assert add_one[heading.index("of others") :].split()[0] == "Person.state"
    assert "pass 2: add_one reads Person.ill()" in shown


def test_generated_tests_have_the_reductions_that_kernels_read() -> None:
    components = world_schema(load(SCHEMA))["components"]
    assert [*components["Person"]["reductions"]] == [
        *("ill", "total", "mean_x", "rich", "widest", "spread")
    ]
    assert "reductions" not in components["Dust"]
