"""Rows lie without holes, in an order: as they come, active first, grouped, or in a ring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import sortable
from .state_machine import MANY_ROWS, RING_SIZE, ManagerStateMachine, Record
from .subject import Object, refuses, same


class PackedRules(ManagerStateMachine):
    """Moves of rows after removals, and orders."""

    def append(self, records: list[Record]) -> list[int]:
        rows = range(len(self.table), len(self.table) + len(records))
        self.table += records
        return list(rows)

    def close(self, rows: list[int]) -> None:
        self.fill(rows, len(self.table))
        del self.table[len(self.table) - len(rows) :]

    def fill(self, holes: list[int], end: int) -> None:
        """Fill ascending holes with the last rows before `end`."""
        new_end = end - len(holes)
        moving = (row for row in range(new_end, end) if row not in holes)
        for hole in holes:
            if hole < new_end:
                self.table[hole] = self.table[next(moving)]

    def parts(self) -> list[slice]:
        """Return the rows that orders keep apart: all are one part."""
        return [slice(0, len(self.table))]

    @rule(data=st.data())
    def sort_by_field(self, data: st.DataObject) -> None:
        names = sortable(self.subject.fields)
        if names:
            field = data.draw(st.sampled_from(names))
            self.manager.sort(field.name)
            self.permute_by(lambda record: field.order(record.stored(field)))

    @rule(data=st.data())
    def sort_by_key(self, data: st.DataObject) -> None:
        count = len(self.table)
        seed = data.draw(st.integers(0, 3))
        key = [(row * 7 + seed) % 5 - 0.5 for row in range(count)]
        self.manager.sort(key)
        keys = {id(self.at(row)): value for row, value in enumerate(key)}
        self.permute_by(lambda record: keys[id(record)])

    def permute_by(self, key: Callable[[Record], Any]) -> None:
        """Sort the model, NaN last."""
        for part in self.parts():
            rows = [self.at(row) for row in range(part.start, part.stop)]
            rows.sort(key=lambda record: _nan_last(key(record)))
            self.table[part] = rows
        self.version += 1

    @precondition(lambda self: len(self.table) < MANY_ROWS)
    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        random = data.draw(st.randoms(use_true_random=True))
        order: list[int] = []
        for part in self.parts():
            rows = list(range(part.start, part.stop))
            random.shuffle(rows)
            order += rows
        self.manager.reorder(order)
        self.table = [self.table[row] for row in order]
        self.version += 1


def _nan_last(value: Any) -> tuple[bool, Any]:
    is_last = value is None or (isinstance(value, float) and isnan(value))  # NaT is None
    return is_last, 0.0 if is_last else value


class GroupedRules(PackedRules):
    """Rows are in the group only in a world."""


class PartitionRules(PackedRules):
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
        removed = [row for row in rows if row < self.active]
        self.fill(removed, self.active)
        given_up = range(self.active - len(removed), self.active)
        self.active -= len(removed)
        super().close([*given_up, *rows[len(removed) :]])

    def cross(self, rows: list[int], start: int) -> list[int]:
        """Swap rows to where a part ends, and return where they are now."""
        wanted = range(start, start + len(rows))
        coming = sorted(row for row in rows if row not in wanted)
        leaving = [row for row in wanted if row not in rows]
        now = {row: row for row in rows}
        for source, target in zip(coming, leaving, strict=True):
            self.table[source], self.table[target] = self.table[target], self.table[source]
            now[source] = target
        self.version += bool(rows)
        return [now[row] for row in rows]

    @precondition(lambda self: self.table)
    @rule(data=st.data(), side=st.sampled_from(["activate", "deactivate"]))
    def change_side(self, data: st.DataObject, side: str) -> None:
        row = data.draw(st.sampled_from(self.used()))
        (now,) = self.sided([row], side)
        assert getattr(self.manager, side)(row) == now

    @rule(data=st.data(), side=st.sampled_from(["activate", "deactivate"]), as_mask=st.booleans())
    def change_sides(self, data: st.DataObject, side: str, as_mask: bool) -> None:
        rows, argument = self.chosen(data, as_mask)
        now = self.sided(rows, side)
        assert getattr(self.manager, f"{side}_many")(argument).tolist() == now

    def sided(self, rows: list[int], side: str) -> list[int]:
        """Make rows of the model active or inactive, and return where they are now."""
        in_front = side == "activate"
        crossing = [row for row in rows if (row < self.active) != in_front]
        start = self.active if in_front else self.active - len(crossing)
        now = dict(zip(crossing, self.cross(crossing, start), strict=True))
        self.active = start + len(crossing) if in_front else start
        return [now.get(row, row) for row in rows]

    @precondition(lambda self: self.active and self.subject.whole)
    @rule(data=st.data(), for_all=st.booleans())
    def assign_active(self, data: st.DataObject, for_all: bool) -> None:
        active = self.manager.data.active
        field = self.assign(active, self.active, data, for_all)
        if not isinstance(field, Object):  # that is one object for all
            wrong = field.array([field.sample(0)] * (self.active + 2))
            refuses(ValueError, field.name, setattr, active, field.name, wrong)

    @precondition(lambda self: self.active)
    @rule(k=st.integers(0, 9))
    def assign_active_parts(self, k: int) -> None:
        for field in (f for f in self.subject.fields if f.name in self.subject.split):
            if field.name not in self.subject.indirect:
                elements = field.array([field.sample(k)]).reshape(-1)
                for part, element in zip(self.subject.split[field.name], elements, strict=True):
                    setattr(self.manager.data.active, part, element)
                for row in range(self.active):
                    self.at(row).values[field.name] = field.read(field.sample(k))

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


class RingRules(PackedRules):
    """Rows have an age, which no move changes."""

    def __init__(self) -> None:
        self.ages: list[Record] = []  # the oldest first
        super().__init__()

    def displaced(self, records: Sequence[Record]) -> Sequence[int]:
        removed = self.expanded(super().displaced(records))
        over = max(0, len(self.table) - len(removed) + len(records) - RING_SIZE)
        others = [row for row in map(self.table.index, self.ages) if row not in removed]
        return [*removed, *others[:over]]

    def join(self, records: list[Record]) -> list[int]:
        rows = super().join(records)
        self.ages += records
        return rows

    def leaving(self, rows: list[int]) -> None:
        super().leaving(rows)
        for row in rows:
            self.ages.remove(self.at(row))

    def rows_needed(self, owners: Sequence[int]) -> int:
        return min(super().rows_needed(owners), RING_SIZE)

    def has_room(self, owners: Sequence[int]) -> bool:
        return len(owners) <= RING_SIZE and super().has_room(owners)

    @rule()
    def ring_is_filled(self) -> None:
        missing = RING_SIZE - len(self.table)
        self.create_rows([self.subject.sample(k) for k in range(missing)])

    @invariant()
    def ages_agree(self) -> None:
        rows = self.manager.by_age()
        assert rows.dtype == np.intp
        assert rows.tolist() == [self.table.index(record) for record in self.ages]
        assert len(rows) <= RING_SIZE
