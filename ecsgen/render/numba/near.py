"""A kernel that asks neighbours, as a compiled function: rows in the order of their cells, each
with a list of those in reach."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ecsgen.model.programs import Argument
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.numba.fields import OneComponent, Parameter
from ecsgen.render.numba.kernel import CompiledKernel
from ecsgen.render.numba.loops import Loop
from ecsgen.render.numba.questions import Around, Questions
from ecsgen.render.numba.values import UNROLLED
from ecsgen.render.quoting import literal

PARTS = (
    ("order", "NDArray[np.uint32]"),
    ("cells", "NDArray[np.uint32]"),
    ("runs", "NDArray[np.uint32]"),
    ("low", "NDArray[np.uint32]"),
    ("high", "NDArray[np.uint32]"),
    ("crosses", "NDArray[np.bool_]"),
    ("most", "int"),
    ("own", "NDArray[{}]"),
    ("others", "NDArray[{}]"),
    ("reach", "{}"),
    ("sizes", "NDArray[{}]"),
)
"""What `NearCells` has, and of which types, some of which are that of places."""


class NearLoop(Loop):
    """The loop over the rows, with what it needs of the cells."""

    wanted: ClassVar[tuple[tuple[str, str], ...]] = PARTS
    """What it takes of the cells."""
    named: Parameter | None = None
    """Which rows a call names, if it can: none where it is all."""
    senders: Parameter | None = None
    """The same in the order in which their messages arrive."""
    asking: Parameter | None = None
    """How many ask, if ghosts behind them are asked."""

    def ask(self) -> None:
        """Take names for cells and neighbours; before any step is written."""
        near = self.program.near
        assert near is not None
        scalar, axes = near.place.type.scalar, near.place.type.shape[0]
        dtype, take = SCALARS[scalar].numpy, self.names.take
        self.parts = {
            name: Parameter(take(name, f"_{name}"), text.format(dtype), f"_cells.{name}")
            for name, text in self.wanted
        }
        self.others_places = self.parts["others"].name if self.parts else take("places", "_places")
        letters = "xyz"[:axes]
        self.starts = [take(one, f"_{one}") for one in letters]
        self._halves = [take(f"half_{one}", f"_half_{one}") for one in letters]
        self._sizes = [take(f"size_{one}", f"_size_{one}") for one in letters]
        offsets = [take(f"d{one}", f"_d{one}") for one in letters]
        self.cell, self.ranked = take("c", "_c"), take("k", "_k")
        self.run = take("r", "_r")
        self.around = Around(
            axes,
            scalar,
            take("o", "_o"),
            take("found", "_found"),
            take("count", "_count"),
            offsets,
            self.way,
        )
        questions = self._questions()
        self.emit.answer, self.emit.of_other = questions.answer, questions.of_other

    def _questions(self) -> Questions:
        return Questions(self.emit, self.fields, self.around)

    def leave_out_ghosts(self, asking: str) -> None:
        """Let rows from a number on ask nobody."""
        self.asking = Parameter(self.names.take("asking"), "int", asking)

    def leave_out_others(self, asking: str) -> None:
        """Let only those rows ask that a call names, of so many."""
        named = "NO_MASK if _chosen is None else _chosen.mask(data._n)"
        self.named = Parameter(self.names.take("is_named"), "NDArray[np.bool_]", named)
        rows = f"np.arange({asking}) if _chosen is None else _chosen.rows"
        if self.program.effects.sends:
            self.senders = Parameter(self.names.take("senders"), "RowArray", rows)

    @property
    def delivery(self) -> list[str]:
        lines = super().delivery
        if lines and self.senders is not None:
            lines[0] = f"for {self.fields.row} in {self.senders.name}:"
        return lines

    @property
    def skipping(self) -> list[str]:
        """The statements that leave ghosts and other rows out."""
        number = f"{self.parts['order'].name}[{self.ranked}]"
        tests = [] if self.asking is None else [f"{number} >= {self.asking.name}"]
        if self.named is not None:
            name = self.named.name
            tests.append(f"len({name}) > 0 and not {name}[{number}]")
        return [line for test in tests for line in (f"if {test}:", "    continue")]

    def way(self, crosses: bool = True) -> list[str]:
        """The statements that find the way to a neighbour, the short one around if it may cross
        a border."""
        found, others = [], self.others_places
        for axis, (start, apart) in enumerate(zip(self.starts, self.around.offsets, strict=True)):
            half, size = self._halves[axis], self._sizes[axis]
            found.append(f"{apart} = {others}[{axis}, {self.around.place}] - {start}")
            if crosses:
                found.append(f"if abs({apart}) > {half}:")
                found.append(f"    {apart} = {apart} - {size} * np.rint({apart} / {size})")
        return found

    @property
    def beginning(self) -> list[str]:
        """The statements before the loop: sizes, working memory, columns in the order of cells."""
        most = self.parts["most"].name
        lines = self._measured(self.parts["sizes"].name)
        if self.messages.delivery:
            lines.append(f"{self.rows} = len({self.parts['order'].name})")
        lines.append(f"{self.around.found} = np.empty({most} + 1, np.uint32)")
        for name, (array, elements, scalar, owner) in self.around.copies.items():
            lines += self._copied(name, array, elements, SCALARS[scalar].numpy, owner)
        return lines

    def _measured(self, sizes: str) -> list[str]:
        """The statements that name the sizes of axes."""
        lines = []
        for axis, (size, half) in enumerate(zip(self._sizes, self._halves, strict=True)):
            lines += [f"{size} = {sizes}[0, {axis}]", f"{half} = {sizes}[1, {axis}]"]
        return lines

    def member(self, owner: str) -> str:
        """The expression for the row of the k-th member in a component."""
        return f"{self.parts['order'].name}[{self.ranked}]"

    @property
    def all_members(self) -> str:
        """The variable with all who may be asked."""
        return self.parts["order"].name

    @property
    def is_other(self) -> str:
        """The expression that tells a member from the row that asks."""
        return f"{self.around.place} != {self.ranked}"

    def _copied(self, name: str, array: str, elements: int, dtype: str, owner: str) -> list[str]:
        order, k, row = self.all_members, self.ranked, self.fields.row
        head = [f"for {k} in range(len({order})):", f"    {row} = {self.member(owner)}"]
        if elements == 1:
            made = f"{name} = np.empty(len({order}), {dtype})"
            return [made, *head, f"    {name}[{k}] = {array}[{row}]"]
        made = f"{name} = np.empty(({elements}, len({order})), {dtype})"
        if elements > UNROLLED:
            each = f"    for {self.run} in range({elements}):"
            cell = f"{array}[{elements} * {row} + {self.run}]"
            put = f"        {name}[{self.run}, {k}] = {cell}"
            return [made, *head, each, put]
        starts = [
            f"{elements} * {row}{f' + {place}' if place else ''}" for place in range(elements)
        ]
        each_of = (f"    {name}[{p}, {k}] = {array}[{at}]" for p, at in enumerate(starts))
        return [made, *head, *each_of]

    @property
    def rows_around(self) -> list[str]:
        """The statements that list those in reach of a row, without a branch for each."""
        around, run, place = self.around, self.run, self.around.place
        low, high = (self.parts[one].name for one in ("low", "high"))
        runs, own = self.parts["runs"].name, self.parts["own"].name
        span = f"range({runs}[{self.cell}], {runs}[{self.cell} + 1])"

        def listed(crosses: bool) -> list[str]:
            reach = self.parts["reach"].name
            return [
                f"    for {run} in {span}:",
                f"        for {place} in range({low}[{run}], {high}[{run}]):",
                *(f"            {line}" for line in self.way(crosses)),
                f"            {around.found}[{around.count}] = {place}",
                f"            {around.count} += ({around.square} <= {reach}) & "
                f"({self.is_other})",
            ]

        starts = [f"{one} = {own}[{axis}, {self.ranked}]" for axis, one in enumerate(self.starts)]
        return [
            *starts,
            f"{around.count} = 0",
            f"if {self.parts['crosses'].name}[{self.cell}]:",
            *listed(True),
            "else:",
            *listed(False),
        ]


class NearKernel(CompiledKernel):
    """A kernel that asks neighbours as its template lays it out."""

    loop: NearLoop

    def _looped(self) -> Loop:
        origin, managers = OneComponent(self._component), self._managers
        loop = NearLoop(origin, self.name, self._program, False, managers=managers)
        loop.ask()
        loop.leave_out_others(f"data.{self.rows}")
        if self._component.sees_ghosts:
            loop.leave_out_ghosts(f"data.{self.rows}")
        loop.write_steps()
        return loop

    @property
    def is_parallel(self) -> bool:
        return False

    @property
    def before(self) -> list[str]:
        """The statements that find the cells."""
        given = [literal(self.name), self._radius, f"data.{self.rows}"]
        asked = call("_given = self._near_given", given, 12)
        return [for_macro(asked).lstrip(), "_cells = near_cells(*_given)"]

    @property
    def _radius(self) -> str:
        """The radius, rounded to the argument's type."""
        near = self._program.near
        assert near is not None
        if not isinstance(near.radius, Argument):
            return literal(near.radius)
        text = next(one.text for one in self.arguments if one.name == near.radius.name)
        return f"{SCALARS[near.radius.type.scalar].numpy}({text})"

    @property
    def _used(self) -> set[str]:
        near = self._program.near
        assert near is not None
        radius = {near.radius.name} if isinstance(near.radius, Argument) else set()
        return super()._used | radius

    @property
    def _which(self) -> list[Parameter]:
        loop = self.loop
        some = [one for one in (loop.asking, loop.named, loop.senders) if one is not None]
        return [*loop.parts.values(), *some]

    @property
    def parameters(self) -> list[Parameter]:
        owners = self._owners
        found = super().parameters
        return [replace(one, passed=owners.get(one.passed, one.passed)) for one in found]

    @property
    def _owners(self) -> dict[str, str]:
        """Columns of owners that do not have those of ghosts → expressions that have both."""
        hidden = self._component.hides_owners
        return {"data._entity_column": "self._owners_near()"} if hidden else {}

    def _lines(self, loop: Loop) -> list[str]:
        assert isinstance(loop, NearLoop)
        cells, order = loop.parts["cells"].name, loop.parts["order"].name
        cell, k, row = loop.cell, loop.ranked, loop.fields.row
        inside = [
            *loop.skipping,
            *loop.rows_around,
            f"{row} = {order}[{k}]",
            *loop.fields.preamble,
            *loop.emit.lines,
        ]
        return [
            *loop.beginning,
            *loop.emit.arrays,
            f"for {cell} in range(len({cells}) - 1):",
            f"    for {k} in range({cells}[{cell}], {cells}[{cell} + 1]):",
            *(f"        {line}" for line in inside),
            *loop.delivery,
        ]
