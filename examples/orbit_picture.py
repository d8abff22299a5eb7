"""An SVG of the orbits: the planets seen from ecliptic north, and the Moon's year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from orbits import AU, DAY, Body, Vector, state

WIDTH, HEIGHT = 1180, 660
SIZE = 560  # of a panel
INSET = 76  # radius
DAILY = 4  # samples per day of the year
LATER = 12  # every so many samples of the long run are enough for a line
COLOURS = {
    "Sun": "#ffd75e",
    "Mercury": "#b9b2a8",
    "Venus": "#f0b866",
    "Earth": "#5fa8ff",
    "Moon": "#d9dde6",
    "Mars": "#ff7a59",
    "Jupiter": "#e0b48a",
    "Saturn": "#f2d694",
    "Uranus": "#8fe3e0",
    "Neptune": "#6f8cff",
}
STYLE = """
  text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #e8ecf6; }
  .title { font-size: 22px; font-weight: 600; }
  .panel { font-size: 15px; font-weight: 600; }
  .note { font-size: 12.5px; fill: #9aa6c4; }
  .name { font-size: 13px; }
  .halo { stroke: #10172c; stroke-width: 4px; stroke-linejoin: round; }
  .box { fill: #10172c; stroke: #26304f; }
  .published { fill: none; stroke-width: 1; stroke-dasharray: 2 4; opacity: 0.55; }
  .track { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
  .moon { fill: none; stroke-width: 0.35; }
  .bar { stroke: #9aa6c4; stroke-width: 1.5; }
"""


@dataclass(frozen=True, slots=True)
class View:
    """A window of the plane: its middle on the page, and pixels per metre."""

    x: float
    y: float
    scale: float

    def points(self, places: Vector) -> Vector:
        """Return pixels, shape (k, 2), of places (k, 3); north is towards the reader."""
        return np.array([self.x, self.y]) + places[:, :2] * (self.scale, -self.scale)

    def path(self, places: Vector, style: str, colour: str) -> str:
        """Return a line through places."""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points(places))
        return f'<polyline class="{style}" stroke="{colour}" points="{points}"/>'

    def body(self, place: Vector, radius: float, name: str) -> str:
        """Return a dot with its name on the side away from the Sun."""
        x, y = self.points(place[None])[0]
        outward = np.array([x - self.x, y - self.y])
        outward /= max(float(np.hypot(*outward)), 1.0)
        side = "start" if outward[0] > 0.3 else "end" if outward[0] < -0.3 else "middle"
        at = np.array([x, y + 4]) + (radius + 7) * outward
        place_of_text = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{side}"'
        return (
            f'<text class="name halo" {place_of_text}>{name}</text>'
            f'<text class="name" {place_of_text}>{name}</text>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{COLOURS[name]}"/>'
        )


def ellipse(body: Body, gm: float) -> Vector:
    """Return the published ellipse of a body, shape (181, 3)."""
    if body.elements is None:
        return np.zeros((0, 3))
    turns = np.linspace(0.0, 2.0 * np.pi, 181)
    turned = (replace(body.elements, mean_longitude=float(turn)) for turn in turns)
    return np.array([state(elements, gm)[0] for elements in turned])


def once_round(track: Vector, period: float, seconds: float) -> Vector:
    """Cut a track (s, 3), sampled every so many seconds, after one revolution."""
    return track[: int(period / seconds) + 2]


def bar(x: float, y: float, length: float, text: str) -> str:
    """Return a scale bar with its length in words."""
    return (
        f'<path class="bar" d="M{x:.1f},{y - 4:.1f} v8 m0,-4 h{length:.1f} m0,-4 v8"/>'
        f'<text class="note" x="{x + length + 8:.1f}" y="{y + 4:.1f}">{text}</text>'
    )


def planets(
    view: View, table: Sequence[Body], names: Sequence[str], tracks: Vector, seconds: float
) -> Iterator[str]:
    """Draw planets around the Sun: published ellipse, computed track, place at J2000."""
    sun = tracks[:, 0]
    chosen = [(k, body) for k, body in enumerate(table) if body.name in names]
    for _, body in chosen:
        yield view.path(ellipse(body, table[0].gm + body.gm), "published", COLOURS[body.name])
    for k, body in chosen:
        track = once_round(tracks[:, k] - sun, body.period, seconds)
        yield view.path(track, "track", COLOURS[body.name])
    yield f'<circle cx="{view.x}" cy="{view.y}" r="26" fill="url(#glow)"/>'
    yield f'<circle cx="{view.x}" cy="{view.y}" r="6" fill="{COLOURS["Sun"]}"/>'
    for k, body in chosen:
        yield view.body(tracks[0, k] - sun[0], 5.5, body.name)


def moon(view: View, table: Sequence[Body], year: Vector) -> Iterator[str]:
    """Draw the Moon's year around the Earth: an ellipse that turns."""
    names = [body.name for body in table]
    track = year[:, names.index("Moon")] - year[:, names.index("Earth")]
    yield f'<circle class="box" cx="{view.x}" cy="{view.y}" r="{INSET}"/>'
    yield view.path(track, "moon", COLOURS["Moon"])
    yield f'<circle cx="{view.x}" cy="{view.y}" r="5" fill="{COLOURS["Earth"]}"/>'
    for text, below in (("The Moon’s year", -16), ("Earth", 20)):
        y = view.y + below
        yield f'<text class="note" x="{view.x}" y="{y}" text-anchor="middle">{text}</text>'


def picture(table: Sequence[Body], year: Vector, later: Vector, days: float = 6.0) -> str:
    """Return the SVG. `year`: places (s, n, 3) by the quarter day; `later`: by so many days."""
    inner = View(20 + SIZE / 2, 80 + SIZE / 2, SIZE / 2 / (2.02 * AU))
    outer = View(600 + SIZE / 2, 80 + SIZE / 2, SIZE / 2 / (33.5 * AU))
    inset = View(20 + SIZE - INSET - 10, 80 + SIZE - INSET - 10, INSET / 4.5e8)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style>",
        '<defs><radialGradient id="glow"><stop offset="0" stop-color="#ffd75e" stop-opacity="0.7"/>'
        '<stop offset="1" stop-color="#ffd75e" stop-opacity="0"/></radialGradient></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#0b1020"/>',
        '<text class="title" x="20" y="38">The solar system from 1 January 2000</text>',
        '<text class="note" x="20" y="60">Dots: at J2000. Lines: integrated in one CelestialBody'
        " manager. Dashes: the published ellipses.</text>",
        f'<rect class="box" x="20" y="80" width="{SIZE}" height="{SIZE}" rx="8"/>',
        f'<rect class="box" x="600" y="80" width="{SIZE}" height="{SIZE}" rx="8"/>',
        *planets(inner, table, ("Mercury", "Venus", "Earth", "Mars"), year[::DAILY], DAY),
        *moon(inset, table, year),
        *planets(
            outer,
            table,
            ("Jupiter", "Saturn", "Uranus", "Neptune"),
            later[::LATER],
            days * LATER * DAY,
        ),
        '<text class="panel" x="36" y="106">One year, inner planets</text>',
        f'<text class="panel" x="616" y="106">{round(len(later) * days / 365.25)} years more, outer'
        " planets</text>",
        bar(36, 622, 0.5 * AU * inner.scale, "0.5 au"),
        bar(616, 622, 10 * AU * outer.scale, "10 au"),
        bar(inset.x - INSET - 130, 622, 2e8 * inset.scale, "200 000 km"),
        "</svg>\n",
    ]
    return "\n".join(parts)
