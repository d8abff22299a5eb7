"""What the loops of one function have in common: names, parameters, what stands before them."""

from __future__ import annotations

from collections.abc import Mapping

from ecsgen.model import Field
from ecsgen.model.columns import split_parts
from ecsgen.model.programs import (
    PARENT,
    Argument,
    FieldValue,
    Local,
    OtherField,
    Program,
    fields_in,
    walk,
)
from ecsgen.model.scalars import SCALARS
from ecsgen.render.kernels.arguments import ArgumentSpelling
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.sources import Source
from ecsgen.render.loops.code import USED, Code, Constants, NamedConstants, Names
from ecsgen.render.loops.columns import Columns, Parameter, array_type
from ecsgen.render.loops.lookup import Lookups
from ecsgen.render.loops.near import Before, Neighbours, Now
from ecsgen.render.loops.values import UNROLLED, Value


class LoopFrame:
    """Of the function of a kernel, or of whatever else loops over rows."""

    near: Neighbours | None = None

    def __init__(
        self,
        function: str,
        source: Source,
        program: Program,
        asked: Asked | None = None,
        is_plain: bool = False,
        names_rows: bool = False,
    ) -> None:
        """`is_plain`: Python itself runs it; `names_rows`: a call tells it which rows."""
        self.source = source
        self.program = program
        self.is_plain = is_plain
        self.names = Names({*USED, function}, self._schema_names(asked))
        self.setup: list[str] = []
        """Statements before the loops."""
        self.arguments: dict[Argument, str] = {}
        """Those that are needed, and what they are called."""
        self.numbers: dict[str, Parameter] = {}
        """The rows of each component, where they need not be the first ones."""
        self.members: dict[str, Parameter] = {}
        """The rows of those who may be asked in each component."""
        self.above_roots: dict[str, str] = {}
        kept = self.names.kept
        self.count = kept("n", "_n")
        self.chosen = kept("rows", "_rows") if names_rows else ""
        self.place = kept("k", "_k") if names_rows else ""
        self.key = kept("key", "_key") if program.effects.draws else ""
        is_ordered = program.climbs or program.takes_turns
        self.order = kept("order", "_order") if is_ordered else ""
        self.row = kept("i", "_i")
        self.columns = Columns(self.names, is_plain)
        given = self.columns, self.names, source.managers, self.setup, is_plain
        self.lookups = Lookups(*given)
        self.constants = NamedConstants(self.names, self.setup) if is_plain else Constants()
        self._asked = asked
        self._values: dict[Argument, Value] = {}
        if asked is not None:
            self.near = self._neighbours(asked)

    def _neighbours(self, asked: Asked) -> Neighbours:
        given = asked.near, self.names, self._arrays_of_other, self._member
        if self.program.takes_turns:
            return Now(*given)
        return Before(*given, asked.own.is_world, asked.is_two)

    # --- fields ----------------------------------------------------------------------------------

    def arrays(self, node: FieldValue) -> list[str]:
        """The parameters of a field of own rows, or of those who are asked."""
        source = self._side(node.owner, self._asked)
        field, prefix = source.field(node.owner, node.name), source.prefix(node.owner)
        return self.columns.own_arrays(node, field, prefix, source.holder(node.owner))

    def _arrays_of_other(self, node: OtherField) -> list[str]:
        return self.arrays(FieldValue(node.type, node.name, node.owner))

    def _side(self, owner: str, asked: Asked | None) -> Source:
        """Whose field it is: of the rows, or of others that they ask."""
        if owner in self.source.components or owner == PARENT:
            return self.source
        assert asked is not None
        assert asked.other is not None
        return asked.other

    def _member(self, owner: str, which: str) -> str:
        """The expression for the row of someone who may be asked in a component."""
        assert self._asked is not None
        passed = self._asked.members(owner)
        if passed is None:
            return which
        if owner not in self.members:
            name = self.names.kept(f"{self._asked.components[owner].module}_members")
            self.members[owner] = Parameter(name, "RowArray", passed)
        return f"{self.members[owner].name}[{which}]"

    def rows_of(self, owner: str) -> str:
        """The parameter with the rows of a component, where these need not be the first ones."""
        if owner not in self.numbers:
            name = self.names.kept(f"{self.source.components[owner].module}_rows")
            passed = self.source.numbers(owner)
            assert passed is not None
            self.numbers[owner] = Parameter(name, "RowArray", passed)
        return self.numbers[owner].name

    def above_root(self, node: FieldValue) -> str:
        """The parameter with large values above roots."""
        constant = f"_{node.name.upper()}_ABOVE_ROOTS"
        self.above_roots[constant] = node.name
        return self.columns.array(f"above_roots_{node.name}", node.type.scalar, constant)

    # --- arguments -------------------------------------------------------------------------------

    def argument(self, argument: Argument) -> str:
        """What an argument is called in the function."""
        if argument not in self.arguments:
            self.arguments[argument] = self.names.claim(argument.name)
        return self.arguments[argument]

    def argument_value(self, argument: Argument) -> Value:
        """The elements of an argument that is the same for all rows."""
        name = self.argument(argument)
        if argument not in self._values:
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
            typed = self.names.kept(f"{name}_{type_.scalar}")
            self.setup.append(f"{typed} = {SCALARS[type_.scalar].numpy}({name})")
            return Value(type_, lambda place: Code(typed))
        if type_.elements > UNROLLED:
            return Value(type_, lambda place: Code(f"{name}[{place}]"))
        elements = [self.names.kept(f"{name}_{k}") for k in range(type_.elements)]
        self.setup += [f"{one} = {name}[{k}]" for k, one in enumerate(elements)]
        return Value(type_, lambda place: Code(elements[int(place)]))

    def common(self, spellings: Mapping[str, ArgumentSpelling]) -> list[Parameter]:
        """The parameters that are the same for every row: arguments, and the key of draws."""
        given = [_argument(one, name, spellings) for one, name in self.arguments.items()]
        return [*given, *([Parameter(self.key, "np.uint64", "_key")] if self.key else [])]

    def _schema_names(self, asked: Asked | None) -> set[str]:
        """What the schema calls the columns, arguments and locals that a program uses."""
        program = self.program
        targets = [step.target for step in program.steps]
        found = {argument.name for argument in program.arguments}
        found |= {target.name for target in targets if isinstance(target, Local)}
        assigned = [target for target in targets if isinstance(target, FieldValue)]
        nodes = [node for one in program.expressions for node in walk(one)]
        others = [FieldValue(n.type, n.name, n.owner) for n in nodes if isinstance(n, OtherField)]
        for one in (*fields_in(*program.expressions), *assigned, *others):
            source = self._side(one.owner, asked)
            names = _columns_of(source.field(one.owner, one.name))
            found |= {source.prefix(one.owner) + name for name in names}
        return found


def _columns_of(field: Field) -> list[str]:
    """The name of a field, and those of its elements if they are split."""
    return [field.name, *(part.name for part in (split_parts(field) if field.split else ()))]


def _argument(
    argument: Argument, name: str, spellings: Mapping[str, ArgumentSpelling]
) -> Parameter:
    type_, spelling = argument.type, spellings[argument.name]
    if argument.each:
        return Parameter(name, array_type(type_.scalar), f"flat_cells({spelling.whole})")
    if type_.shape:
        return Parameter(name, array_type(type_.scalar), spelling.text)
    annotation = "float" if type_.is_float else "bool" if type_.is_bool else "int"
    if type_.scalar == "u64":
        annotation = SCALARS[type_.scalar].numpy
    return Parameter(name, annotation, spelling.text)
