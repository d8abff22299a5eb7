"""What a valid schema says of components, kernels and the world, as far as kernels need it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

Enums = dict[str, dict[str, int]]
UNSEEN = ("str", "bytes", "object", "datetime", "timedelta")


@dataclass(frozen=True)
class Field:
    """A field, an argument or a setting; the default is None if none is written."""

    type: str
    shape: tuple[int, ...]
    default: Any
    each: bool


@dataclass(frozen=True)
class Near:
    """A neighbourhood of a kernel."""

    radius: ast.expr
    among: str
    hood: str
    center: bool


@dataclass(frozen=True)
class Kernel:
    """A kernel of a component (`home`) or of the world."""

    name: str
    home: str
    over: str
    keys: dict[str, Any]
    args: dict[str, Field]
    where: ast.expr | None
    steps: list[ast.stmt]
    near: dict[str, Near]

    def nodes(self) -> Iterator[ast.AST]:
        for tree in (self.where, *self.steps):
            yield from ast.walk(tree) if tree else ()

    def calls(self, *names: str) -> list[ast.Call]:
        """Where the kernel calls functions of these names."""
        calls = [node for node in self.nodes() if isinstance(node, ast.Call)]
        return [node for node in calls if ast.unparse(node.func) in names]


@dataclass(frozen=True)
class Component:
    """A component; a row stands on the cell of `grid` that its field `stands` names."""

    keys: dict[str, Any]
    fields: dict[str, Field]
    kernels: dict[str, Kernel]
    space: str
    shape: tuple[int, ...]
    wrap: tuple[Any, ...]
    hood: str
    stands: str
    grid: str
    capacity: float

    def says(self, key: str, value: str) -> bool:
        return bool(self.keys.get(key) == value)


@dataclass
class Schema:
    components: dict[str, Component] = field(default_factory=dict)
    enums: Enums = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    settings: dict[str, Field] = field(default_factory=dict)


@cache
def read(text: str) -> Schema:
    """Read all documents of one text; each scalar is taken as it is written."""
    schema = Schema()
    documents = [one for one in yaml.load_all(text, yaml.BaseLoader) if one]
    for one in sorted(documents, key=lambda one: "enum" not in one):
        if "enum" in one:
            schema.enums[one["enum"]] = _members(one)
        elif "component" in one:
            schema.components[one["component"]] = _component(one, schema.enums)
        else:
            schema.world = one
            schema.settings = _fields(one.get("settings", {}), schema.enums)
            schema.kernels = _kernels(one, "", schema.enums)
    return schema


def _members(one: dict[str, Any]) -> dict[str, int]:
    if isinstance(one["values"], dict):
        return {name: int(number) for name, number in one["values"].items()}
    is_flags = one.get("flags") == "true"
    return {name: 2**k if is_flags else k for k, name in enumerate(one["values"])}


def _component(one: dict[str, Any], enums: Enums) -> Component:
    fields = _fields(one.get("fields") or {}, enums)
    space, grid, on = one.get("space", {}), one.get("grid", {}), one.get("on", {})
    on = on if isinstance(on, dict) else {"field": on}
    shape = tuple(map(int, grid.get("shape", ())))
    wrap = grid.get("wrap", "false")
    wraps = wrap if isinstance(wrap, list) else [wrap] * len(shape)
    return Component(
        keys=one,
        fields=fields,
        kernels=_kernels(one, one["component"], enums),
        space=space.get("field", ""),
        shape=shape,
        wrap=tuple(w == "true" for w in wraps) or tuple(map(float, space.get("wrap", ()))),
        hood=grid.get("hood", "moore"),
        stands=on.get("field", ""),
        grid=fields[on["field"]].type[3:-1] if on else "",
        capacity=float(on.get("capacity", "inf")),
    )


def _fields(found: dict[str, Any], enums: Enums) -> dict[str, Field]:
    """Fields by name, without those that kernels do not see."""
    fields = {}
    for name, keys in found.items():
        keys = keys if isinstance(keys, dict) else {"type": keys}
        type_, _, sizes = keys["type"].rstrip("]").partition("[")
        members = enums.get(type_, {})
        default = written(keys["default"], members) if "default" in keys else None
        if members and default is None and 0 not in members.values():
            default = next(iter(members.values()))
        shape = tuple(map(int, sizes.split(","))) if sizes else ()
        if type_ not in UNSEEN:
            fields[name] = Field(type_, shape, default, keys.get("each") == "true")
    return fields


def written(text: Any, members: dict[str, int]) -> Any:
    """A number, bool or member, or a list of them."""
    if isinstance(text, list):
        return [written(one, members) for one in text]
    if text in members:
        return members[text]
    if text.strip("+-").lower() in (".inf", ".nan"):
        return float(text.replace(".", ""))
    return ast.literal_eval(text.title() if text.lower() in ("true", "false") else text)


def _kernels(one: dict[str, Any], home: str, enums: Enums) -> dict[str, Kernel]:
    return {
        name: Kernel(
            name=f"{home}.{name}" if home else name,
            home=home,
            over=home or keys["over"],
            keys=keys,
            args=_fields(keys.get("args", {}), enums),
            where=_expression(keys["where"]) if "where" in keys else None,
            steps=[ast.parse(step.strip()).body[0] for step in keys["steps"]],
            near=_neighbourhoods(keys.get("near", {}), home or keys["over"]),
        )
        for name, keys in one.get("kernels", {}).items()
    }


def _neighbourhoods(near: Any, over: str) -> dict[str, Near]:
    """Neighbourhoods by name; the one without a name is `other`."""
    near = near if isinstance(near, dict) else {"radius": near}
    if "radius" in near and not isinstance(near["radius"], dict):
        near = {"other": near}
    return {
        name: Near(
            radius=_expression(keys["radius"]),
            among=keys.get("among", over),
            hood=keys.get("hood", ""),
            center=keys.get("center") == "true",
        )
        for name, keys in near.items()
    }


def _expression(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body
