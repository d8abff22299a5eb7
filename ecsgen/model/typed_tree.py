"""The typed tree of a kernel: every node knows its type, every conversion is a node.

What a node computes is rounded to its own type, whatever the machine could do at once. An operand
without a shape goes with every element of one that has a shape; all other shapes are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ecsgen.model.types import BOOL, Number, Type

ENTITY, ID_SLOT, CELL_ID = "entity", "id_slot", "cell_id"
"""Columns of managers that tell rows apart, as `Program.who` names them."""

OWN, PARENT = "", "parent"
"""Whose field is meant, if it is not that of a component that a world kernel names."""


OTHER: Final = "other"
"""What a neighbour is called in a neighbourhood without a name."""

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
    distribution: Literal["random", "normal", "range"]
    """In [0, 1); of mean 0 and deviation 1; whole, from 0 up to the operand, which is not one."""
    number: int
    """Which of the row's numbers the first element is; while a text is typed, where it stands."""
    operands: tuple[Expression, ...] = ()  # of a range: an i64 from 0 to 2^32 - 1


@dataclass(frozen=True, slots=True)
class ReferencedField:
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
class RandomChoice:
    """A row of a component, each as likely, or a cell on which none of its rows stands: its entity
    or id, 0 if there is none."""

    type: Type
    candidates: Literal["any", "empty"]
    component: str
    number: int
    """Which of the row's random numbers it takes; while a text is typed, where it stands."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a cell is, -1 along each axis for what is none."""

    type: Type
    grid: str
    handle: Expression


@dataclass(frozen=True, slots=True)
class CellAt:
    """The cell at a place: around where an axis goes around, 0 outside of others."""

    type: Type
    grid: str
    place: Expression


@dataclass(frozen=True, slots=True)
class Tick:
    """The world's time."""

    type: Type


@dataclass(frozen=True, slots=True)
class NeighbourField:
    """A field of a neighbour, as it was before the kernel."""

    type: Type
    name: str
    owner: str = OWN  # OWN, or a component
    near: str = OTHER

    @property
    def text(self) -> str:
        """As the schema spells it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Offset:
    """A neighbour's place less the row's, the short way around; both as before the kernel."""

    type: Type
    near: str = OTHER


@dataclass(frozen=True, slots=True)
class Distance:
    """`sqrt(dot(offset, offset))`."""

    type: Type
    near: str = OTHER


@dataclass(frozen=True, slots=True)
class Occupied:
    """Whether a row of a component stands on a neighbour, which is a cell."""

    type: Type
    component: str
    near: str = OTHER


AggregateFunction = Literal[
    "count", "sum", "mean", "min", "max", "nearest", "choice", "min_by", "max_by"
]


@dataclass(frozen=True, slots=True)
class NeighbourAggregate:
    """What is asked of the neighbours of the row, in their order.

    Sums are of floats in f64, of integers in 64 bits; of none: 0, NaN for `mean`, and for `min` and
    `max` of floats.
    """

    type: Type
    function: AggregateFunction
    value: Expression | None = None  # None: of all neighbours
    near: str = OTHER
    where: Expression | None = None
    """Only those for which it is true."""
    keys: tuple[Expression, ...] = ()
    """Of whom the first is least or greatest, of several of whom the next one is."""
    number: int = -1
    """Which of the row's random numbers decides among equals; -1: none does."""

    @property
    def is_random(self) -> bool:
        """Whether a random number decides."""
        return self.function in ("choice", "min_by", "max_by")


Expression = (
    Constant
    | Argument
    | FieldValue
    | Local
    | Element
    | Cast
    | Operation
    | Draw
    | ReferencedField
    | Exists
    | RandomChoice
    | Coordinates
    | CellAt
    | Tick
    | NeighbourField
    | Offset
    | Distance
    | Occupied
    | NeighbourAggregate
)


@dataclass(frozen=True, slots=True)
class GridNeighbourhood:
    """Of neighbours on a grid: which one, which cells are in reach, and who is met there."""

    grid: str
    """The component whose rows are the cells."""
    axes: int
    hood: str
    center: bool
    """Whether a cell is in reach of itself."""
    occupant: str
    """The component whose rows stand on the cells in reach and are met; nothing: these are."""
    owner: str = OWN
    """What the kernel calls it."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Whom the rows of a kernel can ask."""

    radius: Argument | FieldValue | float
    position: FieldValue
    """The field with the places, or the cells; of cells themselves their ids."""
    among: str = ""
    """Whose rows are found: a group, a query or a component; its own if it names none."""
    name: str = OTHER
    on: GridNeighbourhood | None = None
    """None in a continuous space."""


@dataclass(frozen=True, slots=True)
class Despawn:
    """The row's entity dies, or its row if that is nobody's; or another one does."""

    handle: Expression | None = None
    component: str = ""
    """Of an id the component that it is of."""
    type: Type = BOOL
    """Of whether it happens."""


@dataclass(frozen=True, slots=True)
class SpawnedInstance:
    """An instance that a new entity has, or one row that is nobody's; fields that are not given
    take their defaults."""

    component: str
    values: tuple[tuple[str, Expression], ...]

    def with_values(self, change: Callable[[Expression], Expression]) -> SpawnedInstance:
        """The same of what `change` makes of its values."""
        return SpawnedInstance(
            self.component, tuple((name, change(one)) for name, one in self.values)
        )


@dataclass(frozen=True, slots=True)
class Spawn:
    """A new entity with instances, or a row that is nobody's."""

    instances: tuple[SpawnedInstance, ...]
    type: Type = BOOL
    """Of whether it happens."""


@dataclass(frozen=True, slots=True)
class Step:
    """One assignment, a message to another row, a death or a birth; `value` has the target's scalar
    type, and its shape or none; of deaths and births it is whether they happen."""

    target: FieldValue | Local | ReferencedField | Despawn | Spawn
    value: Expression
    index: tuple[int, ...] = ()  # of the element of a field
    text: str = ""  # as the schema has it
    message_operator: str = ""  # of a message: the operation that is done with what is there

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What it computes: where a message goes, and the value."""
        match self.target:
            case ReferencedField(handle=handle) | Despawn(handle=handle) if handle is not None:
                return handle, self.value
            case Spawn(instances=newborn):
                given = (value for one in newborn for _, value in one.values)
                return (*given, self.value)
        return (self.value,)

    def with_expressions(self, change: Callable[[Expression], Expression]) -> Step:
        """The same step of what `change` makes of these."""
        target = self.target
        match target:
            case ReferencedField(handle=handle) | Despawn(handle=handle) if handle is not None:
                target = replace(target, handle=change(handle))
            case Spawn(instances=newborn):
                target = Spawn(tuple(one.with_values(change) for one in newborn))
        return replace(self, target=target, value=change(self.value))

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
    reads_referenced: tuple[str, ...] = ()
    """Read where handles lead."""
    reads_neighbours: tuple[str, ...] = ()
    """Read of neighbours."""
    sends: tuple[str, ...] = ()
    """Changed by messages."""
    referenced_components: tuple[str, ...] = ()
    """The components that its handles lead to; nothing for that of all who are alive."""
    draws: bool = False
    """Whether random numbers are drawn, beside those that tell whose turn it is."""
    spawns: tuple[str, ...] = ()
    """The components of which rows are born."""
    destroys: bool = False
    """Whether entities, or rows of nobody, die."""

    @property
    def fields(self) -> tuple[str, ...]:
        """All of them."""
        return (
            *self.reads,
            *self.writes,
            *self.reads_referenced,
            *self.reads_neighbours,
            *self.sends,
        )


@dataclass(frozen=True, slots=True)
class Program:
    """A whole kernel, and its effects."""

    arguments: tuple[Argument, ...] = ()
    where: Expression | None = None
    steps: tuple[Step, ...] = ()
    effects: Effects = Effects()
    root_defaults: tuple[tuple[str, tuple[bool | Number, ...]], ...] = ()
    """What roots read as fields of their parent: the elements of each, in C order."""

    identity: FieldValue | None = None
    """A column that every row has, if it sends messages: of the owners, or of ids."""
    may_be_dead: bool = False
    """Whether rows may belong to dead entities, from whom no one hears."""
    stream_field: FieldValue | None = None
    """What tells its rows apart, if it draws random numbers: a field, or a column of managers."""
    takes_turns: bool = False
    """Whether each row acts on what those before it have left."""
    neighbourhoods: tuple[Neighbourhood, ...] = ()
    """Its neighbourhoods, if it asks any."""
    tracked_occupants: frozenset[str] = frozenset()
    """The components of whom it matters in turns where they stand meanwhile."""
    uses_grids: bool = False
    """Whether it has to do with cells, or with what blocks of rows do not know."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it computes for a row: the condition, then what each step does."""
        return expressions_of(self.where, self.steps)

    @property
    def nodes(self) -> Iterator[Expression]:
        """These and everything in them."""
        return walk(*self.expressions)

    @property
    def is_order_dependent(self) -> bool:
        """Whether the order in which rows run counts, beside that of the rows themselves."""
        return bool(
            self.effects.sends or self.takes_turns or self.neighbourhoods or self.has_commands
        )

    @property
    def is_sequential(self) -> bool:
        """Whether one row after the other runs: it takes turns, has to do with cells, asks in
        several neighbourhoods, or in one while somebody dies or is born."""
        is_around = bool(self.neighbourhoods) and (
            self.single_neighbourhood is None or self.has_commands
        )
        return self.takes_turns or is_around or self.uses_grids

    @property
    def uses_tick(self) -> bool:
        """Whether it asks for the time."""
        return any(isinstance(node, Tick) for node in self.nodes)

    @property
    def is_untestable(self) -> bool:
        """Whether generated tests, which know no grids, births, deaths and time, and ask all
        neighbours, say nothing of it."""
        questions = (node for node in self.nodes if isinstance(node, NeighbourAggregate))
        is_choosy = any(one.is_random or one.where is not None for one in questions)
        is_unknown = self.uses_grids or self.has_commands or len(self.neighbourhoods) > 1
        is_unknown = is_unknown or any(isinstance(node, RandomChoice) for node in self.nodes)
        return is_unknown or is_choosy or self.uses_tick

    @property
    def empty_cell_components(self) -> frozenset[str]:
        """The components of which it chooses empty cells."""
        chosen = (node for node in self.nodes if isinstance(node, RandomChoice))
        return frozenset(one.component for one in chosen if one.candidates == "empty")

    @property
    def has_commands(self) -> bool:
        """Whether rows are born or die."""
        return bool(self.effects.spawns or self.effects.destroys)

    @property
    def mortal_rows(self) -> tuple[str, ...]:
        """The components of which rows may die, and not entities."""
        deaths = [step.target for step in self.steps if isinstance(step.target, Despawn)]
        return tuple(dict.fromkeys(death.component for death in deaths if death.component))

    @property
    def single_neighbourhood(self) -> Neighbourhood | None:
        """Its only neighbourhood, in a continuous space."""
        (only,) = self.neighbourhoods if len(self.neighbourhoods) == 1 else (None,)
        return None if only is None or only.on is not None else only

    def neighbourhood(self, name: str) -> Neighbourhood:
        """The one of that name."""
        return next(one for one in self.neighbourhoods if one.name == name)

    @property
    def runs_by_level(self) -> bool:
        """Whether it reads parents, and so runs level by level."""
        return bool(self.root_defaults)


def expressions_of(where: Expression | None, steps: tuple[Step, ...]) -> tuple[Expression, ...]:
    """All that is computed for a row, in order."""
    parts = tuple(part for step in steps for part in step.expressions)
    return parts if where is None else (where, *parts)


def effects_of(
    where: Expression | None, steps: tuple[Step, ...], key: FieldValue | None = None
) -> Effects:
    """What a condition and steps do; `key`: a field that tells rows apart."""
    found: dict[str, dict[str, None]] = {
        name: {}
        for name in (
            "reads",
            "writes",
            "reads_referenced",
            "reads_neighbours",
            "sends",
            "referenced_components",
            "spawns",
        )
    }
    draws = False
    for node in walk(*expressions_of(where, steps)):
        match node:
            case FieldValue():
                found["reads"][node.text] = None
            case NeighbourField(name=name) if name not in (ID_SLOT, CELL_ID):
                found["reads_neighbours"][node.text] = None
            case ReferencedField():
                found["reads_referenced"][node.text] = found["referenced_components"][
                    node.component
                ] = None
            case Exists() | Occupied() | RandomChoice():
                found["referenced_components"][node.component] = None
                draws = draws or isinstance(node, RandomChoice)
            case NeighbourAggregate():
                draws = draws or node.is_random
            case Draw():
                draws = True
    for target in (step.target for step in steps):
        if isinstance(target, FieldValue):
            found["writes"][target.text] = None
        elif isinstance(target, ReferencedField):
            found["sends"][target.text] = found["referenced_components"][target.component] = None
        elif isinstance(target, Spawn):
            found["spawns"] |= dict.fromkeys(one.component for one in target.instances)
    if key is not None:
        found["reads"][key.text] = None
    destroys = any(isinstance(step.target, Despawn) for step in steps)
    effects = {name: tuple(each) for name, each in found.items()}
    return Effects(**effects, draws=draws, destroys=destroys)


@dataclass(frozen=True, slots=True)
class ReductionProgram:
    """A whole reduction: the value of one row, and of which rows."""

    value: Expression = Constant(BOOL, True)
    where: Expression | None = None
    reads: tuple[str, ...] = ()


_PARTS: Final[dict[type[Expression], tuple[str, ...]]] = {
    Operation: ("operands",),
    Draw: ("operands",),
    Cast: ("operand",),
    Element: ("base",),
    ReferencedField: ("handle",),
    Exists: ("handle",),
    Coordinates: ("handle",),
    CellAt: ("place",),
    NeighbourAggregate: ("value", "keys", "where"),
}
"""The attributes that hold expressions, or None, or several."""


def child_expressions(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    held = [getattr(expression, name) for name in _PARTS.get(type(expression), ())]
    flat = (part for each in held for part in (each if isinstance(each, tuple) else (each,)))
    return tuple(part for part in flat if part is not None)


def map_children(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression made of what `change` makes of its parts."""
    made: dict[str, Any] = {}
    for name in _PARTS.get(type(node), ()):
        held = getattr(node, name)
        made[name] = tuple(map(change, held)) if isinstance(held, tuple) else held and change(held)
    return replace(node, **made) if made else node


def transform(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression in which each node is what `change` makes of it, the inner ones first."""
    return change(map_children(node, lambda part: transform(part, change)))


def walk(*expressions: Expression) -> Iterator[Expression]:
    """Expressions and everything in them, from the outside to the inside, left to right."""
    for expression in expressions:
        yield expression
        yield from walk(*child_expressions(expression))


def fields_in(*expressions: Expression | None) -> tuple[FieldValue, ...]:
    """The fields that expressions read, each once, in order."""
    nodes = walk(*(one for one in expressions if one is not None))
    return tuple(dict.fromkeys(node for node in nodes if isinstance(node, FieldValue)))


NO_PROGRAM: Final = Program()
EMPTY_REDUCTION: Final = ReductionProgram()
"""Of what is not compiled yet."""
