"""Signatures of worlds of any size, and bundles that build on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

MANY = "\n---\n".join(f"component: C{number:03}" for number in range(130))
BUNDLES = """
world: Camp
bundles:
  soldier: [unit, Weapon]
  unit: [Health, Place]
  alone: [Weapon]
  general: [soldier, unit, Crown]
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
fields: {damage: i16}
---
component: Crown
destroy: callback
---
component: Spark
owner: none
fields: {x: f32}
"""


def camp() -> Any:
    return world_package(BUNDLES, "camp")


def test_a_flag_for_each_component_that_entities_can_have() -> None:
    signature = camp().Signature
    assert {flag.name: int(flag) for flag in signature} == {
        "CROWN": 1,
        "HEALTH": 2,
        "PLACE": 4,
        "WEAPON": 8,
    }


def test_bundles_are_the_flags_of_their_components() -> None:
    signature = camp().Signature
    assert signature.UNIT == signature.HEALTH | signature.PLACE
    assert signature.SOLDIER == signature.UNIT | signature.WEAPON
    assert signature.ALONE is signature.WEAPON
    assert int(signature.GENERAL) == 15


def test_bundles_spawn_with_overrides() -> None:
    world = camp().Camp()
    es = world.spawn_soldier(3, health={"hp": [1, 2, 3]}, weapon=None)
    assert world.health.data.hp.tolist() == [1.0, 2.0, 3.0]
    assert world.signature(es[0]) == camp().Signature.SOLDIER
    with pytest.raises(TypeError):
        world.spawn_unit(1, weapon={})  # not of this bundle
    with pytest.raises(TypeError):
        world.spawn_unit(1, health=[])
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


def test_a_world_without_components() -> None:
    found = world_package("component: Spark\nowner: none\nfields: {x: f32}", "sparks_only")
    world = found.World()
    es = world.spawn(2)
    assert list(found.Signature) == []
    assert world.signature(es[0]) == 0
    assert world.signatures(es).tolist() == [0, 0]


@pytest.mark.parametrize("count", [64, 65, 130])
def test_worlds_of_many_components(count: int) -> None:
    """Numbers of 64 bits as long as they suffice."""
    found = world_package("\n---\n".join(MANY.split("\n---\n")[:count]), f"many_{count}")
    world = found.World()
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
    assert signature.all_of(found.Signature.C000)
    assert signature.any_of(signatures[0])
    assert not signature.none_of(found.Signature[last.upper()])
    assert signature.none_of(found.Signature.C001)
    assert len(found.Signature) == count
