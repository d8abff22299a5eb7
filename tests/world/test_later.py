"""Deaths that wait: entities are noted, and die together when the world says so."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """
component: Lazy
fields: {a: f64}
---
component: Prompt
destroy: callback
fields: {b: f64}
---
component: Scar
fields: {c: f64}
---
world: Game
archetypes: {components: [Scar]}
entity: {min_free: 0}
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "later")


@pytest.fixture
def world(package: ModuleType) -> Any:
    return package.Game()


def test_nobody_is_noted(world: Any) -> None:
    assert world.flush() == world.collect() == 0
    assert pickle.loads(pickle.dumps(world)).flush() == 0


def test_noted_entities_live_until_the_flush(world: Any) -> None:
    es = world.spawn(5, lazy={}, prompt={})
    died: list[list[int]] = []
    world.entities.on_destroy(lambda gone: died.append(gone.tolist()))
    world.destroy_later(es[3])
    world.destroy_later(int(es[0]))
    world.destroy_later(es[2:4])
    world.destroy_later([])
    assert world.entities.alive_many(es).all()
    assert world.flush() == 3
    assert died == [[es[3], es[0], es[2]]]  # at once, in the order noted
    assert sorted(world.prompt) == [es[1], es[4]]
    assert len(world.lazy) == 5
    assert world.flush() == 0


@pytest.mark.parametrize(
    "form", [list, tuple, np.array, lambda es: np.array(es, np.int64), lambda es: es[::-1]]
)
def test_many_are_given_in_any_form(world: Any, form: Callable[[Any], Any]) -> None:
    es = world.spawn(3).tolist()
    world.destroy_later(form(es))
    world.destroy_later(form(es))
    assert world.flush() == 3
    assert len(world.entities) == 0


def test_one_is_given_in_any_form(world: Any) -> None:
    es = world.spawn(4)
    for entity in (es[0], int(es[1]), np.array(es[2]), np.int64(es[3])):
        world.destroy_later(entity)
    assert world.flush() == 4


@pytest.mark.parametrize("wrong", [None, "1", 1.0, [1.5], ["a"], {1}, [[1]]])
def test_what_is_no_entity_is_refused(world: Any, wrong: Any) -> None:
    (entity,) = world.spawn(1)
    world.destroy_later(entity)
    with pytest.raises((TypeError, ValueError)):
        world.destroy_later(wrong)
    assert world.flush() == 1


def test_the_dead_and_their_successors_are_passed_over(world: Any) -> None:
    es = world.spawn(4)
    world.destroy_later(es)
    world.destroy_later([0, -1, 2**64 - 1, 2**70])
    world.destroy_many(es[:2])
    successors = world.spawn(2)
    assert set((successors & 0xFFFF_FFFF).tolist()) == {0, 1}
    assert world.flush() == 2
    assert world.entities.alive_many(successors).all()


def test_what_the_caller_changes_afterwards_is_nobodys_business(world: Any) -> None:
    es = world.spawn(3)
    entities = es[:1].copy()
    world.destroy_later(entities)
    entities[0] = es[2]
    assert world.flush() == 1
    assert not world.entities.alive(es[0])


def test_collect_flushes_first_and_gc_does_not(world: Any) -> None:
    es = world.spawn(2, lazy={})
    world.destroy_later(es[0])
    assert world.gc() == 0
    assert world.entities.alive(es[0])
    assert world.collect() == 1
    assert list(world.lazy) == [es[1]]


@pytest.mark.parametrize("copied", [deepcopy, lambda world: pickle.loads(pickle.dumps(world))])
def test_notes_are_saved(world: Any, copied: Callable[[Any], Any]) -> None:
    es = world.spawn(3)
    world.destroy_later(int(es[0]))
    world.destroy_later(es[1:2])
    other = copied(world)
    world.destroy_later(es[2])
    assert other.flush() == 2
    assert world.flush() == 3


@pytest.mark.parametrize("name", ["flush", "collect"])
def test_who_may_not_die_stays_noted(world: Any, name: str) -> None:
    es = world.spawn(3, lazy={}, prompt={})
    world.destroy_later(es[:2])
    with world.prompt.locked():
        with pytest.raises(RuntimeError, match="PromptManager"):
            getattr(world, name)()
        assert world.entities.alive_many(es).all()
        assert len(world.lazy) == 3
    assert world.flush() == 2
    assert list(world.prompt) == [es[2]]


def test_failing_callbacks_stop_nothing(world: Any) -> None:
    es = world.spawn(3, lazy={}, prompt={})

    def fail(gone: Any) -> None:
        raise ZeroDivisionError

    world.entities.on_destroy(fail)
    for name, count in (("flush", 3), ("collect", 1)):
        world.destroy_later(es[0] if count == 3 else es[1:])
        with pytest.raises(ExceptionGroup) as caught:
            getattr(world, name)()
        assert list(map(type, caught.value.exceptions)) == [ZeroDivisionError]
        assert len(world.lazy) == (3 if count == 3 else 0)
    assert len(world.entities) == len(world.prompt) == world.flush() == 0


def test_what_callbacks_note_waits_for_the_next_time(world: Any) -> None:
    es = world.spawn(3, prompt={})
    world.prompt.on_release(lambda rows: world.destroy_later(es[2]))
    world.destroy_later(es[0])
    assert world.flush() == 1
    assert world.entities.alive(es[2])
    assert world.flush() == 1


def test_a_flush_inside_of_a_callback_waits_for_its_turn(world: Any) -> None:
    es = world.spawn(3, prompt={})
    seen: list[tuple[int, bool]] = []
    world.destroy_later(es[1])
    handle = world.prompt.on_release(
        lambda rows: seen.append((world.flush(), world.entities.alive(es[1])))
    )
    world.destroy(es[0])
    handle.cancel()
    assert seen[0] == (1, True)
    assert list(world.prompt) == [es[2]]
    assert world.flush() == 0


def test_repeats_die_once(world: Any) -> None:
    es = world.spawn(4, prompt={})
    with pytest.raises(LookupError, match="repeated"):
        world.destroy_many([es[1], es[0], es[1]])
    assert len(world.entities) == 4
    world.destroy_many([es[1], es[0], es[1]], repeats=True)
    assert sorted(world.prompt) == es[2:].tolist()
    with pytest.raises(LookupError, match="not alive"):
        world.destroy_many([es[2], es[2], es[0]], repeats=True)
    world.destroy_many(np.repeat(es[2:], 50), repeats=True)
    assert len(world.entities) == len(world.prompt) == 0
