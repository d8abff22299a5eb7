"""Rows without holes: the last row moves into the place of one that goes."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .. import base, machine
from ..fields import Object
from ..machine import Record


class Rules(machine.Machine):
    """Where rows go when others leave, and orders."""

    def append(self, records: list[Record]) -> list[int]:
        rows = range(len(self.table), len(self.table) + len(records))
        self.table += records
        return list(rows)

    def close(self, rows: list[int]) -> None:
        self.fill(rows, len(self.table))
        del self.table[len(self.table) - len(rows) :]

    def fill(self, holes: list[int], end: int) -> None:
        """Let the last rows before `end` fill ascending holes."""
        kept = end - len(holes)
        moving = (row for row in range(kept, end) if row not in holes)
        for hole in holes:
            if hole < kept:
                self.table[hole] = self.table[next(moving)]

    def parts(self) -> list[slice]:
        """Return the rows that orders keep apart: all are one part."""
        return [slice(0, len(self.table))]

    def structural_calls(self) -> list[Callable[[], object]]:
        m = self.manager
        order = np.arange(len(self.table))
        return [
            *super().structural_calls(),
            lambda: m.sort(order),
            lambda: m.reorder(order),
        ]

    @rule(data=st.data())
    def sort_by_field(self, data: st.DataObject) -> None:
        names = base.sortable(self.subject.fields)
        if names:
            field = data.draw(st.sampled_from(names))
            self.manager.sort(field.name)
            self.permute_by(lambda record: record.stored(field))

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

    @precondition(lambda self: len(self.table) < machine.MANY_ROWS)
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

    @rule()
    def bad_orders_are_refused(self) -> None:
        count = len(self.table)
        for order in ([*range(count), count], [*range(1, count), count], [-1] * count):
            if order:
                with pytest.raises(ValueError, match="permutation"):
                    self.manager.reorder(order)
        with pytest.raises(ValueError, match="key of shape"):
            self.manager.sort(np.zeros(count + 1))
        with pytest.raises(ValueError, match=self.subject.label):
            self.manager.sort("no such field")


def _nan_last(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and isnan(value)
    return is_nan, 0.0 if is_nan else value


class Cases(base.Cases):
    """Swap-remove, sorting and reordering, case by case."""

    def changes(self) -> list[Callable[[Any, Any], object]]:
        return [*super().changes(), lambda _, m: m.sort([2, 0, 1])]

    @pytest.mark.parametrize("gone", [0, 2, 4])
    def test_the_last_row_fills_the_hole(self, gone: int) -> None:
        _, m, es = self.filled(5)
        m.destroy(gone)
        expected = [0, 1, 2, 3, 4]
        expected[gone] = 4
        self.check_rows(m, es, expected[:4])

    def test_the_only_row(self) -> None:
        source, m, es = self.filled(1)
        m.destroy(0)
        self.check_rows(m, es, [])
        row = self.add_one(source, m, **self.subject.sample(0))
        assert row == 0
        self.check_values(m, [0], [0])

    def test_ascending_holes_take_ascending_survivors(self) -> None:
        _, m, es = self.filled(9)
        m.destroy_many([7, 1, 0, 5])
        self.check_rows(m, es, [6, 8, 2, 3, 4])

    def test_holes_at_the_end_move_nothing(self) -> None:
        _, m, es = self.filled(6)
        m.destroy_many([4, 5])
        self.check_rows(m, es, [0, 1, 2, 3])

    def test_a_mask_says_which_rows_go(self) -> None:
        _, m, es = self.filled(5)
        m.destroy_many(np.array([True, False, False, True, False]))
        self.check_rows(m, es, [4, 1, 2])

    def test_rows_over_many_are_found_again(self) -> None:
        _, m, es = self.filled(300)
        m.destroy_many(np.arange(0, 300, 3))
        kept = [e for k, e in enumerate(es.tolist()) if k % 3]
        assert sorted(m) == sorted(kept)
        assert [self.owner(m, self.found(m, e)) for e in kept] == kept

    def test_reorder_takes_the_rows_named(self) -> None:
        _, m, es = self.filled(4)
        m.reorder([2, 0, 3, 1])
        self.check_rows(m, es, [2, 0, 3, 1])

    @pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [0, 1, 3], [-1, 0, 1], []])
    def test_only_permutations_are_orders(self, order: list[int]) -> None:
        _, m, es = self.filled(3)
        with pytest.raises(ValueError, match="permutation"):
            m.reorder(order)
        self.check_rows(m, es, [0, 1, 2])

    def test_sorting_is_stable_and_puts_nan_last(self) -> None:
        _, m, es = self.filled(6)
        m.sort([1.0, float("nan"), 0.0, 1.0, float("-inf"), 0.0])
        self.check_rows(m, es, [4, 2, 5, 0, 3, 1])

    def test_sorting_by_each_field(self) -> None:
        for field in base.sortable(self.subject.fields):
            _, m, es = self.filled(5)
            values = [field.stored(field.sample(k)) for k in range(5)]
            m.sort(field.name)
            self.check_rows(m, es, sorted(range(5), key=values.__getitem__))

    def test_other_fields_are_no_keys(self) -> None:
        _, m, es = self.filled(2)
        others = [
            f.name for f in self.subject.fields if f.shape or isinstance(f, Object)
        ]
        for name in (*others, "no_field", "entity", "n", "_n"):
            with pytest.raises(ValueError, match=self.subject.label):
                m.sort(name)
        self.check_rows(m, es, [0, 1])

    def test_a_key_has_one_value_per_row(self) -> None:
        _, m, es = self.filled(2)
        for key in ([1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]):
            with pytest.raises(ValueError, match="key"):
                m.sort(key)
        self.check_rows(m, es, [0, 1])

    def test_rows_behind_the_last_are_gone(self) -> None:
        _, m, _ = self.filled(3)
        m.destroy(0)
        self.check_unused(m, 2)
