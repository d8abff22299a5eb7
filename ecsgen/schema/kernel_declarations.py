"""Kernels and reductions as written: names, arguments, keys, and where their texts stand."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.scope import NUMERIC, Scope
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
from ecsgen.schema.declarations import Declaration
from ecsgen.schema.document_specs import (
    ArgumentSpec,
    BaseKernel,
    BaseReduction,
    ComponentSpec,
    KernelSpec,
    NearSpec,
    ReductionSpec,
    WorldKernelSpec,
)
from ecsgen.schema.names import check_member
from ecsgen.schema.type_parser import TypeScope, parse_type
from ecsgen.schema.validation import BadValueError


def build_kernel(
    draft: Declaration[Any],
    name: str,
    spec: KernelSpec | WorldKernelSpec,
    fields: frozenset[str],
    known: TypeScope,
) -> Kernel:
    """A kernel as written; its name is checked by whoever owns the names beside it."""
    path = ("kernels", name)
    if name == "update":
        message = "a kernel named 'update' does not say what happens to the data"
        draft.report("H101", message, draft.key_mark(*path), hint="name it after what it does")
    arguments = _arguments(draft, name, spec, fields, known)
    return Kernel(
        name=name,
        steps=tuple(spec.steps),
        doc=spec.doc,
        args=arguments,
        each=tuple(
            argument
            for argument, form in spec.args.items()
            if isinstance(form, ArgumentSpec) and form.each
        ),
        where=spec.where,
        rows=spec.rows if isinstance(spec, KernelSpec) and draft.spec.start else "",
        over=spec.over if isinstance(spec, WorldKernelSpec) else "",
        key=spec.key,
        turns=spec.turns or "",
        parallel=spec.parallel,
        near=_near(draft, name, spec),
        marks=_marks(draft, name, spec),
    )


def _near(
    draft: Declaration[Any], kernel: str, spec: KernelSpec | WorldKernelSpec
) -> tuple[NearClause, ...]:
    """The neighbourhoods as written: one, or several that have names."""
    near, path = spec.near, ("kernels", kernel, "near")
    if near is None:
        return ()
    if isinstance(near, dict):
        return tuple(_neighbourhood(draft, name, one, *path, name) for name, one in near.items())
    if isinstance(near, NearSpec):
        return (_neighbourhood(draft, OTHER, near, *path),)
    marks = dict.fromkeys(("", "radius", "among"), draft.value_mark(*path))
    return (NearClause(OTHER, near, marks={**marks, "": draft.key_mark(*path)}),)


def _neighbourhood(draft: Declaration[Any], name: str, spec: NearSpec, *path: str) -> NearClause:
    marks = {key: draft.value_mark(*path, key) for key in ("radius", "among", "hood", "center")}
    marks[""] = draft.key_mark(*path)
    return NearClause(name, spec.radius, spec.among, spec.hood or "", spec.center, marks)


def _marks(draft: Declaration[Any], name: str, spec: BaseKernel) -> Marks:
    marks = {**draft.key_marks("kernels", name), "": draft.key_mark("kernels", name)}
    if draft.is_incomplete("kernels", name):
        marks["…"] = marks[""]  # some of it was refused
    for key in ("where", "over", "key", "turns"):
        if key in marks:
            marks[key] = draft.value_mark("kernels", name, key)
    for index in range(len(spec.steps)):
        marks[f"steps.{index}"] = draft.value_mark("kernels", name, "steps", index)
    for argument in spec.args:
        marks[f"args.{argument}"] = draft.key_mark("kernels", name, "args", argument)
    return marks


def _arguments(
    draft: Declaration[Any], name: str, spec: BaseKernel, fields: frozenset[str], known: TypeScope
) -> tuple[tuple[str, str, str], ...]:
    arguments = []
    for argument, form in spec.args.items():
        path = ("kernels", name, "args", argument)
        mark = draft.key_mark(*path)
        if isinstance(form, ArgumentSpec):
            text, unit, place = form.type, form.unit, draft.value_mark(*path, "type")
        else:
            text, unit, place = form, "", draft.value_mark(*path)
        check_member(argument, f"an argument of {quote(name)}", mark, draft.diagnostics)
        if argument in fields:
            draft.report("E103", f"the argument {quote(argument)} has the name of a field", mark)
        try:
            type_ = parse_type(text, known, f"argument {quote(argument)}")
            if type_.base not in NUMERIC:
                raise BadValueError("E304", f"a kernel computes with numbers, not {quote(text)}")
        except BadValueError as problem:
            draft.report_error(problem, place)
        arguments.append((argument, text, unit))
    return tuple(arguments)


def build_reduction(
    draft: Declaration[ComponentSpec], name: str, spec: ReductionSpec
) -> Reduction | None:
    """A reduction as written; reports E303 and E401."""
    path = ("reductions", name)
    given = [how for how in REDUCTION_FUNCTIONS if how in draft.key_marks(*path)]
    if not given:
        if not draft.is_incomplete(*path):
            message = f"the reduction {quote(name)} needs one of {', '.join(REDUCTION_FUNCTIONS)}"
            draft.report("E303", message, draft.key_mark(*path))
        return None
    given.sort(key=lambda how: draft.key_mark(*path, how).start)
    for how in given[1:]:
        message = (
            f"{quote(how)} beside {quote(given[0])} on line {draft.key_mark(*path, given[0]).line}"
        )
        draft.report("E401", message, draft.key_mark(*path, how), hint="make two reductions of it")
    made = declare_reduction(draft, name, given[0], spec, path, draft.key_marks(*path))
    return replace(made, rows=spec.rows if draft.spec.start else "", doc=spec.doc)


def declare_reduction(
    draft: Declaration[Any],
    name: str,
    how: ReductionFunction,
    spec: BaseReduction,
    path: tuple[str, ...],
    keys: Marks,
) -> Reduction:
    """What is made of all rows, of the document below a path; `keys`: where else keys stand."""
    marks = {**keys, "": draft.key_mark(*path), "expression": draft.value_mark(*path, how)}
    over = getattr(spec, "over", "")
    for key, is_given in (("where", spec.where), ("over", over)):
        if is_given:
            marks[key] = draft.value_mark(*path, key)
    return Reduction(name, how, getattr(spec, how), spec.where, over=over, marks=marks)


def find_identity_column(component: Component, named: str) -> FieldValue:
    """A column that every row of a component has: of the owners, or of ids."""
    if component.grid is not None:
        return FieldValue(Type("u64"), CELL_ID, named)
    if component.owner == "entity":
        return FieldValue(HANDLE, ENTITY, named)
    return FieldValue(Type("u32"), ID_SLOT, named)


def find_stream_column(component: Component, named: str = OWN) -> FieldValue | NoDraws:
    """The column by which random numbers tell the rows apart: of owners, or of ids.

    `named`: what kernels call the component.
    """
    if component.owner == "none" or component.instances == "one":
        return find_identity_column(component, named)
    if component.ids:
        return FieldValue(Type("u32"), ID_SLOT, named)
    message = f"rows of {quote(component.name)} cannot be told apart"
    return NoDraws(message, "give it ids: true, or the kernel a u64 field as its key")


def find_key_field(kernel: Kernel, scope: Scope) -> FieldValue | None:
    """The field that a kernel names as its key; reports E812 and E802 if it is none."""
    text, found = SourceText(kernel.key, kernel.marks["key"]), None
    try:
        node = text.expression()
        if isinstance(node, ast.Name):
            if node.id not in scope.fields and node.id not in scope.invalid_names:
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
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return None
    return found
