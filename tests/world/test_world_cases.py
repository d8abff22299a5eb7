"""Behaviour of worlds whatever their schemas are, tried on the committed package.

Mutants run these cases, too, beside the tests of the package that they break.
"""

from __future__ import annotations

import gc
import weakref
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.seeded import draw_keys
from ecsgen_testing.subject import CODECS, COPIES, deaths, loaded, refuses

from generated import Burning, Health, World

BOTH: dict[str, Any] = {"position": {}, "velocity": {}}


class TestWorlds:
    @pytest.fixture(name="w")
    def new_world(self) -> World:
        return World()

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

    @pytest.mark.parametrize("times", [1, 20])
    def test_noted_entities_die_together(self, w: World, times: int) -> None:
        es = w.spawn(4, **BOTH).tolist()
        died = deaths(w.entities)
        w.destroy_later(es[2])
        w.destroy_later(np.array(es[:1], np.uint64))
        for _ in range(times):
            w.destroy_later([es[2], 0, 2**70])
        assert w.gc() == 0
        assert w.entities.alive_many(es).all()
        assert w.flush() == 2
        assert died[0] == [es[2], es[0]]
        assert w.flush() == 0

    @pytest.mark.parametrize("is_clean", [False, True])
    def test_collect_flushes(self, w: World, is_clean: bool) -> None:
        es = w.spawn(4, **BOTH).tolist()
        if is_clean:
            w.collect()
        w.destroy_later(es[0])
        w.collect()
        assert not w.entities.alive(es[0])
        assert es[0] not in w.position
        assert es[0] not in w.velocity


class TestManagersOfOnesOwn:
    def test_all_kinds(self) -> None:
        for module, plain in World.MANAGER_CLASSES.items():
            body = {"__slots__": (), "_own_size": lambda m: len(m)}
            manager_class = type("Own", (plain,), body)
            kind: Any = type("World", (World,), {}, managers={module: manager_class})
            w = kind()
            assert type(getattr(w, module)) is manager_class
            assert getattr(w, module)._own_size() == len(getattr(World(), module))
            assert type(getattr(deepcopy(w), module)) is manager_class
            assert type(getattr(World(), module)) is plain

    def test_they_are_checked(self) -> None:
        wrong: list[Any] = [{"no_such_component": object}, 3]
        wrong += [{module: object} for module in World.MANAGER_CLASSES]
        wrong += [{module: len} for module in World.MANAGER_CLASSES]
        for managers in wrong:
            refuses(TypeError, type, "World", (World,), {}, managers=managers)
        for plain in World.MANAGER_CLASSES.values():
            for taken in ("data", "__len__"):
                message = f"has '{taken}' and does not always"
                refuses(TypeError, message, type, "Own", (plain,), {taken: len})


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
    """What they keep in the store."""

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
