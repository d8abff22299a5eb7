"""Reductions as compiled functions: values in blocks, each folded to one, and these again."""

from __future__ import annotations

from contextlib import nullcontext

from ecsgen.model import Component, Reduction
from ecsgen.model.typed_tree import OWN
from ecsgen.model.types import FLOATS, SCALARS
from ecsgen.render.kernel_methods.kernel_method import Printed, ReductionMethod
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter, array_type
from ecsgen.render.loops.kernel_function import function_text
from ecsgen.render.loops.loop_body import LoopBody
from ecsgen.render.loops.scalar_code import (
    Code,
    Precedence,
    extremes,
    infix,
    number,
    wrap_to_type,
    zero_of,
)
from ecsgen.render.text.formatting import statement
from ecsgen.render.text.quoting import literal


class LoopReductionMethod(ReductionMethod):
    """Function of a reduction, and the method that calls it."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        self._builder = FunctionBuilder(f"_{self.name}_fold", self._program, self, self.source)
        self._body = LoopBody(self._builder, {OWN: self._builder.row}, {})
        take = self._builder.names.allocate
        self._folded, self._values, self._line = take("folded"), take("values"), take("line")
        self._count, self._index = take("count"), take("k")
        folds = {"min": "least_of", "max": "greatest_of"}
        self._lines, self._fold = self.type.elements, folds.get(self.function, "sum_of")
        self._is_wrapping = self.function == "sum" and self.accumulator == "i64"
        """True if sums of integers wrap, as only unsigned ones do."""
        is_extreme = self.function in ("min", "max")
        self._returned = self.type.scalar if is_extreme else self.accumulator
        """Scalar type of the result, and of the folded values unless sums wrap."""
        self._returns_count = self.counts_some_rows and not self.is_zero_of_none
        """True if the function returns the number of matching rows beside the result."""
        self._write()

    @property
    def printed(self) -> Printed:
        returned = array_type(self._returned) if self.type.shape else self.returns
        if self.is_of_all:
            returned = "NDArray[np.float64]"
        elif self._returns_count:
            returned = f"tuple[int, {returned}]"
        signature = self._builder.name, self._parameters, self.function_docstring, self._statements
        reduced = [code.definition("numba") for code in self.reads]
        method = self.text(["data = self.data", *reduced], "\n".join(_indented(self._run)))
        return Printed(method, function_text(*signature, returns=returned))

    @property
    def _parameters(self) -> list[Parameter]:
        rows = Parameter(self._builder.count, "int", self.source.rows_expression)
        return [rows, *self._builder.common, *self._builder.row_columns.values()]

    def _write(self) -> None:
        """Write the value of one row to its column of the block; to the next free one where some
        rows may not count, or all values are kept."""
        emit = self._body
        test = None if self.where is None else emit.value(self.where).at(0)
        if test is None and not self.is_of_all:
            self._write_values(self._index)
            return
        if self.source.has_holes:
            used = self._in_use_test
            test = used if test is None else infix("and", Precedence.AND, used, test)
        with emit.block(f"if {test.text}") if test is not None else nullcontext():
            self._write_values(self._count)
            emit.write(f"{self._count} += 1")

    def _write_values(self, column: str) -> None:
        emit = self._body
        value = emit.value(self.value)
        with emit.looped(self._lines, value.is_split) as indices:
            for index in indices:
                text = wrap_to_type(value.at(index), self.type.scalar)
                if self.source.has_holes and not (self.counts_some_rows or self.is_of_all):
                    present = text.within(Precedence.OR)
                    text = Code(f"{present} if {self._in_use_test.text} else {self._neutral}")
                line = f"{index}, " if self.type.shape else "0, " if self.is_of_all else ""
                emit.write(f"{self._values}[{line}{column}] = {text.text}")

    @property
    def _in_use_test(self) -> Code:
        owners = self._builder.array(Parameter("entity", array_type("u64"), "data._entity_column"))
        return Code(f"{owners}[{self._builder.row}] != 0", Precedence.COMPARISON)

    @property
    def _neutral(self) -> str:
        """Value that does not change the result, for rows not in use."""
        scalar, is_extreme = self.type.scalar, self.function in ("min", "max")
        none = extremes(scalar)[self.function == "min"] if is_extreme else zero_of(scalar)
        return number(none, scalar).text

    @property
    def _statements(self) -> list[str]:
        """Statements of the function. In each block the values of matching rows, or of all, are
        folded; then the results of the blocks are. If the function is of all values at once, it
        returns those of each element."""
        take, n, row = self._builder.names.allocate, self._builder.count, self._builder.row
        if self.is_of_all:
            return [
                *self._builder.setup,
                f"{self._values} = np.empty(({self._lines}, {n}), np.float64)",
                *self._body.arrays,
                f"{self._count} = 0",
                f"for {row} in range({n}):",
                *_indented(self._body.statements),
                f"return {self._values}[:, :{self._count}]",
            ]
        count, index = self._count, self._index
        block, start, end = take("block"), take("start"), f"blocks_of({n})"
        parts, matching, inside = take("parts"), take("matching"), _indented(self._body.statements)
        dtype = SCALARS["u64" if self._is_wrapping else self._returned].numpy
        shape = f"({self._lines}, {{}})" if self.type.shape else "{}"
        begin = [
            *self._builder.setup,
            f"{self._folded} = np.empty({shape.format(end)}, {dtype})",
            f"{self._values} = np.empty({shape.format('BLOCK')}, {dtype})",
            *self._body.arrays,
        ]
        head = [f"for {block} in range({end}):", f"    {start} = BLOCK * {block}"]
        if not self.counts_some_rows:
            inner = [
                f"{count} = min(BLOCK, {n} - {start})",
                f"for {index} in range({count}):",
                f"    {row} = {start} + {index}",
                *inside,
                *self._folded_into(self._folded, block, self._values, count),
            ]
            return [*begin, *head, *_indented(inner), *self._ending(end)]
        inner = [
            f"{count} = 0",
            f"for {row} in range({start}, min({start} + BLOCK, {n})):",
            *inside,
            f"if {count} > 0:",
            f"    {matching} += {count}",
            *_indented(self._folded_into(self._folded, parts, self._values, count)),
            f"    {parts} += 1",
        ]
        how_many = f"{matching}, " if self._returns_count else ""
        begin += [f"{parts} = 0", f"{matching} = 0"]
        return [*begin, *head, *_indented(inner), *self._ending(parts, how_many)]

    def _folded_into(self, to: str, part: str, values: str, count: str) -> list[str]:
        """Return the statements that fold `count` values of each line to one element of `to`."""
        if not self.type.shape:
            return [f"{to}[{part}] = {self._fold}({values}, {count})"]
        line, target = self._line, f"{self._line}, {part}" if part else self._line
        folded = f"{self._fold}({values}[{line}], {count})"
        if self._is_wrapping and not part:
            folded = f"np.int64({folded})"
        return [f"for {line} in range({self._lines}):", f"    {to}[{target}] = {folded}"]

    def _ending(self, parts: str, how_many: str = "") -> list[str]:
        result = self._builder.names.allocate("result")
        end = f"return {how_many}{result}"
        if self.type.shape:
            begin = f"{result} = np.empty({self._lines}, {SCALARS[self._returned].numpy})"
            return [begin, *self._folded_into(result, "", self._folded, parts), end]
        last = f"{self._fold}({self._folded}, {parts})"
        last = f"np.int64({last})" if self._is_wrapping else last
        kind = "float" if self._returned in FLOATS else "int"
        return [f"{result}: {self.returns} = {kind}({last})", end]

    @property
    def _run(self) -> list[str]:
        shape = literal(self.type.shape)
        if self.is_of_all:
            arguments = ["[_found]", f"{self.function}_of", shape]
            lines = statement(f"_result: {self.returns} = of_lines", arguments)
            return [*self._call_lines("_found ="), *lines, "return _result"]
        rows = "_matching" if self._returns_count else self.running
        if self.is_zero_of_none and not self.type.shape:
            return self._call_lines("return")
        call_lines = self._call_lines("_matching, _found =" if self._returns_count else "_found =")
        mean = f"_found / {rows}" if self.function == "mean" else "_found"
        if not self.type.shape:
            return [*call_lines, f'return {mean} if {rows} else float("nan")']
        head, mean = f"result: {self.returns} =", f"as_cell({mean}, {shape})"
        if self.is_zero_of_none:
            return [*call_lines, f"{head} {mean}", "return result"]
        test = [f"{head} nan_cell({shape})", f"if {rows} > 0:", f"    result = {mean}"]
        return [*call_lines, *test, "return result"]

    def _call_lines(self, head: str) -> list[str]:
        passed = [parameter.passed for parameter in self._parameters]
        return statement(f"{head} {self._builder.name}", passed)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
