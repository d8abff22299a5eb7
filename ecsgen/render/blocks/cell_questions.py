"""Questions of cells to the cells around them, worked out for whole columns before the loop over
blocks: what is about the neighbour alone is one column, what is about the offset picks offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, SCALARS
from ecsgen.render.blocks.array_values import ArrayValue, ScratchPool, kind_of
from ecsgen.render.blocks.block_expressions import BlockEmitter, as_typed

_SHARED: Final = (tree.Constant, tree.Cast, tree.Operation, tree.Element)
"""Nodes that are about whatever their operands are about."""


def conjuncts_of(node: tree.Expression | None) -> list[tree.Expression]:
    """Return the conditions that must all hold for one to hold; none of None."""
    match node:
        case None:
            return []
        case tree.Operation(name="and", operands=(left, right)):
            return [*conjuncts_of(left), *conjuncts_of(right)]
    return [node]


def all_of(conditions: Sequence[tree.Expression]) -> tree.Expression:
    """Return the condition that some conditions hold."""
    return reduce(lambda left, right: tree.Operation(BOOL, "and", (left, right)), conditions)


def conditions_of(aggregate: tree.NeighbourAggregate) -> list[tree.Expression]:
    """Return the conditions on a neighbour that counts; a count's own is one of them."""
    counted = aggregate.value if aggregate.function == "count" else None
    return [*conjuncts_of(aggregate.where), *conjuncts_of(counted)]


def is_of_cells_alone(aggregate: tree.NeighbourAggregate) -> bool:
    """Return True if each part of a question is about the neighbour alone, or the offset alone."""
    value = None if aggregate.function == "count" else aggregate.value
    is_column = value is None or (not value.type.shape and _is_about(value, tree.NeighbourField))
    return is_column and all(
        _is_about(part, tree.NeighbourField) or _is_about(part, tree.Offset, tree.Distance)
        for part in conditions_of(aggregate)
    )


def _is_about(node: tree.Expression, *kinds: type[tree.Expression]) -> bool:
    for part in tree.walk(node):
        match part:
            case tree.NeighbourField(name=name, type=type_):
                if name == tree.CELL_ID or type_.shape or tree.NeighbourField not in kinds:
                    return False
            case tree.Argument(each=each):
                if each:
                    return False
            case _ if not isinstance(part, (*kinds, *_SHARED)):
                return False
    return any(isinstance(part, kinds) for part in tree.walk(node))


class _Columns(BlockEmitter):
    """Emitter of expressions of the neighbour, or of the offset, before the loop."""

    def __init__(self, row: BlockEmitter, leaf: Callable[[tree.Expression], str]) -> None:
        shared = row.view, row.arguments, row.constants, 0
        super().__init__(*shared, ScratchPool(f"_around{len(row.before)}_"), row.before)
        self._leaf = leaf

    def value(self, node: tree.Expression, target: ArrayValue | None = None) -> ArrayValue:
        """Write the statements that compute an expression, and return its value."""
        if isinstance(node, tree.NeighbourField | tree.Offset | tree.Distance):
            return ArrayValue(self._leaf(node), *kind_of(node.type))
        return super().value(node, target)

    def written(self, node: tree.Expression, size: str) -> str:
        """Return the text of an expression's value; its statements come before the loop. `size`:
        how many elements it has."""
        value = self.value(node)
        for slot in self.working.slots:
            shape = f"({', '.join([*map(str, slot.shape), size])},)"
            self.before.append(f"{slot.text} = np.empty({shape}, {SCALARS[slot.scalar].numpy})")
        self.before += self.lines
        return as_typed(value)


class CellQuestions:
    """Questions about the cells around, answered for all cells at once."""

    def __init__(
        self, emit: BlockEmitter, column: Callable[[tree.NeighbourField], str], grid: str
    ) -> None:
        """`column`: returns the expression for a whole column; `grid`: that for the grid."""
        self._emit, self._column = emit, column
        self._size = f"len({grid})"

    def answer(self, stencil: str, aggregate: tree.NeighbourAggregate) -> tuple[str, str]:
        """Return the expression for the answers of all cells, and its scalar type; `stencil`: the
        expression for the stencil."""
        emit, function = self._emit, aggregate.function
        conditions = conditions_of(aggregate)
        of_offsets = [c for c in conditions if _is_about(c, tree.Offset, tree.Distance)]
        of_cells = [condition for condition in conditions if condition not in of_offsets]
        around = emit.uniform(stencil, "u8").text
        if of_offsets:
            names = {tree.Offset: f"{around}.offsets", tree.Distance: f"{around}.distances"}
            offsets = _Columns(emit, lambda node: names[type(node)])
            picked = offsets.written(all_of(of_offsets), f"len({around}.distances)")
            around = emit.uniform(f"{around}.only({picked})", "u8").text
        where = self._of_cells(all_of(of_cells)) if of_cells else ""
        if function == "count":
            return (f"{around}.count({where})" if where else f"{around}.counts"), "u8"
        assert aggregate.value is not None
        values = self._of_cells(aggregate.value)
        arguments = f"{values}, {where}" if where else values
        return f"{around}.{function}({arguments})", aggregate.type.scalar

    def _of_cells(self, node: tree.Expression) -> str:
        columns = _Columns(self._emit, lambda leaf: f"{self._column(leaf)}[: {self._size}]")  # type: ignore[arg-type]  # a field
        return columns.written(node, self._size)
