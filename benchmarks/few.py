"""A few at a time: what comes and goes singly, beside the bulk calls and the library esper.

    python benchmarks/few.py [--rounds N]

Ratios of best times within one run, each round with fresh subjects.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _missing import library_or_none
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, always, heading, machine, show

PARTS = tuple(f"c{number}" for number in range(6))
SIZES = (1, 4, 10, 100)
OURS = ("one by one",)


class Plain:
    """A component as esper likes it."""

    __slots__ = ("w", "x", "y", "z")

    def __init__(self, x: float = 0.0, y: float = 0.0, z: float = 0.0, w: float = 0.0) -> None:
        self.x, self.y, self.z, self.w = x, y, z, w


KINDS = tuple(type(f"Kind{number}", (Plain,), {"__slots__": ()}) for number in range(6))


def cases(package: Any, esper: Any) -> Iterator[Case]:
    """Make the cases, each of which prepares its own worlds."""
    yield death(package, esper)
    for count in SIZES:
        yield spawns(package, esper, count)
    for fields in (0, 1, 4):
        yield creation(package, esper, fields)
    for count in SIZES:
        yield from bulk(package, count)
    yield last_row(package)
    yield only_instance(package)
    yield from query(package, esper)
    yield hierarchy(package)


def death(package: Any, esper: Any) -> Case:
    """Entities of six components die one after the other."""

    def ours() -> Run:
        world = package.Few()
        world.spawn(10, **{part: {} for part in PARTS})
        entities = world.spawn(300, **{part: {} for part in PARTS}).tolist()
        destroy = world.entities.destroy

        def run() -> None:
            for entity in entities:
                destroy(entity)
            assert len(world.c0) == 10  # the world is there to the end

        random.Random(0).shuffle(entities)
        return run

    found: dict[str, Prepare] = {"one by one": ours}
    if esper:

        def theirs() -> Run:
            esper.clear_database()
            entities = [esper.create_entity(*(kind() for kind in KINDS)) for _ in range(300)]
            return each(lambda e: esper.delete_entity(e, immediate=True), shuffled(entities))

        found["esper"] = theirs
    return Case("an entity of six components with destroy: callback dies", 300, found)


def spawns(package: Any, esper: Any, count: int) -> Case:
    """Entities of six components are spawned."""

    def world() -> Any:
        made = package.Few()
        for part in PARTS:
            getattr(made, part).reserve(10_000)
        return made

    def singly() -> Run:
        made = world()
        creates = [getattr(made, part).create for part in PARTS]

        def run() -> None:
            for _ in range(50 * count):
                entity = made.entities.create()
                for create in creates:
                    create(entity)

        return run

    def spawned() -> Run:
        made = world()
        given: dict[str, dict[str, float]] = {part: {} for part in PARTS}
        return repeat(50, lambda: made.spawn(count, **given))

    found: dict[str, Prepare] = {"one by one": singly, f"spawn({count})": spawned}
    if esper:

        def theirs() -> Run:
            esper.clear_database()
            return repeat(50 * count, lambda: esper.create_entity(*(kind() for kind in KINDS)))

        found["esper"] = theirs
    return Case("six components spawned", 50 * count, found)


def creation(package: Any, esper: Any, fields: int) -> Case:
    """A component of so many fields is created."""
    given: dict[str, float] = dict(zip("xyzw"[:fields], (1.0, 2.0, 3.0, 4.0), strict=False))
    name = {0: "empty", 1: "one", 4: "four"}[fields]

    def ours() -> Run:
        world = package.Few()
        manager = getattr(world, name)
        manager.reserve(1_000)
        entities = world.entities.create_many(500).tolist()
        return each(lambda e: manager.create(e, **given), entities)

    found: dict[str, Prepare] = {"one by one": ours}
    if esper:

        def theirs() -> Run:
            esper.clear_database()
            entities = [esper.create_entity() for _ in range(500)]
            kind = KINDS[0]
            return each(lambda e: esper.add_component(e, kind(**given)), entities)

        found["esper"] = theirs
    return Case(f"create, {fields} fields given", 500, found)


def bulk(package: Any, count: int) -> Iterator[Case]:
    """Bulk calls that are given so many rows, beside as many calls for one."""
    calls: dict[str, Callable[[Any, list[int]], tuple[Callable[[int], object], object]]] = {
        "create_many": lambda m, es: (m.create, lambda chosen: m.create_many(chosen)),
        "lookup_many": lambda m, es: (m.lookup, lambda chosen: m.lookup_many(chosen)),
        "remove_many": lambda m, es: (m.remove, lambda chosen: m.remove_many(chosen)),
    }

    def prepare(name: str, at_once: bool) -> Run:
        world = package.Few()
        world.one.reserve(10_000)
        entities = world.entities.create_many(2_000).tolist()
        if name != "create_many":
            world.one.create_many(entities)
        single, several = calls[name](world.one, entities)
        chosen = shuffled(entities)[: 10 * count]
        parts = [chosen[k : k + count] for k in range(0, len(chosen), count)]
        return each(several, parts) if at_once else each(single, chosen)  # type: ignore[arg-type]

    for name in calls:
        found: dict[str, Prepare] = {
            "one by one": lambda name=name: prepare(name, at_once=False),  # type: ignore[misc]
            f"{name}, {count} each": lambda name=name: prepare(name, at_once=True),  # type: ignore[misc]
        }
        yield Case(name, 10 * count, found)


def last_row(package: Any) -> Case:
    """The last row of a direct manager goes."""

    def prepare() -> Run:
        world = package.Few()
        world.flat.create_many(world.entities.create_many(500))
        return each(world.flat.destroy, range(499, -1, -1))

    return Case("destroy the last row, lookup: direct", 500, {"one by one": prepare})


def only_instance(package: Any) -> Case:
    """The only instance of an entity goes."""

    def prepare() -> Run:
        world = package.Few()
        entities = world.entities.create_many(500)
        world.several.create_many(entities)
        return each(world.several.remove, shuffled(entities.tolist()))

    return Case("remove an only instance, instances: many", 500, {"one by one": prepare})


def query(package: Any, esper: Any) -> Iterator[Case]:
    """A loop over a query that reads a cell of both components, and a column of it."""
    for count in (100, 1_000, 10_000):
        world = package.Few()
        world.spawn(count, one={"x": 1.0}, four={"y": 2.0})

        def loop(world: Any = world) -> None:
            x, y = world.one.x, world.four.y
            for _, one, four in world.pairs:
                x(one) + y(four)

        def lists(world: Any = world) -> None:
            columns = world.pairs.one.x.tolist(), world.pairs.four.y.tolist()
            for x, y in zip(*columns, strict=True):
                x + y

        found: dict[str, Prepare] = {"one by one": always(loop), "columns as lists": always(lists)}
        if esper:
            esper.clear_database()
            for _ in range(count):
                esper.create_entity(KINDS[0](1.0), KINDS[1](0.0, 2.0))

            def theirs() -> None:
                for _, (one, four) in esper.get_components(KINDS[0], KINDS[1]):
                    one.x + four.y

            theirs()
            found["esper"] = always(theirs)
        yield Case("for row in query, two cells read", count, found)
        yield Case(
            f"query.one.x of {count:,}, ns per access",
            100,
            {"one by one": always(repeat(100, lambda world=world: world.pairs.one.x))},  # type: ignore[misc]
        )


def hierarchy(package: Any) -> Case:
    """A kernel that reads parents, over a hundred nodes in ten levels."""
    world = package.Few()
    world.node.create_many(world.entities.create_many(100))
    for row in range(10, 100):
        world.node.set_parent(row, row - 10)
    world.node.place()
    return Case("a kernel over 100 nodes in 10 levels", 1, {"one by one": always(world.node.place)})


def each(call: Callable[[Any], object], given: Any) -> Run:
    """Return what makes a call for each of these."""

    def run() -> None:
        for one in given:
            call(one)

    return run


def repeat(times: int, call: Callable[[], object]) -> Run:
    """Return what makes a call so many times."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def shuffled(given: list[Any]) -> list[Any]:
    """Return the same in random order, the same order each time."""
    return random.Random(0).sample(given, len(given))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    esper = library_or_none("esper")
    with tempfile.TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "few.yaml")
        print(f"{machine()}\n\n{heading(OURS)}")
        for case in cases(package, esper):
            show(case, options.rounds, OURS)


if __name__ == "__main__":
    main()
