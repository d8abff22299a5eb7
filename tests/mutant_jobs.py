"""The packages that mutants break, and every way to break them, one at a time."""

from __future__ import annotations

import builtins
import re
import shutil
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ecsgen.config import Backend
from ecsgen.model import Project
from tests import mutants
from tests.generated_package import SCHEMAS, build
from tests.mutants import Group, Mutant

Item = TypeVar("Item")

PLACES = 3
"""Of many matches of a pattern in one module, so many are tried, from the first to the last."""


@dataclass(frozen=True)
class Package:
    """A package to break, and the schemas it is made from."""

    name: str
    schemas: tuple[Path, ...]
    backend: Backend


HERE = Path(__file__).parent
WHOLE = Package("generated", (*sorted(SCHEMAS.iterdir()), HERE / "unshipped.yaml"), "numpy")
FEW_COMPILED = Package("compiled", (HERE / "compiled.yaml",), "numba")


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
    for package in (WHOLE, FEW_COMPILED):
        schemas = folder / f"{package.name}_schemas"
        schemas.mkdir(parents=True)
        for path in package.schemas:
            shutil.copy(path, schemas)
        project = build(schemas, folder / package.name, backend=package.backend)
        found[package.name] = project.made_for(package.backend)
    return found


def jobs(projects: dict[str, Project], folder: Path) -> Iterator[Job]:
    """Return every way to break the packages, one at a time.

    A group of mutants breaks the first package that has a file for it.
    """
    for group in mutants.every():
        for name, project in projects.items():
            package = folder / name
            targets = group.targets(project)
            found = [file for file in targets if (package / file).exists()]
            for file in found:
                yield from _broken(package, file, group, targets[file])
            if found:
                break


def _broken(folder: Path, file: str, group: Group, tests: tuple[str, ...]) -> Iterator[Job]:
    text = (folder / file).read_text(encoding="utf-8")
    for mutant in group.mutants:
        matches = list(enumerate(re.finditer(mutant.old, text, re.MULTILINE)))
        for place, match in spread(matches, PLACES):
            new = text[: match.start()] + match.expand(mutant.new) + text[match.end() :]
            if new != text:
                yield Job(folder.name, group.of, file, place, mutant, new, tests)


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
