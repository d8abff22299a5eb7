"""SVG drawings that grow with their content."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

CHARACTER = 0.61
"""Width of a character of the fixed-width fonts, as a part of their size."""

_STYLE = (
    "text{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1d2433}"
    ".muted{fill:#5b6478}.strong{font-weight:700}"
    ".box{stroke:#7a8398}.fan{opacity:.45}.line{stroke:#7a8398;fill:none}"
)


class Drawing:
    """Collects shapes and texts; the picture is as large as they need."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.right = 0.0
        self.bottom = 0.0

    def text(
        self, x: float, y: float, words: str, kind: str = "", size: int = 13, end: bool = False
    ) -> None:
        """Write words on the base line y, from x on, or up to x with `end`."""
        self._reach(x if end else x + text_width(words, size), y + size / 2)
        anchor = ' text-anchor="end"' if end else ""
        style = f' class="{kind}"' if kind else ""
        position = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}"'
        self._parts.append(f"<text {position}{anchor}{style}>{escape(words)}</text>")

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, is_panel: bool = False
    ) -> None:
        """Draw a box with a border, or a panel without one, which has round corners."""
        self._reach(x + width, y + height)
        border, corners = ("", ' rx="6"') if is_panel else (' class="box"', "")
        self._parts.append(
            f'<rect{border} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
            f' height="{height:.1f}"{corners} fill="{colour}"/>'
        )

    def shape(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Fill a polygon, lightly."""
        for x, y in points:
            self._reach(x, y)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polygon class="fan" points="{path}" fill="{colour}"/>')

    def line(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self._reach(max(x, to_x), max(y, to_y))
        self._parts.append(f'<path class="line" d="M{x:.1f},{y:.1f} L{to_x:.1f},{to_y:.1f}"/>')

    def arrow(self, points: list[tuple[float, float]], to_x: float) -> None:
        """Draw lines from point to point, and from the last one to the left, to a head."""
        _, y = points[-1]
        for x, point_y in points:
            self._reach(x, point_y)
        path = " L".join(f"{x:.1f},{point_y:.1f}" for x, point_y in [*points, (to_x + 6, y)])
        self._parts.append(f'<path class="line" d="M{path}"/>')
        head = f"{to_x:.1f},{y:.1f} {to_x + 7:.1f},{y - 4:.1f} {to_x + 7:.1f},{y + 4:.1f}"
        self._parts.append(f'<polygon points="{head}" fill="#7a8398"/>')

    def svg(self, margin: int = 24) -> str:
        """Return the picture on a white card."""
        width, height = round(self.right) + margin, round(self.bottom) + margin
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
            *self._parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _reach(self, x: float, y: float) -> None:
        self.right = max(self.right, x)
        self.bottom = max(self.bottom, y)


def text_width(words: str, size: int = 13) -> float:
    """Return the approximate width of words."""
    return CHARACTER * size * len(words)
