"""Whose rows a kernel of the world asks: where they are, as expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecsgen.model import Component
from ecsgen.model.programs import Near
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

    @property
    def lines(self) -> list[str]:
        """The statements that find both."""
        found = [f"_{self.own.variable} = {self.own.current}"]
        return found if self.other is None else [*found, f"_among = {self.other.current}"]

    @property
    def passed(self) -> list[str]:
        """What these find."""
        return [f"_{self.own.variable}", *(["_among"] if self.other else [])]

    @property
    def parameters(self) -> list[str]:
        """The same as parameters."""
        own = f"{self.own.variable}: {self.own.annotation}"
        return [own] if self.other is None else [own, f"among: {self.other.annotation}"]

    def own_rows(self, component: str) -> str:
        """The variable with the rows that ask."""
        return f"{self.prefix}{self.own.components[component].module}_rows"

    def other_rows(self, component: str) -> str:
        """The variable with the rows that are asked."""
        if self.other is None:
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
                rows = _named(self.other.rows(name), self.prefix, "among")
                found[self.other_rows(name)] = rows
        return [f"{name} = joined_rows({rows})" for name, rows in found.items()]

    def given(self, radius: str) -> list[str]:
        """The arguments with which the places of both are found."""
        space = self.near.place.owner
        manager = f"self.{self.own.components[space].module}"
        others = [] if self.other is None else [self.other_rows(space)]
        return [literal(self.kernel), manager, radius, self.own_rows(space), *others]


def _named(rows: str, prefix: str, variable: str = "") -> str:
    """An expression for rows, in which what a source finds has another name."""
    found, count = (variable or name for name in ("found", "n"))
    return rows.replace("found.", f"{prefix}{found}.").replace("(0, n)", f"(0, {prefix}{count})")
