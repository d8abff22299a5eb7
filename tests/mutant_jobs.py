"""The packages that mutants break, and every way to break them, one at a time."""

from __future__ import annotations

import builtins
import re
import shutil
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ecsgen import features, world_features
from ecsgen.config import Backend
from ecsgen.features import Mutant
from ecsgen.model import Project
from tests.generated_package import SCHEMAS, build
from tests.mutants import COMPILED, MANAGER, SHARED
from tests.mutants_archetypes import CHUNKED

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
        return f"{self.where:<20} {self.mutant.says} [{self.place}]"


def build_all(folder: Path) -> dict[str, Project]:
    """Write the packages that are going to be broken into a folder; return what they are of."""
    found = {}
    for package in (WHOLE, FEW_COMPILED):
        schemas = folder / f"{package.name}_schemas"
        schemas.mkdir(parents=True)
        for path in package.schemas:
            shutil.copy(path, schemas)
        found[package.name] = build(schemas, folder / package.name, backend=package.backend)
    return found


def jobs(projects: dict[str, Project], folder: Path) -> Iterator[Job]:
    """Return every way to break the packages, one at a time."""
    yield from _jobs_of_all(projects[WHOLE.name], folder / WHOLE.name)
    yield from _jobs_of_numba(projects[FEW_COMPILED.name], folder / FEW_COMPILED.name)


def _jobs_of_all(project: Project, folder: Path) -> Iterator[Job]:
    for component in project.components:
        file = f"{component.module}.py"
        if component.chunk:
            yield from _broken(folder, file, CHUNKED, ("test_archetypes.py",))
            continue
        tests = (f"test_{file}", "test_world.py")
        found = [mutant for f in features.active(component) for mutant in f.mutants]
        yield from _broken(folder, file, [*MANAGER, *found], tests)
    of_world = [mutant for f in world_features.active(project) for mutant in f.mutants]
    for shared in SHARED:
        more = of_world if shared.file == "world.py" else []
        yield from _broken(folder, shared.file, [*shared.mutants, *more], shared.tests)


def _jobs_of_numba(project: Project, folder: Path) -> Iterator[Job]:
    """Return those of features that there are with this backend alone, and of what they call."""
    for component in project.components:
        file = f"{component.module}.py"
        plain = features.active(replace(component, backend="numpy"))
        compiled = features.active(replace(component, backend="numba"))
        found = [mutant for f in compiled if f not in plain for mutant in f.mutants]
        yield from _broken(folder, file, found, (f"test_{file}",))
    of_plain = world_features.active(replace(project, backend="numpy"))
    of_world = world_features.active(replace(project, backend="numba"))
    found = [mutant for f in of_world if f not in of_plain for mutant in f.mutants]
    yield from _broken(folder, "world.py", found, ("test_world.py",))
    yield from _broken(folder, COMPILED.file, COMPILED.mutants, COMPILED.tests)


def _broken(
    folder: Path, file: str, every: Iterable[Mutant], tests: tuple[str, ...]
) -> Iterator[Job]:
    """Return the ways to break a module, or those below a folder as if they were one."""
    top = folder / file
    paths = sorted(top.rglob("*.py")) if top.is_dir() else [top]
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}
    for mutant in every:
        found = [
            (path, match)
            for path, text in texts.items()
            for match in re.finditer(mutant.old, text, re.MULTILINE)
        ]
        for place, (path, match) in spread(list(enumerate(found)), PLACES):
            text = texts[path]
            new = text[: match.start()] + match.expand(mutant.new) + text[match.end() :]
            if new != text:
                yield Job(folder.name, path, place, mutant, new, tests)


def spread(items: list[Item], count: int) -> list[Item]:
    """Return `count` of several items, evenly spread from the first to the last; 0 means all."""
    if count == 0 or len(items) <= count:
        return items
    last = len(items) - 1
    return [items[round(k * last / max(count - 1, 1))] for k in range(count)]


def idle(todo: Iterable[Job]) -> list[str]:
    """Return what the mutants say that break nothing: the code they are about has changed."""
    listed = [
        ("every manager", MANAGER),
        ("every component in chunks", CHUNKED),
        *((shared.file, shared.mutants) for shared in (*SHARED, COMPILED)),
        *((f"ecsgen/features/{f.name}.py", f.mutants) for f in features.every()),
        *((f"ecsgen/world_features/{f.name}.py", f.mutants) for f in world_features.every()),
    ]
    at_work = {job.mutant for job in todo}
    return [
        f"{where}: {mutant.says}: {mutant.old}"
        for where, every in listed
        for mutant in every
        if mutant not in at_work
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
