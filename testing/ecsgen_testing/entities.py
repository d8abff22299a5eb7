"""Entities: a state machine against a naive model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, ClassVar, Final

from ecsgen_runtime.base.errors import CapacityError, StaleEntityError
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from . import state_machine
from .subject import COPIES, handles_with, refuses

SETTINGS: Final = settings(
    state_machine.SETTINGS, stateful_step_count=40, report_multiple_bugs=False
)


class EntityRules(RuleBasedStateMachine):
    """Few indices and generations, so that both run out."""

    manager: ClassVar[type[EntityManagerBase]]

    @property
    def layout(self) -> Any:
        return self.manager.HANDLE_LAYOUT

    @initialize(count=st.sampled_from([3, 10, 90]), min_free=st.integers(0, 3))
    def begin(self, count: int, min_free: int) -> None:
        self.count = min(count, int(self.layout.INDEX_COUNT))
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

    def despawn(self, entity: int) -> None:
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
        self.despawn(entity)

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), share=st.integers(1, 5))
    def destroy_many(self, data: st.DataObject, share: int) -> None:
        chosen = sorted(self.alive)[:: data.draw(st.sampled_from([share, -share]))]
        self.entities.destroy_many(chosen)
        for entity in chosen:
            self.despawn(entity)

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
            self.entities.undo_create(es)
            assert not self.entities.alive_many(es).any()

    @rule(copied=st.sampled_from(COPIES))
    def copy(self, copied: Callable[[EntityManagerBase], EntityManagerBase]) -> None:
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
