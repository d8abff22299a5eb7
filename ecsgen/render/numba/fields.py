"""Fields as parameters of a compiled function: one flat array per column, and where a row is in it."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.columns import split_parts
from ecsgen.kernels.tree import PARENT, FieldValue
from ecsgen.kernels.types import Type
from ecsgen.model import Component, Default, Field
from ecsgen.render.cold import is_indirect
from ecsgen.render.numba.code import Code, Names, number
from ecsgen.render.numba.values import UNROLLED, Emitter, Place, Value
from ecsgen.render.spelling import NUMPY


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function, and what the method passes for it."""

    name: str
    annotation: str
    passed: str

    @property
    def declared(self) -> str:
        return f"{self.name}: {self.annotation}"


class Fields:
    """The columns that a function works on, in order of their first use."""

    def __init__(self, component: Component, names: Names, is_flat: bool) -> None:
        self.component = component
        self.is_flat = is_flat
        self.row = names.take("i", "_i")
        self.parameters: dict[str, Parameter] = {}  # by what the method passes
        self.constants: dict[str, Default] = {}
        self.preamble: list[str] = []
        """Statements at the beginning of each row."""
        self._names = names
        self._fields = {one.name: one for one in component.fields}
        self._starts: dict[tuple[str, int], str] = {}
        self._loaded: dict[FieldValue, Value] = {}
        self._places: dict[tuple[str, bool], str] = {}

    def value(self, emit: Emitter, node: FieldValue) -> Value:
        """The elements of a field of this row or of its parent."""
        found = self._fields[node.name]
        if node.owner == PARENT or is_indirect(self.component, found):
            if node not in self._loaded:
                self._loaded[node] = self._guarded(emit, node, found)
            return self._loaded[node]
        value = self._elements(node.type, found, self.row)
        if found.split and emit.count(node.type) > UNROLLED:
            return emit.in_memory(value, f"{node.name}_parts")
        return value

    def _array(self, name: str, scalar: str, passed: str) -> str:
        """The parameter for a column."""
        if passed not in self.parameters:
            annotation = f"NDArray[{NUMPY[scalar]}]"
            self.parameters[passed] = Parameter(self._names.claim(name), annotation, passed)
        return self.parameters[passed].name

    def _elements(self, type_: Type, found: Field, row: str) -> Value:
        if found.split:
            arrays = [
                self._array(part.name, type_.scalar, f"data._{part.name}_column")
                for part in split_parts(found)
            ]
            return Value(type_, lambda place: Code(f"{arrays[int(place)]}[{row}]"), True)
        if not type_.shape:
            array = self._array(found.name, type_.scalar, f"data._{found.name}_column")
            return Value(type_, lambda place: Code(f"{array}[{row}]"))
        array = self._array(found.name, type_.scalar, f"data._{found.name}_flat")
        if self.is_flat:
            return Value(type_, lambda place: Code(f"{array}[{row}]"))
        start = self.start(row, type_.elements)
        return Value(type_, lambda place: Code(f"{array}[{_sum(start, place)}]"))

    def start(self, row: str, elements: int) -> str:
        """The variable that says where a row of so many elements begins."""
        if (row, elements) not in self._starts:
            wishes = ("j", f"j{elements}") if row == self.row else ("q", f"q{elements}")
            self._starts[row, elements] = name = self._names.take(*wishes)
            self.preamble.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    # --- rows that may be absent: a root's parent, cold rows -----------------------------------

    def _guarded(self, emit: Emitter, node: FieldValue, found: Field) -> Value:
        """Elements that are read once, at the beginning of a row: the default where there is none.

        A kernel never writes them.
        """
        cold = is_indirect(self.component, found)
        place = self._place(node.owner == PARENT, cold)
        there = self._cold(node.type, found, place) if cold else self._elements(node.type, found, place)
        default = self._default(node.type, found, node.owner == PARENT)
        count = emit.count(node.type)
        name = self._names.take(f"{node.owner or 'cold'}_{node.name}")
        if count > UNROLLED:
            emit.arrays.append(f"{name} = np.empty({count}, {NUMPY[node.type.scalar]})")
            held = Value(node.type, lambda place: Code(f"{name}[{place}]"))
        elif count == 1 and not node.type.shape:
            held = Value(node.type, lambda place: Code(name))
        else:
            parts = [self._names.take(f"{name}_{k}") for k in range(count)]
            held = Value(node.type, lambda place: Code(parts[int(place)]))
        lines = emit.captured(
            lambda: emit.either(f"{place} == NIL", (default, held), (there, held))
        )
        self.preamble += lines
        return held

    def _place(self, is_parent: bool, is_cold: bool) -> str:
        """The variable with the row of the parent, or the cold row; NIL for none."""
        key = (PARENT if is_parent else "", is_cold)
        if key in self._places:
            return self._places[key]
        if not is_cold:
            array = self._array("parent", "u32", "data._parent_column")
            name = self._names.take("p", "_p")
            line = f"{name} = np.intp({array}[{self.row}])"
        else:
            array = self._array("cold_row", "u32", "data._cold_row_column")
            name = self._names.take("pc" if is_parent else "c", "_c")
            line = f"{name} = np.intp({array}[{self.row}])"
            if is_parent:
                parent = self._place(True, False)
                line = f"{name} = NIL if {parent} == NIL else np.intp({array}[{parent}])"
        self._places[key] = name
        self.preamble.append(line)
        return name

    def _cold(self, type_: Type, found: Field, place: str) -> Value:
        """The elements of a field in the second buffer."""
        if found.split:
            arrays = [
                self._array(part.name, type_.scalar, f"data._cold._{part.name}_column")
                for part in split_parts(found)
            ]
            return Value(type_, lambda k: Code(f"{arrays[int(k)]}[{place}]"), True)
        array = self._array(found.name, type_.scalar, f"data._cold._{found.name}_column")
        if not type_.shape:
            return Value(type_, lambda k: Code(f"{array}[{place}]"))
        if len(type_.shape) == 1:
            return Value(type_, lambda k: Code(f"{array}[{place}, {k}]"))
        return Value(type_, lambda k: Code(f"{array}[{place}].flat[{k}]"))

    def _default(self, type_: Type, found: Field, is_parent: bool) -> Value:
        scalars = root_default(found) if is_parent else flat(found.default)
        numbers = [number(one, type_.scalar) for one in scalars]
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda k: numbers[int(k)])
        constant = f"{found.name.upper()}_{'ROOT' if is_parent else 'COLD'}_DEFAULT"
        array = self._array(f"{found.name}_default", type_.scalar, constant)
        self.constants[constant] = tuple(scalars)
        return Value(type_, lambda k: Code(f"{array}[{k}]"))


def flat(value: Default) -> list[bool | int | float]:
    """The scalars of a nested default, in C order."""
    if isinstance(value, tuple):
        return [scalar for item in value for scalar in flat(item)]
    assert not isinstance(value, str | bytes)
    return [0 if value is None else value]


def root_default(found: Field) -> list[bool | int | float]:
    """What a root reads as its parent's: the default, or the identity of square matrices."""
    scalars, shape = flat(found.default), found.type.shape
    if len(shape) == 2 and shape[0] == shape[1] and not any(scalars):
        return [int(row == column) for row in range(shape[0]) for column in range(shape[0])]
    return scalars


def _sum(start: str, place: Place) -> str:
    return start if place == 0 else f"{start} + {place}"
