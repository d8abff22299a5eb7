"""Packed rows with a bound: those before it are together, and swaps bring rows across it."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..handles import Instance
from ..per_class import per_class
from ..state import NO_SLOTS
from .packed import Closing, Packed


class Bounded(Packed):
    """A manager whose first rows are kept apart from the others."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""

    @abstractmethod
    def _swap_over(self, one: Instance, other: Instance, spare: Instance) -> None:
        """Let two rows change places by way of a third, which is not in use."""

    @per_class
    def _plan_swap(self, one: Instance, other: Instance) -> Closing | None:
        """Find out how two rows change places where there is no spare row behind the last one."""
        data = self.data
        if data._n < data._allocated or one == other:
            return None
        src, dst = np.array([one, other]), np.array([other, one])
        return src, dst, self._plan_moves(src, dst)

    @per_class
    def _swap(self, one: Instance, other: Instance, swap: Closing | None) -> None:
        """Let two rows change places, as planned, or over the spare row behind the last one."""
        if swap is not None:
            self._move_many(*swap)
        elif one != other:
            self._swap_over(one, other, Instance(self.data._n))
