"""Parents and children among rows, and creation below parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import HierarchyError, StaleEntityError, StaleInstanceError
from ecsgen_runtime.base.handles import NIL
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases, State
from .ids import UnownedCases, UnownedRules
from .owned import OwnedCases, OwnedRules
from .state_machine import ManagerStateMachine, Record
from .subject import create_or_skip, recreate, refuses, skip_without


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


class HierarchyCases(Cases):
    """Families, case by case."""

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        parents = (1, 0), (0, NIL)
        return [
            *super().structural_calls(source, m),
            *(partial(m.set_parent, *pair) for pair in parents),
            *(partial(m.set_parent_many, [row], to) for row, to in parents),
        ]

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
            check_children(m, row, [k for k, p in enumerate(parents) if p == row])

    def test_new_rows_are_roots(self) -> None:
        source, m, _ = self.filled(3)
        self.check_family(m, [NIL] * 3)
        assert m.roots().tolist() == [0, 1, 2]
        assert [level.tolist() for level in m.levels()] == [[0, 1, 2]]
        m.set_parent(2, 0)
        m.destroy(2)
        assert m.parent(self.add_one(source, m)) == NIL
        assert m.levels() is m.levels()

    def test_nobody_at_all(self, m: Any) -> None:
        assert len(m.roots()) == 0
        assert m.levels() == ()
        m.set_parent_many([], NIL)
        m.set_parent_many([], [])
        assert m.version == 0

    @pytest.mark.parametrize("removed", [1, 2, 3])
    def test_one_leaves_its_siblings(self, removed: int) -> None:
        _, m, owners = self.family([NIL, 0, 0, 0])
        left = sorted({1, 2, 3} - {removed})
        m.set_parent(removed, NIL)
        check_children(m, 0, left)
        m.set_parent(removed, 0)
        check_children(m, 0, [*left, removed])
        m.destroy(removed)
        check_children(m, 0, [self.found(m, owners[k]) for k in left])

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
        with self.unchanged(m):
            for row, parent in ((0, 0), (0, 1), (0, 3), (1, 2), (4, 4)):
                refuses(HierarchyError, m.set_parent, row, parent)
            chains = ([4, 0], [3, 4]), ([2, 1], 3), ([0, 4], [4, 0])
            for rows, parents in (([0], [3]), ([3], 3), *chains):
                refuses(HierarchyError, m.set_parent_many, rows, parents)
        self.check_family(m, [NIL, 0, 1, 2, NIL])

    def test_links_can_not_be_written(self) -> None:
        _, m, _ = self.family([NIL, 0])
        refuses(ValueError, "read-only", m.data.parent.fill, 0)
        refuses(ValueError, "read-only", m.levels()[0].fill, 0)

    @pytest.mark.parametrize("count", [2, 63, 64, 65, 200])
    def test_the_last_row_moves_with_its_family(self, count: int) -> None:
        last = count + 1
        _, m, _ = self.filled(last + 1)
        m.set_parent_many(range(1, last), last)
        m.destroy(0)
        assert m.data.parent.tolist() == [NIL, *[0] * (count)]
        check_children(m, 0, list(range(1, last)))
        m.set_parent(1, NIL)
        m.set_parent(1, 0)
        check_children(m, 0, [*range(2, last), 1])

    def test_a_parent_moves_where_one_goes_with_its_child(self) -> None:
        _, m, _ = self.filled(60)
        m.set_parent_many(range(10, 20), range(10))
        m.set_parent_many(range(20, 40), range(40, 60))
        m.destroy_many(range(20))
        parents = m.data.parent[20:40]
        assert sorted(parents.tolist()) == list(range(20))
        for child, parent in enumerate(parents.tolist(), 20):
            check_children(m, parent, [child])

    @pytest.mark.parametrize("count", [7, 70])
    @pytest.mark.parametrize("removed", [[0], [0, 1]])
    def test_a_parent_moves_in_bulk(self, removed: list[int], count: int) -> None:
        _, m, _ = self.filled(count)
        m.set_parent_many([2, 4, 3], count - 1)
        m.destroy_many(removed)
        row = len(removed) - 1
        check_children(m, row, [2, 4, 3])
        assert [m.parent(child) for child in (2, 3, 4)] == [row] * 3
        assert len(m.roots()) == len(m) - 3

    def test_only_rows_in_use_have_relatives(self) -> None:
        _, m, _ = self.filled(2)
        for row in (-1, 2, NIL):
            for call in (m.parent, m.children, m.first_child, m.next_sibling):
                refuses(StaleInstanceError, call, row)
            refuses(StaleInstanceError, m.previous_sibling, row)
            refuses(StaleInstanceError, m.set_parent, row, 0)
        for rows, parents in (([0, 2], 1), ([0, 0], 1), ([0], 2), ([0, 1], [1, -1])):
            refuses(StaleInstanceError, m.set_parent_many, rows, parents)
        refuses(StaleInstanceError, m.set_parent, 0, 2)
        refuses(ValueError, "parents", m.set_parent_many, [0, 1], [NIL])
        refuses(TypeError, m.set_parent_many, [0, 1], np.array([False, True]))
        self.check_family(m, [NIL, NIL])


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
        create = partial(self.create_one, owner, parent=parent_row, **values)
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
        create = partial(self.create_all, owners, parents=parent_rows, **columns)
        self.arrive_below(parents * count if for_all else parents, owners, rows, create)


class ChildrenCases(HierarchyCases):
    """Parents of new rows, for one and for many."""

    def structural_calls(self, source: Any, m: Any) -> list[Callable[[], object]]:
        return [
            *super().structural_calls(source, m),
            partial(self.add_one, source, m, parent=0),
            partial(self.add, source, m, 1, parents=0),
        ]

    def check_twins(self, manager: Any, other: Any) -> None:
        """Check that two managers have the same rows, and the same relatives for them."""
        assert State(self.subject, manager) == State(self.subject, other)
        assert manager.data.parent.tolist() == other.data.parent.tolist()
        for row in range(len(manager)):
            assert manager.children(row).tolist() == other.children(row).tolist()

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
        parents_by_row = np.broadcast_to(parents, 3).tolist()
        where = [self.parent_of(other, owners, parent) for parent in parents_by_row]
        other.set_parent_many(rows, where)
        self.check_twins(m, other)

    def test_who_has_no_parent_gets_none_when_others_move(self) -> None:
        source, m, _ = self.family([NIL, 0, 0])
        skip_without(m, "deactivate_many", "new rows come behind all others")
        m.deactivate_many(range(3))
        above = self.owner(m, 0)
        root, child = self.add(source, m, 2, parents=[NIL, 0])
        assert m.parent(root) == NIL
        assert m.parent(child) == self.found(m, above)

    def test_parents_are_rows_in_use(self) -> None:
        source, m, _ = self.family([NIL, 0])
        with self.unchanged(m):
            for parent in (-1, 2, 2**70):
                refuses(StaleInstanceError, self.add_one, source, m, parent=parent)
            for parents in (2, [0, 2], [-1, NIL], np.array([5, 0])):
                refuses(StaleInstanceError, self.add, source, m, 2, parents=parents)
            for wrong in (None, "0", 1.0):
                refuses(TypeError, self.add_one, source, m, parent=wrong)
                refuses(TypeError, self.add, source, m, 2, parents=wrong)
            refuses(ValueError, "parents", self.add, source, m, 2, parents=[0, 1, 0])
            with pytest.raises(TypeError, match="mask"):
                self.add(source, m, 2, parents=np.array([True, False]))
        self.check_family(m, [NIL, 0])

    def test_bad_values_leave_no_children(self) -> None:
        source, m, _ = self.family([NIL, 0])
        for field, value, error in self.subject.wrong():
            refuses(error, self.add_one, source, m, parent=0, **{field.name: value})
            columns = {field.name: [field.sample(0), value]}
            refuses(error, self.add, source, m, 2, parents=0, **columns)
        self.check_family(m, [NIL, 0])
        m.reorder([1, 0])  # no parent is tracked any more
        assert m.data.parent.tolist() == [1, NIL]


class OwnedChildrenRules(ChildrenRules, OwnedRules):
    """The parents of new rows are found wherever they went meanwhile."""


class OwnedChildrenCases(ChildrenCases, OwnedCases):
    """Dead entities are the more important error, and get no row."""

    def test_dead_entities_count_for_more_than_parents(self) -> None:
        entities, m, _ = self.family([NIL, 0])
        dead, living = create_or_skip(entities, 2).tolist()
        entities.destroy(dead)
        with self.unchanged(m):
            for parent in (0, 7, None):
                refuses(StaleEntityError, m.create, dead, parent=parent)
                refuses(StaleEntityError, m.create_many, [living, dead], parents=parent)

    def test_a_parent_is_found_that_moves_for_its_child(self) -> None:
        entities, m, es = self.filled(3)
        skip_without(m, "deactivate_many", "new rows come behind all others")
        m.deactivate_many(range(3))
        for form in ("create", "create_many"):
            parent = m.entity(m.n_active)
            (entity,) = create_or_skip(entities, 1).tolist()
            if form == "create":
                row = m.create(entity, parent=m.n_active)
            else:
                (row,) = m.create_many([entity], parents=[m.n_active]).tolist()
            assert m.parent(row) == self.found(m, parent)
            assert parent in es.tolist()

    def test_parents_are_found_when_the_dead_make_way(self) -> None:
        for form in ("create", "create_many"):
            entities, m, es = self.filled(5)
            successors = recreate(entities, es[:2])
            parent = self.found(m, es[4])
            if form == "create":
                m.create(successors[0], parent=parent)
            else:
                m.create_many(successors[:1], parents=[parent])
            row = self.found(m, successors[0])
            assert m.parent(row) == self.found(m, es[4])
            check_children(m, self.found(m, es[4]), [row])


class UnownedChildrenRules(ChildrenRules, UnownedRules):
    """The parents of new rows are found wherever they went meanwhile."""


class UnownedChildrenCases(ChildrenCases, UnownedCases):
    """Children without owners."""
