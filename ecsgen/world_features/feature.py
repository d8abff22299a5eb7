"""What a feature of the world says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ecsgen.model import Project

Names = Callable[[Project], tuple[str, ...]]


def _no_names(project: Project) -> tuple[str, ...]:
    return ()


def _no_base(project: Project) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class WorldFeature:
    """One ability of the world: when it is asked for, and what it brings along.

    What all worlds with it do alike is its base class in the runtime. What names components stands
    in the blocks of `templates/world/<name>.py.j2`, one after another for the active features; see
    `BLOCKS`. They lay out what `ecsgen/render/world/subjects.py` makes, there called `it`.
    """

    name: str
    applies: Callable[[Project], bool]
    order: int = 50  # smaller comes first
    base: Callable[[Project], str] = _no_base
    """The class of the runtime that the world inherits from."""
    attributes: Names = _no_names
    """What it adds to the world's parts, which users cannot assign to; `init` sets them."""
    parameters: Names = _no_names
    """Parameters of the world's `__init__`, with their defaults."""
    exports: Names = _no_names
    """Names of `world.py` that users import from the package."""
    test_modules: tuple[str, ...] = ()
    """Generated tests from which its own take their subjects, besides those of managers."""
    test_support: tuple[str, ...] = ()
    """Pieces of the generated tests that its own name, besides that of its name."""


BLOCKS = {
    "classes": "before the world's class",
    "constants": "at the top of the world's class",
    "init": "at the end of the world's `__init__`",
    "methods": "in the world's class",
    "tests": "in the generated `test_world.py`",
}
"""Where blocks of a feature's template stand."""
