"""Cases and rules of rows whose entities are destroyed, and of the callbacks for removed rows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ecsgen_runtime.base.errors import StructureLockedError
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases
from .owned import OwnedRules
from .state_machine import ManagerStateMachine
from .subject import handles_with, refuses


class GcRules(OwnedRules):
    """The dead are found by random picks until four in a row are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.own_random = Random(0)

    @rule(seed=st.none() | st.integers(0, 9))
    def gc(self, seed: int | None) -> None:
        random_given = None if seed is None else Random(seed)
        random = self.own_random if seed is None else Random(seed)
        with self.held():
            expected = self.picked(random)
        assert self.manager.gc(random_given) == expected

    def picked(self, random: Random) -> int:
        """Collect in the model; a hole counts as alive."""
        went = alive_in_row = 0
        while self.table and alive_in_row < 4:
            record = self.table[row := int(random.random() * len(self.table))]
            if record is None or record.owner in self.alive:
                alive_in_row += 1
            else:
                alive_in_row = 0
                went += self.leave([row])
        return went

    def stale(self) -> list[int]:
        """Return the rows that `collect` removes."""
        return [row for row in self.used() if self.at(row).owner not in self.alive]

    @rule()
    def collect(self) -> None:
        assert self.manager.collect() == self.leave(self.stale())


class ReleaseRules(ManagerStateMachine):
    """Callbacks see rows that are removed, with their values, before they are removed."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[int, int, str]]] = []
        self.expected: list[list[tuple[int, int, str]]] = []
        super().__init__()

    def watch(self) -> None:
        super().watch()
        self.manager.on_release(self.note)

    def note(self, rows: Any) -> None:
        """Note rows as they can be read when they are about to go."""
        m = self.manager
        shown = [(row, self.subject.key(m, row), repr(m.row(row))) for row in rows.tolist()]
        self.seen.append(shown)

    def leaving(self, rows: list[int]) -> None:
        records = [(row, self.at(row)) for row in rows]
        shown = [(k, r.owner, repr(self.subject.row(**r.values))) for k, r in records]
        self.expected.append(shown)
        super().leaving(rows)

    @invariant()
    def announcements_agree(self) -> None:
        assert self.seen == self.expected
        self.seen.clear()
        self.expected.clear()


class CallbackCases(Cases):
    """Rows are removed when their entity dies, whoever hears of it first."""

    def test_successors_may_come_before_the_dead_go(self) -> None:
        entities, born = self.subject.entities(), list[int]()

        def succeed(dead: Any) -> None:
            born.append(entities.create())
            m.create(born[0], **self.subject.sample(1))

        entities.on_destroy(succeed)  # hears of it before the manager does
        m = self.subject.made(entities)
        with handles_with(entities, MIN_FREE=0):
            e = entities.create()
            m.create(e, **self.subject.sample(0))
            entities.destroy(e)
        assert entities.index(born[0]) == entities.index(e)
        assert [*m] == born


class CallbackRules(OwnedRules):
    """Rows are removed at once when their entity dies."""

    def died(self, chosen: Sequence[int]) -> None:
        self.leave(self.falling(chosen))

    def falling(self, chosen: Sequence[int]) -> list[int]:
        """Return the rows that go when entities die."""
        return [row for entity in chosen for row in self.rows_of(entity)]

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def nobody_dies_while_locked(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        with self.manager.locked():
            refuses(StructureLockedError, self.entities.destroy, entity)
            refuses(StructureLockedError, self.entities.destroy_many, self.alive)
        assert self.entities.alive_many(self.alive).all()
