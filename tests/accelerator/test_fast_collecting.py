"""Worlds that collect in C are the same as those that do it in Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.accelerator.test_fast_changes import calls_of, world_entities
from tests.support.fast_packages import Packages, blocks_taken, both, built, need_layer, outcome

KINDS = {"Quarry": ("rock", "moss", "grain", "vein"), "Grove": ("stem", "leaf", "bird")}
SCHEMAS = {"Quarry": "fast_quiet.yaml", "Grove": "fast_grove.yaml"}


GIVEN: tuple[dict[str, Any], ...] = (
    *({"weight": 2}, {"weight": [1.5]}, {"green": (1, 2, 3)}, {"green": 7}, {"size": None}),
    *({"song": "la"}, {"song": ["la"]}, {"height": (1, 2.5)}, {"parents": 0}, {"parents": [0]}),
)


def imported(folder: Path, name: str) -> Packages:
    (folder / name).mkdir()
    schemas = Path(__file__).parents[1] / SCHEMAS[name]
    names = f"quick_{name.lower()}", f"plain_{name.lower()}"
    return both(built(folder / name, schemas), folder, names)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("collecting")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield imported(folder, "Quarry")


@pytest.fixture(scope="module")
def groves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("groves")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield imported(folder, "Grove")


class Steps:
    """A world, and steps that are the same in all worlds given the same seed."""

    def __init__(self, package: Any, name: str, seed: int) -> None:
        self.kinds = KINDS[name]
        self.random = random.Random(seed)
        self.world = getattr(package, name)()
        self.entities: list[int] = []
        self.told: list[list[int]] = []
        self.subscriptions: list[Any] = []
        self.locks: list[Any] = []

    def step(self) -> tuple[Any, ...]:
        steps = (self.come, self.come, self.note, self.note, self.collect, self.several, self.odd)
        chosen: Callable[[], Any] = self.random.choice(steps)
        return chosen.__name__, *outcome(chosen), self.told

    def come(self) -> list[int]:
        """Spawn some entities."""
        names = self.random.sample(self.kinds, self.random.randrange(len(self.kinds) + 1))
        count = self.random.choice((1, 1, 2, 5, 30))
        entities = self.world.spawn(count, **{name: {} for name in names})
        self.entities += entities.tolist()
        if "stem" in names and len(self.world.stem) > count and self.random.random() < 0.9:
            stems = self.world.stem
            for row in range(len(stems) - count, len(stems)):
                stems.set_parent(row, self.random.randrange(row))
        return entities.tolist()  # type: ignore[no-any-return]

    def several(self) -> Any:
        """Look a few up, remove them, or give them rows in one call."""
        manager = getattr(self.world, self.random.choice(self.kinds))
        count = self.random.choice((0, 1, 1, 2, 4, 16, 17))
        chosen: Any = self.random.choices([*self.entities, 0, 2**64 - 1], k=count)
        if self.random.random() < 0.3:
            chosen = list(dict.fromkeys(e for e in chosen if e in self.world))
        elif self.random.random() < 0.1:
            chosen[:1] = [self.random.choice((-1, 2**64, "x", None, True, 1.0))]
        chosen = self.random.choice((list, list, tuple, partial(np.array, dtype=object)))(chosen)
        call = self.random.choice((manager.create_many, manager.remove_many, manager.lookup_many))
        given = {}
        if call == manager.create_many and self.random.random() < 0.6:
            given = self.random.choice(GIVEN)
        found = call(chosen, **given)
        return (
            found if isinstance(found, int) else (found.tolist(), found.dtype, found.flags.owndata)
        )

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
        if chance > 0.9 and self.entities and len(self.kinds) == 4:
            manager = self.random.choice((self.world.miner, self.world.gem))
            if self.random.random() < 0.5:
                return manager.remove_many([e for e in self.entities if manager.has(e)])
            return manager.create(self.random.choice(self.entities))
        if chance < 0.2 and self.entities:
            return self.world.destroy(self.random.choice(self.entities))
        if chance < 0.4:
            return self.world.flush()
        if chance < 0.5:
            return self.world.gc()
        if chance < 0.6:
            self.locks.append(getattr(self.world, self.random.choice(self.kinds)).locked())
            return self.locks[-1].__enter__() is None
        if chance < 0.65:
            noted = self.world.entities.on_destroy(lambda dead: self.told.append(dead.tolist()))
            self.subscriptions.append(noted)
        return None

    def state(self) -> list[Any]:
        """Return everything that there is, but for the memory that nobody uses."""
        entities = self.world.entities
        noted = self.world._noted_entities().tolist()
        found: list[Any] = [world_entities(self.world), entities._clean, noted]
        for name in self.kinds:
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
@pytest.mark.parametrize("name", ["Quarry", "Grove"])
def test_worlds_are_the_same(packages: Packages, groves: Packages, name: str, seed: int) -> None:
    pair = packages if name == "Quarry" else groves
    one, other = (Steps(package, name, seed) for package in pair)
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


def test_a_few_in_one_call_are_done_in_c(packages: Packages) -> None:
    world = packages[0].Quarry()
    world.rock.reserve(64)
    entities = world.spawn(20).tolist()
    world.rock.create_many(entities[19:])  # the map is large enough now
    assert calls_of(partial(world.rock.create_many, entities[:16], weight=2.0)) == []
    assert calls_of(partial(world.rock.lookup_many, entities[:16])) == []
    assert world.rock.lookup_many(entities[:2]).tolist() == [1, 2]
    assert calls_of(partial(world.rock.remove_many, entities[:3])) == []
    assert (len(world.rock), world.rock.weight(0)) == (14, 0.0)


def test_many_are_given_parents_and_no_parent(groves: Packages) -> None:
    """`parent` is an argument of `create` alone, even where it says that there is none."""
    for package in groves:
        world = package.Grove()
        entities = world.spawn(3).tolist()
        world.stem.create_many(entities[:1])
        with pytest.raises(TypeError, match="unexpected keyword argument 'parent'"):
            world.stem.create_many(entities[1:], parent=int(package.NIL))
        assert len(world.stem) == 1


def test_trees_go_in_c(groves: Packages) -> None:
    """All that is below a root, and what those have who die with it."""
    states: list[Any] = []
    for package in groves:
        steps = Steps(package, "Grove", 0)
        world = steps.world
        steps.entities = world.spawn(60, stem={}, leaf={}, bird={"song": "tweet"}).tolist()
        for row in range(3, 60):
            world.stem.set_parent(row, (row - 3) // 2)
        world.collect()
        states.append(steps.state())
        for entity in (steps.entities[20], steps.entities[1], steps.entities[0]):
            world.destroy(entity)
            if package is groves[0]:
                assert calls_of(world.collect) == []
            else:
                world.collect()
            states.append((steps.state(), [c.tolist() for c in world.stem.data._family()]))
        assert len(world) == len(world.leaf) == len(world.stem)
        assert 0 < len(world) < 30
    half = len(states) // 2
    for one, other in zip(states[:half], states[half:], strict=True):
        assert str(one[0]) == str(other[0])


def test_a_chain_of_trees(groves: Packages) -> None:
    """Rows of the dead that are below one another, in the worst order."""
    world = groves[0].Grove()
    entities = world.spawn(3000, stem={})
    world.stem.set_parent_many(range(2999), range(1, 3000))
    kept = world.spawn(1, stem={}, leaf={})
    world.destroy_many(entities[1::2])
    assert world.collect() == 3000
    assert list(world) == kept.tolist()


@pytest.mark.parametrize("name", ["rock", "pebble"])
def test_who_removes_in_another_way_is_asked(packages: Packages, name: str) -> None:
    """A method that is patched in one subclass: with rows, and without, where it is not in C."""
    for package in packages:
        called: list[Any] = []
        base = package.Quarry._KINDS[name]
        mine = type("Mine", (base,), {"__slots__": ()})

        def remove_many(self: Any, entities: Any, /) -> int:
            called.append(entities)  # noqa: B023  # called below
            return int(base.remove_many(self, entities))  # noqa: B023  # called below

        setattr(mine, "remove_many", remove_many)  # noqa: B010  # mypy knows no method of that name
        world: Any = type("World", (package.Quarry,), {}, managers={name: mine})()
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
            few = world.spawn(3).tolist()
            world.rock.create_many(few)
            world.rock.lookup_many(few)
            assert world.rock.remove_many([*few, few[0]]) == 3
            with world.rock.locked(), pytest.raises(packages[0].StructureLockedError):
                world.collect()

    assert blocks_taken(exercise) < 80
