"""Agents that act one after the other, beside mesa: givers, and the boids of its own example.

    python benchmarks/turns.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

A step of as many agents, as ns for each: givers, who give a friend one of what they have or owe,
and boids at the density of mesa's example (100 on 100 by 100). Without mesa there is nothing to
compare with: `pip install mesa networkx`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _missing_contenders import MissingError, library
from _package import SCHEMAS, packages
from _timing import Case, Run, table
from numpy.typing import NDArray

VISION, APART, DENSITY = 10.0, 2.0, 0.01
Model = Callable[[int], Run]
"""How many boids → a run of a step."""


def size_of(count: int) -> float:
    return float(np.sqrt(count / DENSITY))


def ours(package: Any) -> Model:
    """Return the boids of a generated package."""

    def flock(count: int) -> Run:
        world, random, size = package.Flock(), np.random.default_rng(1), size_of(count)
        boids = world.boid
        world.spawn(count, boid={"place": random.random((count, 2)) * size})
        boids.data.heading = random.uniform(-1, 1, (count, 2))
        boids.wrap = size, size

        return lambda: boids.act(VISION, APART, size)

    return flock


def theirs(count: int) -> Run:
    """Return mesa's boids; MissingError without it."""
    library("mesa")
    library("networkx")  # which some other example of mesa's needs
    model = library("mesa.examples.basic.boid_flockers.model")
    size = size_of(count)
    flock = model.BoidFlockers(
        population_size=count, width=size, height=size, vision=VISION, separation=APART, seed=1
    )
    return lambda: flock.agents.shuffle_do("step")


def our_givers(package: Any) -> Callable[[int], Run]:
    """Return a function that makes the givers of a generated package, and returns a step."""

    def bank(count: int) -> Run:
        world = package.Bank()
        friends = world.spawn(count, giver={})[someone(count)]
        world.giver.data.friend = friends
        run: Run = world.giver.give
        return run

    return bank


def their_givers(count: int) -> Run:
    """Return the same of mesa; MissingError without it."""
    mesa = library("mesa")

    class Giver(mesa.Agent):  # type: ignore[misc, name-defined]
        wealth = 0
        friend: Giver

        def step(self) -> None:
            self.wealth -= 1
            self.friend.wealth += 1

    model = mesa.Model(rng=1)
    givers = [Giver(model) for _ in range(count)]
    for giver, friend in zip(givers, someone(count), strict=True):
        giver.friend = givers[friend]
    return lambda: model.agents.shuffle_do("step")


def someone(count: int) -> NDArray[np.int64]:
    """Return a friend for each."""
    return np.random.default_rng(1).integers(0, count, count)


def with_mesa(ours: dict[str, Any], theirs: Callable[..., Any], *arguments: int) -> dict[str, Any]:
    """Return all contenders, mesa too if a first call of it works."""
    try:
        theirs(*arguments)
    except MissingError as missing:
        print(f"mesa is left out: {missing}")
        return ours
    return {**ours, "mesa": theirs}


def main() -> None:
    options = parsed(__doc__, rows=(1_000, 10_000), rounds=3, backends=BACKENDS)
    with TemporaryDirectory() as name:
        folder, backends = Path(name), options.backends
        flocks = packages(folder, backends, SCHEMAS / "flock_in_turns.yaml")
        banks = packages(folder, backends, SCHEMAS / "givers_in_turns.yaml")
        known = with_mesa({b: ours(package) for b, package in flocks.items()}, theirs, 1)
        givers = with_mesa(
            {b: our_givers(package) for b, package in banks.items()}, their_givers, 1
        )
        cases = [
            Case.of("a step of givers", rows, {name: make(rows) for name, make in givers.items()})
            for rows in options.rows
        ] + [
            Case.of("a step of boids", rows, {name: make(rows) for name, make in known.items()})
            for rows in options.rows
        ]
        table(cases, options.rounds, backends)


if __name__ == "__main__":
    main()
