"""A meadow: sheep eat grass, wolves eat sheep, and each decides for itself.

An agent-based model, one agent at a time, with ecsgen in two ways, with the library esper and with
plain objects. Each agent draws its own random numbers, and who meets in a patch shares, so nothing
depends on the order in which agents have their turn.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from typing import Any, NamedTuple, TypeAlias

COST = 1.0
GRASS, MEAT = 4.0, 20.0
ENOUGH = {"sheep": 16.0, "wolf": 40.0}
"""Energy above which an animal has a young one; both have half of it."""
REGROWN = 12
OTHER = 0x9E3779B9

Patch: TypeAlias = tuple[int, int]


class Animal:
    """An animal as an object."""

    __slots__ = ("energy", "luck", "x", "y")

    def __init__(self, x: int, y: int, energy: float, luck: int) -> None:
        self.x, self.y, self.energy, self.luck = x, y, energy, luck


class Sheep(Animal):
    __slots__ = ()


class Wolf(Animal):
    __slots__ = ()


class Born(NamedTuple):
    """The values of a new animal."""

    x: int
    y: int
    energy: float
    luck: int


def side(count: int) -> int:
    """Return how many patches the meadow has along each side."""
    return int(sqrt(3 * count))


def plan(count: int) -> tuple[list[Born], list[Born]]:
    """Return the sheep and the wolves of the beginning."""
    draw = random.Random(count)

    def born(energy: float) -> Born:
        x, y = draw.randrange(side(count)), draw.randrange(side(count))
        return Born(x, y, draw.randint(1, int(energy)) + 0.0, draw.getrandbits(32))

    sheep = [born(ENOUGH["sheep"]) for _ in range(count * 9 // 10)]
    return sheep, [born(ENOUGH["wolf"]) for _ in range(count // 10)]


def draw_next(luck: int) -> int:
    """Return the next random number."""
    return (luck * 1664525 + 1013904223) & 0xFFFFFFFF


class Grass:
    """Which patches are green."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.turn = 0
        self._bare_until = [[0] * size for _ in range(size)]

    def bite(self, patch: Patch) -> bool:
        """Return whether there is something to eat, and eat it."""
        x, y = patch
        if self._bare_until[x][y] > self.turn:
            return False
        self._bare_until[x][y] = self.turn + REGROWN
        return True


class OurMeadow:
    """The meadow with ecsgen: agents are row objects."""

    def __init__(self, package: Any, count: int) -> None:
        self.world = package.Meadow()
        self.grass = Grass(side(count))
        sheep, wolves = plan(count)
        self.animals = (
            ("sheep", self.world.sheep, package.Sheep),
            ("wolf", self.world.wolf, package.Wolf),
        )
        for (_, _, row), animals in zip(self.animals, (sheep, wolves), strict=True):
            for born in animals:
                self.world.create(row(*born))

    def turn(self) -> None:
        self.grass.turn += 1
        flocks = walk(self.world.sheep.rows(), self.grass.size)
        graze(flocks, self.grass)
        for eaten in hunt(walk(self.world.wolf.rows(), self.grass.size), flocks):
            self.world.destroy_later(eaten.entity)
        self.world.collect()
        for kind, manager, row in self.animals:
            self.breed(manager, row, ENOUGH[kind])
        self.world.collect()

    def breed(self, manager: Any, row: Any, enough: float) -> None:
        for animal in manager.rows():
            energy = animal.energy
            if energy <= 0:
                self.world.destroy_later(animal.entity)
            elif energy > enough:
                animal.energy = energy = energy / 2
                self.world.create(row(animal.x, animal.y, energy, animal.luck ^ OTHER))

    def state(self) -> list[list[Born]]:
        return [
            sorted(Born(*row) for row in zip(*self.columns(manager), strict=True))
            for _, manager, _ in self.animals
        ]

    def columns(self, manager: Any) -> list[list[Any]]:
        data = manager.data
        return [data.x.tolist(), data.y.tolist(), data.energy.tolist(), data.luck.tolist()]


class OurMeadowInLists(OurMeadow):
    """The meadow with ecsgen: a kernel lets agents walk, and who meets is numbers in lists."""

    def turn(self) -> None:
        self.grass.turn += 1
        sheep, wolves = self.world.sheep, self.world.wolf
        flocks, energy = self.meet(sheep), sheep.data.energy.tolist()
        for patch, flock in flocks.items():
            if self.grass.bite(patch):
                for k in flock:
                    energy[k] += GRASS / len(flock)
        packs, strength = self.meet(wolves), wolves.data.energy.tolist()
        luck, owners = sheep.data.luck.tolist(), sheep.data.entity.tolist()
        for patch, pack in packs.items():
            if patch in flocks:
                eaten = min(flocks[patch], key=lambda k: (luck[k], energy[k]))
                self.world.destroy_later(owners[eaten])
                for k in pack:
                    strength[k] += MEAT / len(pack)
        sheep.data.energy, wolves.data.energy = energy, strength
        self.world.collect()
        for kind, manager, row in self.animals:
            self.breed(manager, row, ENOUGH[kind])
        self.world.collect()

    def meet(self, manager: Any) -> dict[Patch, list[int]]:
        """Move each by a step; return which rows are where."""
        manager.walk(self.grass.size)
        rows_by_patch = defaultdict(list)
        patches = zip(manager.data.x.tolist(), manager.data.y.tolist(), strict=True)
        for k, patch in enumerate(patches):
            rows_by_patch[patch].append(k)
        return rows_by_patch

    def breed(self, manager: Any, row: Any, enough: float) -> None:
        data = manager.data
        self.world.destroy_later(data.entity[data.energy <= 0])
        many = (data.energy > enough).nonzero()[0]
        data.energy[many] /= 2
        for k in many.tolist():
            x, y, energy, luck = manager.row(k)
            self.world.create(row(x, y, energy, luck ^ OTHER))


class ObjectMeadow:
    """The meadow with plain objects."""

    def __init__(self, count: int) -> None:
        self.grass = Grass(side(count))
        sheep, wolves = plan(count)
        self.sheep = [Sheep(*born) for born in sheep]
        self.wolves = [Wolf(*born) for born in wolves]

    def turn(self) -> None:
        self.grass.turn += 1
        flocks = walk(self.sheep, self.grass.size)
        graze(flocks, self.grass)
        eaten = {*hunt(walk(self.wolves, self.grass.size), flocks)}
        self.sheep = [sheep for sheep in self.sheep if sheep not in eaten]
        self.sheep = self.bred(self.sheep, Sheep, ENOUGH["sheep"])
        self.wolves = self.bred(self.wolves, Wolf, ENOUGH["wolf"])

    def bred(self, animals: list[Any], kind: type[Animal], enough: float) -> list[Any]:
        """Return the animals that live on, and their young."""
        living = []
        for animal in animals:
            if animal.energy > 0:
                living.append(animal)
                if animal.energy > enough:
                    animal.energy /= 2
                    young = kind(animal.x, animal.y, animal.energy, animal.luck ^ OTHER)
                    living.append(young)
        return living

    def state(self) -> list[list[Born]]:
        return [states(self.sheep), states(self.wolves)]


class EsperMeadow:
    """The meadow with esper, which has one world at a time."""

    def __init__(self, esper: Any, count: int) -> None:
        self.esper = esper
        esper.clear_database()
        self.grass = Grass(side(count))
        for kind, animals in zip((Sheep, Wolf), plan(count), strict=True):
            for born in animals:
                esper.create_entity(kind(*born))

    def turn(self) -> None:
        esper = self.esper
        self.grass.turn += 1
        flocks = walk((sheep for _, sheep in esper.get_component(Sheep)), self.grass.size)
        graze(flocks, self.grass)
        wolves = (wolf for _, wolf in esper.get_component(Wolf))
        eaten = {*hunt(walk(wolves, self.grass.size), flocks)}
        for entity, sheep in esper.get_component(Sheep):
            if sheep in eaten:
                esper.delete_entity(entity)
        esper.clear_dead_entities()
        self.breed(Sheep, ENOUGH["sheep"])
        self.breed(Wolf, ENOUGH["wolf"])
        esper.clear_dead_entities()

    def breed(self, kind: type[Animal], enough: float) -> None:
        esper = self.esper
        for entity, animal in esper.get_component(kind):
            if animal.energy <= 0:
                esper.delete_entity(entity)
            elif animal.energy > enough:
                animal.energy /= 2
                young = kind(animal.x, animal.y, animal.energy, animal.luck ^ OTHER)
                esper.create_entity(young)

    def state(self) -> list[list[Born]]:
        return [
            states(each for _, each in self.esper.get_component(kind)) for kind in (Sheep, Wolf)
        ]


def walk(animals: Iterable[Any], size: int) -> dict[Patch, list[Any]]:
    """Move each by a step; return who is where."""
    animals_by_patch = defaultdict(list)
    for animal in animals:
        animal.luck = luck = draw_next(animal.luck)
        if luck & 0x10000:
            animal.x = x = (animal.x + (luck >> 16 & 2) - 1) % size
            y = animal.y
        else:
            animal.y = y = (animal.y + (luck >> 16 & 2) - 1) % size
            x = animal.x
        animal.energy -= COST
        animals_by_patch[x, y].append(animal)
    return animals_by_patch


def graze(flocks: dict[Patch, list[Any]], grass: Grass) -> None:
    """Feed sheep."""
    for patch, flock in flocks.items():
        if grass.bite(patch):
            for sheep in flock:
                sheep.energy += GRASS / len(flock)


def hunt(packs: dict[Patch, list[Any]], flocks: dict[Patch, list[Any]]) -> list[Any]:
    """Feed wolves; return the sheep that are eaten."""
    eaten = []
    for patch, pack in packs.items():
        if patch in flocks:
            eaten.append(min(flocks[patch], key=lambda sheep: (sheep.luck, sheep.energy)))
            for wolf in pack:
                wolf.energy += MEAT / len(pack)
    return eaten


def states(animals: Iterable[Any]) -> list[Born]:
    """Return what animals have, in order."""
    return sorted(Born(each.x, each.y, each.energy, each.luck) for each in animals)
