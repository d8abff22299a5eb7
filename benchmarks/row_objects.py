"""Rows as objects beside the calls for one row, a column and the library esper, in one run.

    python benchmarks/row_objects.py [--rows N] [--rounds N]

The component is the shipped Particle. Entities are asked for in random order, rows taken in theirs.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from _arguments import parsed
from _missing_contenders import library_or_none
from _package import ROOT
from _timing import Case, Run, loop, table

sys.path.insert(0, str(ROOT))

from generated import Game, Particle

BY_NUMBER, WITHOUT_LOOKUP = "by row number", "by row number, no lookup"


class Body:
    """A component with the same field, as esper likes it."""

    __slots__ = ("life",)

    def __init__(self) -> None:
        self.life = 1.0


def cases(count: int, esper: Any) -> Iterator[Case]:
    """Make the cases: one field, a vec2, all rows, rows that come and go."""
    world = Game()
    m = world.particle
    owners = world.spawn(count, particle={}).tolist()
    in_order = owners.copy()
    random.Random(0).shuffle(owners)

    def of_row(statement: str, values: Iterable[int]) -> Run:
        return loop(statement, values, world=world, m=m)

    add = "row = m.lookup(e); m.set_life(row, m.life(row) + 1.0)"
    runs = {
        BY_NUMBER: of_row(add, owners),
        "m[e].life += 1": of_row("m[e].life += 1.0", owners),
        "w[e].particle.life += 1": of_row("world[e].particle.life += 1.0", owners),
    }
    if esper:
        esper.clear_database()
        theirs = [esper.create_entity(Body()) for _ in owners]
        random.Random(0).shuffle(theirs)
        statement = "esper.component_for_entity(e, Body).life += 1.0"
        runs["esper"] = loop(statement, theirs, esper=esper, Body=Body)
    yield Case.of("one field of one entity, read and written", count, runs)
    by_number = of_row("m.life(m.lookup(e))", owners)
    runs = {BY_NUMBER: by_number, "m[e].life": of_row("m[e].life", owners)}
    yield Case.of("one field of one entity, read", count, runs)
    runs = {
        BY_NUMBER: of_row(
            "row = m.lookup(e); x, y = m.position(row); m.set_position(row, (x + 1.0, y + 2.0))",
            owners,
        ),
        "m[e].position += (1, 2)": of_row("m[e].position += (1.0, 2.0)", owners),
    }
    yield Case.of("a vec2 of one entity", count, runs)
    runs = {
        BY_NUMBER: of_row(add, in_order),
        WITHOUT_LOOKUP: of_row("m.set_life(e, m.life(e) + 1.0)", range(count)),
        "for x in m.rows(): x.life += 1": of_row("for x in m.rows(): x.life += 1.0", range(1)),
        "m.data.life += 1": of_row("m.data.life += 1.0", range(1)),
    }
    yield Case.of("one field of all rows", count, runs)
    yield Case.of("create and destroy", count, creation(world, count))


def creation(world: Game, count: int) -> dict[str, Run]:
    """Create entities of one component, and destroy them."""
    row, entities, m = Particle(life=2.0), world.entities, world.particle

    def creating() -> None:
        for e in [world.create(row) for _ in range(count)]:
            world.destroy(e)
        world.collect()

    def by_number() -> None:
        for e in [entities.create() for _ in range(count)]:
            m.create(e, life=2.0)
            world.destroy(e)
        world.collect()

    return {BY_NUMBER: by_number, "w.create(Particle(life=2))": creating}


def main() -> None:
    options = parsed(__doc__, rows=10_000, rounds=25)
    every = cases(options.rows, library_or_none("esper"))
    table(every, options.rounds, (BY_NUMBER, WITHOUT_LOOKUP))


if __name__ == "__main__":
    main()
