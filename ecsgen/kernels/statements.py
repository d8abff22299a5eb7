"""What happens to one row, statement by statement: what the checks make of a kernel's texts, and
what both printers print.

Expressions are pure here: of `ecsgen.model.typed_tree` without `Referred`, `Exists`, `Question` and
`Chosen`.
What needs statements of its own is one, where it happens. What a statement makes is a `Local` whose
name begins with an underscore; it is read exactly once, so its memory may be written over.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Number, Type


@dataclass(frozen=True, slots=True)
class RowVariable:
    """A variable for a row of another component, or, without one, for whether someone is alive."""

    number: int
    component: str


@dataclass(frozen=True, slots=True)
class FieldOfRow:
    """A field of a row that was found, or an element of it."""

    row: RowVariable
    name: str
    type: Type
    """Of the field."""
    index: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The field with its component."""
        return f"{self.row.component}.{self.name}"


class Statement:
    """What happens, in its place among others."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Comment(Statement):
    """Begin a step: its text."""

    text: str


@dataclass(frozen=True, slots=True)
class FindRow(Statement):
    """Let a row be the one that a handle leads to, or none."""

    row: RowVariable
    handle: tree.Expression


@dataclass(frozen=True, slots=True)
class RowExists(Statement):
    """Whether a row is there."""

    to: tree.Local
    row: RowVariable


@dataclass(frozen=True, slots=True)
class ReadField(Statement):
    """What a found row has in a field; of none the default."""

    to: tree.Local
    place: FieldOfRow
    default: tuple[bool | Number, ...]
    from_copy: bool
    """As it was before the kernel, which writes the field: from a copy."""


@dataclass(frozen=True, slots=True)
class ListNeighbours(Statement):
    """Find out who is in reach; in turns again after somebody moved."""

    near: str
    """The neighbourhood."""


@dataclass(frozen=True, slots=True)
class AggregateNeighbours(Statement):
    """Ask those in the list."""

    to: tree.Local
    question: tree.NeighbourAggregate
    """Its parts are pure."""


@dataclass(frozen=True, slots=True)
class ChooseRandom(Statement):
    """Choose among all rows of a component, or all cells on which none of them stands."""

    to: tree.Local
    chosen: tree.RandomChoice


@dataclass(frozen=True, slots=True)
class SetLocal(Statement):
    """Give a local a value: its first one, or another."""

    to: tree.Local
    value: tree.Expression
    is_new: bool


@dataclass(frozen=True, slots=True)
class WriteField(Statement):
    """Write to a field of the row, or to an element of it."""

    to: tree.FieldValue
    index: tuple[int, ...]
    value: tree.Expression

    @property
    def type(self) -> Type:
        """Of what is written to."""
        return self.to.type.of_shape(self.to.type.shape[len(self.index) :])


@dataclass(frozen=True, slots=True)
class CheckAlive(Statement):
    """Find out whether the row's own entity is alive: from others no one hears what follows."""

    identity: tree.FieldValue


@dataclass(frozen=True, slots=True)
class SendMessage(Statement):
    """Do something with what a found row has: in turns at once, otherwise after the last row."""

    to: FieldOfRow
    operator: str
    """The operation, or `=`."""
    value: tree.Expression
    is_deferred: bool
    """Whether somebody would notice if it arrived at once."""
    number: int
    """Which of the statements that send to the field, and of how many."""
    count: int
    moves: bool = False
    """It is a place of neighbours now: whoever got it is elsewhere."""

    @property
    def type(self) -> Type:
        """Of what is sent."""
        return self.to.type.of_shape(self.to.type.shape[len(self.to.index) :])


@dataclass(frozen=True, slots=True)
class UpdatePosition(Statement):
    """The row's own place among neighbours of now is another."""

    place: tree.FieldValue


@dataclass(frozen=True, slots=True)
class MoveToCell(Statement):
    """Let a row stand on another cell, if it may: the row itself, or one that was found."""

    to: tree.FieldValue
    """The field that says where it stands."""
    row: RowVariable | None
    value: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueDespawnSelf(Statement):
    """Let the row's own entity die, or its row if that is nobody's: none of its steps follows."""

    test: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueDespawn(Statement):
    """Let another one die, if there is such."""

    row: RowVariable
    handle: tree.Expression
    test: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueSpawn(Statement):
    """Let somebody be born, when all rows have had their steps."""

    number: int
    """Which of the statements that do."""
    instances: tuple[tree.SpawnedInstance, ...]
    test: tree.Expression


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A kernel for one row."""

    program: tree.Program
    """What it is of: arguments, effects, neighbours, what tells rows apart."""
    head: tuple[Statement, ...]
    """What the condition needs, which is found before the first step."""
    where: tree.Expression | None
    body: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of them."""
        return (*self.head, *self.body)

    @property
    def spawns(self) -> tuple[QueueSpawn, ...]:
        """Those by which somebody is born."""
        return tuple(one for one in self.body if isinstance(one, QueueSpawn))
