"""Views, pictures without a browser, and films: as one page, as PNGs, GIF and MP4."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ecsgen.inspector import Film, View, picture
from ecsgen.inspector import serve as serve_any
from tests.support.inspector_client import Inspected
from tests.support.watched_worlds import HOSTILE, farm
from tests.support.world_package import world_package

ROAMING = View(map="sheep", color="mood", direction="way", charts=[["sheep"], ["sheep.wild"]])


class Run:
    """A farm whose step turns the sheep, sells one, and makes another patch wet."""

    def __init__(self, count: int = 3) -> None:
        self.world = farm(count)
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        self.world.sheep.data.way[:] = (0, 1)
        self.world.patch.data.wet[self.steps % 12] = True
        if self.steps == 2:
            self.world.sheep.destroy(0)
        if self.steps == 9:
            raise RuntimeError("over")


def filmed(
    world: Any,
    view: View | None = None,
    steps: int = 1,
    every: int = 1,
    step: Callable[[], object] = lambda: None,
) -> Film:
    with serve_any(world, step=step, view=view) as inspector:
        return inspector.record(steps, every)


def film_of(run: Run, steps: int, every: int = 1, view: View = ROAMING) -> Film:
    return filmed(run.world, view, steps, every, run.step)


def facts_of(page: str) -> Any:
    return json.loads(page.split('id="film-facts">')[1].split("</script>")[0])


def columns_of(page: str) -> bytes:
    packed = page.split('id="film-columns">')[1].split("</script>")[0]
    return zlib.decompress(base64.b64decode(packed))


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View(map="shep"), "no map 'shep': did you mean 'sheep'?"),
        (View(map="purse"), "no map 'purse': there are star, sheep, patch, flock"),
        (View(map="sheep", color="modd"), "did you mean 'mood'?"),
        (View(map="sheep", color="way"), "wanted a field of one number"),
        (View(direction="heat"), "wanted a field of a vector"),
        (View(charts=[["sheep.wid"]]), "did you mean 'sheep.wild'?"),
        (View(controls=["visoin"]), "did you mean 'vision'?"),
        (View(label="nam"), "did you mean 'name'?"),
        (View(label="mood"), "no field of text 'mood'"),
    ],
)
def test_unknown_names_of_a_view(view: View, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        serve_any(farm(), step=lambda vision: None, args={"vision": 1}, view=view)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"charts": ["sheep"]}, "wanted a list of lists"),
        *(({"charts": charts}, "charts: wanted a ") for charts in (None, [[3]])),
        *(({"controls": controls}, "controls: wanted a list") for controls in ("vision", None)),
        ({"map": 3}, "map: wanted a "),
        ({"label": b""}, "label: wanted a "),
        *(
            ({"color_range": ends}, "color_range: wanted two numbers")
            for ends in (1, "01", (1,), (1, 2, 3), (2, 1), (1, 1), (0, np.nan), ("0", 1))
        ),
        *(({"layer": number}, "layer: wanted a whole number") for number in (-1, 1.5, "1")),
    ],
)
def test_what_cannot_be_in_a_view(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        View(**options)


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_rates_that_are_none(rate: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rate: wanted more than 0"):
        film_of(Run(), 1).save(tmp_path / "run.gif", rate=rate)


def test_the_page_is_told_of_its_view() -> None:
    with Inspected(farm(), view=ROAMING) as inspected:
        overview = inspected.json("world")
    assert overview["view"]["map"] == "sheep"
    assert overview["view"]["charts"] == [["sheep"], ["sheep.wild"]]
    maps = {each["name"]: each for each in overview["maps"]}
    assert [maps[name]["color"] for name in ("star", "sheep", "patch")] == [None, "mood", "wet"]
    assert maps["flock"]["grid_color"] == "wet"


def picture_of(world: Any, view: View, width: int = 320, height: int = 240) -> Image.Image:
    with serve_any(world, view=view) as inspector:
        image = Image.open(BytesIO(inspector.picture(width, height)))
    assert (image.format, image.size) == ("PNG", (width, height))
    return image.convert("RGB")


def cell_middles(image: Image.Image, legend: int = 24) -> Iterator[tuple[int, int, Any]]:
    """Yield each cell of the farm's grid with the colour in its middle."""
    scale = 0.96 * min(image.width / 4, (image.height - legend) / 3)
    for x, y in np.ndindex(4, 3):
        right = image.width / 2 + scale * (x + 0.5 - 2)
        down = (image.height - legend) / 2 - scale * (y + 0.5 - 1.5)
        yield x, y, image.getpixel((int(right), int(down)))


def test_a_picture_of_a_grid() -> None:
    world = farm(0)
    for x, y, ink in cell_middles(picture_of(world, View(map="patch", color="wet"))):
        assert ink == picture.NAMED[int(3 * x + y == 5)]
    for x, y, ink in cell_middles(picture_of(world, View(map="patch", color="grass"))):
        low = picture.SCALE[int((3 * x + y) / 11 * 15)]
        high = picture.SCALE[min(15, int((3 * x + y) / 11 * 15) + 1)]
        assert all(min(a, b) <= c <= max(a, b) for a, b, c in zip(low, high, ink, strict=True))


def hexagons() -> Any:
    """A grid of hexagons, of which some are wet, and a bee on one that is dry."""
    text = """
component: Comb
grid: {shape: [5, 4], hood: hex, wrap: true}
fields: {wet: bool}
---
component: Bee
on: cell
fields: {cell: id<Comb>, awake: {type: bool, default: true}}
---
world: Hive
"""
    world = world_package(text, "filmed_hive").Hive()
    world.comb.data.wet[::3] = True
    world.spawn(1, bee={"cell": world.comb.id_of_many([14])})  # the cell (3, 2)
    return world


def wrong_hexagons(image: Image.Image, part: float, bee: tuple[int, int] | None = None) -> Any:
    """Return the hexagons of which some place near a corner, or the middle, has another colour.

    Those of a line stand side by side, and half of one to the right of those below. `part`: of the
    picture, that is taken up along the tighter side.
    """
    across, up = 5 + 3 / 2 + 1, 3 * 3**0.5 / 2 + 2 / 3**0.5
    scale = part * min(image.width / across, image.height / up)
    wrong = []
    for q, r in np.ndindex(5, 4):
        x, y = q + r / 2 + 1 - across / 2, (r - 1.5) * 3**0.5 / 2
        around = np.arange(6) * np.pi / 3 + np.pi / 6
        corners = 0.4 * 3**-0.5 * 2 * np.stack([np.cos(around), np.sin(around)], -1)
        for dx, dy in [*corners, (0, 0)]:
            right, down = image.width / 2 + scale * (x + dx), image.height / 2 - scale * (y + dy)
            is_bee = (q, r) == bee and (dx, dy) == (0, 0)
            wanted = picture.NAMED[int((4 * q + r) % 3 == 0 or is_bee)]
            seen: Any = image.getpixel((int(right), int(down)))
            if np.abs(np.subtract(seen, wanted)).max() > 2:
                wrong.append((q, r))
    return wrong


def test_a_picture_of_hexagons() -> None:
    world = hexagons()
    shown = picture_of(world, View(map="comb", color="wet"), 160, 140)  # too small for a legend
    assert wrong_hexagons(shown, 0.96) == []
    assert shown.getpixel((4, 10)) == shown.getpixel((156, 130)) == (255, 255, 255)
    shown = picture_of(world, View(map="bee", color="awake"), 160, 140)
    assert wrong_hexagons(shown, 0.96, bee=(3, 2)) == []
    with Inspected(world) as inspected:
        assert b'"hood": "hex"' in inspected.get("points/bee").body
        assert b'"bounds": [[0, 5], [0, 4]]' in inspected.get("points/bee").body


@pytest.mark.parametrize("direction", [None, "way"])
def test_a_picture_of_points_before_a_grid(direction: str | None) -> None:
    view = View(map="flock", color="mood", direction=direction)
    shown = {(x, y): ink for x, y, ink in cell_middles(picture_of(farm(), view))}
    assert shown[0, 0] == shown[3, 1] == picture.NAMED[0]
    assert shown[1, 2] == picture.NAMED[1]
    assert shown[2, 2] == picture.NAMED[0]  # a dry patch


def walkers(field: str) -> Any:
    """A walker without a colour on the first and the last cell of a grid that has some."""
    text = f"""
component: Ground
grid: {{shape: [4, 3]}}
fields: {{seen: {field}}}
---
component: Walker
on: cell
fields: {{cell: id<Ground>}}
"""
    world = world_package(text, f"filmed_ground_{field}").World()
    world.ground.data.seen[4:] = True
    world.spawn(2, walker={"cell": world.ground.id_of_many([0, 11])})
    return world


GROUNDS = pytest.mark.parametrize("field", ["bool", "f32"])


@GROUNDS
def test_points_without_a_colour_before_cells(field: str) -> None:
    for x, y, ink in cell_middles(picture_of(walkers(field), View())):
        is_walker = (x, y) in ((0, 0), (3, 2))
        assert (ink == picture.BEFORE_CELLS) == is_walker
    others = np.array([*picture.NAMED, *picture.SCALE])
    assert np.abs(others - picture.BEFORE_CELLS).max(1).min() > 80


def test_pictures_of_odd_worlds() -> None:
    world = farm(0)
    assert picture_of(world, View(map="star", color="heat"), 16, 16)
    world.spawn(
        3, star={"position": [(0, 0, 0), (np.nan, 0, 0), (2, 1, 0)], "heat": [1, 2, np.inf]}
    )
    assert picture_of(world, View(map="star", color="heat", size="heat"))
    world.star.data.heat[:] = (-3e38, 3e38, np.inf)
    assert picture_of(world, View(map="star", size="heat", direction="position"))
    world.spawn(1, sheep={"cell": world.patch.id_of(0), "energy": 1e300})  # too large for f32
    assert picture_of(world, View(map="sheep", color="energy"))
    with serve_any(world) as inspector, pytest.raises(ValueError, match="pixels each way"):
        inspector.picture(0, 100)
    purses = world_package("component: Purse\nfields: {coins: i64}\n", "purses").World()
    with serve_any(purses) as inspector, pytest.raises(ValueError, match="no map to draw"):
        inspector.picture(100, 100)


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with serve_any(farm()) as inspector, pytest.raises(ImportError, match="pip install pillow"):
        inspector.picture(100, 100)


def test_colours_are_those_of_the_page() -> None:
    script = (Path(picture.__file__).parent / "page" / "layer.js").read_text()
    for name in ("NAMED", "SCALE", "BEFORE_CELLS"):
        written = script.split(f"const {name} = ")[1].split(";")[0]
        assert json.loads(written) == json.loads(json.dumps(getattr(picture, name)))


def test_length_and_errors() -> None:
    assert [len(film_of(Run(), 7, every)) for every in (1, 3, 7, 8)] == [8, 3, 2, 1]
    with pytest.raises(RuntimeError, match="over"):
        film_of(Run(), 10)
    with pytest.raises(ValueError, match="every from 1"):
        film_of(Run(), 1, every=0)
    with serve_any(farm()) as inspector, pytest.raises(ValueError, match="needs a step"):
        inspector.record(1)


def test_columns_of_a_page() -> None:
    """A picture with as many rows as the one before has the differences to it."""
    page = film_of(Run(), 2, view=View(map="sheep", charts=[["sheep"]])).html()
    facts = facts_of(page)
    assert (facts["times"], facts["lines"]) == ([0, 1, 2], {"sheep": [3, 3, 2]})
    points, cells = facts["groups"]
    assert (points["n"], cells["n"], cells["grid"]) == ([3, 3, 2], [12, 12, 12], [4, 3])
    data = columns_of(page)
    assert len(data) == 8 * (2 + 2 + 1) + 36
    low, high = np.frombuffer(data, "u1", 16).reshape(2, 8).astype(int)
    places = (low | high << 8) / 65534 * 4
    assert places[:3].round(1).tolist() == [0.5, 1.5, 3.5]
    assert places[3:6].tolist() == [0, 0, 0]
    assert places[6:].round(1).tolist() == [3.5, 1.5]
    assert [*data[32:40]] == [0, 1, 0, 0, 0, 0, 0, 1]


def test_a_view_fixes_the_scale() -> None:
    """Numbers past the ends have their colours."""
    world, view = farm(0), View(map="patch", color="grass", color_range=(2, 5))
    for x, y, ink in cell_middles(picture_of(world, view)):
        if not 2 < 3 * x + y < 5:
            assert ink == picture.SCALE[0 if 3 * x + y < 5 else -1]
    page = filmed(world, view).html()
    [cells] = facts_of(page)["groups"]
    assert cells["color_range"] == [2, 5]
    assert [*columns_of(page)[:12]] == [0, 0, 0, 85, 169, *[254] * 7]


def test_nothing_else_is_in_a_page() -> None:
    page = film_of(Run(), 2).html()
    data = page.replace("<!-- uPlot:", "").split("</style>")[1]
    assert "secret" not in data
    assert "424242" not in data
    assert "onerror" not in page
    title = Film(HOSTILE, [])
    with serve_any(farm()) as inspector:
        title.add(inspector._api.camera.take({"step": 0}))
    assert HOSTILE not in title.html()
    assert html.escape(HOSTILE) in title.html()


def test_a_notebook_shows_a_frame_apart() -> None:
    shown = film_of(Run(), 1)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert shown.count("<") == 2  # all of the page is text within


def test_other_files(tmp_path: Path) -> None:
    film = film_of(Run(), 4)
    film.save(f"{tmp_path}/frames.d/", width=64, height=48)
    assert sorted(os.listdir(tmp_path / "frames.d")) == [f"{k:05}.png" for k in range(5)]
    film.save(tmp_path / "run.gif", width=64, height=48)
    with Image.open(tmp_path / "run.gif") as gif:
        assert gif.size == (64, 48)
        assert getattr(gif, "n_frames", 1) > 1
    with pytest.raises(ValueError, match=r"not \.avi"):
        film.save(tmp_path / "run.avi")


def test_mp4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = film_of(Run(), 4)
    imageio = pytest.importorskip("imageio_ffmpeg")
    film.save(tmp_path / "run.mp4", width=65, height=48)
    count, _ = imageio.count_frames_and_secs(str(tmp_path / "run.mp4"))
    assert count == 5
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match="pip install imageio-ffmpeg"):
        film.save(tmp_path / "run.mp4")


def test_size_of_a_film(tmp_path: Path) -> None:
    """1,000 points that jump about, with colours, and 200 pictures."""
    rng = np.random.default_rng(1)
    world = farm(0)
    stars = world.spawn(1000, star={})
    assert len(stars) == 1000

    def step() -> None:
        world.star.data.position[:] = rng.random((1000, 3))
        world.star.data.heat[:] = rng.random(1000)

    filmed(world, View(map="star", color="heat"), 199, step=step).save(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size <= 1_500_000
