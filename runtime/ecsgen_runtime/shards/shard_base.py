"""Base of worlds with shards, as departures, arrivals, ghosts and files see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..snapshots.saved_world import SavedWorld
from .sharded_entities import ShardedEntities


class ShardBase(SavedWorld):
    """A world with shards; `ShardedWorld` adds the calls of users."""

    __slots__ = ()

    STAYS: ClassVar[tuple[str, ...]] = ()
    """Components whose rows never leave: attributes, and row classes of those in chunks."""
    _GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """By attribute: the fields that ghosts have."""
    CHUNKED: ClassVar[tuple[Any, ...]] = ()
    """The classes of the columns in chunks."""
    entities: ShardedEntities
