"""What each storage policy costs: the same fields and operations, one policy from the defaults.

    python benchmarks/policies.py [--bulk ROWS] [--rounds N]

Prints a Markdown table: ns of the default policies, and for the others the ratio to them, all
measured in turns in one process. The schemas are docs/policies/policies.yaml.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _timing import Case, Prepare, measure

from ecsgen import schema
from ecsgen.config import Options
from ecsgen.diagnostics import Diagnostics
from ecsgen.render import outputs

SCHEMAS = Path(__file__).resolve().parent.parent / "docs" / "policies"
ONE_ROW = 5_000
DEFAULT = "Sparse"


def build(folder: Path) -> list[str]:
    """Write the package `policies` into a folder and return the components' names."""
    project = schema.load(SCHEMAS, Diagnostics())
    assert project is not None
    options = Options(
        schemas=SCHEMAS, output=folder, backend="numpy", tests=None, jobs=1, line_length=88
    )
    (folder / "policies").mkdir()
    for output in outputs(project, options, Diagnostics()):
        if not output.path.startswith("tests/"):
            (folder / "policies" / output.path).write_text(output.make(), encoding="utf-8")
    names = [component.name for component in project.components]
    return [DEFAULT, *(name for name in names if name != DEFAULT)]


class Subject:
    """A manager, filled or not, and handles to its instances: entities, or ids without an owner."""

    def __init__(self, package: Any, name: str, live: int, ready: int = 0) -> None:
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
    for handle in subject.shuffled[:ONE_ROW].tolist():
        mass(lookup(handle))


def destroy(subject: Subject) -> None:
    remove, lookup = subject.manager.destroy, subject.lookup
    for handle in subject.shuffled[:ONE_ROW].tolist():
        remove(lookup(handle))


def create_many(subject: Subject) -> None:
    subject.manager.create_many(subject.ready if subject.owned else len(subject.ready))


def find_many(subject: Subject) -> None:
    subject.lookup_many(subject.shuffled)


def destroy_many(subject: Subject) -> None:
    gone = subject.shuffled[: len(subject.shuffled) // 10]
    subject.manager.destroy_many(subject.lookup_many(gone))


def cases(package: Any, names: list[str], bulk: int) -> list[Case]:
    """Return the operations, the policies being the contenders."""

    def case(
        title: str, run: Callable[[Subject], None], count: int, live: int, ready: int = 0
    ) -> Case:
        def prepare(name: str) -> Prepare:
            def fresh() -> Callable[[], object]:
                subject = Subject(package, name, live, ready)
                return lambda: run(subject)

            return fresh

        return Case(title, count, {name: prepare(name) for name in names})

    return [
        case("create", create, ONE_ROW, 100, ONE_ROW),
        case("lookup, read", find, ONE_ROW, 20_000),
        case("lookup, destroy", destroy, ONE_ROW, 20_000),
        case("create_many", create_many, bulk, 100, bulk),
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
    parser.add_argument("--bulk", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        names = build(Path(folder))
        sys.path.insert(0, folder)
        package = importlib.import_module("policies")
        rows = cases(package, names, arguments.bulk)
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
