"""What benchmarks/systems.py runs: `position += velocity * dt` for entities that have both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from unittest.mock import patch

import numpy as np
from _package import SCHEMAS, built
from numpy.typing import NDArray

from ecsgen.config import Backend

DT = np.float32(1 / 1024)
PARTS = 100
"""In each frame one of these parts of the moving entities loses its velocity."""

Numbers: TypeAlias = NDArray[np.intp]
"""Entities, counted from 0 in the order in which they were created."""


@dataclass(frozen=True, slots=True)
class Start:
    """What every contender begins with: columns of shape (entities, 3), and who moves."""

    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    moving: Numbers
    parts: tuple[Numbers, ...]

    @classmethod
    def of(cls, entities: int, percent: int) -> Start:
        draw = np.random.default_rng(0)
        position, velocity = (
            draw.uniform(-1, 1, (entities, 3)).astype(np.float32) for _ in range(2)
        )
        moving = draw.permutation(entities)[: max(1, entities * percent // 100)]
        parts = tuple(np.array_split(moving, PARTS))
        return cls(position, velocity, np.sort(moving), parts)

    def after(self, frames: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return where each entity is after it moved for some frames."""
        way = self.velocity.astype(np.float64) * float(DT)
        return self.position.astype(np.float64) + way * frames[:, None]


class System(Protocol):
    """One contender's entities."""

    def step(self) -> None:
        """Move those that have a velocity."""

    def position(self) -> NDArray[np.float32]:
        """Return the positions of all, in the order of creation."""


class Changing(System, Protocol):
    """A contender whose entities can lose their velocity and get it back."""

    def change(self, losing: Numbers, getting: Numbers) -> None:
        """Take the velocity of some, and give others theirs."""


Make: TypeAlias = Callable[[Start], System]
Step: TypeAlias = Callable[[Any], None]


class Managers:
    """A generated world with a manager per component, for queries and for groups."""

    def __init__(self, package: Any, way: Step, order: Order, start: Start) -> None:
        self.world = world = package.World()
        self._way = way
        self._velocity = start.velocity
        self.entities = order(world, start)

    def step(self) -> None:
        self._way(self.world)

    def position(self) -> NDArray[np.float32]:
        position = self.world.position
        found: NDArray[np.float32] = position.data.value[position.lookup_many(self.entities)]
        return found

    def change(self, losing: Numbers, getting: Numbers) -> None:
        velocity, entities = self.world.velocity, self.entities
        velocity.remove_many(entities[losing])
        velocity.create_many(entities[getting], value=self._velocity[getting])


Order: TypeAlias = Callable[[Any, Start], NDArray[np.uint64]]
"""Creates the entities of a world, and returns them."""


def as_created(world: Any, start: Start) -> NDArray[np.uint64]:
    """Strew those that move among the others, each component in the order of the entities."""
    entities: NDArray[np.uint64] = world.spawn(
        len(start.position), position={"value": start.position}
    )
    world.velocity.create_many(entities[start.moving], value=start.velocity[start.moving])
    return entities


def together(world: Any, start: Start) -> NDArray[np.uint64]:
    """Spawn those that move first, as one sort, and then all others."""
    others = np.ones(len(start.position), np.bool_)
    others[start.moving] = False
    moving = {"value": start.position[start.moving]}
    velocity = {"value": start.velocity[start.moving]}
    entities = np.empty(len(start.position), np.uint64)
    entities[start.moving] = world.spawn(len(start.moving), position=moving, velocity=velocity)
    still = start.position[others]
    entities[others] = world.spawn(len(still), position={"value": still})
    return entities


def shuffled(world: Any, start: Start) -> NDArray[np.uint64]:
    """Leave nothing of an order."""
    entities = as_created(world, start)
    draw = np.random.default_rng(1)
    for manager in (world.position, world.velocity):
        manager.reorder(draw.permutation(len(manager)))
    return entities


def columns(world: Any) -> None:
    """Move by whole columns; a query and a group are written alike."""
    movers = world.movers
    movers.position.value += movers.velocity.value * DT


def kernel(world: Any) -> None:
    """Move by the kernel that the schema has."""
    world.move(DT.item())


def managers(
    folder: Path, schema: str, way: Step, order: Order, backend: Backend = "numpy"
) -> Make:
    """Return the contender of a query or of a group."""
    return partial(Managers, package(folder, schema, backend), way, order)


def package(folder: Path, schema: str, backend: Backend = "numpy") -> Any:
    """Return the package of the components and of one way to have both."""
    return built(folder, backend, SCHEMAS / "systems_components.yaml", SCHEMAS / schema)


class Chunks:
    """A generated world with archetype chunks."""

    def __init__(self, package: Any, size: int, way: Step, start: Start) -> None:
        with patch.object(package.archetypes, "CHUNK_BYTES", size):
            self._world = package.World()
        self._store = self._world.archetypes
        self._way = way
        self._package = package
        self._velocity = start.velocity
        both = package.Position, package.Velocity
        self.entities = self._store.create(
            both[:1], len(start.position), position={"value": start.position}
        )
        self._store.add_many(
            self.entities[start.moving], both[1], value=start.velocity[start.moving]
        )

    def step(self) -> None:
        self._way(self._world)

    def position(self) -> NDArray[np.float32]:
        found = np.empty((len(self.entities), 3), np.float32)
        for chunk in self._store.chunks(all=[self._package.Position]):
            found[np.searchsorted(self.entities, chunk.entity)] = chunk.position.value
        return found

    def change(self, losing: Numbers, getting: Numbers) -> None:
        store, velocity = self._store, self._package.Velocity
        store.remove_many(self.entities[losing], velocity)
        store.add_many(self.entities[getting], velocity, value=self._velocity[getting])


def by_chunk(world: Any) -> None:
    """Move chunk by chunk."""
    for chunk in world.movers.chunks():
        chunk.position.value += chunk.velocity.value * DT


def chunks(folder: Path, size: int, way: Step, backend: Backend = "numpy") -> Make:
    """Return the contender of archetypes with chunks of a size."""
    return partial(Chunks, package(folder, "systems_chunks.yaml", backend), size, way)


class Single:
    """A generated manager with both fields, of those that move alone: what all others aim at."""

    def __init__(self, package: Any, start: Start) -> None:
        entities = package.EntityManager()
        self._init_empty = start
        self._bodies = package.BodyManager(entities)
        self._bodies.create_many(
            entities.create_many(len(start.moving)),
            position=start.position[start.moving],
            velocity=start.velocity[start.moving],
        )

    def step(self) -> None:
        self._bodies.move(DT.item())

    def position(self) -> NDArray[np.float32]:
        found = self._init_empty.position.copy()
        found[self._init_empty.moving] = self._bodies.data.position
        return found


def single(folder: Path, backend: Backend) -> Make:
    """Return the contender of one component's kernel."""
    return partial(Single, built(folder, backend, SCHEMAS / "systems_single.yaml"))
