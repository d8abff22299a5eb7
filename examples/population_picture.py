"""An SVG of two populations over time, each with its own scale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 980, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 70, 70, 50
GRAZERS, HUNTERS = "#3f8f4f", "#b5482f"
POINTS = 900  # of a line; more than that no screen shows
STYLE = """
  text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 13px; }
  .title { font-size: 18px; font-weight: 600; fill: #222; }
  .axis { stroke: #999; stroke-width: 1; }
  .grid { stroke: #e4e4e4; stroke-width: 1; }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
"""


def picture(history: NDArray[np.int64]) -> str:
    """Return the SVG. `history`: grazers and hunters by tick, shape (ticks + 1, 2)."""
    tops = [ceiling(int(column.max())) for column in history.T]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{LEFT}" y="34">Hunters follow the grazers</text>',
        f'<text x="{LEFT}" y="56" fill="{GRAZERS}">grazers (left scale)</text>',
        f'<text x="{WIDTH - RIGHT}" y="56" text-anchor="end" fill="{HUNTERS}">'
        "hunters (right scale)</text>",
        *grid(tops, len(history) - 1),
        line(history[:, 0], tops[0], GRAZERS),
        line(history[:, 1], tops[1], HUNTERS),
        "</svg>\n",
    ]
    return "\n".join(parts)


def ceiling(highest: int) -> int:
    """Return the next number with one digit and zeros, in steps of two, four or ten."""
    power: int = 10 ** (len(str(max(highest, 1))) - 1)
    return next(top * power for top in (1, 2, 4, 6, 8, 10) if top * power >= highest)


def height(share: float) -> float:
    """Return the y of a share of the scale."""
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def grid(tops: list[int], ticks: int) -> Iterator[str]:
    """Draw the axes with their numbers."""
    for quarter in range(5):
        share = quarter / 4
        y = height(share)
        kind = "grid" if quarter else "axis"
        yield f'<path class="{kind}" d="M{LEFT},{y:.1f} H{WIDTH - RIGHT}"/>'
        left, right = (f"{round(top * share):,}" for top in tops)
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{left}</text>'
        yield f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4:.1f}">{right}</text>'
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        yield (
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle">'
            f"{round(ticks * share):,}</text>"
        )
    yield (
        f'<text x="{LEFT + (WIDTH - LEFT - RIGHT) / 2}" y="{HEIGHT - 8}"'
        ' text-anchor="middle">ticks</text>'
    )


def line(column: NDArray[np.int64], top: int, colour: str) -> str:
    """Draw one population."""
    every = max(1, len(column) // POINTS)
    shown = column[::every]
    x = np.linspace(LEFT, WIDTH - RIGHT, len(shown))
    points = " ".join(
        f"{a:.1f},{height(b / top):.1f}" for a, b in zip(x, shown.tolist(), strict=True)
    )
    return f'<polyline class="line" stroke="{colour}" points="{points}"/>'
