"""Schema keys that are understood but whose code can't be generated yet: never silently ignored."""

from __future__ import annotations

from collections.abc import Iterator

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Base, Component, Mark, Marks, Project, World

CODE = "E601"


def report_unsupported(project: Project, diagnostics: Diagnostics) -> None:
    """Add a diagnostic for every use of a key that has no templates yet."""
    for component in project.components:
        for key in _component_keys(component):
            _report(diagnostics, key, component.marks, component.name)
        for field in component.fields:
            if field.split:
                _report(diagnostics, "split", field.marks, f"{component.name}.{field.name}")
            if field.type.base is Base.ID:
                _report(diagnostics, "type", field.marks, f"{component.name}.{field.name}", "id<…>")
    for key in _world_keys(project.world):
        _report(diagnostics, key, project.world.marks, project.world.name)


def _component_keys(component: Component) -> Iterator[str]:
    asked = {
        "owner": component.owner == "none",
        "ids": component.ids and component.owner == "entity",
        "partition": component.partition,
        "hierarchy": component.hierarchy,
        "cold": component.cold == "indirect",
        "growth": component.reserve,
        "kernels": component.kernels,
        "reductions": component.reductions,
    }
    return (key for key, used in asked.items() if used)


def _world_keys(world: World) -> Iterator[str]:
    asked = {
        "bundles": world.bundles,
        "queries": world.queries,
        "groups": world.groups,
        "kernels": world.kernels,
        "archetypes": world.archetypes,
    }
    return (key for key, used in asked.items() if used)


def _report(
    diagnostics: Diagnostics, key: str, marks: Marks, where: str, what: str | None = None
) -> None:
    mark = marks.get(key) or marks.get("") or Mark("?", 1, 1)
    message = f"'{what or key}' of {where} is understood, but can't be generated yet"
    diagnostics.add(CODE, message, mark)
