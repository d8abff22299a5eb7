"""Schedules: what the calls in order do, whichever kernels share a pass, with both backends."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from ecsgen_testing.kernel_cases import check_schedule

from ecsgen.cli import ecsgen
from ecsgen.config import BACKENDS, UsageError
from tests.support.in_process_pytest import failures
from tests.support.reference_schemas import read
from tests.support.world_package import checked, world_package

COMPONENTS = """\
component: Body
fields:
  place: "f32[3]"
  speed: "f32[3]"
  mass: f64
  alive: bool
  far: {type: "f32[2]", split: true}
  hits: i32
kernels:
  drag: {args: {k: f32, dt: f32}, steps: ["speed *= 1 - k * dt"]}
  push: {args: {force: "f32[3]", dt: f32}, steps: ["f = force * dt", "speed += f / f32(mass + 1)"]}
  drift: {args: {dt: f32}, steps: ["place += speed * dt"]}
  bounce: {where: "place.z < 0 and alive", steps: ["place.z = -place.z", "speed.z = -speed.z"]}
  other: {steps: ["far.x += f32(normal())", "hits = i32(randrange(9))", "f = sqrt(mass)", mass = f]}
  again: {where: "random() > 0.5", steps: [hits += 1, f = hits, far.y = f32(f)]}
  each: {args: {by: {type: f32, each: true}}, steps: [place *= by]}
  cores: {parallel: true, steps: [mass += 1]}
  weigh: {steps: [mass *= settings.gain, hits += settings.calls]}
reductions: {heaviest: {max: mass}, hit: {sum: hits}}
---
component: Spin
fields: {angle: f32}
partition: {start: active}
kernels:
  turn: {args: {dt: f32}, steps: [angle += dt]}
  halve: {steps: [angle /= 2]}
  bound: {steps: ["angle = clip(angle, -settings.limit, settings.limit)"]}
  whole: {rows: all, args: {dt: f32}, steps: [angle += dt]}
  stir:
    rows: all
    args: {key: f32, key_1: f32, key_of_row: f32}
    steps: ["angle += f32(random()) * key + key_of_row - key_1"]
---
component: Fuel
fields: {left: f64, use: "f64[2]"}
---
component: Bone
hierarchy: {orphans: root}
fields: {turn: f32, own: f32}
kernels:
  bend: {args: {dt: f32}, steps: [own += dt]}
  follow: {steps: [turn = parent.turn + own]}
---
component: Shot
owner: none
fields: {life: f32}
kernels:
  fly: {args: {dt: f32}, steps: [life -= dt]}
  flicker: {steps: ["life *= f32(random())"]}
---
component: Charm
fields: {luck: f32}
---
component: Dust
fields: {at: "f32[2]", met: f32}
space: {field: at}
kernels:
  waft: {steps: [at += 1]}
  meet: {near: reach, args: {reach: f32}, steps: [met = f32(count()) + reach]}
"""
WORLD = """\
---
world: Game
groups: {bodies: [Body, Fuel]}
queries: {both: {all: [Body, Spin]}, lucky: {all: [Charm]}}
archetypes: {components: [Charm]}
settings:
  gain: {type: f64, default: 0.5}
  limit: {type: f32, default: 2.0, min: 1, max: 4}
  calls: i32
kernels:
  burn:
    over: bodies
    args: {use: "f64[2]"}
    steps: ["Fuel.left -= Body.mass", "Fuel.use = use * 2"]
  refill:
    over: bodies
    where: "random() < 0.3 and Fuel.left < 0"
    steps: ["Fuel.left = 100 * random()", "Body.mass += norm(Fuel.use)"]
  whirl: {over: both, args: {dt: f32, k: f32}, steps: ["Spin.angle += dt * k", "Body.hits += 1"]}
  unwhirl:
    over: both
    args: {dt: f32}
    where: Body.hits > 2
    steps: ["Spin.angle -= dt + f32(Body.hits)", "Body.place *= 0.5", "Body.mass = 3"]
  tell: {over: both, where: Body.hits > 0, steps: [settings.calls += 1]}
  wish: {over: lucky, args: {dt: f32}, steps: ["Charm.luck += dt"]}
"""
OWN = ("burn", "refill", "whirl", "unwhirl", "tell", "wish")
KERNELS = (
    *(f"Body.{name}" for name in ("drag", "push", "drift", "bounce", "other", "again", "each")),
    *("Body.cores", "Body.weigh", "Spin.turn", "Spin.halve", "Spin.bound", "Spin.whole"),
    "Spin.stir",
    *("Bone.bend", "Bone.follow", "Shot.fly", "Shot.flicker", *OWN),
)
SETS = (
    '{set: settings.gain, to: "1 / max(Body.heaviest(), 1)"}',
    "{set: settings.limit, to: f32(settings.gain * 9) - f32(settings.calls)}",
    "{set: settings.calls, to: settings.calls // 3 + i32(Body.hit() % 5)}",
)
ALL = [
    "Body.drag, Body.push, Body.drift, Body.bounce, Body.other, Body.again, Body.drift",
    "burn, refill, burn, refill, whirl, unwhirl, whirl, Spin.turn, Spin.halve",
    "Shot.fly, Shot.flicker, Shot.fly, Spin.whole, Spin.stir, Bone.bend, Bone.bend, Bone.follow",
    "wish, wish, Body.cores, Body.cores, Body.drift, Body.each, Body.drift, drift_2",
]


def schedules() -> dict[str, list[str]]:
    """Some that try a lot in few passes, and random ones of neighbours that may share a pass."""
    entries_by_name = {
        f"step_{k}": text.removesuffix(", drift_2").split(", ") for k, text in enumerate(ALL)
    }
    random = Random(1)
    for k in range(6):
        entries = []
        for _ in range(4):
            holder = random.choice(("Body", "Spin", "Bone", "Shot", ""))
            alike = [name for name in KERNELS if name.rpartition(".")[0] == holder]
            entries += random.choices(alike, k=3)
            entries += random.choices([*SETS, ""], k=1)
        entries_by_name[f"any_{k}"] = [entry for entry in entries if entry]
    return entries_by_name


SCHEDULES = schedules()


def schema() -> str:
    listed = "".join(f"  {name}: [{', '.join(texts)}]\n" for name, texts in SCHEDULES.items())
    return f"{COMPONENTS}{WORLD}schedule:\n{listed}  gather: [Dust.waft, Dust.meet]\n"


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: Any) -> Any:
    return world_package(schema(), f"schedules_{request.param}", request.param)


def test_to_set_settings_takes_no_time(package: Any) -> None:
    assert not hasattr(package.Game(), "tick")


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_do_what_their_calls_do(package: Any, name: str) -> None:
    for seed, rows in enumerate((0, 1, 40, 200)):
        check_schedule(package.Game, read(schema()), name, rows, seed)


def test_a_pass_is_as_quiet_as_its_kernels(package: Any) -> None:
    """Arguments of `push` for all rows may become infinite."""
    w = package.Game()
    with np.errstate(all="raise"):
        w.step_0(k=0.5, dt=1e30, force=(3e38, 1.0, 1.0))


@pytest.mark.parametrize(
    ("name", "bad", "error"),
    [
        ("step_0", {"force": (1, 2)}, ValueError),
        ("step_0", {"dt": "a"}, TypeError),
        ("step_1", {"use": 1e400}, ValueError),
        ("step_3", {"by": [1] * 39}, ValueError),
        ("step_3", {"by": 1e39}, OverflowError),
    ],
)
def test_arguments_are_checked_before_anything_runs(
    package: Any, name: str, bad: dict[str, Any], error: type[Exception]
) -> None:
    w = package.Game()
    w.spawn(40, body={"speed": 1, "mass": 2}, spin={"angle": 1}, fuel={"left": -1}, charm={})

    def state() -> list[bytes]:
        columns = [*w.body.data.saved_columns().values(), w.spin.data.angle, w.fuel.data.left]
        return [np.ascontiguousarray(cells).tobytes() for cells in columns]

    before, calls = state(), dict(w.body._stream_state.calls)
    values = {"k": 0.5, "dt": 0.25, "force": (1, -2, 0.5), "use": (0.5, 2), "by": [1] * 40} | bad
    names = inspect.signature(getattr(w, name)).parameters
    with pytest.raises(error, match=rf"Game\.{name}\."):
        getattr(w, name)(**{key: values[key] for key in names})
    assert (state(), dict(w.body._stream_state.calls)) == (before, calls)


@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, 1e-60])
def test_radii_are_checked_before_anything_runs(package: Any, radius: float) -> None:
    w = package.Game()
    w.spawn(2, dust={})
    with pytest.raises(ValueError, match=r"Game\.gather"):
        w.gather(reach=radius)
    assert not w.dust.data.at.any()
    w.gather(reach=0.5)
    assert w.dust.data.met.tolist() == [1.5, 1.5]


def test_positional_arguments_give_a_warning_and_do_the_same(package: Any) -> None:
    w = package.Game()
    w.spawn(2, dust={})
    with pytest.warns(DeprecationWarning, match=r"Game\.gather: give arguments by name") as warned:
        w.gather(0.5)
    assert warned[0].filename == __file__
    assert w.dust.data.met.tolist() == [1.5, 1.5]
    with pytest.raises(TypeError), pytest.warns(DeprecationWarning, match="gather"):
        w.gather(0.5, reach=0.5)
    with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
        w.gather(0.5, 0.5)


def test_parameters_come_as_they_first_come_up(package: Any) -> None:
    names = list(inspect.signature(package.Game.step_0).parameters)
    assert names == ["self", "k", "dt", "force"]


def test_says_what_it_does(package: Any) -> None:
    doc = says(package.Game.step_1)
    assert "pass 1: burn reads Fuel.left, Body.mass; writes Fuel.left, Fuel.use." in doc
    assert "pass 2: unwhirl reads Body.hits, Spin.angle, Body.place; writes" in doc
    assert "pass 3: Spin.halve reads Spin.angle; writes Spin.angle." in doc


def layout(folder: Path, text: str, schedule: str, *more: str) -> str:
    """Return what `ecsgen layout` prints of a schedule."""
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    arguments = ["layout", "--schemas", str(folder), "--schedule", schedule, *more]
    shown = CliRunner().invoke(ecsgen, arguments, catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def picture(folder: Path, text: str, schedule: str) -> str:
    """Return the text of a schedule's picture."""
    file = folder / "picture.svg"
    layout(folder, text, schedule, "--svg", str(file))
    return file.read_text("utf-8")


def says(method: Any) -> str:
    """Return the docstring of a method, on one line."""
    return " ".join((inspect.getdoc(method) or "").split())


TABLE = """\
step_2(dt: f32, key: f32, key_1: f32, key_of_row: f32)
pass  kernel        over  reads           writes
   1  Shot.fly      Shot  life            life
   1  Shot.flicker  Shot  life, random    life
   1  Shot.fly      Shot  life            life
   2  Spin.whole    Spin  angle           angle
   2  Spin.stir     Spin  angle, random   angle
   3  Bone.bend     Bone  own             own
   3  Bone.bend     Bone  own             own
   4  Bone.follow   Bone  own, parent.turn  turn
pass 2: Spin.whole runs over Spin, Shot.fly over Shot
pass 3: Bone.bend runs over Bone, Spin.stir over Spin
pass 4: Bone.follow reads parents
"""


SEEING = """\
component: Ant
fields: {at: "f32[2]", food: f32, mate: entity}
space: {field: at}
kernels:
  look: {near: 2, steps: ["food += sum(other.food)"]}
  share: {steps: ["mate.Ant.food += food"]}
  beg: {near: 2, steps: ["nearest(other.mate).Ant.food -= 1"]}
---
world: Hill
kernels: {follow: {over: Ant, steps: [Ant.at = Ant.mate.Ant.at]}}
schedule: {day: [Ant.look, Ant.share, follow, Ant.beg]}
"""
SEEN = """\
day()
pass  kernel     over  reads       of others  writes    sends to
   1  Ant.look   Ant   food        Ant.food   food
   2  Ant.share  Ant   mate, food                       Ant.food
   3  follow     Ant   Ant.mate    Ant.at     Ant.at
   4  Ant.beg    Ant               Ant.mate             Ant.food
"""


def test_what_kernels_have_to_do_with_other_rows(tmp_path: Path) -> None:
    table = layout(tmp_path, SEEING, "day").split("\npass 2:")[0]
    assert table.split() == SEEN.split()
    text = picture(tmp_path, SEEING, "day")
    assert text.count(">sends to ") == 2
    assert text.count(">of others ") == 3
    package = world_package(SEEING, "schedules_seeing")
    doc = says(package.Hill.day)
    assert "Ant.look reads Ant.food; of others Ant.food; writes Ant.food." in doc
    assert "Ant.share reads Ant.mate, Ant.food; sends to Ant.food." in doc
    assert "Ant.beg reads of others Ant.mate; sends to Ant.food." in doc
    assert "of whom it reads mate" in says(package.AntManager.beg)


FATEFUL = """\
component: Sheep
fields: {at: "f32[2]", energy: f64, mates: i64}
space: {field: at}
---
world: Farm
kernels:
  live:
    over: Sheep
    near: {close: {radius: 1}, around: {radius: 9}}
    steps:
      - Sheep.mates = count(close.Sheep.energy > 1) + count(around)
      - die(where=Sheep.energy < 0)
      - spawn(Sheep(energy=1), where=Sheep.energy > 4)
schedule: {day: [live]}
"""


def test_who_is_born_and_that_somebody_dies(tmp_path: Path) -> None:
    assert layout(tmp_path, FATEFUL, "day").split()[-3:] == ["Sheep.mates", "Sheep", "rows"]
    world = world_package(FATEFUL, "schedules_fateful").Farm
    assert "writes Sheep.mates; spawns Sheep; destroys." in says(world.day)
    doc = says(world.live)
    assert "within 1; asks neighbours within 9; of these it reads Sheep.energy; destroys;" in doc
    assert "structural" not in doc


TIMED = """\
component: Body
fields: {age: i64}
kernels: {grow: {steps: [age += 1]}}
---
world: Pond
schedule: {day: [{run: Body.grow, every: 7, from: 3}, tick]}
"""


def test_at_which_ticks_a_kernel_happens(tmp_path: Path) -> None:
    _, heading, *lines = layout(tmp_path, TIMED, "day").splitlines()
    column = heading.index("at ticks")
    assert [line[column : column + 8].rstrip() for line in lines[:2]] == ["3, 10, …", ""]
    assert picture(tmp_path, TIMED, "day").count(">at ticks 3, 10, …<") == 1
    world = world_package(TIMED, "schedules_timed").Pond
    assert "Body.grow (at ticks 3, 10, …) reads" in says(world.day)


CHOSEN = """\
component: Body
fields: {mode: Mode, age: i64}
kernels: {become: {args: {mode_: {type: Mode, each: true}}, steps: [mode = mode_]}}
---
enum: Mode
values: {idle: 5, walking: 9}
---
world: Pond
kernels: {turn: {over: Body, args: {to: "Mode[2]"}, steps: ["Body.mode = to[0]"]}}
schedule: {day: [Body.become, turn]}
"""


ALIKE = """\
component: Body
fields: {heat: f32}
---
world: Pond
kernels:
  warm: {over: Body, args: {much: f32}, steps: [Body.heat = much]}
  cool: {over: Body, steps: [much = Body.heat + 1, Body.heat = much * much]}
schedule: {day: [warm, cool]}
"""


def test_locals_called_like_arguments_of_other_kernels() -> None:
    """They are variables of their own, as mypy wants them."""
    world = world_package(ALIKE, "schedules_alike").Pond()
    world.spawn(2)
    world.body.create_many(world.entities.create_many(2))
    world.day(much=3)
    assert world.body.data.heat.tolist() == [16, 16]
    source = inspect.getsource(type(world)._day_1)
    loop = next(line for line in source.splitlines() if line.lstrip().startswith("for "))
    assert "much" not in re.findall(r"\w+", loop)


def test_layout_shows_a_schedule(tmp_path: Path) -> None:
    assert layout(tmp_path, schema(), "step_2").split() == TABLE.split()
    text = picture(tmp_path, schema(), "step_1")
    assert text.count(">pass ") == 3
    assert text.count("<polygon") == 9
    wrong = {"stp_1": "did you mean 'step_1'?", "step_1 Body": "leave out their names"}
    for bad, message in wrong.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            layout(tmp_path, schema(), *bad.split())


REPEATED = """\
component: Node
fields: {k: i64, m: i64}
reductions: {moving: {count: k > 0}, mean_k: {mean: k}}
kernels:
  fall: {args: {by: i64}, steps: [k -= by]}
  add_up: {steps: [m += k + 10]}
  take: {args: {ks: {type: i64, each: true}}, steps: [k = ks]}
---
component: Clock
fields: {t: i64}
---
world: Game
kernels: {divide: {over: Node, steps: ["spawn(Clock())"]}}
schedule:
  thrice: [Node.add_up, {run: Node.fall, times: 3}, Node.add_up]
  down: [{run: [Node.fall, Node.add_up, tick], while: Node.moving, at_most: 9}]
  stop: [{run: [Node.fall, tick], while: Node.mean_k, at_most: 2, every: 2}]
  listed: [{run: [Node.fall, Node.add_up]}, Node.add_up]
  at_times: [{run: [Node.fall, Node.add_up], every: 2, from: 1}, tick]
"""


@pytest.fixture(scope="module", params=BACKENDS)
def nodes(request: Any) -> Any:
    return world_package(REPEATED, f"schedules_repeated_{request.param}", request.param)


def game(nodes: Any, *ks: int) -> Any:
    w = nodes.Game()
    w.node.create_many(w.entities.create_many(len(ks)), k=ks)
    return w


def test_entries_run_again_and_again(nodes: Any) -> None:
    w = game(nodes, 6, 4)
    w.thrice(by=1)
    assert w.node.data.k.tolist() == [3, 1]
    assert w.node.data.m.tolist() == [16 + 13, 14 + 11]
    w.node.data.m = 0
    w.down(by=1)  # as long as one moves
    assert (w.node.data.k.tolist(), w.tick) == ([0, -2], 3)
    assert w.node.data.m.tolist() == [12 + 11 + 10, 10 + 9 + 8]
    w.down(by=1)  # at least once
    assert (w.node.data.k.tolist(), w.tick) == ([-1, -3], 4)


def test_the_last_pass_warns_if_the_reduction_is_still_true(nodes: Any) -> None:
    w = game(nodes, 4, 4)
    w.tick = 1
    w.stop(by=1)  # not its tick
    assert w.node.data.k.tolist() == [4, 4]
    w.tick = 2
    message = r"Game\.stop: 'Node.mean_k' is still true after 2"
    with pytest.warns(RuntimeWarning, match=message) as warned:
        w.stop(by=1)  # all passes of an entry that is due
    assert warned[0].filename == __file__
    assert (w.node.data.k.tolist(), w.tick) == ([2, 2], 4)
    w.stop(by=2)
    assert (w.node.data.k.tolist(), w.tick) == ([0, 0], 5)
    w.tick, w.node.data.k = 6, -3
    with pytest.warns(RuntimeWarning, match=r"Game\.stop"):
        w.stop(by=-1)  # what is not 0 is true
    assert w.node.data.k.tolist() == [-1, -1]


def test_kernels_of_an_entry_share_passes_with_each_other_alone(nodes: Any) -> None:
    passes = {
        name: re.findall(r"pass (\d+)", inspect.getdoc(getattr(nodes.Game, name)) or "")
        for name in ("thrice", "down", "listed", "at_times")
    }
    assert passes == {
        "thrice": ["1", "2", "3"],
        "down": ["1", "1", "2"],
        "listed": ["1", "1", "1"],
        "at_times": ["1", "1", "2"],
    }
    w = game(nodes, 5)
    for _ in range(4):
        w.at_times(by=1)
    assert (w.node.data.k.tolist(), w.node.data.m.tolist()) == ([3], [14 + 13])
    w.listed(by=1)
    assert w.node.data.m.tolist() == [27 + 12 + 12]


def test_layout_and_docstring_say_how_often(tmp_path: Path, nodes: Any) -> None:
    shown = layout(tmp_path, REPEATED, "thrice").splitlines()
    column = shown[1].index("again")
    assert [line[column : column + 7].strip() for line in shown[2:5]] == ["", "3 times", ""]
    assert shown[5:] == ["pass 2: Node.fall runs 3 times", "pass 3: Node.fall runs 3 times"]
    text = picture(tmp_path, REPEATED, "stop")
    for words in (">at ticks 0, 2, …<", ">while Node.mean_k, at most 2 times<"):
        assert text.count(words) == 2
    how = "Node.fall (at ticks 0, 2, …; while Node.mean_k, at most 2 times) reads"
    assert how in says(nodes.Game.stop)


@pytest.mark.parametrize("text", [CHOSEN, REPEATED], ids=["members_of_enums", "again_and_again"])
def test_generated_tests_of_schedules_pass(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    folder = tmp_path / f"schedules_of_{len(text)}"
    built = CliRunner().invoke(ecsgen, ["build", str(tmp_path), "--output", str(folder)])
    assert built.exit_code == 0, built.output
    assert failures(tmp_path, folder / "tests" / "test_world.py", "-k", "Schedule") == []


@pytest.mark.parametrize(
    ("entries", "is_bad"),
    [
        ("Node.take, divide", False),
        ("divide, Node.take", False),  # of other rows
        ("{run: [Node.take, reap], times: 2}", True),
        ("{run: [Node.take, reap]}", False),
    ],
)
def test_values_of_rows_that_a_pass_before_may_change(entries: str, is_bad: bool) -> None:
    text = REPEATED.replace(
        "kernels: {divide", 'kernels: {reap: {over: Clock, steps: ["die()"]}, divide'
    )
    _, diagnostics = checked(f"{text}  values: [{entries}]\n")
    assert [each.code for each in diagnostics] == ["E514"] * is_bad
