"""The memory layout of an archetype chunk: the owners, then the columns of each component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ecsgen.layout import aligned, layout, type_text
from ecsgen.model import Component
from ecsgen.model.columns import OWNER_BYTES, Column, chunk_rows, whole_lines

OWNER = Column("entity", "u64", doc="Whose row it is.")


@dataclass(frozen=True, slots=True)
class ChunkColumn:
    """A column in a chunk; `component` is empty for the owners."""

    component: str
    column: Column
    offset: int

    @property
    def name(self) -> str:
        """How users reach it: `chunk.health.points`."""
        return ".".join(filter(None, (self.component, self.column.name)))


@dataclass(frozen=True, slots=True)
class ChunkPlan:
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
        return self.size - last.offset - whole_lines(last.column.nbytes * self.rows)


def chunk_plan(components: Iterable[Component]) -> ChunkPlan:
    """Lay out a chunk for the rows that have all of some components, which live in archetypes."""
    members = sorted(components, key=lambda component: component.name)
    size = members[0].chunk
    rows = chunk_rows(members, size)
    columns, objects = [ChunkColumn("", OWNER, 0)], []
    offset = whole_lines(OWNER_BYTES * rows)
    for component in members:
        plan = layout(component)
        for column in plan.columns:
            if column.field:
                columns.append(ChunkColumn(component.module, column, offset))
                offset += whole_lines(column.nbytes * rows)
        objects += [ChunkColumn(component.module, column, -1) for column in plan.objects]
    return ChunkPlan(size, rows, tuple(columns), tuple(objects))


def chunk_title(components: Iterable[Component]) -> str:
    """Return the signature in words."""
    return " + ".join(sorted(component.name for component in components))


def chunk_plan_table(plan: ChunkPlan) -> str:
    """Return the layout as text: a line per column, then the totals."""
    heading = ("column", "type", "bytes/row", f"offset ({plan.rows} rows)", "tags")
    lines = [
        (
            each.name,
            type_text(each.column),
            str(each.column.nbytes),
            str(each.offset),
            " ".join(each.column.tags),
        )
        for each in plan.columns
    ]
    lines += [
        (each.name, "object", "beside", "", " ".join(each.column.tags)) for each in plan.objects
    ]
    total = f"{plan.row_bytes} bytes per row, {plan.rows} rows in a chunk of {plan.size} bytes"
    return f"{aligned([heading, *lines])}\n{total}, {plan.free} of them free\n"
