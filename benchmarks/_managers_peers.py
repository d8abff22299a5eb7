"""Peers of the generated managers: hand-written arrays, and objects for esper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NONE = 0xFFFF_FFFF


class ByHand:
    """Particles in arrays of a fixed capacity, with a sparse array from entity index to row."""

    def __init__(self, capacity: int) -> None:
        self.n = 0
        self.rows = np.full(capacity, NONE, np.uint32)
        self.owner = np.empty(capacity, np.uint64)
        self.position = np.empty((capacity, 2), np.float32)
        self.velocity = np.empty((capacity, 2), np.float32)
        self.life = np.empty(capacity, np.float32)
        self.colour = np.empty((capacity, 4), np.uint8)

    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.owner, self.position, self.velocity, self.life, self.colour

    def create(self, entity: int, position: tuple[float, float]) -> int:
        row = self.n
        self.owner[row] = entity
        self.position[row] = position
        self.velocity[row] = 0.0
        self.life[row] = 1.0
        self.colour[row] = 255
        self.rows[entity & NONE] = row
        self.n = row + 1
        return row

    def lookup(self, entity: int) -> int:
        row = int(self.rows[entity & NONE])
        return row if row != NONE and self.owner[row] == entity else NONE

    def remove(self, entity: int) -> None:
        row = self.lookup(entity)
        self.n -= 1
        self.rows[self.owner[self.n] & np.uint64(NONE)] = row
        for column in self.columns():
            column[row] = column[self.n]
        self.rows[entity & NONE] = NONE

    def create_many(self, entities: NDArray[np.uint64], position: NDArray[Any]) -> None:
        span = slice(self.n, self.n + len(entities))
        self.owner[span] = entities
        self.position[span] = position
        self.velocity[span] = 0.0
        self.life[span] = 1.0
        self.colour[span] = 255
        self.rows[entities & np.uint64(NONE)] = np.arange(span.start, span.stop)
        self.n = span.stop

    def lookup_many(self, entities: NDArray[np.uint64]) -> NDArray[np.uint32]:
        rows: NDArray[np.uint32] = self.rows[entities & np.uint64(NONE)]
        rows[self.owner[np.minimum(rows, self.n - 1)] != entities] = NONE
        return rows

    def destroy_many(self, gone: NDArray[np.intp]) -> None:
        left = self.n - len(gone)
        hole = np.zeros(self.n, np.bool_)
        hole[gone] = True
        self.rows[self.owner[gone] & np.uint64(NONE)] = NONE
        holes = np.flatnonzero(hole[:left])
        survivors = left + np.flatnonzero(~hole[left:])
        for column in self.columns():
            column[holes] = column[survivors]
        self.rows[self.owner[holes] & np.uint64(NONE)] = holes
        self.n = left


class SpotsByHand:
    """A component of one vec2, with the same map; `n` rows in use."""

    def __init__(self, capacity: int) -> None:
        self.n = 0
        self.rows = np.full(capacity, NONE, np.uint32)
        self.owner = np.empty(capacity, np.uint64)
        self.value = np.empty((capacity, 2), np.float32)

    def create(self, entity: int, value: tuple[float, float]) -> int:
        row = self.n
        self.owner[row] = entity
        self.value[row] = value
        self.rows[entity & NONE] = row
        self.n = row + 1
        return row

    def create_many(self, entities: NDArray[np.uint64], values: NDArray[Any]) -> None:
        span = slice(self.n, self.n + len(entities))
        self.owner[span] = entities
        self.value[span] = values
        self.rows[entities & np.uint64(NONE)] = np.arange(span.start, span.stop)
        self.n = span.stop


def by_hand(live: int) -> ByHand:
    """Return particles of entities 1 << 32 | index, as the EntityManager gives them out."""
    arrays = ByHand(live)
    arrays.create_many(handles(0, live), np.ones((live, 2)))
    return arrays


def handles(start: int, stop: int) -> NDArray[np.uint64]:
    return np.arange(start, stop, dtype=np.uint64) | np.uint64(1 << 32)


class Spot:
    """One vec2, as esper likes it."""

    __slots__ = ("value",)

    def __init__(self, value: tuple[float, float]) -> None:
        self.value = value


class Body:
    """A particle as esper likes it: an object with attributes."""

    __slots__ = ("colour", "life", "position", "velocity")

    def __init__(self, position: tuple[float, float]) -> None:
        self.position = position
        self.velocity = (0.0, 0.0)
        self.life = 1.0
        self.colour = (255, 255, 255, 255)
