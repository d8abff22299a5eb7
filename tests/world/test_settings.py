"""Settings of worlds: values, bounds, kernels that read them, managers alone, copies, snapshots."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import SnapshotError

from ecsgen.config import BACKENDS, Backend
from tests.support.schema_evolution import loaded, world
from tests.support.world_package import world_package

SCHEMA = """\
enum: Mode
values: [calm, wild]
---
component: Body
fields: {x: f64, v: "f32[3]", at: "f64[2]", mode: Mode, big: u64}
space: {field: at}
kernels:
  move: {args: {by: f64}, steps: ["x += by * settings.dt", "v += settings.gravity"]}
  calm:
    where: settings.on
    near: settings.vision
    steps: ["mode = settings.mode", "big = settings.big - u64(count())"]
reductions:
  fast: {count: x > settings.dt}
  total: {sum: x * settings.dt}
---
component: Cell
grid: {shape: [3, 4]}
fields: {near_: i64}
kernels: {look: {near: {radius: settings.reach}, steps: [near_ = count()]}}
---
component: Bare
fields: {x: f32}
---
world: Game
settings:
  gravity: {type: "f32[3]", default: [0, -9.5, 0], unit: m/s^2, doc: Pulls everything down.}
  dt: {type: f64, default: 0.5, min: 0, max: 2}
  big: {type: u64, default: 18446744073709551615}
  "on": {type: bool, default: true}
  mode: {type: Mode, default: wild}
  vision: {type: f32, default: 1.5}
  reach: {type: u8, default: 1}
  title: {type: "str[8]", default: hi}
  turned: {type: "f64[2,2]", default: [[1, 2], [3, 4]]}
  rng: object
kernels:
  fall: {over: Body, where: Body.x > settings.dt, steps: ["Body.v.x = settings.gravity.y"]}
  share: {over: Body, turns: rows, steps: ["Body.x += f64(Body.fast()) * settings.dt"]}
records: {herd: {mean_x: {mean: Body.x * settings.dt}}}
"""


@pytest.fixture(params=BACKENDS)
def backend(request: Any) -> Backend:
    return request.param  # type: ignore[no-any-return]


def package(backend: Backend = "numpy") -> Any:
    return world_package(SCHEMA, f"settings_{backend}", backend)


def test_settings_read_as_accessors_do_and_are_checked() -> None:
    w = package().Game()
    s = w.settings
    assert (s.dt, s.big, s.on, s.mode.name, s.title, s.rng) == (
        *(0.5, 2**64 - 1, True, "wild", "hi"),
        None,
    )
    s.gravity[1] = -3
    assert s.gravity.tolist() == [0, -3, 0]
    s.rng, s.mode, s.title = [1], 0, "ho"
    assert (s.rng, s.mode.name, s.title) == ([1], "calm", "ho")
    assert s.turned.tolist() == [[1, 2], [3, 4]]
    s.turned = [[5, 6], [7, 8]]
    s.turned[1, 0] = 9
    assert s.__copy__().turned.tolist() == [[5, 6], [9, 8]]
    with pytest.raises(AttributeError, match="settings"):
        w.settings = s
    assert repr(s).startswith("GameSettings(gravity=")
    assert "title='ho'" in repr(s)


@pytest.mark.parametrize(
    ("name", "value", "error", "why"),
    [
        ("dt", -0.5, ValueError, "dt: -0.5.* is less than 0"),
        ("dt", 2.5, ValueError, "is more than 2"),
        ("dt", float("nan"), ValueError, "dt: nan is within no bounds"),
        ("dt", "1", TypeError, "dt"),
        ("reach", 256, OverflowError, "reach"),
        ("reach", 1.5, TypeError, "reach"),
        ("mode", 2, ValueError, "mode"),
        ("title", "far too long", ValueError, "title"),
        ("gravity", [1, 2], ValueError, "gravity"),
        ("gravit", 1, AttributeError, "no setting 'gravit'; did you mean 'gravity'"),
    ],
)
def test_what_does_not_fit_changes_nothing(name: str, value: Any, error: Any, why: str) -> None:
    settings = package().Game().settings
    before = repr(settings)
    with pytest.raises(error, match=why):
        setattr(settings, name, value)
    assert repr(settings) == before
    with pytest.raises(TypeError if error is AttributeError else error, match=name):
        type(settings)(**{name: value})


def test_fields_of_settings_say_their_bounds() -> None:
    p = package()
    infos = {info.name: info for info in p.GameSettings.FIELDS}
    assert (infos["dt"].min, infos["dt"].max, infos["reach"].min) == (0.0, 2.0, None)
    assert infos["gravity"].unit == "m/s^2"
    assert p.Settings is p.GameSettings


def test_kernels_reductions_and_tables_read_settings(backend: Backend) -> None:
    w = package(backend).Game()
    w.spawn(5, body={"x": np.arange(5.0), "at": [[0, 0], [1, 0], [9, 9], [9, 8], [0, 1]]})
    w.settings.dt, w.settings.gravity = 0.25, [1, -2, 3]
    w.body.move(2)
    assert w.body.data.x.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert w.body.data.v[0].tolist() == [1, -2, 3]
    assert (w.body.fast(), w.body.total()) == (5, 12.5 / 4)
    w.settings.on = False
    w.body.calm()
    assert w.body.data.big.tolist() == [0] * 5
    w.settings.on = True
    w.body.calm()
    assert w.body.data.big.tolist() == [2**64 - 1 - k for k in (2, 2, 1, 1, 2)]
    assert w.body.data.mode.tolist() == [1] * 5
    w.settings.dt = 2.0
    w.fall()
    assert w.body.data.v[:, 0].tolist() == [1, 1, -2, -2, -2]
    w.records.herd.write()
    w.share()
    assert w.body.data.x.tolist() == [6.5, 7.5, 8.5, 9.5, 10.5]
    assert w.records.herd.mean_x.tolist() == [5.0]
    w.cell.look()
    w.settings.reach = 0
    before = w.cell.data.near_.tolist()
    w.cell.look()
    assert before[0] == 3
    assert w.cell.data.near_.tolist() == [0] * 12
    w.settings.vision = 0
    with pytest.raises(ValueError, match=r"settings\.vision"):
        w.body.calm()


def test_managers_alone_have_settings_of_their_own() -> None:
    p = package()
    entities = p.EntityManager()
    shared = p.GameSettings(dt=2.0)
    m, other = p.BodyManager(entities, settings=shared), p.BodyManager(entities)
    m.create(entities.create(), x=1.0)
    m.move(2.0)
    assert m.data.x.tolist() == [5.0]
    assert m.settings is shared
    assert other.settings.dt == 0.5
    assert p.CellManager(shape=(2, 2)).settings.reach == 1
    assert not hasattr(p.BareManager(entities), "settings")
    with pytest.raises(TypeError, match="settings are a GameSettings, not dict"):
        p.BodyManager(entities, settings={})
    with pytest.raises(AttributeError):
        m.settings = shared
    for twin in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        twin.settings.dt = 1.0
        assert (shared.dt, twin.data.x.tolist()) == (2.0, [5.0])


def test_copies_of_a_world_have_one_settings_object_for_all() -> None:
    w = package().Game()
    w.settings.dt = 0.25
    assert w.settings is w.body.settings is w.cell.settings
    for twin in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert twin.settings is twin.body.settings is twin.cell.settings
        assert twin.settings is not w.settings
        assert twin.settings.dt == 0.25


def test_settings_are_saved_with_the_world() -> None:
    p = package()
    w = p.Game()
    w.settings.dt, w.settings.title, w.settings.rng = 0.25, "ho", [1]
    w.settings.gravity[0] = 4
    with pytest.raises(SnapshotError, match=r"settings\.rng"):
        w.to_bytes()
    codecs = {"settings.rng": (lambda value: bytes(value), lambda data: [*data])}
    again = p.Game.load(w.to_bytes(codecs=codecs), codecs=codecs)
    assert repr(again.settings) == repr(w.settings)
    assert again.body.settings is again.settings


def test_arrays_and_generators_of_worlds_need_no_codec() -> None:
    w = package().Game()
    w.heights, w.rng = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.random.default_rng(3)
    w.rng.random(5)
    again = package().Game.load(w.to_bytes(codecs={"settings.rng": None}), codecs={"*": None})
    assert again.heights.dtype == np.float32
    assert np.array_equal(again.heights, w.heights)
    assert again.rng.random(3).tolist() == w.rng.random(3).tolist()


def test_a_world_called_world_has_settings() -> None:
    text = "world: World\nsettings: {dt: {type: f64, default: 0.5}}"
    assert world_package(text, "settings_of_world").World().settings.dt == 0.5


MODES = "enum: Mode\nvalues: [calm, wild]\n---\nworld: Game\n"
OLD = "settings: {gravity: 'f32[3]', dt: {type: f32, default: 0.5}, lives: u8, mode: Mode}\n"
NEW = (
    "settings: {health: {type: i64, renamed_from: [lives]}, dt: f64, mode: Mode, "
    "new: {type: i8, default: 5}}\n"
)


def test_saved_ones_follow_the_schema() -> None:
    old = world(MODES + OLD)
    old.settings.lives, old.settings.dt = 7, 0.75
    s = loaded(old, f"{MODES}{NEW}removed: [settings.gravity]\n").settings
    assert (s.health, s.dt, s.mode.name, s.new) == (7, 0.75, "calm", 5)
    old.settings.gravity[0] = 1
    with pytest.raises(SnapshotError, match=r"settings\.gravity; to keep it, write"):
        loaded(old, MODES + NEW)
    assert loaded(world(MODES), MODES + NEW).settings.new == 5
