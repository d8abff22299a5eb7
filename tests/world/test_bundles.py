"""Bundles with values: what a call says wins, then outer bundles, inner ones, defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import checked, load, world_package

SCHEMA = """\
world: Camp
bundles:
  unit: {Health: {hp: 50, at: [[1, 2], [3, 4]]}, Place: {spot: [5, 6]}}
  soldier:
    Armor: {kind: heavy, way: {way}, since: "2024-01-31", wait: 3}
    unit: {}
    Health: {hp: 80}
  plain: [soldier, Note]
  named: {Note: {name: bob, raw: [1, 0, 2], said: much}}
  mage: {unit: {}, Magic: {power: 3}}
  one: {Tag: {k: 7}}
archetypes: {components: [Magic]}
kernels:
  born:
    over: Tag
    steps:
      - spawn(soldier, Health(mp=Tag.k), where=Tag.k > 1)
      - spawn(unit, Note(), where=Tag.k > 2)
      - spawn(named)
  one_kind: {over: Tag, steps: ["spawn(soldier, Health(hp=Tag.k, mp=1), Tag())"]}
  handled: {over: Tag, steps: ["who = spawn(one, Armor(way=1))", "Tag.other = who"]}
  nested:
    over: Tag
    turns: rows
    steps: |
      for k in range(Tag.k):
          spawn(unit, Place(spot=vec(k, 1)))
---
enum: Kind
values: [light, heavy]
---
component: Health
fields: {hp: {type: f32, default: 10}, mp: i32, at: "i16[2,2]"}
---
component: Place
fields: {spot: {type: "f64[2]", split: true}}
---
component: Armor
destroy: callback
fields: {kind: Kind, way: u64, since: "datetime[s]", wait: "timedelta[ms]"}
---
component: Note
cold: indirect
fields: {name: "str[8]", raw: "bytes[4]", said: {type: "str[8]", tags: [cold]}, thing: object}
---
component: Magic
fields: {power: i32, left: {type: i32, default: 2}}
---
component: Tag
fields: {k: i32, other: entity}
""".replace("{way}", str(2**63))


def camp(backend: Backend = "numpy") -> Any:
    return world_package(SCHEMA, f"bundled_camp_{backend}", backend).Camp()


def rows(world: Any, entity: Any) -> dict[str, dict[str, Any]]:
    """Return the fields of all components of an entity."""
    kinds = world.components(int(entity))
    return {kind.__name__: world.get(int(entity), kind)._asdict() for kind in kinds}


SOLDIER: dict[str, dict[str, Any]] = {
    "Armor": {
        "kind": 1,
        "way": 2**63,
        "since": np.datetime64("2024-01-31", "s"),
        "wait": np.timedelta64(3, "ms"),
    },
    "Health": {"hp": 80.0, "mp": 0, "at": ((1, 2), (3, 4))},
    "Place": {"spot": (5.0, 6.0)},
}
NOTE = {"name": "bob", "raw": b"\1\0\2\0", "said": "much", "thing": None}


@pytest.mark.parametrize("count", [1, 2, 40])
def test_values_stand_for_defaults(count: int) -> None:
    world = camp()
    for spawn, expected in (
        (world.spawn_soldier, SOLDIER),
        (world.spawn_named, {"Note": NOTE}),
        (world.spawn_mage, {"Magic": {"power": 3, "left": 2}}),
    ):
        for e in spawn(count):
            assert expected.items() <= rows(world, e).items()
    (e,) = world.spawn_plain(1)
    assert rows(world, e)["Note"] == dict.fromkeys(("name", "said"), "") | {
        "raw": bytes(4),
        "thing": None,
    }


@pytest.mark.parametrize("count", [1, 2, 40])
def test_what_the_call_gives_wins_by_field(count: int) -> None:
    world = camp()
    more = {"mp": list(range(count))}
    for k, e in enumerate(world.spawn_soldier(count, health=more, armor={"kind": "light"})):
        assert rows(world, e)["Health"] == SOLDIER["Health"] | {"mp": k}
        assert rows(world, e)["Armor"] == SOLDIER["Armor"] | {"kind": 0}
    health = world_package(SCHEMA, "bundled_camp_numpy").Health
    for e in world.spawn_soldier(count, health=health(mp=4)):  # a row gives all of its fields
        assert rows(world, e)["Health"] == {"hp": 10.0, "mp": 4, "at": ((0, 0), (0, 0))}
    for e in world.spawn_mage(count, magic={"left": 5}):
        assert rows(world, e)["Magic"] == {"power": 3, "left": 5}
    with pytest.raises(TypeError, match="'hpp'"):
        world.spawn_soldier(count, health={"hpp": 1})
    with pytest.raises(TypeError, match="takes a dict"):
        world.spawn_soldier(count, health=3)
    assert world.BUNDLE_VALUES["soldier"]["health"].keys() == {"hp", "at"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_spawn_with_the_values(backend: Backend) -> None:
    world = camp(backend)
    world.spawn(3, tag={"k": [1, 2, 3]})
    world.born()
    born = [rows(world, e) for e in list(world.entities)[3:]]
    soldiers = [SOLDIER | {"Health": SOLDIER["Health"] | {"mp": mp}} for mp in (2, 3)]
    bare = {"name": "", "raw": bytes(4), "said": "", "thing": None}
    unit = {"Health": SOLDIER["Health"] | {"hp": 50.0}, "Place": SOLDIER["Place"], "Note": bare}
    named = {"Note": NOTE}
    assert born == [named, soldiers[0], named, soldiers[1], unit, named]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_spawn_with_the_values_twice(backend: Backend) -> None:
    """One statement of plain rows, which compiled loops append; buffers serve the next call."""
    world = camp(backend)
    world.spawn(2, tag={"k": [1, 2]})
    for _ in range(2):
        before = len(world.entities)
        world.one_kind()
        for k, e in zip((1, 2), list(world.entities)[before:], strict=False):
            assert rows(world, e) == SOLDIER | {
                "Health": SOLDIER["Health"] | {"hp": k, "mp": 1},
                "Tag": {"k": 0, "other": 0},
            }


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_of_those_whose_handles_are_known(backend: Backend) -> None:
    world = camp(backend)
    (e,) = world.spawn_one(1)
    world.handled()
    born = world[int(e)].tag.other
    assert rows(world, born)["Tag"] == {"k": 7, "other": 0}
    assert (world[born].armor.way, world[born].armor.kind) == (1, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_of_any_number_in_a_loop(backend: Backend) -> None:
    world = camp(backend)
    world.spawn_one(2)
    world.nested()
    assert world.health.data.hp.tolist() == [50.0] * 14
    assert world.place.data.spot_x.tolist() == [*range(7)] * 2
    assert world.place.data.spot_y.tolist() == [1.0] * 14


WORLD = """
---
component: Health
fields: {hp: f32}
"""
BUNDLES = {
    "{a: {Health: {hp: 1}}, b: {Health: {hp: 2}}, c: [a, b]}": "'a' and 'b' in bundle 'c'",
    "{a: {Health: {hp: 1}}, b: {a: {}, Health: {hp: 2}}, c: {a: {}, b: {}}}": "'a' and 'b'",
    "{a: {Health: {hp: 0.0}}, b: {Health: {hp: -0.0}}, c: [a, b]}": "Health.hp",
}


@pytest.mark.parametrize("text", BUNDLES)
def test_inner_bundles_that_differ(text: str) -> None:
    _, diagnostics = checked(f"world: W\nbundles: {text}{WORLD}")
    (error,) = diagnostics.errors
    assert error.code == "E523"
    assert BUNDLES[text] in error.message


@pytest.mark.parametrize(
    ("text", "hp"),
    [
        ("{a: {Health: {hp: 1}}, b: {Health: {hp: 2}}, c: {a: {}, b: {}, Health: {hp: 3}}}", 3.0),
        ("{a: {Health: {hp: 1}}, b: {Health: {}}, c: {b: {}, Health: {}, a: {}}}", 1.0),
        ("{a: {Health: {hp: 1}}, b: {a: {}}, d: [a], c: [b, d]}", 1.0),
        ("{a: {Health: {hp: .nan}}, b: {Health: {hp: .nan}}, c: [a, b]}", None),
        ("{c: {b: {}, Health: {hp: 5}}, b: {Health: {hp: 4}}}", 5.0),
    ],
)
def test_which_value_a_bundle_has(text: str, hp: float | None) -> None:
    bundles = {b.name: b.values for b in load(f"world: W\nbundles: {text}{WORLD}").world.bundles}
    value = bundles["c"]["Health"]["hp"]
    assert value == hp if hp is not None else value != value
