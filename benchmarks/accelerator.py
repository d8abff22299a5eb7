"""One row at a time with methods in C, beside generated Python and esper, in one run.

    python benchmarks/accelerator.py [--live N ...] [--rounds N]

Every call gives all fields. The ratios are our time by theirs: below 1, ecsgen is faster.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _arguments import parsed
from _missing_contenders import MissingError, library, need_methods_in_c
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, loop, machine, measure

CALLS = 20_000
IN_C, IN_PYTHON, ESPER = "in C", "in Python", "esper"
VALUES: dict[str, Any] = {"a": 1.0, "b": (1.0, 2.0), "c": 7, "d": (1.0, 2.0, 3.0)}
Packages: TypeAlias = dict[str, Any]
Loop: TypeAlias = tuple[Iterable[Any], dict[str, Any]]
"""The values of `e` in a loop, and what else its statement names."""


class Peer:
    """A component as one writes it for esper."""

    __slots__ = ("a", "b", "c", "d")

    def __init__(self, a: float = 0.0, b: Any = None, c: int = 0, d: Any = None) -> None:
        self.a = a
        self.b = b
        self.c = c
        self.d = d


class Other(Peer):
    """Another one."""

    __slots__ = ()


KINDS = [type(f"Kind{number}", (Peer,), {"__slots__": ()}) for number in range(6)]


def case(
    name: str,
    count: int,
    packages: Packages,
    statements: tuple[str, str],
    generated: Callable[[Any], Loop],
    peer: Callable[[], Loop],
) -> Case:
    """Make a case of a statement for each `e`, ours and that for esper."""
    ours, theirs = statements
    runs: dict[str, Prepare] = {
        contender: partial(looping, ours, partial(generated, package))
        for contender, package in packages.items()
    }
    return Case(name, count, {**runs, ESPER: partial(looping, theirs, peer)})


def looping(statement: str, prepare: Callable[[], Loop]) -> Run:
    """Return the loop of a statement over new subjects."""
    values, names = prepare()
    return loop(statement, values, **names)


def create(packages: Packages, esper: Any, fields: int) -> Case:
    """Entities that are there get a component."""
    values = {name: VALUES[name] for name in "abcd"[:fields]}
    arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
    ours = f"create(e, {arguments})" if arguments else "create(e)"

    def generated(package: Any) -> Loop:
        entities = package.EntityManager()
        m = getattr(package, f"Fields{fields}Manager")(entities)
        return entities.create_many(CALLS).tolist(), {"create": m.create}

    def peer() -> Loop:
        esper.clear_database()
        owners = [esper.create_entity() for _ in range(CALLS)]
        return owners, {"create": esper.add_component, "Peer": Peer}

    statements = ours, f"create(e, Peer({arguments}))"
    return case(f"create, {fields} fields", CALLS, packages, statements, generated, peer)


def remove(packages: Packages, esper: Any) -> Case:
    """In random order, until none is left."""

    def generated(package: Any) -> Loop:
        m, owners = filled(package, CALLS)
        return owners, {"remove": m.remove}

    def peer() -> Loop:
        return filled_esper(esper, CALLS), {"remove": esper.remove_component, "Peer": Peer}

    return case("remove", CALLS, packages, ("remove(e)", "remove(e, Peer)"), generated, peer)


LIVE = {
    "lookup and read": ("b(lookup(e))", "get(e, Peer).b"),
    "lookup and write": ("set_b(lookup(e), (3.0, 4.0))", "get(e, Peer).b = (3.0, 4.0)"),
    "has": ("has(e)", "has(e, Peer)"),
}
"""Statements about an entity of a vec2, here and in esper."""


def live(packages: Packages, esper: Any, count: int, is_mixed: bool) -> Iterator[Case]:
    """A vec2 of entities in random order, by lookup and accessor.

    Rows are in the order in which their entities were created, or mixed.
    """
    loops: dict[int, Loop] = {}
    for package in packages.values():
        m, owners = filled(package, count, is_mixed)
        names = {name: getattr(m, name) for name in ("b", "set_b", "lookup", "has")}
        loops[id(package)] = repeated(owners), names
    methods = {"get": esper.component_for_entity, "has": esper.has_component, "Peer": Peer}
    peers = repeated(filled_esper(esper, count))
    order = ", rows mixed" if is_mixed else ""
    for what, statements in LIVE.items():
        name = f"{what}, {count:,} alive{order}"
        ours = lambda package: loops[id(package)]  # noqa: E731
        yield case(name, len(peers), packages, statements, ours, lambda: (peers, methods))


def repeated(entities: list[int]) -> list[int]:
    """Return as many entities as there are calls, the few again and again."""
    return (entities * -(-CALLS // len(entities)))[:CALLS]


def entities(packages: Packages, esper: Any) -> Case:
    """One comes, one goes."""

    def generated(package: Any) -> Loop:
        m = package.EntityManager()
        m.destroy_many(m.create_many(2_000))
        return range(CALLS), {"create": m.create, "destroy": m.destroy}

    def peer() -> Loop:
        esper.clear_database()
        return range(CALLS), {"create": esper.create_entity, "destroy": esper.delete_entity}

    statements = "destroy(create())", "destroy(create(), True)"
    return case("an entity comes and goes", CALLS, packages, statements, generated, peer)


def spawn(packages: Packages, esper: Any) -> Case:
    """An entity with two components in one call."""

    def generated(package: Any) -> Loop:
        world = package.Few()
        for manager in (world.one, world.four):
            manager.reserve(CALLS)
        return range(CALLS), {"spawn": world.spawn}

    def peer() -> Loop:
        esper.clear_database()
        return range(CALLS), {"create": esper.create_entity, "Peer": Peer, "Other": Other}

    ours = "spawn(1, one={'x': 1.0}, four={'x': 1.0, 'y': 2.0})"
    statements = ours, "create(Peer(1.0), Other(1.0, 2.0))"
    return case("spawn(1) of two components", CALLS, packages, statements, generated, peer)


def death(packages: Packages, esper: Any) -> Case:
    """An entity of six components that go with it."""
    count = CALLS // 10

    def generated(package: Any) -> Loop:
        world = package.Few()
        owners = world.spawn(count, **{f"c{number}": {} for number in range(6)}).tolist()
        random.Random(0).shuffle(owners)
        # The world is there to the end.
        return owners, {"destroy": world.entities.destroy, "world": world}

    def peer() -> Loop:
        esper.clear_database()
        owners = [esper.create_entity(*(kind() for kind in KINDS)) for _ in range(count)]
        random.Random(0).shuffle(owners)
        return owners, {"destroy": esper.delete_entity}

    statements = "destroy(e)", "destroy(e, True)"
    name = "an entity of six components goes"
    return case(name, count, packages, statements, generated, peer)


def noted(packages: Packages, esper: Any) -> Case:
    """One comes with two components and is noted; a collection of ten that are."""
    count = CALLS // 10

    def generated(package: Any) -> Loop:
        world = package.Few()
        owners = world.spawn(count, one={}, four={}).tolist()
        world.collect()
        return owners, {"destroy": world.destroy_later, "remove": world.collect}

    def peer() -> Loop:
        esper.clear_database()
        owners = [esper.create_entity(Peer(), Other()) for _ in range(count)]
        return owners, {"destroy": esper.delete_entity, "remove": esper.clear_dead_entities}

    statement = "destroy(e); remove() if e % 10 == 9 else None"
    name = "an entity is noted, and ten are collected"
    return case(name, count, packages, (statement, statement), generated, peer)


def row_objects(packages: Packages, esper: Any) -> Case:
    """Row objects, of which each changes a field."""

    def generated(package: Any) -> Loop:
        return range(1), {"rows": filled(package, 1_000)[0].rows}

    def peer() -> Loop:
        pairs(esper)
        return range(1), {"get": esper.get_component, "Peer": Peer}

    statements = "for row in rows(): row.a += 1.0", "for _, row in get(Peer): row.a += 1.0"
    name = "a loop over row objects, += 1, a step"
    return case(name, 1_000, packages, statements, generated, peer)


def query(packages: Packages, esper: Any) -> Case:
    """A query, of which two cells are read."""

    def generated(package: Any) -> Loop:
        world = package.Few()
        world.spawn(1_000, one={}, four={})
        list(world.pairs)
        return range(1), {"pairs": world.pairs, "x": world.one.x, "y": world.four.y}

    def peer() -> Loop:
        pairs(esper)
        return range(1), {"get": esper.get_components, "Peer": Peer, "Other": Other}

    theirs = "for _, (one, four) in get(Peer, Other): one.a + four.b"
    statements = "for _, one, four in pairs: x(one) + y(four)", theirs
    name = "a loop over a query, two cells read, a step"
    return case(name, 1_000, packages, statements, generated, peer)


def pairs(esper: Any) -> None:
    """Make a thousand entities of two components, and let esper find them once."""
    esper.clear_database()
    for _ in range(1_000):
        esper.create_entity(Peer(1.0), Other(1.0, 2.0))
    esper.get_component(Peer)
    esper.get_components(Peer, Other)


def filled(package: Any, count: int, is_mixed: bool = False) -> tuple[Any, list[int]]:
    """Return a manager with rows, and their entities in random order."""
    manager = package.EntityManager()
    m = package.Fields4Manager(manager)
    owners = manager.create_many(count).tolist()
    rows = owners.copy()
    if is_mixed:
        random.Random(1).shuffle(rows)
    m.create_many(rows, **VALUES)
    random.Random(0).shuffle(owners)
    return m, owners


def filled_esper(esper: Any, count: int) -> list[int]:
    esper.clear_database()
    owners = [esper.create_entity(Peer(**VALUES)) for _ in range(count)]
    random.Random(0).shuffle(owners)
    return owners


def cases(packages: Packages, esper: Any, counts: list[int]) -> Iterator[Case]:
    """Make the cases when they are asked for: a million rows are large."""
    for fields in range(5):
        yield create(packages, esper, fields)
    for make in (remove, entities, spawn, death, noted, row_objects, query):
        yield make(packages, esper)
    for count in counts:
        for is_mixed in (False, True):
            yield from live(packages, esper, count, is_mixed)


def main() -> None:
    options = parsed(__doc__, live=(1_000, 20_000, 1_000_000), rounds=15)
    try:
        esper = library("esper")
        need_methods_in_c()
    except MissingError as reason:
        print(f"nothing to compare: {reason}")
        return
    with TemporaryDirectory() as name:
        packages = {}
        for contender, wish in ((IN_C, "0"), (IN_PYTHON, "1")):
            os.environ["ECSGEN_PURE"] = wish
            built.cache_clear()
            schema = SCHEMAS / "accelerator.yaml"
            package = packages[contender] = built(Path(name), "numpy", schema, runtime="vendored")
            # which asks for it
            importlib.import_module(f"{package.__name__}._runtime.base.specialisation")
        print(f"{machine()}\n\n| | ns in C | / in Python | / esper |\n| --- | --- | --- | --- |")
        for each in cases(packages, esper, options.live):
            best = {who: min(times) for who, times in measure(each, options.rounds).items()}
            ratios = f"{best[IN_C] / best[IN_PYTHON]:.2f} | {best[IN_C] / best[ESPER]:.2f}"
            print(f"| {each.name} | {best[IN_C]:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
