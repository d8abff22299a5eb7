"""Behaviour of worlds whatever their schemas are, tried on the committed package.

Mutants of the library meet these cases, too, behind the tests of the package that they break.
"""

from __future__ import annotations

import gc
import weakref
from copy import deepcopy
from functools import partial
from typing import Any
from weakref import WeakSet

import pytest
from ecsgen_testing.seeded import draw_keys
from ecsgen_testing.subject import CODECS, COPIES, loaded, refuses

import generated as g
from generated import Burning, Health, World


class Thing:
    """Something that can be watched."""


BOTH: dict[str, Any] = {"position": {}, "velocity": {}}


@pytest.fixture(name="w")
def new_world() -> World:
    return World()


class TestWorlds:
    def test_parts_are_not_replaced(self) -> None:
        for w in (World(), deepcopy(World())):
            for name, part in list(vars(w).items()):
                refuses(AttributeError, type(part).__name__, setattr, w, name, part)
                refuses(AttributeError, type(part).__name__, delattr, w, name)
            untyped: Any = w
            untyped._turns = 0
            untyped._turns += 1
            assert deepcopy(untyped)._turns == 1
            del untyped._turns
            assert not hasattr(w, "_turns")

    def test_worlds_contain_live_entities(self, w: World) -> None:
        es = w.spawn(3).tolist()
        w.destroy(es[1])
        assert (len(w), list(w)) == (2, [es[0], es[2]])
        assert es[0] in w
        for absent in (es[1], 0, -1, 2**64, "text", 1.5, None):
            assert absent not in w


class TestArchetypes:
    def test_locked(self, w: Any) -> None:
        e, bare = w.archetypes.create([g.Health]).tolist()[0], w.create()
        store = w.archetypes
        calls: list[Any] = [store.clear, store.shrink_to_fit, partial(w.destroy, e)]
        calls += [partial(call, e, g.Health) for call in (store.remove, store.add)]
        calls += [partial(call, [e], g.Health) for call in (store.remove_many, store.add_many)]
        calls += [partial(store.create, [g.Health]), partial(w.spawn, 1, health={})]
        calls += [partial(w.create, g.Health()), partial(w[bare].add, g.Health())]
        with store.locked():
            with store.locked():
                pass
            for call in calls:
                refuses(g.StructureLockedError, call)
        assert (len(w), len(store)) == (2, 1)
        store.remove(e, g.Health)

    def test_chunks_by_what_they_hold(self, w: Any) -> None:
        a, b, c = g.Health, g.Armor, g.Burning
        for rows in ([a], [b], [a, b], [a, b, c]):
            w.archetypes.create(rows)

        def held(**clauses: Any) -> list[set[Any]]:
            return [set(chunk.components) for chunk in w.archetypes.chunks(**clauses)]

        assert held() == [{a}, {b}, {a, b}, {a, b, c}]
        assert held(any=[a, c]) == [{a}, {a, b}, {a, b, c}]
        assert held(all=[b], any=[a, c], none=[c]) == [{a, b}]

    def test_own_columns_are_arguments(self, w: Any) -> None:
        store = w.archetypes
        es = store.create([g.Health], 3, health={"points": [1, 2, 3]})
        (chunk,) = store.chunks()
        others = store.create([g.Health], 3, health={"points": chunk.health.points[::-1]})
        assert [store.get(e, g.Health).points for e in others] == [3, 2, 1]
        refuses(g.DuplicateInstanceError, store.add_many, [w.create()] * 2, g.Health)
        refuses(g.MissingInstanceError, store.remove_many, [es[0]] * 2, g.Health)
        store.remove_many(chunk.entity[:3], g.Health)
        assert store.has_many([*es, *others], g.Health).tolist() == [False] * 3 + [True] * 3

    def test_objects_are_let_go(self, w: Any) -> None:
        things = [Thing() for _ in range(3)]
        alive = WeakSet(things)
        es = w.archetypes.create([g.Weapon], 3, weapon={"model": things})
        del things
        w.destroy(es[0])
        assert len(alive) == 2
        w.archetypes.remove_many(es[1:2], g.Weapon)
        assert len(alive) == 1
        w.archetypes.clear()
        assert len(alive) == 0


class TestRowsOfEntities:
    def test_they_come_together_or_not_at_all(self, w: Any) -> None:
        x, bare = w[w.create(g.Position())], w[w.create()]
        hurt, positions = w[w.create(g.Health())], (g.Position(), g.Position())
        before = w.to_bytes(codecs=CODECS)
        twice = partial(w.create, g.Velocity(), *positions), partial(bare.add, *positions)
        for call in (*twice, partial(x.add, g.Velocity(), g.Position())):
            refuses(g.DuplicateInstanceError, "Position", call)
        kinds: Any = (g.Energy, "stored"), (g.Villager, "energy"), (g.Health, "points")
        for kind, name in kinds:
            for call in (w.create, bare.add, hurt.add):
                wrong = kind(**{name: "x"})
                refuses(TypeError, rf"{kind.__name__}\.{name}: ", call, g.Position(), wrong)
        with w.position.locked():
            refuses(g.StructureLockedError, bare.add, g.Velocity(), g.Position())
        assert w.to_bytes(codecs=CODECS) == before
        x.add(g.SoundSource(), g.SoundSource(volume=0.5))
        rows = w.sound_source.instances(x.entity)
        assert [w.sound_source.volume(row) for row in rows] == [1.0, 0.5]
        assert (x.remove(g.Position), x.remove(g.Position), len(x)) == (1, 0, 1)

    def test_classes_and_rows_are_told_apart(self, w: Any) -> None:
        x = w[w.create()]
        refuses(TypeError, "Position is a class: give a row", w.create, g.Position)
        message = "wanted the class Position, not a row"
        refuses(TypeError, message, w.get, x.entity, g.Position())
        for row in ((), (1, 2), g.Spark()):
            for call in (w.create, x.add):
                refuses(TypeError, "no component", call, row)
            for call in (partial(w.get, x.entity), x.remove):
                refuses(TypeError, "no component", call, type(row))
            assert type(row) not in x
        assert list(w) == [x.entity]

    def test_the_dead_have_none(self, w: Any) -> None:
        x = w[w.create(g.Position())]
        x.destroy()
        calls: list[Any] = [lambda: w[x.entity], lambda: len(x), lambda: list(x), x.add, x.destroy]
        calls += [lambda: tuple in x, lambda: x.position, lambda: x.remove(g.Position)]
        for call in (*calls, lambda: w.get(x.entity, g.Position)):
            refuses(g.StaleEntityError, call)
        assert "dead" in repr(x)


def seeded(w: Any) -> list[Any]:
    """Return the world and the managers that have a seed."""
    managers = (getattr(w, name) for name in w.MANAGERS)
    return [w, *(manager for manager in managers if hasattr(manager, "_stream_state"))]


class TestSeeds:
    def test_one_seed_for_all(self) -> None:
        w = World()
        before = w.to_bytes(codecs=CODECS)
        first = draw_keys(*seeded(w))
        assert first != draw_keys(*seeded(w))
        assert w.to_bytes(codecs=CODECS) != before
        w.seed = 5
        assert {m.seed for m in seeded(w)} == {5}
        other = draw_keys(*seeded(w))
        assert not set(first) & set(other)
        w.seed = 0
        assert w.to_bytes(codecs=CODECS) == before
        assert draw_keys(*seeded(w)) == first
        refuses((OverflowError, ValueError), "seed", setattr, w, "seed", 2**64)
        assert {m.seed for m in seeded(w)} == {0}

    def test_what_is_no_seed(self) -> None:
        for holder in seeded(World()):
            holder.seed = 7
            first = draw_keys(holder)
            for seed in (-1, 2**64, 1.0, "1", True, None):
                refuses(
                    (ValueError, OverflowError, TypeError), "seed", setattr, holder, "seed", seed
                )
            assert holder.seed == 7
            assert not {*first} & {*draw_keys(holder)}

    def test_copies_and_files_go_on(self) -> None:
        w = World()
        for seed in (0, 2**64 - 1):
            w.seed = seed
            draw_keys(*seeded(w))
            others = [copied(w) for copied in (*COPIES, loaded)]
            expected = draw_keys(*seeded(w))
            for other in others:
                assert other.seed == seed
                assert draw_keys(*seeded(other)) == expected


class TestKernelsOverChunks:
    """Entries that they keep in the store."""

    def test_memory_is_given_back(self) -> None:
        w = World()
        w.archetypes.create([Health, Burning], 150)
        w.archetypes.shrink_to_fit()
        before = w.archetypes.nbytes
        w.scorch(0.5, 0.25)
        assert w.archetypes.nbytes == before + w.archetypes.kernel_blocks["scorch"].nbytes
        w.archetypes.shrink_to_fit()
        assert w.archetypes.nbytes == before
        w.scorch(0.5, 0.25)
        buffers = [weakref.ref(chunk.buffer.base) for chunk in w.archetypes.chunks()]
        w.archetypes.clear()
        w.archetypes.shrink_to_fit()
        gc.collect()
        assert not any(buffer() is not None for buffer in buffers)
