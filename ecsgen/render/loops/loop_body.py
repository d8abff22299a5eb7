"""Statements of one row of a loop: a method for each kind of lowered statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from ecsgen.kernels import statements as lowered
from ecsgen.kernels.operations import COMPARISONS
from ecsgen.kernels.random_numbers import count_draws
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Number, Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_operations import element_of
from ecsgen.render.loops.element_values import (
    UNROLLED,
    ElementIndex,
    LoopEmitter,
    Value,
    is_mixing,
    part_of,
    plus,
    uniform,
)
from ecsgen.render.loops.function_builder import FunctionBuilder, Parameter, array_type
from ecsgen.render.loops.loop_aggregates import AggregateLoop, shared_aggregates
from ecsgen.render.loops.loop_commands import CommandEmitter
from ecsgen.render.loops.loop_everybody import AllNeighbours
from ecsgen.render.loops.loop_grids import GridNeighbours, GridParameters
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil, StencilAggregates
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, spelled, wrap_to_type
from ecsgen.render.text.quoting import comment_text, literal


class LoopBody(LoopEmitter):
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
        super().__init__(builder.names, builder.constant, is_flat)
        self.builder = builder
        self.first: list[str] = []
        """Statements that begin a row."""
        self.delivery: list[str] = []
        self.queue_delivery: list[str] = []
        """Statements after the last row, for messages sent inside of loops."""
        self._queued: dict[str, list[lowered.SendMessage]] = {}
        """Messages by their field, of fields to which a statement inside of a loop sends."""
        self._queues: dict[str, _Queue] = {}
        self._nears = nears
        self.grids = GridParameters(builder)
        self.lookups = Lookups(self, self.grids)
        self._commands = CommandEmitter(self, self.lookups, nears.values())
        self._rows = {**rows}
        self._found_rows: dict[lowered.RowVariable, Code] = {}
        self._starts: dict[tuple[str, int], str] = {}
        self._start_prefixes = {builder.row: "j"}
        """Prefixes of the variables with the start of a row's elements, by the row's variable."""
        self._alive_variables: dict[str, str] = {}
        """Variables with the test that the row's entity is alive, by component; "" if true."""
        self._alive_test = ""
        self._moving: list[NeighbourAccess] = []
        """Neighbourhoods of the loops around a statement whose rows may move meanwhile."""
        self._depth = 0
        """The number of loops inside of the loop over rows."""
        self._ended_name = ""
        self._who = ""
        """Variable with what the random numbers depend on, where loops draw."""
        self._indexed = _indexed_locals(builder.program)

    @property
    def statements(self) -> list[str]:
        return [*self.first, *self.lines]

    def add(self, kernel: lowered.LoweredKernel) -> None:
        """Write all statements of a kernel, under its condition."""
        self._queued = _queued_messages(kernel)
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

    @property
    def is_in_loop(self) -> bool:
        """True if a statement is inside of a loop of the row."""
        return self._depth > 0

    def _skip_despawned(self) -> None:
        """Skip rows of dead entities, and entities and rows despawned since."""
        over = self.home
        tests = [self._owner_alive_test(over)]
        for name in self.builder.source.components:
            if marks := self.lookups.despawned_rows(name):
                tests.append(f"not {marks}[{self.row_of(name)}]")
        if not tests[0] and self.builder.source.components[over].owner == "entity":
            tests[0] = self.lookups.entity_alive_test(self.owner_entity(over))
        for test in filter(None, tests):
            self.write(f"if not {test}:", "    continue")

    def _write_row_key(self, stream: tree.FieldValue, body: Sequence[lowered.Statement]) -> None:
        """Compute the row key before the steps, which may write the stream field."""
        key_of_row, builder = self.names.allocate("key_of_row"), self.builder
        self.row_key = key_of_row
        loops = (s for s in lowered.walk_statements(body) if isinstance(s, lowered.Compound))
        in_loops = any(getattr(loop, "draws", False) for loop in loops)
        by_turn = builder.program.counts_turns
        if in_loops or by_turn:
            self._who = self.names.allocate("who")
        if builder.is_plain and by_turn:
            keys = builder.parameter("row_keys", "Any", self._row_keys(stream))
            self._who = f"int({keys}[{self.row_of(stream.owner)}])"
            with self.into(self.first):
                self.row_key, self._who = self._pass_key(f"{builder.turn} + 1")
            return
        if builder.is_plain:
            self.first.append(f"{key_of_row} = {self._row_words(stream)}")
            if in_loops:
                keys = builder.parameter("row_keys", "Any", self._row_keys(stream))
                self.first.append(f"{self._who} = int({keys}[{self.row_of(stream.owner)}])")
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

    def _row_words(self, stream: tree.FieldValue) -> str:
        """Return the expression for the row's random words. Plain Python draws the words of many
        rows in advance, in the order of turns, unless the stream field may change."""
        builder, program, source = self.builder, self.builder.program, self.builder.source
        sent = any(isinstance(step.target, tree.ReferencedField) for step in program.actions)
        is_fixed = stream.name in (tree.ENTITY, tree.ID_SLOT, tree.CELL_ID)
        may_change = not is_fixed and (sent or stream.text in program.effects.writes)
        in_order = builder.is_ordered and not may_change
        picked = self._picked_keys(stream)
        if in_order and source.is_world:
            picked = source.cell_selection(stream.owner)
        n_draws = str(count_draws(program.expressions))
        arguments = [source.managers.keys(stream, picked), "_key", n_draws]
        arguments += ["_order"] if in_order else []
        arguments += ["size=1"] if may_change else []
        words = builder.parameter("words", "RandomWords", f"RandomWords({', '.join(arguments)})")
        return f"{words}[{builder.row if in_order else self.row_of(stream.owner)}]"

    def _picked_keys(self, stream: tree.FieldValue) -> str:
        data = self.builder.source.managers.data(stream.owner)
        return f"[: {data}._n]" if stream.name == tree.ID_SLOT else ""

    def _row_keys(self, stream: tree.FieldValue) -> str:
        return self.builder.source.managers.keys(stream, self._picked_keys(stream))

    def _leaf_value(self, node: tree.Expression) -> Value:
        match node:
            case tree.FieldValue(name=name, owner=owner) if name == tree.CELL_ID:
                return uniform(node.type, Code(f"id_of_cell({self.row_of(owner)})"))
            case tree.FieldValue(name=name) if name == tree.ID_SLOT and node.type.is_handle:
                return self._own_id(node)
            case tree.FieldValue(owner=owner):
                if owner == tree.PARENT:
                    return self._parent_value(node)
                return self._own_field(node, self.row_of(owner))
            case tree.Argument():
                return self._argument(node)
            case tree.NeighbourField() | tree.Offset() | tree.Distance():
                return self._nears[node.near].neighbour_value(node)
            case tree.Occupied():
                near = self._nears[node.near]
                assert isinstance(near, GridNeighbours | AllNeighbours)
                return near.occupied(node)
            case tree.Coordinates():
                return self.grids.coordinates(node, self)
            case tree.CellAt():
                return self.grids.cell_at(node, self)
            case tree.Full():
                return self.grids.full(node, self)
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
        with self.block(f"if {row} == NIL"):
            self.store(default, target)
        with self.block("else"):
            self.store(there, target)

    def _default(self, name: str, type_: Type, elements: Sequence[bool | Number]) -> Value:
        """Return the default for a field of a row that does not exist."""
        if type_.is_handle and not type_.shape:
            return uniform(type_, self.builder.zero(type_))
        numbers = [self.constant(element, type_.scalar) for element in elements]
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
                    row = self.row_of(statement.position.owner)
                    self._update_cells(row, self.value(statement.position))
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

    # Blocks

    def _branch(self, branch: lowered.If, word: str = "if") -> None:
        known = {**self.lookups.known_rows}
        with self.block(f"{word} {self.value(branch.test).at(0).text}"):
            self._block(branch.body)
        self._keep_known(known)
        match branch.otherwise:
            case ():
                return
            case (lowered.Comment(), lowered.If() as other) if self._is_free(other.test):
                self._branch(other, "elif")
            case otherwise:
                with self.block("else"):
                    self._block(otherwise)
        self._keep_known(known)

    def _is_free(self, test: tree.Expression) -> bool:
        """Return True if no statement has to come before a test."""
        lines: list[str] = []
        with self.into(lines):
            self.value(test).at(0)
        return not lines

    def _block(self, statements: Sequence[lowered.Statement]) -> None:
        self.run(statements)
        if not any(not isinstance(statement, lowered.Comment) for statement in statements):
            self.write("pass")

    def _keep_known(self, before: dict[str, tuple[str, str]]) -> None:
        """Forget the rows that were chosen in a block, and those that it has overwritten."""
        known = self.lookups.known_rows
        for name in [name for name in known if known[name] != before.get(name)]:
            del known[name]

    def _loop_over(self, loop: lowered.For) -> None:
        start, stop = (self._bound(node) for node in (loop.start, loop.stop))
        name = self.names.allocate(self.names.released(loop.counter.name))
        counter = Code(name)
        if self.builder.is_plain:
            counter = Code(self.names.allocate(f"i64_{name}"), python_number=lambda: name)
        self.locals_[loop.counter.name] = uniform(loop.counter.type, counter)
        bounds = stop if start == "0" else f"{start}, {stop}"
        passes = self._counting(loop.draws)
        with (
            self.block(f"for {name} in range({bounds})"),
            self._inside_loop(),
            self._pass_of(passes),
        ):
            if counter.text != name:
                self.write(f"{counter.text} = np.int64({name})")
            self._block(loop.body)
        self._end_row_after(loop)

    def index_code(self, node: tree.Expression) -> str:
        number = "" if isinstance(node, tree.Constant) else self.own_number(node)
        if number:
            return number if number.isidentifier() else self.assign(Code(number)).text
        return super().index_code(node)

    def _bound(self, node: tree.Expression) -> str:
        return self.own_number(node) or self.value(node).at(0).text

    def _loop_over_neighbours(self, loop: lowered.ForNeighbours) -> None:
        near = self._nears[loop.near]
        may_move = loop.needs_offset and near.may_move
        is_listed = loop.needs_offset and not may_move
        with AggregateLoop(self, near).neighbours(is_listed), self._inside_loop():
            if test := self.dead_neighbour_test(near.join, near.row_of):
                self.write(f"if {test}:", "    continue")
            if may_move:
                self._moving.append(near)
                self.write(*near.offset_now_lines(self))
            whom = self.keep_number(self.value(loop.whom)).at(0).text if loop.draws else ""
            whom = f"int({whom})" if whom and self.builder.is_plain else whom
            with self._pass_of(whom, is_counted=False):
                self._block(loop.body)
        if may_move:
            self._moving.remove(near)
        self._end_row_after(loop)

    def _follow_moves(self) -> None:
        """Write the offsets anew to the neighbours that loops have come to: something has moved."""
        for near in self._moving:
            self.write(*near.offset_now_lines(self))

    def dead_neighbour_test(self, join: NeighbourJoin, row_of: Callable[[str], str]) -> str:
        """Return the test that a neighbour, with these rows, has died since; "" if none can."""
        tests = []
        for owner, component in join.components.items():
            if marks := self.lookups.despawned_rows(component.name):
                tests.append(f"{marks}[{row_of(owner)}]")
        components = join.components.items()
        owned = next((name for name, c in components if c.owner == "entity"), None)
        if owned is not None:
            entity = tree.NeighbourField(tree.HANDLE, tree.ENTITY, owned, join.near.name)
            alive = self.lookups.entity_alive_test(self.value(entity).at(0).text)
            tests += [f"not ({alive})"] if alive else []
        return " or ".join(tests)

    def _loop_while(self, loop: lowered.While) -> None:
        passes = self.names.allocate("passes")
        drawn = f"{passes} + 1" if loop.draws else ""
        head = f"for {passes} in range({loop.at_most + 1})"
        with self.block(head), self._inside_loop(), self._pass_of(drawn):
            self.run(loop.head)
            test = self.value(loop.test).at(0)
            self.write(f"if not ({test.text}):", "    break")
            with self.block(f"if {passes} == {loop.at_most}"):
                self.write(f"{self.builder.cut_off}[{loop.number}] += 1", "break")
            self._block(loop.body)
        self._end_row_after(loop)

    @contextmanager
    def _inside_loop(self) -> Iterator[None]:
        known = {**self.lookups.known_rows}
        self.lookups.known_rows.clear()
        self._depth += 1
        yield
        self._depth -= 1
        self._keep_known(known)

    def _counting(self, draws: bool) -> str:
        """Return the variable that counts the passes of a loop from 1; "" if nothing is drawn."""
        if not draws:
            return ""
        passes = self.names.allocate("passes")
        self.write(f"{passes} = 0")
        return passes

    @contextmanager
    def _pass_of(self, number: str, is_counted: bool = True) -> Iterator[None]:
        """Draw other random numbers in each pass of a loop; `number`: which pass it is, or what
        stands for it, "" if none are drawn; `is_counted`: a variable is counted up."""
        if not number:
            yield
            return
        outer = self.row_key, self._who
        if is_counted and number.isidentifier():
            self.write(f"{number} += 1")
        self.row_key, self._who = self._pass_key(number)
        yield
        self.row_key, self._who = outer

    def _pass_key(self, number: str) -> tuple[str, str]:
        """Return the variables with the key of a pass, and with what its numbers depend on."""
        who, key = self._who, self.names.allocate("key_of_pass")
        if self.builder.is_plain:
            call_key = self.builder.parameter("call_key", "int", "int(_key)")
            self.write(f"{key} = PassWords({who}, {number}, {call_key})")
            return key, f"{key}.who"
        inner = self.names.allocate("who_in_pass")
        self.write(f"{inner} = pass_stream({who}, {number})")
        self.write(f"{key} = stream_key({inner}, {self.builder.key})")
        return key, inner

    def jump(self, kind: tree.JumpKind) -> None:
        """End the row, a loop or a pass of it. Inner loops are left one after the other."""
        if kind != "return":
            self.write(kind)
        elif not self._depth:
            self.write("continue")
        else:
            self.write(f"{self._ended} = True", "break")

    @property
    def _ended(self) -> str:
        """Variable that is true once the row's statements have ended inside of a loop."""
        if not self._ended_name:
            self._ended_name = self.names.allocate("is_ended")
            self.first.append(f"{self._ended_name} = False")
        return self._ended_name

    def _end_row_after(self, loop: lowered.Compound) -> None:
        """End the row if it has ended inside of a loop."""
        ends = (lowered.Jump("return"), lowered.QueueDespawnSelf, lowered.QueueDespawn)
        inside = lowered.walk_statements(loop.blocks[-1])
        if any(statement == ends[0] or isinstance(statement, ends[1:]) for statement in inside):
            self.write(f"if {self._ended}:", "    break" if self._depth else "    continue")

    def _aggregate(
        self, first: lowered.AggregateNeighbours, later: Sequence[lowered.Statement]
    ) -> None:
        near = self._nears[first.aggregate.near]
        loop, aggregates = AggregateLoop(self, near), [first, *shared_aggregates(first, later)]
        if isinstance(near, Stencil):
            loop, aggregates = StencilAggregates(self, near), [first]
        values = loop.values(*aggregates)
        for aggregate, value in zip(aggregates, values, strict=True):
            self.locals_[aggregate.to.name] = value

    def own_number(self, node: tree.Expression) -> str:
        """Return the expression for a number of Python's own, if plain loops have one: comparing
        these is many times faster than comparing numpy's."""
        type_, is_long = node.type, node.type.scalar in ("i64", "f64")
        if not self.builder.is_plain or type_.shape:
            return ""
        match node:
            case tree.Constant():
                return spelled(node.value) if is_long else ""
            case tree.Argument(each=False) if is_long:
                return self.builder.argument(node)
            case tree.Tick():
                return self.builder.parameter("tick", "int", "self.tick")
            case tree.Draw(distribution="random"):
                return f"({self.row_key}[{node.number}] >> 11) * 2.0**-53"
            case tree.Operation(name="neg", operands=(operand,)) if type_.is_float:
                number = self.own_number(operand)
                return number and f"-{number}"
            case tree.Operation() if type_.scalar == "f64":
                return self._own_float(node)
            case tree.Local() | tree.FieldValue() | tree.NeighbourField() | tree.Distance():
                own_code = self.value(node).at(0).python_number
                return own_code() if own_code else ""
        return ""

    def _own_float(self, node: tree.Operation) -> str:
        """Return the expression for an operation with the same bits in Python's own numbers."""
        first, *further = node.operands
        numbers = [self.own_number(operand) for operand in further]
        if node.name == "if" and all(numbers):
            return f"({numbers[0]} if {self.value(first).at(0).text} else {numbers[1]})"
        is_alike = node.name in ("+", "-", "*")
        if node.name == "/" and isinstance(further[0], tree.Constant):
            is_alike = further[0].value != 0
        number = self.own_number(first) if is_alike and all(numbers) else ""
        return number and f"({number} {node.name} {numbers[0]})"

    def value(self, node: tree.Expression) -> Value:
        if isinstance(node, tree.Operation) and node.name in COMPARISONS.values():
            sides = [self.own_number(operand) for operand in node.operands]
            if all(sides):
                return uniform(node.type, Code(f" {node.name} ".join(sides), Precedence.COMPARISON))
            for operand in node.operands:
                if isinstance(operand, tree.Distance) and (
                    comparison := self._nears[operand.near].faster_comparison(node, self)
                ):
                    return comparison
        return super().value(node)

    def _update_cells(self, row: str, position: Value) -> None:
        for near in self._commands.spaces:
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
                count, candidate = f"len({rows})", f"{rows}[{{}}]"
            else:
                builder.tables[table] = f"selectable_rows({manager})"
                count = builder.parameter(f"{module}_count", "int", f"{table}[0]")
                rows = builder.parameter(f"{module}_living", "RowArray", f"{table}[1]")
                candidate = f"row_at({rows}, {{}})"
        else:
            builder.tables[table] = f"live_active_handles({manager})"
            living = builder.handles(f"{module}_living", table)
            count, candidate = f"len({living})", f"{living}[{{}}]"
        if goes_there and builder.is_plain and chosen.candidates == "empty":
            there = candidate.format(self.drawn_index(chosen.number, count))
            none = builder.zero(choice.to.type).text
            return uniform(
                choice.to.type, Code(f"{there} if {count} > 0 else {none}", Precedence.CHOICE)
            )
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
            row, there = self.row_of(owner), self.value(move.to).at(0).text
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
        if isinstance(lookup.handle, tree.NeighbourRow):
            near = self._nears[lookup.handle.near]
            row = near.row_of(lookup.handle.owner)
            self._found_rows[lookup.row] = self.assign(Code(row, Precedence.CALL), "their_row")
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
        default = self._default(read.field.name, read.field.type, read.default)
        target = self.variables(read.to.type, f"their_{read.field.name}")
        self.locals_[read.to.name] = target
        if not read.field.items:
            self._read(row, default, there, target)
            return
        test, position = self.position_of_item(read.field.type.shape, read.field.items)
        self.store(uniform(read.to.type, self.builder.zero(read.to.type)), target)
        with self.block(f"if {test.text}"):
            with self.block(f"if {row} == NIL"):
                self.store(self._part_at(default, position, read.to.type), target)
            with self.block("else"):
                self.store(self._part_at(there, position, read.to.type), target)

    def _part_at(self, base: Value, position: str, type_: Type) -> Value:
        """Return the element of a value at a computed index."""
        if len({base.at(index).text for index in range(base.type.elements)}) == 1:
            return uniform(type_, base.at(0))  # a default
        base = self.indexable(base) if base.is_split else base
        return uniform(type_, base.at(position))

    def _set_local(self, assignment: lowered.SetLocal) -> None:
        name = assignment.to.name
        known = self.lookups.known_rows
        if assignment.items:
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
        there = self.own_number(field) if write.type.scalar == "f64" else ""
        if there and (number := self.own_number(write.value)):
            self.write(f"{there} = {number}")
            return
        match write.value:
            case tree.Operation(type, sign, (left, right)) if (
                left == field and _is_in_place(sign, type.scalar) and not is_mixing(right, write.to)
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
        owner, component = self.value(identity).at(0).text, identity.owner
        managers = self.builder.source.managers
        alive = self.lookups.alive(owner, is_owner=True)
        if component and not managers.is_sharded:
            alive = Code(self.lookups.owner_alive_test(component, owner))
        self._alive_test = self.assign(alive, "is_heard").text

    def _send_message(self, message: lowered.SendMessage) -> None:
        row, position = self._found_rows[message.to.row].text, ""
        tests = [f"{row} != NIL", *([self._alive_test] if self._alive_test else [])]
        if message.to.items:
            test, position = self.position_of_item(message.to.type.shape, message.to.items)
            tests.append(test.within(Precedence.AND))
        if self.builder.program.takes_turns:  # the row may be its own receiver
            owner = message.to.row.component if self.builder.source.is_world else tree.OWN
            target = tree.FieldValue(message.to.type, message.to.name, owner)
            value = self._buffered(message.value, target, message.type)
        else:
            value = self.spread(message.value, message.type)
        with self.block(f"if {' and '.join(tests)}"):
            stored_row = row
            if position:  # row and element in one number
                stored_row = f"{message.to.type.elements} * {row} + {position}"
            if message.is_deferred and message.to.text in self._queued:
                self._queue_message(message, stored_row, value)
                return
            if message.is_deferred:
                self._defer_message(message, row, stored_row, value)
                return
            self._apply_message(message, row, value, position)
            if message.moves:
                self._update_cells(row, self.builder.cells_of_found_row(message.to, row))

    def _apply_stored_message(self, message: lowered.SendMessage, row: str, value: Value) -> None:
        """Change the row, or the element of a row, that a variable tells."""
        if not message.to.items:
            self._apply_message(message, row, value)
            return
        position, elements = self.names.allocate("position"), message.to.type.elements
        self.write(f"{position} = {row} % {elements}", f"{row} //= {elements}")
        self._apply_message(message, row, value, position)

    def _apply_message(
        self, message: lowered.SendMessage, row: str, value: Value, position: str = ""
    ) -> None:
        """Change a row; `position`: the index of the element of it that is changed, if computed."""
        cells = self.builder.cells_of_found_row(message.to, row)
        if position:
            self.write_item(
                cells, position, message.type, lambda there: self._combine(message, there, value)
            )
            return
        there = part_of(cells, message.to.type.shape, message.to.index, message.type)
        self._combine(message, there, value)

    def _combine(self, message: lowered.SendMessage, there: Value, value: Value) -> None:
        scalar = message.type.scalar
        if message.operator == "=" or _is_in_place(message.operator, scalar):
            self.store(value, there, "=" if message.operator == "=" else f"{message.operator}=")
            return
        node = tree.Operation(message.type, message.operator, (message.value, message.value))
        self.change(
            there, value, lambda *codes: wrap_to_type(element_of(node, [*codes]), scalar).text
        )

    def _defer_message(
        self, message: lowered.SendMessage, row: str, stored_row: str, value: Value
    ) -> None:
        """Store a message and its target for the loop after the last row."""
        rows, index = self.builder.count, self.builder.index
        targets = self.names.allocate(f"{message.to.name}_to")
        sent = self.names.allocate(f"{message.to.name}_sent")
        count = self.count(message.type)
        size, first = (f"{count} * {text}" if count > 1 else text for text in (rows, index))
        self.arrays.append(f"{targets} = np.full({rows}, NIL, np.int64)")
        self.arrays.append(f"{sent} = np.empty({size}, {SCALARS[message.type.scalar].numpy})")
        stored = Value(message.type, lambda index: Code(f"{sent}[{plus(first, index)}]"))
        self.write(f"{targets}[{index}] = {stored_row}")
        self.store(value, stored)
        with self.into(self.delivery):
            self.write(f"{row} = {targets}[{index}]")
            with self.block(f"if {row} != NIL"):
                self._apply_stored_message(message, row, stored)

    def _queue_message(self, message: lowered.SendMessage, row: str, value: Value) -> None:
        """Store a message in the queue of its field: a row may send any number of them."""
        field = message.to
        messages = self._queued[field.text]
        if field.text not in self._queues:
            self._queues[field.text] = self._begin_queue(field, messages)
        queue, size = self._queues[field.text], field.type.elements
        names = [queue.targets, *filter(None, (queue.senders, queue.numbers))]
        with self.block(f"if {queue.count} == len({queue.targets})"):
            self.write(*(f"{name} = grown({name})" for name in names))
            self.write(f"{queue.sent} = grown({queue.sent}{f', {size}' if size > 1 else ''})")
        self.write(f"{queue.targets}[{queue.count}] = {row}")
        if queue.senders:
            self.write(f"{queue.senders}[{queue.count}] = {self.builder.index}")
        if queue.numbers:
            self.write(f"{queue.numbers}[{queue.count}] = {message.number}")
        self.store(value, _queued(queue.sent, queue.count, message.type, size))
        self.write(f"{queue.count} += 1")

    def _begin_queue(
        self, field: lowered.FieldOfRow, messages: Sequence[lowered.SendMessage]
    ) -> _Queue:
        """Allocate a queue before the loop, and deliver its messages after the last row."""
        take, elements = self.names.allocate, field.type.elements
        is_by_cell = self.builder.follows_cells
        queue = _Queue(
            take(f"{field.name}_count"),
            take(f"{field.name}_to"),
            take(f"{field.name}_sent"),
            take(f"{field.name}_from") if is_by_cell else "",
            take(f"{field.name}_step") if len(messages) > 1 else "",
        )
        size = f"{elements} * 64" if elements > 1 else "64"
        self.arrays += [
            f"{queue.count} = 0",
            f"{queue.targets} = np.empty(64, np.int64)",
            f"{queue.sent} = np.empty({size}, {SCALARS[field.type.scalar].numpy})",
        ]
        numbers = filter(None, (queue.senders, queue.numbers))
        self.arrays += [f"{name} = np.empty(64, np.int64)" for name in numbers]
        with self.into(self.queue_delivery):
            index, row = take("m"), take("to_row")
            head = f"for {index} in range({queue.count})"
            if queue.senders:
                order = f"{queue.senders}[:{queue.count}].argsort(kind='mergesort')"
                head = f"for {index} in {order}"
            with self.block(head):
                self.write(f"{row} = {queue.targets}[{index}]")
                for message in messages:
                    stored = _queued(queue.sent, index, message.type, elements)
                    with (
                        self.block(f"if {queue.numbers}[{index}] == {message.number}")
                        if queue.numbers
                        else nullcontext()
                    ):
                        self._apply_stored_message(message, row, stored)
        return queue


@dataclass(frozen=True, slots=True)
class _Queue:
    """Variables with messages that wait for the last row."""

    count: str
    targets: str
    """Array with the rows that get them."""
    sent: str
    """Array with the values."""
    senders: str
    """Array with the rows that sent them, if these run in another order."""
    numbers: str
    """Array with the numbers of the statements, if there are several."""


def _queued(array: str, index: str, type_: Type, elements: int) -> Value:
    """Return the elements of a queued value; `elements`: those of the field."""
    start = f"{elements} * {index}" if elements > 1 else index
    return Value(type_, lambda element: Code(f"{array}[{plus(start, element)}]"))


def _indexed_locals(program: tree.Program) -> frozenset[str]:
    """Return the locals with elements at computed indices, which have to be in arrays."""
    bases = [node.base for node in program.nodes if isinstance(node, tree.Item)]
    targets = [step.target for step in program.actions if step.items]
    return frozenset(n.name for n in (*bases, *targets) if isinstance(n, tree.Local))


def _queued_messages(kernel: lowered.LoweredKernel) -> dict[str, list[lowered.SendMessage]]:
    """Return the messages to each field to which some statement inside of a loop sends."""
    inside = {
        message.to.text
        for loop in lowered.walk_statements(kernel.body)
        if isinstance(loop, lowered.Compound) and not isinstance(loop, lowered.If)
        for message in lowered.walk_statements(loop.blocks[-1])
        if isinstance(message, lowered.SendMessage)
    }
    queued: dict[str, list[lowered.SendMessage]] = {}
    for message in kernel.messages:
        if message.to.text in inside:
            queued.setdefault(message.to.text, []).append(message)
    return queued


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


def _is_in_place(sign: str, scalar: str) -> bool:
    """Return True if `target += operand` is the same operation; sums of i64 are calls."""
    return sign in ("+", "-", "*", "/") and scalar != "i64"
