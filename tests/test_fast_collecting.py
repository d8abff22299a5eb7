"""Worlds that collect in C are the same as those that do it in Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fast_packages import Packages, blocks_taken, both, built, need_layer, outcome
from tests.test_fast_changes import calls_of, world_entities

KINDS = ("rock", "moss", "grain", "vein")
SCHEMAS = Path(__file__).parent / "fast_quiet.yaml"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("collecting")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield both(built(folder, SCHEMAS), folder, ("quick_quarry", "plain_quarry"))


class Quarry:
    """A world, and steps that are the same in all worlds given the same seed."""

    def __init__(self, package: Any, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = package.Quarry()
        self.entities: list[int] = []
        self.told: list[list[int]] = []
        self.subscriptions: list[Any] = []
        self.locks: list[Any] = []

    def step(self) -> tuple[Any, ...]:
        steps = (self.come, self.come, self.note, self.note, self.collect, self.odd)
        chosen: Callable[[], Any] = self.random.choice(steps)
        return chosen.__name__, *outcome(chosen), self.told

    def come(self) -> list[int]:
        """Spawn some entities."""
        names = self.random.sample(KINDS, self.random.randrange(5))
        count = self.random.choice((1, 1, 2, 5, 30))
        entities = self.world.spawn(count, **{name: {} for name in names})
        self.entities += entities.tolist()
        return entities.tolist()  # type: ignore[no-any-return]

    def note(self) -> Any:
        """Note some for later: the living, the dead, and what is no entity."""
        chance = self.random.random()
        if chance < 0.1:
            return self.world.destroy_later(self.random.choice((0, -1, 2**70, "x", None, True)))
        if chance < 0.3:
            return self.world.destroy_later(np.array(self.entities[-3:], np.uint64))
        for _ in range(self.random.choice((1, 1, 3, 8, 20))):
            if self.entities:
                self.world.destroy_later(self.random.choice(self.entities))
        return None

    def collect(self) -> int:
        return int(self.world.collect())

    def odd(self) -> Any:
        """Do what makes things unusual, or usual again."""
        if self.locks or self.subscriptions:
            if self.locks:
                self.locks.pop().__exit__(None, None, None)
            return self.subscriptions.pop().cancel() if self.subscriptions else None
        chance = self.random.random()
        if chance < 0.2 and self.entities:
            return self.world.destroy(self.random.choice(self.entities))
        if chance < 0.4:
            return self.world.flush()
        if chance < 0.5:
            return self.world.gc()
        if chance < 0.6:
            self.locks.append(getattr(self.world, self.random.choice(KINDS)).locked())
            return self.locks[-1].__enter__() is None
        if chance < 0.65:
            noted = self.world.entities.on_destroy(lambda dead: self.told.append(dead.tolist()))
            self.subscriptions.append(noted)
        return None

    def state(self) -> list[Any]:
        """Return everything that there is, but for the memory that nobody uses."""
        entities = self.world.entities
        noted = self.world._noted_entities()
        found: list[Any] = [world_entities(self.world), entities._clean, noted]
        found[-1] = found[-1].tolist()
        for name in KINDS:
            manager = getattr(self.world, name)
            data = manager.data
            columns = [
                getattr(data, f"_{column.name}_column")[: data._n].tolist()
                for column in manager.LAYOUT
            ]
            rows = [manager.lookup(entity) for entity in self.entities]
            found.append((manager.version, data._n, len(manager), columns, rows))
        return found


@pytest.mark.parametrize("seed", range(8))
def test_worlds_are_the_same(packages: Packages, seed: int) -> None:
    one, other = (Quarry(package, seed) for package in packages)
    for _ in range(200):
        assert one.step() == other.step()
        assert one.state() == other.state()


def test_a_few_go_in_c(packages: Packages) -> None:
    world = packages[0].Quarry()
    entities = world.spawn(40, rock={}, moss={}, grain={}).tolist()
    world.destroy_later(entities[0])  # the first one makes the list
    world.collect()
    for entity in entities[1:9]:
        assert calls_of(partial(world.destroy_later, entity)) == []
    assert calls_of(world.collect) == []
    assert [len(world.rock), len(world.moss), len(world.grain)] == [31] * 3
    assert calls_of(world.collect) == []


def test_whoever_collects_in_another_way_is_asked(packages: Packages) -> None:
    package, called = packages[0], []

    class Rocks(package.RockManager):  # type: ignore[name-defined, misc]
        __slots__ = ()

        def remove_many(self, entities: Any, /) -> int:
            called.append(entities)
            return int(super().remove_many(entities))

    class Mine(  # type: ignore[call-arg]
        package.Quarry,  # type: ignore[name-defined, misc]
        managers={"rock": Rocks},
    ):
        pass

    world = Mine()
    entities = world.spawn(9, rock={}).tolist()
    world.collect()
    world.destroy_later(entities[3])
    assert (world.collect(), called) == (1, [entities[3:4]])


def test_nothing_leaks(packages: Packages) -> None:
    def exercise() -> None:
        world = packages[0].Quarry()
        for _ in range(100):
            for entity in world.spawn(12, rock={}, moss={}, grain={}).tolist():
                world.destroy_later(entity)
            assert world.collect() == 36
            with world.rock.locked(), pytest.raises(packages[0].StructureLockedError):
                world.collect()

    assert blocks_taken(exercise) < 80
