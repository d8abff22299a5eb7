"""Managers that failed in the middle of a change: from then on every call says so."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from .errors import BrokenManagerError

_ANSWERS = ("__len__", "__iter__", "__contains__", "__getitem__", "__bool__")
"""Methods that Python finds in the class, without asking `__getattribute__`."""


MARK: Final = "_is_broken"
"""What the class of something broken has, and no other."""


def break_down(whole: Any) -> None:
    """Let every later call of `whole` raise BrokenManagerError; O(1).

    Its class is exchanged for one that only raises, so what works pays nothing for it.
    """
    if not is_broken(whole):
        object.__setattr__(whole, "__class__", _broken(type(whole)))


def break_since(manager: Any, version: int) -> None:
    """Break a manager of which several rows were to come or go, if some did and others did not."""
    if not is_broken(manager) and manager.data._version != version:
        manager._break()


def is_broken(whole: object) -> bool:
    """Return whether all calls of `whole` raise."""
    return MARK in vars(type(whole))


def _nothing() -> None:
    """Break what is broken."""


def _broken(kind: type[Any]) -> type[Any]:
    """Return the class of what is broken; breaking is rare, so each gets its own."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise BrokenManagerError(
            f"{kind.__name__} is broken: a change of it failed halfway, by lack of "
            "memory or an interrupt; load a saved one or build it anew"
        )

    def attribute(self: Any, name: str) -> Any:
        if name in ("__class__", "__doc__", "__repr__"):
            return object.__getattribute__(self, name)
        if name == "_break":  # somebody further out breaks what is broken already
            return _nothing
        return refuse(self)

    def text(self: Any) -> str:
        return f"<broken {kind.__name__}>"

    body: dict[str, Any] = dict.fromkeys(
        (*_ANSWERS, "__setattr__", "__delattr__"), refuse
    )
    body |= {"__slots__": (), "__module__": kind.__module__}
    body |= {"__getattribute__": attribute, "__repr__": text}
    body[MARK] = True
    return type(kind.__name__, (kind,), body)
