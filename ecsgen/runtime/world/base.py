"""What every world does alike: spawning, destroying, collecting, asking who has what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import Any, ClassVar, Protocol, TypeAlias

from numpy.typing import ArrayLike

from ..columns.field_names import known_fields
from ..errors import BrokenManagerError
from ..handles import Columns, Entity, EntityArray, RowClass
from .later import LaterDeaths
from .signatures import ComponentHolder
from .spawning import SpawnPart, SpawnStore, append_parts, own_columns

SpawnFields: TypeAlias = Mapping[RowClass, Mapping[str, Any] | None]
"""The columns of each component that is given, by field; None for the others."""


class WorldManager(SpawnStore, ComponentHolder, Protocol):
    """What a world needs of a manager."""

    @property
    def _is_watched(self) -> bool: ...

    def _checked(self, count: int, given: Mapping[str, Any], /) -> Columns: ...


class CollectingManager(Protocol):
    """What a world needs of a manager that collects."""

    _KILLS: ClassVar[bool]

    def gc(self) -> int: ...

    def collect(self) -> int: ...


class WorldBase(LaterDeaths):
    """All entities, and the managers of their components."""

    __slots__ = ("_collecting", "_managers")

    _managers: dict[RowClass, WorldManager]
    """Those whose rows belong to entities, by row class."""
    _collecting: tuple[CollectingManager, ...]

    def spawn(self, n: int) -> EntityArray:
        """Create n entities; O(n). CapacityError when fewer indices are left."""
        return self._spawn(n, {})

    def destroy(self, entity: Entity, /) -> None:
        """Destroy an entity, as `entities.destroy` does."""
        self.entities.destroy(entity)

    def destroy_many(self, entities: ArrayLike, /, *, repeats: bool = False) -> None:
        """Destroy k entities, as `entities.destroy_many` does."""
        self.entities.destroy_many(entities, repeats=repeats)

    def gc(self) -> int:
        """Let every manager that collects lazily pick a few rows of dead entities.

        Returns how many rows went. Costs next to nothing when nobody died.
        """
        with self.entities.dispatch:
            return sum(manager.gc() for manager in self._collecting)

    def collect(self) -> int:
        """Remove all rows of dead entities in managers that collect; O(their rows).

        First those die that `destroy_later` noted. Returns how many rows went. Managers
        with `destroy: manual` are left alone.
        """
        failed: Sequence[BaseException] = ()
        try:
            self.flush()
        except (
            BaseExceptionGroup
        ) as group:  # of callbacks: all the others did their part
            failed = group.exceptions
        with self.entities.dispatch as dispatch:
            dispatch.errors.extend(failed)
            gone = self._swept()
            while dispatch.depth == 1 and dispatch.queue and self._kills:
                dispatch._empty_queue()
                gone += self._swept()
        return gone

    @property
    def _kills(self) -> bool:
        """Whether entities die of a collection, so that there is more to collect."""
        return any(manager._KILLS for manager in self._collecting)

    def _swept(self) -> int:
        """Let all managers that collect do so once, and return how many rows went."""
        return sum(manager.collect() for manager in self._collecting)

    def components(self, entity: Entity, /) -> tuple[type[Any], ...]:
        """Return the row classes of the components that the entity has; O(components).

        Rows of a dead entity count until they are collected, as in the managers' `has`.
        """
        return tuple(row for row, holder in self._members() if holder.has(entity))

    def empty_entities(self) -> EntityArray:
        """Return the live entities without any component; O(entities) per component."""
        entities = self.entities.live()
        for _, holder in self._members():
            entities = entities[~holder.has_many(entities)]
        return entities

    def _members(self) -> Iterable[tuple[RowClass, ComponentHolder]]:
        """Return each row class with what knows who has the component, in order of bits."""
        return self._managers.items()

    def _spawn(self, n: int, given: SpawnFields) -> EntityArray:
        """Create n entities with rows of what is given; if that fails, take all back."""
        n = index(n)
        if n < 0:
            raise ValueError(f"can't spawn {n} entities")
        chosen = {row: fields for row, fields in given.items() if fields is not None}
        if not chosen:
            return self.entities.create_many(n)
        parts = self._checked(n, chosen)
        borrowed = [value for fields in chosen.values() for value in fields.values()]
        entities = self.entities.create_many(n)
        if n == 0:
            return entities
        with self.entities.dispatch:
            try:
                append_parts(entities, parts, tuple(borrowed))
            except BaseException:
                self._take_back(entities)
                raise
        return entities

    def _checked(
        self, n: int, given: Mapping[RowClass, Mapping[str, Any]]
    ) -> list[SpawnPart]:
        """Return what is to take the rows of n new entities, with checked columns."""
        parts: list[SpawnPart] = []
        is_watched = self._is_watched(given)
        for row, fields in given.items():
            manager = self._managers[row]
            columns = manager._checked(n, known_fields(row, fields))
            parts.append((manager, own_columns(columns, is_watched)))
        return parts

    def _is_watched(self, rows: Iterable[RowClass]) -> bool:
        """Whether callbacks may run before all rows of a spawn are there."""
        return any(self._managers[row]._is_watched for row in rows)

    def _take_back(self, entities: EntityArray) -> None:
        """Undo the creation of entities; callbacks may have given them rows anywhere."""
        try:
            for manager in self._managers.values():
                with suppress(BrokenManagerError):
                    if manager.has_many(entities).any():
                        manager.remove_many(entities)
        finally:
            self.entities._uncreate(entities)
