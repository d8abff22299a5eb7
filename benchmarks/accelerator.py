"""One row at a time with methods in C, beside generated Python and esper, in one run.

    python benchmarks/accelerator.py [--live N ...] [--rounds N]

Every call gives all fields. What is printed is our time by theirs: below 1, ecsgen is faster.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _missing_contenders import MissingError, library, need_methods_in_c
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, always, machine, measure

CALLS = 20_000
IN_C, IN_PYTHON, ESPER = "in C", "in Python", "esper"
VALUES: dict[str, Any] = {"a": 1.0, "b": (1.0, 2.0), "c": 7, "d": (1.0, 2.0, 3.0)}
Packages = dict[str, Any]


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


def create(packages: Packages, esper: Any, fields: int) -> Case:
    """Entities that are there get a component."""
    given = {name: VALUES[name] for name in "abcd"[:fields]}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    ours = _loop(f"create(e, {arguments})" if arguments else "create(e)")
    theirs = _loop(f"create(e, Peer({arguments}))")

    def generated(package: Any) -> Run:
        entities = package.EntityManager()
        m = getattr(package, f"Fields{fields}Manager")(entities)
        owners = entities.create_many(CALLS).tolist()
        return lambda: ours(owners, create=m.create)

    def peer() -> Run:
        esper.clear_database()
        owners = [esper.create_entity() for _ in range(CALLS)]
        return lambda: theirs(owners, create=esper.add_component, Peer=Peer)

    return _case(f"create, {fields} fields", CALLS, packages, generated, peer)


def remove(packages: Packages, esper: Any) -> Case:
    """In random order, until none is left."""
    ours, theirs = _loop("remove(e)"), _loop("remove(e, Peer)")

    def generated(package: Any) -> Run:
        m, owners = _filled(package, CALLS)
        return lambda: ours(owners, remove=m.remove)

    def peer() -> Run:
        owners = _filled_esper(esper, CALLS)
        return lambda: theirs(owners, remove=esper.remove_component, Peer=Peer)

    return _case("remove", CALLS, packages, generated, peer)


LIVE = {
    "lookup and read": ("b(lookup(e))", "get(e, Peer).b"),
    "lookup and write": ("set_b(lookup(e), (3.0, 4.0))", "get(e, Peer).b = (3.0, 4.0)"),
    "has": ("has(e)", "has(e, Peer)"),
}
"""What is done with an entity of a vec2, here and in esper."""


def live(packages: Packages, esper: Any, count: int, is_mixed: bool) -> Iterator[Case]:
    """A vec2 of entities in random order, by lookup and accessor.

    Rows are in the order in which their entities were created, or mixed.
    """
    rows = {name: _filled(package, count, is_mixed) for name, package in packages.items()}
    peers = _repeated(_filled_esper(esper, count))
    theirs_by_name = {"get": esper.component_for_entity, "has": esper.has_component, "Peer": Peer}
    order = ", rows mixed" if is_mixed else ""
    for what, (ours, theirs) in LIVE.items():
        runs: dict[str, Prepare] = {}
        for name, (m, owners) in rows.items():
            methods = {n: getattr(m, n) for n in ("b", "set_b", "lookup", "has")}
            runs[name] = always(_bound(_loop(ours), _repeated(owners), methods))
        runs[ESPER] = always(_bound(_loop(theirs), peers, theirs_by_name))
        yield Case(f"{what}, {count:,} alive{order}", len(peers), runs)


def _repeated(entities: list[int]) -> list[int]:
    """Return as many entities as there are calls, the few again and again."""
    return (entities * -(-CALLS // len(entities)))[:CALLS]


def spawn(packages: Packages, esper: Any) -> Case:
    """An entity with two components in one call."""
    ours = _loop("create(1, one={'x': 1.0}, four={'x': 1.0, 'y': 2.0})")
    theirs = _loop("create(Peer(1.0), Other(1.0, 2.0))")

    def generated(package: Any) -> Run:
        world = package.Few()
        for manager in (world.one, world.four):
            manager.reserve(CALLS)
        return lambda: ours(range(CALLS), create=world.spawn)

    def peer() -> Run:
        esper.clear_database()
        return lambda: theirs(range(CALLS), create=esper.create_entity, Peer=Peer, Other=Other)

    return _case("spawn(1) of two components", CALLS, packages, generated, peer)


def death(packages: Packages, esper: Any) -> Case:
    """An entity of six components that go with it."""
    count = CALLS // 10
    ours, theirs = _loop("destroy(e)"), _loop("destroy(e, True)")
    kinds = [type(f"Kind{number}", (Peer,), {"__slots__": ()}) for number in range(6)]

    def generated(package: Any) -> Run:
        world = package.Few()
        owners = world.spawn(count, **{f"c{number}": {} for number in range(6)}).tolist()
        random.Random(0).shuffle(owners)
        destroy = world.entities.destroy
        return lambda: (ours(owners, destroy=destroy), len(world.c0))

    def peer() -> Run:
        esper.clear_database()
        owners = [esper.create_entity(*(kind() for kind in kinds)) for _ in range(count)]
        random.Random(0).shuffle(owners)
        return lambda: theirs(owners, destroy=esper.delete_entity)

    return _case("an entity of six components goes", count, packages, generated, peer)


def loops(packages: Packages, esper: Any) -> Iterator[Case]:
    """Row objects, of which each changes a field, and a query, of which two cells are read."""
    both = "for _, one, four in {}: {}"
    ours = {
        "a loop over row objects, += 1": "for row in get.rows(): row.a += 1.0",
        "a loop over a query, two cells read": both.format("get", "b(one) + set_b(four)"),
    }
    theirs = {
        "a loop over row objects, += 1": "for _, row in get(Peer): row.a += 1.0",
        "a loop over a query, two cells read": "for _, (one, four) in get(Peer, Other): "
        "one.a + four.b",
    }

    def generated(name: str, package: Any) -> Run:
        if "query" not in name:
            m, _ = _filled(package, 1_000)
            return lambda: _loop(ours[name])(range(1), get=m)
        world = package.Few()
        world.spawn(1_000, one={}, four={})
        readers = {"b": world.one.x, "set_b": world.four.y}
        list(world.pairs)
        return lambda: _loop(ours[name])(range(1), get=world.pairs, **readers)

    def peer(name: str) -> Run:
        esper.clear_database()
        for _ in range(1_000):
            esper.create_entity(Peer(1.0), Other(1.0, 2.0))
        get = esper.get_components if "query" in name else esper.get_component
        get(*(Peer, Other)[: 1 + ("query" in name)])
        return lambda: _loop(theirs[name])(range(1), get=get, Peer=Peer, Other=Other)

    for name in ours:
        runs = partial(generated, name), partial(peer, name)
        yield _case(f"{name}, a step", 1_000, packages, *runs)


def noted(packages: Packages, esper: Any) -> Case:
    """One comes with two components and is noted; a collection of ten that are."""
    count = CALLS // 10
    ours = _loop("destroy(e); remove() if e % 10 == 9 else None")
    theirs = _loop("destroy(e); remove() if e % 10 == 9 else None")

    def generated(package: Any) -> Run:
        world = package.Few()
        owners = world.spawn(count, one={}, four={}).tolist()
        world.collect()
        return lambda: ours(owners, destroy=world.destroy_later, remove=world.collect)

    def peer() -> Run:
        esper.clear_database()
        owners = [esper.create_entity(Peer(), Other()) for _ in range(count)]
        return lambda: theirs(owners, destroy=esper.delete_entity, remove=esper.clear_dead_entities)

    return _case("an entity is noted, and ten are collected", count, packages, generated, peer)


def entities(packages: Packages, esper: Any) -> Case:
    """One comes, one goes."""
    ours, theirs = _loop("destroy(create())"), _loop("destroy(create(), True)")

    def generated(package: Any) -> Run:
        m = package.EntityManager()
        m.destroy_many(m.create_many(2_000))
        return lambda: ours(range(CALLS), create=m.create, destroy=m.destroy)

    def peer() -> Run:
        esper.clear_database()
        make, delete = esper.create_entity, esper.delete_entity
        return lambda: theirs(range(CALLS), create=make, destroy=delete)

    return _case("an entity comes and goes", CALLS, packages, generated, peer)


def _loop(statement: str) -> Callable[..., None]:
    """Return a function that does a statement for each e; what it names are keyword arguments."""
    names = "create=None, destroy=None, remove=None, lookup=None, get=None, has=None, Peer=None"
    names += ", Other=None, b=None, set_b=None"
    found: dict[str, Any] = {}
    exec(f"def run(es, {names}):\n    for e in es:\n        {statement}\n", found)
    run: Callable[..., None] = found["run"]
    return run


def _bound(run: Callable[..., None], owners: list[int], methods: dict[str, Any]) -> Run:
    return lambda: run(owners, **methods)


def _case(
    name: str,
    count: int,
    packages: Packages,
    generated: Callable[[Any], Run],
    peer: Prepare,
) -> Case:
    ours: dict[str, Prepare] = {
        who: partial(generated, package) for who, package in packages.items()
    }
    return Case(name, count, {**ours, ESPER: peer})


def _filled(package: Any, count: int, is_mixed: bool = False) -> tuple[Any, list[int]]:
    """Return a manager with rows, and their entities in random order."""
    manager = package.EntityManager()
    m = package.Fields4Manager(manager)
    owners = manager.create_many(count)
    rows = owners.tolist()
    if is_mixed:
        random.Random(1).shuffle(rows)
    m.create_many(rows, **VALUES)
    shuffled: list[int] = owners.tolist()
    random.Random(0).shuffle(shuffled)
    return m, shuffled


def _filled_esper(esper: Any, count: int) -> list[int]:
    esper.clear_database()
    owners = [esper.create_entity(Peer(**VALUES)) for _ in range(count)]
    random.Random(0).shuffle(owners)
    return owners


def cases(packages: Packages, esper: Any, counts: list[int]) -> Iterator[Case]:
    """Make the cases when they are asked for: a million rows are large."""
    for fields in range(5):
        yield create(packages, esper, fields)
    yield remove(packages, esper)
    yield entities(packages, esper)
    yield spawn(packages, esper)
    yield death(packages, esper)
    yield noted(packages, esper)
    yield from loops(packages, esper)
    for count in counts:
        for is_mixed in (False, True):
            yield from live(packages, esper, count, is_mixed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--live", type=int, nargs="*", default=[1_000, 20_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
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
        for case in cases(packages, esper, options.live):
            times = {who: min(found) for who, found in measure(case, options.rounds).items()}
            ours = times[IN_C]
            ratios = f"{ours / times[IN_PYTHON]:.2f} | {ours / times[ESPER]:.2f}"
            print(f"| {case.name} | {ours:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
