"""Names of the library that every generated package has, as type checkers see them.

Nothing runs this module: a package loads the names one by one, when they are used
(`package.EXPORTED`).
"""

from __future__ import annotations

from .base.errors import (
    BrokenManagerError,
    CapacityError,
    DuplicateInstanceError,
    DuplicateValueError,
    EcsError,
    HierarchyError,
    MissingInstanceError,
    SnapshotError,
    StaleEntityError,
    StaleIdError,
    StaleInstanceError,
    StaleViewWarning,
    StructureLockedError,
)
from .base.handles import NIL, NULL_ENTITY, Entity, EntityArray, Id, Instance, RowArray
from .snapshots.migration_view import Snapshot, SnapshotTable
from .tables.changes import ChangeReader, Changes
from .values.field_tables import FieldInfo

__all__ = [
    "NIL",
    "NULL_ENTITY",
    "BrokenManagerError",
    "CapacityError",
    "ChangeReader",
    "Changes",
    "DuplicateInstanceError",
    "DuplicateValueError",
    "EcsError",
    "Entity",
    "EntityArray",
    "FieldInfo",
    "HierarchyError",
    "Id",
    "Instance",
    "MissingInstanceError",
    "RowArray",
    "Snapshot",
    "SnapshotError",
    "SnapshotTable",
    "StaleEntityError",
    "StaleIdError",
    "StaleInstanceError",
    "StaleViewWarning",
    "StructureLockedError",
]
