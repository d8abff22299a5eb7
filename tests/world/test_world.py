"""Worlds: spawning, destroying, collecting, signatures and bundles."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

from tests.support.acceptance_package import package, world_state
from tests.support.world_package import world_package

PARTS = """\
---
component: Health
fields: {hp: {type: f32, default: 10.0}}
---
component: Place
lookup: direct
fields: {at: "f32[2]"}
---
component: Weapon
instances: many
lookup: hash
"""
SCHEMA = f"""
world: Game
doc: A small game.
entity: {{index_bits: 6, generation_bits: 10, min_free: 2}}
{PARTS}destroy: manual
fields: {{damage: i16}}
---
component: Mesh
destroy: callback
fields: {{handle: object}}
---
component: Frozen
release: true
"""
MANAGERS = ("frozen", "health", "mesh", "place", "weapon")


def new_world() -> Any:
    return world_package(SCHEMA, "small_game").Game()


def state(world: Any) -> list[Any]:
    """Everything there is, in the order it is in."""
    return [
        [list(world.entities), len(world.entities)],
        *([list(getattr(world, name)), len(getattr(world, name))] for name in MANAGERS),
        world.health.data.hp.tolist(),
        world.weapon.data.damage.tolist(),
    ]


def test_the_class_has_its_name_and_an_alias() -> None:
    package = world_package(SCHEMA, "small_game")
    assert package.World is package.Game
    assert package.Game.__doc__.startswith("A small game.")
    default = world_package("component: A\nfields: {x: f32}", "default_world")
    assert default.World.__name__ == "World"


@pytest.mark.parametrize(
    ("n", "components", "error"),
    [
        (2, {"health": {"hp": [1.0, 2.0, 3.0]}}, ValueError),
        (2, {"place": {}, "health": {"hp": "much"}}, TypeError),
        (2, {"health": {"hp": 1.0}, "weapon": {"damage": 40_000}}, OverflowError),
        (2, {"mesh": {}, "place": {"at": (1, 2, 3)}}, ValueError),
        (2, {"health": {"size": 1.0}}, TypeError),
        (2, {"weapon": {}, "frozen": {"x": 1}}, TypeError),
        (2, {"place": {}, "unknown": {}}, TypeError),
        (-1, {"health": {}}, ValueError),
        (1.0, {"health": {}}, TypeError),
        (64, {"health": {}}, MemoryError),
    ],
)
def test_a_failing_spawn_leaves_everything(n: Any, components: Any, error: type) -> None:
    world, twin = new_world(), new_world()
    for both in (world, twin):
        es = both.spawn(5, health={"hp": range(5)}, weapon={})
        both.destroy_many(es[:4])
    before = state(world)
    with pytest.raises(error):
        world.spawn(n, **components)
    assert state(world) == before
    assert world.spawn(6).tolist() == twin.spawn(6).tolist()


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ({"health": {"size": 1}}, "Health has no field 'size'; it has hp"),
        ({"weapon": {"damge": 1}}, "Weapon has no field 'damge'; did you mean 'damage'?"),
        ({"weapon": {1: 1}}, "Weapon has no field 1; it has damage"),
        ({"frozen": {"for_": 1}}, "Frozen has no field 'for_'; it has none"),
        ({"health": 3}, "Health takes a dict of its fields, not int"),
        ({"health": [("hp", 3)]}, "Health takes a dict of its fields, not list"),
        ({"helth": {}}, "spawn has no component 'helth'; did you mean 'health'?"),
        ({"Health": {}}, "spawn has no component 'Health'; did you mean 'health'?"),
        ({"zzz": {}}, "spawn has no component 'zzz'; it has frozen, health, mesh, place, weapon"),
    ],
)
def test_components_and_fields_that_there_are_not(components: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        new_world().spawn(2, **components)


def test_components_may_be_called_like_what_spawn_computes() -> None:
    names = ("Given", "Parts", "Columns2", "Stores", "Done", "Borrowed")
    documents = [f"component: {name}\nfields: {{x: f32}}" for name in names]
    world = world_package("\n---\n".join(documents), "spawning_words").World()
    (entity,) = world.spawn(1, given={"x": 1}, parts={}, columns2={}, stores={}, done={}).tolist()
    assert world.given.x(world.given.require(entity)) == 1.0
    assert len(world.components(entity)) == 5


@pytest.mark.parametrize("last", ["health", "place", "weapon"])
def test_a_spawn_that_fails_in_the_middle(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, twin = new_world(), new_world()
    for both in (world, twin):
        es = both.spawn(5, frozen={}, health={"hp": range(5)})
        both.destroy_many(es[1:])
        both.collect()
    before = state(world)

    def fail(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(getattr(world, last)), "_append_many", fail)
        with pytest.raises(MemoryError):
            world.spawn(4, frozen={}, health={}, mesh={}, place={}, weapon={})
    assert state(world) == before
    assert world.spawn(6, health={}).tolist() == twin.spawn(6, health={}).tolist()


def test_columns_of_other_managers_can_be_given() -> None:
    """Even when their rows move: here, because rows of dead entities make way for the new."""
    world = new_world()
    es = world.spawn(8, frozen={}, health={"hp": range(8)})
    world.destroy_many(es[:3])
    world.frozen.on_release(lambda rows: world.health.data.hp.fill(-1.0))
    at = world.health.data.hp[4:5].reshape(1, 1)
    new = world.spawn(1, frozen={}, place={"at": at})
    assert at.tolist() == [[-1.0]]
    assert world.place.at(world.place.lookup(new[0])) == (4.0, 4.0)
    world = new_world()  # where nobody listens
    es = world.spawn(8, health={"hp": range(8)})
    world.destroy_many(es[:3])
    at = world.health.data.hp[:1].reshape(1, 1)
    new = world.spawn(1, health={}, place={"at": at})
    assert at.tolist() == [[7.0]]
    assert world.place.at(world.place.lookup(new[0])) == (0.0, 0.0)


def test_callbacks_of_rows_that_make_way_are_heard_after_the_spawn() -> None:
    world, seen = new_world(), []
    es = world.spawn(4, frozen={})
    world.destroy_many(es)

    def fail(rows: Any) -> None:
        seen.append(rows.tolist())
        raise KeyError(len(rows))

    world.frozen.on_release(fail)
    with pytest.raises(ExceptionGroup) as caught:
        world.spawn(2, frozen={}, weapon={"damage": 7})
    assert len(seen) == len(caught.value.exceptions) == 1
    assert len(world.entities) == 2
    assert world.frozen.has_many(world.entities.live()).all()
    assert world.weapon.data.damage.tolist() == [7, 7]


def test_gc_ends_up_collecting_all() -> None:
    world = new_world()
    world.destroy_many(world.spawn(20, health={}, frozen={}))
    assert sum(world.gc() for _ in range(50)) == 40


@pytest.mark.parametrize("method", ["gc", "collect"])
def test_a_failing_release_does_not_stop_collecting(method: str) -> None:
    world = new_world()
    world.destroy_many(world.spawn(3, frozen={}, health={}))

    def fail(_: Any) -> None:
        raise KeyError

    world.frozen.on_release(fail)
    with pytest.raises(ExceptionGroup):
        getattr(world, method)()
    assert len(world.frozen) == len(world.health) == 0


def test_components_of_an_entity() -> None:
    world, package = new_world(), world_package(SCHEMA, "small_game")
    (a,) = world.spawn(1, health={}, weapon={}).tolist()
    (b,) = world.spawn(1).tolist()
    assert world.components(a) == (package.Health, package.Weapon)
    assert world.components(b) == world.components(0) == ()
    world.weapon.remove(a)
    assert world.components(np.uint64(a)) == (package.Health,)


def test_the_row_of_a_tag_is_true() -> None:
    game = world_package(SCHEMA, "small_game")
    world = game.World()
    e = world.create(game.Frozen())
    assert world.get(e, game.Frozen)
    assert world.frozen.row(0) == ()
    assert world.get(e, game.Health) is None


def test_empty_entities() -> None:
    world = new_world()
    assert world.empty_entities().tolist() == []
    entities = world.spawn(4, health={})
    none = world.spawn(3)
    world.destroy(none[1])
    world.health.remove(entities[2])
    assert world.empty_entities().tolist() == [entities[2], none[0], none[2]]
    assert world.empty_entities().dtype == np.uint64


def test_a_world_without_components() -> None:
    world = world_package("world: Void", "void").Void()
    es = world.spawn(3)
    world.destroy(es[1])
    assert world.empty_entities().tolist() == [es[0], es[2]]
    assert world.gc() == world.collect() == 0
    assert world.components(es[0]) == world.components(0) == ()
    assert list(world_package("world: Void", "void").Signature) == []
    assert world.signature(es[0]) == 0
    assert world.signatures(es).tolist() == [0, 0, 0]


MANY = "\n---\n".join(f"component: C{number:03}" for number in range(65))
BUNDLES = f"""
world: Camp
bundles:
  soldier: [unit, Weapon]
  unit: [Health, Place]
  alone: [Weapon]
  general: [soldier, unit, Crown]
{PARTS}fields: {{damage: i16}}
---
component: Crown
destroy: callback
---
component: Spark
owner: none
fields: {{x: f32}}
"""


def camp() -> Any:
    return world_package(BUNDLES, "camp")


def test_bundles_spawn_with_overrides() -> None:
    world = camp().Camp()
    es = world.spawn_soldier(3, weapon=None)
    signature = camp().Signature
    assert world.signature(es[0]) == signature.SOLDIER == signature.UNIT | signature.WEAPON
    assert signature.ALONE is signature.WEAPON
    with pytest.raises(TypeError):
        world.spawn_unit(1, weapon={})  # not of this bundle
    with pytest.raises(OverflowError):
        world.spawn_soldier(1, weapon={"damage": 40_000})
    assert len(world.entities) == 3


def test_rows_of_the_dead_count_until_they_are_collected() -> None:
    world = camp().Camp()
    (e,) = world.spawn_general(1).tolist()
    world.destroy(e)
    signature = camp().Signature
    assert world.signature(e) == signature.SOLDIER  # the crown went at once
    assert world.signatures([e]).tolist() == [int(signature.SOLDIER)]
    world.collect()
    assert world.signature(e) == 0


@pytest.mark.parametrize("count", [64, 65])
def test_worlds_of_many_components(count: int) -> None:
    """Numbers of 64 bits as long as they suffice."""
    package = world_package("\n---\n".join(MANY.split("\n---\n")[:count]), f"many_{count}")
    world = package.World()
    last = f"c{count - 1:03}"
    es = world.spawn(2, c000={}, **{last: {}})
    empty = world.spawn(1)
    signatures = world.signatures(np.concatenate((es, empty)))
    expected = 1 | 1 << (count - 1)
    assert signatures.dtype == (np.uint64 if count <= 64 else np.object_)
    assert signatures.tolist() == [expected, expected, 0]
    assert all(type(value) is int for value in signatures.tolist())
    signature = world.signature(es[1])
    assert signature == expected
    assert signature.all_of(package.Signature.C000)
    assert signature.any_of(signatures[0])
    assert not signature.none_of(package.Signature[last.upper()])
    assert signature.none_of(package.Signature.C001)
    assert len(package.Signature) == count


def test_a_locked_manager_stops_a_spawn_before_it_begins() -> None:
    for room in (0, 100):
        world = package.World()
        world.several.reserve(room)
        before = world_state(world)
        with world.several.locked(), pytest.raises(package.StructureLockedError):
            world.spawn(70, called={}, plain={}, several={})
        assert world_state(world) == before


def test_columns_may_be_views_of_any_manager_of_the_spawn() -> None:
    world = package.World()
    world.spawn(64, plain={"x": range(64)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.spawn(64, plain={"x": world.plain.data.x}, several={"x": world.plain.data.x})
    assert world.several.data.x.tolist() == list(range(64))
    assert world.plain.data.x.tolist() == 2 * list(range(64))
    held = world.plain.data.x
    with pytest.warns(package.StaleViewWarning) as caught:
        world.spawn(64, plain={})
    assert caught[0].filename == __file__
    assert len(held) == 128


def test_release_callbacks_of_a_spawn_may_fill_other_managers() -> None:
    world = package.World()
    live = world.entities.create_many(100)
    dead = world.spawn(1100, everything={})
    world.destroy_many(dead)

    def fill(rows: object) -> None:
        free = world.mark.capacity - len(world.mark)
        world.mark.create_many(live[:free])

    world.everything.on_release(fill)
    born = world.spawn(3, everything={}, mark={}, plain={})
    assert len(world.mark) == 67
    for manager in (world.everything, world.mark, world.plain):
        assert manager.data.entity[manager.require_many(born)].tolist() == born.tolist()
