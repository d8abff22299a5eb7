"""The typed tree of a kernel: every node knows its type, every conversion is a node.

What a node computes is rounded to its own type, whatever the machine could do at once. An operand
without a shape goes with every element of one that has a shape; all other shapes are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from ecsgen.model.types import BOOL, Number, Type

ENTITY, ID_SLOT = "entity", "id_slot"
"""Columns of managers that tell rows apart, as `Program.who` names them."""

OWN, PARENT = "", "parent"
"""Whose field is meant, if it is not that of a component that a world kernel names."""


HANDLE: Final = Type("u64", (), "entity")
"""The type of entities."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, as written: rounding it to the type is up to whoever prints it."""

    type: Type  # without a shape
    value: bool | Number


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the kernel: the same for every row, or with a value for each."""

    type: Type
    name: str
    each: bool = False


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of this row, of the parent's row, or of the row of another component."""

    type: Type
    name: str
    owner: str = OWN  # OWN, PARENT, or a component

    @property
    def text(self) -> str:
        """As the schema spells it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Local:
    """What a step before gave a local name."""

    type: Type
    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a shape, or what is left of the shape behind a few indices."""

    type: Type
    base: Expression
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to another scalar type.

    Integers wrap, floats round to nearest, finite ones may become infinite. A float to an integer
    is cut towards zero; out of range it is the end of the range, and NaN is 0. Anything but zero
    is true.
    """

    type: Type
    operand: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the table in `operations`, its operands of the types that it asks for."""

    type: Type
    name: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers of this row, one for each element, in C order."""

    type: Type
    how: Literal["random", "normal", "range"]
    """In [0, 1); of mean 0 and deviation 1; whole, from 0 up to the operand, which is not one."""
    number: int
    """Which of the row's numbers the first element is; while a text is typed, where it stands."""
    operands: tuple[Expression, ...] = ()  # of a range: an i64 from 0 to 2^32 - 1


@dataclass(frozen=True, slots=True)
class Referred:
    """A field of another row, as it was before the kernel: of the row that an entity has in a
    component, of `many` its first, or of that with an id."""

    type: Type
    component: str
    name: str
    handle: Expression
    default: tuple[bool | Number, ...]
    """What is read where the handle leads nowhere: elements in C order."""

    @property
    def text(self) -> str:
        """The field with its component."""
        return f"{self.component}.{self.name}"


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether a handle leads to a row of a component; without one, whether an entity is alive."""

    type: Type
    component: str
    handle: Expression


@dataclass(frozen=True, slots=True)
class OtherField:
    """A field of a neighbour, as it was before the kernel."""

    type: Type
    name: str
    owner: str = OWN  # OWN, or a component

    @property
    def text(self) -> str:
        """As the schema spells it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Offset:
    """A neighbour's place less the row's, the short way around; both as before the kernel."""

    type: Type


@dataclass(frozen=True, slots=True)
class Distance:
    """`sqrt(dot(offset, offset))`."""

    type: Type


How = Literal["count", "sum", "mean", "min", "max", "nearest"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of all neighbours of the row, in their order.

    Sums are of floats in f64, of integers in 64 bits; of none: 0, NaN for `mean`, and for `min` and
    `max` of floats.
    """

    type: Type
    how: How
    value: Expression | None = None  # None: of all neighbours


Expression = (
    Constant
    | Argument
    | FieldValue
    | Local
    | Element
    | Cast
    | Operation
    | Draw
    | Referred
    | Exists
    | OtherField
    | Offset
    | Distance
    | Question
)


@dataclass(frozen=True, slots=True)
class Near:
    """Whom the rows of a kernel can ask."""

    radius: Argument | float
    place: FieldValue
    """The field with the places."""
    among: str = ""
    """Whose rows are found: a group, a query or a component; its own if it names none."""


@dataclass(frozen=True, slots=True)
class Step:
    """One assignment, or a message to another row; `value` has the target's scalar type, and its
    shape or none."""

    target: FieldValue | Local | Referred
    value: Expression
    index: tuple[int, ...] = ()  # of the element of a field
    text: str = ""  # as the schema has it
    how: str = ""  # of a message: the operation that is done with what is there

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What it computes: where a message goes, and the value."""
        if isinstance(self.target, Referred):
            return self.target.handle, self.value
        return (self.value,)

    @property
    def type(self) -> Type:
        """The type of what is assigned to."""
        whole = self.target.type
        return whole.of_shape(whole.shape[len(self.index) :])


@dataclass(frozen=True, slots=True)
class Effects:
    """What a kernel has to do with fields, as the schema spells these, each once, in the order in
    which they come up; those of other rows that it follows handles to with their components."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    refers: tuple[str, ...] = ()
    """Read where handles lead."""
    asks: tuple[str, ...] = ()
    """Read of neighbours."""
    sends: tuple[str, ...] = ()
    """Changed by messages."""
    leads: tuple[str, ...] = ()
    """The components that its handles lead to; nothing for that of all who are alive."""
    draws: bool = False
    """Whether random numbers are drawn, beside those that tell whose turn it is."""

    @property
    def fields(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.reads, *self.writes, *self.refers, *self.asks, *self.sends)


@dataclass(frozen=True, slots=True)
class Program:
    """A whole kernel, and its effects."""

    arguments: tuple[Argument, ...] = ()
    where: Expression | None = None
    steps: tuple[Step, ...] = ()
    effects: Effects = Effects()
    above_roots: tuple[tuple[str, tuple[bool | Number, ...]], ...] = ()
    """What roots read as fields of their parent: the elements of each, in C order."""

    bearer: FieldValue | None = None
    """A column that every row has, if it sends messages: of the owners, or of ids."""
    may_be_dead: bool = False
    """Whether rows may belong to dead entities, from whom no one hears."""
    who: FieldValue | None = None
    """What tells its rows apart, if it draws random numbers: a field, or a column of managers."""
    takes_turns: bool = False
    """Whether each row acts on what those before it have left."""
    near: Near | None = None
    """Its neighbours, if it asks them."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it computes for a row: the condition, then what each step does."""
        return expressions_of(self.where, self.steps)

    @property
    def sees_in_order(self) -> bool:
        """Whether the order in which rows run counts, beside that of the rows themselves."""
        return bool(self.effects.sends or self.takes_turns or self.near is not None)

    @property
    def climbs(self) -> bool:
        """Whether it reads parents, and so runs level by level."""
        return bool(self.above_roots)


def expressions_of(where: Expression | None, steps: tuple[Step, ...]) -> tuple[Expression, ...]:
    """All that is computed for a row, in order."""
    parts = tuple(part for step in steps for part in step.expressions)
    return parts if where is None else (where, *parts)


def effects_of(
    where: Expression | None, steps: tuple[Step, ...], key: FieldValue | None = None
) -> Effects:
    """What a condition and steps do; `key`: a field that tells rows apart."""
    found: dict[str, dict[str, None]] = {
        name: {} for name in ("reads", "writes", "refers", "asks", "sends", "leads")
    }
    draws = False
    for node in (node for one in expressions_of(where, steps) for node in walk(one)):
        match node:
            case FieldValue():
                found["reads"][node.text] = None
            case OtherField():
                found["asks"][node.text] = None
            case Referred():
                found["refers"][node.text] = found["leads"][node.component] = None
            case Exists():
                found["leads"][node.component] = None
            case Draw():
                draws = True
    for target in (step.target for step in steps):
        if isinstance(target, FieldValue):
            found["writes"][target.text] = None
        elif isinstance(target, Referred):
            found["sends"][target.text] = found["leads"][target.component] = None
    if key is not None:
        found["reads"][key.text] = None
    return Effects(**{name: tuple(each) for name, each in found.items()}, draws=draws)


@dataclass(frozen=True, slots=True)
class Folding:
    """A whole reduction: the value of one row, and of which rows."""

    value: Expression = Constant(BOOL, True)
    where: Expression | None = None
    reads: tuple[str, ...] = ()


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    match expression:
        case Operation() | Draw():
            return expression.operands
        case Cast():
            return (expression.operand,)
        case Element():
            return (expression.base,)
        case Referred() | Exists():
            return (expression.handle,)
        case Question():
            return () if expression.value is None else (expression.value,)
    return ()


def with_parts(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression made of what `change` makes of its parts."""
    match node:
        case Operation() | Draw():
            return replace(node, operands=tuple(map(change, node.operands)))
        case Cast():
            return replace(node, operand=change(node.operand))
        case Element():
            return replace(node, base=change(node.base))
        case Referred() | Exists():
            return replace(node, handle=change(node.handle))
        case Question() if node.value is not None:
            return replace(node, value=change(node.value))
    return node


def changed(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression in which each node is what `change` makes of it, the inner ones first."""
    return change(with_parts(node, lambda part: changed(part, change)))


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and everything in it, from the outside to the inside, left to right."""
    yield expression
    for part in parts(expression):
        yield from walk(part)


def fields_in(*expressions: Expression | None) -> tuple[FieldValue, ...]:
    """The fields that expressions read, each once, in order."""
    found: dict[FieldValue, None] = {}
    for expression in expressions:
        for node in walk(expression) if expression is not None else ():
            if isinstance(node, FieldValue):
                found[node] = None
    return tuple(found)


NO_PROGRAM: Final = Program()
NO_FOLDING: Final = Folding()
"""Of what is not compiled yet."""
