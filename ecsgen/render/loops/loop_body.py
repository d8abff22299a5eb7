"""What a loop does with a row: a method for each kind of statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecsgen.kernels import statements as form
from ecsgen.kernels.operations import COMPARISONS
from ecsgen.kernels.random_numbers import count_draws
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Number, Type
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
from ecsgen.render.loops.loop_grids import GridNeighbours, GridParameters
from ecsgen.render.loops.loop_neighbours import LiveNeighbours, NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil, StencilAggregates
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.scalar_code import Code, Precedence, infix, spelled, wrap_to_type
from ecsgen.render.text.quoting import comment_text, literal


class LoopBody(LoopEmitter):
    """What one row does: `statements`; and what a second loop does after the last one:
    `delivery`."""

    def __init__(
        self,
        builder: FunctionBuilder,
        rows: Mapping[str, str],
        nears: Mapping[str, NeighbourAccess],
        is_flat: bool = False,
    ) -> None:
        """`rows`: the variables with the rows of components, as far as these are known; `nears`:
        the neighbourhoods; `is_flat`: whether every element is a row of its own."""
        super().__init__(builder.names, builder.constant, is_flat)
        self.builder = builder
        self.first: list[str] = []
        """Statements that begin a row."""
        self.delivery: list[str] = []
        self._nears = nears
        self.grids = GridParameters(builder)
        self._fates = CommandEmitter(self)
        self.lookups = Lookups(self, self._fates)
        self._rows = {**rows}
        self._found: dict[form.RowVariable, Code] = {}
        self._starts: dict[tuple[str, int], str] = {}
        self._letters = {builder.row: "j"}
        """What the places of a row's elements are called."""
        self._alive: dict[str, str] = {}
        """By component, whether the row's own entity is alive."""
        self._heard = ""

    @property
    def spaces(self) -> list[LiveNeighbours]:
        """The neighbourhoods in spaces as these are now."""
        return [near for near in self._nears.values() if isinstance(near, LiveNeighbours)]

    @property
    def nears(self) -> list[LiveNeighbours | GridNeighbours]:
        """The neighbourhoods of rows as these are now."""
        nears = (
            near
            for near in self._nears.values()
            if isinstance(near, LiveNeighbours | GridNeighbours)
        )
        return [near for near in nears if near.position_component]

    @property
    def statements(self) -> list[str]:
        """All statements of a row."""
        return [*self.first, *self.lines]

    def add(self, kernel: form.LoweredKernel) -> None:
        """Write all statements, of the rows for which the condition is true at the beginning."""
        if kernel.program.has_commands:
            self._skip_the_dead()
        if kernel.program.stream_field is not None and kernel.program.effects.draws:
            self._write_row_key(kernel.program.stream_field)
        self.run(kernel.head)
        if kernel.where is None:
            self.run(kernel.body)
            return
        with self.block(f"if {self.value(kernel.where).at(0).text}"):
            self.run(kernel.body)

    @property
    def home(self) -> str:
        """The component of which each row has one."""
        components = self.builder.source.components
        owned = (name for name, one in components.items() if one.owner == "entity")
        return next(owned, next(iter(components)))

    def _skip_the_dead(self) -> None:
        """Rows of the dead do not run, nor of those who have died meanwhile."""
        over = self.home
        tests = [self._may_live(over)]
        for name in self.builder.source.components:
            if gone := self._fates.gone_rows(name):
                tests.append(f"not {gone}[{self.row_of(name)}]")
        if not tests[0] and self.builder.source.components[over].owner == "entity":
            tests[0] = self._fates.entity_alive_test(self.owner_entity(over))
        for test in filter(None, tests):
            self.write(f"if not {test}:", "    continue")

    def _write_row_key(self, who: tree.FieldValue) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        stem, builder = self.names.allocate("stem"), self.builder
        self.row_key = stem
        if builder.is_plain:
            self.first.append(f"{stem} = {self._row_words(who)}")
            return
        given, function = [self.value(who).at(0).text], "stream_key"
        if who.name == tree.ID_SLOT:
            function = "id_stream_key"
            passed = f"{builder.source.managers.data(who.owner)}._id_generation_column"
            generations = builder.array(Parameter("id_generation", array_type("u32"), passed))
            given.append(f"{generations}[{given[0]}]")
        self.first.append(f"{stem} = {function}({', '.join([*given, builder.key])})")

    def _row_words(self, who: tree.FieldValue) -> str:
        """The expression for the words of the row's random numbers, which plain Python draws for
        many rows at once, those that come next, unless what tells rows apart may change."""
        builder, program, source = self.builder, self.builder.program, self.builder.source
        sent = any(isinstance(one.target, tree.ReferencedField) for one in program.steps)
        is_fixed = who.name in (tree.ENTITY, tree.ID_SLOT, tree.CELL_ID)
        may_change = not is_fixed and (sent or who.text in program.effects.writes)
        in_order = builder.is_ordered and not may_change
        picked = f"[: {source.managers.data(who.owner)}._n]" if who.name == tree.ID_SLOT else ""
        if in_order and source.is_world:
            picked = source.cell_selection(who.owner)
        given = [source.managers.keys(who, picked), "_key", str(count_draws(program.expressions))]
        given += ["_order"] if in_order else []
        given += ["size=1"] if may_change else []
        words = builder.parameter("words", "RandomWords", f"RandomWords({', '.join(given)})")
        return f"{words}[{builder.row if in_order else self.row_of(who.owner)}]"

    # --- fields and arguments --------------------------------------------------------------------

    def _given(self, node: tree.Expression) -> Value:
        match node:
            case tree.FieldValue(name=name, owner=owner) if name == tree.CELL_ID:
                return uniform(node.type, Code(f"id_of_cell({self.row_of(owner)})"))
            case tree.FieldValue(owner=owner):
                is_own = owner != tree.PARENT
                return self._cells(node, self.row_of(owner)) if is_own else self._of_parent(node)
            case tree.Argument():
                return self._argument(node)
            case tree.NeighbourField() | tree.Offset() | tree.Distance():
                return self._nears[node.near].neighbour_value(node)
            case tree.Occupied():
                near = self._nears[node.near]
                assert isinstance(near, GridNeighbours)
                return near.occupied(node)
            case tree.Coordinates():
                return self.grids.coordinates(node, self)
            case tree.CellAt():
                return self.grids.cell_at(node, self)
            case tree.Tick():
                tick = self.builder.parameter("tick", "int", "self.tick")
                if self.builder.is_plain:
                    tick = self.builder.hoist(f"i64_{tick}", f"np.int64({tick})")
                return uniform(node.type, Code(tick))
        raise TypeError("questions and references are statements in a form")

    def _cells(self, node: tree.FieldValue, row: str) -> Value:
        arrays, type_ = self.builder.arrays(node), node.type
        if self.is_flat:
            return Value(type_, lambda place: Code(f"{arrays[0]}[{row}]"))
        has_start = type_.shape and len(arrays) == 1
        start = self._start(row, type_.elements) if has_start else ""
        return self.builder.cells(arrays, type_, row, start)

    def _start(self, row: str, elements: int) -> str:
        """The variable that says where a row of so many elements begins."""
        if (row, elements) not in self._starts:
            letter = self._letters[row]
            self._starts[row, elements] = name = self.names.allocate(letter, f"{letter}{elements}")
            self.first.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    def cell_of_row(self, place: tree.FieldValue) -> str:
        """The expression for the cell of the row: its own, or that on which it stands; below 0 of
        none, and of rows of the dead."""
        if place.name == tree.CELL_ID:
            return self.row_of(place.owner)
        own = self.own_number(place)
        cell = f"{own} - FIRST_CELL" if own else f"cell_number({self.value(place).at(0).text})"
        living = self._living(place.owner)
        return f"{cell} if {living} else -1" if living else cell

    def _living(self, owner: str) -> str:
        """The expression for whether the row's own entity is alive, if it may be dead: where
        somebody dies or is born, rows of the dead do not run."""
        if owner not in self._alive:
            with self.into(self.first):
                test = "" if self.builder.program.has_commands else self._may_live(owner)
            self._alive[owner] = test and self.names.allocate("lives")
            if test:
                self.first.append(f"{self._alive[owner]} = {test}")
        return self._alive[owner]

    def _may_live(self, owner: str) -> str:
        """The same before that is known."""
        component = self.builder.source.components[owner]
        if not self.builder.program.may_be_dead or component.owner == "none":
            return ""
        return self.lookups.owner_alive_test(component.name, self.owner_entity(owner))

    def owner_entity(self, owner: str) -> str:
        """The expression for the entity that has the row."""
        return self.value(tree.FieldValue(tree.HANDLE, tree.ENTITY, owner)).at(0).text

    def row_of(self, owner: str) -> str:
        """The variable with the row of a component."""
        if owner not in self._rows:
            builder = self.builder
            module, rows = builder.source.components[owner].module, builder.rows_of(owner)
            self._rows[owner] = row = self.names.allocate(f"{module}_row")
            self._letters[row] = f"{module}_j"
            self.first.append(f"{row} = row_at({rows}, {builder.row})")
        return self._rows[owner]

    def _of_parent(self, node: tree.FieldValue) -> Value:
        """Elements that are read at the beginning of a row: the default for a root's parent.

        A kernel never writes them.
        """
        known = f"parent {node.name}"  # no schema has such a name
        if known not in self.locals_:
            if tree.PARENT not in self._rows:
                wish = Parameter("parent", array_type("u32"), "data._parent_column")
                parents = self.builder.array(wish)
                self._rows[tree.PARENT] = row = self.names.allocate("p")
                self._letters[row] = "q"
                self.first.append(f"{row} = np.intp({parents}[{self.builder.row}])")
            row = self._rows[tree.PARENT]
            above = dict(self.builder.program.root_defaults)[node.name]
            self.locals_[known] = held = self.variables(node.type, f"parent_{node.name}")
            instead, there = self._instead(node.name, node.type, above), self._cells(node, row)
            with self.into(self.first):
                self._read(row, instead, there, held)
        return self.locals_[known]

    def _read(self, row: str, instead: Value, there: Value, held: Value) -> None:
        """Read what is there, or something instead if no row is."""
        with self.block(f"if {row} == NIL"):
            self.store(instead, held)
        with self.block("else"):
            self.store(there, held)

    def _instead(self, name: str, type_: Type, elements: Sequence[bool | Number]) -> Value:
        """What stands for a field of a row that is not there."""
        if type_.is_handle and not type_.shape:
            return uniform(type_, self.builder.zero(type_))
        numbers = [self.constant(one, type_.scalar) for one in elements]
        if len({*map(repr, elements)}) == 1:
            return uniform(type_, numbers[0])
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda place: numbers[int(place)])
        array = self.names.allocate(f"without_{name}")
        made = f"np.array({literal((*elements,))}, {SCALARS[type_.scalar].numpy})"
        self.arrays.append(f"{array} = {made}")
        return Value(type_, lambda place: Code(f"{array}[{place}]"))

    def _argument(self, argument: tree.Argument) -> Value:
        if not argument.each:
            return self.builder.argument_value(argument)
        name, type_, row = self.builder.argument(argument), argument.type, self.builder.row
        if self.is_flat or not type_.shape:
            return Value(type_, lambda place: Code(f"{name}[{row}]"))
        start = self._start(row, type_.elements)
        return Value(type_, lambda place: Code(f"{name}[{plus(start, place)}]"))

    # --- statements ------------------------------------------------------------------------------

    def run(self, statements: Sequence[form.Statement]) -> None:
        """Write what statements do."""
        for place, one in enumerate(statements):
            match one:
                case form.Comment():
                    if not self.is_flat:
                        self.write(f"# {comment_text(one.text)}")
                case form.FindRow():
                    self._find(one)
                case form.RowExists():
                    found = self._found[one.row]
                    if one.row.component:
                        found = infix("!=", Precedence.COMPARISON, found, Code("NIL"))
                    self.locals_[one.to.name] = uniform(one.to.type, found)
                case form.ReadField():
                    self._fetch(one)
                case form.ListNeighbours():
                    self.write(*self._nears[one.near].list_lines(self))
                case form.AggregateNeighbours():
                    if one.to.name not in self.locals_:  # not asked along with another one
                        self._ask(one, statements[place + 1 :])
                case form.ChooseRandom():
                    after = statements[place + 1 : place + 2]  # nothing in a condition
                    goes_there = any(isinstance(one, form.MoveToCell) for one in after)
                    self.locals_[one.to.name] = self._pick(one, goes_there)
                case form.SetLocal():
                    self._set(one)
                case form.WriteField():
                    self._store(one)
                case form.UpdatePosition():
                    self._move(self.row_of(one.place.owner), self.value(one.place))
                case form.MoveToCell():
                    self._go(one)
                case form.QueueDespawnSelf():
                    self._fates.despawn_self(one)
                case form.QueueDespawn():
                    self._fates.despawn_other(one, self._found[one.row])
                case form.QueueSpawn():
                    self._fates.spawn(one)
                case form.CheckAlive():
                    self._check_alive(one.identity)
                case form.SendMessage():
                    self._send(one)

    def _ask(self, first: form.AggregateNeighbours, later: Sequence[form.Statement]) -> None:
        near = self._nears[first.question.near]
        asking, asked = AggregateLoop(self, near), [first, *shared_aggregates(first, later)]
        if isinstance(near, Stencil):
            asking, asked = StencilAggregates(self, near), [first]
        answers = asking.values(*asked)
        self.locals_ |= {one.to.name: answer for one, answer in zip(asked, answers, strict=True)}

    def own_number(self, node: tree.Expression) -> str:
        """The expression for a number of Python's own, where plain loops have it so: many are
        compared in the time of one of numpy's."""
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
            case tree.Operation(name="neg", operands=(one,)) if type_.is_float:
                own = self.own_number(one)
                return own and f"-{own}"
            case tree.Operation() if type_.scalar == "f64":
                return self._own_float(node)
            case tree.Local() | tree.FieldValue() | tree.NeighbourField() | tree.Distance():
                own_code = self.value(node).at(0).python_number
                return own_code() if own_code else ""
        return ""

    def _own_float(self, node: tree.Operation) -> str:
        """The same of an operation that gives the same bits with Python's own numbers."""
        first, *others = node.operands
        owns = [self.own_number(one) for one in others]
        if node.name == "if" and all(owns):
            return f"({owns[0]} if {self.value(first).at(0).text} else {owns[1]})"
        is_alike = node.name in ("+", "-", "*")
        if node.name == "/" and isinstance(others[0], tree.Constant):
            is_alike = others[0].value != 0
        own = self.own_number(first) if is_alike and all(owns) else ""
        return own and f"({own} {node.name} {owns[0]})"

    def value(self, node: tree.Expression) -> Value:
        if isinstance(node, tree.Operation) and node.name in COMPARISONS.values():
            sides = [self.own_number(one) for one in node.operands]
            if all(sides):
                return uniform(node.type, Code(f" {node.name} ".join(sides), Precedence.COMPARISON))
            for one in node.operands:
                if isinstance(one, tree.Distance) and (
                    found := self._nears[one.near].faster_comparison(node, self)
                ):
                    return found
        return super().value(node)

    def _move(self, row: str, place: Value) -> None:
        for near in self.spaces:
            self.write(near.move_line(row, place))

    # --- cells: who is chosen, and who goes where ------------------------------------------------

    def _pick(self, one: form.ChooseRandom, goes_there: bool) -> Value:
        """One of all rows, or of all empty cells, by chance; 0 if there is none. `goes_there`: the
        next statement is the only one that needs it, if at all."""
        chosen, builder = one.chosen, self.builder
        component = builder.source.managers.components[chosen.component]
        manager, module = builder.source.managers.manager(component.name), component.module
        table, row = f"_{module}_living", ""
        if chosen.candidates == "empty" and self.grids.is_live:
            crowds = self.grids.occupancy(component.name)
            if builder.is_plain:
                empties = builder.hoist("empties", f"{crowds}.empties()")
                count, found = f"len({empties})", f"FIRST_CELL + {empties}[{{}}]"
            else:
                count = f"count_empty({crowds})"
                found = f"id_of_cell(empty_cell({crowds}, {{}}))"
        elif chosen.candidates == "empty":
            kind = "list[int]" if builder.is_plain else array_type("i32")
            cells = builder.table(f"{module}_empty", kind, f"empty_cells({manager})")
            count, found = f"len({cells})", f"id_of_cell({cells}[{{}}])"
        elif component.owner == "entity":
            row = self.names.allocate("picked_row")
            if builder.is_plain:
                builder.tables[table] = f"live_active_rows({manager})"
                rows = builder.parameter(f"{module}_living", "memoryview[int]", f"{table}.data")
                count, found = f"len({rows})", f"{rows}[{{}}]"
            else:
                builder.tables[table] = f"selectable_rows({manager})"
                count = builder.parameter(f"{module}_count", "int", f"{table}[0]")
                rows = builder.parameter(f"{module}_living", "RowArray", f"{table}[1]")
                found = f"row_at({rows}, {{}})"
        else:
            builder.tables[table] = f"live_active_handles({manager})"
            living = builder.handles(f"{module}_living", table)
            count, found = f"len({living})", f"{living}[{{}}]"
        if goes_there and builder.is_plain and chosen.candidates == "empty":
            there = found.format(self.drawn_index(chosen.number, count))
            none = builder.zero(one.to.type).text
            return uniform(
                one.to.type, Code(f"{there} if {count} > 0 else {none}", Precedence.CHOICE)
            )
        held = self.variables(one.to.type, "picked")
        there = held.at(0).text
        self.write(f"{there} = {builder.zero(one.to.type).text}")
        if row:
            self.write(f"{self.builder.declared(row)} = NIL")
        with self.block(f"if {count} > 0"):
            drawn = self.drawn_index(chosen.number, count)
            if row:
                self.write(f"{row} = {found.format(drawn)}")
                found = self.lookups.owner_of(component.name, row)
            self.write(f"{there} = {found.format(drawn)}")
            if chosen.candidates == "any":
                self.lookups.keep_living(component.name, there, row)
        if row and self.lookups.tells_rows(component.name):
            self.lookups.known[there] = component.name, row
        return held

    def drawn_index(self, number: int, count: str) -> str:
        """The expression for a random place among so many; plain Python takes its own integers."""
        if self.builder.is_plain:
            return f"({self.row_key}[{number}] >> 32) * {count} >> 32"
        return f"range_at({self.row_key}, {number}, {count})"

    def row_of_chosen(self, component: str, held: Value) -> str:
        """The variable for the row of an entity that is chosen, known to later steps as such; ""
        where that is not enough to know it."""
        if not self.lookups.tells_rows(component):
            return ""
        row = self.names.allocate("chosen_row")
        self.write(f"{self.builder.declared(row)} = NIL")
        self.lookups.known[held.at(0).text] = component, row
        return row

    def _go(self, one: form.MoveToCell) -> None:
        builder, owner = self.builder, one.to.owner
        name = owner or builder.source.managers.home
        component = builder.source.managers.components[name]
        assert component.on is not None
        builder.moved[name] = None
        value = self.keep_number(self.value(one.value)).at(0).text
        if one.row is None:
            row, there = self.row_of(owner), self.value(one.to).at(0).text
            test = self._living(owner)
        else:
            row = self._found[one.row].text
            place = form.FieldOfRow(one.row, one.to.name, one.to.type)
            there, test = builder.cells_of_found_row(place, row).at(0).text, f"{row} != NIL"
            test += f" and {self._heard}" if self._heard else ""
        if self.grids.is_live and name in builder.program.tracked_occupants:
            axes, crowds = self.grids.axes(component.on.grid), self.grids.occupancy(name)
            passed = f"{crowds}, {axes}, {row}, {there}, {value}, {component.on.capacity}"
            moved = f"move_to_free_cell({passed})"
            goes = f"{value} != {there}"
        else:
            moved, goes = value, self.grids.is_cell(component.on.grid, value)
        with self.block(f"if {f'{test} and ' if test else ''}{goes}"):
            self.write(f"{there} = {moved}")

    def _find(self, one: form.FindRow) -> None:
        handle = self.keep_number(self.value(one.handle)).at(0).text
        if not one.row.component:
            living = self.lookups.alive(handle)
            self._found[one.row] = self.assign(living, "is_alive")
            return
        stem = self.builder.source.managers.column_prefix(one.row.component)
        name = self.names.allocate(f"{stem}_row")
        self._found[one.row] = Code(name)
        self.lookups.find(one, name, handle, bool(self.own_number(one.handle)))

    def _fetch(self, one: form.ReadField) -> None:
        row = self._found[one.place.row].text
        there = self.builder.cells_of_found_row(one.place, row, one.from_copy)
        instead = self._instead(one.place.name, one.place.type, one.default)
        held = self.variables(one.to.type, f"their_{one.place.name}")
        self._read(row, instead, there, held)
        self.locals_[one.to.name] = held

    def _set(self, one: form.SetLocal) -> None:
        name = one.to.name
        known = self.lookups.known
        if one.is_new:
            value = self.value(one.value)
            self.locals_[name] = held = self.stored(value, self.names.released(name))
            if isinstance(one.value, tree.Local) and value.at(0).text in known:
                known[held.at(0).text] = known[value.at(0).text]
        else:
            self.store(self._apart(one.value, one.to, one.to.type), self.locals_[name])
            known.pop(self.locals_[name].at(0).text, None)

    def _store(self, one: form.WriteField) -> None:
        place: tree.Expression = tree.Element(one.type, one.to, one.index) if one.index else one.to
        target = self.value(place)
        there = self.own_number(place) if one.type.scalar == "f64" else ""
        if there and (own := self.own_number(one.value)):
            self.write(f"{there} = {own}")
            return
        match one.value:
            case tree.Operation(type, sign, (left, right)) if (
                left == place and _is_in_place(sign, type.scalar) and not is_mixing(right, one.to)
            ):
                self.store(self.spread(right, one.type), target, f"{sign}=")
            case _:
                self.store(self._apart(one.value, one.to, one.type), target)

    def _apart(
        self, node: tree.Expression, own: tree.FieldValue | tree.Local, type_: Type
    ) -> Value:
        """A value to be written over something of a type; kept before where the first elements that
        are written would change the others."""
        value = self.spread(node, type_)
        if self.count(type_) > 1 and is_mixing(node, own):
            return self.stored(value)
        return value

    # --- messages: at once, or in a second loop --------------------------------------------------

    def _check_alive(self, bearer: tree.FieldValue) -> None:
        """Find out whether the row's own entity is alive."""
        owner, component = self.value(bearer).at(0).text, bearer.owner
        managers = self.builder.source.managers
        living = self.lookups.alive(owner, is_owner=True)
        if component and not managers.is_sharded:
            living = Code(self.lookups.owner_alive_test(component, owner))
        self._heard = self.assign(living, "is_heard").text

    def _send(self, one: form.SendMessage) -> None:
        row = self._found[one.to.row].text
        if self.builder.program.takes_turns:  # the row may be its own receiver
            owner = one.to.row.component if self.builder.source.is_world else tree.OWN
            own = tree.FieldValue(one.to.type, one.to.name, owner)
            value = self._apart(one.value, own, one.type)
        else:
            value = self.spread(one.value, one.type)
        tests = [f"{row} != NIL", *([self._heard] if self._heard else [])]
        with self.block(f"if {' and '.join(tests)}"):
            if one.is_deferred:
                self._keep(one, row, value)
                return
            self._change(one, row, value)
            if one.moves:
                self._move(row, self.builder.cells_of_found_row(one.to, row))

    def _change(self, one: form.SendMessage, row: str, value: Value) -> None:
        scalar = one.type.scalar
        cells = self.builder.cells_of_found_row(one.to, row)
        there = part_of(cells, one.to.type.shape, one.to.index, one.type)
        if one.operator == "=" or _is_in_place(one.operator, scalar):
            self.store(value, there, "=" if one.operator == "=" else f"{one.operator}=")
            return
        node = tree.Operation(one.type, one.operator, (one.value, one.value))
        self.change(
            there, value, lambda *codes: wrap_to_type(element_of(node, [*codes]), scalar).text
        )

    def _keep(self, one: form.SendMessage, row: str, value: Value) -> None:
        """Keep where the message goes and what it says, and have it delivered later."""
        rows, index = self.builder.count, self.builder.index
        kept, sent = self.names.allocate(f"{one.to.name}_to"), self.names.allocate(
            f"{one.to.name}_sent"
        )
        count = self.count(one.type)
        size, first = (f"{count} * {text}" if count > 1 else text for text in (rows, index))
        self.arrays.append(f"{kept} = np.full({rows}, NIL, np.int64)")
        self.arrays.append(f"{sent} = np.empty({size}, {SCALARS[one.type.scalar].numpy})")
        said = Value(one.type, lambda place: Code(f"{sent}[{plus(first, place)}]"))
        self.write(f"{kept}[{index}] = {row}")
        self.store(value, said)
        with self.into(self.delivery):
            self.write(f"{row} = {kept}[{index}]")
            with self.block(f"if {row} != NIL"):
                self._change(one, row, said)


class VectorBody(LoopBody):
    """The same for a vector loop: conditions have no branches."""

    def _elementwise(self, node: tree.Operation | tree.Draw) -> Value:
        if not isinstance(node, tree.Operation) or node.name not in ("and", "or"):
            return super()._elementwise(node)
        left, right = (self.value(operand) for operand in node.operands)
        sign = "&" if node.name == "and" else "|"

        def at(place: ElementIndex) -> Code:
            sides = (one.at(place).within(Precedence.ATOM) for one in (left, right))
            return Code(f" {sign} ".join(sides), Precedence.COMPARISON)

        return Value(node.type, at)


def _is_in_place(sign: str, scalar: str) -> bool:
    """Whether it can be written as `target += operand`: not of an i64, whose sums are calls."""
    return sign in ("+", "-", "*", "/") and scalar != "i64"
