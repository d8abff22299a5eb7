"""What several features of the world ask about its components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecsgen.model import Component, Project, Query


def having_owners(project: Project) -> list[Component]:
    """Return the components that entities can have, in the order of their bits: as in the
    world's `_members`, those with managers come first."""
    owned = [component for component in project.components if component.owner == "entity"]
    return sorted(owned, key=lambda component: component.name in project.world.archetypes)


def which_entities(query: Query) -> str:
    """Return which entities a query finds, in words."""
    words = {"all of": query.all, "any of": query.any, "none of": query.none}
    words["optional"] = query.optional
    clauses = [f"{word} {', '.join(names)}" for word, names in words.items() if names]
    return "Live entities with " + "; ".join(clauses)


def bundle_members(project: Project) -> dict[str, tuple[Component, ...]]:
    """Return each bundle's components, its own and those of the bundles that it builds on."""
    by_name = {component.name: component for component in project.components}
    bundles = dict(project.world.bundles)
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
