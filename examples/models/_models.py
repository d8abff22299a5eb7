"""What the models share: the packages made from their schemas, and pictures as SVG."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUILD = Path(__file__).resolve().parents[2] / "build"
SIDE = 500  # of a picture


def package(name: str) -> Any:
    """Return the package of a model, which `make models` builds: build/life_model and so on."""
    if not (BUILD / f"{name}_model" / "__init__.py").is_file():
        made = f"ecsgen build examples/models/{name} --output build/{name}_model --backend numba"
        sys.exit(f"There is no package of this model yet. Make it with: {made}")
    sys.path.insert(0, str(BUILD))
    return import_module(f"{name}_model")


def options(
    doc: str, file: str, arguments: Sequence[str] | None, **defaults: float
) -> argparse.Namespace:
    """Return the options of a script: these numbers, the seed, and where the picture goes."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    for name, value in {**defaults, "seed": 1, "svg": Path(file).with_suffix(".svg")}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help="%(default)s")
    return parser.parse_args(arguments)


def frame(parts: Sequence[str]) -> str:
    """Return a square SVG."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}">'
    back = f'<rect width="{SIDE}" height="{SIDE}" fill="#f4f4f0"/>'
    return "\n".join([head, back, *parts, "</svg>\n"])


def squares(cells: NDArray[Any], colours: Sequence[str]) -> str:
    """Draw a grid whose cells have the number of a colour plus 1, or 0 for nothing. Axis 0 goes to
    the right, axis 1 upwards."""
    width, height = cells.shape
    paths = []
    for number, colour in enumerate(colours, 1):
        edges = np.diff(np.pad(cells == number, ((0, 0), (1, 1))).astype(int), axis=1)
        bottoms, tops = (np.argwhere(edges == edge) for edge in (1, -1))
        runs = np.column_stack([bottoms, tops[:, 1]]).tolist()  # of cells above each other
        path = "".join(f"M{x} {height - top}h1v{top - y}h-1z" for x, y, top in runs)
        paths.append(f'<path fill="{colour}" d="{path}"/>')
    scale = f"scale({SIDE / width} {SIDE / height})"
    return frame([f'<g shape-rendering="crispEdges" transform="{scale}">', *paths, "</g>"])


def curves(columns: Sequence[Sequence[float]], colours: Sequence[str]) -> str:
    """Draw columns of numbers over time, all with one scale from 0."""
    top = max(max(column) for column in columns) or 1
    lines = []
    for column, colour in zip(columns, colours, strict=True):
        x = np.linspace(0, SIDE, len(column)).tolist()
        points = " ".join(
            f"{a:.1f},{SIDE * (1 - b / top):.1f}" for a, b in zip(x, column, strict=True)
        )
        lines.append(f'<polyline fill="none" stroke="{colour}" points="{points}"/>')
    return frame(lines)
