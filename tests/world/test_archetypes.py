"""Archetypes: rows in chunks, their places and types, loops over chunks; beside a dict of dicts."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from math import prod
from typing import Any, assert_type

import numpy as np
import pytest
from ecsgen_runtime.tables.buffers import Column
from ecsgen_runtime.world.archetypes.archetype_table import (
    NO_LOCATION,
    EntityLocations,
    group_by_archetype,
)
from ecsgen_runtime.world.archetypes.chunks import ChunkColumns, ChunkLayout, RowCount
from ecsgen_testing.subject import refuses
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import invariant
from numpy.typing import NDArray

from ecsgen.model.columns import chunk_row_bytes, chunk_rows
from ecsgen.model.types import SCALARS
from generated import Armor, Burning, Element, Entity, Game, Health, MissingInstanceError, Transform
from tests.support.archetypes_package import (
    COMPONENTS,
    DEFAULTS,
    check_queries,
    check_structure,
    game,
)
from tests.support.entities_package import entity_manager
from tests.support.schema_evolution import through_bytes
from tests.support.state_machines import machine_of, run_machine
from tests.support.world_package import load, world_package


class Meddler:
    """A number that runs code when it is looked at."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def __index__(self) -> int:
        self.action()
        return 7


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


def test_the_dead_come_before_locks_and_these_before_values() -> None:
    w = game.Game()
    store = w.archetypes
    dead = w.entities.create()
    w.destroy(dead)
    alive = store.create([game.Armor]).tolist()[0]
    with store.locked():
        refuses(game.StaleEntityError, store.add, dead, game.Armor, points="x")
        refuses(game.StaleEntityError, store.add_many, [alive, dead, dead], game.Armor, points="x")
        refuses(game.StructureLockedError, store.add, alive, game.Armor, points="x")
    refuses(game.DuplicateInstanceError, "twice", store.add_many, [alive] * 2, game.Health, hp="x")
    refuses(game.MissingInstanceError, store.set, alive, game.Health, hp="x")
    refuses(OverflowError, r"Armor\.points", store.set, alive, game.Armor, points=65536)


def test_fields_that_no_component_has() -> None:
    w = game.Game()
    store, armor = w.archetypes, game.Armor
    (entity,) = store.create([armor]).tolist()
    (bare,) = w.spawn(1).tolist()
    for call in (
        partial(store.create, [armor], armor={"hp": 1}),
        partial(w.spawn, 1, armor={"hp": 1}),
        partial(store.add_many, [bare], armor, hp=1),
        partial(store.add, bare, armor, hp=1),
        partial(store.set, entity, armor, hp=1),
    ):
        refuses(TypeError, "^Armor has no field 'hp'; it has points", call)
    refuses(TypeError, r"'pionts'; did you mean 'points'\?$", store.set, entity, armor, pionts=1)
    refuses(
        TypeError, "^Armor takes a dict of its fields, not int$", store.create, [armor], armor=3
    )
    empty: tuple[object, ...] = ([], (), False, np.zeros(0), np.zeros(2))
    for nothing in empty:
        message = "^Armor takes a dict of its fields, not "
        refuses(TypeError, message, store.create, [armor], armor=nothing)


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
    g = world_package(
        """
component: Mesh
destroy: callback
---
component: Tag
---
component: Point
fields: {x: f32}
---
component: Mark
fields: {y: i32}
---
world: Game
entity: {min_free: 0}
archetypes: {chunk: 512, components: [Tag, Point, Mark]}
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

    w = g.Game()
    dies, stays, lives = w.spawn(3, mesh={}, point={"x": [1, 2, 3]})

    def marked(rows: Any) -> None:
        """Moves what lives: first to the row of the dead, then elsewhere."""
        both = [lives, *w.entities.create_many(1)]
        w.archetypes.add_many(both, g.Mark, y=[4, 5])

    w.mesh.on_release(marked)
    w.destroy(dies)
    assert [w.archetypes.get(e, g.Point).x for e in (stays, lives)] == [2, 3]
    assert w.archetypes.get(lives, g.Mark).y == 4
    points = [chunk.point.x.tolist() for chunk in w.archetypes.chunks(all=[g.Point], none=[g.Mark])]
    assert points == [[2]]


def test_a_creation_that_fails_takes_its_entities_back(monkeypatch: pytest.MonkeyPatch) -> None:
    w = game.Game()
    w.archetypes.create([game.Health], 2)
    store = type(w.archetypes)
    append = store.append

    def fail_afterwards(*arguments: Any) -> None:
        append(*arguments)
        raise MemoryError

    monkeypatch.setattr(store, "append", fail_afterwards)
    with pytest.raises(MemoryError):
        w.archetypes.create([game.Health], 3)
    assert (len(w.entities), len(w.archetypes)) == (2, 2)
    check_structure(w)


def test_chunks_are_shared_out_again() -> None:
    w = game.Game()
    store, pool = w.archetypes, w.archetypes.table.pool
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
    check_structure(w)


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
    assert w.archetypes.table.pool.nbytes == 2 * 1024


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
    g = world_package(
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
    g = world_package(
        f"{text}\n---\nworld: World\narchetypes: {{components: {names}}}", "archetype_many"
    )
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
    g = world_package(text, "archetype_names")
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


def test_places_by_archetype() -> None:
    generation, two = 1 << 32, 2 << 32
    places = np.array(
        [generation | 5, NO_LOCATION, generation | 3, two | 2, NO_LOCATION, generation | 4, two],
        np.uint64,
    )
    groups = [
        (number, which.tolist() if which is not None else None, positions.tolist())
        for number, which, positions in group_by_archetype(places)
    ]
    assert groups == [(0, [1, 4], [0, 0]), (1, [2, 5, 0], [3, 4, 5]), (2, [6, 3], [0, 2])]
    ((number, which, positions),) = group_by_archetype(np.array([1, 2, 9], np.uint64))
    assert (number, which, positions.tolist()) == (0, None, [1, 2, 9])
    assert list(group_by_archetype(np.empty(0, np.uint64))) == []


def test_places_tell_generations_apart() -> None:
    places = EntityLocations(entity_manager()())
    first, second = 1 << 32 | 900, 2 << 32 | 900
    assert places.get(first) == NO_LOCATION
    assert places.cover(first) == 0
    places.set(first, 17)
    assert (places.get(first), places.get(second)) == (17, NO_LOCATION)
    assert places.cover(second) == first
    both = np.array([first, second, 5 << 32], np.uint64)
    assert places.get_many(both).tolist() == [17, NO_LOCATION, NO_LOCATION]
    assert places.cover_many(both[1:]).tolist() == [first]
    places.set(first, NO_LOCATION)
    assert places.get(first) == NO_LOCATION
    assert places.cover(second) == 0
    assert places.cover_many(both[1:]).tolist() == []
    assert places.get(0) == NO_LOCATION


def test_rows_and_columns_have_types() -> None:
    w = Game()
    store = w.archetypes
    es = store.create([Health, Armor], n=2, health={"points": [1, 2]}, armor={"points": 3})
    e = w.entities.create()
    store.add(e, Health, points=5.0)
    store.add(e, Armor, points=3, element=Element.frost)
    store.add_many(es, Burning)
    assert_type(store.get(e, Health), Health)
    assert_type(store.get(e, Armor).element, Element)
    for chunk in store.chunks(all=[Health], none=[Burning]):
        assert_type(chunk.health.points, NDArray[np.float32])
        assert_type(chunk.entity, NDArray[np.uint64])
        chunk.health.points *= 2
        chunk.armor.points = [4]
    store.set(e, Health, limit=50.0)
    assert store.get(e, Health) == (10.0, 50.0, 0.0)
    assert store.get(e, Armor) == (4, Element.frost)


def test_rows_are_values_of_their_types() -> None:
    w = Game()
    es = w.spawn(2, transform=Transform(), armor=Armor(points=3))
    assert_type(w.archetypes.get(es[0], Armor).points, int)
    w.archetypes.add(es[0], Health(limit=5))
    w.archetypes.add_many(es[1:], Health())
    w.archetypes.create([Armor], 2, armor=Armor(element=Element.frost))
    assert_type(w.transform.FIELDS[0].unit, str)
    assert_type(Game.MANAGERS[0], str)
    with pytest.raises(TypeError, match="Transform"):
        w.archetypes.add(es[0], Transform())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not Armor"):
        w.spawn(1, transform=Armor())  # type: ignore[arg-type]


def test_what_mypy_refuses_raises() -> None:
    w = Game()
    e = w.entities.create()
    with pytest.raises(TypeError, match="pionts"):
        w.archetypes.add(e, Armor, pionts=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"Armor\.points"):
        w.archetypes.add(e, Armor, points="3")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="Transform"):
        w.archetypes.get(e, Transform)  # type: ignore[type-var]
    with pytest.raises(MissingInstanceError):
        w.archetypes.get(e, Armor)
    w.archetypes.add(e, Armor)
    (chunk,) = w.archetypes.chunks()
    with pytest.raises(AttributeError):
        _ = chunk.amor  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="Armor"):
        _ = chunk.health


def test_queries_have_types() -> None:
    w = Game()
    es = w.archetypes.create([Health, Burning], 2)
    for chunk in w.ablaze.chunks():
        assert_type(chunk.health.points, NDArray[np.float32])
        chunk.health.points -= 1
    assert_type(w.ablaze.rows().entity, NDArray[np.uint64])
    assert w.ablaze.rows().entity.tolist() == es.tolist()
    with pytest.raises(ValueError, match="read-only"):
        w.ablaze.rows().entity[0] = 1
    for row in w.ablaze:
        assert_type(row.entity, Entity)
        assert w.archetypes.get(row.entity, Health).points == 99
    assert len(w.fighters) == 0


KINDS = {
    name: np.dtype(name if name == "bool" else f"{name[0]}{scalar.nbytes}")
    for name, scalar in SCALARS.items()
}
SHAPES = [(), (3,), (2, 2), (4, 4)]
FIELDS = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(SHAPES)), max_size=5)


class Row(tuple[Any, ...]):
    """Stands for the rows of all components here."""


def part(columns: Sequence[tuple[str, tuple[int, ...]]]) -> type[ChunkColumns]:
    """A component of these columns, as generated code describes it."""

    class Data(ChunkColumns):
        ROW = Row
        LAYOUT = tuple(
            Column(f"c{k}", KINDS[kind], shape, KINDS[kind].itemsize * prod(shape), (), 0)
            for k, (kind, shape) in enumerate(columns)
        )

        def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
            self._rows = rows

    return Data


@given(parts=st.lists(FIELDS, min_size=1, max_size=3), size=st.sampled_from([4096, 5000, 16384]))
def test_the_generator_counts_as_the_runtime_does(
    parts: list[list[tuple[str, tuple[int, ...]]]], size: int
) -> None:
    text = "\n---\n".join(
        f"component: C{k}\nfields: {{"
        + ", ".join(
            f'c{i}: "{kind}{list(shape) if shape else ""}"'.replace(" ", "").replace(":", ": ")
            for i, (kind, shape) in enumerate(fields)
        )
        + "}"
        for k, fields in enumerate(parts)
    )
    components = load(text).components
    if chunk_row_bytes(components) > size:
        assert chunk_rows(components, size) == 0
        return
    layout = ChunkLayout(2 ** len(parts) - 1, [part(fields) for fields in parts], size)
    assert layout.capacity == chunk_rows(components, size) > 0
    rows = layout.capacity + 1  # would not fit
    assert sum(-(-rows * it.column.nbytes // 64) * 64 for it in layout.places) > size


class Machine(machine_of(game, "archetypes")):  # type: ignore[misc]  # known when it is built
    """That of generated tests, which looks at queries and at what is behind the rows, too."""

    @invariant()
    def the_structure_holds(self) -> None:
        check_structure(self.w)
        check_queries(self.w, self.entities)
        empty = [e for e, rows in self.entities.items() if not rows]
        assert self.w.empty_entities().tolist() == sorted(empty, key=self.w.entities.index)


@pytest.mark.hypothesis
@pytest.mark.parametrize("number", range(3))
def test_worlds_do_as_the_model(number: int) -> None:
    run_machine(Machine, number)
