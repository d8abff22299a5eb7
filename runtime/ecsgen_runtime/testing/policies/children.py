"""Instances may be created below a parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ...errors import StaleInstanceError
from ...handles import NIL
from ..base import State
from ..machine import Record
from ..subject import need
from . import hierarchy


class LostParentError(Exception):
    """A parent goes to make room for its child."""


class Rules(hierarchy.Rules):
    """New rows are roots, or somebody's last child."""

    def __init__(self) -> None:
        self.newborn: Sequence[Record | None] = []  # the parents of the next new rows
        self.adoptive: list[Record] = []
        super().__init__()

    def leave(self, rows: Sequence[int]) -> int:
        if self.adoptive:
            gone = [self.at(row) for row in self.expanded(rows)]
            if any(record in self.adoptive for record in gone):
                raise LostParentError
        return super().leave(rows)

    def join(self, records: list[Record]) -> list[int]:
        parents, self.newborn = self.newborn, []
        self.adoptive = [parent for parent in parents if parent is not None]
        with self.held():
            rows = super().join(records)
            for record, parent in zip(records, parents, strict=False):
                self.attach(record, parent)
            self.version += bool(self.adoptive and records)
            self.adoptive = []
        return rows

    def arrive_below(
        self,
        parents: Sequence[Record | None],
        arrive: Callable[[], None],
        create: Callable[[], list[int]],
    ) -> None:
        """Let rows arrive that have parents, or see that one would go for its child."""
        self.newborn = parents
        try:
            arrive()
        except LostParentError:
            with pytest.raises(StaleInstanceError, match="make room"):
                create()
        finally:
            self.newborn, self.adoptive = [], []


class Cases(hierarchy.Cases):
    """Parents of new rows, for one and for many."""

    def check_twins(self, one: Any, other: Any) -> None:
        """Check that two managers have the same rows, and the same relatives for them."""
        assert State(self.subject, one) == State(self.subject, other)
        assert one.data.parent.tolist() == other.data.parent.tolist()
        for row in range(len(one)):
            assert one.children(row).tolist() == other.children(row).tolist()

    def parent_of(self, m: Any, owners: Any, parent: int) -> int:
        """Return where the row is that was number `parent`; NIL for NIL."""
        return NIL if parent == NIL else self.found(m, owners[parent])

    @pytest.mark.parametrize("parent", [0, 1, 3, NIL])
    def test_a_new_row_has_a_parent(self, parent: int) -> None:
        source, m, _ = self.family([NIL, 0, 0, NIL])
        twin, other, owners = self.family([NIL, 0, 0, NIL])
        row = self.add_one(source, m, parent=parent)
        assert self.add_one(twin, other) == row
        other.set_parent(row, self.parent_of(other, owners, parent))
        self.check_twins(m, other)

    @pytest.mark.parametrize("parents", [0, 3, NIL, [1, 0, 3], [NIL, 3, NIL]])
    def test_many_new_rows_have_parents(self, parents: Any) -> None:
        source, m, _ = self.family([NIL, 0, 0, NIL])
        twin, other, owners = self.family([NIL, 0, 0, NIL])
        rows = self.add(source, m, 3, parents=parents)
        assert self.add(twin, other, 3) == rows
        given = np.broadcast_to(parents, 3).tolist()
        where = [self.parent_of(other, owners, parent) for parent in given]
        other.set_parent_many(rows, where)
        self.check_twins(m, other)

    def test_who_has_no_parent_gets_none_when_others_move(self) -> None:
        source, m, _ = self.family([NIL, 0, 0])
        if not hasattr(m, "deactivate_many"):
            pytest.skip("new rows come behind all others")
        m.deactivate_many(range(3))
        above = self.owner(m, 0)
        root, child = self.add(source, m, 2, parents=[NIL, 0])
        assert m.parent(root) == NIL
        assert m.parent(child) == self.found(m, above)

    def test_new_rows_are_the_last_children(self) -> None:
        source, m, owners = self.family([NIL, 0])
        first = self.owner(m, self.add_one(source, m, parent=self.found(m, owners[0])))
        parent = self.found(m, owners[0])
        rows = self.add(source, m, 2, parents=parent)
        known = [owners[1], first, *(self.owner(m, row) for row in rows)]
        children = [self.found(m, owner) for owner in known]
        self.check_children(m, self.found(m, owners[0]), children)

    def test_no_new_rows_below_anybody(self) -> None:
        source, m, _ = self.family([NIL])
        version = m.version
        assert list(self.add(source, m, 0, parents=0)) == []
        assert list(self.add(source, m, 0, parents=[])) == []
        assert m.version == version

    def test_parents_are_rows_in_use(self) -> None:
        source, m, _ = self.family([NIL, 0])
        before = State(self.subject, m)
        for parent in (-1, 2, 2**70):
            with pytest.raises(StaleInstanceError):
                self.add_one(source, m, parent=parent)
        for parents in (2, [0, 2], [-1, NIL], np.array([5, 0])):
            with pytest.raises(StaleInstanceError):
                self.add(source, m, 2, parents=parents)
        for wrong in (None, "0", 1.0):
            with pytest.raises(TypeError):
                self.add_one(source, m, parent=wrong)
            with pytest.raises(TypeError):
                self.add(source, m, 2, parents=wrong)
        with pytest.raises(ValueError, match="parents"):
            self.add(source, m, 2, parents=[0, 1, 0])
        with pytest.raises(TypeError, match="mask"):
            self.add(source, m, 2, parents=np.array([True, False]))
        assert State(self.subject, m) == before
        self.check_family(m, [NIL, 0])

    def test_bad_values_leave_no_children(self) -> None:
        source, m, _ = self.family([NIL, 0])
        for field in self.subject.fields:
            for value, error in field.wrong():
                with pytest.raises(error):
                    self.add_one(source, m, parent=0, **{field.name: value})
                columns = {field.name: [field.sample(0), value]}
                with pytest.raises(error):
                    self.add(source, m, 2, parents=0, **columns)
        self.check_family(m, [NIL, 0])
        m.reorder([1, 0])  # nobody is followed any more
        assert m.data.parent.tolist() == [1, NIL]

    def test_growth_keeps_parents(self) -> None:
        need(self.subject, 141)
        source, m, owners = self.family([NIL])
        for _ in range(70):
            self.add_one(source, m, parent=self.found(m, owners[0]))
        self.add(source, m, 70, parents=self.found(m, owners[0]))
        assert len(m.children(self.found(m, owners[0]))) == 140

    def test_parents_may_be_a_column_of_the_manager(self) -> None:
        source, m, owners = self.family([NIL, 0, 1])
        rows = self.add(source, m, 3, parents=m.data.parent)
        wanted = [NIL, *(self.found(m, owner) for owner in owners[:2])]
        assert [m.parent(row) for row in rows] == wanted
