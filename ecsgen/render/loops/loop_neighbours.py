"""Neighbours in loops: lists of candidates in reach, and fields as before the kernel or as now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import FLOATS, SCALARS, Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_operations import MIRRORED
from ecsgen.render.loops.element_values import UNROLLED, Value, plus, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, make_call_code
from ecsgen.render.text.formatting import literal_names

_MEMBER_TYPES: Final = {
    **dict.fromkeys(("order", "cells", "runs", "low", "high"), "NDArray[np.uint32]"),
    "crosses": "NDArray[np.bool_]",
    "max_members": "int",
    "own": "NDArray[{}]",
    "others": "NDArray[{}]",
    "reach": "{}",
    "sizes": "NDArray[{}]",
}
"""Types of the members of `NeighbourCells`; `{}` is the scalar type of positions."""


class NeighbourAccess:
    """Names by which a loop reads neighbours."""

    is_python = False
    """True if neighbour lists are Python's own, made for each row."""
    may_be_nowhere = False
    """True if neighbours may be at no finite place."""
    listed_offsets = ""
    """Array with the offset to each listed neighbour, if there is one."""
    list_index = ""
    """Index of the neighbour in the list, if there is `listed_offsets`."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        self.join = join
        self.members: dict[str, Parameter] = {}
        """Rows of the candidates in each component."""
        self._builder = builder
        self.reserve = reserve = builder.names.reserve
        self.declared, self.zero = builder.declared, builder.zero
        on, type_ = join.near.on, join.near.position.type
        is_placed = type_.scalar in FLOATS  # else it is an entity
        axes = type_.elements if is_placed else 0
        self.scalar, self.axes = ("i64", on.axes) if on else (type_.scalar, axes)
        """Scalar type and number of axes of the offset to a neighbour."""
        self.parameters: dict[str, Parameter] = {}
        self.candidate = reserve("o")
        """Variable with the neighbour's index among the candidates."""
        self.listed, self.count = reserve("found"), reserve("count")
        """Variables with the candidates in reach, and their number."""
        self.offsets = [reserve(f"d{axis}") for axis in "xyz"[: self.axes]]
        """Variables with the offset to the neighbour, one per axis."""
        self._is_joined = join.candidates.member_indices is not None or len(join.components) > 1
        """True if the candidates are rows of a group or query."""

    @property
    def square(self) -> str:
        """Expression for `dot(offset, offset)`."""
        return " + ".join(f"{offset} * {offset}" for offset in self.offsets)

    def add_parameter(self, name: str, annotation: str, passed: str) -> str:
        return self._builder.parameter(name, annotation, passed, self.parameters)

    @property
    def new_list(self) -> str:
        """Expression for an empty list of as many candidates as a row may have."""
        return f"np.empty_like({self.listed})"

    @property
    def most(self) -> str:
        """Expression for the most candidates that a row may have."""
        return f"len({self.listed})"

    def link_row(self, owner: str) -> str:
        """Return the expression for the row that is the link to the neighbour."""
        raise NotImplementedError

    def listed_at(self, index: str) -> str:
        """Return the expression for a listed candidate."""
        return f"{self.listed}[{index}]"

    def fetch_lines(self, values: Iterable[tree.Expression]) -> list[str]:
        """Return the statements of a pass that have fields of later neighbours fetched into the
        cache, where these are read in order and lie anywhere."""
        return []

    def neighbour_value(self, node: tree.NeighbourField | tree.Offset | tree.Distance) -> Value:
        """Return the elements of a neighbour's field, offset or distance."""
        if isinstance(node, tree.Offset):
            return Value(node.type, lambda index: Code(self.offsets[int(index)]))
        if isinstance(node, tree.Distance):
            return self._distance(node.type)
        return self._field_value(node)

    def _distance(self, type_: Type) -> Value:
        root = "root_of" if self._builder.is_own(type_) else "np.sqrt"
        return Value(type_, lambda index: make_call_code(root, Code(self.square)))

    def row_of(self, owner: str) -> str:
        """Return the expression for the neighbour's row in a component."""
        return self._member(owner, self.candidate) if self._is_joined else self.candidate

    def _field_value(self, node: tree.NeighbourField) -> Value:
        """Return the elements of a neighbour's field."""
        if node.name == tree.CELL_ID:
            return self._cell_id(node.type)
        arrays = self._builder.neighbour_arrays(node)
        return self._builder.cells(arrays, node.type, self.row_of(node.owner))

    def _cell_id(self, type_: Type) -> Value:
        """Return the id of a neighbour that is a cell."""
        if self.is_python:
            return uniform(type_, Code(f"FIRST_CELL + {self.candidate}", Precedence.SUM))
        return uniform(type_, Code(f"id_of_cell({self.candidate})"))

    def faster_comparison(self, node: tree.Operation, body: RowLoop) -> Value | None:
        """Return a comparison in a quicker form than its own; None if there is none."""
        return None

    def setup(self) -> list[str]:
        """Return the statements before the loop, `lists` among them, once all of the loop is
        written."""
        return []

    def lists(self) -> list[str]:
        """Return the statements that allocate the lists of a row, which the next one has then; one
        for each lane if several run at a time."""
        return []

    def list_lines(self, body: RowLoop) -> list[str]:
        """Return the statements that list the candidates in reach of the row."""
        return []

    def owner_component(self, value: tree.Expression) -> str:
        """Return the component whose row a neighbour is, if `value` is the entity that has it."""
        return ""

    def offset_lines(self, crosses: bool = True) -> list[str]:
        """Return the statements for a neighbour's offset, the short one if it may cross a
        border."""
        return []

    @property
    def may_move(self) -> bool:
        """True if turns may change the offset to a neighbour while a loop goes over these."""
        effects = self._builder.program.effects
        changed = {path.rpartition(".")[2] for path in (*effects.writes, *effects.sends)}
        return self._builder.program.takes_turns and not changed.isdisjoint(self._position_fields)

    @property
    def _position_fields(self) -> set[str]:
        """Fields with the positions of the row and of its neighbours."""
        return {self.join.near.position.name}

    def offset_now_lines(self, body: RowLoop) -> list[str]:
        """Return the statements for a neighbour's offset as it is now."""
        return []

    def _member(self, owner: str, which: str) -> str:
        """Return the expression for a candidate's row in a component."""
        join = self.join
        if not join.source.is_world:
            return which
        if owner not in self.members:
            name = self.reserve(f"{join.components[owner].module}_members")
            self.members[owner] = Parameter(name, "RowArray", join.other_rows(owner))
        return f"{self.members[owner].name}[{which}]"


class SpaceNeighbours(NeighbourAccess):
    """Neighbours in a continuous space."""

    positions: str
    """Variable with the positions of all candidates."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        reserve, letters = self.reserve, "xyz"[: self.axes]
        self._starts = [reserve(letter) for letter in letters]
        self._halves = [reserve(f"half_{letter}") for letter in letters]
        self._sizes = [reserve(f"size_{letter}") for letter in letters]
        self.cell, self.rank, self._run = reserve("c"), reserve("k"), reserve("r")

    def offset_lines(self, crosses: bool = True) -> list[str]:
        lines, axes = [], zip(self._starts, self.offsets, self._halves, self._sizes, strict=True)
        for axis, (start, offset, half, size) in enumerate(axes):
            lines.append(f"{offset} = {self._place(axis)} - {start}")
            if crosses:
                lines.append(f"if abs({offset}) > {half}:")
                lines.append(f"    {offset} = {self._shortened(offset, size)}")
        return lines

    def _shortened(self, offset: str, size: str) -> str:
        """Return the expression for an offset across a border."""
        times = f"np.rint({offset} / {size})"
        times = f"float({times})" if self._is_own else times
        return f"{offset} - {size} * {times}"

    @property
    def _is_own(self) -> bool:
        """True if positions are floats of Python's own."""
        return self._builder.is_own(Type(self.scalar))

    @property
    def _position(self) -> tree.NeighbourField:
        """The field with the position of a neighbour."""
        near, position = self.join.near, self.join.near.position
        return tree.NeighbourField(position.type, position.name, position.owner, near.name)

    def _place(self, axis: int) -> str:
        """Return the expression for a neighbour's position along an axis."""
        return f"{self.positions}[{axis}, {self.candidate}]"

    def faster_comparison(self, node: tree.Operation, body: RowLoop) -> Value | None:
        """Compare a distance with a limit that all rows share as squares. No root is computed then;
        the limit is the least square with a root as large."""
        (distance, limit), sign = node.operands, node.name
        if not isinstance(distance, tree.Distance):
            distance, limit, sign = limit, distance, MIRRORED.get(sign, "")
        is_fixed = isinstance(limit, tree.Constant) or (
            isinstance(limit, tree.Argument) and not limit.each
        )
        is_alike = sign in MIRRORED and distance.type == limit.type
        if self._builder.is_plain or not is_alike or not is_fixed:
            return None
        bound = body.value(limit).at(0).text
        function = "square_of" if sign in ("<", ">=") else "square_within"
        name = f"{limit.name}_square" if isinstance(limit, tree.Argument) else "square"
        square = self._builder.hoist(name, f"{function}({bound})")
        code = Code(self.square, Precedence.SUM)
        return uniform(node.type, infix(sign, Precedence.COMPARISON, code, Code(square)))

    def _size_lines(self, sizes: str) -> list[str]:
        lines = []
        for axis, (size, half) in enumerate(zip(self._sizes, self._halves, strict=True)):
            for name, index in ((size, 0), (half, 1)):
                number = f"{sizes}[{index}, {axis}]"
                lines.append(f"{name} = float({number})" if self._is_own else f"{name} = {number}")
        return lines


class FrozenNeighbours(SpaceNeighbours):
    """Neighbours as before the kernel. Loops are over rows in the order of their cells, each with a
    list of the candidates in reach, whose fields are copied in that order."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        wanted = {**_MEMBER_TYPES}
        if join.source.is_world:
            wanted["members"] = "NDArray[np.uint32]"
        if join.has_two_sources:  # rows that ask are not rows of the other source
            wanted |= dict.fromkeys(("names", "other_names"), "EntityArray")
        dtype = SCALARS[self.scalar].numpy
        self.names = {
            name: self.add_parameter(name, text.format(dtype), f"_cells.{name}")
            for name, text in wanted.items()
        }
        self.positions = self.names["others"]
        self._copies: dict[str, tuple[str, tree.NeighbourField, int]] = {}
        """By column: the name of its copy, its field, and elements per row."""
        self.heads = self._heads(self.cell, self.rank)
        """First lines of the loops: over cells and the rows of each, or over rows if there are
        commands."""
        self._counted = self.rank
        """Variable of the loops before: over rows there, ranks are of another type."""
        self.locate_lines: list[str] = []
        """Statements that find the row's cell, where loops are over rows."""
        self._ordered: list[str] = []
        if builder.program.has_commands:
            self._follow_rows()

    def _heads(self, cell: str, rank: str) -> list[str]:
        cells = self.names["cells"]
        return [
            f"for {cell} in range(len({cells}) - 1):",
            f"    for {rank} in range({cells}[{cell}], {cells}[{cell} + 1]):",
        ]

    def _follow_rows(self) -> None:
        """Loop over rows, with arrays of their rank in the order of cells, and of their cell."""
        row, order = self._builder.row, self.names["order"]
        ranks, homes = self.reserve("ranks"), self.reserve("homes")
        self._counted, home = self.reserve("rank"), self.reserve("home")
        self._ordered = [
            *(f"{array} = np.empty(len({order}), np.uint32)" for array in (ranks, homes)),
            *self._heads(home, self._counted),
            f"        {ranks}[{order}[{self._counted}]] = {self._counted}",
            f"        {homes}[{order}[{self._counted}]] = {home}",
        ]
        self.heads = [f"for {row} in range(len({order})):"]
        known = {self.rank: ranks, self.cell: homes}
        self.locate_lines = [f"{name} = np.intp({array}[{row}])" for name, array in known.items()]

    @property
    def next_cell_lines(self) -> list[str]:
        """Statements that go on to the cell of the rank."""
        return [
            f"while {self.names['cells']}[{self.cell} + 1] <= {self.rank}:",
            f"    {self.cell} += 1",
        ]

    @property
    def number(self) -> str:
        """Expression for the row of these loops."""
        return f"{self.names['order']}[{self.rank}]"

    def _field_value(self, node: tree.NeighbourField) -> Value:
        arrays, candidate = self._builder.arrays(node), self.candidate
        elements = node.type.elements if len(arrays) == 1 else 1
        for array in arrays:
            if array not in self._copies:
                self._copies[array] = self.reserve(f"other_{array}"), node, elements
        names = [self._copies[array][0] for array in arrays]
        if elements > 1:
            return Value(node.type, lambda p: Code(f"{names[0]}[{p}, {candidate}]"))
        return Value(node.type, lambda p: Code(f"{names[int(p)]}[{candidate}]"), len(names) > 1)

    def row_of(self, owner: str) -> str:
        members = self.names.get("members", self.names["order"])
        return f"np.intp({self._member(owner, f'{members}[{self.candidate}]')})"

    def setup(self) -> list[str]:
        sizes = self._size_lines(self.names["sizes"])
        copied = (line for array in self._copies for line in self._copy_lines(array))
        return [*sizes, *self.lists(), *self._ordered, *copied]

    def lists(self) -> list[str]:
        return [f"{self.listed} = np.empty({self.names['max_members']} + 1, np.uint32)"]

    def _copy_lines(self, array: str) -> list[str]:
        (name, node, elements), row, k = self._copies[array], self._builder.row, self._counted
        members = self.names.get("members", self.names["order"])
        shape = f"len({members})" if elements == 1 else f"({elements}, len({members}))"
        head = [
            f"{name} = np.empty({shape}, {SCALARS[node.type.scalar].numpy})",
            f"for {k} in {self._builder.each}(len({members})):",
            f"    {row} = {self._member(node.owner, f'{members}[{k}]')}",
        ]
        is_long = elements > UNROLLED
        each = [f"    for {self._run} in range({elements}):"] if is_long else []
        pad = "        " if each else "    "
        for index in [self._run] if is_long else range(elements):
            to = f"{k}" if elements == 1 else f"{index}, {k}"
            start = row if elements == 1 else plus(f"{elements} * {row}", index)
            each.append(f"{pad}{name}[{to}] = {array}[{start}]")
        return [*head, *each]

    @property
    def list_rows_lines(self) -> list[str]:
        """Statements that list the candidates in reach of a row, without a branch for each."""
        names, run, candidate, cell = self.names, self._run, self.candidate, self.cell
        runs, reach, is_other = names["runs"], names["reach"], f"{candidate} != {self.rank}"
        if self.join.has_two_sources:
            is_other = f"{names['other_names']}[{candidate}] != {names['names']}[{self.rank}]"

        def listed(crosses: bool) -> list[str]:
            return [
                f"    for {run} in range({runs}[{cell}], {runs}[{cell} + 1]):",
                f"        for {candidate} in range({names['low']}[{run}], {names['high']}[{run}]):",
                *(f"            {line}" for line in self.offset_lines(crosses)),
                f"            {self.listed}[{self.count}] = {candidate}",
                f"            {self.count} += ({self.square} <= {reach}) & ({is_other})",
            ]

        positions, head = names["own"], f"if {names['crosses']}[{cell}]:"
        axes = enumerate(self._starts)
        starts = [f"{start} = {positions}[{axis}, {self.rank}]" for axis, start in axes]
        return [*starts, f"{self.count} = 0", head, *listed(True), "else:", *listed(False)]


class LiveNeighbours(SpaceNeighbours):
    """Neighbours as now: rows change cells whenever their position is written."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        self.positions = self.reserve("places")
        self._cells = self.add_parameter(
            f"cells_now{join.tag}", "LiveCellList", f"_cells{join.tag}"
        )
        self.listed_offsets = "" if builder.is_plain else self.reserve("ways")

    def row_of(self, owner: str) -> str:
        return self._member(owner, self.candidate)

    def setup(self) -> list[str]:
        if self.listed_offsets:
            return self.lists()
        sizes = self._size_lines(f"{self._cells}.sizes")
        positions = f"{self._cells}.positions{'.data' if self._is_own else ''}"
        return [f"{self.positions} = {positions}", *sizes, *self.lists()]

    def lists(self) -> list[str]:
        cells = self._cells
        kind = "np.uint32" if self.listed_offsets else "np.intp"  # no sign to look at, if compiled
        empty = f"np.empty({cells}.n_members + 1, {kind})"
        if not self.listed_offsets:
            return [f"{self.listed}: Any = {empty}.data"]
        array = f"np.empty(({self.axes}, len({self.listed})), {SCALARS[self.scalar].numpy})"
        return [f"{self.listed} = {empty}", f"{self.listed_offsets} = {array}"]

    def offset_lines(self, crosses: bool = True) -> list[str]:
        if not self.listed_offsets:
            return super().offset_lines(crosses)
        array, index = self.listed_offsets, self.list_index
        return [f"{offset} = {array}[{i}, {index}]" for i, offset in enumerate(self.offsets)]

    def list_lines(self, body: RowLoop) -> list[str]:
        """Return the statements that list the candidates in reach of a row's position."""
        row, near = self._builder.row, self.join.near
        position = body.value(near.position)
        if not self._builder.program.takes_turns:  # as before the kernel
            own_row = body.row_of(near.position.owner)
            arrays = self._builder.neighbour_arrays(self._position)
            position = self._builder.cells(arrays, near.position.type, own_row)
        starts = [f"{start} = {position.at(axis).text}" for axis, start in enumerate(self._starts)]
        arguments = f"{self._cells}, {row}, {literal_names(self._starts)}, {self.listed}"
        arguments += f", {self.listed_offsets}" if self.listed_offsets else ""
        return [*starts, f"{self.count} = find_neighbours_now({arguments})"]

    def offset_now_lines(self, body: RowLoop) -> list[str]:
        lines, sizes = [], f"{self._cells}.sizes"
        position, other = body.value(self.join.near.position), self._field_value(self._position)
        for axis, offset in enumerate(self.offsets):
            lines += [
                f"{offset} = {other.at(axis).text} - {position.at(axis).text}",
                f"if abs({offset}) > {sizes}[1, {axis}]:",
                f"    {offset} = {self._shortened(offset, f'{sizes}[0, {axis}]')}",
            ]
        return lines

    @property
    def position_component(self) -> str:
        """Component whose rows have the positions."""
        return self.join.position_owner

    def remove_line(self, row: str) -> str:
        """Return the statement that removes a row from its cell."""
        return f"remove_from_cells({self._cells}, {row})"

    def move_line(self, row: str, position: Value) -> str:
        """Return the statement that moves a row to the cell of its position."""
        axes = [position.at(axis).text for axis in range(position.type.elements)]
        return f"move_to_cell({self._cells}, {row}, {literal_names(axes)})"
