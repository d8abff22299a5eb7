"""Cases and rules of rows whose entities are destroyed, and of the callbacks for removed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import pytest
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
    recreate,
    refuses,
    same,
    through_pickle,
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

    @rule()
    def collect(self) -> None:
        dead = [row for row in self.used() if self.at(row).owner not in self.alive]
        assert self.manager.collect() == self.leave(dead)


class _Picks(Random):
    """Picks these of ten rows."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__()
        self.left = rows

    def random(self) -> float:
        return (self.left.pop(0) + 0.5) / 10


class GcCases(OwnedCases):
    """Nobody dead, everybody dead, and what is between."""

    collects = True

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        return [*super().structural_calls(source, m), m.gc, m.collect]

    def test_four_alive_in_a_row_end_it(self) -> None:
        _, m, _ = self.filled(10)
        picks = _Picks([0, 4, 9, 4, 0])
        assert m.gc(picks) == 0
        assert picks.left == [0]

    def test_the_count_starts_again_with_each_dead(self) -> None:
        entities, m, es = self.filled(10)
        entities.destroy_many(es[[0, 9]])
        picks = _Picks([1, 2, 3, 9, 1, 2, 3, 0, 1, 2, 3, 4, 5])
        assert m.gc(picks) == 2
        assert picks.left == [5]

    def test_the_generator_is_saved(self) -> None:
        entities, m, es = self.filled(200)
        entities.destroy_many(es[:120])
        m.gc()
        _, other = through_pickle((entities, m))
        assert [m.gc() for _ in range(5)] == [other.gc() for _ in range(5)]

    def test_everybody_died(self) -> None:
        entities, m, es = self.filled(100)
        entities.destroy_many(es)
        went = [m.gc() for _ in range(100)]
        assert sum(went) == 100
        assert (len(m), m.data.n, m.version) == (0, 0, 101)
        assert went[-1] == 0


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
    """Every way out, failures, and what callbacks may do."""

    def test_the_manager_is_locked_meanwhile(self) -> None:
        source, m, _ = self.filled(3)
        calls = self.structural_calls(source, m)
        calls_seen: list[list[int]] = []

        def meddle(rows: Any) -> None:
            for call in () if calls_seen else calls:  # then ids are stale
                refuses(StructureLockedError, call)
            calls_seen.append(rows.tolist())

        m.on_release(meddle)
        m.destroy(0)
        assert (calls_seen, len(m)) == ([[0]], 2)
        m.clear()
        self.add_one(source, m)

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

    def test_what_callbacks_are_shown_is_a_copy(self) -> None:
        _, m, es = self.filled(6)

        def meddle(rows: Any) -> None:
            refuses(ValueError, "read-only", rows.fill, 0)
            rows.flags.writeable = True
            rows[:] = 5

        m.on_release(meddle)
        m.destroy_many([0, 2])
        assert sorted(m) == sorted(es[[1, 3, 4, 5]].tolist())


class OwnedReleaseCases(OwnedCases, ReleaseCases):
    """Removal by entity, and entities that come and go inside of callbacks."""

    def test_entities_destroyed_inside_wait_for_their_turn(self) -> None:
        entities, m, es = self.filled(2)
        extra = create_or_skip(entities, 2)
        alive: list[bool] = []

        def destroy_more(rows: Any) -> None:
            for entity in extra.tolist():
                if entities.alive(entity):
                    entities.destroy(entity)
                    entities.destroy(entity)
                    alive.append(entities.alive(entity))

        subscription = m.on_release(destroy_more)
        m.destroy(m.lookup(es[0]))
        assert alive == [True, True]
        assert not entities.alive_many(extra).any()
        assert entities.alive_many(es).all()
        subscription.cancel()
        m.clear()

    def test_failures_stop_no_creation(self) -> None:
        entities, m, es = self.filled(6)
        first, *more = recreate(entities, es[:4]).tolist()
        m.on_release(raise_error)
        with suppress(ExceptionGroup):  # where dead entities' rows are evicted first
            m.create(first, **self.subject.sample(8))
        with suppress(ExceptionGroup):
            m.create_many(more, **self.subject.samples(3))
        rows = m.lookup_many([first, *more])
        self.check_values(m, rows, [8, 0, 1, 2])

    def test_callbacks_do_not_change_what_is_created(self) -> None:
        for field in self.subject.whole:
            entities, m, es = self.filled(4)
            successors = recreate(entities, es[:2])
            values = field.array([field.sample(k) for k in range(3)])

            def overwrite(_: object, values: Any = values) -> None:
                values[:2] = values[2]

            m.on_release(overwrite)
            rows = m.create_many(successors, **{field.name: values[:2]})
            expected = [field.read(field.sample(k)) for k in range(2)]
            assert same([getattr(m, field.name)(row) for row in rows], expected)

    @pytest.mark.parametrize("count", [2, 20])
    def test_callbacks_do_not_change_who_gets_it(self, count: int) -> None:
        entities, m, es = self.filled(count)
        successors = recreate(entities, es)
        owners = successors.copy()
        m.on_release(lambda rows: owners.fill(0))
        rows = m.create_many(owners)
        assert m.data.entity[rows].tolist() == successors.tolist()

    @pytest.mark.parametrize("name", ["clear", "gc", "collect"])
    def test_failures_stop_no_sweep(self, name: str) -> None:
        entities, m, es = self.filled(100)
        sweep = getattr(m, name, m.clear)
        entities.destroy_many(es)
        m.on_release(raise_error)
        with suppress(ExceptionGroup):  # unless the rows went with their entities
            sweep()
        assert len(m) < 90


class CallbackRules(OwnedRules):
    """Rows are removed at once when their entity dies."""

    def died(self, chosen: Sequence[int]) -> None:
        self.leave([row for entity in chosen for row in self.rows_of(entity)])


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

    @pytest.mark.parametrize("form", ["create", "create_many"])
    def test_a_successor_may_come_before_the_row_went(self, form: str) -> None:
        entities = self.subject.entities()
        successors: list[int] = []

        def replace(removed: Any) -> None:
            successors.append(entities.create())
            if form == "create":
                m.create(successors[-1], **self.subject.sample(1))
            else:
                m.create_many(successors[-1:], **self.subject.samples(1))

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
