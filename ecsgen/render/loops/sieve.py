"""Rows that pass `where`, found for all rows at once before a loop in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecsgen.kernels.statements import LoweredKernel
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import (
    ArrayValue,
    Constants,
    ElementOrder,
    ScratchPool,
    Views,
)
from ecsgen.render.blocks.block_expressions import BlockEmitter
from ecsgen.render.blocks.cell_questions import all_of, conjuncts_of
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.kernel_methods.row_sources import RowSource

_SEEN = tree.Constant | tree.Cast | tree.Operation | tree.Element | tree.Tick
"""Nodes that blocks compute of a row's own fields and arguments alone."""


class Sieve:
    """Parts of a kernel's condition that no turn of another row can change. The loop over the rows
    that pass has the `rest` of the condition."""

    def __init__(self, kernel: LoweredKernel, source: RowSource) -> None:
        self._source, self._program = source, kernel.program
        parts = conjuncts_of(kernel.where) if not kernel.program.runs_by_level else []
        self._sifted = [part for part in parts if all(map(self._is_fixed, tree.walk(part)))]
        left = [part for part in parts if part not in self._sifted]
        self.rest = replace(kernel, where=all_of(left) if left else None) if parts else kernel
        self.constants = Constants()

    def __bool__(self) -> bool:
        """Return True if the sieve leaves out rows."""
        return bool(self._sifted)

    def _is_fixed(self, node: tree.Expression) -> bool:
        """Return True if a node has the same value in the row's turn as before the first turn."""
        match node:
            case tree.FieldValue(name=name, owner=owner):
                is_column = name not in (tree.ENTITY, tree.ID_SLOT, tree.CELL_ID)
                return is_column and owner != tree.PARENT and not self._may_change(node)
            case tree.Argument(type=type_, each=each):
                return not (each or type_.shape)
        return isinstance(node, _SEEN)

    def _may_change(self, field: tree.FieldValue) -> bool:
        """Return True if the turn of another row may change a field: rows write to fields of their
        own, and send to those of other rows."""
        name = field.owner or self._source.managers.home
        return self._program.takes_turns and f"{name}.{field.name}" in self._program.effects.sends

    def lines(self, arguments: Sequence[ArgumentCode], takes_rows: bool) -> list[str]:
        """Return the statements that set `_order` to the rows that pass; `takes_rows`: a call may
        name rows. Arrays have all these rows: O(n), a few bytes per row."""
        condition, inputs = all_of(self._sifted), (arguments, self.constants)
        return [
            *evaluation_lines(condition, "_where", self._source, *inputs, takes_rows),
            f"_order = passing_rows(_where{', _chosen' if takes_rows else ''})",
        ]


def evaluation_lines(
    expression: tree.Expression,
    name: str,
    source: RowSource,
    arguments: Sequence[ArgumentCode],
    constants: Constants,
    takes_rows: bool,
) -> list[str]:
    """Return the statements that make the array `name` of the values of an expression, of all rows
    at once; `takes_rows`: only of those that a call names."""
    typed = {a.name: f"{SCALARS[a.type.scalar].numpy}({a.text})" for a in arguments}
    views = Views(source.components, source.managers, {a.text for a in arguments})
    working = ScratchPool(f"{name}_part")
    emit = BlockEmitter(views.value, typed, constants, 12, working)
    target = ArrayValue(name, expression.type.scalar, (), ElementOrder.ROWS)
    value = emit.value(expression, target)
    if value.text != target.text:
        emit.write(f"{target.text}[...] = {value.text}")
    count = source.count
    if takes_rows:
        count = f"{count} if _chosen is None else len(_chosen.rows)"
    allocations = [f"{name} = np.empty({count}, {SCALARS[target.scalar].numpy})"]
    allocations += emit.working.allocations(f"len({name})")
    for field, value in views.seen.items():
        rows = source.cell_selection(field.owner)[1:-1]
        if takes_rows:
            rows = f"slice({source.count}) if _chosen is None else _chosen.rows"
        allocations.append(f"{value.text} = {views.column(field, is_kept=False)}[..., {rows}]")
    seen = [view.text for view in views.seen.values()]
    ticks = any(isinstance(node, tree.Tick) for node in tree.walk(expression))
    lines = "\n".join(" " * 12 + line for line in emit.before).split("\n") + emit.lines
    return [
        *(["_now = np.int64(self.tick)"] if ticks else []),
        *allocations,
        'with np.errstate(all="ignore"):',
        *(line[8:] for text in lines if text.strip() for line in text.split("\n")),
        *([f"del {', '.join(seen)}  # births may move them"] if seen else []),
    ]
