"""The two versions that are compared, and where in the newer one something can be mended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ecsgen.breaking.code import Code
from ecsgen.config import shown
from ecsgen.model import Mark, Marks, Project
from ecsgen.model.history import History
from ecsgen.model.saved import Document, saved_schema


@dataclass(frozen=True, slots=True)
class Side:
    """One version of the schemas."""

    saved: Document
    """The `schema` of its snapshots."""
    history: History
    code: Code | None
    """None if a snapshot is all there is."""

    @classmethod
    def of(cls, project: Project) -> Side:
        """Return a project as a side."""
        return cls(saved_schema(project), project.history, Code.of(project))

    @classmethod
    def of_snapshot(cls, saved: Document) -> Side:
        """Return what a snapshot says as a side."""
        return cls(saved, History(), None)


class Places:
    """Where things stand in the newer schemas."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.nowhere = Mark(shown(folder), 0, 0, 0)
        self._components = {one.name: one for one in project.components}
        self._enums = {one.name: one for one in project.enums}
        self._world = project.world.marks

    def component(self, name: str, *keys: str) -> Mark:
        """The first of these keys that is written, or the name."""
        return self._first(self._components[name].marks, keys)

    def field(self, component: str, name: str) -> Mark:
        """The key of a field."""
        fields = {field.name: field for field in self._components[component].fields}
        return self._first(fields[name].marks, ())

    def method(self, component: str, name: str) -> Mark:
        """The key of a kernel or reduction."""
        owner = self._components[component]
        marks = {one.name: one.marks for one in owner.kernels}
        marks |= {one.name: one.marks for one in owner.reductions}
        return self._first(marks[name], ())

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
