"""Values as places take them: floats are rounded, integers wrap, all else is of one kind."""

from __future__ import annotations

import ast

from ecsgen.kernels.literals import Literal, settled
from ecsgen.kernels.rules import Operand, cast
from ecsgen.kernels.syntax import KernelError
from ecsgen.model.programs import Constant, Expression
from ecsgen.model.types import Type


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
