"""Deaths that wait: entities are noted while a loop still reads their rows, and die together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import index
from typing import SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..entities.arrays import as_entities, without_repeats
from ..entities.manager import EntityManager
from ..handles import Entity, EntityArray
from ..parts import FixedParts

_Note: TypeAlias = int | EntityArray
"""One entity, or several."""


class LaterDeaths(FixedParts):
    """Notes entities, and destroys them when told to."""

    __slots__ = ("_noted",)

    entities: EntityManager
    _noted: list[_Note]
    """In the order given; it is not there before anything is noted."""

    def destroy_later(self, entities: Entity | ArrayLike, /) -> None:
        """_Note an entity, or k of them, for the next `flush` or `collect`; O(k).

        They are alive until then. Repeated and dead ones do no harm. Notes are saved and
        copied with the world. TypeError for what is no entity.
        """
        note = entities if type(entities) is int else _note(entities)
        try:
            self._noted.append(note)
        except AttributeError:  # the first of all
            self._noted = [note]

    def flush(self) -> int:
        """Destroy the noted entities that are still alive, each once, in the order noted.

        Returns how many. They die together, as by `entities.destroy_many`: O(k log k),
        plus the callbacks. Inside of a callback their turn comes later.

        Raises:
            StructureLockedError: a manager that destroys with its entities is locked;
                then nobody dies, and the notes stay.
            ExceptionGroup: callbacks failed; everybody is dead.
        """
        noted: list[_Note] = getattr(self, "_noted", [])
        count = len(noted)
        if not count:
            return 0
        handles = np.concatenate(list(_handles(noted)))
        alive = self.entities.alive_many(handles)
        doomed = without_repeats(handles[alive])
        self.entities.destroy_many(doomed)
        if not self.entities.dispatch.depth:  # else they may be refused at their turn
            del noted[:count]  # callbacks may have noted more
        return len(doomed)


def _note(entities: Entity | ArrayLike) -> _Note:
    """Return what is to be remembered of what a caller gave."""
    if np.ndim(entities) == 0:
        return index(cast(SupportsIndex, entities))
    return as_entities(entities).copy()


def _handles(noted: Iterable[_Note]) -> Iterator[EntityArray]:
    """Return notes as arrays, in their order."""
    for kind, notes in groupby(noted, type):
        if kind is int:
            yield as_entities(cast(list[int], list(notes)))
        else:
            yield from cast(Iterator[EntityArray], notes)
