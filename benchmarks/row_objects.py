"""Rows as objects beside the calls for one row, a column and the library esper, in one run.

    python benchmarks/row_objects.py [--rows N] [--rounds N]

The component is the shipped Particle. Entities are asked for in random order, rows taken in theirs.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _missing_contenders import library_or_none
from _timing import Case, always, heading, machine, show

from generated import Game, Particle

OURS = ("by row number",)


class Body:
    """The same field, as esper likes it."""

    __slots__ = ("life", "position")

    def __init__(self) -> None:
        self.life = 1.0
        self.position = (1.0, 2.0)


def cases(count: int, esper: Any) -> Iterator[Case]:
    """Make the cases: one field read and written, a vec2, a field read, each for `count` rows."""
    world = Game()
    owners = world.spawn(count, particle={}).tolist()
    random.Random(0).shuffle(owners)
    yield scalar(world, owners, esper)
    yield vector(world, owners)
    yield in_order(world, esper)
    yield reading(world, owners)
    yield whole(world, owners)


def scalar(world: Game, owners: list[Any], esper: Any) -> Case:
    """Count one field up, by entity."""
    m = world.particle

    def by_number() -> None:
        for e in owners:
            row = m.lookup(e)
            m.set_life(row, m.life(row) + 1.0)

    def by_proxy() -> None:
        for e in owners:
            m[e].life += 1.0

    def by_view() -> None:
        for e in owners:
            world[e].particle.life += 1.0

    found = {
        "by row number": always(by_number),
        "m[e].life += 1": always(by_proxy),
        "w[e].particle.life += 1": always(by_view),
    }
    if esper:
        esper.clear_database()
        theirs = [esper.create_entity(Body()) for _ in owners]
        random.Random(0).shuffle(theirs)

        def by_esper() -> None:
            for e in theirs:
                esper.component_for_entity(e, Body).life += 1.0

        found["esper, component_for_entity"] = always(by_esper)
    return Case("one field of one entity, read and written", len(owners), found)


def vector(world: Game, owners: list[Any]) -> Case:
    """Add to a vec2, by entity."""
    m = world.particle

    def by_number() -> None:
        for e in owners:
            row = m.lookup(e)
            x, y = m.position(row)
            m.set_position(row, (x + 1.0, y + 2.0))

    def by_proxy() -> None:
        for e in owners:
            m[e].position += (1.0, 2.0)

    def by_tuples() -> None:
        for e in owners:
            here = m[e]
            x, y = here.position.tolist()
            here.position = (x + 1.0, y + 2.0)

    found = {"m[e].position += (1, 2)": by_proxy, "m[e].position = (x + 1, y + 2)": by_tuples}
    others = {name: always(run) for name, run in found.items()}
    return Case("a vec2 of one entity", len(owners), {"by row number": always(by_number)} | others)


def in_order(world: Game, esper: Any) -> Case:
    """Count one field up in all rows, in a loop, and as a column."""
    m = world.particle
    rows = range(len(m))

    def by_number() -> None:
        for row in rows:
            m.set_life(row, m.life(row) + 1.0)

    def by_proxy() -> None:
        for x in m.rows():
            x.life += 1.0

    def column() -> None:
        m.data.life += 1.0

    found = {
        "by row number": always(by_number),
        "for x in m.rows(): x.life += 1": always(by_proxy),
        "m.data.life += 1": always(column),
    }
    if esper:

        def by_esper() -> None:
            for _, body in esper.get_component(Body):
                body.life += 1.0

        found["esper, get_component"] = always(by_esper)
    return Case("one field of all rows", len(rows), found)


def reading(world: Game, owners: list[Any]) -> Case:
    """Read one field, by entity."""
    m = world.particle

    def by_number() -> None:
        for e in owners:
            m.life(m.lookup(e))

    def by_proxy() -> None:
        for e in owners:
            _ = m[e].life

    found = {"by row number": by_number, "m[e].life": by_proxy}
    runs = {name: always(run) for name, run in found.items()}
    return Case("one field of one entity, read", len(owners), runs)


def whole(world: Game, owners: list[Any]) -> Case:
    """Make an entity of a row, and copy rows."""
    row = Particle(life=2.0)

    def creating() -> None:
        for e in [world.create(row) for _ in owners]:
            world.destroy(e)
        world.collect()

    def spawning() -> None:
        for (e,) in [world.spawn(1, particle={"life": 2.0}) for _ in owners]:
            world.destroy(e)
        world.collect()

    def by_number() -> None:
        entities, m = world.entities, world.particle
        for e in [entities.create() for _ in owners]:
            m.create(e, life=2.0)
            world.destroy(e)
        world.collect()

    found = {"by row number": by_number, "w.create(Particle(life=2))": creating, "spawn": spawning}
    return Case("create and destroy", len(owners), {n: always(run) for n, run in found.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    esper = library_or_none("esper")
    print(f"{machine()}\n\n{heading(OURS)}")
    for case in cases(options.rows, esper):
        show(case, options.rounds, OURS)


if __name__ == "__main__":
    main()
