"""What ids do, wherever their slots are: they find their instance, or say that it is gone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ...errors import StaleIdError, StaleInstanceError, StructureLockedError
from ...handles import NIL
from .. import base, machine
from ..base import State
from ..machine import Record, through_pickle


class Rules(machine.Machine):
    """Ids stay with their instance through every move, and never come again."""

    def __init__(self) -> None:
        self.instances: dict[int, Record] = {}  # by id, whoever had one
        super().__init__()

    def structural_calls(self) -> list[Callable[[], object]]:
        m, rows = self.manager, self.used()
        ids = m.id_of_many(rows).tolist()
        return [
            *super().structural_calls(),
            *(lambda id=id: m.destroy_id(id) for id in ids[:1]),
            lambda: m.destroy_id_many(ids),
        ]

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def destroy_id(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        id = self.manager.id_of(row)
        self.leave([row])
        self.manager.destroy_id(id)
        with pytest.raises(StaleIdError):
            self.manager.destroy_id(id)

    @rule(data=st.data())
    def destroy_id_many(self, data: st.DataObject) -> None:
        rows = data.draw(self.some(self.used()))
        ids = self.manager.id_of_many(rows)
        self.leave(rows)
        self.manager.destroy_id_many(ids)

    @rule(data=st.data())
    def stale_ids_are_refused(self, data: st.DataObject) -> None:
        m = self.manager
        live = m.id_of_many(self.used()).tolist()
        gone = [id for id in self.instances if id not in live]
        id = data.draw(st.sampled_from([*gone, 0, 2**64 - 1]))
        with pytest.raises(StaleIdError):
            m.destroy_id(id)
        with pytest.raises(StaleIdError):
            m.destroy_id_many([*live, id])
        if live:
            with pytest.raises(StaleIdError):
                m.destroy_id_many([*live, live[0]])

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


class Cases(base.Cases):
    """Ids of those that are there, and of those that went."""

    def one(self) -> int:
        """Return what stands above the slot in an id of the first generation."""
        _, m, _ = self.filled(1)
        first: int = m.id_of(0) >> 32
        return first

    def test_ids_are_numbers(self) -> None:
        _, m, _ = self.filled(3)
        ids = m.id_of_many([2, 0])
        assert (ids.dtype, ids.tolist()) == (np.uint64, [m.id_of(2), m.id_of(0)])
        assert type(m.id_of(np.int8(1))) is int
        assert m.id_of_many(np.ones(3, np.bool_)).tolist() == [
            m.id_of(row) for row in range(3)
        ]
        assert {id >> 32 for id in ids.tolist()} == {self.one()}
        assert m.resolve(ids[0]) == m.resolve(int(ids[0])) == 2
        assert type(m.resolve(ids[0])) is int

    def test_numbers_that_are_no_ids(self) -> None:
        _, m, _ = self.filled(3)
        id = m.id_of(1)
        odd = [0, 1, -1, NIL, 2**64 - 1, 2**64, 2**70, id + 2**32, id - 2**32, id + 100]
        assert [m.resolve(number) for number in odd] == [NIL] * len(odd)
        assert m.resolve_many(odd).tolist() == [NIL] * len(odd)
        for number in odd:
            with pytest.raises(StaleIdError):
                m.destroy_id(number)
        for wrong in ("1", None, 1.5):
            with pytest.raises(TypeError):
                m.resolve(wrong)
        assert len(m) == 3

    def test_nothing_to_resolve(self) -> None:
        _, m = self.new()
        assert m.resolve(2**32) == m.resolve(0) == NIL
        assert m.resolve_many([2**32, 0]).tolist() == [NIL, NIL]
        assert m.resolve_many([]).tolist() == []
        assert m.id_of_many([]).tolist() == []
        m.destroy_id_many([])
        assert m.version == 0

    def test_ids_follow_their_row(self) -> None:
        _, m, owners = self.filled(5)
        ids = m.id_of_many(range(5)).tolist()
        m.destroy_id(ids[0])
        m.destroy_id_many([ids[3]])
        assert m.resolve(ids[0]) == m.resolve(ids[3]) == NIL
        for k in (1, 2, 4):
            assert m.resolve(ids[k]) == self.found(m, owners[k])
            self.check_values(m, [m.resolve(ids[k])], [k])

    def test_destroying_twice(self) -> None:
        _, m, _ = self.filled(4)
        ids = m.id_of_many(range(4)).tolist()
        m.destroy_id(ids[1])
        before = State(self.subject, m)
        for call, given in (
            (m.destroy_id, ids[1]),
            (m.destroy_id_many, [ids[1]]),
            (m.destroy_id_many, [ids[0], ids[1]]),
            (m.destroy_id_many, [ids[2], ids[0], ids[2]]),
        ):
            with pytest.raises(StaleIdError, match=f"{self.subject.label}Manager"):
                call(given)
        assert State(self.subject, m) == before

    def test_ids_never_come_again(self) -> None:
        source, m = self.new(80)
        seen: set[int] = set()
        for count in (5, 1, 70, 3):
            self.add(source, m, count)
            ids = {m.id_of(self.found(m, owner)) for owner in m}
            assert len(ids) == count
            assert not ids & seen
            seen |= ids
            m.clear()
            m.shrink_to_fit()
        assert m.resolve_many(list(seen)).tolist() == [NIL] * len(seen)

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
            with pytest.raises(StaleInstanceError):
                m.id_of(row)
            with pytest.raises(StaleInstanceError):
                m.id_of_many([0, row])

    def test_locked_ids_stay(self) -> None:
        _, m, _ = self.filled(2)
        id = m.id_of(0)
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.destroy_id(id)
            with pytest.raises(StructureLockedError):
                m.destroy_id_many([id])
        assert m.resolve(id) == 0
