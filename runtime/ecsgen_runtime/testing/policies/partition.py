"""Active rows in front, kept there by swaps."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ...errors import StaleInstanceError, StructureLockedError
from ...handles import NIL
from ..base import State
from ..fields import Object
from ..machine import Record, through_pickle
from ..subject import same
from . import packed


class Rules(packed.Rules):
    """Two parts: rows come and go in each, and change sides."""

    def __init__(self) -> None:
        self.active = 0
        super().__init__()

    def parts(self) -> list[slice]:
        return [slice(0, self.active), slice(self.active, len(self.table))]

    def append(self, records: list[Record]) -> list[int]:
        if not self.subject.starts_active:
            return super().append(records)
        start, end, n = self.active, self.active + len(records), len(self.table)
        displaced = self.table[start:end]
        self.table += [None] * len(records)
        self.table[max(n, end) :] = displaced
        self.table[start:end] = records
        self.active = end
        return list(range(start, end))

    def close(self, rows: list[int]) -> None:
        gone = [row for row in rows if row < self.active]
        self.fill(gone, self.active)
        given_up = range(self.active - len(gone), self.active)
        self.active -= len(gone)
        super().close([*given_up, *rows[len(gone) :]])

    def cross(self, rows: list[int], start: int) -> list[int]:
        """Swap rows to where a part ends, and return where they are now."""
        wanted = range(start, start + len(rows))
        coming = sorted(row for row in rows if row not in wanted)
        leaving = [row for row in wanted if row not in rows]
        now = {row: row for row in rows}
        for one, other in zip(coming, leaving, strict=True):
            self.table[one], self.table[other] = self.table[other], self.table[one]
            now[one] = other
        self.version += bool(rows)
        return [now[row] for row in rows]

    def structural_calls(self) -> list[Callable[[], object]]:
        m, rows = self.manager, self.used()
        return [
            *super().structural_calls(),
            *(lambda row=row: m.activate(row) for row in rows[-1:]),
            *(lambda row=row: m.deactivate(row) for row in rows[:1]),
            lambda: m.activate_many(rows),
            lambda: m.deactivate_many(rows),
        ]

    @precondition(lambda self: self.table)
    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        assert self.manager.activate(row) == self.activated([row])[0]

    @precondition(lambda self: self.table)
    @rule(data=st.data())
    def deactivate(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        assert self.manager.deactivate(row) == self.deactivated([row])[0]

    @rule(data=st.data(), as_mask=st.booleans())
    def activate_many(self, data: st.DataObject, as_mask: bool) -> None:
        rows, given = self.chosen(data, as_mask)
        assert self.manager.activate_many(given).tolist() == self.activated(rows)

    @rule(data=st.data(), as_mask=st.booleans())
    def deactivate_many(self, data: st.DataObject, as_mask: bool) -> None:
        rows, given = self.chosen(data, as_mask)
        assert self.manager.deactivate_many(given).tolist() == self.deactivated(rows)

    def chosen(self, data: st.DataObject, as_mask: bool) -> tuple[list[int], Any]:
        """Draw rows, and how they are given: themselves, or a mask."""
        rows = data.draw(self.some(self.used()))
        if not as_mask:
            return rows, rows
        return sorted(rows), np.isin(np.arange(len(self.table)), rows)

    def activated(self, rows: list[int]) -> list[int]:
        """Let rows of the model be active and return where they are now."""
        crossing = [row for row in rows if row >= self.active]
        now = dict(zip(crossing, self.cross(crossing, self.active), strict=True))
        self.active += len(crossing)
        return [now.get(row, row) for row in rows]

    def deactivated(self, rows: list[int]) -> list[int]:
        """Let rows of the model be inactive and return where they are now."""
        crossing = [row for row in rows if row < self.active]
        self.active -= len(crossing)
        now = dict(zip(crossing, self.cross(crossing, self.active), strict=True))
        return [now.get(row, row) for row in rows]

    @precondition(lambda self: self.active and self.subject.whole)
    @rule(data=st.data())
    def assign_active(self, data: st.DataObject) -> None:
        field = data.draw(st.sampled_from(self.subject.whole))
        values = [data.draw(field.values)]
        values += [field.sample(k) for k in range(1, self.active)]
        setattr(self.manager.data.active, field.name, values)
        for row, value in enumerate(values):
            self.at(row).values[field.name] = field.read(value)

    @precondition(lambda self: 0 < self.active < len(self.table))
    @rule()
    def orders_across_the_bound_are_refused(self) -> None:
        order = np.arange(len(self.table))
        order[[0, -1]] = order[[-1, 0]]
        with pytest.raises(ValueError, match="active"):
            self.manager.reorder(order)

    @invariant()
    def parts_agree(self) -> None:
        m, active = self.manager, self.manager.data.active
        assert m.n_active == active.n == self.active
        rows = {0, self.active - 1, self.active, len(self.table) - 1}
        for row in rows & set(self.used()):
            assert m.is_active(row) == (row < self.active)
        for column in self.subject.columns:
            if hasattr(active, column.name):
                every = getattr(m.data, column.name)[: self.active].tolist()
                assert same(getattr(active, column.name).tolist(), every)


class Cases(packed.Cases):
    """Changing sides, and what keeps to its side."""

    def parted(self, active: int, inactive: int) -> tuple[Any, Any, Any]:
        """Return a manager whose row k is sample k, the first rows active."""
        source, m, owners = self.filled(active + inactive)
        m.activate_many(range(active))
        m.deactivate_many(range(active, active + inactive))
        self.check_rows(m, owners, range(active + inactive))
        assert m.n_active == active
        return source, m, owners

    def changes(self) -> list[Callable[[Any, Any], object]]:
        name = "deactivate" if self.subject.starts_active else "activate"
        return [
            *super().changes(),
            lambda _, m: getattr(m, name)(1),
            lambda _, m: getattr(m, f"{name}_many")([0, 2]),
        ]

    def test_what_new_rows_are(self) -> None:
        source, m, owners = self.parted(2, 2)
        new = self.add_one(source, m, **self.subject.sample(7))
        more = self.add(source, m, 3, **self.subject.samples(3))
        starts_active = self.subject.starts_active
        assert [m.is_active(row) for row in (new, *more)] == [starts_active] * 4
        assert m.n_active == (6 if starts_active else 2)
        self.check_values(m, [new, *more], [7, 0, 1, 2])
        rows = [self.found(m, owner) for owner in owners]
        assert [m.is_active(row) for row in rows] == [True, True, False, False]
        self.check_values(m, rows, range(4))

    def test_new_rows_come_where_others_went(self) -> None:
        source, m, owners = self.parted(2, 3)
        m.destroy_many([0, 2])
        m.destroy(0)
        more = [self.owner(m, self.add_one(source, m)) for _ in range(4)]
        rows = [self.found(m, owner) for owner in [*owners[3:], *more]]
        assert sorted(rows) == list(range(6))
        self.check_values(m, rows[:2], [3, 4])

    def test_copies_keep_sides(self) -> None:
        source, m, owners = self.parted(2, 3)
        for copied in (through_pickle, deepcopy):
            _, other = copied((source, m))
            assert other.n_active == 2
            self.check_rows(other, owners, range(5))

    def test_one_swap_changes_sides(self) -> None:
        _, m, owners = self.parted(2, 3)
        version = m.version
        assert m.activate(4) == 2
        self.check_rows(m, owners, [0, 1, 4, 3, 2])
        assert m.deactivate(0) == 2
        self.check_rows(m, owners, [4, 1, 0, 3, 2])
        assert (m.n_active, m.version) == (2, version + 2)

    def test_rows_on_that_side_already_stay(self) -> None:
        _, m, owners = self.parted(2, 2)
        version = m.version
        assert (m.activate(1), m.deactivate(2)) == (1, 2)
        assert m.activate_many([1, 0]).tolist() == [1, 0]
        assert m.deactivate_many([3, 2]).tolist() == [3, 2]
        assert m.version == version
        self.check_rows(m, owners, range(4))

    def test_many_change_sides(self) -> None:
        _, m, owners = self.parted(2, 4)
        assert m.activate_many([5, 0, 4]).tolist() == [3, 0, 2]
        self.check_rows(m, owners, [0, 1, 4, 5, 2, 3])
        assert m.deactivate_many([1, 5, 0]).tolist() == [3, 5, 2]
        self.check_rows(m, owners, [4, 5, 0, 1, 2, 3])
        assert m.n_active == 2

    def test_a_few_of_many_change_sides(self) -> None:
        _, m, owners = self.parted(40, 40)
        assert m.activate_many([79, 3, 41]).tolist() == [40, 3, 41]
        assert m.deactivate_many([3, 50, 0]).tolist() == [41, 50, 40]
        expected = [*range(80)]
        for one, other in ((40, 79), (0, 40), (3, 41)):
            expected[one], expected[other] = expected[other], expected[one]
        self.check_rows(m, owners, expected)

    def test_a_mask_changes_sides(self) -> None:
        _, m, _ = self.parted(1, 2)
        assert m.activate_many([True, False, True]).tolist() == [0, 1]
        assert m.deactivate_many([False, False, True]).tolist() == [2]
        assert m.n_active == 2

    def test_swaps_in_a_full_buffer(self) -> None:
        _, m, owners = self.filled(64)
        m.shrink_to_fit()
        m.deactivate_many(range(64))
        assert m.activate(9) == 0
        expected = list(range(64))
        expected[0], expected[9] = 9, 0
        self.check_rows(m, owners, expected)

    def test_holes_are_filled_from_their_own_part(self) -> None:
        _, m, owners = self.parted(4, 3)
        m.destroy(0)
        assert m.n_active == 3
        self.check_rows(m, owners, [3, 1, 2, 6, 4, 5])
        m.destroy(4)
        assert m.n_active == 3
        self.check_rows(m, owners, [3, 1, 2, 6, 5])
        _, m, owners = self.parted(4, 4)
        m.destroy_many([1, 2, 5])
        assert m.n_active == 2
        self.check_rows(m, owners, [0, 3, 6, 7, 4])

    def test_emptying_either_part(self) -> None:
        _, m, owners = self.parted(3, 3)
        m.destroy_many([0, 1, 2])
        assert (m.n_active, len(m)) == (0, 3)
        self.check_rows(m, owners, [3, 4, 5])
        _, m, owners = self.parted(3, 3)
        m.destroy_many([3, 4, 5])
        assert (m.n_active, len(m)) == (3, 3)
        self.check_rows(m, owners, [0, 1, 2])
        m.clear()
        assert (m.n_active, m.data.active.n, len(m)) == (0, 0, 0)

    def test_orders_keep_to_their_side(self) -> None:
        _, m, owners = self.parted(3, 3)
        m.sort([5, 4, 3, 2, 1, 0])
        self.check_rows(m, owners, [2, 1, 0, 5, 4, 3])
        m.reorder([1, 0, 2, 3, 5, 4])
        self.check_rows(m, owners, [1, 2, 0, 5, 3, 4])
        before = State(self.subject, m)
        with pytest.raises(ValueError, match="active"):
            m.reorder([0, 1, 3, 2, 4, 5])
        assert State(self.subject, m) == before

    def test_columns_of_active_rows(self) -> None:
        for field in self.subject.whole:
            _, m, _ = self.parted(2, 2)
            setattr(m.data.active, field.name, [field.sample(7), field.sample(8)])
            self.check_column(m, field, [field.sample(k) for k in (7, 8, 2, 3)])
            setattr(m.data.active, field.name, field.sample(4))
            self.check_column(m, field, [field.sample(k) for k in (4, 4, 2, 3)])
            if isinstance(field, Object):  # then it is one object for all
                continue
            with pytest.raises(ValueError, match=field.name):
                setattr(m.data.active, field.name, field.array([field.sample(0)] * 3))

    def test_parts_of_active_rows(self) -> None:
        split = self.subject.split.items()
        whole = [parts for name, parts in split if name not in self.subject.indirect]
        for part in sum(whole, ()):
            _, m, _ = self.parted(2, 2)
            first, *others = getattr(m.data, part).tolist()
            setattr(m.data.active, part, first)
            assert same(getattr(m.data, part).tolist(), [first, first, *others[1:]])

    def test_only_rows_in_use_change_sides(self) -> None:
        _, m, _ = self.parted(1, 1)
        for row in (-1, 2, NIL):
            for call in (m.activate, m.deactivate, m.is_active):
                with pytest.raises(StaleInstanceError):
                    call(row)
        for rows in ([0, 2], [1, 1]):
            for call in (m.activate_many, m.deactivate_many):
                with pytest.raises(StaleInstanceError):
                    call(rows)
        assert m.n_active == 1

    def test_locked_rows_keep_their_side(self) -> None:
        _, m, _ = self.parted(1, 1)
        with m.locked():
            for call, given in (
                (m.activate, 1),
                (m.activate, 0),
                (m.deactivate, 0),
                (m.activate_many, [1]),
                (m.deactivate_many, [0]),
            ):
                with pytest.raises(StructureLockedError):
                    call(given)
        assert m.n_active == 1
