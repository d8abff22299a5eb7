"""Kernels, reductions and schedules to typed programs, once all components are known."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.draws import NoDraws
from ecsgen.kernels.references import Reach
from ecsgen.kernels.scope import Scope
from ecsgen.model import Component, Kernel, Query, World
from ecsgen.model.programs import ENTITY, HANDLE, ID_SLOT, OWN, FieldValue
from ecsgen.model.types import Type
from ecsgen.schema.kernel_programs import typed_kernel, typed_reduction
from ecsgen.schema.kernels import told_apart
from ecsgen.schema.neighbours import bearer_of, own_neighbours, world_neighbours
from ecsgen.schema.type_text import Known


def check_schedules(
    world: World,
    components: Mapping[str, Component],
    whole: Set[str],
    diagnostics: Diagnostics,
) -> None:
    """Report E514 at entries that are no kernels, or whose arguments do not go together.

    `whole`: components all of whose kernels could be read, and "" for those of the world.
    """
    for name, entries in world.schedules:
        types: dict[str, tuple[str, str]] = {}
        for place, entry in enumerate(entries):
            mark = world.marks[f"schedule.{name}.{place}"]
            kernel = _kernel(entry, world, components)
            holder = entry.rpartition(".")[0]
            if kernel is None and holder in components.keys() - whole | {""} - whole:
                continue  # what is missed may be in error
            if kernel is None:
                message, hint = _no_kernel(entry, world, components)
                diagnostics.add("E514", message, mark, hint=hint)
                continue
            for argument, text, _ in kernel.args:
                shown = f"{text} of each row" if argument in kernel.each else text
                first, where = types.setdefault(argument, (shown, entry))
                if first != shown:
                    message = f"{quote(argument)} is {first} in {quote(where)}"
                    message += f" and {shown} in {quote(entry)}"
                    diagnostics.add("E514", message, mark, hint="give one of them another name")


def _kernel(entry: str, world: World, components: Mapping[str, Component]) -> Kernel | None:
    holder, dot, name = entry.rpartition(".")
    component = components.get(holder)
    kernels = world.kernels if not dot else component.kernels if component else ()
    return next((kernel for kernel in kernels if kernel.name == name), None)


def _no_kernel(entry: str, world: World, components: Mapping[str, Component]) -> tuple[str, str]:
    """What is wrong with an entry, and what may be meant."""
    holder, dot, name = entry.rpartition(".")
    own = [kernel.name for kernel in world.kernels]
    theirs = {f"{c.name}.{k.name}": k.name for c in components.values() for k in c.kernels}
    if dot and holder in components:
        component = components[holder]
        what = "a reduction" if name in {one.name for one in component.reductions} else "no kernel"
        hint = did_you_mean(name, [kernel.name for kernel in component.kernels])
        return f"{quote(name)} is {what} of {quote(holder)}", hint
    if dot:
        message = f"{quote(entry)} is no kernel: there is no component {quote(holder)}"
        return message, did_you_mean(entry, theirs)
    meant = [text for text, kernel in theirs.items() if kernel == name]
    hint = f"write {' or '.join(meant)}" if meant else did_you_mean(name, [*own, *theirs])
    return f"{quote(entry)} is no kernel of the world", hint


@dataclass(frozen=True, slots=True)
class Refused:
    """What of a component is in error already, so that kernels are not blamed for it as well."""

    names: frozenset[str]
    """Of fields, and `parent` if there may be a hierarchy."""
    more: bool
    """Whether there may be other fields, whose names could not be read."""


_BY_A_KERNEL: Final = "let a kernel write what is to be reduced into a field"
_NO_REDUCTION: Final = NoDraws(
    "reductions draw no random numbers", "let a kernel draw them into a field"
)


def with_programs(
    component: Component, refused: Refused, known: Known, diagnostics: Diagnostics
) -> Component:
    """The component with compiled kernels and reductions; reports E112, E102 and E80x."""
    fields = {field.name: field for field in component.fields}
    hidden = frozenset(field.name for field in component.apart)

    def scope(is_reduction: bool) -> Scope:
        return Scope(
            fields=fields,
            enums=known.sound_enums,
            hidden=hidden,
            has_parent=bool(component.hierarchy),
            is_reduction=is_reduction,
            bearer=OWN if component.owner == "entity" and not is_reduction else None,
            sender=_sender(component, OWN),
            may_be_dead=component.owner == "entity",
            no_draws=_NO_REDUCTION if is_reduction else None,
            wrong=refused.names | known.wrong_enums,
            may_lack=frozenset([OWN] if refused.more else []),
        )

    home = component.name
    reach = Reach({home: component}, known.components, home)
    none = replace(reach, refused="reductions refer to no other rows", hint=_BY_A_KERNEL)
    kernels = (
        typed_kernel(
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
    reductions = (
        typed_reduction(one, scope(True), none, diagnostics) for one in component.reductions
    )
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
        hidden = {f"{name}.{one.name}" for name, c in components.items() for one in c.apart}
        bearer = bearer_of(members)
        scope = Scope(
            components=members,
            absent=absent,
            enums=known.sound_enums,
            hidden=frozenset(hidden),
            wrong=frozenset(wrong) | known.wrong_enums,
            may_lack=may_lack,
            bearer=bearer,
            sender=_sender(next(iter(members.values())), next(iter(members))) if members else None,
            may_be_dead=bearer is not None and world.query(kernel.over) is None,
        )
        apart = _told_apart(kernel.over, members)
        reach = _reach(world, kernel, components, known)
        asked = partial(world_neighbours, world, components, sources)
        kernels.append(typed_kernel(kernel, scope, reach, apart, asked, known, diagnostics))
    return replace(world, kernels=tuple(kernels))


def _sender(component: Component, named: str) -> FieldValue:
    """A column that every row of a component has: of the owners, or of ids."""
    if component.owner == "entity":
        return FieldValue(HANDLE, ENTITY, named)
    return FieldValue(Type("u32"), ID_SLOT, named)


def _told_apart(over: str, members: Mapping[str, Component]) -> FieldValue | NoDraws:
    """By what random numbers tell rows apart: entities, or rows of one component."""
    if over in members:
        return told_apart(members[over], over)
    return FieldValue(HANDLE, ENTITY, next(iter(members), ""))


def _reach(
    world: World, kernel: Kernel, components: Mapping[str, Component], known: Known
) -> Reach:
    """The rows that a kernel of the world may refer to."""
    query = world.query(kernel.over)
    is_chunked = query is not None and query.chunked
    refused = "kernels over chunks refer to no other rows" if is_chunked else ""
    return Reach(components, known.components, chunked=world.archetypes, refused=refused)


def _members(
    world: World, over: str, components: Mapping[str, Component]
) -> tuple[dict[str, Component], dict[str, str]]:
    """The components whose rows a group, query or component has, and why not for all others."""
    names, query = world.members_of(over), world.query(over)
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
