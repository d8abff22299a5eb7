"""A recorded run: as one page in HTML, as pictures, GIF or MP4."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from ecsgen.inspector.film_page import film_page
from ecsgen.inspector.json_values import Json
from ecsgen.inspector.picture import make_import_error, paint
from ecsgen.inspector.points import Layer
from ecsgen.inspector.view import Scene

_KINDS: Final = (".html", ".gif", ".mp4", "")
_FASTEST: Final = 1000
"""Maximum of pictures a second."""


class Film:
    """Pictures of a run in their order. `len` is their number; `save` writes them."""

    def __init__(self, title: str, charts: Sequence[Sequence[str]]) -> None:
        self._title = title
        self._charts = charts
        self._scenes: list[Scene] = []

    def add(self, scene: Scene) -> None:
        """Append a picture."""
        self._scenes.append(scene)

    def __len__(self) -> int:
        return len(self._scenes)

    def __repr__(self) -> str:
        return f"<Film of {self._title}: {len(self)} pictures>"

    def save(
        self, path: str | PathLike[str], *, width: int = 960, height: int = 720, rate: float = 30
    ) -> None:
        """Write the film: the name's end says as what.

        `run.html` is a page that needs nothing else; `run.gif` and `run.mp4` are what they are
        called, with `rate` pictures a second; a name without an end is a folder for PNGs
        (`00000.png` and so on), which is made if need be.

        Raises ValueError for another end, for no such rate, and for pictures of a world in which
        nothing has a place; ImportError without pillow (pictures) or imageio-ffmpeg (MP4).
        """
        file, kind = Path(path), kind_of(path)
        if not 0 < rate <= _FASTEST:
            raise ValueError(f"rate: wanted more than 0 and at most {_FASTEST}, not {rate}")
        if kind == ".html":
            file.write_text(self.html(), encoding="utf-8", newline="\n")
        elif kind == ".gif":
            first, *others = self._pictures(width, height)
            pause = max(20, round(1000 / rate))  # browsers make less of it 100 ms
            first.save(file, save_all=True, append_images=others, duration=pause, loop=0)
        elif kind == ".mp4":
            self._save_mp4(file, width, height, rate)
        else:
            for number, picture in enumerate(self._pictures(width, height)):
                file.mkdir(parents=True, exist_ok=True)
                picture.save(file / f"{number:05}.png")

    def html(self) -> str:
        """Return the film as a page in one file: map, charts, a slider over time."""
        return film_page(self._title, self._charts, _with_common_heads(self._scenes))

    def _repr_html_(self) -> str:
        """Return the page in a frame that can reach nothing around it, for notebooks."""
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:0" '
            f'title="{html.escape(self._title)}" srcdoc="{html.escape(self.html())}"></iframe>'
        )

    def _pictures(self, width: int, height: int) -> Iterator[Any]:
        return (paint(scene, width, height) for scene in _with_common_heads(self._scenes))

    def _save_mp4(self, file: Path, width: int, height: int, rate: float) -> None:
        try:
            import imageio_ffmpeg
        except ModuleNotFoundError:
            raise make_import_error("MP4 files", "imageio-ffmpeg") from None
        size = width + width % 2, height + height % 2  # the codec halves colours
        writer = imageio_ffmpeg.write_frames(str(file), size, fps=rate, macro_block_size=2)
        writer.send(None)
        try:
            for picture in self._pictures(*size):
                writer.send(np.ascontiguousarray(picture.convert("RGB")))
        finally:
            writer.close()


def kind_of(path: str | PathLike[str]) -> str:
    """Return `.html`, `.gif`, `.mp4`, or "" for a folder. ValueError for another end."""
    file = Path(path)
    kind = "" if str(path).endswith("/") or file.is_dir() else file.suffix.lower()
    if kind not in _KINDS:
        raise ValueError(f"{file.name}: wanted .html, .gif, .mp4 or a folder, not {kind}")
    return kind


def _with_common_heads(scenes: Sequence[Scene]) -> list[Scene]:
    """Return scenes whose bounds and scales are those of all together."""
    layers = _common([s.points for s in scenes]), _common([s.cells for s in scenes])
    return [s._replace(points=p, cells=c) for s, p, c in zip(scenes, *layers, strict=True)]


def _common(layers: Sequence[Layer | None]) -> list[Layer | None]:
    filled = [layer.head for layer in layers if layer is not None and layer.head["n"]]
    if not filled:
        return [*layers]
    axes = zip(*(head["bounds"] for head in filled), strict=True)
    both: dict[str, Json] = {"bounds": [*map(_hull, axes)]}
    for name in {"color_range", "size_range"} & filled[0].keys():
        both[name] = _hull([head[name] for head in filled])
    return [None if layer is None else Layer(layer.head | both, layer.columns) for layer in layers]


def _hull(ends: Sequence[list[float]]) -> list[float]:
    return [min(low for low, _ in ends), max(high for _, high in ends)]
