"""An epidemic on a network: who falls ill depends on whom one meets, and on chance.

Two kernels are a day. `infect` runs over the meetings and sends messages to both persons,
`decide` runs over the persons. No Python code runs per person or per meeting, and the same seed
gives the same days, however rows are ordered.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import _path  # noqa: F401  (must come before `generated`)
import numpy as np

from generated import World
from generated.enums import Condition

CHANCE = 0.08  # that a meeting infects, per day
RECOVERY = 0.1  # per day
LOSS = 0.005  # of immunity, per day
MEETINGS = 4  # per person, about


class Town:
    """Persons on a ring who know those next to them, and some from far away."""

    def __init__(self, count: int, ill: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.world = World()
        self.world.seed = seed
        persons = self.world.spawn(count, person={})
        places = np.arange(count).repeat(MEETINGS // 2)
        reach = rng.integers(1, 4, len(places))
        far = rng.random(len(places)) < 0.3
        others = np.where(far, rng.integers(0, count, len(places)), (places + reach) % count)
        apart = others != places
        one, other = persons[places[apart]], persons[others[apart]]
        self.world.meeting.create_many(len(one), one=one, other=other)
        first = rng.choice(count, ill, replace=False)
        self.world.person.data.condition[first] = Condition.infectious

    def day(self) -> None:
        """Let everybody meet, and then everybody's body decide."""
        self.world.infect(CHANCE)
        self.world.person.decide(RECOVERY, LOSS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="persons")
    parser.add_argument("--days", type=int, default=120)
    parser.add_argument("--ill", type=int, default=20, help="persons who are ill at first")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    town = Town(options.count, options.ill, options.seed)
    persons = town.world.person
    print(" day     ill   immune")
    for day in range(options.days + 1):
        if day % max(1, options.days // 8) == 0:
            bar = "#" * round(60 * persons.ill() / options.count)
            print(f"{day:4}  {persons.ill():6}  {persons.immune():7}  {bar}".rstrip())
        if day < options.days:
            town.day()


if __name__ == "__main__":
    main()
