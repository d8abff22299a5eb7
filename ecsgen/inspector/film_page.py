"""A film as one HTML file: the page's renderer with recorded columns, and no network."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.json_values import Json
from ecsgen.inspector.points import LINKS, Layer
from ecsgen.inspector.server import page_files
from ecsgen.inspector.view import Scene

_SCRIPTS: Final = ("dom", "format", "layer", "pixels", "renderer", "charts", "film")
"""Modules that become one, each after those that it imports."""
_STYLES: Final = ("page.css", "uPlot.min.css", "film.css")
_NOWHERE: Final = 65535
"""Place of what is not finite; others have 0 to 65,534 between the bounds."""
_NOTHING: Final = 255
"""Colour and size of what has none; others have 0 to 254, or the place of their member."""
_HEAD_KEYS: Final = ("members", "color_range", "size_range", "grid", "hood")

Cells = NDArray[Any]


def film_page(title: str, charts: Sequence[Sequence[str]], scenes: Sequence[Scene]) -> str:
    """Return the page. The layers of all scenes have the same bounds and scales."""
    files = {name: data.decode() for name, data in page_files().items()}
    script = "\n".join(_without_imports(files[f"{name}.js"]) for name in _SCRIPTS)
    style = "\n".join(files[name] for name in _STYLES)
    plot = files["uPlot.iife.min.js"]
    groups, columns = [], b""
    points = [scene.points for scene in scenes if scene.points is not None]
    cells = [scene.cells for scene in scenes if scene.cells is not None]
    links = [_ends(layer) for layer in points if LINKS in layer.columns]
    for part, layers in (("points", points), ("cells", cells), ("links", links)):
        if layers:
            facts, packed = _pack(layers)
            groups.append({"part": part, **facts})
            columns += packed
    # a world whose step leaves the time alone shows its steps, as on the page
    kind = "tick" if scenes[-1].time.get("tick") else "step"
    names = [name for chart in charts for name in chart]
    facts = {
        "title": title,
        "pictures": len(scenes),
        "time": kind,
        "times": [scene.time[kind] for scene in scenes],
        "groups": groups,
        "charts": [[*chart] for chart in charts],
        "lines": {n: [scene.values[k] for scene in scenes] for k, n in enumerate(names)},
    }
    return files["film.html"].format(
        scripts=f"{_digest(plot)} {_digest(script)}",
        styles=_digest(style),
        title=html.escape(title),
        style=style,
        facts=json.dumps(facts, allow_nan=False).replace("<", "\\u003c"),
        columns=base64.b64encode(zlib.compress(columns, 9)).decode(),
        licence=files["uPlot.LICENSE"],
        plot=plot,
        script=script,
    )


def _ends(layer: Layer) -> Layer:
    """Return the ends of links as points, two to a line."""
    ends = layer.columns[LINKS]
    head = {key: layer.head[key] for key in {"wrap", "bounds", "hood"} & layer.head.keys()}
    return Layer({**head, "n": ends.shape[1], "columns": []}, {"place": ends})


def _without_imports(module: str) -> str:
    """Return a module to be put behind those that it imports: one scope, unique names."""
    lines = (line for line in module.splitlines() if not line.startswith("import "))
    return "\n".join(line.removeprefix("export ") for line in lines)


def _digest(text: str) -> str:
    """Return what allows a script or a style, and no other, in a page's policy."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _pack(layers: Sequence[Layer]) -> tuple[dict[str, Json], bytes]:
    """Return the facts of the columns, and the columns one after the other.

    A column has its pictures one after the other, each as the difference to the one before where
    both have as many cells: what moves little can be compressed. Of u16 the low bytes come first.
    """
    head = layers[0].head
    axes = min(2, len(head["wrap"]))
    facts: dict[str, Json] = {
        "n": [layer.head["n"] for layer in layers],
        "wrap": head["wrap"][:axes],
        "bounds": head["bounds"][:axes],
        **{key: head[key] for key in _HEAD_KEYS if key in head},
        "color": next((c["name"] for c in head["columns"] if c.get("role") == "color"), None),
    }
    columns = [_quantized(layer, axes) for layer in layers]
    facts["columns"] = [
        {"role": role, "bytes": cells.itemsize} for role, cells in columns[0].items()
    ]
    packed = [_joined([each[role] for each in columns]) for role in columns[0]]
    return facts, b"".join(packed)


def _quantized(layer: Layer, axes: int) -> dict[str, Cells]:
    """Return the columns in small integers, by role; places by axis."""
    head, columns = layer
    quantized: dict[str, Cells] = {}
    if "place" in columns:
        for axis in range(axes):
            ends = head["bounds"][axis]
            quantized[f"place{axis}"] = _steps(columns["place"][axis], ends, _NOWHERE).astype("<u2")
    for role in ("color", "size"):
        if role in columns:
            cells = columns[role]
            is_member = role == "color" and "members" in head
            ends = [0, _NOTHING - 1] if is_member else head[f"{role}_range"]
            # past ends that the view fixes there is no other colour
            cells = np.where(np.isfinite(cells), cells.clip(*ends), cells)
            quantized[role] = _steps(cells, ends, _NOTHING).astype("u1")
    if "direction" in columns:
        x, y = columns["direction"][:2]
        turns = np.nan_to_num(np.arctan2(y, x)) / (2 * np.pi)
        quantized["direction"] = (np.rint(turns * 256).astype(int) % 256).astype("u1")
    return quantized


def _steps(cells: Cells, ends: Sequence[float], beyond: int) -> Cells:
    """Return cells in steps from one end to the other, the last of which is `beyond` - 1. What is
    not finite or past the ends is `beyond`."""
    low, high = ends
    scaled = (cells.astype(np.float64) - low) * ((beyond - 1) / ((high - low) or 1))
    with np.errstate(invalid="ignore"):
        steps = np.rint(scaled)
        return np.where((steps >= 0) & (steps < beyond), steps, beyond)


def _joined(pictures: Sequence[Cells]) -> bytes:
    before = pictures[0][:0]
    parts = []
    for cells in pictures:
        parts.append(cells - before if len(cells) == len(before) else cells)
        before = cells
    joined = np.concatenate(parts)
    return joined.view("u1").reshape(-1, joined.itemsize).T.tobytes()
