"""One row at a time with methods in C (ecsgen-fast), beside generated Python and esper, in one run.

    python benchmarks/fast.py [--live N ...] [--rounds N]

Every call gives all fields. What is printed is our time by theirs: below 1, ecsgen is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _missing import MissingError, library
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


def live(packages: Packages, esper: Any, count: int) -> Iterator[Case]:
    """A vec2 of rows in random order, by lookup and accessor, and by one call if there is one."""
    rows = {name: _filled(package, count) for name, package in packages.items()}
    peers = _filled_esper(esper, count)[:CALLS]
    get = esper.component_for_entity
    calls = {
        "lookup and read": ("b(lookup(e))", "get(e, Peer).b"),
        "lookup and write": ("set_b(lookup(e), (3.0, 4.0))", "get(e, Peer).b = (3.0, 4.0)"),
    }
    if hasattr(rows[IN_C][0], "b_of"):
        calls["read of an entity"] = "b_of(e)", "get(e, Peer).b"
        calls["write of an entity"] = "set_b_of(e, (3.0, 4.0))", "get(e, Peer).b = (3.0, 4.0)"
    names = ("b", "set_b", "lookup", "b_of", "set_b_of")
    for what, (ours, theirs) in calls.items():
        runs: dict[str, Prepare] = {}
        for name, (m, owners) in rows.items():
            methods = {n: getattr(m, n) for n in names if hasattr(m, n)}
            runs[name] = always(_bound(_loop(ours), owners[:CALLS], methods))
        runs[ESPER] = always(_bound(_loop(theirs), peers, {"get": get, "Peer": Peer}))
        yield Case(f"{what}, {count:,} alive", len(peers), runs)


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
    names = "create=None, destroy=None, remove=None, lookup=None, get=None, Peer=None"
    names += ", b=None, set_b=None, b_of=None, set_b_of=None"
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


def _filled(package: Any, count: int) -> tuple[Any, list[int]]:
    """Return a manager with rows, and their entities in random order."""
    manager = package.EntityManager()
    m = package.Fields4Manager(manager)
    owners = manager.create_many(count)
    m.create_many(owners, **VALUES)
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
    for count in counts:
        yield from live(packages, esper, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--live", type=int, nargs="*", default=[1_000, 20_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    try:
        esper = library("esper")
        if importlib.util.find_spec("ecsgen_fast") is None:
            raise MissingError("ecsgen-fast is not installed (make fast)")
    except MissingError as reason:
        print(f"nothing to compare: {reason}")
        return
    with TemporaryDirectory() as name:
        packages = {}
        for contender, wish in ((IN_C, "1"), (IN_PYTHON, "0")):
            os.environ["ECSGEN_FAST"] = wish
            built.cache_clear()
            packages[contender] = built(Path(name), "numpy", SCHEMAS / "fast.yaml")
        print(f"{machine()}\n\n| | ns in C | / in Python | / esper |\n| --- | --- | --- | --- |")
        for case in cases(packages, esper, options.live):
            times = {who: min(found) for who, found in measure(case, options.rounds).items()}
            ours = times[IN_C]
            ratios = f"{ours / times[IN_PYTHON]:.2f} | {ours / times[ESPER]:.2f}"
            print(f"| {case.name} | {ours:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
