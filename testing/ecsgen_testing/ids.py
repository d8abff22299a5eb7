"""Rows have ids that last, beside entities or instead of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ecsgen_runtime.base.errors import CapacityError, StaleIdError
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from .common_cases import Cases
from .state_machine import ManagerStateMachine, Record
from .subject import refuses


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


class IdsRules(StableIdsRules):
    """Slots are few: what is free is used before there are new ones."""

    def smallest(self) -> int:
        slots = [self.manager.id_of(row) & 0xFFFF_FFFF for row in self.used()]
        return max(slots, default=-1) + 1


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


class DirectIdsCases(Cases):
    """Rows that are used again."""

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

    def arrive(
        self, owners: Sequence[int], rows: Sequence[dict[str, Any]], create: Callable[[], list[int]]
    ) -> None:
        super().arrive(owners, rows, create)
        for row, record in enumerate(map(self.at, self.used())):
            record.owner = record.owner or int(self.manager.id_of(row))

    @invariant()
    def ids_are_the_way_back(self) -> None:
        ids = list(self.manager)
        assert self.manager.resolve_many(ids).tolist() == list(range(len(self.table)))
        assert all(id in self.manager for id in ids)


class UnownedCases(Cases):
    """Creation in return for ids."""

    def test_creation_returns_ids(self, m: Any) -> None:
        for name in ("entity", "lookup", "remove", "ensure", "gc"):
            assert not hasattr(m, name)
        assert not hasattr(m.data, "entity")
        id = m.create()
        assert type(id) is int
        many = m.create_many(3, **self.subject.samples(3))
        assert (many.dtype, many.shape) == (np.uint64, (3,))
        assert len({id, *many.tolist()}) == 4
        assert list(m) == [id, *many.tolist()]
        self.check_values(m, [1, 2, 3], range(3))
