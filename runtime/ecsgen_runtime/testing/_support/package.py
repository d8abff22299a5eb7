"""The package under test, as far as all tests need it."""

from __future__ import annotations

from generated import (
    NIL,
    NULL_ENTITY,
    BrokenManagerError,
    CapacityError,
    DuplicateInstanceError,
    DuplicateValueError,
    EcsError,
    EntityArray,
    EntityManager,
    HierarchyError,
    MissingInstanceError,
    SnapshotError,
    StaleEntityError,
    StaleIdError,
    StaleInstanceError,
    StaleViewWarning,
    StructureLockedError,
    World,
    entities,
)

__all__ = [
    "NIL",
    "NULL_ENTITY",
    "BrokenManagerError",
    "CapacityError",
    "DuplicateInstanceError",
    "DuplicateValueError",
    "EcsError",
    "EntityArray",
    "EntityManager",
    "HierarchyError",
    "MissingInstanceError",
    "SnapshotError",
    "StaleEntityError",
    "StaleIdError",
    "StaleInstanceError",
    "StaleViewWarning",
    "StructureLockedError",
    "World",
    "entities",
]
