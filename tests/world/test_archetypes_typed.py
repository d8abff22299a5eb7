"""Archetypes are typed by component: what mypy knows here, and what it refuses."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

from generated import Armor, Burning, Element, Entity, Game, Health, MissingInstanceError, Transform


def test_rows_and_columns_have_types() -> None:
    w = Game()
    store = w.archetypes
    es = store.create([Health, Armor], n=2, health={"points": [1, 2]}, armor={"points": 3})
    e = w.entities.create()
    store.add(e, Health, points=5.0)
    store.add(e, Armor, points=3, element=Element.frost)
    store.add_many(es, Burning)
    assert_type(store.get(e, Health), Health)
    assert_type(store.get(e, Armor).element, Element)
    for chunk in store.chunks(all=[Health], none=[Burning]):
        assert_type(chunk.health.points, NDArray[np.float32])
        assert_type(chunk.entity, NDArray[np.uint64])
        chunk.health.points *= 2
        chunk.armor.points = [4]
    store.set(e, Health, limit=50.0)
    assert store.get(e, Health) == (10.0, 50.0, 0.0)
    assert store.get(e, Armor) == (4, Element.frost)


def test_rows_are_values_of_their_types() -> None:
    w = Game()
    es = w.spawn(2, transform=Transform(), armor=Armor(points=3))
    assert_type(w.archetypes.get(es[0], Armor).points, int)
    w.archetypes.add(es[0], Health(limit=5))
    w.archetypes.add_many(es[1:], Health())
    w.archetypes.create([Armor], 2, armor=Armor(element=Element.frost))
    assert_type(w.transform.FIELDS[0].unit, str)
    assert_type(Game.MANAGERS[0], str)
    with pytest.raises(TypeError, match="Transform"):
        w.archetypes.add(es[0], Transform())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not Armor"):
        w.spawn(1, transform=Armor())  # type: ignore[arg-type]


def test_what_mypy_refuses_raises() -> None:
    w = Game()
    e = w.entities.create()
    with pytest.raises(TypeError, match="pionts"):
        w.archetypes.add(e, Armor, pionts=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"Armor\.points"):
        w.archetypes.add(e, Armor, points="3")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="Transform"):
        w.archetypes.get(e, Transform)  # type: ignore[type-var]
    with pytest.raises(MissingInstanceError):
        w.archetypes.get(e, Armor)
    w.archetypes.add(e, Armor)
    (chunk,) = w.archetypes.chunks()
    with pytest.raises(AttributeError):
        _ = chunk.amor  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="Armor"):
        _ = chunk.health


def test_queries_have_types() -> None:
    w = Game()
    es = w.archetypes.create([Health, Burning], 2)
    for chunk in w.ablaze.chunks():
        assert_type(chunk.health.points, NDArray[np.float32])
        chunk.health.points -= 1
    assert_type(w.ablaze.rows().entity, NDArray[np.uint64])
    assert w.ablaze.rows().entity.tolist() == es.tolist()
    for row in w.ablaze:
        assert_type(row.entity, Entity)
        assert w.archetypes.get(row.entity, Health).points == 99
    assert len(w.fighters) == 0
