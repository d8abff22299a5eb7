"""A kernel as a method of the world: over the chunks that a query finds."""

from __future__ import annotations

from ecsgen.columns import field_columns
from ecsgen.kernels.tree import FieldValue, Local
from ecsgen.layout import layout
from ecsgen.model import Component, Field, Kernel, World
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.joined import all_fields
from ecsgen.render.kernels.method import KernelMethod, for_macro
from ecsgen.render.kernels.sources import ChunkSource
from ecsgen.render.kernels.views import JoinedViews, Views
from ecsgen.render.quoting import WIDTH, docstring_text, literal


class ChunkMethod(KernelMethod):
    """A kernel of the world over chunks, as its template lays it out."""

    def __init__(self, world: World, kernel: Kernel, source: ChunkSource) -> None:
        self.source = source
        super().__init__(all_fields(world, source.components.values()), kernel)

    def _seen(self) -> Views:
        targets = [step.target for step in self._program.steps]
        locals_ = [target.name for target in targets if isinstance(target, Local)]
        texts = [argument.text for argument in self.arguments]
        return JoinedViews(self.source.components.values(), [*locals_, *texts])

    @property
    def blocks(self) -> str:
        return "_blocks.current()"

    @property
    def lookup(self) -> list[str]:
        """The statements that get the blocks: they see by themselves whether they are good."""
        kept = f"self.archetypes._kept.get({literal(self.name)})"
        return [f"_blocks = {kept} or self._{self.name}_blocks()"]

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
        blocks = call("blocks = ChunkBlocks", [f"self.{self.source.name}", "fields", "working"], 8)
        return [
            for_macro(collection("fields = ", fields, 8)),
            self.working,
            for_macro(blocks),
            f"    return blocks.keep({literal(self.name)})",
        ]

    def _place(self, field: FieldValue) -> list[str]:
        component = self.source.components[field.owner]
        found = next(one for one in component.fields if one.name == field.name)
        place = [self.source.numbers[field.owner], first_column(component, found)]
        planes = [literal(field.type.shape)] if found.split and field.type.shape else []
        return [*map(literal, place), *planes]


def first_column(component: Component, field: Field) -> int:
    """Return which of a component's columns in chunks is a field's only or first one."""
    columns = [column.name for column in layout(component).columns if column.field]
    return columns.index(field_columns(field)[0].name)
