"""Kernels whose rows take turns and ask neighbours, as loops: each row sees where the others are
now."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ecsgen.model.programs import FieldValue, OtherField, Question, Referred, Step
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.turns import order_text
from ecsgen.render.numba.code import Code
from ecsgen.render.numba.fields import OneComponent, Parameter, sum_text
from ecsgen.render.numba.joined_near import JoinedNearKernel, JoinedNearLoop
from ecsgen.render.numba.loops import Loop
from ecsgen.render.numba.near import NearKernel, NearLoop
from ecsgen.render.numba.questions import Questions
from ecsgen.render.numba.values import Value
from ecsgen.render.quoting import literal


class QuestionsNow(Questions):
    """Questions to those who are in reach now, and about what they have now."""

    listed: Callable[[], None]
    """Writes the statements that list them, if the last list is not good any more."""
    row_of: Callable[[str], str]
    """The expression for a neighbour's row in a component."""

    def answer(self, node: Question) -> Value:
        self.listed()
        return super().answer(node)

    def _of_field(self, node: OtherField) -> Value:
        parts = self._fields.passed_columns(FieldValue(node.type, node.name, node.owner))
        row = self.row_of(node.owner)
        if len(parts) > 1 or not node.type.shape:
            return Value(
                node.type, lambda place: Code(f"{parts[int(place)][0]}[{row}]"), len(parts) > 1
            )
        ((array, elements, _),) = parts
        first = f"{elements} * {row}"
        return Value(node.type, lambda place: Code(f"{array}[{sum_text(first, place)}]"))


class TurnNearLoop(NearLoop):
    """The loop over the rows, with cells from which rows go and to which they come."""

    wanted: ClassVar[tuple[tuple[str, str], ...]] = ()

    def ask(self) -> None:
        super().ask()
        self.cells = Parameter(self.names.take("cells_now", "_cells"), "TurnCells", "_cells")
        self._is_listed = False
        self.messages.arrived = self._arrived

    def _questions(self) -> Questions:
        questions = QuestionsNow(self.emit, self.fields, self.around)
        questions.listed, questions.row_of = self._list, self.row_of
        return questions

    def row_of(self, owner: str) -> str:
        """The expression for a neighbour's row in a component."""
        return self.around.place

    @property
    def _place(self) -> FieldValue:
        assert self.program.near is not None
        return self.program.near.place

    @property
    def beginning(self) -> list[str]:
        cells = self.cells.name
        most = f"np.empty(len({cells}.names) + 1, np.intp)"
        return [
            f"{self.others_places} = {cells}.places",
            *self._measured(f"{cells}.sizes"),
            f"{self.around.found} = {most}",
        ]

    def _list(self) -> None:
        if self._is_listed:
            return
        place, emit = self._field(self._place), self.emit
        for axis, start in enumerate(self.starts):
            emit.write(f"{start} = {place.at(axis).text}")
        given = f"{self.cells.name}, {self.fields.row}, ({', '.join(self.starts)})"
        emit.write(f"{self.around.count} = near_now({given}, {self.around.found})")
        self._is_listed = True

    # --- whatever is written to places -----------------------------------------------------------

    def _assign(self, step: Step, field: FieldValue) -> None:
        super()._assign(step, field)
        if field == self._place:
            self._move(self.fields.row_of(field), self._field(field))

    def _arrived(self, target: Referred, row: str) -> None:
        place = self._place
        is_own = not place.owner or target.component == place.owner
        if is_own and target.name == place.name:
            self._move(row, self.others.cells(target, row))

    def _move(self, row: str, place: Value) -> None:
        axes = ", ".join(place.at(axis).text for axis in range(place.type.elements))
        self.emit.write(f"move_to({self.cells.name}, {row}, ({axes}))")
        self._is_listed = False


class JoinedTurnNearLoop(TurnNearLoop, JoinedNearLoop):
    """The same over rows of several components, which ask rows of their own or of another set."""

    def row_of(self, owner: str) -> str:
        return f"{self.rows_in(owner)}[{self.around.place}]"


class TurnNearKernel(NearKernel):
    """Such a kernel as its template lays it out."""

    loop: TurnNearLoop

    def _looped(self) -> Loop:
        given = OneComponent(self._component), self.name, self._program
        loop = TurnNearLoop(*given, False, managers=self._managers, is_plain=self.is_plain)
        loop.ask()
        loop.write_steps()
        return loop

    @property
    def is_ordered(self) -> bool:
        return True

    @property
    def before(self) -> list[str]:
        """The statements that find the cells."""
        return cells_lines("turn_given", [literal(self.name), "self", self._radius])

    @property
    def _which(self) -> list[Parameter]:
        return [self._order, self.loop.cells]

    def _lines(self, loop: Loop) -> list[str]:
        assert isinstance(loop, TurnNearLoop)
        head = f"for {loop.fields.row} in {loop.order}:"
        inside = [*loop.fields.preamble, *loop.emit.lines]
        return [
            *loop.beginning,
            *loop.emit.arrays,
            head,
            *(f"    {line}" for line in inside),
        ]


class JoinedTurnNearKernel(JoinedNearKernel, TurnNearKernel):
    """The same of the world."""

    loop: JoinedTurnNearLoop

    @property
    def _kind(self) -> type[JoinedNearLoop]:
        return JoinedTurnNearLoop

    @property
    def before(self) -> list[str]:
        return [
            self._among.radius_line(self._radius),
            *self._among.lines,
            *self._among.defined([], self.loop.rows_of),
            *cells_lines("joined_turn_given", self._among.given("_radius")),
        ]

    @property
    def orders(self) -> list[str]:
        who = self._program.who
        if self.kernel.turns == "rows":
            return [f"_order = np.arange({self.source.count})"]
        assert who is not None
        holder = f"self.{self.source.components[who.owner].module}.data"
        picked = self.source.picked(who.owner)
        return [f"_order = {order_text(who, holder, picked)}"]


def cells_lines(find: str, given: list[str]) -> list[str]:
    """The statements that find the cells in which members are at first."""
    asked = for_macro(call(f"_given = {find}", given, 8)).lstrip().split("\n    ")
    return [*asked, "_cells = turn_cells(*_given)"]
