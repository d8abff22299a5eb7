"""hierarchy: {orphans: die}: the descendants of rows that go, go with them, entities and all."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

import numpy as np

from ..handles import Columns, EntityArray, RowArray
from ..placement.moves import NO_ROWS, Planned
from ..state import NO_SLOTS
from .children import OwnedChildren
from .hierarchy import OrphansDestroy
from .links import among

_FEW: Final = 64
"""So many are compared in a tenth of the time that `setdiff1d` takes for any."""

NO_ENTITIES: Final = np.empty(0, np.uint64)
NO_ENTITIES.flags.writeable = False


class OrphansDie(OrphansDestroy, OwnedChildren):
    """A manager in whose hierarchy the entities of all descendants die with a row that goes."""

    __slots__ = NO_SLOTS
    _RELEASES: ClassVar[bool] = True
    _KILLS: ClassVar[bool] = True

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        super()._make_room(entities, columns, borrowed)
        self._orphaned(self._with_descendants(self._in_the_way(entities)))

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        # before callbacks are told: it may be refused
        orphans = self._orphaned(gone)
        planned = super()._plan_moves(src, dst, gone)
        return (*planned, partial(self._let_die, orphans)) if len(orphans) else planned

    def _orphaned(self, gone: RowArray) -> EntityArray:
        """Return who dies with rows that go, their descendants among them.

        Whoever owns one of the topmost rows lives on. Raises StructureLockedError if that
        is refused; but what callbacks destroy is asked for at its turn.
        """
        data = self.data
        is_below = among(data._parent_column[gone], gone, data._n)
        if not is_below.any():
            return NO_ENTITIES
        owners = data._entity_column[gone]
        orphans = _difference(owners[is_below], owners[~is_below])
        orphans = orphans[self._entities.alive_many(orphans)]
        if len(orphans) and not self._dispatch.running:
            self._entities._callbacks.check()
        return orphans

    def _let_die(self, orphans: EntityArray) -> None:
        """Let them wait for their turn, which comes when the rows are gone."""
        self._dispatch.queue.append(orphans)


def _difference(ones: EntityArray, others: EntityArray) -> EntityArray:
    """Return those of the first that are not among the others, ascending, each once."""
    if len(ones) > _FEW:
        return np.setdiff1d(ones, others)
    return np.array(sorted({*ones.tolist()}.difference(others.tolist())), np.uint64)
