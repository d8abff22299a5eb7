"""The errors that generated managers raise, and the one warning."""

from __future__ import annotations


class EcsError(Exception):
    """Base of every error that is about entities, instances or ids."""


class StaleEntityError(EcsError, LookupError):
    """The entity is dead, or was never created."""


class MissingInstanceError(EcsError, LookupError):
    """The entity has no instance of the component."""


class StaleIdError(EcsError, LookupError):
    """The id's instance is gone."""


class StaleInstanceError(EcsError, IndexError):
    """The row is not in use, or was given twice."""


class DuplicateInstanceError(EcsError, ValueError):
    """The entity has an instance already, and the component allows one."""


class DuplicateValueError(EcsError, ValueError):
    """Another row has the value already, and the field is unique."""


class HierarchyError(EcsError, ValueError):
    """The change would make an instance its own ancestor."""


class StructureLockedError(EcsError, RuntimeError):
    """The manager is locked: a `locked()` block or one of its own callbacks is running."""


class CapacityError(EcsError, MemoryError):
    """No index, generation or row is left."""


class StaleViewWarning(UserWarning):
    """A manager's buffer moved while someone outside still held a view of the old one."""


class BrokenManagerError(EcsError, RuntimeError):
    """A change failed halfway, by lack of memory or an interrupt."""


class SnapshotError(EcsError, ValueError):
    """A snapshot is damaged, or says what cannot be: the message begins with where."""
