"""Two versions of schemas to compare, and the report."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ecsgen.breaking import BreakKind
from ecsgen.config import shown
from ecsgen.diagnostics import Diagnostics, closest, quote
from ecsgen.model import History, Kernel, Mark, Marks, Names, Project, Reduction
from ecsgen.model.snapshot_schema import Document, make_snapshot_schema


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of the schemas."""

    saved: Document
    """The `schema` of its snapshots."""
    history: History
    project: Project | None
    """The project that code uses; None for a snapshot."""

    @classmethod
    def of(cls, project: Project) -> SchemaVersion:
        """Return the version of a loaded project."""
        return cls(make_snapshot_schema(project), project.history, project)


class NewerMarks:
    """Positions of names and keys in the newer schemas."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.nowhere = Mark(shown(folder), 0, 0, 0)
        self._components = project.by_name
        self._enums = {enum.name: enum for enum in project.enums}
        self._world = project.world.marks

    def component(self, name: str, *keys: str) -> Mark:
        """Return the mark of the first of these keys that is written, or of the name."""
        return self._first(self._components[name].marks, keys)

    def field(self, component: str, name: str) -> Mark:
        """Return the mark of a field's key."""
        fields = {field.name: field for field in self._components[component].fields}
        return self._first(fields[name].marks, ())

    def method(self, component: str, name: str, key: str) -> Mark:
        """Return the mark of a kernel or reduction; without one, that of its section `key`."""
        owner = self._components[component]
        methods: tuple[Kernel | Reduction, ...] = (*owner.kernels, *owner.reductions)
        marks = {method.name: method.marks[""] for method in methods}
        return marks.get(name) or self.component(component, key)

    def enum(self, name: str, *keys: str) -> Mark:
        """Return the mark of the first written key or of the name; a member is `values.walk`."""
        return self._first(self._enums[name].marks, keys)

    def world(self, *keys: str) -> Mark:
        """Return the mark of the first written key or of the name; a query is `queries.movers`."""
        return self._first(self._world, keys)

    def written(self, key: str) -> Mark | None:
        """Return the mark of a key of the world, None if it is not written."""
        return self._world.get(key)

    def _first(self, marks: Marks, keys: tuple[str, ...]) -> Mark:
        return next((marks[key] for key in (*keys, "") if key in marks), self.nowhere)


def find_present_name(name: str, present: Container[str], former: Names) -> str | None:
    """Return the present name of an old one, "" if listed as removed, None if not listed."""
    return name if name in present else former.get(name)


_FIRST_OF_CODE: Final = "E950"
"""Codes below it are about data."""


def kind(code: str) -> BreakKind:
    """Return the kind of breaking change that a code stands for."""
    return "data" if code < _FIRST_OF_CODE else "code"


class Comparison:
    """Two versions, and the diagnostics of what broke; `only` restricts them to one kind."""

    def __init__(
        self,
        old: SchemaVersion,
        project: Project,
        folder: Path,
        diagnostics: Diagnostics,
        only: BreakKind | None = None,
    ) -> None:
        self.old, self.new = old, SchemaVersion.of(project)
        self.marks = NewerMarks(project, folder)
        self._diagnostics, self._only = diagnostics, only
        self.components = self._present_names("components", self.new.history.components)
        """Old name → present name, of components that still exist."""
        self.enums = self._present_names("enums", self.new.history.enums)

    def _present_names(self, key: str, former: Names) -> dict[str, str]:
        present = self.new.saved[key]
        names = {name: find_present_name(name, present, former) for name in self.old.saved[key]}
        return {name: here for name, here in names.items() if here}

    def add(self, code: str, message: str, mark: Mark, hint: str) -> None:
        """Add a diagnostic if its kind is wanted."""
        if self._only in (None, kind(code)):
            self._diagnostics.add(code, message, mark, hint=hint)

    def gone(self, what: str, mark: Mark) -> None:
        """Report a removed name (E951)."""
        self.add("E951", f"{what} is gone", mark, "put it back, or change the code that uses it")

    def renamed(self, what: str, now: str, mark: Mark) -> None:
        """Report a changed name (E951)."""
        message = f"{what} is called {quote(now)} now"
        self.add("E951", message, mark, "change the code that uses it")

    def changed(self, what: str, mark: Mark) -> None:
        """Report a changed type, shape, number or signature (E952)."""
        self.add("E952", what, mark, "change it back, or the code that uses it")


@dataclass(frozen=True, slots=True)
class NamedParts:
    """Parts of one kind in both versions: components, or the fields or members of one of them."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    former: Names
    owner: str
    """Where `removed` could list them."""
    gone_from: Mark
    trait: Callable[[Any], object]
    """Returns a trait that an old part and a new one have in common if they may be the same."""
    prefix: str = ""
    """Text before their names in `removed`."""

    def follow(self, diff: Comparison, what: str, name: str, mark_of: Callable[[str], Mark]) -> str:
        """Return the present name of an old part, "" without one; reports names that are missing in
        `renamed_from` and `removed`, gone or changed."""
        new_name = find_present_name(name, self.new, self.former)
        if new_name is None:
            became = self._candidate(name)
            where = f"at {quote(became)}" if became else "where it is now"
            removed = f"'removed: [{self.prefix}{name}]' in {self.owner}"
            hint = f"write 'renamed_from: [{name}]' {where}, or {removed}"
            message = f"saved values of {what} would be refused: it is missing in the schemas"
            diff.add("E901", message, self.gone_from, hint)
        if not new_name:
            diff.gone(what, self.gone_from)
        elif new_name != name:
            diff.renamed(what, new_name, mark_of(new_name))
        return new_name or ""

    def _candidate(self, name: str) -> str:
        """Return the probable new name of an old one, or the empty string. Candidates are new and
        have no former name: the only one with the same trait, or else the closest in spelling."""
        known, trait = {*self.old, *self.former.values()}, self.trait(self.old[name])
        added = [other for other in self.new if other not in known]
        alike = [other for other in added if self.trait(self.new[other]) == trait]
        return alike[0] if len(alike) == 1 else closest(name, alike or added)
