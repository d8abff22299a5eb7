"""Python's syntax trees to typed ones: a whitelist, the type of every node, and assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.kernels import hints, operations
from ecsgen.kernels.grid_functions import GridFunctions
from ecsgen.kernels.literals import Literal, resolve_literal
from ecsgen.kernels.neighbour_aggregates import (
    NO_DRAWS,
    begins_with_other,
    is_aggregate,
    type_aggregate,
)
from ecsgen.kernels.parsing import Assignment, KernelError, check_count
from ecsgen.kernels.random_numbers import type_draw
from ecsgen.kernels.references import References
from ecsgen.kernels.scope import LINKS, Scope, make_silent_error
from ecsgen.kernels.type_rules import (
    Operand,
    apply_operation,
    cast,
    convert_for_target,
    give_default_type,
    unify_operands,
)
from ecsgen.model import Field
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, FLOATS, SCALARS, Type

AXES: Final = ("x", "y", "z", "w")
_LEAVES: Final = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript)
_HINTS: Final[dict[type[ast.AST], str]] = {
    ast.BitAnd: "write 'and' for conditions",
    ast.BitOr: "write 'or' for conditions",
    ast.Invert: "write 'not' for conditions",
    ast.BitXor: "a power is written '**'",
    ast.Is: "write '=='",
    ast.IsNot: "write '!='",
    ast.GeneratorExp: "neighbours are asked without a loop, as in sum(other.x)",
    ast.Tuple: hints.ELEMENTS,
    ast.List: hints.ELEMENTS,
}


class TypeChecker:
    """Typing of the expressions of one kernel."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.references = References(scope, self.value)
        self._grids = GridFunctions(scope, self.value)

    def value(self, node: ast.expr) -> tree.Expression:
        """Return the typed tree of an expression. Raises KernelError."""
        return give_default_type(self.infer(node))

    def condition(self, node: ast.expr) -> tree.Expression:
        """Return the typed tree of a condition: one bool per row. Raises KernelError."""
        operand = self.infer(node)
        if isinstance(operand, Literal) or operand.type != BOOL:
            shown = "a number" if isinstance(operand, Literal) else str(operand.type)
            hint = "compare it with something, as in `x > 0`"
            raise KernelError("E803", f"a condition is a bool, not {shown}", node, hint)
        return operand

    def infer(self, node: ast.expr) -> Operand:
        """Return the typed tree of an expression, or a literal that has no type yet."""
        match node:
            case ast.Constant(value=str() as text):
                raise _unsupported(node, node, hints.of_member(text, self._scope.members))
            case ast.Constant():
                return _constant(node)
            case ast.Name():
                return self._scope.name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return element(self.value(node.value), indices(node), node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                return self._logic(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                parts = [self.infer(part) for part in (node.test, node.body, node.orelse)]
                return apply_operation("if", [give_default_type(parts[0]), *parts[1:]], node)
            case ast.Call():
                return self._call(node)
        raise _unsupported(node, node)

    def _logic(self, node: ast.BoolOp) -> Operand:
        name = operations.WORDS[type(node.op)]
        try:
            values = [self.infer(value) for value in node.values]
            return reduce(lambda left, right: apply_operation(name, [left, right], node), values)
        except KernelError as error:
            if error.code == "E803" and (hint := hints.of_logic(node)):
                error.hint = hint
            raise

    def _unary(self, node: ast.UnaryOp) -> Operand:
        name = operations.UNARY.get(type(node.op))
        if name is None:
            raise _unsupported(node, node.op)
        operand = self.infer(node.operand)
        if name != "pos":
            return apply_operation(name, [operand], node)
        if isinstance(operand, Literal):
            return operand
        return unify_operands("+", [operand, operand], node)[0]  # `+x` is x, but not for conditions

    def _binary(self, node: ast.BinOp) -> Operand:
        name = operations.BINARY.get(type(node.op))
        if name is None:
            raise _unsupported(node, node.op)
        return apply_operation(name, [self.infer(node.left), self.infer(node.right)], node)

    def _compare(self, node: ast.Compare) -> Operand:
        for middle in node.comparators[:-1]:
            if not isinstance(middle, _LEAVES):  # it would be computed twice
                hint = hints.of_bits(middle) or "write 'and'"
                raise KernelError("E801", "this is part of two comparisons", middle, hint)
        values = [self.infer(value) for value in (node.left, *node.comparators)]
        comparisons: list[Operand] = []
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            name = operations.COMPARISONS.get(type(operator))
            if name is None:
                raise _unsupported(node, operator)
            comparisons.append(apply_operation(name, [left, right], node))
        return reduce(lambda left, right: apply_operation("and", [left, right], node), comparisons)

    def _call(self, node: ast.Call) -> Operand:
        if not isinstance(node.func, ast.Name):
            raise _unsupported(node, node, hints.of_call(node))
        name, near = node.func.id, self._scope.neighbours
        is_asking = near is not None and bool(near.current)
        no_draws = NO_DRAWS if is_asking else self._scope.no_draws
        if name in operations.COMMANDS:
            message = f"{quote(name)} is a step of its own, not a part of one"
            raise KernelError("E801", message, node)
        if self._grids.is_choice(node, name):
            return self._grids.type_choice(node, name, no_draws)
        if is_aggregate(node, name) and {keyword.arg for keyword in node.keywords} <= {"where"}:
            if near is None and self._scope.has_invalid_neighbours:
                raise make_silent_error(node)
            return type_aggregate(node, name, near, self.infer, no_draws)
        names = near.names if near is not None else ()
        if node.keywords:
            raise _unsupported(node, node, hints.of_call(node, names))
        if name == operations.EXISTS:
            occupied = near.occupied(node.args[0]) if near is not None and node.args else None
            if occupied is not None:
                self.references.check_known(occupied.component, node.args[0])
            return occupied or self.references.exists(node)
        if name in operations.GRID_FUNCTIONS:
            return self._grids.type_position(node, name)
        is_known = name in operations.FUNCTIONS or name in operations.DRAWS or name in SCALARS
        operands = [self.infer(argument) for argument in node.args] if is_known else []
        if name in operations.DRAWS:
            return type_draw(name, operands, node, no_draws)
        if name in SCALARS:
            check_count(name, node, 1, 1)
            return _converted(operands[0], name, node)
        if name not in operations.FUNCTIONS:
            hint = hints.of_call(node, names)
            raise KernelError("E802", f"unknown function {quote(name)}", node.func, hint)
        is_pairs, arity = name in ("min", "max"), operations.FUNCTIONS[name].arity
        check_count(name, node, arity, None if is_pairs else arity)
        if is_pairs:
            return reduce(lambda left, right: apply_operation(name, [left, right], node), operands)
        if name == "clip" and not all(isinstance(operand, Literal) for operand in operands):
            raised = apply_operation("max", operands[:2], node)
            return apply_operation("min", [raised, operands[2]], node)
        return apply_operation(name, operands, node)

    def _attribute(self, node: ast.Attribute) -> tree.Expression:
        value = self._scope.member(node)
        is_of_other = begins_with_other(node, self._scope.neighbours)
        if value is None and not is_of_other:
            value = self.references.field(node)
        if value is not None:
            return value
        base = self._holder(node)
        if base.type.is_handle and is_of_other:
            message = "'other' has no references to follow: only its own fields can be read"
            raise KernelError("E813", message, node)
        referred = self.references.of_value(base, node)
        if referred is not None:
            return referred
        if node.attr not in AXES or len(base.type.shape) != 1:
            hint = "write [i, j]" if len(base.type.shape) > 1 else ""
            raise KernelError("E802", f"{base.type} has no element {quote(node.attr)}", node, hint)
        return element(base, (AXES.index(node.attr),), node)

    def _holder(self, node: ast.Attribute) -> tree.Expression:
        try:
            return self.value(node.value)
        except KernelError as error:
            if isinstance(node.value, ast.Name) and error.code == "E802":
                references = self._scope.reference_scope
                hint = hints.of_holder(node, self._scope.names(), references.home, references.names)
                error.hint = hint or error.hint
            raise


def indices(node: ast.Subscript) -> tuple[int, ...]:
    """Return the constant indices of an element access. Raises E807."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    values = []
    for item in items:
        if not isinstance(item, ast.Constant) or type(item.value) is not int:
            raise KernelError("E807", "an index is a whole number from 0, written out", item)
        values.append(item.value)
    return tuple(values)


def element(base: tree.Expression, index: tuple[int, ...], node: ast.expr) -> tree.Expression:
    """Return an element of a shape. Raises E807 if the index is out of range."""
    shape = base.type.shape
    if not index or len(index) > len(shape):
        shown = f"{len(index)} indices" if len(index) > 1 else "an index"
        raise KernelError("E807", f"{base.type} does not take {shown}", node)
    for position, size in zip(index, shape, strict=False):
        if position >= size:
            message = f"the index {position} is out of range: {base.type} has 0 to {size - 1} there"
            raise KernelError("E807", message, node)
    type_ = base.type.of_shape(shape[len(index) :])
    if isinstance(base, tree.Element):
        return tree.Element(type_, base.base, base.index + index)
    return tree.Element(type_, base, index)


def _constant(node: ast.Constant) -> Operand:
    value = node.value
    if isinstance(value, bool):
        return tree.Constant(BOOL, value)
    if isinstance(value, int | float):
        if value in (float("inf"), float("-inf")):
            raise KernelError("E809", "the number is larger than any float", node)
        return Literal(value, node)
    raise _unsupported(node, node)


def _converted(operand: Operand, scalar: str, node: ast.AST) -> tree.Expression:
    if not isinstance(operand, Literal):
        if operand.type.is_handle:
            raise KernelError("E803", f"{operand.type} is a handle, not a number", node)
        return cast(operand, scalar)
    is_whole = isinstance(operand.value, int) or scalar in FLOATS
    if scalar == "bool" or not is_whole:
        return cast(give_default_type(operand), scalar)
    return resolve_literal(operand, Type(scalar))


def _unsupported(node: ast.expr, what: ast.AST, hint: str = "") -> KernelError:
    hint = hint or _HINTS.get(type(what), "")
    if isinstance(what, ast.Constant) and what.value is None:
        hint = hints.NULL
    elif isinstance(what, ast.Constant) and isinstance(what.value, str | bytes):
        hint = hint or "kernels compute with numbers, not with text"
    return KernelError("E801", "this is not part of the language of kernels", node, hint)


def target_of(step: Assignment | ast.Call) -> ast.expr:
    """Return the target of a step; of a command the call itself."""
    match step:
        case ast.AugAssign(target=target):
            return target
        case ast.Assign(targets=[target]):
            return target
    assert isinstance(step, ast.Call)
    return step


def local_names(steps: list[Assignment | ast.Call], scope: Scope) -> frozenset[str]:
    """Return the names that become locals when steps set them."""
    targets = [target_of(step) for step in steps if isinstance(step, ast.Assign)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(
        names - scope.fields.keys() - scope.arguments.keys() - scope.invalid_names - LINKS
    )


def names_read(step: Assignment | ast.Call) -> Iterator[str]:
    """Return the bare names that a step reads: of its right side, and in front of its target."""
    target = target_of(step)
    sides = [] if isinstance(target, ast.Name) else [target]
    sides += [] if isinstance(step, ast.Call) else [step.value]
    return (node.id for side in sides for node in ast.walk(side) if isinstance(node, ast.Name))


def type_step(step: Assignment, text: str, scope: Scope) -> tree.Step:
    """Return a typed assignment; add the local that it sets to the scope. Raises KernelError."""
    checker = TypeChecker(scope)
    node = target_of(step)
    if begins_with_other(node, scope.neighbours) and not isinstance(node, ast.Name):
        assert scope.neighbours is not None
        hint = f"let each row ask, or send to {scope.neighbours.nearest(node)}"
        raise KernelError("E811", "a kernel cannot assign to neighbours", node, hint)
    if isinstance(node, ast.Name) and node.id in scope.invalid_names:
        checker.value(step.value)  # may be wrong in its own right
        raise make_silent_error(node)
    if isinstance(node, ast.Name) and node.id in {*scope.locals_, *scope.later}:
        return _set_local(step, node, text, scope, checker)
    read = _read_target(node, checker)
    target, index = (read.base, read.index) if isinstance(read, tree.Element) else (read, ())
    if not isinstance(target, tree.FieldValue | tree.ReferencedField):
        raise KernelError("E805", f"a kernel cannot assign to {_what(target)}", node)
    if isinstance(target, tree.ReferencedField):
        _refuse_guarded(target, scope.reference_scope.components[target.component].fields, node)
        message_parts = _message(step, read, checker)
        if message_parts is not None:
            operator, sent = message_parts
            operand = checker.infer(sent)
            apply_operation(operator, [read, operand], sent)  # reports types and shapes
            value = convert_for_target(operand, read.type, sent)
            return tree.Step(target, value, index, text, operator)
        if scope.takes_turns:
            value = convert_for_target(_right_side(step, read, checker), read.type, step.value)
            return tree.Step(target, value, index, text, "=")
        turns = "give the kernel turns: random, or turns: rows"
        hint = turns if read.type.kind else f"write +=, -=, min, max, or, and; or {turns}"
        raise KernelError("E811", "several rows may mean the same one", node, hint)
    if target.owner == tree.PARENT:
        message = "a kernel cannot assign to the parent's row: only to its own"
        raise KernelError("E805", message, node)
    if target.name == tree.ENTITY:
        message = "a kernel cannot assign to 'entity': the manager keeps it"
        raise KernelError("E805", message, node)
    _refuse_guarded(target, scope.fields_of(target.owner), node)
    _refuse_crowds(target, scope, node)
    operand = _right_side(step, read, checker)
    return tree.Step(target, convert_for_target(operand, read.type, step.value), index, text)


def _refuse_guarded(
    target: tree.FieldValue | tree.ReferencedField, fields: Iterable[Field], node: ast.expr
) -> None:
    field = next(field for field in fields if field.name == target.name)
    for key, _ in field.options:
        message = f"a kernel cannot assign to {quote(target.text)}: it is {key}"
        hint = "kernels may read it; write it by `data` or its setter, which keep its index right"
        raise KernelError("E805", message, node, hint)


def _refuse_crowds(target: tree.FieldValue, scope: Scope, node: ast.expr) -> None:
    """Raise E817 for moves without turns to cells with a capacity."""
    component = scope.occupants.get(target.owner)
    on = None if component is None else component.on
    if on is None or on.field != target.name or not on.capacity or scope.takes_turns:
        return
    message = f"a cell has room for {on.capacity}: which rows move there depends on their order"
    raise KernelError("E817", message, node, "give the kernel turns: random, or turns: rows")


def _right_side(step: Assignment, target: tree.Expression | None, checker: TypeChecker) -> Operand:
    """Return the value that a step assigns; `target`: the changed value, None for a new local."""
    if isinstance(step.value, ast.Tuple | ast.List):
        raise _unsupported(step.value, step.value, _instead_of_vector(step, step.value, target))
    value = checker.infer(step.value)
    if target is not None and isinstance(step, ast.AugAssign):
        # The error of `x += y` belongs to y.
        return apply_operation(operations.BINARY[type(step.op)], [target, value], step.value)
    return value


def _instead_of_vector(
    step: Assignment, value: ast.Tuple | ast.List, target: tree.Expression | None
) -> str:
    if target is not None and not target.type.shape:
        return f"{quote(ast.unparse(target_of(step)))} takes one value"
    operator = operations.BINARY[type(step.op)] if isinstance(step, ast.AugAssign) else ""
    is_field = target is not None and not isinstance(target, tree.Local)
    return hints.of_vector(target_of(step), operator, value, is_field)


def _set_local(
    step: Assignment, node: ast.Name, text: str, scope: Scope, checker: TypeChecker
) -> tree.Step:
    name = node.id
    before = scope.locals_.get(name)
    if isinstance(step, ast.AugAssign) and before is None:
        raise scope.unknown(node)
    operand = _right_side(step, before, checker)
    if before is not None and isinstance(operand, Literal):
        operand = convert_for_target(operand, before.type, step.value)
    value = give_default_type(operand)
    if before is not None and before.type != value.type:
        message = f"{quote(name)} was {before.type} and would become {value.type}"
        raise KernelError("E806", message, node, "give it another name")
    scope.locals_[name] = local = tree.Local(value.type, name)
    return tree.Step(local, value, (), text)


def _read_target(node: ast.expr, checker: TypeChecker) -> tree.Expression:
    """Return the expression that reads the target of a step. Raises E805."""
    base = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(base, ast.Name | ast.Attribute):
        message = "a step assigns to a field, an element of a field or a local name"
        raise KernelError("E805", message, node)
    return checker.value(node)


def _what(expression: tree.Expression) -> str:
    match expression:
        case tree.Constant():
            return "a constant"
        case tree.Local():
            return f"an element of the local {quote(expression.name)}"
        case tree.Tick():
            return "the time, to which an entry of a schedule adds"
        case tree.Element():
            return _what(expression.base)
        case tree.Argument(each=True):
            return "an argument: its values are only read"
    return "an argument: it is the same for every row"


def _message(
    step: Assignment, target: tree.Expression, checker: TypeChecker
) -> tuple[str, ast.expr] | None:
    """Return the message operator of a step, and the operand that is not the target itself; None
    if several rows cannot change the target in this way."""
    match step:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return operations.BINARY[type(step.op)], step.value
        case ast.Assign(
            value=ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right])
        ):
            if checker.value(left) == target:
                return name, right
        case ast.Assign(value=ast.BoolOp(op=word, values=[left, right])):
            if checker.value(left) == target:
                return operations.WORDS[type(word)], right
    return None


def check_message_operator(
    step: tree.Step, node: ast.expr, line: int, operators: dict[str, tuple[str, int]]
) -> None:
    """Raise E811 for a second message operator of a field; `operators`: each field's first, and its
    line."""
    if isinstance(step.target, tree.ReferencedField):
        operator = step.message_operator
        operator += "=" if operator in ("+", "-") else ""
        first, first_line = operators.setdefault(step.target.text, (operator, line))
        if first != operator and {first, operator} != {"+=", "-="}:
            kinds = f"{first} on line {first_line} and {operator}"
            message = f"{quote(step.target.text)} gets two kinds of message, {kinds}"
            raise KernelError("E811", message, node)
