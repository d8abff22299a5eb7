"""What a feature of the world says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ecsgen.model import Project


def _nothing(project: Project) -> object:
    return ()


def _no_names(project: Project) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class WorldFeature:
    """One ability of the world: when it is asked for, and the template with its blocks.

    The blocks of `templates/world/<name>.py.j2` say what it adds to `world.py`; the world's
    template puts the active features' blocks one after another.
    """

    name: str
    applies: Callable[[Project], bool]
    order: int = 50  # smaller comes first
    subject: Callable[[Project], object] = _nothing
    """What its template lays out, there called `it`: plain frozen data, no more than it needs.
    The world is made again when its `repr` changes."""
    exports: Callable[[Project], tuple[str, ...]] = _no_names
    """Names of `world.py` that users import from the package."""
    test_modules: tuple[str, ...] = ()
    """Generated tests from which its own take their subjects, besides those of managers."""
    test_support: tuple[str, ...] = ()
    """Pieces of the generated tests that its own name, besides that of its name."""
