"""What features of the world and texts ask about its components, queries and kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ecsgen.model import Component, Kernel, Project, Query


def having_owners(project: Project) -> list[Component]:
    """Return the components that entities can have, in the order of their bits: as in the
    world's `_members`, those with managers come first."""
    owned = [component for component in project.components if component.owner == "entity"]
    return sorted(owned, key=lambda component: component.name in project.world.archetypes)


def queries_of(project: Project, *, chunked: bool) -> list[Query]:
    """Return the queries of chunks, or those of managers."""
    return [query for query in project.world.queries if query.chunked == chunked]


def runs_over_chunks(project: Project) -> Callable[[Kernel], bool]:
    """Return what tells the kernels over chunks from the others."""
    chunked = {query.name for query in queries_of(project, chunked=True)}
    return lambda kernel: kernel.over in chunked


def steps_kernels(project: Project, *, chunked: bool = False) -> list[Kernel]:
    """Return those over rows of managers, or over chunks, whose arguments tests can make up: no
    enums."""
    over_chunks = runs_over_chunks(project)
    return [
        kernel
        for kernel in project.world.kernels
        if over_chunks(kernel) == chunked
        and not any(argument.type.enum for argument in kernel.program.arguments)
    ]


def bundle_members(project: Project) -> dict[str, tuple[Component, ...]]:
    """Return each bundle's components, its own and those of the bundles that it builds on."""
    by_name, bundles = project.by_name, dict(project.world.bundles)
    return {name: tuple(by_name[n] for n in _flat(name, bundles)) for name in bundles}


def _flat(bundle: str, bundles: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the components of a bundle by name, each once; without recursion."""
    found: set[str] = set()
    wanted = {bundle}
    seen: set[str] = set()
    while wanted:
        seen |= wanted
        names = {name for outer in wanted for name in bundles[outer]}
        wanted = (names & bundles.keys()) - seen
        found |= names - bundles.keys()
    return sorted(found)
