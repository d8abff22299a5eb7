"""A kernel as a method of a manager: its arguments, the blocks it runs over, its loop."""

from __future__ import annotations

from functools import cached_property

from ecsgen.kernels.tree import Cast, Expression, FieldValue, Operation, walk
from ecsgen.layout import layout
from ecsgen.model import Component, Kernel
from ecsgen.render.calls import collection, exploded
from ecsgen.render.kernel_method import Method, number_constants
from ecsgen.render.kernels.statements import Statements
from ecsgen.render.kernels.ufuncs import COMPLAINING
from ecsgen.render.kernels.values import Layout, Slot, Value
from ecsgen.render.quoting import WIDTH, literal

CODES = {"bool": "?", "f32": "f4", "f64": "f8"}
CODES |= {f"{kind}{bits}": f"{kind}{bits // 8}" for kind in "iu" for bits in (8, 16, 32, 64)}


class FieldViews:
    """How a component's fields are seen in blocks of rows."""

    def __init__(self, component: Component) -> None:
        self._fields = {field.name: field for field in component.fields}
        self._columns = {c.name: (i, c) for i, c in enumerate(layout(component).columns)}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        found, type_ = self._fields[field.name], field.type
        layout_ = Layout.ROWS if not type_.shape else Layout.TOGETHER
        if found.split and type_.shape:
            layout_ = Layout.PLANES
        return Value(field.name, type_.scalar, type_.shape, layout_)

    def column(self, field: FieldValue, rows: str) -> str:
        """The expression, in the data class, for the view of all rows."""
        found, shape = self._fields[field.name], field.type.shape
        if found.split and shape:
            first = next(
                i
                for name, (i, c) in self._columns.items()
                if c.field and name.startswith(f"{field.name}_")
            )
            whole = f"planes(self._buffer, COLUMNS[{first}], self._allocated, {literal(shape)})"
            return f"{whole}[..., :{rows}]"
        column = f"self._{field.name}_column[:{rows}]"
        return f"rows_last({column})" if shape else column


class KernelMethod(Method):
    """A kernel as its template lays it out."""

    def __init__(self, component: Component, kernel: Kernel) -> None:
        super().__init__(component, kernel)
        self._views = FieldViews(component)
        self.statements = Statements(self._program, self._views.value, self.loop_indent + 4)

    @cached_property
    def is_quiet(self) -> bool:
        """Whether floating point warnings must be off: some operation may well cause one."""
        direct = self._component.lookup == "direct"
        return any(_complains(node, direct) for one in self._expressions for node in walk(one))

    @property
    def _expressions(self) -> list[Expression]:
        where = self._program.where
        steps = [step.value for step in self._program.steps]
        return [where, *steps] if where is not None else steps

    @property
    def loop_indent(self) -> int:
        return 12 if self.is_quiet else 8

    @property
    def body(self) -> str:
        """What is done once, and the loop over the blocks."""
        names = [*(field.name for field in self.fields), *(slot.name for slot in self.slots)]
        line = f"for {', '.join(names)}{',' if len(names) == 1 else ''} in _blocks.views:"
        pad = " " * self.loop_indent
        if self.loop_indent + len(line) > WIDTH:
            line = exploded("for ", names, self.loop_indent).lstrip() + " in _blocks.views:"
        emitter = self.statements.emitter
        lines = [*(pad + once for once in emitter.before), pad + line, *emitter.lines]
        return _for_macro("\n".join(lines))

    # --- the blocks ------------------------------------------------------------------------------

    @property
    def fields(self) -> list[FieldValue]:
        return list(self.statements.read)

    @property
    def slots(self) -> list[Slot]:
        return self.statements.emitter.working.slots

    @property
    def columns(self) -> str:
        """The statement that takes the views of whole columns, which blocks are cut from."""
        views = [self._views.column(field, "n") for field in self.fields]
        return _for_macro(collection("columns = ", views, 8))

    @property
    def working(self) -> str:
        """The statement that says which working memory goes with each block."""
        cells = [
            literal((CODES[slot.scalar], slot.shape, slot.layout is Layout.TOGETHER))
            for slot in self.slots
        ]
        return _for_macro(collection("working: tuple[Cells, ...] = ", cells, 8))


def _for_macro(text: str) -> str:
    """Text for a macro, which stands less far in than what it becomes."""
    return "\n".join(line[4:] for line in text.split("\n"))


def _complains(node: Expression, is_garbage: bool) -> bool:
    """Whether numpy may warn: of values that fields may well have, or of rows that are unused."""
    match node:
        case Cast():
            return node.operand.type.scalar == "f64" and node.type.scalar == "f32"
        case Operation():
            return node.name in COMPLAINING or (is_garbage and node.type.is_float)
    return False


class Kernels:
    """The kernels of a component."""

    def __init__(self, component: Component) -> None:
        self.methods = [KernelMethod(component, kernel) for kernel in component.kernels]
        number_constants(self.methods)
