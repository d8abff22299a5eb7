"""Films of the models, one HTML file each: `make films` writes them into build/films/."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import ants
import boltzmann
import daisyworld
import dilemma
import flocking
import life
import numpy as np
import rebellion
import schelling
import sugarscape
import traffic
import virus
import wolf_sheep
from _models import package

from ecsgen.inspector import Film, View, serve

Filmed = tuple[Any, Callable[[], object], View]


def film_life(model: Any) -> Filmed:
    world = life.soup(model, 100, 0.3, 1)
    return world, world.cell.live, View(charts=[["cell.living"]])


def film_flocking(model: Any) -> Filmed:
    world = flocking.flock(model, 400, 150.0, 1)
    return world, partial(world.boid.fly, 15.0, 1.0, 150.0), View(direction="heading")


def film_schelling(model: Any) -> Filmed:
    world = schelling.town(model, 40, 1000, 1)
    view = View(color="group", charts=[["household.content"]])
    return world, partial(world.household.settle, 1, 3), view


def film_boltzmann(model: Any) -> Filmed:
    world = boltzmann.market(model, 1000, 1)
    return world, world.person.give, View(charts=[["person.poor"], ["person.most"]])


def film_sugarscape(model: Any) -> Filmed:
    world = sugarscape.settled(model, 50, 400, 1)
    return world, world.step, View(map="ant", color="sugar", charts=[["ant"]])


def film_wolf_sheep(model: Any) -> Filmed:
    world = wolf_sheep.meadow(model, 50, 240, 160, 20, 1)
    view = View(map="sheep", color="energy", charts=[["sheep", "wolf"]])
    return world, partial(wolf_sheep.day, world, 20, 0.2, 0.1), view


def film_traffic(model: Any) -> Filmed:
    world = traffic.ring(model, 120, 30, 1)
    view = View(map="car", color="speed", charts=[["car.mean_speed"]])
    return world, partial(world.car.drive, 5, 0.25), view


def film_virus(model: Any) -> Filmed:
    world = virus.network(model, 500, virus.anybody(500, 6, 1), np.arange(3), 1)
    view = View(charts=[["node.ill", "node.immune"]])
    return world, partial(world.spread, 0.05, 1.0, 0.05, 0.5), view


def film_dilemma(model: Any) -> Filmed:
    world = dilemma.players(model, 65, 1.9, 1)
    view = View(color="cooperates", charts=[["player.cooperating"]])
    return world, partial(dilemma.at_once, world, 1.9), view


def film_ants(model: Any) -> Filmed:
    world = ants.colony(model, 71, 125, 1)
    view = View(map="patch", color="trail", charts=[["patch.stored"], ["ant.carrying"]])
    return world, partial(ants.forage, world), view


def film_daisyworld(model: Any) -> Filmed:
    world = daisyworld.planet(model, 30, 1)
    suns = iter(np.linspace(0.6, 2.6, 1001).tolist())
    view = View(map="daisy", color="albedo", charts=[["ground.warmth"], ["daisy", "daisy.white"]])
    return world, lambda: daisyworld.year(world, next(suns)), view


def film_rebellion(model: Any) -> Filmed:
    world = rebellion.city(model, 20, 1)
    view = View(map="person", color="rebels", charts=[["person.rebelling", "person.jailed"]])
    return world, partial(world.act, 7, 0.82, 30), view


EVERY = {"daisyworld": 5, "dilemma": 1, "schelling": 1, "sugarscape": 1}
"""Steps from one picture to the next, 2 of other models."""
LENGTHS = {"daisyworld": 1000, "dilemma": 60, "schelling": 40, "sugarscape": 60}
"""Steps of a film, 300 of other models."""
MODELS = {
    name.removeprefix("film_"): make for name, make in globals().items() if name[:5] == "film_"
}


def film(name: str, steps: int | None = None) -> Film:
    """Run a model, and return its film."""
    world, step, view = MODELS[name](package(name))
    with serve(world, step=step, view=view) as inspector:
        return inspector.record(steps or LENGTHS.get(name, 300), EVERY.get(name, 2))


def pace(name: str, steps: int = 50) -> float:
    """Return the ms of a step of the film, the best of three runs; compiled before."""
    times = []
    for _ in range(4):
        _world, step, _view = MODELS[name](package(name))
        began = process_time()
        for _ in range(steps):
            step()
        times.append(1e3 * (process_time() - began) / steps)
    return min(times[1:])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--steps", type=int, help="by default as many as there is to see")
    parser.add_argument("--times", action="store_true", help="print the ms of a step instead")
    parser.add_argument("--folder", type=Path, default=Path("build/films"))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        if options.times:
            print(f"{name}: {pace(name):.3f} ms a step")
            continue
        run = film(name, options.steps)
        run.save(options.folder / f"{name}.html")
        print(f"{name}.html: {len(run)} pictures")


if __name__ == "__main__":
    main()
