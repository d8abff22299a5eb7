"""Whatever comes and goes, worlds with methods in C are the same as without."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.support.fast_packages import Packages, blocks_taken, both, built, need_layer, outcome

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
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    need_layer()
    folder: Path = tmp_path_factory.mktemp("changes")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield both(built(folder), folder, ("quick_yard", "plain_yard"))


class Yard:
    """A world, and steps that are the same in all worlds given the same seed."""

    def __init__(self, package: Any, seed: int) -> None:
        self.package = package
        self.random = random.Random(seed)
        self.world = package.Yard()
        self.entities: list[int] = []
        self.told: list[Any] = []
        self.subscriptions: list[Any] = []
        self.locks: list[Any] = []

    def step(self) -> tuple[Any, ...]:
        steps = (self.come, self.get, self.get, self.go, self.lose, self.spawn, self.odd)
        chosen: Callable[[], Any] = self.random.choice(steps)
        return chosen.__name__, *outcome(chosen), self.told

    def entity(self) -> int:
        """Return an entity: mostly one that lives."""
        if not self.entities or self.random.random() < 0.05:
            return self.random.choice((0, 12345, 2**64 - 1))
        return self.random.choice(self.entities)

    def fields(self, name: str) -> dict[str, Any]:
        found = FIELDS[name].items()
        return {field: value for field, value in found if self.random.random() < 0.7}

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
        given: dict[str, Any] = {name: self.fields(name) for name in names}
        for name in names:
            chance = self.random.random()
            if chance < 0.3:
                given[name] = getattr(self.package, name.capitalize())(**given[name])
            elif chance < 0.4:
                given[name] = {field: [value] for field, value in given[name].items()}
            elif chance < 0.45:
                given[name] = {"nonsense": 1}
        if self.random.random() < 0.2:
            rows = [row for row in given.values() if not isinstance(row, dict)]
            self.entities.append(self.world.create(*rows))
            return self.entities[-1:]
        entities = self.world.spawn(1, **given)
        assert entities.dtype == np.uint64
        assert entities.flags.owndata
        assert entities.flags.writeable
        self.entities += entities.tolist()
        return entities.tolist()  # type: ignore[no-any-return]

    def odd(self) -> Any:
        """Do what makes things unusual, or usual again."""
        world, told = self.world, self.told
        if self.random.random() < 0.3 and self.subscriptions:
            return self.subscriptions.pop().cancel()
        if self.random.random() < 0.5 and self.locks:
            return self.locks.pop().__exit__(None, None, None)
        chance = self.random.random()
        if chance < 0.1:
            noted = world.entities.on_destroy(lambda dead: told.append(dead.tolist()))
            self.subscriptions.append(noted)
        elif chance < 0.2:
            noted = world.ward.on_release(lambda rows: told.append(rows.tolist()))
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
        found: dict[str, Any] = {"entities": world_entities(self.world)}
        for name in FIELDS:
            manager = getattr(self.world, name)
            data = manager.data
            numbers = (manager.version, data._n, manager.capacity, manager._is_locked())
            columns = [
                getattr(data, f"_{column.name}_column")[: data._n].tolist()
                for column in manager.LAYOUT
            ]
            rows = [manager.lookup(entity) for entity in self.entities]
            found[name] = numbers, columns, rows
        for name in self.world.QUERIES:
            query = getattr(self.world, name)
            match = query._join.match()
            rows = [str(rows) for rows in match.rows]  # slices, or arrays
            lacking = [member.has_nil for member in match.members]
            arrays = [(array.tolist(), array.dtype) for array in query.rows()]
            found[name] = match.count, match.walked, rows, lacking, arrays
        return found


def world_entities(world: Any) -> Any:
    state = world.entities.__getstate__()
    return state["handles"].tolist(), state["free"].tolist(), state["n_retired"]


@pytest.mark.parametrize("seed", range(12))
def test_worlds_are_the_same(packages: Packages, seed: int) -> None:
    one, other = (Yard(package, seed) for package in packages)
    for _ in range(STEPS):
        assert one.step() == other.step()
        assert one.state() == other.state()


def calls_of(call: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that run in a call."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


CALLBACK = ("plot", "ward", "plan", "limb", "seat", "terrain", "branch", "drawing")


@pytest.mark.parametrize("name", CALLBACK)
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
    with pytest.MonkeyPatch.context() as patch:
        steps = {"_destroy_one": lambda self, e, index: called.append(e)}
        patch.setattr(type(world.entities), "_destroy_one", steps["_destroy_one"])
        world.entities.destroy(entities[2])
    assert called == entities[2:3]
    told: list[list[int]] = []
    world.entities.on_destroy(lambda dead: told.append(dead.tolist()))
    world.entities.destroy(entities[3])
    assert (told, manager.has(entities[3]), manager.has(entities[4])) == ([entities[3:4]], 0, 1)


FAMILIES = ("branch", "twig", "nest", "bud")


@pytest.mark.parametrize("name", FAMILIES)
def test_children_come_and_go(packages: Packages, name: str) -> None:
    """In C as long as whoever goes has no children that go as well."""
    states = []
    for package in packages:
        yard = Yard(package, 0)
        manager = getattr(yard.world, name)
        manager.reserve(40)
        yard.entities = yard.world.entities.create_many(30).tolist()
        for place, entity in enumerate(yard.entities):
            above = {"parent": (place - 1) // 3} if place else {}
            made = partial(manager.create, entity, **FIELDS[name], **above)
            assert package is not packages[0] or calls_of(made) == []
            made() if package is not packages[0] else None
        for entity in yard.entities[:9:-1]:
            gone = partial(manager.remove, entity)
            assert package is not packages[0] or calls_of(gone) == []
            gone() if package is not packages[0] else None
            family = manager.data._family()
            states.append([column[: manager.data._n].tolist() for column in family])
        manager.remove(yard.entities[0])
        states.append([len(manager), manager.version, sorted(yard.state())])
        states.append([yard.world.collect(), yard.state()])
    half = len(states) // 2
    assert states[:half] == states[half:]


@pytest.mark.parametrize("name", ["seats", "places", "heights", "limbs"])
@pytest.mark.parametrize("count", [0, 3, 300])
def test_queries_find_the_same(packages: Packages, name: str, count: int) -> None:
    """In C, unless an entity may have several of a component."""
    found = []
    for package in packages:
        chance, yard = random.Random(count), Yard(package, 0)
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
        found.append(yard.state()[name])
    assert found[0] == found[1]


def act(world: Any, name: str) -> None:
    """Do something in the midst of a loop."""
    entity = next(iter(world.entities))
    acts: dict[str, Callable[[], Any]] = {
        "nothing": lambda: None,
        "create": world.entities.create,
        "destroy": lambda: world.destroy(entity),
        "row": lambda: world.seat.create(world.entities.create()),
        "other row": lambda: world.twig.create(world.entities.create()),
        "remove": lambda: world.ward.remove(entity),
        "write": lambda: world.seat.set_row_number(0, (1, 2)),
    }
    acts[name]()


@pytest.mark.parametrize(
    "name", ["nothing", "create", "destroy", "row", "other row", "remove", "write"]
)
@pytest.mark.parametrize("step", [-1, 0, 1, 39])
def test_loops_end_with_changes(packages: Packages, name: str, step: int) -> None:
    """Before the loop's first step, within, and in its last."""
    found = []
    for package in packages:
        world = package.Yard()
        entities = world.spawn(400, seat={}, branch={})
        world.ward.create_many(entities[::2])
        world.destroy_many(entities[40:])
        assert len(world.seats) == 40
        seen: list[Any] = []

        def loop(world: Any = world, seen: list[Any] = seen) -> None:
            rows = iter(world.seats)
            if step < 0:
                act(world, name)
            for number, row in enumerate(rows):
                seen.append((row.entity, row.seat, row.ward))
                if number == step:
                    act(world, name)
            seen.append(list(rows))

        found.append((outcome(loop), outcome(loop), seen))
        rows = iter(world.seats)
        assert type(rows).__name__ == ("Loop" if package is packages[0] else "generator")
    assert found[0] == found[1]


def test_entities_join_a_group(packages: Packages) -> None:
    """Whoever comes last to a group's members brings the rows of the others along, in C."""
    states = []
    for package in packages:
        yard = Yard(package, 0)
        world, rows = yard.world, (package.Drawing(1), package.Shadow(2.0))
        yard.entities = world.entities.create_many(6).tolist()
        for entity in yard.entities[:5]:
            world.drawing.create(entity, layer=entity % 5)
        for entity in yard.entities[5:2:-1]:
            world.shadow.create(entity)
        if package is packages[0]:
            assert calls_of(partial(world.drawing.create, yard.entities[5])) == []
            assert calls_of(partial(world.shadow.remove, yard.entities[3])) == []
        else:
            world.drawing.create(yard.entities[5])
            world.shadow.remove(yard.entities[3])
        yard.entities.append(world.create(*rows))
        yard.entities.append(world.create(*rows[::-1]))
        yard.entities += world.spawn(1, drawing={"layer": 4}, shadow={}).tolist()
        yard.entities += world.spawn(1, shadow=rows[1], drawing=rows[0], ward={}).tolist()
        states.append((yard.state(), world.seen.n))
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
