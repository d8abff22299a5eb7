"""What the loops of one function have in common: names, parameters, what stands before them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

from ecsgen.kernels.statements import FieldOfRow
from ecsgen.model import Field
from ecsgen.model import typed_tree as tree
from ecsgen.model.columns import split_parts
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernel_methods.kernel_method import KernelMethod
from ecsgen.render.kernel_methods.row_sources import RowSource
from ecsgen.render.loops.element_values import UNROLLED, Value, plus, uniform
from ecsgen.render.loops.scalar_code import (
    USED,
    Code,
    NameAllocator,
    number,
    spelled,
    zero_of,
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function, and what the method passes for it."""

    name: str
    annotation: str
    passed: str
    elements: int = 0
    """How many of its elements make a row; 0 if it has nothing for every row."""
    field: tree.FieldValue | None = None
    """What it has of each of the function's own rows."""
    part: int = 0
    """Which of the field's columns it is."""

    def between(self, start: str, end: str) -> str:
        """The expression for what it has of rows in a range."""
        if self.elements == 1 and end.isidentifier():
            return f"{self.name}[{start}:{end}]"
        end = f"({end})" if self.elements > 1 and " " in end else end
        return f"{self.name}[{self.times(start)} : {self.times(end)}]"

    def times(self, rows: str) -> str:
        """The expression for how many elements so many rows have."""
        return f"{self.elements} * {rows}" if self.elements > 1 else rows


class FunctionBuilder:
    """Of the function of a kernel, or of whatever else loops over rows: parameters are in the order
    of their first use."""

    def __init__(
        self,
        name: str,
        program: tree.Program,
        method: KernelMethod | None,
        source: RowSource,
        is_plain: bool = False,
    ) -> None:
        """`method`: whose arguments it has, if any; `is_plain`: Python itself runs it."""
        self.name = name
        self.source = source
        self.program = program
        self.neighbour_joins = {
            one.near.name: one for one in (method.neighbour_joins if method else ())
        }
        """Its neighbourhoods."""
        self.is_plain = is_plain
        self._spellings = {one.name: one for one in (method.arguments if method else ())}
        self.names = NameAllocator({*USED, name}, self._schema_names)
        self.row_columns: dict[str, Parameter] = {}
        """Columns of its own rows, by what the method passes."""
        self.other_parameters: dict[str, Parameter] = {}
        """Columns of other rows, and whatever these are found by."""
        self.arguments: dict[tree.Argument, Parameter] = {}
        self.numbers: dict[str, Parameter] = {}
        """The rows of each component, where they need not be the first ones."""
        self.tables: dict[str, str] = {}
        """What the method makes before, tables that rows are found in, and how."""
        kept = self.names.reserve
        self.count, self.row = kept("n"), kept("i")
        self.index = self.row
        """What counts rows: where messages wait."""
        self.moved: dict[str, None] = {}
        """The components whose rows go elsewhere."""
        self.reads_bytes = False
        """Whether it reads bools of neighbours as bytes."""
        self.turn = self.row
        """What counts turns."""
        self.is_ordered = False
        """Whether it is told whose turn it is, one by one."""
        self.key = kept("key") if program.effects.draws and not is_plain else ""
        self.annotated: dict[str, None] = {}
        """Variables that mypy knows the type of."""
        self.setup: list[str] = []
        """The statements before the loops."""
        self._ready: dict[str, str] = {}

    @property
    def _schema_names(self) -> set[str]:
        """What the schema calls the columns, arguments and locals that the program uses."""
        found = {argument.name for argument in self.program.arguments}
        for node in (*self.program.nodes, *(step.target for step in self.program.steps)):
            if isinstance(node, tree.Local):
                found.add(node.name)
            elif isinstance(node, tree.FieldValue | tree.NeighbourField):
                found |= {name for name, _ in self._columns_of(node)}
        return found

    # --- what stands before the loops ------------------------------------------------------------

    def hoist(self, name: str, made: str, annotation: str = "") -> str:
        """The variable that has the value of an expression before the loops begin."""
        if made not in self._ready:
            self._ready[made] = name = self.names.reserve(name)
            self.setup.append(f"{name}{annotation} = {made}")
        return self._ready[made]

    def constant(self, value: bool | int | float, scalar: str) -> Code:
        """A constant. Plain Python takes a while for one and has it made before, and of numpy's
        types, for its own numbers neither wrap nor divide by zero."""
        if not self.is_plain or scalar == "bool":
            return number(value, scalar)
        name = re.sub(r"\W", "_", repr(value).replace("-", "minus_"))
        return Code(self.hoist(f"{scalar}_{name}", f"{SCALARS[scalar].numpy}({spelled(value)})"))

    # --- columns ---------------------------------------------------------------------------------

    def array(self, wish: Parameter) -> str:
        """The parameter for a column of the function's own rows, called so if nothing else is."""
        if wish.passed not in self.row_columns:
            self.row_columns[wish.passed] = replace(wish, name=self.names.claim(wish.name))
        return self.row_columns[wish.passed].name

    def parameter(
        self, name: str, annotation: str, passed: str, among: dict[str, Parameter] | None = None
    ) -> str:
        """The parameter for something else; `among`: where it stands, if not among `found`."""
        known = self.other_parameters if among is None else among
        if passed not in known:
            known[passed] = Parameter(self.names.reserve(name), annotation, passed)
        return known[passed].name

    def table(self, name: str, annotation: str, made: str) -> str:
        """The parameter for what the method makes before, and calls so behind an underscore."""
        self.tables[f"_{name}"] = made
        return self.parameter(name, annotation, f"_{name}")

    def handles(self, name: str, passed: str, scalar: str = "u64") -> str:
        """The parameter for handles of others, or for what else is not computed with."""
        return self.parameter(name, *self._taken(scalar, passed, True))

    def _taken(self, scalar: str, passed: str, is_own: bool) -> tuple[str, str]:
        """The annotation of an array, and what is passed. What nobody computes with plain Python
        takes as its own, with which it is several times as quick: nothing of it wraps."""
        if self.is_plain and is_own:
            return "memoryview[Any]", f"{passed}.data"
        return array_type(scalar), passed

    def _column(self, type_: Type, passed: str) -> tuple[str, str]:
        return self._taken(type_.scalar, passed, not (type_.is_number or type_.shape))

    def declared(self, name: str) -> str:
        """A variable where it is set; mypy refuses a second annotation. Loops over strips have it
        before all of them."""
        is_known = name in self.annotated or self.reads_bytes
        self.annotated[name] = None
        return name if is_known else f"{name}: Any"

    def number(self, code: str) -> str:
        """A handle's part, or a row, as an index: numba would make a float of two kinds."""
        return code if self.is_plain else f"np.int64({code})"

    def zero(self, type_: Type) -> Code:
        """What stands for none."""
        if self.is_plain and type_.is_handle:
            return Code("0")
        return self.constant(zero_of(type_.scalar), type_.scalar)

    def arrays(self, node: tree.FieldValue | tree.NeighbourField) -> list[str]:
        """The parameters of a field of own rows, or of those who are asked: several if its elements
        are split."""
        columns, field = self._columns_of(node), tree.FieldValue(node.type, node.name, node.owner)
        elements = node.type.elements // len(columns)
        return [
            self.array(Parameter(name, *self._column(node.type, passed), elements, field, part))
            for part, (name, passed) in enumerate(columns)
        ]

    def neighbour_arrays(self, node: tree.NeighbourField) -> list[str]:
        """The parameters of a neighbour's field; what a kernel writes at once is copied before."""
        is_written = node.text in self.program.effects.writes and not self.program.takes_turns
        is_bytes = self.reads_bytes and node.type.is_bool
        if not (is_written or is_bytes):
            return self.arrays(node)
        source, found = self._side(node), []
        holder = source.managers.data(node.owner)
        end = f"{node.type.elements} * {holder}._n" if node.type.shape else f"{holder}._n"
        for name, passed in self._columns_of(node):
            if is_bytes:  # which loops add many of at once
                passed = f"{passed}.view(np.uint8)"
            passed = f"{passed}[: {end}].copy()" if is_written else passed
            annotation, passed = self._column(node.type, passed)
            annotation = array_type("u8") if is_bytes else annotation
            found.append(self.parameter(f"other_{name}", annotation, passed))
        return found

    def cells_of_found_row(self, place: FieldOfRow, row: str, before: bool = False) -> Value:
        """What a row that was found has in a field; `before`: copies from before the kernel."""
        managers, component, found = self.source.managers, place.row.component, []
        stem, holder = managers.column_prefix(component), managers.data(component)
        field = next(one for one in managers.components[component].fields if one.name == place.name)
        columns = self._columns(field, place.type, holder)
        elements = place.type.elements // len(columns)
        end = f"{elements} * {holder}._n" if elements > 1 else f"{holder}._n"
        for column, passed in columns:
            wish = f"{stem}_{column}"
            if before:
                wish, passed = f"{wish}_before", f"{passed}[: {end}].copy()"
            found.append(self.parameter(wish, *self._column(place.type, passed)))
        return self.cells(found, place.type, row)

    def _columns_of(self, node: tree.FieldValue | tree.NeighbourField) -> list[tuple[str, str]]:
        source = self._side(node)
        field, holder = source.field(node.owner, node.name), source.managers.data(node.owner)
        columns = self._columns(field, node.type, holder)
        if isinstance(node, tree.NeighbourField):
            handles = self.neighbour_joins[node.near].handles(node.name, node.owner)
            columns = [(node.name, handles)] if handles else columns
        return [(source.prefix(node.owner) + name, passed) for name, passed in columns]

    def _columns(self, field: Field, type_: Type, holder: str) -> list[tuple[str, str]]:
        """The columns of a field: their names, and the expressions for them, shapes flat."""
        if field.split:
            return [(one.name, f"{holder}._{one.name}_column") for one in split_parts(field)]
        flat = "column.reshape(-1)" if self.is_plain else "flat"
        return [(field.name, f"{holder}._{field.name}_{flat if type_.shape else 'column'}")]

    def _side(self, node: tree.FieldValue | tree.NeighbourField) -> RowSource:
        """Whose field it is: of the rows, or of others that they ask."""
        return (
            self.neighbour_joins[node.near].candidates
            if isinstance(node, tree.NeighbourField)
            else self.source
        )

    def rows_of(self, owner: str) -> str:
        """The parameter with the rows of a component, where these need not be the first ones."""
        source = self.source
        assert source.member_indices is not None
        passed = f"{source.variable}.numbers({source.member_indices[owner]})"
        wish = f"{source.components[owner].module}_rows"
        return self.parameter(wish, "RowArray", passed, self.numbers)

    def cells(self, arrays: list[str], type_: Type, row: str, start: str = "") -> Value:
        """What a row has in the columns of a field; `start`: where its elements begin."""
        if len(arrays) > 1:
            return Value(type_, lambda place: Code(f"{arrays[int(place)]}[{row}]"), True)
        (array,) = arrays
        if not type_.shape:
            own = partial(self._own_cell, array, row, not type_.is_number)
            code = Code(f"{array}[{row}]", python_number=own if self.is_plain else None)
            return uniform(type_, code)
        start = start or f"{type_.elements} * {row}"
        return Value(type_, lambda place: Code(f"{array}[{plus(start, place)}]"))

    def _own_cell(self, array: str, row: str, is_own: bool) -> str:
        if not is_own:
            array = self.hoist(f"{array}_cells", f"{array}.data", ": memoryview[Any]")
        return f"{array}[{row}]"

    # --- arguments -------------------------------------------------------------------------------

    def passed(self, argument: tree.Argument) -> str:
        """What an argument is called in the method."""
        return self._spellings[argument.name].text

    def argument(self, argument: tree.Argument) -> str:
        """What an argument is called in the function."""
        if argument not in self.arguments:
            spelling, type_ = self._spellings[argument.name], argument.type
            annotation = "float" if type_.is_float else "bool" if type_.is_bool else "int"
            if type_.scalar == "u64":
                annotation = SCALARS[type_.scalar].numpy
            passed, elements = spelling.text, 0
            if argument.each:
                passed, elements = f"flat_cells({spelling.per_row_local})", type_.elements
            if argument.each or type_.shape:
                annotation = array_type(type_.scalar)
            name = self.names.claim(argument.name)
            self.arguments[argument] = Parameter(name, annotation, passed, elements)
        return self.arguments[argument].name

    def argument_value(self, argument: tree.Argument) -> Value:
        """The elements of an argument that is the same for all rows: before the loop it takes its
        type, and one with a shape is taken apart.

        Python's own numbers are passed in a tenth of a microsecond; numpy's take three times that.
        """
        name, type_ = self.argument(argument), argument.type
        if not type_.shape:
            if type_.scalar not in ("bool", "u64", *(() if self.is_plain else ("i64", "f64"))):
                typed = f"{SCALARS[type_.scalar].numpy}({name})"
                name = self.hoist(f"{name}_{type_.scalar}", typed)
            return uniform(type_, Code(name))
        if type_.elements > UNROLLED:
            return Value(type_, lambda place: Code(f"{name}[{place}]"))
        elements = [self.hoist(f"{name}_{k}", f"{name}[{k}]") for k in range(type_.elements)]
        return Value(type_, lambda place: Code(elements[int(place)]))

    @property
    def common(self) -> list[Parameter]:
        """The parameters that are the same for every row: arguments, and the key of draws."""
        key = [Parameter(self.key, "np.uint64", "_key")] if self.key else []
        return [*self.arguments.values(), *key]


def array_type(scalar: str) -> str:
    """The annotation of an array."""
    return f"NDArray[{SCALARS[scalar].numpy}]"
