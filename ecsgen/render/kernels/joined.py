"""A kernel as a method of the world: over the rows that a group or a query gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ecsgen.kernels.tree import FieldValue, Local
from ecsgen.layout import layout
from ecsgen.model import Component, Default, Kernel, World
from ecsgen.render.calls import call, collection, exploded
from ecsgen.render.kernel_method import Method
from ecsgen.render.kernels.method import CODES
from ecsgen.render.kernels.statements import Statements
from ecsgen.render.kernels.values import Layout, Value
from ecsgen.render.quoting import WIDTH, literal

_INDENT = 8


class JoinedFields:
    """How the fields of several components are called in a kernel, and where they are."""

    def __init__(self, components: Iterable[Component], taken: Iterable[str]) -> None:
        self._components = {component.name: component for component in components}
        self._taken = set(taken)
        self._names: dict[FieldValue, str] = {}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        type_ = field.type
        layout_ = Layout.ROWS if not type_.shape else Layout.TOGETHER
        if self.is_split(field):
            layout_ = Layout.PLANES
        return Value(self._name(field), type_.scalar, type_.shape, layout_)

    def is_split(self, field: FieldValue) -> bool:
        """Whether each element has a column of its own."""
        fields = self._components[field.owner].fields
        return bool(field.type.shape) and any(f.split for f in fields if f.name == field.name)

    def column(self, field: FieldValue, rows: str, is_written: bool) -> list[str]:
        """The arguments that make a column of the kernel."""
        component = self._components[field.owner]
        data = f"self.{component.module}.data"
        cells = f"{data}._{field.name}_column"
        if field.type.shape:
            cells = f"rows_last({cells})"
        if self.is_split(field):
            first = next(
                place
                for place, column in enumerate(layout(component).columns)
                if column.field and column.name.startswith(f"{field.name}_")
            )
            column = f"self.{component.module}.LAYOUT[{first}]"
            shape = literal(field.type.shape)
            cells = f"planes({data}.buffer, {column}, {data}.allocated, {shape})"
        return [cells, rows, literal(is_written)]

    def _name(self, field: FieldValue) -> str:
        """A name of its own, after the component and the field."""
        if field not in self._names:
            stem = f"{self._components[field.owner].module}_{field.name}"
            names = (stem, *(f"{stem}_{number}" for number in range(2, 1000)))
            self._names[field] = next(name for name in names if name not in self._taken)
            self._taken.add(self._names[field])
        return self._names[field]


class JoinedMethod(Method):
    """A kernel of the world as its template lays it out."""

    def __init__(
        self,
        world: World,
        kernel: Kernel,
        components: Mapping[str, Component],
        places: Mapping[str, int] | None,
    ) -> None:
        super().__init__(_all_fields(world, components.values()), kernel)
        steps = kernel.program.steps
        locals_ = [step.target.name for step in steps if isinstance(step.target, Local)]
        arguments = {argument.name: argument.text for argument in self.arguments}
        self._fields = JoinedFields(components.values(), [*locals_, *arguments])
        self._places = places
        self._modules = {name: component.module for name, component in components.items()}
        self.statements = Statements(kernel.program, self._fields.value, arguments, _INDENT + 8)

    @property
    def bound(self) -> str:
        """The expression for how many entities there are."""
        over = self.kernel.over
        return f"self.{over}.n" if self._places is None else f"len(self.{over})"

    @property
    def blocks(self) -> str:
        """The statement that says which columns and working memory the blocks have."""
        written = set(self._program.writes)
        columns = [
            call("JoinedColumn", self._column(field, field.text in written), _INDENT + 8, ",")
            for field in self.statements.read
        ]
        pad = " " * (_INDENT + 4)
        head, end = f"{pad[4:]}_blocks = joined_blocks(\n{pad}_n,\n{pad}(", f"{pad}),"
        return "\n".join([head, *columns, end, self._working, f"{pad[4:]})"])

    def _column(self, field: FieldValue, is_written: bool) -> list[str]:
        rows = "slice(0, _n)"
        if self._places is not None:
            rows = f"self.{self.kernel.over}._join.rows({self._places[field.owner]})"
        return self._fields.column(field, rows, is_written)

    @property
    def modules(self) -> list[str]:
        """The components that it sees, as attributes of the world."""
        return list(self._modules.values())

    @property
    def samples(self) -> list[str] | None:
        """Some value for each argument, as tests give them; none where there are enums."""
        if any(argument.type.kind for argument in self.arguments):
            return None
        return [_sample(a.type.scalar, a.type.shape) for a in self.arguments]

    @property
    def _working(self) -> str:
        """The argument that says which working memory goes with each block."""
        cells = [
            literal((CODES[slot.scalar], slot.shape, slot.layout is Layout.TOGETHER))
            for slot in self.statements.emitter.working.slots
        ]
        return collection("", cells, _INDENT + 4, ",")

    @property
    def body(self) -> str:
        """What is done once, and the loop over the blocks."""
        emitter = self.statements.emitter
        fields = [self._fields.value(field).text for field in self.statements.read]
        names = [*fields, *(slot.name for slot in emitter.working.slots)]
        pad, end = " " * (_INDENT + 4), " in _blocks:"
        line = f"{pad}for {', '.join(names)}{',' if len(names) == 1 else ''}{end}"
        if len(line) > WIDTH:
            line = exploded("for ", names, _INDENT + 4) + end
        return "\n".join([*(pad + once for once in emitter.before), line, *emitter.lines])


def _all_fields(world: World, components: Iterable[Component]) -> Component:
    """The fields as a kernel of the world spells them, as if they were one component's."""
    fields = (
        replace(field, name=f"{component.name}.{field.name}")
        for component in components
        for field in component.fields
    )
    return Component(name=world.name, module="world", fields=tuple(fields))


def _sample(scalar: str, shape: tuple[int, ...]) -> str:
    """Some value of a type, as a literal."""
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(scalar, 1)
    for length in reversed(shape):
        value = (value,) * length
    return literal(value)
