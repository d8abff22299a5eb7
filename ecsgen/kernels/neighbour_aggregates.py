"""Aggregates over neighbours: `sum(other.x)`, `max_by(spots, spots.sugar)`, and the names in them,
each of which belongs to one neighbourhood."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels import hints
from ecsgen.kernels.operations import AGGREGATES
from ecsgen.kernels.parsing import KernelError, check_count, position_of
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.type_rules import Operand, convert_for_target, give_default_type
from ecsgen.kernels.type_rules import cast as cast_type
from ecsgen.model import Component, DerivedValue, Field
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, Type

OFFSET, DISTANCE = "offset", "distance"
LINK: Final = "link"
NAMES: Final = frozenset((tree.OTHER, OFFSET, DISTANCE))
"""Names about neighbours, in kernels with `near` only."""
NO_DRAWS: Final = NoDraws(
    "an aggregate over neighbours cannot draw random numbers",
    "draw in a loop over them, or one number for all into a local in a step before",
)
CHANCES: Final = ("choice", "min_by", "max_by")
OPTIONS: Final = frozenset(("where", "weight", "none"))
"""Keywords of aggregates."""


@dataclass(frozen=True, slots=True)
class NeighbourScope:
    """The meaning of the names of one neighbourhood."""

    name: str
    offset_type: Type | None
    """The type of an offset to a neighbour; None without a common space."""
    members: Mapping[str, Component]
    """The neighbours' components by name: OWN, in the world the component's name, of cells the
    grid's own."""
    owner_component: str | None
    """The component whose owner a neighbour is; None for unowned rows."""
    on: tree.GridNeighbourhood | None = None
    occupants: Mapping[str, Component] = field(default_factory=dict)
    """The components whose rows may stand on the cells, if the neighbours are cells."""
    via: Component | None = None
    """The component whose rows are the links to the neighbours."""

    @property
    def is_cells(self) -> bool:
        """True if the neighbours are cells."""
        return any(component.grid is not None for component in self.members.values())

    def measure(self, name: str, node: ast.AST) -> tree.Offset | tree.Distance | None:
        """Return `offset` or `distance`; None for other names. Raises E813 without a space."""
        if name not in (OFFSET, DISTANCE):
            return None
        if self.via is not None:
            message = f"links lead to {quote(self.name)}, so there is no {quote(name)}"
            raise KernelError("E820", message, node, "as in `min_by(other, link.length)`")
        if self.offset_type is None:
            message = f"{quote(self.name)} are all rows, and no space says how far they are"
            raise KernelError("E813", message, node)
        if name == OFFSET:
            return tree.Offset(self.offset_type, self.name)
        distance = Type(self.offset_type.scalar if self.on is None else "f64")
        return tree.Distance(distance, self.name)

    def itself(self, node: ast.AST) -> tree.NeighbourField:
        """Return the neighbour's entity, or the id of an unowned row. Raises E802 without both."""
        if self.owner_component is not None:
            return tree.NeighbourField(tree.HANDLE, tree.ENTITY, self.owner_component, self.name)
        owner, component = next(iter(self.members.items()))
        kind = tree.id_type(component.name)
        if component.grid is not None:
            return tree.NeighbourField(kind, tree.CELL_ID, owner, self.name)
        if not component.ids:
            raise KernelError("E802", "neighbours belong to no entity", node)
        return tree.NeighbourField(kind, tree.ID_SLOT, owner, self.name)

    def link_itself(self, node: ast.AST, by_entity: bool = False) -> tree.NeighbourField:
        """Return the id of the link to the neighbour, `by_entity` the owner of one that is the
        only one of its entity. Raises E820, or E812, without both."""
        via = self._require_link(node)
        if by_entity and via.owner == "entity" and via.instances == "one":
            return tree.NeighbourField(tree.HANDLE, tree.ENTITY, via.name, self.name, True)
        if not via.ids:
            code = "E812" if by_entity else "E820"
            message = f"{quote('link')} alone is the link's id, and {quote(via.name)} has none"
            raise KernelError(code, message, node, "give it ids: true")
        return tree.NeighbourField(tree.id_type(via.name), tree.ID_SLOT, via.name, self.name, True)

    def _require_link(self, node: ast.AST) -> Component:
        if self.via is None:
            message = f"no links lead to {quote(self.name)}"
            raise KernelError("E820", message, node, "as in `near: {via: Knows}`")
        return self.via

    def of_link(
        self, path: list[str], node: ast.Attribute, scopes: NeighbourScopes
    ) -> tree.Expression | None:
        """Return the expression for a field of the link, or its id for no `path`. Raises E820."""
        via = self._require_link(node)
        if not path:
            return self.link_itself(node)
        if path == [tree.ENTITY] and via.owner == "entity":
            return tree.NeighbourField(tree.HANDLE, tree.ENTITY, via.name, self.name, True)
        if len(path) > 1:
            return None  # an element, or a field of who is at an end
        value = scopes.value(via.readable, via.name, via.name, node)
        return tree.with_fields(
            value,
            lambda read: tree.NeighbourField(read.type, read.name, read.owner, self.name, True),
        )

    def stream(self, node: ast.AST) -> tree.NeighbourField:
        """Return what tells a neighbour apart for random numbers. Raises E812 without it."""
        if self.via is not None:
            return self.link_itself(node, by_entity=True)
        owner, component = next(iter(self.members.items()))
        if len(self.members) > 1 or component.owner == "none" or component.instances == "one":
            return self.itself(node)
        if component.ids:
            return tree.NeighbourField(tree.id_type(component.name), tree.ID_SLOT, owner, self.name)
        message = f"rows of {quote(component.name)} have nothing to draw random numbers by"
        raise KernelError("E812", message, node, "give it ids: true")


@dataclass(slots=True)
class NeighbourScopes:
    """All neighbourhoods of a kernel, and the one whose aggregate is being typed."""

    by_name: Mapping[str, NeighbourScope]
    value: Callable[[Iterable[Field | DerivedValue], str, str, ast.Attribute], tree.Expression]
    """`Scope.field`."""
    current: str = ""
    """The neighbourhood of the aggregate that is being typed; empty outside of aggregates."""
    loops: dict[str, str] = field(default_factory=dict)
    """The neighbourhoods of the loops around a step, by the name of the neighbour."""

    @property
    def names(self) -> frozenset[str]:
        """Names that have a meaning of neighbours."""
        link = [LINK] if any(near.via for near in self.by_name.values()) else []
        return frozenset((*self.by_name, *self.loops, OFFSET, DISTANCE, *link))

    def is_named_in(self, node: ast.AST) -> bool:
        """Return True if an expression names neighbours other than those of loops."""
        return not hints.names_in(node).isdisjoint(self.names - self.loops.keys())

    def name(self, node: ast.Name) -> tree.Expression:
        """Return the expression for one of `names`. Raises E813 and E802."""
        near = self._require(node.id, node)
        if node.id == LINK:
            return near.link_itself(node)
        return near.measure(node.id, node) or near.itself(node)

    def member(self, node: ast.Attribute) -> tree.Expression | None:
        """Return the expression for `other.field`, `other.Component.field` or `prey.offset`; None
        without a neighbourhood's name in front."""
        name, path = path_of(node)
        if name == LINK and LINK in self.names:
            return self._require(name, node).of_link(path, node, self)
        if name not in self.by_name and name not in self.loops:
            return None
        near = self._require(name, node)
        if path[0] == LINK and (near.via or tree.OWN not in near.members):
            return near.of_link(path[1:], node, self)
        if path == [tree.ENTITY] and not near.is_cells:
            if near.owner_component is None:
                raise KernelError("E802", "neighbours belong to no entity", node)
            return tree.NeighbourField(tree.HANDLE, tree.ENTITY, near.owner_component, near.name)
        if path[0] in (OFFSET, DISTANCE):  # what follows is an element of it
            return near.measure(path[0], node) if len(path) == 1 else None
        return self._field(near, path, node)

    def _field(
        self, near: NeighbourScope, path: list[str], node: ast.Attribute
    ) -> tree.Expression | None:
        owner = next(iter(near.members)) if near.is_cells else tree.OWN
        is_direct = near.is_cells or tree.OWN in near.members
        if not is_direct and path[0] != tree.ENTITY:
            owner, *path = path
        if len(path) > 1 or tree.ENTITY in (owner, *path):
            return None
        if not path or owner not in near.members:
            members = {**near.members, **({LINK: near.via} if near.via else {})}
            holds = (name for name, c in members.items() if owner in {v.name for v in c.readable})
            spelled = [f"as in {first_name(node)}.{name}.{owner}" for name in holds]
            hint = "".join(spelled[:1]) or did_you_mean(owner, near.members)
            message = f"neighbours have no component {quote(owner)}"
            if owner in near.members:
                message = f"{quote(owner)} is a component"
                hint = f"as in {near.name}.{owner}.x"
            raise KernelError("E802", message, node, hint)
        component = near.members[owner]
        value = self.value(component.readable, owner, component.name, node)
        return tree.with_fields(
            value, lambda read: tree.NeighbourField(read.type, read.name, read.owner, near.name)
        )

    def occupied(self, node: ast.expr) -> tree.Occupied | None:
        """Return the expression for `exists(around.Sheep)`; None for other nodes."""
        name, path = path_of(node)
        if name not in self.by_name or len(path) != 1:
            return None
        near = self.by_name[name]
        if path[0] not in near.occupants:
            return None
        self._require(name, node)
        return tree.Occupied(BOOL, path[0], name)

    def _require(self, name: str, node: ast.AST) -> NeighbourScope:
        if name in self.loops:
            return self.by_name[self.loops[name]]
        if not self.current:
            message = f"{quote(name)} is used outside an aggregate over neighbours"
            shown = {OFFSET: "sum(offset)", DISTANCE: "min(distance)", LINK: "sum(link.x)"}
            asked = f"sum({ast.unparse(node)})" if isinstance(node, ast.Attribute) else ""
            shown_as = shown.get(name, asked or f"count({name}) > 0")
            raise KernelError("E813", message, node, f"as in {shown_as}")
        if name in self.by_name and name != self.current:
            message = f"an aggregate is over one neighbourhood, here {quote(self.current)}"
            raise KernelError("E813", message, node)
        if name in (OFFSET, DISTANCE, LINK) and len(self.by_name) > 1:
            message = f"{quote(name)} alone does not say of which neighbours"
            raise KernelError("E813", message, node, f"as in {self.current}.{name}")
        return self.by_name[self.current]

    def nearest(self, node: ast.expr) -> str:
        """Return the text of an aggregate that takes the nearest of the neighbours in a target, or
        any of them without a common space."""
        near = next(self.by_name[name] for name in hints.names_in(node) if name in self.by_name)
        is_entity = near.name == tree.OTHER and near.owner_component is not None
        which = "choice" if near.offset_type is None else "nearest"
        return f"{which}({near.name}.entity)" if is_entity else f"{which}({near.name})"

    def scope_of(self, node: ast.Call) -> NeighbourScope:
        """Return the neighbourhood that an aggregate names; the only one needs no name."""
        parts = [*node.args, *(word.value for word in node.keywords if word.arg != "none")]
        names = (n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name))
        asked = (name for name in names if name in self.by_name and name not in self.loops)
        named = list(dict.fromkeys(asked))
        if len(self.by_name) == 1:
            return next(iter(self.by_name.values()))
        if len(named) != 1:
            known = ", ".join(self.by_name)
            which = "none" if not named else " and ".join(named)
            message = f"an aggregate is over one neighbourhood, this one over {which}"
            raise KernelError("E813", message, node, f"name one of {known}")
        return self.by_name[named[0]]


def path_of(node: ast.expr) -> tuple[str, list[str]]:
    """Return the name in front of attributes, and their names; nothing without such a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return (node.id, names) if isinstance(node, ast.Name) else ("", [])


def begins_with_other(node: ast.AST, near: NeighbourScopes | None) -> bool:
    """Return True for a neighbour's field, or an element of it, outside of loops over these."""
    name = first_name(node)
    return near is not None and name in near.by_name and name not in near.loops


def first_name(node: ast.AST) -> str:
    """Return the name in front of attributes and indices; "" without one."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_aggregate(node: ast.Call, name: str) -> bool:
    """Return True if a call is over neighbours: `min` and `max` of two or more are not."""
    return name in AGGREGATES and (name not in ("min", "max") or len(node.args) == 1)


def no_neighbours(name: str, node: ast.AST) -> KernelError:
    """Return the error of a question, or a loop, of a kernel without neighbours."""
    message = f"{quote(name)} needs neighbours, and this kernel has none"
    return KernelError("E813", message, node, hints.of_aggregate(name, node))


def type_aggregate(
    node: ast.Call,
    name: str,
    nears: NeighbourScopes | None,
    infer: Callable[[ast.expr], Operand],
    no_draws: NoDraws | None,
) -> tree.Expression:
    """Return the expression for an aggregate. Raises E813, E808, E812 and E803."""
    if nears is None:
        raise no_neighbours(name, node)
    if nears.current:
        message = "aggregates over neighbours cannot be nested"
        raise KernelError("E813", message, node, "give it a local name in a step before")
    function = cast(tree.AggregateFunction, name)
    is_chance = name in CHANCES
    if is_chance and no_draws is not None:
        raise KernelError("E812", no_draws.message, node, no_draws.hint)
    is_by = name in ("min_by", "max_by")
    check_count(name, node, 2 if is_by else AGGREGATES[name].arity, None if is_by else 1)
    near = nears.scope_of(node)
    if near.name in nears.loops.values():
        message = f"a loop over {quote(near.name)} asks no questions about {quote(near.name)}"
        raise KernelError("E813", message, node, "give it a local name in a step before")
    first = node.args[0] if node.args and name == "count" else None
    is_neighbour = isinstance(first, ast.Name) and first.id == near.name  # the neighbour itself
    if name == "nearest":
        near.measure(DISTANCE, node)
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    _check_options(node, name, options)
    nears.current = near.name
    try:
        where = type_condition(options["where"], infer) if "where" in options else None
        weight = _weight(options.get("weight"), infer)
        arguments = [] if is_neighbour else node.args
        values = [give_default_type(infer(argument)) for argument in arguments]
    finally:
        nears.current = ""
    number = position_of(node) if is_chance else -1
    if not values:
        return tree.NeighbourAggregate(Type("i64"), function, None, near.name, where)
    value, *keys = values
    for key, argument in zip(keys, node.args[1:], strict=True):
        if key.type.shape or not (key.type.is_number or key.type.is_bool):
            message = f"{quote(name)} compares numbers or bools without a shape, not {key.type}"
            raise KernelError("E803", message, argument)
    type_ = _type(name, value.type, node.args[0])
    none = None
    if (none_node := options.get("none")) is not None:  # of the row, not of a neighbour
        none = convert_for_target(infer(none_node), type_, none_node)
    decides = where, tuple(keys), number, weight, none
    return tree.NeighbourAggregate(type_, function, value, near.name, *decides)


def _check_options(node: ast.Call, name: str, options: Mapping[str | None, ast.expr]) -> None:
    if "weight" in options and name != "choice":
        raise KernelError("E801", "only 'choice' takes a weight", options["weight"])
    if "none" in options and name == "count":
        message = "'count' takes no 'none': without neighbours it is 0"
        raise KernelError("E801", message, options["none"])


def _weight(node: ast.expr | None, infer: Callable[[ast.expr], Operand]) -> tree.Expression | None:
    if node is None:
        return None
    weight = give_default_type(infer(node))
    if weight.type.shape or not weight.type.is_number:
        message = f"a weight is a number without a shape, not {weight.type}"
        raise KernelError("E803", message, node)
    return cast_type(weight, "f64")


def type_condition(node: ast.expr, infer: Callable[[ast.expr], Operand]) -> tree.Expression:
    """Return the expression for `where=`. Raises E803."""
    condition = give_default_type(infer(node))
    if condition.type != BOOL:
        hint = "compare it with something, as in `where=distance > 0`"
        message = f"a condition is a bool, not {condition.type}"
        raise KernelError("E803", message, node, hint)
    return condition


def _type(name: str, type_: Type, node: ast.expr) -> Type:
    if name == "count":
        if type_ != BOOL:
            hint = "compare it with something, as in count(other.x > 0)"
            raise KernelError("E803", f"'count' takes a condition, not {type_}", node, hint)
        return Type("i64")
    if type_.is_time:
        message = f"a question has no time as its value, and {quote(name)} has {type_} here"
        raise KernelError("E803", message, node, "write i64(…), which counts its units")
    if name == "nearest" or name in CHANCES:
        return type_
    if name == "mode":
        if type_.shape or type_.is_float:
            message = f"'mode' takes integers, bools, members or handles, not {type_}"
            raise KernelError("E803", message, node)
        return type_
    if not type_.is_number:
        hint = "'count' counts neighbours for which it is true" if type_.is_bool else ""
        raise KernelError("E803", f"{quote(name)} takes numbers, not {type_}", node, hint)
    if name == "sum" and type_.is_integer:
        return Type(type_.total, type_.shape)
    if name == "mean" and type_.is_integer:
        return Type("f64", type_.shape)
    return type_
