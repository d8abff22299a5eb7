"""Objects in rows whose end runs code, which finds changes done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

FIELDS = "fields: {k: i64, thing: object}"
COLD = "fields: {k: i64, thing: {type: object, tags: [cold]}}"
COMPONENTS = {
    "Plain": FIELDS,
    "Rare": f"{FIELDS}\nlookup: hash\ndestroy: callback\nrelease: true",
    "Slab": f"{FIELDS}\nlookup: direct\nids: true",
    "Lots": f"{FIELDS}\ninstances: many\nids: true\npartition: {{start: active}}",
    "Chilled": f"{COLD}\nhierarchy: {{orphans: destroy}}\ncold: indirect",
    "Brief": f"{FIELDS}\nowner: none\nring: 12",
    "Left": FIELDS,
    "Right": f"{FIELDS}\nlookup: hash",
    "Chunked": FIELDS,
    "Other": FIELDS,
}
WORLD = """\
world: Dying
entity: {min_free: 0}
groups: {pair: [Left, Right]}
archetypes: {chunk: 1024, components: [Chunked, Other]}
"""
SCHEMA = "\n---\n".join(
    [WORLD, *(f"component: {name}\n{keys}" for name, keys in COMPONENTS.items())]
)
package = world_package(SCHEMA, "dying_objects")
EcsError = package.EcsError
KINDS = ("plain", "rare", "slab", "lots", "chilled", "brief", "left")
OWNED = tuple(kind for kind in KINDS if kind != "brief")
COUNT = 12
MORE = 20


class Thing:
    """An object that calls back at its end, if anybody wants it to."""

    at_end: Callable[[], object] | None = None

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        if Thing.at_end is not None:
            Thing.at_end()


class Scene:
    """A world with a manager of COUNT rows, and entities without one."""

    def __init__(self, kind: str) -> None:
        self.world = package.Dying()
        self.m = getattr(self.world, kind)
        self.entities: list[int] = self.world.entities.create_many(COUNT + MORE).tolist()
        self.is_owned = hasattr(self.m, "lookup")
        for number in range(COUNT):
            self.create(self.entities[number], number)
        if kind == "left":
            self.world.right.create_many(self.entities[::2], k=1, thing=Thing(1))

    def create(self, entity: int, number: int) -> None:
        values = {"k": number, "thing": Thing(number)}
        self.m.create(*[entity] * self.is_owned, **values)

    def create_many(self, entities: list[int]) -> None:
        values = {"k": range(len(entities)), "thing": [Thing(k) for k in range(len(entities))]}
        self.m.create_many(entities if self.is_owned else len(entities), **values)

    def heirs(self, count: int) -> list[int]:
        """Return new entities with the indices of dead ones that have rows."""
        self.world.entities.destroy_many(self.entities[:count])
        self.new: list[int] = self.world.entities.create_many(count).tolist()
        return [*self.new]


def check(m: Any) -> None:
    """Rows, owners, map, ids and cold rows agree, and each row has its own thing."""
    rows = m.data._used_rows().tolist()
    assert len(rows) == len(m)
    for row in rows:
        thing = m.thing(row)
        assert (m.k(row) < 0) if thing is None else (thing.number == m.k(row))
        if hasattr(m, "lookup"):
            owner = m.entity(row)
            assert row in (m.instances(owner) if hasattr(m, "first") else [m.lookup(owner)])
        if hasattr(m, "id_of"):
            assert m.resolve(m.id_of(row)) == row
    for name in m.data.OBJECTS:
        column = getattr(m.data, name)
        assert all(column[row] is None for row in range(m.capacity) if row not in rows)
    if hasattr(m.data, "cold"):
        owners = m.data.cold.row.tolist()
        assert len(set(owners)) == len(owners)
        assert set(owners) <= set(rows)


def assign(scene: Scene) -> None:
    data = scene.m.data
    if hasattr(data, "cold"):
        for row in range(data.n):
            scene.m.set_k(row, 100)
        data.cold.thing = [Thing(100) for _ in range(data.cold.n)]
    else:
        used = set(scene.m.data._used_rows().tolist())
        data.k = 100
        data.thing = [Thing(100) if row in used else None for row in range(data.n)]


def set_one(scene: Scene) -> None:
    scene.m.set_k(1, 100)
    scene.m.set_thing(1, Thing(100))


def collect(scene: Scene, count: int) -> None:
    scene.world.destroy_many(scene.entities[:count])
    scene.world.collect()


def pick(scene: Scene) -> None:
    scene.world.destroy_many(scene.entities[:8])
    scene.world.gc()


def create_heirs(scene: Scene) -> None:
    for entity in scene.heirs(3):
        if entity not in scene.m:
            scene.create(entity, 5)


SOME = [1, 2, 3, 4, 6, 8, 9, 10]
CHANGES: dict[str, Callable[[Scene], object]] = {
    "destroy": lambda s: s.m.destroy(2),
    "destroy the last": lambda s: s.m.destroy(COUNT - 1),
    "destroy few": lambda s: s.m.destroy_many([1, 2, 6]),
    "destroy many": lambda s: s.m.destroy_many(SOME),
    "clear": lambda s: s.m.clear(),
    "assign": assign,
    "set": set_one,
    "create": lambda s: s.create(s.entities[-1], 7),
    "create many": lambda s: s.create_many(s.entities[-8:]),
}
OWNED_CHANGES: dict[str, Callable[[Scene], object]] = {
    "remove": lambda s: s.m.remove(s.entities[3]),
    "remove few": lambda s: s.m.remove_many(s.entities[1:4]),
    "remove many": lambda s: s.m.remove_many(s.entities[1:9]),
    "collect few": lambda s: collect(s, 3),
    "collect many": lambda s: collect(s, 8),
    "gc": pick,
    "heirs": create_heirs,
    "many heirs": lambda s: s.create_many(s.heirs(6)),
}


def create_one(scene: Scene) -> None:
    scene.create(scene.entities[COUNT], 9)


def create_for_an_heir(scene: Scene) -> None:
    new = getattr(scene, "new", None)
    scene.create(scene.entities[COUNT] if new is None else new[-1], 9)


def destroy_an_heir(scene: Scene) -> None:
    scene.world.destroy(getattr(scene, "new", scene.entities)[-1])


ANSWERS: dict[str, Callable[[Scene], object]] = {
    "looks": lambda s: check(s.m),
    "destroys the first": lambda s: s.m.destroy(s.m.data._used_rows()[0]),
    "destroys the last": lambda s: s.m.destroy(s.m.data._used_rows()[-1]),
    "creates": create_one,
    "creates for an heir": create_for_an_heir,
    "destroys an heir": destroy_an_heir,
    "creates many": lambda s: s.create_many(s.entities[COUNT + 1 : COUNT + 9]),
    "reserves": lambda s: s.m.reserve(1000),
    "shrinks": lambda s: s.m.shrink_to_fit(),
    "clears": lambda s: s.m.clear(),
}


def run(change: Callable[[], object], answer: Callable[[], object], turn: int) -> None:
    """Make the object whose turn it is answer when a change ends it."""
    failed: list[BaseException] = []
    left = turn

    def at_end() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            try:
                answer()
            except (EcsError, IndexError):
                pass  # there may be no row left
            except BaseException as error:
                failed.append(error)

    Thing.at_end = at_end
    try:
        change()
    except EcsError:
        pass  # what the answer did may be in the way
    finally:
        Thing.at_end = None
    assert not failed, failed


@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_an_object_does_at_its_end(kind: str, answer: str, turn: int) -> None:
    changes = CHANGES | (OWNED_CHANGES if kind in OWNED else {})
    for change in changes.values():
        scene = Scene(kind)
        run(partial(change, scene), partial(ANSWERS[answer], scene), turn)
        check(scene.m)


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_is_another_when_objects_end(kind: str) -> None:
    m, seen = Scene(kind).m, list[int]()
    before = m.version
    run(lambda: m.destroy(1), lambda: seen.append(m.version), 1)
    assert seen == [before + 1]


def chunked() -> Any:
    """Return a world with objects in chunks."""
    w = package.Dying()
    for number in range(COUNT):
        kinds = [package.Chunked, package.Other][: 1 + number % 2]
        values = {"k": number, "thing": Thing(number)}
        columns = {kind.__name__.lower(): values for kind in kinds}
        w.archetypes.create(kinds, 1, **columns)
    return w


def check_chunks(w: Any) -> None:
    """Places and rows agree, and each row has its own things."""
    owners = []
    for chunk in w.archetypes.chunks():
        owners += chunk.entity.tolist()
        for kind in chunk.components:
            for entity in chunk.entity.tolist():
                row = w.archetypes.get(entity, kind)
                assert row.thing.number == row.k
    assert len(set(owners)) == len(owners)
    assert all(w.entities.alive(owner) for owner in owners)


def set_both(w: Any) -> None:
    w.archetypes.set(list(w.entities)[1], package.Chunked, k=50, thing=Thing(50))


def assign_chunks(w: Any) -> None:
    for chunk in [*w.archetypes.chunks(all=[package.Chunked])]:  # some may go meanwhile
        chunk.chunked.k = 60
        chunk.chunked.thing = [Thing(60) for _ in range(chunk.n)]


CHUNKED: dict[str, Callable[[Any], object]] = {
    "remove": lambda w: w.archetypes.remove(list(w.entities)[1], package.Chunked),
    "remove the only": lambda w: w.archetypes.remove(next(iter(w.entities)), package.Chunked),
    "remove many": lambda w: w.archetypes.remove_many(list(w.entities)[:5], package.Chunked),
    "destroy": lambda w: w.destroy(list(w.entities)[3]),
    "destroy many": lambda w: w.destroy_many(list(w.entities)[:5]),
    "clear": lambda w: w.archetypes.clear(),
    "set": set_both,
    "assign": assign_chunks,
}


def add_one(w: Any) -> None:
    w.archetypes.create([package.Chunked], 1, chunked={"k": 9, "thing": Thing(9)})


def remove_one(w: Any) -> None:
    for chunk in [*w.archetypes.chunks(all=[package.Chunked])][:1]:
        w.archetypes.remove(int(chunk.entity[-1]), package.Chunked)


CHUNKED_ANSWERS: dict[str, Callable[[Any], object]] = {
    "looks": check_chunks,
    "creates": add_one,
    "removes": remove_one,
    "destroys": lambda w: w.destroy(list(w.entities)[-1]),
    "clears": lambda w: w.archetypes.clear(),
}


@pytest.mark.parametrize("change", CHUNKED)
@pytest.mark.parametrize("answer", CHUNKED_ANSWERS)
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_what_an_object_in_a_chunk_does_at_its_end(change: str, answer: str, turn: int) -> None:
    w = chunked()
    seen: list[int] = []

    def answered() -> None:
        seen.append(w.archetypes.version)
        CHUNKED_ANSWERS[answer](w)

    before = w.archetypes.version
    run(lambda: CHUNKED[change](w), answered, turn)
    if seen and change not in ("set", "assign"):
        assert seen[0] > before
    check_chunks(w)


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_replaced_before_it_ends(kind: str) -> None:
    m, seen = Scene(kind).m, list[int]()
    run(lambda: m.set_thing(1, Thing(77)), lambda: seen.append(m.thing(1).number), 1)
    assert seen == [77]


def test_an_object_that_was_put_into_a_hole_ends_behind_the_creation() -> None:
    scene = Scene("slab")
    m = scene.m
    m.remove_many(scene.entities[:2])
    m.data.thing = np.array([Thing(k) for k in range(COUNT)], object)
    seen: list[int] = []
    run(lambda: scene.create(scene.entities[0], 0), lambda: seen.append(len(m)), 1)
    run(lambda: scene.create_many(scene.entities[1:2]), lambda: seen.append(len(m)), 1)
    assert seen == [COUNT - 1, COUNT]
