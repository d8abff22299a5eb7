"""Typed kernels and reductions, and their effects: the fields that they read and change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Number

_IDS: Final = (tree.ID_SLOT, tree.CELL_ID)


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
        of_others = *self.reads_referenced, *self.reads_neighbours, *self.reads_reduced
        return (*self.reads, *self.writes, *of_others, *self.sends)


@dataclass(frozen=True, slots=True)
class Program:
    """A typed kernel, and its effects."""

    arguments: tuple[tree.Argument, ...] = ()
    reduced: tuple[tree.ReducedValue, ...] = ()
    """The values of reductions, worked out once per call."""
    settings: tuple[tree.SettingValue, ...] = ()
    """The settings that are read, once per call."""
    where: tree.Expression | None = None
    steps: tuple[tree.AnyStep, ...] = ()
    effects: Effects = Effects()
    root_defaults: tuple[tuple[str, tuple[bool | Number, ...]], ...] = ()
    """The values that roots read as fields of their parent: elements in C order."""
    identity: tree.FieldValue | None = None
    """A column that every row has, of owners or of ids; None without messages and commands."""
    may_be_dead: bool = False
    """True if rows may belong to dead entities, whose messages are dropped."""
    stream_field: tree.FieldValue | None = None
    """Field or manager's column that selects each row's random stream; None without draws."""
    turn_key: tree.Expression | None = None
    """The number of a row by which turns are ordered."""
    turn_count: tree.Argument | tree.Constant | None = None
    """How many turns there are, each of a random row."""
    takes_given_turns: bool = False
    """True if a call names the row of each turn."""
    takes_turns: bool = False
    """True if each row sees what the rows before it have written."""
    neighbourhoods: tuple[tree.Neighbourhood, ...] = ()
    tracked_occupants: frozenset[str] = frozenset()
    """The components whose occupancy is kept up to date during turns."""
    uses_grids: bool = False
    """True if the kernel uses cells, which blocks of rows cannot."""

    @property
    def expressions(self) -> tuple[tree.Expression, ...]:
        """The expressions for a row: the condition, then those of each step."""
        return expressions_of(self.where, self.steps)

    @property
    def actions(self) -> tuple[tree.Step, ...]:
        """All assignments, messages and commands, as written."""
        return tree.actions_of(self.steps)

    @property
    def keeps_handles(self) -> bool:
        """True if locals get the handles of who will come."""
        targets = (step.target for step in self.actions)
        return any(isinstance(target, tree.Spawn) and target.to is not None for target in targets)

    @property
    def lost_messages(self) -> list[tree.Step]:
        """Messages to who is spawned in the same pass: nobody is there to get them."""
        targets = [step.target for step in self.actions]
        born = {t.to.name for t in targets if isinstance(t, tree.Spawn) and t.to is not None}
        born -= {target.name for target in targets if isinstance(target, tree.Local)}
        return [
            step
            for step in self.actions
            if isinstance(step.target, tree.ReferencedField)
            and isinstance(step.target.handle, tree.Local)
            and step.target.handle.name in born
        ]

    @property
    def counts_turns(self) -> bool:
        """True if a row may have several turns, with other random numbers in each."""
        return self.takes_given_turns or self.turn_count is not None

    @property
    def has_blocks(self) -> bool:
        """True if some steps happen for some of the rows only."""
        return not all(isinstance(step, tree.Step) for step in self.steps)

    @property
    def has_loops(self) -> bool:
        """True if some steps may happen several times."""
        loops = tree.RangeLoop | tree.NeighbourLoop | tree.WhileLoop
        return any(isinstance(step, loops) for step in tree.walk_nested(self.steps))

    @property
    def whiles(self) -> tuple[tree.WhileLoop, ...]:
        """All `while` loops, as written."""
        steps = tree.walk_nested(self.steps)
        return tuple(step for step in steps if isinstance(step, tree.WhileLoop))

    @property
    def nodes(self) -> Iterator[tree.Expression]:
        """All nodes of the expressions."""
        return tree.walk(*self.expressions)

    @property
    def is_order_dependent(self) -> bool:
        """True if the result depends on the order in which rows run."""
        meets_others = bool(self.effects.sends or self.neighbourhoods)
        return meets_others or self.takes_turns or self.has_commands

    @property
    def sequential_reasons(self) -> tuple[str, ...]:
        """The reasons why rows run one after the other; nothing if all may run at once."""
        nears = self.neighbourhoods
        reasons = {
            "turns": self.takes_turns,
            "for or while": self.has_loops,
            "handles of who will come": self.keeps_handles,
            "die or spawn with neighbours": bool(nears) and self.has_commands,
            "cells": self.uses_grids or any(near.on is not None for near in nears),
            "several neighbourhoods": len(nears) > 1,
            "all rows as neighbours": any(near.is_of_all_rows for near in nears),
        }
        return tuple(reason for reason, holds in reasons.items() if holds)

    @property
    def sent_settings(self) -> tuple[str, ...]:
        """The settings that the kernel changes."""
        texts = (text.split(".") for text in self.effects.sends)
        return tuple(name for holder, name in texts if holder == tree.SETTINGS)

    @property
    def uses_tick(self) -> bool:
        """True if the kernel reads the time."""
        keys = () if self.turn_key is None else (self.turn_key,)
        return any(isinstance(node, tree.Tick) for node in (*self.nodes, *tree.walk(*keys)))

    @property
    def uses_cell_numbers(self) -> bool:
        """True if the numbers of rows, which are cells, are their ids."""
        fields = (self.stream_field, *tree.fields_in(*self.expressions))
        return any(field is not None and field.name == tree.CELL_ID for field in fields)

    @property
    def empty_cell_components(self) -> frozenset[str]:
        """The components for which the kernel chooses empty cells."""
        choices = (node for node in self.nodes if isinstance(node, tree.RandomChoice))
        return frozenset(choice.component for choice in choices if choice.candidates == "empty")

    @property
    def has_commands(self) -> bool:
        """True if rows come or go."""
        return self.effects.has_commands

    @property
    def components_with_row_despawns(self) -> tuple[str, ...]:
        """The components with despawns of rows, not of entities."""
        deaths = [step.target for step in self.actions if isinstance(step.target, tree.Despawn)]
        return tuple(dict.fromkeys(death.component for death in deaths if death.component))

    @property
    def paired_neighbourhood(self) -> tree.Neighbourhood | None:
        """The only neighbourhood, if numpy can look at all pairs at once; else None."""
        (only,) = self.neighbourhoods if len(self.neighbourhoods) == 1 else (None,)
        return only if only is not None and only.makes_pairs else None

    @property
    def single_neighbourhood(self) -> tree.Neighbourhood | None:
        """The only neighbourhood, if it is in a continuous space; else None."""
        paired = self.paired_neighbourhood
        return paired if paired is not None and paired.is_in_space else None

    def neighbourhood(self, name: str) -> tree.Neighbourhood:
        """Return the neighbourhood of a name."""
        return next(near for near in self.neighbourhoods if near.name == name)

    @property
    def runs_by_level(self) -> bool:
        """True if the kernel reads parents, and so runs level by level."""
        return bool(self.root_defaults)


def expressions_of(
    where: tree.Expression | None, steps: Iterable[tree.AnyStep]
) -> tuple[tree.Expression, ...]:
    """Return all expressions for a row, in order."""
    parts = tuple(
        part
        for step in tree.walk_nested(steps)
        if not isinstance(step, tree.Jump)
        for part in step.expressions
    )
    return parts if where is None else (where, *parts)


def effects_of(
    where: tree.Expression | None,
    steps: tuple[tree.AnyStep, ...],
    keys: Iterable[tree.Expression] = (),
) -> Effects:
    """Return the effects of a condition and steps; `keys`: the field of the random stream, and the
    number that orders turns."""
    nodes = [*tree.walk(*expressions_of(where, steps))]
    fields = (node for node in nodes if isinstance(node, tree.FieldValue))
    targets = [action.target for action in tree.actions_of(steps)]
    references = [node for node in nodes if isinstance(node, tree.ReferencedField)]
    sent = [target for target in targets if isinstance(target, tree.ReferencedField)]
    of_others = tree.ReferencedField | tree.Exists | tree.Occupied | tree.Full | tree.RandomChoice
    named = [node for node in nodes if isinstance(node, of_others)]
    neighbours = [node for node in nodes if isinstance(node, tree.NeighbourField)]

    def components(*kinds: tree.SpawnKind) -> tuple[str, ...]:
        spawns = (target for target in targets if isinstance(target, tree.Spawn))
        names = (each.component for s in spawns if s.kind in kinds for each in s.instances)
        return tuple(dict.fromkeys(names))

    return Effects(
        reads=_texts([*(node for node in fields if node.name not in _IDS), *tree.fields_in(*keys)]),
        writes=_texts(target for target in targets if isinstance(target, tree.FieldValue)),
        reads_referenced=_texts(references),
        reads_neighbours=_texts(node for node in neighbours if node.name not in _IDS),
        sends=_texts(sent),
        referenced_components=tuple(
            name
            for name in dict.fromkeys(node.component for node in (*named, *sent))
            if name != tree.SETTINGS
        ),
        draws=any(map(tree.draws_numbers, nodes)),
        spawns=components("spawn"),
        destroys=any(isinstance(target, tree.Despawn) for target in targets),
        adds=components("add", "replace"),
        removes=components("remove"),
    )


def _texts(
    fields: Iterable[tree.FieldValue | tree.NeighbourField | tree.ReferencedField],
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field.text for field in fields))


@dataclass(frozen=True, slots=True)
class ReductionProgram:
    """A typed reduction: the value of one row, and the condition on rows."""

    value: tree.Expression = tree.TRUE
    where: tree.Expression | None = None
    reads: tuple[str, ...] = ()

    @property
    def reduced(self) -> tuple[tree.ReducedValue, ...]:
        """The values of other reductions."""
        return tree.nodes_in(tree.ReducedValue, self.where, self.value)

    @property
    def settings(self) -> tuple[tree.SettingValue, ...]:
        """The settings that the reduction reads."""
        return tree.nodes_in(tree.SettingValue, self.where, self.value)


NO_PROGRAM: Final = Program()

EMPTY_REDUCTION: Final = ReductionProgram()
"""The program of a reduction that is not typed yet."""
