"""Spaces in which kernels find ghosts as well as own rows."""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray, RowArray
from ..placement.moves import NO_ROWS
from ..spaces.cells import Places
from ..spaces.search import NearSearch
from ..spaces.spaced import checked_radius, joined_search
from ..state import NO_SLOTS
from .ghosts import Haunted
from .spaced import ShardedSpaced


class HauntedSpace(Haunted, ShardedSpaced):
    """A manager whose rows ask ghosts as well, which lie behind them and ask nobody."""

    __slots__ = NO_SLOTS

    def _search(
        self,
        kernel: str,
        radius: SupportsFloat,
        n: int,
        named: RowArray | None = None,
    ) -> NearSearch:
        """Return who is in reach of the first n rows, or of some, ghosts among them."""
        if not self._n_ghosts or named is not None:
            return super()._search(kernel, radius, n, named)
        places, seen, reach, wrap = self._near_given(kernel, radius, n)
        owners = self._all_owners()[: places.shape[1]]
        own = places[:, :n]
        return NearSearch(own, seen, reach, wrap, names=(owners[:n], owners))

    def _near_given(
        self, kernel: str, radius: SupportsFloat, n: int
    ) -> tuple[Places, Places, float, tuple[float, ...]]:
        """Return the same of the first n rows, or of all rows and ghosts if there are some."""
        watch = self._haunt.watch
        if watch is None and not self._n_ghosts:
            return super()._near_given(kernel, radius, n)
        reach = checked_radius(f"{type(self).__name__}.{kernel}", radius)
        if watch is not None:
            watch.asked(reach, self)
        places = self._places(self.data._n + self._n_ghosts if self._n_ghosts else n)
        return places, self._seen(places), reach, self._wrap

    def _all_places(self) -> tuple[Places, Places]:
        places = self._places(self.data._n + self._n_ghosts)
        return places, self._seen(places)

    def _all_owners(self) -> EntityArray:
        return self._owners_near()

    def _are_seen(self, n: int) -> NDArray[np.bool_] | None:
        own = self.data._n
        if n <= own:
            return super()._are_seen(n)
        rows, active = super()._are_seen(own), self._haunt.active
        if rows is None and active is None:
            return None
        found = np.ones(n, np.bool_)
        if rows is not None:
            found[:own] = rows
        if active is not None:
            found[own:] = active
        return found


def ghosts_near(radius: float, space: HauntedSpace, *others: Haunted) -> RowArray:
    """Return which ghosts have rows in all of some managers, active ones; none if one of these has
    none any more."""
    managers = (space, *others)
    if space._haunt.watch is not None:
        space._haunt.watch.asked(radius, *managers)
    count = min(manager._n_ghosts for manager in managers)
    seen = np.ones(count, np.bool_)
    for manager in managers:
        active = manager._haunt.active
        if active is not None and count:
            seen &= active
    return seen.nonzero()[0]


def with_ghosts(rows: RowArray, manager: Haunted, ghosts: RowArray) -> RowArray:
    """Return rows of a manager, then those of ghosts."""
    return np.concatenate((rows, ghosts + manager.data._n)) if len(ghosts) else rows


def haunted_search(
    kernel: str,
    manager: HauntedSpace,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray,
    hidden: RowArray = NO_ROWS,
) -> NearSearch:
    """Return who is in reach of whom, where members are those who ask, then ghosts."""
    among = None if len(members) == len(asking) else members
    return joined_search(kernel, manager, radius, asking, among, hidden)
