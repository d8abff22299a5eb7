"""The statements of a kernel for one row, which both printers print.

Expressions are pure: those of `ecsgen.model.typed_tree` without `ReferencedField`, `Exists`,
`NeighbourAggregate` and `RandomChoice`, which are statements of their own. A statement's result is
a `Local` whose name begins with an underscore; it is read once, so its memory may be reused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecsgen.model import Component
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import Number, Type


@dataclass(frozen=True, slots=True)
class RowVariable:
    """A variable for a row of another component; without one, for whether an entity is alive."""

    number: int
    component: str


@dataclass(frozen=True, slots=True)
class FieldOfRow:
    """A field of a row that was looked up, or an element of the field."""

    row: RowVariable
    name: str
    type: Type
    """The type of the field."""
    index: tuple[int, ...] = ()
    items: tuple[tree.Expression, ...] = ()
    """The indices of an element, if they are computed."""

    @property
    def text(self) -> str:
        """The field with its component."""
        return f"{self.row.component}.{self.name}"


class Statement:
    """One statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Comment(Statement):
    """The text of the step that begins here."""

    text: str


@dataclass(frozen=True, slots=True)
class FindRow(Statement):
    """Look up the row of a handle, or none."""

    row: RowVariable
    handle: tree.Expression


@dataclass(frozen=True, slots=True)
class RowExists(Statement):
    """Test if a row exists."""

    to: tree.Local
    row: RowVariable


@dataclass(frozen=True, slots=True)
class ReadField(Statement):
    """Read a field of a row that was looked up; the default without one."""

    to: tree.Local
    field: FieldOfRow
    default: tuple[bool | Number, ...]
    from_copy: bool
    """True if the kernel writes the field: it is read as before the kernel, from a copy."""


@dataclass(frozen=True, slots=True)
class ListNeighbours(Statement):
    """List the rows in reach; during turns again after rows moved."""

    near: str
    """The name of the neighbourhood."""


@dataclass(frozen=True, slots=True)
class AggregateNeighbours(Statement):
    """Aggregate over the listed rows."""

    to: tree.Local
    aggregate: tree.NeighbourAggregate
    """The aggregate, with pure children."""


@dataclass(frozen=True, slots=True)
class ChooseRandom(Statement):
    """Choose among all rows of a component, or all cells on which none of its rows stands."""

    to: tree.Local
    chosen: tree.RandomChoice


@dataclass(frozen=True, slots=True)
class SetLocal(Statement):
    """Give a local, or an element of one, a value: its first one, or another."""

    to: tree.Local
    value: tree.Expression
    is_new: bool
    index: tuple[int, ...] = ()
    items: tuple[tree.Expression, ...] = ()

    @property
    def type(self) -> Type:
        """The type of the written element."""
        return self.to.type.of_shape(self.to.type.shape[len(self.index) or len(self.items) :])


@dataclass(frozen=True, slots=True)
class WriteField(Statement):
    """Write to a field of the row, or to an element of it."""

    to: tree.FieldValue
    index: tuple[int, ...]
    value: tree.Expression
    items: tuple[tree.Expression, ...] = ()

    @property
    def type(self) -> Type:
        """The type of the written element."""
        return self.to.type.of_shape(self.to.type.shape[len(self.index) or len(self.items) :])


@dataclass(frozen=True, slots=True)
class CheckAlive(Statement):
    """Check that the row's entity is alive; messages of dead entities are dropped."""

    identity: tree.FieldValue


@dataclass(frozen=True, slots=True)
class SendMessage(Statement):
    """Change a field of a row that was looked up: during turns at once, else after the last row."""

    to: FieldOfRow
    operator: str
    """The operation, or `=`."""
    value: tree.Expression
    is_deferred: bool
    """True if the result would be another one if the message arrived at once."""
    number: int
    """The index of the statement among the `count` that send to the field."""
    count: int
    moves: bool = False
    """True if the field has the position by which neighbours are found: the row moves."""

    @property
    def type(self) -> Type:
        """The type of the changed element."""
        shape = self.to.type.shape
        return self.to.type.of_shape(shape[len(self.to.index) or len(self.to.items) :])


@dataclass(frozen=True, slots=True)
class UpdatePosition(Statement):
    """Update the row's own position in the index of neighbours."""

    position: tree.FieldValue


@dataclass(frozen=True, slots=True)
class MoveToCell(Statement):
    """Move a row to a cell, if the cell has room: the row itself, or one that was looked up."""

    to: tree.FieldValue
    """The cell reference."""
    row: RowVariable | None
    value: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueDespawnSelf(Statement):
    """Queue the despawn of the row's entity, or of an unowned row; its later steps are skipped."""

    test: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueDespawn(Statement):
    """Queue the despawn of another row or entity, if it exists."""

    row: RowVariable
    handle: tree.Expression
    test: tree.Expression


@dataclass(frozen=True, slots=True)
class QueueSpawn(Statement):
    """Queue a spawn, or a component that an entity gets or loses, applied after the last row."""

    number: int
    """The index of the statement among the spawns."""
    instances: tuple[tree.SpawnedInstance, ...]
    test: tree.Expression
    kind: tree.SpawnKind
    handle: tree.Expression | None
    to: tree.Local | None
    """The local that gets the handle of who will come."""
    bundle: str
    """The bundle that has values for fields without one; "" for none."""

    def homes(self, components: Mapping[str, Component]) -> tuple[str, ...]:
        """Return the module of the manager that knows the ids of spawned rows beforehand, "" for
        entities; nothing if none does."""
        component = components[self.instances[0].component]
        if self.kind != "spawn" or (component.owner == "none" and component.max_rows):
            return ()
        return (component.module if component.owner == "none" else "",)


@dataclass(frozen=True)
class Compound(Statement, tree.Nested):
    """Statements that hold blocks of statements."""


@dataclass(frozen=True)
class If(Compound):
    """Run one of two blocks."""

    BLOCKS = ("body", "otherwise")
    test: tree.Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True)
class For(Compound):
    """Run a block for each number from `start` to below `stop`."""

    counter: tree.Local
    start: tree.Expression
    stop: tree.Expression
    draws: bool
    """True if random numbers are drawn, in each pass others."""
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class ForNeighbours(Compound):
    """Run a block for each of the listed rows, but those of the dead."""

    near: str
    drawn: range
    """The numbers of the random numbers that are drawn, with each neighbour others."""
    whom: tree.Expression
    """The value that tells the neighbour apart, where random numbers are drawn."""
    needs_offset: bool
    """True if the neighbour's offset or distance is read."""
    body: tuple[Statement, ...]

    @property
    def draws(self) -> bool:
        """True if random numbers are drawn."""
        return bool(self.drawn)


@dataclass(frozen=True)
class While(Compound):
    """Run a block as long as a test holds; `at_most` so many times, then say so."""

    BLOCKS = ("head", "body")
    number: int
    """The index of the statement among the kernel's."""
    at_most: int
    draws: bool
    """True if random numbers are drawn, in each pass others."""
    head: tuple[Statement, ...]
    """The statements before the test, which run each time."""
    test: tree.Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Jump(Statement):
    """End the row's statements, a loop, or a pass of a loop."""

    kind: tree.JumpKind


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A kernel for one row."""

    program: Program
    """The typed program."""
    head: tuple[Statement, ...]
    """The statements before the condition."""
    where: tree.Expression | None
    body: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements."""
        return (*self.head, *self.body)

    @property
    def spawns(self) -> tuple[QueueSpawn, ...]:
        """The statements that queue a spawn."""
        return tuple(s for s in tree.walk_nested(self.body) if isinstance(s, QueueSpawn))

    @property
    def messages(self) -> tuple[SendMessage, ...]:
        """The statements that send a message."""
        return tuple(s for s in tree.walk_nested(self.body) if isinstance(s, SendMessage))
