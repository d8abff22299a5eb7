"""Entities: a state machine against a naive model, and direct cases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, ClassVar, Final

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ..entity_manager import Entities
from ..errors import CapacityError, StaleEntityError, StructureLockedError
from ..handles import NULL_ENTITY
from ..living import IndexQueue
from . import machine
from .subject import COPIES, Guard, deaths, fail, fails, handles_with, refuses

SETTINGS: Final = settings(
    machine.SETTINGS, stateful_step_count=40, report_multiple_bugs=False
)


class _Tested:
    """An entity manager to try."""

    manager: ClassVar[type[Entities]]

    @property
    def layout(self) -> Any:
        return self.manager._LAYOUT

    def most(self, count: int) -> int:
        """Return so many, or as many entities as there can be."""
        return min(count, int(self.layout.INDEX_COUNT))


class EntityRules(_Tested, RuleBasedStateMachine):
    """Few indices and generations, so that both run out."""

    @initialize(count=st.sampled_from([3, 10, 90]), min_free=st.integers(0, 3))
    def begin(self, count: int, min_free: int) -> None:
        self.count = self.most(count)
        self.min_free = min_free
        self.last = min(3, (1 << self.layout.GENERATION_BITS) - 1)
        last = self.last * self.layout.ONE_GENERATION
        few = {"INDEX_COUNT": self.count, "LAST_GENERATION": last}
        self.patches = ExitStack()
        self.patches.enter_context(handles_with(self.manager, MIN_FREE=min_free, **few))
        self.entities = self.manager()
        self.generations: list[int] = []  # by index
        self.alive: set[int] = set()
        self.ever: list[int] = []
        self.free: list[int] = []  # indices, first in first out

    def teardown(self) -> None:
        self.patches.close()

    def next_entity(self) -> int:
        """Create an entity in the model."""
        if len(self.free) > self.min_free or len(self.generations) == self.count:
            index = self.free.pop(0)
        else:
            index = len(self.generations)
            self.generations.append(1)
        entity: int = self.generations[index] * self.layout.ONE_GENERATION | index
        self.alive.add(entity)
        self.ever.append(entity)
        return entity

    def bury(self, entity: int) -> None:
        """Destroy an entity in the model."""
        index = entity & self.layout.INDEX_MASK
        self.alive.remove(entity)
        if self.generations[index] < self.last:
            self.generations[index] += 1
            self.free.append(index)

    def left(self) -> int:
        """Return how many entities can still be created."""
        return int(self.count - len(self.generations) + len(self.free))

    @rule()
    def create(self) -> None:
        if self.left():
            entity = self.next_entity()
            assert self.entities.create() == entity
        else:
            refuses(CapacityError, self.entities.create)

    @rule(count=st.integers(0, 8) | st.integers(20, 40))
    def create_many(self, count: int) -> None:
        if count <= self.left():
            expected = [self.next_entity() for _ in range(count)]
            assert self.entities.create_many(count).tolist() == expected
        else:
            refuses(CapacityError, self.entities.create_many, count)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def destroy(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(sorted(self.alive)))
        self.entities.destroy(entity)
        self.bury(entity)

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), share=st.integers(1, 5))
    def destroy_many(self, data: st.DataObject, share: int) -> None:
        chosen = sorted(self.alive)[:: data.draw(st.sampled_from([share, -share]))]
        self.entities.destroy_many(chosen)
        for entity in chosen:
            self.bury(entity)

    @precondition(lambda self: len(self.ever) > len(self.alive))
    @rule(data=st.data())
    def the_dead_stay_dead(self, data: st.DataObject) -> None:
        dead = data.draw(st.sampled_from(sorted(set(self.ever) - self.alive)))
        refuses(StaleEntityError, self.entities.destroy, dead)
        refuses(StaleEntityError, self.entities.destroy_many, [*self.alive, dead])

    @rule(count=st.integers(0, 20))
    def take_back(self, count: int) -> None:
        if count <= self.left():
            es = self.entities.create_many(count)
            self.entities._uncreate(es)
            assert not self.entities.alive_many(es).any()

    @rule(copied=st.sampled_from(COPIES))
    def copy(self, copied: Callable[[Entities], Entities]) -> None:
        self.entities = copied(self.entities)

    @invariant()
    def the_living_agree(self) -> None:
        em = self.entities
        assert len(em) == len(self.alive)
        assert list(em) == sorted(self.alive, key=em.index)
        alive = [entity in self.alive for entity in self.ever]
        assert em.alive_many(self.ever).tolist() == alive
        assert [em.alive(entity) for entity in self.ever] == alive
        assert [entity in em for entity in self.ever[-5:]] == alive[-5:]


class EntityCases(_Tested):
    """One thing at a time."""

    @pytest.fixture(name="em")
    def made(self) -> Entities:
        return self.manager()

    def created(self, em: Entities, count: int, as_many: bool) -> list[int]:
        """Return new entities, created together or one after the other."""
        many: list[int] = em.create_many(count).tolist() if as_many else []
        return many or [em.create() for _ in range(count)]

    def test_handles(self, em: Entities) -> None:
        entity = em.create()
        assert entity == self.layout.ONE_GENERATION
        assert (em.index(entity), em.generation(entity)) == (0, 1)
        assert em.create_many(1).dtype == np.uint64

    def test_what_can_not_be_an_entity_is_not_alive(self, em: Entities) -> None:
        assert not em.alive(NULL_ENTITY)
        assert not em.alive_many([NULL_ENTITY]).any()
        entity = em.create()
        beyond = self.layout.LAST_GENERATION + self.layout.ONE_GENERATION
        odd = [NULL_ENTITY, entity + 1, -1, -entity, beyond + entity, 2**64, 2**70]
        assert not any(em.alive(number) for number in odd)
        assert not em.alive_many(odd).any()
        for number in odd:
            refuses(StaleEntityError, em.destroy, number)
            refuses(StaleEntityError, em.destroy_many, [entity, number])
        assert em.alive(entity)
        for wrong in (1.0, "1", None):
            refuses(TypeError, em.alive, wrong)

    @pytest.mark.parametrize("count", [2, 100])
    def test_repeated_entities_are_refused(self, em: Entities, count: int) -> None:
        es = em.create_many(self.most(count)).tolist()
        refuses(StaleEntityError, "repeated", em.destroy_many, [es[1], es[0], es[1]])
        assert list(em) == es
        refuses(ValueError, "-1", em.create_many, -1)

    def test_repeated_entities_may_die_once(self, em: Entities) -> None:
        es = em.create_many(self.most(6)).tolist()
        died = deaths(em)
        with pytest.raises(StaleEntityError, match="not alive"):
            em.destroy_many([es[1], es[1], 0], repeats=True)
        em.destroy_many([es[1], es[0], es[1]], repeats=True)
        assert died == [[es[1], es[0]]]
        em.destroy_many(es[2:], repeats=True)
        assert len(em) == 0

    @pytest.mark.parametrize("as_many", [False, True])
    def test_many_indices_wait_in_order(self, em: Entities, as_many: bool) -> None:
        if self.layout.INDEX_COUNT < 400 or self.layout.GENERATION_BITS < 4:
            pytest.skip("handles are too few, or retire too soon")
        alive = em.create_many(400).tolist()
        waiting: list[int] = []
        for dying, coming in ((65, 65), (100, 60), (120, 150), (10, 20)):
            gone, alive = alive[:dying], alive[dying:]
            if as_many:
                em.destroy_many(gone)
            else:
                for entity in gone:
                    em.destroy(entity)
            waiting += map(em.index, gone)
            count = min(coming, len(waiting))
            with handles_with(self.manager, MIN_FREE=0):
                made = self.created(em, count, as_many)
            assert list(map(em.index, made)) == waiting[:count]
            waiting = waiting[count:]
            alive += made

    def test_many_reuse_early_ones_first_and_all_once_no_index_is_left(self) -> None:
        if self.layout.INDEX_COUNT < 4 or self.layout.GENERATION_BITS < 2:
            pytest.skip("an index, or its generations, would run out")
        em = self.manager()
        with handles_with(self.manager, MIN_FREE=1, INDEX_COUNT=4):
            em.destroy_many(em.create_many(3))
            again = em.create_many(4)
        assert [em.index(e) for e in again.tolist()] == [0, 1, 3, 2]
        assert [em.generation(e) for e in again.tolist()] == [2, 2, 1, 2]

    def test_who_is_alive_among_many(self, em: Entities) -> None:
        es = em.create_many(self.most(40_000))
        dead = np.zeros(len(es), np.bool_)
        dead[1:-1:3] = True
        em.destroy_many(es[dead])
        assert em.alive_many(es).tolist() == (~dead).tolist()
        assert em.alive_many(es[::-1]).tolist() == (~dead)[::-1].tolist()

    def test_the_next_index_to_be_used_finds_room(self) -> None:
        queue = IndexQueue()
        queue.push_many(np.arange(64))
        queue.put_first(99)
        assert [queue.pop() for _ in range(65)] == [99, *range(64)]

    def test_taking_back_after_others_came(self, em: Entities) -> None:
        es = em.create_many(2)
        other = em.create()
        em._uncreate(es)
        assert list(em) == [other]
        assert not em.alive_many(es).any()
        with handles_with(self.manager, MIN_FREE=0):
            assert em.create_many(2).tolist() == es.tolist()

    @pytest.mark.parametrize("count", [1, 63, 64, 65, 129])
    def test_room_for_all(self, em: Entities, count: int) -> None:
        count = min(count, self.layout.INDEX_COUNT - 1)
        es = em.create_many(count).tolist()
        es.append(em.create())
        assert list(em) == es

    @pytest.mark.parametrize("count", [0, 1, 20])
    def test_an_index_without_generations_is_retired(self, count: int) -> None:
        em = self.manager()
        one = self.layout.ONE_GENERATION
        with handles_with(self.manager, MIN_FREE=0, LAST_GENERATION=one):
            # their indices begin at 0, so these are the first of the last
            es = em.create_many(max(1, min(count, self.layout.INDEX_COUNT - 1)))
            if count:
                em.destroy_many(es)
            else:
                em.destroy(es[0])
            assert not em.alive_many(es).any()
            assert em.index(em.create()) == len(es)
        assert len(em) == 1

    def test_queued_indices_count_as_memory(self, em: Entities) -> None:
        es = em.create_many(self.most(500))
        before = em.nbytes
        em.destroy_many(es)
        assert em.nbytes >= max(before, 8 * len(es) + 4 * len(es))

    def test_the_state_of_other_handles_is_refused(self, em: Entities) -> None:
        with pytest.raises(ValueError, match="bits"):
            em.__setstate__(em.__getstate__() | {"bits": (1, 1)})

    def test_callbacks_hear_who_died(self, em: Entities) -> None:
        *es, entity = em.create_many(3).tolist()
        died: list[list[int]] = []
        subscription = em.on_destroy(lambda gone: died.append(gone.tolist()))
        em.destroy_many(es[::-1])
        em.destroy(entity)
        assert died == [es[::-1], [entity]]
        subscription.cancel()
        em.destroy(em.create())
        em.destroy_many([])
        assert len(died) == 2

    @pytest.mark.parametrize("count", [3, 30])
    def test_callbacks_can_change_no_handles(self, em: Entities, count: int) -> None:
        es = em.create_many(self.most(count))
        heard: list[Any] = []

        def listen(gone: Any) -> None:
            heard.append(gone)
            if len(heard) == 1:
                em.destroy(es[-1])

        em.on_destroy(listen)
        others = es[:-1].copy()
        em.destroy_many(others)
        assert [gone.tolist() for gone in heard] == [others.tolist(), [es[-1]]]
        assert not any(gone.flags.writeable for gone in heard)
        assert others.flags.writeable

    def test_nobody_dies_while_a_manager_refuses(self, em: Entities) -> None:
        guard = Guard(em)
        es = em.create_many(2)
        for call, given in ((em.destroy, es[0]), (em.destroy_many, es)):
            refuses(StructureLockedError, call, given)
        assert em.alive_many(es).all()
        assert guard.heard == []

    def test_nobody_queued_dies_while_a_manager_refuses(self, em: Entities) -> None:
        guard = Guard(em)
        first, second = em.create_many(2).tolist()
        guard._locks = 0

        def refuse(gone: Any) -> None:
            em.destroy(second)
            guard._locks = 1

        em.on_destroy(refuse)
        fails([StructureLockedError], em.destroy, first)
        assert em.alive(second)
        assert guard.heard == [[first]]

    def test_callbacks_that_fail_lose_nothing(self, em: Entities) -> None:
        em.on_destroy(fail)
        died = deaths(em)
        em.on_destroy(fail)
        entity = em.create()
        fails([ZeroDivisionError] * 2, em.destroy, entity)
        assert died == [[entity]]
        assert not em.alive(entity)

    def test_entities_destroyed_in_a_callback_wait_for_their_turn(self) -> None:
        em = self.manager()
        first, second = em.create(), em.create()
        order: list[list[int]] = []

        def destroy_second(gone: Any) -> None:
            if em.alive(second):
                em.destroy(second)
                em.destroy_many([second])
                assert em.alive(second)
                assert not em.alive(first)
            order.append(gone.tolist())

        em.on_destroy(destroy_second)
        em.destroy(first)
        assert order == [[first], [second]]
        assert len(em) == 0
