"""A kernel that reads parents: level by level from the roots, rows gathered and put back."""

from __future__ import annotations

from ecsgen.model.programs import OWN, PARENT, FieldValue
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
        cells = [self._cells(slot.name) for slot in self._gathered_into]
        return ["_rows", "_parents", *cells, *(slot.name for slot in self.slots)]

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

    def _cells(self, name: str) -> str:
        """The name of what a field is gathered into, item by item."""
        return f"_{name.removeprefix('_')}_cells"

    @property
    def constants(self) -> list[str]:
        """What the roots read of a shaped field."""
        return [self._above_roots(field)[1] for field in self._of_parents if field.type.shape]

    @property
    def before_loop(self) -> list[str]:
        """The items of whole columns."""
        names = ", ".join(f"_all_{field.name}" for field in self._whole)
        only = len(self._whole) == 1
        return [f"({names},) = _blocks.columns" if only else f"{names} = _blocks.columns"]

    @property
    def beginning(self) -> list[str]:
        """Rows and their parents' rows are gathered."""
        gathered = [f for f in self.fields if f.owner == OWN and self.is_gathered(f)]
        lines = [self._taken(f.name, "_rows", f.name) for f in gathered]
        roots = [f"    _parent_{f.name}[...] = {self._above_roots(f)[0]}" for f in self._of_parents]
        others = [
            f"    {self._taken(f.name, '_parents', f'_parent_{f.name}')}" for f in self._of_parents
        ]
        return [*lines, "if _parents is None:", *roots, "else:", *others]

    @property
    def ending(self) -> list[str]:
        """What was written goes back."""
        return [
            f"put_rows(_all_{name}, _rows, {self._cells(name)})" for name in self._program.writes
        ]

    def _taken(self, column: str, rows: str, into: str) -> str:
        return f"take_rows(_all_{column}, {rows}, {self._cells(into)})"

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
        columns = [self._views.column(field, "self") for field in self._whole]
        arguments = ["levels", "self._parent_column", "version", "columns", "working"]
        arguments.append(str(len(self._gathered_into)))
        return [
            for_macro(collection("columns = ", columns, 8)),
            self.working,
            for_macro(call("blocks = LevelBlocks", arguments, 8)),
        ]
