"""Rows and entities one at a time, as mypy sees them: what it knows, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

from generated import (
    Armor,
    Element,
    Entity,
    EntityView,
    Game,
    Id,
    Instance,
    MissingInstanceError,
    Particle,
    ParticleManager,
    SoundSource,
    Spark,
    StaleIdError,
    Villager,
    VillagerManager,
    Weapon,
)
from generated.armor import ArmorRef
from generated.enums import Loot
from generated.particle import ParticleRef
from generated.spark import SparkRef


class Particles(ParticleManager):
    """A manager with a method of its own."""

    __slots__ = ()

    def oldest(self) -> ParticleRef:
        """Return the row that has lived longest."""
        return self[self.entity(int(self.data.life.argmin()))]


class MyGame(Game, managers={"particle": Particles}):
    """A world of which one manager is another."""

    particle: Particles


def test_a_proxy_has_the_fields_types() -> None:
    w = Game()
    e = w.create(Particle(life=2.0))
    x = w.particle[e]
    assert_type(x, ParticleRef)
    assert_type(x.life, float)
    assert_type(x.position, NDArray[np.float32])
    assert_type(x.colour, NDArray[np.uint8])
    assert_type(x.row, Instance)
    assert_type(x.entity, Entity)
    x.life += 1
    x.position += (1, 2)
    x.position[0] = 5
    x.velocity = [3, 4]
    assert w.particle.row(x.row) == ((5.0, 2.0), (3.0, 4.0), 3.0, (255, 255, 255, 255))
    for y in w.particle.rows():
        assert_type(y, ParticleRef)
        y.life *= 2
    assert x.life == 6
    villager = w.villager[w.create(Villager())]
    assert_type(villager.loot, Loot)
    assert_type(villager.home, NDArray[np.float32])


def test_ids_have_proxies() -> None:
    w = Game()
    id = w.spark.create(heat=0.5)
    x = w.spark[id]
    assert_type(x, SparkRef)
    assert_type(x.position, NDArray[np.float32])
    x.position += (1, 2)
    assert w.spark.position(x.row) == (1.0, 2.0)
    with pytest.raises(AttributeError, match="entity"):
        _ = x.entity  # type: ignore[attr-defined]
    w.spark.destroy_id(id)
    with pytest.raises(StaleIdError):
        _ = x.heat


def test_views_of_entities_have_types() -> None:
    w = Game()
    e = w.create(Particle(), Armor(points=3))
    x = w[e]
    assert_type(x, EntityView)
    assert_type(x.particle, ParticleRef)
    assert_type(x.armor, ArmorRef)
    assert_type(x.armor.element, Element)
    assert_type(x.armor.points, int)
    assert_type(w.get(e, Particle), Particle | None)
    assert_type(w.get(e, Weapon), Weapon | None)
    assert w.get(e, Weapon) is None
    x.armor.points += 2
    x.particle.life += 2
    assert x.armor.points == 5
    assert w.archetypes.get(e, Armor).points == 5
    for live in w:
        assert_type(live, Entity)
    assert Particle in x
    with pytest.raises(AttributeError, match="did you mean 'particle'"):
        _ = x.partcle  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="spark"):
        _ = x.spark  # type: ignore[attr-defined]
    with pytest.raises(MissingInstanceError):
        _ = x.weapon
    with pytest.raises(AttributeError):
        x.particle = x.particle  # type: ignore[misc]


def test_attributes_of_a_row_have_types() -> None:
    w = Game()
    e = w.create(Particle(life=2.0))
    with pytest.raises(TypeError, match=r"Particle\.life"):
        w.particle[e].life = "3"  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="'lif'"):
        _ = w.particle[e].lif  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        w.particle[e].lif = 3  # type: ignore[attr-defined]


def test_calls_for_one_row_take_ints() -> None:
    """So that a range will do; what they return is a row all the same."""
    w = Game()
    w.spawn(3, particle={"life": [1, 2, 3]}, scene_node={}, ai_state={}, sound_source={})
    w.spark.create_many(3)
    for row in range(3):
        w.particle.set_life(row, w.particle.life(row) + 1)
        assert_type(w.particle.row(row), Particle)
        assert_type(w.particle.entity(row), Entity)
        assert_type(w.sound_source.next(row), Instance)
        assert_type(w.scene_node.parent(row), Instance)
        assert_type(w.spark.activate(row), Instance)
        assert_type(w.spark.id_of(row), Id)
    w.scene_node.set_parent(1, 0)
    assert w.scene_node.children(0).tolist() == [1]
    w.particle.destroy(0)
    assert w.particle.data.life.tolist() == [4.0, 3.0]


def test_managers_of_ones_own() -> None:
    w = MyGame()
    w.spawn(3, particle={"life": [2, 1, 3]})
    assert_type(w.particle, Particles)
    assert_type(w.particle.oldest().life, float)
    for world in (w, copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert type(world) is MyGame
        assert type(world.particle) is Particles
        assert world.particle.oldest().row == 1
    assert type(Game().particle) is ParticleManager


def test_subclasses_inherit_managers_of_ones_own() -> None:
    class Villagers(VillagerManager):
        __slots__ = ()

    class Larger(MyGame, managers={"villager": Villagers}):
        villager: Villagers

    w = Larger()
    assert (type(w.particle), type(w.villager)) == (Particles, Villagers)


@pytest.mark.parametrize(
    ("managers", "message"),
    [
        ({"partcle": Particles}, "no component 'partcle'; did you mean 'particle'"),
        ({"particle": VillagerManager}, "'particle' takes a subclass of ParticleManager"),
        ({"particle": Particles(Game().entities)}, "'particle' takes a subclass"),
        ([Particles], "managers takes a dict"),
    ],
)
def test_managers_of_ones_own_are_checked(managers: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type("Wrong", (Game,), {}, managers=managers)


def test_rows_of_lists_end_with_a_change() -> None:
    w = Game()
    e = w.create(SoundSource(), SoundSource(volume=0.5))
    assert [x.volume for x in w.sound_source.rows()] == [1.0, 0.5]
    assert w.sound_source[e].volume == 1.0
    assert repr(w[e]).count("SoundSource(") == 2
    assert w[e].remove(SoundSource) == 2
    assert Spark not in w[e]
