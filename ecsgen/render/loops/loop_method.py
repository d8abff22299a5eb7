"""Kernels as loops: a function of the module, and the method that calls it."""

from __future__ import annotations

from collections.abc import Set

from ecsgen.model import Kernel
from ecsgen.model.programs import ID_SLOT, OWN, Argument
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call, collection, for_macro
from ecsgen.render.kernels.arguments import ArgumentSpelling, is_local
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.methods import Method, Printed
from ecsgen.render.kernels.sources import Source
from ecsgen.render.loops.columns import Parameter
from ecsgen.render.loops.function import LoopFunction
from ecsgen.render.quoting import literal


class LoopKernel(Method):
    """A kernel over the rows of a source, for numba or for Python itself."""

    source: Source

    def __init__(
        self, kernel: Kernel, source: Source, asked: Asked | None = None, is_plain: bool = False
    ) -> None:
        super().__init__(kernel, source, asked)
        self.is_plain = is_plain
        self.function = LoopFunction(
            self._function_name,
            kernel,
            source,
            asked,
            is_ordered=self.is_ordered,
            names_rows=self.takes_rows,
            is_plain=is_plain,
        )

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        made = "" if self.is_plain else decorator(self.function.is_parallel)
        header = header_of(self.function.name, self.parameters)
        function = function_text(made, header, self.function_docstring, self.function.body)
        method = self.text(self._before, self._call)
        return Printed(method, function, constants=self._constants)

    @property
    def parameters(self) -> list[Parameter]:
        """What the function is given."""
        return self.function.parameters(self.spellings)

    @property
    def _function_name(self) -> str:
        """What the function is called; the world's module has functions of other names."""
        if self.source.is_world:
            return function_name(self, f"{self.name}_kernel")
        component = self.source.whole
        others = {one.name for one in component.kernels}
        return function_name(self, self.name, others | {one.name for one in component.reductions})

    # --- the method ------------------------------------------------------------------------------

    def _picked(self, values: str) -> str:
        if self._program.sees_in_order:
            return f"_chosen.spread({values}, data._n)"
        return super()._picked(values)

    @property
    def conversions(self) -> list[str]:
        """The statements that check the arguments."""
        near, used = self._program.near, {one.name for one in self.function.frame.arguments}
        if near is not None and isinstance(near.radius, Argument):
            used.add(near.radius.name)
        return converted(self.arguments, used)

    @property
    def is_ordered(self) -> bool:
        """Whether it is told whose turn it is, one by one."""
        in_rows = self.source.is_world and self.asked is None and self.kernel.turns == "rows"
        return self._program.takes_turns and not in_rows

    @property
    def _before(self) -> list[str]:
        """The statements before the call."""
        tables = self.function.frame.lookups.tables.items()
        return [
            *self.conversions,
            *self._finding,
            *(["self.levels()"] if self._program.climbs else []),
            *self._checking,
            *self.key_lines,
            *self._orders,
            *(f"{table} = {made}" for table, made in tables),
        ]

    @property
    def _finding(self) -> list[str]:
        """The statements that get the rows, and the cells in which those are who may be asked."""
        source, turns = self.source, self._program.takes_turns
        beginning = [] if source.is_world else ["data = self.data"]
        if self.asked is None:
            return beginning or [f"{source.variable} = {source.found}"]
        found = self.asked.finding(turns, self.function.frame.members, self._rounded_radius)
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
        if self.function.frame.chosen:
            return ["_rows = ALL_ROWS if _chosen is None else _chosen.rows"]
        if not self.is_ordered:
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
        name, parameters = self.function.name, self.parameters
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
        passed, frame = parameter.passed, self.function.frame
        if parameter.name == frame.count:
            return "_cells.count"
        if frame.columns.own.get(passed) is not parameter:  # of other rows, or all
            return passed
        cells = frame.columns.cells.get(passed)
        if cells is None:
            return passed
        how = "written" if cells.field.text in self._program.effects.writes else "read"
        elements = f", {cells.elements}" if cells.elements > 1 else ""
        return f"_cells.{how}({passed}{elements})"

    @property
    def _constants(self) -> tuple[str, ...]:
        """Large values above roots."""
        lines, above = [], dict(self._program.above_roots)
        for constant, name in self.function.frame.above_roots.items():
            field = self.source.field(OWN, name)
            values = collection("", [literal(one) for one in above[name]], 0)
            lines.append(
                f"{constant}: Final = np.array({values}, {SCALARS[field.type.scalar].numpy})"
            )
        return (*lines,)


def function_name(method: Method, name: str, others: Set[str] = frozenset()) -> str:
    """What a function is called behind an underscore: not as a local of the method that calls it;
    `others`: names that functions beside it have."""
    taken = {text for one in method.arguments for text in (one.text, one.whole)}
    is_bare = name == method.name  # no local of its own ends as other names of functions do
    if f"_{name}" in taken or (is_bare and is_local(name, method.kernel)):
        name += "_"
        while name in others or f"_{name}" in taken:
            name += "_"
    return f"_{name}"


def header_of(function: str, parameters: list[Parameter]) -> str:
    """The line that begins a function."""
    return call(f"def {function}", [one.declared for one in parameters], 0, " -> None:")


def decorator(is_parallel: bool) -> str:
    """What compiles a function."""
    return f"@kernel({'parallel=True' if is_parallel else ''})"


def converted(arguments: list[ArgumentSpelling], used: set[str]) -> list[str]:
    """The statements that check arguments, and name those that are used."""
    return [
        f"{one.text} = {_passed_as(one)}" if one.name in used else _checked(one)
        for one in arguments
        if not one.each
    ]


def _checked(argument: ArgumentSpelling) -> str:
    """The expression that checks an argument."""
    return f"{argument.constant}.one({argument.alone})"


def _passed_as(argument: ArgumentSpelling) -> str:
    """The expression for an argument as the function takes it.

    Large Python integers would be of another type than small ones.
    """
    text, dtype = _checked(argument), SCALARS[argument.type.scalar].numpy
    if argument.type.shape:
        return f"np.array({text}, {dtype}).reshape(-1)"
    return f"{dtype}({text})" if argument.type.scalar == "u64" else text


def function_text(decorator: str, header: str, docstring: str, body: str) -> str:
    """A function of a module, which may have no decorator."""
    lines = [header, f'    """{docstring}"""', body]
    return "\n".join([decorator, *lines] if decorator else lines)
