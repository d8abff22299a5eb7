"""Panels beside the picture of a buffer: a heading, bars, boxes."""

from __future__ import annotations

from collections.abc import Iterable

from ecsgen.pictures.drawing import Drawing, text_width
from ecsgen.pictures.strip import COLOURS, GAP

WIDTH = 310


def heading(drawing: Drawing, x: float, y: float, title: str, *notes: str) -> float:
    """Write a panel's title and notes; return where it goes on."""
    drawing.text(x, y + 18, title, "strong")
    for note in notes:
        y += 18
        drawing.text(x, y + 18, note, "muted", 12)
    return y + 30


def bar(drawing: Drawing, x: float, y: float, parts: Iterable[tuple[str, int, str]]) -> float:
    """Draw boxes in a row: what each says, its width and its kind."""
    for words, width, kind in parts:
        drawing.box(x, y, width, 24, COLOURS[kind])
        drawing.text(x + 6, y + 16, words, size=12)
        x += width
    return y + 24 + GAP


def objects(drawing: Drawing, names: Iterable[str], x: float, y: float) -> float:
    """Draw the columns of Python objects, if there are any."""
    columns = list(names)
    if not columns:
        return y
    y = heading(drawing, x, y, "beside the buffer: objects", "8 bytes each, a reference")
    for name in columns:
        drawing.box(x, y, max(WIDTH, text_width(name, 12) + 12), 22, COLOURS["objects"])
        drawing.text(x + 6, y + 15, name, "strong", 12)
        y += 22
    return y + GAP
