"""Typed kernels and reductions, and their effects: the fields that they read and change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ecsgen.model.typed_tree import (
    CELL_ID,
    ID_SLOT,
    SETTINGS,
    TRUE,
    AnyStep,
    Argument,
    Constant,
    Despawn,
    Exists,
    Expression,
    FieldValue,
    Full,
    Jump,
    NeighbourField,
    Neighbourhood,
    NeighbourLoop,
    Occupied,
    RandomChoice,
    RangeLoop,
    ReducedValue,
    ReferencedField,
    SettingValue,
    Spawn,
    SpawnKind,
    Step,
    Tick,
    WhileLoop,
    actions_of,
    draws_numbers,
    fields_in,
    reduced_in,
    settings_in,
    walk,
    walk_nested,
)
from ecsgen.model.types import Number

_IDS: Final = (ID_SLOT, CELL_ID)


@dataclass(frozen=True, slots=True)
class Effects:
    """The fields that a kernel reads and changes, as in the schema, each once, in order; fields of
    referenced rows with their components."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads_referenced: tuple[str, ...] = ()
    """Fields of referenced rows."""
    reads_neighbours: tuple[str, ...] = ()
    """Fields of neighbours."""
    reads_reduced: tuple[str, ...] = ()
    """Fields that reductions read, before the kernel."""
    sends: tuple[str, ...] = ()
    """Fields that messages change."""
    referenced_components: tuple[str, ...] = ()
    """The components of references; "" for `exists` of an entity."""
    draws: bool = False
    """True if random numbers are drawn, other than those that order the turns."""
    spawns: tuple[str, ...] = ()
    """The components with spawned rows."""
    destroys: bool = False
    """True if entities or unowned rows are despawned."""
    adds: tuple[str, ...] = ()
    """The components that entities get."""
    removes: tuple[str, ...] = ()
    """The components that entities lose."""

    @property
    def has_commands(self) -> bool:
        """True if rows come or go."""
        return bool(self.spawns or self.destroys or self.adds or self.removes)

    @property
    def commands_in_words(self) -> list[str]:
        """Which rows come and go, in words."""
        named = {"spawns": self.spawns, "adds": self.adds, "removes": self.removes}
        return ["destroys"] * self.destroys + [
            f"{verb} {', '.join(names)}" for verb, names in named.items() if names
        ]

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields, of all kinds of effects."""
        return (
            *self.reads,
            *self.writes,
            *self.reads_referenced,
            *self.reads_neighbours,
            *self.reads_reduced,
            *self.sends,
        )


@dataclass(frozen=True, slots=True)
class Program:
    """A typed kernel, and its effects."""

    arguments: tuple[Argument, ...] = ()
    reduced: tuple[ReducedValue, ...] = ()
    """The values of reductions, worked out once per call."""
    settings: tuple[SettingValue, ...] = ()
    """The settings that are read, once per call."""
    where: Expression | None = None
    steps: tuple[AnyStep, ...] = ()
    effects: Effects = Effects()
    root_defaults: tuple[tuple[str, tuple[bool | Number, ...]], ...] = ()
    """The values that roots read as fields of their parent: elements in C order."""
    identity: FieldValue | None = None
    """A column that every row has, of owners or of ids; None without messages and commands."""
    may_be_dead: bool = False
    """True if rows may belong to dead entities, whose messages are dropped."""
    stream_field: FieldValue | None = None
    """Field or manager's column that selects each row's random stream; None without draws."""
    turn_key: Expression | None = None
    """The number of a row by which turns are ordered."""
    turn_count: Argument | Constant | None = None
    """How many turns there are, each of a random row."""
    takes_given_turns: bool = False
    """True if a call names the row of each turn."""
    takes_turns: bool = False
    """True if each row sees what the rows before it have written."""
    neighbourhoods: tuple[Neighbourhood, ...] = ()
    tracked_occupants: frozenset[str] = frozenset()
    """The components whose occupancy is kept up to date during turns."""
    uses_grids: bool = False
    """True if the kernel uses cells, which blocks of rows cannot."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions for a row: the condition, then those of each step."""
        return expressions_of(self.where, self.steps)

    @property
    def actions(self) -> tuple[Step, ...]:
        """All assignments, messages and commands, as written."""
        return actions_of(self.steps)

    @property
    def keeps_handles(self) -> bool:
        """True if locals get the handles of who will come."""
        targets = (step.target for step in self.actions)
        return any(isinstance(target, Spawn) and target.to is not None for target in targets)

    @property
    def counts_turns(self) -> bool:
        """True if a row may have several turns, with other random numbers in each."""
        return self.takes_given_turns or self.turn_count is not None

    @property
    def has_blocks(self) -> bool:
        """True if some steps happen for some of the rows only."""
        return not all(isinstance(step, Step) for step in self.steps)

    @property
    def has_loops(self) -> bool:
        """True if some steps may happen several times."""
        loops = RangeLoop | NeighbourLoop | WhileLoop
        return any(isinstance(step, loops) for step in walk_nested(self.steps))

    @property
    def whiles(self) -> tuple[WhileLoop, ...]:
        """All `while` loops, as written."""
        return tuple(step for step in walk_nested(self.steps) if isinstance(step, WhileLoop))

    @property
    def nodes(self) -> Iterator[Expression]:
        """All nodes of the expressions."""
        return walk(*self.expressions)

    @property
    def is_order_dependent(self) -> bool:
        """True if the result depends on the order in which rows run."""
        return bool(
            self.effects.sends or self.takes_turns or self.neighbourhoods or self.has_commands
        )

    @property
    def is_sequential(self) -> bool:
        """True if rows run one after the other: with turns, loops, cells, handles of who will come,
        several neighbourhoods, or one neighbourhood and commands."""
        is_around = bool(self.neighbourhoods) and (
            self.paired_neighbourhood is None or self.has_commands
        )
        in_order = self.takes_turns or self.has_loops or self.keeps_handles
        return bool(in_order or is_around or self.uses_grids)

    @property
    def sent_settings(self) -> tuple[str, ...]:
        """The settings that the kernel changes."""
        texts = (text.split(".") for text in self.effects.sends)
        return tuple(name for holder, name in texts if holder == SETTINGS)

    @property
    def uses_tick(self) -> bool:
        """True if the kernel reads the time."""
        keys = () if self.turn_key is None else (self.turn_key,)
        return any(isinstance(node, Tick) for node in (*self.nodes, *walk(*keys)))

    @property
    def uses_cell_numbers(self) -> bool:
        """True if the numbers of rows, which are cells, are their ids."""
        fields = (self.stream_field, *fields_in(*self.expressions))
        return any(field is not None and field.name == CELL_ID for field in fields)

    @property
    def empty_cell_components(self) -> frozenset[str]:
        """The components for which the kernel chooses empty cells."""
        choices = (node for node in self.nodes if isinstance(node, RandomChoice))
        return frozenset(choice.component for choice in choices if choice.candidates == "empty")

    @property
    def has_commands(self) -> bool:
        """True if rows come or go."""
        return self.effects.has_commands

    @property
    def components_with_row_despawns(self) -> tuple[str, ...]:
        """The components with despawns of rows, not of entities."""
        deaths = [step.target for step in self.actions if isinstance(step.target, Despawn)]
        return tuple(dict.fromkeys(death.component for death in deaths if death.component))

    @property
    def single_neighbourhood(self) -> Neighbourhood | None:
        """The only neighbourhood, if it is in a continuous space; else None."""
        (only,) = self.neighbourhoods if len(self.neighbourhoods) == 1 else (None,)
        return only if only is not None and only.is_in_space else None

    @property
    def paired_neighbourhood(self) -> Neighbourhood | None:
        """The only neighbourhood, if numpy can look at all pairs at once; else None."""
        (only,) = self.neighbourhoods if len(self.neighbourhoods) == 1 else (None,)
        return only if only is not None and only.makes_pairs else None

    def neighbourhood(self, name: str) -> Neighbourhood:
        """Return the neighbourhood of a name."""
        return next(near for near in self.neighbourhoods if near.name == name)

    @property
    def runs_by_level(self) -> bool:
        """True if the kernel reads parents, and so runs level by level."""
        return bool(self.root_defaults)


def expressions_of(where: Expression | None, steps: Iterable[AnyStep]) -> tuple[Expression, ...]:
    """Return all expressions for a row, in order."""
    parts = tuple(
        part
        for step in walk_nested(steps)
        if not isinstance(step, Jump)
        for part in step.expressions
    )
    return parts if where is None else (where, *parts)


def effects_of(
    where: Expression | None, steps: tuple[AnyStep, ...], keys: Iterable[Expression] = ()
) -> Effects:
    """Return the effects of a condition and steps; `keys`: the field of the random stream, and the
    number that orders turns."""
    nodes = [*walk(*expressions_of(where, steps))]
    fields = (node for node in nodes if isinstance(node, FieldValue))
    targets = [action.target for action in actions_of(steps)]
    references = [node for node in nodes if isinstance(node, ReferencedField)]
    sent = [target for target in targets if isinstance(target, ReferencedField)]
    of_others = ReferencedField | Exists | Occupied | Full | RandomChoice
    named = [node for node in nodes if isinstance(node, of_others)]
    neighbours = [node for node in nodes if isinstance(node, NeighbourField)]

    def components(*kinds: SpawnKind) -> tuple[str, ...]:
        spawns = (target for target in targets if isinstance(target, Spawn))
        names = (each.component for s in spawns if s.kind in kinds for each in s.instances)
        return tuple(dict.fromkeys(names))

    return Effects(
        reads=_texts([*(node for node in fields if node.name not in _IDS), *fields_in(*keys)]),
        writes=_texts(target for target in targets if isinstance(target, FieldValue)),
        reads_referenced=_texts(references),
        reads_neighbours=_texts(node for node in neighbours if node.name not in _IDS),
        sends=_texts(sent),
        referenced_components=tuple(
            name
            for name in dict.fromkeys(node.component for node in (*named, *sent))
            if name != SETTINGS
        ),
        draws=any(map(draws_numbers, nodes)),
        spawns=components("spawn"),
        destroys=any(isinstance(target, Despawn) for target in targets),
        adds=components("add", "replace"),
        removes=components("remove"),
    )


def _texts(fields: Iterable[FieldValue | NeighbourField | ReferencedField]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field.text for field in fields))


@dataclass(frozen=True, slots=True)
class ReductionProgram:
    """A typed reduction: the value of one row, and the condition on rows."""

    value: Expression = TRUE
    where: Expression | None = None
    reads: tuple[str, ...] = ()

    @property
    def reduced(self) -> tuple[ReducedValue, ...]:
        """The values of other reductions."""
        return reduced_in(self.where, self.value)

    @property
    def settings(self) -> tuple[SettingValue, ...]:
        """The settings that the reduction reads."""
        return settings_in(self.where, self.value)


NO_PROGRAM: Final = Program()

EMPTY_REDUCTION: Final = ReductionProgram()
"""The program of a reduction that is not typed yet."""
