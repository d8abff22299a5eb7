"""Columns as parameters of a loop's function, and where the cells of a row are in them: of its own
rows, of those that handles lead to, of neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Field
from ecsgen.model.columns import split_parts
from ecsgen.model.programs import FieldValue
from ecsgen.model.scalars import SCALARS
from ecsgen.model.types import Type
from ecsgen.render.loops.code import Code, Names
from ecsgen.render.loops.values import Place, Value


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function, and what the method passes for it."""

    name: str
    annotation: str
    passed: str

    @property
    def declared(self) -> str:
        return f"{self.name}: {self.annotation}"


@dataclass(frozen=True, slots=True)
class Cells:
    """What a parameter has for every row: the only or one of several columns of a field."""

    field: FieldValue
    part: int
    elements: int
    """How many of its elements make a row."""


class Columns:
    """The arrays that a function is given, each in order of its first use."""

    def __init__(self, names: Names, is_plain: bool) -> None:
        self.own: dict[str, Parameter] = {}
        """Those of its own rows, by what the method passes."""
        self.cells: dict[str, Cells] = {}
        """What those of them have that have something for every row; by what the method passes."""
        self.found: dict[str, Parameter] = {}
        """Those of other rows, and whatever these are found by."""
        self._names = names
        self._is_plain = is_plain

    def array(self, name: str, scalar: str, passed: str) -> str:
        """The parameter for a column of the function's own rows."""
        if passed not in self.own:
            made = Parameter(self._names.claim(name), array_type(scalar), passed)
            self.own[passed] = made
        return self.own[passed].name

    def parameter(self, name: str, annotation: str, passed: str) -> str:
        """The parameter for something else."""
        if passed not in self.found:
            self.found[passed] = Parameter(self._names.kept(name), annotation, passed)
        return self.found[passed].name

    def other_array(self, name: str, scalar: str, passed: str) -> str:
        """The parameter for an array of something else."""
        return self.parameter(name, array_type(scalar), passed)

    # --- the columns of a field ------------------------------------------------------------------

    def own_arrays(self, node: FieldValue, field: Field, prefix: str, holder: str) -> list[str]:
        """The parameters of a field of the function's rows: several if its elements are split."""
        found, elements = [], elements_of(field, node.type)
        for place, (name, passed) in enumerate(self._passed(field, node.type, holder)):
            self.cells.setdefault(passed, Cells(node, place, elements))
            found.append(self.array(prefix + name, node.type.scalar, passed))
        return found

    def found_arrays(
        self, field: Field, type_: Type, stem: str, holder: str, before: bool
    ) -> list[str]:
        """The same of rows that are found; `before`: copies from before the kernel."""
        found, elements = [], elements_of(field, type_)
        count = f"{elements} * {holder}._n" if elements > 1 else f"{holder}._n"
        for name, passed in self._passed(field, type_, holder):
            name = f"{stem}_{name}"
            if before:
                name, passed = f"{name}_before", f"{passed}[: {count}].copy()"
            found.append(self.other_array(name, type_.scalar, passed))
        return found

    def _passed(self, field: Field, type_: Type, holder: str) -> list[tuple[str, str]]:
        """The columns of a field: their names, and the expressions for them, shapes flat."""
        if field.split:
            return [(one.name, f"{holder}._{one.name}_column") for one in split_parts(field)]
        flat = "column.reshape(-1)" if self._is_plain else "flat"
        return [(field.name, f"{holder}._{field.name}_{flat if type_.shape else 'column'}")]


def array_type(scalar: str) -> str:
    """The annotation of an array."""
    return f"NDArray[{SCALARS[scalar].numpy}]"


def elements_of(field: Field, type_: Type) -> int:
    """How many elements of a column of a field make a row."""
    return 1 if field.split else type_.elements


def cells_of(arrays: list[str], type_: Type, row: str, start: str) -> Value:
    """What a row has in the columns of a field; `start`: where its elements begin."""
    if len(arrays) > 1:
        return Value(type_, lambda place: Code(f"{arrays[int(place)]}[{row}]"), True)
    (array,) = arrays
    if not type_.shape:
        return Value(type_, lambda place: Code(f"{array}[{row}]"))
    return Value(type_, lambda place: Code(f"{array}[{sum_text(start, place)}]"))


def sum_text(start: str, place: Place) -> str:
    """The index of an element, counted from the first one of its row."""
    return start if place == 0 else f"{start} + {place}"
