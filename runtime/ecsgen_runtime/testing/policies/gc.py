"""Rows of dead entities go lazily: by random picks, or all at once on demand."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from ...errors import StructureLockedError
from ..base import State
from ..machine import through_pickle
from ..subject import born
from . import lingering


class Rules(lingering.Rules):
    """The dead are found by random picks until four in a row are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.own_random = Random(0)

    def structural_calls(self) -> list[Callable[[], object]]:
        return [*super().structural_calls(), self.manager.gc, self.manager.collect]

    @rule(seed=st.none() | st.integers(0, 9))
    def gc(self, seed: int | None) -> None:
        given = None if seed is None else Random(seed)
        random = self.own_random if seed is None else Random(seed)
        with self.held():
            expected = self.picked(random)
        assert self.manager.gc(given) == expected

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


class Cases(lingering.Cases):
    """Nobody dead, everybody dead, and what is between."""

    def test_nobody_died(self) -> None:
        _, m, _ = self.filled(10)
        before = State(self.subject, m)
        assert m.gc() == m.gc(Random(1)) == m.collect() == 0
        assert State(self.subject, m) == before

    def test_nothing_to_collect_from(self) -> None:
        _, m = self.new()
        assert m.gc() == m.collect() == 0

    def test_everybody_died(self) -> None:
        entities, m, es = self.filled(100)
        entities.destroy_many(es)
        went = [m.gc() for _ in range(100)]
        assert sum(went) == 100
        assert (len(m), m.data.n, m.version) == (0, 0, 101)
        assert went[-1] == 0

    def test_collect_sweeps_all(self) -> None:
        entities, m, es = self.filled(20)
        entities.destroy_many(es[::3])
        assert m.collect() == 7
        alive = [e for k, e in enumerate(es.tolist()) if k % 3]
        assert sorted(m) == sorted(alive)
        assert m.version == 2
        assert m.collect() == 0
        assert m.version == 2
        for entity in alive:
            assert m.entity(m.lookup(entity)) == entity

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

    def test_few_of_the_dead_are_enough(self) -> None:
        entities, m, es = self.filled(200)
        entities.destroy_many(es[:100])
        went = m.gc(Random(3))
        assert 0 < went < 100
        assert len(m) == 200 - went
        assert set(es[100:].tolist()) <= set(m)

    def test_runs_repeat(self) -> None:
        counts = []
        for _ in range(2):
            entities, m, es = self.filled(200)
            entities.destroy_many(es[:120])
            counts.append([m.gc() for _ in range(5)] + list(m))
        assert counts[0] == counts[1]

    def test_the_generator_is_saved(self) -> None:
        entities, m, es = self.filled(200)
        entities.destroy_many(es[:120])
        m.gc()
        _, other = through_pickle((entities, m))
        assert [m.gc() for _ in range(5)] == [other.gc() for _ in range(5)]
        assert list(m) == list(other)

    def test_locked_managers_collect_nothing(self) -> None:
        entities, m, es = self.filled(3)
        entities.destroy_many(es)
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.gc()
            with pytest.raises(StructureLockedError):
                m.collect()
        assert m.collect() == 3

    def test_others_stay(self) -> None:
        entities, m, es = self.filled(8)
        more = born(entities, 1)
        entities.destroy_many([*es[[0, 7]], *more])
        assert m.collect() == 2
        assert sorted(m) == sorted(es[1:7].tolist())


class _Picks(Random):
    """Picks these of ten rows."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__()
        self.left = rows

    def random(self) -> float:
        return (self.left.pop(0) + 0.5) / 10
