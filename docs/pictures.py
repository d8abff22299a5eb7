"""Makes the pictures of these pages: python docs/pictures.py [FOLDER]

The buffer's picture is drawn from the layout of the shipped PointMass, the chunk's is that of
`ecsgen layout Armor Burning Health Weapon --svg`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ecsgen import schema
from ecsgen.diagnostics import Diagnostics
from ecsgen.layout.memory_layout import lay_out_component, type_text
from ecsgen.model import Component
from ecsgen.pictures.layout_picture import picture

HERE = Path(__file__).resolve().parent
CAPACITY = 64
STYLE = """
  text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1d2433; }
  .h { font-size: 15px; font-weight: 600; } .t { font-size: 13px; } .n { font-size: 12px; }
  .m { fill: #5b6478; } .hot { fill: #ffe3c2; } .cold { fill: #d6e6f7; } .row { fill: #e4572e; }
  .free { fill: #f1f3f7; } .gone { fill: #f6c9bd; } .moved { fill: #bfe5c8; }
  .line { stroke: #7a8398; stroke-width: 1; }
  .arrow { stroke: #e4572e; stroke-width: 1.6; fill: none; marker-end: url(#head); }
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#e4572e"/></marker></defs>'
)


def svg(width: int, height: int, parts: Iterator[str]) -> str:
    """Return a picture on a white card, readable on light and dark pages."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>{HEAD}",
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="line {kind}" x="{x:.1f}" y="{y:.1f}"'
        f' width="{width:.1f}" height="{height:.1f}"/>'
    )


def text(x: float, y: float, words: str, kind: str = "t", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def shipped() -> tuple[Component, ...]:
    """Return the components of the shipped schemas."""
    project = schema.load(HERE.parent / "schemas", Diagnostics())
    assert project is not None
    return project.components


def buffer_picture() -> Iterator[str]:
    """From a handle over the map to a row, which is one cell in each column of the buffer."""
    component = next(c for c in shipped() if c.name == "PointMass")
    plan = lay_out_component(component)
    n, row, left, width, top = 40, 13, 30.0, 880.0, 230.0

    yield text(left, 34, "An entity is a number", "h")
    yield box(left, 48, 150, 30, "free")
    yield box(left + 150, 48, 110, 30, "hot")
    yield text(left + 75, 68, "generation 3", "t", "middle")
    yield text(left + 205, 68, "index 7", "t", "middle")
    yield text(400, 34, "The map finds its row (sparse: an array by index)", "h")
    for k, cell in enumerate(("NIL", "4", "NIL", "0", "22", "NIL", "9", str(row), "…")):
        yield box(400 + 48 * k, 48, 48, 30, "hot" if k == 7 else "free")
        yield text(424 + 48 * k, 68, cell, "t", "middle")
        yield text(424 + 48 * k, 92, str(k) if k < 8 else "", "n m", "middle")
    yield f'<path class="arrow" d="M{left + 262},63 H394"/>'
    yield text(left, 128, "Row 13 is cell 13 of every column, all in one buffer", "h")
    note = f"{plan.row_bytes} bytes per row, {CAPACITY} rows; {n} in use; widths to scale"
    yield text(left, 148, note, "n m")

    scale = width / plan.row_bytes
    for column in plan.columns:
        x, wide = left + plan.bytes_before(column) * scale, column.nbytes * scale
        kind = "cold" if column.is_cold else "hot"
        yield box(x, top, wide, 44, "free")
        yield box(x, top, wide * n / CAPACITY, 44, kind)
        at = x + wide * (row + 0.5) / CAPACITY
        yield f'<rect class="row" x="{at - 1.5:.1f}" y="{top}" width="3" height="44"/>'
        yield f'<path class="arrow" d="M760,97 C760,165 {at:.1f},150 {at:.1f},{top - 4}"/>'
        middle = x + wide / 2
        yield text(middle, top + 64, column.name, "t", "middle")
        yield text(middle, top + 82, type_text(column), "n m", "middle")
        yield text(x, top + 102, str(plan.bytes_before(column) * CAPACITY), "n m")
    yield text(left, top + 124, "first byte of each column: a multiple of 64", "n m")
    for k, (kind, words) in enumerate((("hot", "hot"), ("cold", "cold"), ("free", "not in use"))):
        yield box(620 + 100 * k, top + 112, 14, 14, kind)
        yield text(640 + 100 * k, top + 124, words, "n")


def swap_picture() -> Iterator[str]:
    """Two holes filled by the last rows, then what the map says before and after."""
    before = ["A", "B", "C", "D", "E", "F", "G", "H"]
    gone = {1, 4}
    after = ["A", "G", "C", "D", "H", "F"]
    cell, left = 62, 150
    yield text(30, 26, "destroy_many([1, 4])", "h")
    for k, name in enumerate(before):
        yield box(left + cell * k, 58, cell, 34, "gone" if k in gone else "hot")
        yield text(left + cell * (k + 0.5), 80, name, "t", "middle")
        yield text(left + cell * (k + 0.5), 50, str(k), "n m", "middle")
    yield text(30, 80, "rows before", "t")
    yield text(30, 172, "rows after", "t")
    for k, name in enumerate(after):
        moved = name != before[k]
        yield box(left + cell * k, 150, cell, 34, "moved" if moved else "hot")
        yield text(left + cell * (k + 0.5), 172, name, "t", "middle")
    for k in (6, 7):
        yield box(left + cell * k, 150, cell, 34, "free")
    for src, dst in ((6, 1), (7, 4)):
        x, to = left + cell * (src + 0.5), left + cell * (dst + 0.5)
        yield f'<path class="arrow" d="M{x},94 C{x},128 {to},112 {to},147"/>'
    yield text(
        30, 212, "Every column moves the same rows; then the map learns G → 1, H → 4.", "n m"
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (folder / "buffer.svg").write_text(svg(940, 375, buffer_picture()), encoding="utf-8")
    (folder / "swap_remove.svg").write_text(svg(680, 230, swap_picture()), encoding="utf-8")
    chunk = picture(component for component in shipped() if component.chunk)
    (folder / "chunk.svg").write_text(chunk, encoding="utf-8")


if __name__ == "__main__":
    main()
