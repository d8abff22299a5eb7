"""Messages in numpy where rows take turns: they arrive at once, as whatever else is written."""

from __future__ import annotations

from typing import Final

from ecsgen.model.programs import Program, Referred, Step
from ecsgen.render.kernels.finding import OtherManagers
from ecsgen.render.numpy.expressions import Emitter
from ecsgen.render.numpy.messages import UFUNCS, column_of
from ecsgen.render.numpy.referred import OtherCells
from ecsgen.render.numpy.values import Value

_UFUNCS: Final = {**UFUNCS, "+": "np.add", "=": "None"}


class TurnPosts:
    """Messages that arrive at once, and whatever else is written to other rows."""

    def __init__(self, managers: OtherManagers, others: OtherCells, program: Program) -> None:
        self._managers = managers
        self._others = others
        self._program = program
        self._heard = ""

    def begin(self, emit: Emitter) -> None:
        """Nothing is to be written before the loop."""

    def send(self, emit: Emitter, step: Step, bearer: Value) -> None:
        """Write the statements of one step."""
        target = step.target
        assert isinstance(target, Referred)
        rows, value = self._others.rows(emit, target), emit.value(step.value)
        if self._program.may_be_dead and not self._heard:
            living = f"{self._managers.entities}.alive_many({bearer.text})"
            self._heard = emit.made("heard", living, "bool", False).text
        index = f"[{', '.join(map(str, step.index))}]" if step.index else ""
        column = column_of(self._managers, target) + index
        heard, ufunc = self._heard or "None", _UFUNCS[step.how]
        emit.run("send_at_once", column, rows.text, heard, ufunc, value.text)
        emit.working.give_back(value)
        self._others.forget_all()

    def end(self, emit: Emitter, bearer: Value) -> None:
        """Nothing is left at the end of a row's turn."""
