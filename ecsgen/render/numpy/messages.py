"""Messages in numpy: each step says where a block's rows send and what, then all are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from ecsgen.model.programs import FieldValue, Program, Referred, Step
from ecsgen.render.calls import call
from ecsgen.render.kernels.finding import OtherManagers, is_touched
from ecsgen.render.numpy.expressions import Emitter, as_typed
from ecsgen.render.numpy.referred import OtherCells
from ecsgen.render.numpy.values import Shape, Value
from ecsgen.render.numpy.views import FieldViews

UFUNCS: Final = {
    "min": "np.minimum",
    "max": "np.maximum",
    "or": "np.logical_or",
    "and": "np.logical_and",
    "-": "np.subtract",
}


@dataclass(frozen=True, slots=True)
class Post:
    """Messages to a field, or to an element of it."""

    name: str
    index: Shape
    steps: tuple[Step, ...]

    @property
    def ufunc(self) -> str:
        """What is done with what is there: all of it is added if some of it is."""
        hows = {step.how for step in self.steps}
        return UFUNCS[hows.pop()] if len(hows) == 1 and "+" not in hows else "np.add"

    def part(self, step: Step, value: Value) -> Value:
        """What a step's value has for it."""
        index = self.index[len(step.index) :]
        return value.part(index) if value.shape and index else value


class Posts:
    """The messages of a kernel."""

    def __init__(self, managers: OtherManagers, others: OtherCells, program: Program) -> None:
        self._managers = managers
        self._others = others
        self._program = program
        self._heard = ""
        steps: dict[str, list[Step]] = {text: [] for text in program.effects.sends}
        for step in program.steps:
            if isinstance(step.target, Referred):
                steps[step.target.text].append(step)
        self._posts = [post for own in steps.values() for post in self._posts_of(own)]

    def begin(self, emit: Emitter) -> None:
        """Write the statements before the loop."""
        for post in self._posts:
            target = post.steps[0].target
            assert isinstance(target, Referred)
            is_held = is_touched(target, self._program, self._managers.is_world)
            index = f"[{', '.join(map(str, post.index))}]" if post.index else ""
            column = column_of(self._managers, target) + index
            arguments = [column, post.ufunc, str(len(post.steps))]
            kind = "HeldMessages" if is_held else "Messages"
            if self._program.near is not None:
                kind = "CellMessages"
                arguments.append("_blocks")
            made = call(f"{post.name} = {kind}", arguments, 0, taken=emit.indent - 4)
            emit.before.append(made)
            if is_held:
                emit.after.append(f"{post.name}.arrive()")

    def send(self, emit: Emitter, step: Step, bearer: Value) -> None:
        """Write the statements of one step."""
        target = step.target
        assert isinstance(target, Referred)
        rows = self._others.rows(emit, target)
        to = f"np.broadcast_to({rows.text}, {bearer.text}.shape)" if rows.is_uniform else rows.text
        value = emit.value(step.value)
        for post in self._posts:
            if step not in post.steps:
                continue
            text = as_typed(post.part(step, value))
            if len(post.steps) == 1:
                heard = self._heard_by(emit, bearer)
                emit.run(f"{post.name}.send", to, text, *([heard] if heard else []))
                continue
            if step.how == "-" and post.ufunc == "np.add":
                text = f"np.negative({text})"
            emit.run(f"{post.name}.put", str(post.steps.index(step)), to, text)
        emit.working.give_back(value)

    def end(self, emit: Emitter, bearer: Value) -> None:
        """Write the statements at the end of a block."""
        for post in self._posts:
            if len(post.steps) > 1:
                emit.write(f"{post.name}.send_all({self._heard_by(emit, bearer)})")

    def _heard_by(self, emit: Emitter, bearer: Value) -> str:
        """The variable that tells which rows are heard: not those that `where` leaves out, nor
        those of dead entities; nothing if all are."""
        where = "_where" if self._program.where is not None else ""
        component = self._program.bearer.owner if self._program.bearer is not None else ""
        if not self._program.may_be_dead:
            return where
        if not self._heard:
            living = f"{self._managers.entities}.alive_many({bearer.text})"
            living = f"{where} & {living}" if where else living
            clean = self._managers.clean(component) if component else ""
            if clean and self._managers.components[component].lookup != "direct":
                living = f"{where or None} if {clean} else {living}"
            self._heard = emit.made("heard", living, "bool", False).text
        return self._heard

    def _posts_of(self, steps: list[Step]) -> Iterator[Post]:
        """The messages to one field: together if each step sends to all of it, or to the same
        element."""
        target = steps[0].target
        assert isinstance(target, Referred)
        stem = self._managers.stem(target.component).replace("other", "_to", 1)
        name = f"{stem}_{target.name}"
        if len({step.index for step in steps}) == 1:
            yield Post(name, steps[0].index, tuple(steps))
            return
        for index in product(*map(range, target.type.shape)):
            own = tuple(step for step in steps if index[: len(step.index)] == step.index)
            if own:
                yield Post(f"{name}_{'_'.join(map(str, index))}", index, own)


def column_of(managers: OtherManagers, target: Referred) -> str:
    """The expression for a whole column of another manager."""
    component, holder = managers.components[target.component], managers.data(target.component)
    columns = f"{managers.manager(target.component)}.LAYOUT"
    given = FieldValue(target.type, target.name)
    return FieldViews(component).column(given, holder, "", columns)
