"""A reduction as a compiled function: values in blocks, each folded to one, and those as well."""

from __future__ import annotations

from textwrap import indent
from typing import Final

from ecsgen.model import Component, Reduction
from ecsgen.model.programs import OWN, Local, Program, Step
from ecsgen.model.scalars import FLOATS, SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.printed import Printed, function_text, functions_of
from ecsgen.render.kernels.reducing import ReducingMethod
from ecsgen.render.kernels.sources import own_source
from ecsgen.render.loops.code import Code, Level, cut, infix, number
from ecsgen.render.loops.columns import Parameter
from ecsgen.render.loops.frame import LoopFrame
from ecsgen.render.loops.loop_body import LoopBody
from ecsgen.render.quoting import literal

FOLDS: Final = {
    "sum": "sum_of",
    "mean": "sum_of",
    "count": "sum_of",
    "min": "least_of",
    "max": "greatest_of",
}


class CompiledReduction(ReducingMethod):
    """A reduction as its template lays it out."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        value = reduction.program.value
        step = Step(Local(value.type, "value"), value)
        program = Program(where=reduction.program.where, steps=(step,))
        source = own_source(component, self.kernel)
        self.frame = LoopFrame(f"_{self.name}", source, program)
        self.loop = LoopBody(self.frame, {OWN: self.frame.row})
        take = self.frame.names.take
        self.folded, self.values = take("folded", "_folded"), take("values", "_values")
        self.block, self.start = take("block", "_block"), take("start", "_start")
        self.count, self.place = take("count", "_count"), take("k", "_k")
        self.line = take("line", "_line")
        self.is_choosy = reduction.program.where is not None
        self.parts, self.matching = take("parts", "_parts"), take("matching", "_matching")
        self.fold, self.lines = FOLDS[reduction.how], value.type.elements
        self._write()

    @property
    def _stored(self) -> str:
        """The type of the values that are folded: sums of integers wrap, as unsigned ones do."""
        if self.reduction.how in ("min", "max"):
            return self._value.type.scalar
        return "u64" if self._is_wrapping else self.accumulator

    @property
    def _returned(self) -> str:
        """The type of the result."""
        return "i64" if self._is_wrapping else self._stored

    @property
    def _is_wrapping(self) -> bool:
        return self.reduction.how == "sum" and self.accumulator == "i64"

    @property
    def has_lines(self) -> bool:
        """Whether there are several numbers per row."""
        return bool(self._value.type.shape)

    def _write(self) -> None:
        """The values of one row, in a column of the block."""
        where = self._program.where
        if where is None:
            self._write_values(self.place)
            return
        test = self.loop.emit.value(where).at(0)
        if self._has_holes:
            test = infix("and", Level.AND, self._present, test)
        with self.loop.emit.block(f"if {test.text}"):
            self._write_values(self.count)
            self.loop.emit.write(f"{self.count} += 1")

    def _write_values(self, column: str) -> None:
        emit = self.loop.emit
        value = emit.value(self._value)
        with emit.looped(self.lines, value.is_split) as places:
            for place in places:
                code = cut(value.at(place), self._value.type.scalar)
                line = f"{place}, " if self.has_lines else ""
                stored = code if self.is_choosy else self._unless_absent(code)
                emit.write(f"{self.values}[{line}{column}] = {stored.text}")

    def _unless_absent(self, code: Code) -> Code:
        """What does not change the result, where a row is not in use."""
        if not self._has_holes:
            return code
        sides = f"{code.within(Level.OR)} if {self._present.text} else {self._neutral}"
        return Code(sides, Level.CHOICE)

    @property
    def _present(self) -> Code:
        """Whether the row is in use."""
        owners = self.frame.columns.array("entity", "u64", "data._entity_column")
        return Code(f"{owners}[{self.frame.row}] != 0", Level.COMPARISON)

    @property
    def _neutral(self) -> str:
        how, scalar = self.reduction.how, self._value.type.scalar
        if how == "count":
            return "False"
        if how in ("sum", "mean"):
            return number(0, scalar).text if scalar not in FLOATS else number(0.0, scalar).text
        if scalar in FLOATS:
            return f"{SCALARS[scalar].numpy}({'' if how == 'min' else '-'}np.inf)"
        low, high = SCALARS[scalar].range
        return f"{SCALARS[scalar].numpy}({high if how == 'min' else low})"

    # --- the function ----------------------------------------------------------------------------

    @property
    def header(self) -> str:
        declared = [parameter.declared for parameter in self.parameters]
        returned = f"NDArray[{SCALARS[self._returned].numpy}]" if self.has_lines else self.returns
        returned = f"tuple[int, {returned}]" if self._tells_how_many else returned
        return call(f"def _{self.name}", declared, 0, f" -> {returned}:")

    @property
    def parameters(self) -> list[Parameter]:
        rows = Parameter(self.frame.count, "int", f"data.{self.rows}")
        return [rows, *self.frame.columns.own.values()]

    @property
    def body(self) -> str:
        """The function's statements."""
        loop, dtype, pad = self.loop, SCALARS[self._stored].numpy, "    "
        sizes = [f"blocks_of({self.frame.count})", "BLOCK"]
        line = f"[{self.line}]" if self.has_lines else ""
        if self.has_lines:
            sizes = [f"({self.lines}, {size})" for size in sizes]
        folded, values = (f"{name}{line}" for name in (self.folded, self.values))
        each_line = [f"for {self.line} in range({self.lines}):"] if self.has_lines else []
        inside = " " * 4 * len(each_line)
        fold = [*each_line, f"{inside}{self._cell} = {self.fold}({values}, {self.count})"]
        row = [*loop.lines]
        inner = self._of_matching(row, fold) if self.is_choosy else self._of_all(row, fold)
        text = [
            f"{self.folded} = np.empty({sizes[0]}, {dtype})",
            f"{self.values} = np.empty({sizes[1]}, {dtype})",
            *loop.emit.arrays,
            *([f"{self.parts} = 0", f"{self.matching} = 0"] if self.is_choosy else []),
            f"for {self.block} in range(blocks_of({self.frame.count})):",
            f"{pad}{self.start} = BLOCK * {self.block}",
            *(pad + one for one in inner),
        ]
        return "\n".join(pad + one for one in [*text, *self._ending(folded)])

    def _of_all(self, row: list[str], fold: list[str]) -> list[str]:
        """The statements of a block: the values of all rows, which are folded."""
        return [
            f"{self.count} = min(BLOCK, {self.frame.count} - {self.start})",
            f"for {self.place} in range({self.count}):",
            f"    {self.frame.row} = {self.start} + {self.place}",
            *(f"    {one}" for one in row),
            *fold,
        ]

    def _of_matching(self, row: list[str], fold: list[str]) -> list[str]:
        """The statements of a block: the values of rows that match, which are folded if any do."""
        beyond = f"min({self.start} + BLOCK, {self.frame.count})"
        return [
            f"{self.count} = 0",
            f"for {self.frame.row} in range({self.start}, {beyond}):",
            *(f"    {one}" for one in row),
            f"if {self.count} > 0:",
            f"    {self.matching} += {self.count}",
            *(f"    {one}" for one in fold),
            f"    {self.parts} += 1",
        ]

    @property
    def _cell(self) -> str:
        """Where the result of a block goes."""
        part = self.parts if self.is_choosy else self.block
        return f"{self.folded}[{f'{self.line}, ' if self.has_lines else ''}{part}]"

    @property
    def _tells_how_many(self) -> bool:
        """Whether the function says how many rows match, beside the result."""
        return self.is_choosy and self.reduction.how not in ("sum", "count")

    def _ending(self, folded: str) -> list[str]:
        """The statements that fold what the blocks gave."""
        parts = self.parts if self.is_choosy else f"blocks_of({self.frame.count})"
        how_many = f"{self.matching}, " if self._tells_how_many else ""
        last = f"{self.fold}({folded}, {parts})"
        last = f"int(np.int64({last}))" if self._is_wrapping and not self.has_lines else last
        result = self.frame.names.take("result", "_result")
        if not self.has_lines:
            return [f"{result}: {self.returns} = {last}", f"return {how_many}{result}"]
        return [
            f"{result} = np.empty({self.lines}, {SCALARS[self._returned].numpy})",
            f"for {self.line} in range({self.lines}):",
            f"    {result}[{self.line}] = {last}",
            f"return {how_many}{result}",
        ]

    # --- the method ------------------------------------------------------------------------------

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        function = function_text("@kernel()", self.header, self.function_docstring, self.body)
        method = self.text(["data = self.data"], indent(self.run, "    "))
        return Printed(method, function)

    @property
    def run(self) -> str:
        """The statements that call the function."""
        how, shape = self.reduction.how, literal(self._value.type.shape)
        is_zero = how in ("sum", "count")
        divided = f" / {self.running}" if how == "mean" else ""
        passed = [parameter.passed for parameter in self.parameters]
        called = call(f"_{self.name}", passed, 12).lstrip()
        if self._tells_how_many:
            return self._run_choosy(called)
        if not self.has_lines:
            empty = [] if is_zero else [f"if {self.running} == 0:", '    return float("nan")']
            return "\n".join([*empty, f"return {called}{divided}"])
        result = f"as_cell({called}{divided}, {shape})"
        if is_zero:
            return f"result: {self.returns} = {result}\nreturn result"
        head = f"result: {self.returns} = nothing({shape})"
        return f"{head}\nif {self.running} > 0:\n    result = {result}\nreturn result"

    def _run_choosy(self, called: str) -> str:
        shape = literal(self._value.type.shape)
        found = "_found / _matching" if self.reduction.how == "mean" else "_found"
        lines = [f"_matching, _found = {called}"]
        if not self.has_lines:
            return "\n".join([*lines, f'return {found} if _matching else float("nan")'])
        return "\n".join(
            [
                *lines,
                f"result: {self.returns} = nothing({shape})",
                "if _matching > 0:",
                f"    result = as_cell({found}, {shape})",
                "return result",
            ]
        )


class CompiledReductions:
    """The reductions of a component."""

    def __init__(self, component: Component) -> None:
        self.methods = [CompiledReduction(component, one) for one in component.reductions]
        self.printed = [method.printed for method in self.methods]
        self.functions = functions_of(self.printed)
