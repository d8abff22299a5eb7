"""Settings refuse values that do not fit; those that are saved follow the schema."""

from __future__ import annotations

from typing import Any

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
  turned: {type: "f64[2,2]", default: [[1, 2], [3, 4]]}
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


def test_matrices() -> None:
    settings = game().settings
    assert settings.turned.tolist() == [[1, 2], [3, 4]]
    settings.turned = [[5, 6], [7, 8]]
    settings.turned[1, 0] = 9
    assert settings.__copy__().turned.tolist() == [[5, 6], [9, 8]]


def test_saved_ones_follow_the_schema() -> None:
    world = game()
    world.settings.lives, world.settings.dt = 7, 0.75
    data = world.to_bytes(codecs=CODECS)
    removed = (
        "removed: [settings.gravity, settings.name, settings.on, settings.home, settings.turned, "
        "settings.rng]\n"
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
