"""Instances that belong to nobody may be created below a parent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ...errors import StaleInstanceError, StructureLockedError
from ...handles import NIL
from ..machine import Record
from . import children, unowned


class Rules(children.Rules, unowned.Rules):
    """The parents of new rows are found wherever they went meanwhile."""

    @precondition(lambda self: self.used())
    @rule(data=st.data(), for_all=st.booleans(), count=st.integers(0, 8))
    def create_many_below(self, data: st.DataObject, for_all: bool, count: int) -> None:
        values = data.draw(self.subject.some_values)
        parents = [self.draw_parent(data) for _ in range(1 if for_all else count)]
        where, m = self.where(), self.manager
        numbers = [where[parent] for parent in parents]
        given = numbers[0] if for_all else numbers
        if for_all:
            parents *= count
        rows = [self.shifted(values, k) for k in range(count)]
        columns = self.columns(rows, as_array=False)
        self.arrive_if_parents_stay(
            parents,
            rows,
            lambda: m.create_many(count, parents=given, **columns).tolist(),
        )

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def create_below(self, data: st.DataObject) -> None:
        values, parent = data.draw(self.subject.some_values), self.draw_parent(data)
        given, m = self.where()[parent], self.manager
        self.arrive_if_parents_stay(
            [parent], [values], lambda: [m.create(parent=given, **values)]
        )

    def arrive_if_parents_stay(
        self, parents: Any, rows: list[dict[str, Any]], create: Any
    ) -> None:
        """Let rows arrive that have parents, or see that one would go for its child."""
        self.newborn = parents
        try:
            self.arrive(rows, create)
        except StaleInstanceError:
            with pytest.raises(children.LostParentError):
                self.join([Record(0, row) for row in rows])
        finally:
            self.newborn, self.adoptive = [], []


class Cases(children.Cases, unowned.Cases):
    """Children without owners."""

    def test_locked_managers_get_no_children(self) -> None:
        _, m, _ = self.family([NIL])
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.create(parent=0)
            with pytest.raises(StructureLockedError):
                m.create_many(2, parents=0)
        child = m.resolve(m.create(parent=0))
        assert m.parent(child) != NIL
