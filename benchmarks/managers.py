"""A generated manager beside hand-written numpy bookkeeping and the library esper, in one run.

    python benchmarks/managers.py [--bulk ROWS] [--rounds N]

The component is the shipped Particle: five columns with the owner. "numpy by hand" keeps the same
arrays without growing or checking anything, as one would write it for a single component. Its rows
are found as safely: by the whole handle. Contenders not installed are named and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _timing import Case, Prepare, Run, table
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generated import Entity, EntityManager, ParticleManager

ONE_ROW_CALLS = 20_000
NONE = 0xFFFF_FFFF


class ByHand:
    """Particles in arrays of a fixed capacity, with a sparse array from entity index to row."""

    def __init__(self, capacity: int) -> None:
        self.n = 0
        self.rows = np.full(capacity, NONE, np.uint32)
        self.owner = np.empty(capacity, np.uint64)
        self.position = np.empty((capacity, 2), np.float32)
        self.velocity = np.empty((capacity, 2), np.float32)
        self.life = np.empty(capacity, np.float32)
        self.colour = np.empty((capacity, 4), np.uint8)

    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.owner, self.position, self.velocity, self.life, self.colour

    def create(self, entity: int, position: tuple[float, float]) -> int:
        row = self.n
        self.owner[row] = entity
        self.position[row] = position
        self.velocity[row] = 0.0
        self.life[row] = 1.0
        self.colour[row] = 255
        self.rows[entity & NONE] = row
        self.n = row + 1
        return row

    def lookup(self, entity: int) -> int:
        row = int(self.rows[entity & NONE])
        return row if row != NONE and self.owner[row] == entity else NONE

    def remove(self, entity: int) -> None:
        row = self.lookup(entity)
        self.n -= 1
        self.rows[self.owner[self.n] & np.uint64(NONE)] = row
        for column in self.columns():
            column[row] = column[self.n]
        self.rows[entity & NONE] = NONE

    def create_many(self, entities: NDArray[np.uint64], position: NDArray[Any]) -> None:
        span = slice(self.n, self.n + len(entities))
        self.owner[span] = entities
        self.position[span] = position
        self.velocity[span] = 0.0
        self.life[span] = 1.0
        self.colour[span] = 255
        self.rows[entities & np.uint64(NONE)] = np.arange(span.start, span.stop)
        self.n = span.stop

    def lookup_many(self, entities: NDArray[np.uint64]) -> NDArray[np.uint32]:
        rows: NDArray[np.uint32] = self.rows[entities & np.uint64(NONE)]
        rows[self.owner[np.minimum(rows, self.n - 1)] != entities] = NONE
        return rows

    def destroy_many(self, gone: NDArray[np.intp]) -> None:
        kept = self.n - len(gone)
        hole = np.zeros(self.n, np.bool_)
        hole[gone] = True
        self.rows[self.owner[gone] & np.uint64(NONE)] = NONE
        holes = np.flatnonzero(hole[:kept])
        survivors = kept + np.flatnonzero(~hole[kept:])
        for column in self.columns():
            column[holes] = column[survivors]
        self.rows[self.owner[holes] & np.uint64(NONE)] = holes
        self.n = kept


class Body:
    """The same data as esper likes it: an object with attributes."""

    __slots__ = ("colour", "life", "position", "velocity")

    def __init__(self, position: tuple[float, float]) -> None:
        self.position = position
        self.velocity = (0.0, 0.0)
        self.life = 1.0
        self.colour = (255, 255, 255, 255)


def shuffled(entities: NDArray[np.uint64], count: int) -> list[Entity]:
    return [Entity(int(e)) for e in np.random.default_rng(0).permutation(entities)[:count]]


def each(call: Callable[[Any], object], arguments: Iterable[Any]) -> Run:
    """Return a run that calls once per argument."""

    def run() -> None:
        for argument in arguments:
            call(argument)

    return run


def ours(live: int) -> tuple[ParticleManager, NDArray[np.uint64]]:
    """Return a manager of `live` particles and their entities."""
    entities = EntityManager()
    particles = ParticleManager(entities)
    owners = entities.create_many(live)
    particles.create_many(owners, position=(1.0, 2.0))
    return particles, owners


def by_hand(live: int, spare: int = 0) -> ByHand:
    """Return the same with entities 1 << 32 | index, as the EntityManager gives them out."""
    arrays = ByHand(live + spare)
    arrays.create_many(handles(0, live), np.ones((live, 2)))
    return arrays


def handles(start: int, stop: int) -> NDArray[np.uint64]:
    return np.arange(start, stop, dtype=np.uint64) | np.uint64(1 << 32)


def one_row(live: int, esper: Any) -> Iterator[Case]:
    """One call per row, at `live` entities, in random order."""
    m, owners = ours(live)
    h = by_hand(live, spare=ONE_ROW_CALLS)
    some = shuffled(owners, ONE_ROW_CALLS)

    def generated_read() -> None:
        for e in some:
            m.position(m.lookup(e))

    def hand_read() -> None:
        for e in some:
            h.position[h.lookup(e)]

    def generated_write() -> None:
        for e in some:
            m.set_position(m.lookup(e), (3.0, 4.0))

    def hand_write() -> None:
        for e in some:
            h.position[h.lookup(e)] = 3.0, 4.0

    reads: dict[str, Run] = {"generated": generated_read, "numpy by hand": hand_read}
    writes: dict[str, Run] = {"generated": generated_write, "numpy by hand": hand_write}
    if esper is not None:
        esper.clear_database()
        theirs = [esper.create_entity(Body((1.0, 2.0))) for _ in range(live)]
        some_of_theirs = [theirs[e & NONE] for e in some]
        get = esper.component_for_entity

        def esper_read() -> None:
            for e in some_of_theirs:
                _ = get(e, Body).position

        def esper_write() -> None:
            for e in some_of_theirs:
                get(e, Body).position = (3.0, 4.0)

        reads["esper"], writes["esper"] = esper_read, esper_write
    for what, runs in (("read", reads), ("write", writes)):
        name = f"lookup and {what} a vec2, {live:,} live"
        yield Case(name, len(some), {who: always(run) for who, run in runs.items()})


def always(run: Run) -> Prepare:
    return lambda: run


def create_and_remove(esper: Any) -> Iterator[Case]:
    """One row added to, or taken from, each of 20,000 entities."""
    count = ONE_ROW_CALLS

    def generated_create() -> Run:
        entities = EntityManager()
        m = ParticleManager(entities)
        owners = entities.create_many(count).tolist()
        return each(lambda e: m.create(e, position=(1.0, 2.0)), owners)

    def hand_create() -> Run:
        h = ByHand(count)
        owners = handles(0, count).tolist()
        return each(lambda e: h.create(e, (1.0, 2.0)), owners)

    def generated_remove() -> Run:
        m, owners = ours(count)
        return each(m.remove, shuffled(owners, count))

    def hand_remove() -> Run:
        h = by_hand(count)
        return each(h.remove, shuffled(handles(0, count), count))

    creates = {"generated": generated_create, "numpy by hand": hand_create}
    removes = {"generated": generated_remove, "numpy by hand": hand_remove}
    if esper is not None:

        def esper_create() -> Run:
            esper.clear_database()
            owners = [esper.create_entity() for _ in range(count)]
            return each(lambda e: esper.add_component(e, Body((1.0, 2.0))), owners)

        def esper_remove() -> Run:
            esper_create()()
            order = np.random.default_rng(0).permutation(count) + 1
            return each(lambda e: esper.remove_component(e, Body), order.tolist())

        creates["esper"], removes["esper"] = esper_create, esper_remove
    yield Case("create", count, creates)
    yield Case("remove", count, removes)


def bulk(rows: int) -> Iterator[Case]:
    """Many rows per call."""
    places = np.random.default_rng(1).random((rows, 2), np.float32)

    def generated_create() -> Run:
        entities = EntityManager()
        m = ParticleManager(entities)
        m.reserve(rows)
        owners = entities.create_many(rows)
        return lambda: m.create_many(owners, position=places)

    def hand_create() -> Run:
        h = ByHand(rows)
        owners = handles(0, rows)
        return lambda: h.create_many(owners, places)

    yield Case("create_many", rows, {"generated": generated_create, "numpy by hand": hand_create})

    m, owners = ours(rows)
    h = by_hand(rows)
    wanted = np.random.default_rng(2).permutation(owners)
    lookups: dict[str, Prepare] = {
        "generated": always(lambda: m.lookup_many(wanted)),
        "numpy by hand": always(lambda: h.lookup_many(wanted)),
    }
    yield Case("lookup_many, random", rows, lookups)

    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]
    destroys: dict[str, Prepare] = {
        "generated": once(lambda: ours(rows)[0], lambda m: m.destroy_many(tenth)),
        "numpy by hand": once(lambda: by_hand(rows), lambda h: h.destroy_many(tenth)),
    }
    yield Case("destroy_many, a random 10 %", len(tenth), destroys)

    def with_dead() -> ParticleManager:
        entities = EntityManager()
        m = ParticleManager(entities)
        owners = entities.create_many(rows)
        m.create_many(owners)
        entities.destroy_many(owners[tenth])
        return m

    dead = np.zeros(rows, np.bool_)
    dead[tenth] = True
    collects: dict[str, Prepare] = {
        "generated": once(with_dead, lambda m: m.collect()),
        "numpy by hand": once(
            lambda: by_hand(rows), lambda h: h.destroy_many(np.flatnonzero(dead[h.owner & NONE]))
        ),
    }
    yield Case("collect, 10 % dead, per row", rows, collects)


def once(make: Callable[[], Any], run: Callable[[Any], object]) -> Prepare:
    """Prepare runs that each need a fresh subject."""

    def prepare() -> Run:
        subject = make()
        return lambda: run(subject)

    return prepare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bulk", type=int, default=1_000_000, help="rows of bulk calls")
    parser.add_argument("--live", type=int, nargs="*", default=[20_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    esper: Any = None
    if importlib.util.find_spec("esper") is None:
        print("esper is not installed: left out (pip install esper)\n")
    else:
        esper = importlib.import_module("esper")
    cases = [*create_and_remove(esper)]
    table(cases, options.rounds)
    for live in options.live:
        table([*one_row(live, esper)], options.rounds)
    table([*bulk(options.bulk)], options.rounds)


if __name__ == "__main__":
    main()
