"""Which methods C stands for.

A function in C does all that a method does in its usual case. What a generated method consists of
its class says, in `_STEPS`; of the library's own methods it goes by the class that defines them. A
method that is another one, of a policy that came later or is rare, is left alone.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final, TypeAlias

Kind: TypeAlias = Any
"""A generated class, or one of the library's, with the attributes that it has."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STEPS: Final = {
    "row": _names("packed partition grouped direct"),
    "create": _names(
        """packed partition grouped direct sparse hash one many ids direct_ids
        hierarchy owned_children unowned_children"""
    ),
    "create_many": _names("owned_children unowned_children"),
    "_destroy_row": _names(
        """packed partition grouped direct sparse hash many ids release
        hierarchy orphans_root orphans_destroy orphans_die"""
    ),
}
"""The policies whose part in a generated method is known."""

INHERITED: Final[tuple[tuple[str, str, str], ...]] = (
    ("lookup", "lookup", "Sparse Hash Direct"),
    ("first", "lookup", "Many"),
    ("has", "has", "Owned"),
    ("__contains__", "has", "Owned Hash"),
    ("__contains__", "has_id", "Unowned"),
    ("require", "require", "Owned"),
    ("remove", "remove", "Sparse Hash Direct Many"),
    ("lookup_many", "lookup_many", "Sparse"),
    ("remove_many", "remove_many", "Owned"),
    ("destroy", "destroy", "Packed Direct"),
    ("entity", "entity", "Mapped Direct"),
    ("id_of", "id_of", "Ids DirectIds"),
    ("resolve", "resolve", "Ids DirectIds"),
    ("destroy_id", "destroy_id", "IdCalls"),
    ("next", "next", "Many"),
    ("previous", "previous", "Many"),
)
"""Inherited methods: the name, the function in C, the classes whose method it stands for."""

NEEDED: Final = {
    "remove": ("_destroy_row", "lookup"),
    "destroy": ("_destroy_row",),
    "destroy_id": ("_destroy_row", "resolve"),
    "lookup": ("lookup",),
    "lookup_many": ("lookup",),
    "remove_many": ("remove", "lookup"),
    "create_many": ("create", "lookup"),
    "ensure": ("create", "lookup"),
    "has": ("lookup",),
    "has_id": ("resolve",),
    "require": ("lookup",),
}
"""Methods that those with a function in C call, and that must have one, too."""

ENTITIES: Final = {
    "alive": ("alive", "LivingEntities"),
    "__contains__": ("alive", "LivingEntities"),
    "require": ("require", "LivingEntities"),
    "create": ("create", "Entities"),
    "destroy": ("destroy", "Entities"),
}
"""Of entity managers: the function in C, the class whose method it stands for."""

WORLDS: Final = {
    "create": "EntityWorld",
    "destroy_later": "DeferredDeaths",
    "collect": "WorldBase",
}
"""Of worlds: the class whose method the function in C of that name stands for."""

PROXIES: Final = {
    "get": "RowField.of RowField.cell",
    "put": "RowField.of RowField.cell array_writer late_writer",
}
"""Of proxies: what makes the functions that read and write a field."""


def static(kind: Kind, name: str) -> Any:
    """Return an attribute as it stands in the class or its bases, None if there is none."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def attributes(kind: Kind) -> dict[str, Any]:
    """Return all attributes as they stand in a class and its bases: quicker for very many."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found.update(vars(base))
    return found


def consists(kind: Kind, method: str) -> bool:
    """Return whether all that a generated method consists of is known."""
    said = kind._STEPS
    return "row" in said and STEPS[method].issuperset(said.get(method, "").split())


def is_of(method: Any, name: str, classes: str) -> bool:
    """Return whether a method is the one that one of some classes of the library defines."""
    return isinstance(method, FunctionType) and method.__qualname__ in {
        f"{owner}.{name}" for owner in classes.split()
    }
