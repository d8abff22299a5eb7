"""A kernel as a compiled function, and the method that calls it with the columns."""

from __future__ import annotations

from typing import ClassVar

from ecsgen.model import Component, Kernel
from ecsgen.model.programs import Argument
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.arguments import ArgumentSpelling, is_local
from ecsgen.render.kernels.finding import OtherManagers
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.turns import order_text
from ecsgen.render.numba.fields import OneComponent, Parameter
from ecsgen.render.numba.looped import LoopMethod
from ecsgen.render.numba.loops import Loop
from ecsgen.render.quoting import literal


class CompiledKernel(LoopMethod):
    """A kernel as its template lays it out."""

    is_plain: ClassVar[bool] = False
    """Whether Python itself runs its loop."""

    def __init__(self, component: Component, kernel: Kernel) -> None:
        super().__init__(component, kernel)
        self.loop = self._looped()

    def _looped(self) -> Loop:
        """The loop over the rows."""
        given = OneComponent(self._component), self._own_name, self._program
        names_rows = bool(self._program.effects.sends) and self.takes_rows and not self.is_ordered
        loop = Loop(*given, managers=self._managers, is_plain=self.is_plain, names_rows=names_rows)
        loop.write_steps()
        return loop

    def _picked(self, values: str) -> str:
        if self._program.sees_in_order:
            return f"_chosen.spread({values}, data._n)"
        return super()._picked(values)

    @property
    def _managers(self) -> OtherManagers:
        """Where rows are that it refers to."""
        return OtherManagers({self._component.name: self._component}, False)

    @property
    def is_scattered(self) -> bool:
        """Whether it is told rows one by one."""
        return False

    @property
    def climbs(self) -> bool:
        """Whether parents must come before their children."""
        return self._program.climbs

    # --- the function ----------------------------------------------------------------------------

    @property
    def decorator(self) -> str:
        return "" if self.is_plain else decorator(self.is_parallel)

    @property
    def is_parallel(self) -> bool:
        """Whether rows are shared out among the cores; not levels of a hierarchy, nor where rows
        or messages come one after the other."""
        alone = not (self.climbs or self._program.effects.sends or self._program.takes_turns)
        return self.kernel.parallel and alone

    @property
    def _own_name(self) -> str:
        """What the function is called behind its underscore: not as a local of the method is."""
        name = self.name
        texts = {argument.text for argument in self.arguments}
        if is_local(name, self.kernel) or f"_{name}" in texts:
            component = self._component
            others = {one.name for one in component.kernels}
            others |= {one.name for one in component.reductions}
            while name in others or f"_{name}" in texts:
                name += "_"
        return name

    @property
    def function(self) -> str:
        """What the function is called."""
        return f"_{self._own_name}"

    @property
    def header(self) -> str:
        declared = [parameter.declared for parameter in self.parameters]
        return call(f"def {self.function}", declared, 0, " -> None:")

    @property
    def parameters(self) -> list[Parameter]:
        fields, others = self.loop.fields.parameters, self.loop.others.parameters
        return [*self._which, *self._common, *fields.values(), *others.values()]

    @property
    def _common(self) -> list[Parameter]:
        """The parameters that are the same for every row: arguments, and the key of draws."""
        loop = self.loop
        arguments = [self._argument(argument, name) for argument, name in loop.arguments.items()]
        key = [Parameter(loop.key, "np.uint64", "_key")] if loop.key else []
        return [*arguments, *key]

    @property
    def _which(self) -> list[Parameter]:
        """The parameters that say which rows there are."""
        rows = [Parameter(self.loop.rows, "int", f"data.{self.rows}")]
        if self.is_ordered:
            return [self._order]
        if self.loop.chosen:
            count = f"data.{self.rows} if _chosen is None else len(_rows)"
            chosen = Parameter(self.loop.chosen, "RowArray", "_rows")
            return [Parameter(self.loop.rows, "int", count), chosen]
        if not self.climbs:
            return rows
        order = Parameter(self.loop.order, "RowArray", "self._levels.rows")
        return [*rows, order] if self.is_partial else [order]

    @property
    def is_ordered(self) -> bool:
        """Whether it is told whose turn it is, one by one."""
        return self._program.takes_turns and not (self.kernel.over and self.kernel.turns == "rows")

    @property
    def _order(self) -> Parameter:
        """The parameter with the rows as they take turns."""
        return Parameter(self.loop.order, "RowArray", "_order")

    @property
    def is_partial(self) -> bool:
        """Whether some rows of a hierarchy are left out."""
        return self.rows == "_n_active"

    def _argument(self, argument: Argument, name: str) -> Parameter:
        type_ = argument.type
        annotation = "float" if type_.is_float else "bool" if type_.is_bool else "int"
        if type_.shape or type_.scalar == "u64":
            annotation = SCALARS[type_.scalar].numpy
        if type_.shape:
            annotation = f"NDArray[{annotation}]"
        spelling = next(one for one in self.arguments if one.name == argument.name)
        text = spelling.whole if argument.each else spelling.text
        if argument.each:
            annotation = f"NDArray[{SCALARS[type_.scalar].numpy}]"
            return Parameter(name, annotation, f"flat_cells({text})")
        return Parameter(name, annotation, text)

    @property
    def body(self) -> str:
        """The function's statements."""
        return "\n".join(f"    {line}" for line in (*self.loop.setup, *self._lines(self.loop)))

    def _lines(self, loop: Loop) -> list[str]:
        """A loop, and the working memory of its rows."""
        pad, arrays = " " * 4, loop.emit.arrays
        head = f"for {loop.fields.row} in {'p' if self.is_parallel else ''}range({loop.count}):"
        if self.climbs or self.is_ordered:
            head = f"for {loop.fields.row} in {loop.order}:"
        if loop.chosen:
            head = loop.head
        lines = [head] if self.is_parallel else [*arrays, head]
        if self.climbs and self.is_partial:
            lines += [f"{pad}if {loop.fields.row} >= {loop.rows}:", f"{pad}    continue"]
        inside = [*(arrays if self.is_parallel else ()), *loop.fields.preamble, *loop.emit.lines]
        inside = [*loop.named_row, *inside]
        return [*lines, *(pad + line for line in inside), *loop.delivery]

    # --- the method ------------------------------------------------------------------------------

    @property
    def before(self) -> list[str]:
        """The statements before a call is counted."""
        return ["self.levels()"] if self.climbs else []

    @property
    def conversions(self) -> list[str]:
        """The statements that check the arguments."""
        used = self._used
        return [
            f"{one.text} = {passed_as(one)}" if one.name in used else checked(one)
            for one in self.arguments
            if not one.each
        ]

    @property
    def _used(self) -> set[str]:
        """The arguments that the method needs by name."""
        return {argument.name for argument in self.loop.arguments}

    @property
    def orders(self) -> list[str]:
        """The statements that find out whose turn it is when, or which rows a call names."""
        if self.loop.chosen:
            return ["_rows = ALL_ROWS if _chosen is None else _chosen.rows"]
        if not self.is_ordered:
            return []
        rows = f"np.arange(data.{self.rows}) if _chosen is None else _chosen.rows"
        if self.kernel.turns == "rows":
            return [f"_order = {rows}"]
        assert self._program.who is not None
        order = order_text(self._program.who, "data", "[_rows]")
        return [f"_rows = {rows}", f"_order = _rows[{order}]"]

    @property
    def tables(self) -> list[str]:
        """The statements that find the order of turns, and make tables to look rows up in."""
        tables = self.loop.others.tables.items()
        return [*self.orders, *(f"{table} = {made}" for table, made in tables)]

    @property
    def run(self) -> str:
        """The statements that call the function."""
        passed = [parameter.passed for parameter in self.parameters]
        if not self.takes_rows or self._program.sees_in_order:
            return for_macro(call(self.function, passed, 8))
        return "\n".join(
            [
                "    if _chosen is None:",
                for_macro(call(self.function, passed, 12)),
                "        return",
                "    _cells = ChosenCells(_chosen.rows)",
                for_macro(call(self.function, list(map(self._of_some, self.parameters)), 8)),
                "    _cells.put()",
            ]
        )

    def _of_some(self, parameter: Parameter) -> str:
        """The expression for a parameter where a call names rows."""
        passed = parameter.passed
        if parameter.name == self.loop.rows:
            return "_cells.count"
        if self.loop.fields.parameters.get(passed) is not parameter:  # of other rows, or all
            return passed
        if passed not in self.loop.fields.columns:
            return passed
        field, elements = self.loop.fields.columns[passed]
        how = "written" if field.text in self._program.effects.writes else "read"
        return f"_cells.{how}({passed}{f', {elements}' if elements > 1 else ''})"

    @property
    def constants(self) -> list[str]:
        """Large values above roots."""
        lines = []
        for name, (scalar, elements) in self.loop.fields.constants.items():
            values = collection("", [literal(one) for one in elements], 0)
            lines.append(f"{name}: Final = np.array({values}, {SCALARS[scalar].numpy})")
        return lines


def decorator(is_parallel: bool) -> str:
    """What compiles a function."""
    return f"@kernel({'parallel=True' if is_parallel else ''})"


def checked(argument: ArgumentSpelling) -> str:
    """Return the expression that checks an argument."""
    return f"{argument.constant}.one({argument.alone})"


def passed_as(argument: ArgumentSpelling) -> str:
    """The expression for an argument as the function takes it.

    Large Python integers would be of another type than small ones.
    """
    text, dtype = checked(argument), SCALARS[argument.type.scalar].numpy
    if argument.type.shape:
        return f"np.array({text}, {dtype}).reshape(-1)"
    return f"{dtype}({text})" if argument.type.scalar == "u64" else text
