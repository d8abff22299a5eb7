"""What a valid schema says of components, kernels and the world, as far as kernels need it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
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


class Kernel:
    """A kernel of a component (`home`) or of the world."""

    def __init__(self, name: str, home: str, keys: dict[str, Any], enums: Enums) -> None:
        self.name = f"{home}.{name}" if home else name
        self.home = home
        self.keys = keys
        self.over: str = home or keys["over"]
        self.args = _fields(keys.get("args", {}), enums)
        self.where = ast.parse(keys["where"], mode="eval").body if "where" in keys else None
        self.steps = [ast.parse(step).body[0] for step in keys["steps"]]
        near = keys.get("near", {})
        near = near if isinstance(near, dict) else {"radius": near}
        is_one = isinstance(near.get("radius"), str)
        self.near: dict[str, dict[str, str]] = {"other": near} if is_one else near

    @property
    def reads_parent(self) -> bool:
        return re.search(r"\bparent\.", str(self.keys)) is not None


class Component:
    """A component; a row stands on the cell of `grid` that its field `stands` names."""

    def __init__(self, keys: dict[str, Any], enums: Enums) -> None:
        self.keys = keys
        self.fields = _fields(keys.get("fields") or {}, enums)
        self.kernels = _kernels(keys, keys["component"], enums)
        space, grid, on = keys.get("space", {}), keys.get("grid", {}), keys.get("on", {})
        self.space: str = space.get("field", "")
        self.sizes = tuple(map(float, space.get("wrap", ())))
        self.shape = tuple(map(int, grid.get("shape", ())))
        wrap = grid.get("wrap", "false")
        wraps = wrap if isinstance(wrap, list) else [wrap] * len(self.shape)
        self.wrap = tuple(one == "true" for one in wraps)
        self.hood: str = grid.get("hood", "moore")
        on = on if isinstance(on, dict) else {"field": on}
        self.stands: str = on.get("field", "")
        self.grid = self.fields[self.stands].type[3:-1] if on else ""
        self.capacity = float(on.get("capacity", "inf"))

    def says(self, key: str, value: str) -> bool:
        return bool(self.keys.get(key) == value)


class Schema:
    """All documents of one text, each scalar taken as it is written."""

    def __init__(self, text: str) -> None:
        documents = [one for one in yaml.load_all(text, yaml.BaseLoader) if one]
        self.enums: Enums = {one["enum"]: _members(one) for one in documents if "enum" in one}
        found = [one for one in documents if "component" in one]
        self.components = {one["component"]: Component(one, self.enums) for one in found}
        self.world: dict[str, Any] = next((one for one in documents if "world" in one), {})
        self.settings = _fields(self.world.get("settings", {}), self.enums)
        self.kernels = _kernels(self.world, "", self.enums)


read = cache(Schema)


def _kernels(keys: dict[str, Any], home: str, enums: Enums) -> dict[str, Kernel]:
    found = keys.get("kernels", {}).items()
    return {name: Kernel(name, home, own, enums) for name, own in found}


def _members(keys: dict[str, Any]) -> dict[str, int]:
    if isinstance(keys["values"], dict):
        return {name: int(number) for name, number in keys["values"].items()}
    is_flags = keys.get("flags") == "true"
    return {name: 2**k if is_flags else k for k, name in enumerate(keys["values"])}


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
