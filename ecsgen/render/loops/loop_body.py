"""What a loop does with a row: a method for each kind of statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecsgen.kernels import form
from ecsgen.model.programs import (
    ID_SLOT,
    OWN,
    PARENT,
    Argument,
    Distance,
    Element,
    Expression,
    FieldValue,
    Local,
    Offset,
    Operation,
    OtherField,
)
from ecsgen.model.types import SCALARS, Number, Type
from ecsgen.render.loops.code import Code, Level, cut, infix
from ecsgen.render.loops.elements import element_of
from ecsgen.render.loops.frame import LoopFrame, Parameter, array_type, cells_of
from ecsgen.render.loops.near import Neighbours, Now, Questions
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.values import UNROLLED, Emitter, Value, is_mixing, part_of, plus, uniform
from ecsgen.render.quoting import comment_text, literal


class LoopBody(Emitter):
    """What one row does: `statements`; and what a second loop does after the last one:
    `delivery`."""

    def __init__(
        self,
        frame: LoopFrame,
        rows: Mapping[str, str],
        near: Neighbours | None = None,
        is_flat: bool = False,
    ) -> None:
        """`rows`: the variables with the rows of components, as far as these are known; `is_flat`:
        whether every element is a row of its own."""
        super().__init__(frame.names, frame.constant, is_flat)
        self.frame = frame
        self.first: list[str] = []
        """Statements that begin a row."""
        self.delivery: list[str] = []
        self._lookups = Lookups(frame, self)
        self._near = near
        self._rows = {**rows}
        self._found: dict[form.Row, Code] = {}
        self._starts: dict[tuple[str, int], str] = {}
        self._letters = {frame.row: "j"}
        """What the places of a row's elements are called."""
        self._heard = ""

    @property
    def statements(self) -> list[str]:
        """All statements of a row."""
        return [*self.first, *self.lines]

    def add(self, kernel: form.Form) -> None:
        """Write all statements, of the rows for which the condition is true at the beginning."""
        if kernel.program.who is not None and kernel.program.effects.draws:
            self._write_stem(kernel.program.who)
        self.run(kernel.head)
        if kernel.where is None:
            self.run(kernel.body)
            return
        with self.block(f"if {self.value(kernel.where).at(0).text}"):
            self.run(kernel.body)

    def _write_stem(self, who: FieldValue) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        stem, frame = self.names.take("stem"), self.frame
        given, function = [self.value(who).at(0).text], "stem_of"
        if who.name == ID_SLOT:
            function = "id_stem_of"
            passed = f"{frame.source.managers.data(who.owner)}._id_generation_column"
            generations = frame.array(Parameter("id_generation", array_type("u32"), passed))
            given.append(f"{generations}[{given[0]}]")
        self.first.append(f"{stem} = {function}({', '.join([*given, frame.key])})")
        self.stem = stem

    # --- fields and arguments --------------------------------------------------------------------

    def _given(self, node: Expression) -> Value:
        match node:
            case FieldValue(owner=owner):
                is_own = owner != PARENT
                return self._cells(node, self._row_of(owner)) if is_own else self._of_parent(node)
            case Argument():
                return self._argument(node)
            case OtherField() | Offset() | Distance():
                assert self._near is not None
                return self._near.of_other(node)
        raise TypeError("questions and references are statements in a form")

    def _cells(self, node: FieldValue, row: str) -> Value:
        arrays, type_ = self.frame.arrays(node), node.type
        if self.is_flat:
            return Value(type_, lambda place: Code(f"{arrays[0]}[{row}]"))
        is_shape = type_.shape and len(arrays) == 1
        return cells_of(arrays, type_, row, self._start(row, type_.elements) if is_shape else "")

    def _start(self, row: str, elements: int) -> str:
        """The variable that says where a row of so many elements begins."""
        if (row, elements) not in self._starts:
            letter = self._letters[row]
            self._starts[row, elements] = name = self.names.take(letter, f"{letter}{elements}")
            self.first.append(f"{name} = {elements} * {row}")
        return self._starts[row, elements]

    def _row_of(self, owner: str) -> str:
        """The variable with the row of a component."""
        if owner not in self._rows:
            frame = self.frame
            module, rows = frame.source.components[owner].module, frame.rows_of(owner)
            self._rows[owner] = row = self.names.take(f"{module}_row")
            self._letters[row] = f"{module}_j"
            self.first.append(f"{row} = row_at({rows}, {frame.row})")
        return self._rows[owner]

    def _of_parent(self, node: FieldValue) -> Value:
        """Elements that are read at the beginning of a row: the default for a root's parent.

        A kernel never writes them.
        """
        known = f"parent {node.name}"  # no schema has such a name
        if known not in self.locals_:
            if PARENT not in self._rows:
                wish = Parameter("parent", array_type("u32"), "data._parent_column")
                parents = self.frame.array(wish)
                self._rows[PARENT] = row = self.names.take("p")
                self._letters[row] = "q"
                self.first.append(f"{row} = np.intp({parents}[{self.frame.row}])")
            row = self._rows[PARENT]
            above = dict(self.frame.program.above_roots)[node.name]
            self.locals_[known] = held = self.variables(node.type, f"parent_{node.name}")
            given = row, self._instead(node.name, node.type, above), self._cells(node, row), held
            self.first += self.captured(lambda: self._read(*given))
        return self.locals_[known]

    def _read(self, row: str, instead: Value, there: Value, held: Value) -> None:
        """Read what is there, or something instead if no row is."""
        with self.block(f"if {row} == NIL"):
            self.store(instead, held)
        with self.block("else"):
            self.store(there, held)

    def _instead(self, name: str, type_: Type, elements: Sequence[bool | Number]) -> Value:
        """What stands for a field of a row that is not there."""
        numbers = [self.constant(one, type_.scalar) for one in elements]
        if len({*map(repr, elements)}) == 1:
            return uniform(type_, numbers[0])
        if len(numbers) <= UNROLLED:
            return Value(type_, lambda place: numbers[int(place)])
        array = self.names.take(f"without_{name}")
        made = f"np.array({literal((*elements,))}, {SCALARS[type_.scalar].numpy})"
        self.arrays.append(f"{array} = {made}")
        return Value(type_, lambda place: Code(f"{array}[{place}]"))

    def _argument(self, argument: Argument) -> Value:
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
        for one in statements:
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
                    if isinstance(self._near, Now):  # else each row begins with its list
                        place = self.value(self._near.asked.near.place)
                        self.write(*self._near.listed(self.frame.row, place))
                case form.Ask():
                    assert self._near is not None
                    self.locals_[one.to.name] = Questions(self, self._near).answer(one)
                case form.Set():
                    self._set(one)
                case form.Store():
                    self._store(one)
                case form.Moved():
                    self._move(self._row_of(one.place.owner), self.value(one.place))
                case form.Hear():
                    self._hear(one.bearer)
                case form.Send():
                    self._send(one)

    def _move(self, row: str, place: Value) -> None:
        """Let a row be where its place is now."""
        assert isinstance(self._near, Now)
        self.write(self._near.moved(row, place))

    def _find(self, one: form.Find) -> None:
        handle = self.kept(self.value(one.handle)).at(0).text
        if not one.component:
            living = self._lookups.alive(handle)
            self._found[one.row] = self.assign(living, "is_alive")
            return
        stem = self.frame.source.managers.stem(one.component)
        name = self.names.take(f"{stem}_row")
        self._found[one.row] = Code(name)
        self._lookups.find(one, name, handle)

    def _fetch(self, one: form.Fetch) -> None:
        row = self._found[one.place.row].text
        there = self.frame.found_cells(one.place, row, one.before)
        instead = self._instead(one.place.name, one.place.type, one.default)
        held = self.variables(one.to.type, f"their_{one.place.name}")
        self._read(row, instead, there, held)
        self.locals_[one.to.name] = held

    def _set(self, one: form.Set) -> None:
        name = one.to.name
        if one.is_new:
            self.locals_[name] = self.stored(self.value(one.value), self.names.released(name))
        else:
            self.store(self._apart(one.value, one.to, one.to.type), self.locals_[name])

    def _store(self, one: form.Store) -> None:
        place: Expression = Element(one.type, one.to, one.index) if one.index else one.to
        target = self.value(place)
        match one.value:
            case Operation(type, sign, (left, right)) if (
                left == place and _is_in_place(sign, type.scalar) and not is_mixing(right, one.to)
            ):
                self.store(self.spread(right, one.type), target, f"{sign}=")
            case _:
                self.store(self._apart(one.value, one.to, one.type), target)

    def _apart(self, node: Expression, own: FieldValue | Local, type_: Type) -> Value:
        """A value to be written over something of a type; kept before where the first elements that
        are written would change the others."""
        value = self.spread(node, type_)
        if self.count(type_) > 1 and is_mixing(node, own):
            return self.stored(value)
        return value

    # --- messages: at once, or in a second loop --------------------------------------------------

    def _hear(self, bearer: FieldValue) -> None:
        """Find out whether the row's own entity is alive."""
        owner, component = self.value(bearer).at(0).text, bearer.owner
        managers = self.frame.source.managers
        living = self._lookups.alive(owner)
        if component and not managers.is_sharded:
            living = Code(self._lookups.living_in(component, owner))
            if managers.components[component].lookup == "direct":  # rows may be nobody's
                living = Code(f"{owner} != 0 and {living.text}", Level.AND)
        self._heard = self.assign(living, "is_heard").text

    def _send(self, one: form.Send) -> None:
        row = self._found[one.to.row].text
        if self.frame.program.takes_turns:  # the row may be its own receiver
            owner = one.to.row.component if self.frame.source.is_world else OWN
            own = FieldValue(one.to.type, one.to.name, owner)
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
        """Do with what is there what the message says."""
        scalar = one.type.scalar
        cells = self.frame.found_cells(one.to, row)
        there = part_of(cells, one.to.type.shape, one.to.index, one.type)
        if one.how == "=" or _is_in_place(one.how, scalar):
            self.store(value, there, "=" if one.how == "=" else f"{one.how}=")
            return
        node = Operation(one.type, one.how, (one.value, one.value))
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

        def deliver() -> None:
            self.write(f"{row} = {kept}[{index}]")
            with self.block(f"if {row} != NIL"):
                self._change(one, row, said)

        self.delivery += self.captured(deliver)


def _is_in_place(sign: str, scalar: str) -> bool:
    """Whether it can be written as `target += operand`: not of an i64, whose sums are calls."""
    return sign in ("+", "-", "*", "/") and scalar != "i64"
