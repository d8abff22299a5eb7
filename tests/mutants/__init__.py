"""Ways to break what is generated, and which generated files they break.

A text file per storage policy or family of them, per feature of the world, and for each file that
everybody shares. Its groups begin with a line in brackets that says what they break:

    [managers ring]               every manager whose component has a policy or feature, of one
                                  backend alone as `kernels_numba`; `in world`: the world's tests
                                  notice, so they come first
    [every manager]               whatever its policies are
    [chunked components]          the modules of components whose rows live in chunks
    [world queries]               world.py of a world with a feature, or of one backend alone
    [module FILE: TEST TEST]      a file that is the same for all components; the tests run one
                                  after the other, up to the first that notices: quick ones first

Below it each line is a mutant: what it says, a regular expression over the file, and what replaces
a match, `pass` by default. Each match is a mutant of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ecsgen import policies
from ecsgen.model import Component, Project
from ecsgen.render.components.component_features import collect_features
from ecsgen.render.world import world_features

__all__ = ["Group", "Mutant", "Targets", "every"]

# Behind a check of a row: not where an accessor of the same row, called next, checks it again.
CHECKED_AGAIN = r"(?!\n.*\n +return \w+\((?:(?!def )[\s\S])*?self\.\w+\(row\))"
IS_REPLACED_BY = " ==>"

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

    @classmethod
    def parse(cls, line: str) -> Mutant:
        """Return the mutant of a line: `says: old`, or `says: old ==> new`."""
        says, _, change = line.partition(": ")
        old, is_replaced, new = change.partition(IS_REPLACED_BY)
        old = old.replace("<CHECKED_AGAIN>", CHECKED_AGAIN)
        return cls(says, old, new.removeprefix(" ")) if is_replaced else cls(says, old)


@dataclass(frozen=True, slots=True)
class Group:
    """Mutants of the same files."""

    of: str  # these files, in words
    targets: Callable[[Project], Targets]  # a file that the package does not have is passed over
    mutants: tuple[Mutant, ...]


def every() -> list[Group]:
    """Return all groups of mutants, in the order of their files."""
    files = sorted(Path(__file__).parent.rglob("*.txt"))
    return [group for file in files for group in read_groups(file.read_text(encoding="utf-8"))]


def read_groups(text: str) -> Iterator[Group]:
    """Yield the groups of a file; its lines with `#` are comments."""
    for part in f"\n{text}".split("\n[")[1:]:
        head, *lines = part.splitlines()
        mutants = tuple(Mutant.parse(line) for line in lines if line and line[0] != "#")
        kind, _, rest = head.removesuffix("]").partition(" ")
        match kind:
            case "managers":
                policy = rest.removesuffix(" in world")
                order = 1 if policy == rest else -1
                yield Group(head[:-1], partial(_of_managers, policy, order), mutants)
            case "every":
                yield Group(head[:-1], partial(_of_managers, "", 1), mutants)
            case "chunked":
                yield Group(head[:-1], _of_chunked, mutants)
            case "world":
                yield Group(f"world.py, {rest}", partial(_of_world, rest), mutants)
            case "module":
                path, _, tests = rest.partition(": ")
                yield Group(path, partial(_of_module, path, tuple(tests.split())), mutants)
            case _:
                raise ValueError(f"{head}: no such group")


def _of_managers(policy: str, order: int, project: Project) -> Targets:
    managed = [c for c in project.components if not c.chunk]
    having = [c for c in managed if not policy or policy in _names(c)]
    return {f"{c.module}.py": (f"test_{c.module}.py", "test_world.py")[::order] for c in having}


def _of_chunked(project: Project) -> Targets:
    return {f"{c.module}.py": ("test_archetypes.py",) for c in project.components if c.chunk}


def _of_world(feature: str, project: Project) -> Targets:
    active = [f.name for f in world_features.select_features(project)]
    names = {*active, *(f"{name}_{project.backend}" for name in active)}
    return {"world.py": ("test_world.py",)} if feature in names else {}


def _of_module(path: str, tests: tuple[str, ...], _: Project) -> Targets:
    return {path: tests}


def _names(component: Component) -> set[str]:
    active = [
        part.name for part in collect_features(component, policies.select_policies(component))
    ]
    return {*active, *(f"{name}_{component.backend}" for name in active)}
