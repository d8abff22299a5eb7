"""What bulk calls are given: lists of objects, and keys that there are not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.support.queried_camp import COUNT, together

# --- objects in bulk ---------------------------------------------------------------------------

WRONG = r"Place\.plain: wanted 2 objects .*, not 3; .*write \[x\] \* 2"


def test_lists_of_objects_are_one_per_row() -> None:
    world = together()
    es = world.entities.create_many(2)
    three = ["a", "b", "c"]
    for wrong in (three, np.array(three, object), [[1], [2], [3]], np.zeros((3, 2))):
        with pytest.raises(ValueError, match=WRONG):
            world.place.create_many(es, plain=wrong)
        with pytest.raises(ValueError, match=WRONG):
            world.spawn(2, place={"plain": wrong})
        assert len(world.place) == COUNT
    world.place.create_many(es, plain=[three] * 2)
    assert all(cell is three for cell in world.place.data.plain[COUNT:])
    with pytest.raises(ValueError, match=r"Place\.plain: wanted 8"):
        world.place.data.plain = three
    with pytest.raises(ValueError, match=r"Place\.plain: wanted 6"):
        world.movers.place.plain = three
    for one in (("a", "b", "c"), {"a": 1}, "abc", None, np.array(5), {1, 2}):
        world.place.data.plain = one
        assert all(cell is one for cell in world.place.data.plain)
    (single,) = world.spawn(1, place={"plain": ["sword"]})
    assert world.place.plain(world.place.lookup(single)) == "sword"
    with pytest.raises(ValueError, match="wanted 0 objects"):
        world.spawn(0, place={"plain": three})


def test_lists_of_objects_in_archetypes() -> None:
    world = together()
    heat = world.burning._ALL[0]
    for wrong in (["a", "b", "c"], np.arange(3)):
        with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
            world.archetypes.create([heat], 2, heat={"source": wrong})
        with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
            world.spawn(2, heat={"source": wrong})
    whole = ["a", "b"]
    es = world.archetypes.create([heat], 2, heat={"source": whole})
    assert [world.archetypes.get(e, heat).source for e in es] == whole
    world.archetypes.set(es[0], heat, source=whole)
    assert world.archetypes.get(es[0], heat).source is whole
    (chunk,) = world.burning.chunks()
    with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
        chunk.heat.source = ["a"]


# --- keys of spawn -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bodi": {}}, "spawn has no component 'bodi'; did you mean 'body'?"),
        ({"Body": {}}, "spawn has no component 'Body'; did you mean 'body'?"),
        ({"zzz": {}}, "spawn has no component 'zzz'; it has body, extra, place, heat"),
        ({"body": {"mas": 1}}, "Body has no field 'mas'; did you mean 'mass'?"),
        ({"heat": {"celsus": 1}}, "Heat has no field 'celsus'; did you mean 'celsius'?"),
    ],
)
def test_unknown_keys_of_spawn(given: dict[str, Any], message: str) -> None:
    world = together()
    with pytest.raises(TypeError, match=re.escape(message)):
        world.spawn(2, **given)
    assert len(list(world.entities)) == COUNT
