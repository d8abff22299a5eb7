"""Kernels of one pass as compiled code: a loop over blocks that calls their own functions."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Component, Fused, World
from ecsgen.render.calls import call
from ecsgen.render.kernels.fused import (
    aliases,
    docstring_of,
    kernel_of,
    key_lines_of,
    signature_of,
    summary_of,
)
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.sources import Source
from ecsgen.render.numba.code import USED, Names
from ecsgen.render.numba.fields import Parameter
from ecsgen.render.numba.joined import JoinedKernel
from ecsgen.render.numba.kernel import CompiledKernel, checked, decorator, passed_as
from ecsgen.render.numba.looped import LoopMethod
from ecsgen.render.quoting import WIDTH, docstring_text

BLOCK = 1024
"""Rows that are still in the nearest cache when the next kernel comes to them."""


class CompiledPass(LoopMethod):
    """Several kernels as one method, as templates lay out compiled kernels."""

    climbs = False

    def __init__(self, component: Component, fused: Fused, parts: Sequence[CompiledKernel]) -> None:
        super().__init__(component, kernel_of(fused))
        self.fused = fused
        self.parts = parts
        self._names = Names({*USED, *(part.function for part in parts), f"_{self.name}"})
        self._rows = self._names.take("n", "_n")
        self._start, self._end = self._names.take("start"), self._names.take("end")
        self._given: dict[str, Parameter] = {}
        """The parameters by what the method passes."""
        self._calls = [self._call(place, part) for place, part in enumerate(parts)]

    @property
    def takes_rows(self) -> bool:
        """Not: schedules run over all rows, or the active ones."""
        return False

    @property
    def decorator(self) -> str:
        return decorator(False)

    @property
    def function(self) -> str:
        """What the function is called."""
        return f"_{self.name}"

    @property
    def header(self) -> str:
        declared = [parameter.declared for parameter in self._parameters]
        return call(f"def {self.function}", declared, 0, " -> None:")

    @property
    def _parameters(self) -> list[Parameter]:
        first = next(iter(self.parts)).parameters[0]
        return [Parameter(self._rows, "int", first.passed), *self._given.values()]

    @property
    def function_docstring(self) -> str:
        return docstring_text(summary_of(self.fused), WIDTH - 10).replace("\n", "\n    ")

    @property
    def body(self) -> str:
        """The function's statements."""
        head = f"    for {self._start} in range(0, {self._rows}, {BLOCK}):"
        end = f"        {self._end} = min({self._start} + {BLOCK}, {self._rows})"
        return "\n".join([head, end, *self._calls])

    def _call(self, place: int, part: CompiledKernel) -> str:
        """The call of a kernel's function with its part of the columns."""
        given = []
        for parameter in part.parameters:
            passed = parameter.passed if parameter.passed != "_key" else f"_key_{place}"
            if parameter.name == part.loop.rows:
                given.append(f"{self._end} - {self._start}")
                continue
            known = self._given.get(passed)
            if known is None:
                name = self._names.take(parameter.name, f"{parameter.name}_{place}")
                known = self._given[passed] = Parameter(name, parameter.annotation, passed)
            given.append(self._part_of(part, known))
        return call(part.function, given, 8)

    def _part_of(self, part: CompiledKernel, parameter: Parameter) -> str:
        """What a block has of a parameter."""
        name = parameter.name
        if parameter.annotation == "RowArray":
            return f"rows_of_block({name}, {self._start}, {self._end})"
        if parameter.passed not in part.loop.fields.columns or part.is_scattered:
            return name
        _, elements = part.loop.fields.columns[parameter.passed]
        start, end = self._start, self._end
        if elements > 1:
            start, end = f"{elements} * {start}", f"{elements} * {end}"
        return f"{name}[{start}:{end}]" if elements == 1 else f"{name}[{start} : {end}]"

    # --- the method ------------------------------------------------------------------------------

    @property
    def signature(self) -> str:
        return signature_of(self)

    @property
    def docstring(self) -> str:
        return docstring_of(self.fused)

    @property
    def conversions(self) -> list[str]:
        used = {one.name for part in self.parts for one in part.loop.arguments}
        lines = [
            f"{one.text} = {passed_as(one)}" if one.name in used else checked(one)
            for one in self.arguments
        ]
        return [*lines, *aliases(self, self.parts)]

    @property
    def key_lines(self) -> list[str]:
        return key_lines_of(self.fused.kernels)

    @property
    def run(self) -> str:
        """The statement that calls the function."""
        return for_macro(call(self.function, [one.passed for one in self._parameters], 8))


class FusedKernel(CompiledPass):
    """A pass over a component."""

    def __init__(self, component: Component, fused: Fused) -> None:
        parts = [CompiledKernel(component, kernel) for kernel in fused.kernels]
        super().__init__(component, fused, parts)


class FusedJoined(CompiledPass):
    """A pass over a group or a query."""

    def __init__(self, world: World, fused: Fused, source: Source) -> None:
        self.source = source
        parts = [JoinedKernel(world, kernel, source) for kernel in fused.kernels]
        super().__init__(source.whole, fused, parts)

    @property
    def before(self) -> list[str]:
        """The statement that gets the rows."""
        return [f"{self.source.variable} = {self.source.found}"]
