"""The memory layout of a component, and of an archetype chunk: columns, their order and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecsgen import policies
from ecsgen.model import Component
from ecsgen.model.columns import (
    COLD,
    OWNER_BYTES,
    Column,
    chunk_rows,
    field_columns,
    round_to_cache_lines,
)
from ecsgen.policies import Policy

PAGE = 4096
OWNER = "entity"
_CHUNK_OWNER = Column("entity", "u64", doc="The owner of each row.")
COLD_OWNER = Column("row", "u32", tags=(COLD,), doc="The row that each cold row belongs to.")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one buffer, hot before cold, and those of objects beside it.

    With indirect cold data, `cold` is the layout of the second buffer.
    """

    columns: tuple[Column, ...]
    objects: tuple[Column, ...]
    cold: Layout | None = None

    @property
    def row_bytes(self) -> int:
        """Bytes per row of the buffer."""
        return sum(column.nbytes for column in self.columns)

    def bytes_before(self, column: Column) -> int:
        """Return the bytes per row of the columns in front; offset = before * capacity."""
        return sum(c.nbytes for c in self.columns[: self.columns.index(column)])

    def buffer_bytes(self, capacity: int) -> int:
        """Return the size of the buffer: whole pages."""
        return -(-self.row_bytes * capacity // PAGE) * PAGE


def lay_out_component(component: Component, active: Sequence[Policy] | None = None) -> Layout:
    """Lay a component out: owner, hot fields, link columns, then cold fields.

    `active`: its policies, if they are known.
    """
    if active is None:
        active = policies.select_policies(component)
    policy_columns = tuple(column for policy in active for column in policy.columns)
    owner = tuple(column for column in policy_columns if column.name == OWNER)
    links = tuple(column for column in policy_columns if column.name != OWNER)
    fields = tuple(column for field in component.fields for column in field_columns(field))
    if component.cold == "inline":
        stored, objects = _split_objects(fields)
        hot = tuple(column for column in stored if not column.is_cold)
        cold = tuple(column for column in stored if column.is_cold)
        return Layout((*owner, *hot, *links, *cold), objects)
    hot, objects = _split_objects(tuple(column for column in fields if not column.is_cold))
    cold, beside_cold = _split_objects(tuple(column for column in fields if column.is_cold))
    return Layout((*owner, *hot, *links), objects, Layout((COLD_OWNER, *cold), beside_cold))


def _split_objects(columns: tuple[Column, ...]) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return the columns in a buffer, and those of objects."""
    stored = tuple(column for column in columns if not column.is_object)
    return stored, tuple(column for column in columns if column.is_object)


def type_text(column: Column) -> str:
    """Return a column's type as in a schema."""
    if column.field is not None:
        return column.field.type.text
    shape = ",".join(map(str, column.shape))
    return f"{column.scalar}[{shape}]" if shape else column.scalar


@dataclass(frozen=True, slots=True)
class ChunkColumn:
    """A column in a chunk; `component` is empty for the owners."""

    component: str
    column: Column
    offset: int

    @property
    def name(self) -> str:
        """The attribute of a chunk: `health.points`."""
        return ".".join(filter(None, (self.component, self.column.name)))


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """The chunks with rows of exactly some components; `objects` lie beside the buffer."""

    size: int
    rows: int
    columns: tuple[ChunkColumn, ...]
    objects: tuple[ChunkColumn, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes per row."""
        return sum(each.column.nbytes for each in self.columns)

    @property
    def free(self) -> int:
        """Bytes behind the last column."""
        last = self.columns[-1]
        return self.size - last.offset - round_to_cache_lines(last.column.nbytes * self.rows)


def lay_out_chunk(components: Iterable[Component]) -> ChunkLayout:
    """Lay out a chunk for rows with all of some components, which live in archetypes."""
    members = sorted(components, key=lambda component: component.name)
    size = members[0].chunk
    rows = chunk_rows(members, size)
    columns, objects = [ChunkColumn("", _CHUNK_OWNER, 0)], []
    offset = round_to_cache_lines(OWNER_BYTES * rows)
    for component in members:
        layout = lay_out_component(component)
        for column in layout.columns:
            if column.field:
                columns.append(ChunkColumn(component.module, column, offset))
                offset += round_to_cache_lines(column.nbytes * rows)
        objects += [ChunkColumn(component.module, column, -1) for column in layout.objects]
    return ChunkLayout(size, rows, tuple(columns), tuple(objects))


def chunk_title(components: Iterable[Component]) -> str:
    """Return the components of a chunk as text: `Body + Health`."""
    return " + ".join(sorted(component.name for component in components))
