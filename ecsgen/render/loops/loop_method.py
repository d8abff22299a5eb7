"""Kernels as loops: functions of the module, and methods that call them; over rows, over blocks of
rows for several kernels, and over chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from textwrap import indent

from ecsgen.model import FusedKernels, Kernel
from ecsgen.model.typed_tree import SETTINGS, Argument, Constant
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import Constants
from ecsgen.render.kernel_methods.arguments import ArgumentCode, ReadSettingCode
from ecsgen.render.kernel_methods.kernel_method import (
    COMMANDS,
    FusedPassMethod,
    KernelMethod,
    Printed,
)
from ecsgen.render.kernel_methods.row_sources import ChunkSource, NeighbourJoin, RowSource
from ecsgen.render.loops.function_builder import Parameter
from ecsgen.render.loops.kernel_function import KernelFunction, function_text
from ecsgen.render.loops.scalar_code import USED, NameAllocator
from ecsgen.render.loops.sieve import evaluation_lines
from ecsgen.render.text.formatting import call, collection, for_macro
from ecsgen.render.text.quoting import literal

BLOCK = 1024
"""Rows of a block: still in the nearest cache when the next kernel comes to them."""


class LoopMethod(KernelMethod):
    """Kernel over the rows of a source, for numba or for Python itself."""

    source: RowSource

    def __init__(
        self,
        kernel: Kernel,
        source: RowSource,
        asks: tuple[NeighbourJoin, ...] = (),
        is_plain: bool = False,
    ) -> None:
        super().__init__(kernel, source, asks)
        self.function = KernelFunction(kernel, self, source, is_plain)
        self._constants = Constants()

    @property
    def printed(self) -> Printed:
        after = [self._keeping] if self.function.grown else []
        after += ["    _commands.apply()"] if self._program.has_commands else []
        after += self.clipping
        after += self._warning
        method = self.text(self._setup_lines, "\n".join([self._call, *after]))
        sieve, constants = self.function.sieve, list(self._constants.lines)
        if sieve:
            constants += sieve.constants.lines
        return Printed(method, self.function.text, constants=tuple(constants))

    @property
    def _keeping(self) -> str:
        """The statement that keeps arrays that the function has replaced by larger ones."""
        arrays = literal(tuple(self.function.grown.values()))
        return call("_commands.keep_grown", [arrays, "_grown"], 4)

    @property
    def _warning(self) -> list[str]:
        """The statement that warns of `while` loops that were cut off."""
        loops = self._program.whiles
        if not loops:
            return []
        owner = "" if self.source.is_world else f"{self.source.combined_component.name}."
        lines = literal(tuple(loop.text for loop in loops))
        arguments = [literal(f"{owner}{self.name}"), str(loops[0].at_most), lines, "_cut_off"]
        return [call("warn_of_cut_off", arguments, 4)]

    def _picked(self, values: str) -> str:
        if self._keeps_numbers:
            return f"_chosen.spread({values}, {self.data}._n)"
        return super()._picked(values)

    @property
    def _keeps_numbers(self) -> bool:
        """True if rows that a call names keep their numbers, and are not copied together."""
        return (
            self.function.is_plain or bool(self.function.chosen) or self._program.is_order_dependent
        )

    @property
    def _setup_lines(self) -> list[str]:
        selection, manager = self.row_selection_lines, self.source.managers.manager
        if not self.takes_rows:
            selection = self.source.each_lines(self.per_row_arguments, self._program.effects.writes)
        return [
            *_converted(self.inputs),
            *self._lookup_lines,
            *self._radius_lines,
            *(["self.levels()"] if self._program.runs_by_level else []),
            *selection,
            *self.key_lines,
            *self._order_lines,
            *self._command_lines,  # refuses a locked world, also where no row passes
            *(["if not len(_order):", "    return"] if self.function.sieve else []),
            *self._cell_list_lines,
            *(f"{table} = {expression}" for table, expression in self.function.tables.items()),
            *(f"{manager(name)}.data._cell_occupants.forget()" for name in self.function.moved),
        ]

    @property
    def _radius_lines(self) -> list[str]:
        """Statements that refuse arguments below 0 as radius on a grid."""
        texts = {argument.name: argument.text for argument in self.inputs}
        owner = "" if self.source.is_world else f"{self.source.combined_component.name}Manager."
        return [
            f"refuse_radius({literal(f'{owner}{join.label}')}, {texts[join.near.radius.name]})"
            for join in self.neighbour_joins
            if join.near.on is not None and isinstance(join.near.radius, Argument)
        ]

    @property
    def _command_lines(self) -> list[str]:
        if not self._program.has_commands:
            return []
        count = "len(_order)" if self.function.is_ordered else self.source.count
        spawns = self.function.spawns
        return self.command_buffer_statement("CommandBuffer.of", count, spawns=spawns).split("\n")

    @property
    def _lookup_lines(self) -> list[str]:
        """Statements that get the rows, and the candidates of neighbourhoods."""
        source = self.source
        lines = [line for join in self.neighbour_joins for line in self._join_lines(join)]
        if not source.is_world:
            return ["data = self.data", *lines]
        nears = [join.near for join in self.neighbour_joins]
        is_found = any(near.is_in_space or near.via is not None for near in nears)
        return lines if is_found else [f"{source.variable} = {source.rows_expression}", *lines]

    def _join_lines(self, join: NeighbourJoin) -> list[str]:
        """Return the statements that get the candidates of a neighbourhood; on a grid, its
        members."""
        members = self.function.neighbours[join.near.name].members
        if join.near.via is not None:
            other = list(join.sides)[-1]
            rows = (join.candidates.rows(name, other) for name in members)
            arrays = [
                f"{join.other_rows(n)} = member_row_array({r})"
                for n, r in zip(members, rows, strict=True)
            ]
            return [*join.network_lines(), *arrays]
        if not join.near.is_in_space:
            return join.met_anywhere(members) if members else []
        turns = self.function.frozen_neighbours is None
        radius = self.radius_of(join.near)
        if isinstance(join.near.radius, Argument):  # a number of Python in loops
            radius = f"{SCALARS[join.near.radius.type.scalar].numpy}({radius})"
        return join.search_lines(turns, members, radius)

    @property
    def _cell_list_lines(self) -> list[str]:
        """Statements that sort the candidates in spaces into cells."""
        cells = "live_cell_list" if self.function.frozen_neighbours is None else "neighbour_cells"
        lanes = ""
        if self.function.frozen_neighbours is not None and self.function.is_parallel:
            lanes = ", lanes=lane_count()"
        tags = (join.tag for join in self.neighbour_joins if join.near.is_in_space)
        return [f"_cells{tag} = {cells}(*_search_arguments{tag}{lanes})" for tag in tags]

    @property
    def _order_lines(self) -> list[str]:
        """Statements that compute the order of turns, or the rows that a call names."""
        if self.function.chosen:
            return ["_rows = ALL_ROWS if _chosen is None else _chosen.rows"]
        if not self.function.is_ordered:
            return []
        source, stream, sieve = self.source, self._program.stream_field, self.function.sieve
        sifting = sieve.lines(self.inputs, self.takes_rows) if sieve else []
        if self._program.turn_count is not None:
            return self._drawn_turn_lines(self._program.turn_count)
        if self._program.turn_key is not None:
            turn_key, inputs = self._program.turn_key, (self.inputs, self._constants)
            keys_of_rows = evaluation_lines(turn_key, "_turn_keys", source, *inputs, False)
            rows = ", None if _chosen is None else _chosen.rows" if self.takes_rows else ""
            rows = ", _order" if sifting else rows
            return [*sifting, *keys_of_rows, f"_order = order_by(_turn_keys{rows})"]
        if self.kernel.turns != "random":
            rows = " if _chosen is None else _chosen.rows" if self.takes_rows else ""
            return sifting or [f"_order = np.arange({source.count}){rows}"]
        assert stream is not None  # random turns have one
        picked = source.cell_selection(stream.owner) if source.is_world else f"[: {source.count}]"
        keys = source.managers.keys(stream, f"{picked}{'[_order]' if sifting else ''}")
        if sifting:
            return [*sifting, f"_order = _order[turn_order({keys}, _key)]"]
        return [f"_order = turn_order({keys}, _key{', _chosen' if self.takes_rows else ''})"]

    def _drawn_turn_lines(self, count: Argument | Constant) -> list[str]:
        """Return the statements that draw a row for each turn."""
        source = self.source
        owner, component = next(iter(source.components.items()))
        manager = source.managers.manager(owner)
        living = f"living_rows({manager}, {source.count}"
        if self.takes_rows:
            living += ", None if _chosen is None else _chosen.rows"
        if self.kernel.over and self.kernel.over != component.name:
            owners = f"owner_column({source.managers.data(owner)}){source.cell_selection(owner)}"
            living = f"living_positions({source.managers.entities}, {owners}"
        number = str(count.value) if isinstance(count, Constant) else self.function.passed(count)
        return [f"_order = drawn_turns({living}), {number}, _key)"]

    @property
    def _call(self) -> str:
        name, parameters = self.function.name, self.function.parameters
        if self.function.grown:
            name = f"_grown = {name}"
        around = ['np.errstate(all="ignore")'] if self.function.is_plain else []
        around += [COMMANDS] if self._program.keeps_handles else []
        if around:
            return f"    with {', '.join(around)}:\n{_call_text(name, parameters, 12)}"
        if not self.takes_rows or self._keeps_numbers:
            return _call_text(name, parameters)
        all_rows = f"    if _chosen is None:\n{_call_text(name, parameters, 12)}\n"
        picked = for_macro(call(name, [*map(self._selected_expression, parameters)], 8))
        picked = f"    _cells = SelectedCells(_chosen.rows)\n{picked}\n    _cells.put()"
        if self._warning:  # comes after either
            return f"{all_rows}    else:\n{indent(picked, ' ' * 4)}"
        return f"{all_rows}        return\n{picked}"

    def _selected_expression(self, parameter: Parameter) -> str:
        """Return the expression for a parameter where a call names rows."""
        passed, elements = parameter.passed, parameter.elements
        if parameter.name == self.function.count:
            return "_cells.count"
        if parameter.field is None:  # of other rows, or all
            return passed
        access = "written" if parameter.field.text in self._program.effects.writes else "read"
        return f"_cells.{access}({passed}{f', {elements}' if elements > 1 else ''})"


class LoopPassMethod(FusedPassMethod):
    """Loop over blocks that calls the functions of several kernels."""

    def __init__(self, fused: FusedKernels, source: RowSource) -> None:
        super().__init__(fused, source)
        self._functions = [KernelFunction(kernel, self, source) for kernel in fused.kernels]
        self._function = f"_{self.name}_pass"
        names = [function.name for function in self._functions]
        self._names = NameAllocator({*USED, *names, self._function})
        self._rows, self._start, self._end = map(self._names.allocate, ("n", "start", "end"))
        self._parameters: dict[str, Parameter] = {}
        """Parameters by the expression that the method passes."""

    @property
    def printed(self) -> Printed:
        name, source, rows, start = self._function, self.source, self._rows, self._start
        body = [
            f"for {start} in range(0, {rows}, {BLOCK}):",
            f"    {self._end} = min({start} + {BLOCK}, {rows})",
            *(self._call(index, each) for index, each in enumerate(self._functions)),
        ]
        count = Parameter(rows, "int", self._functions[0].parameters[0].passed)
        parameters = [count, *self._parameters.values()]
        function = function_text(name, parameters, self.function_docstring, body)
        lookup = f"{source.variable} = {source.rows_expression}"
        lookup = lookup if source.is_world else "data = self.data"
        statements = [*_converted(self.inputs), lookup, *self.key_lines]
        return Printed(self.text(statements, _call_text(name, parameters)), function)

    def _call(self, index: int, function: KernelFunction) -> str:
        arguments = []
        for parameter in function.parameters:
            passed = parameter.passed if parameter.passed != "_key" else f"_key_{index}"
            if parameter.name == function.count:
                arguments.append(f"{self._end} - {self._start}")
                continue
            known = self._parameters.get(passed)
            if known is None:
                name = self._names.allocate(parameter.name, f"{parameter.name}_{index}")
                known = self._parameters[passed] = replace(parameter, name=name, passed=passed)
            arguments.append(self._block_expression(function, known))
        return for_macro(call(function.name, arguments, 8))

    def _block_expression(self, function: KernelFunction, parameter: Parameter) -> str:
        if parameter.annotation == "RowArray":
            return f"rows_of_block({parameter.name}, {self._start}, {self._end})"
        if parameter.field is None or function.is_scattered:
            return parameter.name
        return parameter.between(self._start, self._end)


class ChunkLoop(KernelMethod):
    """Kernel over chunks: a loop over a chunk's rows, and one over all chunks around it."""

    source: ChunkSource

    def __init__(self, kernel: Kernel, source: ChunkSource) -> None:
        super().__init__(kernel, source)
        self._function = KernelFunction(kernel, self, source.of_one)
        take, array = self._function.names.allocate, "NDArray[np.intp]"
        self._chunk, self._starts = take("k"), take("starts")
        self._rows = Parameter(take("rows"), array, "_rows")
        self._addresses = Parameter(take("addresses"), array, "_addresses")
        self._sent = self._program.sent_settings
        self._is_parallel = kernel.parallel and not self._sent
        """True if chunks may run at once: messages arrive chunk by chunk, in their order."""

    @property
    def printed(self) -> Printed:
        function, chunks = self._function, f"_{self.name}_chunks"
        others = function.other_parameters.values()
        passed = [self._rows, self._addresses, *function.common, *others]
        title = f"Run `{function.name}` in chunks of so many rows, with columns at these addresses."
        over_chunks = function_text(chunks, passed, title, self._body, self._is_parallel)
        chunks_kept = f"self.archetypes.kernel_blocks.get({literal(self.name)})"
        statements = [
            *_converted(self.inputs),
            *self._copies,
            *self.source.each_lines(self.per_row_arguments),
            f"_chunks = {chunks_kept} or self._{self.name}_cells()",
            "_rows, _addresses = _chunks.current()",
            *self.key_lines,
        ]
        end = "\n".join([_call_text(chunks, passed), *self.clipping])
        method = self.text(statements, end)
        methods = "\n".join([method, "", *self._cells_method])
        return Printed(methods, f"{function.text}\n\n\n{over_chunks}")

    @property
    def _copies(self) -> list[str]:
        """Statements that copy settings of which only views are read: the rows of all chunks see
        them as they were before the first message."""
        sent = [f"{SETTINGS}.{name}" for name in self._sent]
        views = [read for read in self.reads if read.type.shape and read.name in sent]
        return [f"{read.text} = {read.text}.copy()" for read in views]

    @property
    def _body(self) -> list[str]:
        n, each = self._function.count, "prange" if self._is_parallel else "range"
        starts = f"{self._starts} = np.cumsum({self._rows.name}) - {self._rows.name}"
        start = f"{self._starts}[{self._chunk}]"
        arguments = [
            parameter.between(start, f"{start} + {n}") if parameter.elements else parameter.name
            for parameter in self._function.common
        ]
        for index, column in enumerate(self._function.row_columns.values()):
            address = f"{self._addresses.name}[{self._chunk}, {index}]"
            dtype = column.annotation.removeprefix("NDArray[").removesuffix("]")
            arguments.append(f"cells_at({address}, {column.times(n)}, {dtype})")
        arguments += [parameter.name for parameter in self._function.other_parameters.values()]
        return [
            *([starts] if self.per_row_arguments else []),
            f"for {self._chunk} in {each}(len({self._rows.name})):",
            f"    {n} = {self._rows.name}[{self._chunk}]",
            for_macro(call(self._function.name, [n, *arguments], 8)),
        ]

    @property
    def _cells_method(self) -> list[str]:
        fields = []
        for column in self._function.row_columns.values():
            assert column.field is not None  # each is of a field
            component, first = self.source.place(column.field)
            arguments = [literal(component), literal(first + column.part)]
            fields.append(call("ChunkField", arguments, 0))
        return [
            f"def _{self.name}_cells(self) -> ChunkAddresses:",
            f'    """Have the chunks looked up for `{self.name}`; what is found is kept."""',
            for_macro(collection("fields = ", fields, 8)),
            f"    found = ChunkAddresses({self.source.query}, fields)",
            f"    return found.keep({literal(self.name)})",
        ]


def _converted(arguments: Iterable[ArgumentCode]) -> list[str]:
    """Return the statements that check arguments, and convert them for loops; several settings are
    looked up together."""
    codes = [argument for argument in arguments if not argument.each]
    settings = [code for code in codes if isinstance(code, ReadSettingCode)]
    lines = []
    if len(settings) > 1:
        lines.append(f"_settings = {settings[0].row}")
        codes = [c.read_from("_settings") if isinstance(c, ReadSettingCode) else c for c in codes]
    return lines + [f"{code.text} = {code.loop_expression}" for code in codes]


def _call_text(name: str, parameters: Iterable[Parameter], indent: int = 8) -> str:
    return for_macro(call(name, [parameter.passed for parameter in parameters], indent))
