"""Protection from changes: read-only attributes, locks, objects that are broken for good."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self
from weakref import ref

from .errors import BrokenManagerError, StructureLockedError
from .specialisation import NO_SLOTS

_ANSWERS = ("__len__", "__iter__", "__contains__", "__getitem__", "__bool__")
"""Methods that Python finds in the class, without asking `__getattribute__`."""


BROKEN_MARKER: Final = "_is_broken"
"""Attribute that only the class of a broken object has."""


def mark_broken(target: Any) -> None:
    """Make every later call of `target` raise BrokenManagerError; O(1).

    Its class is exchanged for one that only raises, so what works pays nothing for it.
    """
    if not is_broken(target):
        object.__setattr__(target, "__class__", _broken(type(target)))


def mark_broken_if_changed(manager: Any, version: int) -> None:
    """Mark a manager broken if a batch of its rows was created or removed only in part."""
    if not is_broken(manager) and manager.version != version:
        manager._mark_broken()


def is_broken(target: object) -> bool:
    """Return whether all calls of `target` raise."""
    return BROKEN_MARKER in vars(type(target))


def _broken(kind: type[Any]) -> type[Any]:
    """Return a subclass that only raises; breaking is rare, so each object gets its own."""

    def refuse(self: Any, /, *_: Any, **__: Any) -> NoReturn:
        raise BrokenManagerError(
            f"{kind.__name__} is broken: a change of it failed halfway, by lack of "
            "memory or an interrupt; load a saved one or build it anew"
        )

    def attribute(self: Any, name: str) -> Any:
        if name in ("__class__", "__doc__", "__repr__"):
            return object.__getattribute__(self, name)
        if name == "_mark_broken":  # an outer call marks it again
            return lambda: None
        return refuse(self)

    def text(self: Any) -> str:
        return f"<broken {kind.__name__}>"

    body: dict[str, Any] = dict.fromkeys((*_ANSWERS, "__setattr__", "__delattr__"), refuse)
    body |= {"__slots__": (), "__module__": kind.__module__}
    body |= {"__getattribute__": attribute, "__repr__": text}
    body[BROKEN_MARKER] = True
    return type(kind.__name__, (kind,), body)


class LockGuard(BytesIO):
    """Lock that ends when the guard is closed, as by the end of a `with` block, or collected.

    The method that ends the block is one in C: before one in Python an interrupt may come, and the
    lock would never end.
    """

    def __init__(self, target: Lockable) -> None:
        super().__init__()
        self._target = target

    def __enter__(self) -> Self:
        try:
            self._target._lock(ref(self))
            return self
        except BaseException:
            self.close()
            raise


class Lockable:
    """Mixin of `locked()`, which forbids structural changes inside a `with` block."""

    __slots__ = NO_SLOTS

    _locks: int
    """0 if surely not locked; otherwise `_holds` decide."""
    _holds: list[ref[BytesIO]]

    def locked(self) -> AbstractContextManager[object]:
        """Return a context manager that makes structural changes raise StructureLockedError."""
        return LockGuard(self)

    def _unlock(self) -> None:
        self._locks = 0
        self._holds = []

    def _lock(self, hold: ref[BytesIO]) -> None:
        """Lock until the guard that `hold` refers to is closed or collected."""
        self._locks = 1
        self._holds.append(hold)

    def _is_locked(self) -> bool:
        if self._locks and not self.is_held():
            self._locks = 0
        return self._locks > 0

    def is_held(self) -> bool:
        """Return whether a guard is open, and drop those that are closed or collected."""
        holds = self._holds
        while holds:
            hold = holds[-1]()
            if hold is not None and not hold.closed:
                return True
            holds.pop()
        return False

    def _raise_if_locked(self) -> None:
        if self._is_locked():
            raise self._lock_error()

    @abstractmethod
    def _lock_error(self) -> StructureLockedError:
        """Return the error of changes while locked."""


def raise_if_locked(target: Lockable) -> None:
    """Raise StructureLockedError if structural changes of `target` are forbidden now; O(1)."""
    if target._locks:
        target._raise_if_locked()


def is_locked(target: Lockable) -> bool:
    """Return whether structural changes of `target` are forbidden now; O(1)."""
    return target._locks > 0 and target._is_locked()


class ReadOnlyAttributes:
    """Mixin that makes the attributes in `READ_ONLY` constant once they are set."""

    __slots__ = ()

    READ_ONLY: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if name in self.READ_ONLY and hasattr(self, name):
                raise read_only_attribute_error(self, name)
            object.__setattr__(self, name, value)  # `super` takes half as long again

        def __delattr__(self, name: str) -> None:
            if name in self.READ_ONLY:
                raise read_only_attribute_error(self, name)
            super().__delattr__(name)


def read_only_attribute_error(owner: object, name: str) -> AttributeError:
    """Return the AttributeError of an assignment to a part of `owner`."""
    part = type(getattr(owner, name)).__name__
    message = f"{type(owner).__name__}.{name} is its {part} and can't be replaced"
    return AttributeError(message, name=name, obj=owner)
