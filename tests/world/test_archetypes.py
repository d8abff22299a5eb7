"""Archetypes: what the state machine does not reach."""

from __future__ import annotations

import importlib
import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from tests.support.archetypes_package import COMPONENTS, DEFAULTS, check, check_structure, game
from tests.support.loaded_worlds import through_bytes
from tests.support.world_package import world_package

ALL = list(COMPONENTS.values())


class Meddler:
    """A number that runs code when it is looked at."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def __index__(self) -> int:
        self.action()
        return 7


def package(text: str, name: str) -> Any:
    world_package(text, name)
    return importlib.import_module(name)


def test_values_that_change_what_they_are_stored_in() -> None:
    """Conversion comes first, so what it does to the rows is seen by what comes then."""
    w = game.Game()
    store = w.archetypes
    a, b, c = store.create([game.Health], 3, health={"hp": [1, 2, 3]}).tolist()
    store.add(a, game.Armor, points=Meddler(lambda: store.remove(a, game.Health)))
    assert store.components(a) == (game.Armor,)
    store.set(c, game.Health, limit=Meddler(lambda: w.destroy(b)))
    assert store.get(c, game.Health) == (3.0, 7)
    with pytest.raises(game.StaleEntityError):
        store.add(c, game.Armor, points=Meddler(lambda: w.destroy(c)))
    e = store.create([game.Health]).tolist()[0]
    adds = Meddler(lambda: store.add(e, game.Armor))
    with pytest.raises(game.DuplicateInstanceError):
        store.add_many([e], game.Armor, points=[adds])
    kills = Meddler(lambda: w.destroy(e))
    with pytest.raises(game.StaleEntityError):
        store.add_many([e], game.Body, mode=[kills])
    check_structure(w)


def test_which_error_wins() -> None:
    w = game.Game()
    store = w.archetypes
    dead = w.entities.create()
    w.destroy(dead)
    alive = store.create([game.Armor]).tolist()[0]
    with store.locked():
        with pytest.raises(game.StaleEntityError):
            store.add(dead, game.Armor, points="x")
        with pytest.raises(game.StaleEntityError):
            store.add_many([alive, dead, dead], game.Armor, points="x")
        with pytest.raises(game.StructureLockedError):
            store.add(alive, game.Armor, points="x")
    with pytest.raises(game.DuplicateInstanceError):
        store.add(alive, game.Armor, points="x")
    with pytest.raises(game.DuplicateInstanceError, match="twice"):
        store.add_many([alive, alive], game.Health, hp="x")
    with pytest.raises(game.MissingInstanceError):
        store.set(alive, game.Health, hp="x")
    with pytest.raises(OverflowError, match=r"Armor\.points"):
        store.set(alive, game.Armor, points=65536)
    with pytest.raises(TypeError, match="points"):
        store.set(alive, game.Armor, hp=1)


def test_fields_that_no_component_has() -> None:
    store = game.Game().archetypes
    entity = store.create([game.Armor]).tolist()[0]
    unknown = pytest.raises(TypeError, match=r"^Armor has no field 'hp'; it has points")
    with unknown:
        store.create([game.Armor], armor={"hp": 1})
    with unknown:
        store.add_many(store.create([]), game.Armor, hp=1)
    with unknown:
        store.add(store.create([]).tolist()[0], game.Armor, hp=1)
    with unknown:
        store.set(entity, game.Armor, hp=1)
    with pytest.raises(TypeError, match=r"'pionts'; did you mean 'points'\?$"):
        store.set(entity, game.Armor, pionts=1)
    with pytest.raises(TypeError, match=r"^Armor takes a dict of its fields, not int$"):
        store.create([game.Armor], armor=3)
    empty: tuple[object, ...] = ([], (), False, np.zeros(0), np.zeros(2))
    for nothing in empty:
        with pytest.raises(TypeError, match=r"^Armor takes a dict of its fields, not "):
            store.create([game.Armor], armor=nothing)


def test_numbers_that_are_no_entities() -> None:
    store = game.Game().archetypes
    for number in (0, -1, 2**64 - 1, 2**70, 5):
        assert not store.has(number, game.Health)
        with pytest.raises(game.StaleEntityError):
            store.get(number, game.Health)
    assert not store.has_many([0, -1, 2**64 - 1, 5], game.Health).any()
    assert store.has_many([], game.Health).tolist() == []
    assert store.create([], 0).tolist() == []
    store.add_many([], game.Health)
    store.remove_many([], game.Health)
    assert store.version == 0


def test_a_handle_may_be_any_integer() -> None:
    w = game.Game()
    e = w.archetypes.create([game.Health])[0]
    for handle in (e, int(e), np.int64(e)):
        w.archetypes.add(handle, game.Armor)
        assert w.archetypes.has(handle, game.Armor)
        w.archetypes.remove(handle, game.Armor)


def test_rows_of_the_dead_go_when_their_index_lives_again() -> None:
    """A callback that comes before the archetypes' own may see their rows, and use the index."""
    g = package(
        """
component: Mesh
destroy: callback
---
component: Tag
---
component: Point
fields: {x: f32}
---
world: Game
entity: {min_free: 0}
archetypes: {chunk: 512, components: [Tag, Point]}
""",
        "archetype_reuse",
    )
    for many in (False, True):
        w = g.Game()
        old = w.spawn(3, mesh={}, point={"x": [1, 2, 3]}, tag={})
        new: list[int] = []

        def reborn(rows: Any, w: Any = w, new: list[int] = new, many: bool = many) -> None:
            if many:
                new.extend(w.archetypes.create([g.Point], len(rows), point={"x": 9}).tolist())
            else:
                for _ in rows:
                    new.append(w.entities.create())
                    w.archetypes.add(new[-1], g.Point, x=9)

        w.mesh.on_release(reborn)
        w.destroy_many(old[:2])
        assert {w.entities.index(e) for e in new} == {w.entities.index(e) for e in old[:2]}
        assert not w.archetypes.has_many(old[:2], g.Point).any()
        assert w.archetypes.has_many(new, g.Point).all()
        assert [w.archetypes.get(e, g.Point).x for e in [old[2], *new]] == [3, 9, 9]
        assert len(w.archetypes) == 3
        assert not w.archetypes.has_many(new, g.Tag).any()


def test_a_failing_spawn_takes_rows_back() -> None:
    w = game.Game()
    w.spawn(1, health={}, mesh={}, plain={})
    with w.mesh.locked(), pytest.raises(game.StructureLockedError):
        w.spawn(2, health={}, armor={}, mesh={})
    with w.archetypes.locked(), pytest.raises(game.StructureLockedError):
        w.spawn(2, armor={}, mesh={}, plain={})
    assert (len(w.entities), len(w.mesh), len(w.plain), len(w.archetypes)) == (1, 1, 1, 1)
    with w.archetypes.locked():
        w.spawn(2, mesh={}, plain={})
    assert (len(w.entities), len(w.archetypes)) == (3, 1)


def test_chunks_are_shared_out_again() -> None:
    w = game.Game()
    store, pool = w.archetypes, w.archetypes._table.pool
    es = store.create([game.Health], 500)
    held = pool.nbytes
    assert held > 2 * 1024
    store.remove_many(es, game.Health)
    assert pool.nbytes == held
    store.add_many(es[:50], game.Body)
    assert pool.nbytes == held
    w.destroy_many(es)
    assert pool.nbytes == held
    store.shrink_to_fit()
    assert pool.nbytes == 0
    check(w, {})


def test_back_and_forth_makes_no_chunks() -> None:
    w = game.Game()
    (e,) = w.archetypes.create([game.Health]).tolist()
    seen = set()
    for _ in range(10):
        w.archetypes.add(e, game.Armor)
        seen |= {id(chunk) for chunk in w.archetypes.chunks()}
        w.archetypes.remove(e, game.Armor)
        seen |= {id(chunk) for chunk in w.archetypes.chunks()}
    assert len(seen) == 2
    assert w.archetypes._table.pool.nbytes == 2 * 1024


def test_saved_and_loaded_worlds_go_on_alike() -> None:
    w = game.Game()
    es = w.spawn(60, health={"hp": np.arange(60)}, plain={})
    w.archetypes.add_many(es[::3], game.Body, thing=[object() for _ in es[::3]])
    w.archetypes.remove_many(es[10:20], game.Health)
    w.destroy_many(es[5::7])
    worlds = [w, deepcopy(w), pickle.loads(pickle.dumps(w, protocol=2)), through_bytes(w)]
    for world in worlds:
        alive = world.entities.live()
        world.archetypes.add_many(alive[::-2], game.Armor, points=np.arange(len(alive[::-2])))
        world.destroy_many(alive[::5])
        world.spawn(7, marked={}, armor={})
    shown = [
        [(c.components, c.entity.tolist()) for c in world.archetypes.chunks()] for world in worlds
    ]
    assert shown[0] == shown[1] == shown[2] == shown[3]
    assert len({world.archetypes.version for world in worlds}) == 1
    assert w.archetypes is not worlds[1].archetypes
    assert worlds[1].archetypes._entities is worlds[1].entities


def test_forgotten_worlds_are_freed_at_once() -> None:
    """No reference cycle keeps the chunks until the garbage collector comes."""
    import gc
    import weakref

    gc.disable()
    try:
        w = game.Game()
        w.spawn(100, **{module: {} for module in COMPONENTS})
        w.archetypes.remove_many(w.entities.live(), game.Armor)
        for chunk in w.archetypes.chunks(all=[game.Health]):
            chunk.health.hp = 1
        buffers = [weakref.ref(chunk.buffer) for chunk in w.archetypes.chunks()]
        del chunk, w
        assert not any(ref() is not None for ref in buffers)
    finally:
        gc.enable()


def test_one_component_alone() -> None:
    g = package(
        "component: Only\nfields: {x: f32}\n---\nworld: World\narchetypes: {components: [Only]}",
        "archetype_single",
    )
    w = g.World()
    (e,) = w.archetypes.create([g.Only]).tolist()
    w.archetypes.set(e, g.Only, x=2)
    assert w.archetypes.get(e, g.Only) == (2.0,)
    assert w.signature(e) == g.Signature.ONLY
    w.archetypes.remove(e, g.Only)
    assert w.empty_entities().tolist() == [e]
    assert w.signatures([e]).tolist() == [0]


def test_more_components_than_a_word_has_bits() -> None:
    names = [f"C{k}" for k in range(70)]
    text = "\n---\n".join(f"component: {name}\nfields: {{x: u8}}" for name in names)
    g = package(f"{text}\n---\nworld: World\narchetypes: {{components: {names}}}", "archetype_many")
    w = g.World()
    rows = [getattr(g, name) for name in names]
    es = w.archetypes.create(rows[60:], 2, c65={"x": [3, 4]})
    w.archetypes.add(es[0], rows[0], x=9)
    assert w.archetypes.get(es[0], rows[65]) == (3,)
    assert len(list(w.archetypes.chunks(all=[rows[65], rows[69]], none=[rows[0]]))) == 1
    w.archetypes.remove_many(es, rows[69])
    assert [w.archetypes.get(e, rows[65]).x for e in es] == [3, 4]
    assert sorted(map(len, map(w.components, es.tolist()))) == [9, 10]


def test_fields_named_as_parameters() -> None:
    text = """
component: Odd
fields: {component: u8, fields: u8, given: u8, number: u8, values: u8, count_: u8}
---
world: World
archetypes: {components: [Odd]}
"""
    g = package(text, "archetype_names")
    store = g.World().archetypes
    es = store.create([g.Odd], 1, odd={"component": 1, "fields": 2})
    store.remove_many(es, g.Odd)
    store.add(es[0], g.Odd, component=3, fields=4, given=5, number=6, values=7)
    store.set(es[0], g.Odd, component=8)
    assert store.get(es[0], g.Odd) == (8, 4, 5, 6, 7, 0)
    store.remove(es[0], g.Odd)
    store.add_many(es, g.Odd, component=[1])
    assert store.get(es[0], g.Odd).component == 1


def test_rows_that_broadcast() -> None:
    """A cell of three for three rows is one cell for all of them."""
    w = game.Game()
    cell = (1.0, 2.0, 3.0)
    es = w.archetypes.create([game.Body], 3, body={"position": cell, "velocity": (7, 8)})
    others = w.spawn(3)
    w.archetypes.add_many(others[[1, 0, 2]], game.Marked)
    w.archetypes.add_many(others[::-1], game.Body, position=cell, thing="one for all")
    for e in [*es, *others]:
        assert w.archetypes.get(e, game.Body).position == cell
    assert w.archetypes.get(es[1], game.Body).velocity == (7.0, 8.0)
    assert w.archetypes.get(others[1], game.Body) == DEFAULTS["body"]._replace(
        position=cell, thing="one for all"
    )


@pytest.mark.parametrize("n", [1, 1000])
def test_a_change_in_a_loop_over_chunks_is_noticed_in_any_round(n: int) -> None:
    w = game.Game()
    w.archetypes.create([game.Health], n)

    def destroy_the_first_of_each() -> None:
        for chunk in w.archetypes.chunks(all=[game.Health]):
            w.destroy(chunk.entity[0])

    with pytest.raises(RuntimeError, match="changed while their chunks were iterated"):
        destroy_the_first_of_each()
    for chunk in w.archetypes.chunks(all=[game.Health]):
        w.destroy(chunk.entity[0])
        break
