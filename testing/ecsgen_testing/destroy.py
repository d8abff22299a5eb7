"""Cases and rules of rows whose entities are destroyed, and of the callbacks for removed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from ecsgen_runtime.base.errors import StructureLockedError
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from .common_cases import Cases
from .owned import OwnedCases, OwnedRules
from .state_machine import ManagerStateMachine
from .subject import (
    create_or_skip,
    fails,
    handles_with,
    raise_error,
    refuses,
)


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


class GcCases(OwnedCases):
    """Nobody dead, everybody dead, and what is between."""

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        return [*super().structural_calls(source, m), m.gc, m.collect]


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
        shown = [(row, self.owner_of(row), repr(m.row(row))) for row in rows.tolist()]
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


class ReleaseCases(Cases):
    """Callbacks that fail."""

    def test_failing_callbacks_lose_nothing(self) -> None:
        source, m, es = self.filled(4)
        seen: list[list[int]] = []
        m.on_release(raise_error)
        m.on_release(lambda rows: seen.append(rows.tolist()))
        m.on_release(raise_error)
        fails([ZeroDivisionError] * 2, m.destroy_many, [0, 1])
        assert seen == [[0, 1]]
        assert sorted(m) == sorted(es[2:].tolist())
        assert m.version == 2
        fails([ZeroDivisionError] * 2, m.destroy, self.found(m, es[2]))
        refuses(ExceptionGroup, m.clear)
        assert (len(m), m.version) == (0, 4)
        self.add_one(source, m)


class CallbackRules(OwnedRules):
    """Rows are removed at once when their entity dies."""

    def died(self, chosen: Sequence[int]) -> None:
        self.leave(self.falling(chosen))

    def falling(self, chosen: Sequence[int]) -> list[int]:
        """Return the rows that go when entities die."""
        return [row for entity in chosen for row in self.rows_of(entity)]


class CallbackCases(OwnedCases):
    """Destroying entities, one and many."""

    def test_rows_go_with_their_entity(self) -> None:
        entities, m, es = self.filled(6)
        entities.destroy(es[1])
        assert m.lookup(es[1]) == NIL
        assert (len(m), m.version) == (5, 2)
        entities.destroy_many(es[[0, 5, 3]])
        assert sorted(m) == sorted(es[[2, 4]].tolist())
        assert m.version == 3

    def test_a_successor_may_come_before_the_row_went(self) -> None:
        entities = self.subject.entities()
        successors: list[int] = []

        def replace(_: Any) -> None:
            successors.append(entities.create())
            m.create(successors[0], **self.subject.sample(3))

        entities.on_destroy(replace)  # before the manager's own
        m = self.subject.made(entities)
        es = create_or_skip(entities, 3)
        m.create_many(es, **self.subject.samples(3))
        with handles_with(entities, MIN_FREE=0):
            entities.destroy(es[0])
        assert sorted(m) == sorted([*es[1:].tolist(), *successors])
        assert [m.entity(m.lookup(entity)) for entity in m] == list(m)

    def test_nobody_dies_while_locked(self) -> None:
        entities, m, es = self.filled(3)
        more, named = create_or_skip(entities, 1), f"{self.subject.label}Manager"
        with self.unchanged(m):
            with m.locked():
                for call, argument in (
                    (entities.destroy, es[0]),
                    (entities.destroy, more[0]),
                    (entities.destroy_many, es),
                ):
                    refuses(StructureLockedError, named, call, argument)
            assert entities.alive_many([*es, *more]).all()
        entities.destroy(es[0])
        assert len(m) == 2
