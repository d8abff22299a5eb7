"""The names that a kernel can use, and their meanings."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels import hints
from ecsgen.kernels.literals import Literal
from ecsgen.kernels.neighbour_aggregates import LINK, NAMES, NeighbourScope, NeighbourScopes
from ecsgen.kernels.operations import CONSTANTS, TRUTHS
from ecsgen.kernels.parsing import KernelError
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.model import (
    SETTINGS,
    BaseType,
    Component,
    DerivedValue,
    Enum,
    Field,
    FieldType,
    Reduction,
    Setting,
    Values,
)
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import EMPTY_REDUCTION
from ecsgen.model.types import BOOL, Type

Readable: TypeAlias = Field | DerivedValue
"""Values of a row that kernels read by name: fields, then derived values."""
TICK: Final = "tick"
SELF: Final = "self"
"""The row's own handle: its entity, or its id without owner."""
LINKS: Final = frozenset(
    {"entity", "next", "previous"} | {"parent", "first_child", "next_sibling", "previous_sibling"}
)
"""Columns that managers keep."""


@dataclass(frozen=True, slots=True)
class ReferenceScope:
    """The rows that a kernel may refer to."""

    components: Mapping[str, Component] = field(default_factory=dict)
    """The components whose fields are known: in a component's kernel its own and its grid's."""
    names: Collection[str] = ()
    """All components."""
    home: str = tree.OWN
    """The component of the kernel; empty for kernels of the world."""
    chunked: Collection[str] = ()
    """Components without managers."""
    refusal: str = ""
    """The reason why the kernel refers to no rows, if it cannot."""
    hint: str = ""

    @property
    def of_the_world(self) -> str:
        """A hint for a component's kernel."""
        return f"make it a kernel of the world: over: {self.home}"

    def is_occupant_of(self, name: str, handle: tree.Expression) -> bool:
        """Return True if a handle is a cell on which rows of a component stand."""
        component = self.components.get(name)
        on = None if component is None else component.on
        return on is not None and handle.type.kind == f"id<{on.grid}>"


@dataclass(frozen=True, slots=True)
class CommandScope:
    """The commands of a kernel: spawns and despawns."""

    over: str = ""
    """The component whose rows the kernel runs over, if they are unowned."""
    bundles: Mapping[str, Mapping[str, Values]] = field(default_factory=dict)
    """The components of each bundle, with the values that it says."""
    refusal: str = ""
    """The reason why the kernel has no commands, if it cannot."""
    hint: str = ""


@dataclass(slots=True)
class Scope:
    """The names of one kernel. Locals join as steps set them."""

    reference_scope: ReferenceScope
    command_scope: CommandScope
    diagnostics: Diagnostics
    fields: Mapping[str, Field] = field(default_factory=dict)  # of the component itself
    derived: Mapping[str, DerivedValue] = field(default_factory=dict)  # of the component itself
    components: Mapping[str, Component] = field(default_factory=dict)  # that a world kernel names
    absent: Mapping[str, str] = field(default_factory=dict)  # other components → why not
    enums: Mapping[str, Enum] = field(default_factory=dict)
    settings: Collection[Setting] = ()
    live_settings: frozenset[str] = frozenset()  # that turns change: read anew each time
    arguments: Mapping[str, tree.Argument] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()  # fields that not every row has
    has_parent: bool = False
    is_reduction: bool = False
    no_draws: NoDraws | None = None
    owner_component: str | None = None  # whose owner is the row's `entity`; None without one
    identity: tree.FieldValue | None = None  # a column that every row has
    takes_turns: bool = False  # each row sees what the rows before it have written
    may_be_dead: bool = False  # a row's entity may be dead
    neighbours: NeighbourScopes | None = None
    has_tick: bool = False  # `tick` is the world's time, unless a name of the schema shadows it
    occupants: Mapping[str, Component] = field(default_factory=dict)  # rows on cells, by owner
    candidate: NeighbourScope | None = None  # of the choice whose condition is being typed
    choices: dict[str, tree.Neighbourhood] = field(default_factory=dict)
    """The rows among which `choice(C, where=c)` chooses, by name."""
    has_invalid_neighbours: bool = False  # an error before left the neighbours out
    locals_: dict[str, tree.Local] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)  # locals that are set on all ways to a step
    ways: dict[str, str] = field(default_factory=dict)  # other locals → where they are set
    counters: frozenset[str] = frozenset()  # of the loops around a step
    later: frozenset[str] = frozenset()  # locals that some step sets
    invalid_names: frozenset[str] = frozenset()  # reported before, so not missed again
    incomplete_owners: frozenset[str] = frozenset()  # some names of their fields are unreadable
    reductions: Mapping[str, Iterable[Reduction]] | None = None  # by component; None: none here
    derived_nodes: set[ast.AST] = field(default_factory=set)  # that name derived values

    def name(self, node: ast.Name) -> tree.Expression | Literal:
        """Return the expression for a bare name. Raises KernelError."""
        name = node.id
        if name in self.invalid_names:
            raise make_silent_error(node)
        if self.neighbours is not None and name in self.neighbours.names:
            return self.neighbours.name(node)
        if name in self.locals_ and name in {*self.assigned, *self.counters}:
            return self.locals_[name]
        if name in self.arguments:
            return self.arguments[name]
        if name in self.own_names:
            return self.value_of(self.own_names[name], tree.OWN, node)
        if name == tree.ENTITY or (name == SELF and name not in self.later):
            handle = self._own_handle(has_ids=name == SELF)
            if handle is not None:
                return handle
        if name not in self.later and tree.OWN not in self.incomplete_owners:
            if name == TICK and self.has_tick:
                return tree.Tick(Type("i64"))
            if name in CONSTANTS:
                return Literal(CONSTANTS[name], node)
            if name in TRUTHS:
                return tree.Constant(BOOL, TRUTHS[name])
        raise self.unknown(node)

    def _own_handle(self, has_ids: bool) -> tree.FieldValue | None:
        """Return the row's entity; `has_ids`: without owner the row's id."""
        if self.owner_component is not None:
            return tree.FieldValue(tree.HANDLE, tree.ENTITY, self.owner_component)
        if self.identity is None or self.is_reduction or not has_ids:
            return None
        kind = f"id<{self.identity.owner or self.reference_scope.home}>"
        return replace(self.identity, type=Type("u64", (), kind))

    def unknown(self, node: ast.Name) -> KernelError:
        """Return the error of a name without a value."""
        name = node.id
        if name in self.later or name in self.ways:
            message = self.ways.get(name, f"{quote(name)} is read before a step sets it")
            return KernelError("E806", message, node, did_you_mean(name, self.own_names))
        if name in LINKS:
            is_readable = name == tree.PARENT and not self.components
            hint = "name a field of it, as in parent.position" if is_readable else ""
            message = f"{quote(name)} is kept by the manager: a kernel cannot use it"
            return KernelError("E805", message, node, hint)
        if name == TICK and tree.OWN not in self.incomplete_owners:
            home = self.reference_scope.home
            hint = f"a kernel of the world over {home} knows the time" if home else ""
            return KernelError("E802", "'tick' is the time of the world", node, hint)
        if name in self.components or name in self.absent:
            hint = f"name one of its fields, as in {name}.value"
            return KernelError("E802", f"{quote(name)} is a component", node, hint)
        if name in self.enums:
            hint = f"name a member, as in {name}.{next(iter(dict(self.enums[name].values)), '')}"
            return KernelError("E802", f"{quote(name)} is an enum", node, hint)
        if name == SETTINGS and self.settings:
            example = f"{SETTINGS}.{next(iter(self.settings)).name}"
            hint = f"name one of them, as in {example}"
            return KernelError("E802", "'settings' are the world's settings", node, hint)
        if tree.OWN in self.incomplete_owners:
            return make_silent_error(node)
        if name == LINK and self.neighbours is not None:
            message = "'link' is of neighbours by a network, and this kernel has none"
            return KernelError("E820", message, node, "as in `near: {via: Knows}`")
        if name in NAMES:
            if self.has_invalid_neighbours:
                return make_silent_error(node)
            message = f"{quote(name)} is for neighbours, and this kernel has none"
            return KernelError("E813", message, node, "give the kernel near: a radius")
        hint = self.owner_of(name) or self._instead_of(node)
        return KernelError("E802", f"unknown name {quote(name)}", node, hint)

    def _instead_of(self, node: ast.Name) -> str:
        is_no_argument = self.is_reduction or isinstance(node.ctx, ast.Store)
        declared = f"an argument is declared by `args: {{{node.id}: f32}}`"
        near = () if self.neighbours is None else self.neighbours.names
        known = (*sorted({*near}.difference(NAMES)), *self._values())
        hint = hints.of_name(node.id, self.members, known, "" if is_no_argument else declared)
        return hints.of_word(node.id) or did_you_mean(node.id, self.names()) or hint

    def owner_of(self, name: str) -> str:
        """Return a hint that says whose a name is that stands alone; "" if nobody has it."""
        for component in self.components.values():
            if any(value.name == name for value in component.readable):
                return f"name its component, as in {component.name}.{name}"
        is_setting = any(setting.name == name for setting in self.settings)
        return f"write {SETTINGS}.{name}" if is_setting else ""

    def member(self, node: ast.Attribute) -> tree.Expression | None:
        """Return the expression for `parent.field`, `Component.field`, `other.field` or
        `Enum.member`; None for other nodes."""
        if self.neighbours is not None and (value := self.neighbours.member(node)) is not None:
            return value
        if not isinstance(node.value, ast.Name):
            return None
        if self.candidate is not None:
            ((owner, component),), near = self.candidate.members.items(), self.candidate.name
            if node.value.id == component.name:
                return tree.with_fields(
                    self.field(component.readable, owner, component.name, node),
                    lambda read: tree.NeighbourField(read.type, read.name, owner, near),
                )
        holder = node.value.id
        if holder in self.locals_ or holder in self.arguments or holder in self.own_names:
            return None
        if holder == SETTINGS:
            return self.setting(node)
        if holder == tree.PARENT:
            if self.components:
                hint = "make it a kernel of the component"
                raise KernelError("E802", "kernels of the world do not read parents", node, hint)
            if self.is_reduction:
                raise KernelError("E802", "reductions do not read parents", node)
            is_reported = not {tree.PARENT, node.attr}.isdisjoint(self.invalid_names)
            if is_reported or tree.OWN in self.incomplete_owners:
                raise make_silent_error(node)
            if not self.has_parent:
                hint = "give the component the key 'hierarchy'"
                raise KernelError("E802", "without a hierarchy there is no parent", node, hint)
            return self.field(self.own_names.values(), tree.PARENT, "the component", node)
        if holder in self.components:
            return self.field(self.components[holder].readable, holder, holder, node)
        if holder in self.absent:
            raise KernelError("E802", self.absent[holder], node, self._value_of(holder, node.attr))
        if holder in self.enums:
            return _member(self.enums[holder], node)
        return None

    def field(
        self, readable: Iterable[Readable], owner: str, holder: str, node: ast.Attribute
    ) -> tree.Expression:
        """Return a field or derived value. Raises KernelError if kernels cannot read it."""
        known = {value.name: value for value in readable}
        if node.attr not in known:
            spelled = f"{owner}.{node.attr}" if owner else node.attr
            if owner in self.incomplete_owners or spelled in self.invalid_names:
                raise make_silent_error(node)
            hint = self._value_of(holder, node.attr) or did_you_mean(node.attr, known)
            if node.attr == holder:
                hint = f"its fields follow directly, as in {ast.unparse(node.value)}.x"
            elif node.attr in (tree.ENTITY, SELF):
                hint = f"write `{node.attr}` alone"
            raise KernelError("E802", f"{holder} has no field {quote(node.attr)}", node, hint)
        return self.value_of(known[node.attr], owner, node)

    def _value_of(self, holder: str, name: str) -> str:
        """Return a hint for a reduction's name without its brackets; "" for other names."""
        known = (reduction.name for reduction in (self.reductions or {}).get(holder, ()))
        return f"write {holder}.{name}()" if name in known else ""

    def setting(self, node: ast.Attribute) -> tree.SettingValue:
        """Return the setting of that name. Raises KernelError if kernels cannot read it."""
        known, spelled = {s.name: s for s in self.settings}, f"{SETTINGS}.{node.attr}"
        if node.attr not in known:
            if SETTINGS in self.incomplete_owners or spelled in self.invalid_names:
                raise make_silent_error(node)
            hint = did_you_mean(node.attr, known)
            hint = hint or f"declare it in the world, as in `settings: {{{node.attr}: f64}}`"
            raise KernelError("E802", f"there is no setting {quote(node.attr)}", node, hint)
        type_, text = value_type(known[node.attr].type), known[node.attr].type.text
        if type_ is None:
            message = f"a kernel cannot use {quote(spelled)}: it is of type {text}"
            raise KernelError("E803", message, node)
        return tree.SettingValue(type_, spelled)

    def revived(self, expression: tree.Expression) -> tree.Expression:
        """Return an expression that reads the settings anew which turns change."""
        return tree.transform(
            expression,
            lambda node: (
                node.as_field
                if isinstance(node, tree.SettingValue) and node.setting in self.live_settings
                else node
            ),
        )

    def value_of(self, field: Readable, owner: str, node: ast.AST) -> tree.Expression:
        """Return a value of the owner's row. Raises KernelError if kernels cannot read it."""
        value = value_over(field, owner)
        if isinstance(field, DerivedValue):
            self.derived_nodes.add(node)
        elif value is None:
            message = f"a kernel cannot use {quote(field.name)}: it is of type {field.type.text}"
            raise KernelError("E803", message, node, "an enum can say which of some it is")
        if (f"{owner}.{field.name}" if owner else field.name) in self.hidden:
            message = f"a kernel cannot use {quote(field.name)}: it is in the second, cold buffer"
            hint = "only some rows have it there; tag it hot, or keep it inline"
            raise KernelError("E805", message, node, hint)
        assert value is not None
        return value

    def reduction(self, node: ast.Call, holder: str, name: str) -> tree.ReducedValue:
        """Return the value of a reduction. Raises KernelError if kernels cannot read it."""
        spelled, home = f"{holder}.{name}()", self.reference_scope.home
        if self.reductions is None or (home and holder not in self.reductions):
            hint = f"a kernel of the world over {home} has it" if home else ""
            message = f"{quote(spelled)} is a value of the world"
            raise KernelError("E802", message, node, hint)
        known = {reduction.name: reduction for reduction in self.reductions.get(holder, ())}
        if name not in known:
            if not {name, f"{holder}.{name}"}.isdisjoint(self.invalid_names):
                raise make_silent_error(node)
            hint, before = did_you_mean(name, known), " before this one" * bool(home)
            message = f"{holder} has no reduction {quote(name)}{before}"
            raise KernelError("E802", message, node, hint)
        if node.args or node.keywords:
            message = f"a reduction takes no arguments: it is {quote(spelled)}"
            raise KernelError("E801", message, node)
        reduction = known[name]
        program = reduction.program
        if program is EMPTY_REDUCTION:
            raise make_silent_error(node)
        if program.value.type.shape:
            message = f"{quote(spelled)} is {program.value.type}, and a value is one number"
            raise KernelError("E803", message, node, "reduce an element, or `norm`")
        reads = [f"{holder}.{text}" for text in program.reads]
        reads += [text for value in program.reduced for text in value.reads]
        type_, all_reads = Type(reduction.scalar), tuple(dict.fromkeys(reads))
        return tree.ReducedValue(type_, f"{holder}.{name}", reads=all_reads)

    def fields_of(self, owner: str) -> Iterable[Field]:
        """Return the fields of rows by their owner: a component, OWN or PARENT."""
        return self.components[owner].fields if owner in self.components else self.fields.values()

    @property
    def own_names(self) -> Mapping[str, Readable]:
        """The fields and derived values of the component itself."""
        return {**self.fields, **self.derived}

    @property
    def members(self) -> list[tuple[str, str]]:
        """Pairs of enum and member."""
        return [(name, member) for name, enum in self.enums.items() for member, _ in enum.values]

    def names(self) -> Iterable[str]:
        """Return all names that are valid at this step."""
        near = self.neighbours.names if self.neighbours is not None else ()
        settings = (f"{SETTINGS}.{setting.name}" for setting in self.settings)
        return (*self._values(), *settings, *self.components, *CONSTANTS, *sorted(near))

    def _values(self) -> Iterable[str]:
        known = self.components.items()
        components = (f"{name}.{value.name}" for name, c in known for value in c.readable)
        return (*self.locals_, *self.arguments, *self.own_names, *components)


def make_silent_error(node: ast.AST) -> KernelError:
    """Return the error of a node whose cause is reported already; it is not reported itself."""
    return KernelError("", "follows from an error before", node)


def value_type(type_: FieldType) -> Type | None:
    """Return the type of a field or argument in expressions; None for text, bytes and objects."""
    if not type_.is_computed:
        return None
    if type_.is_time:
        return Type(type_.kernel_scalar, (), type_.text)
    named = type_.base in (BaseType.ENUM, BaseType.ENTITY, BaseType.ID)
    kind = type_.text.partition("[")[0] if named else ""
    return Type(type_.scalar, type_.shape, kind)


def value_over(readable: Readable, owner: str) -> tree.Expression | None:
    """Return a field or derived value of an owner's row; None for text, bytes and objects."""
    if isinstance(readable, DerivedValue):
        return tree.with_fields(readable.value, lambda read: replace(read, owner=owner))
    type_ = value_type(readable.type)
    return None if type_ is None else tree.FieldValue(type_, readable.name, owner)


def _member(enum: Enum, node: ast.Attribute) -> tree.Constant:
    numbers = dict(enum.values)
    if node.attr not in numbers:
        hint = did_you_mean(node.attr, numbers) or hints.of_name("", (), [*numbers], "")
        raise KernelError("E802", f"{enum.name} has no member {quote(node.attr)}", node, hint)
    return tree.Constant(Type(enum.scalar, (), enum.name), numbers[node.attr])
