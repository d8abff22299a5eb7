"""Pictures of the memory layout: buffers and chunks to scale, with panels beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecsgen import policies as storage
from ecsgen.layout.memory_layout import (
    PAGE,
    ChunkColumn,
    Layout,
    chunk_title,
    lay_out_chunk,
    lay_out_component,
    type_text,
)
from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.pictures.svg_drawing import Drawing, text_width

ROWS = 256
"""Rows of the buffer in the picture."""
_WIDTH = 310
"""Width of the panels."""
COLOURS = {
    "owner": "#c9e7d0",
    "hot": "#ffdfba",
    "links": "#e2d5f5",
    "ids": "#f8d0dd",
    "cold": "#cfe3f8",
    "free": "#f1f3f7",
    "objects": "#f4eeb0",
}
LEFT = 96  # edge of the strip; marks are left of it
STRIP = 64
FAN = 44
LINE = 26
GAP = 22
MOST_MARKS = 16


def picture(components: Iterable[Component]) -> str:
    """Return an SVG of the components' layouts, one below the other.

    Components in archetypes come last, in the chunk of rows that have all of them.
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
    return drawing.bottom + 2 * GAP if drawing.bottom else GAP


def _component(drawing: Drawing, component: Component, top: float) -> None:
    plan = lay_out_component(component)
    drawing.text(24, top + 16, component.name, "strong", 20)
    drawing.text(24, top + 40, policies(component), "muted")
    pages = plan.buffer_bytes(ROWS) // PAGE
    of_pages = f"{pages:,} page{'' if pages == 1 else 's'} of 4 KiB"
    size = f"{ROWS} rows = {plan.buffer_bytes(ROWS):,} bytes = {of_pages}"
    drawing.text(24, top + 60, f"{plan.row_bytes} bytes per row; {size}, drawn to scale", "muted")
    top += 104
    kind_of = kinds(component)
    parts = [
        StripPart(c.name, c, plan.bytes_before(c) * ROWS, c.nbytes * ROWS, kind_of[c.name])
        for c in plan.columns
    ]
    right = draw_strip(drawing, parts, plan.buffer_bytes(ROWS) or PAGE, ("page", PAGE), top)
    beside = _Panels(drawing, right + 2 * GAP, top - LINE)
    beside.rows(component)
    beside.map(component)
    if plan.cold is not None:
        beside.cold(plan.cold)
    objects = plan.objects + (plan.cold.objects if plan.cold else ())
    beside.objects([column.name for column in objects])
    beside.growth(component, plan)


def policies(component: Component) -> str:
    """Return the storage policies, by keys of the schema."""
    c = component
    chosen = [
        ("owner: none", c.owner == "none"),
        (f"lookup: {c.lookup}", c.owner == "entity"),
        ("instances: many", c.instances == "many"),
        (f"destroy: {c.destroy}", c.owner == "entity"),
        ("release", c.release),
        ("add", c.add),
        ("ids", c.ids),
        (f"partition: start {c.partition}", bool(c.partition)),
        (f"hierarchy: orphans {c.hierarchy}", bool(c.hierarchy)),
        ("cold: indirect", c.cold == "indirect"),
        *((f"{key}: {value}", True) for key, value in c.options),
        (f"growth: reserve {c.reserve}" if c.reserve else "growth: double", True),
    ]
    return ", ".join(text for text, used in chosen if used)


def kinds(component: Component) -> dict[str, str]:
    """Return the kind of each column of the buffer: owner, hot, links, ids or cold."""
    kind_of: dict[str, str] = {}
    for policy in storage.select_policies(component):
        for column in policy.columns:
            other = "ids" if column.name.startswith("id_") else "links"
            kind_of[column.name] = "owner" if column.name == "entity" else other
    for column in lay_out_component(component).columns:
        kind_of.setdefault(column.name, "cold" if column.is_cold else "hot")
    return kind_of


class _Panels:
    """Panels beside a buffer, one below the other: headings, and boxes in a row or a list."""

    def __init__(self, drawing: Drawing, x: float, y: float) -> None:
        self._drawing, self._x, self._y = drawing, x, y

    def heading(self, title: str, note: str) -> None:
        self._drawing.text(self._x, self._y + 18, title, "strong")
        self._drawing.text(self._x, self._y + 36, note, "muted", 12)
        self._y += 48

    def bar(self, *parts: tuple[str, int, str]) -> None:
        """Draw boxes (text, width, kind) in a row."""
        x = self._x
        for words, width, kind in parts:
            self._drawing.box(x, self._y, width, 24, COLOURS[kind])
            self._drawing.text(x + 6, self._y + 16, words, size=12)
            x += width
        self._y += 24 + GAP

    def rows(self, c: Component) -> None:
        if c.lookup == "direct":
            self.heading("rows: an entity's index", "unused indices are holes")
            parts = [("used", 60, "hot"), ("", 30, "free"), ("used", 90, "hot"), ("", 20, "free")]
            self.bar(*parts, ("used", 50, "hot"), ("free", 60, "free"))
        elif c.partition:
            self.heading("rows: active in front", "a swap moves one over the bound")
            self.bar(("active", 120, "hot"), ("inactive", 120, "cold"), ("free", 70, "free"))
        else:
            self.packed("the last one fills a hole")

    def packed(self, note: str) -> None:
        self.heading("rows: packed", note)
        self.bar(("in use", 220, "hot"), ("free", 90, "free"))

    def map(self, c: Component) -> None:
        what = "first row" if c.instances == "many" else "row"
        if c.owner == "none" or c.lookup == "direct":
            is_unowned = c.owner == "none"
            note = "an id's slot tells the row" if is_unowned else "row = index of the entity"
            self.heading("no map", note)
            self._y += GAP / 2
        elif c.lookup == "hash":
            self.heading("map: a dict", f"whole handle to {what}, about 100 bytes per entity")
            self.bar(("3:7 → 13", 105, "owner"), ("1:9 → 0", 95, "owner"), ("2:4 → 6", 95, "owner"))
        else:
            self.heading("map: a sparse array", f"entity index to {what}, 4 bytes per index")
            cells = ["NIL", "4", "NIL", "0", "22", "13", "NIL", "…"]
            self.bar(*((t, 40, "free" if t in ("NIL", "…") else "owner") for t in cells))

    def cold(self, cold: Layout) -> None:
        title = f"second buffer: {cold.row_bytes} bytes per cold row"
        self.heading(title, "only of instances with a value that is no default")
        for column in cold.columns:
            label, number = f"{column.name}  {type_text(column)}", f"{column.nbytes}"
            wide = max(_WIDTH, round(text_width(label, 12) + text_width(number, 12)) + 40)
            line = self._y + 15
            self._line(column.name, wide, "cold")
            at = self._x + 6 + text_width(f"{column.name}  ", 12)
            self._drawing.text(at, line, type_text(column), size=12)
            self._drawing.text(self._x + wide - 6, line, number, size=12, end=True)
        self._y += GAP

    def objects(self, names: Sequence[str]) -> None:
        if not names:
            return
        self.heading("beside the buffer: objects", "8 bytes each, a reference")
        for name in names:
            self._line(name, max(_WIDTH, text_width(name, 12) + 12), "objects")
        self._y += GAP

    def _line(self, name: str, width: float, kind: str) -> None:
        self._drawing.box(self._x, self._y, width, 22, COLOURS[kind])
        self._drawing.text(self._x + 6, self._y + 15, name, "strong", 12)
        self._y += 22

    def growth(self, c: Component, plan: Layout) -> None:
        if not c.reserve:
            self.heading("full: at least twice the rows", "in a new buffer; all rows move")
            return
        size = f"{c.reserve:,} rows, {plan.buffer_bytes(c.reserve):,} bytes of address space"
        self.heading(f"reserved: {size}", "memory comes page by page; nothing ever moves")
        self.bar(("touched", 80, "hot"), ("only reserved", 230, "free"))


def draw_chunk(drawing: Drawing, components: Sequence[Component], top: float) -> None:
    """Draw the chunk of rows that have all of some components."""
    plan = lay_out_chunk(components)
    drawing.text(24, top + 16, chunk_title(components), "strong", 20)
    drawing.text(24, top + 40, "an archetype chunk: rows with exactly these components", "muted")
    size = f"{plan.rows:,} rows in {plan.size:,} bytes, {plan.free:,} of them free, drawn to scale"
    drawing.text(24, top + 60, f"{plan.row_bytes} bytes per row; {size}", "muted")
    top += 104
    parts = [
        StripPart(each.name, each.column, each.offset, each.column.nbytes * plan.rows, _kind(each))
        for each in plan.columns
    ]
    mark = ("KiB", 1024) if plan.size >= 4096 else ("byte", 1)
    right = draw_strip(drawing, parts, plan.size, mark, top)
    beside = _Panels(drawing, right + 2 * GAP, top - LINE)
    beside.packed("the archetype's last one fills a hole")
    beside.heading("map: two sparse arrays", "entity index to handle and place, 16 bytes per index")
    beside.bar(("3:7", 60, "owner"), ("archetype 2, position 13", 250, "owner"))
    beside.objects([each.name for each in plan.objects])
    beside.heading("full: another chunk", "of the same size; no row moves")
    beside.bar(("full", 120, "hot"), ("full", 120, "hot"), ("last", 70, "free"))


def _kind(each: ChunkColumn) -> str:
    if not each.component:
        return "owner"
    return "cold" if each.column.is_cold else "hot"


@dataclass(frozen=True, slots=True)
class StripPart:
    """A column of the buffer: its name, position, size and kind."""

    name: str
    column: Column
    first: int  # its first byte
    nbytes: int
    kind: str


def draw_strip(
    drawing: Drawing, parts: Sequence[StripPart], size: int, mark: tuple[str, int], top: float
) -> float:
    """Draw the strip, the table and lines between them; return the right edge.

    `size`: bytes of the strip; `mark`: unit of the scale beside it, and its bytes.
    """
    height = max(7, len(parts)) * LINE
    step = height / max(1, len(parts))
    lines = [top + step * k + (step - LINE) / 2 for k in range(len(parts))]
    drawing.box(LEFT, top, STRIP, height, COLOURS["free"])
    for part, line in zip(parts, lines, strict=True):
        colour, y = COLOURS[part.kind], top + part.first / size * height
        tall = part.nbytes / size * height
        drawing.box(LEFT, y, STRIP, tall, colour)
        edge, end = LEFT + STRIP, LEFT + STRIP + FAN
        fan = [(edge, y), (end, line + 2), (end, line + LINE - 2), (edge, y + tall)]
        drawing.shape(fan, colour)
    _marks(drawing, size, mark, top, height)
    return _table(drawing, parts, lines, top)


def _marks(drawing: Drawing, size: int, mark: tuple[str, int], top: float, height: float) -> None:
    """Draw a scale of pages or KiB with at most MOST_MARKS marks."""
    name, nbytes = mark
    count = -(-size // nbytes)
    every = -(-count // MOST_MARKS)
    drawing.text(LEFT - 12, top - 8, name, "muted", 11, end=True)
    for number in range(0, count, every):
        y = top + height * number * nbytes / size
        drawing.line(LEFT - 8, y, LEFT, y)
        drawing.text(LEFT - 12, y + 10, str(number), "muted", 11, end=True)


def _table(
    drawing: Drawing, parts: Sequence[StripPart], lines: Sequence[float], top: float
) -> float:
    """Write one line per column; return the right edge."""
    rows = []
    for part in parts:
        column = part.column
        kinds = [part.kind, *(tag for tag in column.tags if tag not in ("hot", "cold"))]
        numbers = f"{column.nbytes}", f"{part.first:,}"
        rows.append((part.name, type_text(column), *numbers, ", ".join(kinds)))
    heads = ("column", "type", "bytes/row", "first byte", "kind")
    x = LEFT + STRIP + FAN + 8.0
    for k, head in enumerate(heads):
        wide = max(text_width(words) for words in (head, *(row[k] for row in rows)))
        is_number = k in (2, 3)
        drawing.text(x + wide if is_number else x, top - 8, head, "muted", 13, end=is_number)
        for row, y in zip(rows, lines, strict=True):
            style = "strong" if k == 0 else ""
            at = x + wide if is_number else x
            drawing.text(at, y + LINE - 9, row[k], style, end=is_number)
        x += wide + GAP
    return x - GAP
