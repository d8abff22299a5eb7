"""The cost of each storage policy: the same fields and operations, one policy from the defaults.

    python benchmarks/policies.py [--calls N] [--bulk ROWS] [--rounds N]

Prints a Markdown table: ns of the default policies, and for the others the ratio to them, all
measured in turns in one process. The schemas are docs/policies/policies.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import parsed
from _package import ROOT, built
from _timing import Case, Prepare, Run, loop, measure

SCHEMAS = ROOT / "docs" / "policies" / "policies.yaml"
DEFAULT = "Sparse"


def names_of(package: Any) -> list[str]:
    """Return the components' names, the one with the default policies first."""
    managers = (name for name in dir(package) if name.endswith("Manager"))
    names = [name.removesuffix("Manager") for name in managers if name != "EntityManager"]
    return sorted(names, key=lambda name: name != DEFAULT)


class Subject:
    """A manager, filled or not, and handles to its instances: entities, or ids without an owner."""

    def __init__(self, package: Any, name: str, live: int, ready: int = 0, asked: int = 0):
        self.owned = name != "Unowned"
        make = getattr(package, f"{name}Manager")
        if not self.owned:
            self.manager = make()
            self.handles = self.manager.create_many(live)
            self.ready = np.arange(ready)
        else:
            entities = package.EntityManager()
            self.manager = make(entities)
            self.handles = entities.create_many(live)
            self.manager.create_many(self.handles)
            self.ready = entities.create_many(ready)
        order = np.random.default_rng(0).permutation(live)
        self.shuffled = self.handles[order]
        self.asked = self.shuffled[:asked].tolist()
        self.lookup = self.manager.lookup if self.owned else self.manager.resolve
        self.lookup_many = self.manager.lookup_many if self.owned else self.manager.resolve_many


def create(subject: Subject) -> Run:
    add, ready = subject.manager.create, subject.ready.tolist()
    return loop("add(e, mass=2.0)" if subject.owned else "add(mass=2.0)", ready, add=add)


def find(subject: Subject) -> Run:
    names = {"mass": subject.manager.mass, "lookup": subject.lookup}
    return loop("mass(lookup(e))", subject.asked, **names)


def destroy(subject: Subject) -> Run:
    names = {"destroy": subject.manager.destroy, "lookup": subject.lookup}
    return loop("destroy(lookup(e))", subject.asked, **names)


def create_many(subject: Subject) -> Run:
    ready = subject.ready if subject.owned else len(subject.ready)
    return lambda: subject.manager.create_many(ready)


def find_many(subject: Subject) -> Run:
    return lambda: subject.lookup_many(subject.shuffled)


def destroy_many(subject: Subject) -> Run:
    gone = subject.shuffled[: len(subject.shuffled) // 10]
    return lambda: subject.manager.destroy_many(subject.lookup_many(gone))


def cases(package: Any, names: list[str], calls: int, bulk: int) -> list[Case]:
    """Return the operations, the policies being the contenders."""
    alive = 4 * calls

    def case(
        title: str, run: Callable[[Subject], Run], count: int, live: int, ready: int, asked: int
    ) -> Case:
        def prepare(name: str) -> Prepare:
            return lambda: run(Subject(package, name, live, ready, asked))

        return Case(title, count, {name: prepare(name) for name in names})

    return [
        case("create", create, calls, 100, calls, 0),
        case("lookup, read", find, calls, alive, 0, calls),
        case("lookup, destroy", destroy, calls, alive, 0, calls),
        case("create_many", create_many, bulk, 100, bulk, 0),
        case("lookup_many", find_many, bulk, bulk, 0, 0),
        case("destroy_many 10 %", destroy_many, bulk // 10, bulk, 0, 0),
    ]


def bytes_each(package: Any, name: str, bulk: int) -> float:
    """Return the bytes per instance of a manager without free rows."""
    manager = Subject(package, name, bulk).manager
    manager.shrink_to_fit()
    return float(manager.nbytes / bulk)


def main() -> None:
    options = parsed(__doc__, calls=5_000, bulk=100_000, rounds=12)
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS)
        names = names_of(package)
        rows = cases(package, names, options.calls, options.bulk)
        best = [
            {name: min(times) for name, times in measure(case, options.rounds).items()}
            for case in rows
        ]
        print("| | bytes each |", " | ".join(case.name for case in rows), "|")
        print("| --- |", "--- | " * (len(rows) + 1))
        for name in names:
            figures = [
                f"{each[name]:.0f} ns" if name == DEFAULT else f"{each[name] / each[DEFAULT]:.2f}"
                for each in best
            ]
            size = f"{bytes_each(package, name, options.bulk):.0f}"
            print(f"| {name.lower()} | {size} |", " | ".join(figures), "|")


if __name__ == "__main__":
    main()
