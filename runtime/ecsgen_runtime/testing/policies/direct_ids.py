"""An id is a row, which stays where it is, and the generation of what is in it."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import CapacityError, StaleInstanceError
from ...handles import NIL
from ..base import State
from ..machine import Record, through_pickle
from ..memory import LINE
from ..subject import born
from . import stable_ids


class Rules(stable_ids.Rules):
    """Generations must be kept for every row that was ever in use."""

    def __init__(self) -> None:
        self.peak = 0
        super().__init__()

    def smallest(self) -> int:
        return self.peak

    def join(self, records: list[Record]) -> list[int]:
        rows = super().join(records)
        self.peak = max(self.peak, len(self.table))
        return rows


class Cases(stable_ids.Cases):
    """Rows that are used again."""

    least = LINE

    def test_ids_name_their_row(self) -> None:
        _, m, es = self.filled(4)
        m.destroy(2)
        m.create(es[2])
        assert [m.id_of(row) & 0xFFFF_FFFF for row in range(4)] == [0, 1, 2, 3]
        one = self.one()
        assert [m.id_of(row) >> 32 for row in range(4)] == [one, one, 2 * one, one]

    def test_holes_have_no_ids(self) -> None:
        _, m, es = self.filled(4)
        ids = m.id_of_many(range(4)).tolist()
        m.destroy_many([1, 3])
        assert m.resolve_many(ids).tolist() == [0, NIL, 2, NIL]
        assert [m.resolve(id) for id in ids] == [0, NIL, 2, NIL]
        with pytest.raises(StaleInstanceError):
            m.id_of(1)
        with pytest.raises(StaleInstanceError):
            m.id_of_many([1])
        m.create_many(es[[1, 3]])
        assert m.resolve_many(ids).tolist() == [0, NIL, 2, NIL]

    def test_generations_are_saved_and_saved_again(self) -> None:
        source, m, es = self.filled(3)
        (last,) = born(source, 1)
        m.destroy(m.create(last))
        m.destroy(2)
        for _ in range(2):
            source, m = through_pickle((source, m))
            m.shrink_to_fit()
        self.check_values(m, [0, 1], [0, 1])
        assert [m.id_of(m.create(e)) >> 32 for e in (es[2], last)] == [
            2 * self.one()
        ] * 2

    def test_shrinking_forgets_no_generation(self) -> None:
        _, m, es = self.filled(min(3000, self.subject.reserve or 3000))
        before = set(m.id_of_many(range(len(m))).tolist())
        m.clear()
        m.shrink_to_fit()
        m.create_many(es)
        assert not before & set(m.id_of_many(range(len(m))).tolist())

    def test_worn_out_rows_take_nothing(self) -> None:
        _, m, es = self.filled(3)
        self.wear_out(m, 1)
        id = m.id_of(1)
        m.destroy(1)
        before = State(self.subject, m)
        with pytest.raises(CapacityError, match="generation"):
            m.create(es[1])
        with pytest.raises(CapacityError, match="generation"):
            m.create_many([es[1]])
        assert State(self.subject, m) == before
        assert m.resolve(id) == NIL

    def test_worn_out_rows_are_found_before_others_are_taken(self) -> None:
        _, m, es = self.filled(3)
        self.wear_out(m, 1)
        m.destroy_many([0, 1])
        before = State(self.subject, m)
        with pytest.raises(CapacityError, match="generation"):
            m.create_many(es[[0, 1]])
        assert State(self.subject, m) == before
        m.create_many(es[[0]])

    def wear_out(self, m: Any, row: int) -> None:
        """Let a row have an instance of the last generation."""
        column = next(c for c in m.LAYOUT if c.name == "id_generation")
        start = column.offset(m.capacity)
        cells: Any = m.data.buffer[start : start + 4 * m.capacity].view(column.dtype)
        cells[row] = 2**32 - self.one()
