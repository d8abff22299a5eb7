"""Managers of one's own: subclasses that a world makes in place of the generated ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..columns.field_names import nearest_name


def own_managers(
    world: str, known: Mapping[str, type[Any]], given: object
) -> dict[type[Any], type[Any]]:
    """Return which class is to stand for which, or raise TypeError."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise TypeError(f"{world}: managers takes a dict of classes, not {kind}")
    own = {}
    for name, kind in given.items():
        base = known.get(name)
        if base is None:
            near = nearest_name(str(name), [*known])
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"{world}: there is no component {name!r}{hint}")
        if not isinstance(kind, type) or not issubclass(kind, base):
            shown = getattr(kind, "__name__", repr(kind))
            raise TypeError(
                f"{world}: {name!r} takes a subclass of {base.__name__}, not {shown}"
            )
        own[base] = kind
    return own


def overrides(method: str, own: Mapping[type[Any], type[Any]]) -> bool:
    """Return whether one of the classes has a method of its own."""
    return any(
        getattr(kind, method, None) is not getattr(base, method, None)
        for base, kind in own.items()
    )
