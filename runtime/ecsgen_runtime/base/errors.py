"""The errors that generated managers raise, the one warning, and how messages show values."""

from __future__ import annotations

from reprlib import Repr
from typing import Final

_SHOWN: Final = 80
"""Characters of a value that an error message shows."""


class EcsError(Exception):
    """Base of every error that is about entities, instances or ids."""


class StaleEntityError(EcsError, LookupError):
    """The entity is dead, or was never created."""


class MissingInstanceError(EcsError, LookupError):
    """The entity has no instance of the component."""


class StaleIdError(EcsError, LookupError):
    """The id's instance was destroyed."""


class StaleInstanceError(EcsError, IndexError):
    """The row is not in use, or was given twice."""


class DuplicateInstanceError(EcsError, ValueError):
    """The entity has an instance already, and the component allows one."""


class DuplicateValueError(EcsError, ValueError):
    """Another row has the value already, and the field is unique."""


class FullCellError(EcsError, ValueError):
    """The cell is at its capacity already."""


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


def short_repr(value: object) -> str:
    """Return a short `repr` for error messages, whatever the value is."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = _SHOWN
    try:
        if isinstance(value, int):
            repr(value)  # raises of over 4300 digits, where `Repr` shows an address from 3.14 on
        text = short.repr(value)
    except Exception:  # also a broken __repr__ of a nested value
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
