"""Queries: the entities that have certain components, joined when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Component, Project, Query
from ecsgen.render.calls import collection
from ecsgen.schema.names import query_classes
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._members import which_entities


@dataclass(frozen=True, slots=True)
class Part:
    """A component in a query."""

    name: str
    module: str
    place: int  # among those that have rows
    is_list: bool
    is_sparse: bool  # found through a sparse array

    @property
    def member(self) -> str:
        """The call that makes it a member of a join."""
        if self.is_list:
            return f"QueryListMember({self.module})"
        if self.is_sparse:
            return f"QuerySparseMember({self.module}, INDEX_MASK)"
        return f"QueryMember({self.module})"


@dataclass(frozen=True, slots=True)
class QuerySpelling:
    """A query as its template needs it."""

    name: str
    query_class: str
    rows_class: str
    row_class: str
    summary: str
    all: tuple[Part, ...]
    any: tuple[Part, ...]
    none: tuple[Part, ...]
    optional: tuple[Part, ...]

    @property
    def parts(self) -> list[Part]:
        """The components concerned, in the order of the schema."""
        return [*self.all, *self.any, *self.none, *self.optional]

    @property
    def placed(self) -> list[Part]:
        """The components that have rows in the result."""
        return [*self.all, *self.optional]

    @property
    def clauses(self) -> list[str]:
        """The arguments of the join, laid out."""
        named = {"any_of=": self.any, "none_of=": self.none, "optional=": self.optional}
        given = [("", self.all), *((key, parts) for key, parts in named.items() if parts)]
        members = [(key, [part.member for part in parts]) for key, parts in given]
        return [collection(key, each, 12, ",").lstrip() for key, each in members]


def _spelling(query: Query, components: dict[str, Component]) -> QuerySpelling:
    placed = (*query.all, *query.optional)

    def parts(names: tuple[str, ...]) -> tuple[Part, ...]:
        return tuple(
            Part(
                name,
                components[name].module,
                placed.index(name) if name in placed else -1,
                components[name].instances == "many",
                components[name].lookup == "sparse",
            )
            for name in names
        )

    return QuerySpelling(
        query.name,
        *query_classes(query.name),
        which_entities(query),
        all=parts(query.all),
        any=parts(query.any),
        none=parts(query.none),
        optional=parts(query.optional),
    )


def _subject(project: Project) -> object:
    components = {component.name: component for component in project.components}
    return tuple(_spelling(query, components) for query in _joined(project))


def _joined(project: Project) -> list[Query]:
    """Return the queries of managers."""
    return [query for query in project.world.queries if not query.chunked]


FEATURE = WorldFeature(
    name="queries",
    applies=lambda project: bool(_joined(project)),
    order=30,
    subject=_subject,
)
