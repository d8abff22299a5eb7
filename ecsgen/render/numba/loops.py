"""A kernel's loop over the rows: its parameters, its mask, its steps."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final

from ecsgen.model.columns import split_parts
from ecsgen.model.programs import (
    ID_SLOT,
    PARENT,
    Argument,
    Element,
    Expression,
    FieldValue,
    Local,
    Operation,
    OtherField,
    Program,
    Referred,
    Step,
    fields_in,
    walk,
)
from ecsgen.model.scalars import SCALARS
from ecsgen.render.kernels.finding import NO_MANAGERS, OtherManagers
from ecsgen.render.numba.code import USED, Code, Constants, NamedConstants, Names
from ecsgen.render.numba.composed import COMPOSERS
from ecsgen.render.numba.fields import Fields, Origin
from ecsgen.render.numba.messages import LoopMessages
from ecsgen.render.numba.mixing import is_across, is_mixing
from ecsgen.render.numba.referred import OtherRows
from ecsgen.render.numba.values import UNROLLED, Emitter, Value
from ecsgen.render.quoting import comment_text

_IN_PLACE: Final = ("+", "-", "*", "/")

FieldsOf = Callable[[Origin, Program, Names, bool], Fields]


class Loop:
    """The loop of one function, to be filled with steps.

    `setup` stands before the loop, `fields.preamble` at the beginning of a row, `emit.lines` after.
    """

    def __init__(
        self,
        origin: Origin,
        name: str,
        program: Program,
        may_be_flat: bool = True,
        fields: FieldsOf = Fields,
        managers: OtherManagers = NO_MANAGERS,
        is_plain: bool = False,
        names_rows: bool = False,
        annotated: AbstractSet[str] = frozenset(),
    ) -> None:
        """`is_plain`: Python itself runs it; `names_rows`: a call tells it which rows; `annotated`:
        variables that a loop before it in the same function has annotated."""
        self.is_plain = is_plain
        self.program = program
        self.is_flat = may_be_flat and is_flat(origin, program)
        self.names = Names({*USED, f"_{name}"}, _names_of(origin, program))
        self.setup: list[str] = []
        self.arguments: dict[Argument, str] = {}
        """Those that the loop needs, and what they are called."""
        self.rows = self.names.take("n", "_n")
        self.chosen = self.names.take("rows", "_rows") if names_rows else ""
        self.place = self.names.take("k", "_k") if names_rows else ""
        self.key = self.names.take("key", "_key") if program.effects.draws else ""
        is_ordered = program.climbs or program.takes_turns
        self.order = self.names.take("order", "_order") if is_ordered else ""
        self.fields = fields(origin, program, self.names, self.is_flat)
        self.others = OtherRows(managers, program, self.names, self.setup, is_plain, annotated)
        self.emit = Emitter(
            self.names,
            self._field,
            self._argument,
            self.others.value,
            COMPOSERS,
            self.is_flat,
            NamedConstants(self.names, self.setup) if is_plain else Constants(),
        )
        self.messages = LoopMessages(program, self.others, self.names, self.rows, self._field)
        self._values: dict[Argument, Value] = {}
        if program.who is not None and program.effects.draws:
            self._write_stem(program.who, f"{origin.holder(program.who)}._id_generation_column")

    @property
    def count(self) -> str:
        """How often the loop runs."""
        if not self.is_flat:
            return self.rows
        target = next(s.target for s in self.program.steps if isinstance(s.target, FieldValue))
        elements = target.type.elements
        return f"{elements} * {self.rows}" if elements > 1 else self.rows

    @property
    def delivery(self) -> list[str]:
        """The loop in which messages arrive that were kept."""
        lines = [f"    {line}" for line in self.messages.delivery]
        return [self.head, *lines] if lines else []

    @property
    def head(self) -> str:
        """The first line of a loop over all rows, or those that a call names."""
        return f"for {self.place or self.fields.row} in range({self.rows}):"

    @property
    def named_row(self) -> list[str]:
        """The statement that finds such a row."""
        if not self.chosen:
            return []
        return [f"{self.fields.row} = row_at({self.chosen}, {self.place})"]

    def _field(self, node: FieldValue) -> Value:
        return self.fields.value(self.emit, node)

    def _argument(self, argument: Argument) -> Value:
        if argument not in self._values:
            self.arguments[argument] = name = self.names.claim(argument.name)
            if argument.each:
                self._values[argument] = self.fields.of_each(name, argument.type)
            else:
                self._values[argument] = self._elements(argument, name)
        return self._values[argument]

    @property
    def _ready(self) -> tuple[str, ...]:
        """The types of which arguments are passed as numbers that need not be converted."""
        return ("bool", "u64") if self.is_plain else ("bool", "i64", "u64", "f64")

    def _elements(self, argument: Argument, name: str) -> Value:
        """Before the loop an argument takes its type, and one with a shape is taken apart.

        Python's own numbers are passed in a tenth of a microsecond; numpy's take three times that.
        """
        type_ = argument.type
        if not type_.shape:
            if type_.scalar in self._ready:
                return Value(type_, lambda place: Code(name))
            typed = self.names.take(f"{name}_{type_.scalar}")
            self.setup.append(f"{typed} = {SCALARS[type_.scalar].numpy}({name})")
            return Value(type_, lambda place: Code(typed))
        if type_.elements > UNROLLED:
            return Value(type_, lambda place: Code(f"{name}[{place}]"))
        elements = [self.names.take(f"{name}_{k}") for k in range(type_.elements)]
        self.setup += [f"{one} = {name}[{k}]" for k, one in enumerate(elements)]
        return Value(type_, lambda place: Code(elements[int(place)]))

    def _write_stem(self, who: FieldValue, generations: str) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        stem = self.names.take("stem", "_stem")
        given = [self._field(who).at(0).text]
        function = "stem_of"
        if who.name == ID_SLOT:
            function = "id_stem_of"
            given.append(f"{self.fields.array('id_generation', 'u32', generations)}[{given[0]}]")
        self.fields.preamble.append(f"{stem} = {function}({', '.join(given)}, {self.key})")
        self.emit.stem = stem

    # --- statements ------------------------------------------------------------------------------

    def write_steps(self) -> None:
        """Write all steps, of the rows for which `where` is true at the beginning."""
        if self.program.where is None:
            self._write_steps()
            return
        test = self.emit.value(self.program.where).at(0)
        with self.emit.block(f"if {test.text}"):
            self._write_steps()

    def _write_steps(self) -> None:
        for step in self.program.steps:
            if step.text and not self.is_flat:
                self.emit.write(f"# {comment_text(step.text)}")
            if isinstance(step.target, Referred):
                row = self.place or self.fields.row
                self.messages.send(self.emit, step, step.target, row)
                continue
            if isinstance(step.target, Local):
                self._set_local(step.target, step)
            else:
                self._assign(step, step.target)
            self.others.forget(step.target)

    def _set_local(self, local: Local, step: Step) -> None:
        emit = self.emit
        value = emit.value(step.value)
        if local.name not in emit.locals_:
            emit.locals_[local.name] = emit.stored(value, self.names.released(local.name))
            return
        if is_mixing(step.value, local):
            value = emit.stored(value, "t", "u", "w", "_t")
        emit.store(value, emit.locals_[local.name])

    def _assign(self, step: Step, field: FieldValue) -> None:
        emit = self.emit
        place: Expression = Element(step.type, field, step.index) if step.index else field
        target = emit.value(place)
        increment = _increment(step, place)
        if increment is not None and not is_mixing(step.value, field):
            sign, operand = increment
            emit.store(emit.spread(operand, step.type), target, f"{sign}=")
            return
        value = emit.value(step.value)
        if is_mixing(step.value, field) and emit.count(step.type) > 1:
            value = emit.stored(value, "t", "u", "w", "_t")
        emit.store(value, target)


def is_flat(origin: Origin, program: Program) -> bool:
    """Whether all columns have the same elements per row, and no element needs another."""
    expressions = [step.value for step in program.steps]
    targets = [step.target for step in program.steps if isinstance(step.target, FieldValue)]
    used = {*fields_in(program.where, *expressions), *targets}
    shapes = {one.type.shape for one in used}
    shapes |= {argument.type.shape for argument in program.arguments if argument.each}
    if len(shapes) != 1 or shapes == {()} or program.where is not None or program.who is not None:
        return False
    if program.effects.leads or program.takes_turns or program.near is not None:
        return False
    if any(argument.type.shape for argument in program.arguments if not argument.each):
        return False
    for one in used:
        if one.owner == PARENT or origin.field(one).split:
            return False
    if any(step.index for step in program.steps):
        return False
    return not any(is_across(node) for one in expressions for node in walk(one))


def _increment(step: Step, place: Expression) -> tuple[str, Expression] | None:
    """The sign and the operand of a step that can be written as `target += operand`.

    Not of an i64, whose sums are calls.
    """
    value = step.value
    if not isinstance(value, Operation) or value.name not in _IN_PLACE:
        return None
    if value.type.scalar == "i64":
        return None
    left, right = value.operands
    return (value.name, right) if left == place else None


def _names_of(origin: Origin, program: Program) -> set[str]:
    """What the schema calls the columns, arguments and locals that a program uses."""
    targets = [step.target for step in program.steps]
    found = {argument.name for argument in program.arguments}
    found |= {target.name for target in targets if isinstance(target, Local)}
    assigned = [target for target in targets if isinstance(target, FieldValue)]
    nodes = [node for one in program.expressions for node in walk(one)]
    others = [FieldValue(n.type, n.name, n.owner) for n in nodes if isinstance(n, OtherField)]
    for one in (*fields_in(*program.expressions), *assigned, *others):
        field = origin.field(one)
        parts_ = split_parts(field) if field.split else []
        found |= {origin.prefix(one) + part.name for part in (field, *parts_)}
    return found
