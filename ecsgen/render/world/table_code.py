"""Code of tables that the world records: classes, and methods that write lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ecsgen.config import Backend
from ecsgen.model import Component, Table, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernel_methods.arguments import make_read_codes
from ecsgen.render.kernel_methods.row_sources import ChunkSource, RowSource, make_world_source
from ecsgen.render.loops.function_builder import array_type
from ecsgen.render.row_reductions import (
    EACH,
    ColumnReduction,
    RowReducer,
    chunk_cells,
    counts_all_rows,
    member_index,
    of_reduction,
)
from ecsgen.render.text.formatting import mapping, statement
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import literal

_TIMES: Final = {"M": "NDArray[np.datetime64]", "m": "NDArray[np.timedelta64]"}
"""Annotations of columns of times, by numpy's kind."""


class TableCode:
    """Code of a table, for its template."""

    def __init__(
        self, table: Table, world: World, known: Mapping[str, Component], backend: Backend
    ) -> None:
        self.name = table.name
        self.bare_name = _member(table.name)
        prefix = re.sub("(?:^|_)([a-z])", lambda match: match[1].upper(), table.name)
        self.kind = f"_{prefix}Table"
        self._table = table
        self._world = world
        self._known = known
        inputs = make_read_codes(table, lambda name: f"self.{known[name].module}")
        self._reducer = RowReducer(f"{table.name}_table", backend, inputs)
        self.functions, self.constants = self._reducer.functions, self._reducer.constants
        self.writes = "a line for each row" if table.rows else "a line"
        lines = self._row_lines() if table.rows else self._column_lines()
        self.lines = [*(code.definition(backend) for code in inputs), *lines]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """All columns, and the annotations of their arrays."""
        return [
            (_member(name), array_type(scalar) if scalar in SCALARS else _TIMES[scalar[0]])
            for name, scalar in self._scalars
        ]

    @property
    def dtypes(self) -> str:
        """Statement with the dtypes of columns."""
        codes = {
            name: literal(SCALARS[scalar].code if scalar in SCALARS else scalar)
            for name, scalar in self._scalars
        }
        return mapping("_COLUMNS: ClassVar = ", codes, 4)

    @property
    def enums(self) -> str:
        """Statement with the enums of columns; "" if there are none."""
        enums = {
            field.name: add_placeholder(field.type.enum)
            for field in self._table.fields
            if field.type.enum
        }
        return mapping("_ENUMS: ClassVar = ", enums, 4) if enums else ""

    @property
    def _scalars(self) -> Iterator[tuple[str, str]]:
        yield "tick", "i64"
        if self._table.rows:
            component = self._known.get(self._table.rows)
            is_unowned = component is not None and component.owner == "none"
            yield "id" if is_unowned else "entity", "u64"
        for field in self._table.fields:
            yield field.name, field.type.column_scalar
        for column in self._table.columns:
            yield column.name, column.scalar

    def _source(self, over: str) -> RowSource | ChunkSource:
        return make_world_source(self._world, over, self._known)

    def _rows(self, over: str, source: RowSource | ChunkSource) -> list[str]:
        head = f"{self._rows_name(over)} ="
        if isinstance(source, ChunkSource):
            return [f"{head} leading_rows(len({source.query}))"]
        if source.member_indices is not None:
            active = [
                f"({source.member_indices[name]}, self.{component.module}.data._n_active)"
                for name, component in source.components.items()
                if component.partition
            ]
            return statement(f"{head} matching_rows", [source.rows_expression, *active])
        names = [*source.components]
        first = source.components[names[0]]
        if first.owner == "none":
            return [f"{head} leading_rows({source.rows_expression})"]
        clean = [source.managers.no_dead_test(name) for name in names]
        arguments = [source.managers.manager(names[0]), source.rows_expression]
        arguments += [clean[0]] if all(clean) and first.lookup != "direct" else []
        return statement(f"{head} self._living_rows", arguments)

    def _column_lines(self) -> list[str]:
        by_source: dict[str, list[ColumnReduction]] = {over: [] for over in self._table.over}
        values = []
        for number_, column in enumerate(self._table.columns):
            rows = self._rows_name(column.over)
            if counts_all_rows(column):
                values.append(f"{rows}.n")
                continue
            reduction, value = of_reduction(column, f"_value{number_}", rows)
            by_source[column.over].append(reduction)
            values.append(value)
        lines = []
        for over, reductions in by_source.items():
            source = self._source(over)
            lines += self._rows(over, source)
            if reductions:
                lines += self._reducer.lines(self._rows_name(over), source, reductions)
        return [*lines, *statement("self._write_line", [literal(self.name), *values])]

    def _rows_name(self, over: str) -> str:
        number = self._table.over.index(over)
        return f"_rows{number or ''}"

    def _row_lines(self) -> list[str]:
        over = self._table.rows
        source, rows = self._source(over), self._rows_name(over)
        lines = self._rows(over, source)
        where, chosen = self._table.program.where, "None"
        values, columns = list[ColumnReduction](), [self._identity(source)]
        if where is not None:
            chosen = "_where"
            values.append(ColumnReduction(EACH, where, None, chosen))
        for field in self._table.fields:
            if isinstance(field.value, tree.FieldValue):
                columns.append(self._recorded(source, field.value))
                continue
            variable = f"_value{len(values)}"
            values.append(ColumnReduction(EACH, field.value, None, variable))
            columns.append(f"({variable}, None)")
        if values:
            lines += self._reducer.lines(self._rows_name(over), source, values)
        arguments = [literal(self.name), rows, chosen, *columns]
        return [*lines, *statement("self._write_lines", arguments)]

    def _recorded(self, source: RowSource | ChunkSource, field: tree.FieldValue) -> str:
        """Return the pair of a field's cells and of the index of its rows among members."""
        if isinstance(source, ChunkSource):
            cells = chunk_cells(source, field)
        else:
            cells = f"{source.managers.data(field.owner)}._{field.name}_column"
        return f"({cells}, {member_index(source, field.owner)})"

    def _identity(self, source: RowSource | ChunkSource) -> str:
        """Return the pair of entities or ids, and of the index of their rows."""
        if not isinstance(source, ChunkSource) and not source.components:
            owners = f"self.{self._table.rows}._join._owners({source.rows_expression})"
            return f"({owners}, -1)"  # a query that requires no component
        name, component = next(iter(source.components.items()))
        if isinstance(source, RowSource) and component.owner == "none" and component.grid is None:
            data = source.managers.data(name)
            slots = f"{data}._id_slot_column[: {source.rows_expression}]"
            return f"(ids_of({slots}, {data}._id_generation_column), 0)"
        column = tree.ENTITY if component.grid is None else tree.CELL_ID
        return self._recorded(source, tree.FieldValue(Type("u64"), column, name))


def _member(name: str) -> str:
    """Return a property's name: `self` and `n` do not shadow parameters."""
    return name if name in ("self", "n") else add_placeholder(name)
