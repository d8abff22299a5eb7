"""Worlds with components that require others: what is missing comes along, with defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeAlias

from ..base.handles import Entity, EntityArray
from .entity_views import EntityViewBase, EntityViewWorld
from .world_base import SpawnFields

Required: TypeAlias = Mapping[type[Any], tuple[type[Any], ...]]
"""By row class, all that a component requires, and what these require."""


def find_missing(required: Required, present: Iterable[type[Any]]) -> list[Any]:
    """Return the row classes that some require, without those that are there."""
    kinds = dict.fromkeys(present)
    wanted = dict.fromkeys(other for kind in kinds for other in required.get(kind, ()))
    return [kind for kind in wanted if kind not in kinds]


class RequiringWorld(EntityViewWorld):
    """A world that gives entities what their components require."""

    __slots__ = ()

    _REQUIRED: ClassVar[Required] = {}

    def create(self, *rows: tuple[Any, ...]) -> Entity:
        """Create an entity with these rows, and those that they require; O(components). Raises what
        a world without requirements does; then there is no new entity."""
        missing = find_missing(self._REQUIRED, map(type, rows))
        return self._create_one((*rows, *(kind() for kind in missing)))

    def _spawn(self, n: int, components: SpawnFields) -> EntityArray:
        named = [kind for kind, fields in components.items() if fields is not None]
        missing: SpawnFields = {kind: {} for kind in find_missing(self._REQUIRED, named)}
        return super()._spawn(n, {**components, **missing})


class RequiringView(EntityViewBase):
    """One entity, which gets what its components require."""

    __slots__ = ()

    def add(self, *rows: tuple[Any, ...]) -> None:
        """Add components to the entity, as rows, and those that they require and it lacks: all, or
        none; O(components). Raises what a view without requirements does."""
        world = self._world
        entity = world.entities.require(self._entity)
        missing = find_missing(world._REQUIRED, map(type, rows))
        added = [kind() for kind in missing if not world._holder(kind).has(entity)]
        super().add(*rows, *added)
