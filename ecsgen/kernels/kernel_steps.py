"""Steps to typed assignments, and what a kernel reads and writes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.expressions import TypeChecker
from ecsgen.kernels.literals import Literal
from ecsgen.kernels.operations import BINARY, WORDS
from ecsgen.kernels.questions import begins_with_other
from ecsgen.kernels.references import Reach
from ecsgen.kernels.rules import Operand, applied, fitted, typed
from ecsgen.kernels.scope import LINKS, Scope, follows
from ecsgen.kernels.syntax import Assignment, KernelError
from ecsgen.model import Field
from ecsgen.model.programs import (
    ENTITY,
    PARENT,
    Argument,
    Constant,
    Element,
    Expression,
    FieldValue,
    Local,
    Referred,
    Step,
)


def target_of(step: Assignment | ast.Call) -> ast.expr:
    """What a step assigns to; a death or birth is all of it."""
    match step:
        case ast.AugAssign(target=target):
            return target
        case ast.Assign(targets=[target]):
            return target
    assert isinstance(step, ast.Call)
    return step


def local_names(steps: list[Assignment | ast.Call], scope: Scope) -> frozenset[str]:
    """The names that become locals when steps set them."""
    targets = [target_of(step) for step in steps if isinstance(step, ast.Assign)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names - scope.fields.keys() - scope.arguments.keys() - scope.wrong - LINKS)


def names_read(step: Assignment | ast.Call) -> Iterator[str]:
    """The bare names on the right side of a step, and those by which the left one begins."""
    target = target_of(step)
    sides = [] if isinstance(target, ast.Name) else [target]
    sides += [] if isinstance(step, ast.Call) else [step.value]
    return (node.id for side in sides for node in ast.walk(side) if isinstance(node, ast.Name))


def typed_step(step: Assignment, text: str, scope: Scope, reach: Reach) -> Step:
    """A typed assignment; a local that it sets is in scope afterwards. Raises KernelError."""
    checker = TypeChecker(scope, reach)
    node = target_of(step)
    if begins_with_other(node, scope.near) and not isinstance(node, ast.Name):
        hint = "let each row ask, or send to nearest(other.entity)"
        raise KernelError("E811", "a kernel assigns nothing to neighbours", node, hint)
    if isinstance(node, ast.Name) and node.id in scope.wrong:
        checker.value(step.value)  # may be wrong in its own right
        raise follows(node)
    if isinstance(node, ast.Name) and node.id in {*scope.locals_, *scope.later}:
        return _set_local(step, node, text, scope, checker)
    place = _place(node, scope, checker)
    target, index = (place.base, place.index) if isinstance(place, Element) else (place, ())
    if not isinstance(target, FieldValue | Referred):
        raise KernelError("E805", f"a kernel cannot assign to {_what(target)}", node)
    if isinstance(target, Referred):
        _refuse_guarded(target, reach.components[target.component].fields, node)
        found = _message(step, place, checker)
        if found is not None:
            return Step(target, _sent(*found, place, checker), index, text, found[0])
        if scope.takes_turns:
            value = fitted(_right_side(step, place, checker), place.type, step.value)
            return Step(target, value, index, text, "=")
        hint = "write +=, -=, min, max, or, and"
        raise KernelError("E811", "several rows may mean the same one", node, hint)
    if target.owner == PARENT:
        message = "a kernel cannot assign to the parent's row: only to its own"
        raise KernelError("E805", message, node)
    if target.name == ENTITY:
        message = "a kernel cannot assign to 'entity': the manager keeps it"
        raise KernelError("E805", message, node)
    _refuse_guarded(target, scope.fields_of(target.owner), node)
    _refuse_crowds(target, scope, node)
    operand = _right_side(step, place, checker)
    return Step(target, fitted(operand, place.type, step.value), index, text)


def _refuse_guarded(target: FieldValue | Referred, fields: Iterable[Field], node: ast.expr) -> None:
    field = next(one for one in fields if one.name == target.name)
    for key, _ in field.asked:
        message = f"a kernel cannot assign to {quote(target.text)}: it is {key}"
        hint = "kernels may read it; write it by `data` or its setter, which keep its index right"
        raise KernelError("E805", message, node, hint)


def _refuse_crowds(target: FieldValue, scope: Scope, node: ast.expr) -> None:
    """Raise E817 for moves at once to cells on which not any number of rows may stand."""
    component = scope.standing.get(target.owner)
    on = None if component is None else component.on
    if on is None or on.field != target.name or not on.capacity or scope.takes_turns:
        return
    message = f"{on.capacity} may stand on a cell: who comes first is a question of turns"
    raise KernelError("E817", message, node, "give the kernel turns: random, or turns: rows")


def _right_side(step: Assignment, target: Expression, checker: TypeChecker) -> Operand:
    value = checker.infer(step.value)
    if isinstance(step, ast.AugAssign):
        # The error of `x += y` belongs to y.
        return applied(BINARY[type(step.op)], [target, value], step.value)
    return value


def _set_local(
    step: Assignment, node: ast.Name, text: str, scope: Scope, checker: TypeChecker
) -> Step:
    name = node.id
    before = scope.locals_.get(name)
    if isinstance(step, ast.AugAssign) and before is None:
        raise scope.unknown(node)
    operand = _right_side(step, before, checker) if before else checker.infer(step.value)
    if before is not None and isinstance(operand, Literal):
        operand = fitted(operand, before.type, step.value)
    value = typed(operand)
    if before is not None and before.type != value.type:
        message = f"{quote(name)} was {before.type} and would become {value.type}"
        raise KernelError("E806", message, node, "give it another name")
    scope.locals_[name] = local = Local(value.type, name)
    return Step(local, value, (), text)


def _place(node: ast.expr, scope: Scope, checker: TypeChecker) -> Expression:
    """What a step assigns to, as an expression that reads it."""
    base = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(base, ast.Name | ast.Attribute):
        message = "a step assigns to a field, an element of a field or a local name"
        raise KernelError("E805", message, node)
    try:
        return checker.value(node)
    except KernelError as error:
        if error.code == "E802" and isinstance(base, ast.Name) and scope.components:
            error.hint = error.hint or did_you_mean(base.id, scope.components)
        raise


def _what(found: Expression) -> str:
    match found:
        case Constant():
            return "a constant"
        case Local():
            return f"an element of the local {quote(found.name)}"
        case Element():
            return _what(found.base)
        case Argument(each=True):
            return "an argument: its values are only read"
    return "an argument: it is the same for every row"


def _sent(how: str, node: ast.expr, place: Expression, checker: TypeChecker) -> Expression:
    """The value by which a message changes a place in another row."""
    value = checker.infer(node)
    applied(how, [place, value], node)  # has its own to say on types and shapes
    return fitted(value, place.type, node)


def _message(
    step: Assignment, place: Expression, checker: TypeChecker
) -> tuple[str, ast.expr] | None:
    """The operation, and the operand that is not the place itself; None for a step that is none of
    the ways in which several rows can change the same place."""
    match step:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return BINARY[type(step.op)], step.value
        case ast.Assign(value=ast.Call(func=ast.Name(id="min" | "max" as how), args=[one, value])):
            if checker.value(one) == place:
                return how, value
        case ast.Assign(value=ast.BoolOp(op=word, values=[one, value])):
            if checker.value(one) == place:
                return WORDS[type(word)], value
    return None


def check_way(step: Step, node: ast.expr, line: int, ways: dict[str, tuple[str, int]]) -> None:
    """Raise E811 for a second way in which a field of other rows is changed; `ways`: the first one
    of each field, and on which line it stands."""
    if isinstance(step.target, Referred):
        spelled = f"{step.how}=" if step.how in ("+", "-") else step.how
        first, place = ways.setdefault(step.target.text, (spelled, line))
        if first != spelled and {first, spelled} != {"+=", "-="}:
            kinds = f"{first} on line {place} and {spelled}"
            message = f"{quote(step.target.text)} gets two kinds of message, {kinds}"
            raise KernelError("E811", message, node)
