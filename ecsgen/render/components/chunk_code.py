"""Modules of components with rows in archetype chunks."""

from __future__ import annotations

from collections.abc import Iterable

from ecsgen.layout.layout_tables import chunk_table
from ecsgen.layout.memory_layout import Layout
from ecsgen.model import Component, Project, required_by
from ecsgen.model.columns import chunk_rows
from ecsgen.render.column_code import ColumnCode, SplitColumnCode, slots_lines
from ecsgen.render.components.component_code import ComponentCode, chunk_field_line
from ecsgen.render.text.formatting import (
    call,
    collection,
    disjunction,
    exploded,
    literal_names,
    literal_shape,
    width,
)
from ecsgen.render.text.jinja_environment import rendered_module
from ecsgen.render.text.library_imports import SHARDS, locate_public_names
from ecsgen.render.text.name_shadowing import ComponentName, make_component_name
from ecsgen.render.text.quoting import WIDTH, literal


class ChunkColumnCode(ColumnCode):
    """Code of a column of a component in chunks."""

    holder = "self"
    has_words = False


class ChunkedComponentCode(ComponentCode):
    """Code of a component in chunks, for its templates."""

    column_makers = ChunkColumnCode, ChunkColumnCode

    def _lay_out(self) -> Layout:
        layout = super()._lay_out()
        return Layout(tuple(column for column in layout.columns if column.field), layout.objects)

    @property
    def row_slots(self) -> str:
        """Statement that declares the attributes of the class of columns."""
        names = [f"_{s.name}_{kind}" for s in self.columns for kind in ("column", "view")]
        return slots_lines([*names, *(f"_{s.name}_cells" for s in self.columns if s.has_cells)])

    @property
    def layout_lines(self) -> str:
        """Definition of the constant of the columns."""
        entries = [f"Column({', '.join(s.layout_arguments)})" for s in self.columns]
        kind = "" if entries else "[tuple[Column, ...]]"
        return collection(f"_COLUMNS: Final{kind} = ", entries, 0)

    @property
    def unpacked_line(self) -> str:
        """Statement that unpacks the checked values."""
        names = [f.local for f in self.fields]
        line = f"        {', '.join(names)} = values"
        if len(names) > 1 and width(line) <= WIDTH:
            return line
        return collection("", names, 8) + " = values"

    @property
    def row_line(self) -> str:
        """Statement that returns a copy of a row."""
        return call(f"return {self.name}", [cell_expression(field) for field in self.fields], 8)

    @property
    def proxy_fields(self) -> list[str]:
        """Statements that make the attributes of a proxy."""
        return [chunk_field_line(code) for code in self.fields]

    @property
    def split_fields(self) -> list[SplitColumnCode]:
        """Fields that are converted as a whole and stored by element."""
        return [f for f in self.fields if isinstance(f, SplitColumnCode)]

    @property
    def arrays(self) -> list[str]:
        """Expressions for the columns of checked fields, in the layout's order."""
        parts = dict(part for f in self.split_fields for part in f.of_all(f.local))
        return [
            parts.get(s.name, f"{s.constant}.to_column({s.bare_name}, count)") for s in self.columns
        ]

    def broadcast_line(self, field: SplitColumnCode) -> str:
        """Return the statement that checks a split field for all rows."""
        checked = f"{field.constant}.to_column({field.bare_name}, count)"
        shape = literal_shape("count", field.column.shape)
        return call(f"{field.local} = np.broadcast_to", [checked, shape], 8)


def cell_expression(code: ColumnCode) -> str:
    """Return the expression that reads one cell as users see it."""
    parts = code.parts if isinstance(code, SplitColumnCode) else ()
    cell = literal_names([part.cell() for part in parts]) if parts else code.cell()
    if not code.is_nested:
        return cell
    values = cell if parts or not code.is_enum else f"map({code.scalar_type}, {cell})"
    return f"nested({values}, {literal(code.column.shape)})"


def render_chunked_module(component: Component) -> str:
    """Return the unformatted module of a component with rows in chunks."""
    code = ChunkedComponentCode(component)
    variables = {"c": code, "columns_table": chunk_table(component)}
    enums = dict.fromkeys(code.enums, ".enums")
    return rendered_module("chunked_component.py.j2", variables, enums)


SUFFIXES = ("", "Data", "Fields", "Values")


def chunked_components(project: Project) -> tuple[Component, ...]:
    """Return the components with rows in archetype chunks, by name."""
    return tuple(component for component in project.components if component.chunk)


def required_line(components: Iterable[Component], project: Project, indent: int) -> str:
    """Return the statement with what components require, empty if none requires any."""
    items = []
    for component in components:
        if component.requires:
            names = (component.name, *required_by([component.name], project.by_name))
            kind, *others = (make_component_name(name).name for name in names)
            items.append(f"{kind}: {literal_names(others)}")
    return exploded("_REQUIRED: ClassVar = ", items, indent, "{}") if items else ""


def render_archetypes_module(
    members: tuple[ComponentName, ...], chunk: int, rows: int, sharded: bool, required: str
) -> str:
    """Return the module of the archetypes; `rows`: rows with all components in a chunk;
    `required`: the statement with what they require."""
    names = [m.name for m in members]
    items = [f"{k}: {m.bare_name}" for k, m in enumerate(members)]
    line = f"        _fields = {{{', '.join(items)}}}"
    if width(line) > WIDTH:
        line = exploded("_fields = ", items, 8, "{}")
    bases = {"RequiringStore": required, "ShardedArchetypeStore": sharded}
    bases["ArchetypeStore"] = not any(bases.values())
    variables = {
        "parts": members,
        "bases": [name for name, is_base in bases.items() if is_base],
        "required_line": required,
        "chunk": chunk,
        "parts_line": collection("_DATA: ClassVar = ", [f"{name}Data" for name in names], 4),
        "any_row_line": disjunction("_AnyRow: TypeAlias = ", names),
        "given_line": line,
        "summary": f"{rows} rows with all of them fit into a chunk.",
    }
    modules = {m.name + suffix: f".{m.module}" for m in members for suffix in SUFFIXES}
    if sharded:
        modules = {**locate_public_names(SHARDS), **modules}
    return rendered_module("archetypes.py.j2", variables, modules)


def archetype_subjects(project: Project) -> tuple[tuple[ComponentName, ...], int, int, bool, str]:
    """Return the arguments of `render_archetypes_module`."""
    components, chunk = chunked_components(project), project.world.chunk
    members = tuple(make_component_name(component.name) for component in components)
    sharded = project.world.shards is not None
    rows = chunk_rows(components, chunk)
    return members, chunk, rows, sharded, required_line(components, project, 4)
