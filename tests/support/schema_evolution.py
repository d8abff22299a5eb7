"""Worlds that went through a snapshot: into the same package, or into one of other schemas."""

from __future__ import annotations

import sys
from hashlib import sha256
from types import ModuleType
from typing import Any

from tests.support.world_package import world_package


def package(text: str) -> ModuleType:
    """Import the world of the package generated from a schema text; the same for equal texts."""
    name = f"evolving_{sha256(text.encode()).hexdigest()[:12]}"
    return world_package(text, name)


def world(text: str) -> Any:
    """Return a new world of a schema text."""
    return package(text).World()


def loaded(old: Any, text: str, **options: Any) -> Any:
    """Return the world of other schemas that loads what this one saves.

    It can be saved and loaded again, and nothing in it contradicts anything else.
    """
    codecs = options.get("codecs")
    kind = package(text).World
    new = kind.load(old.to_bytes(codecs=codecs), **options)
    again = kind.load(new.to_bytes(codecs=codecs), codecs=codecs)
    assert again.to_bytes(codecs=codecs) == new.to_bytes(codecs=codecs)
    return new


def module_of(world: Any, name: str) -> Any:
    """Return another module of the package that a world is of."""
    folder = type(world).__module__.rpartition(".")[0]
    return sys.modules[f"{folder}.{name}"]


def row_class(world: Any, name: str) -> Any:
    """Return the row class of a component whose name is one word."""
    return getattr(module_of(world, name.lower()), name)


def keeping() -> dict[str, Any]:
    """Return codecs that write numbers for objects, and give the same objects back."""
    values: list[Any] = []

    def to_bytes(value: Any) -> bytes:
        values.append(value)
        return b"%d" % (len(values) - 1)

    return {"*": (to_bytes, lambda data: values[int(data)])}


def through_bytes(world: Any) -> Any:
    """Return a world that is loaded from what another saved, objects shared."""
    codecs = keeping()
    return type(world).load(world.to_bytes(codecs=codecs), codecs=codecs)
