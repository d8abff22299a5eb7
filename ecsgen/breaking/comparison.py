"""Two versions of schemas that are compared, and what is reported."""

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
    """What code uses; None if a snapshot is all there is."""

    @classmethod
    def of(cls, project: Project) -> SchemaVersion:
        """Return a project as a side."""
        return cls(make_snapshot_schema(project), project.history, project)


class NewerMarks:
    """Where things stand in the newer schemas."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.nowhere = Mark(shown(folder), 0, 0, 0)
        self._components = project.by_name
        self._enums = {one.name: one for one in project.enums}
        self._world = project.world.marks

    def component(self, name: str, *keys: str) -> Mark:
        """The first of these keys that is written, or the name."""
        return self._first(self._components[name].marks, keys)

    def field(self, component: str, name: str) -> Mark:
        """The key of a field."""
        fields = {field.name: field for field in self._components[component].fields}
        return self._first(fields[name].marks, ())

    def method(self, component: str, name: str, key: str) -> Mark:
        """The key of a kernel or reduction; `key`: where one would stand that is not there."""
        owner = self._components[component]
        methods: tuple[Kernel | Reduction, ...] = (*owner.kernels, *owner.reductions)
        marks = {one.name: one.marks[""] for one in methods}
        return marks.get(name) or self.component(component, key)

    def enum(self, name: str, *keys: str) -> Mark:
        """The first of these keys that is written, or the name; a member is `values.walk`."""
        return self._first(self._enums[name].marks, keys)

    def world(self, *keys: str) -> Mark:
        """The first of these keys that is written, or the name; a query is `queries.movers`."""
        return self._first(self._world, keys)

    def written(self, key: str) -> Mark | None:
        """A key of the world, if it is written."""
        return self._world.get(key)

    def _first(self, marks: Marks, keys: tuple[str, ...]) -> Mark:
        return next((marks[key] for key in (*keys, "") if key in marks), self.nowhere)


class Comparison:
    """What every part of it needs."""

    def __init__(
        self, old: SchemaVersion, new: SchemaVersion, places: NewerMarks, report: Report
    ) -> None:
        self.old, self.new, self.places, self.report = old, new, places, report
        self.components = self._still_there("components", new.history.components)
        """Old name → present name, of those that are still there."""
        self.enums = self._still_there("enums", new.history.enums)

    def _still_there(self, key: str, former: Names) -> dict[str, str]:
        present = self.new.saved[key]
        found = {name: find_present_name(name, present, former) for name in self.old.saved[key]}
        return {name: here for name, here in found.items() if here}


def find_present_name(name: str, present: Container[str], former: Names) -> str | None:
    """Return what an old name is now, "" if it is removed, None if nobody says anything of it."""
    return name if name in present else former.get(name)


def report_missing(
    report: Report, what: str, name: str, mark: Mark, became: str, owner: str
) -> None:
    """Report a name that nobody says anything of.

    `became`: what it may be called now, or "". `owner`: what it could be removed from.
    """
    where = f"at {quote(became)}" if became else "where it is now"
    hint = f"write 'renamed_from: [{name}]' {where}, or 'removed: [{name}]' in {owner}"
    report.add("E901", f"saved values of {what} would be refused: it is gone", mark, hint)
    report.gone(what, mark)


def candidate(
    name: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    former: Names,
    are_alike: Callable[[Any, Any], bool],
) -> str:
    """Return which new name an old one may have become, or the empty string.

    It is one that was not there before and has no former name: the only one that is like it, or
    else one that reads like it.
    """
    known = {*old, *former.values()}
    added = [other for other in new if other not in known]
    alike = [other for other in added if are_alike(old[name], new[other])]
    return alike[0] if len(alike) == 1 else closest(name, alike or added)


_FIRST_OF_CODE: Final = "E950"
"""Codes below it are about data."""


def kind(code: str) -> BreakKind:
    """Return which kind a diagnostic is of."""
    return "data" if code < _FIRST_OF_CODE else "code"


@dataclass(frozen=True, slots=True)
class Report:
    """Diagnostics, of which only one kind may be wanted."""

    diagnostics: Diagnostics
    only: BreakKind | None

    def add(self, code: str, message: str, mark: Mark, hint: str) -> None:
        """Report something, if it is of the wanted kind."""
        if self.only in (None, kind(code)):
            self.diagnostics.add(code, message, mark, hint=hint)

    def gone(self, what: str, mark: Mark) -> None:
        """Report a name that code can't use any more."""
        self.add("E951", f"{what} is gone", mark, "put it back, or change the code that uses it")

    def renamed(self, what: str, now: str, mark: Mark) -> None:
        """Report the same of what is called otherwise now."""
        message = f"{what} is called {quote(now)} now"
        self.add("E951", message, mark, "change the code that uses it")

    def changed(self, what: str, mark: Mark) -> None:
        """Report another type, shape, number or arguments."""
        self.add("E952", what, mark, "change it back, or the code that uses it")
