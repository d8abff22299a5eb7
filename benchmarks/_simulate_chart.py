"""The plot of benchmarks/simulate.py: ns per row over rows, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping

from _results import Results

from ecsgen.pictures.svg_drawing import Drawing

LEFT, TOP, WIDTH, HEIGHT = 76, 66, 520, 400
LABEL = 17
"""Distance of the contenders' names from each other at least."""

# Ours thick and warm, compiled peers blue, numpy green, the rest grey and violet.
STYLES: Mapping[str, tuple[str, float]] = {
    "generated, numba": ("#e4572e", 3.0),
    "generated, numpy": ("#e39a1e", 3.0),
    "gcc -O3 -march=native": ("#2b59a8", 1.4),
    "numba loop by hand": ("#5f9bd8", 1.4),
    "numpy by hand": ("#2f8f5b", 1.4),
    "numpy by hand, blocks": ("#7cbf6a", 1.4),
    "numpy structured array": ("#8a6d3b", 1.4),
    "polars": ("#8a4fbf", 1.4),
    "esper": ("#5b6478", 1.4),
    "plain objects": ("#a0a7b5", 1.4),
}


class Chart(Drawing):
    """Two logarithmic axes."""

    def __init__(self, sizes: list[int], low: float, high: float) -> None:
        super().__init__()
        self._sizes = sizes
        self._low, self._high = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def x(self, rows: int) -> float:
        first, last = math.log10(self._sizes[0]), math.log10(self._sizes[-1])
        return LEFT + WIDTH * (math.log10(rows) - first) / ((last - first) or 1.0)

    def y(self, ns: float) -> float:
        share = (math.log10(ns) - self._low) / ((self._high - self._low) or 1.0)
        return TOP + HEIGHT * (1.0 - share)

    def axes(self) -> None:
        for decade in range(self._low, self._high + 1):
            y = self.y(10.0**decade)
            self.stroke([(LEFT, y), (LEFT + WIDTH, y)], "#d5d9e2", 1.0)
            self.text(LEFT - 10, y + 4, f"{10.0**decade:g}", "muted", 12, end=True)
            if decade < self._high:
                for part in range(2, 10):
                    y = self.y(part * 10.0**decade)
                    self.stroke([(LEFT, y), (LEFT + WIDTH, y)], "#f0f2f6", 1.0)
        for power in range(math.ceil(math.log10(self._sizes[0])), 10):
            if 10**power <= self._sizes[-1]:
                x = self.x(10**power)
                self.stroke([(x, TOP), (x, TOP + HEIGHT)], "#e4e7ee", 1.0)
                self.text(x - 12, TOP + HEIGHT + 22, _rows(10**power), "muted", 12)
        self.text(LEFT + WIDTH, TOP + HEIGHT + 22, "rows", "muted", 12, end=True)

    def stroke(
        self, points: list[tuple[float, float]], colour: str, width: float, dashes: str = "none"
    ) -> None:
        for x, y in points:
            self._reach(x, y)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
            f' stroke-linejoin="round" stroke-dasharray="{dashes}"/>'
        )

    def curve(self, times: Mapping[int, float], colour: str, width: float) -> tuple[float, float]:
        """Draw one contender's times and return where they end."""
        points = [(self.x(rows), self.y(ns)) for rows, ns in sorted(times.items())]
        self.stroke(points, colour, width)
        for x, y in points:
            self._parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 1}" fill="{colour}"/>'
            )
        return points[-1]


def chart(results: Results) -> str:
    """Return the SVG: a curve for each contender, named where it ends."""
    every = [ns for times in results.best.values() for ns in times.values()]
    drawing = Chart(results.sizes(), min(every), max(every))
    drawing.text(
        LEFT - 52, 30, "velocity += acceleration * dt; position += velocity * dt", "strong", 15
    )
    drawing.text(
        LEFT - 52,
        50,
        f"ns per row (three f32 each) over rows; best of a run; {results.machine}",
        "muted",
        12,
    )
    drawing.axes()
    ends: dict[str, tuple[float, float]] = {}
    for name, (colour, width) in reversed(list(STYLES.items())):
        if name in results.best:
            ends[name] = drawing.curve(results.best[name], colour, width)
    _name_curves(drawing, ends)
    return drawing.svg()


def _name_curves(drawing: Chart, ends: Mapping[str, tuple[float, float]]) -> None:
    """Write the names in one column at the right, apart from each other, with a line to each."""
    order = sorted(ends, key=lambda name: ends[name][1])
    places = _apart([ends[name][1] for name in order])
    for name, level in zip(order, places, strict=True):
        colour, width = STYLES[name]
        x, y = ends[name]
        right = LEFT + WIDTH + 40
        drawing.stroke(
            [(x + width + 4, y), (right - 24, y), (right - 4, level)], colour, 1.0, "2 4"
        )
        drawing.text(right, level + 4, name, "strong" if width > 2 else "", 13)


def _apart(wanted: list[float]) -> list[float]:
    """Move ascending places as little downwards as keeps them apart, then all up into the frame."""
    places: list[float] = []
    for level in wanted:
        places.append(max(level, places[-1] + LABEL) if places else level)
    limit = float(TOP + HEIGHT)
    for k in reversed(range(len(places))):
        places[k] = min(places[k], limit)
        limit = places[k] - LABEL
    return places


def _rows(count: int) -> str:
    if count >= 1_000_000:
        return f"{count // 1_000_000}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)
