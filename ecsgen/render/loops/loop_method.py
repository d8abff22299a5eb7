"""Kernels as loops: a function of the module, and the method that calls it."""

from __future__ import annotations

from collections.abc import Iterable, Set

from ecsgen.model import Kernel
from ecsgen.model.programs import ID_SLOT, Argument
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call, for_macro
from ecsgen.render.kernels.arguments import ArgumentSpelling
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.methods import Method, Printed
from ecsgen.render.kernels.sources import Source
from ecsgen.render.loops.frame import Parameter
from ecsgen.render.loops.function import LoopFunction


class LoopKernel(Method):
    """A kernel over the rows of a source, for numba or for Python itself."""

    source: Source

    def __init__(
        self, kernel: Kernel, source: Source, asked: Asked | None = None, is_plain: bool = False
    ) -> None:
        super().__init__(kernel, source, asked)
        self.function = LoopFunction(f"_{self.name}_kernel", self, source, is_plain)
        self.is_plain = is_plain

    @property
    def printed(self) -> Printed:
        one, made = self.function, "" if self.is_plain else decorator(self.function.is_parallel)
        function = function_text(one.name, one.parameters, self.function_docstring, one.body, made)
        return Printed(self.text(self._before, self._call), function)

    # --- the method ------------------------------------------------------------------------------

    def _picked(self, values: str) -> str:
        if self._program.sees_in_order:
            return f"_chosen.spread({values}, data._n)"
        return super()._picked(values)

    @property
    def conversions(self) -> list[str]:
        near, used = self._program.near, {one.name for one in self.function.arguments}
        if near is not None and isinstance(near.radius, Argument):
            used.add(near.radius.name)
        return converted(self.arguments, used)

    @property
    def _before(self) -> list[str]:
        """The statements before the call."""
        return [
            *self.conversions,
            *self._finding,
            *(["self.levels()"] if self._program.climbs else []),
            *self._checking,
            *self.key_lines,
            *self._orders,
            *(f"{table} = {made}" for table, made in self.function.tables.items()),
        ]

    @property
    def _finding(self) -> list[str]:
        """The statements that get the rows, and the cells in which those are who may be asked."""
        source, turns = self.source, self._program.takes_turns
        beginning = [] if source.is_world else ["data = self.data"]
        if self.asked is None:
            return beginning or [f"{source.variable} = {source.found}"]
        assert self.function.near is not None
        found = self.asked.finding(turns, self.function.near.members, self._rounded_radius)
        cells = "turn_cells" if turns else "near_cells"
        return [*beginning, *found, f"_cells = {cells}(*_given)"]

    @property
    def _rounded_radius(self) -> str:
        """The radius, rounded to the argument's type."""
        near = self._program.near
        assert near is not None
        if not isinstance(near.radius, Argument):
            return self.radius
        return f"{SCALARS[near.radius.type.scalar].numpy}({self.radius})"

    @property
    def _checking(self) -> list[str]:
        """The statements that check which rows a call names, and values for each row."""
        if not self.source.is_world:
            return self.choosing
        return self.source.each_lines(self.each, self._program.effects.writes)

    @property
    def _orders(self) -> list[str]:
        """The statements that find out whose turn it is when, or which rows a call names."""
        if self.function.chosen:
            return ["_rows = ALL_ROWS if _chosen is None else _chosen.rows"]
        if not self.function.is_ordered:
            return []
        source, who = self.source, self._program.who
        rows = f"np.arange({source.count})"
        if not source.is_world:
            rows = f"{rows} if _chosen is None else _chosen.rows"
        if self.kernel.turns == "rows":
            return [f"_order = {rows}"]
        assert who is not None  # that tells rows apart where their order is drawn
        holder = source.holder(who.owner)
        picked = source.picked(who.owner) if source.is_world else "[_rows]"
        keys = f"{holder}._{who.name}_column{picked}"
        if who.name == ID_SLOT:
            keys = f"ids_of({keys}, {holder}._id_generation_column)"
        drawn = f"turn_order({keys}, _key)"
        if source.is_world:
            return [f"_order = {drawn}"]
        return [f"_rows = {rows}", f"_order = _rows[{drawn}]"]

    @property
    def _call(self) -> str:
        """The statements that call the function."""
        name, parameters = self.function.name, self.function.parameters
        passed = [parameter.passed for parameter in parameters]
        if self.is_plain:
            quiet = '    with np.errstate(all="ignore"):\n'
            return quiet + for_macro(call(name, passed, 12))
        if not self.takes_rows or self._program.sees_in_order:
            return for_macro(call(name, passed, 8))
        return "\n".join(
            [
                "    if _chosen is None:",
                for_macro(call(name, passed, 12)),
                "        return",
                "    _cells = ChosenCells(_chosen.rows)",
                for_macro(call(name, list(map(self._of_some, parameters)), 8)),
                "    _cells.put()",
            ]
        )

    def _of_some(self, parameter: Parameter) -> str:
        """The expression for a parameter where a call names rows."""
        passed, elements = parameter.passed, parameter.elements
        if parameter.name == self.function.count:
            return "_cells.count"
        if parameter.field is None:  # of other rows, or all
            return passed
        how = "written" if parameter.field.text in self._program.effects.writes else "read"
        return f"_cells.{how}({passed}{f', {elements}' if elements > 1 else ''})"


def function_text(
    name: str,
    parameters: Iterable[Parameter],
    docstring: str,
    body: str,
    compiled: str = "@kernel()",
    returns: str = "None",
) -> str:
    """A function of a module; Python itself runs one that nothing compiles."""
    head = call(f"def {name}", [one.declared for one in parameters], 0, f" -> {returns}:")
    lines = [head, f'    """{docstring}"""', body]
    return "\n".join([compiled, *lines] if compiled else lines)


def decorator(is_parallel: bool) -> str:
    """What compiles a function."""
    return f"@kernel({'parallel=True' if is_parallel else ''})"


def converted(arguments: Iterable[ArgumentSpelling], used: Set[str]) -> list[str]:
    """The statements that check arguments, and name those that are used."""
    return [
        f"{one.text} = {one.bare}" if one.name in used else one.checked
        for one in arguments
        if not one.each
    ]
