"""Whatever comes and goes and is collected, worlds with methods in C are the same as without."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support.accelerated_packages import (
    ROOT,
    SCHEMAS,
    Packages,
    blocks_taken,
    both,
    calls_of,
    outcome,
)

STEPS = 400
LIVING = 12
"""About so many entities are alive at once: indices are used again, rows move."""

FIELDS: dict[str, dict[str, Any]] = {
    "guard": {"post": (1.0, 2.0), "watch": [3, 4, 5]},
    "note": {"text": "né", "weight": 0.5},
    "charm": {"power": -7},
    "plot": {"owner_name": b"me", "size": 4},
    "ward": {"strength": 2.5},
    "plan": {"step": 12},
    "limb": {"joint": 3},
    "seat": {"row_number": (4, 5)},
    "terrain": {"height": 1.5},
    "branch": {"width": 1.25},
    "twig": {"leaf_count": 3},
    "nest": {"egg_count": 4},
    "bud": {"colour": (1, 2, 3)},
    "drawing": {"layer": 9},
    "shadow": {"length": 0.25},
}


@pytest.fixture(scope="module")
def packages() -> Packages:
    return both(SCHEMAS, ("quick_yard", "plain_yard"))


class Walk:
    """A world, and steps that are the same in all worlds given the same seed."""

    STEPS: ClassVar[tuple[str, ...]]

    def __init__(self, package: Any, world: str, seed: int) -> None:
        self.package = package
        self.random = random.Random(seed)
        self.world = getattr(package, world)()
        self.entities: list[int] = []
        self.told: list[Any] = []
        self.subscriptions: list[Any] = []
        self.locks: list[Any] = []

    def step(self) -> tuple[Any, ...]:
        chosen = self.random.choice(self.STEPS)
        return chosen, *outcome(getattr(self, chosen)), self.told


class YardWalk(Walk):
    """Entities one by one, and their rows."""

    STEPS = ("come", "get", "get", "go", "lose", "spawn", "odd")

    def entity(self) -> int:
        """Return an entity: mostly one that lives."""
        if not self.entities or self.random.random() < 0.05:
            return self.random.choice((0, 12345, 2**64 - 1))
        return self.random.choice(self.entities)

    def fields(self, name: str) -> dict[str, Any]:
        values = FIELDS[name].items()
        return {field: value for field, value in values if self.random.random() < 0.7}

    def come(self) -> int:
        entity = self.world.entities.create()
        self.entities.append(entity)
        return int(entity)

    def get(self) -> Any:
        """Give an entity a row, or read and write that it has."""
        name, entity = self.random.choice(list(FIELDS)), self.entity()
        manager = getattr(self.world, name)
        if self.random.random() < 0.7:
            make = self.random.choice((manager.create, manager.create, manager.ensure))
            odd = {"nonsense": 1} if self.random.random() < 0.05 else {}
            return make(entity, **self.fields(name), **self.parent(manager), **odd)
        field, value = self.random.choice(list(FIELDS[name].items()))
        row = manager.require(entity)
        before = getattr(manager, field)(row)
        getattr(manager, f"set_{field}")(row, value)
        return before, getattr(manager, field)(row), manager.has(entity)

    def parent(self, manager: Any) -> dict[str, Any]:
        """Choose a parent for a new row, if rows have parents."""
        if not hasattr(manager, "set_parent") or self.random.random() < 0.3:
            return {}
        odd: tuple[Any, ...] = (None, -1, 2**40, "x", int(self.package.NIL), np.uint32(0), True)
        if self.random.random() < 0.1:
            return {"parent": self.random.choice(odd)}
        return {"parent": self.random.randrange(len(manager) + 1)}

    def lose(self) -> Any:
        """Take an entity's row, or one by its number or id."""
        manager = getattr(self.world, self.random.choice(list(FIELDS)))
        if hasattr(manager, "id_of") and len(manager) and self.random.random() < 0.5:
            row = self.random.randrange(manager.data._n)
            return manager.id_of(row), manager.destroy_id(manager.id_of(row))
        if self.random.random() < 0.3:
            return manager.destroy(self.random.randrange(4))
        return manager.remove(self.entity())

    def go(self) -> None:
        """Destroy an entity, when there are some."""
        entity = self.entity()
        if len(self.entities) > LIVING or self.random.random() < 0.2:
            self.world.entities.destroy(entity)

    def spawn(self) -> list[int]:
        """Create an entity with rows in one call."""
        names = self.random.sample(list(FIELDS), self.random.randrange(4))
        components: dict[str, Any] = {name: self.fields(name) for name in names}
        for name in names:
            chance = self.random.random()
            if chance < 0.3:
                components[name] = getattr(self.package, name.capitalize())(**components[name])
            elif chance < 0.4:
                components[name] = {field: [value] for field, value in components[name].items()}
            elif chance < 0.45:
                components[name] = {"nonsense": 1}
        if self.random.random() < 0.2:
            rows = [row for row in components.values() if not isinstance(row, dict)]
            self.entities.append(self.world.create(*rows))
            return self.entities[-1:]
        entities = self.world.spawn(1, **components)
        assert entities.dtype == np.uint64
        assert entities.flags.owndata
        assert entities.flags.writeable
        self.entities += entities.tolist()
        return entities.tolist()  # type: ignore[no-any-return]

    def odd(self) -> Any:
        """Do what makes things unusual, or usual again."""
        world, events = self.world, self.told
        if self.random.random() < 0.3 and self.subscriptions:
            return self.subscriptions.pop().cancel()
        if self.random.random() < 0.5 and self.locks:
            return self.locks.pop().__exit__(None, None, None)
        chance = self.random.random()
        if chance < 0.1:
            noted = world.entities.on_destroy(lambda dead: events.append(dead.tolist()))
            self.subscriptions.append(noted)
        elif chance < 0.2:
            noted = world.ward.on_release(lambda rows: events.append(rows.tolist()))
            self.subscriptions.append(noted)
        elif chance < 0.3:
            lock = getattr(world, self.random.choice(list(FIELDS))).locked()
            lock.__enter__()
            self.locks.append(lock)
        elif chance < 0.5 and hasattr(world, "collect"):
            return world.collect()
        elif chance < 0.6:
            return world.create(self.package.Ward(3.0), self.package.Plan(4))
        return None

    def state(self) -> dict[str, Any]:
        """Return everything that there is, but for the memory that nobody uses."""
        state: dict[str, Any] = {"entities": world_entities(self.world)}
        for name in FIELDS:
            manager = getattr(self.world, name)
            data = manager.data
            numbers = (manager.version, data._n, manager.capacity, manager._is_locked())
            state[name] = numbers, rows_of(manager, self.entities)
        for name in self.world.QUERIES:
            query = getattr(self.world, name)
            match = query._join.match()
            rows = [str(rows) for rows in match.rows]  # slices, or arrays
            lacking = [member.has_nil for member in match.members]
            arrays = [(array.tolist(), array.dtype) for array in query.rows()]
            state[name] = match.count, match.driving_member, rows, lacking, arrays
        return state


def rows_of(manager: Any, entities: list[int]) -> Any:
    """Return the cells of a manager, column by column, and the rows of entities."""
    columns = [getattr(manager.data, f"_{column.name}_column") for column in manager.LAYOUT]
    cells = [column[: manager.data._n].tolist() for column in columns]
    return cells, [manager.lookup(entity) for entity in entities]


def world_entities(world: Any) -> Any:
    state = world.entities.__getstate__()
    return state["handles"].tolist(), state["free"].tolist(), state["n_retired"]


@pytest.mark.parametrize("seed", range(12))
def test_worlds_are_the_same(packages: Packages, seed: int) -> None:
    first, other = (YardWalk(package, "Yard", seed) for package in packages)
    for _ in range(STEPS):
        assert first.step() == other.step()
        assert first.state() == other.state()


REQUIRING = """\
component: Body
fields: {x: {type: f64, default: 2}}
---
component: Pulse
requires: [Body]
fields: {z: f64}
---
world: Clinic
bundles: {patient: [Pulse]}
"""


def test_what_is_required_comes_along(tmp_path: Path) -> None:
    schemas = tmp_path / "clinic.yaml"
    schemas.write_text(REQUIRING, encoding="utf-8")
    outcomes = []
    for package in both(schemas, ("quick_clinic", "plain_clinic")):
        w = package.Clinic()
        calls: tuple[Callable[[], Any], ...] = (
            *(partial(w.spawn, n, pulse={"z": n}) for n in (1, 1, 2)),
            partial(w.spawn_patient, 1, pulse={}),
            partial(w.spawn_patient, 1, pulse=package.Pulse(3.0)),
            partial(w.spawn, 1, pulse={}, body={"x": 5}),
            partial(w.spawn, 1, pulse=None),
            partial(w.spawn, 1, pulse={"nonsense": 1}),
            partial(w.create, package.Pulse(4.0)),
        )
        # each twice: the first call of a method in C is Python's
        outcomes.append([outcome(call) for call in calls * 2])
        assert len(w.body) == len(w.pulse) == 16
        outcomes[-1].append((w.body.data.x.tolist(), w.pulse.data.z.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["plot", "ward", "plan", "seat", "terrain", "branch"])
def test_entities_take_along_what_they_have(packages: Packages, name: str) -> None:
    """All in C as long as nothing is unusual; else the generated method does all of it."""
    world = packages[0].Yard()
    manager = getattr(world, name)
    entities = world.entities.create_many(5).tolist()
    for entity in entities:
        manager.create(entity)
    assert calls_of(partial(world.entities.destroy, entities[0])) == []
    assert (manager.has(entities[0]), len(manager)) == (False, 4)
    with manager.locked(), pytest.raises(packages[0].StructureLockedError):
        world.entities.destroy(entities[1])
    assert manager.has(entities[1])
    called: list[int] = []
    for step in ("_free_index", "_destroy_one"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(world.entities), step, lambda self, e, index: called.append(e))
            world.entities.destroy(entities[2])
    assert called == [entities[2]] * 2
    notified: list[list[int]] = []
    world.entities.on_destroy(lambda dead: notified.append(dead.tolist()))
    world.entities.destroy(entities[3])
    assert (notified, manager.has(entities[3]), manager.has(entities[4])) == ([entities[3:4]], 0, 1)


@pytest.mark.parametrize("name", ["branch", "twig", "nest"])
def test_children_come_and_go_in_c(packages: Packages, name: str) -> None:
    """As long as whoever goes has no children that go as well; walks go through other families."""
    world = packages[0].Yard()
    manager = getattr(world, name)
    manager.reserve(40)
    entities = world.entities.create_many(30).tolist()
    for index, entity in enumerate(entities):
        above = {"parent": (index - 1) // 3} if index else {}
        assert calls_of(partial(manager.create, entity, **FIELDS[name], **above)) == []
    for entity in entities[:9:-1]:
        assert calls_of(partial(manager.remove, entity)) == []
    assert list(manager) == entities[:10]
    assert [manager.parent(row) for row in range(1, 10)] == [row // 3 for row in range(9)]


@pytest.mark.parametrize("name", ["seats", "places", "heights", "limbs"])
@pytest.mark.parametrize("count", [0, 3, 300])
def test_queries_find_the_same(packages: Packages, name: str, count: int) -> None:
    """In C, unless an entity may have several of a component."""
    states = []
    for package in packages:
        chance, yard = random.Random(count), YardWalk(package, "Yard", 0)
        world = yard.world
        yard.entities = world.entities.create_many(count).tolist()
        for component in ("seat", "branch", "ward", "terrain", "shadow", "plot", "twig", "limb"):
            chosen = chance.sample(yard.entities, count * 3 // 4)
            getattr(world, component).create_many(chosen)
        for entity in yard.entities[: count // 4]:
            world.destroy(entity)
        join = getattr(world, name)._join
        called = {call.rpartition(".")[2] for call in calls_of(join.match)}
        assert ("_blocks" in called) == (package is packages[1] or name == "limbs")
        states.append(yard.state()[name])
    assert states[0] == states[1]


def test_nothing_leaks(packages: Packages) -> None:
    """Rows and entities that come and go take no blocks of memory along."""
    world = packages[0].Yard()
    names = ("ward", "plan", "limb", "seat", "terrain")

    def exercise() -> None:
        for _ in range(300):
            entity = world.entities.create()
            for name in names:
                getattr(world, name).create(entity, **FIELDS[name])
            world.entities.destroy(entity)
            (other,) = world.spawn(1, **{name: FIELDS[name] for name in names[:2]}).tolist()
            with pytest.raises(packages[0].EcsError):
                world.ward.create(other)
            with world.plan.locked(), pytest.raises(packages[0].StructureLockedError):
                world.entities.destroy(other)
            world.entities.destroy(other)
            assert len(world.seats) == 0
            assert list(world.places) == []
            assert len(world.places.rows().terrain) == len(world.terrain)

    assert blocks_taken(exercise) < 100


KINDS = {"Quarry": ("rock", "moss", "grain", "vein"), "Grove": ("stem", "leaf", "bird")}


GIVEN: tuple[dict[str, Any], ...] = (
    *({"weight": 2}, {"weight": [1.5]}, {"green": (1, 2, 3)}, {"green": 7}, {"size": None}),
    *({"song": "la"}, {"song": ["la"]}, {"height": (1, 2.5)}, {"parents": 0}, {"parents": [0]}),
)


@pytest.fixture(scope="module")
def collecting_packages() -> Packages:
    return both(ROOT / "tests" / "fast_quiet.yaml", ("quick_quarry", "plain_quarry"))


@pytest.fixture(scope="module")
def groves() -> Packages:
    return both(ROOT / "tests" / "fast_grove.yaml", ("quick_grove", "plain_grove"))


class CollectingWalk(Walk):
    """Entities that are noted and collected, and several in one call."""

    STEPS = ("come", "come", "note", "note", "collect", "several", "odd")

    def __init__(self, package: Any, world: str, seed: int) -> None:
        super().__init__(package, world, seed)
        self.kinds = KINDS[world]

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
        values = {}
        if call == manager.create_many and self.random.random() < 0.6:
            values = self.random.choice(GIVEN)
        rows = call(chosen, **values)
        return rows if isinstance(rows, int) else (rows.tolist(), rows.dtype, rows.flags.owndata)

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
        noted = self.world.noted_entities().tolist()
        state: list[Any] = [world_entities(self.world), entities.despawns_at_collect, noted]
        for name in self.kinds:
            manager = getattr(self.world, name)
            numbers = (manager.version, manager.data._n, len(manager))
            state.append((numbers, rows_of(manager, self.entities)))
        return state


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["Quarry", "Grove"])
def test_collecting_worlds_are_the_same(
    collecting_packages: Packages, groves: Packages, name: str, seed: int
) -> None:
    pair = collecting_packages if name == "Quarry" else groves
    first, other = (CollectingWalk(package, name, seed) for package in pair)
    for _ in range(200):
        assert first.step() == other.step()
        assert first.state() == other.state()


def test_a_few_go_in_c(collecting_packages: Packages) -> None:
    world = collecting_packages[0].Quarry()
    entities = world.spawn(40, rock={}, moss={}, grain={}).tolist()
    world.destroy_later(entities[0])  # the first one makes the list
    world.collect()
    for entity in entities[1:9]:
        assert calls_of(partial(world.destroy_later, entity)) == []
    assert calls_of(world.collect) == []
    assert [len(world.rock), len(world.moss), len(world.grain)] == [31] * 3
    assert calls_of(world.collect) == []


def test_worlds_with_methods_of_their_own_collect_in_c(collecting_packages: Packages) -> None:
    """And who replaces what these call gets Python."""
    base: Any = collecting_packages[0].Quarry

    class Mine(base):  # type: ignore[misc]  # a class of a package that is made here
        def destroy(self, entity: int) -> None:
            raise AssertionError

        def flush(self) -> int:
            raise AssertionError

    world = Mine()
    entities = world.spawn(4, rock={}).tolist()
    for entity in entities[:2]:
        world.destroy_later(entity)
        world.collect()
    world.destroy_later(entities[2])
    assert calls_of(world.collect) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mine, "_flush", lambda self: 7)
        assert calls_of(world.collect) != []


def test_a_few_in_one_call_are_done_in_c(collecting_packages: Packages) -> None:
    world = collecting_packages[0].Quarry()
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
    world = groves[0].Grove()
    entities = world.spawn(60, stem={}, leaf={}, bird={"song": "tweet"}).tolist()
    world.stem.set_parent_many(range(3, 60), [(row - 3) // 2 for row in range(3, 60)])
    world.collect()
    for number, left in ((20, 57), (1, 42), (0, 12)):
        world.destroy(entities[number])
        assert calls_of(world.collect) == []
        assert [len(world), len(world.stem), len(world.leaf), len(world.bird)] == [left] * 4


def test_a_chain_of_trees(groves: Packages) -> None:
    """Rows of the dead that are below one another, in the worst order."""
    world = groves[0].Grove()
    entities = world.spawn(3000, stem={})
    world.stem.set_parent_many(range(2999), range(1, 3000))
    survivors = world.spawn(1, stem={}, leaf={})
    world.destroy_many(entities[1::2])
    assert world.collect() == 3000
    assert list(world) == survivors.tolist()


@pytest.mark.parametrize("name", ["rock", "pebble"])
def test_who_removes_in_another_way_is_asked(collecting_packages: Packages, name: str) -> None:
    """A method that is patched in one subclass: with rows, and without, where it is not in C."""
    for package in collecting_packages:
        called: list[Any] = []
        base = package.Quarry.MANAGER_CLASSES[name]
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


def test_collecting_nothing_leaks(collecting_packages: Packages) -> None:
    def exercise() -> None:
        world = collecting_packages[0].Quarry()
        for _ in range(100):
            for entity in world.spawn(12, rock={}, moss={}, grain={}).tolist():
                world.destroy_later(entity)
            assert world.collect() == 36
            few = world.spawn(3).tolist()
            world.rock.create_many(few)
            world.rock.lookup_many(few)
            assert world.rock.remove_many([*few, few[0]]) == 3
            with world.rock.locked(), pytest.raises(collecting_packages[0].StructureLockedError):
                world.collect()

    assert blocks_taken(exercise) < 80
