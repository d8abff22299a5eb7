"""A world that is one of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import EntityArray
from ..locks import is_broken
from ..world.base import WorldBase
from .arriving import absorb
from .ids import VisitedIds
from .leaving import distinct_entities, leave, leaving
from .packing import packed
from .parcels import ParcelBase
from .sharded_entities import ShardedEntities
from .shards import ShardsBase

if TYPE_CHECKING:
    from ..snapshots.strategy import Saving


_LINGERING: Final = 256
"""So many slots of dead visitors are nobody's concern."""


class ShardedWorld(WorldBase):
    """A world with a number, which handles and ids that are made in it have."""

    __slots__ = ()
    _MAY_BE_IN_C: ClassVar[bool] = False
    _PARCEL: ClassVar[type[ParcelBase]]
    _SHARDS: ClassVar[type[ShardsBase[Any]]]
    _STAYS: ClassVar[tuple[str, ...]] = ()
    """Components whose rows never leave: attributes, and row classes of those in chunks."""
    _GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """By attribute: the fields that others may have copies of."""
    _CHUNKED: ClassVar[tuple[Any, ...]] = ()
    """The classes of the columns in chunks."""
    entities: ShardedEntities

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_PARCEL" in vars(cls):
            cls._PARCEL._world = cls._SHARDS._world = cls

    @staticmethod
    def _saving() -> Saving:
        from .sharded_saving import ShardedSaving

        return ShardedSaving()

    def absorb(self, parcel: ParcelBase, /) -> EntityArray:
        """Put what a parcel has into this world; return its entities, in its order; O(bytes).

        Rows join groups and queries as if created. Parcels of worlds with `objects: pickle`
        run what is in them: absorb only what you trust.

        Raises, and nothing has changed:
            ParcelError: no parcel, cut off, inconsistent, of other schemas; or an entity or
                an id of it is here already.
            DuplicateValueError: a row here has the value of a unique field.
            StructureLockedError: where rows are to go is locked.
            CapacityError: no room for them.
        """
        self._sweep()
        return absorb(self, parcel)

    def _extract(
        self, es: ArrayLike, ids: Mapping[str, ArrayLike]
    ) -> NDArray[np.uint8]:
        """Take entities out, and return them as the bytes of a parcel.

        What callbacks raise when rows are destroyed has the parcel, for they have left by then.
        """
        entities, slots = distinct_entities(self, es)
        found = leaving(self, entities.copy(), slots, ids)
        buffer = packed(self, found)
        try:
            leave(self, found)
        except BaseException as error:
            if not is_broken(self.entities) and not self.entities.alive_many(es).any():
                error.parcel = self._PARCEL(buffer)  # type: ignore[attr-defined]
            raise
        return buffer

    def _sweep(self) -> None:
        """Give back slots of dead visitors that no manager has rows of, if there are many."""
        entities = self.entities
        if entities._lingering <= max(_LINGERING, entities._visitors.count // 2):
            return
        dead = entities._leftovers()
        for name in self.MANAGERS:
            manager = getattr(self, name)
            if hasattr(manager, "lookup"):
                dead = dead[~manager.has_many(dead)]
        entities._vacate(dead, entities._visitors.find(dead))
        entities._lingering = 0

    @property
    def _is_fresh(self) -> bool:
        """Whether nobody ever lived here, and no id was given out."""
        return not self.entities._n_used and not any(
            manager.data._version for manager in self._all_managers()
        )

    def _be_shard(self, shard: int) -> None:
        """Have another number, of a world in which nothing was made yet."""
        for manager in self._all_managers():
            if isinstance(manager, VisitedIds):
                manager._be_shard(shard)
        self.entities._be_shard(shard)
