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
"""What memory must have to hold a value: its scalar type, shape and layout."""


def kind_of(type_: Type) -> Kind:
    """What is made for each row, or for each pair, has."""
    return type_.scalar, type_.shape, ElementOrder.PLANES if type_.shape else ElementOrder.ROWS


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """A value that the generated code has at hand."""

    text: str
    scalar: str
    shape: Shape
    layout: ElementOrder
    slot: ArrayValue | None = None  # the working memory that it lives in, if nobody else needs it
    is_literal: bool = False  # a Python number, which takes the type of what it meets

    @property
    def kind(self) -> Kind:
        return self.scalar, self.shape, self.layout

    @property
    def is_uniform(self) -> bool:
        return self.layout is ElementOrder.UNIFORM

    @property
    def held(self) -> ArrayValue:
        """The same value, which is not used up by reading it."""
        return replace(self, slot=None)

    def is_free_for(self, kind: Kind) -> bool:
        """Whether a result of that kind may take the place of this value."""
        slot = self.slot
        return slot is not None and slot.text == self.text and slot.kind == kind

    def element(self, *index: int) -> str:
        """The expression for an element."""
        return f"{self.text}[{', '.join(map(str, index))}]"

    def part(self, index: Shape) -> ArrayValue:
        """An element, or what is left of the shape behind a few indices."""
        shape = self.shape[len(index) :]
        layout = ElementOrder.PLANES if shape else ElementOrder.ROWS
        layout = self.layout if self.is_uniform else layout
        return ArrayValue(self.element(*index), self.scalar, shape, layout, self.slot)


@dataclass(slots=True)
class ScratchPool:
    """Gives out working memory, and takes it back for the next that fits."""

    prefix: str = "_tmp"
    slots: list[ArrayValue] = field(default_factory=list)
    """What there is: arrays of the shape (*shape, rows) in each block."""
    _free: list[ArrayValue] = field(default_factory=list)
    _unnamed: int = 0

    def acquire(self, kind: Kind) -> ArrayValue:
        """Memory for a value until it is given back."""
        found = next((slot for slot in self._free if slot.kind == kind), None)
        if found is not None:
            self._free.remove(found)
        else:
            self._unnamed += 1
            number = self._unnamed if self._unnamed > 1 else ""
            found = self.named(ArrayValue(f"{self.prefix}{number}", *kind))
        return replace(found, slot=found)

    def named(self, slot: ArrayValue) -> ArrayValue:
        """Memory for as long as the kernel runs, which one before it in a pass may have used."""
        if slot not in self.slots:
            self.slots.append(slot)
        return slot

    def release(self, *values: ArrayValue) -> None:
        """Let the memory of values be used again."""
        for value in values:
            if value.slot is not None and value.slot not in self._free:
                self._free.append(value.slot)


_NUMBER: Final = re.compile(r"(-?)(\d+)(\.\d+)?(e[+-]?\d+)?")
_EXACT: Final = 2**53
"""Up to here every integer is a float."""
_LARGEST: Final = {
    "f32": float.fromhex("0x1.fffffep127"),
    "f64": float.fromhex("0x1.fffffffffffffp1023"),
}


class Constants:
    """Numbers of one method as constants of the module: arrays, which numpy takes at once.

    It has to look at a Python number first, and with a hundred rows that takes longer than all
    else.
    """

    def __init__(self, end: str = "") -> None:
        """`end`: with what all names end."""
        self._made: dict[str, str] = {}
        self._end = end

    @property
    def lines(self) -> list[str]:
        """The statements that make them."""
        return list(self._made.values())

    def spelled(self, operands: list[ArrayValue]) -> list[str]:
        """Return the operands of a ufunc as texts: literals as arrays of the others' type, if these
        have one type that has that number."""
        scalars = {operand.scalar for operand in operands if not operand.is_literal}
        if len(scalars) > 1:
            return [operand.text for operand in operands]
        (scalar,) = scalars
        return [self._name(one.text, scalar) if one.is_literal else one.text for one in operands]

    def _name(self, text: str, scalar: str) -> str:
        """Return the name of a constant, or the number if the type does not have it. No field or
        argument begins with a digit."""
        if not _has_number(scalar, text):
            return text
        sign = "_negative" if text.startswith("-") else ""
        digits = re.sub(r"\W", "_", text.strip("-").replace("e-", "e_minus_").replace("e+", "e"))
        array = call("np.array", [text, SCALARS[scalar].numpy], 0)
        return self.named(f"_{digits}{sign}_{scalar}", array)

    def named(self, name: str, array: str) -> str:
        """Have an array under a name."""
        name += self._end
        self._made[name] = f"{name}: Final = {array}"
        return name


def _has_number(scalar: str, text: str) -> bool:
    """Whether a type has a number, which numpy finds to be the same as it would by itself."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    if found[3] or found[4]:
        return scalar in FLOATS and abs(float(text)) <= _LARGEST[scalar]
    if scalar in FLOATS:
        return abs(int(text)) <= _EXACT
    return scalar in INTEGERS and SCALARS[scalar].range[0] <= int(text) <= SCALARS[scalar].range[1]


@dataclass(slots=True)
class Views:
    """How the fields of several components are seen, each with a name that is not `taken`."""

    components: Mapping[str, Component]
    """By their names, or only `OWN`: that whose kernel it is."""
    managers: ManagerExpressions
    taken: set[str]
    seen: dict[FieldValue, ArrayValue] = field(default_factory=dict)

    def value(self, field: FieldValue) -> ArrayValue:
        """The view that a block has, with a name of its own."""
        if field not in self.seen:
            component = self._component(field)
            of_others = {OWN: "", PARENT: "_parent_"}
            stem = f"{of_others.get(field.owner, f'{component.module}_')}{field.name}"
            names = (stem, *(f"{stem}_{number}" for number in range(2, 1000)))
            name = next(name for name in names if name not in self.taken)
            self.taken.add(name)
            kind = column_kind(component, field.name, field.type)
            self.seen[field] = ArrayValue(add_placeholder(name), *kind)
        return self.seen[field]

    def column(self, field: FieldValue, rows: str = "", is_kept: bool = True) -> str:
        """The expression for the view of a whole column, or of its first rows, where blocks are
        made; `is_kept`: these are kept, and so made by another method."""
        component = self._component(field)
        if self.managers.is_world or not is_kept:
            return other_column(self.managers, component.name, field, rows)
        return _column_view(component, field, "self", "_COLUMNS", rows)

    def _component(self, field: FieldValue) -> Component:
        return self.components[OWN if field.owner == PARENT else field.owner]


def cell_array(elements: tuple[bool | Number, ...], type_: Type) -> str:
    """The expression for one cell as an array with an axis for the rows."""
    array = call("np.array", [literal(elements), SCALARS[type_.scalar].numpy], 0)
    return f"{array}.reshape({literal((*type_.shape, 1))[1:-1]})"


def column_kind(component: Component, name: str, type_: Type) -> Kind:
    """How the cells of a field lie in its column."""
    kind = kind_of(type_)
    if type_.shape and not field_of(component, name).split:
        return *kind[:2], ElementOrder.TOGETHER
    return kind


def other_column(
    managers: ManagerExpressions, component: str, field: FieldValue | FieldOfRow, rows: str = ""
) -> str:
    """The expression for a column, or its first rows, of a manager that the method asks."""
    holder, columns = managers.data(component), f"{managers.manager(component)}.LAYOUT"
    return _column_view(managers.components[component], field, holder, columns, rows)


def _column_view(
    component: Component, field: FieldValue | FieldOfRow, holder: str, columns: str, rows: str
) -> str:
    """The same; `holder` has the buffer, `columns` the layout."""
    found, shape = field_of(component, field.name), field.type.shape
    if found.split and shape:
        names = [column.name for column in lay_out_component(component).columns]
        first = names.index(field_columns(found)[0].name)
        given = f"{holder}._buffer, {columns}[{first}], {holder}._allocated, {literal(shape)}"
        whole = f"planes({given})"
        return f"{whole}[..., :{rows}]" if rows else whole
    column = f"{holder}._{field.name}_column{f'[:{rows}]' if rows else ''}"
    return f"rows_last({column})" if shape else column
