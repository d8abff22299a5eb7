"""The key `near` of kernels: whom rows can ask, and how far these are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import isfinite

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.kernel_steps import target_of
from ecsgen.kernels.questions import NAMES, Neighbourhood
from ecsgen.kernels.scope import Scope, value_type
from ecsgen.kernels.syntax import Assignment, Text
from ecsgen.model import Component, Kernel, Mark, World
from ecsgen.model.programs import OWN, Argument, FieldValue, Near, Program


def own_neighbours(
    component: Component, kernel: Kernel, scope: Scope, diagnostics: Diagnostics
) -> Near | None:
    """Whom a component's kernel asks: other rows of it; reports E813 and E103."""
    scope.wrong_near = "…" in kernel.marks
    if kernel.radius is None:
        return None
    space = component.space
    if space is None:
        if "space" not in component.marks:
            message = f"{quote(component.name)} has no space, so its rows are not near each other"
            hint = "give it the key 'space'"
            diagnostics.add("E813", message, kernel.marks["near"], hint=hint)
        scope.wrong_near = True
        return None
    return neighbours(kernel, place_of(component, OWN), {OWN: component}, scope, diagnostics)


def world_neighbours(
    world: World,
    components: Mapping[str, Component],
    sources: frozenset[str],
    kernel: Kernel,
    scope: Scope,
    diagnostics: Diagnostics,
) -> Near | None:
    """Whom a kernel of the world asks: rows of a group, query or component; reports as
    `own_neighbours`."""
    scope.wrong_near = "…" in kernel.marks
    if kernel.radius is None:
        return None
    scope.wrong_near = True
    members = dict(scope.components)
    if kernel.among:
        if kernel.among not in sources:
            _report_among(world, components, kernel, diagnostics)
            return None
        members = {name: components[name] for name in world.members_of(kernel.among)}
    both = [name for name in scope.components if name in members and components[name].space]
    if len(both) != 1:
        _report_spaces(both, kernel, diagnostics)
        return None
    scope.wrong_near = False
    place = place_of(components[both[0]], both[0])
    return neighbours(kernel, place, members, scope, diagnostics)


def _report_among(
    world: World, components: Mapping[str, Component], kernel: Kernel, diagnostics: Diagnostics
) -> None:
    queries = [query.name for query in world.queries]
    known = (*dict(world.groups), *queries, *components)
    if kernel.among not in known:
        message = f"unknown group, query or component {quote(kernel.among)}"
        hint = did_you_mean(kernel.among, known)
        diagnostics.add("E508", message, kernel.marks["among"], hint=hint)


def _report_spaces(both: list[str], kernel: Kernel, diagnostics: Diagnostics) -> None:
    who = f"{quote(kernel.over)} and {quote(kernel.among)} have"
    if kernel.among in ("", kernel.over):
        who = f"{quote(kernel.over)} has"
    message = f"{who} no component with a space"
    if kernel.among:
        message += " in common" if kernel.among != kernel.over else ""
    if both:
        message = f"{who} several components with a space: {', '.join(both)}"
    diagnostics.add("E813", message, kernel.marks["near"])


def check_parents(kernel: Kernel, program: Program, diagnostics: Diagnostics) -> None:
    """Report E813 for a kernel whose rows would come in two orders."""
    if program.near is not None and program.climbs:
        message = f"{quote(kernel.name)} reads parents, so it cannot ask neighbours"
        hint = "make two kernels of it"
        diagnostics.add("E813", message, kernel.marks["near"], hint=hint)


def bearer_of(members: Mapping[str, Component]) -> str | None:
    """The first component of which rows have an owner, who is the same in all."""
    return next((name for name, one in members.items() if one.owner == "entity"), None)


def place_of(component: Component, owner: str) -> FieldValue:
    """The field with the places of a component that has a space."""
    assert component.space is not None
    field = next(one for one in component.fields if one.name == component.space.field)
    type_ = value_type(field.type)
    assert type_ is not None
    return FieldValue(type_, field.name, owner)


def neighbours(
    kernel: Kernel,
    place: FieldValue,
    members: Mapping[str, Component],
    scope: Scope,
    diagnostics: Diagnostics,
) -> Near | None:
    """Rows of `members` around a place, which the scope knows from now on."""
    cold = {f"{name}.{one.name}" for name, c in members.items() if name for one in c.apart}
    scope.hidden |= cold
    _check_fields(kernel, scope, diagnostics)
    scope.near = Neighbourhood(place.type, members, bearer_of(members), scope.field)
    radius = _radius(kernel, scope, diagnostics)
    return None if radius is None else Near(radius, place, kernel.among)


def _radius(kernel: Kernel, scope: Scope, diagnostics: Diagnostics) -> Argument | float | None:
    given, mark = kernel.radius, kernel.marks["radius"]
    if isinstance(given, str):
        argument = scope.arguments.get(given)
        if argument is None:
            if given not in scope.wrong:
                message = f"the radius {quote(given)} is no argument of {quote(kernel.name)}"
                hint = did_you_mean(given, scope.arguments)
                diagnostics.add("E813", message, mark, hint=hint)
            return None
        if argument.type.shape or not argument.type.is_number:
            message = f"a radius is one number, and {quote(given)} is {argument.type}"
            diagnostics.add("E813", message, mark)
            return None
        if argument.each:
            message = f"a radius is the same for all rows, and {quote(given)} has a value for each"
            hint = "ask within the largest, and compare distance"
            diagnostics.add("E813", message, mark, hint=hint)
            return None
        return argument
    assert given is not None
    if not (isfinite(given) and given > 0):
        message = f"a radius is a finite number above 0, not {given:g}"
        diagnostics.add("E813", message, mark)
        return None
    return float(given)


def _check_fields(kernel: Kernel, scope: Scope, diagnostics: Diagnostics) -> None:
    """Report E103 for names that mean something of neighbours."""
    for name in sorted(NAMES):
        if name in scope.arguments:
            _report("argument", name, kernel.marks[f"args.{name}"], diagnostics)
        elif name in scope.fields:
            _report("field", name, kernel.marks["near"], diagnostics)
        else:
            continue
        scope.wrong |= {name}


def check_locals(
    parsed: list[tuple[Text, Assignment]], scope: Scope, diagnostics: Diagnostics
) -> None:
    """Report E103 for steps that set such a name."""
    for text, step in parsed if scope.near is not None else ():
        target = target_of(step)
        if isinstance(target, ast.Name) and target.id in NAMES:
            if target.id not in scope.wrong:
                _report("local", target.id, text.place(target, diagnostics), diagnostics)
            scope.wrong |= {target.id}


def _report(what: str, name: str, mark: Mark, diagnostics: Diagnostics) -> None:
    message = f"the {what} {quote(name)} is called as what kernels with 'near' know of neighbours"
    diagnostics.add("E103", message, mark)
