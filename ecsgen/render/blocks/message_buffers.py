"""Messages: each statement writes rows and values of a block's sends, then all are sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ecsgen.kernels.statements import SendMessage
from ecsgen.render.blocks.array_values import ArrayValue, Shape, other_column
from ecsgen.render.blocks.block_expressions import UFUNCS, BlockEmitter, as_times, as_typed
from ecsgen.render.kernel_methods.row_sources import ManagerExpressions
from ecsgen.render.text.formatting import call


@dataclass(frozen=True, slots=True)
class Outbox:
    """Messages to a field, or to an element of it."""

    name: str
    index: Shape
    sends: tuple[SendMessage, ...]
    is_flat: bool = False
    """True if some send to an element at computed indices: messages name elements, not rows."""

    @property
    def ufunc(self) -> str:
        """Ufunc that applies a message to the field: `np.add` if operators differ; None for
        messages that assign."""
        operators = {send.operator for send in self.sends}
        if operators == {"="}:
            return "None"
        return f"np.{UFUNCS[operators.pop() if len(operators) == 1 else '+']}"

    def begin(self, emit: BlockEmitter, managers: ManagerExpressions, is_near: bool) -> None:
        """Write the statements before and after the loop.

        `is_near`: rows come in another order than their messages."""
        target = self.sends[0].to
        column = other_column(managers, target.row.component, target)
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        column = f"{column}{index}"
        if target.type.is_time and self.ufunc != "None":
            column = as_times(column)
        if self.is_flat:
            emit.before.append(f"{self.name}_column = {column}")
            column = f"item_cells({self.name}_column)"
        arguments = [column, self.ufunc, str(self._n_steps)]
        is_held = self.sends[0].is_deferred
        kind = "DeferredMessages" if is_held else "Messages"
        if is_near:
            kind = "CellMessages"
            arguments.append("_blocks")
        emit.before.append(call(f"{self.name} = {kind}", arguments, 0, taken=emit.indent - 4))
        if is_held:
            emit.after.append(f"{self.name}.arrive()")

    def send(
        self, emit: BlockEmitter, statement: SendMessage, rows: str, value: ArrayValue, senders: str
    ) -> None:
        """Write the send of a statement; `senders`: mask of the senders, "" if all rows send."""
        if self.is_flat:
            self._send_to_elements(emit, statement, rows, value, senders)
            return
        index = self.index[len(statement.to.index) :]
        text = as_typed(value.part(index) if value.shape and index else value)
        if statement.type.is_time and self.ufunc != "None":
            text = as_times(text)
        self._write_send(emit, statement, self.sends.index(statement), rows, text, senders)

    def _write_send(
        self,
        emit: BlockEmitter,
        statement: SendMessage,
        step: int,
        rows: str,
        text: str,
        senders: str,
    ) -> None:
        if self._n_steps == 1:
            emit.run(f"{self.name}.send", rows, text, *([senders] if senders else []))
            return
        if statement.operator in ("-", "subtract_times") and self.ufunc == "np.add":
            text = f"np.negative({text})"
        emit.run(f"{self.name}.put", str(step), rows, text)

    def _send_to_elements(
        self, emit: BlockEmitter, statement: SendMessage, rows: str, value: ArrayValue, senders: str
    ) -> None:
        """Write the sends of a statement to one element, or to each one of several."""
        first = self.sends.index(statement)
        step = sum(send.type.elements for send in self.sends[:first])
        items = [emit.value(item) for item in statement.to.items]
        further = [range(size) for size in statement.type.shape]
        for index in product(*further):
            text = as_typed(value.part(index) if value.shape else value)
            places = [*map(as_typed, items), *map(str, (*statement.to.index, *index))]
            to = f"item_targets({', '.join([f'{self.name}_column', rows, *places])})"
            self._write_send(emit, statement, step, to, text, senders)
            step += 1
        emit.working.release(*items)

    @property
    def _n_steps(self) -> int:
        """Number of messages that a row sends at most."""
        return sum(send.type.elements if self.is_flat else 1 for send in self.sends)

    def end(self, emit: BlockEmitter, senders: str) -> None:
        """Write the statement at the end of a block that sends what several statements put."""
        if self._n_steps > 1:
            emit.write(f"{self.name}.send_all({senders})")


def make_outboxes(sends: Sequence[SendMessage], managers: ManagerExpressions) -> list[Outbox]:
    """Return the outboxes of a kernel's messages, field by field."""
    fields: dict[str, list[SendMessage]] = {}
    for send in sends:
        fields.setdefault(send.to.text, []).append(send)
    groups = fields.values()
    return [outbox for group in groups for outbox in _field_outboxes(group, managers)]


def _field_outboxes(sends: Sequence[SendMessage], managers: ManagerExpressions) -> Iterator[Outbox]:
    """Yield the outboxes of a field: one if all statements send to it or to one element."""
    target = sends[0].to
    prefix = managers.column_prefix(target.row.component).replace("other", "_to", 1)
    name = f"{prefix}_{target.name}"
    if any(send.to.items for send in sends):
        yield Outbox(name, (), tuple(sends), is_flat=True)
        return
    if len({send.to.index for send in sends}) == 1:
        yield Outbox(name, target.index, tuple(sends))
        return
    for index in product(*map(range, target.type.shape)):
        element_sends = tuple(
            send for send in sends if index[: len(send.to.index)] == send.to.index
        )
        if element_sends:
            yield Outbox(f"{name}_{'_'.join(map(str, index))}", index, element_sends)
