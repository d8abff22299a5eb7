"""What of the schemas code can use that no file depends on: a snapshot says nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ecsgen.model import Component, Kernel, Project, Reduction
from ecsgen.model.members import bundle_members
from ecsgen.model.schedules import arguments_of, called

Arguments: TypeAlias = tuple[tuple[str, str], ...]
"""Name and type of each argument of a kernel or a schedule, in order."""


@dataclass(frozen=True, slots=True)
class ComponentCode:
    """What a component has for code besides its fields and policies."""

    release: bool
    kernels: Mapping[str, Arguments]
    reductions: Mapping[str, str]
    """What each returns."""

    @classmethod
    def of(cls, component: Component) -> ComponentCode:
        """Return what a component has."""
        return cls(
            component.release,
            _kernels(component.kernels),
            {one.name: _returned(one) for one in component.reductions},
        )


@dataclass(frozen=True, slots=True)
class Code:
    """What a project has for code besides what files say."""

    world: str
    components: Mapping[str, ComponentCode]
    kernels: Mapping[str, Arguments]
    queries: Mapping[str, tuple[str, ...]]
    """The components whose rows each query gives."""
    bundles: Mapping[str, tuple[str, ...]]
    """The components of each, those of bundles within it too."""
    schedules: Mapping[str, Arguments]

    @classmethod
    def of(cls, project: Project) -> Code:
        """Return what a project has."""
        bundles = bundle_members(project).items()
        return cls(
            project.world.name,
            {one.name: ComponentCode.of(one) for one in project.components},
            _kernels(project.world.kernels),
            {query.name: (*query.all, *query.optional) for query in project.world.queries},
            {name: tuple(member.name for member in members) for name, members in bundles},
            _schedules(project),
        )


def _kernels(kernels: Iterable[Kernel]) -> dict[str, Arguments]:
    return {kernel.name: tuple(_arguments(kernel).items()) for kernel in kernels}


def _schedules(project: Project) -> dict[str, Arguments]:
    found = {}
    for name, entries in project.world.schedules:
        pairs = arguments_of(called(entries, project.by_name, project.world))
        given = ((one.name, _arguments(call.kernel)[one.name]) for call, one in pairs)
        found[name] = tuple(given)
    return found


def _arguments(kernel: Kernel) -> dict[str, str]:
    """Return the type of each argument."""
    return {
        name: f"{text} of each row" if name in kernel.each else text
        for name, text, _ in kernel.args
    }


def _returned(reduction: Reduction) -> str:
    if reduction.how == "count":
        return "int"
    is_float = reduction.how == "mean" or reduction.program.value.type.is_float
    return "float" if is_float else "int"
