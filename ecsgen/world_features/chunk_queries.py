"""Queries of chunks: the entities that have certain components of the archetypes."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Project, Query
from ecsgen.render.calls import collection
from ecsgen.render.quoting import literal
from ecsgen.schema.names import query_classes
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._members import which_entities


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """A query of chunks as its template needs it."""

    name: str
    query_class: str
    rows_class: str
    row_class: str
    summary: str
    clauses: tuple[tuple[str, tuple[str, ...]], ...]
    """The components by key."""
    modules: tuple[tuple[str, str], ...]
    """The same components' attributes of chunks."""

    @property
    def constants(self) -> list[str]:
        """The statements that say which components matter."""
        return [
            collection(f"_{key.upper()}: ClassVar = ", list(names), 4)
            for key, names in self.clauses
            if names
        ]

    @property
    def tested(self) -> list[str]:
        """The entries that tell tests the same."""
        modules = dict(self.modules)
        entries = [(key, [literal(modules[name]) for name in names]) for key, names in self.clauses]
        return [collection(f"{literal(key)}: ", each, 12, ",").lstrip() for key, each in entries]


def _chunked(project: Project) -> list[Query]:
    return [query for query in project.world.queries if query.chunked]


def _subject(project: Project) -> object:
    modules = {component.name: component.module for component in project.components}

    def spelling(query: Query) -> ChunkQuery:
        clauses = (("all", query.all), ("any", query.any), ("none", query.none))
        concerned = {name for _, names in clauses for name in names}
        return ChunkQuery(
            query.name,
            *query_classes(query.name),
            which_entities(query),
            clauses,
            tuple((name, modules[name]) for name in sorted(concerned)),
        )

    return tuple(spelling(query) for query in _chunked(project))


FEATURE = WorldFeature(
    name="chunk_queries",
    applies=lambda project: bool(_chunked(project)),
    order=31,
    subject=_subject,
    test_modules=("test_archetypes",),
)
