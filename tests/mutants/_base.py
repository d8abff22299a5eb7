"""Mutants, and groups of them that say which generated files they break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ecsgen import policies
from ecsgen.model import Component, Project
from ecsgen.render.components.component_features import collect_features
from ecsgen.render.world import world_features

# Behind a check of a row: not where an accessor of the same row, called next, checks it again.
CHECKED_AGAIN = r"(?!\n.*\n +return \w+\((?:(?!def )[\s\S])*?self\.\w+\(row\))"

Targets = Mapping[str, tuple[str, ...]]
"""Files to break → files of the tests' folder that must notice; none means all of them."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A way to break a generated file that its generated tests must notice.

    `old` is a regular expression over the file; each match, replaced by `new`, is one mutant.
    """

    says: str
    old: str
    new: str = "pass"


@dataclass(frozen=True, slots=True)
class Group:
    """Mutants of the same files."""

    of: str  # these files, in words
    targets: Callable[[Project], Targets]  # a file that the package does not have is passed over
    mutants: tuple[Mutant, ...]


def managers(policy: str, *mutants: Mutant, in_world: bool = False) -> Group:
    """Break every manager whose component has a storage policy, `kernels_numba` say of one backend
    only; `in_world`: the world's tests notice, so they come first."""

    def targets(project: Project) -> Targets:
        order = -1 if in_world else 1
        having = [c for c in _managed(project) if policy in _names(c)]
        return {f"{c.module}.py": _tests(c)[::order] for c in having}

    return Group(f"managers, {policy}", targets, mutants)


def every_manager(*mutants: Mutant) -> Group:
    """Break every manager, whatever its policies are."""

    def targets(project: Project) -> Targets:
        return {f"{c.module}.py": _tests(c) for c in _managed(project)}

    return Group("every manager", targets, mutants)


def chunked_components(*mutants: Mutant) -> Group:
    """Break the modules of all components whose rows live in chunks."""

    def targets(project: Project) -> Targets:
        return {f"{c.module}.py": ("test_archetypes.py",) for c in project.components if c.chunk}

    return Group("components in chunks", targets, mutants)


def world(feature: str, *mutants: Mutant) -> Group:
    """Break what a feature adds to the world, `kernel_methods_numba` say with one backend only."""

    def targets(project: Project) -> Targets:
        active = [f.name for f in world_features.select_features(project)]
        names = {*active, *(f"{name}_{project.backend}" for name in active)}
        return {"world.py": ("test_world.py",)} if feature in names else {}

    return Group(f"world.py, {feature}", targets, mutants)


def module(path: str, tests: tuple[str, ...], *mutants: Mutant) -> Group:
    """Break a file that is the same for all components; the tests of these files must notice.

    They run one after the other, up to the first that notices: quick ones come first.
    """
    return Group(path, lambda project: {path: tests}, mutants)


def _managed(project: Project) -> list[Component]:
    return [component for component in project.components if not component.chunk]


def _names(component: Component) -> set[str]:
    active = [
        part.name for part in collect_features(component, policies.select_policies(component))
    ]
    return {*active, *(f"{name}_{component.backend}" for name in active)}


def _tests(component: Component) -> tuple[str, ...]:
    return f"test_{component.module}.py", "test_world.py"
