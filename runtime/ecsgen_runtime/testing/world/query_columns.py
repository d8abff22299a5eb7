"""Columns of queries: what is read is a copy, what is assigned is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ...handles import NIL
from ..fields import Field, Float, Int
from .query_base import Queried, as_if_large


class ColumnCases(Queried):
    """The columns of a world's queries, in every order of rows."""

    def test_columns_are_those_of_the_rows(self) -> None:
        for name, _, w in self.populated():
            self.check_columns(w, name)
            self.shuffle(w)
            self.check_columns(w, name)

    def test_columns_of_many_rows(self) -> None:
        with as_if_large():
            self.test_columns_are_those_of_the_rows()

    @pytest.mark.parametrize(
        "order", [[3, 4, 5, 0, 1, 2], [5, 3, 4, 0, 2, 1], [5, 4, 3, 2, 1, 0]]
    )
    def test_columns_of_all_rows(self, order: list[int]) -> None:
        """No row between those of the query, but not all in the order of another component."""
        for name, clauses in self.queries.items():
            w = self.with_all(clauses)
            for module in clauses["all"][1:]:
                self.reorder(getattr(w, module), order)
            with as_if_large():
                self.check(w)
                self.check_columns(w, name)

    def test_columns_of_rows_among_others(self) -> None:
        """Others' rows between those of the query, and backwards in all components but one."""
        for name, clauses in self.queries.items():
            w = self.with_all(clauses)
            for module in clauses["all"]:
                self.spawn_six(w, [module])
            for module in clauses["all"][1:]:
                order = [6, 5, 7, 4, 8, 3, 9, 2, 10, 1, 11, 0]
                self.reorder(getattr(w, module), order)
            with as_if_large():
                self.check(w)
                self.check_columns(w, name)

    def check_columns(self, w: Any, name: str) -> None:
        """Read and write all columns of a query."""
        query = getattr(w, name)
        for module in self.queries[name]["all"]:
            rows = getattr(query.rows(), module)
            data = getattr(w, module).data
            for field in self.subjects[module].whole:
                wanted = getattr(data, field.name).copy()
                cells = getattr(getattr(query, module), field.name)
                assert same_cells(cells, wanted[rows])
                assert not cells.flags.writeable
                setattr(getattr(query, module), field.name, cells[::-1])
                assert same_cells(cells, wanted[rows])
                wanted[rows] = cells[::-1]
                assert same_cells(getattr(data, field.name), wanted)

    def test_code_reads_copies_and_writes_by_operators(self) -> None:
        """Code, whose instructions tell who reads: `getattr` cannot show that."""
        for name, clauses in self.queries.items():
            for order in (self.keep, self.shuffle):
                w = self.with_all(clauses)
                order(w)
                for module in clauses["all"]:
                    for field in self.subjects[module].whole:
                        self.read_and_write(w, name, module, field)

    def read_and_write(self, w: Any, name: str, module: str, field: Field) -> None:
        """Read a column, let an operator write it if it holds numbers, and read it again."""
        column = f"query.{module}.{field.name}"
        scope = {"query": getattr(w, name), "np": np}
        before = eval(column, scope)
        kept = before.copy()
        assert type(before) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            exec(f"{column}[...] = 0", scope)
        with pytest.raises(ValueError, match="read-only"):
            exec(f"alone = {column}\nalone *= 0", scope)
        assert same_cells(eval(column, scope), before)
        data = getattr(w, module).data
        if isinstance(field, Float | Int) and field.name not in unique_fields(data):
            read = getattr(getattr(scope["query"], module), field.name)
            assert not read.__imul__(0).any()
            assert same_cells(read, before)
            exec(f"{column} *= 0", scope)
            rows = getattr(getattr(w, name).rows(), module)
            assert not getattr(data, field.name)[rows].any()
            assert not eval(column, scope).any()
        assert same_cells(before, kept)

    def test_one_absent_component(self) -> None:
        for name, clauses in self.queries.items():
            w = self.world()
            w.spawn(1, **{module: {} for module in (*clauses["all"], *clauses["any"])})
            for module in {*clauses["optional"]} - {*clauses["any"]}:
                assert getattr(getattr(w, name).rows(), module).tolist() == [NIL]
                columns = getattr(getattr(w, name), module)
                for field in self.subjects[module].whole:
                    assert len(getattr(columns, field.name)) == 1

    def test_absent_components_are_skipped(self) -> None:
        for name, clauses, w in self.populated():
            for module in clauses["optional"]:
                rows = getattr(getattr(w, name).rows(), module)
                absent = rows == NIL
                assert absent.any()
                columns = getattr(getattr(w, name), module)
                data = getattr(w, module).data
                for field in self.subjects[module].whole:
                    cells = getattr(columns, field.name)
                    assert same_cells(
                        cells[~absent], getattr(data, field.name)[rows[~absent]]
                    )
                    assert len({repr(cell) for cell in cells[absent].tolist()}) == 1
                    setattr(columns, field.name, cells)
                    assert same_cells(getattr(columns, field.name), cells)


def unique_fields(data: Any) -> Iterable[str]:
    """Return the names of the fields of which no two rows have the same value."""
    found: Iterable[str] = getattr(data, "UNIQUE", ())
    return found


def same_cells(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether cells are the same, bit for bit; objects themselves."""
    if found.dtype == np.object_:
        return [id(value) for value in found] == [id(value) for value in wanted]
    return found.shape == wanted.shape and found.tobytes() == wanted.tobytes()
