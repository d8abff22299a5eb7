"""Settings: values of the world that belong to no entity."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import SnapshotError

from tests.support.world_package import world_package

SCHEMA = """\
enum: Mode
values: [calm, wild]
---
component: Body
fields: {x: f64}
---
world: Game
settings:
  gravity: {type: "f32[3]", default: [0, -9.8, 0], unit: m/s^2, doc: Pulls everything down.}
  dt: {type: f32, default: 0.5, min: 0.25, max: 1}
  lives: {type: u8, default: 3}
  mode: Mode
  name: "str[8]"
  on: "bool[2]"
  home: entity
  rng: object
"""
CODECS: dict[str, Any] = {
    "settings.rng": (lambda value: repr(value).encode(), lambda data: eval(data))
}


def game() -> Any:
    return world_package(SCHEMA, "game_with_settings").Game()


def of(text: str) -> Any:
    """Return another game's world, whose settings are these."""
    schema = SCHEMA.partition("settings:")[0] + text
    return world_package(schema, f"game_{abs(hash(text))}").Game


def test_they_read_and_write_as_rows_do() -> None:
    s = game().settings
    assert (s.dt, s.lives, s.mode.name, s.name, s.on, s.home, s.rng) == (
        *(0.5, 3, "calm", "", (False, False), 0),
        None,
    )
    s.gravity[1] = -3
    s.dt, s.lives, s.mode, s.name, s.on = 0.75, 200, 1, "Ü", (True, False)
    s.rng = rng = np.random.default_rng(1)
    assert s.gravity.tolist() == [0, -3, 0]
    assert (s.dt, s.lives, s.mode.name, s.name, s.on) == (0.75, 200, "wild", "Ü", (True, False))
    assert s.rng is rng
    assert repr(game().settings) == (
        "GameSettings(gravity=array([ 0. , -9.8,  0. ], dtype=float32), dt=0.5, lives=3, "
        "mode=<Mode.calm: 0>, name='', on=(False, False), home=0, rng=None)"
    )
    assert dir(s) == sorted(["FIELDS", *(info.name for info in s.FIELDS)])


@pytest.mark.parametrize(
    ("name", "value", "error", "why"),
    [
        ("dt", 0.2, ValueError, "dt: 0.2.* is less than 0.25"),
        ("dt", 1.5, ValueError, "is more than 1"),
        ("dt", float("nan"), ValueError, "is less than"),
        ("dt", "1", TypeError, "dt"),
        ("lives", 256, OverflowError, "lives"),
        ("lives", 1.5, TypeError, "lives"),
        ("mode", 2, ValueError, "mode"),
        ("name", "far too long", ValueError, "name"),
        ("gravity", [1, 2], ValueError, "gravity"),
        ("dtt", 1, AttributeError, "no setting 'dtt'; did you mean 'dt'"),
    ],
)
def test_what_does_not_fit_changes_nothing(name: str, value: Any, error: Any, why: str) -> None:
    world = game()
    before = repr(world.settings)
    with pytest.raises(error, match=why):
        setattr(world.settings, name, value)
    if error is not AttributeError:
        with pytest.raises(error, match=why):
            type(world.settings)(**{name: value})
    with pytest.raises(AttributeError, match="settings"):
        world.settings = 3
    assert repr(world.settings) == before


def test_what_they_are_is_told() -> None:
    package = world_package(SCHEMA, "game_with_settings")
    assert package.Settings is package.GameSettings
    infos = {info.name: info for info in package.GameSettings.FIELDS}
    assert [*infos] == ["gravity", "dt", "lives", "mode", "name", "on", "home", "rng"]
    assert (infos["dt"].min, infos["dt"].max, infos["lives"].min) == (0.25, 1, None)
    assert (infos["gravity"].unit, infos["gravity"].doc) == ("m/s^2", "Pulls everything down.")
    assert package.BodyManager.FIELDS[0].min is None
    assert package.GameSettings(dt=1).dt == 1
    with pytest.raises(TypeError, match="'dtt'"):
        package.GameSettings(dtt=1)


def test_copies_have_their_own() -> None:
    world = game()
    world.settings.gravity[0], world.settings.rng = 2, {"a": 1}
    for twin in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert repr(twin.settings) == repr(world.settings)
        twin.settings.gravity[0] = 5
        twin.settings.dt = 1
    assert (world.settings.gravity[0], world.settings.dt) == (2, 0.5)
    alone = copy.copy(world.settings)
    alone.lives = 9
    assert world.settings.lives == 3


def test_they_are_saved_as_a_component_of_one_row(tmp_path: Any) -> None:
    world = game()
    world.settings.dt, world.settings.name, world.settings.rng = 0.75, "ab", [1, 2]
    with pytest.raises(SnapshotError, match=r"no codec for settings\.rng"):
        world.to_bytes()
    data = world.to_bytes(codecs=CODECS)
    (tmp_path / "game.snap").write_bytes(data)
    kind = type(world)
    mapped = kind.load(tmp_path / "game.snap", codecs=CODECS, mmap=True)
    for again in (kind.load(data, codecs=CODECS), mapped):
        assert repr(again.settings) == repr(world.settings)
        assert again.to_bytes(codecs=CODECS) == data
    mapped.settings.dt = 1
    assert kind.load(data, codecs={"settings.rng": None}).settings.rng is None


def test_saved_ones_follow_the_schema() -> None:
    world = game()
    world.settings.lives, world.settings.dt = 7, 0.75
    data = world.to_bytes(codecs=CODECS)
    removed = (
        "removed: [settings.gravity, settings.name, settings.on, settings.home, settings.rng]\n"
    )
    settings = (
        "settings: {health: {type: i64, renamed_from: [lives]}, dt: f64, mode: Mode, "
        "new: {type: i8, default: 5}}\n"
    )
    s = of(settings + removed).load(data).settings
    assert (s.health, s.dt, s.mode.name, s.new) == (7, 0.75, "calm", 5)
    world.settings.gravity[0] = 1
    with pytest.raises(SnapshotError, match=r"settings\.gravity; to keep it, write"):
        of(settings).load(world.to_bytes(codecs=CODECS))
    without = of("")().to_bytes()
    assert of(settings).load(without).settings.new == 5


def test_arrays_and_generators_of_the_world_need_no_codec() -> None:
    world = game()
    world.a = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1]
    world.b, world.c = np.array(3, np.float32), np.zeros((0, 2), np.bool_)
    kinds = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    for kind in kinds:
        generator = np.random.Generator(getattr(np.random, kind)(5))
        generator.integers(0, 9, dtype=np.uint32)
        setattr(world, kind.lower(), generator)
    data = world.to_bytes(codecs=CODECS)
    again = type(world).load(data, codecs=CODECS)
    for name in "abc":
        array, loaded = getattr(world, name), getattr(again, name)
        assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
        assert np.array_equal(loaded, array)
    assert again.to_bytes(codecs=CODECS) == data
    for kind in kinds:
        drawn = [getattr(w, kind.lower()).integers(0, 99, 7, np.uint32) for w in (world, again)]
        assert np.array_equal(*drawn)
    dropped = type(world).load(data, codecs=CODECS, drop=["world.a", "world.sfc64"])
    assert [hasattr(dropped, name) for name in ("a", "sfc64", "b")] == [False, False, True]
