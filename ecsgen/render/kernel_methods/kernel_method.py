"""A kernel, those of a pass, or a reduction, as a method of a manager or of the world: its
arguments, its docstring, and what stands before either printer's loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ecsgen.kernels.statements import QueueSpawn
from ecsgen.model import Component, FusedKernels, Kernel, Reduction
from ecsgen.model.typed_tree import (
    Argument,
    Effects,
    FieldValue,
    Local,
    Neighbourhood,
    Program,
    Step,
)
from ecsgen.render.kernel_methods.arguments import make_argument_codes
from ecsgen.render.kernel_methods.row_sources import (
    ChunkSource,
    NeighbourJoin,
    RowSource,
    make_component_source,
)
from ecsgen.render.text.formatting import call, for_macro, sentence, tuple_type
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import WIDTH, docstring_text, literal

COMMANDS: Final = "_commands"
"""The variable with what deaths and births are noted in."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Texts of a module, none of them indented."""

    method: str
    """Of the manager, or of the world: with what it calls there."""
    function: str = ""
    """Of the module, if there is a loop: with what it calls."""
    data_method: str = ""
    """Of the component's columns, if these are cut into blocks that are kept."""
    constants: tuple[str, ...] = ()
    """Lines of the module."""


class KernelMethod(ABC):
    """What is the same whoever prints it."""

    def __init__(
        self, kernel: Kernel, source: RowSource | ChunkSource, asks: tuple[NeighbourJoin, ...] = ()
    ) -> None:
        self.kernel = kernel
        self.name = kernel.name
        self.bare_name = add_placeholder(kernel.name)
        self.source = source
        self.neighbour_joins = asks
        """Its neighbourhoods."""
        is_alone = len(asks) == 1 and asks[0].near.on is None
        self.single_join = asks[0] if is_alone else None
        """The only one, in a continuous space."""
        self.kernels: Sequence[Kernel] = (kernel,)
        """What runs, one after the other."""
        self._program = kernel.program
        self.arguments = make_argument_codes(source.combined_component.name, kernel)
        self.per_row_arguments = [argument for argument in self.arguments if argument.each]
        """Those with a value for each row."""
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

    def notes(self, kind: str, *count: str, births: Sequence[QueueSpawn]) -> str:
        """The statement that makes what deaths and births are noted in; `count`: how many rows
        run."""
        components = self.source.managers.components
        rows = tuple(components[name].module for name in self._program.mortal_rows)
        newborn = tuple(
            tuple(
                (components[one.component].module, tuple(name for name, _ in one.values))
                for one in bear.instances
            )
            for bear in births
        )
        given = ["self", *count, literal(rows), literal(newborn)]
        return call(f"{COMMANDS} = {kind}", given, 8).lstrip().replace("\n    ", "\n")

    @property
    def takes_rows(self) -> bool:
        """Whether a call can name rows: those of one component, in whatever order."""
        return not (self.kernel.over or self._program.runs_by_level)

    @property
    def function_docstring(self) -> str:
        """The docstring of the function that does the method's work."""
        return docstring_text(self.summary, WIDTH - 10)

    @property
    def docstring(self) -> str:
        """What it does, then fields, units and cost."""
        texts = [docstring_text(self.summary, WIDTH - 11), docstring_text(self._effects, WIDTH - 8)]
        texts += [docstring_text(text, WIDTH - 8) for text in self._inputs]
        return "\n\n".join(texts).replace("\n", "\n    ").replace("\n    \n", "\n\n")

    def text(self, statements: Iterable[str], end: str) -> str:
        """The method, with statements before its last ones, which are indented already."""
        head = f'{self.signature}\n    """{self.docstring}\n    """'
        return "\n".join([head, *(f"    {line}" for line in statements), end])

    @property
    def _effects(self) -> str:
        effects, turns = self._program.effects, self.kernel.turns
        which = "active rows" if self.rows == "_n_active" else "rows"
        reads, writes = self._with_units(effects.reads), self._with_units(effects.writes)
        given = fields_in_words(reads, effects.reads_referenced, writes, effects.sends)
        order = "at random" if turns == "random" else "in their order"
        given += [f"rows take turns {order}"] if turns else []
        given += ["draws random numbers"] if effects.draws else []
        given += [text for near in self._program.neighbourhoods for text in self._neighbours(near)]
        given += ["destroys"] if effects.destroys else []
        given += [f"spawns {', '.join(effects.spawns)}"] if effects.spawns else []
        given += [f"`{a.name}` is in {a.unit}" for a in self.arguments if a.unit]
        said = "; ".join(given)
        cost, pairs = "O(n)", self._program.neighbourhoods
        if pairs:
            cost = "O(n + pairs in reach)" if pairs[0].on else "O(n log n + pairs in reach)"
        change = "" if self._program.has_commands else "; no structural change"
        return f"{said[0].upper()}{said[1:]}. {cost}, n {which}{change}."

    def _neighbours(self, near: Neighbourhood) -> list[str]:
        """What is said of neighbours, and of the radius, which may be refused."""
        asks, nears = self._program.effects.reads_neighbours, self._program.neighbourhoods
        whom = ", of whom it" if len(nears) == 1 else "; of these it"
        read = f"{whom} reads {self._with_units(asks)}" if asks and near is nears[-1] else ""
        who = "neighbours"
        if near.on is not None:
            who = f"{near.on.occupant or near.on.grid} in reach ({near.on.hood})"
        match near.radius:
            case Argument(name=name):
                wanted = "from 0" if near.on is not None else "finite and above 0"
                wanted = f"`{name}` is {wanted}, or ValueError is raised"
                return [f"asks {who} within `{name}`{read}", wanted]
            case FieldValue(text=text):
                return [f"asks {who} within {text}{read}"]
        return [f"asks {who} within {near.radius:g}{read}"]

    @property
    def _inputs(self) -> list[str]:
        """What is to be said of arguments with a value per row, and of `rows`."""
        said = []
        if each := self.per_row_arguments:
            shapes = [f"`{a.name}` ({', '.join(['n', *map(str, a.type.shape)])})" for a in each]
            whole = "of as many entities" if self.kernel.over else "of all rows, or of those given"
            said.append(f"A value for each row: {', '.join(shapes)}, broadcast; n {whole}.")
        if self.takes_rows:
            said.append(
                "`rows`: only these, distinct and in this order, or a mask; StaleInstanceError for "
                "one that is not in use or given twice."
            )
        return said

    def _with_units(self, names: tuple[str, ...]) -> str:
        units = {field.name: field.unit for field in self.source.combined_component.fields}
        shown = (f"{n} [{units[n]}]" if units.get(n) else n for n in names)
        return ", ".join(shown)

    @property
    def key_lines(self) -> list[str]:
        """The statements that count the calls of kernels that draw random numbers."""
        is_one = len(self.kernels) == 1
        return [
            f'_key{"" if is_one else f"_{place}"} = self._next_call_key("{kernel.name}")'
            for place, kernel in enumerate(self.kernels)
            if kernel.program.stream_field is not None
        ]

    @property
    def chosen(self) -> str:
        """The expression for the rows that a call names."""
        bound = ", data._n_active" if self.rows == "_n_active" else ""
        return f"SelectedRows(self, rows{bound})"

    @property
    def choosing(self) -> list[str]:
        """The statements that check the rows that a call names, and the values for each row."""
        if not self.takes_rows:
            return []
        chosen = f"_chosen = None if rows is None else {self.chosen}"
        if not self.per_row_arguments:
            return [chosen]
        picked = [
            f"    {a.per_row_local} = {self._picked(a.per_row_local)}"
            for a in self.per_row_arguments
        ]
        return [
            "_before = data._version",
            chosen,
            "_count = data._n if _chosen is None else _chosen.count",
            *(a.each_line("_count", ["data._buffer"]) for a in self.per_row_arguments),
            "check_unchanged(_before, data._version)",
            "if _chosen is not None:",
            *picked,
        ]

    def _picked(self, values: str) -> str:
        """The expression for values of the rows that a call names, as its loop takes them."""
        return f"_chosen.of_each({values})"

    def radius_of(self, near: Neighbourhood) -> str:
        """The expression for how far those of a neighbourhood are, as converted."""
        radius = near.radius
        if not isinstance(radius, Argument):
            assert isinstance(radius, float)
            return literal(radius)
        return next(one.text for one in self.arguments if one.name == radius.name)


def fields_in_words(
    reads: str, others: Iterable[str], writes: str, sends: Iterable[str]
) -> list[str]:
    """What is done with fields, of the rows themselves and of others."""
    done = {"reads": reads, f"{'' if reads else 'reads '}of others": ", ".join(others)}
    done |= {"writes": writes, "sends to": ", ".join(sends)}
    return [f"{how} {fields}" for how, fields in done.items() if fields]


def merge_kernels(fused: FusedKernels) -> Kernel:
    """Return what stands for all kernels of a pass: their arguments and effects, no steps.

    It draws if one of them does.
    """
    kernels = fused.kernels
    arguments: dict[str, Argument] = {}
    for one in (one for kernel in kernels for one in kernel.program.arguments):
        arguments.setdefault(one.name, one)
    args = {name: (name, text, unit) for kernel in kernels for name, text, unit in kernel.args}
    writes = dict.fromkeys(name for kernel in kernels for name in kernel.program.effects.writes)
    who = next(
        (one.program.stream_field for one in kernels if one.program.stream_field is not None), None
    )
    effects = Effects(writes=tuple(writes))
    names = list(dict.fromkeys(f"`{kernel.name}`" for kernel in kernels))
    listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    return Kernel(
        fused.name,
        (),
        doc=f"Run {listed} block by block, as if one after the other",
        args=tuple(args[name] for name in arguments),
        rows=kernels[0].rows,
        over=kernels[0].over,
        program=Program(arguments=tuple(arguments.values()), stream_field=who, effects=effects),
    )


class FusedPassMethod(KernelMethod):
    """The method of a pass: over all rows, or the active ones; only schedules call it."""

    source: RowSource
    takes_rows = False

    def __init__(self, fused: FusedKernels, source: RowSource) -> None:
        super().__init__(merge_kernels(fused), source)
        self.kernels = fused.kernels
        self.bare_name = f"_{fused.name}"

    @property
    def _effects(self) -> str:
        return "Each block goes through all of them. O(n); no structural change."


_SAYS: Final = {
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
    """The method: of all rows, or of the active ones."""

    source: RowSource
    takes_rows = False

    def __init__(self, component: Component, reduction: Reduction) -> None:
        self.function, program = reduction.function, reduction.program
        self.value, self.where = program.value, program.where
        self.type = program.value.type
        """Of the values of which one is made."""
        self.is_choosy = program.where is not None
        """Whether it is of the rows that match."""
        self.is_zero = self.function in ("sum", "count")
        """Whether it is 0 without rows, and not NaN."""
        self.is_of_all = reduction.is_of_all
        """Whether it needs all values at once."""
        joined = "" if self.function == "count" else " of"
        where = f" where `{reduction.where}`" if reduction.where else ""
        doc = reduction.doc or f"{_SAYS[self.function]}{joined} `{reduction.expression}`{where}"
        step, reads = Step(Local(self.type, "value"), self.value), Effects(reads=program.reads)
        done = Program(where=self.where, steps=(step,), effects=reads)
        name, rows = reduction.name, reduction.rows
        kernel = Kernel(name, (), doc, where=reduction.where, rows=rows, program=done)
        super().__init__(kernel, make_component_source(component, kernel))
        self.accumulator = "f64" if self.function == "mean" else self.type.total
        """The type in which is added."""
        self.running = self.source.rows_expression if kernel.rows == "active" else "len(self)"
        """The expression for the number of rows that it looks at."""
        is_whole = self.function == "count" or (self.function == "sum" and not self.type.is_float)
        self.returns = tuple_type("int" if is_whole else "float", self.type.shape)
        """The annotation of the result."""

    @property
    def signature(self) -> str:
        return f"def {add_placeholder(self.name)}(self) -> {self.returns}:"

    @property
    def _effects(self) -> str:
        reads = self._program.effects.reads
        read = f"Reads {self._with_units(reads)}. " if reads else ""
        which = ", n active rows" if self.kernel.rows == "active" else ""
        without = "0" if self.is_zero else "NaN"
        added = f"Added in {self.accumulator}. " if self.function in ("sum", "mean") else ""
        if self.function in ("min", "max") and self.type.is_float:
            added = "NaN if one is NaN. "
        cost = "O(n log n)" if self.function == "gini" else "O(n)"
        return f"{read}{added}Without rows it is {without}. {cost}{which}."
