"""A kernel that reads parents: level by level from the roots, on rows that are gathered."""

from __future__ import annotations

from ecsgen.model.programs import PARENT, FieldValue
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.values import Slot
from ecsgen.render.quoting import literal


class LevelMethod(KernelMethod):
    """The method of such a kernel. All fields are working memory of a block."""

    made = "LevelBlocks"

    @property
    def names(self) -> list[str]:
        return [slot.name for slot in self.slots]

    @property
    def blocks(self) -> str:
        return "_blocks"

    @property
    def slots(self) -> list[Slot]:
        return [*self._gathered_into, *super().slots]

    @property
    def _gathered_into(self) -> list[Slot]:
        """Where fields are gathered."""
        values = [self._views.value(field) for field in self.fields]
        return [Slot(v.text, v.scalar, v.shape, v.layout) for v in values]

    @property
    def _whole(self) -> list[FieldValue]:
        """The columns, once for fields of rows and of their parents."""
        return [*dict.fromkeys(FieldValue(f.type, f.name) for f in self.fields)]

    @property
    def constants(self) -> list[str]:
        """Numbers, and what the roots read of a shaped field."""
        shaped = [field for field in self._of_parents if field.type.shape]
        return [*super().constants, *(self._above_roots(field)[1] for field in shaped)]

    @property
    def _of_parents(self) -> list[FieldValue]:
        return [field for field in self.fields if field.owner == PARENT]

    def _moved(self, field: FieldValue) -> str:
        """How a field comes to a block and goes back, as an expression."""
        column = self._whole.index(FieldValue(field.type, field.name))
        if field.owner == PARENT:
            return f"ParentField({column}, {self._above_roots(field)[0]})"
        is_written = field.name in self._program.effects.writes
        return f"LevelField({column}, {self.is_gathered(field)}, {is_written})"

    def _above_roots(self, field: FieldValue) -> tuple[str, str]:
        """What roots read, as an expression, and the constant that it needs."""
        values = dict(self._program.above_roots)[field.name]
        if not field.type.shape:
            return literal(values[0]), ""
        name = f"_{field.name.upper()}_ABOVE_ROOTS"
        array = call("np.array", [literal(values), SCALARS[field.type.scalar].numpy], 0)
        shape = ", ".join(map(str, (*field.type.shape, 1)))
        return name, f"{name}: Final = {array}.reshape({shape})"

    @property
    def stamp(self) -> str:
        return "data._version"

    @property
    def good(self) -> str:
        return "good for one version"

    @property
    def cut_call(self) -> str:
        levels = "self.levels()"
        if self.rows == "_n_active":
            levels = f"rows_below({levels}, data._n_active)"
        return for_macro(call(f"_blocks = data._{self.name}_blocks", [levels, "data._version"], 12))

    @property
    def cut_parameters(self) -> str:
        return "self, levels: tuple[RowArray, ...], version: int"

    @property
    def cut_body(self) -> list[str]:
        columns = [self._views.column(field, "self") for field in self._whole]
        arguments = ["levels", "self._parent_column", "version", "columns", "working"]
        arguments.append("fields")
        return [
            for_macro(collection("columns = ", columns, 8)),
            self.working,
            for_macro(collection("fields = ", [self._moved(field) for field in self.fields], 8)),
            for_macro(call("blocks = LevelBlocks", arguments, 8)),
        ]
