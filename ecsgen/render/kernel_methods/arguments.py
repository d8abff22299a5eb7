"""Arguments of kernels: converted like fields, once per call."""

from __future__ import annotations

import re
from typing import Final

from ecsgen.model import BaseType, Field, FieldType, Kernel
from ecsgen.model.columns import Column
from ecsgen.model.typed_tree import Argument
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.column_code import ColumnCode
from ecsgen.render.text.formatting import call
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import literal

_OWN_NAMES: Final = re.compile(
    r"(tmp|once|theirs|exists|heard|each)\d*|where|blocks|rows|parents|found|chunks|addresses"
    r"|kept|given|among|order|search|pairs|views|chosen|count|before|cells|n|stem|word|bits"
    r"|radius|asked|fates|run|spared|hidden|ghosts|columns|others|working|paired|now"
    r"|(all|parent|other|to|each)_.*|key(_\d+)?|.*_(kernel|chunks|pass|rows|members)"
)
"""What methods call their locals, and the functions that they call, behind an underscore."""


class ArgumentCode:
    """An argument of a kernel: converted like a field, once per call."""

    def __init__(self, holder: str, method: str, argument: Argument, unit: str) -> None:
        """`holder`: the component, or the world, whose method it is of."""
        type_ = argument.type
        kind = FieldType(str(type_), _base(type_), type_.scalar, type_.shape, target=type_.kind)
        field = Field(argument.name, kind, None, unit=unit)
        column = Column(argument.name, type_.scalar, type_.shape, field=field)
        self.spelling = ColumnCode(column, f"{holder}.{method}", 0)
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
        """The values of all rows in the method, if it has one for each."""
        return f"_each{self.text}"

    @property
    def converter(self) -> str:
        """The constant that checks it."""
        head = f"{self.constant}: Final = {self.spelling.converter_class}"
        return call(head, self.spelling.converter_arguments, 0)

    @property
    def parameter(self) -> str:
        kind = self.spelling.many_type if self.each else self.spelling.write_type
        return f"{self.bare_name}: {kind}"

    @property
    def checked(self) -> str:
        """The expression that checks it."""
        return f"{self.constant}.to_cell({self.bare_name})"

    @property
    def loop_expression(self) -> str:
        """The expression for its value as loops take it: large integers of Python would be of
        another type than small ones."""
        if self.type.shape:
            return f"np.array({self.checked}, {self._dtype}).reshape(-1)"
        return self.block_expression if self.type.scalar == "u64" else self.checked

    @property
    def block_expression(self) -> str:
        """The expression for its value in blocks, with an axis for the rows."""
        return self.array if self.type.shape else f"{self._dtype}({self.checked})"

    @property
    def array(self) -> str:
        """The same as an array, with which numpy starts sooner."""
        made, shape = f"np.array({self.checked}, {self._dtype})", self.type.shape
        return f"{made}.reshape({literal((*shape, 1))[1:-1]})" if shape else made

    def each_line(self, count: str, buffers: list[str]) -> str:
        """The statement that checks the values of all rows; they share no memory with buffers."""
        given = [self.constant, self.bare_name, count, *buffers]
        return call(f"{self.per_row_local} = each_value", given, 8).lstrip().replace("\n    ", "\n")


def _base(type_: Type) -> BaseType:
    """What one element of a value is."""
    if type_.kind:
        return BaseType(type_.kind.partition("<")[0]) if type_.is_handle else BaseType.ENUM
    if type_.is_bool:
        return BaseType.BOOL
    return BaseType.FLOAT if type_.is_float else BaseType.INT


def make_argument_codes(holder: str, kernel: Kernel) -> list[ArgumentCode]:
    """The arguments of a kernel, each with a name of its own for its converted value."""
    units, near = {name: unit for name, _, unit in kernel.args}, kernel.program.single_neighbourhood
    reach = None if near is None else near.radius
    found = [
        ArgumentCode(holder, kernel.name, argument, units[argument.name])
        for argument in kernel.program.arguments
    ]
    taken = {text for argument in found for text in (argument.text, argument.per_row_local)}
    for argument, given in zip(found, kernel.program.arguments, strict=True):
        is_radius = argument.name == "radius" and given == reach  # as methods call it
        if _OWN_NAMES.fullmatch(argument.name) and not is_radius:
            while argument.text in taken:
                argument.text += "_"
            taken |= {argument.text, argument.per_row_local}
    return found
