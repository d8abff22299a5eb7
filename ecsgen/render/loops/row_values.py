"""Values of one row in loops: its own fields and those of its parent, arguments, and what is about
its neighbours and cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Number, Type
from ecsgen.render.loops.element_values import UNROLLED, Value, plus, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter, array_type
from ecsgen.render.loops.loop_grids import GridParameters
from ecsgen.render.loops.loop_messages import MessageLoop
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.scalar_code import Code
from ecsgen.render.text.quoting import literal

SETTINGS_ROW: Final = "0"
"""The row that is always there."""


class RowValues(MessageLoop):
    """Writer of a loop that reads fields, arguments and neighbours."""

    def __init__(
        self,
        builder: FunctionBuilder,
        rows: Mapping[str, str],
        nears: Mapping[str, NeighbourAccess],
        is_flat: bool,
    ) -> None:
        super().__init__(builder, is_flat)
        self.first: list[str] = []
        """Statements that begin a row."""
        self._nears = nears
        self.grids = GridParameters(builder)
        self._rows = {**rows}
        self.held: dict[tree.FieldValue, Value] = {}
        """Variables that stand for the row's fields inside of a loop."""
        self._starts: dict[tuple[str, int], str] = {}
        self._start_prefixes = {builder.row: "j"}
        """Prefixes of the variables with the start of a row's elements, by the row's variable."""

    def _leaf_value(self, node: tree.Expression) -> Value:
        match node:
            case tree.Constant():
                return uniform(node.type, self.builder.constant_of(node.type, node.value))
            case tree.FieldValue(name=name, owner=owner) if name == tree.CELL_ID:
                return uniform(node.type, Code(f"id_of_cell({self.row_of(owner)})"))
            case tree.FieldValue(name=name) if name == tree.ID_SLOT and node.type.is_handle:
                return self._own_id(node)
            case tree.FieldValue() if node in self.held:
                return self.held[node]
            case tree.FieldValue(owner=owner):
                if owner == tree.PARENT:
                    return self._parent_value(node)
                return self._own_field(node, self.row_of(owner))
            case tree.Argument():
                return self._argument(node)
            case tree.NeighbourField() | tree.Offset() | tree.Distance():
                return self._nears[node.near].neighbour_value(node)
            case tree.Occupied():
                return self.grids.occupied(node, self._nears[node.near].candidate)
            case tree.Tick():
                tick = self.builder.parameter("tick", "int", "self.tick")
                if self.builder.is_plain:
                    tick = self.builder.hoist(f"i64_{tick}", f"np.int64({tick})")
                return uniform(node.type, Code(tick))
        raise TypeError("questions and references are statements in a form")

    def _own_id(self, node: tree.FieldValue) -> Value:
        """Return the id of the row, which has no owner."""
        slot = self._own_field(replace(node, type=Type("u32")), self.row_of(node.owner)).at(0).text
        generation = f"{self._id_generations(node.owner)}[{slot}]"
        return uniform(node.type, Code(f"make_cell_id({slot}, {generation})"))

    def _id_generations(self, owner: str) -> str:
        """Return the parameter with the generations of a component's ids, by slot."""
        passed = f"{self.builder.source.managers.data(owner)}._id_generation_column"
        return self.builder.array(Parameter("id_generation", array_type("u32"), passed))

    def _own_field(self, node: tree.FieldValue, row: str) -> Value:
        arrays, type_ = self.builder.arrays(node), node.type
        if self.is_flat:
            return Value(type_, lambda index: Code(f"{arrays[0]}[{row}]"))
        has_start = type_.shape and len(arrays) == 1
        start = self._start(row, type_.elements) if has_start else ""
        return self.builder.cells(arrays, type_, row, start)

    def _start(self, row: str, elements: int) -> str:
        """Return the variable with the index of a row's first element."""
        if (row, elements) not in self._starts:
            letter = self._start_prefixes[row]
            self._starts[row, elements] = name = self.names.allocate(letter, f"{letter}{elements}")
            self.first.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    def row_of(self, owner: str) -> str:
        """Return the variable with the row of a component."""
        if owner not in self._rows:
            module, rows = self.builder.source.components[owner].module, self.builder.rows_of(owner)
            self._rows[owner] = row = self.names.allocate(f"{module}_row")
            self._start_prefixes[row] = f"{module}_j"
            self.first.append(f"{row} = row_at({rows}, {self.builder.row})")
        return self._rows[owner]

    def _parent_value(self, node: tree.FieldValue) -> Value:
        """Return the elements of a parent's field, read at the beginning of the row; roots have the
        default. A kernel never writes them."""
        name = f"parent {node.name}"  # no schema has such a name
        if name not in self.locals_:
            if tree.PARENT not in self._rows:
                column = Parameter("parent", array_type("u32"), "data._parent_column")
                parents = self.builder.array(column)
                self._rows[tree.PARENT] = parent = self.names.allocate("p")
                self._start_prefixes[parent] = "q"
                self.first.append(f"{parent} = np.intp({parents}[{self.builder.row}])")
            parent = self._rows[tree.PARENT]
            elements = dict(self.builder.program.root_defaults)[node.name]
            self.locals_[name] = target = self.variables(node.type, f"parent_{node.name}")
            default = self._default(node.name, node.type, elements)
            there = self._own_field(node, parent)
            with self.into(self.first):
                self._read(parent, default, there, target)
        return self.locals_[name]

    def _read(self, row: str, default: Value, there: Value, target: Value) -> None:
        """Copy the elements of a row, or a default if the row is NIL."""
        if row == SETTINGS_ROW:
            self.store(there, target)
            return
        with self.block(f"if {row} == NIL"):
            self.store(default, target)
        with self.block("else"):
            self.store(there, target)

    def _default(self, name: str, type_: Type, elements: Sequence[bool | Number]) -> Value:
        """Return the default for a field of a row that does not exist."""
        if type_.is_handle and not type_.shape:
            return uniform(type_, self.builder.zero(type_))
        numbers = [self.builder.constant_of(type_, element) for element in elements]
        if len({*map(repr, elements)}) == 1:
            return uniform(type_, numbers[0])
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda index: numbers[int(index)], is_split=True)
        array = self.names.allocate(f"without_{name}")
        expression = f"np.array({literal((*elements,))}, {SCALARS[type_.scalar].numpy})"
        self.arrays.append(f"{array} = {expression}")
        return Value(type_, lambda index: Code(f"{array}[{index}]"))

    def _argument(self, argument: tree.Argument) -> Value:
        if not argument.each:
            return self.builder.argument_value(argument)
        name, type_, row = self.builder.argument(argument), argument.type, self.builder.row
        if self.builder.program.takes_given_turns:
            row = self.builder.turn
            self._start_prefixes[row] = "e"
        if self.is_flat or not type_.shape:
            return Value(type_, lambda index: Code(f"{name}[{row}]"))
        start = self._start(row, type_.elements)
        return Value(type_, lambda index: Code(f"{name}[{plus(start, index)}]"))
