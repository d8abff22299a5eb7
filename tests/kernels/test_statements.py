"""Branches and loops in kernels, on both backends, against the same steps in plain Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import MASK, call_key, mix, row_stem, unit_number, word

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import checked, world_package

SCHEMA = """\
component: Walker
fields: {x: f64, y: f64, v: "f32[2]", hits: i32, state: i32}
kernels:
  branch:
    args: {dt: f64}
    steps: |
      # comments stand anywhere
      if state == 0:
          x += dt
          if hits > 3:
              state = 1
              return
          z = x * 2  # a local of both ways
      elif state == 1 and x > 0:
          z = x / (x - 1)
          v.x += 1
      else:
          state = 0
          z = -1.0
      hits += 1
      x = z
  whole:
    args: {many: i32}
    at_most: 5
    steps:
      - total = 0
      - |
        for i in range(many):
            if i == 3:
                continue
            if i > 6:
                break
            total += i * 2
            for j in range(i, 3):
                if total > 50 and j == 2:
                    return
                total += 1
            while x < 10:
                x += abs(x) + 0.5
      - hits += i32(total)
  draw:
    args: {many: i32}
    at_most: 50
    steps: |
      x = random()
      for i in range(1, many):
          x += random()
          if x > 1:
              x += uniform(0, 2)
          for j in range(2):
              y += random()
      while random() < 0.8:
          y += 1
---
component: Node
fields: {load: f64, hits: i32, friend: entity, amount: i32, speed: "f32[2]", last: i32}
---
component: Kid
fields: {age: i32, place: "f64[3]"}
---
world: Play
kernels:
  send:
    over: Node
    steps: |
      for i in range(Node.amount):
          Node.friend.Node.load += 0.1 * f64(i)
          if i == 2:
              Node.friend.Node.speed += 1
      Node.friend.Node.load -= Node.load
      if Node.amount > 2:
          Node.friend.Node.hits += Node.hits
  tell:
    over: Node
    steps: |
      if Node.amount > 3:
          Node.friend.Node.last = Node.amount
          return
      Node.friend.Node.last = -Node.hits
  bear:
    over: Node
    steps: |
      for i in range(Node.amount):
          if i % 2 == 0:
              spawn(Kid(age=i, place=f64(i)))
          Node.load += 1
      if Node.amount == 0:
          die()
      Node.hits += 1
"""
STEP = 0x9E3779B97F4A7C15


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    return world_package(SCHEMA, f"statements_{backend}", backend).Play()


def walkers(world: Any, count: int = 2500) -> Any:
    rng = np.random.default_rng(1)
    manager = world.walker
    manager.create_many(
        world.entities.create_many(count),
        x=rng.normal(0, 3, count),
        hits=rng.integers(0, 6, count).astype(np.int32),
        state=rng.integers(0, 3, count).astype(np.int32),
        v=rng.normal(0, 1, (count, 2)).astype(np.float32),
    )
    return manager


def branch(row: dict[str, Any], dt: float) -> None:
    if row["state"] == 0:
        row["x"] += dt
        if row["hits"] > 3:
            row["state"] = 1
            return
        z = row["x"] * 2
    elif row["state"] == 1 and row["x"] > 0:
        z = row["x"] / (row["x"] - 1)
        row["v"][0] += 1
    else:
        row["state"], z = 0, -1.0
    row["hits"] += 1
    row["x"] = z


def whole(row: dict[str, Any], many: int) -> int:
    """Return how often the `while` was cut off."""
    total = cut_off = 0
    for i in range(many):
        if i == 3:
            continue
        if i > 6:
            break
        total += i * 2
        for j in range(i, 3):
            if total > 50 and j == 2:
                return cut_off
            total += 1
        passes = 0
        while row["x"] < 10:
            if passes == 5:
                cut_off += 1
                break
            passes += 1
            row["x"] += abs(row["x"]) + 0.5
    row["hits"] += total
    return cut_off


def rows_of(manager: Any) -> list[dict[str, Any]]:
    names = "x", "y", "v", "hits", "state"
    columns = {name: getattr(manager.data, name).copy() for name in names}
    return [{name: column[k] for name, column in columns.items()} for k in range(len(manager))]


def check(manager: Any, rows: list[dict[str, Any]]) -> None:
    for name in rows[0]:
        column = getattr(manager.data, name)
        expected = np.array([row[name] for row in rows], column.dtype)
        assert column.tobytes() == expected.tobytes(), name


def test_only_the_branch_taken_is_worked_out(world: Any) -> None:
    manager = walkers(world)
    for _ in range(3):
        rows = rows_of(manager)
        with np.errstate(all="ignore"):
            for row in rows:
                branch(row, 0.5)
        manager.branch(0.5)
        check(manager, rows)


def test_rows_that_a_call_names_take_branches(world: Any) -> None:
    manager = walkers(world, 50)
    rows = rows_of(manager)
    for k in (7, 3, 40):
        branch(rows[k], 0.5)
    manager.branch(0.5, rows=[7, 3, 40])
    check(manager, rows)


def test_loops_go_on_and_break_and_end_rows(world: Any) -> None:
    manager = walkers(world, 300)
    manager.data.x[::7] = 1e-3
    for many in (0, 2, 9):
        rows = rows_of(manager)
        cut_off = sum(whole(row, many) for row in rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            manager.whole(many)
        check(manager, rows)
        shown = [str(warning.message) for warning in caught]
        times = "once" if cut_off == 1 else f"{cut_off} times"
        message = f"Walker.whole: 'while x < 10:' went on after 5 passes and was cut off {times}"
        assert shown == ([message] if cut_off else [])


def test_each_pass_of_a_loop_draws_other_numbers(world: Any) -> None:
    manager = walkers(world, 200)
    world.seed = 7
    manager.seed = 7
    manager.draw(4)
    key = call_key(7, "Walker.draw", 0)

    def drawn(who: int, number: int) -> float:
        return unit_number(word(row_stem(who, key), number))

    for entity, x, y in zip(
        manager.data.entity.tolist(), manager.data.x, manager.data.y, strict=True
    ):
        expected_x, expected_y = drawn(entity, 0), 0.0
        for k in (1, 2, 3):
            who = in_pass(entity, k)
            expected_x += drawn(who, 1)
            if expected_x > 1:
                expected_x += 0 + (2 - 0) * drawn(who, 2)
            for inner in (1, 2):
                expected_y += drawn(in_pass(who, inner), 3)
        passes = 0
        while drawn(in_pass(entity, passes + 1), 4) < 0.8:
            expected_y += 1
            passes += 1
        assert (x, y) == (expected_x, expected_y)


def in_pass(who: int, number: int) -> int:
    """Return what tells a pass of a loop apart."""
    return mix(who ^ mix(number + STEP & MASK))


def nodes(world: Any, count: int = 700) -> Any:
    rng = np.random.default_rng(2)
    entities = world.entities.create_many(count)
    friends = entities[rng.integers(0, count, count)]
    friends[::17] = 0
    world.node.create_many(
        entities,
        load=rng.normal(size=count),
        hits=rng.integers(0, 7, count).astype(np.int32),
        friend=friends,
        amount=rng.integers(0, 9, count).astype(np.int32),
    )
    return world.node


def test_messages_from_branches_and_loops_arrive_in_the_order_of_rows(world: Any) -> None:
    data = nodes(world).data
    rows = {entity: row for row, entity in enumerate(data.entity.tolist())}
    load, hits, speed = data.load.copy(), data.hits.copy(), data.speed.copy()
    for row, friend in enumerate(data.friend.tolist()):
        if friend == 0:
            continue
        to = rows[friend]
        for i in range(data.amount[row]):
            load[to] += 0.1 * i
            if i == 2:
                speed[to] += 1
        load[to] -= data.load[row]
        if data.amount[row] > 2:
            hits[to] += data.hits[row]
    world.send()
    assert (data.load.tobytes(), data.speed.tobytes()) == (load.tobytes(), speed.tobytes())
    assert data.hits.tolist() == hits.tolist()


def test_of_several_messages_that_assign_the_last_one_stands(world: Any) -> None:
    data = nodes(world).data
    rows = {entity: row for row, entity in enumerate(data.entity.tolist())}
    last = data.last.copy()
    for row, friend in enumerate(data.friend.tolist()):
        if friend:
            amount = data.amount[row]
            last[rows[friend]] = amount if amount > 3 else -data.hits[row]
    world.tell()
    assert data.last.tolist() == last.tolist()


def test_loops_spawn_any_number_of_times(world: Any) -> None:
    data = nodes(world).data
    ages = [i for amount in data.amount for i in range(amount) if i % 2 == 0]
    living = [entity for entity, amount in zip(data.entity, data.amount, strict=True) if amount]
    hits = [n + 1 for n, amount in zip(data.hits, data.amount, strict=True) if amount]
    world.bear()
    world.collect()
    assert world.kid.data.age.tolist() == ages
    assert world.kid.data.place.tolist() == [[age] * 3 for age in ages]
    assert sorted(data.entity.tolist()) == sorted(living)
    assert sorted(data.hits.tolist()) == sorted(hits)


ENDLESS = """\
component: Body
fields: {k: f64}
kernels: {own: {at_most: 3, steps: ["while k < 100: k += 1"]}}
---
world: Game
kernels: {all_: {over: Body, at_most: 3, steps: ["while Body.k < 100: Body.k += 1"]}}
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [None, [1, 4]])
def test_a_loop_that_is_cut_off_gives_a_warning(backend: Backend, rows: Any) -> None:
    w = world_package(ENDLESS, f"cut_off_{backend}", backend).World()
    w.spawn(5, body={})
    times = "5 times" if rows is None else "2 times"
    for kernel, name in ((w.body.own, "Body.own"), (w.all_, "all_")):
        with pytest.warns(RuntimeWarning, match=f"^{name}: .* cut off {times}$"):
            kernel(rows=rows)


@pytest.mark.parametrize("line", ["elif k > 1:", "else:"])
def test_what_goes_on_from_no_if_says_so(line: str) -> None:
    steps = f"      k = 1\n      {line}\n          k = 2\n"
    text = f"component: Body\nfields: {{k: f64}}\nkernels:\n  own:\n    steps: |\n{steps}"
    (error,) = checked(text)[1]
    assert (error.code, error.mark.line) == ("E112", 7)
    assert "it goes on from an 'if' of the same text" in error.hint
