"""Archetypes with components that require others: what is missing comes along, with defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ...base.handles import Entity, EntityArray, RowClass
from ...values.array_coercion import as_entities
from ..requirements import Required, find_missing
from .archetype_store import ArchetypeStore, ChunkT


class RequiringStore(ArchetypeStore[ChunkT]):
    """A store that gives entities what their components require."""

    _REQUIRED: ClassVar[Required] = {}

    def _create(
        self, components: Iterable[RowClass], n: SupportsIndex, values: Mapping[int, Any]
    ) -> EntityArray:
        kinds = list(components)
        missing = find_missing(self._REQUIRED, (kind for kind in kinds if isinstance(kind, type)))
        return super()._create([*kinds, *missing], n, values)

    def _add(
        self, entity: Entity, component: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> None:
        es = np.array([self._entities.require(entity)], np.uint64)
        self._add_required(
            es, component, lambda: ArchetypeStore._add(self, entity, component, fields)
        )

    def _add_many(
        self, es: ArrayLike, component: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> None:
        entities = as_entities(es).copy()  # of chunks, whose rows are going to move
        self._add_required(
            entities,
            component,
            lambda: ArchetypeStore._add_many(self, entities, component, fields),
        )

    def _add_required(
        self, entities: EntityArray, component: object, add: Callable[[], None]
    ) -> None:
        """Call a function that adds a component, and add what that requires: all, or none."""
        kind: Any = component if isinstance(component, type) else type(component)
        add()
        added = [(kind, entities)]
        try:
            for required in self._REQUIRED.get(kind, ()):
                lacking = entities[~self.has_many(entities, required)]
                super()._add_many(lacking, required, {})
                added.append((required, lacking))
        except BaseException:
            for gone, owners in added:
                self.remove_many(owners, gone)
            raise
