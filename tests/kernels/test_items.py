"""Elements at indices that are computed, on both backends, against the same steps in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

KERNELS = """\
  count:
    over: Bag
    steps:
      - Bag.counts[Bag.kind] += 1
      - Bag.table[Bag.kind - 2, Bag.turn] = Bag.counts[Bag.turn] + 0.5
      - Bag.parts[Bag.turn] *= 2
      - Bag.flags[Bag.kind] = not Bag.flags[Bag.turn]
  locals:
    over: Bag
    args: {weights: "f64[3]", number: i64, many: {type: "i32[20]", each: true}}
    steps:
      - v = Bag.parts * 2
      - v[Bag.turn] = Bag.parts[2 - Bag.turn] + v[Bag.kind]
      - Bag.value = v[Bag.turn] + v.x * 10
      - Bag.value += weights[Bag.kind] + weights[number] + Bag.table[1, number]
      - Bag.counts[many[Bag.kind * 2]] = many[number]
      - Bag.parts = v
      - long = Bag.counts + 1
      - long[number] = 7
      - Bag.counts[1] = long[Bag.turn] + (Bag.counts * 2)[Bag.kind]
  some:
    over: Bag
    where: Bag.flags[Bag.kind] or Bag.value > 0
    steps: |
      if Bag.turn > 0:
          Bag.counts[Bag.kind] -= Bag.turn
          if Bag.kind > 3:
              return
          Bag.parts[Bag.turn] = Bag.value
      Bag.table[Bag.turn, Bag.kind] += 1
  looped:
    over: Bag
    steps: |
      for i in range(-1, 10):
          Bag.counts[i] += Bag.counts[9 - i] - i
          Bag.parts[i] += f32(i)
  read:
    over: Bag
    steps:
      - Bag.value = Bag.friend.Bag.parts[Bag.turn] + f64(Bag.friend.Bag.counts[Bag.kind])
      - Bag.value += f64(Bag.friend.Bag.frame[Bag.kind - 1, Bag.turn])
      - Bag.whom = Bag.links[Bag.turn]
      - Bag.turn = Bag.links[Bag.kind].Bag.kind
  send:
    over: Bag
    steps:
      - Bag.friend.Bag.counts[Bag.kind] += Bag.turn
      - Bag.friend.Bag.counts[2] -= Bag.kind
      - Bag.friend.Bag.counts[Bag.turn] += Bag.counts[Bag.turn]
      - Bag.friend.Bag.parts += Bag.parts
      - Bag.friend.Bag.parts[Bag.turn] += 0.1
      - Bag.friend.Bag.table[Bag.turn, Bag.kind] = Bag.value
      - Bag.friend.Bag.flags[Bag.kind] = Bag.friend.Bag.flags[Bag.kind] or Bag.turn == 1
  send_in_loops:
    over: Bag
    steps: |
      for i in range(Bag.turn + 2):
          Bag.friend.Bag.counts[i + Bag.kind] += i + 1
          Bag.friend.Bag.parts[i] += 0.25
          Bag.friend.Bag.parts += 0.1
"""
SCHEMA = f"""\
component: Bag
fields:
  counts: i32[8]
  table: "f64[2,3]"
  parts: {{type: "f32[3]", split: true}}
  flags: bool[4]
  frame: {{type: "u8[2,2]", default: [[1, 2], [3, 4]]}}
  links: entity[2]
  friend: entity
  whom: entity
  kind: i32
  turn: u8
  value: f64
  k64: u64
kernels:
  big: {{steps: ["value = f64(counts[k64])", "counts[0] = counts[i64(k64)]"]}}
  around: {{near: 1, steps: ["value = f64(sum(other.counts[turn] + other.counts[kind]))"]}}
  drawn: {{steps: ["counts[randrange(8)] += 100"]}}
reductions:
  total: {{sum: "counts[kind]"}}
  least: {{min: "parts[turn]"}}
space: {{field: place}}
---
world: Bags
kernels:
{KERNELS}"""
SCHEMA = SCHEMA.replace("  k64: u64\n", '  k64: u64\n  place: "f64[2]"\n')


IN_TURNS = SCHEMA.replace("    over: Bag\n", "    over: Bag\n    turns: rows\n")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def bags(package: Any, count: int = 3000) -> Any:
    rng = np.random.default_rng(3)
    world = package.Bags()
    entities = world.entities.create_many(count)
    friends = entities[rng.integers(0, count, count)]
    friends[::13] = 0
    world.bag.create_many(
        entities,
        counts=rng.integers(-50, 50, (count, 8)).astype(np.int32),
        table=rng.normal(size=(count, 2, 3)),
        parts=rng.normal(size=(count, 3)).astype(np.float32),
        flags=rng.integers(0, 2, (count, 4)).astype(bool),
        frame=rng.integers(0, 9, (count, 2, 2)).astype(np.uint8),
        links=entities[rng.integers(0, count, (count, 2))],
        friend=friends,
        kind=rng.integers(-2, 10, count).astype(np.int32),
        turn=rng.integers(0, 5, count).astype(np.uint8),
        value=rng.normal(size=count),
        k64=rng.integers(0, 9, count).astype(np.uint64)
        + np.uint64(2**63) * (np.arange(count) % 2 == 0).astype(np.uint64),
    )
    return world


class Naive:
    """The rows of a world, copied, with elements that are 0 and lost outside of the shape."""

    def __init__(self, world: Any) -> None:
        names = "counts table parts flags frame links friend whom kind turn value k64 entity"
        self.columns = {name: column_of(world, name) for name in names.split()}
        self.before = {name: column.copy() for name, column in self.columns.items()}
        self.rows = {entity: row for row, entity in enumerate(self.columns["entity"].tolist())}

    def get(self, row: int | None, name: str, *index: Any, before: bool = False) -> Any:
        columns = self.before if before else self.columns
        column = columns[name]
        if row is None:
            default = {"frame": [[1, 2], [3, 4]]}.get(name)
            cell = (
                np.zeros(column.shape[1:], column.dtype)
                if default is None
                else np.array(default, column.dtype)
            )
        else:
            cell = column[row]
        return item(cell, *index)

    def put(self, row: int | None, name: str, value: Any, *index: Any) -> None:
        if row is not None:
            put_item(self.columns[name][row], value, *index)

    def check(self, world: Any) -> None:
        for name, column in self.columns.items():
            assert column_of(world, name).tobytes() == column.tobytes(), name


def column_of(world: Any, name: str) -> Any:
    """Return a copy of a column; `parts` is split."""
    data = world.bag.data
    if name == "parts":
        return np.stack([data.parts_x, data.parts_y, data.parts_z], axis=1)
    return np.array(getattr(data, name))


def item(cell: Any, *index: Any) -> Any:
    inside = all(0 <= int(i) < size for i, size in zip(index, cell.shape, strict=True))
    return cell[tuple(map(int, index))] if inside else cell.dtype.type(0)


def put_item(cell: Any, value: Any, *index: Any) -> None:
    if all(0 <= int(i) < size for i, size in zip(index, cell.shape, strict=True)):
        cell[tuple(map(int, index))] = value


def count(naive: Naive, row: int) -> None:
    kind, turn = int(naive.get(row, "kind")), int(naive.get(row, "turn"))
    naive.put(row, "counts", naive.get(row, "counts", kind) + 1, kind)
    naive.put(row, "table", naive.get(row, "counts", turn) + 0.5, kind - 2, turn)
    naive.put(row, "parts", naive.get(row, "parts", turn) * np.float32(2), turn)
    naive.put(row, "flags", not naive.get(row, "flags", turn), kind)


def locals_(naive: Naive, row: int, weights: Any, number: int, many: Any) -> None:
    c = naive.columns
    kind, turn = int(c["kind"][row]), int(c["turn"][row])
    v = c["parts"][row] * np.float32(2)
    put_item(v, naive.get(row, "parts", 2 - turn) + item(v, kind), turn)
    value = np.float64(item(v, turn) + v[0] * np.float32(10))
    value = value + (
        item(weights, kind) + item(weights, number) + naive.get(row, "table", 1, number)
    )
    c["value"][row] = value
    naive.put(row, "counts", item(many[row], number), item(many[row], kind * 2))
    c["parts"][row] = v
    long = c["counts"][row] + np.int32(1)
    put_item(long, 7, number)
    c["counts"][row][1] = item(long, turn) + item(c["counts"][row] * np.int32(2), kind)


def some(naive: Naive, row: int) -> None:
    c = naive.columns
    kind, turn = int(c["kind"][row]), int(c["turn"][row])
    if not (naive.get(row, "flags", kind) or c["value"][row] > 0):
        return
    if turn > 0:
        naive.put(row, "counts", naive.get(row, "counts", kind) - turn, kind)
        if kind > 3:
            return
        naive.put(row, "parts", np.float32(c["value"][row]), turn)
    naive.put(row, "table", naive.get(row, "table", turn, kind) + 1, turn, kind)


def looped(naive: Naive, row: int) -> None:
    for i in range(-1, 10):
        added = naive.get(row, "counts", 9 - i) - i
        naive.put(row, "counts", naive.get(row, "counts", i) + added, i)
        naive.put(row, "parts", naive.get(row, "parts", i) + np.float32(i), i)


def read(naive: Naive, row: int) -> None:
    c = naive.columns
    kind, turn = int(c["kind"][row]), int(c["turn"][row])
    friend = naive.rows.get(int(c["friend"][row]))
    value = np.float64(naive.get(friend, "parts", turn)) + np.float64(
        naive.get(friend, "counts", kind)
    )
    c["value"][row] = value + np.float64(naive.get(friend, "frame", kind - 1, turn))
    c["whom"][row] = naive.get(row, "links", turn)
    led = naive.rows.get(int(naive.get(row, "links", kind)))
    c["turn"][row] = np.uint8(
        np.array(0 if led is None else naive.before["kind"][led]).astype(np.uint8)
    )


def send(naive: Naive, row: int) -> None:
    b = naive.before
    kind, turn = int(b["kind"][row]), int(b["turn"][row])
    friend = naive.rows.get(int(b["friend"][row]))
    for value, at in (
        (turn, kind),
        (-kind, 2),
        (naive.get(row, "counts", turn, before=True), turn),
    ):
        naive.put(friend, "counts", naive.get(friend, "counts", at) + value, at)
    if friend is not None:
        naive.columns["parts"][friend] += b["parts"][row]
    naive.put(friend, "parts", naive.get(friend, "parts", turn) + np.float32(0.1), turn)
    naive.put(friend, "table", b["value"][row], turn, kind)
    naive.put(friend, "flags", naive.get(friend, "flags", kind) or turn == 1, kind)


def send_in_loops(naive: Naive, row: int) -> None:
    b = naive.before
    kind, turn = int(b["kind"][row]), int(b["turn"][row])
    friend = naive.rows.get(int(b["friend"][row]))
    for i in range(turn + 2):
        naive.put(friend, "counts", naive.get(friend, "counts", i + kind) + i + 1, i + kind)
        naive.put(friend, "parts", naive.get(friend, "parts", i) + np.float32(0.25), i)
        if friend is not None:
            naive.columns["parts"][friend] += np.float32(0.1)


STEPS = {
    "count": count,
    "some": some,
    "looped": looped,
    "read": read,
    "send": send,
    "send_in_loops": send_in_loops,
}


@pytest.mark.parametrize("name", STEPS)
def test_elements_are_read_written_and_sent(name: str, backend: Backend) -> None:
    world = bags(world_package(SCHEMA, f"items_{backend}", backend))
    naive = Naive(world)
    for row in range(len(world.bag)):
        with np.errstate(all="ignore"):
            STEPS[name](naive, row)
    getattr(world, name)()
    naive.check(world)


@pytest.mark.parametrize("name", STEPS)
def test_rows_in_turns_see_elements_at_once(name: str, backend: Backend) -> None:
    world = bags(world_package(IN_TURNS, f"items_in_turns_{backend}", backend), 500)
    naive = Naive(world)
    naive.before = naive.columns
    for row in range(len(world.bag)):
        with np.errstate(all="ignore"):
            STEPS[name](naive, row)
    getattr(world, name)()
    naive.check(world)


def test_indices_of_64_bits_and_draws(backend: Backend) -> None:
    world = bags(world_package(SCHEMA, f"items_{backend}", backend))
    naive, bag = Naive(world), world.bag
    counts = naive.columns["counts"]
    inside = [k if k < 8 else -1 for k in naive.columns["k64"].tolist()]
    values = [item(counts[row], k) for row, k in enumerate(inside)]
    counts[:, 0] = values
    bag.big()
    assert bag.data.value.tolist() == [float(value) for value in values]
    assert bag.data.counts.tolist() == counts.tolist()
    bag.drawn()
    added = bag.data.counts - counts
    assert (added.sum(axis=1) == 100).all()
    assert (added.sum(axis=0) > 0).all()


def test_reductions_take_elements(backend: Backend) -> None:
    world = bags(world_package(SCHEMA, f"items_{backend}", backend))
    naive = Naive(world)
    kinds, turns = naive.columns["kind"], naive.columns["turn"]
    assert world.bag.total() == sum(int(naive.get(row, "counts", k)) for row, k in enumerate(kinds))
    assert world.bag.least() == min(
        float(naive.get(row, "parts", k)) for row, k in enumerate(turns)
    )


def test_neighbours_have_elements(backend: Backend) -> None:
    world = bags(world_package(SCHEMA, f"items_{backend}", backend), 60)
    bag = world.bag
    bag.data.place = np.random.default_rng(5).uniform(0, 4, (60, 2))
    naive, position = Naive(world), bag.data.place.copy()
    for row in range(60):
        others = [
            k for k in range(60) if k != row and ((position[k] - position[row]) ** 2).sum() <= 1
        ]
        indices = [naive.columns[name][row] for name in ("turn", "kind")]
        counts = [int(naive.get(k, "counts", index)) for k in others for index in indices]
        naive.columns["value"][row] = sum(counts)
    bag.around()
    naive.check(world)


def test_locals_and_arguments_have_elements(backend: Backend) -> None:
    world = bags(world_package(SCHEMA, f"items_{backend}", backend))
    naive, weights = Naive(world), np.array([0.5, 1.5, 2.5])
    many = np.random.default_rng(4).integers(-3, 12, (len(world.bag), 20)).astype(np.int32)
    for number in (-1, 2):
        for row in range(len(world.bag)):
            locals_(naive, row, weights, number, many)
        world.locals(weights, number, many)
        naive.check(world)
