"""Rows have parents and children, in order of attachment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ...errors import HierarchyError, StaleInstanceError, StructureLockedError
from ...handles import NIL
from .. import base, machine
from ..base import State
from ..machine import Record, through_pickle


class Rules(machine.Machine):
    """Relatives stay relatives through every move."""

    def __init__(self) -> None:
        self.parents: dict[Record, Record] = {}  # roots have none
        self.children: dict[Record, list[Record]] = {}
        super().__init__()

    # --- the model -----------------------------------------------------------------

    def leaving(self, rows: list[int]) -> None:
        super().leaving(rows)
        for row in rows:
            record = self.at(row)
            self.attach(record, None)
            for child in self.children.pop(record, []):
                del self.parents[child]

    def attach(self, record: Record, parent: Record | None) -> None:
        """Append a row to another's children, or make it a root."""
        former = self.parents.pop(record, None)
        if former is not None:
            self.children[former].remove(record)
        if parent is not None:
            self.parents[record] = parent
            self.children.setdefault(parent, []).append(record)

    def ancestors(self, record: Record | None) -> list[Record]:
        """Return a row and those above it; an endless way ends where it began."""
        found: list[Record] = []
        while record is not None and record not in found:
            found.append(record)
            record = self.parents.get(record)
        return found

    def where(self) -> dict[Record | None, int]:
        """Return the row of each record, and NIL for none."""
        rows: dict[Record | None, int] = {self.at(row): row for row in self.used()}
        return rows | {None: NIL}

    def structural_calls(self) -> list[Callable[[], object]]:
        m, rows = self.manager, self.used()
        return [
            *super().structural_calls(),
            *(lambda row=row: m.set_parent(row, NIL) for row in rows[:1]),
            lambda: m.set_parent_many(rows, NIL),
        ]

    def draw_parent(self, data: st.DataObject) -> Record | None:
        """Draw a parent, often one of few, so that families are large."""
        few = self.used()[:3] if data.draw(st.booleans()) else self.used()
        row = data.draw(st.none() | st.sampled_from(few))
        return None if row is None else self.at(row)

    # --- rules ---------------------------------------------------------------------

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def set_parent(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        record, parent = self.at(row), self.draw_parent(data)
        given = self.where()[parent]
        if record in self.ancestors(parent):
            with pytest.raises(HierarchyError):
                self.manager.set_parent(row, given)
            return
        self.manager.set_parent(row, given)
        if self.parents.get(record) is not parent:
            self.attach(record, parent)
            self.version += 1

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def set_parent_of_many(self, data: st.DataObject) -> None:
        rows = data.draw(self.some(self.used()))
        parent = self.draw_parent(data)
        self.set_all(rows, [parent] * len(rows), self.where()[parent])

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def set_a_parent_for_each(self, data: st.DataObject) -> None:
        rows = data.draw(self.some(self.used()))
        wanted = [self.draw_parent(data) for _ in rows]
        self.set_all(rows, wanted, [self.where()[parent] for parent in wanted])

    @rule(data=st.data())
    def set_a_chain(self, data: st.DataObject) -> None:
        rows = data.draw(self.some(self.used()))
        wanted = [None, *map(self.at, rows[:-1])][: len(rows)]
        self.set_all(rows, wanted, [NIL, *rows[:-1]][: len(rows)])

    @precondition(lambda self: len(self.used()) > 10)
    @rule(data=st.data())
    def most_become_siblings(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        self.manager.set_parent(row, NIL)
        self.version += self.at(row) in self.parents
        self.attach(self.at(row), None)
        rows = [other for other in self.used() if other != row]
        self.set_all(rows, [self.at(row)] * len(rows), row)

    def set_all(
        self, rows: list[int], wanted: Sequence[Record | None], given: Any
    ) -> None:
        """Give many rows their parents, if what comes of it are trees."""
        pairs = [(self.at(row), to) for row, to in zip(rows, wanted, strict=True)]
        changed = [(r, to) for r, to in pairs if self.parents.get(r) is not to]
        before = self.parents
        self.parents = before | {r: to for r, to in changed if to is not None}
        for record, to in changed:
            if to is None:
                self.parents.pop(record, None)
        endless = any(self.is_endless(record) for record, _ in changed)
        self.parents = before
        if endless:
            with pytest.raises(HierarchyError):
                self.manager.set_parent_many(rows, given)
            return
        self.manager.set_parent_many(rows, given)
        for record, _ in changed:
            self.attach(record, None)
        for record, to in changed:
            self.attach(record, to)
        self.version += bool(changed)

    def is_endless(self, record: Record) -> bool:
        """Return whether the way up from a row never ends."""
        return self.parents.get(self.ancestors(record)[-1]) is not None

    # --- what must hold ------------------------------------------------------------

    @invariant()
    def relatives_agree(self) -> None:
        m, where = self.manager, self.where()
        for record, row in where.items():
            if record is None:
                continue
            children = [where[child] for child in self.children.get(record, [])]
            assert m.parent(row) == where[self.parents.get(record)]
            assert m.children(row).tolist() == children
            assert m.first_child(row) == [*children, NIL][0]
            for one, other in pairwise([NIL, *children, NIL]):
                assert one == NIL or m.next_sibling(one) == other
                assert other == NIL or m.previous_sibling(other) == one

    @invariant()
    def levels_agree(self) -> None:
        m, where = self.manager, self.where()
        above = [where[self.parents.get(self.at(row))] for row in self.used()]
        assert m.data.parent.tolist() == above
        level = [row for row in self.used() if above[row] == NIL]
        assert m.roots().tolist() == level
        for row in level:
            assert m.next_sibling(row) == m.previous_sibling(row) == NIL
        for found in m.levels():
            assert found.tolist() == level
            below = [c for row in level for c in self.children.get(self.at(row), [])]
            level = sorted(where[child] for child in below)
        assert level == []
        assert m.levels() is m.levels()


class Cases(base.Cases):
    """Families, case by case."""

    def family(self, parents: list[int]) -> tuple[Any, Any, Any]:
        """Return a manager whose row k is sample k and has the k-th parent."""
        source, m, owners = self.filled(len(parents))
        m.set_parent_many(range(len(parents)), parents)
        self.check_family(m, parents)
        return source, m, owners

    def check_family(self, m: Any, parents: list[int]) -> None:
        """Check all relatives of rows whose children are attached in ascending order."""
        assert m.data.parent.tolist() == parents
        assert [m.parent(row) for row in range(len(parents))] == parents
        for row in range(len(parents)):
            self.check_children(m, row, [k for k, p in enumerate(parents) if p == row])

    def check_children(self, m: Any, row: int, children: list[int]) -> None:
        """Check a row's children, forwards and backwards."""
        assert m.children(row).tolist() == children
        assert m.first_child(row) == [*children, NIL][0]
        for one, other in pairwise([NIL, *children, NIL]):
            assert one == NIL or m.next_sibling(one) == other
            assert other == NIL or m.previous_sibling(other) == one

    def test_new_rows_are_roots(self) -> None:
        source, m, _ = self.filled(3)
        self.check_family(m, [NIL] * 3)
        assert m.roots().tolist() == [0, 1, 2]
        assert [level.tolist() for level in m.levels()] == [[0, 1, 2]]
        m.set_parent(2, 0)
        m.destroy(2)
        assert m.parent(self.add_one(source, m)) == NIL
        assert m.levels() is m.levels()

    def test_nobody_at_all(self) -> None:
        _, m = self.new()
        assert len(m.roots()) == 0
        assert m.levels() == ()
        m.set_parent_many([], NIL)
        m.set_parent_many([], [])
        assert m.version == 0

    def test_order_of_attachment(self) -> None:
        _, m, _ = self.filled(5)
        for child in (3, 1, 4):
            m.set_parent(child, 0)
        self.check_children(m, 0, [3, 1, 4])
        m.set_parent(1, 2)
        m.set_parent(1, 0)
        self.check_children(m, 0, [3, 4, 1])
        m.set_parent(3, NIL)
        self.check_children(m, 0, [4, 1])
        m.set_parent_many([3, 2], 0)
        self.check_children(m, 0, [4, 1, 3, 2])

    def test_one_leaves_its_siblings(self) -> None:
        for gone, left in ((1, [2, 3]), (2, [1, 3]), (3, [1, 2])):
            _, m, _ = self.family([NIL, 0, 0, 0])
            m.set_parent(gone, NIL)
            self.check_children(m, 0, left)
            m.set_parent(gone, 0)
            self.check_children(m, 0, [*left, gone])

    def test_the_present_parent_again(self) -> None:
        _, m, _ = self.family([NIL, 0, 0])
        version = m.version
        m.set_parent(1, 0)
        m.set_parent(0, NIL)
        m.set_parent_many([2, 1], 0)
        m.set_parent_many([2, 0], [0, NIL])
        assert m.version == version
        m.set_parent_many([2, 1], [1, 0])
        assert m.version == version + 1
        self.check_family(m, [NIL, 0, 1])

    def test_cycles_are_refused(self) -> None:
        _, m, _ = self.family([NIL, 0, 1, 2, NIL])
        before = State(self.subject, m)
        for row, parent in ((0, 0), (0, 1), (0, 3), (1, 2), (4, 4)):
            with pytest.raises(HierarchyError):
                m.set_parent(row, parent)
        for rows, parents in (
            ([0], [3]),
            ([4, 0], [3, 4]),
            ([2, 1], 3),
            ([0, 4], [4, 0]),
            ([3], 3),
        ):
            with pytest.raises(HierarchyError):
                m.set_parent_many(rows, parents)
        assert State(self.subject, m) == before
        self.check_family(m, [NIL, 0, 1, 2, NIL])

    def test_only_the_final_state_counts(self) -> None:
        _, m, _ = self.family([NIL, 0, 1])
        m.set_parent_many([0, 1, 2], [1, 2, NIL])
        self.check_family(m, [1, 2, NIL])

    def test_levels_follow_changes(self) -> None:
        _, m, _ = self.family([NIL, 0, 1, 0, NIL])
        assert [level.tolist() for level in m.levels()] == [[0, 4], [1, 3], [2]]
        m.set_parent(4, 2)
        levels = m.levels()
        assert [level.tolist() for level in levels] == [[0], [1, 3], [2], [4]]
        m.set_parent(3, NIL)
        assert [level.tolist() for level in m.levels()] == [[0, 3], [1], [2], [4]]
        assert [level.tolist() for level in levels] == [[0], [1, 3], [2], [4]]

    def test_links_can_not_be_written(self) -> None:
        _, m, _ = self.family([NIL, 0])
        with pytest.raises(ValueError, match="read-only"):
            m.data.parent[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            m.levels()[0][0] = 1

    def test_relatives_survive_moves(self) -> None:
        _, m, _ = self.family([NIL, 0, 1, 0, 3])
        m.reorder([4, 3, 2, 1, 0])
        assert m.data.parent.tolist() == [1, 4, 3, 4, NIL]
        self.check_children(m, 4, [3, 1])
        m.reorder([4, 3, 2, 1, 0])
        self.check_family(m, [NIL, 0, 1, 0, 3])
        m.sort([2, 0, 4, 1, 3])
        assert m.data.parent.tolist() == [2, 2, NIL, 1, 0]
        self.check_children(m, 2, [0, 1])

    @pytest.mark.parametrize("count", [2, 63, 64, 65, 200])
    def test_the_last_row_moves_with_its_family(self, count: int) -> None:
        last = count + 1
        _, m, _ = self.filled(last + 1)
        m.set_parent_many(range(1, last), last)
        m.destroy(0)
        assert m.data.parent.tolist() == [NIL, *[0] * (count)]
        self.check_children(m, 0, list(range(1, last)))
        m.set_parent(1, NIL)
        m.set_parent(1, 0)
        self.check_children(m, 0, [*range(2, last), 1])

    def test_children_move_among_siblings(self) -> None:
        _, m, _ = self.filled(6)
        m.set_parent_many([5, 4, 3], 1)
        m.destroy(0)
        self.check_children(m, 1, [0, 4, 3])
        m.destroy(2)
        self.check_children(m, 1, [0, 2, 3])
        m.set_parent(3, 2)
        m.set_parent(3, 1)
        self.check_children(m, 1, [0, 2, 3])

    @pytest.mark.parametrize(("gone", "left"), [(1, [2, 1]), (2, [1, 2]), (3, [1, 2])])
    def test_a_child_goes_from_among_its_siblings(
        self, gone: int, left: list[int]
    ) -> None:
        _, m, _ = self.family([NIL, 0, 0, 0])
        m.destroy(gone)
        self.check_children(m, 0, left)

    def test_a_parent_moves_where_one_goes_with_its_child(self) -> None:
        _, m, _ = self.filled(60)
        m.set_parent_many(range(10, 20), range(10))
        m.set_parent_many(range(20, 40), range(40, 60))
        m.destroy_many(range(20))
        parents = m.data.parent[20:40]
        assert sorted(parents.tolist()) == list(range(20))
        for child, parent in enumerate(parents.tolist(), 20):
            self.check_children(m, parent, [child])

    def test_the_last_child_moves_in_bulk(self) -> None:
        _, m, _ = self.filled(6)
        m.set_parent_many([2, 3, 5], 1)
        m.destroy_many([0])
        self.check_children(m, 1, [2, 3, 0])
        m.set_parent(4, 1)
        self.check_children(m, 1, [2, 3, 0, 4])

    @pytest.mark.parametrize("count", [7, 70])
    @pytest.mark.parametrize("gone", [[0], [0, 1]])
    def test_a_parent_moves_in_bulk(self, gone: list[int], count: int) -> None:
        _, m, _ = self.filled(count)
        m.set_parent_many([2, 4, 3], count - 1)
        m.destroy_many(gone)
        row = len(gone) - 1
        self.check_children(m, row, [2, 4, 3])
        assert [m.parent(child) for child in (2, 3, 4)] == [row] * 3
        assert len(m.roots()) == len(m) - 3

    def test_a_parent_moves_when_its_first_child_goes(self) -> None:
        _, m, _ = self.filled(6)
        m.set_parent_many([1, 2, 3], 5)
        m.destroy_many([0, 1])
        self.check_children(m, 1, [2, 3])
        m.destroy_many([2, 3])
        self.check_children(m, 1, [])

    def test_leaves_go_in_bulk(self) -> None:
        _, m, owners = self.family([NIL] + [0] * 9)
        m.destroy_many([1, 2, 5, 9])
        left = [self.found(m, owners[k]) for k in (3, 4, 6, 7, 8)]
        self.check_children(m, 0, left)

    def test_copies_keep_families(self) -> None:
        source, m, _ = self.family([NIL, 0, 0, 1])
        _, other = through_pickle((source, m))
        other.set_parent(3, 2)
        self.check_family(m, [NIL, 0, 0, 1])
        self.check_family(other, [NIL, 0, 0, 2])
        assert [level.tolist() for level in m.levels()] == [[0], [1, 2], [3]]

    def test_only_rows_in_use_have_relatives(self) -> None:
        _, m, _ = self.filled(2)
        for row in (-1, 2, NIL):
            for call in (m.parent, m.children, m.first_child, m.next_sibling):
                with pytest.raises(StaleInstanceError):
                    call(row)
            with pytest.raises(StaleInstanceError):
                m.previous_sibling(row)
            with pytest.raises(StaleInstanceError):
                m.set_parent(row, 0)
        for rows, parents in (([0, 2], 1), ([0, 0], 1), ([0], 2), ([0, 1], [1, -1])):
            with pytest.raises(StaleInstanceError):
                m.set_parent_many(rows, parents)
        with pytest.raises(StaleInstanceError):
            m.set_parent(0, 2)
        with pytest.raises(ValueError, match="parents"):
            m.set_parent_many([0, 1], [NIL])
        with pytest.raises(TypeError):
            m.set_parent_many([0, 1], np.array([False, True]))
        self.check_family(m, [NIL, NIL])

    def test_locked_families_stay(self) -> None:
        _, m, _ = self.family([NIL, 0])
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.set_parent(1, NIL)
            with pytest.raises(StructureLockedError):
                m.set_parent_many([1], NIL)
        self.check_family(m, [NIL, 0])

    def test_a_deep_chain(self) -> None:
        _, m, _ = self.filled(3000)
        m.set_parent_many(range(3000), [NIL, *range(2999)])
        assert [level.tolist() for level in m.levels()] == [[k] for k in range(3000)]
        with pytest.raises(HierarchyError):
            m.set_parent(0, 2999)
        with pytest.raises(HierarchyError):
            m.set_parent_many([0], 2999)
        m.clear()
        assert m.levels() == ()
