"""Peers of the generated worlds in benchmarks/systems.py: pools by hand, C, esper."""

from __future__ import annotations

from ctypes import c_float, c_size_t
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _compile_c import compiled, pointer_to
from _missing_contenders import library
from _systems import DT, Make, Numbers, Start
from numpy.typing import NDArray


class Pool:
    """The rows of one archetype in arrays of a fixed capacity, `n` of them in use."""

    def __init__(self, capacity: int, *names: str) -> None:
        self.n = 0
        self.owner = np.empty(capacity, np.intp)
        self.columns = {name: np.empty((capacity, 3), np.float32) for name in names}

    def append(self, numbers: Numbers, **values: NDArray[np.float32]) -> Numbers:
        """Add rows and return where they are."""
        span = slice(self.n, self.n + len(numbers))
        self.owner[span] = numbers
        for name, column in self.columns.items():
            column[span] = values[name]
        self.n = span.stop
        return np.arange(span.start, span.stop)

    def take(self, rows: Numbers) -> Numbers:
        """Fill rows from the end, and return which ones have another owner now."""
        self.n -= len(rows)
        gone = np.zeros(self.n + len(rows), np.bool_)
        gone[rows] = True
        holes = np.flatnonzero(gone[: self.n])
        last = self.n + np.flatnonzero(~gone[self.n :])
        each: tuple[NDArray[Any], ...] = self.owner, *self.columns.values()
        for column in each:
            column[holes] = column[last]
        return holes


class Pools:
    """A pool of arrays for each archetype, hand-written, as small ECS libraries on numpy have it.

    It knows these two components alone, takes its caller's word for everything, and never grows.
    """

    def __init__(self, start: Start) -> None:
        entities = len(start.position)
        self._velocity = start.velocity
        self._row = np.empty(entities, np.intp)
        self._still = Pool(entities, "position")
        self._moving = Pool(entities, "position", "velocity")
        everybody = np.arange(entities)
        self._row[everybody] = self._still.append(everybody, position=start.position)
        self.change(everybody[:0], start.moving)

    def step(self) -> None:
        n, columns = self._moving.n, self._moving.columns
        columns["position"][:n] += columns["velocity"][:n] * DT

    def position(self) -> NDArray[np.float32]:
        places = np.empty((len(self._row), 3), np.float32)
        for pool in (self._still, self._moving):
            places[pool.owner[: pool.n]] = pool.columns["position"][: pool.n]
        return places

    def change(self, losing: Numbers, getting: Numbers) -> None:
        self._move(losing, self._moving, self._still)
        self._move(getting, self._still, self._moving)

    def _move(self, numbers: Numbers, source: Pool, target: Pool) -> None:
        rows = self._row[numbers]
        position = source.columns["position"][rows]
        velocity = self._velocity[numbers]
        self._row[numbers] = target.append(numbers, position=position, velocity=velocity)
        filled = source.take(rows)
        self._row[source.owner[filled]] = filled


class Compiled:
    """A loop in C over arrays of those that move."""

    def __init__(self, loop: Any, start: Start) -> None:
        self._start = start
        self._loop = loop
        self._position = start.position[start.moving]
        self._velocity = start.velocity[start.moving]

    def step(self) -> None:
        self._loop(self._position.size, DT, self._velocity, self._position)

    def position(self) -> NDArray[np.float32]:
        places = self._start.position.copy()
        places[self._start.moving] = self._position
        return places


def in_c(folder: Path) -> Make:
    """Compile the loop; raises `MissingError` without gcc."""
    source = Path(__file__).with_name("systems.c")
    array = pointer_to(np.float32)
    return partial(Compiled, compiled(folder, source, c_size_t, c_float, array, array))


class Vector:
    """Three floats, as an object's attributes."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x, self.y, self.z = x, y, z


class Place(Vector):
    """A position in esper, which finds components by their class."""

    __slots__ = ()


class Speed(Vector):
    """A velocity in esper."""

    __slots__ = ()


class Esper:
    """An object per component in esper."""

    def __init__(self, esper: Any, start: Start) -> None:
        self._esper = esper
        self._velocity = start.velocity
        esper.clear_database()
        self._places = [Place(*row) for row in start.position.tolist()]
        self._entities = [esper.create_entity(position) for position in self._places]
        self.change(start.moving[:0], start.moving)

    def step(self) -> None:
        dt = float(DT)
        for _, (position, speed) in self._esper.get_components(Place, Speed):
            position.x += speed.x * dt
            position.y += speed.y * dt
            position.z += speed.z * dt

    def position(self) -> NDArray[np.float32]:
        return np.array([(each.x, each.y, each.z) for each in self._places], np.float32)

    def change(self, losing: Numbers, getting: Numbers) -> None:
        esper, entities = self._esper, self._entities
        for k in losing.tolist():
            esper.remove_component(entities[k], Speed)
        for k, row in zip(getting.tolist(), self._velocity[getting].tolist(), strict=True):
            esper.add_component(entities[k], Speed(*row))


def in_esper() -> Make:
    """Raises `MissingError` without esper."""
    return partial(Esper, library("esper"))
