"""A reduction as a compiled function: values in blocks, each folded to one, and those as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ecsgen.model import Component, Reduction
from ecsgen.model.programs import OWN
from ecsgen.model.scalars import FLOATS, SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.folding import Folding
from ecsgen.render.kernels.methods import Printed
from ecsgen.render.loops.code import Code, Level, cut, infix, number
from ecsgen.render.loops.frame import LoopFrame, Parameter, array_type
from ecsgen.render.loops.loop_body import LoopBody
from ecsgen.render.loops.loop_method import function_text
from ecsgen.render.quoting import literal

_FOLDS: Final = {
    "sum": "sum_of",
    "mean": "sum_of",
    "count": "sum_of",
    "min": "least_of",
    "max": "greatest_of",
}


class LoopFold(Folding):
    """A reduction's function, and the method that calls it."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        self._frame = LoopFrame(f"_{self.name}", self.source, self.kernel.program, {})
        self._body = LoopBody(self._frame, {OWN: self._frame.row})
        take = self._frame.names.take
        self._folded, self._values = take("folded"), take("values")
        self._block, self._start = take("block"), take("start")
        self._count, self._place = take("count"), take("k")
        self._line = take("line")
        self._parts, self._matching = take("parts"), take("matching")
        self._lines = self.type.elements
        self._write()

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        method = self.text(["data = self.data"], "\n".join(_indented(self._run)))
        given = f"_{self.name}", self._parameters, self.function_docstring, self._text
        return Printed(method, function_text(*given, returns=self._returns))

    # --- the values of a row ---------------------------------------------------------------------

    @property
    def _is_wrapping(self) -> bool:
        """Whether sums of integers wrap, as only unsigned ones do."""
        return self.how == "sum" and self.accumulator == "i64"

    @property
    def _stored(self) -> str:
        """The type of the values that are folded."""
        if self.how in ("min", "max"):
            return self.type.scalar
        return "u64" if self._is_wrapping else self.accumulator

    def _write(self) -> None:
        """The values of one row, in a column of the block."""
        emit, where = self._body.emit, self.where
        if where is None:
            self._write_values(self._place)
            return
        test = emit.value(where).at(0)
        if self.source.has_holes:
            test = infix("and", Level.AND, self._present, test)
        with emit.block(f"if {test.text}"):
            self._write_values(self._count)
            emit.write(f"{self._count} += 1")

    def _write_values(self, column: str) -> None:
        emit = self._body.emit
        value = emit.value(self.value)
        with emit.looped(self._lines, value.is_split) as places:
            for place in places:
                code = cut(value.at(place), self.type.scalar)
                line = f"{place}, " if self.type.shape else ""
                stored = code if self.is_choosy else self._unless_absent(code)
                emit.write(f"{self._values}[{line}{column}] = {stored.text}")

    def _unless_absent(self, code: Code) -> Code:
        """What does not change the result, where a row is not in use."""
        if not self.source.has_holes:
            return code
        sides = f"{code.within(Level.OR)} if {self._present.text} else {self._neutral}"
        return Code(sides, Level.CHOICE)

    @property
    def _present(self) -> Code:
        """Whether the row is in use."""
        owners = self._frame.array("entity", "u64", "data._entity_column")
        return Code(f"{owners}[{self._frame.row}] != 0", Level.COMPARISON)

    @property
    def _neutral(self) -> str:
        how, scalar = self.how, self.type.scalar
        if how == "count":
            return "False"
        if how in ("sum", "mean"):
            return number(0.0 if scalar in FLOATS else 0, scalar).text
        dtype = SCALARS[scalar].numpy
        if scalar in FLOATS:
            return f"{dtype}({'' if how == 'min' else '-'}np.inf)"
        low, high = SCALARS[scalar].range
        return f"{dtype}({high if how == 'min' else low})"

    # --- the function ----------------------------------------------------------------------------

    @property
    def _parameters(self) -> list[Parameter]:
        rows = Parameter(self._frame.count, "int", self.source.found)
        return [rows, *self._frame.own.values()]

    @property
    def _returned(self) -> str:
        """The type of the result."""
        return "i64" if self._is_wrapping else self._stored

    @property
    def _tells_how_many(self) -> bool:
        """Whether the function says how many rows match, beside the result."""
        return self.is_choosy and not self.is_zero

    @property
    def _returns(self) -> str:
        """The annotation of what the function returns."""
        returned = array_type(self._returned) if self.type.shape else self.returns
        return f"tuple[int, {returned}]" if self._tells_how_many else returned

    @property
    def _blocks(self) -> str:
        """The expression for the number of blocks."""
        return f"blocks_of({self._frame.count})"

    @property
    def _text(self) -> str:
        """The function's statements."""
        dtype, sizes = SCALARS[self._stored].numpy, [self._blocks, "BLOCK"]
        if self.type.shape:
            sizes = [f"({self._lines}, {size})" for size in sizes]
        inner = self._of_matching if self.is_choosy else self._of_all
        text = [
            f"{self._folded} = np.empty({sizes[0]}, {dtype})",
            f"{self._values} = np.empty({sizes[1]}, {dtype})",
            *self._body.emit.arrays,
            *([f"{self._parts} = 0", f"{self._matching} = 0"] if self.is_choosy else []),
            f"for {self._block} in range({self._blocks}):",
            f"    {self._start} = BLOCK * {self._block}",
            *_indented(inner),
            *self._ending,
        ]
        return "\n".join(_indented(text))

    @property
    def _of_all(self) -> list[str]:
        """The statements of a block: the values of all rows, which are folded."""
        return [
            f"{self._count} = min(BLOCK, {self._frame.count} - {self._start})",
            f"for {self._place} in range({self._count}):",
            f"    {self._frame.row} = {self._start} + {self._place}",
            *_indented(self._body.lines),
            *self._fold_block(self._block),
        ]

    @property
    def _of_matching(self) -> list[str]:
        """The statements of a block: the values of rows that match, which are folded if any do."""
        beyond = f"min({self._start} + BLOCK, {self._frame.count})"
        return [
            f"{self._count} = 0",
            f"for {self._frame.row} in range({self._start}, {beyond}):",
            *_indented(self._body.lines),
            f"if {self._count} > 0:",
            f"    {self._matching} += {self._count}",
            *_indented(self._fold_block(self._parts)),
            f"    {self._parts} += 1",
        ]

    def _fold_block(self, part: str) -> list[str]:
        """The statements that make one part of a block, line by line."""
        fold = _FOLDS[self.how]
        if not self.type.shape:
            return [f"{self._folded}[{part}] = {fold}({self._values}, {self._count})"]
        line = self._line
        made = f"{self._folded}[{line}, {part}] = {fold}({self._values}[{line}], {self._count})"
        return [f"for {line} in range({self._lines}):", f"    {made}"]

    @property
    def _ending(self) -> list[str]:
        """The statements that fold what the blocks gave."""
        line = self._line
        parts = self._parts if self.is_choosy else self._blocks
        how_many = f"{self._matching}, " if self._tells_how_many else ""
        result = self._frame.names.take("result")
        if self.type.shape:
            return [
                f"{result} = np.empty({self._lines}, {SCALARS[self._returned].numpy})",
                f"for {line} in range({self._lines}):",
                f"    {result}[{line}] = {_FOLDS[self.how]}({self._folded}[{line}], {parts})",
                f"return {how_many}{result}",
            ]
        last = f"{_FOLDS[self.how]}({self._folded}, {parts})"
        last = f"int(np.int64({last}))" if self._is_wrapping else last
        return [f"{result}: {self.returns} = {last}", f"return {how_many}{result}"]

    # --- the method ------------------------------------------------------------------------------

    @property
    def _run(self) -> list[str]:
        """The statements that call the function."""
        shape = literal(self.type.shape)
        if self._tells_how_many:
            lines, rows = self._called("_matching, _found ="), "_matching"
        else:
            lines, rows = self._called("_found ="), self.running
        found = f"_found / {rows}" if self.how == "mean" else "_found"
        if not self.type.shape:
            return self._of_one(lines, found, rows)
        head, made = f"result: {self.returns} =", f"as_cell({found}, {shape})"
        if self.is_zero:
            return [*lines, f"{head} {made}", "return result"]
        empty, some = [f"{head} nothing({shape})", f"if {rows} > 0:"], [f"result = {made}"]
        if self._tells_how_many:
            return [*lines, *empty, *_indented(some), "return result"]
        return [*empty, *_indented([*lines, *some]), "return result"]

    def _of_one(self, lines: list[str], found: str, rows: str) -> list[str]:
        """The statements where there is one number."""
        if self._tells_how_many:
            return [*lines, f'return {found} if {rows} else float("nan")']
        empty = [] if self.is_zero else [f"if {rows} == 0:", '    return float("nan")']
        return [*empty, *self._called("return", found.removeprefix("_found"))]

    def _called(self, head: str, tail: str = "") -> list[str]:
        """The statement that calls the function and does something with what it returns."""
        passed = [parameter.passed for parameter in self._parameters]
        text = call(f"{head} _{self.name}", passed, 8, tail)
        return [line[8:] for line in text.split("\n")]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
