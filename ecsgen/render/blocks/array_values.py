"""Values in generated numpy code: working memory that holds them, constants of the module, and
fields as blocks have them, rows last, split ones put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from ecsgen.kernels.statements import FieldOfRow
from ecsgen.layout.memory_layout import lay_out_component
from ecsgen.model import Component
from ecsgen.model.columns import field_columns
from ecsgen.model.typed_tree import OWN, PARENT, FieldValue
from ecsgen.model.types import FLOATS, INTEGERS, SCALARS, Number, Type
from ecsgen.render.kernel_methods.row_sources import ManagerExpressions, field_of
from ecsgen.render.text.formatting import call
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import literal

Shape = tuple[int, ...]


class ElementOrder(Enum):
    """How the elements of a value lie in memory."""

    UNIFORM = "the same for every row"
    ROWS = "one number per row"
    TOGETHER = "a row's elements lie together, as in the columns of shaped fields"
    PLANES = "an element of all rows lies together, as in split fields"


Kind = tuple[str, Shape, ElementOrder]
"""Scalar type, shape and layout of a value, as memory for it must have them."""


def kind_of(type_: Type) -> Kind:
    """Return the kind of values that are computed for each row, or for each pair."""
    return type_.scalar, type_.shape, ElementOrder.PLANES if type_.shape else ElementOrder.ROWS


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """Value in generated code."""

    text: str
    scalar: str
    shape: Shape
    layout: ElementOrder
    slot: ArrayValue | None = None  # the working memory that it is in, if nothing else needs it
    is_literal: bool = False  # a Python number, which takes the type of what it meets

    @property
    def kind(self) -> Kind:
        return self.scalar, self.shape, self.layout

    @property
    def is_uniform(self) -> bool:
        return self.layout is ElementOrder.UNIFORM

    @property
    def held(self) -> ArrayValue:
        """This value without its slot, which reading does not release."""
        return replace(self, slot=None)

    def is_free_for(self, kind: Kind) -> bool:
        """Check that a result of that kind may take the memory of this value."""
        slot = self.slot
        return slot is not None and slot.text == self.text and slot.kind == kind

    def element(self, *index: int) -> str:
        """Return the expression for an element."""
        return f"{self.text}[{', '.join(map(str, index))}]"

    def part(self, index: Shape) -> ArrayValue:
        """Return an element, or the part of a value at its first indices."""
        shape = self.shape[len(index) :]
        layout = ElementOrder.PLANES if shape else ElementOrder.ROWS
        layout = self.layout if self.is_uniform else layout
        return ArrayValue(self.element(*index), self.scalar, shape, layout, self.slot)


@dataclass(slots=True)
class ScratchPool:
    """Pool of working memory: released slots are used for later values of their kind."""

    prefix: str = "_tmp"
    slots: list[ArrayValue] = field(default_factory=list)
    """Arrays of the shape `(*shape, rows)` in each block."""
    _free: list[ArrayValue] = field(default_factory=list)
    _unnamed: int = 0

    def acquire(self, kind: Kind) -> ArrayValue:
        """Return memory for a value until it is released."""
        memory = next((slot for slot in self._free if slot.kind == kind), None)
        if memory is not None:
            self._free.remove(memory)
        else:
            self._unnamed += 1
            number = self._unnamed if self._unnamed > 1 else ""
            memory = self.named(ArrayValue(f"{self.prefix}{number}", *kind))
        return replace(memory, slot=memory)

    def named(self, slot: ArrayValue) -> ArrayValue:
        """Return memory for all of a kernel; an earlier one in the pass may have used it."""
        if slot not in self.slots:
            self.slots.append(slot)
        return slot

    def allocations(self, size: str) -> list[str]:
        """Return the statements that make all slots for `size` rows."""
        return [
            f"{slot.text} = np.empty(({', '.join([*map(str, slot.shape), size])},),"
            f" {SCALARS[slot.scalar].numpy})"
            for slot in self.slots
        ]

    def release(self, *values: ArrayValue) -> None:
        """Return the memory of values to the pool."""
        for value in values:
            if value.slot is not None and value.slot not in self._free:
                self._free.append(value.slot)


_NUMBER: Final = re.compile(r"(-?)(\d+)(\.\d+)?(e[+-]?\d+)?")
_EXACT: Final = 2**53
"""Bound up to which every integer is a float."""
_LARGEST: Final = {
    "f32": float.fromhex("0x1.fffffep127"),
    "f64": float.fromhex("0x1.fffffffffffffp1023"),
}


class Constants:
    """Numbers of one method as constants of the module: arrays, which numpy takes at once.

    numpy has to convert a Python number first, which takes longer than a ufunc over 100 rows.
    """

    def __init__(self, end: str = "") -> None:
        """Begin without constants; `end`: suffix of all names."""
        self._made: dict[str, str] = {}
        self._end = end

    @property
    def lines(self) -> list[str]:
        """Statements that define the constants."""
        return list(self._made.values())

    def operand_texts(self, operands: list[ArrayValue]) -> list[str]:
        """Return the operands of a ufunc as texts.

        Literals become arrays of the other operands' type, if that is one and has the number."""
        scalars = {operand.scalar for operand in operands if not operand.is_literal}
        if len(scalars) > 1:
            return [operand.text for operand in operands]
        (scalar,) = scalars
        return [self._name(o.text, scalar) if o.is_literal else o.text for o in operands]

    def _name(self, text: str, scalar: str) -> str:
        """Return the name of a constant, or the number if the type does not have it."""
        if not _has_number(scalar, text):
            return text
        # no field or argument begins with a digit, as these names do
        sign = "_negative" if text.startswith("-") else ""
        digits = re.sub(r"\W", "_", text.strip("-").replace("e-", "e_minus_").replace("e+", "e"))
        array = call("np.array", [text, SCALARS[scalar].numpy], 0)
        return self.named(f"_{digits}{sign}_{scalar}", array)

    def named(self, name: str, array: str) -> str:
        """Define a constant for an array, and return its name."""
        name += self._end
        self._made[name] = f"{name}: Final = {array}"
        return name


def _has_number(scalar: str, text: str) -> bool:
    """Check that a type has a number, so that numpy would convert it to the same value."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return False
    if match[3] or match[4]:
        return scalar in FLOATS and abs(float(text)) <= _LARGEST[scalar]
    if scalar in FLOATS:
        return abs(int(text)) <= _EXACT
    return scalar in INTEGERS and SCALARS[scalar].range[0] <= int(text) <= SCALARS[scalar].range[1]


@dataclass(slots=True)
class Views:
    """Views of the fields of several components, each with a name that is not `taken`."""

    components: Mapping[str, Component]
    """Components by name, or under `OWN` alone the component that has the kernel."""
    managers: ManagerExpressions
    taken: set[str]
    seen: dict[FieldValue, ArrayValue] = field(default_factory=dict)

    def value(self, field: FieldValue) -> ArrayValue:
        """Return the view that a block has, under a name of its own."""
        if field not in self.seen:
            component = self._component(field)
            of_others = {OWN: "", PARENT: "_parent_"}
            prefix = f"{of_others.get(field.owner, f'{component.module}_')}{field.name}"
            names = (prefix, *(f"{prefix}_{number}" for number in range(2, 1000)))
            name = next(name for name in names if name not in self.taken)
            self.taken.add(name)
            kind = column_kind(component, field.name, field.type)
            self.seen[field] = ArrayValue(add_placeholder(name), *kind)
        return self.seen[field]

    def column(self, field: FieldValue, rows: str = "", is_kept: bool = True) -> str:
        """Return the expression for a whole column, or its first rows, where blocks are made.

        `is_kept`: the blocks are kept, and so made by a method of the columns."""
        component = self._component(field)
        if self.managers.is_world or not is_kept:
            return other_column(self.managers, component.name, field, rows)
        return _column_view(component, field, "self", "_COLUMNS", rows)

    def _component(self, field: FieldValue) -> Component:
        return self.components[OWN if field.owner == PARENT else field.owner]


def cell_array(elements: tuple[bool | Number, ...], type_: Type) -> str:
    """Return the expression for one cell as an array `(*shape, 1)`."""
    array = call("np.array", [literal(elements), SCALARS[type_.scalar].numpy], 0)
    return f"{array}.reshape({literal((*type_.shape, 1))[1:-1]})"


def column_kind(component: Component, name: str, type_: Type) -> Kind:
    """Return how the cells of a field lie in its column."""
    kind = kind_of(type_)
    if type_.shape and not field_of(component, name).split:
        return *kind[:2], ElementOrder.TOGETHER
    return kind


def other_column(
    managers: ManagerExpressions, component: str, field: FieldValue | FieldOfRow, rows: str = ""
) -> str:
    """Return the expression for a column of another manager, or its first rows."""
    holder, columns = managers.data(component), f"{managers.manager(component)}.LAYOUT"
    return _column_view(managers.components[component], field, holder, columns, rows)


def _column_view(
    component: Component, field: FieldValue | FieldOfRow, holder: str, columns: str, rows: str
) -> str:
    declared, shape = field_of(component, field.name), field.type.shape
    if declared.split and shape:
        names = [column.name for column in lay_out_component(component).columns]
        first = names.index(field_columns(declared)[0].name)
        arguments = f"{holder}._buffer, {columns}[{first}], {holder}._allocated, {literal(shape)}"
        planes = f"planes({arguments})"
        return f"{planes}[..., :{rows}]" if rows else planes
    column = f"{holder}._{field.name}_column{f'[:{rows}]' if rows else ''}"
    if field.type.is_time:
        return f"{column}.view(np.int64)"
    return f"rows_last({column})" if shape else column
