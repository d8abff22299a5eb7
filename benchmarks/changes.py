"""The cost of change readers and hooks, beside what numpy alone would take, with the goals.

    python benchmarks/changes.py [--rows ROWS ...] [--rounds N] [--creations N]

Reads of a field with few, some and all rows changed beside `np.flatnonzero` of a comparison of as
many; reads after births and deaths beside one of the owners; creations with a hook that nobody
listens to, and with readers, beside those without.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import parsed
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, loop, machine, measure

CALL: float = 20_000
"""Nanoseconds that the calls of a read may take beside the comparison."""
DEATHS = 100


def after(change: Run, run: Run) -> Prepare:
    """Prepare a run by a change that is not timed."""

    def prepare() -> Run:
        change()
        return run

    return prepare


def comparisons(world: Any, rows: int, n_changed: int) -> Iterator[tuple[Case, float, float]]:
    """Yield reads of both fields; the goals are ratios, with what calls may take."""
    changed = np.random.default_rng(1).permutation(rows)[:n_changed]
    for field, goal in (("hp", 1.4), ("at", 0.3)):
        reader, column = world.body.changes(field), getattr(world.body.data, field)
        former = column.copy()

        def change(column: Any = column) -> None:
            column[changed] += 1

        def compare(column: Any = column, former: Any = former) -> None:
            differ = column != former
            np.flatnonzero(differ.any(axis=1) if differ.ndim > 1 else differ)

        change()
        runs = {"read": after(change, reader.read), "numpy": after(change, compare)}
        yield Case(f"{field}, {n_changed:,} of {rows:,} rows changed", 1, runs), goal, CALL


def lives(world: Any, rows: int) -> Iterator[tuple[Case, float, float]]:
    """Yield a read after births and deaths."""
    random, reader = np.random.default_rng(2), world.body.changes()
    owners = world.body.data.entity.copy()
    former = owners.copy()
    former[random.permutation(rows)[:DEATHS]] = 0

    def change() -> None:
        world.destroy_many(random.permutation(world.body.data.entity)[:DEATHS])
        world.collect()
        world.spawn(DEATHS, body={})

    runs = {"read": after(change, reader.read), "numpy": after(change, lambda: compare())}

    def compare() -> None:
        np.flatnonzero(owners != former)

    yield Case(f"owners, {DEATHS} born and {DEATHS} dead of {rows:,} rows", 1, runs), 6, 0


def creations(package: Any, count: int) -> Iterator[tuple[Case, float]]:
    """Yield creations one by one; the goals are differences in nanoseconds."""

    def prepared(name: str, readers: int = 0) -> Run:
        world = package.Changing()
        manager = getattr(world, name)
        entities = world.entities.create_many(count).tolist()
        manager.reserve(count)
        world.readers = [manager.changes("hp") for _ in range(readers)]
        return loop("create(e)", entities, create=manager.create)

    plain, hooked = partial(prepared, "body"), partial(prepared, "hooked")
    yield Case("a create with `add: true`", count, {"it": hooked, "without": plain}), 40
    watched = partial(prepared, "body", 8)
    yield Case("a create with eight readers", count, {"it": watched, "without": plain}), 0


def main() -> None:
    """Measure all, and print each figure beside its goal."""
    options = parsed(__doc__, rows=(100_000, 1_000_000), rounds=9, creations=20_000)
    print(f"{machine()}\n\n| | ns | numpy | ratio | goal |\n| --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "changes.yaml")
        for rows in options.rows:
            world = package.Changing()
            world.spawn(rows, body={})
            for n_changed in (min(100, rows), rows // 100, rows):
                for case, goal, calls in comparisons(world, rows, n_changed):
                    show(case, options.rounds, goal, calls)
            for case, goal, calls in lives(world, rows):
                show(case, options.rounds, goal, calls)
        reader, count = world.body.changes(), 1000
        idle = Case.of(
            "an idle read", count, {"it": loop("read()", range(count), read=reader.read)}
        )
        (times,) = measure(idle, options.rounds).values()
        print(f"| {idle.name} | {min(times):.0f} | | | ≤ 3,000 ns |")
        for case, most in creations(package, options.creations):
            mine, theirs = map(min, measure(case, options.rounds).values())
            print(
                f"| {case.name} | {mine:.0f} | {theirs:.0f} | {mine - theirs:+.0f} | ≤ {most} ns |"
            )


def show(case: Case, rounds: int, goal: float, calls: float) -> None:
    """Measure a read and numpy's comparison, and print their ratio without what calls may take."""
    mine, theirs = map(min, measure(case, rounds).values())
    ratio = max(mine - calls, 0) / theirs
    print(f"| {case.name} | {mine:,.0f} | {theirs:,.0f} | {ratio:.2f} | ≤ {goal} |", flush=True)


if __name__ == "__main__":
    main()
