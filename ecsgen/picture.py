"""Pictures of the memory layout: the buffer to scale, its columns, and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ecsgen import features
from ecsgen.columns import Column
from ecsgen.drawing import Drawing, text_width
from ecsgen.layout import PAGE, Layout, layout, type_text
from ecsgen.model import Component

ROWS = 256
"""Rows of the buffer in the picture."""

COLOURS = {
    "owner": "#c9e7d0",
    "hot": "#ffdfba",
    "links": "#e2d5f5",
    "ids": "#f8d0dd",
    "cold": "#cfe3f8",
    "free": "#f1f3f7",
    "objects": "#f4eeb0",
}
LEFT = 96  # of the strip; page numbers stand before it
STRIP = 64
FAN = 44
LINE = 26
GAP = 22
MOST_PAGES = 16


def picture(components: Iterable[Component]) -> str:
    """Return an SVG of the components' layouts, one below the other."""
    drawing = Drawing()
    for component in components:
        _component(drawing, component, drawing.bottom + 2 * GAP if drawing.bottom else GAP)
    return drawing.svg()


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
        (f"growth: reserve {c.reserve}" if c.reserve else "growth: double", True),
    ]
    return ", ".join(text for text, used in chosen if used)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# --- the buffer -----------------------------------------------------------------------------


def kinds(component: Component) -> dict[str, str]:
    """Return what each column of the buffer is: owner, hot, links, ids or cold."""
    found: dict[str, str] = {}
    for feature in features.active(component):
        role = next((role for role in ("owner", "ids") if role in feature.roles), "links")
        found |= dict.fromkeys((column.name for column in feature.columns(component)), role)
    for column in layout(component).columns:
        found.setdefault(column.name, "cold" if column.is_cold else "hot")
    return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """One line's place in the strip and in the table beside it."""

    column: Column
    kind: str
    y: float
    height: float
    line_y: float


def _buffer(drawing: Drawing, component: Component, plan: Layout, top: float) -> float:
    """Draw the strip, the table and what joins them; return the right edge."""
    kind_of = kinds(component)
    height = max(7, len(plan.columns)) * LINE
    size = plan.buffer_bytes(ROWS) or PAGE
    step = height / max(1, len(plan.columns))
    cells = [
        _Cell(
            column,
            kind_of[column.name],
            top + plan.before(column) * ROWS / size * height,
            column.nbytes * ROWS / size * height,
            top + step * k + (step - LINE) / 2,
        )
        for k, column in enumerate(plan.columns)
    ]
    drawing.box(LEFT, top, STRIP, height, COLOURS["free"])
    for cell in cells:
        _strip_cell(drawing, cell)
    _pages(drawing, size // PAGE, top, height)
    return _table(drawing, plan, cells, top)


def _strip_cell(drawing: Drawing, cell: _Cell) -> None:
    colour = COLOURS[cell.kind]
    drawing.box(LEFT, cell.y, STRIP, cell.height, colour)
    edge, end = LEFT + STRIP, LEFT + STRIP + FAN
    drawing.shape(
        [
            (edge, cell.y),
            (end, cell.line_y + 2),
            (end, cell.line_y + LINE - 2),
            (edge, cell.y + cell.height),
        ],
        colour,
    )


def _pages(drawing: Drawing, pages: int, top: float, height: float) -> None:
    """Mark where pages begin; of many, some."""
    every = -(-pages // MOST_PAGES)
    drawing.text(LEFT - 12, top - 8, "page", "muted", 11, end=True)
    for page in range(0, pages, every):
        y = top + height * page / pages
        drawing.line(LEFT - 8, y, LEFT, y)
        drawing.text(LEFT - 12, y + 10, str(page), "muted", 11, end=True)


def _table(drawing: Drawing, plan: Layout, cells: list[_Cell], top: float) -> float:
    """Write one line per column; return the right edge."""
    rows = [
        (
            cell.column.name,
            type_text(cell.column),
            f"{cell.column.nbytes}",
            f"{plan.before(cell.column) * ROWS:,}",
            _words(cell),
        )
        for cell in cells
    ]
    heads = ("column", "type", "bytes/row", "first byte", "kind")
    x = LEFT + STRIP + FAN + 8.0
    for k, head in enumerate(heads):
        wide = max(text_width(words) for words in (head, *(row[k] for row in rows)))
        is_number = k in (2, 3)
        drawing.text(x + wide if is_number else x, top - 8, head, "muted", 13, end=is_number)
        for row, cell in zip(rows, cells, strict=True):
            style = "strong" if k == 0 else ""
            at = x + wide if is_number else x
            drawing.text(at, cell.line_y + LINE - 9, row[k], style, end=is_number)
        x += wide + GAP
    return x - GAP


def _words(cell: _Cell) -> str:
    """Return a column's kind, and the tags that the schema gave it."""
    tags = [tag for tag in cell.column.tags if tag not in ("hot", "cold")]
    return ", ".join([cell.kind, *tags])


# --- what stands beside it ------------------------------------------------------------------


def _heading(drawing: Drawing, x: float, y: float, title: str, *notes: str) -> float:
    """Write a panel's title and notes; return where it goes on."""
    drawing.text(x, y + 18, title, "strong")
    for note in notes:
        y += 18
        drawing.text(x, y + 18, note, "muted", 12)
    return y + 30


def _bar(drawing: Drawing, x: float, y: float, parts: list[tuple[str, int, str]]) -> float:
    """Draw boxes in a row: what each says, its width and its kind."""
    for words, width, kind in parts:
        drawing.box(x, y, width, 24, COLOURS[kind])
        drawing.text(x + 6, y + 16, words, size=12)
        x += width
    return y + 24 + GAP


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
        wide = max(310, round(text_width(label, 12) + text_width(number, 12)) + 40)
        drawing.box(x, y, wide, 22, COLOURS["cold"])
        drawing.text(x + 6, y + 15, column.name, "strong", 12)
        drawing.text(x + 6 + text_width(f"{column.name}  ", 12), y + 15, type_text(column), size=12)
        drawing.text(x + wide - 6, y + 15, number, size=12, end=True)
        y += 22
    return y + GAP


def _objects_panel(drawing: Drawing, c: Component, plan: Layout, x: float, y: float) -> float:
    """The columns of Python objects."""
    objects = plan.objects + (plan.cold.objects if plan.cold else ())
    if not objects:
        return y
    y = _heading(drawing, x, y, "beside the buffer: objects", "8 bytes each, a reference")
    for column in objects:
        drawing.box(x, y, max(310, text_width(column.name, 12) + 12), 22, COLOURS["objects"])
        drawing.text(x + 6, y + 15, column.name, "strong", 12)
        y += 22
    return y + GAP


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
