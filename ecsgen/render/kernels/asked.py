"""Whose rows a kernel asks: where they are, as expressions and statements of its method."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ecsgen.model import Component, Kernel, World
from ecsgen.model.programs import Near
from ecsgen.render.calls import call, for_macro
from ecsgen.render.kernels.sources import Source, source_of
from ecsgen.render.quoting import literal


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows that ask, and those that are asked: a neighbourhood."""

    label: str
    """The kernel as errors have it."""
    near: Near
    own: Source
    other: Source
    """Of those that are asked: the same one where rows ask each other."""
    prefix: str = "_"
    """Of variables: nothing where no argument is near."""

    @property
    def components(self) -> Mapping[str, Component]:
        """Those of the rows that are asked, by owner."""
        return self.other.components

    @property
    def space(self) -> str:
        """The owner of the field with the places."""
        return self.near.place.owner

    @property
    def is_two(self) -> bool:
        """Whether others are asked than those who ask."""
        return self.other is not self.own

    @property
    def has_ghosts(self) -> bool:
        """Whether ghosts are asked as well."""
        return self.components[self.space].sees_ghosts

    @property
    def asks_ghosts(self) -> bool:
        """Whether rows ask each other, and ghosts, which stand behind them."""
        return self.has_ghosts and not self.is_two

    @property
    def asking(self) -> str:
        """The expression for how many rows ask: those behind them are ghosts."""
        return f"len({self.own_rows(self.space)})" if self.own.is_world else self.own.count

    # --- the statements of a method --------------------------------------------------------------

    def finding(self, turns: bool, owners: Collection[str], radius: str) -> list[str]:
        """The statements that find places of both, as a function takes them: `_given`.

        `owners`: the components whose fields are asked for; `radius`: an expression.
        """
        if not self.own.is_world:
            own = "turn_given" if turns else "self._near_given"
            rest = ["self", radius] if turns else [radius, self.own.count]
            return _statement(f"_given = {own}", [literal(self.label), *rest])
        made = "joined_turn_given" if turns else "joined_given"
        given = self.given("_radius", are_one=self.asks_ghosts and not turns)
        return [
            self.radius_line(radius),
            *self.lines,
            *self.defined([], owners),
            *_statement(f"_given = {made}", given),
        ]

    def members(self, owner: str) -> str | None:
        """The expression for the rows of those who are asked in a component; None: each is a row
        itself."""
        return self.other_rows(owner) if self.own.is_world else None

    def owners(self, owner: str) -> str:
        """The expression for owners of rows and ghosts, where one column does not have them."""
        if not self.components[owner].hides_owners:
            return ""
        manager = f"self.{self.components[owner].module}" if self.own.is_world else "self"
        return f"{manager}._owners_near()"

    # --- the same in parts, of kernels of the world ----------------------------------------------

    def radius_line(self, radius: str) -> str:
        """The statement that makes a radius a float of Python."""
        is_float = isinstance(self.near.radius, float)
        return f"_radius = {radius if is_float else f'float({radius})'}"

    @property
    def lines(self) -> list[str]:
        """The statements that find both sets of rows."""
        found = [f"{self.own.variable} = {self.own.found}"]
        return [*found, *([f"_asked = {self.other.found}"] if self.is_two else [])]

    @property
    def passed(self) -> list[str]:
        """What these find."""
        return [self.own.variable, *(["_asked"] if self.is_two else [])]

    @property
    def parameters(self) -> list[str]:
        """The same as parameters."""
        own = f"{self.own.variable[1:]}: {self.own.annotation}"
        return [own, *([f"asked: {self.other.annotation}"] if self.is_two else [])]

    def own_rows(self, component: str) -> str:
        """The variable with the rows that ask."""
        return f"{self.prefix}{self.own.components[component].module}_rows"

    def other_rows(self, component: str) -> str:
        """The variable with the rows that are asked, and ghosts."""
        if not self.is_two and not self.has_ghosts:
            return self.own_rows(component)
        return f"{self.prefix}{self.components[component].module}_members"

    def defined(self, asking: Collection[str], asked: Collection[str]) -> list[str]:
        """The statements that define these variables, for components whose fields are used."""
        space, own = self.space, f"{self.prefix}{self.own.variable[1:]}"
        other = f"{self.prefix}asked" if self.is_two else own
        asking = [space, *asking, *(() if self.is_two else asked)]
        found = {self.own_rows(name): self.own.rows(name, own) for name in asking}
        variable = self.other_rows if self.is_two else self.own_rows
        members = {name: variable(name) for name in dict.fromkeys([space, *asked])}
        if self.is_two:
            found |= {rows: self.other.rows(name, other) for name, rows in members.items()}
        lines = [f"{name} = joined_rows({rows})" for name, rows in found.items()]
        if self._parted:
            parts = [
                f"({self.other.rows(one.name, other)}, self.{one.module}.data._n_active)"
                for one in self._parted
            ]
            lines += _statement(f"{self._hidden} = hidden_rows", [members[space], *parts])
        if not self.has_ghosts:
            return lines
        ghosts, everybody = f"{self.prefix}ghosts", dict.fromkeys([space, *self.components])
        managers = {name: f"self.{self.components[name].module}" for name in everybody}
        lines += _statement(f"{ghosts} = ghosts_near", [f"{self.prefix}radius", *managers.values()])
        for name, rows in members.items():
            both = f"with_ghosts({rows}, {managers[name]}, {ghosts})"
            lines.append(f"{self.other_rows(name)} = {both}")
        return lines

    @property
    def _parted(self) -> list[Component]:
        """Those in which the rows that are asked may be inactive, the space's own left out: it
        tells of itself."""
        return [one for one in self.components.values() if one.partition and one.name != self.space]

    @property
    def _hidden(self) -> str:
        """The variable with the rows of the space that are inactive in another component."""
        return f"{self.prefix}hidden"

    def given(self, radius: str, are_one: bool = False) -> list[str]:
        """The arguments with which the places of both are found; `are_one`: those of ghosts are
        among those of the rows that ask."""
        space = self.space
        manager = f"self.{self.own.components[space].module}"
        rows = dict.fromkeys([self.own_rows(space), self.other_rows(space)])
        given = [self.other_rows(space)] if are_one else list(rows)
        hidden = [f"hidden={self._hidden}"] if self._parted else []
        return [literal(self.label), manager, radius, *given, *hidden]


def asked_of(kernel: Kernel, source: Source, world: World | None = None) -> Asked | None:
    """Return whose rows a kernel asks, if it asks; `world`: where it is one of the world."""
    near, other = kernel.program.near, source
    if near is None:
        return None
    if world is not None and near.among not in ("", kernel.over):
        found = source_of(world, near.among, source.managers.components)
        assert isinstance(found, Source)  # there are no spaces in chunks
        other = found
    return Asked(f"{world.name}.{kernel.name}" if world else kernel.name, near, source, other)


def _statement(called: str, given: list[str]) -> list[str]:
    """The lines of a call."""
    return for_macro(call(called, given, 8)).lstrip().split("\n    ")
