"""Reductions of rows' values to Python numbers: columns of tables, and values that kernels read. As
blocks or as a loop, which add in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.config import Backend
from ecsgen.kernels.statements import LoweredKernel
from ecsgen.model import Component, Reduction
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import BOOL, SCALARS
from ecsgen.render.blocks.array_values import Constants
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.blocks.block_iteration import BlockIteration, working_cells
from ecsgen.render.blocks.block_method import block_loop
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.kernel_methods.kernel_method import Printed, ReductionMethod
from ecsgen.render.kernel_methods.row_sources import ChunkSource, RowSource, field_of
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter
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
from ecsgen.render.text.formatting import collection, method_lines, statement
from ecsgen.render.text.quoting import literal

EACH: Final = "each"
"""Function of the reduction that keeps the value of each row, for a table with a line for each."""
_MOST_RETURNED: Final = 30
"""Number of values that a compiled function can return: numba cannot build longer tuples."""


@dataclass(frozen=True, slots=True)
class ColumnReduction:
    """A value of all rows, in a variable of the method."""

    function: str
    value: tree.Expression
    where: tree.Expression | None
    variable: str
    n: str = ""
    """Variable with the number of rows that match, if it is needed."""

    @property
    def variables(self) -> list[str]:
        """Variables that the reduction defines."""
        return [self.variable, self.n] if self.n else [self.variable]

    @property
    def nodes(self) -> list[tree.Expression]:
        """Condition, if there is one, and value."""
        return [self.value] if self.where is None else [self.where, self.value]

    @property
    def scalar(self) -> str:
        """Scalar type of one row's value."""
        return self.value.type.scalar


class RowReducer:
    """Code that reads the rows of sources once, and reduces their values to variables."""

    def __init__(self, label: str, backend: Backend, inputs: Iterable[ArgumentCode] = ()) -> None:
        """`label`: begins the names of functions; `inputs`: values that are the same for all
        rows."""
        self._label = label
        self._backend = backend
        self._inputs = [*inputs]
        self.functions: list[str] = []
        self.constants: list[str] = []

    def lines(
        self, rows: str, source: RowSource | ChunkSource, wanted: list[ColumnReduction]
    ) -> list[str]:
        """Return the statements for reductions of some rows; `rows`: their variable."""
        if self._backend == "numpy":
            return self._blocks(rows, source, wanted)
        parts: list[list[ColumnReduction]] = [[]]
        for reduction in wanted:
            if sum(len(each.variables) for each in (*parts[-1], reduction)) > _MOST_RETURNED:
                parts.append([])
            parts[-1].append(reduction)
        return [line for part in parts for line in self._loop(rows, source, part)]

    def _blocks(
        self, rows: str, source: RowSource | ChunkSource, wanted: Sequence[ColumnReduction]
    ) -> list[str]:
        body = BlockBody(source, is_quiet=True, taken=["_tick", "_n"])
        values = {"tick": "_tick"} | {code.name: code.text for code in self._inputs}
        body.add(LoweredKernel(Program(), (), None, ()), values)
        emit = body.emit
        body.constants = emit.constants = Constants("_recorded")  # beside those of kernels
        lines = []
        nodes = tree.walk(*(node for reduction in wanted for node in reduction.nodes))
        if any(isinstance(node, tree.Tick) for node in nodes):
            lines.append("_tick = np.int64(self.tick)")
        for reduction in wanted:
            fold = f"{reduction.variable}_fold"
            lines.append(f"{fold} = {_block_reduction(reduction, rows)}")
            operands = [emit.value(_with_tick_argument(node)) for node in reduction.nodes][::-1]
            emit.run(f"{fold}.add", "_n", *(value.text for value in operands))
            emit.after.append(f"{reduction.variable} = {fold}.result")
            if reduction.n:
                lines.append(f"{reduction.n}_fold = CountReduction()")
                emit.run(f"{reduction.n}_fold.add", "_n", operands[1].text)
                emit.after.append(f"{reduction.n} = {reduction.n}_fold.result")
            emit.working.release(*operands)
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
            return f"BlockColumn({chunk_cells(source, field)})"
        member = member_index(source, field.owner)
        cells = body.views.column(field, is_kept=False)
        return f"BlockColumn({cells}, {rows}.members[{member}])"

    def _loop(
        self, rows: str, source: RowSource | ChunkSource, wanted: Sequence[ColumnReduction]
    ) -> list[str]:
        name = f"_{self._label}_{len(self.functions) + 1}"
        rows_of_one = source.of_one if isinstance(source, ChunkSource) else source
        loop = ReductionLoop(name, rows_of_one, wanted, self._inputs)
        self.functions.append(loop.text)
        passed = [f"{rows}.n"]
        for parameter in loop.own:
            assert parameter.field is not None
            if isinstance(source, ChunkSource):
                passed.append(chunk_cells(source, parameter.field, parameter.part))
                continue
            members = f"{rows}.members[{member_index(source, parameter.field.owner)}]"
            size = [str(parameter.elements)] if parameter.elements > 1 else []
            passed.append(f"recorded_cells({', '.join([parameter.passed, members, *size])})")
        passed += [parameter.passed for parameter in loop.others]
        variables = [name for parameter in wanted for name in parameter.variables]
        head = f"{', '.join(variables)} =" if variables[1:] else f"({variables[0]},) ="
        return statement(f"{head} {loop.name}", passed)


class ReductionLoop:
    """Compiled function that reads rows block by block, once for all columns."""

    def __init__(
        self,
        name: str,
        source: RowSource,
        wanted: Sequence[ColumnReduction],
        inputs: Sequence[ArgumentCode] = (),
    ) -> None:
        self.name = name
        nodes = [node for reduction in wanted for node in reduction.nodes]
        steps = tuple(tree.Step(tree.Local(node.type, "value"), node) for node in nodes)
        self._builder = builder = FunctionBuilder(name, Program(steps=steps), None, source)
        builder.add_inputs(inputs)
        builder.names.taken.discard("value")
        take = builder.names.reserve
        self._start, self._size = take("start"), take("size")
        self._setup: list[str] = []
        self._loops: list[str] = []
        self._returned: list[tuple[str, str]] = []
        """Returned expressions, and their annotations."""
        for reduction in wanted:
            self._add(reduction)
        n, start = builder.count, self._start
        columns = [
            (column, replace(column, name=take(f"all_{column.name}")))
            for column in builder.row_columns.values()
        ]
        slices = [
            f"{block.name} = {column.between(start, f'{start} + {self._size}')}"
            for block, column in columns
        ]
        body = [
            *builder.setup,
            *self._setup,
            f"for {start} in range(0, {n}, LANES):",
            f"    {self._size} = min(LANES, {n} - {start})",
            *(f"    {line}" for line in [*slices, *self._loops]),
        ]
        returned = [text for text, _ in self._returned]
        end = f"({returned[0]},)" if len(returned) == 1 else ", ".join(returned)
        body.append(f"return {end}")
        kinds = ", ".join(kind for _, kind in self._returned)
        self.own = [column for _, column in columns]
        """Parameters that are columns."""
        self.others = [*builder.common, *builder.other_parameters.values()]
        parameters = [Parameter(n, "int", ""), *self.own, *self.others]
        docstring = "Read the rows once, and return all reductions."
        self.text = function_text(name, parameters, docstring, body, returns=f"tuple[{kinds}]")

    def _add(self, reduction: ColumnReduction) -> None:
        """Add the loop of a reduction, its set-up and its returned value."""
        builder = self._builder
        rows = dict.fromkeys(builder.source.components, builder.row)
        body = LoopBody(builder, rows, {})
        where = None if reduction.where is None else body.value(reduction.where).at(0)
        value = wrap_to_type(body.value(reduction.value).at(0), reduction.scalar)
        after: list[str] = []
        match reduction.function:
            case "count":
                test = value if where is None else infix("and", Precedence.AND, where, value)
                self._add_count(body, test)
            case "each":
                dtype = SCALARS[reduction.scalar].numpy
                values = self._set_up("kept", f"np.empty({builder.count}, {dtype})")
                body.write(f"{values}[{self._start} + {builder.row}] = {value.text}")
                self._returned.append((values, f"NDArray[{dtype}]"))
            case "sum" if not reduction.value.type.is_float:
                total = self._set_up("total", "np.uint64(0)")
                summand = _if_matching(f"np.uint64({value.text})", where, "np.uint64(0)")
                body.write(f"{total} += {summand}")
                signed = total if reduction.value.type.total == "u64" else f"np.int64({total})"
                self._returned.append((f"int({signed})", "int"))
            case "sum" | "mean":
                after = self._add_lanes(body, value, where)
            case "min" | "max":
                self._add_extreme(body, reduction, value, where)
            case _:
                self._collect(body, value, where)
        if reduction.n and where is not None:
            self._add_count(body, where)
        self._setup += body.arrays
        self._loops.append(f"for {builder.row} in range({self._size}):")
        self._loops += [*(f"    {line}" for line in body.statements), *after]

    def _set_up(self, name: str, expression: str) -> str:
        name = self._builder.names.reserve(name)
        self._setup.append(f"{name} = {expression}")
        return name

    def _add_count(self, body: LoopBody, test: Code) -> None:
        count = self._set_up("found", "0")
        body.write(f"if {test.text}:", f"    {count} += 1")
        self._returned.append((count, "int"))

    def _add_lanes(self, body: LoopBody, value: Code, where: Code | None) -> list[str]:
        """Add floats in lanes, as numpy's blocks do; return the statements after each block."""
        zeros = f"np.zeros(min({self._builder.count}, LANES), np.float64)"
        lanes, carries = self._set_up("lanes", zeros), self._set_up("whole", zeros)
        summand = _if_matching(f"np.float64({value.text})", where, "0.0")
        body.write(f"{lanes}[{self._builder.row}] += {summand}")
        self._returned.append((f"lane_sum({lanes}, {carries})", "float"))
        return [f"carried({lanes}, {carries}, {self._start})"]

    def _add_extreme(
        self, body: LoopBody, reduction: ColumnReduction, value: Code, where: Code | None
    ) -> None:
        """Reduce to the minimum or maximum of each lane, and of all lanes at the end."""
        lane, is_least = self._builder.row, reduction.function == "min"
        none = number(extremes(reduction.scalar)[is_least], reduction.scalar).text
        dtype = SCALARS[reduction.scalar].numpy
        best = self._set_up("best", f"np.full(min({self._builder.count}, LANES), {none}, {dtype})")
        choose = "minimum" if is_least else "maximum"
        body.write(
            f"{best}[{lane}] = {choose}({best}[{lane}], {_if_matching(value.text, where, none)})"
        )
        fold = "least_of" if is_least else "greatest_of"
        result = f"np.float64({fold}({best}, len({best})))"
        self._returned.append((f"{result} if {self._builder.count} > 0 else np.nan", "float"))

    def _collect(self, body: LoopBody, value: Code, where: Code | None) -> None:
        """Collect all values, for a function that needs them at once."""
        values = self._set_up("kept", f"np.empty({self._builder.count}, np.float64)")
        end = self._set_up("matching", "0")
        lines = [f"{values}[{end}] = {value.text}", f"{end} += 1"]
        if where is not None:
            lines = [f"if {where.text}:", *(f"    {line}" for line in lines)]
        body.write(*lines)
        self._returned.append((f"{values}[:{end}]", "NDArray[np.float64]"))


class ValueMethod(ReductionMethod):
    """Method with the value of a reduction as kernels, tables and schedules read it: with the same
    bits on both backends."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        self._reduction, self._backend = reduction, component.backend
        self.summary = f"Return `{self.name}` as kernels read it."

    @property
    def signature(self) -> str:
        returns = "float" if self._reduction.scalar == "f64" else "int"
        return f"def _value_of_{self.name}(self) -> {returns}:"

    @property
    def _effects(self) -> str:
        return "Added as columns of tables are. O(n)."

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        reducer = RowReducer(f"{self.name}_value", self._backend, self.reads)
        count = self.source.rows_expression
        rows = f"_rows = leading_rows({count})"
        if self.source.has_holes:
            rows = f"_rows = rows_in_use(data._entity_column, {count})"
        definitions = [code.definition(self._backend) for code in self.reads]
        lines, value = ["data = self.data", *definitions, rows], "_rows.n"
        if not counts_all_rows(self._reduction):
            column, value = of_reduction(self._reduction, "_value", "_rows")
            lines += reducer.lines("_rows", self.source, [column])
        functions = "\n\n\n".join(reducer.functions)
        constants = tuple(reducer.constants)
        return Printed(self.text(lines, f"    return {value}"), functions, constants=constants)


def member_index(source: RowSource | ChunkSource, owner: str) -> int:
    """Return the index of a component's rows among the members of recorded rows."""
    if isinstance(source, ChunkSource) or source.member_indices is None:
        return 0
    return source.member_indices[owner]


def chunk_cells(source: ChunkSource, field: tree.FieldValue, part: int | None = None) -> str:
    """Return the expression for a column of chunks, of a split field for one part or all."""
    component, first = source.place(field)
    planes, declared = [], field_of(source.components[field.owner], field.name)
    if declared.split and part is None:
        planes = [literal(field.type.shape)]
    numbers = [*map(str, (component, first + (part or 0))), *planes]
    dtype, flat = literal(SCALARS[field.type.scalar].code), "" if part is None else "flat_"
    return f"{flat}chunk_cells({source.query}, ChunkField({', '.join(numbers)}), {dtype})"


def counts_all_rows(reduction: Reduction) -> bool:
    """Return True if a reduction is the number of rows, whatever they hold."""
    is_true = reduction.program.value == tree.Constant(BOOL, True)
    return reduction.function == "count" and is_true and reduction.program.where is None


def of_reduction(reduction: Reduction, name: str, rows: str) -> tuple[ColumnReduction, str]:
    """Return what a reduction takes of some rows, to the variable `name`, and the expression for
    its value: of no rows 0 or NaN."""
    program, n, value = reduction.program, "", name
    if reduction.is_of_all:
        value = f"{reduction.function}_of({name})"
    elif reduction.function in ("mean", "min", "max"):
        n = f"{name}_n" if program.where is not None else ""
        function = "mean_of" if reduction.function == "mean" else "extreme_of"
        value = f"{function}({name}, {n or f'{rows}.n'})"
    return ColumnReduction(reduction.function, program.value, program.where, name, n), value


def _if_matching(value: str, where: Code | None, without: str) -> str:
    return value if where is None else f"{value} if {where.within(Precedence.OR)} else {without}"


def _with_tick_argument(node: tree.Expression) -> tree.Expression:
    """Replace the time by an argument, which blocks have."""
    return tree.transform(
        node, lambda part: tree.Argument(part.type, "tick") if isinstance(part, tree.Tick) else part
    )


def _block_reduction(reduction: ColumnReduction, rows: str) -> str:
    match reduction.function:
        case "count":
            return "CountReduction()"
        case "each":
            return f"ValuesReduction({rows}.n, {SCALARS[reduction.scalar].numpy})"
        case "sum" if not reduction.value.type.is_float:
            return f"IntegerSumReduction({SCALARS[reduction.value.type.total].numpy})"
        case "sum" | "mean":
            return "FloatSumReduction()"
        case "min" | "max":
            without = spelled(extremes(reduction.scalar)[reduction.function == "min"])
            dtype = SCALARS[reduction.scalar].numpy
            return f"ExtremeReduction(np.{reduction.function}imum, {dtype}({without}))"
    return f"ValuesReduction({rows}.n)"
