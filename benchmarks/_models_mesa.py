"""The six models in mesa's idiom: python _models_mesa.py MODEL ARGUMENTS STEPS

Run by models.py in an environment that has mesa. ARGUMENTS is JSON; prints the ms of the steps.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mesa import Agent, Model
from mesa.discrete_space import CellAgent, FixedAgent, OrthogonalMooreGrid, OrthogonalVonNeumannGrid
from mesa.experimental.continuous_space import ContinuousSpace, ContinuousSpaceAgent


class Boid(ContinuousSpaceAgent):  # type: ignore[misc]  # mesa has no types here
    def __init__(self, model: Any, space: Any, position: Any, direction: Any) -> None:
        super().__init__(space, model)
        self.position, self.direction = position, direction

    def step(self) -> None:
        neighbours, distances = self.get_neighbors_in_radius(radius=self.model.vision)
        if neighbours:
            delta = self.space.calculate_difference_vector(self.position, agents=neighbours)
            turn = delta.sum(axis=0) * 0.03 - delta[distances < 1.0].sum(axis=0) * 0.015
            turn += np.asarray([other.direction for other in neighbours]).sum(axis=0) * 0.05
            self.direction += turn / len(neighbours)
            self.direction /= np.linalg.norm(self.direction)
        self.position += self.direction


class Flocking(Model):  # type: ignore[misc]
    def __init__(self, count: int, size: float, vision: float, seed: int) -> None:
        super().__init__(seed=seed)
        self.vision = vision
        ends = [[0, size], [0, size]]
        space = ContinuousSpace(ends, torus=True, random=self.random, n_agents=count)
        way = self.rng.random(count) * 2 * np.pi
        headings = np.stack([np.cos(way), np.sin(way)], axis=1)
        places = self.rng.random((count, 2)) * size
        Boid.create_agents(self, count, space, position=places, direction=headings)

    def step(self) -> None:
        self.agents.shuffle_do("step")


class Animal(CellAgent):  # type: ignore[misc]
    gain = 0.0
    bears = 0.0

    def __init__(self, model: Any, energy: float, cell: Any) -> None:
        super().__init__(model)
        self.energy, self.cell = energy, cell

    def feed(self) -> None:
        raise NotImplementedError

    def step(self) -> None:
        self.cell = self.cell.neighborhood.select_random_cell()
        self.energy -= 1
        self.feed()
        if self.energy < 0:
            self.remove()
        elif self.random.random() < self.bears:
            self.energy /= 2
            type(self)(self.model, self.energy, self.cell)


class Sheep(Animal):
    def feed(self) -> None:
        if self.cell.due <= self.model.tick:
            self.energy += 5
            self.cell.due = self.model.tick + self.model.regrowth


class Wolf(Animal):
    def feed(self) -> None:
        prey = [other for other in self.cell.agents if isinstance(other, Sheep)]
        if prey:
            self.random.choice(prey).remove()
            self.energy += 13


class WolfSheep(Model):  # type: ignore[misc]
    def __init__(
        self,
        side: int,
        sheep: int,
        wolves: int,
        regrowth: int,
        lambs: float,
        pups: float,
        seed: int,
    ) -> None:
        super().__init__(seed=seed)
        self.tick, self.regrowth = 0, regrowth
        Sheep.bears, Wolf.bears = lambs, pups
        shape = (side, side)
        grid = OrthogonalMooreGrid(shape, torus=True, capacity=math.inf, random=self.random)
        cells = grid.all_cells.cells
        for cell in cells:
            cell.due = self.random.randrange(1 - regrowth, regrowth)
        for kind, count, most in ((Sheep, sheep, 10), (Wolf, wolves, 26)):
            places, energy = self.random.choices(cells, k=count), self.rng.random(count) * most
            kind.create_agents(self, count, energy=energy, cell=places)

    def step(self) -> None:
        self.agents_by_type[Sheep].shuffle_do("step")
        self.agents_by_type[Wolf].shuffle_do("step")
        self.tick += 1


class Household(CellAgent):  # type: ignore[misc]
    def __init__(self, model: Any, cell: Any, group: int) -> None:
        super().__init__(model)
        self.cell, self.group, self.happy = cell, group, False

    def step(self) -> None:
        others = self.cell.get_neighborhood(radius=self.model.radius).agents
        alike = len([other for other in others if other.group == self.group])
        self.happy = alike >= self.model.wanted
        if not self.happy:
            self.cell = self.model.grid.select_random_empty_cell()


class Schelling(Model):  # type: ignore[misc]
    def __init__(self, side: int, count: int, radius: int, wanted: int, seed: int) -> None:
        super().__init__(seed=seed)
        self.radius, self.wanted = radius, wanted
        self.grid = OrthogonalMooreGrid((side, side), random=self.random, capacity=1)
        for k, cell in enumerate(self.random.sample(self.grid.all_cells.cells, count)):
            Household(self, cell, k % 2)

    def step(self) -> None:
        self.agents.shuffle_do("step")


class Alive(FixedAgent):  # type: ignore[misc]
    def __init__(self, model: Any, cell: Any) -> None:
        super().__init__(model)
        self.cell, self.alive, self.next = cell, self.random.random() < 0.3, False

    def look(self) -> None:
        k = sum(other.alive for other in self.cell.neighborhood.agents)
        self.next = k == 3 or (self.alive and k == 2)

    def change(self) -> None:
        self.alive = self.next


class Life(Model):  # type: ignore[misc]
    def __init__(self, side: int, seed: int) -> None:
        super().__init__(seed=seed)
        grid = OrthogonalMooreGrid((side, side), capacity=1, torus=True, random=self.random)
        for cell in grid.all_cells:
            Alive(self, cell)

    def step(self) -> None:
        self.agents.do("look")
        self.agents.do("change")


class Person(Agent):  # type: ignore[misc]
    coins = 1

    def step(self) -> None:
        if self.coins > 0:
            other = self.random.choice(self.model.people)
            self.coins -= 1
            other.coins += 1


class Boltzmann(Model):  # type: ignore[misc]
    def __init__(self, count: int, seed: int) -> None:
        super().__init__(seed=seed)
        Person.create_agents(self, count)
        self.people = list(self.agents)  # to choose of `agents` makes a list each time

    def step(self) -> float:
        self.agents.shuffle_do("step")
        coins, n = sorted(person.coins for person in self.agents), len(self.agents)
        weighted = sum(k * x for k, x in enumerate(coins, 1))
        return float(2 * weighted / (n * sum(coins)) - (n + 1) / n)


class Ant(CellAgent):  # type: ignore[misc]
    def __init__(self, model: Any, cell: Any, sugar: int, need: int, vision: int) -> None:
        super().__init__(model)
        self.cell, self.sugar, self.need, self.vision = cell, sugar, need, vision

    def seen(self) -> list[Any]:
        """Return the free cells in sight along both axes, and one's own."""
        x, y = self.cell.coordinate
        side, grid, found = self.model.side, self.model.grid, [self.cell]
        for d in range(1, self.vision + 1):
            for at in ((x + d, y), (x - d, y), (x, y + d), (x, y - d)):
                if 0 <= at[0] < side and 0 <= at[1] < side:
                    cell = grid[at]
                    if cell.is_empty:
                        found.append(cell)
        return found

    def step(self) -> None:
        x, y = self.cell.coordinate
        cells = self.seen()
        most = max(cell.sugar for cell in cells)
        best = [cell for cell in cells if cell.sugar == most]
        away = [abs(c.coordinate[0] - x) + abs(c.coordinate[1] - y) for c in best]
        near = [cell for cell, d in zip(best, away, strict=True) if d == min(away)]
        self.cell = self.random.choice(near)
        self.sugar += self.cell.sugar - self.need
        self.cell.sugar = 0
        if self.sugar < 0:
            self.remove()


class Sugarscape(Model):  # type: ignore[misc]
    def __init__(self, limit: list[int], side: int, count: int, seed: int) -> None:
        super().__init__(seed=seed)
        self.side, shape = side, (side, side)
        self.grid = OrthogonalVonNeumannGrid(shape, capacity=1, torus=False, random=self.random)
        self.cells = self.grid.all_cells.cells
        self.limit = limit
        chosen, rng = self.random.sample(self.cells, count), self.rng
        sugar, need, vision = (rng.integers(*ends, count) for ends in ((5, 26), (1, 5), (1, 6)))
        kept = zip(chosen, sugar.tolist(), need.tolist(), vision.tolist(), strict=True)
        for cell, *values in kept:
            Ant(self, cell, *values)

    def step(self) -> None:
        for cell, limit in zip(self.cells, self.limit, strict=True):
            cell.sugar = limit
        self.agents.shuffle_do("step")


MODELS: dict[str, Callable[..., Any]] = {
    "flocking": Flocking,
    "wolf_sheep": WolfSheep,
    "schelling": Schelling,
    "life": Life,
    "boltzmann": Boltzmann,
    "sugarscape": Sugarscape,
}


def main() -> None:
    name, arguments, steps = sys.argv[1:]
    step = MODELS[name](**json.loads(arguments)).step
    gc.collect()
    began, used = time.perf_counter(), time.process_time()
    for _ in range(int(steps)):
        step()
    print(1e3 * min(time.perf_counter() - began, time.process_time() - used))


if __name__ == "__main__":
    main()
