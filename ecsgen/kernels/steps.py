"""Steps to typed assignments, and what a kernel reads and writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.expressions import Typist, element_type, indices
from ecsgen.kernels.literals import Literal, settled
from ecsgen.kernels.operations import BINARY
from ecsgen.kernels.references import Reach
from ecsgen.kernels.rules import Operand, applied, cast, typed
from ecsgen.kernels.scope import LINKS, Scope, follows
from ecsgen.kernels.syntax import Assignment, KernelError
from ecsgen.model.programs import (
    ENTITY,
    PARENT,
    Argument,
    Constant,
    Element,
    Expression,
    FieldValue,
    Local,
    Step,
)
from ecsgen.model.types import Type


def target_of(step: Assignment) -> ast.expr:
    """What a step assigns to."""
    return step.target if isinstance(step, ast.AugAssign) else step.targets[0]


def local_names(steps: list[Assignment], scope: Scope) -> frozenset[str]:
    """The names that become locals when steps set them."""
    targets = [target_of(step) for step in steps if isinstance(step, ast.Assign)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names - scope.fields.keys() - scope.arguments.keys() - scope.wrong - LINKS)


def names_read(step: Assignment) -> Iterator[str]:
    """The bare names on the right side of a step."""
    return (node.id for node in ast.walk(step.value) if isinstance(node, ast.Name))


def typed_step(step: Assignment, text: str, scope: Scope, reach: Reach) -> Step:
    """A typed assignment; a local that it sets is in scope afterwards. Raises KernelError."""
    typist = Typist(scope, reach)
    node = target_of(step)
    if isinstance(node, ast.Name) and node.id in scope.wrong:
        typist.value(step.value)  # may be wrong in its own right
        raise follows(node)
    if isinstance(node, ast.Name) and _is_local(node.id, scope):
        return _set_local(step, node, text, scope, typist)
    target, index, type_ = _field_target(node, scope, typist)
    if target.owner == PARENT:
        message = "a kernel cannot assign to the parent's row: only to its own"
        raise KernelError("E805", message, node)
    if target.name == ENTITY:
        message = "a kernel cannot assign to 'entity': the manager keeps it"
        raise KernelError("E805", message, node)
    if scope.field_of(target).unique:
        message = f"a kernel cannot assign to {quote(target.text)}: it is unique"
        hint = "kernels may read it; write it by `data` or its setter, which keep its index right"
        raise KernelError("E805", message, node, hint)
    value = _right_side(step, _read(target, index, type_), typist)
    return Step(target, fitted(value, type_, step.value), index, text)


def _is_local(name: str, scope: Scope) -> bool:
    return name in scope.locals_ or name in scope.later


def _right_side(step: Assignment, target: Expression, typist: Typist) -> Operand:
    value = typist.infer(step.value)
    if isinstance(step, ast.AugAssign):
        # The error of `x += y` belongs to y.
        return applied(BINARY[type(step.op)], [target, value], step.value)
    return value


def _set_local(step: Assignment, node: ast.Name, text: str, scope: Scope, typist: Typist) -> Step:
    name = node.id
    before = scope.locals_.get(name)
    if isinstance(step, ast.AugAssign) and before is None:
        raise scope.unknown(node)
    operand = _right_side(step, before, typist) if before else typist.infer(step.value)
    if before is not None and isinstance(operand, Literal):
        operand = fitted(operand, before.type, step.value)
    value = typed(operand)
    if before is not None and before.type != value.type:
        message = f"{quote(name)} was {before.type} and would become {value.type}"
        raise KernelError("E806", message, node, "give it another name")
    scope.locals_[name] = local = Local(value.type, name)
    return Step(local, value, (), text)


def _field_target(
    node: ast.expr, scope: Scope, typist: Typist
) -> tuple[FieldValue, tuple[int, ...], Type]:
    index: tuple[int, ...] = ()
    if isinstance(node, ast.Subscript):
        index = indices(node)
    base = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(base, ast.Name | ast.Attribute):
        message = "a step assigns to a field, an element of a field or a local name"
        raise KernelError("E805", message, node)
    found = _named_target(base, scope, typist)
    if isinstance(found, Element):
        index = (*found.index, *index)
        found = found.base
    if not isinstance(found, FieldValue):
        raise KernelError("E805", f"a kernel cannot assign to {_what(found)}", node)
    return found, index, element_type(found.type, index, node) if index else found.type


def _named_target(base: ast.Name | ast.Attribute, scope: Scope, typist: Typist) -> Expression:
    try:
        return typist.value(base)
    except KernelError as error:
        if error.code == "E802" and isinstance(base, ast.Name) and scope.components:
            hint = did_you_mean(base.id, scope.components)
            raise KernelError(error.code, error.message, error.node, error.hint or hint) from None
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


def _read(target: FieldValue, index: tuple[int, ...], type_: Type) -> Expression:
    return Element(type_, target, index) if index else target


def fitted(value: Operand, wanted: Type, node: ast.expr) -> Expression:
    """A value as what a target of a type takes: floats are rounded, integers wrap."""
    if isinstance(value, Literal):
        if not wanted.is_number:
            return _literal_of_kind(value, wanted, node)
        if wanted.is_integer and isinstance(value.value, float):
            raise _mismatch("a float", wanted, node)
        return settled(value, Type(wanted.scalar))
    given = value.type
    if given.shape and given.shape != wanted.shape:
        raise KernelError("E804", f"the target is {wanted}, the value {given}", node)
    if given.kind or wanted.kind or given.is_bool or wanted.is_bool:
        if (given.kind, given.scalar) != (wanted.kind, wanted.scalar):
            raise _mismatch(str(given), wanted, node)
        return value
    if given.is_float and wanted.is_integer:
        raise _mismatch(str(given), wanted, node)
    return cast(value, wanted.scalar)


def _literal_of_kind(value: Literal, wanted: Type, node: ast.expr) -> Expression:
    is_null = type(value.value) is int and value.value == 0 and value.choice is None
    if is_null and wanted.is_handle:
        return Constant(Type(wanted.scalar, (), wanted.kind), 0)
    raise _mismatch("a number", wanted, node)


def _mismatch(given: str, wanted: Type, node: ast.expr) -> KernelError:
    if wanted.kind and wanted.kind[0].isupper():
        hint = f"name a member, as in {wanted.kind}.name"
    elif wanted.is_bool:
        hint = "compare it with something, as in `x != 0`"
    elif wanted.is_number and not given.startswith(("entity", "id<")):
        hint = f"write {wanted.scalar}(…) to convert it"
    else:
        hint = ""
    return KernelError("E803", f"{given} cannot be assigned to {wanted}", node, hint)


def effects(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """The fields that steps write, as the schema spells them, in order."""
    targets = (step.target for step in steps)
    return tuple(dict.fromkeys(target.text for target in targets if isinstance(target, FieldValue)))
