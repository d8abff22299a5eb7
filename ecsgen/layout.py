"""The memory layout of a component: which columns there are, in which order, at which offsets."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen import features
from ecsgen.columns import Column, field_columns
from ecsgen.model import Component

PAGE = 4096
OWNER = "entity"


@dataclass(frozen=True, slots=True)
class Layout:
    """A component's columns: those of the one buffer, hot before cold, and the objects beside it."""

    columns: tuple[Column, ...]
    objects: tuple[Column, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes per row of the buffer."""
        return sum(column.nbytes for column in self.columns)

    def before(self, column: Column) -> int:
        """Return the bytes per row of the columns in front: offset(capacity) = before * capacity."""
        return sum(c.nbytes for c in self.columns[: self.columns.index(column)])

    def buffer_bytes(self, capacity: int) -> int:
        """Return the size of the buffer: whole pages."""
        return -(-self.row_bytes * capacity // PAGE) * PAGE


def layout(component: Component) -> Layout:
    """Lay a component out: owner, hot fields, link columns, then cold fields, as the schema orders them."""
    asked = tuple(c for f in features.active(component) for c in f.columns(component))
    owner = tuple(column for column in asked if column.name == OWNER)
    links = tuple(column for column in asked if column.name != OWNER)
    fields = tuple(column for field in component.fields for column in field_columns(field))
    stored = tuple(column for column in fields if not column.is_object)
    hot = tuple(column for column in stored if not column.is_cold)
    cold = tuple(column for column in stored if column.is_cold)
    objects = tuple(column for column in fields if column.is_object)
    return Layout((*owner, *hot, *links, *cold), objects)


def table(component: Component, capacity: int = 64) -> str:
    """Return the layout as a table in text: one line per column, then the totals."""
    plan = layout(component)
    rows = [("column", "type", "bytes/row", f"offset ({capacity} rows)", "tags")]
    for column in plan.columns:
        offset = plan.before(column) * capacity
        rows.append(
            (column.name, type_text(column), str(column.nbytes), str(offset), " ".join(column.tags))
        )
    for column in plan.objects:
        rows.append((column.name, "object", "beside", "", " ".join(column.tags)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    total = f"{plan.row_bytes} bytes per row, {plan.buffer_bytes(capacity)} for {capacity} rows"
    return "\n".join([*lines, total]) + "\n"


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
