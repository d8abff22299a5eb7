"""A reduction as a compiled function: values in blocks, each folded to one, and those as well."""

from __future__ import annotations

from typing import Final

from ecsgen.kernels.tree import Local, Program, Step
from ecsgen.kernels.types import FLOATS, UNSIGNED, integer_range
from ecsgen.model import Component, Kernel, Reduction
from ecsgen.render.calls import call
from ecsgen.render.column_spelling import NUMPY
from ecsgen.render.numba.code import Code, Level, cut, number
from ecsgen.render.numba.fields import Parameter
from ecsgen.render.numba.loops import Loop
from ecsgen.render.quoting import docstring_text, literal
from ecsgen.render.reduction_method import ReductionMethod

FOLDS: Final = {
    "sum": "sum_of",
    "mean": "sum_of",
    "count": "sum_of",
    "min": "least_of",
    "max": "greatest_of",
}


class CompiledReduction(ReductionMethod):
    """A reduction as its template lays it out."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        value = reduction.program.value
        step = Step(Local(value.type, "value"), value)
        self.loop = Loop(component, self.name, Program(steps=(step,)), may_be_flat=False)
        self._has_holes = component.lookup == "direct"
        take = self.loop.names.take
        self.folded, self.values = take("folded", "_folded"), take("values", "_values")
        self.block, self.start = take("block", "_block"), take("start", "_start")
        self.count, self.place = take("count", "_count"), take("k", "_k")
        self.fold, self.lines = FOLDS[reduction.how], value.type.elements
        self._write()

    @property
    def _stored(self) -> str:
        """The type of the values that are folded."""
        how, scalar = self.reduction.how, self._value.type.scalar
        if how in ("min", "max"):
            return scalar
        if how == "mean" or scalar in FLOATS:
            return "f64"
        return "u64" if scalar in UNSIGNED else "i64"

    def _write(self) -> None:
        """The values of one row, in a column of the block."""
        emit = self.loop.emit
        value = emit.value(self._value)
        with emit.looped(self.lines, value.is_split) as places:
            for place in places:
                code = cut(value.at(place), self._value.type.scalar)
                target = f"{self.values}[{place}, {self.place}]"
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
            return f"{NUMPY[scalar]}({'' if how == 'min' else '-'}np.inf)"
        low, high = integer_range(scalar)
        return f"{NUMPY[scalar]}({high if how == 'min' else low})"

    # --- the function ----------------------------------------------------------------------------

    @property
    def header(self) -> str:
        declared = [parameter.declared for parameter in self.parameters]
        return call(f"def _{self.name}", declared, 0, f" -> NDArray[{NUMPY[self._stored]}]:")

    @property
    def parameters(self) -> list[Parameter]:
        rows = Parameter(self.loop.rows, "int", "data._n")
        return [rows, *self.loop.fields.parameters.values()]

    @property
    def function_docstring(self) -> str:
        return docstring_text(self.summary, 81).replace("\n", "\n    ")

    @property
    def body(self) -> str:
        """The function's statements."""
        loop, dtype = self.loop, NUMPY[self._stored]
        rows, pad = loop.rows, "    "
        lines = [
            f"{self.folded} = np.empty(({self.lines}, blocks_of({rows})), {dtype})",
            f"{self.values} = np.empty(({self.lines}, BLOCK), {dtype})",
            *loop.setup,
            *loop.emit.arrays,
            f"for {self.block} in range({self.folded}.shape[1]):",
            f"{pad}{self.start} = BLOCK * {self.block}",
            f"{pad}{self.count} = min(BLOCK, {rows} - {self.start})",
            f"{pad}for {self.place} in range({self.count}):",
            f"{pad * 2}{loop.fields.row} = {self.start} + {self.place}",
            *(pad * 2 + line for line in (*loop.fields.preamble, *loop.emit.lines)),
            f"{pad}{self.folded}[:, {self.block}] = {self.fold}({self.values}, {self.count})",
            f"return {self.fold}({self.folded}, {self.folded}.shape[1])",
        ]
        return "\n".join(pad + line for line in lines)

    # --- the method ------------------------------------------------------------------------------

    @property
    def run(self) -> list[str]:
        """The statements that call the function."""
        shape = literal(self._value.type.shape)
        passed = [parameter.passed for parameter in self.parameters]
        how = self.reduction.how
        if how in ("sum", "count"):
            line = call("folded = " + f"_{self.name}", passed, 8)
            return [line, f"        result: {self.returns} = as_cell(folded, {shape})"]
        line = call("folded = " + f"_{self.name}", passed, 12)
        mean = " / len(self)" if how == "mean" else ""
        return [
            f"        result: {self.returns} = nothing({shape})",
            "        if len(self) > 0:",
            line,
            f"            result = as_cell(folded{mean}, {shape})",
        ]


class CompiledReductions:
    """The reductions of a component."""

    def __init__(self, component: Component) -> None:
        self.methods = [CompiledReduction(component, one) for one in component.reductions]
