"""A reduction as a compiled function: values in blocks, each folded to one, and those as well."""

from __future__ import annotations

from typing import Final

from ecsgen.model import Component, Reduction
from ecsgen.model.programs import Local, Program, Step
from ecsgen.model.scalars import FLOATS, SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.reducing import ReducingMethod
from ecsgen.render.numba.code import Code, Level, cut, number
from ecsgen.render.numba.fields import OneComponent, Parameter
from ecsgen.render.numba.loops import Loop
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
        self.loop = Loop(
            OneComponent(component), self.name, Program(steps=(step,)), may_be_flat=False
        )
        take = self.loop.names.take
        self.folded, self.values = take("folded", "_folded"), take("values", "_values")
        self.block, self.start = take("block", "_block"), take("start", "_start")
        self.count, self.place = take("count", "_count"), take("k", "_k")
        self.line = take("line", "_line")
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
        emit = self.loop.emit
        value = emit.value(self._value)
        with emit.looped(self.lines, value.is_split) as places:
            for place in places:
                code = cut(value.at(place), self._value.type.scalar)
                line = f"{place}, " if self.has_lines else ""
                target = f"{self.values}[{line}{self.place}]"
                emit.write(f"{target} = {self._unless_absent(code).text}")

    def _unless_absent(self, code: Code) -> Code:
        """What does not change the result, where a row is not in use."""
        if not self._has_holes:
            return code
        owners = self.loop.fields.array("entity", "u64", "data._entity_column")
        present = f"{owners}[{self.loop.fields.row}] != 0"
        return Code(f"{code.within(Level.OR)} if {present} else {self._neutral}", Level.CHOICE)

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
        return call(f"def _{self.name}", declared, 0, f" -> {returned}:")

    @property
    def parameters(self) -> list[Parameter]:
        rows = Parameter(self.loop.rows, "int", "data._n")
        return [rows, *self.loop.fields.parameters.values()]

    @property
    def body(self) -> str:
        """The function's statements."""
        loop, dtype, pad = self.loop, SCALARS[self._stored].numpy, "    "
        sizes = [f"blocks_of({loop.rows})", "BLOCK"]
        line = f"[{self.line}]" if self.has_lines else ""
        if self.has_lines:
            sizes = [f"({self.lines}, {size})" for size in sizes]
        folded, values = (f"{name}{line}" for name in (self.folded, self.values))
        fold_block = f"{self._cell} = {self.fold}({values}, {self.count})"
        each_line = [f"for {self.line} in range({self.lines}):"] if self.has_lines else []
        text = [
            f"{self.folded} = np.empty({sizes[0]}, {dtype})",
            f"{self.values} = np.empty({sizes[1]}, {dtype})",
            *loop.emit.arrays,
            f"for {self.block} in range(blocks_of({loop.rows})):",
            f"{pad}{self.start} = BLOCK * {self.block}",
            f"{pad}{self.count} = min(BLOCK, {loop.rows} - {self.start})",
            f"{pad}for {self.place} in range({self.count}):",
            f"{pad * 2}{loop.fields.row} = {self.start} + {self.place}",
            *(pad * 2 + one for one in (*loop.fields.preamble, *loop.emit.lines)),
            *(pad + one for one in each_line),
            f"{pad * (1 + len(each_line))}{fold_block}",
        ]
        return "\n".join(pad + one for one in [*text, *self._ending(folded)])

    @property
    def _cell(self) -> str:
        """Where the result of a block goes."""
        return f"{self.folded}[{f'{self.line}, ' if self.has_lines else ''}{self.block}]"

    def _ending(self, folded: str) -> list[str]:
        """The statements that fold what the blocks gave."""
        last = f"{self.fold}({folded}, blocks_of({self.loop.rows}))"
        last = f"int(np.int64({last}))" if self._is_wrapping and not self.has_lines else last
        result = self.loop.names.take("result", "_result")
        if not self.has_lines:
            return [f"{result}: {self.returns} = {last}", f"return {result}"]
        return [
            f"{result} = np.empty({self.lines}, {SCALARS[self._returned].numpy})",
            f"for {self.line} in range({self.lines}):",
            f"    {result}[{self.line}] = {last}",
            f"return {result}",
        ]

    # --- the method ------------------------------------------------------------------------------

    @property
    def run(self) -> str:
        """The statements that call the function."""
        how, shape = self.reduction.how, literal(self._value.type.shape)
        is_zero = how in ("sum", "count")
        divided = " / len(self)" if how == "mean" else ""
        passed = [parameter.passed for parameter in self.parameters]
        called = call(f"_{self.name}", passed, 12).lstrip()
        if not self.has_lines:
            empty = [] if is_zero else ["if len(self) == 0:", '    return float("nan")']
            return "\n".join([*empty, f"return {called}{divided}"])
        result = f"as_cell({called}{divided}, {shape})"
        if is_zero:
            return f"result: {self.returns} = {result}\nreturn result"
        head = f"result: {self.returns} = nothing({shape})"
        return f"{head}\nif len(self) > 0:\n    result = {result}\nreturn result"


class CompiledReductions:
    """The reductions of a component."""

    def __init__(self, component: Component) -> None:
        self.methods = [CompiledReduction(component, one) for one in component.reductions]
