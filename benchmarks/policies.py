"""What each storage policy costs: the same fields and operations, one policy from the defaults.

    python benchmarks/policies.py [--calls N] [--bulk ROWS] [--rounds N]

Prints a Markdown table: ns of the default policies, and for the others the ratio to them, all
measured in turns in one process. The schemas are docs/policies/policies.yaml.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _package import ROOT, built
from _timing import Case, Prepare, measure

SCHEMAS = ROOT / "docs" / "policies" / "policies.yaml"
DEFAULT = "Sparse"


def names_of(package: Any) -> list[str]:
    """Return the components' names, the one with the default policies first."""
    managers = (name for name in dir(package) if name.endswith("Manager"))
    names = [name.removesuffix("Manager") for name in managers if name != "EntityManager"]
    return sorted(names, key=lambda name: name != DEFAULT)


class Subject:
    """A manager, filled or not, and handles to its instances: entities, or ids without an owner."""

    def __init__(self, package: Any, name: str, live: int, ready: int = 0, some: int = 0):
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
        self.some = self.shuffled[:some].tolist()
        self.lookup = self.manager.lookup if self.owned else self.manager.resolve
        self.lookup_many = self.manager.lookup_many if self.owned else self.manager.resolve_many


def create(subject: Subject) -> None:
    add = subject.manager.create
    if subject.owned:
        for entity in subject.ready.tolist():
            add(entity, mass=2.0)
    else:
        for _ in subject.ready:
            add(mass=2.0)


def find(subject: Subject) -> None:
    mass, lookup = subject.manager.mass, subject.lookup
    for handle in subject.some:
        mass(lookup(handle))


def destroy(subject: Subject) -> None:
    remove, lookup = subject.manager.destroy, subject.lookup
    for handle in subject.some:
        remove(lookup(handle))


def create_many(subject: Subject) -> None:
    subject.manager.create_many(subject.ready if subject.owned else len(subject.ready))


def find_many(subject: Subject) -> None:
    subject.lookup_many(subject.shuffled)


def destroy_many(subject: Subject) -> None:
    gone = subject.shuffled[: len(subject.shuffled) // 10]
    subject.manager.destroy_many(subject.lookup_many(gone))


def cases(package: Any, names: list[str], calls: int, bulk: int) -> list[Case]:
    """Return the operations, the policies being the contenders."""
    alive = 4 * calls

    def case(
        title: str,
        run: Callable[[Subject], None],
        count: int,
        live: int,
        ready: int = 0,
        some: int = 0,
    ) -> Case:
        def prepare(name: str) -> Prepare:
            def fresh() -> Callable[[], object]:
                subject = Subject(package, name, live, ready, some)
                return lambda: run(subject)

            return fresh

        return Case(title, count, {name: prepare(name) for name in names})

    return [
        case("create", create, calls, 100, ready=calls),
        case("lookup, read", find, calls, alive, some=calls),
        case("lookup, destroy", destroy, calls, alive, some=calls),
        case("create_many", create_many, bulk, 100, ready=bulk),
        case("lookup_many", find_many, bulk, bulk),
        case("destroy_many 10 %", destroy_many, bulk // 10, bulk),
    ]


def bytes_each(package: Any, name: str, bulk: int) -> float:
    """Return the bytes per instance of a manager without free rows."""
    manager = Subject(package, name, bulk).manager
    manager.shrink_to_fit()
    return float(manager.nbytes / bulk)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=5_000, help="of one row each")
    parser.add_argument("--bulk", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS)
        names = names_of(package)
        rows = cases(package, names, arguments.calls, arguments.bulk)
        best = [
            {name: min(times) for name, times in measure(case, arguments.rounds).items()}
            for case in rows
        ]
        print("| | bytes each |", " | ".join(case.name for case in rows), "|")
        print("| --- |", "--- | " * (len(rows) + 1))
        for name in names:
            figures = [
                f"{each[name]:.0f} ns" if name == DEFAULT else f"{each[name] / each[DEFAULT]:.2f}"
                for each in best
            ]
            size = f"{bytes_each(package, name, arguments.bulk):.0f}"
            print(f"| {name.lower()} | {size} |", " | ".join(figures), "|")


if __name__ == "__main__":
    main()
