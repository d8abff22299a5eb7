"""The entity's index is the row: nothing moves, and there may be holes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis.stateful import invariant

from ...errors import StaleInstanceError
from ...handles import NIL, NULL_ENTITY
from ..base import State
from ..machine import Record
from ..subject import born, same
from . import indexed, one


class Rules(indexed.Rules, one.Rules):
    """Rows are where the entity's index says."""

    def append(self, records: list[Record]) -> list[int]:
        rows = [self.entities.index(record.owner) for record in records]
        self.table += [None] * (max(rows) + 1 - len(self.table))
        for row, record in zip(rows, records, strict=True):
            self.table[row] = record
        return rows

    def rows_needed(self, owners: Sequence[int]) -> int:
        return max(map(self.entities.index, owners), default=-1) + 1

    def close(self, rows: list[int]) -> None:
        for row in rows:
            self.table[row] = None
        while self.table and self.table[-1] is None:
            self.table.pop()

    @invariant()
    def holes_agree(self) -> None:
        present = [record is not None for record in self.table]
        assert self.manager.data.present.tolist() == present
        for row in [row for row, used in enumerate(present) if not used][:2]:
            with pytest.raises(StaleInstanceError):
                self.manager.row(row)
            with pytest.raises(StaleInstanceError):
                self.manager.destroy(row)


class Cases(indexed.Cases, one.Cases):
    """Rows stay where they are."""

    def test_a_hole_stays_a_hole(self) -> None:
        _, m, es = self.filled(5)
        m.destroy(2)
        assert (len(m), m.data.n) == (4, 5)
        assert m.data.present.tolist() == [True, True, False, True, True]
        assert m.data.entity.tolist() == [*es[:2], 0, *es[3:]]
        assert list(m) == [*es[:2], *es[3:]]
        self.check_unused(m, 2)
        self.check_values(m, [0, 1, 3, 4], [0, 1, 3, 4])

    def test_the_last_row_takes_the_holes_before_it_along(self) -> None:
        _, m, es = self.filled(5)
        m.destroy_many([3, 2])
        assert m.data.n == 5
        m.destroy(4)
        assert (len(m), m.data.n) == (2, 2)
        m.destroy_many([0, 1])
        assert (len(m), m.data.n, list(m)) == (0, 0, [])
        assert m.create_many(es[[4, 0]]).tolist() == [4, 0]
        assert (len(m), m.data.n) == (2, 5)

    def test_the_end_is_found_over_many_holes(self) -> None:
        entities, m = self.new(10_000)
        es = born(entities, 10_000)
        m.create_many(es)
        m.destroy_many(np.arange(1, 9_999))
        assert (len(m), m.data.n) == (2, 10_000)
        m.destroy(9_999)
        assert (len(m), m.data.n) == (1, 1)

    @pytest.mark.parametrize("holes", [1, 15, 16, 17, 4_110, 4_111, 4_112, 8_200])
    def test_the_end_is_found_over_any_number_of_holes(self, holes: int) -> None:
        entities, m = self.new(holes + 2)
        es = born(entities, holes + 2)
        chosen = es[[0, -1]]
        m.create_many(chosen)
        m.destroy(holes + 1)
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(chosen[1:])
        m.destroy_many([holes + 1])
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])

    @pytest.mark.parametrize("count", [2, 15, 16, 17, 40, 5_000])
    def test_the_end_is_found_when_many_go(self, count: int) -> None:
        entities, m = self.new(count + 1)
        es = born(entities, count + 1)
        m.create_many(es)
        m.destroy_many(np.arange(1, count + 1))
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(es[1:])
        m.destroy_many(np.delete(np.arange(count + 1), 1))
        assert (len(m), m.data.n, list(m)) == (1, 2, [es[1]])

    def test_a_mask_with_holes(self) -> None:
        _, m, es = self.filled(4)
        m.destroy(1)
        before = State(self.subject, m)
        with pytest.raises(StaleInstanceError):
            m.destroy_many(np.ones(4, np.bool_))
        assert State(self.subject, m) == before
        m.destroy_many(m.data.present & (m.data.entity != es[0]))
        assert list(m) == [es[0]]

    def test_the_only_row(self) -> None:
        entities, m = self.new(3)
        es = born(entities, 3)
        assert m.create(es[2], **self.subject.sample(1)) == 2
        assert (len(m), m.data.n) == (1, 3)
        m.destroy(2)
        assert (len(m), m.data.n) == (0, 0)
        self.check_unused(m, 2)

    def test_a_hole_is_nobodys(self) -> None:
        _, m, es = self.filled(2)
        m.destroy(0)
        assert m.lookup(NULL_ENTITY) == NIL
        assert m.remove(NULL_ENTITY) == 0
        assert list(m) == [es[1]]

    def test_a_hole_is_filled_with_fresh_values(self) -> None:
        _, m, es = self.filled(3)
        m.destroy(1)
        m.create(es[1])
        assert same(m.row(1), self.subject.read({}))
        m.destroy_many([0, 1])
        m.create_many(es[:2])
        for row in range(2):
            assert same(m.row(row), self.subject.read({}))
        self.check_values(m, [2], [2])

    def test_columns_of_used_rows_alone(self) -> None:
        _, m, _ = self.filled(4)
        m.destroy_many([0, 2])
        for field in self.subject.whole:
            setattr(m.data, field.name, field.sample(6))
            assert [field.read(field.sample(6))] * 2 == [
                getattr(m, field.name)(row) for row in (1, 3)
            ]
