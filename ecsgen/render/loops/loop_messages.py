"""Messages in loops: done at once, kept for each row until the last one, or queued, where a row may
send any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from ecsgen.kernels import statements as lowered
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type
from ecsgen.render.loops.element_operations import element_of
from ecsgen.render.loops.element_values import LoopEmitter, Value, part_of, plus
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.scalar_code import Code, wrap_to_type


class MessageLoop(LoopEmitter):
    """Writer of a loop whose rows send messages."""

    def __init__(self, builder: FunctionBuilder, is_flat: bool) -> None:
        super().__init__(builder.names, builder.constant, is_flat)
        self.builder = builder
        self.kept: list[str] = []
        """Statements that allocate arrays with a place for each row's message."""
        self.delivery: list[str] = []
        """Statements for each row, in a second loop after the last one."""
        self.queue_delivery: list[str] = []
        """Statements after the last row, for messages sent inside of loops."""
        self.queued: dict[str, list[lowered.SendMessage]] = {}
        """Messages by their field, of fields to which a statement inside of a loop sends."""
        self._queues: dict[str, _Queue] = {}

    def allocation(self, name: str, size: str, type_: Type) -> str:
        if not self.builder.is_own(type_):
            return super().allocation(name, size, type_)
        return f"{super().allocation(f'{name}: Any', size, type_)}.data"

    def _apply_stored_message(self, message: lowered.SendMessage, row: str, value: Value) -> None:
        """Change the row, or the element of a row, that a variable tells."""
        if not message.to.items:
            self.apply_message(message, row, value)
            return
        position, elements = self.names.allocate("position"), message.to.type.elements
        self.write(f"{position} = {row} % {elements}", f"{row} //= {elements}")
        self.apply_message(message, row, value, position)

    def apply_message(
        self, message: lowered.SendMessage, row: str, value: Value, position: str = ""
    ) -> None:
        """Change a row; `position`: the index of the element of it that is changed, if computed."""
        cells = self.builder.cells_of_found_row(message.to, row)
        if position:
            self.write_item(
                cells, position, message.type, lambda there: self._combine(message, there, value)
            )
            return
        there = part_of(cells, message.to.type.shape, message.to.index, message.type)
        self._combine(message, there, value)

    def _combine(self, message: lowered.SendMessage, there: Value, value: Value) -> None:
        scalar = message.type.scalar
        if message.operator == "=" or is_in_place(message.operator, scalar):
            self.store(value, there, "=" if message.operator == "=" else f"{message.operator}=")
            return
        node = tree.Operation(message.type, message.operator, (message.value, message.value))
        self.change(
            there, value, lambda *codes: wrap_to_type(element_of(node, [*codes]), scalar).text
        )

    def defer_message(
        self, message: lowered.SendMessage, row: str, stored_row: str, value: Value
    ) -> None:
        """Store a message and its target for the loop after the last row."""
        rows, index = self.builder.count, self.builder.index
        targets = self.names.allocate(f"{message.to.name}_to")
        sent = self.names.allocate(f"{message.to.name}_sent")
        count = self.count(message.type)
        size, first = (f"{count} * {text}" if count > 1 else text for text in (rows, index))
        self.kept.append(f"{targets} = np.full({rows}, NIL, np.int64)")
        self.kept.append(self.allocation(sent, size, message.type))
        stored = Value(message.type, lambda index: Code(f"{sent}[{plus(first, index)}]"))
        self.write(f"{targets}[{index}] = {stored_row}")
        self.store(value, stored)
        row = row if row.isidentifier() else self.names.allocate("to_row")
        with self.into(self.delivery):
            self.write(f"{row} = {targets}[{index}]")
            with self.block(f"if {row} != NIL"):
                self._apply_stored_message(message, row, stored)

    def queue_message(self, message: lowered.SendMessage, row: str, value: Value) -> None:
        """Store a message in the queue of its field: a row may send any number of them."""
        field = message.to
        messages = self.queued[field.text]
        if field.text not in self._queues:
            self._queues[field.text] = self._begin_queue(field, messages)
        queue, size = self._queues[field.text], field.type.elements
        names = [queue.targets, *filter(None, (queue.senders, queue.numbers))]
        with self.block(f"if {queue.count} == len({queue.targets})"):
            self.write(*(f"{name} = grown({name})" for name in names))
            self.write(f"{queue.sent} = grown({queue.sent}{f', {size}' if size > 1 else ''})")
        self.write(f"{queue.targets}[{queue.count}] = {row}")
        if queue.senders:
            self.write(f"{queue.senders}[{queue.count}] = {self.builder.index}")
        if queue.numbers:
            self.write(f"{queue.numbers}[{queue.count}] = {message.number}")
        self.store(value, _queued(queue.sent, queue.count, message.type, size))
        self.write(f"{queue.count} += 1")

    def _begin_queue(
        self, field: lowered.FieldOfRow, messages: Sequence[lowered.SendMessage]
    ) -> _Queue:
        """Allocate a queue before the loop, and deliver its messages after the last row."""
        take, elements = self.names.allocate, field.type.elements
        is_by_cell = self.builder.follows_cells
        queue = _Queue(
            take(f"{field.name}_count"),
            take(f"{field.name}_to"),
            take(f"{field.name}_sent"),
            take(f"{field.name}_from") if is_by_cell else "",
            take(f"{field.name}_step") if len(messages) > 1 else "",
        )
        size = f"{elements} * 64" if elements > 1 else "64"
        self.arrays += [
            f"{queue.count} = 0",
            f"{queue.targets} = np.empty(64, np.int64)",
            self.allocation(queue.sent, size, field.type),
        ]
        numbers = filter(None, (queue.senders, queue.numbers))
        self.arrays += [f"{name} = np.empty(64, np.int64)" for name in numbers]
        with self.into(self.queue_delivery):
            index, row = take("m"), take("to_row")
            head = f"for {index} in range({queue.count})"
            if queue.senders:
                senders = f"{queue.senders}[:{queue.count}]"
                if self.builder.senders:
                    senders = self._places_in_call(senders, index)
                head = f"for {index} in {senders}.argsort(kind='mergesort')"
            with self.block(head):
                self.write(f"{row} = {queue.targets}[{index}]")
                for message in messages:
                    stored = _queued(queue.sent, index, message.type, elements)
                    with (
                        self.block(f"if {queue.numbers}[{index}] == {message.number}")
                        if queue.numbers
                        else nullcontext()
                    ):
                        self._apply_stored_message(message, row, stored)
        return queue

    def _places_in_call(self, senders: str, index: str) -> str:
        """Write the place of each row that a call names; return the expression for the senders'."""
        places, rows = self.names.allocate("places"), self.builder.senders
        self.write(f"{places} = np.empty({rows}.max() + 1 if len({rows}) else 0, np.int64)")
        with self.block(f"for {index} in range(len({rows}))"):
            self.write(f"{places}[{rows}[{index}]] = {index}")
        return f"{places}[{senders}]"


@dataclass(frozen=True, slots=True)
class _Queue:
    """Variables with messages that wait for the last row."""

    count: str
    targets: str
    """Array with the rows that get them."""
    sent: str
    """Array with the values."""
    senders: str
    """Array with the rows that sent them, if these run in another order."""
    numbers: str
    """Array with the numbers of the statements, if there are several."""


def _queued(array: str, index: str, type_: Type, elements: int) -> Value:
    """Return the elements of a queued value; `elements`: those of the field."""
    start = f"{elements} * {index}" if elements > 1 else index
    return Value(type_, lambda element: Code(f"{array}[{plus(start, element)}]"))


def queued_messages(kernel: lowered.LoweredKernel) -> dict[str, list[lowered.SendMessage]]:
    """Return the messages to each field to which some statement inside of a loop sends."""
    inside = {
        message.to.text
        for loop in tree.walk_nested(kernel.body)
        if isinstance(loop, lowered.Compound) and not isinstance(loop, lowered.If)
        for message in tree.walk_nested(loop.blocks[-1])
        if isinstance(message, lowered.SendMessage)
    }
    queued: dict[str, list[lowered.SendMessage]] = {}
    for message in kernel.messages:
        if message.to.text in inside:
            queued.setdefault(message.to.text, []).append(message)
    return queued


def is_in_place(sign: str, scalar: str) -> bool:
    """Return True if `target += operand` is the same operation; sums of i64 are calls."""
    return sign in ("+", "-", "*", "/") and scalar != "i64"
