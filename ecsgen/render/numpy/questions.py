"""Questions to neighbours: what is asked of each pair, in memory with a place for each pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ecsgen.model.programs import (
    Argument,
    Distance,
    Exists,
    Expression,
    FieldValue,
    Local,
    Offset,
    OtherField,
    Question,
    Referred,
)
from ecsgen.model.types import Type
from ecsgen.render.numpy.expressions import Emitter
from ecsgen.render.numpy.values import Layout, Value, Working

_PAIRS: Final = "_pairs"


def _layout(type_: Type) -> Layout:
    return Layout.PLANES if type_.shape else Layout.ROWS


@dataclass(slots=True)
class PairEmitter(Emitter):
    """Writes what is asked of each pair: the row's own values are spread over its pairs."""

    row: Emitter | None = None
    """What writes the row's own values."""
    asked: dict[OtherField, str] = field(default_factory=dict)
    """The neighbours' fields, and what they are called."""

    def value(self, node: Expression, target: Value | None = None) -> Value:
        """Statements that compute an expression of each pair, and where its value is then."""
        type_ = node.type
        match node:
            case OtherField():
                text = self.asked.setdefault(node, _name(node))
                return Value(text, type_.scalar, type_.shape, _layout(type_))
            case Offset():
                return Value(f"{_PAIRS}.offset", type_.scalar, type_.shape, Layout.PLANES)
            case Distance():
                return Value(f"{_PAIRS}.distance", type_.scalar, (), Layout.ROWS)
            case FieldValue() | Local() | Referred() | Exists() | Argument(each=True):
                return self._spread(node)
        return Emitter.value(self, node, target)

    def _spread(self, node: FieldValue | Local | Referred | Exists | Argument) -> Value:
        assert self.row is not None
        own = self.row.value(node)
        if own.is_uniform:
            return own
        out = self.working.take(own.scalar, own.shape, _layout(node.type)).value
        self.run(f"{_PAIRS}.spread", own.text, out.text)
        self.row.working.give_back(own)
        return out

    def layout(self, node: Expression) -> Layout:
        """The layout that the value of an expression will have."""
        match node:
            case OtherField() | Offset() | Distance() | FieldValue() | Argument(each=True):
                return _layout(node.type)
            case Local() | Referred() | Exists():
                assert self.row is not None
                is_uniform = self.row.layout(node) is Layout.UNIFORM
                return Layout.UNIFORM if is_uniform else _layout(node.type)
        return Emitter.layout(self, node)


def _name(node: OtherField) -> str:
    owner = f"{node.owner.lower()}_" if node.owner else ""
    return f"_other_{owner}{node.name}"


class Questions:
    """The questions of a kernel, whose rows' own values `row` writes."""

    def __init__(self, row: Emitter) -> None:
        self._row = row
        self.pairs = PairEmitter(
            view=row.view,
            arguments=row.arguments,
            composers=row.composers,
            others=row.others,
            indent=row.indent,
            working=Working("_each"),
            before=row.before,
            lines=row.lines,
            constants=row.constants,
            row=row,
        )

    def answer(self, node: Question) -> Value:
        """Statements that ask, and where the answers are."""
        type_ = node.type
        out = self._row.working.take(type_.scalar, type_.shape, _layout(type_)).value
        if node.value is None:
            self._row.run(f"{_PAIRS}.{node.how}", "True", out.text)
            return out
        found = self.pairs.value(node.value)
        self._row.run(f"{_PAIRS}.{node.how}", found.text, out.text)
        self.pairs.working.give_back(found)
        return out
