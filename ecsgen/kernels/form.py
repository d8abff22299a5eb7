"""What happens to one row, statement by statement: what the checks make of a kernel's texts, and
what both printers print.

Expressions are pure here: of `ecsgen.model.programs` without `Referred`, `Exists`, `Question` and
`Chosen`.
What needs statements of its own is one, where it happens. What a statement makes is a `Local` whose
name begins with an underscore; it is read exactly once, so its memory may be written over.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import programs as tree
from ecsgen.model.types import Number, Type


@dataclass(frozen=True, slots=True)
class Row:
    """A variable for a row of another component, or, without one, for whether someone is alive."""

    number: int
    component: str


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a row that was found, or an element of it."""

    row: Row
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
class Say(Statement):
    """Begin a step: its text."""

    text: str


@dataclass(frozen=True, slots=True)
class Find(Statement):
    """Let a row be the one that a handle leads to, or none."""

    row: Row
    handle: tree.Expression


@dataclass(frozen=True, slots=True)
class There(Statement):
    """Whether a row is there."""

    to: tree.Local
    row: Row


@dataclass(frozen=True, slots=True)
class Fetch(Statement):
    """What a found row has in a field; of none the default."""

    to: tree.Local
    place: Place
    default: tuple[bool | Number, ...]
    before: bool
    """As it was before the kernel, which writes the field: from a copy."""


@dataclass(frozen=True, slots=True)
class List(Statement):
    """Find out who is in reach; in turns again after somebody moved."""

    near: str
    """The neighbourhood."""


@dataclass(frozen=True, slots=True)
class Ask(Statement):
    """Ask those in the list."""

    to: tree.Local
    question: tree.Question
    """Its parts are pure."""


@dataclass(frozen=True, slots=True)
class Pick(Statement):
    """Choose among all rows of a component, or all cells on which none of them stands."""

    to: tree.Local
    chosen: tree.Chosen


@dataclass(frozen=True, slots=True)
class Set(Statement):
    """Give a local a value: its first one, or another."""

    to: tree.Local
    value: tree.Expression
    is_new: bool


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """Write to a field of the row, or to an element of it."""

    to: tree.FieldValue
    index: tuple[int, ...]
    value: tree.Expression

    @property
    def type(self) -> Type:
        """Of what is written to."""
        return self.to.type.of_shape(self.to.type.shape[len(self.index) :])


@dataclass(frozen=True, slots=True)
class Hear(Statement):
    """Find out whether the row's own entity is alive: from others no one hears what follows."""

    bearer: tree.FieldValue


@dataclass(frozen=True, slots=True)
class Send(Statement):
    """Do something with what a found row has: in turns at once, otherwise after the last row."""

    to: Place
    how: str
    """The operation, or `=`."""
    value: tree.Expression
    held: bool
    """Whether somebody would notice if it arrived at once."""
    number: int
    """Which of the statements that send to the field, and of how many."""
    of: int
    moves: bool = False
    """It is a place of neighbours now: whoever got it is elsewhere."""

    @property
    def type(self) -> Type:
        """Of what is sent."""
        return self.to.type.of_shape(self.to.type.shape[len(self.to.index) :])


@dataclass(frozen=True, slots=True)
class Moved(Statement):
    """The row's own place among neighbours of now is another."""

    place: tree.FieldValue


@dataclass(frozen=True, slots=True)
class Go(Statement):
    """Let a row stand on another cell, if it may: the row itself, or one that was found."""

    to: tree.FieldValue
    """The field that says where it stands."""
    row: Row | None
    value: tree.Expression


@dataclass(frozen=True, slots=True)
class Die(Statement):
    """Let the row's own entity die, or its row if that is nobody's: none of its steps follows."""

    test: tree.Expression


@dataclass(frozen=True, slots=True)
class Kill(Statement):
    """Let another one die, if there is such."""

    row: Row
    handle: tree.Expression
    test: tree.Expression


@dataclass(frozen=True, slots=True)
class Bear(Statement):
    """Let somebody be born, when all rows have had their steps."""

    number: int
    """Which of the statements that do."""
    newborn: tuple[tree.Newborn, ...]
    test: tree.Expression


@dataclass(frozen=True, slots=True)
class Form:
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
    def births(self) -> tuple[Bear, ...]:
        """Those by which somebody is born."""
        return tuple(one for one in self.body if isinstance(one, Bear))
