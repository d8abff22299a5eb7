"""What a feature says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ecsgen.columns import Column
from ecsgen.model import Component

ROLES = ("owner", "placement", "growth", "map", "instances", "ids")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A way to break a manager that its generated tests must notice.

    `old` is a regular expression over the generated module; each match, replaced by `new`, is one
    mutant.
    """

    says: str
    old: str
    new: str


def _no_columns(component: Component) -> tuple[Column, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Feature:
    """One storage policy: when it applies, its columns, and the template with its blocks.

    The blocks of `templates/features/<name>.py.j2` say what the feature does at each step of a
    structural change; the manager's template puts the active features' blocks one after another.
    """

    name: str
    applies: Callable[[Component], bool]
    order: int = 50  # smaller comes first: placements (0), maps (10), lists (20)
    roles: tuple[str, ...] = ()  # names by which other features' blocks call this one's
    base: str = ""  # the feature whose blocks stand where this one's template has none
    columns: Callable[[Component], tuple[Column, ...]] = _no_columns
    mutants: tuple[Mutant, ...] = ()
