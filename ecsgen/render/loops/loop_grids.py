"""Grids in loops: cells in reach of a row, who stands on them, before the kernel or now, and what
else kernels say of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_values import ElementIndex, Value, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, array_type
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.scalar_code import Code, Precedence, make_call_code
from ecsgen.render.text.quoting import literal

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody


class GridParameters:
    """The parameters of a function by which it knows grids, and who stands on them."""

    def __init__(self, frame: FunctionBuilder) -> None:
        self._frame = frame
        self._components = frame.source.managers.components
        self.is_now = frame.program.takes_turns
        """Whether it is as the rows before have left it."""
        self.when = "now" if self.is_now else "before"

    def axes(self, grid: str) -> str:
        """The parameter with a grid's shape."""
        made = f"grid_axes({self._frame.source.managers.manager(grid)})"
        return self._frame.table(f"{self._components[grid].module}_axes", "GridAxes", made)

    def cells(self, grid: str) -> str:
        """The expression for how many cells there are."""
        cells = f"{self.axes(grid)}.cells"
        if not self._frame.is_plain:
            return cells
        return self._frame.hoist(f"{self._components[grid].module}_cells", cells)

    def is_cell(self, grid: str, id: str) -> str:
        """The expression for whether an id is that of a cell."""
        if not self._frame.is_plain:
            return f"is_cell({self.axes(grid)}, {id})"
        return f"0 <= {id} - FIRST_CELL < {self.cells(grid)}"

    def occupancy(self, component: str) -> str:
        """The parameter with who stands where."""
        name, frame = f"{self._components[component].module}_crowds", self._frame
        manager = frame.source.managers.manager(component)
        if not self.is_now:
            return frame.table(name, "OccupancyIndex", f"occupancy_index({manager})")
        made = f"live_occupancy({manager}, {component in frame.program.empty_cell_components})"
        return frame.table(name, "LiveOccupancy", made)

    # --- what kernels say of cells -----------------------------------------------------------

    def coordinates(self, node: tree.Coordinates, body: LoopBody) -> Value:
        """Where a cell is; -1 for what is none."""
        axes = self.axes(node.grid)
        cell = body.assign(Code(f"cell_number({body.value(node.handle).at(0).text})"), "cell")
        known = body.assign(Code(f"0 <= {cell.text} < {self.cells(node.grid)}"), "is_cell")
        first = 3 - node.type.elements

        def at(place: ElementIndex) -> Code:
            along = f"coordinate_along({axes}, {cell.text}, {first + int(place)})"
            return make_call_code(
                "np.int64", Code(f"{along} if {known.text} else -1", Precedence.CHOICE)
            )

        return body.stored(Value(node.type, at))

    def cell_at(self, node: tree.CellAt, body: LoopBody) -> Value:
        """The cell at a place."""
        place = body.value(node.place)
        given = [place.at(axis).text for axis in range(node.place.type.elements)]
        given = ["0"] * (3 - len(given)) + given
        return uniform(node.type, Code(f"cell_at({', '.join([self.axes(node.grid), *given])})"))


class GridNeighbours(NeighbourAccess):
    """Neighbours on a grid: a list for each row that asks."""

    def __init__(self, asked: NeighbourJoin, frame: FunctionBuilder) -> None:
        super().__init__(asked, frame)
        self._grids = grids = GridParameters(frame)
        assert asked.near.on is not None
        self.on = asked.near.on
        kept, self.is_python = self.kept, frame.is_plain
        self.own_cell, self._around, self._steps = kept("cell"), kept("around"), kept("cells_met")
        self.axes_name = grids.axes(self.on.grid)
        """The parameter with the grid's shape."""
        self._is_here = bool(self.on.occupant) and asked.near.radius == 0
        self._reach = "" if self._is_here else self._told_reach()
        is_far = any(isinstance(one, tree.Offset | tree.Distance) for one in self._said)
        if (self._reach or self.is_python) and not self.on.occupant and is_far:
            self.ways = kept("ways" if self.is_python else "steps")

    @property
    def _said(self) -> list[tree.Offset | tree.Distance | tree.NeighbourAggregate]:
        """What the kernel says of these neighbours, but for their fields."""
        kinds, name = tree.Offset | tree.Distance | tree.NeighbourAggregate, self.join.near.name
        nodes = (node for node in self._frame.program.nodes if isinstance(node, kinds))
        return [node for node in nodes if node.near == name]

    def _told_reach(self) -> str:
        """The parameter with the cells in reach of any cell, if that can be known before."""
        frame, radius = self._frame, self.join.near.radius
        function, text = "cell_neighbourhood", str(radius)
        if isinstance(radius, tree.Argument):
            text = frame.passed(radius)
        elif isinstance(radius, tree.FieldValue):
            effects = frame.program.effects
            changed = {one.rpartition(".")[2] for one in (*effects.writes, *effects.sends)}
            if self.is_python or radius.name in changed:
                return ""
            data = frame.source.managers.data(radius.owner)
            function, text = (
                "cell_neighbourhood_within",
                f"{data}._{radius.name}_column[: {data}._n]",
            )
        manager = frame.source.managers.manager(self.on.grid)
        given = f"{manager}, {literal(self.on.hood)}, {text}, {self._center}"
        questions = (one for one in self._said if isinstance(one, tree.NeighbourAggregate))
        if not self.is_python and all(map(_ranks_by_distance, questions)):
            given += ", nearest_first=True"
        return frame.table(f"reach{self.join.tag}", "CellNeighbourhood", f"{function}({given})")

    def setup(self) -> list[str]:
        if self.is_python:
            return []
        most = f"{self._reach}.shape[1]" if self._reach else f"{self.axes_name}.cells + 1"
        cells = f"np.empty({most}, np.int32)"
        if not self.on.occupant:
            lines = [f"{self.found} = {cells}"]
            if self.ways:
                lines.append(f"{self.ways} = np.empty_like({self.found})")
            return lines
        crowd = self._grids.occupancy(self.on.occupant)
        most = f"max_occupants({crowd}, {self.axes_name}.cells)"
        lines = [] if self._is_here else [f"{self._around} = {cells}"]
        return [*lines, f"{self.found} = np.empty({most} + 1, np.int32)"]

    @property
    def _center(self) -> str:
        return str(bool(self.on.center or self.on.occupant))

    def list_lines(self, body: LoopBody) -> list[str]:
        """The statements that list those in reach of the row."""
        lines = [f"{self.own_cell} = {body.cell_of_row(self.join.near.position)}"]
        if not self._is_here:
            lines += self._cells_listed(body)
        return lines + self._rows_listed(body) if self.on.occupant else lines

    def _cells_listed(self, body: LoopBody) -> list[str]:
        near, on = self.join.near, self.on
        found, count = (self._around, self._steps) if on.occupant else (self.found, self.count)
        radius = ""
        if isinstance(near.radius, tree.FieldValue):
            own = body.own_number(near.radius)
            radius = own or body.value(near.radius).at(0).text
        given = f"{on.hood.upper()}, {radius}, {self._center}"
        if not self.is_python:
            function, ways = "cells_near", []
            if self._reach:
                function, given = "reached_cells", self._reach
                ways = [self.ways or "None", radius] if radius else [self.ways]
            told = filter(None, [self.axes_name, self.own_cell, given, found, *ways])
            return [f"{count} = {function}({', '.join(told)})"]
        lines, reach = [], self._reach
        if not reach:
            reach = self.kept("reach")
            lines.append(f"{reach} = {self.axes_name}.reach({given})")
        lines.append(f"{found} = {reach}[{self.own_cell}]")
        if not on.occupant:
            lines.append(f"{count} = len({found})")
        if self.ways:
            lines.append(f"{self.ways} = {reach}.ways({self.own_cell})")
        return lines

    def _rows_listed(self, body: LoopBody) -> list[str]:
        own_row, owner, owners = self._own(body)
        crowds = self._grids.occupancy(self.on.occupant)
        if not self.is_python:
            function, around = f"occupants_{self._grids.when}", f"{self._around}, {self._steps}"
            if self._is_here:
                function, around = f"occupants_here_{self._grids.when}", self.own_cell
            given = f"{crowds}, {around}, {own_row or -1}, {owner}, "
            given += owners or self._frame.hoist("nobody", "np.empty(0, np.uint64)")
            lines = [f"{self.count} = {function}({given}, {self.found})"]
            return lines + self._members_alone()
        rows = f"{crowds}.occupants({self._around})"
        if self._is_here:
            rows = f"{crowds}.occupants_here({self.own_cell})"
        if owners:
            rows = f"[r for r in {rows} if {owners}[r] != {owner}]"
        lines = [f"{self.found} = {rows}"]
        if own_row:
            lines.append(f"if {own_row} in {self.found}:")
            lines.append(f"    {self.found}.remove({own_row})")
        return [*lines, f"{self.count} = len({self.found})", *self._members_alone()]

    def _own(self, body: LoopBody) -> tuple[str, str, str]:
        """The row that does not meet itself, or the entity that does not, and whose rows are."""
        on, asked = self.on, self.join
        component = asked.components[on.owner]
        if on.owner in asked.source.components:  # of one entity that is the same row
            return body.row_of(on.owner), "0", ""
        bearer = next((n for n, c in asked.source.components.items() if c.owner == "entity"), None)
        if bearer is None or component.owner == "none":
            return "", "0", ""
        owner, data = body.owner_entity(bearer), self._frame.source.managers.data(component.name)
        owners = self._frame.handles(f"{component.module}_owners", f"{data}._entity_column")
        return "", owner, owners

    def _members_alone(self) -> list[str]:
        """The statements that leave out rows that are not in the group or query."""
        if not self._is_several:
            return []
        self._member(self.on.owner, "")  # who they are has to be known anyway
        numbers = self._numbers
        if self.is_python:
            kept = f"[{numbers}[r] for r in {self.found} if {numbers}[r] >= 0]"
            return [f"{self.found} = {kept}", f"{self.count} = len({self.found})"]
        return [f"{self.count} = members_alone({numbers}, {self.found}, {self.count})"]

    @property
    def _numbers(self) -> str:
        """The parameter that tells which member of the group or query each row is."""
        asked = self.join
        name = f"{asked.components[self.on.owner].module}_numbers{asked.tag}"
        given = [self._frame.source.managers.manager(self.on.occupant)]
        given += [asked.other_rows(self.on.owner), *filter(None, [asked.hidden])]
        return self._frame.table(name, array_type("i64"), f"member_numbers({', '.join(given)})")

    @property
    def placed(self) -> str:
        """The component whose rows stand on cells; nothing if cells are asked."""
        return self.on.occupant

    def left(self, row: str) -> str:
        """The statement after which a row is in no group or query."""
        self._member(self.on.owner, "")  # who they are is not known where nobody asks
        return f"{self._numbers}[{row}] = -1"

    @property
    def _is_several(self) -> bool:
        """Whether those who are asked are rows of a group or query."""
        asked = self.join
        return asked.candidates.member_indices is not None or len(asked.components) > 1

    # --- what a neighbour has ----------------------------------------------------------------

    def neighbour_value(self, node: tree.NeighbourField | tree.Offset | tree.Distance) -> Value:
        if isinstance(node, tree.Offset) and self._frame.is_plain:  # Python's own would not wrap
            return Value(
                node.type, lambda axis: make_call_code("np.int64", Code(self.offsets[int(axis)]))
            )
        return super().neighbour_value(node)

    def _distance(self, type_: Type) -> Value:
        if not self.is_python:
            return uniform(type_, make_call_code("np.sqrt", Code(f"np.float64({self.square})")))
        own = f"root_of({self.square})"
        return uniform(
            type_, Code(f"np.float64({own})", Precedence.CALL, python_number=lambda: own)
        )

    def _has(self, node: tree.NeighbourField) -> Value:
        if node.name == tree.CELL_ID:
            if self.is_python:
                return uniform(node.type, Code(f"FIRST_CELL + {self.place}", Precedence.SUM))
            return uniform(node.type, Code(f"id_of_cell({self.place})"))
        row = self._member(node.owner, self.place) if self._is_several else self.place
        if node.name == tree.ID_SLOT:
            return self._id(node, row)
        return self._frame.cells(self._frame.neighbour_arrays(node), node.type, row)

    def owner_met(self, value: tree.Expression) -> str:
        is_entity = isinstance(value, tree.NeighbourField) and value.name == tree.ENTITY
        return self.on.occupant if is_entity and not self._is_several else ""

    def _id(self, node: tree.NeighbourField, row: str) -> Value:
        """The id of a row that is nobody's."""
        component = self.join.components[node.owner]
        data = self._frame.source.managers.data(component.name)
        slots, generations = (
            self._frame.handles(f"{component.module}_{name}", f"{data}._id_{name}_column", "u32")
            for name in ("slot", "generation")
        )
        slot = f"{slots}[{row}]"
        return uniform(node.type, Code(f"make_cell_id({slot}, {generations}[{slot}])"))

    def occupied(self, node: tree.Occupied) -> Value:
        """Whether somebody stands on the neighbour."""
        crowds = self._grids.occupancy(node.component)
        return uniform(node.type, Code(f"is_occupied_{self._grids.when}({crowds}, {self.place})"))

    def offset_lines(self, crosses: bool = True) -> list[str]:
        first = 3 - self.on.axes
        if self.ways and self.is_python:
            offsets = ", ".join(self.offsets) if first < 2 else f"({self.offsets[0]},)"
            return [f"{offsets} = {self.ways}[{self.at}]"]
        if self.ways:
            met = f"{self.ways}[{self.at}]"
            return [
                f"{self.declared(apart)} = np.int64({self._reach}[{1 + first + axis}, {met}])"
                for axis, apart in enumerate(self.offsets)
            ]
        lines, other = [], self.place
        if self.on.occupant:
            member = self._member(self.on.owner, other) if self._is_several else other
            kind = Type("u64", (), f"id<{self.on.grid}>")
            standing = self.join.components[self.on.owner].on
            assert standing is not None
            column = tree.NeighbourField(kind, standing.field, self.on.owner, self.join.near.name)
            (array,) = self._frame.neighbour_arrays(column)
            other = f"cell_number({array}[{member}])"
        for axis, apart in enumerate(self.offsets):
            given = f"{self.axes_name}, {self.own_cell}, {other}, {first + axis}"
            lines.append(f"{apart} = distance_along({given})")
        return lines


def _ranks_by_distance(question: tree.NeighbourAggregate) -> bool:
    """Whether only the best are asked for, and they are equally far: then the nearest may come
    first, who are seldom beaten, for among those equally far the order stays."""
    for key in question.keys:
        match key:
            case tree.Distance() | tree.Operation(name="neg", operands=(tree.Distance(),)):
                return True
    return False
