"""Makes the module of a component whose rows live in archetype chunks."""

from __future__ import annotations

from ecsgen.layout.layout_tables import chunk_table
from ecsgen.layout.memory_layout import Layout
from ecsgen.model import Component, Project
from ecsgen.model.columns import chunk_rows
from ecsgen.render.column_code import ColumnCode, SplitColumnCode, make_field_code
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
from ecsgen.render.text.jinja_environment import environment
from ecsgen.render.text.library_imports import (
    IMPORTS_MARKER,
    SHARDS,
    insert_imports,
    locate_public_names,
)
from ecsgen.render.text.name_shadowing import ComponentName, make_component_name
from ecsgen.render.text.quoting import WIDTH, literal


class ChunkColumnCode(ColumnCode):
    """A column of a component in chunks."""

    __slots__ = ()
    holder = "self"
    has_words = False


class ChunkedComponentCode(ComponentCode):
    """A component in chunks as its templates see it."""

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        plan = self.layout
        columns = tuple(column for column in plan.columns if column.field)
        self.layout = Layout(columns, plan.objects)
        self.stored = [
            ChunkColumnCode(c, component.name, self.layout.bytes_before(c)) for c in columns
        ]
        self.objects = [
            ChunkColumnCode(c, component.name, self.layout.row_bytes) for c in plan.objects
        ]
        self.columns = [*self.stored, *self.objects]
        self.row_columns = self.field_columns = self.columns
        by_name = {spelling.name: spelling for spelling in self.columns}
        self.fields = [
            make_field_code(field, component.name, by_name) for field in component.fields
        ]
        self.row_fields = self.fields

    @property
    def attributes(self) -> list[str]:
        """The attributes of the class of columns."""
        names = [f"_{s.name}_{kind}" for s in self.columns for kind in ("column", "view")]
        return sorted([*names, *(f"_{s.name}_cells" for s in self.columns if s.has_cells)])

    @property
    def layout_lines(self) -> str:
        """The constant of the columns."""
        entries = [f"Column({', '.join(s.layout_arguments)})" for s in self.columns]
        kind = "" if entries else "[tuple[Column, ...]]"
        return collection(f"_COLUMNS: Final{kind} = ", entries, 0)

    @property
    def unpacked_line(self) -> str:
        """The statement that takes them apart again."""
        names = [f.local for f in self.fields]
        line = f"        {', '.join(names)} = values"
        if len(names) > 1 and width(line) <= WIDTH:
            return line
        return collection("", names, 8) + " = values"

    @property
    def row_line(self) -> str:
        """The statement that returns a copy of a row."""
        return call(f"return {self.name}", [cell_expression(field) for field in self.fields], 8)

    @property
    def proxy_fields(self) -> list[str]:
        """The statements that make the attributes of a proxy."""
        return [chunk_field_line(spelling) for spelling in self.fields]

    @property
    def split_fields(self) -> list[SplitColumnCode]:
        """The fields that are converted as a whole and stored by element."""
        return [f for f in self.fields if isinstance(f, SplitColumnCode)]

    @property
    def arrays(self) -> list[str]:
        """The expressions for the columns of checked fields, in the layout's order."""
        parts = dict(part for f in self.split_fields for part in f.of_all(f.local))
        return [
            parts.get(s.name, f"{s.constant}.to_column({s.bare_name}, count)") for s in self.columns
        ]

    def broadcast_line(self, field: SplitColumnCode) -> str:
        """The statement that checks a split field for all rows."""
        checked = f"{field.constant}.to_column({field.bare_name}, count)"
        shape = literal_shape("count", field.column.shape)
        return call(f"{field.local} = np.broadcast_to", [checked, shape], 8)


def cell_expression(spelling: ColumnCode) -> str:
    """Return the expression that reads one cell as users see it."""
    parts = spelling.parts if isinstance(spelling, SplitColumnCode) else ()
    cell = literal_names([part.cell() for part in parts]) if parts else spelling.cell()
    if not spelling.is_nested:
        return cell
    values = cell if parts or not spelling.is_enum else f"map({spelling.scalar_type}, {cell})"
    return f"nested({values}, {literal(spelling.column.shape)})"


def render_chunked_module(component: Component) -> str:
    """Return the unformatted module of a component whose rows live in chunks."""
    spelling = ChunkedComponentCode(component)
    template, table = environment().get_template("chunked_component.py.j2"), chunk_table(component)
    text = template.render(c=spelling, imports_marker=IMPORTS_MARKER, columns_table=table)
    return insert_imports(text, dict.fromkeys(spelling.enums, ".enums"))


SUFFIXES = ("", "Data", "Fields", "Values")


def chunked_components(project: Project) -> tuple[Component, ...]:
    """Return the components that live in archetype chunks, by name."""
    return tuple(component for component in project.components if component.chunk)


def render_archetypes_module(
    members: tuple[ComponentName, ...], chunk: int, rows: int, sharded: bool
) -> str:
    """Return the module of the archetypes; `rows` with all components fit into a chunk."""
    names = [m.name for m in members]
    given = [f"{k}: {m.bare_name}" for k, m in enumerate(members)]
    line = f"        given = {{{', '.join(given)}}}"
    if width(line) > WIDTH:
        line = exploded("given = ", given, 8, "{}")
    template = environment().get_template("archetypes.py.j2")
    text = template.render(
        parts=members,
        base="ShardedArchetypeStore" if sharded else "ArchetypeStore",
        chunk=chunk,
        imports_marker=IMPORTS_MARKER,
        parts_line=collection("_DATA: ClassVar = ", [f"{name}Data" for name in names], 4),
        any_row_line=disjunction("_AnyRow: TypeAlias = ", names),
        given_line=line,
        summary=f"{rows} rows with all of them fit into a chunk.",
    )
    own = {m.name + suffix: f".{m.module}" for m in members for suffix in SUFFIXES}
    if sharded:
        own = {**locate_public_names(SHARDS), **own}
    return insert_imports(text, own)


def archetype_subjects(project: Project) -> tuple[tuple[ComponentName, ...], int, int, bool]:
    """Return what the module of archetypes is rendered from."""
    components, chunk = chunked_components(project), project.world.chunk
    members = tuple(make_component_name(component.name) for component in components)
    sharded = project.world.shards is not None
    return members, chunk, chunk_rows(components, chunk), sharded
