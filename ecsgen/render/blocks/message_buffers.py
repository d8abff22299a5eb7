"""Messages: each statement says where a block's rows send and what, then all are sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ecsgen.kernels.statements import SendMessage
from ecsgen.render.blocks.array_values import ArrayValue, Shape, other_column
from ecsgen.render.blocks.block_expressions import UFUNCS, BlockEmitter, as_typed
from ecsgen.render.kernel_methods.row_sources import ManagerExpressions
from ecsgen.render.text.formatting import call


@dataclass(frozen=True, slots=True)
class Outbox:
    """Messages to a field, or to an element of it."""

    name: str
    index: Shape
    sends: tuple[SendMessage, ...]

    @property
    def ufunc(self) -> str:
        """What is done with what is there: all of it is added if some of it is."""
        hows = {send.operator for send in self.sends}
        return f"np.{UFUNCS[hows.pop() if len(hows) == 1 else '+']}"

    def begin(self, emit: BlockEmitter, managers: ManagerExpressions, is_near: bool) -> None:
        """Write the statements before the loop, and after it; `is_near`: rows come in another
        order than their messages."""
        target = self.sends[0].to
        column = other_column(managers, target.row.component, target)
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        arguments = [f"{column}{index}", self.ufunc, str(len(self.sends))]
        is_held = self.sends[0].is_deferred
        kind = "DeferredMessages" if is_held else "Messages"
        if is_near:
            kind = "CellMessages"
            arguments.append("_blocks")
        emit.before.append(call(f"{self.name} = {kind}", arguments, 0, taken=emit.indent - 4))
        if is_held:
            emit.after.append(f"{self.name}.arrive()")

    def send(
        self, emit: BlockEmitter, one: SendMessage, rows: str, value: ArrayValue, heard: str
    ) -> None:
        """Write what is sent by one statement; `heard`: of which rows, nothing if of all."""
        index = self.index[len(one.to.index) :]
        text = as_typed(value.part(index) if value.shape and index else value)
        if len(self.sends) == 1:
            emit.run(f"{self.name}.send", rows, text, *([heard] if heard else []))
            return
        if one.operator == "-" and self.ufunc == "np.add":
            text = f"np.negative({text})"
        emit.run(f"{self.name}.put", str(self.sends.index(one)), rows, text)

    def end(self, emit: BlockEmitter, heard: str) -> None:
        """Write the statement at the end of a block that sends what several ones put there."""
        if len(self.sends) > 1:
            emit.write(f"{self.name}.send_all({heard})")


def make_outboxes(sends: Sequence[SendMessage], managers: ManagerExpressions) -> list[Outbox]:
    """The posts that a kernel's messages need, field by field."""
    fields: dict[str, list[SendMessage]] = {}
    for send in sends:
        fields.setdefault(send.to.text, []).append(send)
    return [post for own in fields.values() for post in _posts_of(own, managers)]


def _posts_of(sends: Sequence[SendMessage], managers: ManagerExpressions) -> Iterator[Outbox]:
    """Those to one field: one if each statement sends to all of it, or to the same element."""
    target = sends[0].to
    stem = managers.column_prefix(target.row.component).replace("other", "_to", 1)
    name = f"{stem}_{target.name}"
    if len({send.to.index for send in sends}) == 1:
        yield Outbox(name, target.index, tuple(sends))
        return
    for index in product(*map(range, target.type.shape)):
        own = tuple(send for send in sends if index[: len(send.to.index)] == send.to.index)
        if own:
            yield Outbox(f"{name}_{'_'.join(map(str, index))}", index, own)
