"""Who is a ghost elsewhere, and where their rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..handles import EntityArray, RowArray
from .messages import NO_GHOSTS, ghost_message


class SentGhosts:
    """Entities that are ghosts on other ranks. Where their rows are is known until one of the
    managers changes, or an entity dies."""

    __slots__ = ("_known", "_own", "_parts", "_world")

    def __init__(self, world: Any, parts: list[EntityArray], own: int) -> None:
        self._world = world
        self._parts = parts
        self._own = own
        self._known: tuple[list[int], list[Mapping[str, RowArray]]] | None = None

    def messages(self) -> list[Any]:
        """Return what goes to each rank; StaleEntityError and MissingInstanceError for those who
        have not all that ghosts have."""
        state = self._state()
        if self._known is None or self._known[0] != state:
            self._known = state, [self._found(part) for part in self._parts]
        found = enumerate(zip(self._parts, self._known[1], strict=True))
        return [
            NO_GHOSTS if rank == self._own else ghost_message(self._world, part, rows)
            for rank, (part, rows) in found
        ]

    def _state(self) -> list[int]:
        world = self._world
        managers = [getattr(world, name) for name in type(world)._GHOSTS]
        return [world.entities._deaths, *(m.data._version for m in managers)]

    def _found(self, entities: EntityArray) -> Mapping[str, RowArray]:
        world = self._world
        world.entities.require_many(entities)
        return {
            name: getattr(world, name).require_many(entities)
            for name in type(world)._GHOSTS
        }


def entities_by_rank(
    entities: EntityArray, ranks: RowArray, own: int, size: int
) -> list[EntityArray]:
    """Return the entities for each rank but the own one, each once, in the order given."""
    none = entities[:0]
    found = [entities[ranks == rank] if rank != own else none for rank in range(size)]
    return [_each_once(part) for part in found]


def _each_once(entities: EntityArray) -> EntityArray:
    if (entities[1:] > entities[:-1]).all():
        return entities
    _, first = np.unique(entities, return_index=True)
    return entities if len(first) == len(entities) else entities[np.sort(first)]
