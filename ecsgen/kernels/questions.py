"""What a row asks of its neighbours: `sum(other.x)`, `nearest(distance)`, and the names in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.draws import NoDraws
from ecsgen.kernels.operations import QUESTIONS
from ecsgen.kernels.rules import Operand, typed
from ecsgen.kernels.syntax import KernelError, check_count
from ecsgen.model import Component, Field
from ecsgen.model.programs import (
    ENTITY,
    HANDLE,
    OWN,
    Distance,
    Expression,
    FieldValue,
    How,
    Offset,
    OtherField,
    Question,
)
from ecsgen.model.types import BOOL, Type

OTHER, OFFSET, DISTANCE = "other", "offset", "distance"
NAMES: Final = frozenset((OTHER, OFFSET, DISTANCE))
"""What names of a kernel with neighbours cannot be."""
NO_DRAWS: Final = NoDraws(
    "neighbours are asked for no random numbers", "draw into a local in a step before"
)
_MESSAGES: Final = {
    OTHER: "as in sum(other.x)",
    OFFSET: "as in sum(offset)",
    DISTANCE: "as in min(distance)",
}


@dataclass(slots=True)
class Neighbourhood:
    """Whom the rows of a kernel ask, and whether that is just being written."""

    place: Type
    """Of the space's field."""
    members: Mapping[str, Component]
    """The neighbours' components, by how they are named behind `other`: OWN, or in the world the
    component's name."""
    bearer: str | None
    """The component whose owner is `other.entity`; None without one."""
    value: Callable[[Iterable[Field], str, str, ast.Attribute], FieldValue]
    """`Scope.field`."""
    is_asking: bool = False
    """Whether the neighbour's names stand for something."""

    def name(self, node: ast.Name) -> Expression:
        """What one of NAMES stands for."""
        self._require(node.id, node)
        if node.id == OFFSET:
            return Offset(self.place)
        if node.id == DISTANCE:
            return Distance(Type(self.place.scalar))
        raise KernelError("E802", "'other' is a neighbour", node, "name a field, as in other.x")

    def member(self, node: ast.Attribute) -> Expression | None:
        """What `other.field` or `other.Component.field` stands for; None for what begins with
        anything but `other`."""
        path = _path(node)
        if path is None:
            return None
        self._require(OTHER, node)
        if path[0] == ENTITY:
            if len(path) > 1:
                return None
            if self.bearer is None:
                raise KernelError("E802", "neighbours belong to no entity", node)
            return OtherField(HANDLE, ENTITY, self.bearer)
        owner, *path = [OWN, *path] if OWN in self.members else path
        if len(path) > 1:
            return None
        if not path or owner not in self.members:
            hint = did_you_mean(owner, self.members)
            message = f"neighbours have no component {quote(owner)}"
            if owner in self.members:
                message, hint = f"{quote(owner)} is a component", f"as in other.{owner}.x"
            raise KernelError("E802", message, node, hint)
        component = self.members[owner]
        value = self.value(component.fields, owner, component.name, node)
        return OtherField(value.type, value.name, value.owner)

    def _require(self, name: str, node: ast.AST) -> None:
        if not self.is_asking:
            message = f"{quote(name)} is asked about outside a question"
            raise KernelError("E813", message, node, _MESSAGES[name])


def _path(node: ast.expr) -> list[str] | None:
    """The names behind `other`; None for what begins with anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names if isinstance(node, ast.Name) and node.id == OTHER else None


def begins_with_other(node: ast.AST) -> bool:
    """Whether something is a neighbour's, or a part of that."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == OTHER


def is_question(node: ast.Call, name: str) -> bool:
    """Whether a call asks neighbours: `min` and `max` of two or more do not."""
    return name in QUESTIONS and (name not in ("min", "max") or len(node.args) == 1)


def asked(
    node: ast.Call, name: str, near: Neighbourhood | None, infer: Callable[[ast.expr], Operand]
) -> Expression:
    """A question as an expression of the row; reports E813, E808 and E803."""
    if near is None:
        message = f"{quote(name)} asks neighbours, and there are none here"
        raise KernelError("E813", message, node, "give the kernel near: a radius")
    if near.is_asking:
        message = "a question within a question: neighbours are asked about themselves only"
        raise KernelError("E813", message, node, "give it a local name in a step before")
    check_count(name, node, QUESTIONS[name].arity, 1)
    how = cast(How, name)
    if not node.args:
        return Question(Type("i64"), how)
    near.is_asking = True
    try:
        value = typed(infer(node.args[0]))
    finally:
        near.is_asking = False
    return Question(_type(name, value.type, node.args[0]), how, value)


def _type(name: str, given: Type, node: ast.expr) -> Type:
    """What a question about values of a type gives."""
    if name == "count":
        if given != BOOL:
            hint = "compare it with something, as in count(other.x > 0)"
            raise KernelError("E803", f"'count' takes a condition, not {given}", node, hint)
        return Type("i64")
    if name == "nearest":
        return given
    if not given.is_number:
        hint = "'count' tells of how many neighbours it is true" if given.is_bool else ""
        raise KernelError("E803", f"{quote(name)} takes numbers, not {given}", node, hint)
    if name == "sum" and given.is_integer:
        return Type("u64" if given.scalar[0] == "u" else "i64", given.shape)
    if name == "mean" and given.is_integer:
        return Type("f64", given.shape)
    return given
