"""Base of worlds that can be saved: their schema, their format and their archetypes."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from ..world.world_base import WorldBase

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


class SavedWorld(WorldBase):
    """A world that can be saved; `SnapshotWorld` adds the calls of users."""

    __slots__ = ()

    FINGERPRINT: ClassVar[str] = ""
    """Digest of the package's schemas, 64 hex digits: an equal one needs no migration."""

    @staticmethod
    def _schema() -> ModuleType:
        """Return the package's schema document, from `_schema.py`."""
        raise NotImplementedError

    @staticmethod
    def _snapshot_format() -> SnapshotFormat:
        """Return what such a world is saved and loaded by."""
        from .snapshot_format import SnapshotFormat

        return SnapshotFormat()

    def _archetype_store(self) -> Any:
        """Return what has the components that live in chunks; None if there are none."""
        return None
