"""Statements of one row of a loop: a method for each kind of lowered statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from ecsgen.kernels import statements as lowered
from ecsgen.kernels.random_numbers import range_of_draws
from ecsgen.model import Setting
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import Type
from ecsgen.render.loops.element_values import ElementIndex, Value, is_mixing, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder, array_type
from ecsgen.render.loops.loop_aggregates import shared_aggregates
from ecsgen.render.loops.loop_commands import CommandEmitter
from ecsgen.render.loops.loop_control import LoopControl, is_whole_number, may_wrap
from ecsgen.render.loops.loop_messages import is_in_place, queued_messages
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil
from ecsgen.render.loops.row_values import SETTINGS_ROW
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, number, spelled
from ecsgen.render.text.quoting import comment_text

_FIXED: Final = tree.ENTITY, tree.ID_SLOT, tree.CELL_ID
"""Fields that no kernel changes."""


class LoopBody(LoopControl):
    """Code of one row, `statements`; and `delivery`, of a second loop after the last row."""

    def __init__(
        self,
        builder: FunctionBuilder,
        rows: Mapping[str, str],
        nears: Mapping[str, NeighbourAccess],
        is_flat: bool = False,
    ) -> None:
        """`rows`: variables with the rows of components, as far as these are known; `nears`: the
        neighbourhoods; `is_flat`: every element is a row of the loop."""
        super().__init__(builder, rows, nears, is_flat)
        self._commands = CommandEmitter(self, self.lookups, nears.values())
        self._found_rows: dict[lowered.RowVariable, Code] = {}
        self._alive_variables: dict[str, str] = {}
        """Variables with the test that the row's entity is alive, by component; "" if true."""
        self._alive_test = ""
        self._indexed = _indexed_locals(builder.program)

    @property
    def statements(self) -> list[str]:
        return [*self.first, *self.lines]

    def add(self, kernel: lowered.LoweredKernel) -> None:
        """Write all statements of a kernel, under its condition."""
        self.queued = queued_messages(kernel)
        if kernel.program.has_commands or kernel.program.counts_turns:
            self._skip_despawned()
        if kernel.program.stream_field is not None and kernel.program.effects.draws:
            self._write_row_key(kernel.program.stream_field, kernel.body)
        self.run(kernel.head)
        if kernel.where is None:
            self.run(kernel.body)
            return
        with self.block(f"if {self.value(kernel.where).at(0).text}"):
            self.run(kernel.body)

    @property
    def home(self) -> str:
        """Component of which each row of the loop has one row."""
        components = self.builder.source.components
        owned = (name for name, component in components.items() if component.owner == "entity")
        return next(owned, next(iter(components)))

    def row_number_of(self, owner: str) -> str:
        """Return the expression for the row of a component as others know it, who may have columns
        that were not cut to begin with the first row."""
        row, builder = self.row_of(owner), self.builder
        is_cut = builder.is_scattered and row == builder.row
        return f"{builder.rows_of(owner)}[0] + {row}" if is_cut else row

    def _skip_despawned(self) -> None:
        """Skip rows of dead entities, and entities and rows despawned since."""
        over = self.home
        tests = [self._owner_alive_test(over)]
        for name in self.builder.source.components:
            if marks := self.lookups.despawned_rows(name):
                tests.append(f"not {marks}[{self.row_number_of(name)}]")
        if not tests[0] and self.builder.source.components[over].owner == "entity":
            tests[0] = self.lookups.entity_alive_test(self.owner_entity(over))
        for test in filter(None, tests):
            self.write(f"if not {test}:", "    continue")

    def _write_row_key(self, stream: tree.FieldValue, body: Sequence[lowered.Statement]) -> None:
        """Compute the row key before the steps, which may write the stream field."""
        key_of_row, builder = self.names.allocate("key_of_row"), self.builder
        self.row_key = key_of_row
        in_loops = any(map(self._draws_in_passes, tree.walk_nested(body)))
        by_turn = builder.program.counts_turns
        if in_loops or by_turn:
            self._who = self.names.allocate("who")
        if builder.is_plain and by_turn:
            keys = builder.parameter("row_keys", "memoryview[int]", self._row_keys(stream))
            self._who = f"{keys}[{self.row_of(stream.owner)}]"
            with self.into(self.first):
                self.row_key, self._who = self._pass_key(f"{builder.turn} + 1")
            return
        if builder.is_plain:
            self._write_row_words(stream)
            if in_loops:
                keys = builder.parameter("row_keys", "memoryview[int]", self._row_keys(stream))
                self.first.append(f"{self._who} = {keys}[{self.row_of(stream.owner)}]")
            return
        arguments, function = [self.value(stream).at(0).text], "stream_key"
        if stream.name == tree.ID_SLOT:
            function = "id_stream_key"
            arguments.append(f"{self._id_generations(stream.owner)}[{arguments[0]}]")
        if self._who:
            parts = ", ".join(arguments)
            who = f"stream_of_id({parts})" if len(arguments) > 1 else f"np.uint64({parts})"
            who = f"pass_stream({who}, {builder.turn} + 1)" if by_turn else who
            self.first.append(f"{self._who} = {who}")
            function, arguments = "stream_key", [self._who]
        self.first.append(f"{key_of_row} = {function}({', '.join([*arguments, builder.key])})")

    def words_of_link(self, near: NeighbourAccess, loop: lowered.ForNeighbours) -> tuple[str, str]:
        builder, streams = self.builder, self._streams_of_links(near, loop)
        if not streams:
            return "", ""
        if not builder.is_plain:
            streams = builder.parameter("link_streams", array_type("u64"), streams)
            who = f"{streams}[{near.candidate}]"
            return f"stream_key({who}, {builder.key})", who
        words = f"words_of_passes({streams}, _key, {loop.drawn})"
        words = builder.parameter("link_words", "memoryview[int]", words)
        first, count = near.candidate, loop.drawn.stop
        first = f"{count} * {first}" if count > 1 else first
        return f"{words}[{first} : {first} + {count}]", ""

    def _streams_of_links(self, near: NeighbourAccess, loop: lowered.ForNeighbours) -> str:
        """Return the expression for what the random numbers of the passes of an outermost loop over
        links depend on but for the call; "" if nothing is kept of it."""
        builder, whom, stream = self.builder, loop.whom, self.builder.program.stream_field
        nested = tree.walk_nested(loop.body) if builder.is_plain else ()
        if self._depth > 1 or any(getattr(statement, "draws", False) for statement in nested):
            return ""
        if stream is None or stream.name not in _FIXED or builder.program.counts_turns:
            return ""
        if not (loop.draws and isinstance(whom, tree.NeighbourField) and whom.is_link):
            return ""
        if not (ids := near.join.handles(whom.name, whom.owner)):  # of owners
            return ""
        keys = builder.source.managers.keys(stream, builder.source.cell_selection(stream.owner))
        return f"_network{near.join.tag}.streams({keys}, {ids})"

    def _draws_in_passes(self, statement: lowered.Statement) -> bool:
        """Return True if a statement is a loop whose passes draw their own random words."""
        if isinstance(statement, lowered.ForNeighbours) and statement.draws:
            return not self._streams_of_links(self._nears[statement.near], statement)
        return isinstance(statement, lowered.Compound) and getattr(statement, "draws", False)

    def _may_change(self, stream: tree.FieldValue) -> bool:
        """Return True if the kernel may change the field of which random numbers depend."""
        program = self.builder.program
        sent = any(isinstance(step.target, tree.ReferencedField) for step in program.actions)
        return stream.name not in _FIXED and (sent or stream.text in program.effects.writes)

    def _write_row_words(self, stream: tree.FieldValue) -> None:
        """Give a row of a plain loop its random words. Those of many rows are drawn in advance, in
        the order of turns if the loop has one, unless the stream field may change."""
        builder, program, source = self.builder, self.builder.program, self.builder.source
        may_change = self._may_change(stream)
        picked, drawn = self._picked_keys(stream), range_of_draws(program.expressions)
        if builder.is_ordered and not may_change:
            if source.is_world:
                picked = source.cell_selection(stream.owner)
            passed = f"{source.managers.keys(stream, picked)}, _key, {drawn}, _order"
            kind = "Iterator[tuple[int, ...]]"
            words = builder.parameter("words", kind, f"words_of_turns({passed})")
            builder.words_of_turns = self.row_key, words
            return
        passed = f"{source.managers.keys(stream, picked)}, _key, {drawn.stop}"
        passed += ", size=1" if may_change else ""
        words = builder.parameter("words", "RandomWords", f"RandomWords({passed})")
        self.first.append(f"{self.row_key} = {words}[{self.row_of(stream.owner)}]")

    def _picked_keys(self, stream: tree.FieldValue) -> str:
        data = self.builder.source.managers.data(stream.owner)
        return f"[: {data}._n]" if stream.name == tree.ID_SLOT else ""

    def _row_keys(self, stream: tree.FieldValue) -> str:
        return f"{self.builder.source.managers.keys(stream, self._picked_keys(stream))}.data"

    def _leaf_value(self, node: tree.Expression) -> Value:
        match node:
            case tree.Coordinates():
                return self.grids.coordinates(node, self)
            case tree.CellAt():
                return self.grids.cell_at(node, self)
            case tree.Full():
                return self.grids.full(node, self)
        return super()._leaf_value(node)

    def cell_of_row(self, cell_field: tree.FieldValue) -> str:
        """Return the expression for the row's own cell, or the cell that it occupies; below 0 if
        there is none, and for rows of dead entities."""
        if cell_field.name == tree.CELL_ID:
            return self.row_of(cell_field.owner)
        number = self.own_number(cell_field)
        if number:
            cell = f"{number} - FIRST_CELL"
        else:
            cell = f"cell_number({self.value(cell_field).at(0).text})"
        alive = self._alive_variable(cell_field.owner)
        return f"{cell} if {alive} else -1" if alive else cell

    def _alive_variable(self, owner: str) -> str:
        """Return the variable with the test that the row's own entity is alive; "" if it cannot be
        dead, and in kernels with commands, which skip rows of dead entities."""
        if owner not in self._alive_variables:
            with self.into(self.first):
                test = "" if self.builder.program.has_commands else self._owner_alive_test(owner)
            self._alive_variables[owner] = test and self.names.allocate("lives")
            if test:
                self.first.append(f"{self._alive_variables[owner]} = {test}")
        return self._alive_variables[owner]

    def _owner_alive_test(self, owner: str) -> str:
        """Return the test that the owner of a row is alive; "" if it cannot be dead."""
        component = self.builder.source.components[owner]
        if not self.builder.program.may_be_dead or component.owner == "none":
            return ""
        return self.lookups.owner_alive_test(component.name, self.owner_entity(owner))

    def owner_entity(self, owner: str) -> str:
        """Return the expression for the entity that has the row."""
        return self.value(tree.FieldValue(tree.HANDLE, tree.ENTITY, owner)).at(0).text

    def run(self, statements: Sequence[lowered.Statement]) -> None:
        for index, statement in enumerate(statements):
            match statement:
                case lowered.Comment():
                    if not self.is_flat:
                        self.write(f"# {comment_text(statement.text)}")
                case lowered.FindRow():
                    self._find_row(statement)
                case lowered.RowExists():
                    test = self._found_rows[statement.row]
                    if statement.row.component:
                        test = infix("!=", Precedence.COMPARISON, test, Code("NIL"))
                    self.locals_[statement.to.name] = uniform(statement.to.type, test)
                case lowered.ReadField():
                    self._read_field(statement)
                case lowered.ListNeighbours():
                    self.write(*self._nears[statement.near].list_lines(self))
                case lowered.AggregateNeighbours():
                    if statement.to.name not in self.locals_:  # not with another one
                        self._aggregate(statement, statements[index + 1 :])
                case lowered.ChooseRandom():
                    after = statements[index + 1 : index + 2]  # nothing in a condition
                    goes_there = any(isinstance(step, lowered.MoveToCell) for step in after)
                    self.locals_[statement.to.name] = self._choose_random(statement, goes_there)
                case lowered.SetLocal():
                    self._set_local(statement)
                case lowered.WriteField():
                    self._write_field(statement)
                case lowered.UpdatePosition():
                    owner = statement.position.owner
                    row = self.row_number_of(owner)
                    self._update_cells(owner, row, self.value(statement.position))
                case lowered.MoveToCell():
                    self._move_to_cell(statement)
                case lowered.QueueDespawnSelf():
                    self._commands.despawn_self(statement)
                case lowered.QueueDespawn():
                    self._commands.despawn_target(statement, self._found_rows[statement.row])
                case lowered.QueueSpawn():
                    self._commands.spawn(statement)
                case lowered.CheckAlive():
                    self._check_alive(statement.identity)
                case lowered.SendMessage():
                    self._send_message(statement)
                case lowered.If():
                    self._branch(statement)
                case lowered.For():
                    self._loop_over(statement)
                case lowered.ForNeighbours():
                    self._loop_over_neighbours(statement)
                case lowered.While():
                    self._loop_while(statement)
                case lowered.Jump(kind):
                    self.jump(kind)

    def _aggregate(
        self, first: lowered.AggregateNeighbours, later: Sequence[lowered.Statement]
    ) -> None:
        near = self._nears[first.aggregate.near]
        is_stencil = isinstance(near, Stencil)
        aggregates = [first] if is_stencil else [first, *shared_aggregates(first, later)]
        values = self._loop_of(near).values(*aggregates)
        for aggregate, value in zip(aggregates, values, strict=True):
            self.locals_[aggregate.to.name] = value

    def _update_cells(self, owner: str, row: str, position: Value) -> None:
        """Move a row of a component to the cell of its position."""
        home = self.builder.source.managers.home
        for near in self._commands.spaces:
            if (near.join.position_owner or home) == (owner or home):
                self.write(near.move_line(row, position))
        self._follow_moves()

    def _choose_random(self, choice: lowered.ChooseRandom, goes_there: bool) -> Value:
        """Choose a random row or empty cell; 0 if there is none. `goes_there`: the next statement
        is the only one that may need it."""
        chosen, builder = choice.chosen, self.builder
        component = builder.source.managers.components[chosen.component]
        manager, module = builder.source.managers.manager(component.name), component.module
        table, row = f"_{module}_living", ""
        if chosen.candidates == "empty" and self.grids.is_live:
            occupancy = self.grids.occupancy(component.name)
            if builder.is_plain:
                empties = builder.hoist("empties", f"{occupancy}.empties()")
                count, candidate = f"len({empties})", f"FIRST_CELL + {empties}[{{}}]"
            else:
                count = f"count_empty({occupancy})"
                candidate = f"id_of_cell(empty_cell({occupancy}, {{}}))"
        elif chosen.candidates == "empty":
            kind = "list[int]" if builder.is_plain else array_type("i32")
            cells = builder.table(f"{module}_empty", kind, f"empty_cells({manager})")
            count, candidate = f"len({cells})", f"id_of_cell({cells}[{{}}])"
        elif component.owner == "entity":
            row = self.names.allocate("picked_row")
            if builder.is_plain:
                builder.tables[table] = f"live_active_rows({manager})"
                rows = builder.parameter(f"{module}_living", "memoryview[int]", f"{table}.data")
                count, candidate = self._length_of(rows, module), f"{rows}[{{}}]"
            else:
                builder.tables[table] = f"selectable_rows({manager})"
                count = builder.parameter(f"{module}_count", "int", f"{table}[0]")
                rows = builder.parameter(f"{module}_living", "RowArray", f"{table}[1]")
                candidate = f"row_at({rows}, {{}})"
        else:
            builder.tables[table] = f"live_active_handles({manager})"
            living = builder.handles(f"{module}_living", table)
            count, candidate = self._length_of(living, module), f"{living}[{{}}]"
        if goes_there and builder.is_plain and chosen.candidates == "empty":
            there = candidate.format(self.drawn_index(chosen.number, count))
            none = builder.zero(choice.to.type).text
            code = Code(f"{there} if {count} > 0 else {none}", Precedence.CHOICE)
            return uniform(choice.to.type, code)
        held = self.variables(choice.to.type, "picked")
        there = held.at(0).text
        self.write(f"{there} = {builder.zero(choice.to.type).text}")
        if row:
            self.write(f"{self.builder.declared(row)} = NIL")
        with self.block(f"if {count} > 0"):
            drawn = self.drawn_index(chosen.number, count)
            if row:
                self.write(f"{row} = {candidate.format(drawn)}")
                candidate = self.lookups.owner_of(component.name, row)
            self.write(f"{there} = {candidate.format(drawn)}")
            if chosen.candidates == "any":
                self.lookups.null_despawned(component.name, there, row)
        if row and self.lookups.knows_chosen_row(component.name):
            self.lookups.known_rows[there] = component.name, row
        return held

    def _length_of(self, candidates: str, module: str) -> str:
        """Return the number of candidates, counted before the loop where Python runs it."""
        length = f"len({candidates})"
        return self.builder.hoist(f"{module}_count", length) if self.builder.is_plain else length

    def drawn_index(self, number: int, count: str) -> str:
        """Return the expression for a random index below `count`, Python's own in plain loops."""
        if self.builder.is_plain:
            return f"({self.row_key}[{number}] >> 32) * {count} >> 32"
        return f"range_at({self.row_key}, {number}, {count})"

    def drawn_number(self, number: int) -> str:
        """Return the expression for a random number in [0, 1)."""
        return f"random_at({self.row_key}, {number})"

    def row_of_chosen(self, component: str, held: Value) -> str:
        """Return the variable for a chosen entity's row, known to later steps; "" if it is not."""
        if not self.lookups.knows_chosen_row(component):
            return ""
        row = self.names.allocate("chosen_row")
        self.write(f"{self.builder.declared(row)} = NIL")
        self.lookups.known_rows[held.at(0).text] = component, row
        return row

    def _move_to_cell(self, move: lowered.MoveToCell) -> None:
        builder, owner = self.builder, move.to.owner
        name = owner or builder.source.managers.home
        component = builder.source.managers.components[name]
        assert component.on is not None
        builder.moved[name] = None
        value = self.keep_number(self.value(move.value)).at(0).text
        if move.row is None:
            row, there = self.row_number_of(owner), self.value(move.to).at(0).text
            test = self._alive_variable(owner)
        else:
            row = self._found_rows[move.row].text
            field_of_row = lowered.FieldOfRow(move.row, move.to.name, move.to.type)
            there, test = builder.cells_of_found_row(field_of_row, row).at(0).text, f"{row} != NIL"
            test += f" and {self._alive_test}" if self._alive_test else ""
        if self.grids.is_live and name in builder.program.tracked_occupants:
            axes, occupancy = self.grids.axes(component.on.grid), self.grids.occupancy(name)
            passed = f"{occupancy}, {axes}, {row}, {there}, {value}, {component.on.capacity}"
            moved = f"move_to_free_cell({passed})"
            goes = f"{value} != {there}"
        else:
            moved, goes = value, self.grids.is_cell(component.on.grid, value)
        with self.block(f"if {f'{test} and ' if test else ''}{goes}"):
            self.write(f"{there} = {moved}")
        self._follow_moves()

    def _find_row(self, lookup: lowered.FindRow) -> None:
        if lookup.row.component == tree.SETTINGS:
            self._found_rows[lookup.row] = Code(SETTINGS_ROW)
            return
        if isinstance(lookup.handle, tree.NeighbourRow):
            near = self._nears[lookup.handle.near]
            row = self._found_rows[lookup.row] = Code(self.names.allocate("their_row"))
            to = self.builder.declared(row.text) if near.join.has_ghosts else row.text
            self.write(f"{to} = {near.row_of(lookup.handle.owner)}")
            if near.join.has_ghosts:  # which are behind the rows, and get no messages
                end = self.end_of_rows(lookup.handle.owner)
                self.write(f"if {row.text} >= {end}:", f"    {row.text} = NIL")
            return
        handle = self.keep_number(self.value(lookup.handle)).at(0).text
        if not lookup.row.component:
            alive = self.lookups.alive(handle)
            self._found_rows[lookup.row] = self.assign(alive, "is_alive")
            return
        prefix = self.builder.source.managers.column_prefix(lookup.row.component)
        name = self.names.allocate(f"{prefix}_row")
        self._found_rows[lookup.row] = Code(name)
        self.lookups.find(lookup, name, handle, bool(self.own_number(lookup.handle)))

    def _read_field(self, read: lowered.ReadField) -> None:
        row = self._found_rows[read.field.row].text
        there = self.builder.cells_of_found_row(read.field, row, read.from_copy)
        own_cell = there.at(0).python_number if is_whole_number(read.to.type) else None
        if own_cell and not read.field.items:
            self._read_own(read, row, own_cell())
            return
        default = there
        if row != SETTINGS_ROW:
            default = self._default(read.field.name, read.field.type, read.default)
        target = self.variables(read.to.type, f"their_{read.field.name}")
        self.locals_[read.to.name] = target
        if not read.field.items:
            self._read(row, default, there, target)
            return
        test, position = self.position_of_item(read.field.type.shape, read.field.items)
        self.store(uniform(read.to.type, self.builder.zero(read.to.type)), target)
        with self.block(f"if {test.text}"):
            if row == SETTINGS_ROW:
                self.store(self._part_at(there, position, read.to.type), target)
                return
            with self.block(f"if {row} == NIL"):
                self.store(self._part_at(default, position, read.to.type), target)
            with self.block("else"):
                self.store(self._part_at(there, position, read.to.type), target)

    def _read_own(self, read: lowered.ReadField, row: str, cell: str) -> None:
        """Read a field as a number of Python's own."""
        type_, name = read.to.type, self.names.allocate(f"their_{read.field.name}")
        (number,) = read.default or (0,)  # settings are always there
        values = (uniform(type_, Code(text)) for text in (spelled(number), cell, name))
        self._read(row, *values)
        self.locals_[read.to.name] = self.own_variable(type_, name)

    def _part_at(self, base: Value, position: str, type_: Type) -> Value:
        """Return the element of a value at a computed index."""
        if len({base.at(index).text for index in range(base.type.elements)}) == 1:
            return uniform(type_, base.at(0))  # a default
        base = self.indexable(base) if base.is_split else base
        return uniform(type_, base.at(position))

    def _set_local(self, assignment: lowered.SetLocal) -> None:
        name = assignment.to.name
        known = self.lookups.known_rows
        if (
            self.builder.is_plain
            and is_whole_number(assignment.to.type)
            and not assignment.to.type.shape
        ):
            self._set_integer(assignment)
        elif assignment.items:
            self._set_item(assignment)
        elif assignment.index:
            local = assignment.to
            element = tree.Element(assignment.type, local, assignment.index)
            value = self._buffered(assignment.value, local, assignment.type)
            self.store(value, self.value(element))
        elif assignment.is_new:
            value = self.value(assignment.value)
            if name in self._indexed:
                held = self.memory(assignment.to.type, self.names.released(name))
                self.store(value, held)
            else:
                held = self.stored(value, self.names.released(name))
            self.locals_[name] = held
            if isinstance(assignment.value, tree.Local) and value.at(0).text in known:
                known[held.at(0).text] = known[value.at(0).text]
        else:
            local = assignment.to
            self.store(self._buffered(assignment.value, local, local.type), self.locals_[name])
            known.pop(self.locals_[name].at(0).text, None)

    def _set_integer(self, assignment: lowered.SetLocal) -> None:
        """Set a local to an integer of Python's own."""
        local, value = assignment.to, assignment.value
        number = self.own_number(value) or f"int({self.keep_number(self.value(value)).at(0).text})"
        if assignment.is_new:
            name = self.assign(Code(number), self.names.released(local.name)).text
            self.locals_[local.name] = self.own_variable(local.type, name)
        else:
            there = self.own_number(local)
            self.write(f"{there} = {number}")

    def set_local(self, local: tree.Local, code: Code) -> None:
        """Give a local without elements a value: its first one in the text, or another."""
        value = uniform(local.type, code)
        if local.name in self.locals_:
            self.store(value, self.locals_[local.name])
        else:
            self.locals_[local.name] = self.stored(value, self.names.released(local.name))
        self.lookups.known_rows.pop(self.locals_[local.name].at(0).text, None)

    def _set_item(self, statement: lowered.SetLocal | lowered.WriteField) -> None:
        """Write an element at computed indices, if they are inside of the shape."""
        value, base = self.keep_number(self.value(statement.value)), self.value(statement.to)
        test, position = self.position_of_item(statement.to.type.shape, statement.items)
        with self.block(f"if {test.text}"):
            self.write_item(base, position, statement.type, lambda there: self.store(value, there))

    def _write_field(self, write: lowered.WriteField) -> None:
        if write.items:
            self._set_item(write)
            return
        field: tree.Expression = write.to
        if write.index:
            field = tree.Element(write.type, write.to, write.index)
        target = self.value(field)
        is_whole = is_whole_number(write.type)
        if is_whole and (numbers := self._all_own(self._own_result, (field, write.value))):
            there, result = (number() for number in numbers)
            self._write_own(there, result, write.type.scalar, may_wrap(write.value))
            return
        match write.value:
            case tree.Operation(type, sign, (left, right)) if (
                left == field
                and is_in_place(sign, type.scalar)
                and not (is_mixing(right, write.to) or self.is_refused(write.value))
            ):
                self.store(self.spread(right, write.type), target, f"{sign}=")
            case _:
                self.store(self._buffered(write.value, write.to, write.type), target)

    def _buffered(
        self, node: tree.Expression, target: tree.FieldValue | tree.Local, type_: Type
    ) -> Value:
        """Return a value to assign to `target`; stored before if assigning changes the value."""
        value = self.spread(node, type_)
        if self.count(type_) > 1 and is_mixing(node, target):
            return self.stored(value)
        return value

    def _check_alive(self, identity: tree.FieldValue) -> None:
        """Check that the row's own entity is alive; messages of dead entities are dropped."""
        owner, managers = self.value(identity).at(0).text, self.builder.source.managers
        alive = self.lookups.alive(owner, is_owner=True)
        if not managers.is_sharded:
            alive = Code(self.lookups.owner_alive_test(identity.owner or managers.home, owner))
        self._alive_test = self.assign(alive, "is_heard").text

    def _own_message(self, message: lowered.SendMessage, row: str) -> tuple[Code, Code] | None:
        """Return the expressions for a cell that gets a message and for its new value, in numbers
        of Python's own; None if there are none."""
        is_of_cell = not (message.is_deferred or message.to.items or message.to.type.shape)
        is_own = self.builder.is_plain and is_of_cell and is_whole_number(message.type)
        if not (is_own and message.operator in "=+-*"):
            return None
        cell = self.builder.cells_of_found_row(message.to, row).at(0).python_number
        result = self._own_result(message.value) if cell else None
        if not (cell and result):
            return None
        there = Code(cell())
        if message.operator == "=":
            return there, result()
        level = Precedence.PRODUCT if message.operator == "*" else Precedence.SUM
        return there, infix(message.operator, level, there, result())

    def _send_message(self, message: lowered.SendMessage) -> None:
        row, position = self._found_rows[message.to.row].text, ""
        tests = [] if row == SETTINGS_ROW else [f"{row} != NIL"]
        tests += [self._alive_test] if self._alive_test else []
        if message.to.items:
            test, position = self.position_of_item(message.to.type.shape, message.to.items)
            tests.append(test.within(Precedence.AND))
        if new_cell := self._own_message(message, row):
            value = uniform(message.type, new_cell[1])
        elif self.builder.program.takes_turns:  # the row may be its own receiver
            owner = message.to.row.component if self.builder.source.is_world else tree.OWN
            target = tree.FieldValue(message.to.type, message.to.name, owner)
            value = self._buffered(message.value, target, message.type)
        else:
            value = self.spread(message.value, message.type)
        with self.block(f"if {' and '.join(tests)}") if tests else nullcontext():
            stored_row = row
            if position:  # row and element in one number
                stored_row = f"{message.to.type.elements} * {row} + {position}"
            if message.is_deferred and message.to.text in self.queued:
                self.queue_message(message, stored_row, value)
                return
            if message.is_deferred:
                self.defer_message(message, row, stored_row, value)
                return
            if new_cell:
                is_sum = message.operator != "=" or may_wrap(message.value)
                self._write_own(*new_cell, message.type.scalar, is_sum)
            else:
                self.apply_message(message, row, value, position)
            if row == SETTINGS_ROW:
                self._clip_setting(message)
            if message.moves:
                there = self.builder.cells_of_found_row(message.to, row)
                self._update_cells(message.to.row.component, row, there)

    def _clip_setting(self, message: lowered.SendMessage) -> None:
        """Hold a setting within its bounds after an assignment in turns."""
        settings = self.builder.source.managers.components[tree.SETTINGS].fields
        setting = next(field for field in settings if field.name == message.to.name)
        assert isinstance(setting, Setting)
        cell = self.builder.cells_of_found_row(message.to, SETTINGS_ROW)
        for sign, bound in (("<", setting.low), (">", setting.high)):
            if bound is not None:
                limit = number(bound, message.type.scalar).text
                there = cell.at(0).text
                self.write(f"if {there} {sign} {limit}:", f"    {there} = {limit}")


def _indexed_locals(program: Program) -> frozenset[str]:
    """Return the locals with elements at computed indices, which have to be in arrays."""
    bases = [node.base for node in program.nodes if isinstance(node, tree.Item)]
    targets = [step.target for step in program.actions if step.items]
    return frozenset(n.name for n in (*bases, *targets) if isinstance(n, tree.Local))


class VectorBody(LoopBody):
    """Body of a vector loop: conditions have no branches."""

    def _elementwise(self, node: tree.Operation | tree.Draw) -> Value:
        if not isinstance(node, tree.Operation) or node.name not in ("and", "or"):
            return super()._elementwise(node)
        left, right = (self.value(operand) for operand in node.operands)
        sign = "&" if node.name == "and" else "|"

        def at(index: ElementIndex) -> Code:
            sides = (side.at(index).within(Precedence.ATOM) for side in (left, right))
            return Code(f" {sign} ".join(sides), Precedence.COMPARISON)

        return Value(node.type, at)
