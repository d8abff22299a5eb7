"""`ecsgen inspect`: worlds of modules and of files, and what is none."""

from __future__ import annotations

import http.client
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ecsgen.config import UsageError
from ecsgen.inspector import Inspector
from ecsgen.inspector.saved_worlds import load_saved, save_beside, schema_text
from ecsgen.model.snapshot_schema import make_snapshot_schema
from ecsgen.model.snapshot_schema import schema_text as schema_document
from generated import World
from tests.support.command_project import Project
from tests.support.world_package import load, world_package

SCHEMA = """
component: Body
fields:
  mass: {type: f64, default: .nan, unit: "k\\"g"}
  name: {type: "str[8]", default: "№ 😀"}
  mode: {type: Mode, default: walk}
---
enum: Mode
values: {walk: 3, run: 7}
---
world: Town
version: 3
entity: {index_bits: 20, generation_bits: 12}
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The worlds of the inspectors that `inspect` ran, as they were shown; Ctrl-C comes at once."""
    worlds: list[str] = []

    def tick(self: Inspector, budget: float = 0.0) -> int:
        worlds.append(repr(self._api._world))
        raise KeyboardInterrupt

    monkeypatch.setattr(Inspector, "tick", tick)
    return worlds


@pytest.mark.parametrize("name", ["world", "make", "World"])
def test_module(project: Project, looked_at: list[str], name: str) -> None:
    project.put(
        "my_game.py",
        "from generated import World\nworld = World()\ndef make():\n    return World()\n",
    )
    ran = project("inspect", f"my_game:{name}", "--no-browser")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("http://127.0.0.1:")
    assert looked_at == [repr(World())]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("my_game:nothing", "the module 'my_game' has no 'nothing'"),
        ("my_game:", "the module 'my_game' has no ''"),
        ("my_game:number", "my_game:number is not a world, and returns none: int"),
        ("my_game:fails", "my_game:fails failed: see above"),
        ("no_game:world", "there is no module 'no_game'"),
        ("my_game.deep:world", "there is no module 'my_game.deep'"),
        ("lacking:world", "lacking:world failed: see above"),
        ("nothing.snap", "can't use"),
        ("my_game.py", "is no snapshot"),
        ("a.pickle", "is a pickle"),
        ("world.dat", "is a pickle"),
        (".", "can't use"),
        ("my_game:world --step stepp", "has a function 'stepp'"),
        ("my_game:world --step boid.fly", "missing a required argument: 'way'"),
    ],
)
def test_what_is_no_world_or_no_step(project: Project, target: str, message: str) -> None:
    text = "number = 3\ndef fails():\n    raise ValueError('my own')\n"
    project.put("my_game.py", f"from generated import World\nworld = World()\n{text}")
    project.put("lacking.py", "import what_is_not_there\n")
    project.put("a.pickle", "text")
    (project.folder / "world.dat").write_bytes(pickle.dumps(World()))
    ran = project("inspect", *target.split(), "--no-browser")
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert ("my own" in ran.err) == ("fails" in target)
    assert "fault of ecsgen" not in ran.err


def test_a_pickle_is_not_read(project: Project) -> None:
    class Runs:
        def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
            return os.system, ("touch was_run",)

    for name, protocol in (("world.snap", 0), ("world.pkl", 4)):
        (project.folder / name).write_bytes(pickle.dumps(Runs(), protocol))
        assert project("inspect", name, "--no-browser").status == 2
    assert not (project.folder / "was_run").exists()


def test_a_file_and_one_with_cells_that_are_no_values(
    project: Project, looked_at: list[str]
) -> None:
    town = world_package(SCHEMA, "inspected_town").World()
    town.spawn(3, body={})
    town.save("town.snap")
    ran = project("inspect", "town.snap", "--no-browser")
    assert (ran.status, ran.err) == (0, "")
    assert looked_at == ["<World: 3 entities; body 3>"]
    looked_at.clear()
    town.body.data.mode[1] = 9
    town.body.data.name[2] = b"\xff"
    town.save("town.snap", verify=False)
    ran = project("inspect", "town.snap", "--no-browser")
    assert (ran.status, looked_at) == (2, [])
    assert "town.snap: body.name[2]: text that is not UTF-8: b'\\xff'; " in ran.err
    assert ran.err.endswith("--no-verify shows it unchecked\n")
    assert project("inspect", "town.snap", "--no-browser", "--no-verify").status == 0
    assert looked_at == ["<World: 3 entities; body 3>"]


def test_the_package_of_a_file_is_the_one_that_saved_it(tmp_path: Path) -> None:
    package = world_package(SCHEMA, "inspected_town")
    town = package.World()
    (e,) = town.spawn(1, body={})
    town.save(tmp_path / "town.snap")
    (tmp_path / "work").mkdir()
    world = load_saved(tmp_path / "town.snap", tmp_path / "work")
    assert world.FINGERPRINT == package.World.FINGERPRINT
    assert repr(world[e].body.name) == "'№ 😀'"
    assert world.to_bytes() == town.to_bytes()


def test_what_a_file_notes_of_time_and_draws_is_saved_again(tmp_path: Path) -> None:
    """Its package has no kernels that draw, and no schedule."""
    package = world_package(
        """
component: Body
fields: {x: f64}
kernels: {shake: {steps: [x += random()]}}
---
world: Town
settings: {size: f64}
kernels: {toss: {over: Body, steps: [Body.x = random() * settings.size]}}
schedule: {day: [Body.shake, toss, tick]}
""",
        "town_of_chance",
    )
    town = package.Town()
    town.seed, town.settings.size = 7, 3
    town.spawn(3, body={})
    town.day()
    town.save(tmp_path / "town.snap")
    (tmp_path / "work").mkdir()
    world = load_saved(tmp_path / "town.snap", tmp_path / "work")
    assert (world.tick, world.settings.size) == (1, 3)
    save_beside(world, tmp_path, "again.snap")
    again = package.Town.load(tmp_path / "again.snap")
    assert again.to_bytes() == town.to_bytes()
    again.day()
    town.day()
    assert again.to_bytes() == town.to_bytes()


def test_every_schema_comes_back() -> None:
    files = [*sorted((ROOT / "schemas").glob("*.yaml")), ROOT / "tests" / "more_policies.yaml"]
    project = load("\n---\n".join(file.read_text("utf-8") for file in files))
    saved = json.loads(schema_document(make_snapshot_schema(project)))
    again = load(schema_text(saved))
    assert json.loads(schema_document(make_snapshot_schema(again))) == saved


def test_a_schema_that_this_version_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = world_package(SCHEMA, "inspected_town").World()
    town.save(tmp_path / "town.snap")
    (tmp_path / "work").mkdir()
    monkeypatch.setattr("ecsgen.inspector.saved_worlds.schema_text", lambda saved: "component: 3")
    with pytest.raises(UsageError, match=r"town\.snap: this version of ecsgen refuses"):
        load_saved(tmp_path / "town.snap", tmp_path / "work")


def test_without_the_extra(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ecsgen.inspector")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = project("inspect", "x:y")
    assert (ran.status, "pip install 'ecsgen[inspect]'" in ran.err) == (2, True)


def test_a_port_that_is_taken(project: Project) -> None:
    from ecsgen.inspector import serve

    project.put("my_game.py", "from generated import World as world\n")
    with serve(World()) as inspector:
        port = str(urlsplit(inspector.url).port)
        ran = project("inspect", "my_game:world", "--no-browser", "--port", port)
    assert (ran.status, f"can't listen on port {port}" in ran.err) == (2, True)


def test_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text("from generated import World\nworld = World()\n")
    command = [sys.executable, "-m", "ecsgen", "inspect", "game:world", "--no-browser"]
    known = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=known, stdout=subprocess.PIPE, text=True
    ) as ran:
        assert ran.stdout is not None
        parts = urlsplit(ran.stdout.readline().strip())
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=60)
        token = parse_qs(parts.query)["token"][0]
        connection.request("GET", "/api/world", headers={"X-Ecsgen-Token": token})
        assert json.load(connection.getresponse())["world"] == "Game"
        connection.close()
        ran.send_signal(signal.SIGINT)
        assert ran.wait(60) == 0


def test_a_browser_is_opened_unless_told(
    project: Project, looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    is_open = threading.Event()

    def opens(url: str) -> None:
        opened.append(url)
        is_open.set()

    monkeypatch.setattr("webbrowser.open", opens)
    project.put("my_game.py", "from generated import World as world\n")
    ran = project("inspect", "my_game:world")
    assert is_open.wait(60)
    assert opened == [ran.out.strip()]
    project("inspect", "my_game:world", "--no-browser")
    time.sleep(0.01)
    assert len(opened) == 1


@pytest.mark.parametrize("step", ["collect", "step"])
def test_a_step_of_the_world_or_of_the_module(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    ran: list[str] = []

    def run(self: Inspector) -> int:
        assert self._loop.step is not None
        ran.append(self._loop.step.__name__)
        return 0

    monkeypatch.setattr(Inspector, "run", run)
    text = "from generated import World\ndef make():\n    return World()\ndef step(): pass\n"
    project.put("my_game.py", text)
    answer = project("inspect", "my_game:make", "--no-browser", "--step", step)
    assert (answer.status, ran) == (0, [step.rpartition(".")[2]])


FLOCK = """
from ecsgen.inspector import View
from generated import World
view = View(map="boid", charts=[["boid"]])
wrong = View(map="bod")
def make(count=3):
    world = World()
    world.spawn(count, boid={"heading": (1, 0)})
    return world
def pair():
    world = make()
    return world, lambda: world.boid.fly(1.0, 10.0, 10.0)
def step():
    pass
def fails():
    raise ValueError("my own")
"""


@pytest.mark.parametrize("target", [("make", "--step", "step"), ("pair",)])
def test_films(project: Project, target: tuple[str, ...]) -> None:
    project.put("my_game.py", FLOCK)
    name, *step = target
    options = ("--steps", "6", "--every", "3", "--view", "view")
    ran = project("film", f"my_game:{name}", *step, *options)
    assert (ran.status, ran.out, ran.err) == (0, "run.html: 3 pictures\n", "")
    assert '"boid": [3, 3, 3]' in (project.folder / "run.html").read_text()
    ran = project("inspect", f"my_game:{name}", *step, *options, "--frames", "shots")
    assert (ran.status, ran.out) == (0, "shots/: 3 pictures\n")
    assert len([*(project.folder / "shots").iterdir()]) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("my_game:make",), "there is nothing to run: --step NAME"),
        (("town.snap",), "wanted MODULE:ATTR"),
        (("my_game:make", "--step", "fails"), "fails failed: see above"),
        (("my_game:make", "--step", "fails", "-o", "run.avi"), "wanted .html, .gif"),
        (("my_game:pair", "--view", "FLOCK"), "has no 'FLOCK'"),
        (("my_game:pair", "--view", "make"), "make is not a View but function"),
        (("my_game:pair", "--view", "wrong"), "did you mean 'boid'?"),
        (("my_game:pair", "-o", "run.avi"), "wanted .html, .gif, .mp4 or a folder"),
        (("my_game:pair", "-o", "no/run.html"), "can't write no/run.html"),
    ],
)
def test_what_is_no_film(project: Project, options: tuple[str, ...], message: str) -> None:
    project.put("my_game.py", FLOCK)
    ran = project("film", *options, "--steps", "1")
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert ("my own" in ran.err) == ("failed" in message)  # where it goes is looked at first
    assert "fault of ecsgen" not in ran.err
