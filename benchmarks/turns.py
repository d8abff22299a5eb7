"""Agents that act one after the other, beside mesa: givers, and the boids of its own example.

    python benchmarks/turns.py [--rows ROWS ...] [--rounds N] [--steps N] [--flock N]
        [--seeds N] [--backends NAME ...]

A step of as many agents, as ns for each: givers, who give a friend one of what they have or owe,
and boids at the density of mesa's example (100 on 100 by 100). Then whether both models of boids
say the same: the mean distance to the nearest other boid after some steps, with its standard error
over several seeds. Without mesa there is nothing to compare with: `pip install mesa networkx`.
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
Model = Callable[[int, int], tuple[Run, Callable[[], NDArray[np.float64]]]]
"""How many boids and which seed → a run of a step, and a function that returns their places."""


def size_of(count: int) -> float:
    return float(np.sqrt(count / DENSITY))


def ours(package: Any) -> Model:
    """Return the boids of a generated package."""

    def flock(count: int, seed: int) -> tuple[Run, Callable[[], NDArray[np.float64]]]:
        world, random, size = package.Flock(), np.random.default_rng(seed), size_of(count)
        boids = world.boid
        world.spawn(count, boid={"place": random.random((count, 2)) * size})
        boids.data.heading = random.uniform(-1, 1, (count, 2))
        boids.wrap, boids.seed = (size, size), seed

        def step() -> None:
            boids.act(VISION, APART, size)

        return step, lambda: np.array(boids.data.place)

    return flock


def theirs(count: int, seed: int) -> tuple[Run, Callable[[], NDArray[np.float64]]]:
    """Return mesa's boids; MissingError without it."""
    library("mesa")
    library("networkx")  # which some other example of mesa's needs
    model = library("mesa.examples.basic.boid_flockers.model")
    size = size_of(count)
    flock = model.BoidFlockers(
        population_size=count, width=size, height=size, vision=VISION, separation=APART, seed=seed
    )
    places = flock.space.agent_positions
    return lambda: flock.agents.shuffle_do("step"), lambda: np.array(places)


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


def nearest(places: NDArray[np.float64], size: float) -> float:
    """Return the mean distance to the nearest other one on a torus."""
    apart = places[:, None] - places[None]
    apart -= size * np.rint(apart / size)
    square = np.square(apart).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    return float(np.sqrt(square.min(axis=1)).mean())


def statistic(model: Model, count: int, steps: int, seeds: int) -> str:
    """Return that mean after some steps, over several seeds."""
    means = []
    for seed in range(seeds):
        step, places = model(count, seed)
        for _ in range(steps):
            step()
        means.append(nearest(places(), size_of(count)))
    error = np.std(means) / np.sqrt(max(seeds - 1, 1))
    return f"{np.mean(means):.3f} ± {error:.3f}"


def with_mesa(ours: dict[str, Any], theirs: Callable[..., Any], *arguments: int) -> dict[str, Any]:
    """Return all contenders, mesa too if a first call of it works."""
    try:
        theirs(*arguments)
    except MissingError as missing:
        print(f"mesa is left out: {missing}")
        return ours
    return {**ours, "mesa": theirs}


def main() -> None:
    sizes = {"rows": (1_000, 10_000), "steps": 60, "flock": 300, "seeds": 8}
    options = parsed(__doc__, **sizes, rounds=3, backends=BACKENDS)
    with TemporaryDirectory() as name:
        folder, backends = Path(name), options.backends
        flocks = packages(folder, backends, SCHEMAS / "flock_in_turns.yaml")
        banks = packages(folder, backends, SCHEMAS / "givers_in_turns.yaml")
        known = with_mesa({b: ours(package) for b, package in flocks.items()}, theirs, 1, 0)
        givers = with_mesa(
            {b: our_givers(package) for b, package in banks.items()}, their_givers, 1
        )
        cases = [
            Case.of("a step of givers", rows, {name: make(rows) for name, make in givers.items()})
            for rows in options.rows
        ] + [
            Case.of(
                "a step of boids", rows, {name: make(rows, 1)[0] for name, make in known.items()}
            )
            for rows in options.rows
        ]
        table(cases, options.rounds, backends)
        print(f"\n| nearest, {options.flock} boids, {options.steps} steps | |\n| --- | --- |")
        for name, model in known.items():
            print(f"| {name} | {statistic(model, options.flock, options.steps, options.seeds)} |")


if __name__ == "__main__":
    main()
