"""The typed tree of a kernel: every node has a type, every conversion is a node.

The value of a node is rounded to its own type. An operand without a shape is broadcast over the
elements of an operand with a shape; all other shapes are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self, TypeGuard, TypeVar

from ecsgen.model.types import BOOL, Number, Type

ENTITY, ID_SLOT, CELL_ID = "entity", "id_slot", "cell_id"
"""Columns of managers that identify rows."""

SETTINGS: Final = "settings"
"""The settings where they stand beside components: in kernels, snapshots, history."""

OWN, PARENT = "", "parent"
"""Owners of fields that are not those of a component that a world kernel names."""

OTHER: Final = "other"
"""The name of neighbours in a neighbourhood without a name."""

HANDLE: Final = Type("u64", (), "entity")
"""The type of entities."""


def id_type(component: str) -> Type:
    """Return the type of ids of a component's rows."""
    return Type("u64", (), f"id<{component}>")


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of the tree, with the type of its value."""

    PARTS: ClassVar[tuple[str, ...]] = ()
    """The attributes with an expression, None, or several expressions."""
    type: Type


@dataclass(frozen=True, slots=True)
class OwnedField(Expression):
    """A field of this row, or of another one."""

    name: str
    owner: str = OWN

    @property
    def text(self) -> str:
        """The text in a schema."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A literal as written, without a shape; printers round it to the type."""

    value: bool | Number


@dataclass(frozen=True, slots=True)
class Argument(Expression):
    """An argument of the kernel: the same for every row, or with a value for each."""

    name: str
    each: bool = False


@dataclass(frozen=True, slots=True)
class ReducedValue(Argument):
    """The value that a component's reduction has when the kernel is called, which nobody gives.

    Its name is as written, without the brackets: `Person.ill`.
    """

    reads: tuple[str, ...] = ()
    """The fields that the reduction reads, with their components."""


@dataclass(frozen=True, slots=True)
class SettingValue(Argument):
    """The value that a setting has when the kernel is called, which nobody gives.

    Its name is as written: `settings.dt`.
    """

    @property
    def as_field(self) -> ReferencedField:
        """The field of the settings' one row, which messages change."""
        return ReferencedField(self.type, SETTINGS, self.setting, Constant(HANDLE, 0), ())

    @property
    def setting(self) -> str:
        """The name of the setting alone."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class FieldValue(OwnedField):
    """A field of this row, of the parent's row, or of the row of another component."""


@dataclass(frozen=True, slots=True)
class Local(Expression):
    """A local that a step before has set."""

    name: str


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """An element of a shape, or the rest of the shape behind a few indices."""

    PARTS = ("base",)
    base: Expression
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Item(Expression):
    """An element of a shape, at one i64 per axis: 0, false or null outside of the shape."""

    PARTS = ("base", "indices")
    base: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A conversion to another scalar type.

    Integers wrap, floats round to nearest, finite ones may become infinite. A float to an integer
    is cut towards zero; out of range it is the end of the range, and NaN is 0. Anything but zero
    is true.
    """

    PARTS = ("operand",)
    operand: Expression


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """An operation of the table in `operations`, with operands of the types of its rule."""

    PARTS = ("operands",)
    name: str
    operands: tuple[Expression, ...]


Distribution = Literal["random", "normal", "range", "exponential", "poisson", "bernoulli"]


@dataclass(frozen=True, slots=True)
class Draw(Expression):
    """Random numbers of this row, one for each element, in C order."""

    PARTS = ("operands",)
    distribution: Distribution
    """In [0, 1); of mean 0 and deviation 1; integers from 0 to below the operand; the others have
    the operand as their mean."""
    number: int
    """The index of the first element among the row's numbers; while a text is typed, its offset."""
    operands: tuple[Expression, ...] = ()  # of a range: an i64 from 0 to 2^32 - 1; of means: f64


@dataclass(frozen=True, slots=True)
class ReferencedField(Expression):
    """A field of another row, as before the kernel: of an entity's row in a component (with `many`
    the first), or of the row with an id."""

    PARTS = ("handle",)
    component: str
    name: str
    handle: Expression
    default: tuple[bool | Number, ...]
    """The value for a handle without a row: elements in C order."""

    @property
    def text(self) -> str:
        """The field with its component."""
        return f"{self.component}.{self.name}"


@dataclass(frozen=True, slots=True)
class Exists(Expression):
    """True if a handle has a row of a component; without a component, if an entity is alive."""

    PARTS = ("handle",)
    component: str
    handle: Expression


@dataclass(frozen=True, slots=True)
class RandomChoice(Expression):
    """The entity or id of a random row of a component, or of a random cell on which none of its
    rows stands; 0 if there is none."""

    candidates: Literal["any", "empty"]
    component: str
    number: int
    """The index among the row's random numbers; while a text is typed, its offset."""


@dataclass(frozen=True, slots=True)
class Coordinates(Expression):
    """The coordinates of a cell, -1 along each axis for a handle without a cell."""

    PARTS = ("handle",)
    grid: str
    handle: Expression


@dataclass(frozen=True, slots=True)
class CellAt(Expression):
    """The cell at coordinates, wrapped along wrapping axes; 0 outside of the other axes."""

    PARTS = ("coordinates",)
    grid: str
    coordinates: Expression


@dataclass(frozen=True, slots=True)
class Full(Expression):
    """True if a cell has no room for one more row of a component, or a handle is of no cell: in
    turns now, else before the kernel."""

    PARTS = ("handle",)
    component: str
    handle: Expression


@dataclass(frozen=True, slots=True)
class Tick(Expression):
    """The world's time."""


@dataclass(frozen=True, slots=True)
class NeighbourField(OwnedField):
    """A field of a neighbour, as before the kernel."""

    near: str = OTHER
    is_link: bool = False
    """True for a field of the row that links the neighbour."""


@dataclass(frozen=True, slots=True)
class Offset(Expression):
    """A neighbour's position minus the row's, wrapped; both as before the kernel."""

    near: str = OTHER


@dataclass(frozen=True, slots=True)
class Distance(Expression):
    """`sqrt(dot(offset, offset))`."""

    near: str = OTHER


@dataclass(frozen=True, slots=True)
class NeighbourRow(Expression):
    """The row of the neighbour that a loop has come to, as a handle: it leads nowhere else."""

    near: str
    owner: str


@dataclass(frozen=True, slots=True)
class Occupied(Expression):
    """True if a row of a component stands on a neighbour, which is a cell."""

    component: str
    near: str = OTHER


AggregateFunction = Literal[
    "count", "sum", "mean", "min", "max", "nearest", "mode", "choice", "min_by", "max_by"
]


@dataclass(frozen=True, slots=True)
class NeighbourAggregate(Expression):
    """An aggregate over the neighbours of the row, in their order.

    Sums of floats are in f64, of integers in 64 bits. Without neighbours: 0, but NaN for `mean`,
    and for `min` and `max` of floats.
    """

    PARTS = ("value", "keys", "where", "weight", "none")
    function: AggregateFunction
    value: Expression | None = None  # None: of all neighbours
    near: str = OTHER
    where: Expression | None = None
    """The condition on neighbours."""
    keys: tuple[Expression, ...] = ()
    """Keys of `min_by` and `max_by`, compared in order."""
    number: int = -1
    """The index of the random number that decides among equals; -1 without one."""
    weight: Expression | None = None
    """Of `choice`: an f64 to which each neighbour's chance is proportional."""
    none: Expression | None = None
    """The row's value without neighbours, of the type's scalar, and of its shape or none."""

    @property
    def is_random(self) -> bool:
        """True if a random number decides."""
        return self.function in ("choice", "min_by", "max_by")


@dataclass(frozen=True, slots=True)
class GridNeighbourhood:
    """A neighbourhood on a grid: the cells in reach, and the neighbours there."""

    grid: str
    """The component whose rows are the cells."""
    axes: int
    hood: str
    center: bool
    """True if a cell is in reach of itself."""
    occupant: str
    """The component whose rows on the cells are the neighbours; empty: the cells are."""
    owner: str = OWN
    """The name of the occupant in the kernel."""


@dataclass(frozen=True, slots=True)
class Via:
    """A network whose links lead to neighbours."""

    component: str
    """The component whose rows are the links."""
    back: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The neighbours of a kernel's rows."""

    radius: Argument | FieldValue | float | None
    """None: all rows are neighbours, or those at the other ends of links."""
    position: FieldValue
    """The field with positions, or with cells; for rows that are cells their ids. Of all rows,
    without a space in common, the neighbours' entity."""
    among: str = ""
    """The source of the neighbours: a group, a query or a component; empty: the kernel's own."""
    name: str = OTHER
    on: GridNeighbourhood | None = None
    """None in a continuous space, and without a radius."""
    has_itself: bool = False
    """True if the row itself and others of its entity are among them: candidates of a choice."""
    via: Via | None = None
    """The network whose links lead to the neighbours."""

    @property
    def is_in_space(self) -> bool:
        """True if the neighbours are those within one radius of all rows, in a continuous space."""
        return self.on is None and isinstance(self.radius, Argument | float | int)

    @property
    def is_of_all_rows(self) -> bool:
        """True if each row looks at all rows of others: without a radius, or with one of its own in
        a continuous space."""
        return self.on is None and self.via is None and not self.is_in_space

    @property
    def makes_pairs(self) -> bool:
        """True if numpy can look at all pairs of rows and neighbours at once."""
        return self.is_in_space or self.via is not None


@dataclass(frozen=True, slots=True)
class Despawn:
    """A despawn of the row's entity or unowned row, or of another one."""

    handle: Expression | None = None
    component: str = ""
    """The component of an id."""
    type: Type = BOOL
    """The type of the condition."""


@dataclass(frozen=True, slots=True)
class SpawnedInstance:
    """An instance of a new entity, or an unowned row; fields without a value have their default."""

    component: str
    values: tuple[tuple[str, Expression], ...]

    def with_values(self, change: Callable[[Expression], Expression]) -> SpawnedInstance:
        """Return the instance with its values mapped by `change`."""
        values = tuple((name, change(value)) for name, value in self.values)
        return SpawnedInstance(self.component, values)


SpawnKind = Literal["spawn", "add", "replace", "remove"]


@dataclass(frozen=True, slots=True)
class Spawn:
    """A new entity with instances, or an unowned row; or a component that an entity gets or loses.

    "add" leaves an instance that the entity has as it is, "replace" sets all its fields.
    """

    instances: tuple[SpawnedInstance, ...]
    kind: SpawnKind = "spawn"
    handle: Expression | None = None
    """The entity that gets or loses the component."""
    to: Local | None = None
    """The local that gets the handle of who will come, null if nobody does."""
    bundle: str = ""
    """The bundle whose values fields have that get none here."""
    type: Type = BOOL
    """The type of the condition."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The entity, and the values of the instances."""
        values = tuple(value for instance in self.instances for _, value in instance.values)
        return values if self.handle is None else (self.handle, *values)


@dataclass(frozen=True, slots=True)
class Step:
    """One assignment, message to another row, despawn or spawn.

    `value` has the target's scalar type, and its shape or none; of commands it is the condition.
    """

    target: FieldValue | Local | ReferencedField | Despawn | Spawn
    value: Expression
    index: tuple[int, ...] = ()  # of the element of a field
    text: str = ""  # as the schema has it
    message_operator: str = ""  # the operation of a message with the value in the field
    items: tuple[Expression, ...] = ()
    """Of an element at indices that are computed: one per axis, as in `Item`."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of a step: the handle of a message or command, and the values."""
        match self.target:
            case ReferencedField(handle=handle) | Despawn(handle=handle) if handle is not None:
                return handle, *self.items, self.value
            case Spawn():
                return (*self.target.expressions, self.value)
        return (*self.items, self.value)

    def with_expressions(self, change: Callable[[Expression], Expression]) -> Step:
        """Return the step with its expressions mapped by `change`."""
        target = self.target
        match target:
            case ReferencedField(handle=handle) | Despawn(handle=handle) if handle is not None:
                target = replace(target, handle=change(handle))
            case Spawn(handle=handle):
                instances = tuple(each.with_values(change) for each in target.instances)
                target = replace(target, instances=instances, handle=handle and change(handle))
        items = tuple(map(change, self.items))
        return replace(self, target=target, value=change(self.value), items=items)

    @property
    def changes_part(self) -> bool:
        """True if an element of the target is changed, not all of it."""
        return bool(self.index or self.items)


class Nested:
    """Something that holds blocks of its own kind: of steps, or of statements."""

    BLOCKS: ClassVar[tuple[str, ...]] = ("body",)
    """The attributes with blocks."""

    @property
    def blocks(self) -> tuple[tuple[Any, ...], ...]:
        """The blocks, as written."""
        return tuple(getattr(self, name) for name in self.BLOCKS)


Node = TypeVar("Node")


def walk_nested(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield steps, or statements, and those in their blocks, as written."""
    for node in nodes:
        yield node
        if isinstance(node, Nested):
            for block in node.blocks:
                yield from walk_nested(block)


@dataclass(frozen=True)
class Compound(Nested):
    """Steps that hold blocks of steps."""

    EXPRESSIONS: ClassVar[tuple[str, ...]] = ()
    """The attributes with an expression, in the order in which they are written."""
    text: str  # the line as the schema has it

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions in front of the blocks."""
        return tuple(getattr(self, name) for name in self.EXPRESSIONS)

    def with_expressions(self, change: Callable[[Expression], Expression]) -> Self:
        """Return the steps with their expressions mapped by `change`."""
        parts: dict[str, Any] = {name: change(getattr(self, name)) for name in self.EXPRESSIONS}
        for name in self.BLOCKS:
            parts[name] = tuple(step.with_expressions(change) for step in getattr(self, name))
        return replace(self, **parts)


@dataclass(frozen=True)
class Branch(Compound):
    """`if`: steps of which one side happens; `elif` is a branch on the other side."""

    EXPRESSIONS = ("test",)
    BLOCKS = ("body", "otherwise")
    test: Expression
    body: tuple[AnyStep, ...]
    otherwise: tuple[AnyStep, ...] = ()


@dataclass(frozen=True)
class RangeLoop(Compound):
    """`for i in range(start, stop)`: steps that happen for one number after the other."""

    EXPRESSIONS = ("start", "stop")
    counter: Local
    start: Expression
    stop: Expression
    body: tuple[AnyStep, ...]


@dataclass(frozen=True)
class NeighbourLoop(Compound):
    """`for other in near`: steps that happen for one neighbour after the other."""

    EXPRESSIONS = ("whom",)
    near: str
    whom: Expression
    """The value that tells the neighbour apart, for random numbers."""
    body: tuple[AnyStep, ...]


@dataclass(frozen=True)
class WhileLoop(Compound):
    """`while`: steps that happen as long as a condition holds, `at_most` so many times."""

    EXPRESSIONS = ("test",)
    test: Expression
    at_most: int
    body: tuple[AnyStep, ...]


JumpKind = Literal["return", "break", "continue"]


@dataclass(frozen=True, slots=True)
class Jump:
    """The end of the row's steps, of a loop, or of a pass of a loop."""

    kind: JumpKind

    def with_expressions(self, change: Callable[[Expression], Expression]) -> Self:
        """Return the jump: it has no expression."""
        return self


AnyStep = Step | Compound | Jump
"""A step as it is written."""


def actions_of(steps: Iterable[AnyStep]) -> tuple[Step, ...]:
    """Return all assignments, messages and commands, those in blocks as well, as written."""
    return tuple(step for step in walk_nested(steps) if isinstance(step, Step))


def draws_numbers(node: Expression) -> TypeGuard[Draw | RandomChoice | NeighbourAggregate]:
    """Return True if the node itself takes random numbers."""
    return isinstance(node, Draw | RandomChoice) or (
        isinstance(node, NeighbourAggregate) and node.is_random
    )


def child_expressions(expression: Expression) -> tuple[Expression, ...]:
    """Return the children of an expression."""
    held = [getattr(expression, name) for name in expression.PARTS]
    flat = (part for each in held for part in (each if isinstance(each, tuple) else (each,)))
    return tuple(part for part in flat if part is not None)


def map_children(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with its children mapped by `change`."""
    parts: dict[str, Any] = {name: getattr(node, name) for name in node.PARTS}
    for name, part in parts.items():
        parts[name] = tuple(map(change, part)) if isinstance(part, tuple) else part and change(part)
    return replace(node, **parts) if parts else node


def transform(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with all nodes mapped by `change`, inner ones first."""
    return change(map_children(node, lambda part: transform(part, change)))


def with_fields(expression: Expression, change: Callable[[FieldValue], Expression]) -> Expression:
    """Return an expression with the fields that it reads mapped by `change`."""
    return transform(
        expression, lambda node: change(node) if isinstance(node, FieldValue) else node
    )


def walk(*expressions: Expression) -> Iterator[Expression]:
    """Yield expressions and all nodes in them, parents first, left to right."""
    for expression in expressions:
        yield expression
        yield from walk(*child_expressions(expression))


def fields_in(*expressions: Expression | None) -> tuple[FieldValue, ...]:
    """Return the fields that expressions read, each once, in order."""
    return nodes_in(FieldValue, *expressions)


def nodes_in(kind: type[Node], *expressions: Expression | None) -> tuple[Node, ...]:
    """Return the nodes of a kind in expressions, each once, in order."""
    nodes = walk(*(expression for expression in expressions if expression is not None))
    return tuple(dict.fromkeys(node for node in nodes if isinstance(node, kind)))


TRUE: Final = Constant(BOOL, True)
