"""Fields and components that are given by name: only those that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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


def unknown_component(
    method: Callable[..., object], given: Mapping[str, object]
) -> TypeError:
    """Return the error of a keyword that a method which takes components does not know."""
    known: Iterable[str] = method.__kwdefaults__ or ()
    name = next(iter(given))
    return TypeError(
        f"{method.__name__} has no component {name!r}; {_hint(name, known)}"
    )


def _unknown_field(component: str, name: object, known: Iterable[str]) -> TypeError:
    return TypeError(f"{component} has no field {name!r}; {_hint(name, known)}")


def _hint(name: object, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # which takes a while, for errors alone

    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"it has {', '.join(names)}" if names else "it has none"
