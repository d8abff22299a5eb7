"""Whether kernels had all neighbours that they would have had in one world.

Ghosts that reach less far than kernels look, or that are of yesterday, give plausible results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..handles import EntityArray
from ..spaces.cells import Places
from ..spaces.search import NearSearch
from ..typed import NamedTuple
from .errors import ShardError
from .ghosts import Haunted
from .haunted_space import HauntedSpace
from .lockstep import LockStep


class Seen(NamedTuple):
    """What a manager had when ghosts came."""

    places: Places
    """Of its own rows, shape (axes, n)."""
    shown: Places
    """The same as others see them: NaN of those whom they do not see."""
    owners: EntityArray
    ghosts: EntityArray


class Watch:
    """Remembers how far kernels have looked, and asks the other ranks who was there."""

    __slots__ = ("_asked", "_seen", "_spaces", "_step", "_world")

    def __init__(self, world: Any, step: LockStep) -> None:
        self._world = world
        self._step = step
        self._seen: dict[str, Seen] = {}
        self._asked: dict[str, float] = {}
        managers = {name: getattr(world, name) for name in type(world)._GHOSTS}
        self._spaces: dict[str, HauntedSpace] = {
            name: one for name, one in managers.items() if isinstance(one, HauntedSpace)
        }
        for one in self._spaces.values():
            one._haunt.watch = self

    def take(self) -> None:
        """Remember where all are, now that ghosts have come."""
        for name, manager in self._spaces.items():
            n, (places, seen) = manager.data._n, manager._all_places()
            owners = manager._owners_near()[: places.shape[1]].copy()
            own = places[:, :n], seen[:, :n]
            self._seen[name] = Seen(*own, owners[:n], owners[n:])

    def asked(self, radius: float, space: HauntedSpace, *others: Haunted) -> None:
        """Remember that rows of a space were asked from so far; ShardError if ghosts are gone, or
        places not those that others know."""
        name = next(name for name, one in self._spaces.items() if one is space)
        for manager in (space, *others):
            if manager._haunt.version != manager.data._version:
                raise ShardError(
                    f"{type(manager).__name__} has no ghosts since its rows changed: refresh first"
                )
        before = self._seen[name].places
        if not np.array_equal(before, space._places(space.data._n), equal_nan=True):
            raise ShardError(
                f"{type(space).__name__} has other places than other ranks know: refresh first"
            )
        if radius > self._asked.get(name, 0):
            self._asked[name] = radius

    def verify(self, call: str) -> None:
        """Ask all ranks who was there; ShardError if somebody in reach was no ghost here.

        `call`: in whose name.
        """
        asked, self._asked = self._asked, {}
        told = self._step.gather(call, lambda: asked)
        for name in sorted({name for each in told for name in each}):
            came = self._step.exchange_words(
                call, lambda name=name: [self._told(name)] * self._step.size  # type: ignore[misc]
            )
            self._step.gather(
                call,
                lambda name=name, came=came: self._compare(  # type: ignore[misc]
                    name, asked.get(name, 0.0), came
                ),
            )

    def _told(self, name: str) -> Any:
        """Return who was where, as words: owners, then their places along each axis."""
        seen = self._seen[name]
        places = seen.shown.astype(np.float64).reshape(-1)
        return np.concatenate((seen.owners, places.view(np.uint64)))

    def _compare(self, name: str, radius: float, came: list[Any]) -> None:
        seen, manager = self._seen[name], self._spaces[name]
        axes = len(seen.places)
        for rank, words in enumerate(came):
            if rank == self._step.rank or not radius:
                continue
            owners = words[: len(words) // (axes + 1)]
            places = words[len(owners) :].view(np.float64).reshape(axes, -1)
            missing = ~np.isin(owners, seen.ghosts)
            owners = owners[missing]
            others = places[:, missing].astype(seen.places.dtype)
            search = NearSearch(others, seen.places, radius, manager.wrap)
            starts, rows = search.neighbours()
            if len(rows):
                place = int(np.diff(starts).argmax())
                shown = self._world.entities._LAYOUT.shown
                raise ShardError(
                    f"{type(manager).__name__}: {shown(owners[place])} of rank {rank} "
                    f"is within {radius:g} of {shown(seen.owners[rows[starts[place]]])} "
                    "and was no ghost here"
                )
