"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""

from __future__ import annotations

from random import Random
from typing import Any

from ..few import FEW_GONE
from ..handles import NULL_ENTITY, Instance
from ..owners.owned import Owned
from ..per_class import per_class
from ..state import NO_SLOTS


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
            raise self._locked()
        if self._RELEASES and not self._dispatch.depth:
            with self._dispatch:  # raises what callbacks raise when all is done
                return self.gc(rng)
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
            raise self._locked()
        rows = self._dead_rows(self.data.entity)
        if 0 < len(rows) <= FEW_GONE and self._destroy_few(rows.tolist()):
            return len(rows)
        return self._destroy_rows(rows)

    def _start(self) -> None:
        super()._start()
        self._rng = Random(0)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rng": self._rng.getstate()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._rng = Random()
        self._rng.setstate(state["rng"])
