"""Rows have ids that last, beside entities or instead of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, StaleIdError, StaleInstanceError
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from .common_cases import LINE, Cases
from .state_machine import ManagerStateMachine, Record
from .subject import need, refuses, skip_without, through_pickle


class StableIdsRules(ManagerStateMachine):
    """Ids stay with their instance through every move, and never come again."""

    def __init__(self) -> None:
        self.instances: dict[int, Record] = {}  # by id, whoever had one
        super().__init__()

    @rule(data=st.data(), at_once=st.booleans())
    def destroy_id(self, data: st.DataObject, at_once: bool) -> None:
        rows = data.draw(self.some(self.used()))
        rows = rows if at_once else rows[:1]
        ids = self.manager.id_of_many(rows)
        self.leave(rows)
        if at_once:
            self.manager.destroy_id_many(ids)
        for id in () if at_once else ids.tolist():
            self.manager.destroy_id(id)
            refuses(StaleIdError, self.manager.destroy_id, id)

    @invariant()
    def ids_agree(self) -> None:
        m, used = self.manager, self.used()
        ids = m.id_of_many(used).tolist()
        for row, id in zip(used, ids, strict=True):
            assert self.instances.setdefault(id, self.at(row)) is self.at(row)
        assert len(set(ids)) == len(used)
        assert [m.id_of(row) for row in used] == ids
        rows = dict(zip(ids, used, strict=True))
        known = [*self.instances, 0, 1, 2**64 - 1]
        expected = [rows.get(id, NIL) for id in known]
        assert [m.resolve(id) for id in known] == expected
        assert m.resolve_many(known).tolist() == expected


class StableIdsCases(Cases):
    """Ids of those that are there, and of those that went."""

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        ids = m.id_of_many([0, 2]).tolist()
        calls = [partial(m.destroy_id, ids[0]), partial(m.destroy_id_many, ids)]
        return [*super().structural_calls(source, m), *calls]

    def one(self) -> int:
        """Return what stands above the slot in an id of the first generation."""
        _, m, _ = self.filled(1)
        return int(m.id_of(0) >> 32)

    def wear_out(self, m: Any, rows: list[int]) -> None:
        """Put the slots of rows into their last generation, by writing to the buffer."""
        column = next(c for c in m.LAYOUT if c.name == "id_generation")
        start = column.offset(m.capacity)
        cells = m.data.buffer[start : start + 4 * m.capacity].view(column.dtype)
        cells[[m.id_of(row) & 0xFFFF_FFFF for row in rows]] = 2**32 - self.one()

    def test_ids_are_numbers(self) -> None:
        _, m, _ = self.filled(3)
        ids = m.id_of_many([2, 0])
        assert (ids.dtype, ids.tolist()) == (np.uint64, [m.id_of(2), m.id_of(0)])
        assert type(m.id_of(np.int8(1))) is int
        every = [m.id_of(row) for row in range(3)]
        assert m.id_of_many(np.ones(3, np.bool_)).tolist() == every
        assert {id >> 32 for id in ids.tolist()} == {self.one()}
        assert m.resolve(ids[0]) == m.resolve(int(ids[0])) == 2
        assert type(m.resolve(ids[0])) is int

    @pytest.mark.parametrize("rows", [0, 3])
    def test_numbers_that_are_no_ids(self, rows: int) -> None:
        _, m, _ = self.filled(rows)
        id = m.id_of(1) if rows else 2**32
        odd = [0, 1, -1, NIL, 2**64 - 1, 2**64, 2**70, id + 2**32, id - 2**32, id + 100]
        with self.unchanged(m):
            assert [m.resolve(number) for number in odd] == [NIL] * len(odd)
            assert m.resolve_many(odd).tolist() == [NIL] * len(odd)
            for number in odd:
                refuses(StaleIdError, m.destroy_id, number)
                refuses(StaleIdError, m.destroy_id_many, [number])
            for wrong in ("1", None, 1.5):
                refuses(TypeError, m.resolve, wrong)
            assert m.resolve_many([]).tolist() == m.id_of_many([]).tolist() == []
            m.destroy_id_many([])

    def test_destroying_twice(self) -> None:
        _, m, _ = self.filled(4)
        ids = m.id_of_many(range(4)).tolist()
        m.destroy_id(ids[1])
        with self.unchanged(m):
            for call, argument in (
                (m.destroy_id, ids[1]),
                (m.destroy_id_many, [ids[1]]),
                (m.destroy_id_many, [ids[0], ids[1]]),
                (m.destroy_id_many, [ids[2], ids[0], ids[2]]),
            ):
                refuses(StaleIdError, f"{self.subject.label}Manager", call, argument)

    def test_saving_keeps_ids(self) -> None:
        source, m, _ = self.filled(6)
        ids = m.id_of_many(range(6)).tolist()
        m.destroy_id_many([ids[1], ids[4]])
        other_source, other = through_pickle((source, m))
        assert other.resolve_many(ids).tolist() == m.resolve_many(ids).tolist()
        rows = [self.add_one(source, m) for _ in range(4)]
        others = [self.add_one(other_source, other) for _ in range(4)]
        assert m.id_of_many(rows).tolist() == other.id_of_many(others).tolist()

    def test_only_rows_in_use_have_ids(self) -> None:
        _, m, _ = self.filled(2)
        for row in (-1, 2, NIL, 2**70):
            refuses(StaleInstanceError, m.id_of, row)
            refuses(StaleInstanceError, m.id_of_many, [0, row])


class IdsRules(StableIdsRules):
    """Slots are few: what is free is used before there are new ones."""

    def smallest(self) -> int:
        slots = [self.manager.id_of(row) & 0xFFFF_FFFF for row in self.used()]
        return max(slots, default=-1) + 1


class IdsCases(StableIdsCases):
    """Slots that are free, used again, or worn out."""

    def test_slots_are_used_again(self, source: Any, m: Any) -> None:
        self.add(source, m, 10)
        slots = set(self.slots(m))
        m.destroy_many(range(3, 9))
        self.add_one(source, m)
        self.add(source, m, 5)
        assert set(self.slots(m)) == slots == set(range(10))

    def slots(self, m: Any) -> list[int]:
        ids: list[int] = m.id_of_many(range(len(m))).tolist()
        return [id & 0xFFFF_FFFF for id in ids]

    def test_rows_that_swap_lose_no_free_slot(self) -> None:
        source, m, _ = self.filled(4)
        skip_without(m, "deactivate", "rows have no sides to change")
        m.destroy(3)
        m.activate_many(range(3))
        assert m.deactivate(0) == 2
        self.add_one(source, m)
        assert set(self.slots(m)) == set(range(4))

    def test_slots_need_no_memory_of_their_own(self, source: Any, m: Any) -> None:
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

    def check_retired(self, source: Any, m: Any, worn: list[int]) -> None:
        """Check that exhausted slots are never used again, and that other slots are."""
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
            every = m.id_of_many(range(len(m))).tolist()
            m.destroy_many([k for k, id in enumerate(every) if id not in left])
            m.shrink_to_fit()


class DirectIdsRules(StableIdsRules):
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


class DirectIdsCases(StableIdsCases):
    """Rows that are used again."""

    least = LINE

    def test_holes_have_no_ids(self) -> None:
        _, m, _ = self.filled(4)
        m.destroy(1)
        refuses(StaleInstanceError, m.id_of, 1)

    def test_ids_name_their_row(self) -> None:
        _, m, es = self.filled(4)
        m.destroy(2)
        m.create(es[2])
        assert [m.id_of(row) & 0xFFFF_FFFF for row in range(4)] == [0, 1, 2, 3]
        generation = self.one()
        assert [m.id_of(row) >> 32 for row in range(4)] == [
            generation,
            generation,
            2 * generation,
            generation,
        ]

    def test_shrinking_forgets_no_generation(self) -> None:
        _, m, es = self.filled(min(3000, self.subject.reserve or 3000))
        before = set(m.id_of_many(range(len(m))).tolist())
        m.clear()
        m.shrink_to_fit()
        m.create_many(es)
        assert not before & set(m.id_of_many(range(len(m))).tolist())

    def test_worn_out_rows_take_nothing(self) -> None:
        _, m, es = self.filled(3)
        self.wear_out(m, [1])
        id = m.id_of(1)
        m.destroy_many([0, 1])
        with self.unchanged(m):
            refuses(CapacityError, "generation", m.create, es[1])
            for owners in (es[[1]], es[[0, 1]]):
                refuses(CapacityError, "generation", m.create_many, owners)
        assert m.resolve(id) == NIL
        m.create_many(es[[0]])


class UnownedRules(ManagerStateMachine):
    """Instances come and are known by their id."""

    def made(self) -> Any:
        return self.subject.made()

    def owner_of(self, row: int) -> int:
        return int(self.manager.id_of(row))

    def creatable(self) -> list[int]:
        return [0]

    def new_owners(self, count: int) -> list[int]:
        return [0] * count

    def create_one(self, owner: int, /, **values: Any) -> int:
        return int(self.manager.create(**values))

    def create_all(self, owners: list[int], table: Any = None, /, **columns: Any) -> list[int]:
        create = self.manager.create_many
        ids: list[int] = create(len(owners), table, **columns).tolist()
        return ids

    def found(self, records: list[Record], known: list[int]) -> list[int]:
        for record, id in zip(records, known, strict=True):
            record.owner = id
        rows: list[int] = self.manager.resolve_many(known).tolist()
        return rows

    @invariant()
    def ids_are_the_way_back(self) -> None:
        ids = list(self.manager)
        assert self.manager.resolve_many(ids).tolist() == list(range(len(self.table)))
        assert all(id in self.manager for id in ids)


class UnownedCases(Cases):
    """Creation in return for ids."""

    def new(self, room: int = 0) -> tuple[None, Any]:
        need(self.subject, room)
        return None, self.subject.made()

    def add_one(self, source: None, m: Any, /, **values: Any) -> int:
        return int(m.resolve(m.create(**values)))

    def add(self, source: None, m: Any, count: int, /, **columns: Any) -> list[int]:
        rows: list[int] = m.resolve_many(m.create_many(count, **columns)).tolist()
        return rows

    def owner(self, m: Any, row: int) -> int:
        return int(m.id_of(row))

    def found(self, m: Any, owner: int) -> int:
        return int(m.resolve(owner))

    def test_creation_returns_ids(self, m: Any) -> None:
        for name in ("entity", "lookup", "remove", "ensure", "collect"):
            assert not hasattr(m, name)
        assert not hasattr(m.data, "entity")
        id = m.create()
        assert type(id) is int
        many = m.create_many(3, **self.subject.samples(3))
        assert (many.dtype, many.shape) == (np.uint64, (3,))
        assert len({id, *many.tolist()}) == 4
        assert list(m) == [id, *many.tolist()]
        self.check_values(m, [1, 2, 3], range(3))

    def test_counts_are_whole_numbers(self, m: Any) -> None:
        refuses(ValueError, "can't create -1 instances", m.create_many, -1)
        for count in (1.0, "1", None):
            refuses(TypeError, m.create_many, count)
        refuses((ValueError, MemoryError, CapacityError), m.create_many, 2**63)
        assert len(m.create_many(np.int8(2))) == 2

    def test_ids_are_contained(self) -> None:
        _, m, ids = self.filled(2)
        assert int(ids[0]) in m
        assert ids[1] in m
        m.destroy(0)
        for absent in (int(ids[0]), 0, NIL, -1, 2**70, "text", 1.5, None):
            assert absent not in m
