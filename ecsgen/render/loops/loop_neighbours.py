"""Neighbours in loops: whom a row asks, how those in reach are listed, what they have, as all was
before the kernel, or as it is now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_operations import MIRRORED
from ecsgen.render.loops.element_values import UNROLLED, Value, plus, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, make_call_code

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody

_PARTS: Final = {
    **dict.fromkeys(("order", "cells", "runs", "low", "high"), "NDArray[np.uint32]"),
    "crosses": "NDArray[np.bool_]",
    "most": "int",
    "own": "NDArray[{}]",
    "others": "NDArray[{}]",
    "reach": "{}",
    "sizes": "NDArray[{}]",
}
"""What `NeighbourCells` has, and of which types, some of which are that of places."""


class NeighbourAccess(ABC):
    """The way to a neighbour, and what it has: names in the function."""

    is_python = False
    """Whether lists are Python's own, made for each row."""
    ways = ""
    """The array that tells the way to each in the list, if there is one."""
    at = ""
    """Which of the list the neighbour is, if so."""

    def __init__(self, asked: NeighbourJoin, frame: FunctionBuilder) -> None:
        self.join = asked
        self.members: dict[str, Parameter] = {}
        """The rows of those who may be asked in each component."""
        self._frame = frame
        self.kept = kept = frame.names.reserve
        self.declared, self.zero = frame.declared, frame.zero
        on, place = asked.near.on, asked.near.position.type
        self.scalar, self.axes = ("i64", on.axes) if on else (place.scalar, place.shape[0])
        """The scalar type and the number of axes of the way to a neighbour."""
        self.parameters: dict[str, Parameter] = {}
        """What the function is given."""
        self.place = kept("o")
        """Which of all that may be asked the neighbour is."""
        self.found, self.count = kept("found"), kept("count")
        """The places of all that are in reach, and how many they are."""
        self.offsets = [kept(f"d{one}") for one in "xyz"[: self.axes]]
        """The way to the neighbour, along each axis."""

    @property
    def square(self) -> str:
        """The expression for `dot(offset, offset)`."""
        return " + ".join(f"{one} * {one}" for one in self.offsets)

    def add_parameter(self, name: str, annotation: str, passed: str) -> str:
        """The parameter that says something."""
        return self._frame.parameter(name, annotation, passed, self.parameters)

    def neighbour_value(self, node: tree.NeighbourField | tree.Offset | tree.Distance) -> Value:
        """The elements of what a neighbour is or has."""
        if isinstance(node, tree.Offset):
            return Value(node.type, lambda place: Code(self.offsets[int(place)]))
        if isinstance(node, tree.Distance):
            return self._distance(node.type)
        return self._has(node)

    def _distance(self, type_: Type) -> Value:
        return Value(type_, lambda place: make_call_code("np.sqrt", Code(self.square)))

    @abstractmethod
    def _has(self, node: tree.NeighbourField) -> Value:
        """What a neighbour has in a field."""

    def compared(self, node: tree.Operation, body: LoopBody) -> Value | None:
        """A comparison that is quicker in other words than its own."""
        return None

    def setup(self) -> list[str]:
        """The statements before the loop, once all of it is written."""
        return []

    def list_lines(self, body: LoopBody) -> list[str]:
        """The statements that list those in reach of the row."""
        return []

    def owner_met(self, value: tree.Expression) -> str:
        """The component whose row a neighbour is, if the value is the entity that has it."""
        return ""

    def offset_lines(self, crosses: bool = True) -> list[str]:
        """The statements that find the way to a neighbour, the short one around if it may cross
        a border."""
        return []

    def _member(self, owner: str, which: str) -> str:
        """The expression for a member's row in a component."""
        asked = self.join
        if not asked.source.is_world:
            return which
        if owner not in self.members:
            name = self.kept(f"{asked.components[owner].module}_members")
            self.members[owner] = Parameter(name, "RowArray", asked.other_rows(owner))
        return f"{self.members[owner].name}[{which}]"


class SpaceNeighbours(NeighbourAccess):
    """Neighbours in a continuous space."""

    places: str
    """The variable with the places of all who may be asked."""

    def __init__(self, asked: NeighbourJoin, frame: FunctionBuilder) -> None:
        super().__init__(asked, frame)
        kept, letters = self.kept, "xyz"[: self.axes]
        self._starts = [kept(one) for one in letters]
        self._halves = [kept(f"half_{one}") for one in letters]
        self._sizes = [kept(f"size_{one}") for one in letters]
        self.cell, self.ranked, self._run = kept("c"), kept("k"), kept("r")

    def offset_lines(self, crosses: bool = True) -> list[str]:
        lines, axes = [], zip(self._starts, self.offsets, self._halves, self._sizes, strict=True)
        for axis, (start, apart, half, size) in enumerate(axes):
            lines.append(f"{apart} = {self.places}[{axis}, {self.place}] - {start}")
            if crosses:
                lines.append(f"if abs({apart}) > {half}:")
                lines.append(f"    {apart} = {apart} - {size} * np.rint({apart} / {size})")
        return lines

    def compared(self, node: tree.Operation, body: LoopBody) -> Value | None:
        """Of a distance with what is the same for all rows: its square, of which no root has to be
        drawn then, with the least one whose root is as far."""
        (one, other), sign = node.operands, node.name
        if not isinstance(one, tree.Distance):
            one, other, sign = other, one, MIRRORED.get(sign, "")
        is_fixed = isinstance(other, tree.Constant) or (
            isinstance(other, tree.Argument) and not other.each
        )
        if self._frame.is_plain or sign not in MIRRORED or one.type != other.type or not is_fixed:
            return None
        bound = body.value(other).at(0).text
        made = "square_of" if sign in ("<", ">=") else "square_within"
        name = f"{other.name}_square" if isinstance(other, tree.Argument) else "square"
        square = self._frame.hoist(name, f"{made}({bound})")
        own = Code(self.square, Precedence.SUM)
        return uniform(node.type, infix(sign, Precedence.COMPARISON, own, Code(square)))

    def _measured(self, sizes: str) -> list[str]:
        lines = []
        for axis, (size, half) in enumerate(zip(self._sizes, self._halves, strict=True)):
            lines += [f"{size} = {sizes}[0, {axis}]", f"{half} = {sizes}[1, {axis}]"]
        return lines


class FrozenNeighbours(SpaceNeighbours):
    """As everything was before the kernel: rows in the order of their cells, each with a list of
    those in reach, whose fields are copied in that order."""

    def __init__(self, asked: NeighbourJoin, frame: FunctionBuilder) -> None:
        super().__init__(asked, frame)
        wanted = {**_PARTS}
        if asked.source.is_world:
            wanted["members"] = "NDArray[np.uint32]"
        if asked.has_two_sources:  # those who ask are told from those who are asked
            wanted |= dict.fromkeys(("names", "other_names"), "EntityArray")
        dtype = SCALARS[self.scalar].numpy
        self.names = {
            name: self.add_parameter(name, text.format(dtype), f"_cells.{name}")
            for name, text in wanted.items()
        }
        self.places = self.names["others"]
        self._copies: dict[str, tuple[str, tree.NeighbourField, int]] = {}
        """By column: what it is called in the order of cells, what it is of, and elements of a
        row."""
        cell, cells = self.cell, self.names["cells"]
        self.heads = [
            f"for {cell} in range(len({cells}) - 1):",
            f"    for {self.ranked} in range({cells}[{cell}], {cells}[{cell} + 1]):",
        ]
        """The first lines of the loops: over cells, and over the rows of each; where somebody dies
        or is born, over rows in their order."""
        self.located: list[str] = []
        """The statements that find the cell of the row, where loops are over rows."""
        self._ordered: list[str] = []
        if frame.program.has_commands:
            self._follow_rows()

    def _follow_rows(self) -> None:
        """Let loops be over rows, which know their place in the order of cells, and their cell."""
        row, order = self._frame.row, self.names["order"]
        known = {self.ranked: self.kept("ranks"), self.cell: self.kept("homes")}
        made = (f"{array} = np.empty(len({order}), np.uint32)" for array in known.values())
        told = (f"        {array}[{self.number}] = {one}" for one, array in known.items())
        self._ordered = [*made, *self.heads, *told]
        self.heads = [f"for {row} in range(len({order})):"]
        self.located = [f"{one} = np.intp({array}[{row}])" for one, array in known.items()]

    @property
    def number(self) -> str:
        """The expression for the row of these loops."""
        return f"{self.names['order']}[{self.ranked}]"

    def _has(self, node: tree.NeighbourField) -> Value:
        arrays, place = self._frame.arrays(node), self.place
        elements = node.type.elements if len(arrays) == 1 else 1
        for one in arrays:
            if one not in self._copies:
                self._copies[one] = self.kept(f"other_{one}"), node, elements
        names = [self._copies[one][0] for one in arrays]
        if elements > 1:
            return Value(node.type, lambda p: Code(f"{names[0]}[{p}, {place}]"))
        return Value(node.type, lambda p: Code(f"{names[int(p)]}[{place}]"), len(names) > 1)

    def setup(self) -> list[str]:
        lines = self._measured(self.names["sizes"])
        lines.append(f"{self.found} = np.empty({self.names['most']} + 1, np.uint32)")
        copied = (line for one in self._copies for line in self._copied(one))
        return [*lines, *self._ordered, *copied]

    def _copied(self, array: str) -> list[str]:
        (name, node, elements), row, k = self._copies[array], self._frame.row, self.ranked
        members = self.names.get("members", self.names["order"])
        shape = f"len({members})" if elements == 1 else f"({elements}, len({members}))"
        head = [
            f"{name} = np.empty({shape}, {SCALARS[node.type.scalar].numpy})",
            f"for {k} in range(len({members})):",
            f"    {row} = {self._member(node.owner, f'{members}[{k}]')}",
        ]
        is_long = elements > UNROLLED
        each = [f"    for {self._run} in range({elements}):"] if is_long else []
        pad = "        " if each else "    "
        for place in [self._run] if is_long else range(elements):
            to = f"{k}" if elements == 1 else f"{place}, {k}"
            start = row if elements == 1 else plus(f"{elements} * {row}", place)
            each.append(f"{pad}{name}[{to}] = {array}[{start}]")
        return [*head, *each]

    @property
    def rows_around(self) -> list[str]:
        """The statements that list those in reach of a row, without a branch for each."""
        names, run, place, cell = self.names, self._run, self.place, self.cell
        runs, reach, is_other = names["runs"], names["reach"], f"{place} != {self.ranked}"
        if self.join.has_two_sources:
            is_other = f"{names['other_names']}[{place}] != {names['names']}[{self.ranked}]"

        def listed(crosses: bool) -> list[str]:
            return [
                f"    for {run} in range({runs}[{cell}], {runs}[{cell} + 1]):",
                f"        for {place} in range({names['low']}[{run}], {names['high']}[{run}]):",
                *(f"            {line}" for line in self.offset_lines(crosses)),
                f"            {self.found}[{self.count}] = {place}",
                f"            {self.count} += ({self.square} <= {reach}) & ({is_other})",
            ]

        own, head = names["own"], f"if {names['crosses']}[{cell}]:"
        starts = [f"{one} = {own}[{axis}, {self.ranked}]" for axis, one in enumerate(self._starts)]
        return [*starts, f"{self.count} = 0", head, *listed(True), "else:", *listed(False)]


class LiveNeighbours(SpaceNeighbours):
    """As everything is now: cells from which rows go and to which they come, whenever something is
    written to a place."""

    def __init__(self, asked: NeighbourJoin, frame: FunctionBuilder) -> None:
        super().__init__(asked, frame)
        self.places = self.kept("places")
        self._cells = self.add_parameter(
            f"cells_now{asked.tag}", "LiveCellList", f"_cells{asked.tag}"
        )
        self.ways = "" if frame.is_plain else self.kept("ways")

    def _has(self, node: tree.NeighbourField) -> Value:
        arrays = self._frame.neighbour_arrays(node)
        return self._frame.cells(arrays, node.type, self._member(node.owner, self.place))

    def setup(self) -> list[str]:
        cells = self._cells
        kind = "np.uint32" if self.ways else "np.intp"  # no sign to look at, if compiled
        found = f"{self.found} = np.empty({cells}.most + 1, {kind})"
        if self.ways:
            kind = SCALARS[self.scalar].numpy
            return [found, f"{self.ways} = np.empty(({self.axes}, len({self.found})), {kind})"]
        return [f"{self.places} = {cells}.places", *self._measured(f"{cells}.sizes"), found]

    def offset_lines(self, crosses: bool = True) -> list[str]:
        if not self.ways:
            return super().offset_lines(crosses)
        axes = enumerate(self.offsets)
        return [f"{apart} = {self.ways}[{axis}, {self.at}]" for axis, apart in axes]

    def list_lines(self, body: LoopBody) -> list[str]:
        """The statements that list those in reach of a row's place."""
        row, near = self._frame.row, self.join.near
        place = body.value(near.position)
        if not self._frame.program.takes_turns:  # as it was before
            own = tree.NeighbourField(
                near.position.type, near.position.name, near.position.owner, near.name
            )
            own_row = body.row_of(near.position.owner)
            place = self._frame.cells(self._frame.neighbour_arrays(own), own.type, own_row)
        starts = [f"{start} = {place.at(axis).text}" for axis, start in enumerate(self._starts)]
        given = f"{self._cells}, {row}, ({', '.join(self._starts)}), {self.found}"
        given += f", {self.ways}" if self.ways else ""
        return [*starts, f"{self.count} = find_neighbours_now({given})"]

    @property
    def placed(self) -> str:
        """The component whose rows have the places."""
        return self.join.position_owner

    def left(self, row: str) -> str:
        """The statement after which a row is nowhere."""
        return f"remove_from_cells({self._cells}, {row})"

    def moved(self, row: str, place: Value) -> str:
        """The statement after which a row is where its place is now."""
        axes = ", ".join(place.at(axis).text for axis in range(place.type.elements))
        return f"move_to_cell({self._cells}, {row}, ({axes}))"
