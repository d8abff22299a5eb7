"""Locks: who forbids structural changes, and for how long."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Self
from weakref import ref

from .errors import StructureLockedError
from .state import NO_SLOTS


class Hold(BytesIO):
    """Holds a lock until it is closed, as the end of a `with` block does, or nobody has it.

    The method that ends the block is one in C: before one in Python an interrupt may come, and the
    lock would never end.
    """

    def __init__(self, whole: Lockable) -> None:
        super().__init__()
        self._whole = whole

    def __enter__(self) -> Self:
        try:
            self._whole._lock(ref(self))
            return self
        except BaseException:
            self.close()
            raise


class Lockable:
    """What `with x.locked():` forbids to change."""

    __slots__ = NO_SLOTS

    _locks: int
    """0 if it is surely not locked; otherwise its holds tell."""
    _holds: list[ref[BytesIO]]

    def locked(self) -> AbstractContextManager[object]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        return Hold(self)

    def _unlock(self) -> None:
        """Be locked by nobody."""
        self._locks = 0
        self._holds = []

    def _lock(self, hold: ref[BytesIO]) -> None:
        """Be locked until somebody closes what it refers to, or nobody has it."""
        self._locks = 1
        self._holds.append(hold)

    def _is_locked(self) -> bool:
        """Return whether somebody holds a lock now."""
        if self._locks and not self._is_held():
            self._locks = 0
        return self._locks > 0

    def _is_held(self) -> bool:
        """Return whether somebody holds a lock of this one, and forget who does not any more."""
        holds = self._holds
        while holds:
            hold = holds[-1]()
            if hold is not None and not hold.closed:
                return True
            holds.pop()
        return False

    def _refuse_locked(self) -> None:
        """Raise StructureLockedError if somebody holds a lock."""
        if self._is_locked():
            raise self._locked()

    @abstractmethod
    def _locked(self) -> StructureLockedError:
        """Return what is raised while somebody holds a lock."""
