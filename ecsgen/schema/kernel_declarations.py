"""Kernels and reductions as written: names, arguments, keys, and the marks of their texts."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.scope import Scope
from ecsgen.model import (
    REDUCTION_FUNCTIONS,
    Component,
    Kernel,
    Marks,
    NearClause,
    Reduction,
    ReductionFunction,
)
from ecsgen.model.typed_tree import CELL_ID, ENTITY, HANDLE, ID_SLOT, OTHER, OWN, PARENT, FieldValue
from ecsgen.model.types import Type
from ecsgen.schema import kernel_specs as specs
from ecsgen.schema.declarations import Declaration
from ecsgen.schema.document_specs import ComponentSpec
from ecsgen.schema.names import check_member
from ecsgen.schema.type_parser import TypeScope, parse_type
from ecsgen.schema.validation import BadValueError


def build_kernel(
    draft: Declaration[Any],
    name: str,
    spec: specs.KernelSpec | specs.WorldKernelSpec,
    fields: frozenset[str],
    types: TypeScope,
) -> Kernel:
    """Return a kernel as written; reports H101. The caller checks its name."""
    path = ("kernels", name)
    if name == "update":
        message = "a kernel named 'update' does not say what happens to the data"
        draft.report("H101", message, draft.key_mark(*path), hint="name it after what it does")
    turns, turns_of = _turns(draft, name, spec)
    return Kernel(
        name=name,
        steps=(spec.steps,) if isinstance(spec.steps, str) else tuple(spec.steps),
        at_most=spec.at_most,
        doc=spec.doc,
        args=_arguments(draft, name, spec, fields, types),
        each=tuple(
            argument
            for argument, form in spec.args.items()
            if isinstance(form, specs.ArgumentSpec) and form.each
        ),
        where=spec.where,
        rows=spec.rows if isinstance(spec, specs.KernelSpec) and draft.spec.start else "",
        over=spec.over if isinstance(spec, specs.WorldKernelSpec) else "",
        key=spec.key,
        turns=turns,
        turns_of=turns_of,
        parallel=spec.parallel,
        near=_near(draft, name, spec),
        marks=_marks(draft, name, spec),
    )


def _turns(draft: Declaration[Any], kernel: str, spec: specs.BaseKernel) -> tuple[str, str | int]:
    """Return the order of turns, and what it depends on; reports E303 and E401."""
    turns, path = spec.turns, ("kernels", kernel, "turns")
    if not isinstance(turns, specs.TurnsSpec):
        return turns or "", ""
    keys = [key for key in ("by", "random") if key in draft.key_marks(*path)]
    if not keys and not draft.is_incomplete(*path):
        draft.report("E303", "turns need 'by' or 'random'", draft.key_mark(*path))
    if len(keys) == 2:
        mark = draft.key_mark(*path, "random")
        draft.report("E401", "'random' beside 'by'", mark, hint="take one of them")
    if turns.by:
        return "by", turns.by
    return ("", "") if turns.random is None else ("drawn", turns.random)


def _near(
    draft: Declaration[Any], kernel: str, spec: specs.KernelSpec | specs.WorldKernelSpec
) -> tuple[NearClause, ...]:
    """Return the neighbourhoods as written: one, or several under names."""
    near, path = spec.near, ("kernels", kernel, "near")
    if near is None:
        return ()
    if isinstance(near, dict):
        return tuple(_neighbourhood(draft, name, n, *path, name) for name, n in near.items())
    if isinstance(near, specs.NearSpec):
        return (_neighbourhood(draft, OTHER, near, *path),)
    marks = dict.fromkeys(("", "radius", "among"), draft.value_mark(*path))
    return (NearClause(OTHER, near, marks={**marks, "": draft.key_mark(*path)}),)


def _neighbourhood(
    draft: Declaration[Any], name: str, spec: specs.NearSpec, *path: str
) -> NearClause:
    marks = {**draft.value_marks(*path), "": draft.key_mark(*path)}
    limits = spec.radius, spec.among, spec.hood or "", spec.center
    return NearClause(name, *limits, marks, spec.via, spec.back)


def _marks(draft: Declaration[Any], name: str, spec: specs.BaseKernel) -> Marks:
    """Return the marks of a kernel's values, and those of the keys of what is no text."""
    path = ("kernels", name)
    marks = draft.value_marks(*path)
    if isinstance(spec.steps, str):
        marks["steps.0"] = marks["steps"]
    if isinstance(spec.turns, specs.TurnsSpec):
        marks["turns.of"] = draft.value_mark(*path, "turns", "by" if spec.turns.by else "random")
    keys = ((), ("near",), ("at_most",), *(("args", argument) for argument in spec.args))
    return marks | {".".join(key): draft.key_mark(*path, *key) for key in keys}


def _arguments(
    draft: Declaration[Any],
    name: str,
    spec: specs.BaseKernel,
    fields: frozenset[str],
    types: TypeScope,
) -> tuple[tuple[str, str, str], ...]:
    arguments = []
    for argument, form in spec.args.items():
        path = ("kernels", name, "args", argument)
        mark = draft.key_mark(*path)
        if isinstance(form, specs.ArgumentSpec):
            text, unit, type_mark = form.type, form.unit, draft.value_mark(*path, "type")
        else:
            text, unit, type_mark = form, "", draft.value_mark(*path)
        check_member(argument, f"an argument of {quote(name)}", mark, draft.diagnostics)
        if argument in fields:
            draft.report("E103", f"the argument {quote(argument)} has the name of a field", mark)
        try:
            type_ = parse_type(text, types, f"argument {quote(argument)}")
            if not type_.is_computed:
                raise BadValueError("E304", f"a kernel computes with numbers, not {quote(text)}")
        except BadValueError as problem:
            draft.report_error(problem, type_mark)
        arguments.append((argument, text, unit))
    return tuple(arguments)


def build_reduction(
    draft: Declaration[ComponentSpec], name: str, spec: specs.ReductionSpec
) -> Reduction | None:
    """Return a reduction as written; reports E303 and E401."""
    path = ("reductions", name)
    functions = [function for function in REDUCTION_FUNCTIONS if function in draft.key_marks(*path)]
    if not functions:
        if not draft.is_incomplete(*path):
            message = f"the reduction {quote(name)} needs one of {', '.join(REDUCTION_FUNCTIONS)}"
            draft.report("E303", message, draft.key_mark(*path))
        return None
    functions.sort(key=lambda function: draft.key_mark(*path, function).start)
    first, *others = functions
    for function in others:
        mark, line = draft.key_mark(*path, function), draft.key_mark(*path, first).line
        message = f"{quote(function)} beside {quote(first)} on line {line}"
        draft.report("E401", message, mark, hint="make two reductions of it")
    reduction = declare_reduction(draft, name, first, spec, path)
    return replace(reduction, rows=spec.rows if draft.spec.start else "", doc=spec.doc)


def declare_reduction(
    draft: Declaration[Any],
    name: str,
    function: ReductionFunction,
    spec: specs.BaseReduction,
    path: tuple[str, ...],
) -> Reduction:
    """Return the reduction at a path of the document."""
    marks = {"": draft.key_mark(*path), "expression": draft.value_mark(*path, function)}
    over = getattr(spec, "over", "")
    for key, is_given in (("where", spec.where), ("over", over)):
        if is_given:
            marks[key] = draft.value_mark(*path, key)
    return Reduction(name, function, getattr(spec, function), spec.where, over=over, marks=marks)


def find_identity_column(component: Component, owner: str) -> FieldValue:
    """Return a column that every row of a component has: of the owners, or of ids."""
    if component.grid is not None:
        return FieldValue(Type("u64"), CELL_ID, owner)
    if component.owner == "entity":
        return FieldValue(HANDLE, ENTITY, owner)
    return FieldValue(Type("u32"), ID_SLOT, owner)


def find_stream_column(component: Component, owner: str = OWN) -> FieldValue | NoDraws:
    """Return the column that selects each row's random stream: of owners, or of ids.

    `owner`: the component as the kernel names it.
    """
    if component.owner == "none" or component.instances == "one":
        return find_identity_column(component, owner)
    if component.ids:
        return FieldValue(Type("u32"), ID_SLOT, owner)
    message = f"rows of {quote(component.name)} have nothing to draw random numbers by"
    return NoDraws(message, "give it ids: true, or the kernel a u64 field as its key")


def find_key_field(kernel: Kernel, scope: Scope) -> FieldValue | None:
    """Return the field that a kernel names as its key; reports E812 and E802 without one."""
    text, field = SourceText(kernel.key, kernel.marks["key"]), None
    try:
        node = text.expression()
        if isinstance(node, ast.Name):
            if node.id not in scope.fields and node.id not in scope.invalid_names:
                hint = did_you_mean(node.id, scope.fields)
                if scope.components:
                    hint = "name its component, as in Component.field"
                raise KernelError("E812", f"the key {quote(node.id)} is no field", node, hint)
            field = scope.name(node)
        elif isinstance(node, ast.Attribute):
            field = scope.member(node)
        is_own = isinstance(field, FieldValue) and field.owner != PARENT
        if not isinstance(field, FieldValue) or not is_own or node in scope.derived_nodes:
            raise KernelError("E812", "a key is a field of the row itself", node)
        if field.type != Type("u64"):
            message = f"a key is a u64, and {quote(field.text)} is {field.type}"
            raise KernelError("E812", message, node)
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return None
    return field
