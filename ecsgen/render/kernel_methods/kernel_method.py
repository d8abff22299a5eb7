"""Methods of kernels, passes and reductions: arguments, docstring, statements before the loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ecsgen.kernels.statements import QueueSpawn
from ecsgen.model import SETTINGS, Component, FusedKernels, Kernel, Reduction, Setting
from ecsgen.model.typed_program import Effects, Program
from ecsgen.model.typed_tree import OWN, Argument, FieldValue, Local, Neighbourhood, Step
from ecsgen.policies.index import is_indexed
from ecsgen.render.kernel_methods.arguments import make_argument_codes, make_read_codes
from ecsgen.render.kernel_methods.row_sources import (
    ChunkSource,
    NeighbourJoin,
    RowSource,
    make_component_source,
)
from ecsgen.render.text.formatting import (
    call,
    call_line,
    docstring_lines,
    for_macro,
    sentence,
    tuple_type,
)
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import WIDTH, docstring_text, literal

COMMANDS: Final = "_commands"
"""Variable with the buffer of despawns and spawns."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Texts of a module, none of them indented."""

    method: str
    """Method of the manager or the world, with the methods that it calls."""
    function: str = ""
    """Function of the module, if there is a loop, with the functions that it calls."""
    data_method: str = ""
    """Method of the component's columns, if their blocks are kept."""
    constants: tuple[str, ...] = ()
    """Lines of the module."""


class KernelMethod(ABC):
    """Method of a kernel, with what both printers share."""

    def __init__(
        self, kernel: Kernel, source: RowSource | ChunkSource, joins: tuple[NeighbourJoin, ...] = ()
    ) -> None:
        self.kernel = kernel
        self.name = kernel.name
        self.bare_name = add_placeholder(kernel.method)
        self.source = source
        self.neighbour_joins = joins
        """Neighbourhoods of the kernel."""
        is_single = len(joins) == 1 and joins[0].near.makes_pairs
        self.single_join = joins[0] if is_single else None
        """Neighbourhood of the kernel if it is the only one, and numpy can look at all pairs."""
        self.kernels: Sequence[Kernel] = (kernel,)
        """Kernels that run one after the other."""
        self._program = kernel.program
        self.arguments = make_argument_codes(source.combined_component.name, kernel)
        self.reads = make_read_codes(self._program, source.managers.manager, self.arguments)
        """Reductions and settings, which are read once per call."""
        self.inputs = [*self.arguments, *self.reads]
        """Values that are converted once per call."""
        self.per_row_arguments = [argument for argument in self.arguments if argument.each]
        """Arguments with a value for each row."""
        self.summary = sentence(kernel.doc or f"Run the kernel `{self.name}` over the rows")
        self.rows = "_n_active" if kernel.rows == "active" else "_n"

    @property
    @abstractmethod
    def printed(self) -> Printed:
        """The texts of the module."""

    @property
    def signature(self) -> str:
        parameters = ["self", *(argument.parameter for argument in self.arguments)]
        if self.takes_rows:
            parameters += ["*", "rows: ArrayLike | None = None"]
        return for_macro(call(f"def {self.bare_name}", parameters, 4, " -> None:"))

    def command_buffer_statement(self, kind: str, *count: str, spawns: Sequence[QueueSpawn]) -> str:
        """Return the statement that makes the command buffer; `count`: how many rows run."""
        components = self.source.managers.components
        rows = tuple(components[name].module for name in self._program.components_with_row_despawns)
        spawned = tuple(
            tuple(
                (components[instance.component].module, tuple(name for name, _ in instance.values))
                for instance in spawn.instances
            )
            for spawn in spawns
        )
        arguments = ["self", *count, literal(rows), literal(spawned)]
        kinds = tuple(spawn.kind for spawn in spawns)
        homes = []
        if self._program.keeps_handles:
            homes = [home for spawn in spawns for home in spawn.homes(components)]
        bundles = tuple(spawn.bundle for spawn in spawns)
        arguments += [literal(kinds)] if any(bundles) or homes or {*kinds} - {"spawn"} else []
        arguments += [literal(tuple(dict.fromkeys(homes)))] if any(bundles) or homes else []
        arguments += [literal(bundles)] if any(bundles) else []
        return call_line(f"{COMMANDS} = {kind}", arguments, 8)

    @property
    def takes_rows(self) -> bool:
        """True if a call can name rows: those of one component, in any order."""
        return self.kernel.takes_rows(self.source.components)

    @property
    def manager(self) -> str:
        """Expression for the manager of the rows that a call names."""
        return self.source.managers.manager(self.kernel.over or OWN)

    @property
    def data(self) -> str:
        """Expression for the columns of the rows that a call names."""
        return self.source.managers.data(self.kernel.over or OWN)

    @property
    def function_docstring(self) -> str:
        """Docstring of the function that does the method's work."""
        return docstring_text(self.summary, WIDTH - 10)

    @property
    def docstring(self) -> str:
        """Docstring: summary, then fields, units and cost."""
        texts = [docstring_text(self.summary, WIDTH - 11), docstring_text(self._effects, WIDTH - 8)]
        texts += [docstring_text(text, WIDTH - 8) for text in self._inputs]
        return docstring_lines(texts)

    def text(self, statements: Iterable[str], end: str) -> str:
        """Return the method: its statements, then `end`, which is indented already."""
        head = f'{self.signature}\n    """{self.docstring}\n    """'
        lines = [*self._forgetting_lines, *statements]
        return "\n".join([head, *(f"    {line}" for line in lines), end])

    @property
    def clipping(self) -> list[str]:
        """The statement that holds the settings that got messages within their bounds."""
        sent = self._program.sent_settings if not self._program.takes_turns else ()
        fields = self.source.managers.components[SETTINGS].fields if sent else ()
        bounds = {f.name: (f.low, f.high) for f in fields if isinstance(f, Setting)}
        names = [literal(name) for name in sent if bounds[name] != (None, None)]
        return [call("self.settings._clip", names, 4)] if names else []

    @property
    def _forgetting_lines(self) -> list[str]:
        """Statements that let indexes and networks forget what the kernels are going to write."""
        effects = [kernel.program.effects for kernel in self.kernels]
        managers, lines = self.source.managers, dict[str, None]()
        for text in (text for each in effects for text in (*each.writes, *each.sends)):
            owner, _, name = text.rpartition(".")
            component = managers.components.get(owner or managers.home)
            if component is None:  # settings
                continue
            data = f"{managers.manager(component.name)}.data"
            if is_indexed(component, name):
                lines[f"{data}._forget_index({literal(name)})"] = None
            if component.network is not None and name in component.network.ends:
                lines[f"{data}.link_index.writes += 1"] = None
        return list(lines)

    @property
    def _effects(self) -> str:
        effects, turns = self._program.effects, self.kernel.turns
        which = "active rows" if self.rows == "_n_active" else "rows"
        reads, writes = self._with_units(effects.reads), self._with_units(effects.writes)
        values = [f"{value.name}()" for value in self._program.reduced]
        values += [value.name for value in self._program.settings]
        reads = ", ".join(filter(None, (reads, *values)))
        parts = fields_in_words(reads, effects.reads_referenced, writes, effects.sends)
        parts += [_turns_in_words(self.kernel)] if turns else []
        parts += ["draws random numbers"] if effects.draws else []
        parts += [text for near in self._program.neighbourhoods for text in self._neighbours(near)]
        parts += effects.commands_in_words
        parts += [f"`{a.name}` is in {a.unit}" for a in self.arguments if a.unit]
        effects_text = "; ".join(parts)
        cost, pairs = "O(n)", self._program.neighbourhoods
        if pairs:
            cost = "O(n + pairs in reach)" if pairs[0].on else "O(n log n + pairs in reach)"
            cost = "O(n + links)" if pairs[0].via else cost
        change = "" if self._program.has_commands else "; no structural change"
        return f"{effects_text[0].upper()}{effects_text[1:]}. {cost}, n {which}{change}."

    def _neighbours(self, near: Neighbourhood) -> list[str]:
        """Return the text on neighbours, and on the radius, which may be rejected."""
        asks, nears = self._program.effects.reads_neighbours, self._program.neighbourhoods
        whom = ", of whom it" if len(nears) == 1 else "; of these it"
        read = f"{whom} reads {self._with_units(asks)}" if asks and near is nears[-1] else ""
        candidates = "neighbours"
        if near.on is not None:
            candidates = f"{near.on.occupant or near.on.grid} in reach ({near.on.hood})"
        if near.via is not None:
            leads = "from" if near.via.back else "to"
            return [f"asks those {leads} whom links of {near.via.component} lead{read}"]
        match near.radius:
            case Argument(name=name):
                wanted = "from 0" if near.on is not None else "finite and above 0"
                wanted = f"`{name}` is {wanted}, or ValueError is raised"
                return [f"asks {candidates} within `{name}`{read}", wanted]
            case FieldValue(text=text):
                return [f"asks {candidates} within {text}{read}"]
            case None:
                return [f"asks all rows of {near.among}{read}"]
        return [f"asks {candidates} within {near.radius:g}{read}"]

    @property
    def _inputs(self) -> list[str]:
        """Texts on arguments with a value per row, and on `rows`."""
        texts = []
        if each := self.per_row_arguments:
            shapes = [f"`{a.name}` ({', '.join(['n', *map(str, a.type.shape)])})" for a in each]
            count = "of as many entities"
            if self.takes_rows:
                count = f"of all {'' if not self.kernel.over else 'these '}rows, or of those given"
            texts.append(f"A value for each row: {', '.join(shapes)}, broadcast; n {count}.")
        if self.takes_rows:
            which, wrong = "only these, distinct and in this order", " or given twice"
            if self._program.takes_given_turns:
                which, wrong = "the row of each turn, any number of times", ""
            texts.append(
                f"`rows`: {which}, or a mask; StaleInstanceError for one that is not in use{wrong}."
            )
        return texts

    def _with_units(self, names: tuple[str, ...]) -> str:
        units = {field.name: field.unit for field in self.source.combined_component.fields}
        shown = (f"{n} [{units[n]}]" if units.get(n) else n for n in names)
        return ", ".join(shown)

    @property
    def key_lines(self) -> list[str]:
        """Statements that count the calls of kernels that draw random numbers."""
        is_one = len(self.kernels) == 1
        return [
            f'_key{"" if is_one else f"_{index}"} = self._next_call_key("{kernel.name}")'
            for index, kernel in enumerate(self.kernels)
            if kernel.program.stream_field is not None
        ]

    @property
    def chosen(self) -> str:
        """Expression for the rows that a call names."""
        if self._program.takes_given_turns:
            return f"SelectedRows({self.manager}, rows, may_repeat=True)"
        is_of_active = self.rows == "_n_active"
        if self.kernel.over:
            is_of_active = bool(self.source.components[self.kernel.over].partition)
        bound = f", {self.data}._n_active" if is_of_active else ""
        return f"SelectedRows({self.manager}, rows{bound})"

    @property
    def row_selection_lines(self) -> list[str]:
        """Statements that check the rows that a call names, and the values for each row."""
        if not self.takes_rows:
            return []
        chosen = [f"_chosen = None if rows is None else {self.chosen}"]
        if leaves_holes_out(self.kernel, self.source.has_holes, self.source.is_world):
            chosen = [f"rows = rows_without_holes({self.manager}, rows)", *chosen]
        if not self.per_row_arguments:
            return chosen
        each = [argument.per_row_local for argument in self.per_row_arguments]
        picked = [f"    {values} = {self._picked(values)}" for values in each]
        data, source, count = self.data, self.source, "data._n"
        if isinstance(source, RowSource) and source.is_world:
            count = source.count
        return [
            f"_before = {data}._version",
            *chosen,
            f"_count = {count} if _chosen is None else _chosen.count",
            *(a.each_line("_count", [f"{data}._buffer"]) for a in self.per_row_arguments),
            f"check_unchanged(_before, {data}._version)",
            *([] if self._program.takes_given_turns else ["if _chosen is not None:", *picked]),
        ]

    def _picked(self, values: str) -> str:
        """Return the expression for the values of the rows that a call names."""
        return f"_chosen.of_each({values})"

    def radius_of(self, near: Neighbourhood) -> str:
        """Return the expression for the converted radius of a neighbourhood."""
        radius = near.radius
        if not isinstance(radius, Argument):
            assert isinstance(radius, float)
            return literal(radius)
        return next(code.text for code in self.inputs if code.name == radius.name)


def leaves_holes_out(kernel: Kernel, has_holes: bool, is_world: bool) -> bool:
    """Return whether only rows in use have turns and values, not the holes between them."""
    has_values = is_world and any(argument.each for argument in kernel.program.arguments)
    return has_holes and (kernel.program.takes_given_turns or has_values)


def _turns_in_words(kernel: Kernel) -> str:
    if kernel.turns == "drawn":
        return f"takes {kernel.turns_of} turns, each of a random row"
    orders = {"random": "at random", "rows": "in their order", "by": f"by {kernel.turns_of}"}
    orders["given"] = "as `rows` has them"
    return f"rows take turns {orders[kernel.turns]}"


def fields_in_words(
    reads: str, others: Iterable[str], writes: str, sends: Iterable[str]
) -> list[str]:
    """Return which fields are read, written and sent to, in words."""
    done = {"reads": reads, f"{'' if reads else 'reads '}of others": ", ".join(others)}
    done |= {"writes": writes, "sends to": ", ".join(sends)}
    return [f"{how} {fields}" for how, fields in done.items() if fields]


def merge_kernels(fused: FusedKernels) -> Kernel:
    """Return a kernel with the arguments and effects of all kernels of a pass, and no steps."""
    kernels = fused.kernels
    arguments: dict[str, Argument] = {}
    for argument in (argument for kernel in kernels for argument in kernel.program.arguments):
        arguments.setdefault(argument.name, argument)
    args = {name: (name, text, unit) for kernel in kernels for name, text, unit in kernel.args}
    writes = dict.fromkeys(name for kernel in kernels for name in kernel.program.effects.writes)
    stream_field = next(filter(None, (kernel.program.stream_field for kernel in kernels)), None)
    effects = Effects(writes=tuple(writes))
    settings = (setting for kernel in kernels for setting in kernel.program.settings)
    names = list(dict.fromkeys(f"`{kernel.name}`" for kernel in kernels))
    listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    return Kernel(
        fused.name,
        (),
        doc=f"Run {listed} block by block, as if one after the other",
        args=tuple(args[name] for name in arguments),
        rows=kernels[0].rows,
        over=kernels[0].over,
        program=Program(
            arguments=tuple(arguments.values()),
            reduced=kernels[0].program.reduced,
            settings=tuple(dict.fromkeys(settings)),
            stream_field=stream_field,
            effects=effects,
        ),
    )


class FusedPassMethod(KernelMethod):
    """Method of a pass over all rows, or the active ones; only schedules call it."""

    source: RowSource
    takes_rows = False

    def __init__(self, fused: FusedKernels, source: RowSource) -> None:
        super().__init__(merge_kernels(fused), source)
        self.kernels = fused.kernels
        self.bare_name = f"_{fused.name}"

    @property
    def _effects(self) -> str:
        return "Each block goes through all of them. O(n); no structural change."


_SUMMARIES: Final = {
    "sum": "Return the sum",
    "mean": "Return the mean",
    "min": "Return the smallest",
    "max": "Return the largest",
    "count": "Return in how many rows",
    "std": "Return the standard deviation",
    "median": "Return the median",
    "gini": "Return the Gini coefficient",
}


class ReductionMethod(KernelMethod):
    """Method of a reduction of all rows, or of the active ones."""

    source: RowSource
    takes_rows = False

    def __init__(self, component: Component, reduction: Reduction) -> None:
        self.function, program = reduction.function, reduction.program
        self.value, self.where = program.value, program.where
        self.type = program.value.type
        """Type of the values that are reduced."""
        self.counts_some_rows = program.where is not None
        """True if only rows that match are reduced."""
        self.is_zero_of_none = self.function in ("sum", "count")
        """True if the result without rows is 0, not NaN."""
        self.is_of_all = reduction.is_of_all
        """True if the function needs all values at once."""
        preposition = "" if self.function == "count" else " of"
        where = f" where `{reduction.where}`" if reduction.where else ""
        summary = f"{_SUMMARIES[self.function]}{preposition} `{reduction.expression}`{where}"
        doc = reduction.doc or summary
        program_of_value = Program(
            reduced=program.reduced,
            settings=program.settings,
            where=self.where,
            steps=(Step(Local(self.type, "value"), self.value),),
            effects=Effects(reads=program.reads),
        )
        name, rows = reduction.name, reduction.rows
        kernel = Kernel(name, (), doc, where=reduction.where, rows=rows, program=program_of_value)
        super().__init__(kernel, make_component_source(component, kernel))
        self.accumulator = "f64" if self.function == "mean" else self.type.total
        """Type of sums."""
        self.running = self.source.rows_expression if kernel.rows == "active" else "len(self)"
        """Expression for the number of rows that are read."""
        is_whole = self.function == "count" or (self.function == "sum" and not self.type.is_float)
        self.returns = tuple_type("int" if is_whole else "float", self.type.shape)
        """Annotation of the result."""

    @property
    def signature(self) -> str:
        return f"def {add_placeholder(self.name)}(self) -> {self.returns}:"

    @property
    def _effects(self) -> str:
        reads = self._program.effects.reads
        read = f"Reads {self._with_units(reads)}. " if reads else ""
        which = ", n active rows" if self.kernel.rows == "active" else ""
        without = "0" if self.is_zero_of_none else "NaN"
        added = f"Added in {self.accumulator}. " if self.function in ("sum", "mean") else ""
        if self.function in ("min", "max") and self.type.is_float:
            added = "NaN if one is NaN. "
        cost = "O(n log n)" if self.function == "gini" else "O(n)"
        return f"{read}{added}Without rows it is {without}. {cost}{which}."
