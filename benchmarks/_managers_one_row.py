"""One row at a time, for benchmarks/managers.py: create, remove, look up with a read or a write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from _managers_peers import NONE, Body, ByHand, Spot, SpotsByHand, by_hand, handles
from _timing import Case, Prepare, Run, loop
from numpy.typing import NDArray

OURS, BY_HAND, ESPER = "generated, numpy", "numpy by hand", "esper"
"""One row at a time, both backends run the same code."""


def cases(package: Any, esper: Any, calls: int, live: Iterable[int]) -> Iterator[Case]:
    """Make the cases when they are asked for: a million rows are large. Esper may be None."""
    peers: tuple[Any, Any] = ByHand, Body
    particle = package.ParticleManager, lambda m: lambda e: m.create(e, position=(1.0, 2.0))
    yield create("create", package, esper, calls, particle, peers)
    peers = SpotsByHand, Spot
    spot = package.PlaceManager, lambda m: lambda e: m.create(e, at=(1.0, 2.0))
    yield create("create, one field", package, esper, calls, spot, peers)
    yield remove(package, esper, calls)
    for count in live:
        yield from lookups(package, esper, calls, count)


def create(
    name: str, package: Any, esper: Any, calls: int, ours: tuple[Any, Any], peers: tuple[Any, Any]
) -> Case:
    """Rows of which a vec2 is given."""
    manager, calling = ours
    arrays, component = peers

    def generated() -> Run:
        entities = package.EntityManager()
        m = manager(entities)
        return loop("create(e)", entities.create_many(calls).tolist(), create=calling(m))

    def hand() -> Run:
        h = arrays(calls)
        owners = handles(0, calls).tolist()
        return loop("create(e)", owners, create=lambda e: h.create(e, (1.0, 2.0)))

    def theirs() -> Run:
        esper.clear_database()
        owners = [esper.create_entity() for _ in range(calls)]
        create = lambda e: esper.add_component(e, component((1.0, 2.0)))  # noqa: E731
        return loop("create(e)", owners, create=create)

    return Case(name, calls, contenders(generated, hand, esper and theirs))


def remove(package: Any, esper: Any, calls: int) -> Case:
    """In random order, until none is left."""

    def generated() -> Run:
        m, owners = particles(package, calls)
        return loop("remove(e)", shuffled(owners, calls), remove=m.remove)

    def hand() -> Run:
        order = shuffled(handles(0, calls), calls)
        return loop("remove(e)", order, remove=by_hand(calls).remove)

    def theirs() -> Run:
        esper.clear_database()
        owners = np.array([esper.create_entity(Body((1.0, 2.0))) for _ in range(calls)])
        names = {"remove": esper.remove_component, "Body": Body}
        return loop("remove(e, Body)", shuffled(owners, calls), **names)

    return Case("remove", calls, contenders(generated, hand, esper and theirs))


def lookups(package: Any, esper: Any, calls: int, live: int) -> Iterator[Case]:
    """Some entities in random order of the same live rows for each contender."""
    m, owners = particles(package, live)
    arrays, asked = by_hand(live), shuffled(owners, min(live, calls))
    theirs: list[int] = []
    if esper:
        esper.clear_database()
        everyone = [esper.create_entity(Body((1.0, 2.0))) for _ in range(live)]
        theirs = [everyone[e & NONE] for e in asked]
    read = "m.position(m.lookup(e))", "h.position[h.lookup(e)]", "get(e, Body).position"
    write = (
        "m.set_position(m.lookup(e), (3.0, 4.0))",
        "h.position[h.lookup(e)] = 3.0, 4.0",
        "get(e, Body).position = (3.0, 4.0)",
    )
    for what, (of_ours, of_hand, of_theirs) in {"read": read, "write": write}.items():
        runs = {
            OURS: loop(of_ours, asked, m=m),
            BY_HAND: loop(of_hand, asked, h=arrays),
        }
        if esper:
            runs[ESPER] = loop(of_theirs, theirs, get=esper.component_for_entity, Body=Body)
        yield Case.of(f"lookup and {what} a vec2, {live:,} live", len(asked), runs)


def particles(package: Any, live: int) -> tuple[Any, NDArray[np.uint64]]:
    """Return a manager of particles and their entities."""
    entities = package.EntityManager()
    m = package.ParticleManager(entities)
    owners = entities.create_many(live)
    m.create_many(owners, position=(1.0, 2.0))
    return m, owners


def shuffled(entities: NDArray[Any], count: int) -> list[int]:
    return [int(e) for e in np.random.default_rng(0).permutation(entities)[:count]]


def contenders(*runs: Prepare | None) -> dict[str, Prepare]:
    """Name the contenders; one that is None is left out."""
    named = zip((OURS, BY_HAND, ESPER), runs, strict=True)
    return {name: run for name, run in named if run is not None}
