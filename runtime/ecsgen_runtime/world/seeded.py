"""A world with kernels, its own or its managers', that draw random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..kernels.chance import Chance, Seeded, checked_seed, noted_chance
from .base import WorldBase


class SeededWorld(WorldBase):
    """A world that has a seed."""

    __slots__ = ()

    _DRAWING: ClassVar[Mapping[str, int]] = {}
    """The world's kernels that draw, and the hashes of their names."""
    _chance: Chance

    @property
    def seed(self) -> int:
        """Where random numbers come from, 0 to 2^64 - 1; 0 at first.

        Assigning one sets that of all managers whose kernels draw as well, and counts
        calls from 0 again. Saved and copied with the rest.
        """
        return self._chance.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        number = checked_seed(self, seed)
        self._chance.reset(number)
        for manager in self._all_managers():
            if isinstance(manager, Seeded):
                manager.seed = number

    def __getstate__(self) -> Any:
        attributes, slots = super().__getstate__()
        return {**attributes, "_chance": self._notes()}, slots

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state
        chance = noted_chance(attributes["_chance"], self._DRAWING)
        super().__setstate__(({**attributes, "_chance": chance}, slots))

    def _draw_key(self, kernel: str) -> np.uint64:
        return self._chance.key(kernel, self._DRAWING[kernel])

    def _notes(self) -> dict[str, Any]:
        return self._chance.notes()

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        found = noted_chance(notes, self._DRAWING)
        self._chance.reset(found.seed, found.calls)
