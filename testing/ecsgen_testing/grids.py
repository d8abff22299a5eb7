"""Grids, which have all cells from the beginning, and rows on cells."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import FullCellError
from ecsgen_runtime.base.handles import IdArray
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from .common_cases import Cases
from .state_machine import ManagerStateMachine
from .subject import refuses, same, through_pickle

FIRST = 1 << 32
"""The id of the first cell."""


class CellsCases(Cases):
    """A manager of cells."""

    def new(self, room: int = 0) -> tuple[None, Any]:
        """Return a manager with seven cells along the first axis, and two along others."""
        axes = len(self.subject.manager().grid.shape)
        return None, self.subject.manager(shape=(7, 2, 2)[:axes])

    def filled(self, count: int) -> tuple[None, Any, IdArray]:
        """Return a manager with sample k in cell k, of the first ones, and their ids."""
        _, m = self.new()
        for row, field in product(range(count), self.subject.fields):
            getattr(m, f"set_{field.name}")(row, field.sample(row))
        return None, m, m.id_of_many(np.arange(count))

    def test_all_cells_are_there(self) -> None:
        for m in (self.subject.manager(), self.new()[1]):
            shape = m.grid.shape
            assert len(m) == m.data.n == np.prod(shape)
            assert all(same(m.row(row), self.subject.read({})) for row in range(3))
            ids = m.id_of_many(np.arange(len(m)))
            assert [*m][:9] == ids[:9].tolist() == [*range(FIRST, FIRST + len(m))][:9]
            places = np.stack(np.unravel_index(np.arange(len(m)), shape), axis=-1)
            assert (m.grid.coords_many(ids) == places).all()
            assert (m.grid.at_many(places) == ids).all()

    def test_cells_are_written(self, m: Any) -> None:
        for row, proxy in enumerate(m.rows()):
            for field in self.subject.fields:
                getattr(m, f"set_{field.name}")(row, field.sample(row))
                setattr(proxy, field.name, getattr(m, field.name)(row))
            assert same(m.row(row), self.subject.expected(row))
            assert proxy.row == m.resolve(m.id_of(row)) == row
        for twin in (deepcopy(m), through_pickle(m)):
            assert (twin.grid.shape, twin.wrap) == (m.grid.shape, m.wrap)
            assert same(twin.row(6), self.subject.expected(6))
        for field, value, error in self.subject.wrong():
            refuses(error, getattr(m, f"set_{field.name}"), 0, value)
        assert same(m.row(0), self.subject.expected(0))


class OccupantCases(Cases):
    """Rows that stand on cells."""

    def standing(self, *cells: int) -> tuple[Any, Any, str]:
        """Return a manager whose rows stand on these cells, and the field that says so."""
        (field,) = self.subject.places
        source, m = self.new(len(cells) + 3)
        for cell in cells:
            self.add_one(source, m, **{field.name: cell})
        return source, m, field.name

    def crowded(self, *others: int) -> tuple[Any, Any, str, int]:
        """Return the same, the first cell being full, and how many rows that takes."""
        most = self.new()[1].data.CELL_CAPACITY
        if not 0 < most <= 100:
            pytest.skip("cells are never full")
        return *self.standing(*[FIRST] * most, *others), most

    def test_full_cells_take_nobody(self) -> None:
        source, m, name, most = self.crowded(0)
        with self.unchanged(m):
            refuses(FullCellError, self.add_one, source, m, **{name: FIRST})
            refuses(FullCellError, self.add, source, m, 2, **{name: [0, FIRST]})
            refuses(FullCellError, getattr(m, f"set_{name}"), most, FIRST)
            refuses(FullCellError, setattr, m.data, name, FIRST)
        getattr(m, f"set_{name}")(0, FIRST)  # its own
        getattr(m, f"set_{name}")(0, 0)
        self.add_one(source, m, **{name: FIRST})
        refuses(FullCellError, getattr(m, f"set_{name}"), 0, FIRST)

    def test_room_follows_who_comes_and_goes(self) -> None:
        source, m, name, most = self.crowded()
        refuses(FullCellError, self.add_one, source, m, **{name: FIRST})
        m.destroy(0)
        self.add(source, m, 1, **{name: [FIRST]})
        refuses(FullCellError, self.add_one, source, m, **{name: FIRST})
        setattr(m.data, name, 0)
        self.add_one(source, m, **{name: FIRST})
        if source is None:
            return
        setattr(m.data, name, [FIRST] * most + [0])
        refuses(FullCellError, self.add_one, source, m, **{name: FIRST})
        source.destroy(self.subject.key(m, 0))  # its row may stay
        self.add_one(source, m, **{name: FIRST})
        refuses(FullCellError, self.add_one, source, m, **{name: FIRST})
        setattr(m.data, name, getattr(m.data, name).copy())


class OccupantRules(ManagerStateMachine):
    """Rows move from cell to cell within the capacity; rows of dead entities are on no cell."""

    @property
    def place(self) -> str:
        """The field that says on which cell a row stands."""
        (field,) = self.subject.places
        return field.name

    def cell(self, number: int) -> int:
        """Return one of the first cells, or 0."""
        return FIRST + (number - 1) % len(self.manager._grid) if number else 0

    def is_somewhere(self, row: int) -> bool:
        """Return whether it matters where a row stands."""
        return self.at(row).owner not in getattr(self, "dead", ())

    def on(self, cell: int) -> list[int]:
        """Return the rows that stand on a cell."""
        rows = [row for row in self.used() if self.at(row).values[self.place] == cell]
        return [row for row in rows if self.is_somewhere(row)]

    def is_full(self, count: int) -> bool:
        """Return whether so many are more than may stand on a cell."""
        most: int = self.manager.data.CELL_CAPACITY
        return 0 < most < count

    @precondition(lambda self: self.used())
    @rule(data=st.data(), number=st.integers(0, 5))
    def go(self, data: st.DataObject, number: int) -> None:
        row, cell = data.draw(st.sampled_from(self.used())), self.cell(number)
        write = getattr(self.manager, f"set_{self.place}")
        there = {*self.on(cell), row}
        if cell and self.is_somewhere(row) and self.is_full(len(there)):
            refuses(FullCellError, write, row, cell)
        else:
            write(row, cell)
            self.at(row).values[self.place] = cell

    @precondition(lambda self: self.used())
    @rule(data=st.data(), most=st.integers(0, 9))
    def all_go(self, data: st.DataObject, most: int) -> None:
        numbers = data.draw(st.integers(0, 9))
        cells = [self.cell((numbers + k) % (most + 1)) for k in range(len(self.table))]
        used = self.used()
        there = Counter(cells[row] for row in used if self.is_somewhere(row))
        del there[0]
        if self.is_full(max(there.values(), default=0)):
            refuses(FullCellError, setattr, self.manager.data, self.place, cells)
        else:
            setattr(self.manager.data, self.place, cells)
            for row in used:
                self.at(row).values[self.place] = cells[row]

    @invariant()
    def occupants_agree(self) -> None:
        used = self.used()
        column = getattr(self.manager.data, self.place)
        stands = [self.at(row).values[self.place] for row in used]
        assert column[used].tolist() == stands
        for cell in {self.cell(1), self.cell(3)}:
            assert self.manager.near([cell], 0).rows.tolist() == self.on(cell)
