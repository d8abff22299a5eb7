"""Fields that are given by name: only those that the component has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

FieldsT = TypeVar("FieldsT", bound=Mapping[str, Any])


def known_fields(component: type[tuple[Any, ...]], fields: FieldsT) -> FieldsT:
    """Return fields by name; TypeError for one that there is not, or for no mapping.

    The component is given by its row class, a NamedTuple.
    """
    if not isinstance(fields, Mapping):
        kind = type(fields).__name__
        raise TypeError(f"{component.__name__} takes a dict of its fields, not {kind}")
    known: tuple[str, ...] = component._fields  # type: ignore[attr-defined]  # see above
    for name in fields:
        if name not in known:
            raise _unknown_field(component.__name__, name, known)
    return fields


def nearest_name(name: str, known: Sequence[str]) -> str:
    """Return the name that was meant, or nothing."""
    from difflib import get_close_matches  # which takes a while, for errors alone

    near = get_close_matches(name, known, n=1)
    return near[0] if near else ""


def _unknown_field(component: str, name: object, known: tuple[str, ...]) -> TypeError:
    near = nearest_name(str(name), known)
    hint = f"did you mean {near!r}?" if near else f"it has {', '.join(known)}"
    if not known:
        hint = "it has none"
    return TypeError(f"{component} has no field {name!r}; {hint}")
