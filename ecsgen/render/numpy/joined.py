"""A kernel as a method of the world: over the rows that a group or a query gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ecsgen.model import Kernel, World
from ecsgen.model.programs import FieldValue, Local
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.finding import OtherManagers
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.printed import Printed
from ecsgen.render.kernels.sources import ChunkSource, Source
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.views import JoinedViews, Views
from ecsgen.render.quoting import WIDTH, docstring_text, literal


class WorldMethod(KernelMethod, ABC):
    """A kernel of the world, which sees the fields of several components."""

    source: Source | ChunkSource

    def __init__(self, world: World, kernel: Kernel, source: Source | ChunkSource) -> None:
        self.source = source
        super().__init__(source.whole, kernel)
        self.beside = self.statements.emitter.beside

    @property
    def printed(self) -> Printed:
        """The texts of the module, both methods of the world."""
        statements = [*self.conversions, *self.lookup, *self.key_lines]
        head = f'{self.cut_signature}\n    """{self.cut_docstring}"""'
        lines = [self.text(statements, self._loop), "", head, *self.cut_body]
        return Printed("\n".join(lines), constants=(*self.constants,))

    @property
    @abstractmethod
    def cut_signature(self) -> str:
        """The first line of the method that makes the blocks."""

    @property
    @abstractmethod
    def cut_docstring(self) -> str:
        """What that does, and how long it is good."""

    def _managers(self) -> OtherManagers:
        return self.source.managers

    def _seen(self) -> Views:
        return JoinedViews(self.source.components.values(), self._own_names)

    @property
    def _own_names(self) -> list[str]:
        """What locals and arguments are called."""
        targets = [step.target for step in self._program.steps]
        locals_ = [target.name for target in targets if isinstance(target, Local)]
        return [*locals_, *(argument.text for argument in self.arguments)]


class JoinedMethod(WorldMethod):
    """A kernel over rows of managers, in kept blocks, as its template lays it out."""

    source: Source

    # --- the method ------------------------------------------------------------------------------

    @property
    def has_holes(self) -> bool:
        return self.source.has_holes

    @property
    def blocks(self) -> str:
        return self.with_each("_blocks")

    def _handles_of_all(self, field: FieldValue) -> str:
        if self.source.at is not None:
            return ""
        return self._views.column(field, self._holder(field.owner), self.stamp)

    @property
    def stamp(self) -> str:
        return self.source.variable

    @property
    def lookup(self) -> list[str]:
        """The statements that get the blocks: those that are kept, if they are good."""
        return [
            f"{self.stamp} = {self.source.found}",
            *self.source.each_lines(self.each, self._program.effects.writes),
            f"_blocks = {self.holders[0]}._joined.get({literal(self.name)})",
            f"if _blocks is None or _blocks.stamp != {self.stamp}:",
            f"    _blocks = self._{self.name}_blocks({self.stamp})",
        ]

    made: ClassVar[str] = "JoinedBlocks"

    # --- the method that cuts blocks -------------------------------------------------------------

    @property
    def cut_signature(self) -> str:
        """The first line of the method that cuts the columns into blocks."""
        source = self.source
        parameters = ["self", f"{self._found}: {source.annotation}"]
        return call(f"def _{self.name}_blocks", parameters, 4, f" -> {self.made}:").lstrip()

    @property
    def _found(self) -> str:
        """What the value is called there, where no argument is near."""
        return self.source.variable[1:]

    @property
    def cut_docstring(self) -> str:
        good = f"good until they move or {self.source.good}"
        text = f"Cut the columns of `{self.name}` into blocks; {good}."
        return docstring_text(text, WIDTH - 11).replace("\n", "\n    ")

    @property
    def columns(self) -> list[str]:
        """The columns of the blocks."""
        return [
            for_macro(call("JoinedColumn", self._column(field), 12, ",")) for field in self.fields
        ]

    def _column(self, field: FieldValue) -> list[str]:
        cells = self._views.column(field, self._holder(field.owner))
        used = (self.is_gathered(field), field.text in self._program.effects.writes)
        return [cells, self.source.rows(field.owner, self._found), *(literal(one) for one in used)]

    @property
    def holders(self) -> list[str]:
        """The managers' columns that it works on."""
        return [self._holder(owner) for owner in dict.fromkeys(one.owner for one in self.fields)]

    def _holder(self, component: str) -> str:
        return f"self.{self.source.components[component].module}.data"

    @property
    def cut_body(self) -> list[str]:
        """The statements that make the blocks and have them kept."""
        given = [self._found, self.source.count[1:], "columns", "working", *self.shared]
        return [
            "    columns = [",
            *self.columns,
            "    ]",
            self.working,
            for_macro(collection("holders = ", self.holders, 8)),
            for_macro(call(f"blocks = {self.made}", given, 8)),
            for_macro(call("return blocks.keep", [literal(self.name), "holders"], 8)),
        ]
