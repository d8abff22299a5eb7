"""The memory layout of a component: which columns there are, in which order, at which offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecsgen import policies
from ecsgen.model import Component
from ecsgen.model.columns import COLD, Column, field_columns
from ecsgen.policies import Policy

PAGE = 4096
OWNER = "entity"
COLD_OWNER = Column("row", "u32", tags=(COLD,), doc="The row that each cold row belongs to.")


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns: those of one buffer, hot before cold, and the objects beside it.

    With indirect cold data, `cold` is the layout of the second buffer.
    """

    columns: tuple[Column, ...]
    objects: tuple[Column, ...]
    cold: Layout | None = None

    @property
    def row_bytes(self) -> int:
        """Bytes per row of the buffer."""
        return sum(column.nbytes for column in self.columns)

    def before(self, column: Column) -> int:
        """Return the bytes per row of the columns in front; offset = before * capacity."""
        return sum(c.nbytes for c in self.columns[: self.columns.index(column)])

    def buffer_bytes(self, capacity: int) -> int:
        """Return the size of the buffer: whole pages."""
        return -(-self.row_bytes * capacity // PAGE) * PAGE


def layout(component: Component, active: Sequence[Policy] | None = None) -> Layout:
    """Lay a component out: owner, hot fields, link columns, then cold fields.

    `active`: its policies, if they are known.
    """
    if active is None:
        active = policies.active(component)
    asked = tuple(column for policy in active for column in policy.columns(component))
    owner = tuple(column for column in asked if column.name == OWNER)
    links = tuple(column for column in asked if column.name != OWNER)
    fields = tuple(column for field in component.fields for column in field_columns(field))
    if component.cold == "inline":
        stored, objects = _apart(fields)
        hot = tuple(column for column in stored if not column.is_cold)
        cold = tuple(column for column in stored if column.is_cold)
        return Layout((*owner, *hot, *links, *cold), objects)
    hot, objects = _apart(tuple(column for column in fields if not column.is_cold))
    cold, beside_cold = _apart(tuple(column for column in fields if column.is_cold))
    return Layout((*owner, *hot, *links), objects, Layout((COLD_OWNER, *cold), beside_cold))


def _apart(columns: tuple[Column, ...]) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return the columns that a buffer holds, and those of objects."""
    stored = tuple(column for column in columns if not column.is_object)
    return stored, tuple(column for column in columns if column.is_object)


def table(plan: Layout, capacity: int = 64) -> str:
    """Return a layout as text: one table per buffer, a line per column, then the totals."""
    if plan.cold is None:
        return _table(plan, capacity)
    return f"{_table(plan, capacity)}\n{_table(plan.cold, capacity, 'cold column')}"


def chunk_table(component: Component) -> str:
    """Return a component's columns in archetype chunks as text, a line per column."""
    rows = [("column", "type", "tags", "bytes/row")]
    for column in (column for field in component.fields for column in field_columns(field)):
        nbytes = "beside" if column.is_object else str(column.nbytes)
        rows.append((column.name, type_text(column), " ".join(column.tags), nbytes))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "  ".join("-" * width for width in widths)
    lines = [
        "  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3].rjust(widths[3])])
        for row in rows
    ]
    total = sum(c.nbytes for field in component.fields for c in field_columns(field))
    count = f"{total} bytes per row, in archetype chunks of {component.chunk} bytes"
    return "\n".join([lines[0], rule, *lines[1:], count])


def _table(plan: Layout, capacity: int, heading: str = "column") -> str:
    rows = [(heading, "type", "bytes/row", f"offset ({capacity} rows)", "tags")]
    for column in plan.columns:
        offset = plan.before(column) * capacity
        rows.append(
            (column.name, type_text(column), str(column.nbytes), str(offset), " ".join(column.tags))
        )
    for column in plan.objects:
        rows.append((column.name, "object", "beside", "", " ".join(column.tags)))
    total = f"{plan.row_bytes} bytes per row, {plan.buffer_bytes(capacity)} for {capacity} rows"
    return f"{aligned(rows)}\n{total}\n"


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as text in columns, the first one underlined; the third and fourth have
    numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def type_text(column: Column) -> str:
    """Return a column's type as the schema spells it."""
    if column.field is not None:
        return column.field.type.text
    shape = ",".join(map(str, column.shape))
    return f"{column.scalar}[{shape}]" if shape else column.scalar


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        text.rjust(width) if i in (2, 3) else text.ljust(width)
        for i, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
