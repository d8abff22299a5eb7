"""What every generated package has of the library for its users, as type checkers see it.

While a program runs it comes from `package.EXPORTED`, when it is asked for.
"""

from __future__ import annotations

from .errors import (
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
from .fields import FieldInfo
from .handles import NIL, NULL_ENTITY, Entity, EntityArray, Id, Instance, RowArray
from .snapshots.tables import Snapshot, SnapshotTable

__all__ = [
    "NIL",
    "NULL_ENTITY",
    "BrokenManagerError",
    "CapacityError",
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
