"""Neighbours by links: the interpreter's results on both backends, and a naive sum."""

from __future__ import annotations

import gc
import json
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.kernel_cases import check_kernel, read_schema

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import world_schema
from tests.support.world_package import load, world_package

SCHEMA = """\
component: Person
fields: {state: u8, x: f64, far: f64, k: i64, best: entity, trust: f32, v: "f32[2]"}
---
component: Worker
partition: {start: active}
fields: {wage: f64, peers: i64}
---
component: Knows
owner: none
fields: {a: entity, b: entity, trust: {type: f32, default: 1}}
network: {between: [a, b]}
---
component: Follows
instances: many
ids: true
fields: {whom: entity, since: i32}
network: {from: entity, to: whom}
---
world: Town
queries: {workers: {all: [Person, Worker]}}
kernels:
  sum_up:
    over: Person
    near: {via: Knows}
    steps: [Person.far = sum(other.Person.x * f64(link.trust))]
  count_ill:
    over: Person
    near: {via: Knows}
    where: Person.state == 0
    steps: ["Person.k = count(other.Person.state == 1)", "Person.trust = mean(link.trust)"]
  fame:
    over: Person
    near: {via: Follows, back: true}
    steps:
    - Person.k = count()
    - Person.far = f64(sum(link.since)) + sum(other.Person.x)
    - Person.best = choice(other)
    - Person.v = max(other.Person.v)
  earn:
    over: workers
    near: {via: Knows}
    steps:
    - Worker.wage = sum(other.Worker.wage) + max(other.Person.x, none=1)
    - Worker.peers = count() + mode(other.Worker.peers)
  hire:
    over: Person
    near: {via: Follows, among: workers}
    steps: ["Person.x = max_by(other.Worker.wage, link.since)", "Person.k = count(link != 0)"]
  rewire: {over: Follows, where: Follows.since > 0, steps: [Follows.whom = entity]}
  spread:
    over: Person
    turns: random
    near: {friends: {via: Knows}, idols: {via: Follows}}
    args: {p: f64}
    steps: |
      if Person.state == 1:
          for f in friends:
              if f.Person.state == 0 and random() < p * f64(f.link.trust):
                  f.Person.state = 1
          Person.k = count(idols)
          Person.far = sum(idols.Person.x, where=idols.Person.state == 0)
  part:
    over: Person
    turns: rows
    near: {via: Follows}
    steps: |
      for o in other:
          if o.link.since > 2:
              destroy(o.link)
          elif o.Person.k > 3 and random() < 0.3:
              destroy(o)
      Person.k = count()
      Person.x = sum(other.Person.x)
  greet:
    over: Person
    near: {via: Knows}
    steps: |
      for o in other:
          o.Person.k += 1
          if random() < 0.5:
              Person.x += f64(o.link.trust) * o.Person.far
"""
KERNELS = ("sum_up", "count_ill", "fame", "earn", "hire", "rewire", "spread", "part", "greet")


def _package(backend: Backend) -> Any:
    return world_package(SCHEMA, f"networked_{backend}", backend=backend)


# While numba compiles, frames that hold columns wait for the garbage collector.
@pytest.mark.filterwarnings("ignore:.*the buffer moved")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_links_lead_kernels_as_the_interpreter_goes(backend: Backend, kernel: str) -> None:
    package = _package(backend)
    schema = read_schema(json.dumps(world_schema(load(SCHEMA))))
    for seed in range(6):
        check_kernel(package.World, schema, kernel, 5 + 9 * seed, seed)
        if not seed:
            gc.collect()  # numba may have compiled while a frame held columns


@pytest.mark.parametrize("backend", BACKENDS)
def test_links_are_those_of_the_moment(backend: Backend) -> None:
    world = _package(backend).World()
    es = world.entities.create_many(4)
    world.person.create_many(es, x=[1.0, 2.0, 4.0, 8.0])
    world.knows.create_many(3, a=es[[0, 0, 1]], b=es[[1, 1, 2]])

    def sums() -> list[float]:
        world.sum_up()
        return [float(x) for x in world.person.data.far]

    assert sums() == [4.0, 6.0, 2.0, 0.0]
    world.knows.set_b(0, int(es[3]))
    assert sums() == [10.0, 5.0, 2.0, 1.0]
    world.knows.data.trust[0] = 0.5
    assert sums() == [6.0, 5.0, 2.0, 0.5]
    world.entities.destroy(int(es[2]))
    assert sums()[:2] == [6.0, 1.0]
    world.person.sort("x")
    world.knows.destroy(0)
    assert sums()[:2] == [2.0, 1.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_kernels_write_to_ends_is_seen_by_the_next(backend: Backend) -> None:
    world = _package(backend).World()
    es = world.entities.create_many(3)
    world.person.create_many(es)
    world.follows.create_many(es, whom=es[[1, 2, 0]], since=[1, 0, 0])
    world.fame()
    assert world.person.data.k.tolist() == [1, 1, 1]
    world.rewire()  # the first one follows herself, which is no link
    world.fame()
    assert world.person.data.k.tolist() == [1, 0, 1]
    assert len(world.follows.links_of(es).rows) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_that_a_call_names_ask_alone(backend: Backend) -> None:
    world = _package(backend).World()
    es = world.entities.create_many(40_000)
    rng = np.random.default_rng(0)
    world.person.create_many(es, x=rng.random(len(es)))
    world.knows.create_many(90_000, a=rng.choice(es, 90_000), b=rng.choice(es, 90_000))
    world.sum_up()
    wanted, first, second = world.person.data.far.copy(), *map(
        world.person.lookup_many, (world.knows.data.a, world.knows.data.b)
    )
    x, far = world.person.data.x, np.zeros(len(es))
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if a != b:
            far[a] += x[b]
            far[b] += x[a]
    assert far.tobytes() == wanted.tobytes()
    world.person.data.far = 0
    world.sum_up(rows=[39_999, 5])
    assert world.person.data.far[[5, 39_999]].tobytes() == wanted[[5, 39_999]].tobytes()
    assert np.count_nonzero(world.person.data.far) <= 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_come_after_their_links_are_known(backend: Backend) -> None:
    def expected() -> list[float]:
        rows = {entity: row for row, entity in enumerate(world.person.data.entity.tolist())}
        far = [0.0] * len(rows)
        for a, b in zip(world.knows.data.a.tolist(), world.knows.data.b.tolist(), strict=True):
            if a != b and a in rows and b in rows:
                far[rows[a]] += world.person.data.x[rows[b]]
                far[rows[b]] += world.person.data.x[rows[a]]
        return far

    world = _package(backend).World()
    es = world.entities.create_many(6)
    world.knows.create_many(5, a=es[[0, 1, 4, 2, 3]], b=es[[1, 2, 0, 4, 3]])

    def born(*entities: int, x: float) -> None:
        world.person.create_many(np.array(entities, np.uint64), x=x)
        world.sum_up()
        assert world.person.data.far.tolist() == expected()

    born(*es[:3], x=1)
    born(es[3], x=2)  # knows only itself
    born(es[5], *world.entities.create_many(2), x=4)  # nobody
    born(es[4], x=8)  # two who are there
    world.person.destroy(world.person.lookup(es[3]))
    born(es[3], x=16)
    world.entities.destroy(es[0])
    world.collect()
    born(*world.entities.create_many(2), x=32)
    assert world.person.data.far.any()
