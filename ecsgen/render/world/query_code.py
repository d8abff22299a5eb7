"""Code of groups, bundles, signatures and queries, for their templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecsgen.model import Component, Project, Query, Values
from ecsgen.render.column_code import slots_lines, value_literal
from ecsgen.render.text.formatting import call, collection, for_macro, mapping
from ecsgen.render.text.name_shadowing import (
    ComponentName,
    add_class_placeholder,
    add_placeholder,
    make_component_name,
)
from ecsgen.render.text.quoting import literal
from ecsgen.schema.names import group_class, module_name, query_classes


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its components' rows are aligned."""

    name: str
    members: tuple[ComponentName, ...]

    @property
    def class_name(self) -> str:
        return add_placeholder(group_class(self.name))

    @property
    def doc(self) -> str:
        """Docstring of the group's class."""
        *most, last = (member.name for member in self.members)
        return f"The entities that have {', '.join(most)} and {last}, in the first rows of each."

    @property
    def slots(self) -> str:
        """Statement that declares its attributes."""
        return slots_lines(member.module for member in self.members)

    @property
    def construction(self) -> str:
        """Statement that makes the world's group."""
        managers = [f"self.{member.module}" for member in self.members]
        return call(f"self.{self.name} = {self.class_name}", managers, 8).lstrip()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: components to spawn from."""

    name: str
    members: tuple[ComponentName, ...]
    values: Mapping[str, Mapping[str, str]]
    """Literals of the values that it says, by the components' attributes and fields."""

    @property
    def values_line(self) -> str:
        """Item of the world's `BUNDLE_VALUES`."""
        by_component = {name: _display(values) for name, values in self.values.items()}
        return mapping(f'"{self.name}": ', by_component, 0) + ","

    def argument(self, member: ComponentName) -> str:
        """Return the expression for what a spawn gives of a component."""
        if member.module not in self.values:
            return f"{{}} if {member.bare_name} is None else {member.bare_name}"
        return f'fill_fields({member.bare_name}, _values["{member.module}"])'


def _display(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{literal(name)}: {value}' for name, value in values.items())}}}"


def groups(project: Project) -> tuple[Group, ...]:
    """Return all groups."""
    return tuple(
        Group(name, tuple(map(make_component_name, members)))
        for name, members in project.world.groups
    )


def bundles(project: Project) -> tuple[Bundle, ...]:
    """Return all bundles, each with the components of those that it builds on."""
    return tuple(
        Bundle(
            bundle.name,
            tuple(map(make_component_name, sorted(bundle.values))),
            {
                module_name(name): _literals(project.by_name[name], values)
                for name, values in sorted(bundle.values.items())
                if values
            },
        )
        for bundle in project.world.bundles
    )


def _literals(component: Component, values: Values) -> dict[str, str]:
    fields = (field for field in component.fields if field.name in values)
    return {field.name: value_literal(field, values[field.name]) for field in fields}


def flags(project: Project) -> tuple[tuple[str, ...], tuple[Bundle, ...]]:
    """Return the flags of components, in the order of bits, and the bundles, which have some."""
    return tuple(component.module.upper() for component in project.owned_components), bundles(
        project
    )


CLAUSES = ("all", "any", "none", "optional")


@dataclass(frozen=True, slots=True)
class QueryCode:
    """Code of a query, for its template."""

    query: Query

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def classes(self) -> tuple[str, str, str]:
        """Names of the classes of the query, of its arrays and of one entity."""
        query, rows, row = query_classes(self.query.name)
        return add_placeholder(query), add_placeholder(rows), add_placeholder(row)

    @property
    def summary(self) -> str:
        """Summary of the entities that match."""
        query = self.query
        words = {"all of": query.all, "any of": query.any, "none of": query.none}
        words["optional"] = query.optional
        clauses = [f"{word} {', '.join(names)}" for word, names in words.items() if names]
        return f"Live entities with {'; '.join(clauses)}."

    @property
    def all(self) -> list[ComponentName]:
        """Components that the entities have."""
        return [*map(make_component_name, self.query.all)]

    @property
    def optional(self) -> list[ComponentName]:
        """Components that they may have."""
        return [*map(make_component_name, self.query.optional)]

    @property
    def columns(self) -> list[str]:
        """Classes of the columns that its entities have, or may have."""
        return [f"{part.name}Columns" for part in (*self.all, *self.optional)]

    @property
    def columns_lines(self) -> str:
        """Constant with these classes, and annotation of their instances."""
        declared = call("_columns: tuple", self.columns, 4)
        head, _, types = declared.partition("(")
        return f"{collection('_COLUMNS: ClassVar = ', self.columns, 4)}\n{head}[{types[:-1]}]"

    @property
    def members(self) -> list[str]:
        """Arguments of a query of managers for its clauses."""
        query = self.query
        clauses = {"": query.all, "any_of=": query.any, "none_of=": query.none}
        clauses["optional="] = query.optional
        return [
            for_macro(collection(key, [f"self.{module_name(n)}" for n in names], 12, ","), 8)
            for key, names in clauses.items()
            if names or not key
        ]

    @property
    def constants(self) -> list[str]:
        """Statements of a query of chunks for its clauses."""
        return [
            collection(f"{clause.upper()}: ClassVar = ", list(map(add_class_placeholder, names)), 4)
            for clause in CLAUSES
            if (names := getattr(self.query, clause))
        ]

    @property
    def tested(self) -> list[str]:
        """Entries of its clauses in generated tests."""
        clauses = {clause: getattr(self.query, clause) for clause in CLAUSES}
        if self.query.chunked:
            del clauses["optional"]
        items = {c: [literal(module_name(name)) for name in names] for c, names in clauses.items()}
        return [collection(f'"{c}": ', names, 12, ",").lstrip() for c, names in items.items()]


def queries(project: Project, *, chunked: bool) -> tuple[QueryCode, ...]:
    """Return the queries of managers, or of chunks."""
    return tuple(map(QueryCode, project.world.queries_of(chunked=chunked)))
