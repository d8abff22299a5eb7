"""Typed expressions of each pair of a row and a neighbour to numpy statements."""

from __future__ import annotations

from ecsgen.model import typed_tree as tree
from ecsgen.render.blocks.array_values import ArrayValue, ElementOrder, ScratchPool, kind_of
from ecsgen.render.blocks.block_expressions import BlockEmitter

PAIRS = "_pairs"
"""Variable with the pairs of a block."""


class PairEmitter(BlockEmitter):
    """Emitter of expressions of pairs of a row and a neighbour, among the statements of rows.

    The row's own values are spread over its pairs."""

    def __init__(self, row: BlockEmitter) -> None:
        shared = row.view, row.arguments, row.constants, row.indent
        super().__init__(*shared, ScratchPool("_each"), row.before, lines=row.lines)
        self.row = row
        self.neighbour_fields: dict[tree.NeighbourField, str] = {}
        """Fields of neighbours, and the names of their arrays."""

    def value(self, node: tree.Expression, target: ArrayValue | None = None) -> ArrayValue:
        """Write the statements that compute an expression of each pair, and return its value."""
        match node:
            case tree.NeighbourField():
                owner = f"{node.owner.lower()}_" if node.owner else ""
                kind = "link" if node.is_link else "other"
                text = self.neighbour_fields.setdefault(node, f"_{kind}_{owner}{node.name}")
                return ArrayValue(text, *kind_of(node.type))
            case tree.Offset() | tree.Distance():
                name = "distance"
                if isinstance(node, tree.Offset):
                    name = "offset" if node.type.shape else "offset[0]"
                return ArrayValue(f"{PAIRS}.{name}", *kind_of(node.type))
            case tree.FieldValue() | tree.Local() | tree.Argument(each=True):
                return self._spread(node)
        return super().value(node, target)

    def _spread(self, node: tree.FieldValue | tree.Local | tree.Argument) -> ArrayValue:
        value = self.row.value(node)
        if value.is_uniform:
            return value
        out = self.working.acquire((value.scalar, *kind_of(node.type)[1:]))
        self.run(f"{PAIRS}.spread", value.text, out.text)
        self.row.working.release(value)
        return out

    def reads(self, node: tree.Expression, target: ArrayValue) -> bool:
        """Return False: what is computed for each pair goes to new memory alone."""
        return False

    def layout(self, node: tree.Expression) -> ElementOrder:
        """Return the layout that the value of an expression will have."""
        match node:
            case tree.FieldValue() | tree.Argument(each=True):
                return kind_of(node.type)[2]
            case tree.Local():
                is_uniform = self.row.layout(node) is ElementOrder.UNIFORM
                return ElementOrder.UNIFORM if is_uniform else kind_of(node.type)[2]
        return super().layout(node)
