"""Deaths that wait: entities are noted while a loop still reads their rows, and die together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import index
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..bulk import SMALL_BATCH, small_batch
from ..entity_manager import Entities
from ..given_arrays import as_entities, without_repeats
from ..handles import Entity, EntityArray
from ..parts import FixedParts
from ..placement import is_integer

_Note: TypeAlias = int | EntityArray
"""One entity, or several."""


class DeferredDeaths(FixedParts):
    """Notes entities, and destroys them when told to."""

    __slots__ = ("_noted",)

    entities: Entities
    _noted: list[_Note]
    """In the order given; it is not there before anything is noted."""

    def destroy_later(self, entities: Entity | ArrayLike, /) -> None:
        """Note an entity, or k of them, for the next `flush` or `collect`; O(k).

        They are alive until then. Repeated and dead ones do no harm. Notes are saved and
        copied with the world. TypeError for what is no entity.
        """
        try:
            noted = self._noted
        except AttributeError:  # the first of all
            noted = self._noted = []
        noted.extend((entities,) if type(entities) is int else _notes(entities))

    def flush(self) -> int:
        """Destroy the noted entities that are still alive, each once, in the order noted.

        Returns how many. They die together, as by `entities.destroy_many`: O(k log k),
        plus the callbacks. Inside of a callback their turn comes later.

        Raises:
            StructureLockedError: a manager that destroys with its entities is locked;
                then nobody dies, and the notes stay.
            ExceptionGroup: callbacks failed; everybody is dead.
        """
        return len(self._flush())

    def _flush(self) -> list[int] | EntityArray:
        """Do what `flush` does and return who died: a list if they are few."""
        noted: list[_Note] = getattr(self, "_noted", [])
        count = len(noted)
        few = self._small_batch_doomed(noted) if count <= SMALL_BATCH else None
        doomed = self._doomed() if few is None else few
        if few is None:
            self.entities.destroy_many(doomed)
        elif few:
            self.entities._destroy_small_batch(few)
        if not self.entities.dispatch.is_open():  # else their turn may be refused
            del noted[:count]  # callbacks may have noted more
        return doomed

    def _doomed(self) -> EntityArray:
        """Return who of the noted is alive, each once."""
        handles = self._noted_entities()
        return without_repeats(handles[self.entities.alive_many(handles)])

    def _small_batch_doomed(self, noted: list[_Note]) -> list[int] | None:
        """Return who of a few is alive, each once; None if several are one note."""
        alive = self.entities.alive
        doomed: list[int] = []
        for note in noted:
            if type(note) is not int:
                return None
            if alive(note) and note not in doomed:
                doomed.append(note)
        return doomed

    def _noted_entities(self) -> EntityArray:
        """Return the entities noted, in order, the repeated and the dead among them; O(k)."""
        noted: list[_Note] = getattr(self, "_noted", [])
        return np.concatenate([np.empty(0, np.uint64), *_handles(noted)])


def _notes(entities: Entity | ArrayLike) -> Sequence[_Note]:
    """Return what is to be remembered of what a caller gave."""
    few = small_batch(entities)
    if few is not None:
        return few
    given = cast(ArrayLike, entities)
    if is_integer(entities) and np.ndim(given) == 0:
        return [index(entities)]
    return [as_entities(given).copy()]


def _handles(noted: Iterable[_Note]) -> Iterator[EntityArray]:
    """Return notes as arrays, in their order."""
    for kind, notes in groupby(noted, type):
        if kind is int:
            yield as_entities(cast(list[int], list(notes)))
        else:
            yield from cast(Iterator[EntityArray], notes)
