"""One row at a time, for benchmarks/managers.py: create, remove, look up with a read or a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from _managers_peers import NONE, Body, ByHand, Spot, SpotsByHand, by_hand, handles
from _timing import Case, Prepare, Run, always
from numpy.typing import NDArray

CALLS = 20_000


def cases(package: Any, esper: Any, calls: int, live: Iterable[int]) -> Iterator[Case]:
    """Make the cases when they are asked for: a million rows are large. Esper may be None."""
    yield create(package, esper, calls)
    yield create_one_field(package, esper, calls)
    yield remove(package, esper, calls)
    for count in live:
        rows = Live(package, esper, calls, count)
        yield rows.read()
        yield rows.write()


def create(package: Any, esper: Any, calls: int) -> Case:
    """Five columns, one of them given."""

    def generated() -> Run:
        entities = package.EntityManager()
        m = package.ParticleManager(entities)
        owners = entities.create_many(calls).tolist()
        return each(lambda e: m.create(e, position=(1.0, 2.0)), owners)

    def hand() -> Run:
        h = ByHand(calls)
        return each(lambda e: h.create(e, (1.0, 2.0)), handles(0, calls).tolist())

    def theirs() -> Run:
        owners = without_components(esper, calls)
        return each(lambda e: esper.add_component(e, Body((1.0, 2.0))), owners)

    return Case("create", calls, contenders(generated, hand, theirs if esper else None))


def create_one_field(package: Any, esper: Any, calls: int) -> Case:
    """The owner and one vec2."""

    def generated() -> Run:
        entities = package.EntityManager()
        m = package.PlaceManager(entities)
        owners = entities.create_many(calls).tolist()
        return each(lambda e: m.create(e, at=(1.0, 2.0)), owners)

    def hand() -> Run:
        h = SpotsByHand(calls)
        return each(lambda e: h.create(e, (1.0, 2.0)), handles(0, calls).tolist())

    def theirs() -> Run:
        owners = without_components(esper, calls)
        return each(lambda e: esper.add_component(e, Spot((1.0, 2.0))), owners)

    found = contenders(generated, hand, theirs if esper else None)
    return Case("create, one field", calls, found)


def remove(package: Any, esper: Any, calls: int) -> Case:
    """In random order, until none is left."""

    def generated() -> Run:
        m, owners = particles(package, calls)
        return each(m.remove, shuffled(owners, calls))

    def hand() -> Run:
        h = by_hand(calls)
        return each(h.remove, shuffled(handles(0, calls), calls))

    def theirs() -> Run:
        esper.clear_database()
        owners = [esper.create_entity(Body((1.0, 2.0))) for _ in range(calls)]
        order = np.random.default_rng(0).permutation(owners).tolist()
        return each(lambda e: esper.remove_component(e, Body), order)

    return Case("remove", calls, contenders(generated, hand, theirs if esper else None))


class Live:
    """The same live rows for each contender, and some of their entities in random order."""

    def __init__(self, package: Any, esper: Any, calls: int, live: int) -> None:
        self.live = live
        self.esper = esper
        self.m, owners = particles(package, live)
        self.h = by_hand(live)
        self.some = shuffled(owners, min(live, calls))
        self.some_of_theirs: list[int] = []
        if esper is not None:
            esper.clear_database()
            theirs = [esper.create_entity(Body((1.0, 2.0))) for _ in range(live)]
            self.some_of_theirs = [theirs[e & NONE] for e in self.some]

    def read(self) -> Case:
        def generated(m: Any = self.m) -> None:
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
        def generated(m: Any = self.m) -> None:
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


def particles(package: Any, live: int) -> tuple[Any, NDArray[np.uint64]]:
    """Return a manager of particles and their entities."""
    entities = package.EntityManager()
    m = package.ParticleManager(entities)
    owners = entities.create_many(live)
    m.create_many(owners, position=(1.0, 2.0))
    return m, owners


def without_components(esper: Any, count: int) -> list[int]:
    esper.clear_database()
    return [esper.create_entity() for _ in range(count)]


def shuffled(entities: NDArray[np.uint64], count: int) -> list[int]:
    return [int(e) for e in np.random.default_rng(0).permutation(entities)[:count]]


def each(call: Callable[[Any], object], arguments: Iterable[Any]) -> Run:
    """Return a run that calls once per argument."""

    def run() -> None:
        for argument in arguments:
            call(argument)

    return run


def contenders(generated: Prepare, hand: Prepare, esper: Prepare | None) -> dict[str, Prepare]:
    """Name the contenders; None is left out. One row at a time both backends are the same code."""
    found = {"generated, numpy": generated, "numpy by hand": hand}
    return found if esper is None else {**found, "esper": esper}
