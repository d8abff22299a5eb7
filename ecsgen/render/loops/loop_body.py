"""Statements of one row of a loop: a method for each kind of lowered statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from ecsgen.kernels import statements as lowered
from ecsgen.kernels.operations import COMPARISONS
from ecsgen.kernels.random_numbers import count_draws
from ecsgen.model import Setting
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_values import (
    UNROLLED,
    ElementIndex,
    Value,
    is_mixing,
    uniform,
)
from ecsgen.render.loops.function_builder import FunctionBuilder, array_type
from ecsgen.render.loops.loop_aggregates import AggregateLoop, shared_aggregates
from ecsgen.render.loops.loop_commands import CommandEmitter
from ecsgen.render.loops.loop_messages import is_in_place, queued_messages
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil, StencilAggregates
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.row_values import SETTINGS_ROW, RowValues
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, number, spelled
from ecsgen.render.text.quoting import comment_text


class LoopBody(RowValues):
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
        self.lookups = Lookups(self, self.grids)
        self._commands = CommandEmitter(self, self.lookups, nears.values())
        self._found_rows: dict[lowered.RowVariable, Code] = {}
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
        loops = (s for s in tree.walk_nested(body) if isinstance(s, lowered.Compound))
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
            self._holding(loop),
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
        neighbours = self._loop_of(near).neighbours(is_listed)
        with self._holding(loop), neighbours, self._inside_loop():
            tests = [
                self.dead_neighbour_test(near.join, near.row_of),
                self.gone_link_test(near.join, near.link_row),
            ]
            if test := " or ".join(filter(None, tests)):
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

    def gone_link_test(self, join: NeighbourJoin, link_row: Callable[[], str]) -> str:
        """Return the test that the link to a neighbour has gone since; "" if none can."""
        via = join.near.via
        if via is None:
            return ""
        component, tests = self.builder.source.managers.components[via.component], []
        if marks := self.lookups.despawned_rows(via.component):
            tests.append(f"{marks}[{link_row()}]")
        if component.owner == "entity":
            entity = tree.NeighbourField(
                tree.HANDLE, tree.ENTITY, via.component, join.near.name, True
            )
            alive = self.lookups.entity_alive_test(self.value(entity).at(0).text)
            tests += [f"not ({alive})"] if alive else []
        return " or ".join(tests)

    def _loop_while(self, loop: lowered.While) -> None:
        passes = self.names.allocate("passes")
        drawn = f"{passes} + 1" if loop.draws else ""
        head = f"for {passes} in range({loop.at_most + 1})"
        with self._holding(loop), self.block(head), self._inside_loop(), self._pass_of(drawn):
            self.run(loop.head)
            test = self.value(loop.test).at(0)
            self.write(f"if not ({test.text}):", "    break")
            with self.block(f"if {passes} == {loop.at_most}"):
                self.write(f"{self.builder.cut_off}[{loop.number}] += 1", "break")
            self._block(loop.body)
        self._end_row_after(loop)

    @contextmanager
    def _holding(self, loop: lowered.Compound) -> Iterator[None]:
        """Keep the row's floats that an outermost loop writes in variables meanwhile: a compiler
        chooses between values, and branches around writes. In turns others may read them."""
        builder, fields = self.builder, list[tree.FieldValue]()
        if not (self._depth or builder.is_plain or builder.program.takes_turns):
            statements = [s for block in loop.blocks for s in tree.walk_nested(block)]
            writes = [s for s in statements if isinstance(s, lowered.WriteField)]
            written = {write.to for write in writes if write.items}
            items = (node for node in builder.program.nodes if isinstance(node, tree.Item))
            written |= {item.base for item in items if isinstance(item.base, tree.FieldValue)}
            fields = [write.to for write in writes if write.to not in written]
        for field in dict.fromkeys(fields):
            if field.type.is_float and field.type.elements <= UNROLLED:
                held = self.variables(field.type, f"own_{field.name}")
                self.store(self.value(field), held)
                self.held[field] = held
        yield
        for field in () if self._depth else [*self.held]:
            held = self.held.pop(field)
            self.store(held, self.value(field))

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
        inside = tree.walk_nested(loop.blocks[-1])
        if any(statement == ends[0] or isinstance(statement, ends[1:]) for statement in inside):
            self.write(f"if {self._ended}:", "    break" if self._depth else "    continue")

    def _aggregate(
        self, first: lowered.AggregateNeighbours, later: Sequence[lowered.Statement]
    ) -> None:
        near = self._nears[first.aggregate.near]
        is_stencil = isinstance(near, Stencil)
        aggregates = [first] if is_stencil else [first, *shared_aggregates(first, later)]
        values = self._loop_of(near).values(*aggregates)
        for aggregate, value in zip(aggregates, values, strict=True):
            self.locals_[aggregate.to.name] = value

    def _loop_of(self, near: NeighbourAccess) -> AggregateLoop:
        kind = StencilAggregates if isinstance(near, Stencil) else AggregateLoop
        return kind(self, near)

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
        if lookup.row.component == tree.SETTINGS:
            self._found_rows[lookup.row] = Code(SETTINGS_ROW)
            return
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
        there = self.own_number(field) if write.type.scalar == "f64" else ""
        if there and (number := self.own_number(write.value)):
            self.write(f"{there} = {number}")
            return
        match write.value:
            case tree.Operation(type, sign, (left, right)) if (
                left == field and is_in_place(sign, type.scalar) and not is_mixing(right, write.to)
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
        tests = [] if row == SETTINGS_ROW else [f"{row} != NIL"]
        tests += [self._alive_test] if self._alive_test else []
        if message.to.items:
            test, position = self.position_of_item(message.to.type.shape, message.to.items)
            tests.append(test.within(Precedence.AND))
        if self.builder.program.takes_turns:  # the row may be its own receiver
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
            self.apply_message(message, row, value, position)
            if row == SETTINGS_ROW:
                self._clip_setting(message)
            if message.moves:
                self._update_cells(row, self.builder.cells_of_found_row(message.to, row))

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


def _indexed_locals(program: tree.Program) -> frozenset[str]:
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
