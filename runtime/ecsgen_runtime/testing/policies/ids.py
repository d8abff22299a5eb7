"""Every instance has a stable id: a slot, which is used again, and its generation."""

from __future__ import annotations

from typing import Any

import pytest

from ...handles import NIL
from ..memory import LINE
from . import stable_ids


class Rules(stable_ids.Rules):
    """Slots are few: what is free is used before there are new ones."""

    def smallest(self) -> int:
        slots = [self.manager.id_of(row) & 0xFFFF_FFFF for row in self.used()]
        return max(slots, default=-1) + 1


class Cases(stable_ids.Cases):
    """Slots that are free, used again, or worn out."""

    def test_slots_are_used_again(self) -> None:
        source, m = self.new()
        self.add(source, m, 10)
        slots = set(self.slots(m))
        m.destroy_many(range(3, 9))
        self.add_one(source, m)
        self.add(source, m, 5)
        assert set(self.slots(m)) == slots == set(range(10))

    def test_rows_that_make_room_keep_their_ids(self) -> None:
        source, m, _ = self.filled(4)
        m.destroy_many([1, 2])
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(len(m)))
        kept = set(self.rows_of(m))
        self.add_one(source, m)
        assert len(set(self.rows_of(m)) - kept) == 1
        assert len(m) == len(set(self.rows_of(m))) == len(kept) + 1

    def test_rows_that_swap_lose_no_free_slot(self) -> None:
        source, m, _ = self.filled(4)
        if not hasattr(m, "deactivate"):
            pytest.skip("rows have no sides to change")
        m.destroy(3)
        m.activate_many(range(3))
        assert m.deactivate(0) == 2
        self.add_one(source, m)
        assert set(self.slots(m)) == set(range(4))

    def slots(self, m: Any) -> list[int]:
        """Return the slot of each row."""
        ids: list[int] = m.id_of_many(range(len(m))).tolist()
        return [id & 0xFFFF_FFFF for id in ids]

    def test_slots_need_no_memory_of_their_own(self) -> None:
        source, m = self.new()
        m.reserve(LINE)
        held = m.capacity
        for _ in range(3):
            self.add(source, m, held)
            m.clear()
        assert m.capacity == held

    @pytest.mark.parametrize("others", [0, 1, 5])
    def test_worn_out_slots_are_retired(self, others: int) -> None:
        source, m, _ = self.filled(4 + others)
        self.wear_out(m, [0, 2])
        worn = m.id_of_many([0, 2]).tolist()
        m.destroy_many([0, 1, 2])
        self.check_retired(source, m, worn)
        source, m, _ = self.filled(4 + others)
        self.wear_out(m, [3])
        worn = [m.id_of(3)]
        m.destroy(3)
        self.check_retired(source, m, worn)

    def wear_out(self, m: Any, rows: list[int]) -> None:
        """Let the slots of rows be in their last generation, by way of the buffer."""
        column = next(c for c in m.LAYOUT if c.name == "id_generation")
        start = column.offset(m.capacity)
        cells = m.data.buffer[start : start + 4 * m.capacity].view(column.dtype)
        cells[[m.id_of(row) & 0xFFFF_FFFF for row in rows]] = 2**32 - self.one()

    def check_retired(self, source: Any, m: Any, worn: list[int]) -> None:
        """Check that worn out ids and their slots never come again, and others do."""
        retired = {id & 0xFFFF_FFFF for id in worn}
        left = set(m.id_of_many(range(len(m))).tolist())
        for _ in range(3):
            self.add_one(source, m)
            self.add(source, m, 6)
            assert m.resolve_many(worn).tolist() == [NIL] * len(worn)
            slots = self.slots(m)
            assert len(set(slots)) == len(slots) == len(m)
            assert not retired & set(slots)
            assert left <= set(m.id_of_many(range(len(m))).tolist())
            m.destroy_many([k for k, s in enumerate(self.rows_of(m)) if s not in left])
            m.shrink_to_fit()

    def rows_of(self, m: Any) -> list[int]:
        """Return the id of each row."""
        ids: list[int] = m.id_of_many(range(len(m))).tolist()
        return ids

    def test_shrinking_forgets_no_generation(self) -> None:
        source, m = self.new(200)
        seen: set[int] = set()
        for count in (100, 3, 70, 1):
            self.add(source, m, count)
            ids = set(self.rows_of(m))
            assert not ids & seen
            seen |= ids
            m.destroy_many(range(len(m) - len(m) // 3))
            m.shrink_to_fit()
            seen |= set(self.rows_of(m))
            kept = self.rows_of(m)
            assert m.resolve_many(kept).tolist() == list(range(len(m)))
            m.clear()
            m.shrink_to_fit()
            assert m.resolve_many(list(seen)).tolist() == [NIL] * len(seen)
