"""A buffer drawn to scale: a strip of its columns, and a table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecsgen.layout.memory_layout import type_text
from ecsgen.model.columns import Column
from ecsgen.pictures.svg_drawing import Drawing, text_width

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
