"""The packages that mutants break, and every way to break them, one at a time."""

from __future__ import annotations

import builtins
import re
import shutil
import symtable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
CASES = TESTS / "runtime" / "test_entity_cases.py", TESTS / "world" / "test_world_cases.py"
"""Cases of the library that run beside the tests of the first package, and are about its copy."""
OWN = {
    "from ecsgen_runtime.": "from .._runtime.",
    "from ecsgen_testing.": "from ._support.",
    "from generated ": "from .. ",
}
"""What they import → what they import there."""


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

    @property
    def where(self) -> str:
        """The module, and the package unless it is that of all schemas."""
        return self.file if self.package == WHOLE.name else f"{self.package}/{self.file}"

    @property
    def title(self) -> str:
        return f"{self.where:<36} {self.mutant.says} [{self.place}]"


def build_all(folder: Path) -> dict[str, Project]:
    """Write the packages that are going to be broken into a folder; return what they are of."""
    found = {}
    for package in (WHOLE, SMALL_BATCH_COMPILED, GRIDS):
        schemas = folder / f"{package.name}_schemas"
        schemas.mkdir(parents=True)
        for path in package.schemas:
            shutil.copy(path, schemas)
        project = build(schemas, folder / package.name, backend=package.backend, runtime="vendored")
        found[package.name] = project.made_for(package.backend)
    for path in CASES:
        text = path.read_text(encoding="utf-8")
        for imported, own in OWN.items():
            text = text.replace(imported, own)
        (folder / WHOLE.name / "tests" / path.name).write_text(text, encoding="utf-8")
    return found


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
            own = {
                file: tests
                for file, tests in of_groups[number].items()
                if (package / file).exists() and len(_there(tests, package)) == len(tests)
            }
            targets = _with_tests_of_others(own, of_groups, package)
            texts = {file: (package / file).read_text(encoding="utf-8") for file in own}
            for mutant in group.mutants:
                yield from _broken(package.name, group, mutant, texts, targets)
            if texts:
                break


def _there(tests: Iterable[str], package: Path) -> list[str]:
    """Return those of some tests that a package has: files, or classes in them."""
    return [test for test in tests if (package / "tests" / test.partition("::")[0]).exists()]


def _with_tests_of_others(targets: Targets, of_groups: Iterable[Targets], package: Path) -> Targets:
    """Return a group's files with their tests: its own first, then those of other groups."""
    found = {file: dict.fromkeys(tests) for file, tests in targets.items()}
    for other in of_groups:
        for file, tests in other.items():
            if found.get(file) and file.startswith("_runtime/"):
                found[file] |= dict.fromkeys(_there(tests, package))
    return {file: tuple(tests) for file, tests in found.items()}


def _broken(
    package: str, group: Group, mutant: Mutant, texts: Mapping[str, str], targets: Targets
) -> Iterator[Job]:
    """Return the jobs of one mutant."""
    found = {file: list(_replaced(text, mutant)) for file, text in texts.items()}
    for file in spread([file for file, matches in found.items() if matches], FILES):
        for place, new in spread(found[file], PLACES):
            yield Job(package, group.of, file, place, mutant, new, targets[file])


def _replaced(text: str, mutant: Mutant) -> Iterator[tuple[int, str]]:
    """Return each match of a mutant's pattern, by number, and the text with it replaced."""
    for place, match in enumerate(re.finditer(mutant.old, text, re.MULTILINE)):
        new = text[: match.start()] + match.expand(mutant.new) + text[match.end() :]
        if new != text:
            yield place, new


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
