"""Worlds of benchmarks/systems.py: `position += velocity * dt` for entities that have both."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_float, c_size_t
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from unittest.mock import patch

import numpy as np
from _compile_c import compiled, pointer_to
from _package import SCHEMAS, built
from _results import Results
from numpy.typing import NDArray

from ecsgen.config import Backend

DT = np.float32(1 / 1024)
PARTS = 100
"""In each frame one of these parts of the moving entities loses its velocity."""

Numbers: TypeAlias = NDArray[np.intp]
"""Entities, counted from 0 in the order in which they were created."""


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning for every contender: columns of shape (entities, 3), and entities that move."""

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


@dataclass(frozen=True, slots=True)
class Both:
    """ns per moving entity and frame, by contender and by how many percent of all move."""

    entities: int
    still: Results
    changing: Results

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Both:
        results = (Results.from_json(read[name]) for name in ("still", "changing"))
        return cls(read["entities"], *results)


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

    def __init__(self, package: Any, order: Order, way: Step, start: Start) -> None:
        self.world = world = package.World()
        self._way = way
        self._velocity = start.velocity
        self.entities = order(world, start)

    def step(self) -> None:
        self._way(self.world)

    def position(self) -> NDArray[np.float32]:
        position = self.world.position
        places: NDArray[np.float32] = position.data.value[position.lookup_many(self.entities)]
        return places

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
    folder: Path, schema: str, order: Order, way: Step, backend: Backend = "numpy"
) -> Make:
    """Return the contender of a query or of a group."""
    return partial(Managers, package(folder, schema, backend), order, way)


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
        places = np.empty((len(self.entities), 3), np.float32)
        for chunk in self._store.chunks(all=[self._package.Position]):
            places[np.searchsorted(self.entities, chunk.entity)] = chunk.position.value
        return places

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
    """A generated manager with both fields, of those that move alone: the aim of all others."""

    def __init__(self, package: Any, start: Start) -> None:
        entities = package.EntityManager()
        self._start = start
        self._bodies = package.BodyManager(entities)
        self._bodies.create_many(
            entities.create_many(len(start.moving)),
            position=start.position[start.moving],
            velocity=start.velocity[start.moving],
        )

    def step(self) -> None:
        self._bodies.move(DT.item())

    def position(self) -> NDArray[np.float32]:
        places = self._start.position.copy()
        places[self._start.moving] = self._bodies.data.position
        return places


def single(folder: Path, backend: Backend) -> Make:
    """Return the contender of one component's kernel."""
    return partial(Single, built(folder, backend, SCHEMAS / "systems_single.yaml"))


class OverRows:
    """A loop in C over the rows of a query, which are asked for once: as fast as memory lets it."""

    def __init__(self, package: Any, loop: Any, order: Order, start: Start) -> None:
        managers = Managers(package, order, columns, start)
        position, velocity, rows = (
            managers.world.position,
            managers.world.velocity,
            managers.world.movers.rows(),
        )
        values = velocity.data.value, position.data.value
        self.step = partial(loop, len(rows.entity), DT, rows.velocity, rows.position, *values)
        self.position = managers.position


def over_rows(folder: Path, loop: str, order: Order) -> Make:
    """Compile the loop of a C file; raises `MissingError` without gcc."""
    rows, array = pointer_to(np.intp), pointer_to(np.float32)
    types = c_size_t, c_float, rows, rows, array, array
    in_c = compiled(folder, Path(__file__).with_name(loop), *types)
    return partial(OverRows, package(folder, "systems_query.yaml"), in_c, order)
