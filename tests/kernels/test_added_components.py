"""`add` and `remove` in kernels: components that entities get or lose after the pass, on both
backends, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.soak import COMPILED
from tests.support.world_package import world_package

SCHEMA = """\
component: Person
space: {field: at}
fields: {friend: entity, age: i32, toll: i64, at: "f32[2]"}
---
component: Ill
fields: {since: {type: i32, default: -1}, at: {type: "f32[2]", default: [1, 2]}}
---
component: Mark
instances: many
fields: {of: i32}
---
component: Tag
fields: {}
---
component: Coin
owner: none
fields: {holder: entity, worth: i32}
---
world: Town
kernels:
  infect: {over: Person, TURNS steps: ["add(Ill(since=Person.age), where=Person.age > 3)"]}
  pass_on:
    over: Person
    TURNS
    steps:
      - is_even = Person.age % 2 == 0
      - add(Person.friend, Ill(since=Person.age, at=f32(Person.age)), replace=true, where=is_even)
      - add(Person.friend, Ill(since=100 + Person.age))
      - remove(Person.friend, Ill, where=Person.age % 3 == 0)
      - die(where=Person.age == 7)
      - add(Ill(), replace=false)
      - destroy(Person.friend, where=Person.age == 6)
  note:
    over: Person
    TURNS
    steps: |
      if Person.age > 4:
          remove(Mark)
      elif Person.age > 2:
          add(Mark(of=Person.age))
          add(Person.friend, Mark(of=-Person.age))
          add(self, Tag())
  many:
    over: Person
    TURNS
    steps: |
      for i in range(Person.age):
          add(Person.friend, Mark(of=i))
          Person.toll += 1
      remove(Tag)
  pay:
    over: Coin
    TURNS
    steps: ["add(Coin.holder, Ill(since=Coin.worth))", "remove(Coin.holder, Tag)"]
  touch:
    over: Person
    near: {others: {radius: 1.5, among: Person}}
    TURNS
    steps: |
      for other in others:
          add(other, Mark(of=Person.age))
          remove(other, Tag)
  replace_all:
    over: Person
    TURNS
    steps:
      - spawn(Person(age=50), Ill(since=3))
      - add(Ill(since=Person.age, at=f32(Person.age)), replace=true)
"""
COUNT = 60


@pytest.fixture(params=[(backend, turns) for backend in BACKENDS for turns in ("", "turns: rows")])
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend
    backend, turns = request.param
    block = SCHEMA.replace("TURNS steps", f"{turns}, steps" if turns else "steps")
    text = block.replace("    TURNS\n", f"    {turns}\n" if turns else "")
    name = f"added_{backend}_{len(turns)}"
    world = world_package(text, name, backend, compiled=COMPILED and bool(turns)).Town()
    rng = np.random.default_rng(5)
    entities = world.entities.create_many(COUNT)
    dead, people = entities[::7], entities[np.arange(COUNT) % 7 != 0]
    friends = rng.choice(entities, len(people))
    friends[::9] = 0
    ages = rng.integers(0, 9, len(people)).astype(np.int32)
    places = rng.uniform(0, 8, (len(people), 2)).astype(np.float32)
    world.person.create_many(people, friend=friends, age=ages, at=places)
    world.ill.create_many(people[::3], since=np.arange(len(people[::3]), dtype=np.int32))
    world.mark.create_many(people[[1, 1, 2, 5, 5, 5]], of=[7, 8, 9, 10, 11, 12])
    world.tag.create_many(people[::4])
    for entity in dead:
        world.entities.destroy(entity)
    holders = rng.choice(entities, 20)
    world.coin.create_many(20, holder=holders, worth=np.arange(20, dtype=np.int32))
    return world


class Town:
    """Rows of the world, as dicts in the order of rows."""

    def __init__(self, world: Any) -> None:
        person, ill, mark = world.person.data, world.ill.data, world.mark.data
        columns = (person.entity, person.friend, person.age)
        self.people = list(zip(*(column.tolist() for column in columns), strict=True))
        self.alive = {*world.entities.live().tolist()}
        rows = zip(ill.entity.tolist(), ill.since.tolist(), ill.at.tolist(), strict=True)
        self.ill = {entity: (since, at) for entity, since, at in rows}
        self.marks = list(zip(mark.entity.tolist(), mark.of.tolist(), strict=True))
        self.tags = set(world.tag.data.entity.tolist())

    def same_as(self, world: Any) -> None:
        other = Town(world)
        assert other.alive == self.alive
        assert other.ill == self.ill
        assert sorted(other.marks) == sorted(self.marks)
        assert other.tags == self.tags

    def give(
        self, entity: int, since: int = -1, at: tuple[float, float] = (1, 2), replaces: bool = False
    ) -> None:
        if entity in self.alive and (replaces or entity not in self.ill):
            self.ill[entity] = (since, [float(x) for x in at])


def test_an_entity_that_has_it_keeps_it(world: Any) -> None:
    town = Town(world)
    for entity, _, age in town.people:
        if age > 3:
            town.give(entity, age)
    world.infect()
    town.same_as(world)
    assert list(Town(world).ill) == list(town.ill)  # the order of rows


def test_removals_come_after_deaths_and_before_additions(world: Any) -> None:
    town, takes_turns = Town(world), "turns" in world.pass_on.__doc__
    added, removed, dead = list[tuple[Any, ...]](), list[int](), dict[int, None]()
    for entity, friend, age in town.people:
        if takes_turns and entity in dead:
            continue
        if age % 2 == 0:
            added.append((friend, age, (age, age), True))
        added.append((friend, 100 + age))
        if age % 3 == 0:
            removed.append(friend)
        if age == 7:
            dead[entity] = None
            continue
        added.append((entity,))
        if age == 6 and friend in town.alive:
            dead[friend] = None
    town.alive -= {*dead}
    town.ill = {e: ill for e, ill in town.ill.items() if e in town.alive and e not in removed}
    town.marks = [(entity, of) for entity, of in town.marks if entity in town.alive]
    town.tags &= town.alive
    for each in added:
        town.give(*each)
    world.pass_on()
    town.same_as(world)
    assert len(removed) > 5
    assert dead


def test_of_several_all_go_and_another_comes(world: Any) -> None:
    town = Town(world)
    gone, come, tags = set(), [], set()
    for entity, friend, age in town.people:
        if age > 4:
            gone.add(entity)
        elif age > 2:
            come += [(entity, age), (friend, -age)]
            tags.add(entity)
    town.marks = [mark for mark in town.marks if mark[0] not in gone]
    town.marks += [mark for mark in come if mark[0] in town.alive]
    town.tags |= tags
    world.note()
    town.same_as(world)


def test_loops_add_any_number(world: Any) -> None:
    town = Town(world)
    for entity, friend, age in town.people:
        town.marks += [(friend, i) for i in range(age) if friend in town.alive]
        town.tags -= {entity}
    world.many()
    town.same_as(world)

    assert world.person.data.toll.tolist() == world.person.data.age.tolist()


def test_neighbours_get_and_lose_components(world: Any) -> None:
    town, places = Town(world), world.person.data.at.astype(np.float64)
    for row, (entity, _, age) in enumerate(town.people):
        away = np.hypot(*(places - places[row]).T)
        for other in (away <= 1.5).nonzero()[0].tolist():
            whom = town.people[other][0]
            if whom != entity and whom in town.alive:
                town.marks.append((whom, age))
                town.tags.discard(whom)
    world.touch()
    town.same_as(world)


def test_rows_without_owner_give_components_to_entities(world: Any) -> None:
    town = Town(world)
    holders, worths = world.coin.data.holder.tolist(), world.coin.data.worth.tolist()
    for holder, worth in zip(holders, worths, strict=True):
        town.give(holder, worth)
        town.tags -= {holder}
    world.pay()
    town.same_as(world)


def test_newborn_come_before_additions(world: Any) -> None:
    people, had = world.person.data.entity.tolist(), world.ill.data.entity.tolist()
    world.replace_all()
    person, ill = world.person.data, world.ill.data
    newborn = person.entity.tolist()[len(people) :]
    assert len(newborn) == len(people)
    assert ill.entity.tolist() == [*had, *newborn, *(e for e in people if e not in had)]
    ages = dict(zip(person.entity.tolist(), person.age.tolist(), strict=True))
    since = dict(zip(ill.entity.tolist(), ill.since.tolist(), strict=True))
    assert all(since[entity] == (3 if entity in newborn else ages[entity]) for entity in since)


def test_without_changes_no_version_moves(world: Any) -> None:
    world.person.data.age[:] = 0
    before = [world.ill.version, world.mark.version, world.person.version]
    world.infect()
    assert [world.ill.version, world.mark.version, world.person.version] == before


POLICIES = """\
enum: Mood
values: [calm, wild]
---
component: Patch
grid: {shape: [4, 4]}
fields: {x: f32}
---
component: Beast
fields: {size: i32, friend: entity}
---
component: Full
on: cell
release: true
fields:
  cell: id<Patch>
  mood: {type: Mood, default: wild}
  name: {type: "str[8]", default: "Grüße"}
  digest: {type: "bytes[4]", default: AB}
  thing: object
  place: {type: "f32[2]", split: true}
  turn: "f64[2,2]"
  size: {type: i32, unique: true}
  far: {type: "u8[3]", default: [1, 2, 3], tags: [cold]}
---
component: Direct
lookup: direct
fields: {size: i32}
---
component: Hashed
lookup: hash
ids: true
fields: {size: i32}
---
component: Kin
hierarchy: {orphans: root}
fields: {size: i32}
---
world: Zoo
kernels:
  change:
    over: Beast
    steps:
      - add(Full(size=Beast.size, place=f32(Beast.size), mood=Mood.calm), replace=true)
      - add(Beast.friend, Direct(size=Beast.size), replace=true)
      - add(Beast.friend, Hashed(size=Beast.size))
      - add(Kin(size=Beast.size), where=Beast.size > 0)
  take:
    over: Beast
    turns: rows
    steps: ["remove(Beast.friend, Direct)", remove(Hashed), remove(Kin), remove(Full)]
"""


@pytest.fixture(params=BACKENDS)
def zoo(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    zoo = world_package(POLICIES, f"added_policies_{backend}", backend).Zoo()
    beasts = zoo.entities.create_many(6)
    zoo.beast.create_many(beasts, size=np.arange(6, dtype=np.int32) - 2, friend=np.roll(beasts, 1))
    cells = 2**32 + np.arange(3, dtype=np.uint64)
    zoo.full.create_many(beasts[:3], size=[10, 11, 12], cell=cells, name="x", digest=b"1234")
    zoo.direct.create_many(beasts[4:], size=70)
    zoo.hashed.create_many(beasts[2:4], size=80)
    zoo.kin.create_many(beasts[:1], size=90)
    return zoo


def test_all_policies_get_and_lose_rows(zoo: Any) -> None:
    beasts = zoo.beast.data.entity.copy()
    zoo.change()
    rows = zoo.full.lookup_many(beasts)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5]
    full = zoo.full
    assert full.data.size[rows].tolist() == [-2, -1, 0, 1, 2, 3]
    for row in rows.tolist():
        size = row - 2
        assert (full.cell(row), full.name(row), full.mood(row)) == (0, "Grüße", 0)
        assert (full.digest(row), full.thing(row)) == (b"AB\0\0", None)
        assert (full.place(row), full.far(row)) == ((size, size), (1, 2, 3))
        assert full.turn(row) == ((0, 0), (0, 0))
    direct, hashed, kin = zoo.direct, zoo.hashed, zoo.kin
    assert [direct.size(direct.lookup(e)) for e in beasts.tolist()] == [-1, 0, 1, 2, 3, -2]
    assert [hashed.size(hashed.lookup(e)) for e in beasts.tolist()] == [-1, 0, 80, 80, 3, -2]
    assert [kin.size(kin.lookup(e)) for e in kin.data.entity.tolist()] == [90, 1, 2, 3]
    zoo.take()
    counts = [len(manager) for manager in (full, hashed, kin)]
    assert counts == [0, 0, 0]
    assert not direct.has_many(beasts).any()


def test_callbacks_are_told_and_their_errors_come_last(zoo: Any) -> None:
    rows_told, there = list[int](), len(zoo.full)

    def tell(rows: Any) -> None:
        rows_told.extend(rows.tolist())
        raise ValueError("told")

    zoo.full.on_release(tell)
    with pytest.raises(ExceptionGroup):
        zoo.take()
    assert rows_told == [*range(there)]
    assert len(zoo.kin) == len(zoo.hashed) == 0


def test_a_value_that_another_row_has_is_refused(zoo: Any) -> None:
    zoo.beast.data.size[:] = 10
    with pytest.raises(ValueError, match="size"):
        zoo.change()
    assert len(zoo.full) == 3
