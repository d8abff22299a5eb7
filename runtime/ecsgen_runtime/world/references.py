"""Worlds in which rows refer to entities, and change or go when these die."""

from __future__ import annotations

from ..managers.policies.owners import Owned
from ..managers.policies.references import CollectedReferences
from .world_base import WorldBase


class ReferencesWorld(WorldBase):
    """A world that collects rows which refer to dead entities, those without owners as well."""

    __slots__ = ()

    def collect(self) -> int:
        """Remove all rows of dead entities in managers that collect, and the rows that
        `on_delete: cascade` removes; O(their rows).

        First destroys the entities that `destroy_later` noted. Fields with `on_delete: clear`
        that refer to the dead become 0. Returns the number of removed rows.
        """
        return super().collect()  # handles may be of the dead though nobody died since

    def _removed(self, died: list[int] | None) -> int:
        return self._swept()

    def _swept(self) -> int:
        managers = self.all_managers()
        unowned = (m for m in managers if isinstance(m, CollectedReferences))
        others = sum(m.collect() for m in unowned if not isinstance(m, Owned))
        return super()._swept() + others
