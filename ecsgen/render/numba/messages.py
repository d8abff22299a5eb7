"""Messages in compiled loops: at once where nobody can tell, otherwise kept for a second loop."""

from __future__ import annotations

from collections.abc import Callable

from ecsgen.model.programs import OWN, FieldValue, Operation, Program, Referred, Step
from ecsgen.model.scalars import SCALARS
from ecsgen.render.kernels.finding import is_touched
from ecsgen.render.numba.code import Code, Level, Names, cut
from ecsgen.render.numba.elementwise import element_of
from ecsgen.render.numba.fields import sum_text
from ecsgen.render.numba.mixing import is_mixing
from ecsgen.render.numba.referred import OtherRows
from ecsgen.render.numba.values import Emitter, Value, part_of


class LoopMessages:
    """What a loop sends."""

    def __init__(
        self,
        program: Program,
        others: OtherRows,
        names: Names,
        rows: str,
        field: Callable[[FieldValue], Value],
    ) -> None:
        self.delivery: list[str] = []
        """What a second loop over all rows does."""
        self._program = program
        self._others = others
        self._names = names
        self._rows = rows
        self._field = field
        self._heard = ""
        self.arrived: Callable[[Referred, str], None] | None = None
        """What is to be done as soon as a row has its message."""

    def send(self, emit: Emitter, step: Step, target: Referred, row: str) -> None:
        """Write the statements of one step."""
        to = self._others.row(emit, target)
        value = emit.spread(step.value, step.type)
        if self._is_undone(emit, step, target):
            value = emit.stored(value, "t", "u", "w", "_t")
        tests = [f"{to.text} != NIL"]
        if self._program.may_be_dead:
            tests.append(self._is_heard(emit))
        with emit.block(f"if {' and '.join(tests)}"):
            if is_touched(target, self._program, self._others.managers.is_world):
                self._keep(emit, step, target, to, value, row)
            else:
                self._change(emit, step, self._place(step, target, to.text), value)
                if self.arrived is not None:
                    self.arrived(target, to.text)
        if self._program.takes_turns:
            self._others.forget_all()

    def _is_undone(self, emit: Emitter, step: Step, target: Referred) -> bool:
        """Whether the first elements that arrive would change the others, if the row is its own
        receiver."""
        owner = target.component if self._others.managers.is_world else OWN
        own = FieldValue(target.type, target.name, owner)
        at_once = self._program.takes_turns and emit.count(step.type) > 1
        return at_once and is_mixing(step.value, own)

    def _is_heard(self, emit: Emitter) -> str:
        """The variable that tells whether the row's own entity is alive."""
        if not self._heard:
            assert self._program.bearer is not None
            bearer = self._program.bearer
            owner, component = self._field(bearer).at(0).text, bearer.owner
            living = self._others.alive(emit, owner)
            if component and not self._others.managers.is_sharded:
                living = Code(self._others.living_in(component, f"{owner}"), Level.ATOM)
                if self._others.has_holes(component):
                    living = Code(f"{owner} != 0 and {living.text}", Level.AND)
            self._heard = emit.assign(living, "is_heard").text
        return self._heard

    def _place(self, step: Step, target: Referred, row: str) -> Value:
        """The elements that a message is for."""
        there = self._others.cells(target, row)
        return part_of(there, target.type.shape, step.index, step.type)

    def _change(self, emit: Emitter, step: Step, there: Value, value: Value) -> None:
        """Do with what is there what the message says."""
        scalar = step.type.scalar
        if step.how == "=" or (step.how in ("+", "-") and scalar != "i64"):
            emit.store(value, there, "=" if step.how == "=" else f"{step.how}=")
            return
        assert isinstance(step.target, Referred)
        node = Operation(step.type, step.how, (step.value, step.value))
        with emit.looped(emit.count(step.type), value.is_split or there.is_split) as places:
            for place in places:
                code = element_of(node, [there.at(place), value.at(place)])
                emit.write(f"{there.at(place).text} = {cut(code, scalar).text}")

    def _keep(
        self, emit: Emitter, step: Step, target: Referred, to: Code, value: Value, row: str
    ) -> None:
        """Keep where the message goes and what it says, and have it delivered later."""
        kept, rows = self._names.take(f"{target.name}_to"), self._rows
        sent, count = self._names.take(f"{target.name}_sent"), emit.count(step.type)
        size = f"{count} * {rows}" if count > 1 else rows
        emit.arrays.append(f"{kept} = np.full({rows}, NIL, np.int64)")
        emit.arrays.append(f"{sent} = np.empty({size}, {SCALARS[step.type.scalar].numpy})")
        first = f"{count} * {row}" if count > 1 else row
        said = Value(step.type, lambda place: Code(f"{sent}[{sum_text(first, place)}]"))
        emit.write(f"{kept}[{row}] = {to.text}")
        emit.store(value, said)

        def deliver() -> None:
            emit.write(f"{to.text} = {kept}[{row}]")
            with emit.block(f"if {to.text} != NIL"):
                self._change(emit, step, self._place(step, target, to.text), said)

        self.delivery += emit.captured(deliver)
