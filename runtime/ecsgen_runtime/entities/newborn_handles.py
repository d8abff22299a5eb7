"""Handles of who will come: a kernel gives them to its rows before it creates entities and rows.

They are those that one `create_many` before the kernel would return, in the order of spawns. After
the last row they are reserved, and after the despawns given to the newborn. What is left never
lives: its index or slot gets another generation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import CapacityError
from ..base.handles import EntityArray
from ..base.locks import is_broken
from .entity_manager import EntityManagerBase


class NewbornHandles(ABC):
    """Handles that a kernel gives out: arrays from which its loop takes them."""

    numbers: NDArray[np.int64]
    """How many were given out, then what says which ones are next."""
    free: NDArray[np.uint32]
    """Free indices or slots."""
    cells: NDArray[Any]
    """Handles by index, or generations by slot."""

    reserved: NDArray[Any]
    """Reserved handles or slots that nothing has got yet."""

    @abstractmethod
    def reserve(self) -> None:
        """Reserve the handles that were given out; raise CapacityError if there are too few."""

    @abstractmethod
    def keep(self, is_born: NDArray[np.bool_]) -> None:
        """Keep the handles of the spawns that happen; the others never live."""

    @abstractmethod
    def create_next(self) -> NDArray[np.uint64]:
        """Create the entities with the reserved handles, or let the next rows have them."""

    @abstractmethod
    def drop(self) -> None:
        """Drop the reserved handles that nothing has got: they never live."""


class EntityHandles(NewbornHandles):
    """Handles of the entities that a kernel spawns."""

    def __init__(self, entities: EntityManagerBase) -> None:
        free, used = entities.free_indices, entities.n_used
        layout = entities.HANDLE_LAYOUT
        early, new = max(0, free.count - layout.MIN_FREE), layout.INDEX_COUNT - used
        numbers = 0, early, new, entities.first_handle(used), free.head, free.count
        self.numbers = np.array(numbers, np.int64)
        self.free, self.cells = free.array, entities.handles
        self._entities = entities
        self.reserved = np.empty(0, np.uint64)

    def reserve(self) -> None:
        count, left = self.numbers.item(0), self._entities.n_left
        self.reserved = self._entities.reserve_handles(min(count, left))
        if count > left:
            raise CapacityError(f"{count} entities wanted, {left} indices left")

    def keep(self, is_born: NDArray[np.bool_]) -> None:
        dropped, self.reserved = self.reserved[~is_born], self.reserved[is_born]
        self._entities.drop_reserved(dropped)

    def create_next(self) -> EntityArray:
        self._entities.create_reserved(self.reserved)
        created, self.reserved = self.reserved, self.reserved[:0]
        return created

    def drop(self) -> None:
        if len(self.reserved) and not is_broken(self._entities):
            self._entities.drop_reserved(self.reserved)
        self.reserved = self.reserved[:0]
