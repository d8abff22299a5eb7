"""Members that each class has for itself: slots of its policies, one-row methods in Python or C."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final, TypeAlias, TypeVar

from .handles import HandleLayout
from .version import __version__

NO_SLOTS: Final = ()
"""A policy's attributes are slots of the generated class, which has those of all its policies:
Python allows for one base class with slots."""


@cache
def saved_number_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the numbers that a class and its bases say are to be saved."""
    return tuple(
        name for base in reversed(kind.__mro__) for name in vars(base).get("_SAVED_NUMBERS", ())
    )


# CPython fits the machine code of a function to the types that it meets. A function that twenty
# managers share meets twenty, and fits none: a lookup takes a third longer. And the numbers of
# handles, which each package has for itself, are globals of such methods.

_Method = TypeVar("_Method", bound=Callable[..., Any])
_MARK = "_is_per_class"


def specialised(method: _Method) -> _Method:
    """Mark a method of which every class is to have a copy."""
    setattr(method, _MARK, True)
    return method


def accelerated(function: str) -> Callable[[_Method], _Method]:
    """Mark a specialised method with the function in C that does the same, if there is one."""

    def mark(method: _Method) -> _Method:
        method.function_in_c = function  # type: ignore[attr-defined]  # functions take any
        return specialised(method)

    return mark


def specialise_methods(owner: type[Any], layout: HandleLayout | None = None) -> None:
    """Clone every inherited `@specialised` method into a class. About 1 µs per method.

    `layout`: the numbers that the methods find as globals.

    For generated classes, which have all their bases: in a base, a copy would hide the methods of
    the classes between.
    """
    members = vars(owner)
    for base in owner.__mro__[1:]:
        for name in _marked(base):
            method = getattr(owner, name)
            if name not in members and hasattr(method, _MARK):
                names = None if layout is None else layout.globals_of(method)
                setattr(owner, name, clone_function(method, names=names))


def collect_hooks(owner: type[Any], listed: str) -> tuple[Callable[..., Any], ...]:
    """Return the methods that classes which a class is made of list by name, in their order.

    Chains of `super()` would take longer than what these methods do.
    """
    names = (name for base in owner.__mro__ for name in vars(base).get(listed, ()))
    return tuple(getattr(owner, name) for name in dict.fromkeys(names))


@cache
def _marked(base: type[Any]) -> tuple[str, ...]:
    """Return the methods of a class that are marked, without those that it inherits."""
    return tuple(
        name
        for name, method in vars(base).items()
        if isinstance(method, FunctionType) and hasattr(method, _MARK)
    )


def clone_function(
    method: FunctionType,
    attributes: Mapping[str, str] | None = None,
    names: dict[str, Any] | None = None,
) -> FunctionType:
    """Return a function with code of its own; `super()` in it means what it did.

    `attributes`: what it is to read or write instead of some attributes; `names`: its globals, if
    not those of its module.
    """
    renamed = attributes or {}
    read = tuple(renamed.get(name, name) for name in method.__code__.co_names)
    copy = FunctionType(
        method.__code__.replace(co_names=read),
        method.__globals__ if names is None else names,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    copy.__dict__.update(method.__dict__)
    copy.__annotations__ = method.__annotations__
    copy.__kwdefaults__ = method.__kwdefaults__
    return copy


# A copy of this module in a vendored package takes the one-row methods in C of the
# installed ecsgen-runtime, too, if that has its version; ECSGEN_PURE=1 leaves them out.


LIBRARY: Final = "ecsgen_runtime"

_Installer: TypeAlias = Callable[[type], object]


def find_accelerator() -> tuple[_Installer | None, str]:
    """Return what installs methods in C in a class, or None and the reason why there are none."""
    if os.environ.get("ECSGEN_PURE", "0") not in ("", "0"):
        return None, "left out by ECSGEN_PURE"
    try:
        installed = import_module(LIBRARY).__version__
        if installed != __version__:
            return None, f"this is {__version__}, and ecsgen-runtime {installed}"
        install: _Installer = import_module(f"{LIBRARY}.accelerator").install
    except ImportError as error:
        is_there = getattr(error, "name", "") != f"{LIBRARY}.accelerator._fast" or error.path
        return None, str(error) if is_there else "not compiled"
    return install, ""


_INSTALL: Final = find_accelerator()[0]


def install_accelerator(kind: type) -> None:
    """Put the C versions before a class's one-row methods, if the accelerator is there."""
    if _INSTALL is not None:
        _INSTALL(kind)
