"""Tables that the world records: their classes, and the methods that write lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.config import Backend
from ecsgen.kernels.statements import LoweredKernel
from ecsgen.model import BaseType, Component, Reduction, Table, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, SCALARS, Type
from ecsgen.render.blocks.array_values import Constants
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.blocks.block_iteration import BlockIteration, working_cells
from ecsgen.render.blocks.block_method import block_loop
from ecsgen.render.kernel_methods.kernel_oracle import ReductionCheck
from ecsgen.render.kernel_methods.row_sources import (
    ChunkSource,
    RowSource,
    field_of,
    make_world_source,
)
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter, array_type
from ecsgen.render.loops.kernel_function import function_text
from ecsgen.render.loops.loop_body import LoopBody
from ecsgen.render.loops.scalar_code import (
    Code,
    Precedence,
    extremes,
    infix,
    number,
    spelled,
    wrap_to_type,
)
from ecsgen.render.text.formatting import call, collection, mapping, method_lines, statement
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import literal
from ecsgen.schema.names import module_name

WHERE: Final = "where"
"""Stands for how a table with a line for each row chooses these."""
_MOST_RETURNED: Final = 30
"""Values that a compiled function can return: Python makes longer tuples of lists, of which numba
makes none."""


@dataclass(frozen=True, slots=True)
class ColumnReduction:
    """A value of all rows: what is made of them, as a variable of the method has it."""

    function: str
    value: tree.Expression
    where: tree.Expression | None
    variable: str
    n: str = ""
    """Another one for how many rows match, if that is wanted as well."""

    @property
    def variables(self) -> list[str]:
        """Both of them."""
        return [self.variable, self.n] if self.n else [self.variable]

    @property
    def nodes(self) -> list[tree.Expression]:
        """The condition, if there is one, and the value."""
        return [self.value] if self.where is None else [self.where, self.value]

    @property
    def scalar(self) -> str:
        """The type of one row's value."""
        return self.value.type.scalar


class TableCode:
    """A table as its template lays it out."""

    def __init__(
        self, table: Table, world: World, known: Mapping[str, Component], backend: Backend
    ) -> None:
        self.name = table.name
        self.bare_name = _member(table.name)
        stem = re.sub("(?:^|_)([a-z])", lambda found: found[1].upper(), table.name)
        self.kind = f"_{stem}Table"
        self._table = table
        self._world = world
        self._known = known
        self._backend = backend
        self.functions: list[str] = []
        self.constants: list[str] = []
        self.writes = "a line for each row" if table.rows else "a line"
        self.lines = self._row_lines() if table.rows else self._column_lines()

    # --- the class -------------------------------------------------------------------------------

    @property
    def columns(self) -> list[tuple[str, str]]:
        """All columns, and the annotations of their arrays."""
        return [(_member(name), array_type(scalar)) for name, scalar in self._scalars]

    @property
    def dtypes(self) -> str:
        """The statement that has the dtype of each."""
        codes = {name: literal(SCALARS[scalar].code) for name, scalar in self._scalars}
        return mapping("_COLUMNS: ClassVar = ", codes, 4)

    @property
    def enums(self) -> str:
        """The statement that has the enums of columns; nothing without such."""
        found = {
            one.name: add_placeholder(one.type.target)
            for one in self._table.fields
            if one.type.base is BaseType.ENUM
        }
        return mapping("_ENUMS: ClassVar = ", found, 4) if found else ""

    @property
    def _scalars(self) -> Iterator[tuple[str, str]]:
        yield "tick", "i64"
        if self._table.rows:
            component = self._known.get(self._table.rows)
            is_nobodys = component is not None and component.owner == "none"
            yield "id" if is_nobodys else "entity", "u64"
        for field in self._table.fields:
            yield field.name, field.type.scalar
        for column in self._table.columns:
            yield column.name, column.scalar

    @property
    def cases(self) -> list[RecordCase]:
        """What generated tests compare: all but what grids and chunks have, and the time."""
        table = self._table
        if table.rows:
            value = table.program.where or tree.Constant(BOOL, True)
            lines = Reduction(
                "", "count", "", over=table.rows, program=tree.ReductionProgram(value)
            )
            found = [RecordCase(table, lines, self._world)]
        else:
            found = [RecordCase(table, column, self._world) for column in table.columns]
        return [case for case in found if case.can_be_told(self._known)]

    # --- whose rows ------------------------------------------------------------------------------

    def _source(self, over: str) -> RowSource | ChunkSource:
        return make_world_source(self._world, over, self._known)

    def _rows(self, over: str, source: RowSource | ChunkSource) -> list[str]:
        head = f"{self._rows_name(over)} ="
        if isinstance(source, ChunkSource):
            return [f"{head} leading_rows(len({source.query}))"]
        if source.member_indices is not None:
            active = [
                f"({source.member_indices[name]}, self.{one.module}.data._n_active)"
                for name, one in source.components.items()
                if one.partition
            ]
            return statement(f"{head} matching_rows", [source.rows_expression, *active])
        names = [*source.components]
        first = source.components[names[0]]
        if first.owner == "none":
            return [f"{head} leading_rows({source.rows_expression})"]
        clean = [source.managers.no_dead_test(name) for name in names]
        given = [source.managers.manager(names[0]), source.rows_expression]
        given += [clean[0]] if all(clean) and first.lookup != "direct" else []
        return statement(f"{head} self._living_rows", given)

    def _place(self, source: RowSource | ChunkSource, owner: str) -> int:
        """Which of the rows' members a component is."""
        return (
            0
            if isinstance(source, ChunkSource) or source.member_indices is None
            else source.member_indices[owner]
        )

    def _chunk_cells(
        self, source: ChunkSource, field: tree.FieldValue, part: int | None = None
    ) -> str:
        """The expression for a column of chunks, of a split field for one part or all."""
        component, first = source.place(field)
        planes, found = [], field_of(source.components[field.owner], field.name)
        if found.split and part is None:
            planes = [literal(field.type.shape)]
        given = [*map(str, (component, first + (part or 0))), *planes]
        dtype, flat = literal(SCALARS[field.type.scalar].code), "" if part is None else "flat_"
        return f"{flat}chunk_cells({source.query}, ChunkField({', '.join(given)}), {dtype})"

    # --- a line of columns -----------------------------------------------------------------------

    def _column_lines(self) -> list[str]:
        by_source: dict[str, list[ColumnReduction]] = {over: [] for over in self._table.over}
        values = []
        for place, column in enumerate(self._table.columns):
            if _is_whole(column):
                values.append(f"{self._rows_name(column.over)}.n")
                continue
            name, one = f"_value{place}", column.program
            n = ""
            values.append(f"{column.function}_of({name})" if column.is_of_all else name)
            if column.function in ("mean", "min", "max"):
                n = f"{name}_n" if one.where is not None else ""
                made = "mean_of" if column.function == "mean" else "extreme_of"
                values[-1] = f"{made}({name}, {n or f'{self._rows_name(column.over)}.n'})"
            by_source[column.over].append(
                ColumnReduction(column.function, one.value, one.where, name, n)
            )
        lines = []
        for over, some in by_source.items():
            source = self._source(over)
            lines += self._rows(over, source)
            if some:
                lines += self._pass(over, source, some)
        return [*lines, *statement("self._write_line", [literal(self.name), *values])]

    def _rows_name(self, over: str) -> str:
        place = self._table.over.index(over)
        return f"_rows{place or ''}"

    def _pass(
        self, over: str, source: RowSource | ChunkSource, wanted: list[ColumnReduction]
    ) -> list[str]:
        """The statements that go through rows once, for all columns of them."""
        if self._backend == "numpy":
            return self._blocks(over, source, wanted)
        parts: list[list[ColumnReduction]] = [[]]
        for one in wanted:
            if sum(len(each.variables) for each in (*parts[-1], one)) > _MOST_RETURNED:
                parts.append([])
            parts[-1].append(one)
        return [line for part in parts for line in self._loop(over, source, part)]

    # --- a line for each row ---------------------------------------------------------------------

    def _row_lines(self) -> list[str]:
        over = self._table.rows
        source, rows = self._source(over), self._rows_name(over)
        lines = self._rows(over, source)
        where, chosen = self._table.program.where, "None"
        if where is not None:
            chosen = "_where"
            lines += self._pass(over, source, [ColumnReduction(WHERE, where, None, chosen)])
        columns = [self._bearer(source)]
        columns += [
            self._recorded(source, tree.FieldValue(Type(one.type.scalar), one.name, one.owner))
            for one in self._table.fields
        ]
        given = [literal(self.name), rows, chosen, *columns]
        return [*lines, *statement("self._write_lines", given)]

    def _recorded(self, source: RowSource | ChunkSource, field: tree.FieldValue) -> str:
        """The pair of a field's cells and of the place of its rows."""
        if isinstance(source, ChunkSource):
            cells = self._chunk_cells(source, field)
        else:
            cells = f"{source.managers.data(field.owner)}._{field.name}_column"
        return f"({cells}, {self._place(source, field.owner)})"

    def _bearer(self, source: RowSource | ChunkSource) -> str:
        """The same of entities, or ids."""
        if not isinstance(source, ChunkSource) and not source.components:
            owners = f"self.{self._table.rows}._join._owners({source.rows_expression})"
            return f"({owners}, -1)"  # a query that requires no component
        name, one = next(iter(source.components.items()))
        if isinstance(source, RowSource) and one.owner == "none" and one.grid is None:
            data = source.managers.data(name)
            slots = f"{data}._id_slot_column[: {source.rows_expression}]"
            return f"(ids_of({slots}, {data}._id_generation_column), 0)"
        kept = tree.ENTITY if one.grid is None else tree.CELL_ID
        return self._recorded(source, tree.FieldValue(Type("u64"), kept, name))

    # --- numpy: blocks of rows -------------------------------------------------------------------

    def _blocks(
        self, over: str, source: RowSource | ChunkSource, wanted: Sequence[ColumnReduction]
    ) -> list[str]:
        rows = self._rows_name(over)
        body = BlockBody(source, is_quiet=True, taken=["_tick", "_n"])
        body.add(LoweredKernel(tree.Program(), (), None, ()), {"tick": "_tick"})
        emit = body.emit
        body.constants = emit.constants = Constants("_recorded")  # beside those of kernels
        lines = []
        if any(_timed(node) != node for one in wanted for node in one.nodes):
            lines.append("_tick = np.int64(self.tick)")
        for one in wanted:
            fold = f"{one.variable}_fold"
            lines.append(f"{fold} = {_folding(one, rows)}")
            given = [emit.value(_timed(node)) for node in one.nodes][::-1]
            emit.run(f"{fold}.add", "_n", *(value.text for value in given))
            emit.after.append(f"{one.variable} = {fold}.result")
            if one.n:
                lines.append(f"{one.n}_fold = CountReduction()")
                emit.run(f"{one.n}_fold.add", "_n", given[1].text)
                emit.after.append(f"{one.n} = {one.n}_fold.result")
            emit.working.release(*given)
        columns = [self._block_column(body, source, field, rows) for field in body.fields]
        cells, working = (f"_{name}{rows.removeprefix('_rows')}" for name in ("columns", "working"))
        lines += method_lines(collection(f"{cells} = ", columns, 8))
        lines += method_lines(collection(f"{working} = ", working_cells(emit.working), 8))
        blocks = f"table_blocks({rows}.n, {cells}, {working})"
        names = ["_n", *(v.text for v in body.values), *(s.text for s in emit.working.slots)]
        loop = block_loop(BlockIteration([], blocks, names), body)
        self.constants += body.constants.lines
        return [*lines, *(line.removeprefix("    ") for line in loop.split("\n"))]

    def _block_column(
        self, body: BlockBody, source: RowSource | ChunkSource, field: tree.FieldValue, rows: str
    ) -> str:
        if isinstance(source, ChunkSource):
            return f"BlockColumn({self._chunk_cells(source, field)})"
        place = self._place(source, field.owner)
        return f"BlockColumn({body.views.column(field)}, {rows}.members[{place}])"

    # --- numba: loops over rows ------------------------------------------------------------------

    def _loop(
        self, over: str, source: RowSource | ChunkSource, wanted: Sequence[ColumnReduction]
    ) -> list[str]:
        rows = self._rows_name(over)
        if isinstance(source, ChunkSource):
            loop_source = RowSource(
                source.components, source.managers, source.combined_component, "", ""
            )
        else:
            loop_source = source
        loop = TableLoop(f"_{self.name}_table_{len(self.functions) + 1}", loop_source, wanted)
        self.functions.append(loop.text)
        passed = [f"{rows}.n"]
        for one in loop.own:
            assert one.field is not None
            if isinstance(source, ChunkSource):
                passed.append(self._chunk_cells(source, one.field, one.part))
                continue
            members = f"{rows}.members[{self._place(source, one.field.owner)}]"
            size = [str(one.elements)] if one.elements > 1 else []
            passed.append(f"recorded_cells({', '.join([one.passed, members, *size])})")
        passed += [one.passed for one in loop.others]
        variables = [name for one in wanted for name in one.variables]
        head = f"{', '.join(variables)} =" if variables[1:] else f"({variables[0]},) ="
        return statement(f"{head} {loop.name}", passed)


class RecordCase:
    """A column, or lines of rows, as tests know it."""

    def __init__(self, table: Table, column: Reduction, world: World) -> None:
        self.key = f"({literal(table.name)}, {literal(column.name)})"
        self.function = f"{table.name}__{column.name}_of_one"
        self._table = table
        self._column = column
        self._members = world.members_of(column.over)

    def can_be_told(self, known: Mapping[str, Component]) -> bool:
        """Whether tests can make up rows for it."""
        program = self._column.program
        times = (one for one in (program.value, program.where) if one is not None)
        parts = [known[name] for name in self._members]
        is_plain = all(not one.chunk and one.grid is None and one.on is None for one in parts)
        return is_plain and bool(parts) and all(_timed(one) == one for one in times)

    @property
    def oracle(self) -> str:
        """The function of one row."""
        name = self.function.removesuffix("_of_one")
        return ReductionCheck(replace(self._column, name=name)).function

    @property
    def told(self) -> str:
        """The item of the dict of all."""
        modules = [f"{literal(n)}: {literal(module_name(n))}" for n in self._members]
        over, column = module_name(self._column.over), self._column
        given = [literal(over), f"{{{', '.join(modules)}}}", self.function]
        if column.name:
            given.append(f"how={literal(column.function)}")
        else:
            fields = [literal(f"{one.owner}.{one.name}") for one in self._table.fields]
            given.append(f"fields=[{', '.join(fields)}]")
        return call(f"{self.key}: world_kernels.Told", given, 8, ",")


class TableLoop:
    """A compiled function that goes through rows block by block, once for all columns."""

    def __init__(self, name: str, source: RowSource, wanted: Sequence[ColumnReduction]) -> None:
        self.name = name
        nodes = [node for one in wanted for node in one.nodes]
        steps = tuple(tree.Step(tree.Local(node.type, "value"), node) for node in nodes)
        self._frame = frame = FunctionBuilder(name, tree.Program(steps=steps), None, source)
        frame.names.taken.discard("value")
        take = frame.names.reserve
        self._start, self._size = take("start"), take("size")
        self._setup: list[str] = []
        self._loops: list[str] = []
        self._returned: list[tuple[str, str]] = []
        """The expressions for what is returned, and their annotations."""
        for one in wanted:
            self._add(one)
        n, start = frame.count, self._start
        own = [
            (one, replace(one, name=take(f"all_{one.name}"))) for one in frame.row_columns.values()
        ]
        cut = [
            f"{one.name} = {whole.between(start, f'{start} + {self._size}')}" for one, whole in own
        ]
        body = [
            *frame.setup,
            *self._setup,
            f"for {start} in range(0, {n}, LANES):",
            f"    {self._size} = min(LANES, {n} - {start})",
            *(f"    {line}" for line in [*cut, *self._loops]),
        ]
        returned = [text for text, _ in self._returned]
        end = f"({returned[0]},)" if len(returned) == 1 else ", ".join(returned)
        body.append(f"return {end}")
        kinds = ", ".join(kind for _, kind in self._returned)
        self.own = [whole for _, whole in own]
        """The parameters that are columns."""
        self.others = [*frame.other_parameters.values()]
        parameters = [Parameter(n, "int", ""), *self.own, *self.others]
        said = "Go through the rows once, and return what is made of their values."
        self.text = function_text(name, parameters, said, body, returns=f"tuple[{kinds}]")

    def _add(self, one: ColumnReduction) -> None:
        """Add the loop of a column, what stands before all loops, and what it returns."""
        frame = self._frame
        rows = dict.fromkeys(frame.source.components, frame.row)
        body = LoopBody(frame, rows, {})
        where = None if one.where is None else body.value(one.where).at(0)
        value = wrap_to_type(body.value(one.value).at(0), one.scalar)
        after: list[str] = []
        match one.function:
            case "count":
                test = value if where is None else infix("and", Precedence.AND, where, value)
                self._count(body, test)
            case "where":
                kept = self._before("kept", f"np.empty({frame.count}, np.bool_)")
                body.write(f"{kept}[{self._start} + {frame.row}] = {value.text}")
                self._returned.append((kept, "NDArray[np.bool_]"))
            case "sum" if not one.value.type.is_float:
                total = self._before("total", "np.uint64(0)")
                given = _chosen(f"np.uint64({value.text})", where, "np.uint64(0)")
                body.write(f"{total} += {given}")
                whole = total if one.value.type.total == "u64" else f"np.int64({total})"
                self._returned.append((f"int({whole})", "int"))
            case "sum" | "mean":
                after = self._add_lanes(body, value, where)
            case "min" | "max":
                self._choose(body, one, value, where)
            case _:
                self._keep(body, value, where)
        if one.n and where is not None:
            self._count(body, where)
        self._setup += body.arrays
        self._loops.append(f"for {frame.row} in range({self._size}):")
        self._loops += [*(f"    {line}" for line in body.statements), *after]

    def _before(self, name: str, made: str) -> str:
        name = self._frame.names.reserve(name)
        self._setup.append(f"{name} = {made}")
        return name

    def _count(self, body: LoopBody, test: Code) -> None:
        found = self._before("found", "0")
        body.write(f"if {test.text}:", f"    {found} += 1")
        self._returned.append((found, "int"))

    def _add_lanes(self, body: LoopBody, value: Code, where: Code | None) -> list[str]:
        """Floats in lanes, as numpy's blocks add them; returns what follows each block."""
        zeros = f"np.zeros(min({self._frame.count}, LANES), np.float64)"
        lanes, whole = self._before("lanes", zeros), self._before("whole", zeros)
        given = _chosen(f"np.float64({value.text})", where, "0.0")
        body.write(f"{lanes}[{self._frame.row}] += {given}")
        self._returned.append((f"lane_sum({lanes}, {whole})", "float"))
        return [f"carried({lanes}, {whole}, {self._start})"]

    def _choose(
        self, body: LoopBody, one: ColumnReduction, value: Code, where: Code | None
    ) -> None:
        """The least or the greatest in each lane, and of these at last."""
        lane, is_least = self._frame.row, one.function == "min"
        none = number(extremes(one.scalar)[is_least], one.scalar).text
        dtype = SCALARS[one.scalar].numpy
        best = self._before("best", f"np.full(min({self._frame.count}, LANES), {none}, {dtype})")
        choose = "minimum" if is_least else "maximum"
        body.write(f"{best}[{lane}] = {choose}({best}[{lane}], {_chosen(value.text, where, none)})")
        fold = "least_of" if is_least else "greatest_of"
        result = f"np.float64({fold}({best}, len({best})))"
        self._returned.append((f"{result} if {self._frame.count} > 0 else np.nan", "float"))

    def _keep(self, body: LoopBody, value: Code, where: Code | None) -> None:
        """All values, for what needs them at once."""
        kept = self._before("kept", f"np.empty({self._frame.count}, np.float64)")
        end = self._before("matching", "0")
        lines = [f"{kept}[{end}] = {value.text}", f"{end} += 1"]
        if where is not None:
            lines = [f"if {where.text}:", *(f"    {line}" for line in lines)]
        body.write(*lines)
        self._returned.append((f"{kept}[:{end}]", "NDArray[np.float64]"))


def _member(name: str) -> str:
    """A name as that of a property: parameters are called `self` and `n` in spite of it."""
    return name if name in ("self", "n") else add_placeholder(name)


def _chosen(value: str, where: Code | None, without: str) -> str:
    """The expression for a value where a row matches."""
    return value if where is None else f"{value} if {where.within(Precedence.OR)} else {without}"


def _is_whole(column: Reduction) -> bool:
    """Whether it counts all rows."""
    is_true = column.program.value == tree.Constant(BOOL, True)
    return column.function == "count" and is_true and column.program.where is None


def _timed(node: tree.Expression) -> tree.Expression:
    """The same with the time as an argument, which blocks know."""
    return tree.transform(
        node, lambda one: tree.Argument(one.type, "tick") if isinstance(one, tree.Tick) else one
    )


def _folding(one: ColumnReduction, rows: str) -> str:
    """The expression for what takes the values of blocks."""
    match one.function:
        case "count":
            return "CountReduction()"
        case "where":
            return f"ValuesReduction({rows}.n, np.bool_)"
        case "sum" if not one.value.type.is_float:
            return f"IntegerSumReduction({SCALARS[one.value.type.total].numpy})"
        case "sum" | "mean":
            return "FloatSumReduction()"
        case "min" | "max":
            without = spelled(extremes(one.scalar)[one.function == "min"])
            return (
                f"ExtremeReduction(np.{one.function}imum, {SCALARS[one.scalar].numpy}({without}))"
            )
    return f"ValuesReduction({rows}.n)"
