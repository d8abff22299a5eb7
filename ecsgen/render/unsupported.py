"""Schema keys that are understood but whose code can't be generated yet: never silently ignored."""

from __future__ import annotations

from collections.abc import Iterator

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Component, Mark, Marks, Project

CODE = "E601"


def report_unsupported(project: Project, diagnostics: Diagnostics) -> None:
    """Add a diagnostic for every use of a key that has no templates yet."""
    for component in project.components:
        for key in _component_keys(component):
            _report(diagnostics, key, component.marks, component.name)


def _component_keys(component: Component) -> Iterator[str]:
    asked = {
        "reductions": component.reductions if component.backend == "numba" else (),
    }
    return (key for key, used in asked.items() if used)


def _report(diagnostics: Diagnostics, key: str, marks: Marks, where: str) -> None:
    mark = marks.get(key) or marks.get("") or Mark("?", 1, 1)
    message = f"'{key}' of {where} is understood, but can't be generated yet"
    diagnostics.add(CODE, message, mark)
