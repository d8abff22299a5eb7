"""Whose rows a kernel of the world asks: where they are, as expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecsgen.model import Component
from ecsgen.model.programs import Near
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.sources import JoinedSource
from ecsgen.render.quoting import literal


@dataclass(frozen=True, slots=True)
class Among:
    """The rows that ask, and those that are asked."""

    kernel: str  # as messages have it
    near: Near
    own: JoinedSource
    other: JoinedSource | None
    """None: the same."""
    prefix: str = ""
    """Of variables, where arguments have names without it."""

    @property
    def components(self) -> Mapping[str, Component]:
        """Those of the rows that are asked."""
        return (self.other or self.own).components

    def radius_line(self, radius: str) -> str:
        """The statement that makes a radius a float of Python."""
        is_float = isinstance(self.near.radius, float)
        return f"_radius = {radius if is_float else f'float({radius})'}"

    @property
    def lines(self) -> list[str]:
        """The statements that find both."""
        found = [f"_{self.own.variable} = {self.own.current}"]
        return found if self.other is None else [*found, f"_asked = {self.other.current}"]

    @property
    def passed(self) -> list[str]:
        """What these find."""
        return [f"_{self.own.variable}", *(["_asked"] if self.other else [])]

    @property
    def parameters(self) -> list[str]:
        """The same as parameters."""
        own = f"{self.own.variable}: {self.own.annotation}"
        return [own] if self.other is None else [own, f"asked: {self.other.annotation}"]

    @property
    def has_ghosts(self) -> bool:
        """Whether ghosts are asked as well."""
        return self.components[self.near.place.owner].sees_ghosts

    def own_rows(self, component: str) -> str:
        """The variable with the rows that ask."""
        return f"{self.prefix}{self.own.components[component].module}_rows"

    def other_rows(self, component: str) -> str:
        """The variable with the rows that are asked."""
        if self.other is None and not self.has_ghosts:
            return self.own_rows(component)
        return f"{self.prefix}{self.components[component].module}_members"

    def defined(self, asking: Iterable[str], asked: Iterable[str]) -> list[str]:
        """The statements that define these variables, for components whose fields are used."""
        space = self.near.place.owner
        found = {}
        for name in dict.fromkeys([space, *asking, *(asked if self.other is None else ())]):
            found[self.own_rows(name)] = _named(self.own.rows(name), self.prefix)
        if self.other is not None:
            for name in dict.fromkeys([space, *asked]):
                rows = _named(self.other.rows(name), self.prefix, "asked")
                found[self.other_rows(name)] = rows
        lines = [f"{name} = joined_rows({rows})" for name, rows in found.items()]
        if self._parted:
            members = self.own_rows(space) if self.other is None else self.other_rows(space)
            given = [members, *(self._part(component) for component in self._parted)]
            lines += _statement(f"{self._hidden} = hidden_rows", given)
        return [*lines, *self._with_ghosts(asked)] if self.has_ghosts else lines

    @property
    def _parted(self) -> list[Component]:
        """Those in which the rows that are asked may be inactive, the space's own left out: it
        tells of itself."""
        space = self.near.place.owner
        return [one for one in self.components.values() if one.partition and one.name != space]

    def _part(self, component: Component) -> str:
        """The rows in a component with a partition, and how many are active."""
        rows = (self.other or self.own).rows(component.name)
        named = _named(rows, self.prefix, "asked" if self.other else "")
        return f"({named}, self.{component.module}.data._n_active)"

    @property
    def _hidden(self) -> str:
        """The variable with the rows of the space that are inactive in another component."""
        return f"{self.prefix}hidden"

    def _with_ghosts(self, asked: Iterable[str]) -> list[str]:
        """The statements that put ghosts behind the rows that are asked."""
        space, ghosts = self.near.place.owner, f"{self.prefix}ghosts"
        modules = [
            self.components[name].module for name in dict.fromkeys([space, *self.components])
        ]
        given = [f"{self.prefix}radius", *(f"self.{module}" for module in modules)]
        lines = _statement(f"{ghosts} = ghosts_near", given)
        for name in dict.fromkeys([space, *asked]):
            rows = self.own_rows(name) if self.other is None else self.other_rows(name)
            manager = f"self.{self.components[name].module}"
            lines.append(f"{self.other_rows(name)} = with_ghosts({rows}, {manager}, {ghosts})")
        return lines

    @property
    def asks_ghosts(self) -> bool:
        """Whether rows ask each other, and ghosts."""
        return self.other is None and self.has_ghosts

    def given(self, radius: str, are_one: bool = False) -> list[str]:
        """The arguments with which the places of both are found; `are_one`: those of ghosts are
        among those of the rows that ask."""
        space = self.near.place.owner
        manager = f"self.{self.own.components[space].module}"
        rows = dict.fromkeys([self.own_rows(space), self.other_rows(space)])
        given = [self.other_rows(space)] if are_one else list(rows)
        hidden = [f"hidden={self._hidden}"] if self._parted else []
        return [literal(self.kernel), manager, radius, *given, *hidden]


def _statement(called: str, given: list[str]) -> list[str]:
    """The lines of a call."""
    return for_macro(call(called, given, 8)).lstrip().split("\n    ")


def _named(rows: str, prefix: str, variable: str = "") -> str:
    """An expression for rows, in which what a source finds has another name."""
    found, count = (variable or name for name in ("found", "n"))
    return rows.replace("found.", f"{prefix}{found}.").replace("(0, n)", f"(0, {prefix}{count})")
