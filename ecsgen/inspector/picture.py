"""Pictures of the map without a browser, drawn by Pillow."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

import numpy as np
from ecsgen_runtime.kernels.grids.grid_layout import HEXAGONAL
from numpy.typing import NDArray

from ecsgen.inspector.json_values import Json
from ecsgen.inspector.points import LINKS, Layer
from ecsgen.inspector.view import Scene

# The colours of the page (layer.js), of which the last stands for other members.
NAMED: Final = (
    *((0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0), (204, 121, 167), (86, 180, 233)),
    *((170, 150, 20), (120, 94, 240), (140, 86, 75), (30, 140, 140), (190, 60, 90), (90, 110, 40)),
    (128, 128, 128),
)
SCALE: Final = (
    *((68, 1, 84), (72, 26, 108), (71, 47, 125), (65, 68, 135), (57, 86, 140), (49, 104, 142)),
    *((42, 120, 142), (35, 136, 142), (31, 152, 139), (34, 168, 132), (53, 183, 121)),
    *((84, 197, 104), (122, 209, 81), (165, 219, 54), (210, 226, 27), (253, 231, 37)),
)
BEFORE_CELLS: Final = (0, 0, 0)
"""Colour of points without one before cells that have some: far from all of theirs."""
_PAPER: Final = (255, 255, 255)
_INK: Final = (70, 80, 95)
_LINK: Final = (205, 208, 213)
_OVERSAMPLED: Final = 2
"""Pixels that become one, along each side."""
_SLANT: Final = 3**0.5 / 2
"""How far one line of hexagons is above the other, where each is a unit across."""
_CORNER: Final = 3**-0.5
"""How far their uppermost corners are above their middle."""
_STRIP: Final = 24
"""Height of the legend below the map."""
_MOST: Final = 8192

Inks = NDArray[np.uint8]


def png(scene: Scene, width: int, height: int) -> bytes:
    """Return a scene's map as PNG. Raises as `paint` does."""
    file = BytesIO()
    paint(scene, width, height).save(file, format="png")
    return file.getvalue()


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is drawn nowhere
def paint(scene: Scene, width: int, height: int) -> Any:
    """Return a picture of a scene's map, with its legend if there is room. ValueError for no map,
    or no such size; ImportError without Pillow."""
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError:
        raise make_import_error("pictures", "pillow") from None
    layer = scene.points or scene.cells
    if layer is None:
        raise ValueError("nothing in this world has a place, so there is no map to draw")
    if not (16 <= width <= _MOST and 16 <= height <= _MOST):
        raise ValueError(f"wanted 16 to {_MOST} pixels each way, not {width} by {height}")
    strip = _STRIP if width >= 240 and height >= 160 else 0
    size = width * _OVERSAMPLED, (height - strip) * _OVERSAMPLED
    picture = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(picture)
    frame = _Frame(layer.head, size)
    ink = NAMED[0]
    if scene.cells is not None and "color" in scene.cells.columns:
        ink = BEFORE_CELLS
        if frame.is_hexagonal:
            picture.paste(Image.fromarray(_hexagons(scene.cells, frame, size)))
        else:
            left, top, right, bottom = map(round, frame.box)
            cells = Image.fromarray(_cells_as_rows(scene.cells))
            cells = cells.resize((right - left, bottom - top), Image.Resampling.NEAREST)
            picture.paste(cells, (left, top))
    draw.polygon(frame.border, outline=(200, 205, 212))
    if scene.points is not None:
        _draw_links(draw, scene.points, frame)
        _draw_points(draw, scene.points, frame, ink)
    small = picture.reduce(_OVERSAMPLED)
    if not strip:
        return small
    framed = Image.new("RGB", (width, height), _PAPER)
    framed.paste(small, (0, 0))
    _draw_legend(ImageDraw.Draw(framed), layer, scene.time, width, height)
    return framed


class _Frame:
    """Where the bounds are in a picture: fitted, with the same scale on both axes. Hexagons, a unit
    across, stand upright, so that a step up leads half a unit to the right."""

    def __init__(self, head: dict[str, Json], size: tuple[int, int]) -> None:
        self.is_hexagonal = head.get("hood") == HEXAGONAL
        (left, right), (low, high) = [*head["bounds"], [-0.5, 0.5]][:2]
        corners = np.array([[left, right, right, left], [low, low, high, high]], np.float64)
        if self.is_hexagonal:
            corners += np.array([[-1, 1, 1, -1], [-1, -1, 1, 1]]) / 6  # around theirs
            left, right = -0.5, right + high / 2
            low, high = 0.5 - _CORNER, 0.5 + (high - 1) * _SLANT + _CORNER
        spans = (right - left) or 1, (high - low) or 1
        self._scale = 0.96 * min(size[0] / spans[0], size[1] / spans[1])
        self._shift = (
            size[0] / 2 - self._scale * (left + spans[0] / 2),
            size[1] / 2 + self._scale * (low + spans[1] / 2),
        )
        x, y = self.pixels(corners)
        self.box: tuple[float, float, float, float] = (x[0], y[2], x[1], y[0])
        self.border = np.stack([x, y], -1).reshape(-1).tolist()
        self.area = size[0] * size[1]

    def pixels(self, places: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where places, shape (axes, n), are from the left and from the top."""
        x, y = places[0].astype(np.float64), np.zeros(places.shape[1])
        if len(places) > 1:
            y = places[1].astype(np.float64)
        if self.is_hexagonal:
            x, y = x + (y - 0.5) / 2, 0.5 + (y - 0.5) * _SLANT
        return x * self._scale + self._shift[0], self._shift[1] - y * self._scale

    def hexagons(
        self, x: NDArray[Any], y: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coordinates of the hexagons in which pixels of one line are."""
        up = ((self._shift[1] - y) / self._scale - 0.5) / _SLANT
        across = (x - self._shift[0]) / self._scale - 0.5 - up / 2
        exact = np.stack([across, np.full_like(across, up), -across - up])
        q, r, s = rounded = np.rint(exact)
        farthest = np.abs(rounded - exact).argmax(0)
        return np.where(farthest == 0, -r - s, q), np.where(farthest == 1, -q - s, r)


def _hexagons(layer: Layer, frame: _Frame, size: tuple[int, int]) -> Inks:
    """Return the pixels of a picture of a grid's cells, the uppermost line first."""
    width, height = layer.head["grid"][:2]
    inks = _inks(layer)
    pixels = np.full((size[1], size[0], 3), _PAPER, np.uint8)
    x = np.arange(size[0]) + 0.5
    for line, colours in enumerate(pixels):
        across, up = frame.hexagons(x, line + 0.5)
        is_cell = (across >= 0) & (across < width) & (up >= 0) & (up < height)
        colours[is_cell] = inks[(across * height + up)[is_cell].astype(np.intp)]
    return pixels


def _draw_points(draw: Any, layer: Layer, frame: _Frame, plain: tuple[int, int, int]) -> None:
    head, columns = layer
    n = head["n"]
    x, y = frame.pixels(columns["place"])
    radius = np.full(n, max(1.5, min(10 * _OVERSAMPLED, (frame.area / max(n, 1)) ** 0.5 / 3)) / 2)
    if "size" in columns:
        low, high = head["size_range"]
        radius *= 0.4 + 1.2 * (columns["size"] - low) / ((high - low) or 1)
    corners = None
    if "direction" in columns:
        radius *= 1.8
        angle = np.arctan2(columns["direction"][1], columns["direction"][0])
        # an arrow head: its tip, and two corners behind
        turns = angle[:, None] + np.array([0.0, 2.45, -2.45])
        ways = radius[:, None] * np.cos(turns), -radius[:, None] * np.sin(turns)
        corners = np.stack([x[:, None] + ways[0], y[:, None] + ways[1]], -1).reshape(n, 6)
    inks = _inks(layer, plain)
    can_be_seen = np.isfinite(x) & np.isfinite(y) & np.isfinite(radius)
    for row in can_be_seen.nonzero()[0].tolist():
        ink = tuple(inks[row].tolist())
        if corners is not None and np.isfinite(corners[row]).all():
            draw.polygon(corners[row].tolist(), fill=ink)
        else:
            a, b, r = float(x[row]), float(y[row]), float(radius[row])
            draw.ellipse((a - r, b - r, a + r, b + r), fill=ink)


def _draw_links(draw: Any, layer: Layer, frame: _Frame) -> None:
    ends = layer.columns.get(LINKS, np.empty((2, 0)))
    lines = np.stack(frame.pixels(ends), -1).reshape(-1, 4)
    for line in lines[np.isfinite(lines).all(1)].tolist():
        draw.line(line, fill=_LINK, width=_OVERSAMPLED)


def _cells_as_rows(layer: Layer) -> Inks:
    """Return the colours of a grid's cells as rows of a picture, the uppermost first."""
    width, height = [*layer.head["grid"], 1][:2]
    inks = _inks(layer).reshape(width, height, 3)
    return np.ascontiguousarray(inks.transpose(1, 0, 2)[::-1])


def _inks(layer: Layer, plain: tuple[int, int, int] = NAMED[0]) -> Inks:
    """Return the colour of each row or cell; `plain`: that of all without a field for it."""
    head, columns = layer
    if "color" not in columns:
        return np.tile(np.array(plain, np.uint8), (head["n"], 1))
    values = columns["color"].astype(np.float64)
    is_number = np.isfinite(values)
    if "members" in head:
        last = min(len(head["members"]), len(NAMED) - 1)
        colours: Inks = np.array([*NAMED[:last], NAMED[-1]], np.uint8)
        number = np.where(is_number & (values >= 0), values, last).clip(max=last)
        return colours[number.astype(np.intp)]
    low, high = head["color_range"]
    part = ((np.where(is_number, values, low) - low) / ((high - low) or 1)).clip(0, 1)
    steps, scale = np.arange(len(SCALE)), np.array(SCALE)
    channels = [np.interp(part * steps[-1], steps, scale[:, k]) for k in range(3)]
    inks: Inks = np.rint(np.stack(channels, -1)).astype(np.uint8)
    inks[~is_number] = NAMED[-1]
    return inks


def _draw_legend(draw: Any, layer: Layer, time: dict[str, Json], width: int, height: int) -> None:
    """Draw the time, and what the colours say, as far as there is room."""
    from PIL import ImageFont

    font = ImageFont.load_default(12)
    middle = height - _STRIP / 2
    tick, step = time.get("tick"), time["step"]
    # a time that is still 0 after some steps is left alone by them, as on the page
    time_text = f"step {step:,}" if tick is None or (step and not tick) else f"tick {tick:,}"
    draw.text((width - 8, middle), time_text, fill=_INK, font=font, anchor="rm")
    room, left = width - 20 - draw.textlength(time_text, font=font), 8.0
    head = layer.head
    names = head.get("members", ())
    shown = [*zip(names[: len(NAMED) - 1], NAMED[:-1], strict=False)]
    if len(names) > len(shown):
        shown.append(("others", NAMED[-1]))
    if not shown and "color" in layer.columns:
        field = next(c["name"] for c in head["columns"] if c.get("role") == "color")
        low, high = head["color_range"]
        shown = [(f"{field} {low:.4g}", SCALE[0]), (f"{high:.4g}", SCALE[-1])]
    for name, ink in shown:
        text = name if len(name) <= 24 else f"{name[:23]}…"
        end = left + 16 + draw.textlength(text, font=font)
        if end > room:
            break
        draw.rectangle((left, middle - 5, left + 10, middle + 5), fill=ink)
        draw.text((left + 15, middle), text, fill=_INK, font=font, anchor="lm")
        left = end + 12


def make_import_error(what: str, package: str) -> ImportError:
    return ImportError(f"{what} need {package}: pip install {package}", name=package)
