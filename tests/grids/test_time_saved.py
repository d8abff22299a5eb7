"""The time of a world whose kernels ask for it: copied, saved, and refused where it is none."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from ecsgen_runtime.errors import SnapshotError

from tests.support.kernel_package import built

SCHEMA = """\
component: Bear
fields: {wakes: i64, days: i64}
---
world: Wood
kernels:
  wake: {over: Bear, where: Bear.wakes <= tick, steps: [Bear.days += 1]}
"""


@pytest.fixture(scope="module")
def package() -> Any:
    return built(SCHEMA, "time_of_bears").package


def loaded(world: Any) -> Any:
    return type(world).load(io.BytesIO(world.to_bytes()))


def test_it_is_what_was_assigned(package: Any) -> None:
    wood = package.World()
    wood.spawn(2, bear={"wakes": [0, 3]})
    for _ in range(5):
        wood.wake()
        wood.tick += 1
    assert (wood.tick, wood.bear.data.days.tolist()) == (5, [5, 2])
    with pytest.raises(OverflowError):
        wood.tick = 2**63
    with pytest.raises(TypeError):
        wood.tick = 1.5
    assert wood.tick == 5


@pytest.mark.parametrize("twin", [copy.copy, lambda w: pickle.loads(pickle.dumps(w)), loaded])
@pytest.mark.parametrize("tick", [0, 7, -(2**63), 2**63 - 1])
def test_twins_have_it(package: Any, twin: Callable[[Any], Any], tick: int) -> None:
    wood = package.World()
    wood.tick = tick
    assert twin(wood).tick == tick


@pytest.mark.parametrize("tick", [2**63, "noon", 1.0, True])
def test_files_with_another_are_refused(package: Any, tick: object) -> None:
    wood = package.World()
    vars(wood)["_tick"] = tick
    with pytest.raises(SnapshotError, match=r"state\.world\.tick: .*, wanted -9"):
        loaded(wood)


@pytest.fixture(scope="module")
def timeless() -> Any:
    return built(SCHEMA.replace("Bear.wakes <= tick", "Bear.wakes <= 3"), "timeless_bears").package


def test_a_world_without_time_takes_none(timeless: Any) -> None:
    wood = timeless.World()
    assert not hasattr(wood, "tick")
    with pytest.raises(AttributeError, match=r"Wood has no time: nothing in its schemas asks"):
        wood.tick = 4
    assert "tick" not in vars(wood)


def test_a_time_that_is_gone_is_not_lost_in_silence(package: Any, timeless: Any) -> None:
    wood = package.World()
    timeless.World.load(wood.to_bytes())  # it is 0
    wood.tick = 7
    with pytest.raises(SnapshotError, match=r"Wood has no time, which is 7 here; .*world.tick"):
        timeless.World.load(wood.to_bytes())
    wood.spawn(2)
    assert len(timeless.World.load(wood.to_bytes(), drop=["world.tick"]).entities) == 2
