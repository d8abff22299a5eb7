"""How the state of policies is declared: where it lies, and what of it is saved."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

NO_SLOTS: Final = ()
"""A policy's attributes are slots of the generated class, which has those of all its policies:
Python allows for one base class with slots."""


@cache
def numbers_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the numbers that a class and its bases say are to be saved."""
    return tuple(
        name
        for base in reversed(kind.__mro__)
        for name in vars(base).get("_NUMBERS", ())
    )
