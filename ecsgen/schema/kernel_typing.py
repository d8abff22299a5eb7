"""Kernels and reductions to typed programs, once all components are known."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.grid_functions import grid_facts
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.random_numbers import NoDraws, numbering
from ecsgen.kernels.references import absent_elements
from ecsgen.kernels.scope import CommandScope, ReferenceScope, Scope, value_type
from ecsgen.kernels.step_checker import (
    ParsedSteps,
    StepChecker,
    assigned_names,
    assigned_settings,
    loop_names,
    split_element,
)
from ecsgen.kernels.type_checker import TypeChecker
from ecsgen.kernels.type_rules import convert_for_target
from ecsgen.model import SETTINGS, Component, Kernel, Query, Reduction, ScheduleEntry, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program, ReductionProgram, effects_of, expressions_of
from ecsgen.model.types import Type
from ecsgen.schema import near_key
from ecsgen.schema.kernel_declarations import (
    find_identity_column,
    find_key_field,
    find_stream_column,
)
from ecsgen.schema.names import LOCAL_NAMES, Names, check_derived_name, check_member
from ecsgen.schema.type_parser import TypeScope, parse_type
from ecsgen.schema.validation import BadValueError

_PARENTS: Final = re.compile(r"\bparent\s*\.")


def type_kernel(
    kernel: Kernel,
    scope: Scope,
    default_stream: tree.FieldValue | NoDraws,
    context: near_key.NeighbourContext,
    types: TypeScope,
) -> Kernel:
    """Return the kernel with its program; reports at most one error per text.

    `default_stream`: the stream field of a kernel without a key.
    """
    scope.takes_turns = _takes_turns(kernel, scope)
    stream_field = _find_stream(kernel, scope, default_stream)
    turn_key = _turn_key(kernel, scope)
    scope.arguments = _arguments(kernel, types)
    scope.invalid_names |= frozenset(name for name, _, _ in kernel.args) - scope.arguments.keys()
    nears = near_key.neighbourhoods(kernel, context, scope)
    if _names_parent(kernel, scope):
        refusal = "a kernel that reads 'parent' cannot use references to other rows"
        scope.reference_scope = replace(scope.reference_scope, refusal=refusal)
        refusal = "a kernel that reads 'parent' cannot spawn, destroy, add or remove"
        scope.command_scope = replace(scope.command_scope, refusal=refusal)
    first = 1 if kernel.turns == "random" else 0  # number 0 orders the rows
    parsed = _parsed(kernel, scope.diagnostics)
    if scope.takes_turns and not scope.reference_scope.home:
        scope.live_settings = assigned_settings(parsed)
    where = _condition(kernel, scope)
    number, drawn = numbering([] if where is None else [where], first)
    where = None if where is None else scope.revived(number(where))
    steps, drawn = _steps(kernel, scope, parsed, drawn)
    turn_count = _turn_count(kernel, scope)
    if turn_count is not None:
        stream_field, drawn = stream_field or scope.identity, drawn or 1
    nears = (*nears, *scope.choices.values())
    stream_field = stream_field if drawn else None
    program = _program(kernel, scope, where, steps, stream_field, nears, turn_key)
    program = replace(program, turn_count=turn_count)
    near_key.check_row_fields(kernel, program, scope.diagnostics)
    near_key.check_own_networks(kernel, program, context, scope.diagnostics)
    if program.runs_by_level:
        _check_levels(kernel, program, scope.diagnostics)
    return replace(kernel, program=program)


def _find_stream(
    kernel: Kernel, scope: Scope, default: tree.FieldValue | NoDraws
) -> tree.FieldValue | None:
    """Return the stream field; without one, the scope rejects draws from here on (E812)."""
    stream = find_key_field(kernel, scope) if kernel.key else default
    if not isinstance(stream, NoDraws):
        return stream
    scope.no_draws = stream
    if kernel.turns == "random":
        scope.diagnostics.add("E812", stream.message, kernel.marks["turns"], hint=stream.hint)
    return None


def _steps(
    kernel: Kernel, scope: Scope, parsed: list[ParsedSteps], drawn: int
) -> tuple[tuple[tree.AnyStep, ...], int]:
    """Return the valid steps, and the number of random numbers drawn up to their end; reports
    E402 for a kernel that changes nothing, if all of it could be read."""
    names = {name.id for _, name in assigned_names(parsed)}
    unassigned = {tree.ENTITY, tree.PARENT} if scope.has_parent else {tree.ENTITY}
    scope.later = frozenset(
        names - scope.own_names.keys() - scope.arguments.keys() - scope.invalid_names - unassigned
    )
    near_key.check_neighbour_names(assigned_names(parsed), scope)
    _check_locals(parsed, scope)
    which = "that reads 'parent'" if _names_parent(kernel, scope) else "over chunks"
    no_loops = f"a kernel {which} has no loops" if scope.reference_scope.refusal else ""
    checker = StepChecker(scope, kernel.at_most, no_loops)
    steps, drawn = checker.steps(parsed, drawn)
    is_judged = len(parsed) == len(kernel.steps) and not checker.has_errors
    if is_judged and tree.OWN not in scope.incomplete_owners:
        if all(isinstance(step.target, tree.Local) for step in tree.actions_of(steps)):
            message = f"the kernel {quote(kernel.name)} assigns to no field"
            scope.diagnostics.add("E402", message, kernel.marks[""])
        if kernel.at_most is not None and not checker.has_while:
            message = f"{quote(kernel.name)} has 'at_most', and no 'while'"
            scope.diagnostics.add("E818", message, kernel.marks["at_most"], hint="leave it out")
    return steps, drawn


def _program(
    kernel: Kernel,
    scope: Scope,
    where: tree.Expression | None,
    steps: tuple[tree.AnyStep, ...],
    stream_field: tree.FieldValue | None,
    nears: tuple[tree.Neighbourhood, ...],
    turn_key: tree.Expression | None,
) -> Program:
    keys = (stream_field if kernel.key else None, turn_key)
    effects = effects_of(where, steps, [key for key in keys if key is not None])
    expressions = expressions_of(where, steps)
    radii = [near.radius for near in nears if isinstance(near.radius, tree.Argument)]
    once = (*expressions, turn_key, *radii)
    reduced = tree.nodes_in(tree.ReducedValue, *once)
    reads_reduced = tuple(dict.fromkeys(text for each in reduced for text in each.reads))
    effects = replace(effects, reads_reduced=reads_reduced)
    reads = tree.fields_in(*expressions)
    above = {read.name: read.type for read in reads if read.owner == tree.PARENT}
    actions, references = tree.actions_of(steps), scope.reference_scope
    tracked, uses_grids = grid_facts(actions, expressions, nears, references)
    return Program(
        arguments=tuple(scope.arguments.values()),
        reduced=reduced,
        settings=tree.nodes_in(tree.SettingValue, *once),
        where=where,
        steps=steps,
        effects=effects,
        root_defaults=tuple(
            (name, absent_elements(scope.fields[name], above[name])) for name in above
        ),
        identity=scope.identity if effects.sends or effects.has_commands else None,
        may_be_dead=scope.may_be_dead,
        stream_field=stream_field,
        turn_key=turn_key,
        takes_given_turns=scope.takes_turns and kernel.turns == "given",
        takes_turns=scope.takes_turns,
        neighbourhoods=nears,
        tracked_occupants=tracked,
        uses_grids=uses_grids,
    )


def _names_parent(kernel: Kernel, scope: Scope) -> bool:
    return scope.has_parent and any(map(_PARENTS.search, (kernel.where, *kernel.steps)))


def _takes_turns(kernel: Kernel, scope: Scope) -> bool:
    """Return True if the rows take turns; reports E815 if they cannot."""
    if not kernel.turns:
        return False
    message = ""
    if scope.reference_scope.refusal:
        message = "the rows of chunks take no turns"
    elif kernel.turns == "given" and kernel.over and kernel.over not in scope.components:
        message = f"only kernels over one component take rows, and {quote(kernel.over)} is none"
    elif _names_parent(kernel, scope):
        message = "a kernel that reads 'parent' runs level by level, so its rows take no turns"
    if message:
        scope.diagnostics.add("E815", message, kernel.marks["turns"])
    return not message


def _turn_key(kernel: Kernel, scope: Scope) -> tree.Expression | None:
    """Return the number of a row by which turns are ordered; reports what reductions may not."""
    if kernel.turns != "by":
        return None
    refusal = "the order of turns cannot refer to other rows"
    before = replace(
        scope,
        reference_scope=replace(scope.reference_scope, refusal=refusal, hint=_BY_A_KERNEL_BEFORE),
        is_reduction=True,
        no_draws=NoDraws("the order of turns draws no random numbers", "write turns: random"),
        owner_component=None,
    )
    text = SourceText(str(kernel.turns_of), kernel.marks["turns.of"])
    try:
        node = text.expression()
        value = TypeChecker(before).value(node)
        if not value.type.is_number or value.type.shape:
            message = f"turns are ordered by one number, not by {value.type}"
            raise KernelError("E803", message, node)
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return None
    return value


def _turn_count(kernel: Kernel, scope: Scope) -> tree.Argument | tree.Constant | None:
    """Return how many turns there are, each of a random row; reports E802 and E803."""
    count, mark = kernel.turns_of, kernel.marks.get("turns.of")
    if kernel.turns != "drawn" or not scope.takes_turns or mark is None:
        return None
    if isinstance(count, int):
        return tree.Constant(Type("i64"), count)
    argument = scope.arguments.get(count)
    if argument is None:
        if count not in scope.invalid_names:
            message, hint = f"{quote(count)} is no argument", did_you_mean(count, scope.arguments)
            scope.diagnostics.add("E802", message, mark, hint=hint)
        return None
    if not argument.type.is_integer or argument.type.shape or argument.each:
        held = "has a value for each row" if argument.each else f"is {argument.type}"
        message = f"how many turns there are is one integer, and {quote(count)} {held}"
        scope.diagnostics.add("E803", message, mark)
    return argument


def _check_levels(kernel: Kernel, program: Program, diagnostics: Diagnostics) -> None:
    """Report E813 for a kernel by level with neighbours, whose rows would run in two orders, and
    E815 for one with an argument per row."""
    if program.neighbourhoods:
        message = f"{quote(kernel.name)} reads parents, so it cannot have neighbours"
        diagnostics.add("E813", message, kernel.marks["near"], hint="make two kernels of it")
    for name in kernel.each:
        message = f"{quote(name)} has a value for each row, which {quote(kernel.name)} cannot take"
        hint = "let a kernel before it write the values to a field"
        diagnostics.add("E815", message, kernel.marks[f"args.{name}"], hint=hint)


def _arguments(kernel: Kernel, types: TypeScope) -> dict[str, tree.Argument]:
    """Return the valid arguments; the others were reported before."""
    arguments = {}
    for name, text, _unit in kernel.args:
        try:
            type_ = value_type(parse_type(text, types, f"argument {quote(name)}"))
        except BadValueError:
            continue
        if type_ is not None:
            arguments[name] = tree.Argument(type_, name, name in kernel.each)
    return arguments


def _condition(kernel: Kernel | Reduction, scope: Scope) -> tree.Expression | None:
    if "where" not in kernel.marks:
        return None
    text = SourceText(kernel.where, kernel.marks["where"])
    try:
        return TypeChecker(scope).condition(text.expression())
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return None


def _parsed(kernel: Kernel, diagnostics: Diagnostics) -> list[ParsedSteps]:
    parsed = []
    for index, content in enumerate(kernel.steps):
        text = SourceText(content, kernel.marks[f"steps.{index}"])
        try:
            parsed.append((text, text.steps()))
        except KernelError as error:
            text.report(error, diagnostics)
    return parsed


def _check_locals(parsed: list[ParsedSteps], scope: Scope) -> None:
    """Report E101 and E102 for names of locals, and E806 for locals that no step reads."""
    if tree.OWN in scope.incomplete_owners:  # some may be meant for fields
        return
    nodes = [node for _, body in parsed for statement in body for node in ast.walk(statement)]
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    seen: set[str] = set()
    diagnostics, taken = scope.diagnostics, {**LOCAL_NAMES, **_named_by(nodes, scope)}
    for text, name in loop_names(parsed):
        seen.add(name.id)
        mark = text.place(name, diagnostics)
        check_derived_name(name.id, name.id, "a local", taken, mark, diagnostics)
    for text, name in assigned_names(parsed):
        if name.id in scope.later - seen:
            seen.add(name.id)
            mark = text.place(name, diagnostics)
            is_valid = check_member(name.id, "a local", mark, diagnostics, taken=taken)
            if is_valid and name.id not in read:
                message = f"no step reads the local name {quote(name.id)}"
                others = (known for known in scope.names() if known != name.id)
                diagnostics.add("E806", message, mark, hint=did_you_mean(name.id, others))


_TAKE_NAMES: Final = ("spawn", "choice", "random_empty", "cell_at")
"""Functions that take names of components or bundles."""


def _named_by(nodes: Iterable[ast.AST], scope: Scope) -> Names:
    """Return the components, enums and bundles that statements name, by what they are."""
    words: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)):
                words.add(name)
            case ast.Call(func=ast.Name(id=function), args=parts) if function in _TAKE_NAMES:
                parts = [part.func if isinstance(part, ast.Call) else part for part in parts]
                words.update(part.id for part in parts if isinstance(part, ast.Name))
    known = {
        "a component": scope.reference_scope.names,
        "an enum": scope.enums,
        "a bundle": scope.command_scope.bundles,
    }
    return {f"the kernel names {what}": frozenset(words & {*all_}) for what, all_ in known.items()}


def type_reduction(reduction: Reduction, scope: Scope) -> ReductionProgram | None:
    """Return the value of one row; None after an error."""
    where = _condition(reduction, scope)
    text = SourceText(reduction.expression, reduction.marks["expression"])
    try:
        node = text.expression()
        checker = TypeChecker(scope)
        value = checker.condition(node) if reduction.function == "count" else checker.value(node)
        if reduction.function != "count" and not value.type.is_number:
            hint = "'count' counts rows for which it is true" if value.type.is_bool else ""
            hint = "write i64(…), which counts its units" if value.type.is_time else hint
            message = f"{quote(reduction.function)} takes numbers, not {value.type}"
            raise KernelError("E803", message, node, hint)
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return None
    reads = tuple(field.text for field in tree.fields_in(where, value))
    return ReductionProgram(value, where, reads)


@dataclass(frozen=True, slots=True)
class InvalidNames:
    """The names of a component that are reported already, so kernels with them are not."""

    names: frozenset[str]
    """Names of fields, and `parent` if there may be a hierarchy."""
    may_have_more: bool
    """True if there may be other fields, whose names could not be read."""


_BY_A_KERNEL_BEFORE: Final = "let a kernel write the number into a field before"
_BY_A_KERNEL: Final = "let a kernel write the value into a field, and reduce that"
_NO_COMMANDS: Final = (
    "only kernels of the world create, destroy and change entities, which have other components too"
)
_NO_REDUCTION: Final = NoDraws(
    "reductions draw no random numbers", "let a kernel draw them into a field"
)


def component_scope(
    component: Component,
    references: ReferenceScope,
    invalid: InvalidNames,
    types: TypeScope,
    diagnostics: Diagnostics,
) -> Scope:
    """Return the scope of the fields and derived values of a component's rows."""
    return Scope(
        references,
        CommandScope(),
        diagnostics,
        fields={field.name: field for field in component.fields},
        derived={value.name: value for value in component.derived},
        enums=types.sound_enums,
        settings=types.settings,
        hidden=frozenset(field.name for field in component.indirect_fields),
        invalid_names=invalid.names | types.wrong_names,
        incomplete_owners=frozenset([tree.OWN] * invalid.may_have_more) | types.incomplete,
    )


def type_component_kernels(
    component: Component,
    components: Mapping[str, Component],
    invalid: InvalidNames,
    types: TypeScope,
    diagnostics: Diagnostics,
) -> Component:
    """Return the component with typed kernels and reductions; reports E112, E102 and E80x."""
    home, typed = component.name, list[Reduction]()

    def scope(is_reduction: bool) -> Scope:
        names = no_references if is_reduction else references
        scope = component_scope(component, names, invalid, types, diagnostics)
        scope.command_scope = commands
        scope.has_parent, scope.is_reduction = bool(component.hierarchy), is_reduction
        scope.identity = find_identity_column(component, tree.OWN)
        scope.may_be_dead = component.owner == "entity"
        if is_reduction:
            scope.reductions, scope.no_draws = {home: typed}, _NO_REDUCTION
        elif component.owner == "entity":
            scope.owner_component = tree.OWN
        if component.on is not None:
            scope.occupants = {tree.OWN: component}
        return scope

    reachable = {home: component}
    if component.on is not None and component.on.grid in components:
        reachable[component.on.grid] = components[component.on.grid]
    references = ReferenceScope(reachable, types.components, home)
    commands = CommandScope(refusal=_NO_COMMANDS, hint=references.of_the_world)
    refusal = "reductions cannot refer to other rows"
    no_references = replace(references, refusal=refusal, hint=_BY_A_KERNEL)
    context = near_key.NeighbourContext({tree.OWN: component}, components)
    stream = find_stream_column(component)
    kernels = (type_kernel(k, scope(False), stream, context, types) for k in component.kernels)
    for reduction in component.reductions:
        program = type_reduction(reduction, scope(True)) or reduction.program
        typed.append(replace(reduction, program=program))
    return replace(component, kernels=tuple(kernels), reductions=tuple(typed))


@dataclass(frozen=True, slots=True)
class WorldScopes:
    """The names for kernels and tables of a world."""

    world: World
    sources: frozenset[str]
    """The groups, queries and components without an error."""
    components: Mapping[str, Component]
    invalid_names: Mapping[str, InvalidNames]
    types: TypeScope
    diagnostics: Diagnostics

    def scope_over(self, over: str) -> Scope:
        """Return the scope of a kernel or table over a group, query or component."""
        world, query = self.world, self.world.query(over)
        names = world.members_of(over)
        members = {name: self.components[name] for name in names if name in self.components}
        others = self.components.keys() - {*names}
        no_references = no_commands = ""
        if query is not None and query.chunked:
            no_references = "kernels over chunks cannot use references to other rows"
            no_commands = "a kernel over chunks cannot spawn, destroy, add or remove"
        component = self.components.get(over)
        unowned = over if component is not None and component.owner == "none" else ""
        bundles = {bundle.name: bundle.values for bundle in world.bundles}
        known = self.components.items()
        hidden = {f"{name}.{field.name}" for name, c in known for field in c.indirect_fields}
        reported = self.invalid_names.items()
        wrong = {f"{name}.{field}" for name, invalid in reported for field in invalid.names}
        incomplete = frozenset(name for name, i in reported if i.may_have_more)
        rows = ReferenceScope(self.components, self.types.components, chunked=world.archetypes)
        return Scope(
            replace(rows, refusal=no_references),
            CommandScope(unowned, bundles, no_commands),
            self.diagnostics,
            components=members,
            absent={name: _why_absent(name, over, query, self.components) for name in others},
            enums=self.types.sound_enums,
            settings=self.types.settings,
            hidden=frozenset(hidden),
            invalid_names=frozenset(wrong) | self.types.wrong_names,
            incomplete_owners=incomplete | self.types.incomplete,
            reductions={name: c.reductions for name, c in known},
            has_tick=True,
        )

    def type_column(self, column: Reduction) -> ReductionProgram | None:
        """Return the value of one row for a table, without references; None after an error."""
        scope = self.scope_over(column.over)
        scope.diagnostics = self.diagnostics.all_as("E520")
        scope.is_reduction, scope.no_draws = True, _NO_REDUCTION
        absent = scope.absent.items()
        scope.absent = {
            name: why.replace("the kernel runs", "the column is") for name, why in absent
        }
        refusal = "tables cannot use references to other rows"
        references = replace(scope.reference_scope, refusal=refusal, hint=_BY_A_KERNEL)
        scope.reference_scope = replace(references, chunked=())
        return type_reduction(column, scope)


def type_world_kernels(names: WorldScopes) -> World:
    """Return the world with typed kernels; reports E112, E102 and E80x."""
    world, components = names.world, names.components
    kernels = []
    for kernel in world.kernels:
        if kernel.over not in names.sources:
            kernels.append(kernel)
            continue
        scope = names.scope_over(kernel.over)
        members = scope.components
        scope.owner_component = near_key.find_owner_component(members)
        scope.identity = next(
            (find_identity_column(component, name) for name, component in members.items()), None
        )
        scope.may_be_dead = scope.owner_component is not None and world.query(kernel.over) is None
        scope.occupants = {name: c for name, c in members.items() if c.on is not None}
        owners = tree.FieldValue(tree.HANDLE, tree.ENTITY, next(iter(members), ""))
        component = members.get(kernel.over)
        stream = owners if component is None else find_stream_column(component, kernel.over)
        context = near_key.NeighbourContext(members, components, world, names.sources)
        kernels.append(type_kernel(kernel, scope, stream, context, names.types))
    schedules = tuple(
        (name, tuple(_typed_entry(names, e, f"schedule.{name}.{k}") for k, e in enumerate(entries)))
        for name, entries in world.schedules
    )
    return replace(world, kernels=tuple(kernels), schedules=schedules)


def _typed_entry(names: WorldScopes, entry: ScheduleEntry, path: str) -> ScheduleEntry:
    """Return an entry of a schedule with the typed assignment of a setting; reports E80x."""
    kernel, marks = entry.assignment, names.world.marks
    if kernel is None or f"{path}.to" not in marks:
        return entry
    scope = names.scope_over(SETTINGS)
    scope.is_reduction = True  # without arguments
    scope.no_draws = NoDraws("schedules draw no random numbers", "let a kernel draw them")
    refusal = "an entry of a schedule refers to no rows"
    scope.reference_scope = replace(scope.reference_scope, refusal=refusal)
    text, checker = SourceText(entry.set, marks[f"{path}.set"]), TypeChecker(scope)
    try:
        node = text.expression()
        read = checker.value(node)
        target, index, items = split_element(read)
        if not isinstance(target, tree.SettingValue):
            raise KernelError("E805", "an entry of a schedule assigns to settings alone", node)
        text = SourceText(entry.to, marks[f"{path}.to"])
        node = text.expression()
        value = convert_for_target(checker.infer(node), read.type, node)
    except KernelError as error:
        text.report(error, scope.diagnostics)
        return entry
    step = tree.Step(target.as_field, value, index, kernel.steps[0], "=", items)
    scope.takes_turns = True
    program = _program(kernel, scope, None, (step,), None, (), None)
    return entry._replace(assignment=replace(kernel, program=program))


def _why_absent(
    name: str, over: str, query: Query | None, components: Mapping[str, Component]
) -> str:
    if over == SETTINGS:
        return f"an entry of a schedule has no row of {quote(name)}"
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
