"""A kernel as a method of a manager: its arguments, the blocks it runs over, its loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from textwrap import indent
from types import MappingProxyType
from typing import ClassVar

from ecsgen.model import Component, Kernel
from ecsgen.model.programs import Cast, Expression, FieldValue, Operation, walk
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call, collection, exploded
from ecsgen.render.kernels.finding import OtherManagers
from ecsgen.render.kernels.method import Method, for_macro
from ecsgen.render.kernels.printed import Printed
from ecsgen.render.numpy.constants import Constants
from ecsgen.render.numpy.statements import Statements
from ecsgen.render.numpy.ufuncs import COMPLAINING
from ecsgen.render.numpy.values import Layout, Slot
from ecsgen.render.numpy.views import FieldViews, Views
from ecsgen.render.quoting import WIDTH, literal


class KernelMethod(Method):
    """A kernel as its template lays it out."""

    is_plain: ClassVar[bool] = False
    """Whether it is a loop over rows."""

    def __init__(self, component: Component, kernel: Kernel) -> None:
        super().__init__(component, kernel)
        self._views = self._seen()
        arguments = {argument.name: argument.text for argument in self.arguments}
        self._constants = self._kept_constants()
        indent = self.loop_indent + 4
        self.statements = Statements(
            self._program,
            self._views,
            arguments,
            indent,
            " ".join(kernel.where.split()),
            self._managers(),
            self._constants,
            self._handles_of_all,
        )

    def _kept_constants(self) -> Constants | None:
        """Where numbers go that stay the same; None if the module has no place for them."""
        return Constants()

    def _handles_of_all(self, field: FieldValue) -> str:
        """The expression for a field of all rows, in the order of the blocks, if that is known."""
        return ""

    def _seen(self) -> Views:
        """How fields are seen."""
        return FieldViews(self._component)

    def _managers(self) -> OtherManagers:
        """Where rows are that it refers to."""
        return OtherManagers({self._component.name: self._component}, False)

    @cached_property
    def is_quiet(self) -> bool:
        """Whether floating point warnings must be off: some operation may well cause one."""
        return any(
            _complains(node, self.has_holes) for one in self._expressions for node in walk(one)
        )

    @property
    def has_holes(self) -> bool:
        """Whether there are rows that are not in use, with whatever was there before."""
        return self._component.lookup == "direct"

    @property
    def _expressions(self) -> list[Expression]:
        where = self._program.where
        steps = [step.value for step in self._program.steps]
        return [where, *steps] if where is not None else steps

    @property
    def loop_indent(self) -> int:
        return 12 if self.is_quiet else 8

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        statements = [*self.conversions, *self._of_data, *self.lookup, *self.views, *self.key_lines]
        return Printed(
            self.text(statements, self._loop),
            data_method=self._cut,
            constants=(*self.constants,),
        )

    @property
    def _of_data(self) -> list[str]:
        """The statements that get a component's columns, and check which rows a call names."""
        return ["data = self.data", *(self.choosing if self.each else [])]

    @property
    def _loop(self) -> str:
        """The loop, quiet if it must be."""
        return f'    with np.errstate(all="ignore"):\n{self.body}' if self.is_quiet else self.body

    @property
    def _cut(self) -> str:
        """The method that cuts the blocks."""
        said = f"Cut the columns of `{self.name}` into blocks; {self.good}."
        head = f"def _{self.name}_blocks({self.cut_parameters}) -> {self.made}:"
        return f'{head}\n    """{said}"""\n{self.cut_text}'

    @property
    def body(self) -> str:
        """What is done once, and the loop over the blocks."""
        pad = " " * self.loop_indent
        listed = f"({self.names[0]},)" if len(self.names) == 1 else ", ".join(self.names)
        line = f"for {listed} in {self.blocks}:"
        if self.loop_indent + len(line) > WIDTH:
            line = exploded("for ", self.names, self.loop_indent).lstrip() + f" in {self.blocks}:"
        emitter = self.statements.emitter
        once = [indent(text, pad) for text in (*emitter.before, *self.before_loop)]
        inner = [f"    {pad}{text}" for text in self.beginning]
        ending = [f"    {pad}{text}" for text in self.ending]
        after = [indent(text, pad) for text in emitter.after]
        lines = [*once, pad + line, *inner, *emitter.lines, *ending, *after]
        return for_macro("\n".join(lines))

    # --- what differs between blocks of neighbouring rows and blocks of levels -------------------

    @property
    def blocks(self) -> str:
        """What the loop is over."""
        return self.with_each("_views" if self.takes_rows else "_blocks.views")

    def with_each(self, blocks: str) -> str:
        """Blocks with the values that go with their rows."""
        values = [f"rows_last({argument.whole})" for argument in self.each]
        values += self.beside.values()
        if not values:
            return blocks
        return f"beside({', '.join([blocks, *values])})"

    @property
    def views(self) -> list[str]:
        """The statement that says over which blocks a call runs: those of all rows, or of some."""
        if not self.takes_rows:
            return []
        writes = self._program.effects.writes
        written = [place for place, field in enumerate(self.fields) if field.text in writes]
        test, rows = ("_chosen is None", "_chosen.rows") if self.each else ("rows is None", "")
        rows = rows or f"{self.chosen}.rows"
        made = call("chosen_blocks", ["_blocks", rows, literal(tuple(written))], 0)
        line = f"_views = _blocks.views if {test} else {made}"
        if len(line) + 8 <= WIDTH:
            return [line]
        made = call("_views = chosen_blocks", ["_blocks", rows, literal(tuple(written))], 12)
        return [
            "_views: Iterable[tuple[Any, ...]] = _blocks.views",
            f"if {test.replace(' is ', ' is not ')}:",
            *(line[8:] for line in made.split("\n")),
        ]

    @property
    def conversions(self) -> list[str]:
        """The statements that check the arguments."""
        if self._program.near is not None or self._program.effects.draws:
            return super().conversions
        return [f"{a.text} = {a.array}" for a in self.arguments if not a.each]

    @property
    def constants(self) -> list[str]:
        """Constants of the module."""
        return [] if self._constants is None else self._constants.lines

    @property
    def before_loop(self) -> list[str]:
        """Statements before the loop over the blocks."""
        return []

    @property
    def beginning(self) -> list[str]:
        """Statements with which a block begins."""
        return []

    @property
    def ending(self) -> list[str]:
        """Statements with which a block ends."""
        return []

    @property
    def names(self) -> list[str]:
        """The arrays of a block."""
        fields = [self._views.value(field).text for field in self.fields]
        beside = [*(a.text for a in self.each), *self.beside]
        return [*fields, *(slot.name for slot in self.slots), *beside]

    @property
    def fields(self) -> list[FieldValue]:
        return list(self.statements.read)

    def is_gathered(self, field: FieldValue) -> bool:
        """Whether a row's own value counts: not if the kernel only overwrites it."""
        program = self._program
        if field == program.who or (field == program.bearer and program.may_be_dead):
            return True
        parts = any(step.target == field and step.index for step in self._program.steps)
        return parts or self._program.where is not None or field.text in self._program.effects.reads

    @property
    def slots(self) -> list[Slot]:
        """The working memory that goes with each block."""
        return self.statements.emitter.working.slots

    @property
    def stamp(self) -> str:
        """What the blocks are good for, as the manager's method names it."""
        return f"data.{self.rows}"

    @property
    def good(self) -> str:
        return f"good until they move or {self.rows[1:]} changes"

    @property
    def lookup(self) -> list[str]:
        """The statements that get the blocks: those that are kept, if they are good."""
        return [
            f'_blocks = data._kernels.get("{self.name}")',
            f"if _blocks is None or _blocks.stamp != {self.stamp}:",
            *(line[4:] for line in self.cut_call.split("\n")),
        ]

    @property
    def cut_text(self) -> str:
        """The body of the method that cuts the blocks."""
        return "\n".join([*self.cut_body, *(f"    {line}" for line in self.kept)])

    @property
    def kept(self) -> list[str]:
        """The statements that have the blocks kept."""
        return [f'self._kernels["{self.name}"] = blocks', "return blocks"]

    @property
    def cut_call(self) -> str:
        """The statement that has the blocks cut."""
        return f"        _blocks = data._{self.name}_blocks()"

    beside: Mapping[str, str] = MappingProxyType({})
    """What blocks have of arrays that are made before the loop: names there, and of the whole."""

    made: ClassVar[str] = "Blocks"
    """The class of the blocks."""

    @property
    def cut_parameters(self) -> str:
        return "self"

    @property
    def cut_body(self) -> list[str]:
        """The statements that cut the blocks out of the columns."""
        given = ["n", "columns", "working", f"self._kernels.get({literal(self.name)})"]
        return [
            f"    n = self.{self.rows}",
            for_macro(collection("columns = ", self.columns, 8)),
            self.working,
            for_macro(call("blocks = Blocks", [*given, *self.shared], 8)),
        ]

    @property
    def shared(self) -> list[str]:
        """How many kernels share the blocks, as an argument, if there are several."""
        return []

    @property
    def columns(self) -> list[str]:
        """The views of whole columns that blocks are cut from."""
        return [self._views.column(field, "self", "n") for field in self.fields]

    @property
    def working(self) -> str:
        """The statement that says which working memory goes with each block."""
        return cells_of("working", self.slots)


def cells_of(name: str, slots: Sequence[Slot]) -> str:
    """A statement that names working memory."""
    cells = [
        literal((SCALARS[slot.scalar].code, slot.shape, slot.layout is Layout.TOGETHER))
        for slot in slots
    ]
    return for_macro(collection(f"{name}: tuple[Cells, ...] = ", cells, 8))


def _complains(node: Expression, is_garbage: bool) -> bool:
    """Whether numpy may warn: of values that fields may well have, or of rows that are unused."""
    match node:
        case Cast():
            return node.operand.type.scalar == "f64" and node.type.scalar == "f32"
        case Operation():
            return node.name in COMPLAINING or (is_garbage and node.type.is_float)
    return False
