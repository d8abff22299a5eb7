"""Managers that go through a file."""

from __future__ import annotations

import pickle
from typing import Any

from ..world.base import WorldBase

CODECS = {"*": (pickle.dumps, pickle.loads)}


def loaded(world: Any) -> Any:
    """Return a world made of what another one saved."""
    return type(world).load(world.to_bytes(codecs=CODECS), codecs=CODECS)


def through_snapshot(kind: type[WorldBase], value: Any) -> Any:
    """Return what is left of a manager, or of one with its entities, after saving and loading.

    Only worlds are saved, so one of a kind takes them in for the while.
    """
    manager, entities = value if isinstance(value, tuple) else (value, None)
    name = next(n for n, of in kind._KINDS.items() if isinstance(manager, of))

    around: Any = type("Around", (kind,), {}, managers={name: type(manager)})
    world = around()
    parts: dict[str, Any] = vars(world)  # worlds refuse to have their parts replaced
    parts[name] = manager
    if entities is not None:
        parts["entities"] = entities
    again = loaded(world)
    other = getattr(again, name)
    if hasattr(other, "_link_group"):
        other._link_group((), 0)  # the loaded world's
    return other if entities is None else (other, again.entities)
