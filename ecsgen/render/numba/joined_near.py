"""A kernel of the world that asks neighbours, as a compiled function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ecsgen.model import Component, Kernel, World
from ecsgen.model.programs import Program
from ecsgen.render.calls import call
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.sources import Source
from ecsgen.render.numba.code import Names
from ecsgen.render.numba.fields import Fields, Origin, Parameter
from ecsgen.render.numba.joined import ScatteredFields, SeveralComponents
from ecsgen.render.numba.loops import Loop
from ecsgen.render.numba.near import PARTS, NearKernel, NearLoop


class JoinedNearLoop(NearLoop):
    """The loop over rows of several components, which ask rows of others."""

    wanted: ClassVar[tuple[tuple[str, str], ...]] = (
        *PARTS,
        ("members", "NDArray[np.uint32]"),
    )
    components: Mapping[str, Component]
    """Of those who are asked."""
    rows_of: dict[str, Parameter]
    """The parameters with their rows in each component."""

    def member(self, owner: str) -> str:
        return f"{self.rows_in(owner)}[{self.all_members}[{self.ranked}]]"

    def rows_in(self, owner: str) -> str:
        """The parameter with the rows of members in a component."""
        if owner not in self.rows_of:
            module = self.components[owner].module
            name = self.names.take(f"{module}_members")
            self.rows_of[owner] = Parameter(name, "RowArray", owner)
        return self.rows_of[owner].name

    @property
    def all_members(self) -> str:
        return self.parts["members"].name


class TwoSetsLoop(JoinedNearLoop):
    """The same where those who are asked are others than those who ask."""

    wanted: ClassVar[tuple[tuple[str, str], ...]] = (
        *JoinedNearLoop.wanted,
        ("names", "EntityArray"),
        ("other_names", "EntityArray"),
    )

    @property
    def is_other(self) -> str:
        names, others = self.parts["names"].name, self.parts["other_names"].name
        return f"{others}[{self.around.place}] != {names}[{self.ranked}]"


class JoinedNearKernel(NearKernel):
    """Such a kernel as its template lays it out."""

    loop: JoinedNearLoop

    def __init__(self, world: World, kernel: Kernel, source: Source, among: Asked) -> None:
        self.source = source
        self._among = among
        super().__init__(source.whole, kernel)
        self._beginning = self.loop.beginning  # the rows that it needs are known now

    def _looped(self) -> Loop:
        sides = {**self.source.components, **self._among.components}
        fields = self._fields_of if self._is_scattered else Fields
        given = SeveralComponents(sides), self._own_name, self._program
        managers = self.source.managers
        loop = self._kind(*given, False, fields, managers, self.is_plain)
        loop.components, loop.rows_of = self._among.components, {}
        loop.ask()
        if self._among.asks_ghosts:
            space = self._among.near.place.owner
            loop.leave_out_ghosts(f"len({self._among.own_rows(space)})")
        loop.write_steps()
        return loop

    @property
    def _kind(self) -> type[JoinedNearLoop]:
        return JoinedNearLoop if self._among.other is None else TwoSetsLoop

    @property
    def _is_scattered(self) -> bool:
        return any(self.source.numbers(component) for component in self.source.components)

    def _fields_of(self, origin: Origin, program: Program, names: Names, is_flat: bool) -> Fields:
        self._scattered = ScatteredFields(self.source, origin, program, names, is_flat)
        return self._scattered

    @property
    def _own_name(self) -> str:
        return f"{self.name}_kernel"  # the module has functions of other names

    @property
    def each_lines(self) -> list[str]:
        return self.source.each_lines(self.each, self._program.effects.writes)

    @property
    def _which(self) -> list[Parameter]:
        rows = list(self._scattered.numbers.values()) if self._is_scattered else []
        members = [
            Parameter(one.name, one.annotation, self._among.other_rows(owner))
            for owner, one in self.loop.rows_of.items()
        ]
        return [*super()._which, *rows, *members]

    @property
    def _owners(self) -> dict[str, str]:
        modules = [one.module for one in self._among.components.values() if one.hides_owners]
        return {f"self.{m}.data._entity_column": f"self.{m}._owners_near()" for m in modules}

    @property
    def before(self) -> list[str]:
        """The statements that find both sets of rows, and the cells."""
        places = self._among.given("_radius", are_one=self._among.asks_ghosts)
        given = call("_given = joined_given", places, 8)
        return [
            self._among.radius_line(self._radius),
            *self._among.lines,
            *self._among.defined([], self.loop.rows_of),
            *for_macro(given).lstrip().split("\n    "),
            "_cells = near_cells(*_given)",
        ]
