"""References in kernels: fields of other rows, by entities and ids."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.neighbour_aggregates import DISTANCE, OFFSET
from ecsgen.kernels.operations import EXISTS
from ecsgen.kernels.parsing import KernelError, check_count
from ecsgen.kernels.scope import SELF, Scope
from ecsgen.model import Field
from ecsgen.model import typed_tree as tree
from ecsgen.model.columns import flat, ticks
from ecsgen.model.types import BOOL, Number, Type

_BEGINNINGS: Final = (
    tree.FieldValue,
    tree.Local,
    tree.Argument,
    tree.ReferencedField,
    tree.NeighbourAggregate,
)


@dataclass(frozen=True, slots=True)
class References:
    """Typing of the references of one kernel."""

    scope: Scope
    infer: Callable[[ast.expr], tree.Expression]

    def field(self, node: ast.Attribute) -> tree.Expression | None:
        """Return the expression for `handle.Component.field`; None without a component there."""
        holder, references = node.value, self.scope.reference_scope
        if not isinstance(holder, ast.Attribute) or holder.attr not in references.names:
            return None
        handle = self.handle(holder.value)
        self._check_stands(holder, handle, node)
        if references.is_occupant_of(holder.attr, handle):
            return self._field(holder.attr, handle, node)
        if handle.type.kind != "entity":
            message = f"{handle.type} leads to one component: only entities have several"
            raise KernelError("E810", message, node, f"write .{node.attr} alone")
        return self._field(holder.attr, handle, node)

    def of_value(self, value: tree.Expression, node: ast.Attribute) -> tree.Expression | None:
        """Return the expression for `value.name` of an entity or an id; None for other values."""
        if not value.type.is_handle or value.type.shape:
            return None
        self._check_beginning(value, node.value)
        if value.type.kind != "entity":
            return self._field(target_of_id(value), value, node)
        spelled = ast.unparse(node.value)
        if node.attr in self.scope.reference_scope.names:
            hint = f"name one of its fields, as in {spelled}.{node.attr}.value"
            raise KernelError("E802", f"{quote(node.attr)} is a component", node, hint)
        hint = did_you_mean(node.attr, self.scope.reference_scope.names)
        known = self.scope.reference_scope.components.items()
        owners = [name for name, c in known if node.attr in {each.name for each in c.readable}]
        shown = owners[0] if len(owners) == 1 else "Component"
        hint = hint or f"name a component and its field, as in {spelled}.{shown}.{node.attr}"
        if spelled == SELF and node.attr in self.scope.fields:
            hint = f"the row's own field is {quote(node.attr)} alone"
        elif node.attr in (OFFSET, DISTANCE):
            hint = f"ask for that itself, as in nearest(other.{node.attr})"
        elif spelled == SELF and (owner := self.scope.owner_of(node.attr)):
            hint = owner
        message = f"{quote(spelled)} is an entity, and {quote(node.attr)} is no component"
        raise KernelError("E810", message, node, hint)

    def exists(self, node: ast.Call) -> tree.Exists:
        """Return the expression for `exists(handle)` or `exists(entity.Component)`."""
        check_count(EXISTS, node, 1, 1)
        (argument,), references = node.args, self.scope.reference_scope
        if isinstance(argument, ast.Attribute) and argument.attr in references.names:
            handle, name = self.handle(argument.value), argument.attr
            if handle.type.kind == "entity" or references.is_occupant_of(name, handle):
                self._check_leads(name, handle, argument)
                return tree.Exists(BOOL, name, handle)
            target = references.components.get(target_of_id(handle))
            if target is None or name not in {value.name for value in target.readable}:
                self._check_stands(argument, handle, argument)
        handle = self.handle(argument)
        if handle.type.kind != "entity":
            self._check_leads(target_of_id(handle), handle, argument)
            return tree.Exists(BOOL, target_of_id(handle), handle)
        home = references.components.get(references.home)
        if home is not None and home.owner == "none":
            message = f"a kernel of {quote(home.name)}, whose rows are unowned, has no entities"
            raise KernelError("E810", message, argument, references.of_the_world)
        return tree.Exists(BOOL, "", handle)

    def handle(self, node: ast.expr) -> tree.Expression:
        """Return the expression of an entity or id. Raises E803 and E810 for other values."""
        try:
            handle = self.infer(node)
        except KernelError as error:
            match node:
                case ast.Name(name) if name in self.scope.reference_scope.names:
                    error.hint = f"`self` has its row, choice({name}) is any of all; "
                    error.hint += f"`exists(self.{name})` asks whether the row's entity has one"
                case ast.Attribute(who, name) if name in self.scope.reference_scope.names:
                    error.hint = f"write {ast.unparse(who)} alone"
            raise
        self._check_beginning(handle, node)
        if not handle.type.is_handle or handle.type.shape:
            hint = "name an element of it" if handle.type.is_handle else ""
            message = f"an entity or an id refers to something, not {handle.type}"
            raise KernelError("E803", message, node, hint)
        return handle

    def _check_beginning(self, handle: tree.Expression, node: ast.expr) -> None:
        references = self.scope.reference_scope
        if references.refusal:
            raise KernelError("E810", references.refusal, node, references.hint)
        base = handle.base if isinstance(handle, tree.Element | tree.Item) else handle
        near = self.scope.neighbours
        is_of_loop = near is not None and getattr(base, "near", "") in near.loops.values()
        named = node.value if isinstance(node, ast.Subscript) else node
        is_derived = named in self.scope.derived_nodes
        is_field = isinstance(base, tree.NeighbourField) and isinstance(named, ast.Attribute)
        if is_field and not is_of_loop:
            message = "'other' has no references to follow: only its own fields can be read"
            hint = f"`{ast.unparse(node)} != 0` asks whether it has any"
            raise KernelError("E813", message, node, hint)
        if not (isinstance(base, _BEGINNINGS) or is_of_loop or is_derived):
            message = "a reference begins with a field, a local name, an argument or 'entity'"
            raise KernelError("E810", message, node, "give it a local name in a step before")

    def _check_leads(self, name: str, handle: tree.Expression, node: ast.expr) -> None:
        """Raise E810 where a component's rows cannot be referred to."""
        references = self.scope.reference_scope
        if name in references.chunked:
            message = f"rows of {quote(name)} cannot be referred to: it lives in archetypes"
            raise KernelError("E810", message, node)
        self.check_known(name, node)
        if handle.type.kind == "entity" and references.components[name].owner == "none":
            message = f"no entity has {quote(name)}, whose rows are unowned"
            raise KernelError("E810", message, node, f"refer to one by id<{name}>")

    def _check_stands(self, holder: ast.Attribute, handle: tree.Expression, node: ast.expr) -> None:
        """Raise E810 where a cell leads to a component whose rows do not stand on it."""
        references, name = self.scope.reference_scope, holder.attr
        cells = references.components.get(target_of_id(handle))
        if cells is None or cells.grid is None or references.is_occupant_of(name, handle):
            return
        self._check_leads(name, handle, holder)
        message = f"no rows of {quote(name)} stand on cells of {quote(cells.name)}"
        raise KernelError("E810", message, node)

    def check_known(self, name: str, node: ast.expr) -> None:
        """Raise E810 where a component's own kernel leads to another one."""
        references = self.scope.reference_scope
        if name not in references.components and references.home:
            followed = ast.unparse(node.value if isinstance(node, ast.Attribute) else node)
            followed = followed.removesuffix(f".{name}")
            message = f"a kernel of {quote(references.home)} follows {quote(followed)} to "
            message += f"{quote(name)}, which is another component"
            raise KernelError("E810", message, node, references.of_the_world)

    def _field(self, name: str, handle: tree.Expression, node: ast.Attribute) -> tree.Expression:
        self._check_leads(name, handle, node)
        references = self.scope.reference_scope
        component = references.components[name]
        owner = tree.OWN if references.home == name else name
        value = self.scope.field(component.readable, owner, name, node)
        fields = {field.name: field for field in component.fields}

        def refer(read: tree.FieldValue) -> tree.Expression:
            default = absent_elements(fields[read.name], read.type)
            return tree.ReferencedField(read.type, name, read.name, handle, default)

        return tree.with_fields(value, refer)


def absent_elements(field: Field, type_: Type) -> tuple[bool | Number, ...]:
    """Return the elements that a missing row has, in C order: the default, or the identity for a
    square matrix without a default."""
    shape = type_.shape
    is_square = len(shape) == 2 and shape[0] == shape[1] and type_.is_number
    if is_square and "default" not in field.marks:
        unit, zero = (1.0, 0.0) if type_.is_float else (1, 0)
        size = shape[0] + 1
        return tuple(zero if index % size else unit for index in range(shape[0] * shape[1]))
    if type_.is_time:
        return (ticks(field.default),)
    elements = flat(field.default)
    return tuple(element for element in elements if isinstance(element, bool | int | float))


def target_of_id(handle: tree.Expression) -> str:
    """Return the component of an id."""
    return handle.type.kind.removeprefix("id<").removesuffix(">")
