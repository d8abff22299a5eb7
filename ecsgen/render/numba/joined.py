"""A kernel of the world as a compiled function, and the method that calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from ecsgen.model import Component, Field, Kernel, World
from ecsgen.model.columns import KEPT_FIELDS
from ecsgen.model.programs import FieldValue, Program
from ecsgen.render.calls import conjunction
from ecsgen.render.kernels.finding import OtherManagers
from ecsgen.render.kernels.sources import Source
from ecsgen.render.kernels.turns import order_text
from ecsgen.render.numba.code import Names
from ecsgen.render.numba.fields import Fields, Origin, Parameter
from ecsgen.render.numba.kernel import CompiledKernel
from ecsgen.render.numba.loops import Loop
from ecsgen.render.numba.values import Emitter, Value


class SeveralComponents:
    """The fields of the components that a kernel of the world sees."""

    def __init__(self, components: Mapping[str, Component]) -> None:
        self._modules = {name: component.module for name, component in components.items()}
        self._fields = {
            (name, field.name): field
            for name, component in components.items()
            for field in (*KEPT_FIELDS.values(), *component.fields)
        }

    def field(self, node: FieldValue) -> Field:
        return self._fields[node.owner, node.name]

    def prefix(self, node: FieldValue) -> str:
        return f"{self._modules[node.owner]}_"

    def holder(self, node: FieldValue) -> str:
        return f"self.{self._modules[node.owner]}.data"


class ScatteredFields(Fields):
    """Fields of several components, each of which has rows of its own."""

    def __init__(
        self, source: Source, origin: Origin, program: Program, names: Names, is_flat: bool
    ) -> None:
        super().__init__(origin, program, names, is_flat)
        self.numbers: dict[str, Parameter] = {}
        """The parameter with the rows of each component."""
        self.elements: dict[str, tuple[str, int]] = {}
        """The component of each column, and how many of its elements make a row; by parameter."""
        self._source = source
        self._rows: dict[str, str] = {}
        self._letters: dict[str, str] = {}

    def value(self, emit: Emitter, node: FieldValue) -> Value:
        """The elements of a field, in the row that its component has there."""
        known = set(self.parameters)
        value = super().value(emit, node)
        for passed, column in self.parameters.items():
            if passed not in known:
                count = node.type.elements if column.is_flat else 1
                self.elements[column.name] = node.owner, count
        return value

    def row_of(self, node: FieldValue) -> str:
        """The variable with the row of a field's component."""
        if node.owner not in self._rows:
            module = self._source.components[node.owner].module
            rows, row = self._names.take(f"{module}_rows"), self._names.take(f"{module}_row")
            passed = self._source.numbers(node.owner)
            assert passed is not None  # of rows that follow each other nobody asks
            self.numbers[node.owner] = Parameter(rows, "RowArray", passed)
            self.preamble.append(f"{row} = row_at({rows}, {self.row})")
            self._rows[node.owner] = row
            self._letters[row] = f"{module}_j"
        return self._rows[node.owner]

    def _letter(self, row: str) -> str:
        return self._letters.get(row) or super()._letter(row)


class ScatteredLoop:
    """A kernel's loop over rows that are told one by one, component by component."""

    def __init__(
        self,
        origin: Origin,
        source: Source,
        name: str,
        program: Program,
        is_plain: bool = False,
        annotated: AbstractSet[str] = frozenset(),
    ) -> None:
        self._source = source
        self.loop = Loop(
            origin,
            name,
            program,
            may_be_flat=False,
            fields=self._fields_of,
            managers=source.managers,
            is_plain=is_plain,
            annotated=annotated,
        )
        self.loop.write_steps()

    def _fields_of(self, origin: Origin, program: Program, names: Names, is_flat: bool) -> Fields:
        self._fields = ScatteredFields(self._source, origin, program, names, is_flat)
        return self._fields

    @property
    def numbers(self) -> list[Parameter]:
        """The parameters with the components' rows."""
        return list(self._fields.numbers.values())

    @property
    def following(self) -> list[str]:
        """The lines that ask whether the rows follow each other in all components."""
        tests = [f"len({one.name}) == 1" for one in self.numbers]
        return [line[4:] for line in conjunction("    if ", tests).split("\n")]

    @property
    def cuts(self) -> Iterator[str]:
        """The statements after which each column begins with the first of such rows."""
        for column, (component, elements) in self._fields.elements.items():
            first = f"{self._fields.numbers[component].name}[0]"
            start = f"{elements} * {first}" if elements > 1 else first
            yield f"{column} = {column}[{start} :]"


class JoinedKernel(CompiledKernel):
    """A kernel of the world as its template lays it out.

    Where each component has rows of its own, there is a loop for rows that follow each other in
    all of them, which is the one over a group, and another for all other rows.
    """

    def __init__(self, world: World, kernel: Kernel, source: Source) -> None:
        self.source = source
        self._origin = SeveralComponents(source.components)
        super().__init__(source.whole, kernel)
        self._scattered: ScatteredLoop | None = None
        if any(source.numbers(component) for component in source.components):
            given = self._origin, source, self._own_name, self._program, self.is_plain
            self._scattered = ScatteredLoop(*given, self.loop.others.annotated)
            assert self._scattered.loop.others.parameters == self.loop.others.parameters

    def _looped(self) -> Loop:
        given = self._origin, self._own_name, self._program
        loop = Loop(*given, managers=self._managers, is_plain=self.is_plain)
        loop.write_steps()
        return loop

    @property
    def _managers(self) -> OtherManagers:
        return self.source.managers

    @property
    def before(self) -> list[str]:
        return [f"{self.source.variable} = {self.source.found}"]

    @property
    def is_scattered(self) -> bool:
        return self._scattered is not None

    @property
    def each_lines(self) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        return self.source.each_lines(self.each, self._program.effects.writes)

    @property
    def _own_name(self) -> str:
        return f"{self.name}_kernel"  # the module has functions of other names

    @property
    def orders(self) -> list[str]:
        """The statement that finds out whose turn it is when, if that is random."""
        if not self.is_ordered:
            return []
        who = self._program.who
        assert who is not None
        picked = self.source.picked(who.owner)
        return [f"_order = {order_text(who, self._origin.holder(who), picked)}"]

    @property
    def _which(self) -> list[Parameter]:
        count = Parameter(self.loop.rows, "int", self.source.count)
        if self.is_ordered:
            count = self._order
        return [count, *(self._scattered.numbers if self._scattered is not None else ())]

    @property
    def body(self) -> str:
        """The function's statements."""
        scattered = self._scattered
        if scattered is None:
            return super().body
        setup = dict.fromkeys((*self.loop.setup, *scattered.loop.setup))
        following = (*scattered.cuts, *self._lines(self.loop), "return")
        inside = [f"    {line}" for line in following]
        lines = [*setup, *scattered.following, *inside, *self._lines(scattered.loop)]
        return "\n".join(f"    {line}" for line in lines)
