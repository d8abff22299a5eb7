"""The packages that mutants break, and every way to break them, one at a time."""

from __future__ import annotations

import builtins
import re
import shutil
import symtable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar

from ecsgen.config import Backend
from ecsgen.model import Project
from tests import mutants
from tests.mutants import Group, Mutant, Targets
from tests.support.generated_package import SCHEMAS, build

Item = TypeVar("Item")

FILES, PLACES = 8, 3
"""Of many files in which a pattern matches, and of many matches in one of them, so many are tried,
from the first to the last: they are made by the same template."""


@dataclass(frozen=True)
class Package:
    """A package to break, and the schemas it is made from."""

    name: str
    schemas: tuple[Path, ...]
    backend: Backend


TESTS = Path(__file__).parents[1]
WHOLE = Package("generated", (*sorted(SCHEMAS.iterdir()), TESTS / "more_policies.yaml"), "numpy")
SMALL_BATCH_COMPILED = Package("compiled", (TESTS / "compiled.yaml",), "numba")
GRIDS = Package("farm", (TESTS / "farm.yaml",), "numpy")
LIBRARY = TESTS.parent / "runtime" / "ecsgen_runtime"
PROJECT_TESTS: Mapping[str, tuple[str, ...]] = {
    "base/": ("policies/test_manager_cases.py", "policies/test_callbacks.py"),
    "base/locks.py": ("world/test_world_cases.py",),
    "base/text.py": ("policies/test_reprs.py",),
    "entities/": ("runtime/test_entities.py",),
    "kernels/grids/": ("grids/test_cells.py",),
    "kernels/compiled_random_streams.py": ("kernels/test_distributions.py",),
    "kernels/compiled_references.py": ("runtime/test_compiled.py",),
    "kernels/random_streams.py": ("kernels/test_distributions.py",),
    "kernels/seeding.py": ("world/test_world_cases.py",),
    "kernels/spaces/": ("policies/test_manager_cases.py",),
    "managers/": (
        "policies/test_manager_cases.py",
        "policies/test_few.py",
        "policies/test_callbacks.py",
        "policies/test_hostile_arguments.py",
    ),
    "managers/manager.py": (
        "policies/test_unique.py",
        "policies/test_aliases.py",
        "world/test_world.py",
    ),
    "managers/policies/additions.py": ("policies/test_additions.py",),
    "managers/policies/chains.py": ("policies/test_feature_hierarchy.py",),
    "managers/policies/cold.py": ("policies/test_feature_indirect.py",),
    "managers/policies/growth.py": ("policies/test_feature_reserved.py",),
    "managers/policies/hierarchy.py": ("policies/test_feature_hierarchy.py",),
    "managers/policies/ids.py": ("kernels/test_newborn_handles.py",),
    "managers/policies/index.py": ("policies/test_index.py",),
    "managers/policies/instances.py": ("world/test_world_queries.py",),
    "managers/policies/owners.py": (
        "policies/test_row_proxies.py",
        "policies/test_aliases.py",
        "policies/test_additions.py",
        "policies/test_on_delete.py",
    ),
    "managers/policies/references.py": ("policies/test_on_delete.py",),
    "managers/policies/ring.py": ("policies/test_ring.py",),
    "managers/policies/unique.py": ("policies/test_unique.py",),
    "managers/query_members.py": ("world/test_world_queries.py", "world/test_query_columns.py"),
    "managers/row_proxies.py": ("policies/test_row_proxies.py",),
    "snapshots/": ("snapshots/test_saving.py",),
    "tables/": ("policies/test_manager_cases.py", "policies/test_reprs.py"),
    "tables/compiled_bulk.py": ("runtime/test_compiled.py",),
    "tables/placement.py": ("world/test_world_queries.py",),
    "values/array_coercion.py": ("runtime/test_entities.py",),
    "values/field_tables.py": ("world/test_bundles.py",),
    "values/field_types.py": ("policies/test_aliases.py",),
    "values/": ("policies/test_few.py", "runtime/test_convert_texts.py"),
    "world/": (
        "world/test_world_cases.py",
        "world/test_world.py",
        "world/test_spawn.py",
        "world/test_later.py",
        "policies/test_one_at_a_time_typed.py",
    ),
    "world/world_base.py": ("policies/test_few.py", "policies/test_feature_hierarchy.py"),
    "world/entity_views.py": ("policies/test_hostile_arguments.py",),
    "world/requirements.py": ("world/test_requires.py",),
    "world/archetypes/requiring_store.py": ("world/test_requires.py",),
    "world/archetypes/": ("world/test_archetypes.py", "world/test_query_columns.py"),
    "world/groups.py": ("world/test_groups.py",),
    "world/queries/": (
        "world/test_world_queries.py",
        "world/test_query_columns.py",
        "policies/test_reprs.py",
    ),
}
"""The project's own tests of library files, by how their paths begin: what can't fail because of a
schema is theirs to notice, so mutants that generated tests let pass meet them, too."""


@dataclass(frozen=True)
class Job:
    """One broken module."""

    package: str
    of: str  # the group's files in words
    file: str
    place: int  # which match of the pattern
    mutant: Mutant
    text: str
    tests: tuple[str, ...]  # files of the tests' folder; none means all
    project_tests: tuple[str, ...] = ()  # the project's own, of a file of the library
    tests_of_others: tuple[str, ...] = ()  # as `tests`, of other mutants of the same file

    @property
    def where(self) -> str:
        """The module, and the package unless it is that of all schemas."""
        return self.file if self.package == WHOLE.name else f"{self.package}/{self.file}"

    @property
    def title(self) -> str:
        return f"{self.where:<36} {self.mutant.says} [{self.place}]"


def build_all(folder: Path) -> dict[str, Project]:
    """Write the packages that are going to be broken into a folder, beside a copy of the library;
    return what they are of."""
    projects = {}
    for package in (WHOLE, SMALL_BATCH_COMPILED, GRIDS):
        schemas = folder / f"{package.name}_schemas"
        schemas.mkdir(parents=True)
        for path in package.schemas:
            shutil.copy(path, schemas)
        project = build(schemas, folder / package.name, backend=package.backend, runtime="vendored")
        projects[package.name] = project.made_for(package.backend)
    shutil.copytree(LIBRARY, library_of(folder), ignore=shutil.ignore_patterns("__pycache__"))
    return projects


def library_of(folder: Path) -> Path:
    """Return where the copy of the library is that the project's own tests import."""
    return folder / "library" / LIBRARY.name


def project_tests(file: str) -> tuple[str, ...]:
    """Return the project's own tests of a library file, those of fewest files first."""
    path = file.removeprefix("_runtime/")
    if path == file:
        return ()
    starts = sorted(filter(path.startswith, PROJECT_TESTS), key=len, reverse=True)
    return tuple(dict.fromkeys(chain(*map(PROJECT_TESTS.__getitem__, starts))))


def jobs(projects: dict[str, Project], folder: Path) -> Iterator[Job]:
    """Return every way to break the packages, one at a time.

    A group of mutants breaks the first package that has a file for it and that file's tests. Where
    several groups break one file, a pattern may match what another one is about: then the tests of
    all are run that the package has.
    """
    groups = mutants.every()
    all_targets = {name: [group.targets(it) for group in groups] for name, it in projects.items()}
    for number, group in enumerate(groups):
        for name, of_groups in all_targets.items():
            package = folder / name
            targets = {
                file: tests
                for file, tests in of_groups[number].items()
                if (package / file).exists() and len(_there(tests, package)) == len(tests)
            }
            others = {
                file: _tests_of_others(file, targets[file], of_groups, package) for file in targets
            }
            texts = {file: (package / file).read_text(encoding="utf-8") for file in targets}
            for mutant in group.mutants:
                yield from _broken(package.name, group, mutant, texts, targets, others)
            if texts:
                break


def _there(tests: Iterable[str], package: Path) -> list[str]:
    """Return those of some tests that a package has: files, or classes in them."""
    return [test for test in tests if (package / "tests" / test.partition("::")[0]).exists()]


def _tests_of_others(
    file: str, targets: Iterable[str], of_groups: Iterable[Targets], package: Path
) -> tuple[str, ...]:
    """Return the tests that other groups have for a file of the library."""
    if not file.startswith("_runtime/"):
        return ()
    every = chain(*(_there(other.get(file, ()), package) for other in of_groups))
    return tuple(test for test in dict.fromkeys(every) if test not in targets)


def _broken(
    package: str,
    group: Group,
    mutant: Mutant,
    texts: Mapping[str, str],
    targets: Targets,
    others: Targets,
) -> Iterator[Job]:
    """Return the jobs of one mutant."""
    replaced = {file: list(_replaced(text, mutant)) for file, text in texts.items()}
    for file in spread([file for file, matches in replaced.items() if matches], FILES):
        for number_of_match, new in spread(replaced[file], PLACES):
            tests = targets[file], project_tests(file), others[file]
            yield Job(package, group.of, file, number_of_match, mutant, new, *tests)


def _replaced(text: str, mutant: Mutant) -> Iterator[tuple[int, str]]:
    """Return each match of a mutant's pattern, by number, and the text with it replaced."""
    for number_of_match, match in enumerate(re.finditer(mutant.old, text, re.MULTILINE)):
        new = text[: match.start()] + match.expand(mutant.new) + text[match.end() :]
        if new != text:
            yield number_of_match, new


def spread(items: list[Item], count: int) -> list[Item]:
    """Return `count` of several items, evenly spread from the first to the last; 0 means all."""
    if count == 0 or len(items) <= count:
        return items
    last = len(items) - 1
    return [items[round(k * last / max(count - 1, 1))] for k in range(count)]


def idle(todo: Iterable[Job]) -> list[str]:
    """Return what the mutants say that break nothing: the code they are about has changed."""
    at_work = {(job.of, job.mutant) for job in todo}
    return [
        f"{group.of}: {mutant.says}: {mutant.old}"
        for group in mutants.every()
        for mutant in group.mutants
        if (group.of, mutant) not in at_work
    ]


def senseless(job: Job) -> str:
    """Return why a mutant says nothing, whatever tests make of it; empty if it is a program.

    It is none if it does not compile, or uses a global name that is nowhere defined.
    """
    try:
        module = symtable.symtable(job.text, job.file, "exec")
    except SyntaxError as error:
        return f"{job.title}: {error.msg}"
    defined = {*vars(builtins), "__file__", *module.get_identifiers()}
    used = {
        symbol.get_name()
        for table in _scopes(module)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global()
    }
    unknown = used - defined
    return f"{job.title}: {', '.join(sorted(unknown))} is not defined" if unknown else ""


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes(child)
