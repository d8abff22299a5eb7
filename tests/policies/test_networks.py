"""Networks: links of entities after any changes, against a search through all rows."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import refuses

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Knows
owner: none
fields: {a: entity, b: entity, trust: {type: f32, default: 1}}
network: {between: [a, b]}
---
component: Follows
instances: many
partition: {start: active}
fields: {whom: entity, key: {type: u32, unique: true}}
network: {from: entity, to: whom}
---
component: Owes
lookup: direct
fields: {creditor: {type: entity}}
network: {from: creditor, to: entity}
---
component: Heir
destroy: callback
fields: {of: {type: entity, unique: true}}
network: {between: [entity, of]}
---
component: Pact
fields: {giver: entity, taker: entity}
network: {from: giver, to: taker}
---
world: Town
queries: {debtors: {all: [Owes, Heir]}}
"""


def _naive(world: Any, manager: Any, entity: int, back: bool) -> list[tuple[int, int]]:
    """Return the links of an entity: rows, and who is at the other end."""
    first, second = (getattr(manager.data, name) for name in manager.data.ENDS)
    alive, links = world.entities.alive, []
    for row in range(getattr(manager.data, "n_active", manager.data.n)):
        ends = int(first[row]), int(second[row])
        owner = int(manager.data.entity[row]) if hasattr(manager.data, "entity") else ends[0]
        if not all(map(alive, (owner, *ends))) or ends[0] == ends[1]:
            continue
        if manager.IS_MUTUAL and entity in ends:
            links.append((row, ends[ends[0] == entity]))
        elif not manager.IS_MUTUAL and ends[back] == entity:
            links.append((row, ends[not back]))
    return links


def _check(world: Any, manager: Any, es: Any) -> None:
    for back in (False,) if manager.IS_MUTUAL else (False, True):
        links = manager.links_of(es, **({} if manager.IS_MUTUAL else {"back": back}))
        for k, entity in enumerate(es.tolist()):
            part = slice(links.starts[k], links.starts[k + 1])
            pairs = zip(links.rows[part].tolist(), links.others[part].tolist(), strict=True)
            alive = world.entities.alive(entity)
            assert [*pairs] == (_naive(world, manager, entity, back) if alive else [])
        assert len(links.starts) == len(es) + 1
        assert links.starts[-1] == len(links.rows)


def _change(world: Any, es: Any, rng: Any, number: int) -> None:
    """Change something at random."""
    living = es[world.entities.alive_many(es)]
    chosen = rng.choice(living, 6)
    knows, follows, owes, heir = world.knows, world.follows, world.owes, world.heir
    match rng.integers(12):
        case 0:
            knows.create_many(6, a=chosen, b=rng.permutation(chosen))
        case 1:
            keys = np.arange(6, dtype=np.uint32) + 10 * number + 1
            follows.create_many(chosen, whom=rng.choice(es, 6), key=keys)
        case 2:
            for e in set(chosen.tolist()):
                if not owes.has(e):
                    owes.create(e, creditor=int(rng.choice(es)))
                if not heir.has(e):
                    heir.create(e, of=int(e) + 10**6 * number)
                giver, taker = rng.choice(es, 2)
                world.pact.ensure(e, giver=giver, taker=taker)
        case 3 if len(knows):
            knows.set_a(int(rng.integers(len(knows))), int(chosen[0]))
        case 4 if len(knows):
            knows.data.b = rng.choice(es, len(knows))
        case 5 if len(follows):
            row = int(rng.integers(len(follows)))
            follows.set_whom(row, int(chosen[0]))
            if follows.is_active(row):
                follows.deactivate(row)
        case 6 if len(heir):
            heir.set_of(0, int(chosen[0])) if chosen[0] not in heir.data.of else None
        case 7 if len(living) > 10:
            world.entities.destroy_many(np.unique(chosen[:2]))
        case 8:
            world.collect()
        case 9 if len(knows):
            knows.sort("b")
        case 10 if len(knows) > 4:
            knows.destroy_many([0, 3])
        case 11 if len(world.debtors):
            world.debtors.owes.creditor = chosen[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backend", BACKENDS)
def test_links_are_those_of_a_search_through_all_rows(backend: Backend, seed: int) -> None:
    world = world_package(SCHEMA, f"linked_{backend}", backend=backend).World()
    rng = np.random.default_rng(seed)
    es = world.entities.create_many(30)
    managers = [world.knows, world.follows, world.owes, world.heir, world.pact]
    for number in range(60):
        _change(world, es, rng, number)
        if rng.random() < 0.2:
            es = np.concatenate([es, world.entities.create_many(3)])
        for manager in managers:
            if rng.random() < 0.5:
                _check(world, manager, es)


@pytest.fixture
def world() -> Any:
    return world_package(SCHEMA, "linked_numpy").World()


def test_copies_have_links_of_their_own(world: Any) -> None:
    es = world.entities.create_many(3)
    world.knows.create_many(2, a=es[:2], b=es[1:])
    twin = pickle.loads(pickle.dumps(world))
    alone = copy.copy(world.knows)
    twin.knows.set_a(0, int(es[2]))
    _check(twin, twin.knows, es)
    _check(world, world.knows, es)
    assert alone.links_of(es).rows.tolist() == [0, 0, 1, 1]
    twin.entities.destroy(int(es[2]))
    assert len(twin.knows.links_of(es).rows) == 0
    assert len(world.knows.links_of(es).rows) == 4


def test_handles_of_who_lives_later_lead_nowhere_until_then(world: Any) -> None:
    early = world.entities.create()
    later = early + 1
    world.knows.create(a=early, b=later)
    assert len(world.knows.links_of([early]).rows) == 0
    assert world.entities.create() == later
    assert world.knows.links_of([early]).others.tolist() == [later]


def test_without_entities_there_are_no_links(world: Any) -> None:
    for manager in (world.knows, world.follows, world.owes, world.heir):
        assert manager.links_of([]).starts.tolist() == [0]
        assert manager.links_of([7, 0]).starts.tolist() == [0, 0, 0]


def test_ends_are_read_only_and_count_as_memory(world: Any) -> None:
    es = world.entities.create_many(100)
    world.knows.create_many(50, a=es[:50], b=es[50:])
    with pytest.raises(ValueError, match="read-only"):
        world.knows.data.a[0] = es[1]
    before = world.knows.nbytes
    world.knows.links_of(es)
    assert world.knows.nbytes >= before + 2 * 8 * 100


def test_managers_of_links_without_owner_take_the_entities() -> None:
    package = world_package(SCHEMA, "linked_numpy")
    refuses(TypeError, "KnowsManager takes the EntityManager", package.KnowsManager, None)
    entities = package.EntityManager()
    manager = package.KnowsManager(entities)
    a, b = entities.create_many(2).tolist()
    manager.create(a=a, b=b)
    links: Any = manager.links_of([a, b])
    assert isinstance(links, package.Links)
    assert links.others.tolist() == [b, a]
