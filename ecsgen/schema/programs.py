"""Kernels and reductions to typed programs, once all components of the project are known."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.draws import NoDraws, numbered
from ecsgen.kernels.expressions import Typist
from ecsgen.kernels.messages import Ways
from ecsgen.kernels.references import Reach, absent_elements
from ecsgen.kernels.scope import Scope, value_type
from ecsgen.kernels.steps import (
    effects,
    local_names,
    names_read,
    sendings,
    target_of,
    typed_step,
)
from ecsgen.kernels.syntax import Assignment, KernelError, Text
from ecsgen.model import Component, Enum, Kernel, Query, Reduction, World
from ecsgen.model.programs import (
    ENTITY,
    HANDLE,
    ID_SLOT,
    OWN,
    PARENT,
    Argument,
    Expression,
    FieldValue,
    Folding,
    Near,
    Program,
    Referred,
    Step,
    fields_in,
    references_in,
)
from ecsgen.model.types import Number, Type
from ecsgen.schema.keys import key_of, told_apart
from ecsgen.schema.names import check_member
from ecsgen.schema.neighbours import (
    check_locals,
    check_parents,
    own_neighbours,
    world_neighbours,
)
from ecsgen.schema.types import BadTypeError, Known, parse_type

Enums = Mapping[str, Enum]


@dataclass(frozen=True, slots=True)
class Refused:
    """What of a component is in error already, so that kernels are not blamed for it as well."""

    names: frozenset[str]
    """Of fields, and `parent` if there may be a hierarchy."""
    more: bool
    """Whether there may be other fields, whose names could not be read."""


_PARENTS: Final = re.compile(r"\bparent\s*\.")
_BY_A_KERNEL: Final = "let a kernel write what is to be reduced into a field"
_NO_REDUCTION: Final = NoDraws(
    "reductions draw no random numbers", "let a kernel draw them into a field"
)


def with_programs(
    component: Component, refused: Refused, known: Known, diagnostics: Diagnostics
) -> Component:
    """The component with compiled kernels and reductions; reports E112, E102 and E80x."""
    fields = {field.name: field for field in component.fields}
    hidden = _hidden(component)

    def scope(is_reduction: bool) -> Scope:
        return Scope(
            fields=fields,
            enums=_enums(known),
            hidden=hidden,
            has_parent=bool(component.hierarchy),
            is_reduction=is_reduction,
            bearer=OWN if component.owner == "entity" and not is_reduction else None,
            sender=_sender(component, OWN),
            may_be_dead=component.owner == "entity",
            no_draws=_NO_REDUCTION if is_reduction else None,
            wrong=refused.names | _unknown_enums(known),
            may_lack=frozenset([OWN] if refused.more else []),
        )

    home = component.name
    reach = Reach({home: component}, known.components, home)
    none = replace(reach, refused="reductions refer to no other rows", hint=_BY_A_KERNEL)
    kernels = (
        _kernel(
            one,
            scope(False),
            reach,
            told_apart(component),
            partial(own_neighbours, component),
            known,
            diagnostics,
        )
        for one in component.kernels
    )
    reductions = (_reduction(one, scope(True), none, diagnostics) for one in component.reductions)
    return replace(component, kernels=tuple(kernels), reductions=tuple(reductions))


def with_world_programs(
    world: World,
    sources: frozenset[str],
    components: Mapping[str, Component],
    refused: Mapping[str, Refused],
    known: Known,
    diagnostics: Diagnostics,
) -> World:
    """The world with compiled kernels; reports as `with_programs`.

    `sources` are the groups, queries and components that were read without a mistake.
    """
    wrong = {f"{name}.{field}" for name, found in refused.items() for field in found.names}
    may_lack = frozenset(name for name, found in refused.items() if found.more)
    kernels = []
    for kernel in world.kernels:
        if kernel.over not in sources:
            kernels.append(kernel)
            continue
        members, absent = _members(world, kernel.over, components)
        hidden = {f"{name}.{field}" for name, c in components.items() for field in _hidden(c)}
        scope = Scope(
            components=members,
            absent=absent,
            enums=_enums(known),
            hidden=frozenset(hidden),
            wrong=frozenset(wrong) | _unknown_enums(known),
            may_lack=may_lack,
            bearer=_bearer(members),
            sender=_sender(next(iter(members.values())), next(iter(members))) if members else None,
            may_be_dead=_bearer(members) is not None and not _is_query(world, kernel.over),
        )
        apart = _told_apart(kernel.over, members)
        reach = _reach(world, kernel, components, known)
        asked = partial(world_neighbours, world, components, sources)
        kernels.append(_kernel(kernel, scope, reach, apart, asked, known, diagnostics))
    return replace(world, kernels=tuple(kernels))


def _bearer(members: Mapping[str, Component]) -> str | None:
    """The first component of which rows have an owner, who is the same in all."""
    return next((name for name, one in members.items() if one.owner == "entity"), None)


def _sender(component: Component, named: str) -> FieldValue:
    """A column that every row of a component has: of the owners, or of ids."""
    if component.owner == "entity":
        return FieldValue(HANDLE, ENTITY, named)
    return FieldValue(Type("u32"), ID_SLOT, named)


def _is_query(world: World, over: str) -> bool:
    """Whether a kernel runs over a query, which finds the living alone."""
    return any(query.name == over for query in world.queries)


def _told_apart(over: str, members: Mapping[str, Component]) -> FieldValue | NoDraws:
    """By what random numbers tell rows apart: entities, or rows of one component."""
    if over in members:
        return told_apart(members[over], over)
    return FieldValue(HANDLE, ENTITY, next(iter(members), ""))


def _reach(
    world: World, kernel: Kernel, components: Mapping[str, Component], known: Known
) -> Reach:
    """The rows that a kernel of the world may refer to."""
    over_chunks = any(query.name == kernel.over and query.chunked for query in world.queries)
    refused = "kernels over chunks refer to no other rows" if over_chunks else ""
    return Reach(components, known.components, chunked=world.archetypes, refused=refused)


def _members(
    world: World, over: str, components: Mapping[str, Component]
) -> tuple[dict[str, Component], dict[str, str]]:
    """The components whose rows a group, query or component has, and why not for all others."""
    groups = dict(world.groups)
    query = next((query for query in world.queries if query.name == over), None)
    names = groups.get(over) or (query.all if query is not None else (over,))
    others = components.keys() - set(names)
    absent = {name: _why_absent(name, over, query, components) for name in others}
    return {name: components[name] for name in names if name in components}, absent


def _why_absent(
    name: str, over: str, query: Query | None, components: Mapping[str, Component]
) -> str:
    """Why a kernel over a group, query or component does not see another component."""
    if query is not None:
        if name in query.optional:
            return f"{quote(name)} is optional in {quote(over)}: it may be absent"
        if name in query.any:
            return f"{quote(name)} is one of 'any' in {quote(over)}: it may be absent"
        if name in query.none:
            return f"{quote(name)} is one of 'none' in {quote(over)}: it is never there"
    if over in components:
        return f"the kernel runs over {quote(over)}: it has no row of {quote(name)}"
    return f"{quote(name)} is not in {quote(over)}, over which the kernel runs"


def _hidden(component: Component) -> frozenset[str]:
    """Fields of the second buffer, in which not every row has a place."""
    if component.cold != "indirect":
        return frozenset()
    return frozenset(field.name for field in component.fields if "cold" in field.tags)


def _enums(known: Known) -> Enums:
    return {name: enum for name, enum in known.enums.items() if enum is not None}


def _unknown_enums(known: Known) -> frozenset[str]:
    """Enums in error: whether they have a member is not known."""
    return frozenset(name for name, enum in known.enums.items() if enum is None)


def _kernel(
    kernel: Kernel,
    scope: Scope,
    reach: Reach,
    apart: FieldValue | NoDraws,
    asked: Callable[[Kernel, Scope, Diagnostics], Near | None],
    known: Known,
    diagnostics: Diagnostics,
) -> Kernel:
    """The kernel with its program; one error per text at most.

    `apart`: what tells rows apart where it names no key. `asked`: whom rows ask.
    """
    scope.takes_turns = _takes_turns(kernel, reach, scope, diagnostics)
    who: FieldValue | NoDraws | None = apart
    if kernel.key:
        who = key_of(kernel, scope, diagnostics)
    if isinstance(who, NoDraws):
        scope.no_draws, who = who, None
        if kernel.turns == "random":
            refused = scope.no_draws
            mark = kernel.marks["turns"]
            diagnostics.add("E812", refused.message, mark, hint=refused.hint)
    scope.arguments = _arguments(kernel, known)
    scope.wrong |= frozenset(name for name, _, _ in kernel.args) - scope.arguments.keys()
    near = asked(kernel, scope, diagnostics)
    if scope.has_parent and any(map(_PARENTS.search, (kernel.where, *kernel.steps))):
        reach = replace(reach, refused="a kernel that reads 'parent' refers to no other rows")
    first = 1 if kernel.turns == "random" else 0  # the first one tells whose turn it is
    where, number = numbered(_condition(kernel, scope, reach, diagnostics), first)
    parsed, ways = _parsed(kernel, diagnostics), Ways()
    scope.later = local_names([step for _, step in parsed], scope)
    check_locals(parsed, scope, diagnostics)
    _check_locals(parsed, scope, diagnostics)
    steps: list[Step] = []
    for text, step in parsed:
        try:
            made = typed_step(step, " ".join(text.content.split()), scope, reach)
            if not scope.takes_turns:
                ways.check(made, target_of(step), text.mark.line)
            value, number = numbered(made.value, number)
            steps.append(replace(made, value=value))
        except KernelError as error:
            text.report(error, diagnostics)
            target = target_of(step)
            if isinstance(target, ast.Name) and target.id in scope.later:
                scope.wrong |= {target.id}
    is_judged = len(steps) == len(kernel.steps) and OWN not in scope.may_lack
    sends = sendings(tuple(steps))
    if is_judged and not effects(tuple(steps)) and not sends:
        message = f"the kernel {quote(kernel.name)} assigns to no field"
        diagnostics.add("E402", message, kernel.marks[""])
    who = who if number else None
    values = (where, *(part for step in steps for part in step.expressions))
    referred = (node for node in references_in(*values) if isinstance(node, Referred))
    program = Program(
        arguments=tuple(scope.arguments.values()),
        where=where,
        steps=tuple(steps),
        reads=_texts(*values, who if kernel.key else None),
        writes=effects(tuple(steps)),
        above_roots=_above_roots(fields_in(*values), scope),
        refers=tuple(dict.fromkeys(node.text for node in referred)),
        sends=sends,
        bearer=scope.sender if sends else None,
        may_be_dead=scope.may_be_dead,
        who=who,
        takes_turns=scope.takes_turns,
        near=near,
    )
    check_parents(kernel, program, diagnostics)
    if program.climbs:
        _refuse_each(kernel, diagnostics)
    return replace(kernel, program=program)


def _takes_turns(kernel: Kernel, reach: Reach, scope: Scope, diagnostics: Diagnostics) -> bool:
    """Whether its rows take turns; reports E815 where they cannot."""
    if not kernel.turns:
        return False
    message = ""
    if reach.refused:
        message = "the rows of chunks take no turns"
    elif scope.has_parent and any(map(_PARENTS.search, (kernel.where, *kernel.steps))):
        message = "a kernel that reads 'parent' goes level by level: its rows take no turns"
    if message:
        diagnostics.add("E815", message, kernel.marks["turns"])
    return not message


def _refuse_each(kernel: Kernel, diagnostics: Diagnostics) -> None:
    """Report arguments with a value per row in a kernel that goes level by level (E815)."""
    for name in kernel.each:
        message = f"{quote(name)} has a value for each row, which {quote(kernel.name)} cannot take"
        hint = "let a kernel before it write the values to a field"
        diagnostics.add("E815", message, kernel.marks[f"args.{name}"], hint=hint)


def _above_roots(
    reads: tuple[FieldValue, ...], scope: Scope
) -> tuple[tuple[str, tuple[bool | Number, ...]], ...]:
    """What roots read as their parent's fields."""
    above = {read.name: read.type for read in reads if read.owner == PARENT}
    return tuple((name, absent_elements(scope.fields[name], above[name])) for name in above)


def _arguments(kernel: Kernel, known: Known) -> dict[str, Argument]:
    """The arguments that are right; the others were reported before."""
    found = {}
    for name, text, _unit in kernel.args:
        try:
            type_ = value_type(parse_type(text, known, f"argument {quote(name)}"))
        except BadTypeError:
            continue
        if type_ is not None:
            found[name] = Argument(type_, name, name in kernel.each)
    return found


def _condition(
    kernel: Kernel | Reduction, scope: Scope, reach: Reach, diagnostics: Diagnostics
) -> Expression | None:
    if "where" not in kernel.marks:
        return None
    text = Text(kernel.where, kernel.marks["where"])
    try:
        return Typist(scope, reach).condition(text.expression())
    except KernelError as error:
        text.report(error, diagnostics)
        return None


def _parsed(kernel: Kernel, diagnostics: Diagnostics) -> list[tuple[Text, Assignment]]:
    """The steps whose syntax is right."""
    found = []
    for index, content in enumerate(kernel.steps):
        text = Text(content, kernel.marks[f"steps.{index}"])
        try:
            found.append((text, text.step()))
        except KernelError as error:
            text.report(error, diagnostics)
    return found


def _check_locals(
    parsed: list[tuple[Text, Assignment]], scope: Scope, diagnostics: Diagnostics
) -> None:
    """Locals are names in generated code, so the rules for fields hold; each has its use."""
    if OWN in scope.may_lack:  # some may be meant for fields
        return
    read = {name for _, step in parsed for name in names_read(step)}
    seen: set[str] = set()
    for text, step in parsed:
        target = target_of(step)
        if isinstance(target, ast.Name) and target.id in scope.later - seen:
            seen.add(target.id)
            mark = text.place(target, diagnostics)
            if check_member(target.id, "a local", mark, diagnostics) and target.id not in read:
                message = f"no step reads the local name {quote(target.id)}"
                hint = did_you_mean(target.id, scope.names())
                diagnostics.add("E806", message, mark, hint=hint)


def _reduction(
    reduction: Reduction, scope: Scope, reach: Reach, diagnostics: Diagnostics
) -> Reduction:
    """The reduction with the expression of one row's value."""
    where = _condition(reduction, scope, reach, diagnostics)
    text = Text(reduction.expression, reduction.marks["expression"])
    try:
        node = text.expression()
        typist = Typist(scope, reach)
        value = typist.condition(node) if reduction.how == "count" else typist.value(node)
        if reduction.how != "count" and not value.type.is_number:
            hint = "'count' tells in how many rows it is true" if value.type.is_bool else ""
            message = f"{quote(reduction.how)} takes numbers, not {value.type}"
            raise KernelError("E803", message, node, hint)
    except KernelError as error:
        text.report(error, diagnostics)
        return reduction
    return replace(reduction, program=Folding(value, where, _texts(where, value)))


def _texts(*expressions: Expression | None) -> tuple[str, ...]:
    return tuple(field.text for field in fields_in(*expressions))
