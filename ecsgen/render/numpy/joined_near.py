"""A kernel of the world that asks neighbours: rows of a group, query or component, and the rows
that they ask."""

from __future__ import annotations

from ecsgen.model import Component, Kernel, World
from ecsgen.model.programs import ENTITY, FieldValue
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.sources import Source
from ecsgen.render.numpy.joined import WorldMethod
from ecsgen.render.numpy.method import cells_of
from ecsgen.render.numpy.near import NearMethod
from ecsgen.render.numpy.views import JoinedViews, Views
from ecsgen.render.quoting import WIDTH, docstring_text


class JoinedNearMethod(NearMethod, WorldMethod):
    """Such a kernel as its template lays it out."""

    source: Source

    def __init__(self, world: World, kernel: Kernel, source: Source, among: Asked) -> None:
        self._among = among
        super().__init__(world, kernel, source)

    @property
    def _sides(self) -> dict[str, Component]:
        return {**self.source.components, **self._among.components}

    def _seen(self) -> Views:
        return JoinedViews(self._sides.values(), self._own_names)

    @property
    def lookup(self) -> list[str]:
        """The statements that find who is in reach, and cut blocks."""
        given = ", ".join(["_radius", *self._among.passed])
        return [
            self._among.radius_line(self._radius),
            *self._among.lines,
            *self.source.each_lines(self.each, self._program.effects.writes),
            f"_blocks = self._{self.name}_blocks({given})",
        ]

    @property
    def cut_signature(self) -> str:
        """The first line of the method that makes the blocks."""
        parameters = ["self", "radius: float", *self._among.parameters]
        return call(f"def _{self.name}_blocks", parameters, 4, " -> NearBlocks:").lstrip()

    @property
    def cut_docstring(self) -> str:
        text = f"Find the rows for `{self.name}`, and who is in reach of each; good for one call."
        return docstring_text(text, WIDTH - 11).replace("\n", "\n    ")

    @property
    def cut_body(self) -> list[str]:
        """The statements that make the blocks."""
        given = ["search", "columns", "others", "working", "paired"]
        asking = [field.owner for field in self.fields]
        asked = [other.owner for other in self._asked.asked]
        return [
            *(f"    {line}" for line in self._among.defined(asking, asked)),
            for_macro(call(f"search = {self._found_by}", self._among.given("radius"), 8)),
            for_macro(collection("columns = ", [self._column(one) for one in self.fields], 8)),
            for_macro(collection("others: tuple[OtherColumn, ...] = ", self._others, 8)),
            self.working,
            cells_of("paired", self._paired),
            for_macro(call("return NearBlocks", given, 8)),
        ]

    @property
    def _found_by(self) -> str:
        """The function that finds who is in reach."""
        return "haunted_search" if self._among.asks_ghosts else "joined_search"

    def _holder(self, component: str) -> str:
        return f"self.{self._sides[component].module}.data"

    def _column(self, field: FieldValue) -> str:
        column = super()._column(field).removesuffix(")")
        return f"{column}, {self._among.own_rows(field.owner)})"

    def _owners(self, field: FieldValue) -> str:
        component = self._sides[field.owner]
        if field.name != ENTITY or not component.hides_owners:
            return ""
        return f"self.{component.module}._owners_near()"

    def _other(self, field: FieldValue) -> str:
        column = super()._other(field).removesuffix(")")
        return f"{column}, {self._among.other_rows(field.owner)})"
