"""Scopes in which texts of kernels run, and what they are compiled to.

Beside the closure an expression has a sample, its value for a row of defaults, which is worked out
by the same functions: so types and shapes are known without rules of their own. Draws are numbered
while texts are compiled, as they are written; so what is not worked out changes no other draw.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .naive_world import Actor, Row
from .neighbours import Hood, Neighbour, Surroundings
from .random_words import pass_number, row_stem
from .schema import Field, Kernel, Reduction, Schema
from .values import Value, value


class Scope:
    """A row while its steps run: its rows, locals, the neighbours of the loops that it is in and,
    within a question, the neighbour."""

    __slots__ = ("locals", "loops", "met", "row", "rows", "run", "stem", "who")

    def __init__(self, run: Surroundings, rows: Actor, stem: int, locals: dict[str, Value]) -> None:
        self.run, self.rows, self.stem, self.locals = run, rows, stem, locals
        self.loops: dict[str, Neighbour] = {}
        # an entity of a query without `all` has no row, and nobody reads one
        self.row: Row = next(iter(rows.values()), None)  # type: ignore[assignment]
        self.met: Neighbour
        self.who: int

    def draw_for(self, who: int) -> None:
        """Begin draws of a row: `who` it is, or who it is in a pass of its loops."""
        self.who, self.stem = who, row_stem(who, self.run.key)

    def enter(self, who: int, number: int) -> None:
        """Begin a pass of a loop in which draws depended on `who`."""
        self.draw_for(pass_number(who, number))

    def meeting(self, neighbour: Neighbour) -> Scope:
        """Return the scope of a question's expressions for a neighbour."""
        scope = Scope.__new__(Scope)
        scope.run, scope.rows, scope.row, scope.stem = self.run, self.rows, self.row, self.stem
        scope.locals, scope.loops = self.locals, self.loops
        scope.met = neighbour
        return scope


Evaluate: TypeAlias = Callable[[Scope], Value]
FindRow: TypeAlias = Callable[[Scope], Row | None]
Index: TypeAlias = tuple[int, ...]


def whole(scope: Scope) -> Index | None:
    """Return the index of a whole value."""
    return ()


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a row, a local, or an element of one."""

    find: FindRow
    """Finds the row; None where a reference leads nowhere."""
    component: str
    """"" for a local."""
    field: str
    is_own: bool = False
    """True for a field of the row itself."""
    is_current: bool = False
    """True for a field of another row that is read as it is now, not as others are seen."""
    index: Callable[[Scope], Index | None] = whole
    """Gives the element; None outside of the shape."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression."""

    evaluate: Evaluate
    sample: Value
    """Its value for a row of defaults: its type and shape."""
    place: Place | None = None
    """Where the value is a field's."""
    is_constant: bool = False
    """True if it is the same for all rows."""

    @classmethod
    def of(
        cls, type_: str, data: Callable[[Scope], Any], shape: tuple[int, ...] = ()
    ) -> Expression:
        """Return the expression of what Python's data is as a type."""
        return cls(lambda scope: value(type_, data(scope)), value(type_, 0, shape))

    @property
    def is_scalar(self) -> bool:
        """True without a shape."""
        return self.sample.shape == ()


@dataclass
class Names:
    """Names that a kernel's or reduction's texts may use."""

    schema: Schema
    home: str
    over: str
    arguments: Mapping[str, Field] = field(default_factory=dict)
    hoods: Mapping[str, Hood] = field(default_factory=dict)
    locals: dict[str, Value] = field(default_factory=dict)
    """Samples of the locals that steps before have set."""
    loops: dict[str, Hood] = field(default_factory=dict)
    """Neighbourhoods of the loops around what is compiled."""
    keeps_handles: bool = False
    """True if locals have the handles of newborn."""
    reductions: dict[str, Reduction] = field(default_factory=dict)
    """Reductions whose values are read."""
    draws: int = 0
    """Numbers that are drawn by what was compiled up to now."""
    chosen: set[str] = field(default_factory=set)
    """Components of which one row is chosen by chance."""
    emptied: set[str] = field(default_factory=set)
    """Components whose empty cells are chosen from."""

    @classmethod
    def of(cls, schema: Schema, source: Kernel | Reduction) -> Names:
        """Return the names of a kernel, or of a reduction."""
        if isinstance(source, Reduction):
            return cls(schema, source.home, source.over)
        hoods = {name: Hood.of(schema, source, near) for name, near in source.near.items()}
        first = 1 if source.turns == "random" else 0  # word 0 orders the rows
        names = cls(schema, source.home, source.over, source.args, hoods, draws=first)
        for near in source.near.values():
            if isinstance(near.radius, str) and near.radius.endswith("()"):
                names.reduction(near.radius[:-2])
        return names

    def reduction(self, name: str) -> Reduction:
        """Return a component's reduction, whose value is read."""
        home, own_name = name.split(".")
        self.reductions[name] = self.schema.components[home].reductions[own_name]
        return self.reductions[name]

    def is_own_field(self, name: str) -> bool:
        """Return True for a field, or a derived value, of a component's own kernel."""
        return bool(self.home) and self.schema.components[self.home].has(name)

    def is_value(self, name: str) -> bool:
        """Return True for a name that stands for a value, not for what has members."""
        return name in self.locals or name in self.arguments or self.is_own_field(name)

    def reserve(self, count: int) -> int:
        """Return the number of the first of so many draws."""
        first = self.draws
        self.draws += count
        return first


class Compiler:
    """Compiler of expressions; `asked` is the neighbourhood within a question."""

    def __init__(self, names: Names, asked: str = "", subject: Place | None = None) -> None:
        """`subject`: the row, if not the one that runs, whose derived value is compiled."""
        self.names, self.schema, self._asked, self._subject = names, names.schema, asked, subject

    def compile(self, node: ast.expr) -> Expression:
        """Return the expression of a syntax tree."""
        raise NotImplementedError

    def condition(self, node: ast.expr | None) -> Callable[[Scope], bool]:
        """Return a test of a scope, true without a condition."""
        if node is None:
            return lambda scope: True
        evaluate = self.compile(node).evaluate
        return lambda scope: bool(evaluate(scope).data)
