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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from _peers import NONE, Body, ByHand
from _timing import Case, Prepare, Run, table
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generated import Entity, EntityManager, ParticleManager

ONE_ROW_CALLS = 20_000


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


def by_hand(live: int) -> ByHand:
    """Return the same with entities 1 << 32 | index, as the EntityManager gives them out."""
    arrays = ByHand(live)
    arrays.create_many(handles(0, live), np.ones((live, 2)))
    return arrays


def handles(start: int, stop: int) -> NDArray[np.uint64]:
    return np.arange(start, stop, dtype=np.uint64) | np.uint64(1 << 32)


def create_case(esper: Any) -> Case:
    """One row for each of 20,000 entities."""
    count = ONE_ROW_CALLS

    def generated() -> Run:
        entities = EntityManager()
        m = ParticleManager(entities)
        owners = entities.create_many(count).tolist()
        return each(lambda e: m.create(e, position=(1.0, 2.0)), owners)

    def hand() -> Run:
        h = ByHand(count)
        return each(lambda e: h.create(e, (1.0, 2.0)), handles(0, count).tolist())

    def theirs() -> Run:
        esper.clear_database()
        owners = [esper.create_entity() for _ in range(count)]
        return each(lambda e: esper.add_component(e, Body((1.0, 2.0))), owners)

    return Case("create", count, contenders(generated, hand, theirs if esper else None))


def remove_case(esper: Any) -> Case:
    """The row of each of 20,000 entities, in random order."""
    count = ONE_ROW_CALLS

    def generated() -> Run:
        m, owners = ours(count)
        return each(m.remove, shuffled(owners, count))

    def hand() -> Run:
        h = by_hand(count)
        return each(h.remove, shuffled(handles(0, count), count))

    def theirs() -> Run:
        esper.clear_database()
        owners = [esper.create_entity(Body((1.0, 2.0))) for _ in range(count)]
        order = np.random.default_rng(0).permutation(owners).tolist()
        return each(lambda e: esper.remove_component(e, Body), order)

    return Case("remove", count, contenders(generated, hand, theirs if esper else None))


class Live:
    """The same live rows for each contender, and some of their entities in random order."""

    def __init__(self, live: int, esper: Any) -> None:
        self.live = live
        self.esper = esper
        self.m, owners = ours(live)
        self.h = by_hand(live)
        self.some = shuffled(owners, min(live, ONE_ROW_CALLS))
        self.some_of_theirs: list[int] = []
        if esper is not None:
            esper.clear_database()
            theirs = [esper.create_entity(Body((1.0, 2.0))) for _ in range(live)]
            self.some_of_theirs = [theirs[e & NONE] for e in self.some]

    def read(self) -> Case:
        def generated(m: ParticleManager = self.m) -> None:
            for e in self.some:
                m.position(m.lookup(e))

        def hand(h: ByHand = self.h) -> None:
            for e in self.some:
                h.position[h.lookup(e)]

        def theirs() -> None:
            get = self.esper.component_for_entity
            for e in self.some_of_theirs:
                _ = get(e, Body).position

        return self.case("read", generated, hand, theirs)

    def write(self) -> Case:
        def generated(m: ParticleManager = self.m) -> None:
            for e in self.some:
                m.set_position(m.lookup(e), (3.0, 4.0))

        def hand(h: ByHand = self.h) -> None:
            for e in self.some:
                h.position[h.lookup(e)] = 3.0, 4.0

        def theirs() -> None:
            get = self.esper.component_for_entity
            for e in self.some_of_theirs:
                get(e, Body).position = (3.0, 4.0)

        return self.case("write", generated, hand, theirs)

    def case(self, what: str, generated: Run, hand: Run, theirs: Run) -> Case:
        name = f"lookup and {what} a vec2, {self.live:,} live"
        esper = always(theirs) if self.esper else None
        return Case(name, len(self.some), contenders(always(generated), always(hand), esper))


def create_many_case(rows: int) -> Case:
    places = np.random.default_rng(1).random((rows, 2), np.float32)

    def generated() -> Run:
        entities = EntityManager()
        m = ParticleManager(entities)
        m.reserve(rows)
        owners = entities.create_many(rows)
        return lambda: m.create_many(owners, position=places)

    def hand() -> Run:
        h = ByHand(rows)
        owners = handles(0, rows)
        return lambda: h.create_many(owners, places)

    return Case("create_many", rows, contenders(generated, hand))


def lookup_many_case(rows: int) -> Case:
    m, owners = ours(rows)
    h = by_hand(rows)
    wanted = np.random.default_rng(2).permutation(owners)
    runs = always(lambda: m.lookup_many(wanted)), always(lambda: h.lookup_many(wanted))
    return Case("lookup_many, random", rows, contenders(*runs))


def destroy_many_case(rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]
    runs = (
        once(lambda: ours(rows)[0], lambda m: m.destroy_many(tenth)),
        once(lambda: by_hand(rows), lambda h: h.destroy_many(tenth)),
    )
    return Case("destroy_many, a random 10 %", len(tenth), contenders(*runs))


def collect_case(rows: int) -> Case:
    tenth = np.random.default_rng(3).permutation(rows)[: rows // 10]
    dead = np.zeros(rows, np.bool_)
    dead[tenth] = True

    def generated() -> Run:
        entities = EntityManager()
        m = ParticleManager(entities)
        owners = entities.create_many(rows)
        m.create_many(owners)
        entities.destroy_many(owners[tenth])
        return m.collect

    def hand() -> Run:
        h = by_hand(rows)
        return lambda: h.destroy_many(np.flatnonzero(dead[h.owner & NONE]))

    return Case("collect, 10 % dead, per row", rows, contenders(generated, hand))


def contenders(
    generated: Prepare, hand: Prepare, esper: Prepare | None = None
) -> dict[str, Prepare]:
    """Name the contenders, the generated manager first; None is left out."""
    found = {"generated": generated, "numpy by hand": hand}
    return found if esper is None else {**found, "esper": esper}


def always(run: Run) -> Prepare:
    return lambda: run


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
    table([create_case(esper), remove_case(esper)], options.rounds)
    for live in options.live:
        rows = Live(live, esper)
        table([rows.read(), rows.write()], options.rounds)
    bulk = (create_many_case, lookup_many_case, destroy_many_case, collect_case)
    table([case(options.bulk) for case in bulk], options.rounds)


if __name__ == "__main__":
    main()
