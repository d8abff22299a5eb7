"""Arguments of kernels: converted like fields, once per call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import copy
from typing import Final

from ecsgen.config import Backend
from ecsgen.model import BaseType, Field, FieldType, Kernel, Table
from ecsgen.model.columns import Column
from ecsgen.model.typed_program import Program, ReductionProgram
from ecsgen.model.typed_tree import Argument, ReducedValue, SettingValue
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.column_code import ColumnCode
from ecsgen.render.text.formatting import call, call_line
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import literal

_OWN_NAMES: Final = re.compile(
    r"(tmp|once|theirs|led|around|exists|heard|each)\d*|where|blocks|rows|parents|found|match|chunks"
    r"|addresses|kept|search_arguments|selected|among|order|search|pairs|views|chosen|count|before"
    r"|cells|n|row_keys|named|turn_keys|word|bits|radius|asked|commands|living|run|spared|hidden|ghosts|columns|now"
    r"|others|working|paired|(all|parent|other|to|each)_.*|key(_\d+)?"
    r"|reach.*|(cells|search_arguments|radius|asked|ghosts|hidden)_.*|.*_numbers.*"
    r"|.*_(kernel|chunks|pass|rows|members|axes|crowds|living|empty|table|ids)"
)
"""Names of locals of methods, and of functions that methods call, without the underscore."""


class ArgumentCode:
    """Argument of a kernel: converted like a field, once per call."""

    def __init__(self, holder: str, method: str, argument: Argument, unit: str) -> None:
        """Make an argument's code; `holder`: the component or world that has the method."""
        type_ = argument.type
        base, scalar = _base(type_), type_.column_scalar
        kind = FieldType(str(type_), base, scalar, type_.shape, target=type_.kind)
        field = Field(argument.name, kind, None, unit=unit)
        column = Column(argument.name, scalar, type_.shape, field=field)
        self.code = ColumnCode(column, f"{holder}.{method}", 0)
        self.name = argument.name
        self.bare_name = add_placeholder(argument.name)
        self.type = type_
        self._dtype = SCALARS[type_.scalar].numpy
        self.unit = unit
        self.each = argument.each
        self.text = f"_{self.name}"  # the converted value in the method
        self.constant = f"_{method.upper()}_{argument.name.upper()}_ARGUMENT"

    @property
    def per_row_local(self) -> str:
        """Local with the values of all rows, if there is one for each."""
        return f"_each{self.text}"

    @property
    def converter(self) -> str:
        """Definition of the constant that checks the argument."""
        head = f"{self.constant}: Final = {self.code.converter_class}"
        return call(head, self.code.converter_arguments, 0)

    @property
    def parameter(self) -> str:
        kind = self.code.many_type if self.each else self.code.write_type
        return f"{self.bare_name}: {kind}"

    @property
    def checked(self) -> str:
        """Expression that checks the argument; of times the number of units."""
        ticks = ".view(np.int64)" if self.type.is_time else ""
        return f"{self.constant}.to_cell({self.bare_name}){ticks}"

    @property
    def loop_expression(self) -> str:
        """Expression for its value in loops, where a large integer of Python has another type."""
        if self.type.shape:
            return f"np.array({self.checked}, {self._dtype}).reshape(-1)"
        return self.block_expression if self.type.scalar == "u64" else self.checked

    @property
    def block_expression(self) -> str:
        """Expression for its value in blocks, with an axis for the rows."""
        return self.array if self.type.shape else f"{self._dtype}({self.checked})"

    @property
    def array(self) -> str:
        """Expression for its value as an array, with which numpy starts sooner."""
        array, shape = f"np.array({self.checked}, {self._dtype})", self.type.shape
        return f"{array}.reshape({literal((*shape, 1))[1:-1]})" if shape else array

    def each_line(self, count: str, buffers: list[str]) -> str:
        """Return the statement that checks a value per row; values share no memory with buffers."""
        arguments = [self.constant, self.bare_name, count, *buffers]
        text = call_line(f"{self.per_row_local} = each_value", arguments, 8)
        return f"{text}.view(np.int64)" if self.type.is_time else text


class ReadCode(ArgumentCode):
    """A value that is read once per call: like an argument, but not of the caller."""

    def __init__(self, value: Argument) -> None:
        super().__init__("", "", value, "")
        self.variable = value.name.replace(".", "_").lower()
        """Its name in functions, if that is free."""
        self.text = f"_{self.variable}"

    def definition(self, backend: Backend) -> str:
        """Statement that works it out."""
        expression = self.block_expression if backend == "numpy" else self.loop_expression
        return f"{self.text} = {expression}"


class ReducedCode(ReadCode):
    """The value of a reduction, of a manager."""

    def __init__(self, value: ReducedValue, manager: str) -> None:
        super().__init__(value)
        self._value = value_call(manager, value.name.rpartition(".")[2])

    @property
    def checked(self) -> str:
        """Expression for the value, a number of Python."""
        return self._value


class ReadSettingCode(ReadCode):
    """A setting, in the one row of its column."""

    def __init__(self, value: SettingValue) -> None:
        super().__init__(value)
        self.row = "self.settings._data"
        """Expression for the columns of all settings."""
        self._name = value.name.rpartition(".")[2]

    def read_from(self, row: str) -> ReadSettingCode:
        """Return the code that reads the setting from `row`, where all settings have been found."""
        code = copy(self)
        code.row = row
        return code

    @property
    def _column(self) -> str:
        column = f"{self.row}._{self._name}_column"
        return f"{column}.view(np.int64)" if self.type.is_time else column

    @property
    def checked(self) -> str:
        """Expression for the value, a number of Python."""
        if self.type.is_time:
            return f"{self._column}.item(0)"
        return f"{self.row}._{self._name}_cells[0]"

    @property
    def loop_expression(self) -> str:
        """Expression for its value in loops."""
        return f"{self._column}.reshape(-1)" if self.type.shape else super().loop_expression

    @property
    def block_expression(self) -> str:
        """Expression for its value in blocks, with an axis for the rows."""
        return self.array if self.type.shape else f"{self._column}[0]"

    @property
    def array(self) -> str:
        """Expression for its value as an array."""
        shape = (*self.type.shape, 1) if self.type.shape else ()
        return f"{self._column}.reshape({literal(shape)})"


def value_call(manager: str, reduction: str) -> str:
    """Return the expression for the value of a manager's reduction, as kernels read it."""
    return f"{manager}._value_of_{reduction}()"


def make_read_codes(
    reader: Program | ReductionProgram | Table,
    manager: Callable[[str], str],
    arguments: Iterable[ArgumentCode] = (),
) -> list[ReadCode]:
    """Return the code of reductions and settings that are read, each in a variable of its own;
    `manager`: returns the expression for a component's; `arguments`: those of the same method."""
    codes: list[ReadCode] = [
        ReducedCode(value, manager(value.name.partition(".")[0])) for value in reader.reduced
    ]
    codes += map(ReadSettingCode, reader.settings)
    taken = {text for argument in arguments for text in (argument.text, argument.per_row_local)}
    for code in codes:
        while code.text in taken:
            code.text += "_"
        taken.add(code.text)
    return codes


def _base(type_: Type) -> BaseType:
    if type_.is_time:
        return BaseType(type_.kind.partition("[")[0])
    if type_.kind:
        return BaseType(type_.kind.partition("<")[0]) if type_.is_handle else BaseType.ENUM
    if type_.is_bool:
        return BaseType.BOOL
    return BaseType.FLOAT if type_.is_float else BaseType.INT


def make_argument_codes(holder: str, kernel: Kernel) -> list[ArgumentCode]:
    """Return the arguments of a kernel, each with its own name for the converted value."""
    units, near = {name: unit for name, _, unit in kernel.args}, kernel.program.single_neighbourhood
    radius = None if near is None else near.radius
    codes = [
        ArgumentCode(holder, kernel.name, argument, units[argument.name])
        for argument in kernel.program.arguments
    ]
    taken = {text for argument in codes for text in (argument.text, argument.per_row_local)}
    for argument, model in zip(codes, kernel.program.arguments, strict=True):
        is_radius = argument.name == "radius" and model == radius  # as methods call it
        if _OWN_NAMES.fullmatch(argument.name) and not is_radius:
            while argument.text in taken:
                argument.text += "_"
            taken |= {argument.text, argument.per_row_local}
    return codes
