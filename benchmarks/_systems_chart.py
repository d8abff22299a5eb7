"""The plots of benchmarks/systems.py: what each way takes, a line of dots for each share."""

from __future__ import annotations

import math

from _results import Results
from _systems import Both

from ecsgen.pictures.svg_drawing import Drawing

LEFT, TOP, WIDTH, LINE = 370, 96, 400, 24
GAP = 60
"""Between the two plots."""

# What ecsgen makes is warm, by storage; what it is measured against is blue and grey.
COLOURS = {
    "one component": "#2f8f5b",
    "group": "#e4572e",
    "query, shuffled": "#b8860b",
    "query": "#e39a1e",
    "chunks": "#8a4fbf",
    "pools": "#5f9bd8",
    "C": "#2b59a8",
    "esper": "#5b6478",
}
"""By how names begin, the first that fits."""
SIZES = {1: 3.0, 10: 4.5, 50: 6.0, 100: 7.5}
"""Radius of the dot of a share."""


class Chart(Drawing):
    """One logarithmic axis of ns, from left to right, and a line for each contender."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self._low, self._high = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def x(self, ns: float) -> float:
        return LEFT + WIDTH * (math.log10(ns) - self._low) / ((self._high - self._low) or 1)

    def dot(self, x: float, y: float, radius: float, colour: str) -> None:
        self._reach(x + radius, y + radius)
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"'
            ' fill-opacity="0.6" stroke="#fff" stroke-width="0.8"/>'
        )

    def rule(self, x: float, y: float, to_x: float, to_y: float, colour: str) -> None:
        self._reach(max(x, to_x), max(y, to_y))
        self._parts.append(f'<path d="M{x:.1f},{y:.1f} L{to_x:.1f},{to_y:.1f}" stroke="{colour}"/>')

    def plot(self, top: float, title: str, results: Results) -> float:
        """Draw the lines of all contenders below a title; return where they end."""
        self.text(20, top - 16, title, "strong", 13)
        bottom = top + LINE * len(results.best)
        for decade in range(self._low, self._high + 1):
            for part in range(1, 10 if decade < self._high else 2):
                x = self.x(part * 10.0**decade)
                self.rule(x, top, x, bottom, "#d5d9e2" if part == 1 else "#f0f2f6")
            self.text(self.x(10.0**decade) - 6, bottom + 18, f"{10.0**decade:g}", "muted", 12)
        self.text(LEFT + WIDTH + 40, bottom + 18, "ns", "muted", 12)
        for number, (name, times) in enumerate(results.best.items()):
            y = top + LINE * (number + 0.5)
            colour = next(COLOURS[start] for start in COLOURS if name.startswith(start))
            self.text(LEFT - 12, y + 4, name, "", 12, end=True)
            inside = [self.x(ns) for ns in times.values()]
            self.rule(min(inside), y, max(inside), y, "#a0a7b5")
            for share, ns in sorted(times.items(), reverse=True):
                self.dot(self.x(ns), y, SIZES.get(share, 4.0), colour)
        return bottom


def charts(both: Both) -> str:
    """Return the SVG: the system alone above, with structural changes below."""
    every = [
        ns
        for results in (both.still, both.changing)
        for times in results.best.values()
        for ns in times.values()
    ]
    drawing = Chart(min(every), max(every))
    drawing.text(20, 28, f"position += velocity * dt, {both.entities:,} entities", "strong", 15)
    drawing.text(20, 48, "ns per entity that has both; best of a run", "muted", 12)
    x = 340.0
    for share in both.still.sizes():
        drawing.dot(x, 44, SIZES.get(share, 4.0), "#5b6478")
        drawing.text(x + 12, 48, f"{share} %", "muted", 12)
        x += 70
    drawing.text(x, 48, "have it", "muted", 12)
    bottom = drawing.plot(TOP, "the system alone", both.still)
    title = "with 1 % losing the second component in each frame, and 1 % getting it"
    drawing.plot(bottom + GAP + 20, title, both.changing)
    return drawing.svg()
