"""A kernel that reads parents: level by level from the roots, rows gathered and put back."""

from __future__ import annotations

from ecsgen.model.programs import OWN, PARENT, FieldValue
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.values import Slot
from ecsgen.render.quoting import literal


class LevelMethod(KernelMethod):
    """The method of such a kernel. All fields are working memory of a block."""

    @property
    def names(self) -> list[str]:
        return ["_rows", "_parents", *(slot.name for slot in self.slots)]

    @property
    def slots(self) -> list[Slot]:
        values = [self._views.value(field) for field in self.fields]
        seen = [Slot(v.text, v.scalar, v.shape, v.layout) for v in values]
        return [*seen, *super().slots]

    @property
    def constants(self) -> list[str]:
        """What the roots read of a shaped field."""
        return [self._above_roots(field)[1] for field in self._of_parents if field.type.shape]

    @property
    def before_loop(self) -> list[str]:
        """Views of whole columns, once for fields of rows and of their parents."""
        fields = dict.fromkeys(FieldValue(f.type, f.name) for f in self.fields)
        return [f"_all_{f.name} = {self._views.column(f, 'data')}" for f in fields]

    @property
    def beginning(self) -> list[str]:
        """Rows and their parents' rows are gathered."""
        gathered = [f for f in self.fields if f.owner == OWN and self.is_gathered(f)]
        lines = [f"gather(_all_{f.name}, _rows, {f.name})" for f in gathered]
        roots = [f"    _parent_{f.name}[...] = {self._above_roots(f)[0]}" for f in self._of_parents]
        others = [
            f"    gather(_all_{f.name}, _parents, _parent_{f.name})" for f in self._of_parents
        ]
        return [*lines, "if _parents is None:", *roots, "else:", *others]

    @property
    def ending(self) -> list[str]:
        """What was written goes back."""
        return [f"scatter(_all_{name}, _rows, {name})" for name in self._program.writes]

    @property
    def _of_parents(self) -> list[FieldValue]:
        return [field for field in self.fields if field.owner == PARENT]

    def _above_roots(self, field: FieldValue) -> tuple[str, str]:
        """What roots read, as an expression, and the constant that it needs."""
        values = dict(self._program.above_roots)[field.name]
        if not field.type.shape:
            return literal(values[0]), ""
        name = f"{field.name.upper()}_ABOVE_ROOTS"
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
        return [
            self.working,
            "    blocks = LevelBlocks(levels, self._parent_column, version, working)",
        ]
