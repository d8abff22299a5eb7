"""The picture of an archetype chunk: the buffer to scale, and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.layout.chunks import ChunkColumn, ChunkPlan, chunk_plan, chunk_title
from ecsgen.model import Component
from ecsgen.pictures.drawing import Drawing
from ecsgen.pictures.panels import bar, heading, objects
from ecsgen.pictures.strip import GAP, LINE, Part, Scale, draw_strip


def draw_chunk(drawing: Drawing, components: Sequence[Component], top: float) -> None:
    """Draw the chunk of rows that have all of some components."""
    plan = chunk_plan(components)
    drawing.text(24, top + 16, chunk_title(components), "strong", 20)
    drawing.text(24, top + 40, "an archetype chunk: rows with exactly these components", "muted")
    size = f"{plan.rows:,} rows in {plan.size:,} bytes, {plan.free:,} of them free, drawn to scale"
    drawing.text(24, top + 60, f"{plan.row_bytes} bytes per row; {size}", "muted")
    top += 104
    parts = [
        Part(each.name, each.column, each.offset, each.column.nbytes * plan.rows, _kind(each))
        for each in plan.columns
    ]
    right = draw_strip(drawing, parts, Scale(plan.size, *_mark(plan.size)), top)
    _panels(drawing, plan, right + 2 * GAP, top - LINE)


def _mark(size: int) -> tuple[str, int]:
    return ("KiB", 1024) if size >= 4096 else ("byte", 1)


def _kind(each: ChunkColumn) -> str:
    if not each.component:
        return "owner"
    return "cold" if each.column.is_cold else "hot"


def _panels(drawing: Drawing, plan: ChunkPlan, x: float, y: float) -> None:
    y = heading(drawing, x, y, "rows: packed", "the archetype's last one fills a hole")
    y = bar(drawing, x, y, [("in use", 220, "hot"), ("free", 90, "free")])
    note = "entity index to handle and place, 16 bytes per index"
    y = heading(drawing, x, y, "map: two sparse arrays", note)
    y = bar(drawing, x, y, [("3:7", 60, "owner"), ("archetype 2, position 13", 250, "owner")])
    y = objects(drawing, (each.name for each in plan.objects), x, y)
    y = heading(drawing, x, y, "full: another chunk", "of the same size; no row moves")
    bar(drawing, x, y, [("full", 120, "hot"), ("full", 120, "hot"), ("last", 70, "free")])
