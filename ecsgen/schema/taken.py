"""What packages export whatever their schemas say.

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

EXPORTED: Final = """
ArchetypeChunk Archetypes BrokenManagerError CapacityError Draws DuplicateInstanceError
DuplicateValueError EcsError Entity EntityArray EntityManager EntityView FieldInfo HierarchyError
Id Instance MissingInstanceError NIL NULL_ENTITY Neighbours RowArray Signature Snapshot
SnapshotError SnapshotTable StaleEntityError StaleIdError StaleInstanceError StaleViewWarning
StructureLockedError World
"""
