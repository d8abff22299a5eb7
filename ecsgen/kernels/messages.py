"""Messages of kernels: assignments to other rows, of which several may mean the same one."""

from __future__ import annotations

import ast
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.kernels.expressions import Typist
from ecsgen.kernels.fitting import fitted
from ecsgen.kernels.rules import applied
from ecsgen.kernels.syntax import Assignment, KernelError
from ecsgen.model.programs import Expression, Referred, Step

_SIGNS: Final[dict[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-"}
_WORDS: Final[dict[type[ast.boolop], str]] = {ast.And: "and", ast.Or: "or"}
_SPELLED: Final = {"+": "+=", "-": "-="}


def sent(step: Assignment, place: Expression, typist: Typist) -> tuple[str, Expression]:
    """How a step changes a place in another row, and by which value; KernelError if it is none of
    the ways in which several rows can do so."""
    found = _message(step, place, typist)
    if found is None:
        node = step.target if isinstance(step, ast.AugAssign) else step.targets[0]
        hint = "write +=, -=, min, max, or, and"
        raise KernelError("E811", "several rows may mean the same one", node, hint)
    how, node = found
    value = typist.infer(node)
    applied(how, [place, value], node)  # has its own to say on types and shapes
    return how, fitted(value, place.type, node)


def is_message(step: Assignment, place: Expression, typist: Typist) -> bool:
    """Whether a step is one of the ways in which several rows can change the same place."""
    return _message(step, place, typist) is not None


def _message(step: Assignment, place: Expression, typist: Typist) -> tuple[str, ast.expr] | None:
    """The operation, and the operand that is not the place itself; None for no message."""
    match step:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return _SIGNS[type(step.op)], step.value
        case ast.Assign(value=ast.Call(func=ast.Name(id="min" | "max" as how), args=[one, value])):
            if typist.value(one) == place:
                return how, value
        case ast.Assign(value=ast.BoolOp(op=word, values=[one, value])):
            if typist.value(one) == place:
                return _WORDS[type(word)], value
    return None


class Ways:
    """In which way each field of other rows is changed: in one way only."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, int]] = {}

    def check(self, step: Step, node: ast.expr, line: int) -> None:
        """Raise E811 for a second way."""
        if not isinstance(step.target, Referred):
            return
        spelled = _SPELLED.get(step.how, step.how)
        first, place = self._first.setdefault(step.target.text, (spelled, line))
        if first != spelled and {first, spelled} != {"+=", "-="}:
            kinds = f"{first} on line {place} and {spelled}"
            message = f"{quote(step.target.text)} gets two kinds of message, {kinds}"
            raise KernelError("E811", message, node)
