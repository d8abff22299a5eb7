"""Archetypes: components whose rows live in chunks, one signature to a chunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DuplicateInstanceError
from ..fields import GivenRows, fields_given, given_columns
from ..given_arrays import as_entities, whole_count
from ..handles import Entity, EntityArray, RowClass
from ..locks import is_broken
from ..placement import duplicate_instance, first_repeated, missing
from ..world.base import undo_creation
from .table import NewColumns
from .view import ArchetypeView, ChunkT


class ArchetypeStore(ArchetypeView[ChunkT]):
    """All rows in chunks; the generated class adds what is typed by component.

    An entity's row goes when the entity dies, before `entities.destroy` returns. Rows, chunks and
    views are good until the next structural change; `version` counts those. Not thread-safe.
    """

    __slots__ = ()

    def remove(self, entity: Entity, component: RowClass, /) -> None:
        """Take a component from an entity, which may end with none; O(columns).

        Raises:
            StaleEntityError: the entity is dead.
            MissingInstanceError: it does not have the component.
            StructureLockedError: the archetypes are locked.
        """
        entity = self._entities.require(entity)
        self._refuse_locked()
        number = self._number(component)
        if not self._table.of(entity)[0].has(number):
            raise missing(component.__name__, entity, self._entities._LAYOUT)
        _left = self._left_by(entity)
        self._table.toggle(entity, number)
        self._version += 1

    def remove_many(self, entities: ArrayLike, component: RowClass, /) -> None:
        """Take a component from each of k entities; O(k). Raises what `remove` does.

        An entity that is there twice is a MissingInstanceError.
        """
        entities = self._entities.require_many(entities)
        self._refuse_locked()
        number = self._number(component)
        places = self._table.places.get_many(entities)
        lacking = ~self._table.having(places, number)
        lacking |= _is_repeat(entities)
        if lacking.any():
            first, layout = int(entities[lacking.argmax()]), self._entities._LAYOUT
            raise missing(component.__name__, first, layout)
        if len(entities):
            _left = self._left_by(entities)
            self._table.toggle_many(_own(entities), places, number, ())
            self._version += 1

    def clear(self) -> None:
        """Remove every row; the entities live on. The chunks are kept for new rows. O(n)."""
        self._refuse_locked()
        _left = [self._left_by(chunk.entity) for chunk in self.chunks()]
        if self._table.clear():
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of empty chunks and of kernels; O(chunks)."""
        self._refuse_locked()
        for archetype in self._table.archetypes:
            archetype.trim()
        self._table.pool.clear()
        for kept in self._kept.values():
            kept.drop()

    def _create(
        self, components: Iterable[RowClass], n: SupportsIndex, given: Mapping[int, Any]
    ) -> EntityArray:
        """Create n entities; `given`: fields by component, or None."""
        count = whole_count(n)
        self._refuse_locked()
        numbers = [self._number(component) for component in components]
        for k, number in enumerate(numbers):
            if number in numbers[:k]:
                name = self._name(number)
                raise DuplicateInstanceError(
                    f"{name} stands twice among the components"
                )
        for number, fields in given.items():
            if fields is not None and number not in numbers:
                name = self._name(number)
                raise TypeError(f"{name} is given, but not one of the components")
        columns = {
            k: self._converted(k, count, {} if given[k] is None else given[k])
            for k in sorted(numbers)
        }
        bits, living = self._bits_of(numbers), self._entities
        made: list[EntityArray] = []
        try:
            # made and kept at once: behind a call of ours an interrupt may come
            made.extend(map(living.create_many, (count,)))
            self._append(bits, made[0], columns)
            return made[0]
        except BaseException:
            for entities in made:
                undo_creation(living, (self,), entities)
            raise

    def _add(
        self, entity: Entity, given: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> None:
        number, named = self._named(given, fields)
        part = self._table.parts[number]
        try:
            known = fields_given(part._ROW, named)
            values = part._one(**known)  # first: they may run code
        except Exception:
            self._addable(entity, number)
            raise
        entity = self._addable(entity, number)
        self._table.toggle(entity, number, values)
        self._version += 1

    def _addable(self, given: SupportsIndex, number: int) -> Entity:
        """Return a live entity without a component, or raise what `add` does."""
        entity = self._entities.require(given)
        self._refuse_locked()
        if self._table.of(entity)[0].has(number):
            raise duplicate_instance(self._name(number), entity, self._entities._LAYOUT)
        return entity

    def _named(
        self, given: RowClass | tuple[Any, ...], fields: dict[str, Any]
    ) -> tuple[int, GivenRows]:
        """Return which component is given, by its class or by a row, with its values."""
        if not isinstance(given, tuple):
            return self._number(given), fields
        number = self._number(type(given))
        if fields:
            name = self._name(number)
            raise TypeError(f"a row of {name} has all fields; name some with the class")
        return number, given

    def _add_many(
        self,
        es: ArrayLike,
        given: RowClass | tuple[Any, ...],
        fields: dict[str, Any],
    ) -> None:
        number, row = self._named(given, fields)
        entities = _own(as_entities(es))
        try:
            columns = self._converted(number, len(entities), row)
        except Exception:
            self._addable_many(entities, number)
            raise
        places = self._addable_many(entities, number)
        if len(entities):
            self._table.toggle_many(entities, places, number, columns)
            self._version += 1

    def _addable_many(self, entities: EntityArray, number: int) -> NDArray[np.uint64]:
        """Return the places of live entities without a component, or raise what `add` does."""
        self._entities.require_many(entities)
        self._refuse_locked()
        layout = self._entities._LAYOUT
        first_repeated(self._name(number), entities, layout)
        places = self._table.places.get_many(entities)
        having = self._table.having(places, number)
        if having.any():
            first = int(entities[having.argmax()])
            raise duplicate_instance(self._name(number), first, layout)
        return places

    def _name(self, number: int) -> str:
        return self._table.parts[number]._ROW.__name__

    def _converted(
        self, number: int, count: int, given: GivenRows
    ) -> tuple[NDArray[Any], ...]:
        part = self._table.parts[number]
        columns = given_columns(part._ROW, given, part._CONVERTERS, count)
        arrays = part._many(count, **columns)
        return tuple(_own(array) for array in arrays)

    def _append(
        self,
        bits: int,
        entities: EntityArray,
        columns: NewColumns,
    ) -> None:
        """Give new entities a row each."""
        if bits and len(entities):
            self._table.append(bits, entities, columns)
            self._version += 1

    def _left_by(self, entities: Entity | EntityArray) -> object:
        """Return the objects in entities' rows, to hold while these go: the end of an object may
        run code that changes the archetypes, too, which must then be whole."""
        if not self._table.holds_objects:
            return None
        return self._table.objects_of(np.atleast_1d(np.asarray(entities, np.uint64)))

    def _bits_of(self, numbers: Iterable[int]) -> int:
        return sum(1 << number for number in numbers)

    def _attach(self) -> None:
        self._entities._attach(self, type(self)._entity_destroyed)

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the archetypes are locked."""
        self._refuse_locked()

    def _entity_destroyed(self, entity: Entity) -> None:
        """Remove the row of an entity that has just died."""
        _left = self._left_by(entity)
        self._version += self._table.drop(entity)

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died, if need be one after the other."""
        try:
            self._drop_many(entities)
        except BaseException as error:
            if is_broken(self):
                raise
            self._remove_each(entities)
            if not isinstance(error, MemoryError):
                raise

    def _remove_rows(self, entities: EntityArray) -> None:
        """Remove what rows distinct entities have; O(k)."""
        self._drop_many(entities)

    def _remove_each(self, entities: EntityArray) -> None:
        """Remove what rows distinct entities have without memory to speak of; O(k)."""
        if is_broken(self):
            return
        version = self._version
        try:
            for entity in entities.data:
                if self._table.drop(entity):
                    self._version = version + 1
        except BaseException:
            self._table.fail()
            raise

    def _drop_many(self, entities: EntityArray) -> int:
        """Remove the rows of distinct entities and return how many went; O(k)."""
        _left = self._left_by(entities)
        if len(entities) == 1:
            gone = int(self._table.drop(int(entities[0])))
        else:
            gone = self._table.drop_many(entities)
        if gone:
            self._version += 1
        return gone


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """Copy a view: what it looks at may move before it is used."""
    return array if array.base is None else array.copy()


def _is_repeat(entities: EntityArray) -> NDArray[np.bool_]:
    """Return which of k entities stand further up already; O(k) if ascending."""
    repeats = np.zeros(len(entities), np.bool_)
    if len(entities) > 1 and not bool((entities[1:] > entities[:-1]).all()):
        _, first = np.unique(entities, return_index=True)
        repeats[:] = True
        repeats[first] = False
    return repeats
