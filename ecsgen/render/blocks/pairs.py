"""What is asked of each pair of a row and a neighbour, in memory with a place for each pair."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecsgen.model.programs import (
    Argument,
    Distance,
    Expression,
    FieldValue,
    Local,
    Offset,
    OtherField,
)
from ecsgen.model.types import Type
from ecsgen.render.blocks.array_values import Layout, Value, Working
from ecsgen.render.blocks.expressions import Emitter

PAIRS = "_pairs"
"""The variable with the pairs of a block."""


def layout_of(type_: Type) -> Layout:
    """The layout of what is made for each pair, or of their answer."""
    return Layout.PLANES if type_.shape else Layout.ROWS


@dataclass(slots=True)
class PairEmitter(Emitter):
    """Writes what is asked of each pair: the row's own values are spread over its pairs."""

    row: Emitter = field(kw_only=True)
    """What writes the row's own values."""
    asked: dict[OtherField, str] = field(default_factory=dict)
    """The neighbours' fields, and what they are called."""

    @classmethod
    def of(cls, row: Emitter) -> PairEmitter:
        """Return one that writes between the statements of a row's emitter."""
        return cls(
            row.view,
            row.arguments,
            row.composers,
            row.indent,
            Working("_each"),
            row.before,
            lines=row.lines,
            constants=row.constants,
            row=row,
        )

    def value(self, node: Expression, target: Value | None = None) -> Value:
        """Statements that compute an expression of each pair, and where its value is then."""
        type_ = node.type
        match node:
            case OtherField():
                text = self.asked.setdefault(node, _name(node))
                return Value(text, type_.scalar, type_.shape, layout_of(type_))
            case Offset():
                return Value(f"{PAIRS}.offset", type_.scalar, type_.shape, Layout.PLANES)
            case Distance():
                return Value(f"{PAIRS}.distance", type_.scalar, (), Layout.ROWS)
            case FieldValue() | Local() | Argument(each=True):
                return self._spread(node)
        return Emitter.value(self, node, target)

    def _spread(self, node: FieldValue | Local | Argument) -> Value:
        own = self.row.value(node)
        if own.is_uniform:
            return own
        out = self.working.take(own.scalar, own.shape, layout_of(node.type)).value
        self.run(f"{PAIRS}.spread", own.text, out.text)
        self.row.working.give_back(own)
        return out

    def layout(self, node: Expression) -> Layout:
        """The layout that the value of an expression will have."""
        match node:
            case OtherField() | Offset() | Distance() | FieldValue() | Argument(each=True):
                return layout_of(node.type)
            case Local():
                is_uniform = self.row.layout(node) is Layout.UNIFORM
                return Layout.UNIFORM if is_uniform else layout_of(node.type)
        return Emitter.layout(self, node)


def _name(node: OtherField) -> str:
    owner = f"{node.owner.lower()}_" if node.owner else ""
    return f"_other_{owner}{node.name}"
