"""A kernel as a method of the world: over the chunks that a query finds."""

from __future__ import annotations

from ecsgen.model.programs import FieldValue
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.sources import ChunkSource
from ecsgen.render.numpy.joined import WorldMethod
from ecsgen.render.numpy.values import Layout
from ecsgen.render.quoting import WIDTH, docstring_text, literal


class ChunkMethod(WorldMethod):
    """A kernel of the world over chunks, as its template lays it out."""

    source: ChunkSource

    @property
    def blocks(self) -> str:
        return self.with_each("_blocks.current()")

    @property
    def lookup(self) -> list[str]:
        """The statements that get the blocks: they see by themselves whether they are good."""
        kept = f"self.archetypes._kept.get({literal(self.name)})"
        each = self.source.each_lines(self.each)
        return [*each, f"_blocks = {kept} or self._{self.name}_blocks()"]

    # --- the method that makes the blocks --------------------------------------------------------

    @property
    def cut_signature(self) -> str:
        """Its first line."""
        return call(f"def _{self.name}_blocks", ["self"], 4, " -> ChunkBlocks:").lstrip()

    @property
    def cut_docstring(self) -> str:
        text = f"Have chunks cut into blocks for `{self.name}`; these are kept."
        return docstring_text(text, WIDTH - 11).replace("\n", "\n    ")

    @property
    def cut_body(self) -> list[str]:
        fields = [call("ChunkField", self._place(field), 0) for field in self.fields]
        blocks = call("blocks = ChunkBlocks", [f"{self.source.query}", "fields", "working"], 8)
        return [
            for_macro(collection("fields = ", fields, 8)),
            self.working,
            for_macro(blocks),
            f"    return blocks.keep({literal(self.name)})",
        ]

    def _place(self, field: FieldValue) -> list[str]:
        is_split = self._views.value(field).layout is Layout.PLANES
        planes = [literal(field.type.shape)] if is_split else []
        return [*map(literal, self.source.place(field)), *planes]
