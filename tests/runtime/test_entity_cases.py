"""The entity manager, one thing at a time, of several layouts of handles.

Mutants of it run these cases, too, beside the tests of the package that they break.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StaleEntityError, StructureLockedError
from ecsgen_runtime.base.handles import NULL_ENTITY, HandleLayout
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from ecsgen_runtime.entities.entity_pool import IndexQueue
from ecsgen_testing.subject import deaths, handles_with, raise_error, refuses

from tests.support.entities_package import DespawnListener
from tests.support.manager_state import fails

LAYOUTS = [(32, 32, 1024), (16, 4, 2), (3, 2, 0)]


class TestEntities:
    manager: type[EntityManagerBase]

    @pytest.fixture(autouse=True, params=LAYOUTS, ids=str)
    def of_a_layout(self, request: pytest.FixtureRequest) -> None:
        names = {"HANDLE_LAYOUT": HandleLayout(*request.param), "__slots__": ()}
        self.manager = type("Manager", (EntityManagerBase,), names)

    @property
    def layout(self) -> Any:
        return self.manager.HANDLE_LAYOUT

    def most(self, count: int) -> int:
        """Return so many, or as many entities as there can be."""
        return min(count, int(self.layout.INDEX_COUNT))

    @pytest.fixture(name="em")
    def made(self) -> EntityManagerBase:
        return self.manager()

    def created(self, em: EntityManagerBase, count: int, as_many: bool) -> list[int]:
        """Return new entities, created together or one after the other."""
        many: list[int] = em.create_many(count).tolist() if as_many else []
        return many or [em.create() for _ in range(count)]

    def test_handles(self, em: EntityManagerBase) -> None:
        entity = em.create()
        assert entity == self.layout.ONE_GENERATION
        assert (em.index(entity), em.generation(entity)) == (0, 1)
        assert em.create_many(1).dtype == np.uint64

    def test_what_can_not_be_an_entity_is_not_alive(self, em: EntityManagerBase) -> None:
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
    def test_repeated_entities_are_refused(self, em: EntityManagerBase, count: int) -> None:
        es = em.create_many(self.most(count)).tolist()
        refuses(StaleEntityError, "repeated", em.destroy_many, [es[1], es[0], es[1]])
        assert list(em) == es
        refuses(ValueError, "-1", em.create_many, -1)

    def test_repeated_entities_may_die_once(self, em: EntityManagerBase) -> None:
        es = em.create_many(self.most(6)).tolist()
        died = deaths(em)
        with pytest.raises(StaleEntityError, match="not alive"):
            em.destroy_many([es[1], es[1], 0], repeats=True)
        em.destroy_many([es[1], es[0], es[1]], repeats=True)
        assert died == [[es[1], es[0]]]
        em.destroy_many(es[2:], repeats=True)
        assert len(em) == 0

    @pytest.mark.parametrize("as_many", [False, True])
    def test_many_indices_wait_in_order(self, em: EntityManagerBase, as_many: bool) -> None:
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
                created = self.created(em, count, as_many)
            assert list(map(em.index, created)) == waiting[:count]
            waiting = waiting[count:]
            alive += created

    def test_many_reuse_early_ones_first_and_all_once_no_index_is_left(self) -> None:
        if self.layout.INDEX_COUNT < 4 or self.layout.GENERATION_BITS < 2:
            pytest.skip("an index, or its generations, would run out")
        em = self.manager()
        with handles_with(self.manager, MIN_FREE=1, INDEX_COUNT=4):
            em.destroy_many(em.create_many(3))
            again = em.create_many(4)
        assert [em.index(e) for e in again.tolist()] == [0, 1, 3, 2]
        assert [em.generation(e) for e in again.tolist()] == [2, 2, 1, 2]

    def test_the_next_index_to_be_used_finds_room(self) -> None:
        queue = IndexQueue()
        queue.push_many(np.arange(64))
        queue.push_front(99)
        assert [queue.pop() for _ in range(65)] == [99, *range(64)]

    def test_taking_back_after_others_came(self, em: EntityManagerBase) -> None:
        es = em.create_many(2)
        other = em.create()
        em.undo_create(es)
        assert list(em) == [other]
        assert not em.alive_many(es).any()
        with handles_with(self.manager, MIN_FREE=0):
            assert em.create_many(2).tolist() == es.tolist()

    @pytest.mark.parametrize("count", [1, 63, 64, 65, 129])
    def test_room_for_all(self, em: EntityManagerBase, count: int) -> None:
        count = min(count, self.layout.INDEX_COUNT - 1)
        es = em.create_many(count).tolist()
        es.append(em.create())
        assert list(em) == es

    @pytest.mark.parametrize("count", [0, 1, 20])
    def test_an_index_without_generations_is_retired(self, count: int) -> None:
        em = self.manager()
        last = self.layout.ONE_GENERATION
        with handles_with(self.manager, MIN_FREE=0, LAST_GENERATION=last):
            # their indices begin at 0, so these are the first of the last
            es = em.create_many(max(1, min(count, self.layout.INDEX_COUNT - 1)))
            if count:
                em.destroy_many(es)
            else:
                em.destroy(es[0])
            assert not em.alive_many(es).any()
            assert em.index(em.create()) == len(es)
        assert len(em) == 1

    def test_queued_indices_count_as_memory(self, em: EntityManagerBase) -> None:
        es = em.create_many(self.most(500))
        before = em.nbytes
        em.destroy_many(es)
        assert em.nbytes >= max(before, 8 * len(es) + 4 * len(es))

    def test_the_state_of_other_handles_is_refused(self, em: EntityManagerBase) -> None:
        with pytest.raises(ValueError, match="bits"):
            em.__setstate__(em.__getstate__() | {"bits": (1, 1)})

    def test_who_is_cancelled_meanwhile_hears_nothing(self, em: EntityManagerBase) -> None:
        em.on_destroy(lambda _: later.cancel())
        later = em.on_destroy(raise_error)
        em.destroy(em.create())
        em.destroy_many(em.create_many(2))

    @pytest.mark.parametrize("count", [3, 30])
    def test_callbacks_can_change_no_handles(self, em: EntityManagerBase, count: int) -> None:
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

    def test_who_is_to_die_twice_after_a_callback_dies_once(self, em: EntityManagerBase) -> None:
        first, second = em.create_many(2).tolist()
        died = deaths(em)

        def listen(gone: Any) -> None:
            if first in gone:
                em.destroy(second)
                em.destroy_many([second])

        em.on_destroy(listen)
        em.destroy(first)
        assert died == [[first], [second]]
        assert len(em) == 0

    def test_nobody_dies_while_a_manager_refuses(self, em: EntityManagerBase) -> None:
        listener = DespawnListener(em)
        listener._locks = 1
        es = em.create_many(2)
        for call, argument in ((em.destroy, es[0]), (em.destroy_many, es)):
            refuses(StructureLockedError, call, argument)
        assert em.alive_many(es).all()
        assert listener.dead == []

    def test_callbacks_that_fail_lose_nothing(self, em: EntityManagerBase) -> None:
        em.on_destroy(raise_error)
        died = deaths(em)
        em.on_destroy(raise_error)
        entity = em.create()
        fails([ZeroDivisionError] * 2, em.destroy, entity)
        assert died == [[entity]]
        assert not em.alive(entity)
