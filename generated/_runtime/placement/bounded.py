"""Packed rows with a bound: those before it are together, and swaps bring rows across it."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..entities.handles import Instance
from ..state import NO_SLOTS
from .packed import Packed


class Bounded(Packed):
    """A manager whose first rows are kept apart from the others."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""

    @abstractmethod
    def _swap_over(self, one: Instance, other: Instance, spare: Instance) -> None:
        """Let two rows change places by way of a third, which is not in use."""

    def _swap(self, one: Instance, other: Instance) -> None:
        """Let two rows change places, over the spare row behind the last one if there is one."""
        data = self.data
        if one == other:
            return
        if data._n == data._allocated:
            self._move_many(np.array([one, other]), np.array([other, one]))
        else:
            self._swap_over(one, other, Instance(data._n))
