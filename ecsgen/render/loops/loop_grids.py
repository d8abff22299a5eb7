"""Grids in loops: cells in reach and their occupants, before the kernel or now, and cell
expressions."""

from __future__ import annotations

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_values import ElementIndex, Value, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, array_type
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code, Precedence, make_call_code
from ecsgen.render.text.quoting import literal


class GridParameters:
    """Parameters of a function for grids and their occupancy."""

    def __init__(self, builder: FunctionBuilder) -> None:
        self._builder = builder
        self._components = builder.source.managers.components
        self.is_live = builder.program.takes_turns
        """True if rows see the occupancy that the rows before them have left."""
        self.when = "now" if self.is_live else "before"

    def axes(self, grid: str) -> str:
        """Return the parameter with a grid's shape."""
        expression = f"grid_axes({self._builder.source.managers.manager(grid)})"
        return self._builder.table(f"{self._components[grid].module}_axes", "GridAxes", expression)

    def cells(self, grid: str) -> str:
        """Return the expression for the number of a grid's cells."""
        cells = f"{self.axes(grid)}.cells"
        if not self._builder.is_plain:
            return cells
        return self._builder.hoist(f"{self._components[grid].module}_cells", cells)

    def is_cell(self, grid: str, id: str) -> str:
        """Return the test that an id is that of a cell."""
        if not self._builder.is_plain:
            return f"is_cell({self.axes(grid)}, {id})"
        return f"0 <= {id} - FIRST_CELL < {self.cells(grid)}"

    def occupancy(self, component: str) -> str:
        """Return the parameter with the occupancy of a component."""
        name, builder = f"{self._components[component].module}_crowds", self._builder
        manager = builder.source.managers.manager(component)
        if not self.is_live:
            return builder.table(name, "OccupancyIndex", f"occupancy_index({manager})")
        needs_empty = component in builder.program.empty_cell_components
        return builder.table(name, "LiveOccupancy", f"live_occupancy({manager}, {needs_empty})")

    def coordinates(self, node: tree.Coordinates, body: RowLoop) -> Value:
        """Return a cell's coordinates; -1 for an id that is not a cell."""
        axes = self.axes(node.grid)
        cell = body.assign(Code(f"cell_number({body.value(node.handle).at(0).text})"), "cell")
        known = body.assign(Code(f"0 <= {cell.text} < {self.cells(node.grid)}"), "is_cell")
        first = 3 - node.type.elements

        def at(index: ElementIndex) -> Code:
            along = f"coordinate_along({axes}, {cell.text}, {first + int(index)})"
            choice = Code(f"{along} if {known.text} else -1", Precedence.CHOICE)
            return make_call_code("np.int64", choice)

        return body.stored(Value(node.type, at))

    def cell_at(self, node: tree.CellAt, body: RowLoop) -> Value:
        """Return the cell at given coordinates."""
        position = body.value(node.coordinates)
        coordinates = [position.at(axis).text for axis in range(node.coordinates.type.elements)]
        coordinates = ["0"] * (3 - len(coordinates)) + coordinates
        arguments = ", ".join([self.axes(node.grid), *coordinates])
        return uniform(node.type, Code(f"cell_at({arguments})"))

    def occupied(self, node: tree.Occupied, cell: str) -> Value:
        """Return whether a row of a component stands on a cell."""
        occupancy = self.occupancy(node.component)
        return uniform(node.type, Code(f"is_occupied_{self.when}({occupancy}, {cell})"))

    def full(self, node: tree.Full, body: RowLoop) -> Value:
        """Return whether a cell has no room for one more row of a component."""
        on, handle = self._components[node.component].on, body.value(node.handle).at(0).text
        assert on is not None
        arguments = [self.occupancy(node.component), self.axes(on.grid), handle, str(on.capacity)]
        test = f"is_full_{self.when}({', '.join(arguments)})"
        return body.stored(uniform(node.type, Code(test, Precedence.CALL)))


class GridNeighbours(NeighbourAccess):
    """Neighbours on a grid: a list for each row that asks."""

    def __init__(self, join: NeighbourJoin, builder: FunctionBuilder) -> None:
        super().__init__(join, builder)
        self._grids = grids = GridParameters(builder)
        assert join.near.on is not None
        self.on = join.near.on
        reserve, self.is_python = self.reserve, builder.is_plain
        self.own_cell, self._around = reserve("cell"), reserve("around")
        self._cell_count = reserve("cells_met")
        self.axes_name = grids.axes(self.on.grid)
        """Parameter with the grid's shape."""
        self._is_own_cell = bool(self.on.occupant) and join.near.radius == 0
        self._reach = "" if self._is_own_cell else self._reach_parameter()
        far = tree.Offset | tree.Distance
        is_far = any(isinstance(node, far) for node in self._neighbour_nodes)
        if (self._reach or self.is_python) and not self.on.occupant and is_far:
            self.listed_offsets = reserve("ways" if self.is_python else "steps")

    @property
    def _neighbour_nodes(self) -> list[tree.Offset | tree.Distance | tree.NeighbourAggregate]:
        """Offsets, distances and aggregates of these neighbours in the kernel."""
        kinds, name = tree.Offset | tree.Distance | tree.NeighbourAggregate, self.join.near.name
        nodes = (node for node in self._builder.program.nodes if isinstance(node, kinds))
        return [node for node in nodes if node.near == name]

    def _reach_parameter(self) -> str:
        """Return the parameter with the cells in reach of each cell; "" if not known before."""
        builder, radius = self._builder, self.join.near.radius
        function, text = "cell_neighbourhood", str(radius)
        if isinstance(radius, tree.Argument):
            text = builder.passed(radius)
        elif isinstance(radius, tree.FieldValue):
            effects = builder.program.effects
            changed = {path.rpartition(".")[2] for path in (*effects.writes, *effects.sends)}
            if self.is_python or radius.name in changed:
                return ""
            data = builder.source.managers.data(radius.owner)
            function = "cell_neighbourhood_within"
            text = f"{data}._{radius.name}_column[: {data}._n]"
        manager = builder.source.managers.manager(self.on.grid)
        arguments = f"{manager}, {literal(self.on.hood)}, {text}, {self._center}"
        nodes = self._neighbour_nodes
        aggregates = (node for node in nodes if isinstance(node, tree.NeighbourAggregate))
        steps = tree.walk_nested(builder.program.steps)
        loops = (step for step in steps if isinstance(step, tree.NeighbourLoop))
        has_loop = any(loop.near == self.join.near.name for loop in loops)
        if not (self.is_python or has_loop) and all(map(_is_ranked_by_distance, aggregates)):
            arguments += ", nearest_first=True"
        expression = f"{function}({arguments})"
        return builder.table(f"reach{self.join.tag}", "CellNeighbourhood", expression)

    def setup(self) -> list[str]:
        return [] if self.is_python else self.lists()

    def lists(self) -> list[str]:
        max_cells = f"{self._reach}.shape[1]" if self._reach else f"{self.axes_name}.cells + 1"
        cells = f"np.empty({max_cells}, np.int32)"
        if not self.on.occupant:
            lines = [f"{self.listed} = {cells}"]
            if self.listed_offsets:
                lines.append(f"{self.listed_offsets} = np.empty_like({self.listed})")
            return lines
        occupancy = self._grids.occupancy(self.on.occupant)
        max_listed = f"max_occupants({occupancy}, {self.axes_name}.cells)"
        lines = [] if self._is_own_cell else [f"{self._around} = {cells}"]
        return [*lines, f"{self.listed} = np.empty({max_listed} + 1, np.int32)"]

    @property
    def _center(self) -> str:
        return str(bool(self.on.center or self.on.occupant))

    def list_lines(self, body: RowLoop) -> list[str]:
        """Return the statements that list the cells or rows in reach of the row."""
        lines = [f"{self.own_cell} = {body.cell_of_row(self.join.near.position)}"]
        if not self._is_own_cell:
            lines += self._list_cells_lines(body)
        return lines + self._list_rows_lines(body) if self.on.occupant else lines

    def _list_cells_lines(self, body: RowLoop) -> list[str]:
        near, on = self.join.near, self.on
        listed, count = self.listed, self.count
        if on.occupant and not self.is_python:
            listed, count = self._around, self._cell_count
        radius = ""
        if isinstance(near.radius, tree.FieldValue):
            radius = body.own_number(near.radius) or body.value(near.radius).at(0).text
        neighbourhood = f"{on.hood.upper()}, {radius}, {self._center}"
        if not self.is_python:
            function, offsets = "cells_near", ""
            if self._reach:
                function, neighbourhood = "reached_cells", self._reach
                offsets = self.listed_offsets or ("None" if radius else "")
            else:
                radius = ""
            arguments = self.axes_name, self.own_cell, neighbourhood, listed, offsets, radius
            return [f"{count} = {function}({', '.join(filter(None, arguments))})"]
        lines, reach = [], self._reach
        if not reach:
            reach = self.reserve("reach")
            lines.append(f"{reach} = {self.axes_name}.reach({neighbourhood})")
        if on.occupant:
            rows = f"{self._grids.occupancy(on.occupant)}.occupants({reach}, {self.own_cell})"
            return [*lines, f"{listed} = {rows}"]
        lines += [f"{listed} = {reach}[{self.own_cell}]", f"{count} = len({listed})"]
        if self.listed_offsets:
            lines.append(f"{self.listed_offsets} = {reach}.ways({self.own_cell})")
        return lines

    def _list_rows_lines(self, body: RowLoop) -> list[str]:
        own_row, owner, owners = self._own(body)
        occupancy = self._grids.occupancy(self.on.occupant)
        if not self.is_python:
            function, around = "occupants", f"{self._around}, {self._cell_count}"
            if self._is_own_cell:
                function, around = "occupants_here", self.own_cell
            arguments = f"{occupancy}, {around}, {own_row or -1}, {owner}, "
            arguments += owners or self._builder.hoist("nobody", "np.empty(0, np.uint64)")
            lines = [f"{self.count} = {function}_{self._grids.when}({arguments}, {self.listed})"]
            return lines + self._filter_members_lines()
        lines = []
        if self._is_own_cell:
            lines.append(f"{self.listed} = {occupancy}.occupants_here({self.own_cell})")
        if owners:
            others = f"[r for r in {self.listed} if {owners}[r] != {owner}]"
            lines.append(f"{self.listed} = {others}")
        if own_row:
            lines.append(f"if {own_row} in {self.listed}:")
            lines.append(f"    {self.listed}.remove({own_row})")
        return [*lines, f"{self.count} = len({self.listed})", *self._filter_members_lines()]

    def _own(self, body: RowLoop) -> tuple[str, str, str]:
        """Return the row that is not its own neighbour, or the entity that is not and the parameter
        with the owners of the candidates."""
        on, join = self.on, self.join
        component = join.components[on.owner]
        if on.owner in join.source.components:  # of one entity that is the same row
            return body.row_of(on.owner), "0", ""
        sources = join.source.components.items()
        name = next((name for name, source in sources if source.owner == "entity"), None)
        if name is None or component.owner == "none":
            return "", "0", ""
        owner, data = body.owner_entity(name), self._builder.source.managers.data(component.name)
        owners = self._builder.handles(f"{component.module}_owners", f"{data}._entity_column")
        return "", owner, owners

    def _filter_members_lines(self) -> list[str]:
        """Return the statements that leave out rows that are not in the group or query."""
        if not self._is_joined:
            return []
        self._member(self.on.owner, "")  # adds the parameter with the members
        numbers = self._numbers
        if self.is_python:
            members = f"[{numbers}[r] for r in {self.listed} if {numbers}[r] >= 0]"
            return [f"{self.listed} = {members}", f"{self.count} = len({self.listed})"]
        return [f"{self.count} = members_alone({numbers}, {self.listed}, {self.count})"]

    @property
    def _numbers(self) -> str:
        """Parameter with each row's number in the group or query; below 0 of rows not in it."""
        join = self.join
        name = f"{join.components[self.on.owner].module}_numbers{join.tag}"
        arguments = [self._builder.source.managers.manager(self.on.occupant)]
        arguments += [join.other_rows(self.on.owner), *filter(None, [join.hidden])]
        expression = f"member_numbers({', '.join(arguments)})"
        return self._builder.table(name, array_type("i64"), expression)

    @property
    def position_component(self) -> str:
        """Component whose rows are the occupants; "" if cells are asked."""
        return self.on.occupant

    def remove_line(self, row: str) -> str:
        """Return the statement that removes a row from the group or query."""
        self._member(self.on.owner, "")  # adds the parameter, also where no row asks
        return f"{self._numbers}[{row}] = -1"

    @property
    def _is_hexagonal(self) -> bool:
        return self.on.hood == "hex"

    @property
    def square(self) -> str:
        """Expression for what grows with the distance: its square, or the number of steps."""
        if self._is_hexagonal:
            return f"hex_steps({', '.join(self.offsets)})"
        return super().square

    def neighbour_value(self, node: tree.NeighbourField | tree.Offset | tree.Distance) -> Value:
        if isinstance(node, tree.Offset) and self._builder.is_plain:  # Python's own would not wrap
            return Value(
                node.type, lambda axis: make_call_code("np.int64", Code(self.offsets[int(axis)]))
            )
        return super().neighbour_value(node)

    def _distance(self, type_: Type) -> Value:
        if not (self._is_hexagonal or self.is_python):
            return uniform(type_, make_call_code("np.sqrt", Code(f"np.float64({self.square})")))
        root = "root_of" if not self._is_hexagonal else "float" if self.is_python else "np.float64"
        return uniform(type_, make_call_code(root, Code(self.square)))

    def _field_value(self, node: tree.NeighbourField) -> Value:
        if node.name == tree.ID_SLOT:
            return self._id(node, self.row_of(node.owner))
        return super()._field_value(node)

    def owner_component(self, value: tree.Expression) -> str:
        is_entity = isinstance(value, tree.NeighbourField) and value.name == tree.ENTITY
        return self.on.occupant if is_entity and not self._is_joined else ""

    def _id(self, node: tree.NeighbourField, row: str) -> Value:
        """Return the id of an unowned row."""
        component = self.join.components[node.owner]
        data = self._builder.source.managers.data(component.name)
        slots, generations = (
            self._builder.handles(f"{component.module}_{name}", f"{data}._id_{name}_column", "u32")
            for name in ("slot", "generation")
        )
        slot = f"{slots}[{row}]"
        return uniform(node.type, Code(f"make_cell_id({slot}, {generations}[{slot}])"))

    @property
    def _position_fields(self) -> set[str]:
        on = self.join.components[self.on.owner].on if self.on.occupant else None
        return super()._position_fields | (set() if on is None else {on.field})

    def offset_lines(self, crosses: bool = True) -> list[str]:
        first = 3 - self.on.axes
        if self.listed_offsets and self.is_python:
            offsets = ", ".join(self.offsets) if first < 2 else f"({self.offsets[0]},)"
            return [f"{offsets} = {self.listed_offsets}[{self.list_index}]"]
        if self.listed_offsets:
            index = f"{self.listed_offsets}[{self.list_index}]"
            first = 6 if self._is_hexagonal else 1 + first
            return [
                f"{self.declared(offset)} = np.int64({self._reach}[{first + axis}, {index}])"
                for axis, offset in enumerate(self.offsets)
            ]
        return self._offset_lines()

    def offset_now_lines(self, body: RowLoop) -> list[str]:
        lines = [f"{self.own_cell} = {body.cell_of_row(self.join.near.position)}"]
        return lines + self._offset_lines()

    def _offset_lines(self) -> list[str]:
        """Return the statements for the offset from the row's own cell to the neighbour's."""
        first = 3 - self.on.axes
        lines, other_cell = [], self.candidate
        # what they are assigned has no type, so they need no annotation
        self._builder.annotated |= dict.fromkeys(self.offsets)
        if self.on.occupant:
            member = self._member(self.on.owner, other_cell) if self._is_joined else other_cell
            kind = tree.id_type(self.on.grid)
            cell_field = self.join.components[self.on.owner].on
            assert cell_field is not None
            column = tree.NeighbourField(kind, cell_field.field, self.on.owner, self.join.near.name)
            (array,) = self._builder.neighbour_arrays(column)
            other_cell = f"cell_number({array}[{member}])"
        if self._is_hexagonal:
            offsets, arguments = ", ".join(self.offsets), f"{self.own_cell}, {other_cell}"
            return [f"{offsets} = hex_offset({self.axes_name}, {arguments})"]
        for axis, offset in enumerate(self.offsets):
            arguments = f"{self.axes_name}, {self.own_cell}, {other_cell}, {first + axis}"
            lines.append(f"{offset} = distance_along({arguments})")
        return lines


def _is_ranked_by_distance(aggregate: tree.NeighbourAggregate) -> bool:
    """Return True if the first key is the distance. Cells may then be listed nearest first: they
    are seldom beaten, and those equally far keep their order."""
    for key in aggregate.keys:
        match key:
            case tree.Distance() | tree.Operation(name="neg", operands=(tree.Distance(),)):
                return True
    return False
