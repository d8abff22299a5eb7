"""Pictures of the memory layout: buffers and chunks to scale, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ecsgen import policies as storage
from ecsgen.layout import (
    PAGE,
    ChunkColumn,
    ChunkPlan,
    Layout,
    chunk_plan,
    chunk_title,
    layout,
    type_text,
)
from ecsgen.model import Component
from ecsgen.pictures.drawing import Drawing, text_width
from ecsgen.pictures.strip import COLOURS, GAP, LINE, Scale, StripPart, draw_strip

ROWS = 256
"""Rows of the buffer in the picture."""
_WIDTH = 310
"""Of what stands beside it."""


def picture(components: Iterable[Component]) -> str:
    """Return an SVG of the components' layouts, one below the other.

    Those that live in archetypes come last, in the chunk of rows that have all of them.
    """
    drawing = Drawing()
    chosen = list(components)
    for component in chosen:
        if not component.chunk:
            _component(drawing, component, _below(drawing))
    if chunked := [component for component in chosen if component.chunk]:
        draw_chunk(drawing, chunked, _below(drawing))
    return drawing.svg()


def _below(drawing: Drawing) -> float:
    """Return where the next layout begins."""
    return drawing.bottom + 2 * GAP if drawing.bottom else GAP


def _component(drawing: Drawing, component: Component, top: float) -> None:
    plan = layout(component)
    drawing.text(24, top + 16, component.name, "strong", 20)
    drawing.text(24, top + 40, policies(component), "muted")
    pages = plan.buffer_bytes(ROWS) // PAGE
    size = f"{ROWS} rows = {plan.buffer_bytes(ROWS):,} bytes = {counted(pages, 'page')} of 4 KiB"
    drawing.text(24, top + 60, f"{plan.row_bytes} bytes per row; {size}, drawn to scale", "muted")
    top += 104
    right = _buffer(drawing, component, plan, top)
    panels = [_rows_panel, _map_panel, _cold_panel, _objects_panel, _growth_panel]
    beside = top - LINE
    for panel in panels:
        beside = panel(drawing, component, plan, right + 2 * GAP, beside)


def policies(component: Component) -> str:
    """Return the storage policies in the words of the schema, those that are not the default."""
    c = component
    chosen = [
        ("owner: none", c.owner == "none"),
        (f"lookup: {c.lookup}", c.owner == "entity"),
        ("instances: many", c.instances == "many"),
        (f"destroy: {c.destroy}", c.owner == "entity"),
        ("release", c.release),
        ("ids", c.ids),
        (f"partition: start {c.partition}", bool(c.partition)),
        (f"hierarchy: orphans {c.hierarchy}", bool(c.hierarchy)),
        ("cold: indirect", c.cold == "indirect"),
        *((f"{key}: {value}", True) for key, value in c.asked),
        (f"growth: reserve {c.reserve}" if c.reserve else "growth: double", True),
    ]
    return ", ".join(text for text, used in chosen if used)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def kinds(component: Component) -> dict[str, str]:
    """Return what each column of the buffer is: owner, hot, links, ids or cold."""
    found: dict[str, str] = {}
    for policy in storage.active(component):
        for column in policy.columns:
            other = "ids" if column.name.startswith("id_") else "links"
            found[column.name] = "owner" if policy.role == "owner" else other
    for column in layout(component).columns:
        found.setdefault(column.name, "cold" if column.is_cold else "hot")
    return found


def _buffer(drawing: Drawing, component: Component, plan: Layout, top: float) -> float:
    """Draw the buffer and say what its columns are; return the right edge."""
    kind_of = kinds(component)
    parts = [
        StripPart(c.name, c, plan.before(c) * ROWS, c.nbytes * ROWS, kind_of[c.name])
        for c in plan.columns
    ]
    scale = Scale(plan.buffer_bytes(ROWS) or PAGE, "page", PAGE)
    return draw_strip(drawing, parts, scale, top)


def _rows_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """How rows in use and free ones lie."""
    if c.lookup == "direct":
        y = _heading(drawing, x, y, "rows: an entity's index", "unused indices are holes")
        parts = [("used", 60, "hot"), ("", 30, "free"), ("used", 90, "hot"), ("", 20, "free")]
        return _bar(drawing, x, y, [*parts, ("used", 50, "hot"), ("free", 60, "free")])
    if c.partition:
        y = _heading(drawing, x, y, "rows: active in front", "a swap moves one over the bound")
        parts = [("active", 120, "hot"), ("inactive", 120, "cold"), ("free", 70, "free")]
        return _bar(drawing, x, y, parts)
    y = _heading(drawing, x, y, "rows: packed", "the last one fills a hole")
    return _bar(drawing, x, y, [("in use", 220, "hot"), ("free", 90, "free")])


def _map_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """How a row is found."""
    if c.owner == "none":
        return _heading(drawing, x, y, "no map", "an id's slot tells the row") + GAP / 2
    if c.lookup == "direct":
        return _heading(drawing, x, y, "no map", "row = index of the entity") + GAP / 2
    what = "first row" if c.instances == "many" else "row"
    if c.lookup == "hash":
        note = f"whole handle to {what}, about 100 bytes per entity"
        y = _heading(drawing, x, y, "map: a dict", note)
        parts = [("3:7 → 13", 105, "owner"), ("1:9 → 0", 95, "owner"), ("2:4 → 6", 95, "owner")]
        return _bar(drawing, x, y, parts)
    note = f"entity index to {what}, 4 bytes per index"
    y = _heading(drawing, x, y, "map: a sparse array", note)
    cells = ["NIL", "4", "NIL", "0", "22", "13", "NIL", "…"]
    return _bar(drawing, x, y, [(t, 40, "free" if t in ("NIL", "…") else "owner") for t in cells])


def _cold_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """The second buffer of indirect cold data."""
    cold = plan.cold
    if cold is None:
        return y
    title = f"second buffer: {cold.row_bytes} bytes per cold row"
    y = _heading(drawing, x, y, title, "only of instances with a value that is no default")
    for column in cold.columns:
        label = f"{column.name}  {type_text(column)}"
        number = f"{column.nbytes}"
        wide = max(_WIDTH, round(text_width(label, 12) + text_width(number, 12)) + 40)
        drawing.box(x, y, wide, 22, COLOURS["cold"])
        drawing.text(x + 6, y + 15, column.name, "strong", 12)
        drawing.text(x + 6 + text_width(f"{column.name}  ", 12), y + 15, type_text(column), size=12)
        drawing.text(x + wide - 6, y + 15, number, size=12, end=True)
        y += 22
    return y + GAP


def _objects_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """The columns of Python objects."""
    columns = plan.objects + (plan.cold.objects if plan.cold else ())
    return _objects(drawing, [column.name for column in columns], x, y)


def _growth_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """What happens when the buffer is full."""
    if not c.reserve:
        return _heading(
            drawing, x, y, "full: at least twice the rows", "in a new buffer; all rows move"
        )
    size = f"{c.reserve:,} rows, {plan.buffer_bytes(c.reserve):,} bytes of address space"
    y = _heading(
        drawing, x, y, f"reserved: {size}", "memory comes page by page; nothing ever moves"
    )
    return _bar(drawing, x, y, [("touched", 80, "hot"), ("only reserved", 230, "free")])


def draw_chunk(drawing: Drawing, components: Sequence[Component], top: float) -> None:
    """Draw the chunk of rows that have all of some components."""
    plan = chunk_plan(components)
    drawing.text(24, top + 16, chunk_title(components), "strong", 20)
    drawing.text(24, top + 40, "an archetype chunk: rows with exactly these components", "muted")
    size = f"{plan.rows:,} rows in {plan.size:,} bytes, {plan.free:,} of them free, drawn to scale"
    drawing.text(24, top + 60, f"{plan.row_bytes} bytes per row; {size}", "muted")
    top += 104
    parts = [
        StripPart(each.name, each.column, each.offset, each.column.nbytes * plan.rows, _kind(each))
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
    y = _heading(drawing, x, y, "rows: packed", "the archetype's last one fills a hole")
    y = _bar(drawing, x, y, [("in use", 220, "hot"), ("free", 90, "free")])
    note = "entity index to handle and place, 16 bytes per index"
    y = _heading(drawing, x, y, "map: two sparse arrays", note)
    y = _bar(drawing, x, y, [("3:7", 60, "owner"), ("archetype 2, position 13", 250, "owner")])
    y = _objects(drawing, (each.name for each in plan.objects), x, y)
    y = _heading(drawing, x, y, "full: another chunk", "of the same size; no row moves")
    _bar(drawing, x, y, [("full", 120, "hot"), ("full", 120, "hot"), ("last", 70, "free")])


def _heading(drawing: Drawing, x: float, y: float, title: str, *notes: str) -> float:
    """Write a panel's title and notes; return where it goes on."""
    drawing.text(x, y + 18, title, "strong")
    for note in notes:
        y += 18
        drawing.text(x, y + 18, note, "muted", 12)
    return y + 30


def _bar(drawing: Drawing, x: float, y: float, parts: Iterable[tuple[str, int, str]]) -> float:
    """Draw boxes in a row: what each says, its width and its kind."""
    for words, width, kind in parts:
        drawing.box(x, y, width, 24, COLOURS[kind])
        drawing.text(x + 6, y + 16, words, size=12)
        x += width
    return y + 24 + GAP


def _objects(drawing: Drawing, names: Iterable[str], x: float, y: float) -> float:
    """Draw the columns of Python objects, if there are any."""
    columns = list(names)
    if not columns:
        return y
    y = _heading(drawing, x, y, "beside the buffer: objects", "8 bytes each, a reference")
    for name in columns:
        drawing.box(x, y, max(_WIDTH, text_width(name, 12) + 12), 22, COLOURS["objects"])
        drawing.text(x + 6, y + 15, name, "strong", 12)
        y += 22
    return y + GAP
