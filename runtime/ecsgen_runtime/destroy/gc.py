"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..few import FEW_GONE
from ..handles import NULL_ENTITY, Instance
from ..owners.owned import Owned
from ..per_class import per_class
from ..state import NO_SLOTS

_UNTOUCHED: Final = Random(0).getstate()[:2]
"""The version and the words of a generator that has not picked anything yet."""


class Gc(Owned):
    """A manager that finds rows of dead entities by random picks, or by a sweep."""

    __slots__ = NO_SLOTS
    _rng: Random

    @per_class
    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            self._refuse_locked()
        if self._RELEASES and not self._dispatch.is_open():
            # raises what callbacks raise when all is done
            return self._dispatch.run(self.gc, rng)
        data = self.data
        pick = (self._rng if rng is None else rng).random
        alive = self._entities.alive
        collected = in_a_row = 0
        while data._n and in_a_row < 4:
            row: Instance = int(pick() * data._n)  # type: ignore[assignment]
            owner = data._entity_cells[row]
            if owner == NULL_ENTITY or alive(owner):  # a row without an owner is a hole
                in_a_row += 1
                continue
            in_a_row = 0
            collected += self._destroy_row(row)
        return collected

    def collect(self) -> int:
        """Remove the rows of all dead entities at once and return how many went; O(n)."""
        if self._locks:
            self._refuse_locked()
        rows = self._dead_rows(self.data.entity)
        if 0 < len(rows) <= FEW_GONE and self._destroy_few(rows.tolist()):
            return len(rows)
        return self._destroy_rows(rows)

    def _start(self) -> None:
        super()._start()
        self._rng = Random(0)

    def _extras(self) -> dict[str, NDArray[Any]]:
        version, words, _ = self._rng.getstate()
        if (version, words) == _UNTOUCHED:
            return super()._extras()
        return {**super()._extras(), "_rng": np.array(words, np.uint32)}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self._rng = Random(0)
        if "_rng" in extras:
            words = tuple(extras["_rng"].tolist())
            self._rng.setstate((_UNTOUCHED[0], words, None))
