"""Makes the module of a component whose rows live in archetype chunks."""

from __future__ import annotations

from ecsgen.layout import Layout
from ecsgen.layout_text import chunk_table
from ecsgen.model import Component, Project
from ecsgen.model.columns import chunk_rows
from ecsgen.render.calls import (
    call,
    collection,
    disjunction,
    exploded,
    literal_names,
    literal_shape,
    width,
)
from ecsgen.render.component_spelling import ComponentSpelling, chunk_field_line
from ecsgen.render.environment import environment
from ecsgen.render.giving_way import Named, named
from ecsgen.render.quoting import WIDTH, literal
from ecsgen.render.runtime import MARKER, SHARDS, origins, with_imports
from ecsgen.render.spelling import Spelling, SplitSpelling, row_field


class ChunkColumn(Spelling):
    """A column of a component in chunks."""

    __slots__ = ()
    holder = "self"
    has_words = False


class ChunkedSpelling(ComponentSpelling):
    """A component in chunks as its templates see it."""

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        plan = self.layout
        columns = tuple(column for column in plan.columns if column.field)
        self.layout = Layout(columns, plan.objects)
        self.stored = [ChunkColumn(c, component.name, self.layout.before(c)) for c in columns]
        self.objects = [ChunkColumn(c, component.name, self.layout.row_bytes) for c in plan.objects]
        self.columns = [*self.stored, *self.objects]
        self.row_columns = self.field_columns = self.columns
        by_name = {spelling.name: spelling for spelling in self.columns}
        self.fields = [row_field(field, component.name, by_name) for field in component.fields]
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
    def split_fields(self) -> list[SplitSpelling]:
        """The fields that are converted as a whole and stored by element."""
        return [f for f in self.fields if isinstance(f, SplitSpelling)]

    @property
    def arrays(self) -> list[str]:
        """The expressions for the columns of checked fields, in the layout's order."""
        parts = dict(part for f in self.split_fields for part in f.of_all(f.local))
        return [parts.get(s.name, f"{s.constant}.many({s.alone}, count)") for s in self.columns]

    def broadcast_line(self, field: SplitSpelling) -> str:
        """The statement that checks a split field for all rows."""
        checked = f"{field.constant}.many({field.alone}, count)"
        shape = literal_shape("count", field.column.shape)
        return call(f"{field.local} = np.broadcast_to", [checked, shape], 8)


def cell_expression(spelling: Spelling) -> str:
    """Return the expression that reads one cell as users see it."""
    parts = spelling.parts if isinstance(spelling, SplitSpelling) else ()
    cell = literal_names([part.cell() for part in parts]) if parts else spelling.cell()
    if not spelling.is_nested:
        return cell
    values = cell if parts or not spelling.is_enum else f"map({spelling.scalar_type}, {cell})"
    return f"nested({values}, {literal(spelling.column.shape)})"


def chunked_module(component: Component) -> str:
    """Return the unformatted module of a component whose rows live in chunks."""
    spelling = ChunkedSpelling(component)
    template, table = environment().get_template("chunked.py.j2"), chunk_table(component)
    text = template.render(c=spelling, imports_marker=MARKER, columns_table=table)
    return with_imports(text, dict.fromkeys(spelling.enums, ".enums"))


SUFFIXES = ("", "Data", "Fields", "Values")


def chunked_components(project: Project) -> tuple[Component, ...]:
    """Return the components that live in archetype chunks, by name."""
    return tuple(component for component in project.components if component.chunk)


def archetypes_module(members: tuple[Named, ...], chunk: int, rows: int, sharded: bool) -> str:
    """Return the module of the archetypes; `rows` with all components fit into a chunk."""
    names = [m.name for m in members]
    given = [f"{k}: {m.alone}" for k, m in enumerate(members)]
    line = f"        given = {{{', '.join(given)}}}"
    if width(line) > WIDTH:
        line = exploded("given = ", given, 8, "{}")
    template = environment().get_template("archetypes.py.j2")
    text = template.render(
        parts=members,
        base="ShardedStore" if sharded else "ArchetypeStore",
        chunk=chunk,
        imports_marker=MARKER,
        parts_line=collection("_DATA: ClassVar = ", [f"{name}Data" for name in names], 4),
        any_row_line=disjunction("_AnyRow: TypeAlias = ", names),
        given_line=line,
        summary=f"{rows} rows with all of them fit into a chunk.",
    )
    own = {m.name + suffix: f".{m.module}" for m in members for suffix in SUFFIXES}
    if sharded:
        own = {**origins(SHARDS), **own}
    return with_imports(text, own)


def archetype_subjects(project: Project) -> tuple[tuple[Named, ...], int, int, bool]:
    """Return what `archetypes_module` is made from."""
    components, chunk = chunked_components(project), project.world.chunk
    members = tuple(named(component.name) for component in components)
    sharded = project.world.shards is not None
    return members, chunk, chunk_rows(components, chunk), sharded
