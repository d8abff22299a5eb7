"""Parents and children among rows, and creation below parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ecsgen_runtime.base.errors import HierarchyError, StaleEntityError, StaleInstanceError
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .ids import UnownedRules
from .owned import OwnedRules
from .state_machine import ManagerStateMachine, Record
from .subject import refuses


def check_children(m: Any, row: int, children: list[int]) -> None:
    """Check a row's children, forwards and backwards."""
    assert m.children(row).tolist() == children
    assert m.first_child(row) == [*children, NIL][0]
    for previous, following in pairwise([NIL, *children, NIL]):
        assert previous == NIL or m.next_sibling(previous) == following
        assert following == NIL or m.previous_sibling(following) == previous


class HierarchyRules(ManagerStateMachine):
    """Relatives stay relatives through every move."""

    def __init__(self) -> None:
        self.parents: dict[Record, Record] = {}  # roots have none
        self.children: dict[Record, list[Record]] = {}
        super().__init__()

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
        ancestors: list[Record] = []
        while record is not None and record not in ancestors:
            ancestors.append(record)
            record = self.parents.get(record)
        return ancestors

    def where(self) -> dict[Record | None, int]:
        """Return the row of each record, and NIL for none."""
        rows: dict[Record | None, int] = {self.at(row): row for row in self.used()}
        return rows | {None: NIL}

    def draw_parent(self, data: st.DataObject) -> Record | None:
        """Draw a parent, often one of few, so that families are large."""
        few = self.used()[:3] if data.draw(st.booleans()) else self.used()
        row = data.draw(st.none() | st.sampled_from(few))
        return None if row is None else self.at(row)

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def set_parent(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        record, parent = self.at(row), self.draw_parent(data)
        parent_row = self.where()[parent]
        if record in self.ancestors(parent):
            refuses(HierarchyError, self.manager.set_parent, row, parent_row)
            return
        self.manager.set_parent(row, parent_row)
        if self.parents.get(record) is not parent:
            self.attach(record, parent)
            self.version += 1

    @precondition(lambda self: self.used())
    @rule(data=st.data(), for_all=st.booleans())
    def set_parents(self, data: st.DataObject, for_all: bool) -> None:
        rows = data.draw(self.some(self.used()))
        wanted = [self.draw_parent(data) for _ in ([None] if for_all else rows)]
        parent_rows = [self.where()[parent] for parent in wanted]
        if for_all:
            self.set_all(rows, wanted * len(rows), parent_rows[0])
        else:
            self.set_all(rows, wanted, parent_rows)

    @precondition(lambda self: len(self.used()) > 2)
    @rule(data=st.data(), at_once=st.booleans())
    def a_relative_goes(self, data: st.DataObject, at_once: bool) -> None:
        """Destroy one row of three generations."""
        first, second, third = data.draw(st.permutations(self.used()[:9]))[:3]
        wanted = [None, self.at(first), self.at(second)]
        self.set_all([first, second, third], wanted, [NIL, first, second])
        row = data.draw(st.sampled_from([first, second, third]))
        self.leave([row])
        if at_once:
            self.manager.destroy_many([row])
        else:
            self.manager.destroy(row)

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

    def set_all(self, rows: list[int], wanted: Sequence[Record | None], parents: Any) -> None:
        """Give many rows their parents, if what comes of it are trees."""
        pairs = [(self.at(row), to) for row, to in zip(rows, wanted, strict=True)]
        changed = [(r, to) for r, to in pairs if self.parents.get(r) is not to]
        before = self.parents
        after = (before | dict(changed)).items()
        self.parents = {record: to for record, to in after if to is not None}
        tops = [self.ancestors(record)[-1] for record, _ in changed]
        endless = any(top in self.parents for top in tops)
        self.parents = before
        if endless:
            refuses(HierarchyError, self.manager.set_parent_many, rows, parents)
            return
        self.manager.set_parent_many(rows, parents)
        for record, _ in changed:
            self.attach(record, None)
        for record, to in changed:
            self.attach(record, to)
        self.version += bool(changed)

    @invariant()
    def relatives_agree(self) -> None:
        m, where = self.manager, self.where()
        for record, row in where.items():
            if record is None:
                continue
            children = [where[child] for child in self.children.get(record, [])]
            assert m.parent(row) == where[self.parents.get(record)]
            check_children(m, row, children)

    @invariant()
    def levels_agree(self) -> None:
        m, where = self.manager, self.where()
        above = [where[self.parents.get(self.at(row))] for row in self.used()]
        assert m.data.parent.tolist() == above
        level = [row for row in self.used() if above[row] == NIL]
        assert m.roots().tolist() == level
        for row in level:
            assert m.next_sibling(row) == m.previous_sibling(row) == NIL
        for level_rows in m.levels():
            assert level_rows.tolist() == level
            below = [c for row in level for c in self.children.get(self.at(row), [])]
            level = sorted(where[child] for child in below)
        assert level == []
        assert m.levels() is m.levels()


class LostParentError(Exception):
    """A parent is evicted for its child."""


class ChildrenRules(HierarchyRules):
    """New rows are roots, or last children."""

    def __init__(self) -> None:
        self.newborn: Sequence[Record | None] = []  # the parents of the next new rows
        self.adoptive: list[Record] = []
        super().__init__()

    def leave(self, rows: Sequence[int]) -> int:
        if self.adoptive:
            removed = [self.at(row) for row in self.expanded(rows)]
            if any(record in self.adoptive for record in removed):
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
        owners: Sequence[int],
        rows: Sequence[dict[str, Any]],
        create: Callable[[], list[int]],
    ) -> None:
        """Create rows below parents, or see that a parent would be evicted for its child."""
        self.newborn = parents
        try:
            self.arrive(owners, rows, create)
        except LostParentError:
            refuses(StaleInstanceError, "make room", create)
        finally:
            self.newborn, self.adoptive = [], []

    @precondition(lambda self: self.creatable() and self.used())
    @rule(data=st.data())
    def create_below(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(self.creatable()))
        values, parent = data.draw(self.subject.some_values), self.draw_parent(data)
        parent_row = self.where()[parent]
        create = partial(self.subject.create, self.manager, owner, parent=parent_row, **values)
        self.arrive_below([parent], [owner], [values], lambda: [create()])

    @precondition(lambda self: self.used())
    @rule(data=st.data(), for_all=st.booleans())
    def create_many_below(self, data: st.DataObject, for_all: bool) -> None:
        owners, values = self.choose_new(data), data.draw(self.subject.some_values)
        count = len(owners)
        parents = [self.draw_parent(data) for _ in range(1 if for_all else count)]
        numbers = [self.where()[parent] for parent in parents]
        rows = [self.shifted(values, k) for k in range(count)]
        columns = self.columns(rows, rows_to_array=False)
        parent_rows = numbers[0] if for_all else numbers
        of_parents = partial(self.subject.create_many, parents=parent_rows, **columns)
        create = partial(of_parents, self.manager, owners)
        self.arrive_below(parents * count if for_all else parents, owners, rows, create)


class OwnedChildrenRules(ChildrenRules, OwnedRules):
    """The parents of new rows are found wherever they went meanwhile."""

    @precondition(lambda self: self.dead)
    @rule()
    def dead_entities_count_for_more_than_parents(self) -> None:
        m, dead = self.manager, self.dead[-1]
        for parent in (0, 1 << 20, None):
            refuses(StaleEntityError, m.create, dead, parent=parent)
            refuses(StaleEntityError, m.create_many, [*self.alive[:1], dead], parents=parent)


class UnownedChildrenRules(ChildrenRules, UnownedRules):
    """The parents of new rows are found wherever they went meanwhile."""
