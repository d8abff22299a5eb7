"""By what random numbers tell rows apart: a column of managers, or the key of a kernel."""

from __future__ import annotations

import ast

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.draws import NoDraws
from ecsgen.kernels.scope import Scope
from ecsgen.kernels.syntax import KernelError, Text
from ecsgen.model import Component, Kernel
from ecsgen.model.programs import ENTITY, HANDLE, ID_SLOT, OWN, PARENT, FieldValue
from ecsgen.model.types import Type


def told_apart(component: Component, named: str = OWN) -> FieldValue | NoDraws:
    """The column by which random numbers tell the rows apart: of owners, or of ids.

    `named`: what kernels call the component.
    """
    if component.owner == "entity" and component.instances == "one":
        return FieldValue(HANDLE, ENTITY, named)
    if component.ids:
        return FieldValue(Type("u32"), ID_SLOT, named)
    message = f"rows of {quote(component.name)} cannot be told apart"
    return NoDraws(message, "give it ids: true, or the kernel a u64 field as its key")


def key_of(kernel: Kernel, scope: Scope, diagnostics: Diagnostics) -> FieldValue | None:
    """The field that a kernel names as its key; reports E812 and E802 if it is none."""
    text = Text(kernel.key, kernel.marks["key"])
    try:
        return _field(text.expression(), scope)
    except KernelError as error:
        text.report(error, diagnostics)
        return None


def _field(node: ast.expr, scope: Scope) -> FieldValue:
    found = None
    if isinstance(node, ast.Name):
        if node.id not in scope.fields and node.id not in scope.wrong:
            hint = did_you_mean(node.id, scope.fields)
            if scope.components:
                hint = "name its component, as in Component.field"
            raise KernelError("E812", f"the key {quote(node.id)} is no field", node, hint)
        found = scope.name(node)
    elif isinstance(node, ast.Attribute):
        found = scope.member(node)
    if not isinstance(found, FieldValue) or found.owner == PARENT:
        raise KernelError("E812", "a key is a field of the row itself", node)
    if found.type != Type("u64"):
        message = f"a key is a u64, and {quote(found.text)} is {found.type}"
        raise KernelError("E812", message, node)
    return found
