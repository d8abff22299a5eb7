"""Parameters, names and set-up that the loops of one function share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from ecsgen.kernels.statements import FieldOfRow
from ecsgen.model import Field, Setting
from ecsgen.model import typed_tree as tree
from ecsgen.model.columns import split_parts
from ecsgen.model.typed_program import Program
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernel_methods.arguments import ArgumentCode, ReadCode
from ecsgen.render.kernel_methods.kernel_method import KernelMethod
from ecsgen.render.kernel_methods.row_sources import RowSource
from ecsgen.render.loops.element_values import UNROLLED, Value, plus, uniform
from ecsgen.render.loops.scalar_code import USED, Code, NameAllocator, number, spelled, zero_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of the function, and the expression that the method passes for it."""

    name: str
    annotation: str
    passed: str
    elements: int = 0
    """Elements per row; 0 if the parameter has nothing for each row."""
    field: tree.FieldValue | None = None
    """Field of the function's own rows that the parameter holds, if any."""
    part: int = 0
    """Index among the field's columns."""

    def between(self, start: str, end: str) -> str:
        """Return the expression for the elements of the rows from `start` to `end`."""
        if self.elements == 1 and end.isidentifier():
            return f"{self.name}[{start}:{end}]"
        end = f"({end})" if self.elements > 1 and " " in end else end
        return f"{self.name}[{self.times(start)} : {self.times(end)}]"

    def times(self, rows: str) -> str:
        """Return the expression for the number of elements that so many rows have."""
        return f"{self.elements} * {rows}" if self.elements > 1 else rows


class FunctionBuilder:
    """Builder of a function that loops over rows; parameters are in order of their first use."""

    def __init__(
        self,
        name: str,
        program: Program,
        method: KernelMethod | None,
        source: RowSource,
        is_plain: bool = False,
    ) -> None:
        """`method`: has the arguments, if any; `is_plain`: Python itself runs the function."""
        self.name = name
        self.source = source
        self.program = program
        self.neighbour_joins = {
            join.near.name: join for join in (method.neighbour_joins if method else ())
        }
        """Neighbour joins by the name of their neighbourhood."""
        self.is_plain = is_plain
        self._codes: dict[str, ArgumentCode] = {}
        """Code of arguments and values of reductions, by name."""
        self.add_inputs(method.inputs if method else ())
        self.names = NameAllocator({*USED, name}, self._schema_names)
        self.row_columns: dict[str, Parameter] = {}
        """Columns of the function's own rows, by the expression that the method passes."""
        self.other_parameters: dict[str, Parameter] = {}
        """Columns of other rows and of tables, by the expression that the method passes."""
        self.arguments: dict[tree.Argument, Parameter] = {}
        self.numbers: dict[str, Parameter] = {}
        """Rows of each component, where these need not be the first ones."""
        self.tables: dict[str, str] = {}
        """Expressions for the tables that the method prepares, by their variables."""
        reserve = self.names.reserve
        self.count, self.row = reserve("n"), reserve("i")
        self.index = self.row
        """Variable that counts rows; deferred messages are stored at this index."""
        self.moved: dict[str, None] = {}
        """Components whose rows move to other cells."""
        self.reads_bytes = False
        """True if the function reads bools of neighbours as bytes."""
        self.turn = self.row
        self.senders = ""
        """Parameter with the rows that a call names, in its order; "" if the loop has the same."""
        self.is_parallel = False
        """True if the function uses all cores."""
        self.is_ordered = False
        """True if the function gets the order of the rows' turns."""
        self.words_of_turns: tuple[str, str] | None = None
        """Variable with the random words of a turn, and the parameter that yields them, if any."""
        self.key = reserve("key") if program.effects.draws and not is_plain else ""
        self.annotated: dict[str, None] = {}
        """Variables with an annotation already."""
        self.setup: list[str] = []
        """Statements before the loops."""
        self._hoisted: dict[str, str] = {}
        self.grown: dict[str, tuple[int, str, str]] = {}
        """Parameters that the function returns, since it may replace them by larger arrays: of
        which spawns, and of which manager and field they are."""

    @property
    def _schema_names(self) -> set[str]:
        """Names in the schema of the columns, arguments and locals that the program uses."""
        names = {argument.name for argument in self.program.arguments}
        targets = [step.target for step in self.program.actions]
        newborn = [target.to for target in targets if isinstance(target, tree.Spawn)]
        for node in (*self.program.nodes, *targets, *newborn):
            if isinstance(node, tree.Local):
                names.add(node.name)
            elif isinstance(node, tree.FieldValue | tree.NeighbourField):
                names |= {name for name, _ in self._columns_of(node)}
        return names

    def add_inputs(self, codes: Iterable[ArgumentCode]) -> None:
        """Add values that the function may take: the same for all rows, or one for each."""
        self._codes |= {code.name: code for code in codes}

    def hoist(self, name: str, expression: str, annotation: str = "") -> str:
        """Return the variable with the value of an expression, computed before the loops."""
        if expression not in self._hoisted:
            self._hoisted[expression] = name = self.names.reserve(name)
            self.setup.append(f"{name}{annotation} = {expression}")
        return self._hoisted[expression]

    def constant(self, value: bool | int | float, scalar: str) -> Code:
        """Return a constant. Plain loops hoist constants of numpy's types: integers of Python's own
        do not wrap."""
        if not self.is_plain or scalar in ("bool", "f64"):
            return number(value, scalar)
        name = re.sub(r"\W", "_", repr(value).replace("-", "minus_"))
        return Code(self.hoist(f"{scalar}_{name}", f"{SCALARS[scalar].numpy}({spelled(value)})"))

    def array(self, parameter: Parameter) -> str:
        """Return the parameter for a column of the function's own rows, under its name if free."""
        passed = parameter.passed
        if passed not in self.row_columns:
            self.row_columns[passed] = replace(parameter, name=self.names.claim(parameter.name))
        return self.row_columns[passed].name

    def parameter(
        self, name: str, annotation: str, passed: str, among: dict[str, Parameter] | None = None
    ) -> str:
        """Return another parameter, put among `among` or else `other_parameters`."""
        known = self.other_parameters if among is None else among
        if passed not in known:
            known[passed] = Parameter(self.names.reserve(name), annotation, passed)
        return known[passed].name

    def table(self, name: str, annotation: str, expression: str) -> str:
        """Return the parameter for a table that the method prepares, in a variable `_name`."""
        self.tables[f"_{name}"] = expression
        return self.parameter(name, annotation, f"_{name}")

    @property
    def follows_cells(self) -> bool:
        """True if the loop follows the cells of the kernel's only neighbourhood."""
        return False

    @property
    def each(self) -> str:
        """Name of the range of a loop whose passes are independent of each other."""
        return "prange" if self.is_parallel else "range"

    @property
    def cut_off(self) -> str:
        """Parameter that counts how often each `while` was cut off."""
        count = len(self.program.whiles)
        return self.table("cut_off", array_type("i64"), f"np.zeros({count}, np.int64)")

    def handles(self, name: str, passed: str, scalar: str = "u64") -> str:
        """Return the parameter for an array of handles or other numbers, only to be compared."""
        return self.parameter(name, *self._array_argument(scalar, passed, True))

    def _array_argument(self, scalar: str, passed: str, is_view: bool) -> tuple[str, str]:
        """Return an array's annotation, and the expression to pass. `is_view`: nothing is computed
        with the elements, so plain Python takes a memoryview, several times as quick, whose
        integers do not wrap."""
        if self.is_plain and is_view:
            return "memoryview[Any]", f"{passed}.data"
        return array_type(scalar), passed

    def _column(self, type_: Type, passed: str) -> tuple[str, str]:
        return self._array_argument(type_.scalar, passed, self._is_view(type_))

    def _is_view(self, type_: Type) -> bool:
        """Return True if plain loops read cells of a type as numbers of Python's own."""
        return self.is_own(type_) or not (type_.is_computed or type_.shape)

    def is_own(self, type_: Type) -> bool:
        """Return True if the function computes with floats of Python's own, which have the same
        bits as numpy's and are many times faster, but do not divide by zero."""
        return self.is_plain and type_.scalar == "f64"

    def declared(self, name: str) -> str:
        """Return a variable to be assigned, annotated the first time: mypy refuses a second
        annotation. Loops over strips annotate before the loop."""
        is_known = name in self.annotated or self.reads_bytes
        self.annotated[name] = None
        return name if is_known else f"{name}: Any"

    def number(self, code: str) -> str:
        """Return a handle's part, or a row, as an index: numba would make a float of two kinds."""
        return code if self.is_plain else f"np.int64({code})"

    def zero(self, type_: Type) -> Code:
        """Return the null value of a type."""
        return self.constant_of(type_, zero_of(type_.scalar))

    def constant_of(self, type_: Type, value: bool | int | float) -> Code:
        """Return a constant; one of a type that is not computed with as Python has it."""
        if self.is_plain and not (type_.is_computed or type_.is_bool):
            return Code(spelled(value))
        return self.constant(value, type_.scalar)

    def arrays(self, node: tree.FieldValue | tree.NeighbourField) -> list[str]:
        """Return the parameters of a field of rows or neighbours: several if its elements are
        split."""
        columns, field = self._columns_of(node), tree.FieldValue(node.type, node.name, node.owner)
        elements = node.type.elements // len(columns)
        return [
            self.array(Parameter(name, *self._column(node.type, passed), elements, field, part))
            for part, (name, passed) in enumerate(columns)
        ]

    def neighbour_arrays(self, node: tree.NeighbourField) -> list[str]:
        """Return the parameters of a neighbour's field: copies if the kernel writes it at once."""
        is_written = node.text in self.program.effects.writes and not self.program.takes_turns
        is_bytes = self.reads_bytes and node.type.is_bool
        if not (is_written or is_bytes):
            return self.arrays(node)
        source, arrays = self._side(node), []
        data = source.managers.data(node.owner)
        end = f"{data}._n"
        if source.components[node.owner].ghosts is not None:  # which come after the rows
            end = f"{source.managers.manager(node.owner)}.nearby.n"
        end = f"{node.type.elements} * {end}" if node.type.shape else end
        for name, passed in self._columns_of(node):
            if is_bytes:  # which loops add many of at once
                passed = f"{passed}.view(np.uint8)"
            passed = f"{passed}[: {end}].copy()" if is_written else passed
            annotation, passed = self._column(node.type, passed)
            annotation = array_type("u8") if is_bytes else annotation
            arrays.append(self.parameter(f"other_{name}", annotation, passed))
        return arrays

    def cells_of_found_row(self, field_of_row: FieldOfRow, row: str, before: bool = False) -> Value:
        """Return a field's elements in a row that was looked up; `before`: as before the kernel."""
        managers, component, arrays = self.source.managers, field_of_row.row.component, []
        prefix, data = managers.column_prefix(component), managers.data(component)
        fields = managers.components[component].fields
        field = next(field for field in fields if field.name == field_of_row.name)
        columns = self._columns(field, field_of_row.type, data)
        elements = field_of_row.type.elements // len(columns)
        end = f"{elements} * {data}._n" if elements > 1 else f"{data}._n"
        for column, passed in columns:
            name = f"{prefix}_{column}"
            if before:
                name, passed = f"{name}_before", f"{passed}[: {end}].copy()"
            arrays.append(self.parameter(name, *self._column(field_of_row.type, passed)))
        return self.cells(arrays, field_of_row.type, row)

    def _columns_of(self, node: tree.FieldValue | tree.NeighbourField) -> list[tuple[str, str]]:
        source = self._side(node)
        field, data = source.field(node.owner, node.name), source.managers.data(node.owner)
        columns = self._columns(field, node.type, data)
        if isinstance(node, tree.NeighbourField):
            handles = self.neighbour_joins[node.near].handles(node.name, node.owner)
            columns = [(node.name, handles)] if handles else columns
        return [(source.prefix(node.owner) + name, passed) for name, passed in columns]

    def _columns(self, field: Field, type_: Type, data: str) -> list[tuple[str, str]]:
        """Return name and expression of each column of a field, shapes flat."""
        if field.split:
            return [(part.name, f"{data}._{part.name}_column") for part in split_parts(field)]
        is_setting = isinstance(field, Setting)
        flat = "column.reshape(-1)" if self.is_plain or is_setting else "flat"
        column = f"{data}._{field.name}_{flat if type_.shape else 'column'}"
        return [(field.name, f"{column}.view(np.int64)" if type_.is_time else column)]

    def _side(self, node: tree.FieldValue | tree.NeighbourField) -> RowSource:
        """Return the row source of a field: the function's rows, or the neighbour candidates."""
        if not isinstance(node, tree.NeighbourField):
            return self.source
        join = self.neighbour_joins[node.near]
        return join.links if node.is_link else join.candidates

    @property
    def is_scattered(self) -> bool:
        """True if the function gets the rows of each component."""
        return self.source.member_indices is not None

    def rows_of(self, owner: str) -> str:
        """Return the parameter with a component's rows, where these need not be the first ones."""
        source = self.source
        assert source.member_indices is not None
        passed = f"{source.variable}.numbers({source.member_indices[owner]})"
        name = f"{source.components[owner].module}_rows"
        return self.parameter(name, "RowArray", passed, self.numbers)

    def cells(self, arrays: list[str], type_: Type, row: str, start: str = "") -> Value:
        """Return a row's elements in the columns of a field; `start`: index of the first one."""
        if len(arrays) > 1:
            return Value(type_, lambda index: Code(f"{arrays[int(index)]}[{row}]"), True)
        (array,) = arrays
        if not type_.shape:
            python_number = partial(self._own_cell, array, row, self._is_view(type_))
            code = Code(f"{array}[{row}]", python_number=python_number if self.is_plain else None)
            return uniform(type_, code)
        start = start or f"{type_.elements} * {row}"
        return Value(type_, lambda index: Code(f"{array}[{plus(start, index)}]"))

    def _own_cell(self, array: str, row: str, is_view: bool) -> str:
        if not is_view:
            array = self.hoist(f"{array}_cells", f"{array}.data", ": memoryview[Any]")
        return f"{array}[{row}]"

    def passed(self, argument: tree.Argument) -> str:
        """Return the argument's variable in the method."""
        return self._codes[argument.name].text

    def argument(self, argument: tree.Argument) -> str:
        """Return the argument's parameter in the function."""
        if argument not in self.arguments:
            code, type_ = self._codes[argument.name], argument.type
            annotation = "float" if type_.is_float else "bool" if type_.is_bool else "int"
            if type_.scalar == "u64":
                annotation = SCALARS[type_.scalar].numpy
            passed, elements = code.text, 0
            if argument.each:
                passed, elements = f"flat_cells({code.per_row_local})", type_.elements
            if argument.each or type_.shape:
                annotation, passed = self._array_argument(type_.scalar, passed, self.is_own(type_))
            if isinstance(code, ReadCode):
                name = self.names.reserve(code.variable)
            else:
                name = self.names.claim(argument.name)
            self.arguments[argument] = Parameter(name, annotation, passed, elements)
        return self.arguments[argument].name

    def argument_value(self, argument: tree.Argument) -> Value:
        """Return the elements of an argument with one value for all rows, converted before the
        loop; one with a shape is taken apart. Passing a number of Python takes a tenth of a
        microsecond; one of numpy three times as long."""
        name, type_ = self.argument(argument), argument.type
        if not type_.shape:
            if type_.scalar not in ("bool", "u64", "f64", *(() if self.is_plain else ("i64",))):
                typed = f"{SCALARS[type_.scalar].numpy}({name})"
                name = self.hoist(f"{name}_{type_.scalar}", typed)
            return uniform(type_, Code(name))
        if type_.elements > UNROLLED:
            return Value(type_, lambda index: Code(f"{name}[{index}]"))
        elements = [self.hoist(f"{name}_{k}", f"{name}[{k}]") for k in range(type_.elements)]
        return Value(type_, lambda index: Code(elements[int(index)]), is_split=True)

    @property
    def common(self) -> list[Parameter]:
        """Parameters with one value for all rows: arguments, and the key of draws."""
        key = [Parameter(self.key, "np.uint64", "_key")] if self.key else []
        return [*self.arguments.values(), *key]


def array_type(scalar: str) -> str:
    return f"NDArray[{SCALARS[scalar].numpy}]"
