"""What a loop does with a row: a method for each kind of statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecsgen.kernels import form
from ecsgen.kernels.draws import drawn_by
from ecsgen.kernels.operations import COMPARISONS
from ecsgen.model import programs as tree
from ecsgen.model.types import SCALARS, Number, Type
from ecsgen.render.loops.code import Code, Level, cut, infix, spelled
from ecsgen.render.loops.elements import element_of
from ecsgen.render.loops.frame import LoopFrame, Parameter, array_type
from ecsgen.render.loops.grid_near import Grids, OnGrid
from ecsgen.render.loops.loop_fates import LoopFates
from ecsgen.render.loops.near import Neighbours, Now
from ecsgen.render.loops.questions import Questions, asked_along
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.stencil import Stencil, StencilQuestions
from ecsgen.render.loops.values import (
    UNROLLED,
    Emitter,
    Place,
    Value,
    is_mixing,
    part_of,
    plus,
    uniform,
)
from ecsgen.render.quoting import comment_text, literal


class LoopBody(Emitter):
    """What one row does: `statements`; and what a second loop does after the last one:
    `delivery`."""

    def __init__(
        self,
        frame: LoopFrame,
        rows: Mapping[str, str],
        nears: Mapping[str, Neighbours],
        is_flat: bool = False,
    ) -> None:
        """`rows`: the variables with the rows of components, as far as these are known; `nears`:
        the neighbourhoods; `is_flat`: whether every element is a row of its own."""
        super().__init__(frame.names, frame.constant, is_flat)
        self.frame = frame
        self.first: list[str] = []
        """Statements that begin a row."""
        self.delivery: list[str] = []
        self._nears = nears
        self.grids = Grids(frame)
        self._fates = LoopFates(self)
        self.lookups = Lookups(self, self._fates)
        self._rows = {**rows}
        self._found: dict[form.Row, Code] = {}
        self._starts: dict[tuple[str, int], str] = {}
        self._letters = {frame.row: "j"}
        """What the places of a row's elements are called."""
        self._alive: dict[str, str] = {}
        """By component, whether the row's own entity is alive."""
        self._heard = ""

    @property
    def spaces(self) -> list[Now]:
        """The neighbourhoods in spaces as these are now."""
        return [near for near in self._nears.values() if isinstance(near, Now)]

    @property
    def nears(self) -> list[Now | OnGrid]:
        """The neighbourhoods of rows as these are now."""
        nears = (near for near in self._nears.values() if isinstance(near, Now | OnGrid))
        return [near for near in nears if near.placed]

    @property
    def statements(self) -> list[str]:
        """All statements of a row."""
        return [*self.first, *self.lines]

    def add(self, kernel: form.Form) -> None:
        """Write all statements, of the rows for which the condition is true at the beginning."""
        if kernel.program.is_fateful:
            self._skip_the_dead()
        if kernel.program.who is not None and kernel.program.effects.draws:
            self._write_stem(kernel.program.who)
        self.run(kernel.head)
        if kernel.where is None:
            self.run(kernel.body)
            return
        with self.block(f"if {self.value(kernel.where).at(0).text}"):
            self.run(kernel.body)

    @property
    def home(self) -> str:
        """The component of which each row has one."""
        components = self.frame.source.components
        owned = (name for name, one in components.items() if one.owner == "entity")
        return next(owned, next(iter(components)))

    def _skip_the_dead(self) -> None:
        """Rows of the dead do not run, nor of those who have died meanwhile."""
        over = self.home
        tests = [self._may_live(over)]
        for name in self.frame.source.components:
            if gone := self._fates.gone_rows(name):
                tests.append(f"not {gone}[{self.row_of(name)}]")
        if not tests[0] and self.frame.source.components[over].owner == "entity":
            tests[0] = self._fates.lives(self.bearer(over))
        for test in filter(None, tests):
            self.write(f"if not {test}:", "    continue")

    def _write_stem(self, who: tree.FieldValue) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        stem, frame = self.names.take("stem"), self.frame
        self.stem = stem
        if frame.is_plain:
            self.first.append(f"{stem} = {self._row_words(who)}")
            return
        given, function = [self.value(who).at(0).text], "stem_of"
        if who.name == tree.ID_SLOT:
            function = "id_stem_of"
            passed = f"{frame.source.managers.data(who.owner)}._id_generation_column"
            generations = frame.array(Parameter("id_generation", array_type("u32"), passed))
            given.append(f"{generations}[{given[0]}]")
        self.first.append(f"{stem} = {function}({', '.join([*given, frame.key])})")

    def _row_words(self, who: tree.FieldValue) -> str:
        """The expression for the words of the row's random numbers, which plain Python draws for
        many rows at once, those that come next, unless what tells rows apart may change."""
        frame, program, source = self.frame, self.frame.program, self.frame.source
        sent = any(isinstance(one.target, tree.Referred) for one in program.steps)
        is_fixed = who.name in (tree.ENTITY, tree.ID_SLOT, tree.CELL_ID)
        may_change = not is_fixed and (sent or who.text in program.effects.writes)
        in_order = frame.is_ordered and not may_change
        picked = f"[: {source.managers.data(who.owner)}._n]" if who.name == tree.ID_SLOT else ""
        if in_order and source.is_world:
            picked = source.picked(who.owner)
        given = [source.managers.keys(who, picked), "_key", str(drawn_by(program.expressions))]
        given += ["_order"] if in_order else []
        given += ["size=1"] if may_change else []
        words = frame.parameter("words", "RowWords", f"RowWords({', '.join(given)})")
        return f"{words}[{frame.row if in_order else self.row_of(who.owner)}]"

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
            case tree.OtherField() | tree.Offset() | tree.Distance():
                return self._nears[node.near].of_other(node)
            case tree.Occupied():
                near = self._nears[node.near]
                assert isinstance(near, OnGrid)
                return near.occupied(node)
            case tree.Coordinates():
                return self.grids.coordinates(node, self)
            case tree.CellAt():
                return self.grids.cell_at(node, self)
            case tree.Tick():
                tick = self.frame.parameter("tick", "int", "self.tick")
                if self.frame.is_plain:
                    tick = self.frame.ready(f"i64_{tick}", f"np.int64({tick})")
                return uniform(node.type, Code(tick))
        raise TypeError("questions and references are statements in a form")

    def _cells(self, node: tree.FieldValue, row: str) -> Value:
        arrays, type_ = self.frame.arrays(node), node.type
        if self.is_flat:
            return Value(type_, lambda place: Code(f"{arrays[0]}[{row}]"))
        has_start = type_.shape and len(arrays) == 1
        start = self._start(row, type_.elements) if has_start else ""
        return self.frame.cells(arrays, type_, row, start)

    def _start(self, row: str, elements: int) -> str:
        """The variable that says where a row of so many elements begins."""
        if (row, elements) not in self._starts:
            letter = self._letters[row]
            self._starts[row, elements] = name = self.names.take(letter, f"{letter}{elements}")
            self.first.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    def cell_of_row(self, place: tree.FieldValue) -> str:
        """The expression for the cell of the row: its own, or that on which it stands; below 0 of
        none, and of rows of the dead."""
        if place.name == tree.CELL_ID:
            return self.row_of(place.owner)
        own = self.own_number(place)
        cell = f"{own} - FIRST_CELL" if own else f"cell_of({self.value(place).at(0).text})"
        living = self._living(place.owner)
        return f"{cell} if {living} else -1" if living else cell

    def _living(self, owner: str) -> str:
        """The expression for whether the row's own entity is alive, if it may be dead: where
        somebody dies or is born, rows of the dead do not run."""
        if owner not in self._alive:
            with self.into(self.first):
                test = "" if self.frame.program.is_fateful else self._may_live(owner)
            self._alive[owner] = test and self.names.take("lives")
            if test:
                self.first.append(f"{self._alive[owner]} = {test}")
        return self._alive[owner]

    def _may_live(self, owner: str) -> str:
        """The same before that is known."""
        component = self.frame.source.components[owner]
        if not self.frame.program.may_be_dead or component.owner == "none":
            return ""
        return self.lookups.living_in(component.name, self.bearer(owner))

    def bearer(self, owner: str) -> str:
        """The expression for the entity that has the row."""
        return self.value(tree.FieldValue(tree.HANDLE, tree.ENTITY, owner)).at(0).text

    def row_of(self, owner: str) -> str:
        """The variable with the row of a component."""
        if owner not in self._rows:
            frame = self.frame
            module, rows = frame.source.components[owner].module, frame.rows_of(owner)
            self._rows[owner] = row = self.names.take(f"{module}_row")
            self._letters[row] = f"{module}_j"
            self.first.append(f"{row} = row_at({rows}, {frame.row})")
        return self._rows[owner]

    def _of_parent(self, node: tree.FieldValue) -> Value:
        """Elements that are read at the beginning of a row: the default for a root's parent.

        A kernel never writes them.
        """
        known = f"parent {node.name}"  # no schema has such a name
        if known not in self.locals_:
            if tree.PARENT not in self._rows:
                wish = Parameter("parent", array_type("u32"), "data._parent_column")
                parents = self.frame.array(wish)
                self._rows[tree.PARENT] = row = self.names.take("p")
                self._letters[row] = "q"
                self.first.append(f"{row} = np.intp({parents}[{self.frame.row}])")
            row = self._rows[tree.PARENT]
            above = dict(self.frame.program.above_roots)[node.name]
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
            return uniform(type_, self.frame.zero(type_))
        numbers = [self.constant(one, type_.scalar) for one in elements]
        if len({*map(repr, elements)}) == 1:
            return uniform(type_, numbers[0])
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda place: numbers[int(place)])
        array = self.names.take(f"without_{name}")
        made = f"np.array({literal((*elements,))}, {SCALARS[type_.scalar].numpy})"
        self.arrays.append(f"{array} = {made}")
        return Value(type_, lambda place: Code(f"{array}[{place}]"))

    def _argument(self, argument: tree.Argument) -> Value:
        if not argument.each:
            return self.frame.argument_value(argument)
        name, type_, row = self.frame.argument(argument), argument.type, self.frame.row
        if self.is_flat or not type_.shape:
            return Value(type_, lambda place: Code(f"{name}[{row}]"))
        start = self._start(row, type_.elements)
        return Value(type_, lambda place: Code(f"{name}[{plus(start, place)}]"))

    # --- statements ------------------------------------------------------------------------------

    def run(self, statements: Sequence[form.Statement]) -> None:
        """Write what statements do."""
        for place, one in enumerate(statements):
            match one:
                case form.Say():
                    if not self.is_flat:
                        self.write(f"# {comment_text(one.text)}")
                case form.Find():
                    self._find(one)
                case form.There():
                    found = self._found[one.row]
                    if one.row.component:
                        found = infix("!=", Level.COMPARISON, found, Code("NIL"))
                    self.locals_[one.to.name] = uniform(one.to.type, found)
                case form.Fetch():
                    self._fetch(one)
                case form.List():
                    self.write(*self._nears[one.near].listed(self))
                case form.Ask():
                    if one.to.name not in self.locals_:  # not asked along with another one
                        self._ask(one, statements[place + 1 :])
                case form.Pick():
                    after = statements[place + 1 : place + 2]  # nothing in a condition
                    goes_there = any(isinstance(one, form.Go) for one in after)
                    self.locals_[one.to.name] = self._pick(one, goes_there)
                case form.Set():
                    self._set(one)
                case form.Store():
                    self._store(one)
                case form.Moved():
                    self._move(self.row_of(one.place.owner), self.value(one.place))
                case form.Go():
                    self._go(one)
                case form.Die():
                    self._fates.die(one)
                case form.Kill():
                    self._fates.kill(one, self._found[one.row])
                case form.Bear():
                    self._fates.bear(one)
                case form.Hear():
                    self._hear(one.bearer)
                case form.Send():
                    self._send(one)

    def _ask(self, first: form.Ask, later: Sequence[form.Statement]) -> None:
        near = self._nears[first.question.near]
        asking, asked = Questions(self, near), [first, *asked_along(first, later)]
        if isinstance(near, Stencil):
            asking, asked = StencilQuestions(self, near), [first]
        answers = asking.answer(*asked)
        self.locals_ |= {one.to.name: answer for one, answer in zip(asked, answers, strict=True)}

    def own_number(self, node: tree.Expression) -> str:
        """The expression for a number of Python's own, where plain loops have it so: many are
        compared in the time of one of numpy's."""
        type_, is_long = node.type, node.type.scalar in ("i64", "f64")
        if not self.frame.is_plain or type_.shape:
            return ""
        match node:
            case tree.Constant():
                return spelled(node.value) if is_long else ""
            case tree.Argument(each=False) if is_long:
                return self.frame.argument(node)
            case tree.Tick():
                return self.frame.parameter("tick", "int", "self.tick")
            case tree.Draw(how="random"):
                return f"({self.stem}[{node.number}] >> 11) * 2.0**-53"
            case tree.Operation(name="neg", operands=(one,)) if type_.is_float:
                own = self.own_number(one)
                return own and f"-{own}"
            case tree.Operation() if type_.scalar == "f64":
                return self._own_float(node)
            case tree.Local() | tree.FieldValue() | tree.OtherField() | tree.Distance():
                own_code = self.value(node).at(0).own
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
                return uniform(node.type, Code(f" {node.name} ".join(sides), Level.COMPARISON))
            for one in node.operands:
                if isinstance(one, tree.Distance) and (
                    found := self._nears[one.near].compared(node, self)
                ):
                    return found
        return super().value(node)

    def _move(self, row: str, place: Value) -> None:
        for near in self.spaces:
            self.write(near.moved(row, place))

    # --- cells: who is chosen, and who goes where ------------------------------------------------

    def _pick(self, one: form.Pick, goes_there: bool) -> Value:
        """One of all rows, or of all empty cells, by chance; 0 if there is none. `goes_there`: the
        next statement is the only one that needs it, if at all."""
        chosen, frame = one.chosen, self.frame
        component = frame.source.managers.components[chosen.component]
        manager, module = frame.source.managers.manager(component.name), component.module
        table, row = f"_{module}_living", ""
        if chosen.how == "empty" and self.grids.is_now:
            crowds = self.grids.crowds(component.name)
            if frame.is_plain:
                empties = frame.ready("empties", f"{crowds}.empties()")
                count, found = f"len({empties})", f"FIRST_CELL + {empties}[{{}}]"
            else:
                count = f"count_empty({crowds})"
                found = f"id_of_cell(empty_cell({crowds}, {{}}))"
        elif chosen.how == "empty":
            kind = "list[int]" if frame.is_plain else array_type("i32")
            cells = frame.table(f"{module}_empty", kind, f"empty_cells({manager})")
            count, found = f"len({cells})", f"id_of_cell({cells}[{{}}])"
        elif component.owner == "entity":
            row = self.names.take("picked_row")
            if frame.is_plain:
                frame.tables[table] = f"rows_alive({manager})"
                rows = frame.parameter(f"{module}_living", "memoryview[int]", f"{table}.data")
                count, found = f"len({rows})", f"{rows}[{{}}]"
            else:
                frame.tables[table] = f"choosable_rows({manager})"
                count = frame.parameter(f"{module}_count", "int", f"{table}[0]")
                rows = frame.parameter(f"{module}_living", "RowArray", f"{table}[1]")
                found = f"row_at({rows}, {{}})"
        else:
            frame.tables[table] = f"living_handles({manager})"
            living = frame.handles(f"{module}_living", table)
            count, found = f"len({living})", f"{living}[{{}}]"
        if goes_there and frame.is_plain and chosen.how == "empty":
            there = found.format(self.drawn_place(chosen.number, count))
            none = frame.zero(one.to.type).text
            return uniform(one.to.type, Code(f"{there} if {count} > 0 else {none}", Level.CHOICE))
        held = self.variables(one.to.type, "picked")
        there = held.at(0).text
        self.write(f"{there} = {frame.zero(one.to.type).text}")
        if row:
            self.write(f"{self.frame.declared(row)} = NIL")
        with self.block(f"if {count} > 0"):
            drawn = self.drawn_place(chosen.number, count)
            if row:
                self.write(f"{row} = {found.format(drawn)}")
                found = self.lookups.owner_of(component.name, row)
            self.write(f"{there} = {found.format(drawn)}")
            if chosen.how == "any":
                self.lookups.keep_living(component.name, there, row)
        if row and self.lookups.tells_rows(component.name):
            self.lookups.known[there] = component.name, row
        return held

    def drawn_place(self, number: int, count: str) -> str:
        """The expression for a random place among so many; plain Python takes its own integers."""
        if self.frame.is_plain:
            return f"({self.stem}[{number}] >> 32) * {count} >> 32"
        return f"range_at({self.stem}, {number}, {count})"

    def row_of_chosen(self, component: str, held: Value) -> str:
        """The variable for the row of an entity that is chosen, known to later steps as such; ""
        where that is not enough to know it."""
        if not self.lookups.tells_rows(component):
            return ""
        row = self.names.take("chosen_row")
        self.write(f"{self.frame.declared(row)} = NIL")
        self.lookups.known[held.at(0).text] = component, row
        return row

    def _go(self, one: form.Go) -> None:
        frame, owner = self.frame, one.to.owner
        name = owner or frame.source.managers.home
        component = frame.source.managers.components[name]
        assert component.on is not None
        frame.moved[name] = None
        value = self.kept(self.value(one.value)).at(0).text
        if one.row is None:
            row, there = self.row_of(owner), self.value(one.to).at(0).text
            test = self._living(owner)
        else:
            row = self._found[one.row].text
            place = form.Place(one.row, one.to.name, one.to.type)
            there, test = frame.found_cells(place, row).at(0).text, f"{row} != NIL"
            test += f" and {self._heard}" if self._heard else ""
        if self.grids.is_now and name in frame.program.watched:
            axes, crowds = self.grids.axes(component.on.grid), self.grids.crowds(name)
            moved = f"gone_to({crowds}, {axes}, {row}, {there}, {value}, {component.on.capacity})"
            goes = f"{value} != {there}"
        else:
            moved, goes = value, self.grids.is_cell(component.on.grid, value)
        with self.block(f"if {f'{test} and ' if test else ''}{goes}"):
            self.write(f"{there} = {moved}")

    def _find(self, one: form.Find) -> None:
        handle = self.kept(self.value(one.handle)).at(0).text
        if not one.row.component:
            living = self.lookups.alive(handle)
            self._found[one.row] = self.assign(living, "is_alive")
            return
        stem = self.frame.source.managers.stem(one.row.component)
        name = self.names.take(f"{stem}_row")
        self._found[one.row] = Code(name)
        self.lookups.find(one, name, handle, bool(self.own_number(one.handle)))

    def _fetch(self, one: form.Fetch) -> None:
        row = self._found[one.place.row].text
        there = self.frame.found_cells(one.place, row, one.before)
        instead = self._instead(one.place.name, one.place.type, one.default)
        held = self.variables(one.to.type, f"their_{one.place.name}")
        self._read(row, instead, there, held)
        self.locals_[one.to.name] = held

    def _set(self, one: form.Set) -> None:
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

    def _store(self, one: form.Store) -> None:
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

    def _hear(self, bearer: tree.FieldValue) -> None:
        """Find out whether the row's own entity is alive."""
        owner, component = self.value(bearer).at(0).text, bearer.owner
        managers = self.frame.source.managers
        living = self.lookups.alive(owner, is_owner=True)
        if component and not managers.is_sharded:
            living = Code(self.lookups.living_in(component, owner))
        self._heard = self.assign(living, "is_heard").text

    def _send(self, one: form.Send) -> None:
        row = self._found[one.to.row].text
        if self.frame.program.takes_turns:  # the row may be its own receiver
            owner = one.to.row.component if self.frame.source.is_world else tree.OWN
            own = tree.FieldValue(one.to.type, one.to.name, owner)
            value = self._apart(one.value, own, one.type)
        else:
            value = self.spread(one.value, one.type)
        tests = [f"{row} != NIL", *([self._heard] if self._heard else [])]
        with self.block(f"if {' and '.join(tests)}"):
            if one.held:
                self._keep(one, row, value)
                return
            self._change(one, row, value)
            if one.moves:
                self._move(row, self.frame.found_cells(one.to, row))

    def _change(self, one: form.Send, row: str, value: Value) -> None:
        scalar = one.type.scalar
        cells = self.frame.found_cells(one.to, row)
        there = part_of(cells, one.to.type.shape, one.to.index, one.type)
        if one.how == "=" or _is_in_place(one.how, scalar):
            self.store(value, there, "=" if one.how == "=" else f"{one.how}=")
            return
        node = tree.Operation(one.type, one.how, (one.value, one.value))
        self.change(there, value, lambda *codes: cut(element_of(node, [*codes]), scalar).text)

    def _keep(self, one: form.Send, row: str, value: Value) -> None:
        """Keep where the message goes and what it says, and have it delivered later."""
        rows, index = self.frame.count, self.frame.index
        kept, sent = self.names.take(f"{one.to.name}_to"), self.names.take(f"{one.to.name}_sent")
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

        def at(place: Place) -> Code:
            sides = (one.at(place).within(Level.ATOM) for one in (left, right))
            return Code(f" {sign} ".join(sides), Level.COMPARISON)

        return Value(node.type, at)


def _is_in_place(sign: str, scalar: str) -> bool:
    """Whether it can be written as `target += operand`: not of an i64, whose sums are calls."""
    return sign in ("+", "-", "*", "/") and scalar != "i64"
