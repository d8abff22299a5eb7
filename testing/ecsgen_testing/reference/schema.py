"""The schemas as the interpreter has them: components, kernels and the world, read from JSON.

The JSON is the schemas' own form, with keys left out that have their default:

- a kernel's `steps` are a list of texts, of one block text a list of one; `at_most` is a number;
- `network` is `{"between": [field, field]}`, or `{"from": field, "to": field}`;
- `near` has each neighbourhood by its name, `{}` for everybody; a `radius` is a number or a text:
  an argument, a field (`reach`, `Turret.reach`), `settings.vision`, `Node.reach()`;
- `turns` is "rows", "random", "given", `{"by": "-Node.x"}`, or `{"random": n}`, n a number or the
  name of an argument;
- `derived` of a component has texts of expressions by name;
- `settings` of the world are fields, also with `min` and `max`;
- an entry of a schedule is `{"run": name or list of names}` with `every`, `from`, `times`, or with
  `while` (`"Node.moving"`) and `at_most`; or `{"set": "settings.dt", "to": text}`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import dedent
from typing import Any, Final

from .values import TIMES, Value, identity, value

Document = Mapping[str, Any]
"""A JSON object. Keys with their default are left out."""

SETTINGS: Final = "settings"
"""Stands for a component whose one row has the settings."""


@dataclass(frozen=True)
class Field:
    """A field, an argument or a setting."""

    type: str
    shape: tuple[int, ...] = ()
    default: Any = None
    """None if the schema has none."""
    is_each: bool = False
    """True for an argument with a value for each row."""
    least: float = -math.inf
    most: float = math.inf
    """Bounds of a setting."""

    @cached_property
    def initial(self) -> Value:
        """The value that a new row has: the default, else zeros, of times NaT."""
        if self.default is None and self.type in TIMES:
            return value(self.type, "NaT")
        return value(self.type, self.default or 0, self.shape)

    def clipped(self, new: Value) -> Value:
        """Return a value within the bounds; NaN as it is."""
        if self.type in TIMES:  # which have no bounds
            return new
        if new.one < self.least:
            return value(self.type, self.least)
        return value(self.type, self.most) if new.one > self.most else new

    @cached_property
    def absent(self) -> Value:
        """The value that is read where there is no row: of a square matrix without a default the
        identity."""
        square = identity(self.type, self.shape) if self.default is None else None
        return self.initial if square is None else square


@dataclass(frozen=True)
class Near:
    """A neighbourhood of a kernel as written."""

    name: str
    radius: float | str | None = None
    """None: everybody."""
    among: str = ""
    hood: str = ""
    center: bool = False
    via: str = ""
    """The component whose rows are the links to the neighbours."""
    back: bool = False


class Kernel:
    """A kernel of a component, its `home`, or of the world."""

    def __init__(self, name: str, home: str, document: Document) -> None:
        self.own_name = name
        self.name = f"{home}.{name}" if home else name
        """The name that random numbers depend on."""
        self.home = home
        self.over: str = home or document["over"]
        self.args = _fields(document.get("args", {}))
        self.where = parse_expression(document["where"]) if "where" in document else None
        self.texts: list[str] = document["steps"]
        self.steps = [step for text in self.texts for step in ast.parse(dedent(text)).body]
        self.at_most = int(document.get("at_most", 0))
        """How many passes a `while` has."""
        self.runs_all_rows = document.get("rows") == "all"
        """True if inactive rows of a component run as well."""
        self.key: str = document.get("key", "")
        turns = document.get("turns", "")
        is_named = isinstance(turns, str)
        self.turns: str = turns if is_named else "by" if "by" in turns else "drawn"
        by = None if is_named or "by" not in turns else parse_expression(turns["by"])
        self.is_descending = isinstance(by, ast.UnaryOp) and isinstance(by.op, ast.USub)
        self.turns_by = by.operand if isinstance(by, ast.UnaryOp) and self.is_descending else by
        """The number that orders turns."""
        self.turn_count: int | str = 0 if is_named else turns.get("random", 0)
        """How many turns are drawn: a number, or an argument."""
        self.near = {name: Near(name, **near) for name, near in document.get("near", {}).items()}
        self.text = "\n".join([document.get("where", ""), *self.texts])
        """All that is written."""
        parts = [part for step in self.steps for part in ast.walk(step)]
        parts += ast.walk(self.where) if self.where else ()
        names = [p.value for p in parts if isinstance(p, ast.Attribute)]
        self.reads_parent = any(isinstance(n, ast.Name) and n.id == "parent" for n in names)
        calls = [part for part in parts if isinstance(part, ast.Call)]
        bounds = [arg for call in calls if ast.unparse(call.func) == "range" for arg in call.args]
        self.computes_passes = not all(isinstance(bound, ast.Constant) for bound in bounds)
        """True if a number of passes is no constant."""


class Reduction:
    """A reduction of a component, or a column of a table."""

    def __init__(self, name: str, home: str, document: Document) -> None:
        self.name = name
        self.home = home
        self.over: str = home or document["over"]
        self.function: str = document["function"]
        self.text: str = document["of"] + " " + document.get("where", "")
        self.value = parse_expression(document["of"])
        self.where = parse_expression(document["where"]) if "where" in document else None
        self.runs_all_rows = document.get("rows") == "all"
        self.args: dict[str, Field] = {}
        self.near: dict[str, Near] = {}


class Table:
    """A table of the world: a line of reductions, or a line for each of some rows."""

    def __init__(self, document: Document) -> None:
        columns = document.get("columns", {}).items()
        self.columns = {name: Reduction(name, "", column) for name, column in columns}
        self.rows: Reduction | None = None
        """Counts the rows that have a line each."""
        self.fields: dict[str, Reduction] = {}
        """Have the values of each row's line, by the names of columns."""
        if "rows" in document:
            where = {"where": document["where"]} if "where" in document else {}
            of_rows = {"function": "count", "over": document["rows"], **where}
            self.rows = Reduction("", "", {**of_rows, "of": "true"})
            for field in document.get("fields", []):
                column = field.rpartition(".")[2]
                self.fields[column] = Reduction(column, "", {**of_rows, "of": field})

    @property
    def sources(self) -> list[Reduction]:
        """The reductions whose rows the table reads."""
        return [*self.columns.values()] if self.rows is None else [self.rows]


class Component:
    """A component; a row stands on the cell of `grid` that its field `stands` names."""

    def __init__(self, name: str, document: Document) -> None:
        self.module: str = document.get("module", "")
        """The name of its manager in a world."""
        self.fields = _fields(document.get("fields", {}))
        derived = document.get("derived", {}).items()
        self.derived = {key: parse_expression(text) for key, text in derived}
        """Names for expressions of one row."""
        self.kernels = _kernels(document, name)
        reductions = document.get("reductions", {}).items()
        self.reductions = {key: Reduction(key, name, each) for key, each in reductions}
        space, grid, on = (document.get(key, {}) for key in ("space", "grid", "on"))
        self.space: str = space.get("field", "")
        self.sizes = tuple(map(float, space.get("wrap", ())))
        self.shape = tuple(map(int, grid.get("shape", ())))
        self.wrap = tuple(map(bool, grid.get("wrap", ())))
        self.hood: str = grid.get("hood", "moore")
        self.stands: str = on.get("field", "")
        self.grid: str = on.get("grid", "")
        self.capacity = float(on.get("capacity", "inf"))
        network = document.get("network", {})
        self.is_mutual = "between" in network
        """True if links lead both ways."""
        self.ends: list[str] = network.get("between") or [*map(network.get, ("from", "to"))]
        """Fields with the ends of a link; `entity` is the owner."""
        self.requires: list[str] = document.get("requires", [])
        self.partition: str = document.get("partition", "")
        self.on_delete: dict[str, str] = document.get("on_delete", {})
        """By field: `clear` or `cascade`, when the entity dies that it refers to."""
        self.destroy: str = document.get("destroy", "gc")
        self.is_direct = document.get("lookup") == "direct"
        self.has_many = document.get("instances") == "many"
        self.is_owned = not self.shape and document.get("owner") != "none"
        self.has_ids = not self.is_owned or bool(document.get("ids"))
        self.unique: dict[str, str] = document.get("unique", {})
        """Types of the fields whose values no two rows share, text included."""
        self.is_chunked = bool(document.get("archetypes"))

    def has(self, name: str) -> bool:
        """Return True for the name of a field or of a derived value."""
        return name in self.fields or name in self.derived


class Schema:
    """All schemas of a project."""

    def __init__(self, document: Document) -> None:
        self.enums: dict[str, dict[str, int]] = document.get("enums", {})
        components = document.get("components", {}).items()
        self.components = {name: Component(name, each) for name, each in components}
        world = document.get("world", {})
        self.world_name: str = world.get("name", "World")
        self.settings = _fields(world.get("settings", {}))
        self.bundles: dict[str, dict[str, dict[str, Any]]] = world.get("bundles", {})
        self.groups: dict[str, list[str]] = world.get("groups", {})
        self.queries: dict[str, Document] = world.get("queries", {})
        self.kernels = _kernels(world, "")
        self.schedules: dict[str, list[Document]] = world.get("schedules", {})
        self.tables = {name: Table(each) for name, each in world.get("records", {}).items()}

    def kernel(self, name: str) -> Kernel:
        """Return a kernel: `Boid.steer`, or `drift` of the world."""
        home, _, own_name = name.rpartition(".")
        return (self.components[home] if home else self).kernels[own_name]

    def handle_type(self, component: str) -> str:
        """Return the type of handles that lead to rows: of their entities, or ids without owner."""
        return "entity" if self.components[component].is_owned else f"id<{component}>"

    def members_of(self, name: str) -> list[str]:
        """Return the components that each row of a component, group or query has."""
        if name in self.components or name == SETTINGS:
            return [name]
        return list(self.groups.get(name) or self.queries[name].get("all", []))


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    return ast.parse(text.replace("\n", " ").strip(), mode="eval").body


def number(data: Any) -> Any:
    """Return a number or nested list as Python has it; JSON names NaN and infinities."""
    if isinstance(data, list):
        return [number(item) for item in data]
    return float(data) if isinstance(data, str) else data


def _kernels(document: Document, home: str) -> dict[str, Kernel]:
    kernels = document.get("kernels", {}).items()
    return {name: Kernel(name, home, kernel) for name, kernel in kernels}


def _fields(documents: Document) -> dict[str, Field]:
    return {name: _field(document) for name, document in documents.items()}


def _field(document: Document | str) -> Field:
    if isinstance(document, str):
        document = {"type": document}
    type_, _, sizes = document["type"].rstrip("]").partition("[")
    default, is_each = document.get("default"), bool(document.get("each"))
    if document["type"] in TIMES:
        return Field(document["type"], (), default, is_each)
    shape = tuple(map(int, sizes.split(","))) if sizes else ()
    bounds = {"least": document.get("min", -math.inf), "most": document.get("max", math.inf)}
    return Field(type_, shape, None if default is None else number(default), is_each, **bounds)
