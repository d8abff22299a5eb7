"""Fields as parameters of a compiled function: an array per column, and where a row is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ecsgen.model import Component, Field
from ecsgen.model.columns import KEPT_FIELDS, split_parts
from ecsgen.model.programs import PARENT, FieldValue, Program
from ecsgen.model.scalars import SCALARS
from ecsgen.model.types import Number, Type
from ecsgen.render.numba.code import Code, Names, number
from ecsgen.render.numba.values import UNROLLED, Emitter, Place, Value


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function, and what the method passes for it."""

    name: str
    annotation: str
    passed: str

    @property
    def is_flat(self) -> bool:
        """Whether it is a column of shapes, element after element."""
        return self.passed.endswith("_flat")

    @property
    def declared(self) -> str:
        return f"{self.name}: {self.annotation}"


class Origin(Protocol):
    """Where the fields of a program are."""

    def field(self, node: FieldValue) -> Field:
        """The field as its component has it."""
        ...

    def prefix(self, node: FieldValue) -> str:
        """What stands before the field's name in that of a parameter."""
        ...

    def holder(self, node: FieldValue) -> str:
        """The expression for what has the columns."""
        ...


class OneComponent:
    """The fields of the one component that a manager is for."""

    def __init__(self, component: Component) -> None:
        self._fields = KEPT_FIELDS | {one.name: one for one in component.fields}

    def field(self, node: FieldValue) -> Field:
        return self._fields[node.name]

    def prefix(self, node: FieldValue) -> str:
        return ""

    def holder(self, node: FieldValue) -> str:
        return "data"


class Fields:
    """The columns that a function works on, in order of their first use."""

    def __init__(self, origin: Origin, program: Program, names: Names, is_flat: bool) -> None:
        self.is_flat = is_flat
        self.row = names.take("i", "_i")
        self.parameters: dict[str, Parameter] = {}  # by what the method passes
        self.constants: dict[str, tuple[str, tuple[bool | Number, ...]]] = {}
        """Large values above roots, which are arrays: scalar type and elements."""
        self.columns: dict[str, tuple[FieldValue, int]] = {}
        """The field of each parameter with something for every row, and how many of its elements
        make a row; by what the method passes."""
        self.preamble: list[str] = []
        """Statements at the beginning of each row."""
        self._names = names
        self._above_roots = dict(program.above_roots)
        self._origin = origin
        self._starts: dict[tuple[str, int], str] = {}
        self._loaded: dict[FieldValue, Value] = {}
        self._parent_row = ""

    def value(self, emit: Emitter, node: FieldValue) -> Value:
        """The elements of a field of this row or of its parent."""
        if node.owner == PARENT:
            if node not in self._loaded:
                self._loaded[node] = self._of_parent(emit, node)
            return self._loaded[node]
        return self._elements(node, self.row_of(node))

    def row_of(self, node: FieldValue) -> str:
        """The variable with the row of a field that is not the parent's."""
        return self.row

    def array(self, name: str, scalar: str, passed: str) -> str:
        """The parameter for a column."""
        if passed not in self.parameters:
            annotation = f"NDArray[{SCALARS[scalar].numpy}]"
            self.parameters[passed] = Parameter(self._names.claim(name), annotation, passed)
        return self.parameters[passed].name

    def _elements(self, node: FieldValue, row: str) -> Value:
        type_, found = node.type, self._origin.field(node)
        before, columns = self._origin.prefix(node), f"{self._origin.holder(node)}._"
        name = before + found.name
        if found.split:
            parts = [f"{columns}{part.name}_column" for part in split_parts(found)]
            self.columns |= dict.fromkeys(parts, (node, 1))
            arrays = [
                self.array(before + part.name, type_.scalar, passed)
                for part, passed in zip(split_parts(found), parts, strict=True)
            ]
            return Value(type_, lambda place: Code(f"{arrays[int(place)]}[{row}]"), True)
        passed = f"{columns}{found.name}_{'flat' if type_.shape else 'column'}"
        self.columns[passed] = node, type_.elements
        array = self.array(name, type_.scalar, passed)
        if not type_.shape:
            return Value(type_, lambda place: Code(f"{array}[{row}]"))
        if self.is_flat:
            return Value(type_, lambda place: Code(f"{array}[{row}]"))
        start = self.start(row, type_.elements)
        return Value(type_, lambda place: Code(f"{array}[{sum_text(start, place)}]"))

    def passed_columns(self, node: FieldValue) -> list[tuple[str, int, str]]:
        """The parameters of a field's columns, how many elements of each make a row, and their
        type."""
        type_, found = node.type, self._origin.field(node)
        before, columns = self._origin.prefix(node), f"{self._origin.holder(node)}._"
        if found.split:
            names = [(part.name, f"{part.name}_column", 1) for part in split_parts(found)]
        elif type_.shape:
            names = [(found.name, f"{found.name}_flat", type_.elements)]
        else:
            names = [(found.name, f"{found.name}_column", 1)]
        return [
            (self.array(before + name, type_.scalar, f"{columns}{passed}"), count, type_.scalar)
            for name, passed, count in names
        ]

    def of_each(self, name: str, type_: Type) -> Value:
        """The elements of an argument that has a value for each row, one behind the other."""
        if self.is_flat or not type_.shape:
            return Value(type_, lambda place: Code(f"{name}[{self.row}]"))
        start = self.start(self.row, type_.elements)
        return Value(type_, lambda place: Code(f"{name}[{sum_text(start, place)}]"))

    def start(self, row: str, elements: int) -> str:
        """The variable that says where a row of so many elements begins."""
        if (row, elements) not in self._starts:
            letter = self._letter(row)
            self._starts[row, elements] = name = self._names.take(letter, f"{letter}{elements}")
            self.preamble.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    def _letter(self, row: str) -> str:
        """What the places of a row's elements are called."""
        return "j" if row == self.row else "q"

    # --- the parent's row ----------------------------------------------------------------------

    def _of_parent(self, emit: Emitter, node: FieldValue) -> Value:
        """Elements that are read at the beginning of a row: the default for a root's parent.

        A kernel never writes them.
        """
        there = self._elements(node, self._parent())
        above = self._above_root(node.type, node.name)
        held = emit.variables(node.type, f"parent_{node.name}")

        def write() -> None:
            with emit.block(f"if {self._parent()} == NIL"):
                emit.store(above, held)
            with emit.block("else"):
                emit.store(there, held)

        self.preamble += emit.captured(write)
        return held

    def _parent(self) -> str:
        """The variable with the parent's row."""
        if not self._parent_row:
            array = self.array("parent", "u32", "data._parent_column")
            self._parent_row = self._names.take("p", "_p")
            self.preamble.append(f"{self._parent_row} = np.intp({array}[{self.row}])")
        return self._parent_row

    def _above_root(self, type_: Type, name: str) -> Value:
        """What a root reads as its parent's."""
        elements = self._above_roots[name]
        numbers = [number(one, type_.scalar) for one in elements]
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda place: numbers[int(place)])
        constant = f"_{name.upper()}_ABOVE_ROOTS"
        array = self.array(f"above_roots_{name}", type_.scalar, constant)
        self.constants[constant] = type_.scalar, elements
        return Value(type_, lambda place: Code(f"{array}[{place}]"))


def sum_text(start: str, place: Place) -> str:
    """The index of an element, counted from the first one of its row."""
    return start if place == 0 else f"{start} + {place}"
