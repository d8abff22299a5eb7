"""A kernel over chunks: a compiled loop over a chunk's rows, and one over all chunks around it."""

from __future__ import annotations

from ecsgen.model import Kernel, World
from ecsgen.model.programs import FieldValue, Program
from ecsgen.render.calls import call, collection
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.printed import Printed, function_text
from ecsgen.render.kernels.sources import ChunkSource
from ecsgen.render.numba.code import Names
from ecsgen.render.numba.fields import Fields, Origin, Parameter
from ecsgen.render.numba.joined import SeveralComponents
from ecsgen.render.numba.kernel import CompiledKernel, decorator
from ecsgen.render.numba.loops import Loop
from ecsgen.render.numba.values import Emitter, Value
from ecsgen.render.quoting import literal


class ChunkFields(Fields):
    """Fields of several components, whose columns are those of a chunk."""

    def __init__(
        self, source: ChunkSource, origin: Origin, program: Program, names: Names, is_flat: bool
    ) -> None:
        super().__init__(origin, program, names, is_flat)
        self.places: list[tuple[int, int]] = []
        """By parameter: the component's number, and which of its columns it is."""
        self.elements: list[int] = []
        """By parameter: how many of its elements make a row."""
        self._source = source

    def value(self, emit: Emitter, node: FieldValue) -> Value:
        """The elements of a field of this row."""
        known = len(self.parameters)
        value = super().value(emit, node)
        start = self._source.place(node)
        for place, column in enumerate([*self.parameters.values()][known:]):
            self.places.append((start[0], start[1] + place))
            self.elements.append(node.type.elements if column.is_flat else 1)
        return value


class ChunkKernel(CompiledKernel):
    """A kernel over chunks as its template lays it out."""

    def __init__(self, world: World, kernel: Kernel, source: ChunkSource) -> None:
        self.source = source
        super().__init__(source.whole, kernel)
        take = self.loop.names.take
        self._chunk, self._starts = take("k", "_k"), take("starts", "_starts")
        array = "NDArray[np.intp]"
        self._rows = Parameter(take("rows", "_rows"), array, "_rows")
        self._addresses = Parameter(take("addresses", "_addresses"), array, "_addresses")

    def _looped(self) -> Loop:
        origin = SeveralComponents(self.source.components)
        loop = Loop(origin, self._own_name, self._program, fields=self._fields_of)
        loop.write_steps()
        return loop

    def _fields_of(self, origin: Origin, program: Program, names: Names, is_flat: bool) -> Fields:
        self._fields = ChunkFields(self.source, origin, program, names, is_flat)
        return self._fields

    @property
    def _own_name(self) -> str:
        return f"{self.name}_kernel"  # the module has functions of other names

    @property
    def is_parallel(self) -> bool:
        """Chunks are shared out among the cores, not the rows of one."""
        return False

    # --- the loop over all chunks ----------------------------------------------------------------

    @property
    def chunks_decorator(self) -> str:
        return decorator(self.kernel.parallel)

    @property
    def chunks_header(self) -> str:
        declared = [parameter.declared for parameter in self._given]
        return call(f"def _{self.name}_chunks", declared, 0, " -> None:")

    @property
    def chunks_body(self) -> list[str]:
        """The statements that run the loop over rows in each chunk."""
        n, each = self.loop.rows, "prange" if self.kernel.parallel else "range"
        starts = f"    {self._starts} = np.cumsum({self._rows.name}) - {self._rows.name}"
        arguments = [self._of_chunk(parameter) for parameter in self._given[2:]]
        return [
            *([starts] if self.each else []),
            f"    for {self._chunk} in {each}(len({self._rows.name})):",
            f"        {n} = {self._rows.name}[{self._chunk}]",
            call(self.function, [n, *arguments, *self._cells], 8),
        ]

    def _of_chunk(self, parameter: Parameter) -> str:
        """What a chunk takes of a parameter: all of it, or the values for its rows."""
        if not parameter.passed.startswith("flat_cells("):
            return parameter.name
        found = {name: argument for argument, name in self.loop.arguments.items()}
        elements = found[parameter.name].type.elements
        start, n = f"{self._starts}[{self._chunk}]", self.loop.rows
        if elements == 1:
            return f"{parameter.name}[{start} : {start} + {n}]"
        return f"{parameter.name}[{elements} * {start} : {elements} * ({start} + {n})]"

    @property
    def _given(self) -> list[Parameter]:
        """The parameters: which chunks there are, then the kernel's arguments."""
        return [self._rows, self._addresses, *self._common]

    @property
    def _cells(self) -> list[str]:
        """The expressions for the columns of a chunk."""
        fields = zip(self._fields.parameters.values(), self._fields.elements, strict=True)
        found = []
        for place, (column, elements) in enumerate(fields):
            count = f"{elements} * {self.loop.rows}" if elements > 1 else self.loop.rows
            address = f"{self._addresses.name}[{self._chunk}, {place}]"
            dtype = column.annotation.removeprefix("NDArray[").removesuffix("]")
            found.append(f"cells_at({address}, {count}, {dtype})")
        return found

    # --- the method ------------------------------------------------------------------------------

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        rows = function_text(self.decorator, self.header, self.function_docstring, self.body)
        said = f"Run `{self.function}` in chunks of so many rows, with columns at these addresses."
        body = "\n".join(self.chunks_body)
        chunks = function_text(self.chunks_decorator, self.chunks_header, said, body)
        method = self.text([*self.conversions, *self.lookup, *self.key_lines], self.run)
        made = [
            f"def _{self.name}_cells(self) -> ChunkCells:",
            f'    """Have the chunks looked up for `{self.name}`; what is found is kept."""',
            *self.made,
        ]
        found = "\n".join([method, "", *made])
        return Printed(found, f"{rows}\n\n\n{chunks}", constants=(*self.constants,))

    @property
    def lookup(self) -> list[str]:
        """The statements that get the chunks."""
        kept = f"self.archetypes._kept.get({literal(self.name)})"
        return [
            *self.source.each_lines(self.each),
            f"_chunks = {kept} or self._{self.name}_cells()",
            "_rows, _addresses = _chunks.current()",
        ]

    @property
    def run(self) -> str:
        """The statement that runs the loop over all chunks."""
        passed = [parameter.passed for parameter in self._given]
        return for_macro(call(f"_{self.name}_chunks", passed, 8))

    @property
    def made(self) -> list[str]:
        """The statements of the method that has chunks looked up."""
        fields = [call("ChunkField", list(map(literal, p)), 0) for p in self._fields.places]
        return [
            for_macro(collection("fields = ", fields, 8)),
            f"    found = ChunkCells({self.source.query}, fields)",
            f"    return found.keep({literal(self.name)})",
        ]
