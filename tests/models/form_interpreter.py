"""Runs forms of kernels row by row: what their statements say, and nothing that they do not say.

Only what is marked so is read from copies or waits for the last row, neighbours are those of the
last `List`, rows those of the last `Find`, and nobody moves without a word. The world, the order
of its rows, and what an operation gives are the judge's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from ecsgen.kernels.form import (
    Ask,
    Fetch,
    Find,
    Hear,
    List,
    Moved,
    Say,
    Send,
    Set,
    Statement,
    Store,
    There,
)
from ecsgen.kernels.form import Row as Variable
from ecsgen.kernels.lower import lowered
from ecsgen.model.programs import (
    ENTITY,
    Argument,
    Cast,
    Constant,
    Distance,
    Element,
    Expression,
    FieldValue,
    Local,
    Offset,
    Operation,
    OtherField,
    Program,
    walk,
)
from tests.judge import values
from tests.judge.grids import InSpace, Neighbour
from tests.judge.kernels import Run
from tests.judge.language import Place, Scope, gathered
from tests.judge.model import Row, World
from tests.judge.values import Value, assigned, binary, cast, dot, value


class FormInterpreter(Run):
    """One kernel's form in a judge's world."""

    def __init__(
        self, world: World, name: str, program: Program, arguments: Mapping[str, Any]
    ) -> None:
        super().__init__(world, name, None, {**arguments})
        self.form = lowered(program, self.kernel.home)
        self.kernel = copy(self.kernel)
        self.kernel.where = None  # the form has its own

    def _act(self, scope: Scope) -> None:
        self.scope, self.locals, self.hears = scope, dict[str, Value](), True
        self.found, self.asked = dict[Variable, Row | int | None](), None
        self._run(self.form.head)
        if self.form.where is None or self.value(self.form.where).one:
            self._run(self.form.body)
        assert all(name[0] != "_" for name in self.locals), "made, and never read"

    def _run(self, statements: Sequence[Statement]) -> None:
        for one in statements:
            match one:
                case Say():
                    pass
                case Find():
                    self.found[one.row] = self._row(one)
                case There():
                    there = self.found[one.row] is not None
                    self.locals[one.to.name] = value("bool", there)
                case Fetch():
                    self.locals[one.to.name] = self._fetched(one)
                case List():
                    self.listed = self.nearby[one.near].of(self.scope.rows)
                case Ask():
                    self.locals[one.to.name] = self._answer(one)
                case Set():
                    assert one.is_new == (one.to.name not in self.locals)
                    self.locals[one.to.name] = self._typed(self.value(one.value), one.to)
                case Store():
                    row = self._own(one.to)
                    self._put(row, one.to.name, one.index, "", self.value(one.value))
                case Moved():
                    self._follow(self._own(one.place), one.place.name)
                case Hear():
                    self.hears = self.world.lives(self.scope.row)
                case Send():
                    self._send(one)
                case _:
                    raise TypeError(one)

    def _row(self, one: Find) -> Row | int | None:
        handle = self.value(one.handle).one
        if not one.component:
            return handle if handle in self.world.entities else None
        is_entity = one.handle.type.kind == "entity"
        find = self.world.first if is_entity else self.world.with_id
        return find(one.component, handle)

    def _fetched(self, one: Fetch) -> Value:
        row, place = self.found[one.place.row], one.place
        if row is None:
            return value(place.type.scalar, np.reshape(one.default, place.type.shape))
        assert isinstance(row, Row)
        cells = self.before[row] if one.before else row.cells
        return self._typed(cells[place.name], place)

    def _send(self, one: Send) -> None:
        row, sent = self.found[one.to.row], self.value(one.value)
        if row is None or not self.hears:
            return
        assert isinstance(row, Row)
        name, index, sign = one.to.name, one.to.index, one.how.replace("=", "")
        if one.held:
            old = Place(row, row.component, name, index=index)
            self.messages.append((old, sign, assigned(sent, self.scope.read(old))))
            return
        self._put(row, name, index, sign, sent)
        if one.moves:
            self._follow(row, name)

    def _put(self, row: Row, field: str, index: tuple[int, ...], sign: str, one: Value) -> None:
        """Write; who moves is said by other statements."""
        nearby, self.nearby = self.nearby, {}
        old = Value(row.cells[field].type, row.cells[field].data[index])
        self._write(Place(row, row.component, field, index=index), sign, assigned(one, old))
        self.nearby = nearby

    def _follow(self, row: Row, field: str) -> None:
        (near,) = self.nearby.values()
        assert isinstance(near, InSpace)
        assert (near.there, near.component.space) == (row.component, field)
        near.follow(row)

    def _own(self, node: FieldValue | OtherField) -> Row:
        rows = self.asked.rows if self.asked and isinstance(node, OtherField) else self.scope.rows
        return rows[node.owner or self.kernel.home]

    def _typed(self, one: Value, node: Any) -> Value:
        """A value in the type, and the shape, that something has."""
        return cast(node.type.scalar, one) if one.type != node.type.scalar else one

    def value(self, node: Expression) -> Value:
        """A pure expression; what a statement made is there once."""
        match node:
            case Constant():
                return value(node.type.scalar, node.value)
            case Argument():
                found = self.scope.locals.get(node.name) or self.arguments[node.name]
                return self._typed(found, node)
            case Local():
                is_made = node.name[0] == "_" and not self.asked
                return self.locals.pop(node.name) if is_made else self.locals[node.name]
            case FieldValue() | OtherField():
                row = self._own(node)
                if node.name == ENTITY:
                    return value("u64", row.owner)
                cells = row.cells if isinstance(node, FieldValue) else self.cells(row)
                return self._typed(cells[node.name], node)
            case Element():
                return Value(node.type.scalar, self.value(node.base).data[node.index])
            case Cast():
                return cast(node.type.scalar, self.value(node.operand))
            case Offset() | Distance():
                assert self.asked is not None
                met = self.asked
                return met.offset if isinstance(node, Offset) else met.distance
            case Operation():
                return _operated(node.name, [self.value(one) for one in node.operands])
        raise TypeError(node)

    def _answer(self, one: Ask) -> Value:
        """What a value needs of the row is made once, and read for each neighbour."""
        met, answers = self.listed, list[Value]()
        for self.asked in met:
            answers.append(value("bool", True) if one.value is None else self.value(one.value))
        self.asked = None
        used = [] if one.value is None else [*walk(one.value)]
        for name in {node.name for node in used if isinstance(node, Local)}:
            if name[0] == "_":
                del self.locals[name]
        type_ = one.to.type
        if one.how == "count":
            return value(type_.scalar, sum(bool(each.one) for each in answers))
        assert one.value is not None
        none = value(one.value.type.scalar, 0, type_.shape)
        if one.how != "nearest":
            return self._typed(gathered(one.how, answers, none), one.to)
        squares = [dot(each.offset, each.offset).one for each in met]
        return answers[squares.index(min(squares))] if squares else none

    asked: Neighbour | None
    listed: list[Neighbour]


def _operated(name: str, operands: list[Value]) -> Value:
    match name:
        case "neg":
            return values.function("-", operands)
        case "not":
            return values.typed(np.logical_not(operands[0].data))
        case "square":
            return binary("*", *operands * 2)
        case "if":
            return values.chosen(*operands)
    is_sign = name in values.UFUNCS or name in ("**", "@")
    return binary(name, *operands) if is_sign else values.function(name, operands)
