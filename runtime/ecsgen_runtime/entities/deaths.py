"""Who is told of deaths: callbacks, and managers whose rows go with the entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias
from weakref import ref

import numpy as np

from ..callbacks import Callbacks, Entry, Pending, Subscription, flattened
from ..handles import Entity, EntityArray
from ..locks import is_broken


class Follower(Protocol):
    """A manager whose rows go with their entities."""

    _locks: int

    def _before_destroy(self) -> None:
        """Raise if no entity may die now."""

    def _entities_destroyed(self, entities: EntityArray, /) -> None:
        """Remove what entities have that have just died."""


Remove: TypeAlias = Callable[[Any, Entity], object]
"""A follower's method, unbound, that removes what one entity has."""


class _FollowerEntry(Entry):
    """A follower among the callbacks, which is not kept alive by it."""

    __slots__ = ("follower", "remove")

    def __init__(
        self, subscription: Subscription, follower: ref[Follower], remove: Remove
    ) -> None:
        super().__init__(subscription, self._tell)
        self.follower = follower
        self.remove = remove

    def _tell(self, entities: EntityArray) -> None:
        follower = self.follower()
        if follower is not None:
            follower._entities_destroyed(entities)

    def mend(self, argument: EntityArray, errors: list[BaseException]) -> None:
        """Remove what the entities still have: what is left out is never removed."""
        if is_broken(self.follower()):
            return
        try:
            self._tell(argument)
        except BaseException as error:
            errors.extend(flattened(error))


class Deaths(Callbacks[EntityArray]):
    """Followers and callbacks, which are told of deaths in order of registration."""

    __slots__ = ()

    def follow(self, follower: Follower, remove: Remove) -> None:
        """Tell a manager of deaths for as long as others keep it; O(k)."""
        subscription = Subscription(self._remove)
        gone = ref(follower, lambda _: subscription.cancel())
        self.entries = (*self.entries, _FollowerEntry(subscription, gone, remove))

    def check(self) -> None:
        """Ask all followers that are locked; what the first one raises passes through."""
        for entry in self.entries:
            if type(entry) is _FollowerEntry:
                follower = entry.follower()
                if follower is not None and follower._locks:
                    follower._before_destroy()

    def run_one(
        self,
        entity: Entity,
        errors: list[BaseException],
        pending: Pending | None = None,
    ) -> None:
        """Do what `run` does, of one entity: without an array, if no callback wants one."""
        pending = iter(self.entries) if pending is None else pending
        told: EntityArray | None = None
        entry: Entry | None = None
        while True:
            try:
                for entry in pending:
                    if type(entry) is _FollowerEntry:
                        follower = entry.follower()
                        if follower is not None:
                            entry.remove(follower, entity)
                    elif entry.is_active:
                        if told is None:
                            told = only(entity)
                        entry.function(told)
                return
            except BaseException as error:
                if type(entry) is not _FollowerEntry or _is_final(entry, error):
                    errors.extend(flattened(error))
            if entry is not None:
                entry.mend(only(entity), errors)  # in bulk it goes all the same


def _is_final(entry: _FollowerEntry, error: BaseException) -> bool:
    """Whether a follower's error is raised, even if what the dead have goes nevertheless."""
    return not isinstance(error, Exception) or is_broken(entry.follower())


def only(entity: Entity) -> EntityArray:
    """Return an entity as what callbacks are told."""
    entities = np.array([entity], np.uint64)
    entities.flags.writeable = False
    return entities
